/* SPDX-License-Identifier: Apache-2.0
 * store/store_int.h: the room's own parts. The only header that includes
 * sqlite3.h. A struct wbi_db is one connection and belongs to one thread at a time. */
#ifndef WBI_STORE_STORE_INT_H
#define WBI_STORE_STORE_INT_H

#include <pthread.h>
#include <sqlite3.h>

#include "store/lock.h"
#include "store/store.h"

#define WBI_APPLICATION_ID 0x5742494c /* "WBIL" */

enum wbi_statement {
    WBI_SQL_BEGIN,
    WBI_SQL_COMMIT,
    WBI_SQL_TAIL,
    WBI_SQL_ANCHOR,
    WBI_SQL_INSERT,
    WBI_SQL_INSERT_GATHERED,
    WBI_SQL_ROW_HASH,
    WBI_SQL_OPEN,
    WBI_SQL_CLOSE,
    WBI_SQL_OWNERS,
    WBI_SQL_ORPHANS,
    WBI_SQL_KV_GET,
    WBI_SQL_KV_PUT,
    WBI_SQL_KV_DELETE,
    WBI_SQL_KV_LIST,
    WBI_SQL_GENERATION_GET,
    WBI_SQL_GENERATION_PUT,
    WBI_SQL_ROWS_UP,
    WBI_SQL_ROWS_DOWN,
    WBI_SQL_BY_CALL,
    WBI_SQL_BY_PROVIDER,
    WBI_SQL_BY_COUNTER,
    WBI_SQL_ANCHOR_PUT,
    WBI_SQL_PRUNE,
    WBI_SQL_FIRST_SINCE,
    WBI_SQL_FIRST_OPEN,
    WBI_SQL_SCAN,
    WBI_SQL_COUNT
};

struct wbi_db {
    sqlite3 *sql;
    sqlite3_stmt *statements[WBI_SQL_COUNT]; /* prepared on first use */
    int wal_pages;
};

/* The file is opened as it is; no row is read. Without a directory: one in memory. */
WB_MUST_CHECK wb_rc wbi_db_open(const struct wbi_dir *dir, bool for_writing, struct wbi_db *ret,
                                struct wbi_error *err);
void wbi_db_close(struct wbi_db *db);
/* Fills err from SQLite's code; breaks ties to low_disk_space, state_unavailable. */
wb_rc wbi_db_fail(struct wbi_db *db, int code, const char *what, struct wbi_error *err);
/* Ready to bind; NULL with err on failure. */
sqlite3_stmt *wbi_db_statement(struct wbi_db *db, enum wbi_statement which, struct wbi_error *err);
/* Run a statement that gives no rows. */
WB_MUST_CHECK wb_rc wbi_db_run(struct wbi_db *db, enum wbi_statement which, struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_db_exec(struct wbi_db *db, const char *sql, struct wbi_error *err);
/* First column of the first row as a number; 0 when there is none. */
WB_MUST_CHECK wb_rc wbi_db_number(struct wbi_db *db, const char *sql, int64_t *ret,
                                  struct wbi_error *err);
void wbi_db_bind(sqlite3_stmt *st, int column, struct wbi_str s);
struct wbi_str wbi_db_text(sqlite3_stmt *st, int column, struct wbi_arena *arena, bool *ok);

/* From now on what is written to the log reaches the kernel in few writes (log.c); without the
 * memory for it, or a log, in many. Once the log is open. */
void wbi_db_gather_log(struct wbi_db *db);

/* Versions. steps[i] leads from version i to i + 1. */
struct wbi_step {
    const char *sql;
    wb_rc (*code)(struct wbi_db *db, void *arg, struct wbi_error *err); /* may be NULL */
};
/* Under the commit lock, in one transaction: any kill leaves old or new. */
WB_MUST_CHECK wb_rc wbi_db_migrate(struct wbi_db *db, const struct wbi_step *steps, size_t n,
                                   void *arg, struct wbi_error *err);
extern const struct wbi_step wbi_steps[];
extern const size_t wbi_steps_n;
/* Makes or upgrades ledger.db, or says why this one is refused. Under the lock. */
WB_MUST_CHECK wb_rc wbi_db_prepare(const struct wbi_dir *dir, struct wbi_db *db,
                                   struct wbi_error *err);
/* The tables without a row, for a connection that only reads. */
WB_MUST_CHECK wb_rc wbi_db_empty(const struct wbi_dir *dir, struct wbi_db *db,
                                 struct wbi_error *err);

/* Rows of a transaction that are inserted together (gathered.c). */
#define WBI_GATHERED_MOST 128u
struct wbi_gathered {
    struct wbi_row *rows[WBI_GATHERED_MOST];
    size_t n;
};
/* For the connection's life they are its table of that name. */
WB_MUST_CHECK wb_rc wbi_gathered_open(struct wbi_db *db, struct wbi_gathered *rows,
                                      struct wbi_error *err);

struct wbi_tx {
    struct wbi_db *db;
    struct wbi_store *store;
    struct wbi_gathered *gathered; /* NULL: each row is inserted at once */
    bool broken;                   /* nothing more may be done but roll back */
    bool clashed;                  /* because one of those gathered is there already */
    bool tail_known;
    int64_t seq; /* of the tail */
    uint8_t hash[WBI_SHA256_SIZE];
    bool inserted; /* a ledger row: the tail is the proof of the commit */
    bool changed;  /* a small table */
    bool generation_known;
    int64_t generation;
};
/* Before COMMIT: inserts what is gathered, writes the last generation. */
WB_MUST_CHECK wb_rc wbi_tx_finish(struct wbi_tx *tx, struct wbi_error *err);
/* The columns of a SELECT of WBI_ROW_COLUMNS into row; texts into arena. */
#define WBI_ROW_COLUMNS                                                                        \
    "seq, time_ms, duration_us, hash, call_id, kind, tool, status, error_kind, conversation, " \
    "provider_call_id, principal, effect, owner, invocation, canonical, result, receipt, "     \
    "artifacts, timings, policy, trust, events"
/* Caller's ids that are more than a number: the others only count, over and over, so that
 * keeping them in the index would cost more than looking for one. */
#define WBI_NAMED_ID "provider_call_id GLOB '*[^0-9]*'"
WB_MUST_CHECK wb_rc wbi_row_read(sqlite3_stmt *st, struct wbi_arena *arena, struct wbi_row *ret);
WB_MUST_CHECK wb_rc wbi_db_tail(struct wbi_db *db, int64_t *ret_seq,
                                uint8_t ret_hash[WBI_SHA256_SIZE], struct wbi_error *err);

struct wbi_store {
    struct wbi_dir dir;
    struct wbi_commit_lock lock;
    struct wbi_owner owner;
    struct wbi_ids ids;
    void (*wake)(void *, struct wbi_post *);
    void *wake_arg;

    /* of whoever holds the writer's role */
    struct wbi_db db;
    struct wbi_gathered gathered;
    dev_t db_dev;
    ino_t db_ino;
    bool db_open;
    int wal_kept;         /* pages that the last checkpoint could not fold in */
    bool witness_due;     /* the ledger has grown since the witness was written */
    int64_t marker_batch; /* number in the marker entry, 0: none written */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t work;
    struct wbi_op *first, *last;
    size_t queued, queued_ops;
    size_t urgent; /* of them, those somebody waits for */
    bool started, sleeping, stopping;
    bool lingering; /* asleep until more comes, or for a moment only */
    bool busy;      /* somebody has the writer's role: its thread, or one that waits anyway */
    pthread_t thread;
    struct wbi_store_health health;

    pthread_mutex_t read_mutex; /* guards the reading connection */
    struct wbi_db reader;
    bool reader_open;
};

/* Reading. On success the reading connection is locked and a statement is ready. */
WB_MUST_CHECK wb_rc wbi_read_begin(struct wbi_store *s, enum wbi_statement which,
                                   sqlite3_stmt **ret, struct wbi_error *err);
/* Ends what wbi_read_begin began. code: the last answer of sqlite3_step. */
WB_MUST_CHECK wb_rc wbi_read_end(struct wbi_store *s, sqlite3_stmt *st, int code, wb_rc rc,
                                 struct wbi_error *err);
void wbi_read_bind(sqlite3_stmt *st, const struct wbi_row_query *q, size_t max);

WB_MUST_CHECK wb_rc wbi_writer_open_db(struct wbi_store *store, struct wbi_error *err);
void wbi_writer_close_db(struct wbi_store *store);
/* With the mutex. */
void wbi_writer_enqueue(struct wbi_store *store, struct wbi_op *op);
/* With the mutex: what is queued should be committed now. */
bool wbi_writer_due(const struct wbi_store *store);
/* The thread's main function. */
void *wbi_writer_main(void *store);
/* Whoever holds the role (busy): commit ops, then deliver them. */
void wbi_writer_batch(struct wbi_store *store, struct wbi_op *ops);
/* At the end: remove this process's own leavings. */
void wbi_writer_leave(struct wbi_store *store);

#endif
