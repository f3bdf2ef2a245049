/* SPDX-License-Identifier: Apache-2.0
 * store/writer.c: the one place that writes.
 * (0) The role of the writer is held by one thread at a time: the store's own, or
 *     one that waits for its operation anyway and finds nobody at work: two
 *     changes of thread would cost it a third of a commit.
 * (1) A batch is what the queue held: one transaction, one sync, under the
 *     commit lock. An idle writer commits at once what somebody waits for; rows
 *     that nobody waits for gather for a moment first.
 * (2) A failed COMMIT is unknown, not failed. The connection is closed, the file
 *     opened anew and the proof (the batch's last row, or its marker) looked up.
 *     If it is there, a checkpoint writes it to fresh pages, because pages that
 *     a sync has failed on cannot be trusted. If it is absent the batch is applied
 *     once more, which also overwrites what the failed commit left in the log.
 * (3) Of a batch that failed, who waits is told; rows that nobody waits for stay
 *     queued, in their order, and are tried again: a full disk loses no row. */
#include "store/store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"

#define MARKER_TABLE WBI_LIT("~batch")

enum { CACHE_LINE = 64, EXPECTED = 2048 /* bytes, of a usual row with its texts */ };

enum outcome { COMMITTED, FAILED, UNKNOWN, CLASHED /* failed: with its rows one by one then */ };

struct proof {
    bool row; /* a ledger row proves it; else the marker does */
    bool any; /* something was written at all */
    int64_t seq;
    uint8_t hash[WBI_SHA256_SIZE];
};

static wb_rc check_names(struct wbi_store *s, bool *ret_exists, struct wbi_error *err)
{
    static const char *const beside[] = {"ledger.db-wal", "ledger.db-shm", "ledger.db-journal"};
    bool exists;
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < WBI_COUNT(beside); i++)
        rc = wbi_dir_check_file(s->dir.fd, beside[i], &exists, err);
    return rc == WB_OK ? wbi_dir_check_file(s->dir.fd, "ledger.db", ret_exists, err) : rc;
}

static wb_rc check_same_file(struct wbi_store *s, struct wbi_error *err)
{
    struct stat st;

    if (fstatat(s->dir.fd, "ledger.db", &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_ino != s->db_ino ||
        st.st_dev != s->db_dev)
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                             "ledger.db was removed or replaced while in use; restore it, or move "
                             "the state directory away, then start again");
    return WB_OK;
}

wb_rc wbi_writer_open_db(struct wbi_store *s, struct wbi_error *err)
{
    struct stat st;
    bool exists;
    wb_rc rc = check_names(s, &exists, err);

    if (rc == WB_OK && s->db_ino != 0)
        rc = check_same_file(s, err);
    if (rc == WB_OK)
        rc = wbi_db_open(&s->dir, true, &s->db, err);
    if (rc != WB_OK)
        return rc;
    rc = wbi_db_prepare(&s->dir, &s->db, err);
    if (rc == WB_OK && fstatat(s->dir.fd, "ledger.db", &st, AT_SYMLINK_NOFOLLOW) != 0)
        rc = wbi_fail_errno(err, errno, "ledger: cannot examine ledger.db");
    if (rc != WB_OK) {
        wbi_db_close(&s->db);
        return rc;
    }
    wbi_db_gather_log(&s->db);
    rc = wbi_gathered_open(&s->db, &s->gathered, err);
    if (rc != WB_OK) {
        wbi_db_close(&s->db);
        return rc;
    }
    s->db_dev = st.st_dev;
    s->db_ino = st.st_ino;
    s->db_open = true;
    return WB_OK;
}

void wbi_writer_close_db(struct wbi_store *s)
{
    if (s->db_open)
        wbi_db_close(&s->db);
    s->db_open = false;
}

/* The marker of this process's newest batch that has no ledger row. */
static wb_rc write_marker(struct wbi_store *s, struct wbi_tx *tx, struct wbi_error *err)
{
    char number[24];
    struct wbi_change marker = {MARKER_TABLE, wbi_str_z(s->owner.instance), WBI_NONE,
                                WBI_ANY_GENERATION, 0};

    (void)snprintf(number, sizeof(number), "%lld", (long long)++s->marker_batch);
    marker.value = wbi_str_z(number);
    return wbi_tx_change(tx, &marker, err);
}

static bool nobody_waits(const struct wbi_op *ops)
{
    while (ops != NULL && ops->lazy)
        ops = ops->next;
    return ops == NULL;
}

/* Another core has written it: it comes over while the one before it is worked on. */
static void expect(const struct wbi_op *op)
{
    const size_t n = WBI_MIN(op->size, (size_t)EXPECTED);

    for (size_t i = 0; i < n; i += CACHE_LINE)
        __builtin_prefetch((const char *)op + i);
}

/* A batch that nobody waits for lets others run now and then: it would keep a core, and who
 * last ran on it, for milliseconds. Seldom while rows pile up, for it may cost a whole slice. */
static bool lets_others_run(struct wbi_store *s, unsigned n)
{
    bool few;

    if (n % WBI_STORE_YIELD != 0 || n % WBI_STORE_YIELD_SELDOM == 0)
        return n % WBI_STORE_YIELD == 0;
    pthread_mutex_lock(&s->mutex);
    few = s->queued <= WBI_LIMIT_STORE_BEHIND / 8;
    pthread_mutex_unlock(&s->mutex);
    return few;
}

static void apply_all(struct wbi_op *ops, struct wbi_tx *tx, struct wbi_error *err)
{
    bool polite = nobody_waits(ops);
    unsigned n = 0;

    for (struct wbi_op *op = ops; op != NULL && !tx->broken; op = op->next) {
        struct wbi_error *told = op->err != NULL ? op->err : err;

        if (op->next != NULL)
            expect(op->next);
        if (polite && lets_others_run(tx->store, ++n))
            (void)sched_yield();
        op->rc = op->apply(op, tx, told);
        if (tx->broken && told != err)
            *err = *told;
    }
}

/* SQLite keeps what it knows of its locks per process: where reopening fails,
 * the reading connection must go too before all is fresh. On a full disk it
 * stays, for what it needs could not be made again. */
static wb_rc reopen(struct wbi_store *s, struct wbi_error *err)
{
    struct wbi_error mine = WBI_ERROR_INIT;
    wb_rc rc = wbi_writer_open_db(s, &mine);

    if (rc != WB_OK && mine.kind != WBI_KIND_LOW_DISK_SPACE && rc != WB_ESTATE) {
        pthread_mutex_lock(&s->read_mutex);
        if (s->reader_open)
            wbi_db_close(&s->reader);
        s->reader_open = false;
        pthread_mutex_unlock(&s->read_mutex);
        rc = wbi_writer_open_db(s, &mine);
    }
    if (rc != WB_OK)
        *err = mine;
    return rc;
}

/* After a failure the connection is not used again: reopening costs a
 * millisecond, a wrong guess about its state could cost the ledger. */
static enum outcome give_up(struct wbi_store *s)
{
    if (sqlite3_get_autocommit(s->db.sql) == 0)
        (void)sqlite3_exec(s->db.sql, "ROLLBACK", NULL, NULL, NULL); /* closing does it too */
    wbi_writer_close_db(s);
    return FAILED;
}

/* Under the commit lock. Rows that nobody waits for are inserted together. */
static enum outcome try_batch(struct wbi_store *s, struct wbi_op *ops, bool gather,
                              struct proof *proof, struct wbi_error *err)
{
    struct wbi_tx tx = {.db = &s->db, .store = s};

    s->gathered.n = 0;
    if (gather && nobody_waits(ops))
        tx.gathered = &s->gathered;
    if (!s->db_open && reopen(s, err) != WB_OK)
        return FAILED;
    if (check_same_file(s, err) != WB_OK || wbi_db_run(&s->db, WBI_SQL_BEGIN, err) != WB_OK)
        return give_up(s);
    apply_all(ops, &tx, err);
    if (!tx.broken && tx.changed && !tx.inserted && write_marker(s, &tx, err) != WB_OK)
        tx.broken = true;
    if (!tx.broken && wbi_tx_finish(&tx, err) != WB_OK)
        tx.broken = true;
    if (tx.broken) {
        (void)give_up(s);
        return tx.clashed ? CLASHED : FAILED;
    }
    *proof = (struct proof){.row = tx.inserted, .any = tx.inserted || tx.changed, .seq = tx.seq};
    memcpy(proof->hash, tx.hash, sizeof(proof->hash));
    if (wbi_db_run(&s->db, WBI_SQL_COMMIT, err) != WB_OK) {
        wbi_writer_close_db(s);
        return proof->any ? UNKNOWN : FAILED;
    }
    s->witness_due |= tx.inserted;
    return COMMITTED;
}

static wb_rc marker_there(struct wbi_store *s, bool *ret, struct wbi_error *err)
{
    sqlite3_stmt *st = wbi_db_statement(&s->db, WBI_SQL_KV_GET, err);
    int code;

    if (st == NULL)
        return WB_EIO;
    wbi_db_bind(st, 1, MARKER_TABLE);
    wbi_db_bind(st, 2, wbi_str_z(s->owner.instance));
    code = sqlite3_step(st);
    *ret = code == SQLITE_ROW && sqlite3_column_int64(st, 1) == s->marker_batch;
    (void)sqlite3_reset(st);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return WB_OK;
    return wbi_db_fail(&s->db, code, "cannot look up a commit", err);
}

static wb_rc row_there(struct wbi_store *s, const struct proof *proof, bool *ret,
                       struct wbi_error *err)
{
    sqlite3_stmt *st = wbi_db_statement(&s->db, WBI_SQL_ROW_HASH, err);
    int code;

    if (st == NULL)
        return WB_EIO;
    (void)sqlite3_bind_int64(st, 1, proof->seq);
    code = sqlite3_step(st);
    *ret = code == SQLITE_ROW && sqlite3_column_bytes(st, 0) == WBI_SHA256_SIZE &&
           memcmp(sqlite3_column_blob(st, 0), proof->hash, WBI_SHA256_SIZE) == 0;
    (void)sqlite3_reset(st);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return WB_OK;
    return wbi_db_fail(&s->db, code, "cannot look up a commit", err);
}

/* After an unknown commit, still under the lock: COMMITTED, or FAILED when it
 * proved absent, or UNKNOWN when even that cannot be told. */
static enum outcome settle(struct wbi_store *s, const struct proof *proof, struct wbi_error *err)
{
    bool there = false;
    wb_rc rc = reopen(s, err);

    pthread_mutex_lock(&s->mutex);
    s->health.reopened++;
    pthread_mutex_unlock(&s->mutex);
    if (rc != WB_OK)
        return UNKNOWN;
    rc = proof->row ? row_there(s, proof, &there, err) : marker_there(s, &there, err);
    if (rc == WB_OK && there) {
        int code =
            sqlite3_wal_checkpoint_v2(s->db.sql, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        if (code != SQLITE_OK)
            rc = wbi_db_fail(&s->db, code, "cannot make a commit durable", err);
    }
    if (rc != WB_OK) {
        wbi_writer_close_db(s);
        return UNKNOWN;
    }
    return there ? COMMITTED : FAILED;
}

static enum outcome commit(struct wbi_store *s, struct wbi_op *ops, struct wbi_error *err)
{
    struct proof proof = {.any = false};
    enum outcome outcome;

    if (wbi_commit_lock(&s->lock, err) != WB_OK)
        return FAILED;
    outcome = try_batch(s, ops, true, &proof, err);
    if (outcome == CLASHED)
        outcome = try_batch(s, ops, false, &proof, err);
    for (int again = 0; outcome == UNKNOWN; again++) {
        outcome = settle(s, &proof, err);
        if (outcome != FAILED || again > 0)
            break;
        outcome = try_batch(s, ops, false, &proof, err); /* known to be absent: not a blind retry */
    }
    wbi_commit_unlock(&s->lock);
    return outcome;
}

static void note_health(struct wbi_store *s, enum outcome outcome, size_t n, size_t lost,
                        const struct wbi_error *err)
{
    struct wbi_store_health *h = &s->health;

    pthread_mutex_lock(&s->mutex);
    h->writable = outcome == COMMITTED;
    h->kind = WBI_KIND_NONE;
    h->reason[0] = '\0';
    h->lost += lost;
    if (outcome == COMMITTED) {
        h->commits++;
        h->operations += n;
        h->wal_pages = s->db.wal_pages;
        h->wal_alarm = s->db.wal_pages > WBI_LIMIT_WAL_PAGES_ALARM;
    } else {
        h->kind = err->kind != WBI_KIND_NONE ? err->kind : WBI_KIND_STATE_UNAVAILABLE;
        (void)snprintf(h->reason, sizeof(h->reason), "%.*s", (int)sizeof(h->reason) - 1, err->text);
    }
    pthread_mutex_unlock(&s->mutex);
}

static void deliver(void *arg)
{
    struct wbi_op *op = arg;

    op->done(op, op->rc, op->err);
}

static void complete(struct wbi_store *s, struct wbi_op *op)
{
    if (op->direct || s->wake == NULL) {
        deliver(op);
        return;
    }
    op->post.fn = deliver;
    op->post.arg = op;
    s->wake(s->wake_arg, &op->post);
}

void wbi_writer_enqueue(struct wbi_store *s, struct wbi_op *op)
{
    op->next = NULL;
    s->queued += op->size;
    s->queued_ops++;
    s->urgent += !op->lazy;
    if (s->last != NULL)
        s->last->next = op;
    else
        s->first = op;
    s->last = op;
}

/* After a failure: rows that nobody waits for are queued again, before what came meanwhile.
 * Returns who must be told, also of those: they would fail alike, and behind a long queue
 * of rows they would wait for ever. At the end nothing is tried again. */
static struct wbi_op *keep_rows(struct wbi_store *s, struct wbi_op *failed)
{
    struct wbi_op *told = NULL, **told_end = &told, **end = &failed, *next;

    pthread_mutex_lock(&s->mutex);
    if (s->stopping) {
        pthread_mutex_unlock(&s->mutex);
        return failed;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = s->first;
    s->first = s->last = NULL;
    s->queued = s->queued_ops = s->urgent = 0;
    for (struct wbi_op *op = failed; op != NULL; op = next) {
        next = op->next;
        if (op->lazy) {
            wbi_writer_enqueue(s, op);
        } else {
            op->next = NULL;
            *told_end = op;
            told_end = &op->next;
        }
    }
    pthread_mutex_unlock(&s->mutex);
    return told;
}

static void run_batch(struct wbi_store *s, struct wbi_op *ops)
{
    struct wbi_error err = WBI_ERROR_INIT;
    enum outcome outcome = commit(s, ops, &err);
    size_t n = 0, lost = 0;

    if (outcome != COMMITTED && err.kind == WBI_KIND_NONE)
        err.kind = WBI_KIND_STATE_UNAVAILABLE;
    if (outcome == FAILED)
        ops = keep_rows(s, ops);
    for (struct wbi_op *op = ops; op != NULL; op = op->next, n++) {
        if (outcome != COMMITTED) /* else each keeps its own result */
            op->rc = err.rc != WB_OK ? err.rc : WB_EIO;
        lost += op->lazy && op->rc != WB_OK;
        if (outcome == COMMITTED || op->err == NULL)
            continue;
        *op->err = err;
        if (outcome == UNKNOWN)
            op->err->kind = WBI_KIND_OUTCOME_UNKNOWN;
    }
    note_health(s, outcome, n, lost, &err);
    while (ops != NULL) {
        struct wbi_op *op = ops;
        ops = op->next; /* done() may free it */
        complete(s, op);
    }
}

static void write_witness(struct wbi_store *s)
{
    struct wbi_witness w;

    if (s->witness_due && wbi_db_tail(&s->db, &w.seq, w.hash, NULL) == WB_OK &&
        wbi_dir_witness_write(&s->dir, &w) == WB_OK)
        s->witness_due = false; /* else the next time: it may lag */
}

/* Fold the log into the file. An incomplete one (somebody reads an old state)
 * is tried again only when the log has grown by as much again. */
static void checkpoint(struct wbi_store *s, int allowed, int mode)
{
    int code, in_log = 0, folded = 0, due = s->db.wal_pages - s->wal_kept;

    if (!s->db_open || due < allowed)
        return;
    if (wbi_commit_lock(&s->lock, NULL) != WB_OK)
        return;
    code = sqlite3_wal_checkpoint_v2(s->db.sql, NULL, mode, &in_log, &folded);
    if (code == SQLITE_OK || code == SQLITE_BUSY)
        s->wal_kept = folded == in_log ? 0 : in_log;
    else
        wbi_writer_close_db(s); /* a sync may have failed: reopen before the next commit */
    wbi_commit_unlock(&s->lock);
    if (code == SQLITE_OK && folded == in_log)
        s->db.wal_pages = 0;
    if (s->db_open)
        write_witness(s);
}

bool wbi_writer_due(const struct wbi_store *s)
{
    return s->urgent > 0 || s->stopping ||
           (s->health.writable &&
            (s->queued_ops >= WBI_LIMIT_STORE_BATCH || s->queued > WBI_LIMIT_STORE_BEHIND / 2));
}

/* With the mutex: sleep until there is something, then until it is due. */
static void await_work(struct wbi_store *s)
{
    struct timespec until;

    while (s->first == NULL ? !s->stopping : s->busy) {
        s->sleeping = true;
        pthread_cond_wait(&s->work, &s->mutex);
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec +=
        (s->health.writable ? WBI_STORE_LINGER_MS : WBI_STORE_RETRY_MS) * WBI_NS_PER_MS;
    until.tv_sec += until.tv_nsec / WBI_NS_PER_S;
    until.tv_nsec %= WBI_NS_PER_S;
    s->lingering = true;
    while (!wbi_writer_due(s)) { /* nobody takes the role while something is queued */
        s->sleeping = true;
        if (pthread_cond_timedwait(&s->work, &s->mutex, &until) == ETIMEDOUT)
            break;
    }
    s->lingering = s->sleeping = false;
}

/* Takes what is queued, at most a batch; NULL when asked to stop. */
static struct wbi_op *next_batch(struct wbi_store *s)
{
    struct wbi_op *ops, *last = NULL;
    size_t n = 0;

    pthread_mutex_lock(&s->mutex);
    s->busy = false;
    await_work(s);
    s->busy = s->first != NULL;
    ops = s->first;
    for (struct wbi_op *op = ops; op != NULL && n < WBI_LIMIT_STORE_BATCH; op = op->next, n++) {
        s->queued -= op->size;
        s->queued_ops--;
        s->urgent -= !op->lazy;
        last = op;
    }
    if (last != NULL) {
        s->first = last->next;
        if (s->first == NULL)
            s->last = NULL;
        last->next = NULL;
    }
    pthread_mutex_unlock(&s->mutex);
    return ops;
}

/* Only this process's own leavings: its marker, a long log, and the witness. */
void wbi_writer_leave(struct wbi_store *s)
{
    if (!s->db_open)
        return;
    if (s->marker_batch > 0 && wbi_commit_lock(&s->lock, NULL) == WB_OK) {
        sqlite3_stmt *st = wbi_db_statement(&s->db, WBI_SQL_KV_DELETE, NULL);
        if (st != NULL) {
            wbi_db_bind(st, 1, MARKER_TABLE);
            wbi_db_bind(st, 2, wbi_str_z(s->owner.instance));
            (void)sqlite3_step(st); /* a marker that stays does no harm */
            (void)sqlite3_reset(st);
        }
        wbi_commit_unlock(&s->lock);
    }
    /* The next to open would not know how much is folded in, read all of it again and go on
     * at its end. Whoever reads meanwhile is not waited for. */
    (void)sqlite3_busy_timeout(s->db.sql, 0);
    checkpoint(s, WBI_LIMIT_WAL_PAGES_LEFT, SQLITE_CHECKPOINT_TRUNCATE);
    if (s->db_open)
        write_witness(s);
}

void wbi_writer_batch(struct wbi_store *s, struct wbi_op *ops)
{
    bool idle;

    run_batch(s, ops);
    pthread_mutex_lock(&s->mutex);
    idle = s->first == NULL;
    pthread_mutex_unlock(&s->mutex);
    checkpoint(s, idle ? WBI_LIMIT_WAL_PAGES : WBI_LIMIT_WAL_PAGES_BUSY, SQLITE_CHECKPOINT_PASSIVE);
}

void *wbi_writer_main(void *arg)
{
    struct wbi_store *s = arg;
    struct wbi_op *ops;

    while ((ops = next_batch(s)) != NULL)
        wbi_writer_batch(s, ops);
    return NULL;
}
