/* SPDX-License-Identifier: Apache-2.0
 * artifact/keep.c: recovering, pruning, verifying and counting the store. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/store_int.h"

static wb_rc with_list(struct wbi_artifact_store *s, struct wbi_arena **ret_arena,
                       struct wbi_artifact **ret, size_t *ret_count, struct wbi_error *err)
{
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA * (size_t)4, ret_arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_artifact_list(s, *ret_arena, ret, ret_count, err);
    if (rc != WB_OK)
        wbi_arena_free(*ret_arena);
    return rc;
}

wb_rc wbi_artifact_recover(struct wbi_artifact_store *s, uint64_t *ret_count, struct wbi_error *err)
{
    struct wbi_arena *arena;
    struct wbi_artifact *all;
    size_t count;
    uint64_t done = 0;
    wb_rc rc = with_list(s, &arena, &all, &count, err);

    if (rc != WB_OK)
        return rc;
    wbi_remove_leftovers(s->dir, wbi_wall_ms(&s->clock));
    if (s->own_facts != NULL)
        wbi_fact_dir_tidy(s->own_facts, wbi_wall_ms(&s->clock));
    for (size_t i = 0; i < count && rc == WB_OK; i++) {
        if (all[i].writing || all[i].sha256[0] != '\0')
            continue;
        rc = wbi_artifact_find(s, wbi_str_z(all[i].name), &all[i], err);
        done += rc == WB_OK && !all[i].writing;
        if (rc == WB_ENOTFOUND)
            rc = WB_OK; /* gone meanwhile */
    }
    wbi_arena_free(arena);
    if (rc == WB_OK)
        *ret_count = done;
    return rc;
}

static bool is_there(const struct wbi_artifact_store *s, const struct wbi_artifact *a)
{
    return faccessat(s->dir, a->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

struct expired {
    struct wbi_artifact_store *store;
    struct wbi_arena *scratch;
    uint64_t count;
};

/* Their files are gone, so only the facts tell of them. */
static bool count_expired(void *arg, struct wbi_str key)
{
    struct expired *e = arg;
    struct wbi_artifact a;

    if (wbi_str_ends(key, WBI_LIT(".log")) &&
        wbi_artifact_get_fact(e->store, key, e->scratch, &a, NULL) == WB_OK)
        e->count += a.expired || !is_there(e->store, &a);
    wbi_arena_reset(e->scratch);
    return true;
}

wb_rc wbi_artifact_stat(struct wbi_artifact_store *s, struct wbi_artifact_stats *ret,
                        struct wbi_error *err)
{
    struct wbi_artifact_stats stats = {0};
    struct expired gone = {.store = s};
    struct wbi_artifact *all;
    size_t count;
    wb_rc rc = with_list(s, &gone.scratch, &all, &count, err);

    if (rc != WB_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (all[i].expired || !is_there(s, &all[i]))
            continue;
        stats.count++;
        stats.writing += all[i].writing;
        stats.incomplete += !all[i].complete && !all[i].writing;
    }
    wbi_arena_reset(gone.scratch);
    rc = s->facts.list(s->facts.arg, count_expired, &gone, err);
    wbi_arena_free(gone.scratch);
    stats.expired = gone.count;
    if (rc == WB_OK)
        rc = wbi_store_bytes(s, &stats.bytes, err);
    if (rc == WB_OK)
        *ret = stats;
    return rc;
}

static wb_rc remove_files(struct wbi_artifact_store *s, const struct wbi_artifact *a,
                          struct wbi_artifact_stats *stats, struct wbi_error *err)
{
    struct stat st;

    if (fstatat(s->dir, a->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return WB_OK;
    if (unlinkat(s->dir, a->name, 0) != 0 && errno != ENOENT)
        return wbi_fail_errno(err, errno, "cannot remove an artifact");
    stats->removed++;
    if (st.st_nlink <= 2) {
        if (a->sha256[0] != '\0')
            (void)unlinkat(s->by_hash, a->sha256, 0);
        stats->removed_bytes += (uint64_t)st.st_size;
        s->used -= WBI_MIN(s->used, (uint64_t)st.st_size);
    }
    return WB_OK;
}

wb_rc wbi_artifact_expire(struct wbi_artifact_store *s, struct wbi_artifact *a,
                          struct wbi_artifact_stats *stats, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    if (!is_there(s, a))
        return WB_OK;
    a->expired = true;
    rc = wbi_artifact_put_fact(s, a, err);
    return rc == WB_OK ? remove_files(s, a, stats, err) : rc;
}

void wbi_artifact_set_age(struct wbi_artifact_store *s, int64_t age_ms)
{
    s->policy.age_ms = age_ms;
}

int64_t wbi_artifact_age(const struct wbi_artifact_store *s)
{
    return s->policy.age_ms;
}

/* On a full disk not even a fact can be stored before there is room: then files go first.
 * *ret_full: the fact has to be stored yet. */
static wb_rc expire_to_make_room(struct wbi_artifact_store *s, struct wbi_artifact *a,
                                 struct wbi_artifact_stats *stats, bool *ret_full,
                                 struct wbi_error *err)
{
    struct wbi_error mine = WBI_ERROR_INIT;
    wb_rc rc = wbi_artifact_expire(s, a, stats, &mine);

    if (rc == WB_OK)
        return rc;
    if (mine.kind == WBI_KIND_LOW_DISK_SPACE) {
        *ret_full = true;
        return remove_files(s, a, stats, err);
    }
    if (err != NULL)
        *err = mine;
    return rc;
}

wb_rc wbi_artifact_prune(struct wbi_artifact_store *s,
                         bool (*referenced)(void *, const struct wbi_artifact *), void *arg,
                         struct wbi_artifact_stats *ret, struct wbi_error *err)
{
    int64_t now = wbi_wall_ms(&s->clock);
    struct wbi_artifact_stats stats = {0};
    struct wbi_arena *arena;
    struct wbi_artifact *all;
    size_t count;
    uint64_t bytes = 0;
    bool full = false;
    wb_rc rc = with_list(s, &arena, &all, &count, err);

    if (rc != WB_OK)
        return rc;
    rc = wbi_store_bytes(s, &bytes, err);
    for (size_t i = count; i-- > 0 && rc == WB_OK;) { /* oldest first */
        bool old = now - all[i].sealed_ms > s->policy.age_ms;
        bool over = bytes - WBI_MIN(bytes, stats.removed_bytes) >= s->policy.store_bytes;
        if (all[i].writing || (!old && !over))
            continue;
        if (referenced == NULL || !referenced(arg, &all[i]))
            rc = expire_to_make_room(s, &all[i], &stats, &full, err);
    }
    for (size_t i = 0; full && i < count && rc == WB_OK; i++)
        if (all[i].expired)
            rc = wbi_artifact_put_fact(s, &all[i], err);
    wbi_arena_free(arena);
    if (rc == WB_OK)
        *ret = stats;
    return rc;
}

static const char *what_is_wrong(struct wbi_artifact_store *s, const struct wbi_artifact *a)
{
    struct wbi_artifact now = *a;
    struct stat st;

    if (fstatat(s->dir, a->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return "missing";
    if ((uint64_t)st.st_size != a->bytes)
        return "size";
    if (wbi_artifact_measure(s, &now, NULL) != WB_OK)
        return "unreadable";
    return strcmp(now.sha256, a->sha256) == 0 ? NULL : "hash";
}

struct check {
    struct wbi_artifact_store *store;
    struct wbi_arena *scratch;
    void (*on_bad)(void *, const struct wbi_artifact *, const char *);
    void *arg;
    struct wbi_artifact_stats stats;
};

static bool check_one(void *arg, struct wbi_str key)
{
    struct check *c = arg;
    struct wbi_artifact a;
    const char *wrong;

    if (!wbi_str_ends(key, WBI_LIT(".log")))
        return true;
    if (wbi_artifact_get_fact(c->store, key, c->scratch, &a, NULL) != WB_OK) {
        memset(&a, 0, sizeof(a));
        memcpy(a.name, key.p, WBI_MIN(key.n, sizeof(a.name) - 1));
        wrong = "unreadable";
    } else if (a.expired) {
        c->stats.expired++;
        wrong = NULL;
    } else {
        c->stats.count++;
        c->stats.bytes += a.bytes;
        wrong = what_is_wrong(c->store, &a);
    }
    wbi_arena_reset(c->scratch);
    c->stats.bad += wrong != NULL;
    if (wrong != NULL && c->on_bad != NULL)
        c->on_bad(c->arg, &a, wrong);
    return true;
}

wb_rc wbi_artifact_verify(struct wbi_artifact_store *s,
                          void (*on_bad)(void *, const struct wbi_artifact *, const char *),
                          void *arg, struct wbi_artifact_stats *ret, struct wbi_error *err)
{
    struct check c = {.store = s, .on_bad = on_bad, .arg = arg};
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &c.scratch);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = s->facts.list(s->facts.arg, check_one, &c, err);
    wbi_arena_free(c.scratch);
    if (rc == WB_OK)
        *ret = c.stats;
    return rc;
}
