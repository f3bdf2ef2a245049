/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_repair.c: the first byte chooses the provider, the rest is a
 * history. What was repaired once is left alone by a second repair. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "wire/repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_repair_report report;
    struct wbi_arena *arena;
    struct wbi_buf once, twice;
    enum wbi_provider p;

    if (size == 0 || wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return 0;
    p = (enum wbi_provider)(data[0] % WBI_PROVIDER_MCP);
    wbi_buf_init_arena(&once, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&twice, arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_wire_repair(arena, p, wbi_str_make((const char *)data + 1, size - 1), &once, &report,
                        NULL) == WB_OK) {
        p = report.provider;
        if (wbi_wire_repair(arena, p, wbi_buf_str(&once), &twice, &report, NULL) != WB_OK ||
            report.changed || !wbi_str_eq(wbi_buf_str(&once), wbi_buf_str(&twice)))
            abort();
    }
    wbi_arena_free(arena);
    return 0;
}
