/* SPDX-License-Identifier: Apache-2.0
 * ledger/ledger.h: the append-only record of calls (C1, C12).
 * A call has at most one intent row, durable before its effect starts, one that says that
 * an approval was asked for, and exactly one outcome row, durable before its reply (Pure calls may
 * be answered first). Rows are chained by hash and never changed. */
#ifndef WBI_LEDGER_LEDGER_H
#define WBI_LEDGER_LEDGER_H

#include "base/arena.h"
#include "base/clock.h"
#include "json/write.h"
#include "store/store.h"

struct wbi_ledger;

#define WBI_KIND_ASKED "asked" /* it waits for somebody's approval; before any intent */
#define WBI_KIND_INTENT "intent"
#define WBI_KIND_OUTCOME "outcome"

/* What came of a call whose newest row this is when its process died: nothing happened to
 * one that was only asked for, of others nobody knows. */
struct wbi_unfinished {
    enum wbi_kind kind;
    const char *message;
};
struct wbi_unfinished wbi_ledger_unfinished(const struct wbi_row *row);

/* Makes the outcome of such a call: *out starts with the columns of that row ("intent"),
 * status error, its error_kind and a minimal canonical result and receipt; the function may replace
 * what it knows better, with memory of arena. Runs on the writer thread. */
typedef wb_rc wbi_ledger_close_fn(void *arg, const struct wbi_row *intent, struct wbi_arena *arena,
                                  struct wbi_row *out);

struct wbi_ledger_options {
    struct wbi_clock clock;
    wbi_ledger_close_fn *close_call; /* may be NULL */
    void *close_arg;
    bool examine; /* open whatever is found, close no call: for wbi_ledger_verify */
};

/* Checks the chain of the newest rows (never all: that is wbi_ledger_verify) and
 * closes the open calls of dead processes; *ret_closed (may be NULL) says how
 * many. A full disk leaves them open for the next start. The store stays the
 * caller's and must outlive the ledger. */
WB_MUST_CHECK wb_rc wbi_ledger_open(struct wbi_store *store,
                                    const struct wbi_ledger_options *options,
                                    struct wbi_ledger **ret, size_t *ret_closed,
                                    struct wbi_error *err);
/* Waits for rows on their way, then forgets the ledger; before wbi_store_close.
 * Not from done(). NULL is fine. */
void wbi_ledger_free(struct wbi_ledger *ledger);

/* What became of an append. seq and hash are set when rc is WB_OK. err.kind:
 * low_disk_space, state_unavailable, or outcome_unknown when nobody can tell
 * whether the row is on the disk. WB_EEXISTS: the call has such a row. */
struct wbi_ledger_ack {
    wb_rc rc;
    const struct wbi_error *err;
    int64_t seq;
    const uint8_t *hash;
    const struct wbi_change *changes; /* with their new generations */
    size_t change_count;
};
typedef void wbi_ledger_done_fn(void *arg, const struct wbi_ledger_ack *ack);

struct wbi_ledger_append {
    const struct wbi_row *row; /* seq, hash and (on intents) owner are filled in; time_ms 0: now */
    const struct wbi_change *changes; /* made in the same commit or not at all */
    size_t change_count;
    bool never_opened;        /* an outcome without an intent: there is nothing to close */
    wbi_ledger_done_fn *done; /* NULL: nobody waits (Pure calls, behind the reply) */
    void *arg;
};
/* Any thread: rows come faster than the disk takes them; who can wait, should. */
bool wbi_ledger_behind(struct wbi_ledger *ledger);
/* Any thread; everything is copied. On failure done() never runs. done() runs on
 * the writer thread, or on the loop if the store has a wake(). Kinds "asked" and
 * "intent" open their call, an outcome closes it. */
WB_MUST_CHECK wb_rc wbi_ledger_append(struct wbi_ledger *ledger,
                                      const struct wbi_ledger_append *append,
                                      struct wbi_error *err);
/* The same, waiting; *ret_seq may be NULL. Not on the writer thread. */
WB_MUST_CHECK wb_rc wbi_ledger_append_wait(struct wbi_ledger *ledger, const struct wbi_row *row,
                                           int64_t *ret_seq, struct wbi_error *err);
/* Waits until everything appended before is on the disk or has failed. */
WB_MUST_CHECK wb_rc wbi_ledger_flush(struct wbi_ledger *ledger, struct wbi_error *err);

/* Reading. each() gets rows that live until it returns, with texts as they were made
 * (lean.h); false ends early. */
typedef bool wbi_ledger_each_fn(void *arg, const struct wbi_row *row);
/* query->max: most rows altogether, 0: all. No read transaction outlives a chunk. */
WB_MUST_CHECK wb_rc wbi_ledger_list(struct wbi_ledger *ledger, const struct wbi_row_query *query,
                                    wbi_ledger_each_fn *each, void *arg, struct wbi_error *err);

struct wbi_record {
    bool has_intent, has_outcome;
    struct wbi_row intent, outcome;
};
/* id: the runtime's own call_…, or a provider's id if only one call has it.
 * WB_ENOTFOUND; WB_EINPUT when several calls have it. Memory of arena. */
WB_MUST_CHECK wb_rc wbi_ledger_get(struct wbi_ledger *ledger, struct wbi_arena *arena,
                                   struct wbi_str id, struct wbi_record *ret,
                                   struct wbi_error *err);
/* The row as one JSON object: {seq, kind, call_id, time, …, hash}; invocation,
 * canonical and the like as JSON, receipt as a string, absent ones left out. */
void wbi_ledger_row_json(struct wbi_jw *w, const struct wbi_row *row);

/* The chain: hash of row given the one before it. sha is restarted. */
WB_MUST_CHECK wb_rc wbi_chain_hash(struct wbi_sha256 *sha, const uint8_t prev[WBI_SHA256_SIZE],
                                   struct wbi_row *row, uint8_t ret[WBI_SHA256_SIZE]);

/* A head that somebody outside keeps: WB_OK when it still stands in the ledger,
 * else WB_ESTATE with why. Called once with the verified head and a look-up. */
struct wbi_verify_report {
    bool good;
    int64_t rows;            /* checked and found good */
    int64_t first_bad;       /* sequence of the first bad (or missing) row, 0: none */
    char what[320];          /* what is wrong with it */
    struct wbi_witness head; /* newest good row */
};
/* All rows, then SQLite's own structures, then each witness in witnesses (heads
 * kept outside; may be NULL) and the one of the user's folder: a tail that was
 * cut shows only there. WB_OK whatever it finds. Slow: blocks. */
WB_MUST_CHECK wb_rc wbi_ledger_verify(struct wbi_ledger *ledger,
                                      const struct wbi_witness *witnesses, size_t n,
                                      struct wbi_verify_report *ret, struct wbi_error *err);

/* Retention: the oldest rows go, the anchor moves behind them, and the rest still
 * verifies. What must stay keeps everything after it. */
struct wbi_prune_wish {
    int64_t before_ms;           /* rows older than this; INT64_MAX: any age */
    int64_t keep;                /* the newest so many rows stay whatever their age */
    const struct wbi_str *calls; /* their rows stay, besides those of open calls */
    size_t calls_n;
    bool dry; /* only say what would go */
};
struct wbi_prune_report {
    int64_t removed;
    int64_t first_kept;       /* sequence number */
    struct wbi_str held_call; /* whose rows stopped it early, or absent */
    int64_t held_open;        /* sequence number of the open call that did, or 0 */
};
/* A signed statement goes to the witness first; without a witness nothing is
 * removed (WB_ENOTFOUND). Blocks. */
WB_MUST_CHECK wb_rc wbi_ledger_prune(struct wbi_ledger *ledger, const struct wbi_prune_wish *wish,
                                     struct wbi_prune_report *ret, struct wbi_error *err);

/* Statistics over the outcomes that fit query, as one JSON object (docs/ledger.md). */
WB_MUST_CHECK wb_rc wbi_ledger_stats(struct wbi_ledger *ledger, const struct wbi_row_query *query,
                                     struct wbi_buf *out, struct wbi_error *err);

#endif
