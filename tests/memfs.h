/* SPDX-License-Identifier: Apache-2.0
 * tests/memfs.h: files in memory behind struct wbi_patch_fs, so that the patch
 * engine can be tested and fuzzed without touching a disk. */
#ifndef WAYBILL_TESTS_MEMFS_H
#define WAYBILL_TESTS_MEMFS_H

#include <string.h>

#include "base/arena.h"
#include "family/file/patch.h"
#include "path/path.h"

#define MEMFS_FILES 64

struct memfs {
    struct wbi_str names[MEMFS_FILES];
    struct wbi_str data[MEMFS_FILES];
    bool exec[MEMFS_FILES];
    size_t n;
    unsigned commits;
};

static inline int memfs_find(const struct memfs *m, struct wbi_str name)
{
    for (size_t i = 0; i < m->n; i++)
        if (wbi_str_eq(m->names[i], name))
            return (int)i;
    return -1;
}

static inline void memfs_put(struct memfs *m, struct wbi_str name, struct wbi_str data)
{
    int at = memfs_find(m, name);

    if (at < 0 && m->n < MEMFS_FILES)
        at = (int)m->n++;
    if (at < 0)
        return;
    m->names[at] = name;
    m->data[at] = data;
}

static inline void memfs_drop(struct memfs *m, struct wbi_str name)
{
    int at = memfs_find(m, name);

    if (at < 0)
        return;
    m->n--;
    m->names[at] = m->names[m->n];
    m->data[at] = m->data[m->n];
    m->exec[at] = m->exec[m->n];
}

static inline bool memfs_beneath(struct wbi_str path, struct wbi_str folder)
{
    return path.n > folder.n && path.p[folder.n] == '/' && wbi_str_starts(path, folder);
}

static inline wb_rc memfs_locate(void *arg, struct wbi_str path, unsigned how,
                                 struct wbi_arena *arena, struct wbi_error *err,
                                 struct wbi_str *ret)
{
    struct memfs *m = arg; /* without links */

    for (size_t i = 0; i < m->n && !(how & WBI_PATCH_OVER_FILE); i++)
        if (memfs_beneath(path, m->names[i]))
            return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_FILE_UNREADABLE, "beneath a file");
    if (path.n == 0 || path.p[0] == '/' || wbi_str_eqz(path, "..") ||
        wbi_str_starts(path, WBI_LIT("../")) || wbi_str_find(path, WBI_LIT("/../")) < path.n)
        return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_EXECUTION_ROOT_VIOLATION, "outside");
    if (wbi_path_guarded(path))
        return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_FORBIDDEN, "guarded");
    *ret = wbi_arena_str(arena, path);
    return ret->p != NULL ? WB_OK : wbi_fail_nomem(err);
}

static inline wb_rc memfs_read(void *arg, struct wbi_str real, struct wbi_arena *arena,
                               struct wbi_error *err, bool *ret_exists, struct wbi_str *ret_data,
                               bool *ret_exec)
{
    struct memfs *m = arg;
    int at = memfs_find(m, real);

    (void)arena;
    for (size_t i = 0; i < m->n; i++)
        if (memfs_beneath(m->names[i], real))
            return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_FILE_UNREADABLE, "a folder");
    *ret_exists = at >= 0;
    *ret_data = at >= 0 ? m->data[at] : wbi_str_make("", 0);
    *ret_exec = at >= 0 && m->exec[at];
    return WB_OK;
}

static inline wb_rc memfs_holds_only(void *arg, struct wbi_str folder, const struct wbi_str *files,
                                     size_t n, struct wbi_error *err)
{
    struct memfs *m = arg;

    for (size_t i = 0; i < m->n; i++) {
        bool named = !memfs_beneath(m->names[i], folder);

        for (size_t k = 0; k < n; k++)
            named = named || wbi_str_eq(files[k], m->names[i]);
        if (!named)
            return wbi_fail_kind(err, WB_EEXISTS, WBI_KIND_FILE_EXISTS, "holds more");
    }
    return WB_OK;
}

static inline wb_rc memfs_commit(void *arg, const struct wbi_patch_op *ops, size_t n,
                                 struct wbi_arena *arena, struct wbi_error *err)
{
    struct memfs *m = arg;

    (void)arena;
    (void)err;
    m->commits++;
    for (size_t i = 0; i < n; i++) {
        if (ops[i].kind == WBI_PATCH_OP_REMOVE) {
            memfs_drop(m, ops[i].real);
            continue;
        }
        memfs_put(m, ops[i].real, ops[i].data);
        if (ops[i].exec >= 0 && memfs_find(m, ops[i].real) >= 0)
            m->exec[memfs_find(m, ops[i].real)] = ops[i].exec;
    }
    return WB_OK;
}

static inline struct wbi_patch_fs memfs_fs(struct memfs *m)
{
    return (struct wbi_patch_fs){.arg = m,
                                 .locate = memfs_locate,
                                 .read = memfs_read,
                                 .holds_only = memfs_holds_only,
                                 .commit = memfs_commit};
}

#endif
