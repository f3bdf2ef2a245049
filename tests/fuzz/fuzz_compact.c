/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_compact.c: the first byte chooses the provider, the next two
 * the budget, the rest is a history. What comes out is legal and compacting it
 * again changes nothing; where the budget is too small, the minimum works. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "call/compact.h"
#include "wire/repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct wbi_arena *arena, enum wbi_provider p, struct wbi_str text,
                  uint64_t budget)
{
    struct wbi_compact_report report;
    struct wbi_repair_report repaired = {.provider = p};
    struct wbi_buf once, twice, legal;
    wb_rc rc;

    wbi_buf_init_arena(&once, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&twice, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&legal, arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_compact_history(arena, p, text, budget, NULL, &once, &report, NULL);
    if (rc == WB_ELIMIT && report.minimum > budget) {
        budget = report.minimum;
        rc = wbi_compact_history(arena, p, text, budget, NULL, &once, &report, NULL);
        if (rc != WB_OK)
            abort();
    }
    if (rc != WB_OK)
        return;
    if (report.tokens_after > budget ||
        wbi_wire_repair(arena, p, wbi_buf_str(&once), &legal, &repaired, NULL) != WB_OK ||
        repaired.changed)
        abort();
    if (wbi_compact_history(arena, p, wbi_buf_str(&once), budget, NULL, &twice, &report, NULL) !=
            WB_OK ||
        !wbi_str_eq(wbi_buf_str(&once), wbi_buf_str(&twice)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_arena *arena;

    if (size < 3 || wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return 0;
    check(arena, (enum wbi_provider)(WBI_PROVIDER_RESPONSES + data[0] % 4),
          wbi_str_make((const char *)data + 3, size - 3), (uint64_t)data[1] * 256 + data[2]);
    wbi_arena_free(arena);
    return 0;
}
