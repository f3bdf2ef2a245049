/* SPDX-License-Identifier: Apache-2.0
 * store/store.h: everything that must survive, behind one writer (C12).
 * Any number of processes share a state directory. In each, one writer thread
 * commits: at once when idle, in groups of what arrived meanwhile otherwise.
 * An operation is acknowledged only when its commit is on the disk. */
#ifndef WBI_STORE_STORE_H
#define WBI_STORE_STORE_H

#include "base/clock.h"
#include "loop/loop.h"
#include "store/dir.h"
#include "store/tx.h"

struct wbi_store;

struct wbi_store_options {
    const char *dir;      /* the state directory */
    const char *user_dir; /* the user's state folder */
    struct wbi_ids ids;
    /* Where completions go. NULL: done() runs on the writer thread. Otherwise
     * called on the writer thread with a node that must be given to the loop
     * (wbi_loop_post(loop, node)); done() then runs there. */
    void (*wake)(void *arg, struct wbi_post *node);
    void *wake_arg;
    /* Open even if the ledger is not the one the user's witness has seen: for
     * whoever wants to say what is wrong with it. */
    bool examine;
    /* Make nothing: where there is no state directory, the store is an empty one in memory
     * that can only be read (wbi_store_absent). */
    bool existing;
};

/* Milliseconds, whatever the ledger's size. No thread is started and no row is
 * changed until something is submitted. A file system that lets nothing be
 * written gives a store that reads and refuses to write. */
WB_MUST_CHECK wb_rc wbi_store_open(const struct wbi_store_options *options, struct wbi_store **ret,
                                   struct wbi_error *err);
/* Commits what is queued, once more what could not be, then ends the writer: nothing is on
 * its way any more. The next submit begins anew. Not from done(). */
void wbi_store_stop(struct wbi_store *store);
/* The same and all the rest; nodes given to wake() must still be run by their loop. NULL is
 * fine. */
void wbi_store_close(struct wbi_store *store);
/* Whether there was no state directory; its descriptors are -1 then. */
bool wbi_store_absent(const struct wbi_store *store);

/* One unit of work. apply() runs on the writer thread inside a transaction that
 * it shares with others; after an unknown commit that proved absent it runs once more. done() runs
 * once, with op->err, and WB_OK when all is durable. Refused and failed operations have err.kind
 * low_disk_space or state_unavailable; outcome_unknown when even reopening could not tell. Whoever
 * submits owns the memory, until done() has begun. */
struct wbi_op {
    struct wbi_op *next;
    wb_rc (*apply)(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err);
    void (*done)(struct wbi_op *op, wb_rc rc, const struct wbi_error *err);
    size_t size;           /* bytes it keeps in memory, for the cap of the queue */
    bool direct;           /* done() on the writer thread even if there is a wake() */
    bool lazy;             /* nobody waits: it may gather with others, WBI_STORE_LINGER_MS */
    struct wbi_error *err; /* where to say why it failed, until done(); NULL: nobody asks */
    wb_rc rc;              /* the rest is the store's */
    struct wbi_post post;
    struct wbi_store *store;
};
/* Any thread. On failure (queue full, no thread, read-only) done() never runs. */
WB_MUST_CHECK wb_rc wbi_store_submit(struct wbi_store *store, struct wbi_op *op,
                                     struct wbi_error *err);
/* Any thread: more is queued than a batch should hold; who can wait, should. */
bool wbi_store_behind(struct wbi_store *store);
/* Submit and wait for it; op->done is ignored. Not from the writer thread. */
WB_MUST_CHECK wb_rc wbi_store_run(struct wbi_store *store, struct wbi_op *op,
                                  struct wbi_error *err);

/* Small tables (tasks, keys, work items …): changes that are made together or
 * not at all. Blocks until durable; changes[].generation is set. Limits:
 * WBI_LIMIT_STORE_KEY for table and key, WBI_LIMIT_STORE_VALUE. */
WB_MUST_CHECK wb_rc wbi_store_change(struct wbi_store *store, struct wbi_change *changes, size_t n,
                                     struct wbi_error *err);
/* The same without waiting: everything is copied; done(arg, rc, err, changes, n)
 * like an operation's; may be NULL. */
typedef void wbi_changed_fn(void *arg, wb_rc rc, const struct wbi_error *err,
                            const struct wbi_change *changes, size_t n);
WB_MUST_CHECK wb_rc wbi_store_change_later(struct wbi_store *store,
                                           const struct wbi_change *changes, size_t n,
                                           wbi_changed_fn *done, void *arg, struct wbi_error *err);
/* Shorthands that wait. put returns the new generation (may be NULL). */
WB_MUST_CHECK wb_rc wbi_store_put(struct wbi_store *store, struct wbi_str table, struct wbi_str key,
                                  struct wbi_str value, int64_t expected, int64_t *ret_generation,
                                  struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_store_delete(struct wbi_store *store, struct wbi_str table,
                                     struct wbi_str key, int64_t expected, struct wbi_error *err);

/* Reading: any thread, sees every acknowledged change. */
struct wbi_entry {
    struct wbi_str key, value;
    int64_t generation;
};
/* WB_ENOTFOUND when there is none. Slices are in arena. */
WB_MUST_CHECK wb_rc wbi_store_get(struct wbi_store *store, struct wbi_arena *arena,
                                  struct wbi_str table, struct wbi_str key, struct wbi_entry *ret,
                                  struct wbi_error *err);
/* Entries whose key starts with prefix and comes after `after` (absent: all), in
 * byte order, at most max. */
WB_MUST_CHECK wb_rc wbi_store_list(struct wbi_store *store, struct wbi_arena *arena,
                                   struct wbi_str table, struct wbi_str prefix,
                                   struct wbi_str after, size_t max, struct wbi_entry **ret,
                                   size_t *ret_n, struct wbi_error *err);

struct wbi_row_query {
    struct wbi_str call_id, provider_call_id, kind, tool, status, error_kind, conversation;
    int64_t since_ms, until_ms; /* of time_ms, inclusive and exclusive; 0: open */
    int64_t after_seq;          /* rows beyond it in the direction read; 0: from the end */
    bool newest_first;
    size_t max; /* 1 … WBI_LIMIT_READ_CHUNK_ROWS; fewer come when they are large */
};
/* One chunk of rows, in arena. Fewer than max does not mean the end: none does. */
WB_MUST_CHECK wb_rc wbi_store_rows(struct wbi_store *store, struct wbi_arena *arena,
                                   const struct wbi_row_query *query, struct wbi_row **ret,
                                   size_t *ret_n, struct wbi_error *err);
/* The tail as wbi_tx_tail gives it, and the anchor in front of the first row. */
WB_MUST_CHECK wb_rc wbi_store_tail(struct wbi_store *store, struct wbi_witness *ret,
                                   struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_store_anchor(struct wbi_store *store, struct wbi_witness *ret,
                                     struct wbi_error *err);
/* The oldest row at or after a time, and the oldest intent of an open call; 0 when
 * there is none. */
WB_MUST_CHECK wb_rc wbi_store_first_since(struct wbi_store *store, int64_t time_ms, int64_t *ret,
                                          struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_store_first_open(struct wbi_store *store, int64_t *ret,
                                         struct wbi_error *err);
/* The row of that number; WB_ENOTFOUND. */
WB_MUST_CHECK wb_rc wbi_store_row_hash(struct wbi_store *store, int64_t seq,
                                       struct wbi_witness *ret, struct wbi_error *err);

/* What statistics need of an outcome; slices live until the callback returns. */
struct wbi_glance {
    int64_t seq, time_ms, duration_us;
    struct wbi_str call_id, tool, status, error_kind, canonical, result, receipt, artifacts;
};
/* Every outcome that fits, oldest first; max is ignored. No copy is made; no read
 * transaction is longer than WBI_LIMIT_SCAN_ROWS rows. */
WB_MUST_CHECK wb_rc wbi_store_scan(struct wbi_store *store, const struct wbi_row_query *query,
                                   void (*each)(void *arg, const struct wbi_glance *g), void *arg,
                                   struct wbi_error *err);

/* Whether open calls of dead owners wait to be closed. */
WB_MUST_CHECK wb_rc wbi_store_has_orphans(struct wbi_store *store, bool *ret,
                                          struct wbi_error *err);
/* The whole file: SQLite's own check, and open_calls against the rows. WB_ESTATE with
 * the finding. Slow. */
WB_MUST_CHECK wb_rc wbi_store_check(struct wbi_store *store, struct wbi_error *err);

struct wbi_store_health {
    bool writable;      /* the last attempt to write succeeded, or none was made */
    char reason[320];   /* why not */
    enum wbi_kind kind; /* low_disk_space or state_unavailable */
    uint64_t commits, operations, reopened;
    uint64_t waiting;  /* operations queued */
    uint64_t lost;     /* rows that nobody waited for and that are not known to be on the disk */
    int64_t wal_pages; /* as of the last commit */
    bool wal_alarm;    /* some reader keeps the log from being folded in */
};
void wbi_store_health(struct wbi_store *store, struct wbi_store_health *ret);

const struct wbi_dir *wbi_store_dir(const struct wbi_store *store);
/* Be seen as a live process (a lock in run/) before anything is submitted; the
 * first submit does it otherwise. */
WB_MUST_CHECK wb_rc wbi_store_own(struct wbi_store *store, struct wbi_error *err);
/* "own_…" of this process, as in run/, and the whole text that rows name; ""
 * before wbi_store_own or the first submit. */
const char *wbi_store_instance(const struct wbi_store *store);
const char *wbi_store_owner(const struct wbi_store *store);
bool wbi_store_owner_alive(const struct wbi_store *store, struct wbi_str owner);

#endif
