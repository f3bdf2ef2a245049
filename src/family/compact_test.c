/* SPDX-License-Identifier: Apache-2.0
 * family/compact_test.c: S0 "Compaction Contract", "Truncation Should Be Stable
 * Across Re-serialization" and "Runtime Storage Contract", sentence by sentence,
 * on one result (C11). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_fixture.h"
#include "base/limits.h"
#include "family/compact.h"

static struct wbi_str bring_to(struct wbi_str canonical, int rung)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_str out;

    if (wbi_compact_result(arena, canonical, (enum wbi_rung)rung, &out, &err) != WB_OK)
        fail_msg("%s", err.text);
    return out;
}

static struct wbi_canonical read_back(struct wbi_str text)
{
    struct wbi_canonical c;
    const wbi_json *v;

    assert_int_equal(wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL), WB_OK);
    assert_int_equal(wbi_canonical_read(v, &c, NULL), WB_OK);
    return c;
}

static bool has(struct wbi_str text, const char *part)
{
    return wbi_str_find(text, wbi_str_z(part)) < text.n;
}

/* A list of n tasks with long texts, a handle and artifacts. */
static struct wbi_str success(int tasks)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    wbi_buf_addz(&out, "{\"tool_name\":\"T\",\"status\":\"success\",\"summary_text\":\"SUMMARY\","
                       "\"result\":{\"exit_code\":3,\"stdout_preview\":\"");
    for (int i = 0; i < 400; i++)
        wbi_buf_addf(&out, "ligne %d é\\n", i);
    wbi_buf_addz(&out, "\",\"task_handle\":{\"task_id\":\"task_0\",\"status\":\"running\"},"
                       "\"stdout_artifact\":0,\"artifacts\":[{\"path\":\"/a/0.log\"},"
                       "{\"path\":\"/a/1.log\"}],\"tasks\":[");
    for (int i = 1; i <= tasks; i++)
        wbi_buf_addf(&out, "%s{\"task_id\":\"task_%d\",\"note\":\"a long note that is no id\"}",
                     i > 1 ? "," : "", i);
    wbi_buf_addz(&out, "]},\"error\":null}");
    return wbi_buf_str(&out);
}

#define FAILURE                                                                                    \
    "{\"tool_name\":\"T\",\"status\":\"error\",\"summary_text\":\"SUMMARY\",\"result\":null,"      \
    "\"error\":{\"kind\":\"timed_out\",\"message\":\"MESSAGE\",\"details\":{\"partial\":{"         \
    "\"stdout_preview\":\"what was printed until then, which is longer than the short texts that " \
    "stay on the summary rung of a result\",\"artifacts\":[{\"path\":\"/a/part.log\"}]}},"         \
    "\"recovery_hint\":\"HINT\",\"retryable\":true}}"

/* "always preserve tool_name", "status", "summary_text" */
static void test_name_status_and_summary_stay_on_every_rung(void **state)
{
    (void)state;
    for (int rung = 0; rung < WBI_RUNGS; rung++) {
        struct wbi_canonical c = read_back(bring_to(success(30), rung));
        assert_true(wbi_str_eqz(c.tool_name, "T"));
        assert_true(c.success);
        assert_true(wbi_str_eqz(c.summary, "SUMMARY"));
    }
}

/* "always preserve error.kind, error.message, error.recovery_hint, and
 * error.retryable"; artifacts of what was printed before the failure, too. */
static void test_errors_stay_whole_on_every_rung(void **state)
{
    (void)state;
    for (int rung = 0; rung < WBI_RUNGS; rung++) {
        struct wbi_str text = bring_to(WBI_LIT(FAILURE), rung);
        struct wbi_canonical c = read_back(text);
        assert_false(c.success);
        assert_true(wbi_str_eqz(wbi_json_get_str(c.error, "kind"), "timed_out"));
        assert_true(wbi_str_eqz(wbi_json_get_str(c.error, "message"), "MESSAGE"));
        assert_true(wbi_str_eqz(wbi_json_get_str(c.error, "recovery_hint"), "HINT"));
        assert_true(wbi_json_true(wbi_json_get(c.error, "retryable")));
        assert_true(has(text, "/a/part.log"));
    }
    assert_false(has(bring_to(WBI_LIT(FAILURE), WBI_RUNG_LINE), "what was printed"));
}

/* "preserve compact IDs and handles such as task_handle.task_id", of every
 * element of a list; "preserve family-specific artifact references instead of
 * inline artifact content" */
static void test_ids_handles_and_artifacts_stay_on_every_rung(void **state)
{
    (void)state;
    for (int rung = 0; rung < WBI_RUNGS; rung++) {
        struct wbi_str text = bring_to(success(30), rung);
        for (int i = 0; i <= 30; i++)
            assert_true(has(text, wbi_arena_fmt(arena, "\"task_%d\"", i).p));
        assert_true(has(text, "\"stdout_artifact\":0"));
        assert_true(has(text, "/a/0.log") && has(text, "/a/1.log"));
    }
}

/* "trim or drop large preview fields inside result" */
static void test_previews_are_trimmed_then_dropped_and_sizes_never_rise(void **state)
{
    struct wbi_str last = success(30);

    (void)state;
    assert_true(wbi_str_eq(bring_to(last, WBI_RUNG_FULL), last));
    for (int rung = 1; rung < WBI_RUNGS; rung++) {
        struct wbi_str text = bring_to(success(30), rung);
        assert_true(text.n <= last.n);
        last = text;
    }
    assert_true(has(bring_to(success(1), WBI_RUNG_TRIMMED), "[compacted: "));
    assert_false(has(bring_to(success(1), WBI_RUNG_SUMMARY), "ligne"));
    assert_false(has(last, "exit_code"));
}

/* "The canonical result gives deterministic compaction rules"; "should not
 * accidentally re-expand it": what was brought down stays down, and a rung of a
 * rung is that rung. */
static void test_what_was_trimmed_is_never_re_expanded(void **state)
{
    (void)state;
    for (int rung = 0; rung < WBI_RUNGS; rung++) {
        struct wbi_str once = bring_to(success(30), rung);
        assert_true(wbi_str_eq(once, bring_to(success(30), rung)));
        assert_true(wbi_str_eq(once, bring_to(once, rung)));
        assert_true(wbi_str_eq(once, bring_to(once, WBI_RUNG_FULL)));
    }
}

/* "A compactor should not have to parse arbitrary pretty JSON or prose": a text
 * that looks like ids is a text. */
static void test_prose_is_never_parsed(void **state)
{
    struct wbi_str text = bring_to(
        WBI_LIT("{\"tool_name\":\"T\",\"status\":\"success\",\"summary_text\":\"S\",\"result\":{"
                "\"output\":\"{\\\"task_id\\\":\\\"task_9\\\"} and much more of such prose that is "
                "longer than what stays on the summary rung\"},\"error\":null}"),
        WBI_RUNG_SUMMARY);

    (void)state;
    assert_false(has(text, "task_9"));
}

/* "Compaction may later derive a bounded model-visible receipt from the
 * preserved canonical result"; "The model-visible rendering is a derived receipt
 * for prompt history, not the sole source of truth." */
static void test_the_receipt_is_derived_from_what_is_left(void **state)
{
    struct wbi_buf out;

    (void)state;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    assert_int_equal(
        wbi_compact_receipt(arena, bring_to(success(1), WBI_RUNG_LINE), WBI_RUNG_LINE, &out, NULL),
        WB_OK);
    assert_true(wbi_str_eqz(wbi_buf_str(&out),
                            "T: SUMMARY; task_handle.task_id: task_0; task_handle.status: running; "
                            "stdout_artifact: 0; artifact: /a/0.log; artifact: /a/1.log; "
                            "tasks.task_id: task_1"));
    wbi_buf_clear(&out);
    assert_int_equal(wbi_compact_receipt(arena, bring_to(WBI_LIT(FAILURE), WBI_RUNG_LINE),
                                         WBI_RUNG_LINE, &out, NULL),
                     WB_OK);
    assert_true(wbi_str_eqz(wbi_buf_str(&out), "Error: timed_out (retryable); MESSAGE; Next: HINT; "
                                               "artifact: /a/part.log; T: SUMMARY"));
}

static void test_other_texts_are_refused(void **state)
{
    struct wbi_str out;

    (void)state;
    assert_int_equal(wbi_compact_result(arena, WBI_LIT("{}"), WBI_RUNG_LINE, &out, NULL),
                     WB_EINPUT);
    assert_int_equal(wbi_compact_result(arena, WBI_LIT("no"), WBI_RUNG_LINE, &out, NULL),
                     WB_EINPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_status_and_summary_stay_on_every_rung),
        cmocka_unit_test(test_errors_stay_whole_on_every_rung),
        cmocka_unit_test(test_ids_handles_and_artifacts_stay_on_every_rung),
        cmocka_unit_test(test_previews_are_trimmed_then_dropped_and_sizes_never_rise),
        cmocka_unit_test(test_what_was_trimmed_is_never_re_expanded),
        cmocka_unit_test(test_prose_is_never_parsed),
        cmocka_unit_test(test_the_receipt_is_derived_from_what_is_left),
        cmocka_unit_test(test_other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
