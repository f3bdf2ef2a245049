/* SPDX-License-Identifier: Apache-2.0
 * call/recover_test.c: an intent that somebody has damaged is closed like any other, and
 * what its call had printed is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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

static void make_file(const char *dir, const char *name, const char *text)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/artifacts/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

#define STATE "/tmp/waybill-recover-XXXXXX"
#define PATH_SIZE 64

/* A state directory that holds no artifact yet; path becomes where they are. */
static void make_state(char *dir, char path[PATH_SIZE])
{
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, PATH_SIZE, "%s/artifacts", dir);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void remove_state(const char *dir)
{
    char command[PATH_SIZE];

    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

/* C4.6, C5.4: what a call had printed when its process died is kept: its outcome names it. */
static void what_was_printed_is_named(void **state)
{
    struct wbi_row intent = {.tool = WBI_LIT("t"), .call_id = WBI_LIT("call_7")};
    struct wbi_row out = {.time_ms = 1};
    char dir[] = STATE, path[PATH_SIZE];
    struct wbi_arena *arena;
    struct wbi_str place;

    (void)state;
    make_state(dir, path);
    make_file(dir, "call_7-stdout.log", "1\n2\n");
    make_file(dir, "call_7-stderr.log", "");
    make_file(dir, "call_8-stdout.log", "of another");
    place = wbi_str_z(dir);
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_int_equal(wbi_recover_call(&place, &intent, arena, &out), WB_OK);
    assert_true(wbi_str_eq(out.artifacts,
                           wbi_arena_fmt(arena,
                                         "[{\"path\":\"%s/call_7-stdout.log\",\"role\":\"stdout\","
                                         "\"bytes\":4,\"complete\":false,"
                                         "\"reason\":\"interrupted\"}]",
                                         path)));
    assert_true(wbi_str_find(out.canonical, WBI_LIT("\"stdout_artifact\":0")) < out.canonical.n);
    assert_true(wbi_str_find(out.receipt, wbi_arena_fmt(arena, "stdout artifact: %s/call_7-",
                                                        path)) < out.receipt.n);
    wbi_arena_free(arena);
    remove_state(dir);
}

/* The same of a batch, whose commands have files of their own. */
static void what_a_batch_printed_is_named(void **state)
{
    struct wbi_row intent = {.tool = WBI_LIT("ExecCommandBatch"),
                             .call_id = WBI_LIT("call_7"),
                             .invocation = WBI_LIT("{\"input\":{\"commands\":[\"a\",\"b\"]}}")};
    struct wbi_row out = {.time_ms = 1};
    char dir[] = STATE, path[PATH_SIZE];
    struct wbi_arena *arena;
    struct wbi_str place;

    (void)state;
    make_state(dir, path);
    make_file(dir, "call_7_1-stderr.log", "1\n");
    make_file(dir, "call_7_2-stdout.log", "2\n");
    make_file(dir, "call_7_3-stdout.log", "of none");
    place = wbi_str_z(dir);
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_int_equal(wbi_recover_call(&place, &intent, arena, &out), WB_OK);
    assert_true(
        wbi_str_find(out.canonical, wbi_arena_fmt(arena,
                                                  "\"partial\":{\"command_1_stderr_preview\":null,"
                                                  "\"command_1_stderr_artifact\":0,"
                                                  "\"command_2_stdout_preview\":null,"
                                                  "\"command_2_stdout_artifact\":1,\"artifacts\":["
                                                  "{\"path\":\"%s/call_7_1-stderr.log\"},"
                                                  "{\"path\":\"%s/call_7_2-stdout.log\"}]}",
                                                  path, path)) < out.canonical.n);
    assert_true(wbi_str_find(out.artifacts, WBI_LIT("\"role\":\"stderr\"")) < out.artifacts.n);
    assert_true(
        wbi_str_find(out.receipt, wbi_arena_fmt(arena, "command_2_stdout artifact: %s/call_7_2-",
                                                path)) < out.receipt.n);
    wbi_arena_free(arena);
    remove_state(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_intent_gets_an_outcome),
                                       cmocka_unit_test(what_was_printed_is_named),
                                       cmocka_unit_test(what_a_batch_printed_is_named)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
