/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_disk.c: a patch on the real file system, all or nothing.
 * journal (what will be touched) → stage every file → commit mark in the
 * journal, synced → swap every file into place → sync the directories → drop
 * the old files → remove the journal. A failure before the end takes every step
 * back; a crash is finished or undone by patch_recover.c. Files that become
 * folders and the reverse (patch_nest.c) are one exchange with all that is in
 * them: the op of that name owns the others, its members. */
#include "family/file/patch_disk.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/id.h"

static wb_rc disk_locate(void *arg, struct wbi_str path, unsigned how, struct wbi_arena *arena,
                         struct wbi_error *err, struct wbi_str *ret_real)
{
    struct wbi_patch_disk *d = arg;
    unsigned flags = d->write_flags;

    if (!(how & WBI_PATCH_THROUGH_LINK))
        flags |= WBI_WRITE_NO_LINK;
    if (how & WBI_PATCH_OVER_FILE)
        flags |= WBI_WRITE_OVER_FILE;
    return wbi_path_target(d->root, path, flags, arena, err, ret_real);
}

static wb_rc disk_read(void *arg, struct wbi_str real, struct wbi_arena *arena,
                       struct wbi_error *err, bool *ret_exists, struct wbi_str *ret_data,
                       bool *ret_exec)
{
    struct wbi_patch_disk *d = arg;
    struct wbi_error local = WBI_ERROR_INIT;
    struct stat st;
    wb_rc rc =
        wbi_path_read_all(d->root, real, WBI_LIMIT_PATCH_TARGET, arena, &local, ret_data, &st);

    *ret_exists = rc == WB_OK;
    *ret_exec = rc == WB_OK && (st.st_mode & 0100);
    if (rc == WB_ENOTFOUND) {
        *ret_data = wbi_str_make("", 0);
        return WB_OK;
    }
    if (rc && err != NULL)
        *err = local;
    return rc;
}

static wb_rc disk_holds_only(void *arg, struct wbi_str folder, const struct wbi_str *files,
                             size_t n, struct wbi_error *err)
{
    struct wbi_patch_disk *d = arg;

    return wbi_nest_holds_only(d->root, folder, folder, files, n, err);
}

/* ---- the journal's text ---- */

void wbi_journal_head(struct wbi_buf *b, const struct stat *root)
{
    wbi_buf_addf(b, "waybill-patch 1 %llu %llu\n", (unsigned long long)root->st_dev,
                 (unsigned long long)root->st_ino);
}

void wbi_journal_entry(struct wbi_buf *b, const struct wbi_journal_entry *e)
{
    static const char digits[] = "0123456789abcdef";

    wbi_buf_addf(b, "%c %s %u ", e->kind, e->temp, e->keep);
    for (size_t i = 0; i < e->path.n; i++) {
        wbi_buf_addc(b, digits[(unsigned char)e->path.p[i] >> 4]);
        wbi_buf_addc(b, digits[(unsigned char)e->path.p[i] & 15]);
    }
    wbi_buf_addc(b, '\n');
}

void wbi_journal_commit(struct wbi_buf *b, const struct wbi_journal_entry *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        wbi_buf_addf(b, "i %llu %llu\n", (unsigned long long)e[i].new_ino,
                     (unsigned long long)e[i].old_ino);
    if (wbi_buf_rc(b) == WB_OK)
        wbi_buf_addf(b, "commit %016llx\n",
                     (unsigned long long)wbi_hash64(b->p, b->n, WBI_JOURNAL_SEED));
}

void wbi_journal_drop_dirs(struct wbi_root *root, const struct wbi_journal_entry *e)
{
    struct wbi_str dir = e->path;

    for (;;) {
        while (dir.n > 0 && dir.p[dir.n - 1] != '/')
            dir.n--;
        if (dir.n <= 1 || dir.n - 1 <= e->keep)
            return;
        dir.n--;
        if (wbi_path_rmdir(root, dir, WBI_WRITE_GRANT, NULL) != WB_OK)
            return;
    }
}

/* ---- committing ---- */

struct commit {
    struct wbi_patch_disk *disk;
    struct wbi_arena *arena;
    const struct wbi_patch_op *ops;
    size_t n;
    size_t *owner; /* of a member, else WBI_NEST_NONE */
    struct wbi_staged *files;
    struct wbi_journal_entry *entries;
    struct wbi_buf text;
    size_t written; /* bytes of text already in the journal */
    size_t body;    /* bytes before the commit mark, 0: not committed */
    char name[64];
    int fd; /* journal, -1: none */
};

static void step(struct commit *c, const char *name, size_t index)
{
    if (c->disk->step != NULL)
        c->disk->step(c->disk->step_arg, name, index);
}

static bool syncs(const struct commit *c)
{
    return !(wbi_root_flags(c->disk->root) & WBI_ROOT_NO_SYNC);
}

/* Bytes of the deepest folder of path that exists. */
static uint32_t existing_part(struct wbi_root *root, struct wbi_str path)
{
    struct stat st;

    for (;;) {
        while (path.n > 0 && path.p[path.n - 1] != '/')
            path.n--;
        if (path.n == 0)
            return 0;
        path.n--;
        if (wbi_path_stat(root, path, NULL, &st) == WB_OK)
            return (uint32_t)path.n;
    }
}

static bool is_member(const struct commit *c, size_t i)
{
    return c->owner[i] != WBI_NEST_NONE;
}

static void describe(struct commit *c)
{
    static const char kinds[] = {'c', 'r', 'd'};

    for (size_t i = 0; i < c->n; i++) {
        struct wbi_journal_entry *e = &c->entries[i];

        c->files[i].dir_fd = -1;
        e->kind = kinds[c->ops[i].kind];
        e->path = c->ops[i].real;
        e->keep = e->kind == 'c' ? existing_part(c->disk->root, e->path) : (uint32_t)e->path.n;
        wbi_path_temp_name(e->temp);
    }
    for (size_t i = 0; i < c->n; i++) {
        struct wbi_journal_entry *e = &c->entries[i], *owner;

        if (!is_member(c, i))
            continue;
        owner = &c->entries[c->owner[i]];
        owner->kind = 'x';
        e->kind = 'm';
        e->keep = owner->keep = (uint32_t)owner->path.n;
        memcpy(e->temp, owner->temp, sizeof(e->temp));
    }
}

static wb_rc journal_flush(struct commit *c, bool sync, struct wbi_error *err)
{
    struct wbi_str rest = wbi_str_from(wbi_buf_str(&c->text), c->written);
    wb_rc rc = wbi_buf_rc(&c->text);

    if (rc)
        return wbi_fail_nomem(err);
    rc = wbi_path_append_fd(c->fd, rest, sync, err);
    c->written = c->text.n;
    return rc;
}

static wb_rc journal_open(struct commit *c, struct wbi_error *err)
{
    struct wbi_ids ids = wbi_ids_system();
    char id[WBI_ID_SIZE];
    struct stat st;
    wb_rc rc;

    describe(c);
    if (c->disk->journal == NULL)
        return WB_OK;
    if (fstat(wbi_root_fd(c->disk->root), &st) < 0)
        return wbi_fail_errno(err, errno, "execution root");
    wbi_id_make(&ids, "patch_", id);
    snprintf(c->name, sizeof(c->name), "%s.journal", id);
    rc = wbi_path_create_locked(c->disk->journal, wbi_str_z(c->name), err, &c->fd);
    if (rc)
        return rc;
    wbi_journal_head(&c->text, &st);
    for (size_t i = 0; i < c->n; i++)
        wbi_journal_entry(&c->text, &c->entries[i]);
    return journal_flush(c, false, err);
}

static wb_rc journal_commit(struct commit *c, struct wbi_error *err)
{
    wb_rc rc;

    if (c->fd < 0)
        return WB_OK;
    for (size_t i = 0; i < c->n; i++) {
        c->entries[i].new_ino = c->files[i].ino;
        c->entries[i].old_ino = c->files[i].old_ino;
    }
    c->body = c->text.n;
    wbi_journal_commit(&c->text, c->entries, c->n);
    rc = journal_flush(c, syncs(c), err);
    if (rc == WB_OK && syncs(c))
        rc = wbi_path_sync_dir(c->disk->journal, wbi_str_z(c->name), err);
    return rc;
}

static void journal_close(struct commit *c)
{
    if (c->fd < 0)
        return;
    /* A journal that stays is found finished by the next recovery. */
    if (wbi_path_unlink(c->disk->journal, wbi_str_z(c->name), WBI_WRITE_GRANT, NULL) != WB_OK)
        c->written = 0;
    close(c->fd);
    c->fd = -1;
}

/* A file in a folder that is staged. One that goes with its folder needs nothing. */
static wb_rc stage_member(struct commit *c, size_t i, struct wbi_error *err)
{
    const struct wbi_patch_op *op = &c->ops[i];
    unsigned flags = c->disk->write_flags | WBI_WRITE_MKDIRS;
    struct wbi_str place;

    if (op->kind == WBI_PATCH_OP_REMOVE)
        return WB_OK;
    place = wbi_nest_place(&c->entries[i], c->arena);
    if (place.p == NULL)
        return wbi_fail_nomem(err);
    if (op->exec == 1)
        flags |= WBI_WRITE_EXEC;
    return wbi_path_put(c->disk->root, place, op->data, flags, err);
}

static wb_rc stage_one(struct commit *c, size_t i, struct wbi_error *err)
{
    const struct wbi_patch_op *op = &c->ops[i];
    unsigned flags = c->disk->write_flags;
    const char *temp = c->entries[i].temp;
    bool nest = c->entries[i].kind == 'x';

    if (op->kind == WBI_PATCH_OP_REMOVE && nest)
        return wbi_path_stage_folder(c->disk->root, op->real, flags, temp, err, &c->files[i]);
    if (op->kind == WBI_PATCH_OP_REMOVE)
        return wbi_path_stage_removal(c->disk->root, op->real, flags, temp, err, &c->files[i]);
    if (op->kind == WBI_PATCH_OP_CREATE)
        flags |= nest ? WBI_WRITE_OVER_FOLDER : WBI_WRITE_NEW | WBI_WRITE_MKDIRS;
    if (op->exec == 1)
        flags |= WBI_WRITE_EXEC;
    if (op->exec == 0 && op->kind == WBI_PATCH_OP_REPLACE)
        flags |= WBI_WRITE_NO_EXEC;
    return wbi_path_stage_as(c->disk->root, op->real, op->data, flags, temp, err, &c->files[i]);
}

static wb_rc stage_all(struct commit *c, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < c->n && rc == WB_OK; i++)
        if (!is_member(c, i)) {
            step(c, "stage", i);
            rc = stage_one(c, i, err);
        }
    for (size_t i = 0; i < c->n && rc == WB_OK; i++)
        if (is_member(c, i)) {
            step(c, "fill", i);
            rc = stage_member(c, i, err);
        }
    return rc;
}

static wb_rc fail_changed(struct wbi_str path, struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN];

    return wbi_fail_kind(err, WB_EAGAIN, WBI_KIND_FILE_CHANGED,
                         "`%s` was changed by another process while the patch was prepared; "
                         "nothing was applied",
                         wbi_path_show(path, shown));
}

/* A folder that goes, at its own name or the temporary one: has it become more? */
static wb_rc check_folder(struct commit *c, size_t i, bool swapped, struct wbi_error *err)
{
    const struct wbi_journal_entry *e = &c->entries[i];
    struct wbi_str *files = wbi_arena_array(c->arena, c->n, sizeof(*files)), place = e->path;
    struct wbi_error local = WBI_ERROR_INIT;
    size_t n = 0;
    wb_rc rc;

    if (swapped)
        place = wbi_arena_fmt(c->arena, "%.*s%s", (int)(e->path.n - strlen(c->files[i].name)),
                              e->path.p, e->temp);
    if (files == NULL || place.p == NULL)
        return wbi_fail_nomem(err);
    for (size_t k = 0; k < c->n; k++)
        if (c->owner[k] == i)
            files[n++] = c->ops[k].real;
    rc = wbi_nest_holds_only(c->disk->root, place, e->path, files, n, &local);
    return rc ? fail_changed(e->path, err) : WB_OK;
}

/* The plan was made on op->old: is it still there? */
static wb_rc check_unchanged(struct commit *c, struct wbi_arena *arena, struct wbi_error *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct wbi_patch_op *op = &c->ops[i];
        struct wbi_str now;
        bool exists, exec;
        wb_rc rc = WB_OK;

        if (op->kind == WBI_PATCH_OP_CREATE && c->entries[i].kind == 'x')
            rc = check_folder(c, i, false, err);
        if (rc)
            return rc;
        if (op->kind == WBI_PATCH_OP_CREATE)
            continue; /* taking the name fails when it exists by then */
        rc = disk_read(c->disk, op->real, arena, err, &exists, &now, &exec);
        if (rc)
            return rc;
        if (!exists || !wbi_str_eq(now, op->old))
            return fail_changed(op->real, err);
    }
    return WB_OK;
}

static wb_rc swap_all(struct commit *c, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < c->n && rc == WB_OK; i++) {
        if (is_member(c, i))
            continue;
        step(c, "swap", i);
        rc = wbi_path_swap(&c->files[i], err);
        if (rc == WB_OK && c->entries[i].kind == 'x' && c->ops[i].kind == WBI_PATCH_OP_CREATE)
            rc = check_folder(c, i, true, err);
    }
    return rc;
}

static struct wbi_str folder(struct wbi_str path)
{
    while (path.n > 0 && path.p[path.n - 1] != '/')
        path.n--;
    return path;
}

static wb_rc sync_all(struct commit *c, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    step(c, "sync", 0);
    for (size_t i = 0; i < c->n && rc == WB_OK; i++) {
        bool done = is_member(c, i);

        for (size_t k = 0; k < i && !done; k++)
            done = wbi_str_eq(folder(c->ops[k].real), folder(c->ops[i].real));
        if (!done)
            rc = wbi_path_sync_staged(&c->files[i], err);
    }
    return rc;
}

/* Takes the commit mark off the journal. */
static void journal_revoke(struct commit *c)
{
    if (c->fd < 0 || c->body == 0)
        return;
    if (ftruncate(c->fd, (off_t)c->body) == 0 && syncs(c) && fsync(c->fd) < 0)
        c->body = 0;
}

/* The files of folders that are under a temporary name by now. */
static void drop_members(struct commit *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (is_member(c, i))
            wbi_nest_drop(c->disk->root, &c->entries[i], c->arena);
}

/* While names are taken back the journal still stands: a crash meanwhile ends
 * all new. Once it is revoked, a crash ends all old. */
static void undo(struct commit *c)
{
    bool all = true;

    for (size_t i = c->n; i-- > 0;)
        if (wbi_path_unswap(&c->files[i], NULL) != WB_OK) {
            close(c->files[i].dir_fd); /* the old content stays under its temporary name */
            c->files[i].dir_fd = -1;
            all = false;
        }
    journal_revoke(c);
    if (all)
        drop_members(c);
    for (size_t i = 0; i < c->n; i++)
        if (!c->files[i].removal)
            wbi_path_discard(&c->files[i]);
        else if (c->files[i].dir_fd >= 0)
            close(c->files[i].dir_fd);
    for (size_t i = c->n; i-- > 0;)
        if (c->entries[i].kind == 'c')
            wbi_journal_drop_dirs(c->disk->root, &c->entries[i]);
}

static wb_rc run_commit(struct commit *c, struct wbi_arena *arena, struct wbi_error *err)
{
    wb_rc rc;

    step(c, "journal", 0);
    rc = journal_open(c, err);
    if (rc == WB_OK)
        rc = stage_all(c, err);
    if (rc == WB_OK)
        rc = check_unchanged(c, arena, err);
    step(c, "commit", 0);
    if (rc == WB_OK)
        rc = journal_commit(c, err);
    if (rc == WB_OK)
        rc = swap_all(c, err);
    if (rc == WB_OK)
        rc = sync_all(c, err);
    if (rc) {
        undo(c);
        journal_close(c);
        return rc;
    }
    for (size_t i = 0; i < c->n; i++) {
        step(c, "settle", i);
        wbi_path_settle(&c->files[i]);
    }
    step(c, "drop", 0);
    drop_members(c);
    step(c, "close", 0);
    journal_close(c);
    step(c, "done", 0);
    return WB_OK;
}

static wb_rc disk_commit(void *arg, const struct wbi_patch_op *ops, size_t n,
                         struct wbi_arena *arena, struct wbi_error *err)
{
    struct commit c = {.disk = arg, .arena = arena, .ops = ops, .n = n, .fd = -1};

    if (n == 0)
        return WB_OK;
    c.files = wbi_arena_array(arena, n, sizeof(*c.files));
    c.entries = wbi_arena_array(arena, n, sizeof(*c.entries));
    c.owner = wbi_arena_array(arena, n, sizeof(*c.owner));
    if (c.files == NULL || c.entries == NULL || c.owner == NULL)
        return wbi_fail_nomem(err);
    wbi_nest_owners(ops, n, c.owner);
    wbi_buf_init_arena(&c.text, arena, n * (2 * (WBI_LIMIT_PATH + 1) + 160) + 256);
    return run_commit(&c, arena, err);
}

struct wbi_patch_fs wbi_patch_fs_path(struct wbi_patch_disk *disk)
{
    return (struct wbi_patch_fs){.arg = disk,
                                 .locate = disk_locate,
                                 .read = disk_read,
                                 .holds_only = disk_holds_only,
                                 .commit = disk_commit};
}
