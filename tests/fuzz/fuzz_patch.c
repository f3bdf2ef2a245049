/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_patch.c: any bytes as a patch of either form against a small
 * tree. Input: the tree's file, a NUL byte, the patch. A patch that fails must
 * leave the tree alone; one that is only checked must too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "memfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str all = wbi_str_make((const char *)data, size);
    size_t cut = wbi_str_index(all, '\0');
    struct memfs fs = {0};
    struct wbi_patch_fs ops = memfs_fs(&fs);
    struct wbi_patch_result res;
    struct wbi_patch_fault fault;
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena;
    wb_rc rc;

    if (size == 0 || wbi_arena_new(64 << 20, &arena) != WB_OK)
        return 0;
    memfs_put(&fs, WBI_LIT("a.txt"), wbi_str_head(all, cut));
    memfs_put(&fs, WBI_LIT("dir/b.txt"), WBI_LIT("one\ntwo\nthree\n"));
    all = wbi_str_from(all, cut + 1);
    if (wbi_patch_apply(all, &ops, WBI_PATCH_CHECK, arena, &err, &fault, &res) == WB_OK &&
        fs.commits != 0)
        abort();
    rc = wbi_patch_apply(all, &ops, 0, arena, &err, &fault, &res);
    if (rc != WB_OK && (fs.commits != 0 || fs.n != 2))
        abort();
    if (rc != WB_OK && (err.text[0] == '\0' || (rc != WB_ENOMEM && err.kind == WBI_KIND_NONE)))
        abort();
    wbi_arena_free(arena);
    return 0;
}
