/* SPDX-License-Identifier: Apache-2.0
 * call/recover_test.c: an intent that somebody has damaged is closed like any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/limits.h"
#include "call/recover.h"

static const struct {
    const char *invocation, *trust;
    const char *origin; /* of the result */
} intents[] = {
    {"{\"toolName\":\"mcp::s::t\",\"correlationId\":\"c\"}",
     "{\"tool\":\"mcp::s::t\",\"version\":\"1.0.0\"}", "\"origin\":\"mcp::s\""},
    {"{\"toolName\":\"mcp::s::t\",\"correlationId\":\"c\"}", "{\"tool\":", "\"origin\":\"mcp::s\""},
    {"{\"toolName\":\"local::t\"}", NULL, "\"origin\":\"local\""},
    {"{\"toolName\":", NULL, "\"origin\":\"unknown\""},
    {NULL, NULL, "\"origin\":\"unknown\""},
};

static void every_intent_gets_an_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(intents); i++) {
        struct wbi_row intent = {.tool = WBI_LIT("t"),
                                 .invocation = wbi_str_z(intents[i].invocation),
                                 .trust = wbi_str_z(intents[i].trust)};
        struct wbi_row out = {.time_ms = 1};
        struct wbi_arena *arena;

        assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
        assert_int_equal(wbi_recover_call(NULL, &intent, arena, &out), WB_OK);
        assert_true(wbi_str_find(out.result, wbi_str_z(intents[i].origin)) < out.result.n);
        assert_true(wbi_str_find(out.canonical, WBI_LIT("outcome_unknown")) < out.canonical.n);
        wbi_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_intent_gets_an_outcome)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
