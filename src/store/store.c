/* SPDX-License-Identifier: Apache-2.0
 * store/store.c: opening, closing, and the way to the writer. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/store_int.h"

static const char read_only_text[] =
    "the state directory is on a read-only file system; name another with --state";

/* An empty ledger.db of ours, so that SQLite need not choose its mode. */
static wb_rc make_file(struct wbi_store *s, struct wbi_error *err)
{
    int fd;

    do
        fd = openat(s->dir.fd, "ledger.db", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && errno == EEXIST)
        return WB_OK; /* made while we waited for the lock */
    if (fd < 0 || fchmod(fd, 0600) != 0) {
        wb_rc rc = wbi_fail_errno(err, errno, "state directory: cannot make ledger.db");
        if (err != NULL)
            err->kind = errno == ENOSPC ? WBI_KIND_LOW_DISK_SPACE : WBI_KIND_STATE_UNAVAILABLE;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    close(fd);
    return WB_OK;
}

static wb_rc make_database(struct wbi_store *s, struct wbi_error *err)
{
    struct wbi_witness w = {.seq = 0};
    bool witnessed = wbi_dir_witness_read(&s->dir, &w) == WB_OK;
    bool exists = false;
    wb_rc rc = wbi_commit_lock(&s->lock, err);

    if (rc != WB_OK)
        return rc;
    rc = wbi_dir_check_file(s->dir.fd, "ledger.db", &exists, err);
    if (rc == WB_OK && !exists && witnessed)
        rc = wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                           "state directory refused: its ledger.db is gone; restore it, or move "
                           "the directory away and run again");
    if (rc == WB_OK)
        rc = make_file(s, err);
    if (rc == WB_OK)
        rc = wbi_writer_open_db(s, err);
    if (rc == WB_OK && !witnessed && wbi_db_tail(&s->db, &w.seq, w.hash, err) == WB_OK)
        (void)wbi_dir_witness_write(&s->dir, &w); /* without it a loss is found later */
    wbi_commit_unlock(&s->lock);
    return rc;
}

/* The newest row that the user's folder remembers must still be there. */
static wb_rc check_witness(struct wbi_store *s, struct wbi_error *err)
{
    struct wbi_witness w, anchor;
    sqlite3_stmt *st;
    bool same;
    wb_rc rc;

    if (wbi_dir_witness_read(&s->dir, &w) != WB_OK || w.seq == 0)
        return WB_OK;
    rc = wbi_store_anchor(s, &anchor, err);
    if (rc != WB_OK || w.seq <= anchor.seq)
        return rc;
    st = wbi_db_statement(&s->reader, WBI_SQL_ROW_HASH, err);
    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    (void)sqlite3_bind_int64(st, 1, w.seq);
    same = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_bytes(st, 0) == WBI_SHA256_SIZE &&
           memcmp(sqlite3_column_blob(st, 0), w.hash, WBI_SHA256_SIZE) == 0;
    (void)sqlite3_reset(st);
    if (!same)
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                             "state directory refused: row %lld of its ledger is not the one seen "
                             "before (an older copy, or cut or rewritten); restore it, or move the "
                             "directory away and run again",
                             (long long)w.seq);
    return WB_OK;
}

static wb_rc open_database(struct wbi_store *s, struct wbi_error *err)
{
    bool exists = false;
    wb_rc rc = wbi_dir_check_file(s->dir.fd, "ledger.db", &exists, err);

    if (rc != WB_OK)
        return rc;
    if (s->dir.read_only)
        return exists ? WB_OK
                      : wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                                      "the state directory is read-only and has no ledger; name "
                                      "another with --state");
    rc = exists ? wbi_commit_lock(&s->lock, err) : make_database(s, err);
    if (exists && rc == WB_OK) {
        rc = wbi_writer_open_db(s, err);
        wbi_commit_unlock(&s->lock);
    }
    return rc;
}

static wb_rc open_all(struct wbi_store *s, const struct wbi_store_options *o, struct wbi_error *err)
{
    wb_rc rc;

    if (o->existing && wbi_dir_absent(o->dir)) {
        s->dir.read_only = true;
        return WB_OK;
    }
    rc = wbi_dir_open(o->dir, o->user_dir, &s->ids, &s->dir, err);
    if (rc == WB_OK && !s->dir.read_only)
        rc = wbi_commit_lock_open(&s->dir, &s->lock, err);
    if (rc == WB_OK)
        rc = open_database(s, err);
    if (rc == WB_OK && !o->examine)
        rc = check_witness(s, err);
    if (rc == WB_OK && !s->dir.read_only)
        wbi_owner_sweep(s->dir.run_fd);
    return rc;
}

wb_rc wbi_store_open(const struct wbi_store_options *options, struct wbi_store **ret,
                     struct wbi_error *err)
{
    struct wbi_store *s = wbi_zalloc(sizeof(*s));
    pthread_condattr_t monotonic;
    wb_rc rc;

    if (s == NULL)
        return wbi_fail_nomem(err);
    s->dir = (struct wbi_dir){.fd = -1, .run_fd = -1, .artifacts_fd = -1, .user_fd = -1};
    s->lock.fd = s->owner.fd = -1;
    s->ids = options->ids;
    s->wake = options->wake;
    s->wake_arg = options->wake_arg;
    (void)pthread_mutex_init(&s->mutex, NULL); /* plain ones cannot fail here */
    (void)pthread_mutex_init(&s->read_mutex, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->work, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    rc = open_all(s, options, err);
    if (rc != WB_OK) {
        wbi_store_close(s);
        return rc;
    }
    s->health.writable = !s->dir.read_only;
    if (s->dir.read_only) {
        s->health.kind = WBI_KIND_STATE_UNAVAILABLE;
        (void)snprintf(s->health.reason, sizeof(s->health.reason), "%s", read_only_text);
    }
    *ret = s;
    return WB_OK;
}

bool wbi_store_absent(const struct wbi_store *s)
{
    return s->dir.fd < 0;
}

void wbi_store_stop(struct wbi_store *s)
{
    if (!s->started)
        return;
    pthread_mutex_lock(&s->mutex);
    s->stopping = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    s->started = s->stopping = false;
}

void wbi_store_close(struct wbi_store *s)
{
    if (s == NULL)
        return;
    wbi_store_stop(s);
    wbi_writer_leave(s);
    wbi_writer_close_db(s);
    if (s->reader_open)
        wbi_db_close(&s->reader);
    wbi_owner_close(&s->owner);
    wbi_commit_lock_close(&s->lock);
    wbi_dir_close(&s->dir);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->read_mutex);
    pthread_mutex_destroy(&s->mutex);
    wbi_free(s);
}

/* With every signal blocked: they are for the program's own threads. */
static int start_thread(struct wbi_store *s)
{
    sigset_t all, before;
    int status;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&s->thread, NULL, wbi_writer_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* With the mutex. Who only reads never gets here. */
static wb_rc become_owner(struct wbi_store *s, struct wbi_error *err)
{
    if (s->dir.read_only)
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE, "%s", read_only_text);
    return s->owner.fd < 0 ? wbi_owner_open(&s->dir, &s->ids, &s->owner, err) : WB_OK;
}

static wb_rc become_writer(struct wbi_store *s, struct wbi_error *err)
{
    wb_rc rc = become_owner(s, err);

    if (rc != WB_OK)
        return rc;
    if (start_thread(s) != 0)
        return wbi_fail_kind(err, WB_EAGAIN, WBI_KIND_STATE_UNAVAILABLE,
                             "ledger: no thread can be started; end other work, then try again");
    s->started = true;
    return WB_OK;
}

wb_rc wbi_store_own(struct wbi_store *s, struct wbi_error *err)
{
    wb_rc rc;

    pthread_mutex_lock(&s->mutex);
    rc = become_owner(s, err);
    pthread_mutex_unlock(&s->mutex);
    return rc;
}

wb_rc wbi_store_submit(struct wbi_store *s, struct wbi_op *op, struct wbi_error *err)
{
    bool full, wake;
    wb_rc rc = WB_OK;

    op->store = s;
    pthread_mutex_lock(&s->mutex);
    if (!s->started)
        rc = become_writer(s, err);
    if (rc != WB_OK) {
        pthread_mutex_unlock(&s->mutex);
        return rc;
    }
    full = op->size > 0 && s->queued > WBI_LIMIT_STORE_QUEUE;
    if (!full)
        wbi_writer_enqueue(s, op);
    wake = s->sleeping && (!s->lingering || wbi_writer_due(s));
    if (wake)
        s->sleeping = false; /* one signal is enough */
    pthread_mutex_unlock(&s->mutex);
    if (wake)
        pthread_cond_signal(&s->work);
    if (full)
        return wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_STATE_UNAVAILABLE,
                             "ledger: over %u MiB wait for the disk; call again later",
                             WBI_LIMIT_STORE_QUEUE / WBI_MIB);
    return WB_OK;
}

bool wbi_store_behind(struct wbi_store *s)
{
    bool behind;

    pthread_mutex_lock(&s->mutex);
    behind = s->queued > WBI_LIMIT_STORE_BEHIND;
    pthread_mutex_unlock(&s->mutex);
    return behind;
}

struct waiter {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool is_done;
};

static void end_wait(struct wbi_op *op, wb_rc rc, const struct wbi_error *err)
{
    struct waiter *w = op->post.arg;

    (void)rc;  /* in op */
    (void)err; /* the waiter's own */
    pthread_mutex_lock(&w->mutex);
    w->is_done = true;
    pthread_cond_signal(&w->done);
    pthread_mutex_unlock(&w->mutex);
}

/* Nobody at work and nothing queued: the waiting thread does it itself.
 * WB_EAGAIN when somebody is. */
static wb_rc run_here(struct wbi_store *s, struct wbi_op *op, struct wbi_error *err)
{
    wb_rc rc = WB_EAGAIN;
    bool wake;

    pthread_mutex_lock(&s->mutex);
    if (!s->busy && s->first == NULL)
        rc = become_owner(s, err);
    if (rc == WB_OK)
        s->busy = true;
    pthread_mutex_unlock(&s->mutex);
    if (rc != WB_OK)
        return rc;
    op->next = NULL;
    op->store = s;
    wbi_writer_batch(s, op);
    pthread_mutex_lock(&s->mutex);
    s->busy = false;
    wake = s->first != NULL; /* what came meanwhile is the thread's */
    pthread_mutex_unlock(&s->mutex);
    if (wake)
        pthread_cond_signal(&s->work);
    return WB_OK;
}

wb_rc wbi_store_run(struct wbi_store *s, struct wbi_op *op, struct wbi_error *err)
{
    struct waiter w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    wb_rc rc;

    op->done = end_wait;
    op->direct = true;
    op->err = err;
    op->post.arg = &w;
    rc = run_here(s, op, err);
    if (rc == WB_EAGAIN)
        rc = wbi_store_submit(s, op, err);
    if (rc == WB_OK) {
        pthread_mutex_lock(&w.mutex);
        while (!w.is_done)
            pthread_cond_wait(&w.done, &w.mutex);
        pthread_mutex_unlock(&w.mutex);
        rc = op->rc;
    }
    pthread_cond_destroy(&w.done);
    pthread_mutex_destroy(&w.mutex);
    return rc;
}

void wbi_store_health(struct wbi_store *s, struct wbi_store_health *ret)
{
    pthread_mutex_lock(&s->mutex);
    *ret = s->health;
    ret->waiting = s->queued_ops;
    pthread_mutex_unlock(&s->mutex);
}

const struct wbi_dir *wbi_store_dir(const struct wbi_store *s)
{
    return &s->dir;
}

const char *wbi_store_instance(const struct wbi_store *s)
{
    return s->owner.instance;
}

const char *wbi_store_owner(const struct wbi_store *s)
{
    return s->owner.text;
}

bool wbi_store_owner_alive(const struct wbi_store *s, struct wbi_str owner)
{
    return wbi_owner_alive(s->dir.run_fd, owner);
}
