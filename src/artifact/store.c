/* SPDX-License-Identifier: Apache-2.0
 * artifact/store.c: the directory, and finding things in it. */
#include "artifact/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "artifact/store_int.h"
#include "base/alloc.h"

#define LIST_MAX 1000000u
#define LEFTOVER_MS (INT64_C(3600) * 1000) /* no write takes that long to get its name */

wb_rc wbi_open_dir(int at, const char *name, int *ret, struct wbi_error *err)
{
    int fd;

    if (mkdirat(at, name, 0700) == 0
            ? fchmodat(at, name, 0700, 0) != 0 /* an odd umask */
            : errno != EEXIST && errno != EROFS /* what is there can be read */)
        return wbi_fail_errno(err, errno, "cannot make a state directory");
    fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot open a state directory");
    *ret = fd;
    return WB_OK;
}

/* Sixteen bytes at a time: each lane counts its line feeds and is added up before
 * it could wrap. */
typedef uint8_t lanes __attribute__((vector_size(16)));

static uint64_t count_lanes(const uint8_t *at, size_t blocks)
{
    lanes counts = {0}, feeds = {0};
    uint64_t total = 0;

    feeds += (uint8_t)'\n';
    for (size_t i = 0; i < blocks; i++) {
        lanes bytes;
        memcpy(&bytes, at + i * sizeof(bytes), sizeof(bytes));
        counts -= (lanes)(bytes == feeds);
    }
    for (size_t i = 0; i < sizeof(counts); i++)
        total += counts[i];
    return total;
}

uint64_t wbi_count_newlines(const void *p, size_t n)
{
    const uint8_t *at = p;
    uint64_t count = 0;

    while (n >= sizeof(lanes)) {
        size_t blocks = WBI_MIN(n / sizeof(lanes), (size_t)255);
        count += count_lanes(at, blocks);
        at += blocks * sizeof(lanes);
        n -= blocks * sizeof(lanes);
    }
    while (n-- > 0)
        count += *at++ == '\n';
    return count;
}

static bool is_leftover(int dir, const char *name, int64_t now_ms)
{
    struct wbi_str s = wbi_str_z(name);
    struct stat st;

    return (wbi_str_starts(s, WBI_LIT(".wr-")) || wbi_str_starts(s, WBI_LIT(".eq-")) ||
            wbi_str_starts(s, WBI_LIT(".new-"))) &&
           fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           now_ms - (int64_t)st.st_mtim.tv_sec * 1000 > LEFTOVER_MS;
}

void wbi_remove_leftovers(int dir, int64_t now_ms)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;

    while (entries != NULL && (e = readdir(entries)) != NULL)
        if (is_leftover(dir, e->d_name, now_ms))
            (void)unlinkat(dir, e->d_name, 0);
    if (entries != NULL)
        (void)closedir(entries);
    else if (fd >= 0)
        (void)close(fd);
}

static void fill_policy(struct wbi_artifact_policy *p)
{
    if (p->stream_bytes == 0)
        p->stream_bytes = WBI_ARTIFACT_STREAM_BYTES;
    if (p->call_bytes == 0)
        p->call_bytes = WBI_ARTIFACT_CALL_BYTES;
    if (p->store_bytes == 0)
        p->store_bytes = WBI_ARTIFACT_STORE_BYTES;
    if (p->age_ms == 0)
        p->age_ms = WBI_ARTIFACT_AGE_MS;
}

static wb_rc open_own_facts(struct wbi_artifact_store *s, struct wbi_error *err)
{
    char name[WBI_LIMIT_PATH + 1];
    struct wbi_buf path;
    wb_rc rc;

    wbi_buf_init(&path, sizeof(name));
    wbi_buf_addf(&path, "%s/.facts", s->path);
    rc = wbi_buf_rc(&path);
    if (rc == WB_OK)
        rc = wbi_fact_dir_open(path.p, &s->own_facts, err);
    wbi_buf_fini(&path);
    if (rc == WB_OK)
        s->facts = wbi_fact_dir_facts(s->own_facts);
    return rc;
}

wb_rc wbi_artifact_store_open(const char *path, const struct wbi_artifact_policy *policy,
                              const struct wbi_facts *facts, struct wbi_clock clock,
                              struct wbi_artifact_store **ret, struct wbi_error *err)
{
    struct wbi_artifact_store *s = wbi_zalloc(sizeof(*s));
    wb_rc rc;

    if (s == NULL)
        return wbi_fail_nomem(err);
    s->dir = s->by_hash = -1;
    s->clock = clock;
    if (policy != NULL)
        s->policy = *policy;
    fill_policy(&s->policy);
    s->path = wbi_strdup(wbi_str_z(path));
    if (s->path == NULL || path[0] != '/') {
        rc = s->path == NULL ? wbi_fail_nomem(err)
                             : wbi_fail(err, WB_EMISUSE, "the store's path is not absolute");
        goto failed;
    }
    rc = wbi_open_dir(AT_FDCWD, s->path, &s->dir, err);
    if (rc == WB_OK)
        rc = wbi_open_dir(s->dir, "by-hash", &s->by_hash, err);
    if (rc == WB_OK && facts == NULL)
        rc = open_own_facts(s, err);
    else if (rc == WB_OK)
        s->facts = *facts;
    if (rc != WB_OK)
        goto failed;
    *ret = s;
    return WB_OK;
failed:
    wbi_artifact_store_close(s);
    return rc;
}

void wbi_artifact_store_close(struct wbi_artifact_store *s)
{
    if (s == NULL)
        return;
    if (s->dir >= 0)
        (void)close(s->dir);
    if (s->by_hash >= 0)
        (void)close(s->by_hash);
    wbi_fact_dir_close(s->own_facts);
    wbi_free(s->path);
    wbi_free(s);
}

struct wbi_str wbi_artifact_path(const struct wbi_artifact_store *s, struct wbi_arena *arena,
                                 const char *name)
{
    return wbi_arena_fmt(arena, "%s/%s", s->path, name);
}

static bool is_artifact_name(const char *name)
{
    struct wbi_str s = wbi_str_z(name);

    return wbi_str_ends(s, WBI_LIT(".log")) && wbi_fact_key_ok(s) && s.n < WBI_ARTIFACT_NAME;
}

wb_rc wbi_store_each_file(const struct wbi_artifact_store *s,
                          bool (*fn)(void *, const char *, const struct stat *), void *arg,
                          struct wbi_error *err)
{
    int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;
    struct stat st;

    if (dir == NULL) {
        int failed = errno;
        if (fd >= 0)
            (void)close(fd);
        return wbi_fail_errno(err, failed, "cannot list the artifacts");
    }
    while ((e = readdir(dir)) != NULL)
        if (is_artifact_name(e->d_name) &&
            fstatat(s->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            !fn(arg, e->d_name, &st))
            break;
    (void)closedir(dir);
    return WB_OK;
}

/* Bytes that are free on the disk, and those that stay so; false: unknown. */
static bool disk_of(const struct wbi_artifact_store *s, uint64_t *ret_free, uint64_t *ret_floor)
{
    struct statvfs fs;

    if (fstatvfs(s->dir, &fs) != 0)
        return false;
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    *ret_floor = s->policy.free_bytes;
    if (*ret_floor == 0)
        *ret_floor = WBI_MIN(WBI_ARTIFACT_FREE_BYTES, (uint64_t)fs.f_blocks * fs.f_frsize / 20);
    return true;
}

uint64_t wbi_store_room(struct wbi_artifact_store *s, const char **ret_reason)
{
    uint64_t left = UINT64_MAX, has, floor;

    if (!s->counted)
        s->counted = wbi_store_count(s);
    if (disk_of(s, &has, &floor)) {
        left = has > floor ? has - floor : 0;
        *ret_reason = "low_disk_space";
        if (left == 0)
            return 0;
    }
    if (s->used >= s->policy.store_bytes || s->policy.store_bytes - s->used < left) {
        *ret_reason = "store_quota";
        left = s->policy.store_bytes - WBI_MIN(s->used, s->policy.store_bytes);
    }
    return left;
}

wb_rc wbi_artifact_room(struct wbi_artifact_store *s, struct wbi_error *err)
{
    const char *reason = NULL;
    uint64_t has = 0, floor = 0, room = wbi_store_room(s, &reason);

    if (room == 0 && strcmp(reason, "store_quota") == 0) {
        s->counted = false; /* others may have pruned it */
        room = wbi_store_room(s, &reason);
    }
    if (room > 0)
        return WB_OK;
    if (strcmp(reason, "store_quota") == 0)
        return wbi_fail_kind(
            err, WB_ESTATE, WBI_KIND_LOW_DISK_SPACE,
            "no room for output: artifacts take all of the %llu bytes they may "
            "(settings.limits.artifactStoreBytes); allow more, or let older ones go: `waybill "
            "artifact prune --older-than-days N`",
            (unsigned long long)s->policy.store_bytes);
    (void)disk_of(s, &has, &floor); /* was read a moment ago */
    return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_LOW_DISK_SPACE,
                         "no room for output: the disk of the state directory is nearly full, %llu "
                         "KiB must stay free",
                         (unsigned long long)(floor / 1024));
}

/* "<call>-<role>.log", or "<call>.2-<role>.log" for an id that was used before. */
static void parse_name(struct wbi_artifact *a)
{
    struct wbi_str s = wbi_str_z(a->name);
    size_t end = s.n - 4, dash = end, call;

    while (dash > 0 && s.p[dash - 1] != '-')
        dash--;
    call = wbi_str_index(wbi_str_head(s, dash > 0 ? dash - 1 : 0), '.');
    if (dash < 2 || end - dash >= sizeof(a->role) || call >= sizeof(a->call_id))
        return;
    memcpy(a->role, s.p + dash, end - dash);
    memcpy(a->call_id, s.p, call);
}

#define COUNT_BYTES (UINT64_C(16) << 20) /* larger unfinished files are listed without lines */
#define COUNT_CHUNK 65536u

static void count_lines(const struct wbi_artifact_store *s, struct wbi_artifact *a)
{
    int fd = openat(s->dir, a->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char *buffer = wbi_alloc(COUNT_CHUNK), last = '\n';
    uint64_t lines = 0, at = 0;
    ssize_t n = -1;

    while (fd >= 0 && buffer != NULL && at <= COUNT_BYTES &&
           (n = pread(fd, buffer, COUNT_CHUNK, (off_t)at)) > 0) {
        lines += wbi_count_newlines(buffer, (size_t)n);
        last = buffer[n - 1];
        at += (uint64_t)n;
    }
    a->uncounted = n != 0;
    if (n == 0) {
        a->lines = lines + (last != '\n');
        a->bytes = at; /* it may have grown: both of one moment */
    }
    if (fd >= 0)
        (void)close(fd);
    wbi_free(buffer);
}

static void describe_unfinished(const char *name, const struct stat *st, bool writing,
                                struct wbi_artifact *a)
{
    memset(a, 0, sizeof(*a));
    memcpy(a->name, name, strlen(name) + 1);
    parse_name(a);
    a->bytes = (uint64_t)st->st_size;
    a->created_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
    a->sealed_ms = a->created_ms; /* of the last byte */
    a->writing = writing;
    if (!writing)
        memcpy(a->reason, "interrupted", sizeof("interrupted"));
}

/* A file that had no fact: somebody writes it, or died doing so. A writer lets go of the lock
 * only when the fact is stored, so whoever gets it looks for the fact once more. *ret_fd is
 * the lock if the writer is dead, else -1. WB_ENOTFOUND: it is gone. */
static wb_rc look_at_unfinished(struct wbi_artifact_store *s, const char *name,
                                struct wbi_arena *scratch, struct wbi_artifact *ret, int *ret_fd,
                                struct wbi_error *err)
{
    struct stat st, named;
    int fd = openat(s->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    wb_rc rc = WB_ENOTFOUND;

    *ret_fd = -1;
    if (fd < 0)
        return errno == ENOENT || errno == ELOOP
                   ? rc
                   : wbi_fail_errno(err, errno, "cannot open the artifact");
    if (!locked)
        rc = wbi_artifact_get_fact(s, wbi_str_z(name), scratch, ret, err);
    if (rc == WB_ENOTFOUND && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        fstatat(s->dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == st.st_ino) {
        describe_unfinished(name, &st, locked, ret);
        *ret_fd = locked ? -1 : fd;
        rc = WB_OK;
    }
    if (*ret_fd < 0)
        (void)close(fd);
    return rc;
}

struct listing {
    struct wbi_artifact_store *store;
    struct wbi_arena *scratch;
    struct wbi_buf items;
    wb_rc rc;
    struct wbi_error *err;
};

static bool list_file(void *arg, const char *name, const struct stat *st)
{
    struct listing *l = arg;
    struct wbi_artifact a;
    int fd = -1;

    (void)st;
    l->rc = wbi_artifact_get_fact(l->store, wbi_str_z(name), l->scratch, &a, l->err);
    if (l->rc == WB_ENOTFOUND)
        l->rc = look_at_unfinished(l->store, name, l->scratch, &a, &fd, l->err);
    if (fd >= 0)
        (void)close(fd);
    wbi_arena_reset(l->scratch);
    if (l->rc == WB_ENOTFOUND) { /* gone since the directory was read */
        l->rc = WB_OK;
        return true;
    }
    if (l->rc != WB_OK)
        return false;
    if (a.sha256[0] == '\0')
        count_lines(l->store, &a);
    wbi_buf_add(&l->items, &a, sizeof(a));
    l->rc = wbi_buf_rc(&l->items);
    return l->rc == WB_OK;
}

static int newest_first(const void *x, const void *y)
{
    const struct wbi_artifact *a = x, *b = y;

    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? 1 : -1;
    return strcmp(a->name, b->name);
}

wb_rc wbi_artifact_list(struct wbi_artifact_store *s, struct wbi_arena *arena,
                        struct wbi_artifact **ret, size_t *ret_count, struct wbi_error *err)
{
    struct listing l = {.store = s, .err = err};
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &l.scratch);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    wbi_buf_init_arena(&l.items, arena, LIST_MAX * sizeof(struct wbi_artifact));
    rc = wbi_store_each_file(s, list_file, &l, err);
    wbi_arena_free(l.scratch);
    if (rc == WB_OK && l.rc != WB_OK)
        rc = wbi_fail(err, l.rc, "cannot list the artifacts");
    if (rc != WB_OK)
        return rc;
    *ret = (struct wbi_artifact *)(void *)l.items.p;
    *ret_count = l.items.n / sizeof(struct wbi_artifact);
    if (*ret_count > 1)
        qsort(*ret, *ret_count, sizeof(**ret), newest_first);
    return WB_OK;
}

struct search {
    struct wbi_artifact_store *store;
    struct wbi_arena *scratch;
    struct wbi_str digits;
    struct wbi_artifact found;
    bool any, several;
};

static bool by_hash(void *arg, struct wbi_str key)
{
    struct search *f = arg;
    struct wbi_artifact a;

    if (!wbi_str_ends(key, WBI_LIT(".log")))
        return true;
    if (wbi_artifact_get_fact(f->store, key, f->scratch, &a, NULL) == WB_OK &&
        wbi_str_ieq(wbi_str_head(wbi_str_z(a.sha256), f->digits.n), f->digits)) {
        if (f->any && strcmp(a.sha256, f->found.sha256) != 0)
            f->several = true;
        if (!f->any || (f->found.expired && !a.expired))
            f->found = a;
        f->any = true;
    }
    wbi_arena_reset(f->scratch);
    return !f->several;
}

static bool is_hash(struct wbi_str ref)
{
    if (ref.n < 8 || ref.n > 64)
        return false;
    for (size_t i = 0; i < ref.n; i++)
        if (strchr("0123456789abcdefABCDEF", ref.p[i]) == NULL || ref.p[i] == '\0')
            return false;
    return true;
}

static wb_rc find_name(struct wbi_artifact_store *s, struct wbi_str name, struct wbi_arena *scratch,
                       struct wbi_artifact *ret, struct wbi_error *err)
{
    char file[WBI_ARTIFACT_NAME];
    int fd;
    wb_rc rc = wbi_artifact_get_fact(s, name, scratch, ret, err);

    if (rc != WB_ENOTFOUND)
        return rc;
    memcpy(file, name.p, name.n);
    file[name.n] = '\0';
    if (!is_artifact_name(file))
        return WB_ENOTFOUND;
    rc = look_at_unfinished(s, file, scratch, ret, &fd, err);
    if (fd < 0)
        return rc;
    rc = wbi_artifact_seal(s, ret, err);
    if (rc == WB_OK)
        rc = wbi_artifact_finish(s, ret, err);
    (void)close(fd);
    return ret->sha256[0] != '\0' ? WB_OK : rc; /* what cannot be kept for good is read as it is */
}

wb_rc wbi_artifact_find(struct wbi_artifact_store *s, struct wbi_str ref, struct wbi_artifact *ret,
                        struct wbi_error *err)
{
    struct search f = {.store = s, .digits = ref};
    struct wbi_str shown = wbi_str_head(ref, 200), name = ref;
    size_t own = strlen(s->path);
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &f.scratch);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    if (wbi_str_starts(ref, wbi_str_z(s->path)) && ref.n > own + 1 && ref.p[own] == '/')
        name = wbi_str_from(ref, own + 1);
    rc = WB_ENOTFOUND;
    if (is_hash(ref)) {
        rc = s->facts.list(s->facts.arg, by_hash, &f, err);
        if (rc == WB_OK && f.several)
            rc = wbi_fail(err, WB_EINPUT, "several artifacts begin with %.*s: give more digits",
                          WBI_FMT(shown));
        else if (rc == WB_OK)
            rc = f.any ? WB_OK : WB_ENOTFOUND;
    } else if (wbi_fact_key_ok(name) && name.n < WBI_ARTIFACT_NAME) {
        rc = find_name(s, name, f.scratch, &f.found, err);
    }
    wbi_arena_free(f.scratch);
    if (rc == WB_ENOTFOUND)
        return wbi_fail_kind(
            err, rc, WBI_KIND_ARTIFACT_NOT_FOUND,
            "no artifact %.*s; name its path, at least 8 hex digits of its SHA-256 or a task",
            WBI_FMT(shown));
    if (rc == WB_OK && f.found.expired)
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_ARTIFACT_EXPIRED,
                             "the artifact %.*s is no longer kept", WBI_FMT(shown));
    if (rc == WB_OK)
        *ret = f.found;
    return rc;
}

wb_rc wbi_artifact_open(const struct wbi_artifact_store *s, const struct wbi_artifact *a,
                        int *ret_fd, struct wbi_error *err)
{
    int fd = openat(s->dir, a->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_ARTIFACT_EXPIRED,
                             "the artifact %s is no longer kept", a->name);
    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot open the artifact");
    *ret_fd = fd;
    return WB_OK;
}

int wbi_artifact_dir(const struct wbi_artifact_store *s)
{
    return s->dir;
}

bool wbi_artifact_left(const char *path, uint64_t *ret_bytes, bool *ret_sealed)
{
    struct stat st;

    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return false;
    *ret_bytes = (uint64_t)st.st_size;
    *ret_sealed = (st.st_mode & S_IWUSR) == 0;
    return true;
}

void wbi_artifact_record(struct wbi_jw *w, struct wbi_str path, const struct wbi_artifact *a)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "path", path);
    wbi_jw_kstrz(w, "role", a->role);
    wbi_jw_kint(w, "bytes", (int64_t)a->bytes);
    wbi_jw_kint(w, "lines", (int64_t)a->lines);
    if (a->sha256[0] != '\0')
        wbi_jw_kstrz(w, "sha256", a->sha256);
    wbi_jw_kbool(w, "complete", a->complete);
    if (a->reason[0] != '\0')
        wbi_jw_kstrz(w, "reason", a->reason);
    wbi_jw_obj_end(w);
}
