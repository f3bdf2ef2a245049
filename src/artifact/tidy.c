/* SPDX-License-Identifier: Apache-2.0
 * artifact/tidy.c: keeping the store in order in small steps, by looking at files alone
 * where that is enough: a fact is read only of what is about to go. When all is done that is
 * noted in the store with its size, so that the processes that share it take turns, and a
 * short command need not count what is there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/store_int.h"
#include "base/fd.h"

#define NOTE ".tidied"
#define NOTE_MS (INT64_C(3600) * 1000)    /* how long a note is good */
#define NOTE_ROOM (UINT64_C(8) << 30)     /* with less, what others wrote since is counted */
#define FRESH_MS (INT64_C(600) * 1000)    /* its call may not have told of it yet */
#define FINISH_BYTES (UINT64_C(64) << 20) /* larger ones wait for their first reader */

struct entry {
    struct wbi_str name;
    int64_t time_ms; /* of the last byte */
    uint64_t bytes;
    ino_t inode;
    bool open; /* not finished */
};

struct gather {
    struct wbi_arena *arena;
    struct wbi_buf entries;
};

static bool add_entry(void *arg, const char *name, const struct stat *st)
{
    struct gather *g = arg;
    struct entry e = {.name = wbi_arena_str(g->arena, wbi_str_z(name)),
                      .time_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
                      .bytes = (uint64_t)st->st_size,
                      .inode = st->st_ino,
                      .open = (st->st_mode & S_IWUSR) != 0};

    wbi_buf_add(&g->entries, &e, sizeof(e));
    return e.name.p != NULL && wbi_buf_rc(&g->entries) == WB_OK; /* the rest another time */
}

static int by_inode(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    return (a->inode > b->inode) - (a->inode < b->inode);
}

static int oldest_first(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    if (a->time_ms != b->time_ms)
        return a->time_ms < b->time_ms ? -1 : 1;
    return wbi_str_cmp(a->name, b->name);
}

/* The entries in arena, oldest first, and their bytes, equal contents once. */
static wb_rc look(const struct wbi_artifact_store *s, struct wbi_arena *arena, struct entry **ret,
                  size_t *ret_count, uint64_t *ret_bytes, struct wbi_error *err)
{
    struct gather g = {.arena = arena};
    struct entry *e;
    size_t count;
    wb_rc rc;

    wbi_buf_init_arena(&g.entries, arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_store_each_file(s, add_entry, &g, err);
    if (rc != WB_OK)
        return rc;
    e = (struct entry *)(void *)g.entries.p;
    count = g.entries.n / sizeof(*e);
    *ret_bytes = 0;
    if (count > 1)
        qsort(e, count, sizeof(*e), by_inode);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || e[i].inode != e[i - 1].inode)
            *ret_bytes += e[i].bytes;
    if (count > 1)
        qsort(e, count, sizeof(*e), oldest_first);
    *ret = e;
    *ret_count = count;
    return WB_OK;
}

/* ---- the note ---- */

static bool read_note(const struct wbi_artifact_store *s, uint64_t *ret_bytes)
{
    int fd = openat(s->dir, NOTE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    int64_t at, now = wbi_wall_ms(&s->clock);
    char text[64];
    struct wbi_str line;
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    size_t space;

    if (fd >= 0)
        (void)close(fd);
    if (n <= 1 || text[n - 1] != '\n')
        return false;
    line = wbi_str_make(text, (size_t)n - 1);
    space = wbi_str_index(line, ' ');
    return space < line.n && wbi_parse_i64(wbi_str_head(line, space), &at) &&
           wbi_parse_u64(wbi_str_from(line, space + 1), ret_bytes) && at <= now &&
           now - at < NOTE_MS;
}

/* Whole or not at all; without one the next process looks again. */
static void write_note(const struct wbi_artifact_store *s, uint64_t bytes)
{
    char text[64], temp[32];
    int n = snprintf(text, sizeof(text), "%lld %llu\n", (long long)wbi_wall_ms(&s->clock),
                     (unsigned long long)bytes);
    int fd;

    (void)snprintf(temp, sizeof(temp), ".new-tidied-%d", (int)getpid());
    (void)unlinkat(s->dir, temp, 0);
    fd = openat(s->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (wbi_write_all(fd, text, (size_t)n) != 0 || renameat(s->dir, temp, s->dir, NOTE) != 0)
        (void)unlinkat(s->dir, temp, 0);
    (void)close(fd);
}

bool wbi_artifact_tidy_due(const struct wbi_artifact_store *s)
{
    uint64_t bytes;

    return !read_note(s, &bytes);
}

wb_rc wbi_store_bytes(const struct wbi_artifact_store *s, uint64_t *ret, struct wbi_error *err)
{
    struct wbi_arena *arena;
    struct entry *entries;
    size_t count;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = look(s, arena, &entries, &count, ret, err);
    wbi_arena_free(arena);
    return rc;
}

bool wbi_store_count(struct wbi_artifact_store *s)
{
    if (read_note(s, &s->used) && s->used < s->policy.store_bytes / 2 &&
        s->policy.store_bytes - s->used > NOTE_ROOM)
        return true; /* far from full: what others wrote since does not matter */
    return wbi_store_bytes(s, &s->used, NULL) == WB_OK;
}

/* ---- a step ---- */

struct step {
    struct wbi_artifact_store *store;
    struct wbi_arena *scratch;
    bool (*referenced)(void *arg, const struct wbi_artifact *a);
    void *arg;
    struct wbi_artifact_stats stats;
    struct wbi_error *err;
};

/* Its writer is dead, or the file is left alone. */
static wb_rc finish(struct step *t, const struct entry *e)
{
    struct wbi_artifact found;
    struct wbi_error err = WBI_ERROR_INIT;

    if (e->bytes > FINISH_BYTES)
        return WB_OK;
    if (wbi_artifact_find(t->store, e->name, &found, &err) == WB_OK && !found.writing)
        t->stats.finished++;
    return WB_OK; /* what cannot be read now may be another time */
}

/* Unless somebody names it or it is younger than least_ms: equal contents share a file, so
 * its time is that of the first. */
static wb_rc let_go(struct step *t, const struct entry *e, int64_t least_ms)
{
    struct wbi_artifact a;
    wb_rc rc = wbi_artifact_get_fact(t->store, e->name, t->scratch, &a, NULL);

    wbi_arena_reset(t->scratch);
    if (rc == WB_ENOTFOUND)
        return finish(t, e);
    if (rc != WB_OK || a.writing || wbi_wall_ms(&t->store->clock) - a.sealed_ms <= least_ms ||
        (t->referenced != NULL && t->referenced(t->arg, &a)))
        return WB_OK;
    return wbi_artifact_expire(t->store, &a, &t->stats, t->err);
}

wb_rc wbi_artifact_tidy(struct wbi_artifact_store *s,
                        bool (*referenced)(void *, const struct wbi_artifact *), void *arg,
                        uint64_t most, struct wbi_artifact_stats *ret, bool *ret_done,
                        struct wbi_error *err)
{
    struct step t = {.store = s, .referenced = referenced, .arg = arg, .err = err};
    int64_t now = wbi_wall_ms(&s->clock);
    struct wbi_arena *arena;
    struct entry *e;
    uint64_t bytes, left;
    size_t count, i;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc == WB_OK && wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &t.scratch) != WB_OK) {
        wbi_arena_free(arena);
        rc = WB_ENOMEM;
    }
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = look(s, arena, &e, &count, &bytes, err);
    for (i = 0; rc == WB_OK && i < count && t.stats.removed + t.stats.finished < most; i++) {
        int64_t least_ms = s->policy.age_ms;
        if (bytes - WBI_MIN(bytes, t.stats.removed_bytes) >= s->policy.store_bytes)
            least_ms = WBI_MIN(least_ms, FRESH_MS);
        if (e[i].open)
            rc = finish(&t, &e[i]);
        else if (now - e[i].time_ms > least_ms)
            rc = let_go(&t, &e[i], least_ms);
    }
    if (rc == WB_OK && i == count) {
        wbi_remove_leftovers(s->dir, now);
        left = bytes - WBI_MIN(bytes, t.stats.removed_bytes);
        write_note(s, left);
        s->used = left;
        s->counted = true;
    }
    *ret_done = rc == WB_OK && i == count;
    *ret = t.stats;
    wbi_arena_free(t.scratch);
    wbi_arena_free(arena);
    return rc;
}
