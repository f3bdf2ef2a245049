/* SPDX-License-Identifier: Apache-2.0
 * event/event_test.c: events are CloudEvents, each comes once, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "event/event.h"

struct world {
    struct wbi_arena *arena;
    struct wbi_clock_manual clock;
    uint64_t counter;
    struct wbi_events *events;
    const wbi_json *line[16];
    size_t n;
    bool broken;
    struct wbi_event_brief brief; /* the last one */
};

static wb_rc take_line(void *arg, struct wbi_str line, const struct wbi_event_brief *brief)
{
    struct world *w = arg;
    char time[WBI_RFC3339_SIZE];

    if (w->broken)
        return WB_EIO;
    assert_true(w->n < 16);
    wbi_time_format(brief->wall_ms, time);
    assert_true(brief->sequence > 0);
    assert_non_null(strstr(line.p, wbi_event_type_name(brief->type)));
    assert_non_null(strstr(line.p, time));
    assert_int_equal(wbi_str_index(line, '\n'), line.n);
    return wbi_json_read(w->arena, line, WBI_JSON_STRICT, &w->line[w->n++], NULL);
}

static int setup(void **state)
{
    static struct world w;
    struct wbi_events_parts parts = {.source = WBI_LIT_INIT("/waybill/test")};

    w = (struct world){.clock = {0, 1700000000123}};
    parts.sink = (struct wbi_event_sink){.write = take_line, .arg = &w};
    parts.clock = wbi_clock_by_hand(&w.clock);
    parts.ids = wbi_ids_counting(&w.counter);
    *state = &w;
    return wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &w.arena) == WB_OK &&
                   wbi_events_new(&parts, &w.events) == WB_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    struct world *w = *state;

    wbi_events_free(w->events);
    wbi_arena_free(w->arena);
    return 0;
}

static struct wbi_event_call a_call(void)
{
    return (struct wbi_event_call){.tool = WBI_LIT("mcp::git::push"),
                                   .origin = WBI_LIT("mcp::git"),
                                   .version = WBI_LIT("1.2.0"),
                                   .principal = WBI_LIT("ann"),
                                   .call_id = WBI_LIT("call_1"),
                                   .correlation_id = WBI_LIT("c-1"),
                                   .causation_id = WBI_LIT("call_0"),
                                   .effect = "IdempotentWrite"};
}

static void is(const wbi_json *o, const char *name, const char *expected)
{
    struct wbi_str s = wbi_json_get_str(o, name);

    if (!wbi_str_eqz(s, expected))
        print_error("%s is %.*s\n", name, WBI_FMT(s));
    assert_true(wbi_str_eqz(s, expected));
}

/* S1 "Always propagate correlationId; generate one if missing.", "Set
 * causationId when an invocation is triggered by a prior event or tool." */
static void events_carry_the_attributes_of_cloudevents(void **state)
{
    struct world *w = *state;
    struct wbi_event_call call = a_call();
    struct wbi_str redactions[] = {WBI_LIT("input.token")};
    struct wbi_trace trace;
    const wbi_json *data;

    assert_true(wbi_trace_parse(WBI_LIT("00-12345678901234567890123456789012-1234567890123456-01"),
                                &trace));
    call.trace = &trace;
    call.redactions = redactions;
    call.redactions_n = 1;
    assert_int_equal(wbi_event_invoked(w->events, &call), WB_OK);
    assert_int_equal(w->n, 1);
    is(w->line[0], "specversion", "1.0");
    is(w->line[0], "source", "/waybill/test");
    is(w->line[0], "type", "dev.waybill.ToolInvoked");
    is(w->line[0], "time", "2023-11-14T22:13:20.123Z");
    is(w->line[0], "subject", "call_1");
    is(w->line[0], "correlationid", "c-1");
    is(w->line[0], "causationid", "call_0");
    is(w->line[0], "traceparent", "00-12345678901234567890123456789012-1234567890123456-01");
    is(w->line[0], "sequence", "00000000000000000001");
    assert_true(wbi_json_get_str(w->line[0], "id").n > 20);
    data = wbi_json_get(w->line[0], "data");
    is(data, "eventVersion", "1.0");
    is(data, "tool", "mcp::git::push");
    is(data, "origin", "mcp::git");
    is(data, "version", "1.2.0");
    is(data, "principal", "ann");
    is(data, "effect", "IdempotentWrite");
    /* S1 "Apply redaction before emitting events, traces, or ledger writes." */
    assert_true(
        wbi_str_eqz(wbi_json_str(wbi_json_at(wbi_json_get(data, "redactions"), 0)), "input.token"));
}

/* C8.10: exactly once each. */
static void each_event_comes_once_and_in_order(void **state)
{
    struct world *w = *state;
    struct wbi_event_call call = a_call();
    struct wbi_event_end end = {.duration_ms = 12,
                                .attempts = 2,
                                .output_bytes = 5,
                                .cache_hit = -1,
                                .kind = WBI_KIND_TIMED_OUT,
                                .retryable = true};
    const wbi_json *data, *error;

    assert_int_equal(wbi_event_succeeded(w->events, &call, &end), WB_EMISUSE);
    assert_int_equal(wbi_event_invoked(w->events, &call), WB_OK);
    assert_int_equal(wbi_event_invoked(w->events, &call), WB_EMISUSE);
    assert_int_equal(wbi_event_policy(w->events, &call, WBI_LIT("{\"timeoutMs\":5}")), WB_OK);
    assert_int_equal(wbi_event_policy(w->events, &call, WBI_LIT("{}")), WB_EMISUSE);
    assert_int_equal(wbi_event_failed(w->events, &call, &end), WB_OK);
    assert_int_equal(wbi_event_failed(w->events, &call, &end), WB_EMISUSE);
    assert_int_equal(wbi_event_succeeded(w->events, &call, &end), WB_EMISUSE);
    assert_int_equal(w->n, 3);
    is(w->line[2], "type", "dev.waybill.ToolFailed");
    data = wbi_json_get(w->line[2], "data");
    error = wbi_json_get(data, "error");
    is(error, "kind", "timed_out");
    is(error, "category", "PolicyError");
    is(error, "code", "Timeout");
    assert_true(wbi_json_true(wbi_json_get(error, "isRetryable")));
    assert_int_equal((int)wbi_json_num(wbi_json_get(data, "attempts")), 2);
    /* S1 "Cache metadata must be omitted/redacted in logs unless explicitly
     * allowed." */
    assert_null(wbi_json_get(data, "cacheHit"));
}

static void cache_hits_are_told_only_if_asked_for(void **state)
{
    struct world *w = *state;
    struct wbi_event_call call = a_call();
    struct wbi_event_end end = {
        .attempts = 1, .output_bytes = -1, .cache_hit = 1, .replayed = true};
    const wbi_json *data;

    assert_int_equal(wbi_event_invoked(w->events, &call), WB_OK);
    assert_int_equal(wbi_event_succeeded(w->events, &call, &end), WB_OK);
    data = wbi_json_get(w->line[1], "data");
    assert_true(wbi_json_true(wbi_json_get(data, "cacheHit")));
    assert_true(wbi_json_true(wbi_json_get(data, "replayed")));
    assert_null(wbi_json_get(data, "outputSizeBytes"));
}

static void policies_tell_what_they_did(void **state)
{
    struct world *w = *state;
    struct wbi_event_call call = a_call();
    const wbi_json *data;

    wbi_event_rate_limited(w->events, &call, WBI_LIT("mcp::git"), 1, 250);
    wbi_event_circuit(w->events, &call, WBI_EVENT_CIRCUIT_OPEN, 5000);
    wbi_event_circuit(w->events, &call, WBI_EVENT_CIRCUIT_HALF_OPEN, -1);
    wbi_event_circuit(w->events, &call, WBI_EVENT_CIRCUIT_CLOSED, -1);
    assert_int_equal(w->n, 4);
    data = wbi_json_get(w->line[0], "data");
    is(data, "limiterId", "mcp::git");
    assert_int_equal((int)wbi_json_num(wbi_json_get(data, "retryAfterMs")), 250);
    is(w->line[1], "type", "dev.waybill.CircuitOpen");
    is(w->line[2], "type", "dev.waybill.CircuitHalfOpen");
    is(w->line[3], "type", "dev.waybill.CircuitClosed");
    for (size_t i = 1; i < 4; i++) { /* sorts as text, and ids differ */
        assert_true(wbi_str_cmp(wbi_json_get_str(w->line[i - 1], "sequence"),
                                wbi_json_get_str(w->line[i], "sequence")) < 0);
        assert_false(
            wbi_str_eq(wbi_json_get_str(w->line[i - 1], "id"), wbi_json_get_str(w->line[i], "id")));
    }
}

static void a_broken_sink_loses_events_and_nothing_else(void **state)
{
    struct world *w = *state;
    struct wbi_event_call call = a_call();
    struct wbi_event_end end = {.attempts = 1, .cache_hit = -1, .output_bytes = -1};

    w->broken = true;
    assert_int_equal(wbi_event_invoked(w->events, &call), WB_OK);
    assert_int_equal(wbi_events_lost(w->events), 1);
    w->broken = false;
    assert_int_equal(wbi_event_succeeded(w->events, &call, &end), WB_OK);
    is(w->line[0], "sequence", "00000000000000000002"); /* the gap can be seen */
}

static wb_rc take_brief(void *arg, struct wbi_str line, const struct wbi_event_brief *brief)
{
    struct world *w = arg;

    assert_null(line.p);
    w->brief = *brief;
    w->n++;
    return WB_OK;
}

static void a_sink_that_keeps_briefs_gets_no_line(void **state)
{
    struct world *w = *state;
    struct wbi_events_parts parts = {.sink = {take_brief, w, true},
                                     .source = WBI_LIT_INIT("/waybill/test")};
    struct wbi_event_end end = {.attempts = 1, .cache_hit = -1, .output_bytes = -1};
    struct wbi_event_call call = a_call();
    struct wbi_events *events;

    parts.clock = wbi_clock_by_hand(&w->clock);
    parts.ids = wbi_ids_counting(&w->counter);
    assert_int_equal(wbi_events_new(&parts, &events), WB_OK);
    assert_int_equal(wbi_event_invoked(events, &call), WB_OK);
    assert_int_equal(wbi_event_succeeded(events, &call, &end), WB_OK);
    assert_int_equal(w->n, 2);
    assert_int_equal(w->brief.type, WBI_EVENT_TOOL_SUCCEEDED);
    assert_int_equal(w->brief.sequence, 2);
    assert_int_equal(w->brief.wall_ms, w->clock.wall_ms);
    assert_int_equal(wbi_events_lost(events), 0);
    wbi_events_free(events);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_carry_the_attributes_of_cloudevents),
        TEST(each_event_comes_once_and_in_order),
        TEST(cache_hits_are_told_only_if_asked_for),
        TEST(policies_tell_what_they_did),
        TEST(a_broken_sink_loses_events_and_nothing_else),
        TEST(a_sink_that_keeps_briefs_gets_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
