/* SPDX-License-Identifier: Apache-2.0
 * ledger/lean_test.c: what was left out of a row comes back as it was, and nothing is
 * put where nothing was left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "ledger/lean.h"

struct sample {
    const char *canonical, *result, *events; /* as stored */
    const char *whole_result, *whole_events; /* as read; NULL: unchanged */
};

#define POLICY "{\"timeoutMs\":300000,\"clamped\":[{\"by\":\"x\"}]}"
#define START "2026-11-16T01:27:19.062Z"
#define TAIL ",\"correlationId\":\"c,1\",\"origin\":\"mcp::echo\""
#define WITH_POLICY ",\"policySnapshot\":" POLICY TAIL
#define CANONICAL(result)                                                     \
    "{\"tool_name\":\"echo\",\"status\":\"success\",\"summary_text\":\"done " \
    "\\\",\\\"result\\\":\\\"\",\"result\":" result ",\"error\":null}"

static const struct sample samples[] = {
    /* both left out */
    {CANONICAL("\"hi\""), "{\"status\":\"Ok\",\"durationMs\":0,\"attempts\":1" TAIL "}", "[]",
     "{\"status\":\"Ok\",\"output\":\"hi\",\"durationMs\":0,\"attempts\":1" WITH_POLICY "}", NULL},
    /* numbers keep their writing, flags their place, an output may look like the end of one */
    {CANONICAL("{\"n\":1.50,\"a\":[{\"error\":null}]}"),
     "{\"status\":\"Ok\",\"durationMs\":7,\"attempts\":2,\"resolvedVersion\":\"1.0\"" TAIL
     ",\"replayed\":true,\"cached\":true}",
     NULL,
     "{\"status\":\"Ok\",\"output\":{\"n\":1.50,\"a\":[{\"error\":null}]},\"durationMs\":7,"
     "\"attempts\":2,\"resolvedVersion\":\"1.0\"" WITH_POLICY ",\"replayed\":true,\"cached\":true}",
     NULL},
    /* an output of its own stays, whatever is in it */
    {CANONICAL("\"short\""),
     "{\"status\":\"Ok\",\"output\":{\"long\":1" WITH_POLICY
     "},\"durationMs\":0,\"attempts\":1" TAIL "}",
     NULL,
     "{\"status\":\"Ok\",\"output\":{\"long\":1" WITH_POLICY
     "},\"durationMs\":0,\"attempts\":1" WITH_POLICY "}",
     NULL},
    /* an error has no output */
    {"{\"tool_name\":\"x\",\"status\":\"error\",\"summary_text\":\"\",\"result\":null,\"error\":{}"
     "}",
     "{\"status\":\"Error\",\"error\":{\"code\":\"c\",\"origin\":\"local\"},\"durationMs\":0,"
     "\"attempts\":1" TAIL "}",
     NULL,
     "{\"status\":\"Error\",\"error\":{\"code\":\"c\",\"origin\":\"local\"},\"durationMs\":0,"
     "\"attempts\":1" WITH_POLICY "}",
     NULL},
    /* a row that lacks nothing */
    {CANONICAL("\"hi\""),
     "{\"status\":\"Ok\",\"output\":\"hi\",\"durationMs\":0,\"attempts\":1" WITH_POLICY "}",
     "[{\"type\":\"A\",\"time\":\"2026-11-16T01:27:19.063Z\",\"sequence\":1}]", NULL, NULL},
    /* times: the start's, one of its own, the one before */
    {NULL, NULL,
     "[{\"type\":\"A\",\"sequence\":1},{\"type\":\"B\",\"time\":\"2026-11-16T01:27:19.070Z\","
     "\"sequence\":2},{\"type\":\"C\",\"sequence\":3}]",
     NULL,
     "[{\"type\":\"A\",\"time\":\"" START "\",\"sequence\":1},"
     "{\"type\":\"B\",\"time\":\"2026-11-16T01:27:19.070Z\",\"sequence\":2},"
     "{\"type\":\"C\",\"time\":\"2026-11-16T01:27:19.070Z\",\"sequence\":3}]"},
    /* not ours */
    {"{}", "{}", "{}", NULL, NULL},
    {"", "", "", NULL, NULL},
    {CANONICAL(""), "{\"status\":\"Ok\",", "[{\"type\":\"", NULL, NULL},
    {",\"result\":,\"error\":null}", "{\"status\":\"Ok\",\"origin\":\"", "{\"type\":\"A", NULL,
     NULL},
    {NULL, ",\"correlationId\":\",\"origin\":\"", NULL, NULL, NULL},
};

static struct wbi_str text(const char *z)
{
    return z != NULL ? wbi_str_z(z) : WBI_NONE;
}

static void check(struct wbi_str have, const char *want)
{
    assert_int_equal(have.n, want != NULL ? strlen(want) : 0);
    if (want == NULL)
        assert_null(have.p);
    else
        assert_memory_equal(have.p, want, have.n);
}

static void what_was_left_out_comes_back(void **state)
{
    struct wbi_arena *arena;

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        const struct sample *s = &samples[i];
        struct wbi_row row = {.canonical = text(s->canonical),
                              .result = text(s->result),
                              .events = text(s->events),
                              .policy = WBI_LIT(POLICY),
                              .timings = WBI_LIT("{\"startedAt\":\"" START "\",\"durationMs\":1}")};

        for (int again = 0; again < 2; again++) { /* a whole one stays */
            assert_int_equal(wbi_lean_fill(arena, &row), WB_OK);
            check(row.result, s->whole_result != NULL ? s->whole_result : s->result);
            check(row.events, s->whole_events != NULL ? s->whole_events : s->events);
        }
    }
    wbi_arena_free(arena);
}

static void without_the_other_column_nothing_is_put_in(void **state)
{
    struct wbi_arena *arena;
    struct wbi_row row = {.result = text(samples[0].result), .events = text(samples[5].events)};

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_int_equal(wbi_lean_fill(arena, &row), WB_OK);
    check(row.result, samples[0].result);
    check(row.events, samples[5].events);
    wbi_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_left_out_comes_back),
        cmocka_unit_test(without_the_other_column_nothing_is_put_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
