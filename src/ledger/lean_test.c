/* SPDX-License-Identifier: Apache-2.0
 * ledger/lean_test.c: what was left out of a row comes back as it was, and nothing is
 * put where nothing was left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"
#include "ledger/lean.h"

/* As stored; whole: as read, NULL where nothing was left out. */
struct sample {
    const char *canonical;
    struct {
        const char *stored, *whole;
    } result, trust, events;
};

#define POLICY "{\"timeoutMs\":300000,\"clamped\":[{\"by\":\"x\"}]}"
#define START "2026-11-16T01:27:19.062Z"
#define INVOCATION                                                                               \
    "{\"toolName\":\"mcp::echo::a\\\"b\",\"input\":{},\"correlationId\":\"c,\\\"1\",\"callId\":" \
    "\"7\"}"
#define ORIGIN ",\"origin\":\"mcp::echo\""
#define TAIL ",\"correlationId\":\"c,\\\"1\"" ORIGIN
#define WITH_POLICY ",\"policySnapshot\":" POLICY TAIL
#define SUMMARY "\"summary_text\":\"done \\\",\\\"result\\\":\\\"\""
#define CANONICAL(result)                                                           \
    "{\"tool_name\":\"echo\",\"status\":\"success\"," SUMMARY ",\"result\":" result \
    ",\"error\":null}"
#define OK(more) "{\"status\":\"Ok\"," more
#define COUNTS "\"durationMs\":0,\"attempts\":1"

static const struct sample samples[] = {
    /* all left out */
    {CANONICAL("\"hi\""),
     {OK(COUNTS) ORIGIN "}", OK("\"output\":\"hi\"," COUNTS) WITH_POLICY "}"},
     {"{\"version\":\"1.0\",\"audit\":{}}", "{\"principal\":\"lo\\\"cal\",\"tool\":\"mcp::echo::"
                                            "a\\\"b\",\"version\":\"1.0\",\"audit\":{}}"},
     {"[]", NULL}},
    /* numbers keep their writing, flags their place, an output may look like the end of one */
    {CANONICAL("{\"n\":1.50,\"a\":[{\"error\":null}]}"),
     {OK(COUNTS) ",\"resolvedVersion\":\"1.0\"" ORIGIN ",\"replayed\":true,\"cached\":true}",
      OK("\"output\":{\"n\":1.50,\"a\":[{\"error\":null}]}," COUNTS) ",\"resolvedVersion\":\"1."
                                                                     "0\"" WITH_POLICY
                                                                     ",\"replayed\":true,"
                                                                     "\"cached\":true}"},
     {"{\"audit\":{\"version\":\"2\"}}",
      "{\"principal\":\"lo\\\"cal\",\"audit\":{\"version\":\"2\"}}"},
     {NULL, NULL}},
    /* an output of its own stays, whatever is in it, and an id the invocation does not have */
    {CANONICAL("\"short\""),
     {OK("\"output\":{\"long\":1" WITH_POLICY "}," COUNTS) TAIL "}",
      OK("\"output\":{\"long\":1" WITH_POLICY "}," COUNTS) WITH_POLICY "}"},
     {"{\"tool\":\"other\",\"version\":\"1.0\"}",
      "{\"principal\":\"lo\\\"cal\",\"tool\":\"other\",\"version\":\"1.0\"}"},
     {NULL, NULL}},
    {CANONICAL("\"short\""),
     {OK("\"output\":{\"long\":1" WITH_POLICY "}," COUNTS) ORIGIN "}",
      OK("\"output\":{\"long\":1" WITH_POLICY "}," COUNTS) WITH_POLICY "}"},
     {NULL, NULL},
     {NULL, NULL}},
    {CANONICAL("null"),
     {OK(COUNTS) ",\"correlationId\":null" ORIGIN "}",
      OK("\"output\":null," COUNTS) ",\"policySnapshot\":" POLICY ",\"correlationId\":null" ORIGIN
                                    "}"},
     {NULL, NULL},
     {NULL, NULL}},
    /* an error has no output */
    {"{\"tool_name\":\"x\",\"status\":\"error\",\"summary_text\":\"\",\"result\":null,\"error\":{}"
     "}",
     {"{\"status\":\"Error\",\"error\":{\"code\":\"c\",\"origin\":\"local\"}," COUNTS ORIGIN "}",
      "{\"status\":\"Error\",\"error\":{\"code\":\"c\",\"origin\":\"local\"}," COUNTS WITH_POLICY
      "}"},
     {NULL, NULL},
     {NULL, NULL}},
    /* a row that lacks nothing */
    {CANONICAL("\"hi\""),
     {OK("\"output\":\"hi\"," COUNTS) WITH_POLICY "}", NULL},
     {"{\"principal\":\"x\",\"audit\":{}}", NULL},
     {"[{\"type\":\"A\",\"time\":\"2026-11-16T01:27:19.063Z\",\"sequence\":1}]", NULL}},
    /* times: the start's, one of its own, the one before */
    {NULL,
     {NULL, NULL},
     {NULL, NULL},
     {"[{\"type\":\"A\",\"sequence\":1},{\"type\":\"B\",\"time\":\"2026-11-16T01:27:19.070Z\","
      "\"sequence\":2},{\"type\":\"C\",\"sequence\":3}]",
      "[{\"type\":\"A\",\"time\":\"" START "\",\"sequence\":1},"
      "{\"type\":\"B\",\"time\":\"2026-11-16T01:27:19.070Z\",\"sequence\":2},"
      "{\"type\":\"C\",\"time\":\"2026-11-16T01:27:19.070Z\",\"sequence\":3}]"}},
    /* not ours */
    {"{}", {"{}", NULL}, {"{}", NULL}, {"{}", NULL}},
    {"", {"", NULL}, {"", NULL}, {"", NULL}},
    {CANONICAL(""), {"{\"status\":\"Ok\",", NULL}, {"[", NULL}, {"[{\"type\":\"", NULL}},
    {",\"result\":,\"error\":null}",
     {",\"origin\":\"", NULL},
     {"x", NULL},
     {"{\"type\":\"A", NULL}},
};

static struct wbi_str text(const char *z)
{
    return z != NULL ? wbi_str_z(z) : WBI_NONE;
}

static void check(struct wbi_str have, const char *stored, const char *whole)
{
    const char *want = whole != NULL ? whole : stored;

    if (want == NULL) {
        assert_null(have.p);
        return;
    }
    if (!wbi_str_eqz(have, want))
        fail_msg("%.*s\nwanted %s", WBI_FMT(have), want);
}

static void what_was_left_out_comes_back(void **state)
{
    struct wbi_arena *arena;

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    for (size_t i = 0; i < WBI_COUNT(samples); i++) {
        const struct sample *s = &samples[i];
        struct wbi_row row = {.principal = WBI_LIT("lo\"cal"),
                              .invocation = WBI_LIT(INVOCATION),
                              .canonical = text(s->canonical),
                              .result = text(s->result.stored),
                              .trust = text(s->trust.stored),
                              .events = text(s->events.stored),
                              .policy = WBI_LIT(POLICY),
                              .timings = WBI_LIT("{\"startedAt\":\"" START "\",\"durationMs\":1}")};

        for (int again = 0; again < 2; again++) { /* a whole one stays */
            assert_int_equal(wbi_lean_fill(arena, &row), WB_OK);
            check(row.result, s->result.stored, s->result.whole);
            check(row.trust, s->trust.stored, s->trust.whole);
            check(row.events, s->events.stored, s->events.whole);
        }
    }
    wbi_arena_free(arena);
}

static void without_the_other_column_nothing_is_put_in(void **state)
{
    struct wbi_arena *arena;
    struct wbi_row row = {.policy = WBI_LIT(POLICY),
                          .result = text(samples[0].result.stored),
                          .events = text(samples[7].events.stored)};

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_int_equal(wbi_lean_fill(arena, &row), WB_OK);
    check(row.result, samples[0].result.stored, NULL);
    check(row.events, samples[7].events.stored, NULL);
    wbi_arena_free(arena);
}

static void only_what_stands_there_unchanged_may_be_left_out(void **state)
{
    const struct wbi_str plain =
                             WBI_LIT("{\"toolName\":\"t\",\"input\":{},\"correlationId\":\"c\"}"),
                         escaped = WBI_LIT(INVOCATION),
                         twice = WBI_LIT("{\"toolName\":\"t\",\"correlationId\":\"c\",\"metadata\":"
                                         "{\"x\":1,\"correlationId\":\"b\"}}");

    (void)state;
    assert_true(wbi_lean_has_tool(plain, WBI_LIT("t")));
    assert_true(wbi_lean_has_correlation(plain, WBI_LIT("c")));
    assert_false(wbi_lean_has_tool(plain, WBI_LIT("tt")));
    assert_false(wbi_lean_has_tool(plain, WBI_LIT("")));
    assert_false(wbi_lean_has_correlation(plain, WBI_LIT("cc")));
    assert_false(wbi_lean_has_correlation(plain, WBI_LIT("")));
    assert_false(wbi_lean_has_correlation(WBI_NONE, WBI_LIT("c")));
    assert_false(wbi_lean_has_correlation(escaped, WBI_LIT("c,\"1")));
    assert_false(wbi_lean_has_correlation(escaped, WBI_LIT("c,\\")));
    assert_false(wbi_lean_has_correlation(escaped, WBI_LIT("c,\\\"1")));
    assert_false(wbi_lean_has_correlation(escaped, WBI_LIT("c,\\\"1\",\"callId\":\"7")));
    assert_false(wbi_lean_has_tool(escaped, WBI_LIT("mcp::echo::a\"b")));
    /* the reader finds the last of two, whatever it belongs to */
    assert_false(wbi_lean_has_correlation(twice, WBI_LIT("c")));
    assert_true(wbi_lean_has_correlation(twice, WBI_LIT("b")));
    /* and that may only look like the id */
    assert_false(
        wbi_lean_has_correlation(WBI_LIT("{\"x\":1,\"correlationId\":null}"), WBI_LIT("ul")));
    assert_false(
        wbi_lean_has_correlation(WBI_LIT("{\"x\":1,\"correlationId\":\"\\n\"}"), WBI_LIT("\\n")));

    assert_true(
        wbi_lean_has_output(WBI_LIT(CANONICAL("{\"result\":5}")), WBI_LIT("{\"result\":5}")));
    assert_false(wbi_lean_has_output(WBI_LIT(CANONICAL("{\"result\":5}")), WBI_LIT("5")));
    assert_false(wbi_lean_has_output(WBI_LIT(CANONICAL("15")), WBI_LIT("5")));
    assert_false(wbi_lean_has_output(WBI_LIT(CANONICAL("5")), WBI_LIT("15")));
    assert_false(wbi_lean_has_output(WBI_NONE, WBI_LIT("5")));
    assert_false(wbi_lean_has_output(WBI_LIT(CANONICAL("")), WBI_LIT("")));
}

/* A text as it is made, and as it is stored; NULL: the same. */
struct pair {
    const char *whole, *stored;
};

/* Of a call "7" in the conversation "v" by "me", of the tool "t", which succeeded at START;
 * stored: NULL where nothing is left out. */
static const struct pair invocations[] = {
    {"{\"toolName\":\"t\",\"correlationId\":\"c\",\"callId\":\"7\",\"conversationId\":\"v\","
     "\"principal\":\"me\",\"provider\":\"mcp\"}",
     "{\"toolName\":\"t\",\"correlationId\":\"c\",\"principal\":3,\"provider\":\"mcp\"}"},
    {"{\"x\":1,\"conversationId\":\"v\",\"principal\":\"me\"}", "{\"x\":1,\"principal\":2}"},
    {"{\"x\":1,\"principal\":\"me\"}", "{\"x\":1,\"principal\":1}"},
    {",\"principal\":\"me\"", ",\"principal\":1"},
    /* only what stands there unchanged, and side by side */
    {"{\"x\":1,\"callId\":\"7\",\"conversationId\":\"w\",\"principal\":\"me\"}",
     "{\"x\":1,\"callId\":\"7\",\"conversationId\":\"w\",\"principal\":1}"},
    {"{\"x\":1,\"callId\":\"8\",\"conversationId\":\"v\",\"principal\":\"me\"}",
     "{\"x\":1,\"callId\":\"8\",\"principal\":2}"},
    {"{\"x\":1,\"callId\":\"7\",\"principal\":\"me\"}",
     "{\"x\":1,\"callId\":\"7\",\"principal\":1}"},
    {"{\"x\":1,\"conversationId\":\"v\",\"turnId\":\"2\",\"principal\":\"me\"}",
     "{\"x\":1,\"conversationId\":\"v\",\"turnId\":\"2\",\"principal\":1}"},
    {"{\"x\":1,\"callId\":\"7\",\"conversationId\":\"v\",\"principal\":\"you\"}", NULL},
    {"{\"x\":1,\"principal\":\"\\u006de\"}", NULL},
    {"{\"principal\":\"me\"}", NULL},
    /* the last of two, whatever the first belongs to */
    {"{\"input\":{\"x\":1,\"principal\":3},\"principal\":\"me\"}",
     "{\"input\":{\"x\":1,\"principal\":3},\"principal\":1}"},
    {"{\"input\":{\"x\":1,\"principal\":3},\"principal\":\"[redacted]\"}", NULL},
    {"{}", NULL},
    {"", NULL},
    {NULL, NULL},
};

static const struct pair canonicals[] = {
    {"{\"tool_name\":\"t\",\"status\":\"success\",\"summary_text\":\"\"}",
     "{\"summary_text\":\"\"}"},
    {"{\"tool_name\":\"u\",\"status\":\"success\",\"summary_text\":\"\"}", NULL},
    {"{\"tool_name\":\"t\",\"status\":\"error\",\"summary_text\":\"\"}", NULL},
    {"{\"tool_name\":\"t\",\"status\":\"success\",\"result\":\"\"}", NULL},
    {"{\"tool_name\":\"t\",\"status\":\"success\"}", NULL},
    {"{\"tool_name\":\"t\",\"status\":\"success\"", NULL},
    {"{\"tool_name\":\"t\"", NULL},
    {"", NULL},
    {NULL, NULL},
};

static const struct pair timings[] = {
    {"{\"startedAt\":\"" START "\",\"durationMs\":1}", "{\"durationMs\":1}"},
    {"{\"startedAt\":\"" START "\",\"closedAt\":1}", NULL},
    {"{\"startedAt\":\"2026-11-16T01:27:19.063Z\",\"durationMs\":1}", NULL},
    {"{\"startedAt\":\"" START "\"}", NULL},
    {"{\"startedAt\":\"" START, NULL},
    {"{\"startedAt\":\"", NULL},
    {"", NULL},
    {NULL, NULL},
};

static struct wbi_str writable(struct wbi_arena *arena, const char *z)
{
    return z != NULL ? wbi_arena_str(arena, wbi_str_z(z)) : WBI_NONE;
}

#define USUAL(a, b, c)                                                                           \
    "[{\"type\":\"ToolInvoked\",\"sequence\":" a "},{\"type\":\"PolicyApplied\",\"sequence\":" b \
    "},{\"type\":\"ToolSucceeded\",\"sequence\":" c "}]"

/* Whole but for times, which are put in anyway. */
static const struct pair events[] = {
    {USUAL("1", "20", "300"), "[1,20,300]"},
    {USUAL("18446744073709551615", "0", "7"), "[18446744073709551615,0,7]"},
    {USUAL("1", "2", "3") "]", NULL},
    {USUAL("1", "", "3"), NULL},
    {USUAL("-1", "2", "3"), NULL},
    {USUAL("1", "2", "3,\"time\":\"" START "\""), NULL},
    {"[{\"type\":\"ToolInvoked\",\"sequence\":1},{\"type\":\"ToolFailed\",\"sequence\":2}]", NULL},
    {"[{\"type\":\"ToolInvoked\",\"sequence\":1", NULL},
    {"[]", NULL},
    {"", NULL},
    {NULL, NULL},
};

static void usual_events_are_their_numbers(void **state)
{
    struct wbi_arena *arena;

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    for (size_t i = 0; i < WBI_COUNT(events); i++) {
        struct wbi_row row = {.events = writable(arena, events[i].whole)};

        wbi_lean_cut(&row);
        wbi_lean_cut(&row);
        check(row.events, events[i].whole, events[i].stored);
        assert_int_equal(wbi_lean_fill(arena, &row), WB_OK); /* without timings, no times */
        check(row.events, events[i].whole, NULL);
    }
    wbi_arena_free(arena);
}

static void the_times_of_usual_events_come_back_too(void **state)
{
    struct wbi_arena *arena;
    struct wbi_row row = {.timings = WBI_LIT("{\"durationMs\":1}"), .events = WBI_LIT("[1,2,3]")};

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_true(wbi_time_parse(WBI_LIT(START), &row.time_ms));
    assert_int_equal(wbi_lean_fill(arena, &row), WB_OK);
    check(row.events,
          "[{\"type\":\"ToolInvoked\",\"time\":\"" START "\",\"sequence\":1},"
          "{\"type\":\"PolicyApplied\",\"time\":\"" START "\",\"sequence\":2},"
          "{\"type\":\"ToolSucceeded\",\"time\":\"" START "\",\"sequence\":3}]",
          NULL);
    row.events = WBI_LIT("[1,2]");
    assert_int_equal(wbi_lean_fill(arena, &row), WB_OK);
    check(row.events, "[1,2]", NULL);
    wbi_arena_free(arena);
}

static void what_columns_say_is_left_out(void **state)
{
    struct wbi_arena *arena;
    struct wbi_row row = {.provider_call_id = WBI_LIT("7"),
                          .conversation = WBI_LIT("v"),
                          .principal = WBI_LIT("me"),
                          .tool = WBI_LIT("t"),
                          .status = WBI_LIT("success")};

    (void)state;
    assert_true(wbi_time_parse(WBI_LIT(START), &row.time_ms));
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    for (size_t i = 0; i < WBI_COUNT(invocations); i++) {
        const char *whole[3] = {invocations[i].whole,
                                i < WBI_COUNT(canonicals) ? canonicals[i].whole : NULL,
                                i < WBI_COUNT(timings) ? timings[i].whole : NULL};

        row.invocation = writable(arena, whole[0]);
        row.canonical = writable(arena, whole[1]);
        row.timings = writable(arena, whole[2]);
        for (int again = 0; again < 2; again++) { /* a commit that failed is made once more */
            wbi_lean_cut(&row);
            check(row.invocation, whole[0], invocations[i].stored);
            check(row.canonical, whole[1], whole[1] != NULL ? canonicals[i].stored : NULL);
            check(row.timings, whole[2], whole[2] != NULL ? timings[i].stored : NULL);
        }
        for (int again = 0; again < 2; again++) {
            assert_int_equal(wbi_lean_fill(arena, &row), WB_OK);
            check(row.invocation, whole[0], NULL);
            check(row.canonical, whole[1], NULL);
            check(row.timings, whole[2], NULL);
        }
    }
    wbi_arena_free(arena);
}

static void without_the_column_nothing_is_left_out_or_put_in(void **state)
{
    struct wbi_arena *arena;
    struct wbi_row row = {.time_ms = 0};

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    row.invocation = writable(arena, invocations[0].whole);
    row.canonical = writable(arena, canonicals[0].whole);
    wbi_lean_cut(&row);
    check(row.invocation, invocations[0].whole, NULL);
    check(row.canonical, canonicals[0].whole, NULL);
    row.invocation = writable(arena, invocations[0].stored);
    row.canonical = writable(arena, canonicals[0].stored);
    assert_int_equal(wbi_lean_fill(arena, &row), WB_OK);
    check(row.invocation, invocations[0].stored, NULL);
    check(row.canonical, canonicals[0].stored, NULL);
    wbi_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_left_out_comes_back),
        cmocka_unit_test(without_the_other_column_nothing_is_put_in),
        cmocka_unit_test(only_what_stands_there_unchanged_may_be_left_out),
        cmocka_unit_test(what_columns_say_is_left_out),
        cmocka_unit_test(usual_events_are_their_numbers),
        cmocka_unit_test(the_times_of_usual_events_come_back_too),
        cmocka_unit_test(without_the_column_nothing_is_left_out_or_put_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
