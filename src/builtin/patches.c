/* SPDX-License-Identifier: Apache-2.0
 * builtin/patches.c: journals of patches in the state directory. A journal names
 * its root by device and inode; which directory that is stands beside it, so
 * that a start finds every root that a crash may have left half-done. */
#include "builtin/file_int.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/limits.h"
#include "family/file/patch.h"
#include "path/path.h"

#define FOLDER "patches"
#define NAME_BYTES 8

static wb_rc journal_name(struct wbi_str path, char out[64])
{
    uint8_t sum[WBI_SHA256_SIZE];
    char hex[NAME_BYTES * 2 + 1];

    if (wbi_str_eqz(path, ".") || path.n == 0) {
        (void)snprintf(out, 64, FOLDER "/root");
        return WB_OK;
    }
    if (wbi_sha256(path.p, path.n, sum) != WB_OK)
        return WB_EIO;
    wbi_hex(sum, NAME_BYTES, hex);
    (void)snprintf(out, 64, FOLDER "/%s", hex);
    return WB_OK;
}

/* Says once which directory a journal folder belongs to. */
static wb_rc note_path(struct wbi_root *state, const char *name, struct wbi_str path,
                       struct wbi_error *err)
{
    char file[80];
    struct stat st;
    wb_rc rc;

    (void)snprintf(file, sizeof(file), "%s.path", name);
    if (wbi_str_eqz(wbi_str_z(name), FOLDER "/root") || wbi_path_lstat(state, wbi_str_z(file), &st))
        return WB_OK;
    rc = wbi_path_write(state, wbi_str_z(file), path, WBI_WRITE_NEW, err);
    return rc == WB_EEXISTS ? WB_OK : rc; /* another process was first */
}

wb_rc wbi_patches_journal(const char *state_dir, struct wbi_str path, struct wbi_error *err,
                          struct wbi_root **ret)
{
    struct wbi_root *state;
    char name[64];
    wb_rc rc = wbi_root_open(state_dir, WBI_ROOT_GRANT, err, &state);

    if (rc != WB_OK)
        return rc;
    rc = journal_name(path, name);
    if (rc == WB_OK)
        rc = wbi_path_mkdirs(state, wbi_str_z(name), 0, err);
    else
        (void)wbi_fail(err, rc, "the journal of the patch could not be named");
    if (rc == WB_OK)
        rc = note_path(state, name, path, err);
    if (rc == WB_OK)
        rc = wbi_root_beneath(state, wbi_str_z(name), err, ret);
    wbi_root_unref(state);
    return rc;
}

/* ---- recovery ---- */

static bool has_entries(struct wbi_root *state, const char *name)
{
    struct wbi_listing_entry e;
    struct wbi_listing *d = NULL;
    bool any = false;
    int fd;

    if (wbi_path_open_dir(state, wbi_str_z(name), NULL, &fd) != WB_OK)
        return false;
    d = wbi_alloc(sizeof(*d));
    if (d != NULL) {
        wbi_listing_init(d, fd);
        any = wbi_listing_next(d, &e);
    }
    wbi_free(d);
    (void)close(fd); /* a directory: nothing can be lost */
    return any;
}

struct recovery {
    struct wbi_runtime *rt;
    struct wbi_root *state;
    struct wbi_arena *arena;
};

/* The directory that the folder's journals belong to; absent: it is not known. */
static struct wbi_str root_path(struct recovery *v, const char *name)
{
    char file[80];
    struct wbi_str path;

    if (wbi_str_eqz(wbi_str_z(name), FOLDER "/root"))
        return WBI_LIT(".");
    (void)snprintf(file, sizeof(file), "%s.path", name);
    if (wbi_path_read_all(v->state, wbi_str_z(file), WBI_LIMIT_PATH, v->arena, NULL, &path, NULL) !=
        WB_OK)
        return WBI_NONE;
    return path;
}

static void recover_folder(struct recovery *v, const char *name)
{
    struct wbi_root *base, *root = NULL, *journal = NULL;
    struct wbi_str path = root_path(v, name);
    wb_rc rc;

    if (path.p == NULL || !has_entries(v->state, name))
        return;
    rc = wbi_runtime_open_ledger(v->rt, NULL); /* trusts the state directory, or refuses it */
    if (rc == WB_OK)
        rc = wbi_runtime_root(v->rt, &base, NULL);
    if (rc == WB_OK)
        rc = wbi_root_beneath(base, path, NULL, &root);
    if (rc == WB_OK)
        rc = wbi_root_beneath(v->state, wbi_str_z(name), NULL, &journal);
    if (rc == WB_OK)
        rc = wbi_patch_recover(root, journal, v->arena, NULL, NULL, NULL);
    (void)rc; /* the next patch there tries again, and says why it cannot */
    wbi_root_unref(journal);
    wbi_root_unref(root);
}

static void recover_all(struct recovery *v)
{
    struct wbi_listing_entry e;
    struct wbi_listing *d;
    char name[64];
    int fd;

    if (wbi_path_open_dir(v->state, WBI_LIT(FOLDER), NULL, &fd) != WB_OK)
        return;
    d = wbi_arena_alloc(v->arena, sizeof(*d));
    if (d != NULL) {
        wbi_listing_init(d, fd);
        while (wbi_listing_next(d, &e)) {
            if (e.name.n > 40 || wbi_str_ends(e.name, WBI_LIT(".path")))
                continue;
            (void)snprintf(name, sizeof(name), FOLDER "/%.*s", WBI_FMT(e.name));
            recover_folder(v, name);
        }
    }
    (void)close(fd); /* a directory: nothing can be lost */
}

void wbi_patches_recover(struct wbi_runtime *rt)
{
    struct recovery v = {.rt = rt};

    if (!wbi_runtime_keeps_ledger(rt) ||
        wbi_root_open(rt->places.state.p, WBI_ROOT_GRANT, NULL, &v.state) != WB_OK)
        return; /* no state: nothing was left in it */
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &v.arena) == WB_OK)
        recover_all(&v);
    wbi_arena_free(v.arena);
    wbi_root_unref(v.state);
}
