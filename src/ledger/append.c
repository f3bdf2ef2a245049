/* SPDX-License-Identifier: Apache-2.0
 * ledger/append.c: rows on their way to the writer.
 * The calling thread copies the row into one block and goes on; numbering,
 * hashing and inserting happen on the writer thread, inside the transaction
 * that also read the tail. */
#include "base/alloc.h"
#include "ledger/lean.h"
#include "ledger/ledger_int.h"

struct append_op {
    struct wbi_op op; /* first: the writer hands it back */
    struct wbi_ledger *ledger;
    struct wbi_row row;
    struct wbi_change *changes;
    size_t change_count;
    bool never_opened;
    bool copied; /* the row's texts are ours */
    wbi_ledger_done_fn *done;
    void *arg;
};

wb_rc wbi_ledger_put_row(struct wbi_ledger *ledger, struct wbi_tx *tx, struct wbi_row *row,
                         bool never_opened, struct wbi_error *err)
{
    uint8_t prev[WBI_SHA256_SIZE];
    bool opens = wbi_str_eqz(row->kind, WBI_KIND_INTENT) || wbi_str_eqz(row->kind, WBI_KIND_ASKED);
    int64_t seq;
    wb_rc rc = wbi_tx_tail(tx, &seq, prev, err);

    if (rc != WB_OK)
        return rc;
    row->seq = seq + 1;
    if (opens)
        row->owner = wbi_tx_owner(tx);
    rc = wbi_chain_hash(ledger->sha, prev, row, row->hash);
    if (rc != WB_OK)
        return wbi_fail(err, rc, "ledger: cannot hash a row");
    rc = opens ? wbi_tx_insert(tx, row, err) : wbi_tx_insert_later(tx, row, err);
    if (rc == WB_OK && opens)
        rc = wbi_tx_open_call(tx, row, err);
    else if (rc == WB_OK && !never_opened && wbi_str_eqz(row->kind, WBI_KIND_OUTCOME))
        rc = wbi_tx_close_call(tx, row->call_id, err);
    return rc;
}

static wb_rc apply_append(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err)
{
    struct append_op *a = (struct append_op *)op;
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < a->change_count; i++)
        rc = wbi_tx_check(tx, &a->changes[i], err);
    if (a->copied && wbi_str_eqz(a->row.kind, WBI_KIND_OUTCOME))
        wbi_lean_cut(&a->row); /* here, where nobody waits for it */
    if (rc == WB_OK)
        rc = wbi_ledger_put_row(a->ledger, tx, &a->row, a->never_opened, err);
    for (size_t i = 0; rc == WB_OK && i < a->change_count; i++)
        rc = wbi_tx_change(tx, &a->changes[i], err);
    return rc;
}

static void end_append(struct wbi_op *op, wb_rc rc, const struct wbi_error *err)
{
    struct append_op *a = (struct append_op *)op;
    struct wbi_ledger_ack ack = {.rc = rc,
                                 .err = err,
                                 .seq = a->row.seq,
                                 .hash = a->row.hash,
                                 .changes = a->changes,
                                 .change_count = a->change_count};

    if (a->done == NULL) { /* on the writer thread: the ledger is still there */
        wbi_belt_give(&a->ledger->rows, a);
        return;
    }
    a->done(a->arg, &ack);
    wbi_free(a);
}

static wb_rc measure(const struct wbi_ledger_append *in, size_t *ret, struct wbi_error *err)
{
    const struct wbi_row *row = in->row;
    bool too_long = false;
    size_t total = 0;
    wb_rc rc;

    if (row->call_id.n == 0 || row->kind.n == 0)
        return wbi_fail(err, WB_EMISUSE, "ledger: a row needs a call id and a kind");
#define X(name)                                                                 \
    too_long |= row->name.n > WBI_LIMIT_ROW_TEXT || total > WBI_LIMIT_ROW_TEXT; \
    total += row->name.n;
    WBI_ROW_TEXTS(X)
#undef X
    if (too_long)
        return wbi_fail(err, WB_ELIMIT, "ledger: a row may have %u MiB of text",
                        WBI_LIMIT_ROW_TEXT / WBI_MIB);
    rc = wbi_changes_size(in->changes, in->change_count, ret, err);
    if (rc == WB_OK)
        *ret += total;
    return rc;
}

/* What in points to, behind a, in a's own memory; before it, room for an error that somebody
 * will read. */
static void copy_in(struct append_op *a, const struct wbi_ledger_append *in)
{
    char *at = (char *)(a + 1);

    a->op.err = NULL;
    if (in->done != NULL) {
        a->op.err = (struct wbi_error *)(void *)at;
        at += sizeof(struct wbi_error);
    }
    a->changes = (struct wbi_change *)(void *)at;
    at = wbi_changes_copy(at, in->changes, in->change_count);
    a->row = *in->row;
#define X(name) a->row.name = wbi_text_move(&at, in->row->name);
    WBI_ROW_TEXTS(X)
#undef X
}

wb_rc wbi_ledger_append(struct wbi_ledger *ledger, const struct wbi_ledger_append *append,
                        struct wbi_error *err)
{
    struct append_op *a;
    size_t total;
    wb_rc rc = measure(append, &total, err);

    if (rc != WB_OK)
        return rc;
    total += sizeof(*a) + (append->done != NULL ? sizeof(struct wbi_error) : 0);
    a = append->done == NULL ? wbi_belt_take(&ledger->rows, total) : wbi_alloc(total);
    if (a == NULL)
        return wbi_fail_nomem(err);
    a->op.apply = apply_append;
    a->op.done = end_append;
    a->op.size = total;
    a->op.direct = a->op.lazy = append->done == NULL; /* nothing to post for nobody */
    a->op.rc = WB_OK;
    a->ledger = ledger;
    a->change_count = append->change_count;
    a->never_opened = append->never_opened;
    a->copied = true;
    a->done = append->done;
    a->arg = append->arg;
    copy_in(a, append);
    if (a->row.time_ms == 0)
        a->row.time_ms = wbi_wall_ms(&ledger->clock);
    atomic_store_explicit(&ledger->appended, true, memory_order_relaxed);
    rc = wbi_store_submit(ledger->store, &a->op, err);
    if (rc != WB_OK && append->done == NULL)
        wbi_belt_give(&ledger->rows, a);
    else if (rc != WB_OK)
        wbi_free(a);
    return rc;
}

bool wbi_ledger_behind(struct wbi_ledger *ledger)
{
    return wbi_store_behind(ledger->store);
}

wb_rc wbi_ledger_append_wait(struct wbi_ledger *ledger, const struct wbi_row *row, int64_t *ret_seq,
                             struct wbi_error *err)
{
    struct append_op a = {.op = {.apply = apply_append}, .ledger = ledger, .row = *row};
    struct wbi_ledger_append in = {.row = row};
    wb_rc rc = measure(&in, &a.op.size, err);

    if (rc != WB_OK)
        return rc;
    if (a.row.time_ms == 0)
        a.row.time_ms = wbi_wall_ms(&ledger->clock);
    rc = wbi_store_run(ledger->store, &a.op, err);
    if (rc == WB_OK && ret_seq != NULL)
        *ret_seq = a.row.seq;
    return rc;
}

static wb_rc apply_nothing(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err)
{
    (void)op;
    (void)tx;
    (void)err;
    return WB_OK;
}

wb_rc wbi_ledger_flush(struct wbi_ledger *ledger, struct wbi_error *err)
{
    struct wbi_op op = {.apply = apply_nothing};

    return wbi_store_run(ledger->store, &op, err);
}
