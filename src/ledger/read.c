/* SPDX-License-Identifier: Apache-2.0
 * ledger/read.c: lists, single calls, and a row as JSON. */
#include "base/checked.h"
#include "base/limits.h"
#include "ledger/lean.h"
#include "ledger/ledger_int.h"

static wb_rc list(struct wbi_ledger *l, const struct wbi_row_query *query, bool whole,
                  wbi_ledger_each_fn *each, void *arg, struct wbi_error *err)
{
    struct wbi_row_query q = *query;
    size_t left = query->max != 0 ? query->max : SIZE_MAX, n = 1;
    struct wbi_arena *arena;
    struct wbi_row *rows;
    bool go_on = true;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    while (rc == WB_OK && go_on && left > 0 && n > 0) {
        q.max = WBI_MIN(left, (size_t)WBI_LIMIT_READ_CHUNK_ROWS);
        rc = wbi_store_rows(l->store, arena, &q, &rows, &n, err);
        for (size_t i = 0; rc == WB_OK && go_on && i < n; i++) {
            if (whole && wbi_lean_fill(arena, &rows[i]) != WB_OK) {
                rc = wbi_fail_nomem(err);
                break;
            }
            go_on = each(arg, &rows[i]);
            q.after_seq = rows[i].seq;
        }
        if (rc == WB_OK)
            left -= n;
        if (q.newest_first && q.after_seq == 1)
            break; /* 0 would mean the end again */
        wbi_arena_reset(arena);
    }
    wbi_arena_free(arena);
    return rc;
}

wb_rc wbi_ledger_list(struct wbi_ledger *l, const struct wbi_row_query *query,
                      wbi_ledger_each_fn *each, void *arg, struct wbi_error *err)
{
    return list(l, query, true, each, arg, err);
}

wb_rc wbi_ledger_list_stored(struct wbi_ledger *l, const struct wbi_row_query *query,
                             wbi_ledger_each_fn *each, void *arg, struct wbi_error *err)
{
    return list(l, query, false, each, arg, err);
}

static void take(struct wbi_record *record, const struct wbi_row *row)
{
    if (wbi_str_eqz(row->kind, WBI_KIND_INTENT) || wbi_str_eqz(row->kind, WBI_KIND_ASKED)) {
        record->has_intent = true;
        record->intent = *row;
    } else if (wbi_str_eqz(row->kind, WBI_KIND_OUTCOME)) {
        record->has_outcome = true;
        record->outcome = *row;
    }
}

/* The one call that has this provider's id. */
static wb_rc by_provider(struct wbi_ledger *l, struct wbi_arena *arena, struct wbi_str id,
                         struct wbi_str *ret_call, struct wbi_error *err)
{
    struct wbi_row_query q = {.provider_call_id = id, .max = WBI_LIMIT_READ_CHUNK_ROWS};
    struct wbi_row *rows;
    size_t n;
    wb_rc rc = wbi_store_rows(l->store, arena, &q, &rows, &n, err);

    if (rc != WB_OK)
        return rc;
    if (n == 0)
        return wbi_fail(err, WB_ENOTFOUND,
                        "ledger: no call has the id %.*s; `waybill ledger list` shows them",
                        WBI_FMT(id));
    for (size_t i = 1; i < n; i++) {
        if (!wbi_str_eq(rows[i].call_id, rows[0].call_id))
            return wbi_fail(err, WB_EINPUT,
                            "ledger: several calls have the id %.*s; name one by its own id, such "
                            "as %.*s",
                            WBI_FMT(id), WBI_FMT(rows[0].call_id));
    }
    *ret_call = rows[0].call_id;
    return WB_OK;
}

wb_rc wbi_ledger_get(struct wbi_ledger *l, struct wbi_arena *arena, struct wbi_str id,
                     struct wbi_record *ret, struct wbi_error *err)
{
    struct wbi_row_query q = {.call_id = id, .max = 8};
    struct wbi_record record = {.has_intent = false};
    struct wbi_row *rows;
    size_t n = 0;
    wb_rc rc = wbi_store_rows(l->store, arena, &q, &rows, &n, err);

    if (rc == WB_OK && n == 0) {
        rc = by_provider(l, arena, id, &q.call_id, err);
        if (rc == WB_OK)
            rc = wbi_store_rows(l->store, arena, &q, &rows, &n, err);
    }
    while (rc == WB_OK && n > 0) { /* large rows come one at a time */
        for (size_t i = 0; i < n; i++)
            take(&record, &rows[i]);
        q.after_seq = rows[n - 1].seq;
        rc = wbi_store_rows(l->store, arena, &q, &rows, &n, err);
    }
    if (rc == WB_OK && wbi_lean_fill(arena, &record.outcome) != WB_OK)
        rc = wbi_fail_nomem(err);
    if (rc == WB_OK)
        *ret = record;
    return rc;
}

/* JSON as it was given; a string where somebody has tampered with it. */
static void put_json(struct wbi_jw *w, const char *name, struct wbi_str text)
{
    struct wbi_arena *arena;
    const wbi_json *v;
    bool valid = false;

    if (text.p == NULL)
        return;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK) {
        valid = wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL) == WB_OK;
        wbi_arena_free(arena);
    }
    if (valid)
        wbi_jw_kraw(w, name, text);
    else
        wbi_jw_kstr(w, name, text);
}

static void put_text(struct wbi_jw *w, const char *name, struct wbi_str text)
{
    if (text.p != NULL)
        wbi_jw_kstr(w, name, text);
}

void wbi_ledger_row_json(struct wbi_jw *w, const struct wbi_row *row)
{
    char time[WBI_RFC3339_SIZE], hash[WBI_SHA256_HEX];

    wbi_time_format(row->time_ms, time);
    wbi_hex(row->hash, sizeof(row->hash), hash);
    wbi_jw_obj(w);
    wbi_jw_kint(w, "seq", row->seq);
    wbi_jw_kstr(w, "kind", row->kind);
    wbi_jw_kstr(w, "call_id", row->call_id);
    wbi_jw_kstrz(w, "time", time);
    wbi_jw_kint(w, "time_ms", row->time_ms);
    put_text(w, "tool", row->tool);
    put_text(w, "status", row->status);
    put_text(w, "error_kind", row->error_kind);
    if (row->duration_us >= 0)
        wbi_jw_kint(w, "duration_us", row->duration_us);
    put_text(w, "conversation", row->conversation);
    put_text(w, "provider_call_id", row->provider_call_id);
    put_text(w, "principal", row->principal);
    put_text(w, "effect", row->effect);
    put_text(w, "owner", row->owner);
    put_json(w, "invocation", row->invocation);
    put_json(w, "canonical", row->canonical);
    put_json(w, "result", row->result);
    put_text(w, "receipt", row->receipt);
    put_json(w, "artifacts", row->artifacts);
    put_json(w, "timings", row->timings);
    put_json(w, "policy", row->policy);
    put_json(w, "trust", row->trust);
    put_json(w, "events", row->events);
    wbi_jw_kstrz(w, "hash", hash);
    wbi_jw_obj_end(w);
}
