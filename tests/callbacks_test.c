/* SPDX-License-Identifier: Apache-2.0
 * tests/callbacks_test.c: callbacks of a host that call back: they begin the next call, run one
 * and wait for it, end the call they are of, and answer one that waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/counting.h"
#include "support/guarded.h"
#include "waybill/waybill.h"
#include "workspace.h"

/* ---- ending ---- */

struct told_to_end {
    wb_runtime *runtime;
    wb_call_id id;
    int asked, done;
};

static void run_on(wb_tool_call *call, void *arg)
{
    (void)call;
    (void)arg;
}

static void cancel_all_it_knows(wb_tool_call *call, void *arg)
{
    struct told_to_end *e = arg;

    e->asked++;
    wb_call_cancel(e->runtime, e->id);
    wb_tool_fail(call, "cancelled", "as asked", NULL);
    wb_call_cancel(e->runtime, e->id);
    wb_tool_finish_text(call, "done", 4); /* tool.h: "only the first finish counts" */
}

static void count_ended(wb_result *result, void *arg)
{
    assert_string_equal(wb_result_kind(result), "cancelled");
    ((struct told_to_end *)arg)->done++;
}

/* call.h: "any number of times", also by a tool that is being asked to end. */
static void a_tool_that_is_asked_to_end_may_cancel_its_call(void **state)
{
    struct told_to_end e = {.asked = 0};
    wb_request *request = wb_request_new("on");
    int runs = 0;

    (void)state;
    e.runtime = counting_runtime(&runs);
    assert_int_equal(wb_tool_register(e.runtime, "{\"name\":\"on\"}", NULL, run_on,
                                      cancel_all_it_knows, &e, NULL),
                     WB_OK);
    assert_int_equal(wb_call_submit(e.runtime, request, count_ended, &e, &e.id), WB_OK);
    wb_call_cancel(e.runtime, e.id);
    wb_runtime_run(e.runtime);
    assert_int_equal(e.asked, 1);
    assert_int_equal(e.done, 1);
    wb_request_free(request);
    wb_runtime_free(e.runtime);
}

/* ---- beginning and waiting ---- */

#define CHAIN_CALLS 100000 /* one inside the other they would need a stack of some 40 MB */

struct chain {
    wb_runtime *runtime;
    wb_request *request;
    int left, good;
};

static void submit_the_next(wb_result *result, void *arg)
{
    struct chain *c = arg;

    c->good += wb_result_ok(result);
    if (--c->left > 0)
        assert_int_equal(wb_call_submit(c->runtime, c->request, submit_the_next, c, NULL), WB_OK);
}

/* call.h: "maybe before this returns": whoever submits the next call when one is done needs
 * no stack for all of them, and the loop runs until the last is done. */
static void each_call_may_begin_the_next(void **state)
{
    struct chain c = {.left = CHAIN_CALLS};
    int runs = 0;

    (void)state;
    c.runtime = counting_runtime(&runs);
    c.request = wb_request_new("count");
    assert_int_equal(wb_call_submit(c.runtime, c.request, submit_the_next, &c, NULL), WB_OK);
    wb_runtime_run(c.runtime);
    assert_int_equal(c.good, CHAIN_CALLS);
    assert_int_equal(runs, CHAIN_CALLS);
    wb_request_free(c.request);
    wb_runtime_free(c.runtime);
}

struct meeting {
    wb_runtime *runtime;
    wb_tool_call *first, *second, *waiting;
    bool met;
};

static void leave_open(wb_tool_call *call, void *arg)
{
    *(wb_tool_call **)arg = call;
}

static void *finish_both(void *arg)
{
    struct meeting *m = arg;

    wb_tool_finish_text(m->first, "1", 1);
    wb_tool_finish_text(m->second, "2", 1);
    return NULL;
}

static void have_both_finished(wb_tool_call *call, void *arg)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, finish_both, arg), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    wb_tool_finish_text(call, "", 0);
}

static void wait_for_the_second(wb_result *result, void *arg)
{
    struct meeting *m = arg;
    wb_request *request = wb_request_new("waiting");
    wb_result *inner = NULL;

    (void)result;
    assert_int_equal(wb_call_run(m->runtime, request, &inner), WB_OK);
    m->met = wb_result_ok(inner);
    wb_result_free(inner);
    wb_request_free(request);
}

static void end_the_wait(wb_result *result, void *arg)
{
    (void)result;
    wb_tool_finish_text(((struct meeting *)arg)->waiting, "", 0);
}

static void nothing_more(wb_result *result, void *arg)
{
    (void)result;
    (void)arg;
}

static void submit(wb_runtime *runtime, const char *tool, wb_done_cb on_done, void *arg)
{
    wb_request *request = wb_request_new(tool);

    assert_int_equal(wb_call_submit(runtime, request, on_done, arg, NULL), WB_OK);
    wb_request_free(request);
}

/* call.h: a call that is run inside a callback gets what was on its way to the loop together
 * with what the callback is about. */
static void a_callback_may_wait_for_what_is_on_its_way(void **state)
{
    struct meeting m = {.met = false};
    int runs = 0;

    (void)state;
    m.runtime = counting_runtime(&runs);
    assert_int_equal(
        wb_tool_register(m.runtime, "{\"name\":\"first\"}", NULL, leave_open, NULL, &m.first, NULL),
        WB_OK);
    assert_int_equal(wb_tool_register(m.runtime, "{\"name\":\"second\"}", NULL, leave_open, NULL,
                                      &m.second, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(m.runtime, "{\"name\":\"waiting\"}", NULL, leave_open, NULL,
                                      &m.waiting, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(m.runtime, "{\"name\":\"both\"}", NULL, have_both_finished,
                                      NULL, &m, NULL),
                     WB_OK);
    submit(m.runtime, "first", wait_for_the_second, &m);
    submit(m.runtime, "second", end_the_wait, &m);
    submit(m.runtime, "both", nothing_more, NULL);
    wb_runtime_run(m.runtime);
    assert_true(m.met);
    wb_runtime_free(m.runtime);
}

/* ---- callbacks that end the call they are of ---- */

struct watched {
    wb_runtime *runtime;
    wb_call_id id;
    wb_tool_call *call;
    bool finishes; /* its tool is finished instead of cancelling it */
    int partials, last, done;
    wb_rc rc;    /* of a call that is run in between */
    size_t turn; /* of a turn in between: calls under way */
};

static void end_it_now(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_fail(call, "cancelled", "stopped", NULL);
}

static void *tell_more(void *arg)
{
    struct watched *w = arg;

    wb_tool_partial(w->call, "{\"n\":1}", 7);
    return NULL;
}

/* The partial comes from another thread, that the call may end beneath what brings it. */
static void tell_and_go_on(wb_tool_call *call, void *arg)
{
    struct watched *w = arg;
    pthread_t thread;

    w->call = call;
    assert_int_equal(pthread_create(&thread, NULL, tell_more, w), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void end_by_a_frame(const char *frame, size_t size, void *arg)
{
    struct watched *w = arg;
    wb_request *request = wb_request_new("count");
    wb_result *result;

    assert_int_equal(frame[size], '\0');
    assert_int_equal(w->last, 0); /* nothing behind the last one */
    w->last = strstr(frame, "\"event\":\"partial\"") == NULL;
    w->partials += !w->last;
    w->rc = wb_call_run(w->runtime, request, &result);
    w->turn = wb_runtime_turn(w->runtime, 1);
    wb_request_free(request);
    if (!w->last && w->finishes)
        wb_tool_finish_text(w->call, "", 0);
    else if (!w->last)
        wb_call_cancel(w->runtime, w->id);
}

static void see_the_end(wb_result *result, void *arg)
{
    struct watched *w = arg;

    assert_int_equal(w->last, 1); /* the last frame comes before the result */
    assert_int_equal(wb_result_ok(result), w->finishes);
    w->done++;
}

static void watch_one(bool finishes)
{
    struct watched w = {.finishes = finishes};
    wb_request *request = wb_request_new("told");
    int runs = 0;

    w.runtime = counting_runtime(&runs);
    assert_int_equal(wb_tool_register(w.runtime, "{\"name\":\"told\"}", NULL, tell_and_go_on,
                                      end_it_now, &w, NULL),
                     WB_OK);
    assert_int_equal(wb_request_set_frames(request, end_by_a_frame, &w), WB_OK);
    assert_int_equal(wb_call_submit(w.runtime, request, see_the_end, &w, &w.id), WB_OK);
    wb_runtime_run(w.runtime);
    assert_int_equal(w.partials, 1);
    assert_int_equal(w.done, 1);
    assert_int_equal(w.rc, WB_EMISUSE); /* call.h: the loop may not be run there */
    assert_true(w.turn <= 1);
    assert_int_equal(runs, 0);
    wb_request_free(request);
    wb_runtime_free(w.runtime);
}

/* call.h: a call may be cancelled by whoever gets its frames. C8.9: exactly one last frame. */
static void a_frame_may_end_its_call(void **state)
{
    (void)state;
    watch_one(/* finishes= */ false);
    watch_one(/* finishes= */ true);
}

struct waiting {
    wb_runtime *runtime;
    wb_call_id id;
    int beats, last, done;
};

static void cancel_by_a_beat(const char *frame, size_t size, void *arg)
{
    struct waiting *w = arg;

    (void)size;
    w->beats += strstr(frame, "\"event\":\"heartbeat\"") != NULL;
    w->last += strstr(frame, "\"event\":\"error\"") != NULL;
    if (w->last == 0)
        wb_call_cancel(w->runtime, w->id);
}

static void count_the_end(wb_result *result, void *arg)
{
    struct waiting *w = arg;

    assert_string_equal(wb_result_kind(result), "cancelled");
    assert_int_equal(w->last, 1);
    w->done++;
}

/* One that has not begun ends at once when it is cancelled, beneath its own heartbeat. */
static void a_heartbeat_may_cancel_a_call_that_waits(void **state)
{
    struct waiting w = {.done = 0};
    wb_request *request = wb_request_new("held");
    wb_tool_call *held = NULL;
    struct workspace ws;
    wb_options *o = wb_options_new();
    char path[160];

    (void)state;
    ws_init(&ws);
    snprintf(path, sizeof(path), "%s/limit.json", ws.root);
    ws_write(path, "{\"policies\":{\"environment\":{\"concurrency\":{\"limit\":1}}}}");
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, ws.root), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_CONFIG, path), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_LEDGER, "0"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &w.runtime, NULL), WB_OK);
    assert_int_equal(wb_tool_register(w.runtime, "{\"name\":\"held\",\"parallel\":true}", NULL,
                                      leave_open, NULL, &held, NULL),
                     WB_OK);
    submit(w.runtime, "held", nothing_more, NULL);
    assert_int_equal(wb_request_set(request, WB_FIELD_HEARTBEAT_MS, "1"), WB_OK);
    assert_int_equal(wb_request_set_frames(request, cancel_by_a_beat, &w), WB_OK);
    assert_int_equal(wb_call_submit(w.runtime, request, count_the_end, &w, &w.id), WB_OK);
    while (w.done == 0)
        (void)wb_runtime_turn(w.runtime, 1);
    assert_int_equal(w.beats, 1);
    wb_tool_finish_text(held, "", 0);
    wb_runtime_run(w.runtime);
    wb_request_free(request);
    wb_runtime_free(w.runtime);
    wb_options_free(o);
    ws_fini(&ws);
}

/* ---- the loop is driven once ---- */

struct driver {
    wb_runtime *runtime;
    int told;
};

/* runtime.h: inside a callback no thread starts, and what would wait for its end does nothing. */
static void try_to_drive(void *arg)
{
    struct driver *d = arg;

    d->told++;
    assert_int_equal(wb_runtime_start(d->runtime, NULL), WB_EMISUSE);
    wb_runtime_run(d->runtime);
    wb_runtime_free(d->runtime);
}

static wb_rc project_and_try(const char *output, size_t size, unsigned budget, wb_sink *sink,
                             wb_text *result, wb_text *summary, void *arg)
{
    (void)budget;
    (void)sink;
    try_to_drive(arg);
    wb_text_add(result, output, size);
    wb_text_add(summary, "fine", 4);
    return WB_OK;
}

static wb_rc render_and_try(const char *canonical, size_t size, wb_text *receipt, void *arg)
{
    try_to_drive(arg);
    wb_text_add(receipt, canonical, size);
    return WB_OK;
}

static void families_may_not_drive_the_loop(void **state)
{
    struct driver d = {.told = 0};
    wb_tool_call *open = NULL;
    wb_result *result;
    wb_request *r;
    int runs = 0;

    (void)state;
    d.runtime = counting_runtime(&runs);
    assert_int_equal(
        wb_family_register(d.runtime, "mine", project_and_try, render_and_try, &d, NULL), WB_OK);
    assert_int_equal(wb_tool_register(d.runtime, "{\"name\":\"shown\",\"parallel\":true}", "mine",
                                      count_run, NULL, &runs, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(d.runtime, "{\"name\":\"open\",\"parallel\":true}", NULL,
                                      leave_open, NULL, &open, NULL),
                     WB_OK);
    submit(d.runtime, "open", nothing_more, NULL); /* what wb_runtime_run would wait for */
    r = wb_request_new("shown");
    assert_int_equal(wb_call_run(d.runtime, r, &result), WB_OK);
    assert_true(wb_result_ok(result));
    assert_int_equal(d.told, 2);
    wb_tool_finish_text(open, "", 0);
    wb_result_free(result);
    wb_request_free(r);
    wb_runtime_free(d.runtime);
}

static void try_by_notice(const char *text, void *arg)
{
    (void)text;
    try_to_drive(arg);
}

static void try_when_ready(const char *url, void *arg)
{
    (void)url;
    try_to_drive(arg);
}

/* A runtime with a server that cannot be had, which is told to who lists tools or serves. */
static wb_runtime *runtime_without_its_server(const struct workspace *ws)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime;
    char path[160];

    snprintf(path, sizeof(path), "%s/servers.json", ws->root);
    ws_write(path, "{\"mcpServers\":{\"gone\":{\"command\":\"true\",\"env\":"
                   "{\"A\":\"${WAYBILL_TEST_NOT_SET}\"}}}}");
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, ws->root), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_CONFIG, path), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_LEDGER, "0"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    return runtime;
}

static void notices_may_not_drive_the_loop(void **state)
{
    struct driver d = {.told = 0};
    wb_serve_options serve = {.http = "127.0.0.1:0",
                              .access_log = -1,
                              .on_ready = try_when_ready,
                              .arg = &d,
                              .on_notice = try_by_notice};
    struct workspace ws;
    int stop[2];
    char *list;

    (void)state;
    ws_init(&ws);
    d.runtime = runtime_without_its_server(&ws);
    wb_runtime_on_notice(d.runtime, try_by_notice, &d);
    assert_int_equal(wb_tools_list(d.runtime, NULL, NULL, &list, NULL, NULL), WB_OK);
    assert_int_equal(d.told, 1);
    wb_free(list);
    assert_int_equal(pipe(stop), 0);
    assert_int_equal(write(stop[1], "x", 1), 1);
    serve.stop = stop[0];
    assert_int_equal(wb_serve(d.runtime, &serve, NULL), WB_OK);
    assert_int_equal(d.told, 3);
    close(stop[0]);
    close(stop[1]);
    wb_runtime_free(d.runtime);
    ws_fini(&ws);
}

/* ---- answering ---- */

static struct guarded g;

struct teller {
    int told, granted; /* granted -1: cancel it */
    struct asked *a;
};

static void answer_at_once(const char *approval, size_t size, void *arg)
{
    struct teller *t = arg;
    wb_request *request = wb_request_new("t");
    wb_result *result;
    char *id;

    t->told++;
    assert_int_equal(strlen(approval), size);
    assert_non_null(strstr(approval, "\"tool\":\"local::t\""));
    assert_non_null(strstr(approval, "\"toolName\":\"local::t\""));
    assert_int_equal(wb_call_run(g.runtime, request, &result), WB_EMISUSE);
    wb_request_free(request);
    assert_int_equal(wb_json_pointer(approval, size, "/id", &id, NULL, NULL), WB_OK);
    if (t->granted < 0)
        wb_call_cancel(g.runtime, t->a->id);
    else
        assert_int_equal(wb_approval_resolve(g.runtime, id, t->granted, "ann", NULL), WB_OK);
    wb_free(id);
}

/* C3.4: whoever has a person to ask is told, and may answer before the call waits at all. */
static void whoever_asks_people_is_told_of_a_call_that_waits(void **state)
{
    static const struct {
        int granted;
        const char *kind;
    } rows[] = {{1, ""}, {0, "approval_denied"}, {-1, "cancelled"}};
    struct scripted *tool;
    struct asked a;
    struct teller t = {.a = &a};

    (void)state;
    guarded_open(
        &g, NULL,
        "[{\"principal\":\"local\",\"allow\":[\"*\"],\"approval\":{\"local::t\":\"ask\"}}]", false);
    tool = guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    wb_runtime_on_approval(g.runtime, answer_at_once, &t);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        t.granted = rows[i].granted;
        ask(&g, &a, "t", 0);
        wait_for(&a);
        assert_string_equal(a.kind, rows[i].kind);
        assert_int_equal(t.told, i + 1);
    }
    assert_int_equal(tool->runs, 1);
    wb_runtime_on_approval(g.runtime, NULL, NULL);
    ask(&g, &a, "t", 0);
    settle_down(&g);
    assert_int_equal(a.done, 0);
    assert_int_equal(t.told, 3);
    wb_call_cancel(g.runtime, a.id);
    wait_for(&a);
    guarded_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_that_is_asked_to_end_may_cancel_its_call),
        cmocka_unit_test(each_call_may_begin_the_next),
        cmocka_unit_test(a_callback_may_wait_for_what_is_on_its_way),
        cmocka_unit_test(a_frame_may_end_its_call),
        cmocka_unit_test(a_heartbeat_may_cancel_a_call_that_waits),
        cmocka_unit_test(families_may_not_drive_the_loop),
        cmocka_unit_test(notices_may_not_drive_the_loop),
        cmocka_unit_test(whoever_asks_people_is_told_of_a_call_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
