/* SPDX-License-Identifier: Apache-2.0
 * tests/journeys_test.c: every journey of tests/journeys, run twice with the same
 * result to the byte (C1.5) and compared with what it expects. WAYBILL_UPDATE=1
 * rewrites `expect`; WAYBILL_JOURNEY=NAME runs one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datafiles.h"
#include "shared_vectors.h"
#include "support/journey.h"

static const char *kinds_seen[256];
static size_t kinds_n;

static void remember_kind(const wbi_json *got)
{
    struct wbi_str kind = wbi_json_get_str(got, "kind");
    const struct wbi_kind_row *row;

    if (kind.p == NULL || kinds_n == 256)
        return;
    row = wbi_kind_row(wbi_kind_by_name(kind));
    kinds_seen[kinds_n++] = row->kind;
}

static void rewrite(const char *path, const struct journey *j, const wbi_json *got)
{
    struct wbi_buf text;
    struct wbi_arena *arena;
    const wbi_json *v;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (j->data, key) {
        if (!wbi_str_eqz(wbi_json_str(key), "expect")) {
            wbi_jw_keyn(&w, wbi_json_str(key));
            wbi_jw_val(&w, key_val);
        }
    }
    wbi_jw_kval(&w, "expect", got);
    wbi_jw_obj_end(&w);
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_int_equal(wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &v, NULL), WB_OK);
    write_data_file(path, v);
    wbi_arena_free(arena);
    wbi_buf_fini(&text);
}

/* printf, since cmocka cuts long messages. */
static void differ(const char *name, const char *what, struct wbi_str a, const char *other,
                   struct wbi_str b)
{
    size_t same = 0;

    while (same < a.n && same < b.n && a.p[same] == b.p[same])
        same++;
    printf("%s: %s\n%.*s\n%s\n%.*s\n", name, what, WBI_FMT(a), other, WBI_FMT(b));
    fail_msg("%s differs at byte %zu", name, same);
}

static void compare(const char *name, const struct journey *j)
{
    const wbi_json *expect = wbi_json_get(j->data, "expect");
    struct wbi_buf text;

    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    if (expect != NULL)
        wbi_json_write(&text, expect);
    if (!wbi_str_eq(wbi_buf_str(&text), wbi_buf_str(&j->got)))
        differ(name, "expected", wbi_buf_str(&text), "got", wbi_buf_str(&j->got));
    wbi_buf_fini(&text);
}

static void run_file(const char *path, const char *name)
{
    struct wbi_buf text, first;
    const wbi_json *got;
    struct journey j;

    assert_true(read_whole_file(path, &text));
    if (!journey_read(&j, wbi_buf_str(&text)))
        fail_msg("%s: not JSON", name);
    assert_non_null(wbi_json_get_str(j.data, "proves").p);
    if (!journey_run(&j))
        fail_msg("%s: did not run (submit %s)", name, wb_rc_name(j.submit));
    if (wbi_json_get(j.data, "lines") == NULL)
        assert_int_equal(j.done, 1); /* C1.1 */
    first = j.got;
    journey_fresh(&j);
    assert_true(journey_run(&j));
    if (!wbi_str_eq(wbi_buf_str(&first), wbi_buf_str(&j.got)))
        differ(name, "the first run", wbi_buf_str(&first), "the second", wbi_buf_str(&j.got));
    assert_int_equal(wbi_json_read(j.arena, wbi_buf_str(&j.got), WBI_JSON_STRICT, &got, NULL),
                     WB_OK);
    remember_kind(got);
    if (getenv("WAYBILL_UPDATE") != NULL)
        rewrite(path, &j, got);
    else
        compare(name, &j);
    wbi_buf_fini(&first);
    wbi_buf_fini(&j.got);
    wbi_buf_fini(&text);
    journey_end(&j);
}

static void test_every_journey_ends_as_it_says(void **state)
{
    int n = each_data_file(WAYBILL_SOURCE "/tests/journeys", ".json", "WAYBILL_JOURNEY", run_file);

    (void)state;
    printf("journeys: %d\n", n);
}

/* Kinds that nothing of the spine itself can end in: they belong to rooms that
 * bring their own journeys. What is not here must have one (C4.7). */
static const char *const of_other_rooms[] = {
    "idempotency_key_reused",
    "invalid_patch_syntax",
    "unauthorized",
    "forbidden",
    "approval_denied",
    "execution_root_violation",
    "rate_limited",
    "circuit_open",
    "budget_exceeded",
    "concurrency_limited",
    "call_in_flight",
    "upstream_unavailable",
    "workdir_not_found",
    "missing_file",
    "existing_file",
    "file_changed",
    "file_not_text",
    "context_not_found",
    "ambiguous_context",
    "task_not_found",
    "task_not_running",
    "artifact_not_found",
    "artifact_expired",
    "unknown_work_item",
    "low_disk_space",
    "output_persistence_failed",
    "outcome_unknown",
    "state_unavailable",
    "truncated_mutation_tool_call",
};

static bool listed(const char *const *list, size_t n, const char *kind)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], kind) == 0)
            return true;
    return false;
}

static void test_every_kind_of_the_spine_has_a_journey(void **state)
{
    wb_error_row row;

    (void)state;
    if (getenv("WAYBILL_JOURNEY") != NULL)
        return;
    for (size_t i = 0; wb_error_table(i, &row) != NULL; i++) {
        bool other =
            listed(of_other_rooms, sizeof(of_other_rooms) / sizeof(of_other_rooms[0]), row.kind);
        if (!other && !listed(kinds_seen, kinds_n, row.kind))
            fail_msg("no journey ends in %s", row.kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_journey_ends_as_it_says),
        cmocka_unit_test(test_every_kind_of_the_spine_has_a_journey),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
