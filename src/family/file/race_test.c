/* SPDX-License-Identifier: Apache-2.0
 * family/file/race_test.c: attack 5 against the five engines, each on its own: a
 * directory that is now a directory, now a link to the outside. F1: no round of
 * reading, writing, listing, searching or patching reaches the outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/checked.h"
#include "family/file/file.h"
#include "family/file/patch.h"
#include "path/path.h"
#include "racer.h"

#define Z(s) wbi_str_z(s)

enum verdict { REFUSED, INSIDE, ESCAPED };

struct round {
    struct wbi_root *root;
    struct wbi_arena *arena;
    struct wbi_error err;
    unsigned no; /* which of the ways, by chance */
};

static enum verdict read_once(struct round *r)
{
    struct wbi_read_request req = {.path = Z(r->no % 4 ? "swap/f" : "swap/../swap/f")};
    struct wbi_read_result res;

    if (wbi_file_read(r->root, &req, r->arena, &r->err, &res) != WB_OK)
        return REFUSED;
    return res.n_lines == 1 && wbi_str_eqz(res.lines[0].text, "inside") ? INSIDE : ESCAPED;
}

/* What was made outside is seen at the end (racer_outside_is_whole). */
static enum verdict write_once(struct round *r)
{
    struct wbi_write_request req = {.path = Z(r->no % 3 ? "swap/w" : "swap/d/e/w"),
                                    .data = Z("x"),
                                    .mode = r->no % 2 ? WBI_FILE_APPEND : WBI_FILE_REPLACE,
                                    .make_dirs = r->no % 3 == 0};
    struct wbi_write_result res;

    if (r->no % 16 == 0) {
        req.mode = WBI_FILE_CREATE;
        if (wbi_path_unlink(r->root, req.path, 0, &r->err) != WB_OK)
            r->err = (struct wbi_error){0}; /* there was none, or it has been swapped away */
    }
    if (r->no % 5 == 0) { /* a file that is there outside too */
        req.path = Z("swap/marker");
        req.mode = WBI_FILE_APPEND;
    }
    return wbi_file_write(r->root, &req, r->arena, &r->err, &res) == WB_OK ? INSIDE : REFUSED;
}

static enum verdict list_once(struct round *r)
{
    struct wbi_list_request req = {.path = Z(r->no % 3 ? "swap" : "."), .hidden = true};
    struct wbi_list_result res;

    if (wbi_file_list(r->root, &req, r->arena, &r->err, &res) != WB_OK)
        return REFUSED;
    for (size_t i = 0; i < res.n_entries; i++)
        if (wbi_str_ends(res.entries[i].path, WBI_LIT("marker")))
            return ESCAPED;
    return INSIDE;
}

static enum verdict search_once(struct round *r)
{
    struct wbi_search_request req = {.pattern = Z("secret"),
                                     .path = Z(r->no % 3 == 0   ? "."
                                               : r->no % 3 == 1 ? "swap"
                                                                : "swap/f")};
    struct wbi_search_result res;

    if (wbi_file_search(r->root, &req, r->arena, &r->err, &res) != WB_OK)
        return REFUSED;
    return res.n_files == 0 ? INSIDE : ESCAPED;
}

static enum verdict patch_once(struct round *r)
{
    static const char *const patches[] = {
        "*** Begin Patch\n*** Update File: swap/f\n@@\n-secret\n+pwned\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: swap/f\n@@\n-inside\n+inside\n+\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: swap/w\n+x\n*** End Patch\n",
        "*** Begin Patch\n*** Delete File: swap/w\n*** End Patch\n",
        "*** Begin Patch\n*** Delete File: swap/marker\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: swap/f\n@@\n inside\n-\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: g\n*** Move to: swap/d/g\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: swap/d/g\n*** Move to: g\n*** End Patch\n",
    };
    struct wbi_patch_disk disk = {.root = r->root};
    struct wbi_patch_fs fs = wbi_patch_fs_path(&disk);
    unsigned at = r->no % WBI_COUNT(patches);
    struct wbi_patch_result res;
    struct wbi_patch_fault fault;

    if (wbi_patch_apply(Z(patches[at]), &fs, 0, r->arena, &r->err, &fault, &res) != WB_OK)
        return REFUSED;
    return at == 0 || at == 4 ? ESCAPED : INSIDE; /* these two fit only outside */
}

static void no_escape(const char *what, enum verdict (*once)(struct round *r))
{
    struct racer race;
    struct round r = {.no = 0};
    unsigned long rounds = soak(RACER_ROUNDS), seen[3] = {0}, i;

    chance_start();
    assert_true(racer_start(&race));
    assert_true(tree_puts(&race.tree, "work/g", "moves\n"));
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &r.arena), WB_OK);
    assert_int_equal(wbi_root_open(race.tree.root, WBI_ROOT_NO_SYNC, &r.err, &r.root), WB_OK);
    for (i = 0;
         i < rounds || ((seen[INSIDE] == 0 || seen[REFUSED] == 0) && i < RACER_PATIENCE * rounds);
         i++) {
        r.no = (unsigned)chance(240); /* divided by 3, 4, 5, 8 and 16 */
        seen[once(&r)]++;
        wbi_arena_reset(r.arena);
    }
    racer_stop(&race);
    print_message("%s, %lu rounds: %lu inside, %lu refused, %lu escaped\n", what, i, seen[INSIDE],
                  seen[REFUSED], seen[ESCAPED]);
    assert_int_equal(seen[ESCAPED], 0);
    assert_true(seen[INSIDE] > 0 && seen[REFUSED] > 0);
    assert_true(racer_outside_is_whole(&race));
    wbi_root_unref(r.root);
    wbi_arena_free(r.arena);
    tree_remove(&race.tree);
}

#define RACE(name)                       \
    static void a05_##name(void **state) \
    {                                    \
        (void)state;                     \
        no_escape(#name, name##_once);   \
    }
RACE(read)
RACE(write)
RACE(list)
RACE(search)
RACE(patch)

/* One engine alone: WAYBILL_TEST=a05_patch. */
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a05_read), cmocka_unit_test(a05_write),
                                       cmocka_unit_test(a05_list), cmocka_unit_test(a05_search),
                                       cmocka_unit_test(a05_patch)};

    cmocka_set_test_filter(getenv("WAYBILL_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
