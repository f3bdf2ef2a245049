/* SPDX-License-Identifier: Apache-2.0
 * ledger/checkpoint.c: writing and reading the file of signed statements.
 * (1) A line is appended with one write and synced; a torn last line (a kill in
 *     between) is dropped by the next writer.
 * (2) Writers take turns by a lock on the file, and read the tail of the ledger
 *     under it: sequence numbers of heads never go back.
 * (3) Whoever needs the key shares a lock on the folder of all witnesses, so that
 *     no line of the old key comes behind the one that leads to the next. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "ledger/checkpoint_int.h"

static void file_name(const struct wbi_dir *dir, char out[WBI_ID_SIZE + 16])
{
    (void)snprintf(out, WBI_ID_SIZE + 16, "%s" WBI_WITNESS_ENDING, dir->id);
}

static int lock(int fd, int how)
{
    int status;

    do
        status = flock(fd, how);
    while (status != 0 && errno == EINTR);
    return status;
}

wb_rc wbi_keys_lock(const struct wbi_dir *dir, bool to_rotate, int *ret, struct wbi_error *err)
{
    int fd = openat(dir->user_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || lock(fd, to_rotate ? LOCK_EX : LOCK_SH) != 0) {
        wb_rc rc = wbi_fail_errno(err, errno, "cannot lock the user's witnesses");
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *ret = fd;
    return WB_OK;
}

/* Opened and locked; WB_ENOTFOUND when absent and not to be made. */
static wb_rc open_file(const struct wbi_dir *dir, const char *name, bool make, int *ret,
                       struct wbi_error *err)
{
    bool exists;
    int fd;
    wb_rc rc = wbi_dir_check_file(dir->user_fd, name, &exists, err);

    if (rc != WB_OK)
        return rc;
    if (!exists && !make)
        return wbi_fail(err, WB_ENOTFOUND,
                        "the witness of this ledger (%s in the user's state folder) is missing; "
                        "`waybill ledger checkpoint --restart` begins a new one",
                        name);
    fd = openat(dir->user_fd, name,
                O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot open the witness of the ledger");
    if (lock(fd, LOCK_EX) != 0) {
        rc = wbi_fail_errno(err, errno, "cannot lock the witness of the ledger");
        close(fd);
        return rc;
    }
    *ret = fd;
    return WB_OK;
}

/* The newest whole line, of at most `size` bytes; what is torn behind it goes. */
static wb_rc last_line(int fd, char *text, size_t size, struct wbi_str *ret, struct wbi_error *err)
{
    struct stat st;
    off_t from;
    ssize_t n;
    size_t end, start;

    if (fstat(fd, &st) != 0)
        return wbi_fail_errno(err, errno, "cannot examine the witness of the ledger");
    from = st.st_size > (off_t)size ? st.st_size - (off_t)size : 0;
    n = pread(fd, text, size, from);
    if (n < 0)
        return wbi_fail_errno(err, errno, "cannot read the witness of the ledger");
    for (end = (size_t)n; end > 0 && text[end - 1] != '\n'; end--)
        ;
    if (end < (size_t)n && ftruncate(fd, from + (off_t)end) != 0)
        return wbi_fail_errno(err, errno, "cannot mend the witness of the ledger");
    for (start = end; start > 0 && (start == end || text[start - 1] != '\n'); start--)
        ;
    *ret = wbi_str_make(text + start, end - start);
    return WB_OK;
}

static wb_rc sign_line(const char *state_id, const struct wbi_key *key, struct wbi_line *l,
                       struct wbi_error *err)
{
    struct wbi_buf bytes;
    wb_rc rc;

    memcpy(l->key, key->public_key, sizeof(l->key));
    wbi_buf_init(&bytes, 4096);
    wbi_line_bytes(l, state_id, &bytes);
    rc = wbi_buf_rc(&bytes);
    if (rc == WB_OK)
        rc = wbi_sign(key->secret, bytes.p, bytes.n, l->signature);
    wbi_buf_fini(&bytes);
    return rc == WB_OK ? WB_OK : wbi_fail(err, rc, "the checkpoint could not be signed");
}

static wb_rc append_line(const char *state_id, int fd, const struct wbi_key *key,
                         struct wbi_line *l, struct wbi_error *err)
{
    struct wbi_buf text;
    wb_rc rc = sign_line(state_id, key, l, err);

    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&text, 4096);
    wbi_line_write(l, state_id, &text);
    if (wbi_buf_rc(&text) != WB_OK)
        rc = wbi_fail_nomem(err);
    else if (write(fd, text.p, text.n) != (ssize_t)text.n || fsync(fd) != 0)
        rc = wbi_fail_errno(err, errno, "cannot write the witness of the ledger");
    wbi_buf_fini(&text);
    return rc;
}

struct wish {
    enum wbi_line_kind kind;
    const struct wbi_witness *at; /* NULL: the newest row */
    int64_t rows;                 /* only if so many came since; 0: always */
    bool make;                    /* the file may be new */
};

static wb_rc write_locked(struct wbi_ledger *l, int fd, const struct wish *wish,
                          struct wbi_witness *ret, struct wbi_error *err)
{
    const struct wbi_dir *dir = wbi_store_dir(l->store);
    struct wbi_ids ids = wbi_ids_system();
    struct wbi_line line = {.kind = wish->kind}, last = {.at = {.seq = 0}};
    struct wbi_arena *arena;
    struct wbi_str text;
    struct wbi_key key;
    char tail[2048];
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = last_line(fd, tail, sizeof(tail), &text, err);
    if (rc == WB_OK && text.n > 0 && !wbi_line_read(arena, text, dir->id, &last))
        last.at.seq = 0; /* damaged: verify says so, going on hides nothing */
    wbi_arena_free(arena);
    if (rc == WB_OK && wish->at == NULL) /* read under the lock: lines never go back */
        rc = wbi_store_tail(l->store, &line.at, err);
    else if (rc == WB_OK)
        line.at = *wish->at;
    if (rc != WB_OK || (wish->rows > 0 && text.n > 0 && line.at.seq - last.at.seq < wish->rows))
        return rc;
    wbi_time_format(wbi_wall_ms(&l->clock), line.time);
    rc = wbi_key_load(dir, &ids, wish->make, &key, err);
    if (rc == WB_OK)
        rc = append_line(dir->id, fd, &key, &line, err);
    if (rc == WB_OK && ret != NULL)
        *ret = line.at;
    return rc;
}

static wb_rc write_statement(struct wbi_ledger *l, const struct wish *wish, struct wbi_witness *ret,
                             struct wbi_error *err)
{
    const struct wbi_dir *dir = wbi_store_dir(l->store);
    char name[WBI_ID_SIZE + 16];
    int keys, fd;
    wb_rc rc = wbi_keys_lock(dir, false, &keys, err);

    if (rc != WB_OK)
        return rc;
    file_name(dir, name);
    rc = open_file(dir, name, wish->make, &fd, err);
    if (rc == WB_OK) {
        rc = write_locked(l, fd, wish, ret, err);
        close(fd); /* and its lock */
    }
    close(keys);
    return rc;
}

wb_rc wbi_checkpoint_begin(struct wbi_ledger *l, struct wbi_error *err)
{
    const struct wbi_dir *dir = wbi_store_dir(l->store);
    struct wish wish = {.kind = WBI_LINE_HEAD, .rows = 1, .make = true};
    char name[WBI_ID_SIZE + 16];
    struct wbi_witness tail = {.seq = 0};
    bool exists;
    wb_rc rc;

    file_name(dir, name);
    rc = wbi_dir_check_file(dir->user_fd, name, &exists, err);
    if (rc == WB_OK && exists)
        return WB_OK;
    if (rc == WB_OK)
        rc = wbi_store_tail(l->store, &tail, err);
    if (rc != WB_OK || tail.seq > 0 || dir->read_only)
        return rc;
    return write_statement(l, &wish, NULL, err);
}

wb_rc wbi_checkpoint_write(struct wbi_ledger *l, struct wbi_witness *ret, struct wbi_error *err)
{
    struct wish wish = {.kind = WBI_LINE_HEAD};
    wb_rc rc = wbi_checkpoint_begin(l, err);

    return rc == WB_OK ? write_statement(l, &wish, ret, err) : rc;
}

wb_rc wbi_checkpoint_due(struct wbi_ledger *l, int64_t rows, struct wbi_error *err)
{
    struct wish wish = {.kind = WBI_LINE_HEAD, .rows = rows};

    return write_statement(l, &wish, NULL, err);
}

wb_rc wbi_checkpoint_anchor(struct wbi_ledger *l, const struct wbi_witness *w,
                            struct wbi_error *err)
{
    struct wish wish = {.kind = WBI_LINE_ANCHOR, .at = w};

    return write_statement(l, &wish, NULL, err);
}

/* ---- keys and new beginnings ---- */

struct rotation {
    const struct wbi_dir *dir;
    struct wbi_key old, fresh;
    char time[WBI_RFC3339_SIZE];
};

/* One witness goes on with the new key. It states once more what its newest line does: a
 * witness without a good one is left alone, it can prove nothing anyway. */
static wb_rc hand_over(const struct rotation *r, const char *name, struct wbi_error *err)
{
    struct wbi_str state = wbi_str_head(wbi_str_z(name), strlen(name) - strlen(WBI_WITNESS_ENDING));
    struct wbi_line line, last;
    struct wbi_arena *arena;
    struct wbi_str text;
    char tail[2048], id[WBI_ID_SIZE] = "";
    int fd;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    memcpy(id, state.p, state.n);
    rc = open_file(r->dir, name, false, &fd, err);
    if (rc == WB_OK) {
        rc = last_line(fd, tail, sizeof(tail), &text, err);
        if (rc == WB_OK && wbi_line_read(arena, text, id, &last)) {
            line = (struct wbi_line){.kind = WBI_LINE_KEY, .at = last.at};
            memcpy(line.time, r->time, sizeof(line.time));
            memcpy(line.next, r->fresh.public_key, sizeof(line.next));
            rc = append_line(id, fd, &r->old, &line, err);
        }
        close(fd);
    }
    wbi_arena_free(arena);
    return rc;
}

/* The key is one for all of the user's ledgers, so each witness has to lead to the new one.
 * Should this end in between, the old key stays in force, and lines that name another prove
 * what they state like any other. */
static wb_rc rotate_all(const struct rotation *r, int keys, struct wbi_error *err)
{
    int fd = dup(keys);
    DIR *all = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    struct stat st;
    wb_rc rc = WB_OK;

    if (all == NULL) {
        rc = wbi_fail_errno(err, errno, "cannot list the user's witnesses");
        if (fd >= 0)
            close(fd);
        return rc;
    }
    while (rc == WB_OK && (e = readdir(all)) != NULL)
        if (wbi_str_ends(wbi_str_z(e->d_name), WBI_LIT(WBI_WITNESS_ENDING)) &&
            strlen(e->d_name) < WBI_ID_SIZE + strlen(WBI_WITNESS_ENDING) &&
            fstatat(keys, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            rc = hand_over(r, e->d_name, err);
    (void)closedir(all);
    return rc == WB_OK ? wbi_key_replace(r->dir, &r->fresh, err) : rc;
}

wb_rc wbi_checkpoint_rotate(struct wbi_ledger *l, struct wbi_error *err)
{
    struct rotation r = {.dir = wbi_store_dir(l->store)};
    struct wbi_ids ids = wbi_ids_system();
    int keys;
    wb_rc rc = wbi_keys_lock(r.dir, true, &keys, err);

    if (rc != WB_OK)
        return rc;
    wbi_time_format(wbi_wall_ms(&l->clock), r.time);
    rc = wbi_key_load(r.dir, &ids, false, &r.old, err);
    if (rc == WB_OK)
        rc = wbi_key_make(&ids, &r.fresh, err);
    if (rc == WB_OK)
        rc = rotate_all(&r, keys, err);
    close(keys);
    return rc;
}

wb_rc wbi_checkpoint_restart(struct wbi_ledger *l, struct wbi_error *err)
{
    const struct wbi_dir *dir = wbi_store_dir(l->store);
    struct wish anchor = {.kind = WBI_LINE_ANCHOR, .make = true};
    struct wish head = {.kind = WBI_LINE_HEAD};
    char name[WBI_ID_SIZE + 16], aside[WBI_ID_SIZE + 48];
    struct wbi_witness at;
    wb_rc rc = wbi_store_anchor(l->store, &at, err);

    if (rc != WB_OK)
        return rc;
    file_name(dir, name);
    (void)snprintf(aside, sizeof(aside), "%s.until-%lld", name, (long long)wbi_wall_ms(&l->clock));
    if (renameat(dir->user_fd, name, dir->user_fd, aside) != 0 && errno != ENOENT)
        return wbi_fail_errno(err, errno, "cannot put the old witness aside");
    anchor.at = &at;
    rc = write_statement(l, &anchor, NULL, err);
    return rc == WB_OK ? write_statement(l, &head, NULL, err) : rc;
}
