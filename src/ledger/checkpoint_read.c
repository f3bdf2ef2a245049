/* SPDX-License-Identifier: Apache-2.0
 * ledger/checkpoint_read.c: what the witness says, and whether it may be
 * believed. Read from the newest line to the oldest: the user's key must have
 * signed the newest, and each change of key is signed by the key before it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "ledger/checkpoint_int.h"

#define FILE_MAX (64u * WBI_MIB)

static wb_rc slurp(const struct wbi_dir *dir, const char *path, struct wbi_buf *out,
                   struct wbi_error *err)
{
    char name[WBI_ID_SIZE + 16];
    struct stat st;
    ssize_t n = 1;
    int fd;

    (void)snprintf(name, sizeof(name), "%s" WBI_WITNESS_ENDING, dir->id);
    fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
                      : openat(dir->user_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? WB_ENOTFOUND
                               : wbi_fail_errno(err, errno, "cannot open the witness");
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
        close(fd);
        return wbi_fail(err, WB_EINPUT, "the witness is no file of checkpoints");
    }
    while (n > 0 || (n < 0 && errno == EINTR)) {
        char *room = wbi_buf_room(out, 65536);
        n = room != NULL ? read(fd, room, 65536) : 0;
        out->n += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (n < 0)
        return wbi_fail_errno(err, errno, "cannot read the witness");
    return wbi_buf_rc(out) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

__attribute__((format(printf, 2, 3))) static void distrust(struct wbi_checkpoints *c,
                                                           const char *fmt, ...)
{
    va_list args;

    if (!c->good)
        return; /* the first reason counts */
    c->good = false;
    va_start(args, fmt);
    (void)vsnprintf(c->what, sizeof(c->what), fmt, args);
    va_end(args);
}

static bool signed_by(const struct wbi_line *l, const uint8_t *key, const char *state_id)
{
    struct wbi_buf bytes;
    bool ok;

    if (memcmp(l->key, key, sizeof(l->key)) != 0)
        return false;
    wbi_buf_init(&bytes, 4096);
    wbi_line_bytes(l, state_id, &bytes);
    ok =
        wbi_buf_rc(&bytes) == WB_OK && wbi_sign_check(key, bytes.p, bytes.n, l->signature) == WB_OK;
    wbi_buf_fini(&bytes);
    return ok;
}

/* Newest first: who must have signed the next older line? */
struct trust {
    const char *state_id;
    uint8_t key[WBI_SIGN_KEY_SIZE];
    const struct wbi_checkpoints *own; /* NULL: the file itself tells of all keys */
};

static void trust_instead(struct wbi_checkpoints *c, struct trust *t, const uint8_t *key)
{
    memcpy(t->key, key, sizeof(t->key));
    memcpy(c->signers[c->keys++], key, sizeof(t->key));
}

/* A copy that was made before a key was rotated: the user's witness has the line that the copy
 * lacks. */
static void trust_older(struct wbi_checkpoints *c, struct trust *t, const struct wbi_line *l)
{
    bool passed = false;

    if (t->own == NULL || !t->own->exists || !t->own->good)
        return;
    for (size_t i = 0; i < t->own->keys; i++) {
        if (passed && memcmp(t->own->signers[i], l->key, sizeof(l->key)) == 0) {
            trust_instead(c, t, l->key);
            return;
        }
        passed |= memcmp(t->own->signers[i], t->key, sizeof(t->key)) == 0;
    }
}

static void take(struct wbi_checkpoints *c, struct trust *t, const struct wbi_line *l, size_t line)
{
    if (c->last[0] == '\0')
        memcpy(c->last, l->time, sizeof(c->last));
    if (l->kind == WBI_LINE_KEY && memcmp(l->next, t->key, sizeof(t->key)) == 0)
        trust_instead(c, t, l->key);
    else if (memcmp(l->key, t->key, sizeof(t->key)) != 0)
        trust_older(c, t, l);
    if (!signed_by(l, t->key, t->state_id)) {
        distrust(c,
                 "line %zu of the witness is not signed by the user's key, nor by one that was "
                 "rotated to it",
                 line);
        return;
    }
    c->heads[c->heads_n++] = l->at;
    if (l->kind == WBI_LINE_ANCHOR && l->at.seq > c->anchor.seq)
        c->anchor = l->at;
}

static size_t count_lines(struct wbi_str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static wb_rc read_lines(struct wbi_arena *arena, struct wbi_str text, struct trust *t,
                        struct wbi_checkpoints *c, struct wbi_error *err)
{
    size_t line = count_lines(text), end = text.n;
    struct wbi_arena *scratch;

    c->heads = wbi_arena_array(arena, line + 1, sizeof(*c->heads));
    c->signers = wbi_arena_array(arena, line + 1, sizeof(*c->signers));
    if (c->heads == NULL || c->signers == NULL ||
        wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &scratch) != WB_OK)
        return wbi_fail_nomem(err);
    memcpy(c->signers[0], t->key, sizeof(t->key));
    while (end > 0 && text.p[end - 1] != '\n')
        end--; /* torn by a kill: never acknowledged */
    for (; line > 0; line--) {
        size_t start = end - 1;
        struct wbi_line l;
        while (start > 0 && text.p[start - 1] != '\n')
            start--;
        if (wbi_line_read(scratch, wbi_str_make(text.p + start, end - 1 - start), t->state_id, &l))
            take(c, t, &l, line);
        else
            distrust(c, "line %zu of the witness is no checkpoint of this ledger", line);
        end = start;
        wbi_arena_reset(scratch);
    }
    wbi_arena_free(scratch);
    return WB_OK;
}

wb_rc wbi_checkpoints_read(struct wbi_ledger *l, struct wbi_arena *arena, const char *path,
                           const struct wbi_checkpoints *own, struct wbi_checkpoints *ret,
                           struct wbi_error *err)
{
    const struct wbi_dir *dir = wbi_store_dir(l->store);
    struct wbi_checkpoints c = {.good = true, .keys = 1};
    struct wbi_ids ids = wbi_ids_system();
    struct trust t = {.state_id = dir->id, .own = own};
    struct wbi_error mine = WBI_ERROR_INIT;
    struct wbi_key key;
    struct wbi_buf text;
    int keys;
    wb_rc rc;

    if (path == NULL && wbi_store_absent(l->store)) {
        *ret = c;
        return WB_OK;
    }
    rc = wbi_keys_lock(dir, false, &keys, err);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&text, FILE_MAX + 65536);
    rc = slurp(dir, path, &text, err);
    c.exists = rc == WB_OK;
    if (rc == WB_ENOTFOUND)
        rc = path == NULL ? WB_OK : wbi_fail(err, WB_EINPUT, "there is no file %.200s", path);
    if (rc == WB_OK && wbi_key_load(dir, &ids, false, &key, &mine) == WB_OK) {
        memcpy(t.key, key.public_key, sizeof(t.key));
        wbi_hex(t.key, sizeof(t.key), c.public_key);
    } else if (rc == WB_OK && c.exists) {
        distrust(&c, "its signatures cannot be checked: %s", mine.text);
    }
    close(keys); /* file and key are of one moment */
    if (rc == WB_OK && c.exists)
        rc = read_lines(arena, wbi_buf_str(&text), &t, &c, err);
    wbi_buf_fini(&text);
    if (rc == WB_OK)
        *ret = c;
    return rc;
}
