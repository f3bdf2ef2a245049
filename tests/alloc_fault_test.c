/* SPDX-License-Identifier: Apache-2.0
 * tests/alloc_fault_test.c: representative journeys with the n-th allocation
 * failing, for every n, once alone and once with all that follow: no crash, no
 * leak, and exactly one outcome or a clean refusal to start (C1.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/limits.h"
#include "family/canonical.h"
#include "faults/alloc_fault.h"
#include "faults/crypto_errors.h"
#include "shared_vectors.h"
#include "support/journey.h"

/* What came out is a legal outcome, whatever was missing on the way (C4.1). */
static void check_legal(const struct journey *j)
{
    struct wbi_canonical c;
    struct wbi_arena *arena = NULL;
    const wbi_json *got, *canonical;

    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    if (wbi_json_read(arena, wbi_buf_str(&j->got), WBI_JSON_STRICT, &got, NULL) != WB_OK) {
        printf("%.*s\n", WBI_FMT(wbi_buf_str(&j->got)));
        fail_msg("what came out is not JSON");
    }
    canonical = wbi_json_get(got, "canonical");
    if (canonical != NULL)
        assert_int_equal(wbi_canonical_read(canonical, &c, NULL), WB_OK);
    else
        assert_non_null(wbi_json_get(got, "lines"));
    wbi_arena_free(arena);
}

/* One run under faults; what the run itself holds is given back before counting. */
static long run_with(struct journey *j, long n, bool sticky, bool *ret_ran, long *ret_live)
{
    journey_fresh(j);
    alloc_fault_start(n, sticky);
    *ret_ran = journey_run(j);
    atomic_store(&alloc_faults.until, -1);
    if (*ret_ran)
        check_legal(j);
    wbi_buf_fini(&j->got);
    forget_crypto_errors();
    *ret_live = atomic_load(&alloc_faults.live);
    return alloc_fault_stop();
}

static void check(const char *name, long n, bool sticky, const struct journey *j, bool ran,
                  long hits, long live)
{
    if (live != 0)
        fail_msg("%s: %ld allocations are left when number %ld fails%s", name, live, n,
                 sticky ? " and all after it" : "");
    if (wbi_json_get(j->data, "lines") == NULL && j->done > 1)
        fail_msg("%s: %d outcomes when number %ld fails", name, j->done, n);
    if (wbi_json_get(j->data, "lines") == NULL && j->submit == WB_OK && ran && j->done != 1)
        fail_msg("%s: submitted and never answered when number %ld fails", name, n);
    if (hits == 0 && !ran)
        fail_msg("%s: failed though no allocation did (%ld)", name, n);
}

static void every_allocation(const char *name, bool sticky)
{
    struct wbi_buf text;
    struct journey j;
    char path[512];
    long n = 0, hits = 1, live, step;
    bool ran;

    snprintf(path, sizeof(path), WAYBILL_SOURCE "/tests/journeys/%s.json", name);
    assert_true(read_whole_file(path, &text));
    assert_true(journey_read(&j, wbi_buf_str(&text)));
    assert_true(journey_run(&j)); /* what is made once (the workspace, lazy tables) */
    wbi_buf_fini(&j.got);
    /* A run over a ledger syncs it: a sample of those, all of them with WAYBILL_SOAK. */
    step = wbi_json_get(j.data, "files") && getenv("WAYBILL_SOAK") == NULL ? 7 : 1;
    for (; hits > 0; n += step) {
        hits = run_with(&j, n, sticky, &ran, &live);
        if (live != 0) /* made once per process (libcrypto's error lists)? Then not again. */
            hits = run_with(&j, n, sticky, &ran, &live);
        check(name, n, sticky, &j, ran, hits, live);
    }
    printf("%s: about %ld allocations\n", name, n - step);
    wbi_buf_fini(&text);
    journey_end(&j);
}

static void both_ways(const char *name)
{
    if (!ALLOC_FAULTS) {
        printf("skipped: failing allocations of %s (a sanitizer owns malloc)\n", name);
        return;
    }
    every_allocation(name, false);
    every_allocation(name, true);
}

#define JOURNEY(id)                     \
    static void test_##id(void **state) \
    {                                   \
        (void)state;                    \
        both_ways(#id);                 \
    }

JOURNEY(success_all_surfaces)
JOURNEY(success_large_is_previewed)
JOURNEY(success_of_a_family_of_ones_own)
JOURNEY(success_own_envelope_is_kept)
JOURNEY(success_lenient_input)
JOURNEY(error_invalid_input_missing)
JOURNEY(error_unknown_tool)
JOURNEY(error_details_are_bounded)
JOURNEY(error_cancelled)
JOURNEY(line_responses)
JOURNEY(line_chat)
JOURNEY(line_anthropic)
JOURNEY(line_gemini)
JOURNEY(line_mcp)
JOURNEY(line_native)
JOURNEY(local_tool_json)
JOURNEY(local_tool_exit_status)

/* ---- the pure functions ---- */

struct pure {
    const char *name;
    wb_rc (*run)(char **ret);
};

static const char canonical[] =
    "{\"tool_name\":\"t\",\"status\":\"success\",\"summary_text\":\"done\","
    "\"result\":{\"a\":[1,2,{\"b\":\"text\"}]},\"error\":null}";

static wb_rc run_render(char **ret)
{
    return wb_render(canonical, sizeof(canonical) - 1, ret, NULL, NULL);
}

static wb_rc run_project(char **ret)
{
    return wb_project("t", canonical, sizeof(canonical) - 1, 8000, NULL, NULL, ret, NULL, NULL);
}

static wb_rc run_envelope(char **ret)
{
    const char *compat[] = {"k=v"};
    wb_envelope e = {
        .tool = "t", .compat = compat, .compat_count = 1, .created_at = "2026-01-01T00:00:00Z"};

    return wb_envelope_apply(WB_ENVELOPE_ATTACH, &e, canonical, sizeof(canonical) - 1, ret, NULL,
                             NULL);
}

static wb_rc run_canonical(char **ret)
{
    return wb_json_canonical(canonical, sizeof(canonical) - 1, ret, NULL, NULL);
}

static wb_rc run_repair(char **ret)
{
    static const char history[] =
        "[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"t\","
        "\"input\":{}}]}]";

    return wb_repair("anthropic", history, sizeof(history) - 1, ret, NULL, NULL);
}

static wb_rc run_semver(char **ret)
{
    int order;

    *ret = NULL;
    return wb_semver_compare("1.2.3", "1.2.3-rc.1", &order, NULL);
}

static const struct pure pures[] = {
    {"render", run_render},       {"project", run_project}, {"envelope", run_envelope},
    {"canonical", run_canonical}, {"repair", run_repair},   {"semver", run_semver},
};

static void test_pure_functions(void **state)
{
    (void)state;
    if (!ALLOC_FAULTS) {
        printf("skipped: failing allocations of pure functions (a sanitizer owns malloc)\n");
        return;
    }
    for (size_t i = 0; i < sizeof(pures) / sizeof(pures[0]); i++) {
        char *text = NULL;
        long hits = 1;

        assert_int_equal(pures[i].run(&text), WB_OK);
        wb_free(text);
        for (long n = 0; hits > 0; n++) {
            long live;
            wb_rc rc;

            text = NULL;
            alloc_fault_start(n, n % 2 == 0);
            rc = pures[i].run(&text);
            wb_free(text);
            live = atomic_load(&alloc_faults.live);
            hits = alloc_fault_stop();
            if (live != 0 || (hits == 0 && rc != WB_OK))
                fail_msg("%s: %ld left, rc %s when allocation %ld fails", pures[i].name, live,
                         wb_rc_name(rc), n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_success_all_surfaces),
        cmocka_unit_test(test_success_large_is_previewed),
        cmocka_unit_test(test_success_of_a_family_of_ones_own),
        cmocka_unit_test(test_success_own_envelope_is_kept),
        cmocka_unit_test(test_success_lenient_input),
        cmocka_unit_test(test_error_invalid_input_missing),
        cmocka_unit_test(test_error_unknown_tool),
        cmocka_unit_test(test_error_details_are_bounded),
        cmocka_unit_test(test_error_cancelled),
        cmocka_unit_test(test_line_responses),
        cmocka_unit_test(test_line_chat),
        cmocka_unit_test(test_line_anthropic),
        cmocka_unit_test(test_line_gemini),
        cmocka_unit_test(test_line_mcp),
        cmocka_unit_test(test_line_native),
        cmocka_unit_test(test_local_tool_json),
        cmocka_unit_test(test_local_tool_exit_status),
        cmocka_unit_test(test_pure_functions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
