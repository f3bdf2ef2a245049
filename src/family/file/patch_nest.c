/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_nest.c: a file that becomes a folder of its name, and a
 * folder whose files all go that becomes a file. The new one is staged whole
 * under a temporary name beside the old one, and both change places in one
 * step: so the old one is never taken apart before the new one is there, and
 * the step can be taken back. What lies under the temporary name in the end is
 * removed file by file, by the names of the patch; nothing else ever is. */
#include "family/file/patch_disk.h"
#include "family/file/patch_int.h"

#include <dirent.h>
#include <unistd.h>

/* A file created in the place of a removed one's folder, or the reverse. */
static bool opposite(const struct wbi_patch_op *a, const struct wbi_patch_op *b)
{
    return (a->kind == WBI_PATCH_OP_CREATE && b->kind == WBI_PATCH_OP_REMOVE) ||
           (a->kind == WBI_PATCH_OP_REMOVE && b->kind == WBI_PATCH_OP_CREATE);
}

void wbi_nest_owners(const struct wbi_patch_op *ops, size_t n, size_t *owner)
{
    for (size_t i = 0; i < n; i++) {
        owner[i] = WBI_NEST_NONE;
        for (size_t k = 0; k < n; k++)
            if (opposite(&ops[i], &ops[k]) && wbi_patch_beneath(ops[i].real, ops[k].real))
                owner[i] = k;
    }
}

/* Bytes of path up to its last name. */
static size_t folder_bytes(struct wbi_str path)
{
    while (path.n > 0 && path.p[path.n - 1] != '/')
        path.n--;
    return path.n;
}

struct wbi_str wbi_nest_place(const struct wbi_journal_entry *e, struct wbi_arena *arena)
{
    struct wbi_str owner = wbi_str_head(e->path, e->keep), rest = wbi_str_from(e->path, e->keep);

    return wbi_arena_fmt(arena, "%.*s%s%.*s", (int)folder_bytes(owner), owner.p, e->temp,
                         WBI_FMT(rest));
}

void wbi_nest_drop(struct wbi_root *root, const struct wbi_journal_entry *e,
                   struct wbi_arena *arena)
{
    struct wbi_str place = wbi_nest_place(e, arena);
    size_t top = folder_bytes(wbi_str_head(e->path, e->keep)) + strlen(e->temp);
    wb_rc rc;

    if (place.p == NULL)
        return;
    rc = wbi_path_unlink(root, place, WBI_WRITE_GRANT, NULL);
    /* Folders that were never made, or hold something, are no matter. */
    while (place.n > top) {
        place.n = folder_bytes(place) - 1;
        rc = wbi_path_rmdir(root, place, WBI_WRITE_GRANT, NULL);
    }
    (void)rc;
}

/* ---- is there anything else? ---- */

static wb_rc fail_more(struct wbi_str folder, struct wbi_str dir, struct wbi_str name,
                       struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN], within[WBI_PATH_SHOWN], other[WBI_PATH_SHOWN];

    return wbi_fail_kind(err, WB_EEXISTS, WBI_KIND_FILE_EXISTS,
                         "`%s` is a directory that holds more than the patch takes away: `%s/%s`",
                         wbi_path_show(folder, shown), wbi_path_show(dir, within),
                         wbi_path_show(name, other));
}

/* Is dir/entry one of the files, or a folder that leads to one? */
static bool expected(struct wbi_str dir, const struct wbi_listing_entry *entry,
                     const struct wbi_str *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct wbi_str rest;

        if (!wbi_patch_beneath(files[i], dir))
            continue;
        rest = wbi_str_from(files[i], dir.n + 1);
        if (!wbi_str_starts(rest, entry->name))
            continue;
        if (rest.n == entry->name.n && entry->type == DT_REG)
            return true;
        if (rest.n > entry->name.n && rest.p[entry->name.n] == '/' && entry->type == DT_DIR)
            return true;
    }
    return false;
}

/* dir: as the files name it; it lies at place, which ends as dir does behind folder. */
static wb_rc check_dir(struct wbi_root *root, struct wbi_str place, struct wbi_str folder,
                       struct wbi_str dir, const struct wbi_str *files, size_t n,
                       struct wbi_error *err)
{
    char path[WBI_LIMIT_PATH + 1];
    struct wbi_listing_entry e;
    struct wbi_listing list;
    size_t rest = dir.n - folder.n;
    wb_rc rc;
    int fd;

    if (place.n + rest > WBI_LIMIT_PATH)
        return wbi_fail(err, WB_ELIMIT, "a path of the patch is too long");
    memcpy(path, place.p, place.n);
    memcpy(path + place.n, dir.p + folder.n, rest);
    rc = wbi_path_open_dir(root, wbi_str_make(path, place.n + rest), err, &fd);
    if (rc)
        return rc;
    wbi_listing_init(&list, fd);
    while (rc == WB_OK && wbi_listing_next(&list, &e))
        if (!expected(dir, &e, files, n))
            rc = fail_more(folder, dir, e.name, err);
    close(fd);
    return rc;
}

/* The folders that lead to files[i] and to none before it. */
static wb_rc check_way(struct wbi_root *root, struct wbi_str place, struct wbi_str folder,
                       const struct wbi_str *files, size_t n, size_t i, struct wbi_error *err)
{
    struct wbi_str dir = files[i];
    wb_rc rc = WB_OK;

    while (rc == WB_OK && dir.n > folder.n) {
        bool before = false;

        dir.n = folder_bytes(dir) - 1;
        for (size_t k = 0; k < i && !before; k++)
            before = wbi_patch_beneath(files[k], dir);
        if (before)
            break; /* and so are those above it */
        rc = check_dir(root, place, folder, dir, files, n, err);
    }
    return rc;
}

wb_rc wbi_nest_holds_only(struct wbi_root *root, struct wbi_str place, struct wbi_str folder,
                          const struct wbi_str *files, size_t n, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < n && rc == WB_OK; i++)
        if (wbi_patch_beneath(files[i], folder))
            rc = check_way(root, place, folder, files, n, i, err);
    return rc;
}
