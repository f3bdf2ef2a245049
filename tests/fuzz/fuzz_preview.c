/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_preview.c: a preview of any text at any budget: segments cover
 * every line once and in order, and the same input gives the same text. */
#include <stdlib.h>

#include "base/limits.h"
#include "text/hygiene.h"
#include "text/preview.h"

static void must(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_preview_policy policy = {.budget = size > 1 ? data[0] * 4u + 40u : 40u,
                                        .read_call = WBI_LIT("read \"A-B\"")};
    struct wbi_arena *arena = NULL;
    struct wbi_buf clean;
    struct wbi_preview v, w;
    uint64_t next = 1;

    wbi_buf_init(&clean, 64u << 20);
    must(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK);
    must(wbi_hygiene_clean(wbi_str_make((const char *)data, size), &clean, NULL) == WB_OK);
    must(wbi_preview_text(arena, wbi_buf_str(&clean), &policy, &v, NULL) == WB_OK);
    must(wbi_preview_text(arena, wbi_buf_str(&clean), &policy, &w, NULL) == WB_OK);
    must(wbi_str_eq(v.text, w.text));
    for (size_t i = 0; i < v.n_segments; i++) {
        must(v.segments[i].first == next && v.segments[i].last >= next);
        next = v.segments[i].last + 1;
    }
    must(next == v.lines_total + 1);
    wbi_arena_free(arena);
    wbi_buf_fini(&clean);
    return 0;
}
