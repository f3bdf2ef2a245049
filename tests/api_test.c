/* SPDX-License-Identifier: Apache-2.0
 * tests/api_test.c: the library as a program that embeds it sees it: threads,
 * loops, cancelling, finishing twice or late, families. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "waybill/waybill.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static wb_runtime *bare_runtime(void *uv_loop)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime;

    assert_non_null(o);
    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    if (uv_loop != NULL)
        assert_int_equal(wb_options_set_uv_loop(o, uv_loop), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    return runtime;
}

static const char plain[] = "{\"name\":\"probe\",\"version\":\"1.0.0\",\"effect\":\"Pure\","
                            "\"inputSchema\":{\"type\":\"object\"}}";

static void add_tool(wb_runtime *runtime, const char *descriptor, wb_tool_run_cb run,
                     wb_tool_cancel_cb cancel, void *arg)
{
    wb_error *error = NULL;

    if (wb_tool_register(runtime, descriptor, NULL, run, cancel, arg, &error) != WB_OK)
        fail_msg("%s", wb_error_text(error));
}

static wb_result *call(wb_runtime *runtime, const char *input)
{
    wb_request *request = wb_request_new("probe");
    wb_result *result = NULL;

    assert_int_equal(wb_request_set(request, WB_FIELD_INPUT, input), WB_OK);
    assert_int_equal(wb_call_run(runtime, request, &result), WB_OK);
    wb_request_free(request);
    return result;
}

static void echo(wb_tool_call *tool_call, void *arg)
{
    size_t n;
    const char *input = wb_tool_call_input(tool_call, &n);

    (void)arg;
    wb_tool_finish_json(tool_call, input, n);
}

/* ---- a tool as a C function ---- */

static void test_a_sync_tool_answers(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    wb_result *result;
    size_t n;

    (void)state;
    add_tool(runtime, plain, echo, NULL, NULL);
    result = call(runtime, "{\"a\":[1,2]}");
    assert_true(wb_result_ok(result));
    assert_int_equal(wb_result_exit_code(result), 0);
    assert_string_equal(wb_result_kind(result), "");
    assert_memory_equal(wb_result_call(result), "call_", 5);
    assert_string_equal(wb_result_view(result, WB_VIEW_CANONICAL, &n),
                        "{\"tool_name\":\"probe\",\"status\":\"success\",\"summary_text\":"
                        "\"probe completed\",\"result\":{\"a\":[1,2]},\"error\":null}");
    assert_int_equal(n, strlen(wb_result_view(result, WB_VIEW_CANONICAL, NULL)));
    assert_null(wb_result_view(result, WB_VIEW_ITEM, NULL)); /* it came by no provider */
    assert_null(wb_result_view(result, (wb_view)99, NULL));
    wb_result_free(result);
    wb_runtime_free(runtime);
}

static void count_result(wb_result *result, void *arg)
{
    *(int *)arg += wb_result_ok(result);
}

struct submitter {
    wb_runtime *runtime;
    int done;
};

static void *submit_on_thread(void *arg)
{
    struct submitter *s = arg;
    wb_request *request = wb_request_new("probe");

    assert_int_equal(wb_call_submit(s->runtime, request, count_result, &s->done, NULL), WB_OK);
    wb_request_free(request);
    return NULL;
}

/* "wb_call_submit: any thread": also where nothing else is under way, so that the loop sleeps. */
static void test_calls_of_other_threads_are_under_way(void **state)
{
    struct submitter s = {.runtime = bare_runtime(NULL)};
    pthread_t thread;

    (void)state;
    add_tool(s.runtime, plain, echo, NULL, NULL);
    assert_int_equal(pthread_create(&thread, NULL, submit_on_thread, &s), 0);
    pthread_join(thread, NULL);
    wb_runtime_run(s.runtime);
    assert_int_equal(s.done, 1);
    assert_int_equal(pthread_create(&thread, NULL, submit_on_thread, &s), 0);
    pthread_join(thread, NULL);
    assert_int_equal(wb_runtime_turn(s.runtime, 0), 0);
    assert_int_equal(s.done, 2);
    wb_runtime_free(s.runtime);
}

struct finisher {
    pthread_t thread;
    wb_tool_call *call;
};

static void *finish_on_thread(void *arg)
{
    struct finisher *f = arg;

    wb_tool_finish_text(f->call, "from elsewhere", 14);
    wb_tool_finish_text(f->call, "again", 5); /* only the first counts */
    return NULL;
}

static void finish_elsewhere(wb_tool_call *tool_call, void *arg)
{
    struct finisher *f = arg;

    f->call = tool_call;
    assert_int_equal(pthread_create(&f->thread, NULL, finish_on_thread, f), 0);
}

static void test_an_async_tool_finishes_from_another_thread(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    struct finisher f;
    wb_result *result;

    (void)state;
    add_tool(runtime, plain, finish_elsewhere, NULL, &f);
    result = call(runtime, "{}");
    assert_string_equal(wb_result_view(result, WB_VIEW_RECEIPT, NULL),
                        "probe completed\noutput: (1 line)\nfrom elsewhere");
    pthread_join(f.thread, NULL);
    wb_result_free(result);
    wb_runtime_free(runtime);
}

static void finish_twice(wb_tool_call *tool_call, void *arg)
{
    (void)arg;
    wb_tool_finish_json(tool_call, "1", 1);
    wb_tool_fail(tool_call, NULL, "too late", NULL);
    wb_tool_finish_json(tool_call, "2", 1);
}

static void count_done(wb_result *result, void *arg)
{
    int *counts = arg; /* all, successes */

    counts[0]++;
    counts[1] += wb_result_ok(result);
}

/* C1.1: exactly one outcome, whatever the tool does. */
static void test_only_the_first_finish_counts(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    wb_request *request = wb_request_new("probe");
    int counts[2] = {0, 0};

    (void)state;
    add_tool(runtime, plain, finish_twice, NULL, NULL);
    assert_int_equal(wb_call_submit(runtime, request, count_done, counts, NULL), WB_OK);
    wb_runtime_run(runtime);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    wb_request_free(request);
    wb_runtime_free(runtime);
}

struct slow {
    wb_tool_call *call;
    int asked;
    int late; /* finish well only when asked to end */
};

static void slow_run(wb_tool_call *tool_call, void *arg)
{
    struct slow *s = arg;

    s->call = tool_call;
    assert_false(wb_tool_call_cancelled(tool_call));
}

static void slow_cancel(wb_tool_call *tool_call, void *arg)
{
    struct slow *s = arg;

    s->asked++;
    assert_ptr_equal(tool_call, s->call);
    assert_true(wb_tool_call_cancelled(tool_call));
    if (s->late)
        wb_tool_finish_json(tool_call, "{\"late\":1}", 10);
    else
        wb_tool_fail(tool_call, "cancelled", "as asked", NULL);
}

static void keep(wb_result *result, void *arg)
{
    *(wb_result **)arg = wb_result_ref(result);
}

static void test_cancelling_asks_the_tool_and_gives_one_outcome(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    wb_request *request = wb_request_new("probe");
    struct slow s = {NULL, 0, 0};
    wb_result *result = NULL;
    wb_call_id id;

    (void)state;
    add_tool(runtime, plain, slow_run, slow_cancel, &s);
    assert_int_equal(wb_call_submit(runtime, request, keep, &result, &id), WB_OK);
    assert_null(result);
    wb_call_cancel(runtime, id);
    assert_non_null(result);
    assert_string_equal(wb_result_kind(result), "cancelled");
    assert_int_equal(s.asked, 1);
    wb_call_cancel(runtime, id); /* over: nothing happens */
    wb_call_cancel(runtime, (wb_call_id){12345});
    assert_int_equal(s.asked, 1);
    wb_result_free(result);
    wb_request_free(request);
    wb_runtime_free(runtime);
}

/* C8.1: "Late results are dropped for the caller". */
static void test_a_result_after_the_deadline_is_dropped(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    struct slow s = {NULL, 0, 1};
    wb_result *result;

    (void)state;
    add_tool(runtime,
             "{\"name\":\"probe\",\"timeoutMs\":10,\"effect\":\"Pure\","
             "\"inputSchema\":{\"type\":\"object\"}}",
             slow_run, slow_cancel, &s);
    result = call(runtime, "{}");
    assert_string_equal(wb_result_kind(result), "timed_out");
    assert_null(strstr(wb_result_view(result, WB_VIEW_RECORD, NULL), "late\":1"));
    wb_result_free(result);
    wb_runtime_free(runtime);
}

static void *finish_much_later(void *arg)
{
    uv_sleep(50);
    wb_tool_finish_text(arg, "x", 1);
    return NULL;
}

static void start_late_thread(wb_tool_call *tool_call, void *arg)
{
    assert_int_equal(pthread_create(arg, NULL, finish_much_later, tool_call), 0);
}

/* wb_runtime_free: "Cancels what runs, waits for it": also for a tool that cannot
 * be cancelled and comes back from its own thread. */
static void test_freeing_a_runtime_waits_for_running_tools(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    wb_request *request = wb_request_new("probe");
    int counts[2] = {0, 0};
    pthread_t thread;

    (void)state;
    add_tool(runtime, plain, start_late_thread, NULL, &thread);
    assert_int_equal(wb_call_submit(runtime, request, count_done, counts, NULL), WB_OK);
    assert_int_equal(counts[0], 0);
    wb_runtime_free(runtime);
    assert_int_equal(counts[0], 1);
    pthread_join(thread, NULL);
    wb_request_free(request);
}

static void stop_any(wb_tool_call *tool_call, void *arg)
{
    (void)arg;
    wb_tool_fail(tool_call, "cancelled", "as asked", NULL);
}

static void do_nothing(wb_tool_call *tool_call, void *arg)
{
    (void)tool_call;
    (void)arg;
}

static void test_freeing_a_runtime_cancels_calls_that_can_be(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    wb_request *request = wb_request_new("probe");
    int counts[2] = {0, 0};

    (void)state;
    add_tool(runtime, plain, do_nothing, stop_any, NULL);
    for (int i = 0; i < 20; i++)
        assert_int_equal(wb_call_submit(runtime, request, count_done, counts, NULL), WB_OK);
    assert_int_equal(counts[0], 0);
    wb_request_free(request);
    wb_runtime_free(NULL);
    wb_runtime_free(runtime);
    assert_int_equal(counts[0], 20);
    assert_int_equal(counts[1], 0);
}

/* ---- descriptors ---- */

static void test_a_wrong_descriptor_is_refused_by_name(void **state)
{
    static const struct {
        const char *text, *says;
        wb_rc rc;
    } bad[] = {
        {"{}", "name", WB_EINPUT},
        {"{\"name\":\"\"}", "name", WB_EINPUT},
        {"[]", "object", WB_EINPUT},
        {"{\"name\":\"a\",\"effect\":\"Sometimes\"}", "effect", WB_EINPUT},
        {"{\"name\":\"a\",\"timeoutMs\":-1}", "timeoutMs", WB_EINPUT},
        {"{\"name\":\"a\",\"inputSchema\":{\"type\":\"strange\"}}", "", WB_EINPUT},
        {"{\"name\":\"a\",\"version\":1}", "version", WB_EINPUT},
        {"{\"name\":\"a\",\"policies\":{\"concurrency\":{\"limit\":1}}}", "policies", WB_EINPUT},
        {"{\"name\":\"a\",\"command\":[\"true\"]}", "command", WB_EINPUT},
        {"{nope", "", WB_EINPUT},
    };
    wb_runtime *runtime = bare_runtime(NULL);
    wb_error *error;

    (void)state;
    for (size_t i = 0; i < LEN(bad); i++) {
        error = NULL;
        assert_int_equal(wb_tool_register(runtime, bad[i].text, NULL, echo, NULL, NULL, &error),
                         bad[i].rc);
        assert_int_equal(wb_error_rc(error), bad[i].rc);
        if (strstr(wb_error_text(error), bad[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", wb_error_text(error), bad[i].says);
        wb_error_free(error);
    }
    assert_int_equal(wb_tool_register(runtime, plain, "none", echo, NULL, NULL, NULL),
                     WB_ENOTFOUND);
    assert_int_equal(wb_tool_register(runtime, plain, NULL, NULL, NULL, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_tool_register(NULL, plain, NULL, echo, NULL, NULL, NULL), WB_EMISUSE);
    add_tool(runtime, plain, echo, NULL, NULL);
    assert_int_equal(wb_tool_register(runtime, plain, NULL, echo, NULL, NULL, NULL), WB_EEXISTS);
    wb_runtime_free(runtime);
}

static void fail_with(wb_tool_call *tool_call, void *arg)
{
    wb_tool_fail(tool_call, arg, "on purpose", "{ \"where\" : \"here\" }");
}

/* C4.7: one table; every kind shows itself the same way on every surface. */
static void test_every_kind_shows_on_every_surface(void **state)
{
    wb_error_row row;

    (void)state;
    for (size_t i = 0; wb_error_table(i, &row) != NULL; i++) {
        wb_runtime *runtime = bare_runtime(NULL);
        char text[256];
        wb_result *result;

        add_tool(runtime, plain, fail_with, NULL, (void *)(uintptr_t)row.kind);
        result = call(runtime, "{}");
        assert_false(wb_result_ok(result));
        assert_string_equal(wb_result_kind(result), row.kind);
        assert_int_equal(wb_result_exit_code(result), row.exit_code);
        snprintf(text, sizeof(text), "\"kind\":\"%s\"", row.kind);
        assert_non_null(strstr(wb_result_view(result, WB_VIEW_CANONICAL, NULL), text));
        assert_non_null(strstr(wb_result_view(result, WB_VIEW_CANONICAL, NULL),
                               "\"details\":{\"where\":\"here\"}"));
        assert_non_null(strstr(wb_result_view(result, WB_VIEW_ENVELOPE, NULL), text));
        assert_non_null(strstr(wb_result_view(result, WB_VIEW_RECORD, NULL), text));
        snprintf(text, sizeof(text), "\"category\":\"%s\",\"code\":\"%s\"", row.category, row.code);
        assert_non_null(strstr(wb_result_view(result, WB_VIEW_RESULT, NULL), text));
        snprintf(text, sizeof(text), "Error: %s (", row.kind);
        assert_memory_equal(wb_result_view(result, WB_VIEW_RECEIPT, NULL), text, strlen(text));
        assert_non_null(strstr(wb_result_view(result, WB_VIEW_RECEIPT, NULL), row.hint));
        wb_result_free(result);
        wb_runtime_free(runtime);
    }
}

/* ---- threads and loops ---- */

#define THREADS 4
#define PER_THREAD 50

struct crowd {
    wb_runtime *runtime;
    atomic_int done, good;
};

static void crowd_done(wb_result *result, void *arg)
{
    struct crowd *c = arg;

    atomic_fetch_add(&c->good, wb_result_ok(result));
    atomic_fetch_add(&c->done, 1);
}

static void *crowd_member(void *arg)
{
    struct crowd *c = arg;
    wb_request *request = wb_request_new("probe");
    wb_call_id id;

    for (int i = 0; i < PER_THREAD; i++) {
        if (wb_call_submit(c->runtime, request, crowd_done, c, &id) != WB_OK)
            abort();
        if (i % 7 == 0)
            wb_call_cancel(c->runtime, id);
    }
    wb_request_free(request);
    return NULL;
}

/* wb_call_submit: "Any thread"; wb_runtime_start: callbacks on its thread. */
static void test_calls_come_from_several_threads(void **state)
{
    struct crowd c = {.runtime = bare_runtime(NULL)};
    pthread_t threads[THREADS];

    (void)state;
    add_tool(c.runtime, plain, echo, NULL, NULL);
    assert_int_equal(wb_runtime_start(c.runtime, NULL), WB_OK);
    assert_int_equal(wb_runtime_start(c.runtime, NULL), WB_EMISUSE);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_member, &c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    wb_runtime_free(c.runtime); /* answers everything that was accepted */
    assert_int_equal(c.done, THREADS * PER_THREAD);
}

static void quiet_close(uv_handle_t *handle)
{
    (void)handle;
}

/* Runs on the caller's loop: uv_run drives, and stays while a tool is at work on
 * another thread. */
static void test_the_callers_loop_drives(void **state)
{
    uv_loop_t loop;
    uv_timer_t timer; /* the caller's own handle, to be left alone */
    wb_runtime *runtime;
    wb_request *request;
    struct finisher f;
    wb_result *result = NULL;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_timer_init(&loop, &timer), 0);
    runtime = bare_runtime(&loop);
    add_tool(runtime, plain, finish_elsewhere, NULL, &f);
    assert_int_equal(wb_runtime_start(runtime, NULL), WB_EMISUSE); /* two threads would drive it */
    request = wb_request_new("probe");
    assert_int_equal(wb_call_submit(runtime, request, keep, &result, NULL), WB_OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_non_null(result);
    assert_true(wb_result_ok(result));
    pthread_join(f.thread, NULL);
    wb_result_free(result);
    wb_request_free(request);
    wb_runtime_free(runtime);
    assert_false(uv_is_closing((uv_handle_t *)&timer));
    uv_close((uv_handle_t *)&timer, quiet_close);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0); /* nothing of ours is left in it */
}

/* "runtimes share nothing". */
static void test_two_runtimes_share_nothing(void **state)
{
    wb_runtime *a = bare_runtime(NULL), *b = bare_runtime(NULL);
    wb_result *result;

    (void)state;
    add_tool(a, plain, echo, NULL, NULL);
    result = call(b, "{}");
    assert_string_equal(wb_result_kind(result), "unknown_tool");
    wb_result_free(result);
    wb_runtime_free(b);
    result = call(a, "{}");
    assert_true(wb_result_ok(result));
    wb_result_free(result);
    wb_runtime_free(a);
}

static void test_misuse_is_told(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    wb_request *request = wb_request_new(NULL);
    wb_options *options = wb_options_new();
    wb_envelope no_pairs = {.compat_count = 2}, no_tags = {.tag_count = 2};
    wb_result *result;
    char *text;

    (void)state;
    assert_int_equal(wb_envelope_apply(WB_ENVELOPE_CREATE, &no_pairs, NULL, 0, &text, NULL, NULL),
                     WB_EMISUSE);
    assert_int_equal(wb_envelope_apply(WB_ENVELOPE_CREATE, &no_tags, NULL, 0, &text, NULL, NULL),
                     WB_EMISUSE);
    assert_int_equal(wb_call_submit(NULL, request, count_done, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_call_submit(runtime, NULL, count_done, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_call_submit(runtime, request, NULL, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_request_set(request, (wb_field)99, "x"), WB_EMISUSE);
    assert_int_equal(wb_options_set(options, (wb_option)99, "x"), WB_EMISUSE);
    assert_int_equal(wb_options_set_clock(options, NULL, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_options_set_ids(options, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_call_run(runtime, request, &result), WB_OK); /* no name: an outcome */
    assert_string_equal(wb_result_kind(result), "malformed_call");
    wb_result_free(result);
    wb_result_free(NULL);
    wb_request_free(NULL);
    wb_options_free(options);
    wb_request_free(request);
    wb_runtime_free(runtime);
}

/* call.h: a bad value gives the call an error outcome, a traceparent excepted. */
static void test_bad_fields_are_told(void **state)
{
    static const struct {
        wb_field field;
        const char *value, *kind;
    } rows[] = {
        {WB_FIELD_HEADERS, "[1]", "malformed_call"},
        {WB_FIELD_HEADERS, "-4", "malformed_call"},
        {WB_FIELD_HEADERS, "null", ""},
        {WB_FIELD_METADATA, "[1]", "malformed_call"},
        {WB_FIELD_METADATA, "{}", ""},
        {WB_FIELD_METADATA, "{", "malformed_call"},
        {WB_FIELD_INPUT, "{", "invalid_tool_input"},
        {WB_FIELD_MAX_TOKENS, "-4", "malformed_call"},
        {WB_FIELD_MAX_TOKENS, "abc", "malformed_call"},
        {WB_FIELD_MAX_TOKENS, "", "malformed_call"},
        {WB_FIELD_MAX_TOKENS, "4294967296", "malformed_call"},
        {WB_FIELD_MAX_TOKENS, "0", ""},
        {WB_FIELD_HEARTBEAT_MS, "soon", "malformed_call"},
        {WB_FIELD_HEARTBEAT_MS, "0", ""},
        {WB_FIELD_LENIENT, "yes", "malformed_call"},
        {WB_FIELD_LENIENT, "0", ""},
        {WB_FIELD_CORRELATION_ID, "\xff", "malformed_call"},
        {WB_FIELD_CAUSATION_ID, "\xff", "malformed_call"},
        {WB_FIELD_CALL_ID, "\xff", "malformed_call"},
        {WB_FIELD_CONVERSATION_ID, "\xff", "malformed_call"},
        {WB_FIELD_TURN_ID, "\xff", "malformed_call"},
        {WB_FIELD_IDEMPOTENCY_KEY, "\xff", "malformed_call"},
        {WB_FIELD_PRINCIPAL, "\xff", "malformed_call"},
        {WB_FIELD_PROVIDER, "\xff", "malformed_call"},
        {WB_FIELD_MODEL, "\xff", "malformed_call"},
        {WB_FIELD_VERSION_RANGE, "\xff", "malformed_call"},
        {WB_FIELD_TRACEPARENT, "\xff", ""},
    };
    wb_runtime *runtime = bare_runtime(NULL);

    (void)state;
    add_tool(runtime, plain, echo, NULL, NULL);
    for (size_t i = 0; i < LEN(rows); i++) {
        wb_request *request = wb_request_new("probe");
        wb_result *result;
        const char *record;
        size_t n;

        assert_int_equal(wb_request_set(request, rows[i].field, rows[i].value), WB_OK);
        assert_int_equal(wb_call_run(runtime, request, &result), WB_OK);
        if (strcmp(wb_result_kind(result), rows[i].kind) != 0)
            fail_msg("field %d, \"%s\": %s", (int)rows[i].field, rows[i].value,
                     wb_result_kind(result));
        record = wb_result_view(result, WB_VIEW_RECORD, &n);
        assert_int_equal(wb_json_check(record, n, NULL), WB_OK);
        wb_result_free(result);
        wb_request_free(request);
    }
    wb_runtime_free(runtime);
}

/* ---- families ---- */

static wb_rc bad_project(const char *output, size_t size, unsigned budget, wb_sink *sink,
                         wb_text *result, wb_text *summary, void *arg)
{
    const char *path;

    (void)output;
    (void)size;
    (void)budget;
    (void)summary;
    assert_int_equal(wb_sink_put(sink, "x", "y", 1, &path), WB_EUNSUPPORTED); /* nothing keeps */
    wb_text_add(result, arg, strlen(arg));
    return WB_OK;
}

static wb_rc no_render(const char *canonical, size_t size, wb_text *receipt, void *arg)
{
    (void)canonical;
    (void)size;
    (void)arg;
    wb_text_add(receipt, "seen", 4);
    return WB_OK;
}

static char not_json[] = "not json";

static void test_a_family_that_writes_no_json_ends_in_an_error(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    wb_result *result;

    (void)state;
    assert_int_equal(wb_family_register(runtime, "f", bad_project, no_render, not_json, NULL),
                     WB_OK);
    assert_int_equal(wb_family_register(runtime, "f", bad_project, no_render, NULL, NULL),
                     WB_EEXISTS);
    assert_int_equal(wb_family_register(runtime, "generic", bad_project, no_render, NULL, NULL),
                     WB_EEXISTS);
    assert_int_equal(wb_family_register(runtime, "g", NULL, no_render, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_tool_register(runtime, plain, "f", echo, NULL, NULL, NULL), WB_OK);
    result = call(runtime, "{}");
    assert_string_equal(wb_result_kind(result), "internal_error");
    assert_int_equal(wb_result_exit_code(result), 70);
    wb_result_free(result);
    wb_runtime_free(runtime);
}

static wb_rc plain_project(const char *output, size_t size, unsigned budget, wb_sink *sink,
                           wb_text *result, wb_text *summary, void *arg)
{
    (void)output;
    (void)size;
    (void)budget;
    (void)sink;
    (void)arg;
    wb_text_add(result, "{}", 2);
    wb_text_add(summary, "done", 4);
    return WB_OK;
}

static wb_rc failing_render(const char *canonical, size_t size, wb_text *receipt, void *arg)
{
    (void)canonical;
    (void)size;
    (void)receipt;
    (void)arg;
    return WB_EINTERNAL;
}

/* What the model gets says something, whatever fails. */
static void test_a_render_that_fails_leaves_no_empty_receipt(void **state)
{
    wb_runtime *runtime = bare_runtime(NULL);
    wb_result *result;
    const char *text;
    size_t n;

    (void)state;
    assert_int_equal(wb_family_register(runtime, "f", plain_project, failing_render, NULL, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(runtime, plain, "f", echo, NULL, NULL, NULL), WB_OK);
    result = call(runtime, "{}");
    assert_string_equal(wb_result_kind(result), "internal_error");
    text = wb_result_view(result, WB_VIEW_RECEIPT, &n);
    assert_non_null(text);
    assert_non_null(strstr(text, "the receipt could not be made"));
    wb_result_free(result);
    wb_runtime_free(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sync_tool_answers),
        cmocka_unit_test(test_calls_of_other_threads_are_under_way),
        cmocka_unit_test(test_an_async_tool_finishes_from_another_thread),
        cmocka_unit_test(test_only_the_first_finish_counts),
        cmocka_unit_test(test_cancelling_asks_the_tool_and_gives_one_outcome),
        cmocka_unit_test(test_a_result_after_the_deadline_is_dropped),
        cmocka_unit_test(test_freeing_a_runtime_waits_for_running_tools),
        cmocka_unit_test(test_freeing_a_runtime_cancels_calls_that_can_be),
        cmocka_unit_test(test_a_wrong_descriptor_is_refused_by_name),
        cmocka_unit_test(test_every_kind_shows_on_every_surface),
        cmocka_unit_test(test_calls_come_from_several_threads),
        cmocka_unit_test(test_the_callers_loop_drives),
        cmocka_unit_test(test_two_runtimes_share_nothing),
        cmocka_unit_test(test_misuse_is_told),
        cmocka_unit_test(test_bad_fields_are_told),
        cmocka_unit_test(test_a_family_that_writes_no_json_ends_in_an_error),
        cmocka_unit_test(test_a_render_that_fails_leaves_no_empty_receipt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
