/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp_upstream_test.c: the client side against servers that misbehave
 * (attack rows 70 to 76): each call has one clear outcome, in time, and a
 * healthy server beside it notices nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/checked.h"
#include "loop/loop.h"
#include "mcp/upstream.h"
#include "run/process.h"

struct world {
    struct wbi_loop *loop;
    struct wbi_runner *runner;
};

struct outcome {
    int count; /* how often on_done ran */
    wb_rc rc;
    bool error;
    int64_t retry_after_ms;
    char text[256];
};

static void on_done(void *arg, const struct wbi_upstream_answer *a)
{
    struct outcome *o = arg;

    o->count++;
    o->rc = a->rc;
    o->error = a->error != NULL;
    o->retry_after_ms = a->retry_after_ms;
    (void)snprintf(o->text, sizeof(o->text), "%.*s", WBI_FMT(wbi_str_head(a->text, 200)));
}

static const char *program(const char *name)
{
    static char path[2][4096];
    static int turn;
    const char *build = getenv("WAYBILL_BUILD");

    turn = 1 - turn;
    (void)snprintf(path[turn], sizeof(path[turn]), "%s/%s", build != NULL ? build : "build/dev",
                   name);
    return path[turn];
}

static void start(struct world *w)
{
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_runner_new(w->loop, wbi_clock_system(), &w->runner, NULL), WB_OK);
}

static void stop(struct world *w)
{
    while (wbi_runner_busy(w->runner) > 0)
        (void)wbi_loop_turn(w->loop, true);
    wbi_runner_free(w->runner);
    wbi_loop_free(w->loop);
}

/* Only who waits for a limit has a short one: a busy machine is no bad server. */
enum { SHORT_MS = 2500, LONG_MS = 60000 };

static struct wbi_upstream *connect_to(struct world *w, const char *name, const char *mode)
{
    static const struct wbi_upstream_ops ops = {0};
    bool mute = mode != NULL && strcmp(mode, "mute") == 0;
    struct wbi_str argv[2] = {wbi_str_z(program(name)), wbi_str_z(mode)};
    struct wbi_upstream_spec spec = {.name = name,
                                     .argv = argv,
                                     .argc = mode != NULL ? 2 : 1,
                                     .start_ms = mute ? SHORT_MS : LONG_MS,
                                     .probe_ms = 200,
                                     .call_ms = LONG_MS,
                                     .message = 4u << 20};
    struct wbi_upstream *up = NULL;

    assert_int_equal(wbi_upstream_new(w->loop, w->runner, NULL, &spec, &ops, NULL, &up, NULL),
                     WB_OK);
    return up;
}

static void call(struct wbi_upstream *up, int64_t timeout_ms, struct outcome *o)
{
    static const struct wbi_upstream_call_ops ops = {.on_done = on_done};
    struct wbi_upstream_request q = {
        .method = "tools/call",
        .params = WBI_LIT("{\"name\":\"echo\",\"arguments\":{\"message\":\"hi\"}}"),
        .timeout_ms = timeout_ms};

    memset(o, 0, sizeof(*o));
    assert_int_equal(wbi_upstream_start(up, &q, &ops, o, NULL, NULL), WB_OK);
}

static void wait_for(struct world *w, const struct outcome *o)
{
    while (o->count == 0)
        (void)wbi_loop_turn(w->loop, true);
}

static const struct {
    const char *mode;
    wb_rc rc;
} modes[] = {
    {"fine", WB_OK},         {"hang", WB_EAGAIN},          {"die", WB_EIO},
    {"die-at-once", WB_EIO}, {"die-of-probe", WB_OK},      {"banner", WB_OK},
    {"half", WB_EIO},        {"trickle", WB_OK},           {"wrong-id", WB_EAGAIN},
    {"double", WB_OK},       {"string-id", WB_OK},         {"null-id", WB_EAGAIN},
    {"not-json", WB_EAGAIN}, {"batch", WB_EAGAIN},         {"duplicate-names", WB_EINPUT},
    {"both", WB_EINPUT},     {"string-result", WB_EINPUT}, {"unknown-type", WB_EINPUT},
    {"flood", WB_OK},        {"stderr-flood", WB_OK},      {"huge-line", WB_OK},
    {"asks", WB_OK},         {"close-stdout", WB_EIO},     {"mute", WB_EIO},
    {"old-version", WB_EIO},
};

static void a_bad_server_harms_only_its_own_calls(void **state)
{
    struct wbi_upstream *healthy, *bad[WBI_COUNT(modes)];
    struct outcome outcomes[WBI_COUNT(modes)], mine;
    struct world w;

    (void)state;
    start(&w);
    healthy = connect_to(&w, "mcp_echo", NULL);
    for (size_t i = 0; i < WBI_COUNT(modes); i++) {
        bad[i] = connect_to(&w, "mcp_chaos", modes[i].mode);
        call(bad[i], modes[i].rc == WB_EAGAIN ? SHORT_MS : LONG_MS, &outcomes[i]);
    }
    for (size_t i = 0; i < WBI_COUNT(modes); i++) {
        call(healthy, 0, &mine);
        wait_for(&w, &mine);
        assert_int_equal(mine.rc, WB_OK);
        wait_for(&w, &outcomes[i]);
        if (outcomes[i].rc != modes[i].rc)
            fail_msg("%s: expected %s, got %s", modes[i].mode, wb_rc_name(modes[i].rc),
                     wb_rc_name(outcomes[i].rc));
    }
    for (size_t i = 0; i < WBI_COUNT(modes); i++)
        wbi_upstream_free(bad[i]);
    for (size_t i = 0; i < WBI_COUNT(modes); i++)
        assert_int_equal(outcomes[i].count, 1);
    wbi_upstream_free(healthy);
    stop(&w);
}

/* Rows 71 and 74: noise is counted, not believed. */
static void noise_is_counted(void **state)
{
    struct wbi_upstream *up;
    struct outcome o;
    struct world w;

    (void)state;
    start(&w);
    up = connect_to(&w, "mcp_chaos", "banner");
    call(up, 0, &o);
    wait_for(&w, &o);
    assert_int_equal(wbi_upstream_counts(up).banners, 2);
    wbi_upstream_free(up);
    up = connect_to(&w, "mcp_chaos", "double");
    call(up, 0, &o);
    wait_for(&w, &o);
    call(up, 0, &o);
    wait_for(&w, &o);
    assert_int_equal(o.count, 1);
    assert_true(wbi_upstream_counts(up).unknown_ids >= 1);
    wbi_upstream_free(up);
    stop(&w);
}

/* Row 73: it is not tried again at once, and says when. */
static void a_server_that_dies_is_backed_off_from(void **state)
{
    struct wbi_upstream *up;
    struct outcome o;
    struct wbi_clock clock = wbi_clock_system();
    int64_t began, left;
    uint64_t starts = 2;
    struct world w;

    (void)state;
    start(&w);
    up = connect_to(&w, "mcp_chaos", "die-at-once");
    began = wbi_now_ns(&clock);
    for (int i = 0; i < 100; i++) {
        call(up, 0, &o);
        wait_for(&w, &o);
        assert_int_equal(o.rc, WB_EIO);
        assert_true(o.retry_after_ms > 0);
    }
    /* The first time twice, with and without the probe; then once a wait, which doubles. */
    left = wbi_now_ns(&clock) - began;
    for (int64_t ns = 250 * WBI_NS_PER_MS; left >= ns; left -= ns, ns *= 2)
        starts++;
    assert_in_range(wbi_upstream_counts(up).starts, 1, starts);
    assert_int_equal(wbi_upstream_state(up), WBI_UP_WAITING);
    wbi_upstream_free(up);
    stop(&w);
}

/* To open is not yet to work: the wait doubles for a server that dies of each call, too. */
static void a_server_that_dies_of_its_calls_is_backed_off_from(void **state)
{
    struct wbi_upstream *up;
    struct outcome o;
    struct world w;

    (void)state;
    start(&w);
    up = connect_to(&w, "mcp_chaos", "die");
    do {
        memset(&o, 0, sizeof(o)); /* as the gateway asks whatever it opens */
        assert_int_equal(wbi_upstream_list(up, WBI_MCP_TOOLS, on_done, &o, NULL), WB_OK);
        wait_for(&w, &o);
        call(up, 0, &o);
        wait_for(&w, &o);
        assert_int_equal(o.rc, WB_EIO);
    } while (wbi_upstream_counts(up).deaths < 3); /* most are refused, unsent */
    call(up, 0, &o);
    wait_for(&w, &o);
    assert_true(o.retry_after_ms > 625); /* the most that the second wait can be */
    wbi_upstream_free(up);
    stop(&w);
}

/* Row 76. */
static void lists_come_to_an_end(void **state)
{
    static const struct {
        const char *mode;
        wb_rc rc;
    } rows[] = {{"fine", WB_OK},
                {"empty-cursor", WB_OK},
                {"empty-cursor-refused", WB_OK},
                {"empty-cursor-counts", WB_OK},
                {"cyclic-cursor", WB_ELIMIT},
                {"endless-pages", WB_ELIMIT},
                {"many-tools", WB_ELIMIT}};

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_upstream *up;
        struct outcome o = {0};
        struct world w;

        start(&w);
        up = connect_to(&w, "mcp_chaos", rows[i].mode);
        assert_int_equal(wbi_upstream_list(up, WBI_MCP_TOOLS, on_done, &o, NULL), WB_OK);
        wait_for(&w, &o);
        assert_int_equal(o.rc, rows[i].rc);
        if (o.rc == WB_OK)
            assert_string_equal(o.text, "[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]");
        wbi_upstream_free(up);
        stop(&w);
    }
}

/* Row 75: the caller's answer is final; what comes late finds nothing. */
static void a_cancelled_call_ends_at_once_and_once(void **state)
{
    static const struct wbi_upstream_call_ops ops = {.on_done = on_done};
    struct wbi_upstream_request q = {.method = "tools/call",
                                     .params = WBI_LIT("{\"name\":\"slow\",\"arguments\":"
                                                       "{\"ms\":50}}")};
    struct wbi_upstream_call *c = NULL;
    struct wbi_upstream *up;
    struct outcome first, o = {0};
    struct world w;

    (void)state;
    start(&w);
    up = connect_to(&w, "mcp_demo_server", NULL);
    call(up, 0, &first);
    wait_for(&w, &first);
    assert_int_equal(wbi_upstream_era(up), WBI_ERA_MODERN);
    assert_int_equal(wbi_upstream_start(up, &q, &ops, &o, &c, NULL), WB_OK);
    wbi_upstream_cancel(c, WBI_NONE);
    assert_int_equal(o.count, 1);
    assert_int_equal(o.rc, WB_ECANCELLED);
    call(up, 0, &first);
    wait_for(&w, &first);
    assert_int_equal(first.rc, WB_OK);
    assert_int_equal(o.count, 1);
    wbi_upstream_free(up);
    stop(&w);
}

static void open_calls_end_with_their_server(void **state)
{
    struct wbi_upstream *up;
    struct outcome o[3];
    struct world w;

    (void)state;
    start(&w);
    up = connect_to(&w, "mcp_chaos", "hang");
    for (size_t i = 0; i < 3; i++)
        call(up, 0, &o[i]);
    wbi_upstream_free(up);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(o[i].count, 1);
        assert_int_equal(o[i].rc, WB_ECANCELLED);
    }
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_server_harms_only_its_own_calls),
        cmocka_unit_test(noise_is_counted),
        cmocka_unit_test(a_server_that_dies_is_backed_off_from),
        cmocka_unit_test(a_server_that_dies_of_its_calls_is_backed_off_from),
        cmocka_unit_test(lists_come_to_an_end),
        cmocka_unit_test(a_cancelled_call_ends_at_once_and_once),
        cmocka_unit_test(open_calls_end_with_their_server),
    };

    if (access(program("mcp_chaos"), X_OK) != 0) {
        printf("skipped: MCP upstreams (their programs are not built)\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
