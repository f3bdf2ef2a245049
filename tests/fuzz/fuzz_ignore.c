/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_ignore.c: any bytes as an ignore file and as globs. Input:
 * rules, a NUL byte, a path. */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "family/file/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str all = wbi_str_make((const char *)data, size);
    size_t cut = wbi_str_index(all, '\0');
    struct wbi_str rules = wbi_str_head(all, cut), path = wbi_str_from(all, cut + 1);
    struct wbi_ignore ig;
    struct wbi_globs globs;
    struct wbi_arena *arena;

    if (size == 0 || size > 4096 || wbi_arena_new(16 << 20, &arena) != WB_OK)
        return 0;
    wbi_ignore_init(&ig);
    if (wbi_ignore_add(&ig, rules) == WB_OK) {
        bool file = wbi_ignore_match(&ig, path, false) == WBI_IGNORE_YES;

        /* the same question has the same answer */
        if (file != (wbi_ignore_match(&ig, path, false) == WBI_IGNORE_YES))
            abort();
        (void)wbi_ignore_match(&ig, path, true);
    }
    wbi_ignore_fini(&ig);
    if (wbi_globs_compile(rules, arena, NULL, &globs) == WB_OK)
        (void)wbi_globs_match(&globs, path);
    /* a path made of plain letters matches itself */
    if (!wbi_path_glob(WBI_LIT("**/x"), WBI_LIT("a/b/x")))
        abort();
    wbi_arena_free(arena);
    return 0;
}
