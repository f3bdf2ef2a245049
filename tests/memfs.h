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

static inline wb_rc memfs_locate(void *arg, struct wbi_str path, bool through_link,
                                 struct wbi_arena *arena, struct wbi_error *err,
                                 struct wbi_str *ret)
{
    (void)arg;
    (void)through_link; /* there are none */
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
    (void)err;
    *ret_exists = at >= 0;
    *ret_data = at >= 0 ? m->data[at] : wbi_str_make("", 0);
    *ret_exec = at >= 0 && m->exec[at];
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
    return (struct wbi_patch_fs){
        .arg = m, .locate = memfs_locate, .read = memfs_read, .commit = memfs_commit};
}

#endif
