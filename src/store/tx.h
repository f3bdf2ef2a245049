/* SPDX-License-Identifier: Apache-2.0
 * store/tx.h: what an operation may do inside the writer's transaction.
 * Only the writer thread makes a struct wbi_tx; it is valid during apply().
 * WB_EEXISTS, WB_ENOTFOUND and WB_EAGAIN (a precondition did not hold) leave the
 * transaction as it was: the operation fails, its neighbours go on. Every
 * other failure breaks the whole transaction. */
#ifndef WBI_STORE_TX_H
#define WBI_STORE_TX_H

#include "base/arena.h"
#include "store/row.h"

struct wbi_tx;

/* The newest row's sequence and hash; of an empty ledger the anchor's. */
WB_MUST_CHECK wb_rc wbi_tx_tail(struct wbi_tx *tx, int64_t *ret_seq,
                                uint8_t ret_hash[WBI_SHA256_SIZE], struct wbi_error *err);
/* row->seq must be the tail's plus one. WB_EEXISTS: the call has such a row. */
WB_MUST_CHECK wb_rc wbi_tx_insert(struct wbi_tx *tx, struct wbi_row *row, struct wbi_error *err);
/* The same, but where nobody waits for the transaction the row, which has to stay where it
 * is, is inserted with others before the commit; if the call has such a row then, all is
 * done again, and this is wbi_tx_insert. */
WB_MUST_CHECK wb_rc wbi_tx_insert_later(struct wbi_tx *tx, struct wbi_row *row,
                                        struct wbi_error *err);
/* Remember, by its newest row, and forget that a call has no outcome yet. */
WB_MUST_CHECK wb_rc wbi_tx_open_call(struct wbi_tx *tx, const struct wbi_row *row,
                                     struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_tx_close_call(struct wbi_tx *tx, struct wbi_str call_id,
                                      struct wbi_error *err);
/* Intents of open calls whose owner is dead, oldest first, at most max; the
 * rows and their texts are in arena. */
WB_MUST_CHECK wb_rc wbi_tx_orphans(struct wbi_tx *tx, struct wbi_arena *arena, size_t max,
                                   struct wbi_row **ret, size_t *ret_n, struct wbi_error *err);

/* Remove the oldest rows up to upto (which must exist), at most max of them, and
 * move the anchor behind them, so that the rest still verifies. Never an intent
 * whose call is open: WB_EAGAIN. *ret: the anchor now. */
WB_MUST_CHECK wb_rc wbi_tx_prune(struct wbi_tx *tx, int64_t upto, int64_t max, int64_t *ret,
                                 struct wbi_error *err);

/* One change of a small table. */
enum { WBI_ANY_GENERATION = -1, WBI_MUST_BE_NEW = 0 };
struct wbi_change {
    struct wbi_str table, key;
    struct wbi_str value; /* JSON; absent deletes */
    int64_t expected;     /* generation it must have now, or one of the above */
    int64_t generation;   /* out: generation it has now; grows over the whole store */
};
/* First check every change of an operation, then make them: WB_EEXISTS it is not
 * new, WB_ENOTFOUND there is none, WB_EAGAIN it has another generation. */
WB_MUST_CHECK wb_rc wbi_tx_check(struct wbi_tx *tx, const struct wbi_change *change,
                                 struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_tx_change(struct wbi_tx *tx, struct wbi_change *change,
                                  struct wbi_error *err);
/* What an entry holds now, in arena; WB_ENOTFOUND. */
WB_MUST_CHECK wb_rc wbi_tx_get(struct wbi_tx *tx, struct wbi_arena *arena, struct wbi_str table,
                               struct wbi_str key, struct wbi_str *ret, struct wbi_error *err);

/* For whoever keeps changes until they are made: their bytes in all (WB_ELIMIT
 * when one breaks the limits), and a copy that needs that many at `to`. */
WB_MUST_CHECK wb_rc wbi_changes_size(const struct wbi_change *changes, size_t n, size_t *ret,
                                     struct wbi_error *err);
/* Returns the first byte behind the copy. `to` is aligned for a struct. */
char *wbi_changes_copy(char *to, const struct wbi_change *changes, size_t n);
/* Copies one text to *at and moves *at on. */
static inline struct wbi_str wbi_text_move(char **at, struct wbi_str s)
{
    struct wbi_str copy = {s.p != NULL ? *at : NULL, s.n};

    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

/* The owner that this process writes as. */
struct wbi_str wbi_tx_owner(const struct wbi_tx *tx);

#endif
