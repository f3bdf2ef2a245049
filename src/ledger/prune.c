/* SPDX-License-Identifier: Apache-2.0
 * ledger/prune.c: how far the oldest rows may go, then removing them in steps
 * short enough for other writers. Each step moves the anchor with its rows, so a
 * kill in between leaves a ledger that verifies. */
#include "base/checked.h"
#include "base/limits.h"
#include "ledger/checkpoint.h"
#include "ledger/ledger_int.h"

enum { ROWS_AT_ONCE = 2000 };

static wb_rc hold_calls(struct wbi_ledger *l, const struct wbi_prune_wish *wish, int64_t *upto,
                        struct wbi_prune_report *report, struct wbi_error *err)
{
    struct wbi_arena *arena;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && i < wish->calls_n; i++) {
        struct wbi_row_query q = {.call_id = wish->calls[i], .max = 1};
        struct wbi_row *rows;
        size_t n;
        rc = wbi_store_rows(l->store, arena, &q, &rows, &n, err);
        if (rc == WB_OK && n > 0 && rows[0].seq <= *upto) {
            *upto = rows[0].seq - 1;
            report->held_call = wish->calls[i];
        }
        wbi_arena_reset(arena);
    }
    wbi_arena_free(arena);
    return rc;
}

static wb_rc find_cut(struct wbi_ledger *l, const struct wbi_prune_wish *wish, int64_t *ret,
                      struct wbi_prune_report *report, struct wbi_error *err)
{
    struct wbi_witness tail;
    int64_t upto, first = 0, open = 0;
    wb_rc rc = wbi_store_tail(l->store, &tail, err);

    if (rc == WB_OK && wish->before_ms != INT64_MAX)
        rc = wbi_store_first_since(l->store, wish->before_ms, &first, err);
    if (rc == WB_OK)
        rc = wbi_store_first_open(l->store, &open, err);
    if (rc != WB_OK)
        return rc;
    upto = first > 0 ? first - 1 : tail.seq;
    upto = WBI_MIN(upto, tail.seq - WBI_MIN(wish->keep, tail.seq));
    if (open > 0 && open <= upto) {
        upto = open - 1;
        report->held_open = open;
    }
    rc = hold_calls(l, wish, &upto, report, err);
    *ret = upto;
    return rc;
}

struct prune_op {
    struct wbi_op op; /* first: the writer hands it back */
    int64_t upto, anchor;
};

static wb_rc apply_prune(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err)
{
    struct prune_op *p = (struct prune_op *)op;

    return wbi_tx_prune(tx, p->upto, ROWS_AT_ONCE, &p->anchor, err);
}

static wb_rc remove_rows(struct wbi_ledger *l, int64_t from, int64_t upto, struct wbi_error *err)
{
    struct prune_op p = {.upto = upto, .anchor = from};
    struct wbi_witness w;
    wb_rc rc = wbi_store_row_hash(l->store, upto, &w, err);

    if (rc == WB_OK)
        rc = wbi_checkpoint_anchor(l, &w, err);
    while (rc == WB_OK && p.anchor < upto) {
        p.op = (struct wbi_op){.apply = apply_prune};
        rc = wbi_store_run(l->store, &p.op, err);
    }
    return rc;
}

wb_rc wbi_ledger_prune(struct wbi_ledger *l, const struct wbi_prune_wish *wish,
                       struct wbi_prune_report *ret, struct wbi_error *err)
{
    struct wbi_prune_report report = {.removed = 0};
    struct wbi_witness anchor;
    int64_t upto = 0;
    wb_rc rc = find_cut(l, wish, &upto, &report, err);

    if (rc == WB_OK)
        rc = wbi_store_anchor(l->store, &anchor, err);
    if (rc != WB_OK)
        return rc;
    upto = WBI_MAX(upto, anchor.seq);
    report.removed = upto - anchor.seq;
    report.first_kept = upto + 1;
    if (!wish->dry && report.removed > 0)
        rc = remove_rows(l, anchor.seq, upto, err);
    if (rc == WB_OK)
        *ret = report;
    return rc;
}
