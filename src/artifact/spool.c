/* SPDX-License-Identifier: Apache-2.0
 * artifact/spool.c: appending, counting, finishing.
 * A file gets its name only once it is locked; the lock lives as long as the
 * writer, so a named file without lock and fact is one whose writer died. */
#include "artifact/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "artifact/store_int.h"
#include "base/alloc.h"
#include "loop/loop.h"

#define CHECK_EVERY (UINT64_C(16) << 20) /* bytes between looks at the disk */
#define NAME_TRIES 1000

struct stream {
    char role[WBI_ARTIFACT_ROLE];
    char name[WBI_ARTIFACT_NAME];
    int fd;
    struct wbi_spool_counts counts;
    char last;
};

struct wbi_spool {
    struct wbi_artifact_store *store;
    char base[WBI_ARTIFACT_NAME - 64]; /* the call id as a file name */
    size_t base_n;                     /* without a number */
    bool base_fixed;                   /* a file has it */
    char call_id[WBI_LIMIT_ID + 1];
    int64_t created_ms;
    uint64_t room; /* until the next look at the disk */
    struct stream streams[WBI_SPOOL_STREAMS];
};

static void make_base(struct wbi_spool *s, struct wbi_str id)
{
    size_t n = WBI_MIN(id.n, sizeof(s->base) - 8); /* room for the number */

    for (size_t i = 0; i < n; i++) {
        char c = id.p[i];
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        s->base[i] = plain ? c : '_';
    }
    if (n == 0)
        memcpy(s->base, "call", 5);
    s->base_n = strlen(s->base);
}

wb_rc wbi_spool_open(struct wbi_artifact_store *store, struct wbi_str call_id,
                     const char *const roles[WBI_SPOOL_STREAMS], struct wbi_spool **ret,
                     struct wbi_error *err)
{
    struct wbi_spool *s;
    wb_rc rc = wbi_artifact_room(store, err);

    if (rc != WB_OK)
        return rc;
    s = wbi_zalloc(sizeof(*s));
    if (s == NULL)
        return wbi_fail_nomem(err);
    s->store = store;
    s->created_ms = wbi_wall_ms(&store->clock);
    make_base(s, call_id);
    memcpy(s->call_id, call_id.p, WBI_MIN(call_id.n, WBI_LIMIT_ID));
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++) {
        struct wbi_str role = wbi_str_z(roles[i] != NULL ? roles[i] : "");
        memcpy(s->streams[i].role, role.p, WBI_MIN(role.n, sizeof(s->streams[i].role) - 1));
        s->streams[i].fd = -1;
        s->streams[i].last = '\n';
    }
    *ret = s;
    return WB_OK;
}

static bool is_free(const struct wbi_spool *s, const char *base)
{
    char name[WBI_ARTIFACT_NAME];

    for (int i = 0; i < WBI_SPOOL_STREAMS; i++) {
        const char *role = s->streams[i].role;

        (void)snprintf(name, sizeof(name), "%s-%s.log", base, role);
        if (role[0] != '\0' && faccessat(s->store->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return false;
    }
    return true;
}

/* A call id used before gets a number, the same for all its files. */
static void fix_base(struct wbi_spool *s)
{
    char base[sizeof(s->base)];

    for (int i = 2; !is_free(s, s->base) && i < NAME_TRIES; i++) {
        (void)snprintf(base, sizeof(base), "%.*s.%d", (int)s->base_n, s->base, i);
        if (is_free(s, base))
            memcpy(s->base, base, sizeof(base));
    }
    s->base_fixed = true;
}

/* A locked file named base-role.log; -1 and errno on failure. */
static int create_named(struct wbi_spool *s, const char *role, char name[WBI_ARTIFACT_NAME])
{
    char temp[64];
    int fd, failed = 0, dir = s->store->dir;

    if (!s->base_fixed)
        fix_base(s);
    (void)snprintf(temp, sizeof(temp), ".wr-%d-%p", (int)getpid(), (const void *)name);
    (void)snprintf(name, WBI_ARTIFACT_NAME, "%s-%s.log", s->base, role);
    (void)unlinkat(dir, temp, 0);
    fd = openat(dir, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, 0600) != 0 /* an odd umask */ || flock(fd, LOCK_EX) != 0 ||
        linkat(dir, temp, dir, name, 0) != 0)
        failed = errno;
    (void)unlinkat(dir, temp, 0);
    if (failed == 0)
        return fd;
    name[0] = '\0';
    if (fd >= 0)
        (void)close(fd);
    errno = failed;
    return -1;
}

static const char *reason_of(int errno_value)
{
    return errno_value == ENOSPC || errno_value == EDQUOT ? "no_space" : "io_error";
}

static bool ensure_file(struct wbi_spool *s, struct stream *t)
{
    if (t->fd >= 0)
        return true;
    if (t->counts.reason != NULL || t->role[0] == '\0')
        return false;
    t->fd = create_named(s, t->role, t->name);
    if (t->fd < 0)
        t->counts.reason = reason_of(errno);
    return t->fd >= 0;
}

/* How many of n bytes may be kept; sets the reason when not all. */
static size_t allowed(struct wbi_spool *s, struct stream *t, size_t n)
{
    const struct wbi_artifact_policy *p = &s->store->policy;
    uint64_t call = s->streams[0].counts.kept + s->streams[1].counts.kept;
    uint64_t left = p->stream_bytes - WBI_MIN(t->counts.kept, p->stream_bytes);
    const char *reason = "stream_quota";

    if (p->call_bytes - WBI_MIN(call, p->call_bytes) < left) {
        left = p->call_bytes - WBI_MIN(call, p->call_bytes);
        reason = "call_quota";
    }
    if (s->room < n && left > 0) {
        const char *why = NULL;
        uint64_t room = wbi_store_room(s->store, &why);
        if (room < left && room < n) {
            left = room;
            reason = why;
        }
        s->room = WBI_MIN(room / 4, CHECK_EVERY); /* others write, too */
    }
    if (left >= n)
        return n;
    t->counts.reason = reason;
    return (size_t)left;
}

static void write_kept(struct wbi_spool *s, struct stream *t, struct wbi_str bytes)
{
    size_t done = 0;

    while (done < bytes.n) {
        ssize_t n = write(t->fd, bytes.p + done, bytes.n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            t->counts.reason = reason_of(n < 0 ? errno : EIO);
            break;
        }
        done += (size_t)n;
    }
    t->counts.kept += done;
    s->store->used += done;
    s->room -= WBI_MIN(s->room, (uint64_t)done);
}

void wbi_spool_add(struct wbi_spool *s, int stream, struct wbi_str bytes)
{
    struct stream *t = &s->streams[stream];
    uint64_t kept = t->counts.kept;
    size_t n;

    if (bytes.n == 0)
        return;
    t->counts.bytes += bytes.n;
    t->counts.lines += wbi_count_newlines(bytes.p, bytes.n);
    t->last = bytes.p[bytes.n - 1];
    if (t->counts.reason == NULL && ensure_file(s, t)) {
        n = allowed(s, t, bytes.n);
        if (n > 0)
            write_kept(s, t, wbi_str_head(bytes, n));
    }
    t->counts.dropped += bytes.n - (t->counts.kept - kept);
}

void wbi_spool_drop(struct wbi_spool *s, int stream, struct wbi_str bytes, const char *reason)
{
    struct stream *t = &s->streams[stream];

    if (t->counts.reason == NULL)
        t->counts.reason = reason;
    wbi_spool_add(s, stream, bytes);
}

struct wbi_spool_counts wbi_spool_counts(const struct wbi_spool *s, int stream)
{
    struct wbi_spool_counts c = s->streams[stream].counts;

    c.lines += s->streams[stream].last != '\n'; /* an unfinished last line is one */
    return c;
}

const char *wbi_spool_name(struct wbi_spool *s, int stream)
{
    return ensure_file(s, &s->streams[stream]) ? s->streams[stream].name : NULL;
}

void wbi_spool_describe(const struct wbi_spool *s, int stream, struct wbi_artifact *ret)
{
    const struct stream *t = &s->streams[stream];

    memset(ret, 0, sizeof(*ret));
    memcpy(ret->name, t->name, sizeof(ret->name));
    memcpy(ret->call_id, s->call_id, sizeof(ret->call_id));
    memcpy(ret->role, t->role, sizeof(ret->role));
    ret->bytes = t->counts.kept;
    ret->dropped = t->counts.dropped;
    ret->lines = wbi_spool_counts(s, stream).lines;
    ret->writing = true;
    ret->complete = t->counts.dropped == 0;
    if (!ret->complete && t->counts.reason != NULL)
        memcpy(ret->reason, t->counts.reason, strlen(t->counts.reason) + 1);
    ret->created_ms = s->created_ms;
}

static void remove_file(struct wbi_spool *s, struct stream *t)
{
    if (t->fd < 0 || t->name[0] == '\0')
        return;
    (void)unlinkat(s->store->dir, t->name, 0);
    s->store->used -= WBI_MIN(s->store->used, t->counts.kept);
    t->name[0] = '\0';
}

static void release(struct wbi_spool *s)
{
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++)
        if (s->streams[i].fd >= 0)
            (void)close(s->streams[i].fd); /* and with it the lock */
    wbi_free(s);
}

void wbi_spool_discard(struct wbi_spool *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++)
        remove_file(s, &s->streams[i]);
    release(s);
}

/* Finishing, in three parts so that the middle one can go to another thread. */
struct finishing {
    struct wbi_spool *spool;
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    wb_rc rc;
    struct wbi_error err;
    void (*on_done)(void *, wb_rc, const struct wbi_artifact *, const struct wbi_error *);
    void *arg;
};

static void select_streams(struct finishing *f, unsigned int mask)
{
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++) {
        struct stream *t = &f->spool->streams[i];
        if ((mask >> i & 1) != 0 && t->fd >= 0)
            wbi_spool_describe(f->spool, i, &f->got[i]);
        else
            remove_file(f->spool, t);
    }
}

static void seal_streams(void *arg)
{
    struct finishing *f = arg;

    for (int i = 0; i < WBI_SPOOL_STREAMS && f->rc == WB_OK; i++)
        if (f->got[i].name[0] != '\0')
            f->rc = wbi_artifact_seal(f->spool->store, &f->got[i], &f->err);
}

static void record_streams(struct finishing *f)
{
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++) {
        struct wbi_artifact *a = &f->got[i];
        if (a->name[0] == '\0')
            continue;
        a->writing = false;
        a->sealed_ms = wbi_wall_ms(&f->spool->store->clock);
        if (f->rc == WB_OK)
            f->rc = wbi_artifact_finish(f->spool->store, a, &f->err);
        if (f->rc != WB_OK) {
            a->complete = false;
            memcpy(a->reason, "io_error", sizeof("io_error"));
            f->err.kind = WBI_KIND_OUTPUT_PERSISTENCE_FAILED;
        }
    }
    release(f->spool);
}

wb_rc wbi_spool_finish(struct wbi_spool *s, unsigned int mask,
                       struct wbi_artifact ret[WBI_SPOOL_STREAMS], struct wbi_error *err)
{
    struct finishing f = {.spool = s};

    select_streams(&f, mask);
    seal_streams(&f);
    record_streams(&f);
    memcpy(ret, f.got, sizeof(f.got));
    if (err != NULL && f.rc != WB_OK)
        *err = f.err;
    return f.rc;
}

static void finish_done(void *arg)
{
    struct finishing *f = arg;

    record_streams(f);
    f->on_done(f->arg, f->rc, f->got, &f->err);
    wbi_free(f);
}

wb_rc wbi_spool_finish_later(struct wbi_spool *s, struct wbi_loop *loop, unsigned int mask,
                             void (*on_done)(void *, wb_rc, const struct wbi_artifact *,
                                             const struct wbi_error *),
                             void *arg)
{
    struct finishing *f = wbi_zalloc(sizeof(*f));
    wb_rc rc;

    if (f == NULL)
        return WB_ENOMEM;
    f->spool = s;
    f->on_done = on_done;
    f->arg = arg;
    select_streams(f, mask);
    rc = wbi_loop_work(loop, seal_streams, finish_done, f, NULL);
    if (rc != WB_OK)
        wbi_free(f);
    return rc;
}
