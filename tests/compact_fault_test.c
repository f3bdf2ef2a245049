/* SPDX-License-Identifier: Apache-2.0
 * tests/compact_fault_test.c: compaction with the n-th allocation failing, for
 * every n, over arenas that take every piece from malloc: an error or the very
 * same bytes, never a crash or a leak. */
#include "faults/arena_fault.h"

#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "call/compact.h"
#include "faults/alloc_fault.h"

#define LINES "one line of output\\ntwo lines of output\\nthree lines of output, \\\"quoted\\\"\\n"
#define PRINTED_LINES "one line of output\ntwo lines of output\nthree lines of output, \"quoted\"\n"
#define PRINTED                                                                         \
    PRINTED_LINES PRINTED_LINES PRINTED_LINES PRINTED_LINES PRINTED_LINES PRINTED_LINES \
        PRINTED_LINES PRINTED_LINES
#define TEXT LINES LINES LINES LINES LINES LINES LINES LINES
#define PAIR(id, arg)                                                                        \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\",\"arguments\":\"" arg \
    "\"},{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"" TEXT "\"}"
#define HISTORY                                                                             \
    "[" PAIR("a", "{}") "," PAIR("b", "{}") "," PAIR("c", "1") "," PAIR("d", "2") "," PAIR( \
        "e", "3") "]"
#define CANONICAL                                                                     \
    "{\"tool_name\":\"f\",\"status\":\"success\",\"summary_text\":\"S\",\"result\":{" \
    "\"output_preview\":\"" TEXT "\",\"artifacts\":[{\"path\":\"/a\"}]},\"error\":null}"

static bool known(void *arg, struct wbi_arena *arena, struct wbi_str id,
                  struct wbi_compact_known *ret)
{
    (void)arg;
    *ret = (struct wbi_compact_known){.canonical = WBI_LIT(CANONICAL),
                                      .receipt = wbi_arena_str(arena, WBI_LIT(PRINTED))};
    return wbi_str_eqz(id, "c");
}

static wb_rc run(struct wbi_buf *kept)
{
    static const struct wbi_compact_source source = {.known = known};
    struct wbi_compact_report report;
    struct wbi_arena *arena;
    struct wbi_buf out;
    wb_rc rc;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return WB_ENOMEM;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_compact_history(arena, WBI_PROVIDER_RESPONSES, WBI_LIT(HISTORY), 900, &source, &out,
                             &report, NULL);
    if (rc == WB_OK) {
        wbi_buf_clear(kept);
        wbi_buf_adds(kept, wbi_buf_str(&out));
    }
    wbi_arena_free(arena);
    return rc;
}

static void test_every_allocation_may_fail(void **state)
{
    struct wbi_buf whole, got;
    long hits = 1;

    (void)state;
    wbi_buf_init(&whole, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init(&got, WBI_LIMIT_JSON_TEXT);
    assert_int_equal(run(&whole), WB_OK);
    assert_int_equal(run(&got), WB_OK); /* has its room from now on */
    assert_true(wbi_str_find(wbi_buf_str(&whole), WBI_LIT("[compacted to")) < whole.n);
    for (long n = 0; hits > 0 && ALLOC_FAULTS; n++) {
        wb_rc rc;

        alloc_fault_start(n, /* sticky= */ n % 2 == 1);
        rc = run(&got);
        hits = alloc_fault_stop();
        assert_int_equal(atomic_load(&alloc_faults.live), 0);
        if (rc == WB_OK && hits == 0)
            assert_true(wbi_str_eq(wbi_buf_str(&whole), wbi_buf_str(&got)));
        else if (rc != WB_OK)
            assert_true(hits > 0);
    }
    wbi_buf_fini(&whole);
    wbi_buf_fini(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_may_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
