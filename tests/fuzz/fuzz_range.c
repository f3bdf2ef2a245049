/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_range.c: ranges, page tokens and JSON paths in any bytes. What
 * is accepted must be sound; a token that decodes must encode to itself. */
#include <stdlib.h>

#include "artifact/range.h"
#include "artifact/read.h"
#include "base/arena.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_path(struct wbi_str text)
{
    static const char json[] = "{\"a\":[{\"b c\":{\"d\":1}},[],2],\"a~b\":[{\"/\":null}],\"\":0}";
    const wbi_json *root, *v = NULL;
    struct wbi_arena *arena;

    if (wbi_arena_new(1 << 20, &arena) != WB_OK)
        return;
    if (wbi_json_read(arena, wbi_str_z(json), WBI_JSON_STRICT, &root, NULL) == WB_OK &&
        wbi_json_path(root, text, &v, NULL) == WB_OK && v == NULL)
        abort();
    wbi_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str text = wbi_str_make((const char *)data, size);
    char again[WBI_PAGE_TOKEN];
    struct wbi_page page;
    uint64_t first, last;

    if (wbi_range_lines(text, &first, &last, NULL) == WB_OK && (first < 1 || last < first))
        abort();
    if (wbi_range_bytes(text, &first, &last, NULL) == WB_OK && last < first)
        abort();
    if (wbi_page_decode(text, &page, NULL) == WB_OK) {
        wbi_page_encode(&page, again);
        if (!wbi_str_ieq(text, wbi_str_z(again)))
            abort();
    }
    try_path(text);
    return 0;
}
