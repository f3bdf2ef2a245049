/* SPDX-License-Identifier: Apache-2.0
 * ledger/checkpoint.h: signed statements about the ledger, kept outside the
 * workspace in the user's state folder (C12.2, docs/ledger.md). One JSON object a
 * line in instances/<id>.checkpoints:
 *   head    row seq had this hash
 *   anchor  rows up to and including seq may be gone (prune); seq had this hash
 *   key     the next lines are signed by another key
 * The key is USER/ledger.key (0600). A file that is missing is never made anew
 * behind the user's back once there are rows: that would hide its removal. */
#ifndef WBI_LEDGER_CHECKPOINT_H
#define WBI_LEDGER_CHECKPOINT_H

#include "base/sign.h"
#include "ledger/ledger.h"

/* A new ledger's first checkpoint, of its anchor; nothing when there are rows or
 * it has one. */
WB_MUST_CHECK wb_rc wbi_checkpoint_begin(struct wbi_ledger *ledger, struct wbi_error *err);
/* State the newest row, durably. *ret may be NULL. WB_ENOTFOUND when the file is
 * missing although there are rows: see wbi_checkpoint_restart. */
WB_MUST_CHECK wb_rc wbi_checkpoint_write(struct wbi_ledger *ledger, struct wbi_witness *ret,
                                         struct wbi_error *err);
/* The same if `rows` rows came since the last one. */
WB_MUST_CHECK wb_rc wbi_checkpoint_due(struct wbi_ledger *ledger, int64_t rows,
                                       struct wbi_error *err);
/* State that rows up to w may go. */
WB_MUST_CHECK wb_rc wbi_checkpoint_anchor(struct wbi_ledger *ledger, const struct wbi_witness *w,
                                          struct wbi_error *err);
/* A new key for all of the user's ledgers: in each witness the old one signs a line that
 * names it. With no old one to sign, WB_ENOTFOUND. */
WB_MUST_CHECK wb_rc wbi_checkpoint_rotate(struct wbi_ledger *ledger, struct wbi_error *err);
/* Put the file aside (if any) and begin a new one with the newest row and the
 * present anchor: from now on that is what counts. */
WB_MUST_CHECK wb_rc wbi_checkpoint_restart(struct wbi_ledger *ledger, struct wbi_error *err);

struct wbi_checkpoints {
    bool exists;
    bool good;                 /* every line is signed by the user's key or one that led to it */
    char what[320];            /* why not */
    struct wbi_witness *heads; /* in arena */
    size_t heads_n;
    struct wbi_witness anchor;                  /* highest one stated; seq 0: none */
    size_t keys;                                /* that signed */
    uint8_t (*signers)[WBI_SIGN_KEY_SIZE];      /* they, newest first, in arena */
    char last[WBI_RFC3339_SIZE];                /* when the newest was made, "" without one */
    char public_key[2 * WBI_SIGN_KEY_SIZE + 1]; /* of the user, "" without one */
};
/* path: another file of checkpoints, which may be older than the newest key; own says which
 * ones led to it. Both NULL: the user's. */
WB_MUST_CHECK wb_rc wbi_checkpoints_read(struct wbi_ledger *ledger, struct wbi_arena *arena,
                                         const char *path, const struct wbi_checkpoints *own,
                                         struct wbi_checkpoints *ret, struct wbi_error *err);

#endif
