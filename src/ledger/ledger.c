/* SPDX-License-Identifier: Apache-2.0
 * ledger/ledger.c: opening: a bounded look at the tail, then the calls that a
 * dead process left open (C1.1, C12.2). */
#include "ledger/ledger.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "ledger/ledger_int.h"

enum { TAIL_ROWS = 32, CLOSE_AT_ONCE = 128 };

wb_rc wbi_ledger_open(struct wbi_store *store, const struct wbi_ledger_options *options,
                      struct wbi_ledger **ret, size_t *ret_closed, struct wbi_error *err)
{
    struct wbi_ledger *l = wbi_zalloc(sizeof(*l));
    size_t closed = 0;
    wb_rc rc;

    if (l == NULL)
        return wbi_fail_nomem(err);
    wbi_belt_init(&l->rows);
    l->store = store;
    l->clock = options->clock;
    l->close_call = options->close_call;
    l->close_arg = options->close_arg;
    rc = wbi_sha256_new(&l->sha);
    if (rc != WB_OK)
        rc = wbi_fail(err, rc, "ledger: cannot hash: out of memory");
    else if (!options->examine)
        rc = wbi_ledger_check_tail(l, err);
    if (rc == WB_OK && !options->examine)
        rc = wbi_ledger_recover(l, &closed, err);
    if (rc != WB_OK) {
        wbi_ledger_free(l);
        return rc;
    }
    *ret = l;
    if (ret_closed != NULL)
        *ret_closed = closed;
    return WB_OK;
}

void wbi_ledger_free(struct wbi_ledger *l)
{
    if (l == NULL)
        return;
    if (atomic_load(&l->appended))
        wbi_store_stop(l->store); /* rows on their way point to this */
    wbi_belt_end(&l->rows);
    wbi_sha256_free(l->sha);
    wbi_free(l);
}

static wb_rc bad_tail(struct wbi_error *err, int64_t seq)
{
    return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                         "state directory refused: row %lld of its ledger was changed; see "
                         "`waybill ledger verify`, then restore it or move the directory away",
                         (long long)seq);
}

static wb_rc check_rows(struct wbi_ledger *l, struct wbi_row *rows, size_t n, struct wbi_error *err)
{
    struct wbi_witness anchor;
    uint8_t hash[WBI_SHA256_SIZE];
    wb_rc rc = n > 0 ? wbi_store_anchor(l->store, &anchor, err) : WB_OK;

    for (size_t i = 0; rc == WB_OK && i < n; i++) { /* newest first */
        bool first = rows[i].seq == anchor.seq + 1;
        if (rows[i].ill_typed || (i + 1 < n && rows[i + 1].seq != rows[i].seq - 1))
            return bad_tail(err, rows[i].seq);
        if (!first && i + 1 == n)
            break; /* the one before it was not read */
        rc = wbi_chain_hash(l->sha, first ? anchor.hash : rows[i + 1].hash, &rows[i], hash);
        if (rc == WB_OK && memcmp(hash, rows[i].hash, sizeof(hash)) != 0)
            return bad_tail(err, rows[i].seq);
    }
    return rc;
}

wb_rc wbi_ledger_check_tail(struct wbi_ledger *l, struct wbi_error *err)
{
    struct wbi_row_query q = {.newest_first = true, .max = TAIL_ROWS};
    struct wbi_arena *arena;
    struct wbi_row *rows;
    size_t n;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_store_rows(l->store, arena, &q, &rows, &n, err);
    if (rc == WB_OK)
        rc = check_rows(l, rows, n, err);
    wbi_arena_free(arena);
    return rc;
}

struct recover_op {
    struct wbi_op op; /* first: the writer hands it back */
    struct wbi_ledger *ledger;
    struct wbi_arena *arena;
    size_t found, closed;
};

struct wbi_unfinished wbi_ledger_unfinished(const struct wbi_row *row)
{
    if (wbi_str_eqz(row->kind, WBI_KIND_ASKED))
        return (struct wbi_unfinished){
            WBI_KIND_APPROVAL_DENIED,
            "the runtime ended while this call waited for an approval; nothing was executed"};
    return (struct wbi_unfinished){WBI_KIND_OUTCOME_UNKNOWN,
                                   "the runtime ended before the outcome of this call was known"};
}

/* What can be said about any call. */
static wb_rc minimal_outcome(struct wbi_ledger *l, const struct wbi_row *intent,
                             struct wbi_arena *arena, struct wbi_row *out)
{
    struct wbi_unfinished was = wbi_ledger_unfinished(intent);
    const struct wbi_kind_row *kind = wbi_kind_row(was.kind);
    struct wbi_buf b;
    struct wbi_jw w = wbi_jw_to(&b);

    wbi_buf_init_arena(&b, arena, WBI_LIMIT_ROW_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "tool_name", intent->tool);
    wbi_jw_kstrz(&w, "status", "error");
    wbi_jw_kstrz(&w, "summary_text", was.message);
    wbi_jw_knull(&w, "result");
    wbi_jw_key(&w, "error");
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "kind", kind->kind);
    wbi_jw_kstrz(&w, "message", was.message);
    wbi_jw_kstrz(&w, "recovery_hint", kind->hint);
    wbi_jw_kbool(&w, "retryable", false);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&b) != WB_OK)
        return WB_ENOMEM;
    *out = *intent;
    out->kind = WBI_LIT(WBI_KIND_OUTCOME);
    out->status = WBI_LIT("error");
    out->error_kind = wbi_str_z(kind->kind);
    out->time_ms = wbi_wall_ms(&l->clock);
    out->duration_us = -1;
    out->canonical = wbi_buf_str(&b);
    out->receipt = wbi_arena_fmt(arena, "Error: %s (not retryable)\n%s\nNext: %s\n", kind->kind,
                                 was.message, kind->hint);
    return out->receipt.p != NULL ? WB_OK : WB_ENOMEM;
}

static wb_rc apply_recover(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err)
{
    struct recover_op *r = (struct recover_op *)op;
    struct wbi_ledger *l = r->ledger;
    struct wbi_row *intents;
    size_t n;
    wb_rc rc = wbi_tx_orphans(tx, r->arena, CLOSE_AT_ONCE, &intents, &n, err);

    r->found = rc == WB_OK ? n : 0;
    r->closed = 0; /* may run twice */
    for (size_t i = 0; rc == WB_OK && i < n; i++) {
        struct wbi_row out;
        rc = minimal_outcome(l, &intents[i], r->arena, &out);
        if (rc == WB_OK && l->close_call != NULL)
            rc = l->close_call(l->close_arg, &intents[i], r->arena, &out);
        if (rc != WB_OK)
            return wbi_fail(err, rc, "ledger: cannot close an open call");
        rc = wbi_ledger_put_row(l, tx, &out, false, err);
        if (rc == WB_EEXISTS) /* it has an outcome: only the note was left */
            rc = wbi_tx_close_call(tx, out.call_id, err);
        else if (rc == WB_OK)
            r->closed++;
    }
    return rc;
}

wb_rc wbi_ledger_recover(struct wbi_ledger *l, size_t *ret_closed, struct wbi_error *err)
{
    struct recover_op r = {.ledger = l};
    struct wbi_error mine = WBI_ERROR_INIT;
    bool due = false;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &r.arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_store_has_orphans(l->store, &due, &mine);
    while (rc == WB_OK && due) {
        r.op = (struct wbi_op){.apply = apply_recover};
        rc = wbi_store_run(l->store, &r.op, &mine);
        if (rc == WB_OK) {
            *ret_closed += r.closed;
            due = r.found == CLOSE_AT_ONCE;
        }
        wbi_arena_reset(r.arena);
    }
    wbi_arena_free(r.arena);
    if (rc != WB_OK &&
        (mine.kind == WBI_KIND_LOW_DISK_SPACE || mine.kind == WBI_KIND_STATE_UNAVAILABLE) && due)
        return WB_OK; /* reads go on; the next start closes them */
    if (rc != WB_OK && err != NULL)
        *err = mine;
    return rc;
}
