/* SPDX-License-Identifier: Apache-2.0
 * tests/cancel_test.c: calls that are cancelled, or run out of time, wherever they wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/api_int.h"
#include "ledger/ledger.h"
#include "support/guarded.h"

static struct guarded g;

static int teardown(void **state)
{
    (void)state;
    guarded_close(&g);
    return 0;
}

/* ---- for the tools of a server ---- */

static bool never_told(void *arg, struct wbi_str tool, struct wbi_call_ref ref)
{
    (void)arg, (void)tool, (void)ref;
    return true;
}

/* C8.1: a server that says nothing holds a call no longer than its deadline, and a cancelled
 * one not at all. */
static void nobody_waits_for_a_silent_server_past_a_deadline(void **state)
{
    struct asked a;

    (void)state;
    guarded_open(&g, NULL, NULL, false);
    g.runtime->rt->find_more = never_told;
    ask(&g, &a, "mcp::silent::t", WB_FIELD_DEADLINE, deadline_in(&g, 5), 0);
    assert_int_equal(a.done, 0);
    for (int i = 0; i < 1000 && a.done == 0; i++) /* a second */
        (void)wb_runtime_turn(g.runtime, 1);
    assert_int_equal(a.done, 1);
    assert_string_equal(a.kind, "timed_out");
    ask(&g, &a, "mcp::silent::t", 0);
    settle_down(&g);
    assert_int_equal(a.done, 0);
    wb_call_cancel(g.runtime, a.id);
    settle_down(&g);
    assert_int_equal(a.done, 1);
    assert_string_equal(a.kind, "cancelled");
}

/* ---- for the intent ---- */

/* C12.1: the outcome of a call whose intent was on its way is on the disk before the reply, or
 * a crash right behind it would make that call one of unknown outcome. */
static void an_outcome_is_written_before_the_reply_though_cancelled_in_intent(void **state)
{
    struct wbi_record record;
    struct scripted *t;
    struct asked a;

    (void)state;
    guarded_open(&g, NULL, NULL, true);
    t = guarded_tool(&g, "t", "NonIdempotentWrite", NULL, "ok", NULL);
    ask(&g, &a, "t", 0);
    wb_call_cancel(g.runtime, a.id);
    wait_for(&a);
    assert_string_equal(a.kind, "cancelled");
    assert_int_equal(
        wbi_ledger_get(g.runtime->rt->ledger, g.arena, wbi_str_z(g.ended[0].call), &record, NULL),
        WB_OK);
    assert_true(record.has_intent);
    assert_true(record.has_outcome);
    assert_int_equal(t->runs, 0);
}

/* ---- for an attempt that ran out of time ---- */

/* An IdempotentWrite of three attempts, deaf, in the grace time of its first. */
static struct scripted *ask_one_that_is_late(struct asked *a)
{
    struct scripted *t;

    guarded_open(&g,
                 "{\"environment\":{\"timeoutMs\":5,\"retry\":{\"maxAttempts\":3,\"baseMs\":0,"
                 "\"jitter\":\"none\"}}}",
                 NULL, false);
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "deaf", NULL);
    ask(&g, a, "t", WB_FIELD_IDEMPOTENCY_KEY, "k", 0);
    assert_int_equal(t->held_n, 1);
    while (!wb_tool_call_cancelled(t->held[0]))
        (void)wb_runtime_turn(g.runtime, 1);
    return t;
}

/* C8.5: nobody who was cancelled gets another attempt, also when time was up before. */
static void a_cancel_in_the_grace_of_a_timeout_is_the_end(void **state)
{
    struct scripted *t;
    struct asked a;

    (void)state;
    t = ask_one_that_is_late(&a);
    wb_call_cancel(g.runtime, a.id);
    settle_down(&g);
    assert_int_equal(a.done, 0);
    wb_tool_fail(t->held[0], "cancelled", "stopped on request", NULL);
    t->held[0] = NULL;
    settle_down(&g);
    assert_int_equal(a.done, 1);
    assert_string_equal(a.kind, "cancelled");
    assert_int_equal(t->runs, 1);
}

/* C8.1: a result that comes after its time is none, whatever was asked then. */
static void a_late_result_is_dropped_though_cancelled(void **state)
{
    struct scripted *t;
    struct asked a;

    (void)state;
    t = ask_one_that_is_late(&a);
    wb_call_cancel(g.runtime, a.id);
    settle_down(&g);
    scripted_finish(t, 0);
    wait_for(&a);
    assert_string_equal(a.kind, "timed_out");
    assert_int_equal(t->runs, 1);
}

/* ---- for a tool that was given up on ---- */

static void keep_result(wb_result *result, void *arg)
{
    *(wb_result **)arg = wb_result_ref(result);
}

static void take_call(void *arg, struct wbi_call *call)
{
    *(struct wbi_call **)arg = call;
}

/* call.h: a result is looked at on any thread. Its tool, which runs still, goes on in the call's
 * arena on the loop's. */
static void a_result_shares_no_memory_with_a_tool_that_goes_on(void **state)
{
    wb_request *request = wb_request_new("t");
    wb_result *result = NULL;
    struct wbi_call *call = NULL;
    struct scripted *t;
    size_t used;

    (void)state;
    guarded_open(&g, NULL, NULL, false);
    t = guarded_tool(&g, "t", "Pure", NULL, "deaf", NULL);
    assert_int_equal(wb_call_submit(g.runtime, request, keep_result, &result, NULL), WB_OK);
    wb_request_free(request);
    wbi_calls_each(g.runtime->rt->calls, take_call, &call);
    wbi_call_cancel(call->calls, call->id, WBI_CANCEL_ASKED);
    wbi_call_grace_over(call);
    assert_non_null(result);
    used = wbi_arena_used(call->arena);
    for (int view = WB_VIEW_RECEIPT; view <= WB_VIEW_RECORD; view++) {
        assert_non_null(wb_result_view(result, (wb_view)view, NULL));
        assert_int_equal(wbi_arena_used(call->arena), used);
    }
    scripted_finish(t, 0);
    assert_non_null(strstr(wb_result_view(result, WB_VIEW_RESULT, NULL), "Cancelled"));
    wb_result_free(result);
}

/* ---- in a tool ---- */

/* C7.5: a call that moved nobody says so. */
static void a_cancelled_move_is_not_told_as_one(void **state)
{
    struct asked a;

    (void)state;
    guarded_open(&g, NULL, NULL, false);
    ask(&g, &a, "EnterWorkspace", WB_FIELD_INPUT, "{\"path\":\".\"}", 0);
    assert_int_equal(a.done, 0);
    wb_call_cancel(g.runtime, a.id);
    wait_for(&a);
    assert_string_equal(a.kind, "cancelled");
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_waits_for_a_silent_server_past_a_deadline),
        TEST(an_outcome_is_written_before_the_reply_though_cancelled_in_intent),
        TEST(a_cancel_in_the_grace_of_a_timeout_is_the_end),
        TEST(a_late_result_is_dropped_though_cancelled),
        TEST(a_result_shares_no_memory_with_a_tool_that_goes_on),
        TEST(a_cancelled_move_is_not_told_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
