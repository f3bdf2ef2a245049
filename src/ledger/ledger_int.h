/* SPDX-License-Identifier: Apache-2.0
 * ledger/ledger_int.h: the room's own parts. */
#ifndef WBI_LEDGER_LEDGER_INT_H
#define WBI_LEDGER_LEDGER_INT_H

#include <stdatomic.h>

#include "base/belt.h"
#include "ledger/ledger.h"

struct wbi_ledger {
    struct wbi_store *store;
    struct wbi_clock clock;
    wbi_ledger_close_fn *close_call;
    void *close_arg;
    struct wbi_sha256 *sha; /* the writer thread's */
    atomic_bool appended;   /* rows may be on their way */
    struct wbi_belt rows;   /* those that nobody waits for */
};

/* On the writer thread: number, chain and insert one row, open or close its call. */
WB_MUST_CHECK wb_rc wbi_ledger_put_row(struct wbi_ledger *ledger, struct wbi_tx *tx,
                                       struct wbi_row *row, bool never_opened,
                                       struct wbi_error *err);
/* wbi_ledger_list with the bytes that were hashed (lean.h). */
WB_MUST_CHECK wb_rc wbi_ledger_list_stored(struct wbi_ledger *ledger,
                                           const struct wbi_row_query *query,
                                           wbi_ledger_each_fn *each, void *arg,
                                           struct wbi_error *err);
/* The newest rows belong together and to the tail. */
WB_MUST_CHECK wb_rc wbi_ledger_check_tail(struct wbi_ledger *ledger, struct wbi_error *err);
/* Close the open calls of dead owners. */
WB_MUST_CHECK wb_rc wbi_ledger_recover(struct wbi_ledger *ledger, size_t *ret_closed,
                                       struct wbi_error *err);

#endif
