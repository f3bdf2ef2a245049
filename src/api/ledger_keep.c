/* SPDX-License-Identifier: Apache-2.0
 * api/ledger_keep.c: is the ledger whole, and how long is it kept: verify,
 * checkpoints, prune, statistics. */
#include "api/ledger_int.h"
#include "base/limits.h"
#include "ledger/checkpoint.h"

/* ---- verify ---- */

struct verdict {
    struct wbi_verify_report rows;
    struct wbi_checkpoints own, other; /* the user's witness, and the one named */
    /* From before the witness was read: its first line comes before the first row, and a
     * statement before the rows it lets go. */
    struct wbi_witness tail, anchor;
    const char *what;
    bool good;
};

static void decide(struct verdict *v, bool other)
{
    bool stated = v->own.good && v->own.anchor.seq >= v->anchor.seq;

    v->good = false;
    if (!v->rows.good)
        v->what = v->rows.what;
    else if (!v->own.exists && v->tail.seq > 0)
        v->what = "the witness in the user's state folder is missing; if you removed it, `waybill "
                  "ledger checkpoint --restart` begins a new one";
    else if (!v->own.good)
        v->what = v->own.what;
    else if (other && !v->other.good)
        v->what = v->other.what;
    else if (v->anchor.seq > 0 && !stated)
        v->what = "the oldest rows are gone and no signed statement says they may be";
    else
        v->good = true;
}

static wb_rc examine(wb_ledger *l, struct wbi_arena *arena, const char *witness, struct verdict *v,
                     struct wbi_error *err)
{
    struct wbi_witness *heads;
    size_t n;
    wb_rc rc = wbi_store_tail(l->store, &v->tail, err);

    if (rc == WB_OK)
        rc = wbi_store_anchor(l->store, &v->anchor, err);
    if (rc == WB_OK)
        rc = wbi_checkpoints_read(l->ledger, arena, NULL, NULL, &v->own, err);
    if (rc == WB_OK && witness != NULL)
        rc = wbi_checkpoints_read(l->ledger, arena, witness, &v->own, &v->other, err);
    if (rc != WB_OK)
        return rc;
    n = v->own.heads_n + v->other.heads_n;
    heads = wbi_arena_array(arena, n + 1, sizeof(*heads));
    if (heads == NULL)
        return wbi_fail_nomem(err);
    if (v->own.heads_n > 0)
        memcpy(heads, v->own.heads, v->own.heads_n * sizeof(*heads));
    if (v->other.heads_n > 0)
        memcpy(heads + v->own.heads_n, v->other.heads, v->other.heads_n * sizeof(*heads));
    rc = wbi_ledger_verify(l->ledger, heads, n, &v->rows, err);
    if (rc == WB_OK)
        decide(v, witness != NULL);
    return rc;
}

static void write_checkpoints(struct wbi_jw *w, const struct wbi_checkpoints *c)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "state", !c->exists ? "missing" : c->good ? "ok" : "bad");
    wbi_jw_kint(w, "checkpoints", (int64_t)c->heads_n);
    wbi_jw_kint(w, "keys", (int64_t)c->keys);
    if (c->last[0] != '\0')
        wbi_jw_kstrz(w, "last", c->last);
    if (c->public_key[0] != '\0')
        wbi_jw_kstrz(w, "public_key", c->public_key);
    wbi_jw_obj_end(w);
}

static void write_head(struct wbi_jw *w, const char *name, const struct wbi_witness *at)
{
    char hash[WBI_SHA256_HEX];

    wbi_hex(at->hash, sizeof(at->hash), hash);
    wbi_jw_key(w, name);
    wbi_jw_obj(w);
    wbi_jw_kint(w, "seq", at->seq);
    wbi_jw_kstrz(w, "hash", hash);
    wbi_jw_obj_end(w);
}

static void write_verdict(struct wbi_jw *w, const struct verdict *v)
{
    wbi_jw_obj(w);
    wbi_jw_kbool(w, "good", v->good);
    wbi_jw_kint(w, "rows", v->rows.rows);
    if (!v->good) {
        if (v->rows.first_bad > 0)
            wbi_jw_kint(w, "first_bad", v->rows.first_bad);
        wbi_jw_kstrz(w, "what", v->what);
    }
    write_head(w, "head", &v->rows.head);
    write_head(w, "anchor", &v->anchor);
    wbi_jw_key(w, "witness");
    write_checkpoints(w, &v->own);
    wbi_jw_obj_end(w);
}

wb_rc wb_ledger_verify(wb_ledger *l, const char *witness, int *ret_good, char **ret,
                       size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct verdict v = {.good = false};
    struct wbi_arena *arena;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc;

    if (l == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_verify: NULL");
    rc = wbi_ledger_refresh(l, /* to_write= */ witness != NULL, reterr);
    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = examine(l, arena, witness, &v, &err);
    if (rc == WB_OK)
        write_verdict(&w, &v);
    wbi_arena_free(arena);
    if (rc == WB_OK && ret_good != NULL)
        *ret_good = v.good;
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

/* ---- checkpoints ---- */

static wb_rc state_it(wb_ledger *l, wb_checkpoint_op op, struct wbi_witness *head,
                      struct wbi_error *err)
{
    wb_rc rc = op == WB_CHECKPOINT_RESTART ? wbi_checkpoint_restart(l->ledger, err)
                                           : wbi_checkpoint_write(l->ledger, NULL, err);

    if (rc == WB_OK && op == WB_CHECKPOINT_ROTATE)
        rc = wbi_checkpoint_rotate(l->ledger, err);
    if (rc == WB_OK) /* the first line of the new key, too */
        rc = wbi_checkpoint_write(l->ledger, head, err);
    return rc;
}

wb_rc wb_ledger_checkpoint(wb_ledger *l, wb_checkpoint_op op, char **ret, size_t *ret_size,
                           wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_checkpoints c;
    struct wbi_witness head;
    struct wbi_arena *arena;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc;

    if (l == NULL || ret == NULL || op < WB_CHECKPOINT_WRITE || op > WB_CHECKPOINT_RESTART)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_checkpoint: NULL, or no operation");
    rc = wbi_ledger_refresh(l, /* to_write= */ true, reterr);
    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = state_it(l, op, &head, &err);
    if (rc == WB_OK)
        rc = wbi_checkpoints_read(l->ledger, arena, NULL, NULL, &c, &err);
    if (rc == WB_OK) {
        wbi_jw_obj(&w);
        write_head(&w, "head", &head);
        wbi_jw_key(&w, "witness");
        write_checkpoints(&w, &c);
        wbi_jw_obj_end(&w);
    }
    wbi_arena_free(arena);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

/* ---- prune ---- */

enum { TASKS_MAX = 4096 };

static bool task_runs(wb_ledger *l, const wbi_json *fact)
{
    struct wbi_str state = wbi_json_get_str(fact, "state");

    return (wbi_str_eqz(state, "queued") || wbi_str_eqz(state, "running") ||
            wbi_str_eqz(state, "cancelling")) &&
           wbi_store_owner_alive(l->store, wbi_json_get_str(fact, "owner"));
}

/* Calls of tasks that may still run: their facts name owner and call. */
static wb_rc running_calls(wb_ledger *l, struct wbi_arena *arena, struct wbi_prune_wish *wish,
                           struct wbi_error *err)
{
    struct wbi_entry *entries;
    struct wbi_str *calls = wbi_arena_array(arena, TASKS_MAX, sizeof(*calls));
    struct wbi_str after = WBI_NONE;
    size_t n = 1;
    wb_rc rc = calls ? WB_OK : wbi_fail_nomem(err);

    wish->calls = calls;
    while (rc == WB_OK && n > 0 && wish->calls_n < TASKS_MAX) {
        rc = wbi_store_list(l->store, arena, WBI_LIT("tasks"), WBI_NONE, after, 256, &entries, &n,
                            err);
        for (size_t i = 0; rc == WB_OK && i < n && wish->calls_n < TASKS_MAX; i++) {
            const wbi_json *v;
            after = entries[i].key;
            if (wbi_json_read(arena, entries[i].value, WBI_JSON_STRICT, &v, NULL) == WB_OK &&
                task_runs(l, v))
                calls[wish->calls_n++] = wbi_json_get_str(v, "call_id");
        }
    }
    return rc;
}

static void write_pruned(struct wbi_jw *w, const struct wbi_prune_report *r, bool dry)
{
    wbi_jw_obj(w);
    wbi_jw_kint(w, dry ? "would_remove" : "removed", r->removed);
    wbi_jw_kint(w, "first_kept", r->first_kept);
    if (r->held_call.p != NULL)
        wbi_jw_kstr(w, "held_by", r->held_call);
    else if (r->held_open > 0)
        wbi_jw_kstrz(w, "held_by", "a call that still runs");
    wbi_jw_obj_end(w);
}

wb_rc wb_ledger_prune(wb_ledger *l, const wb_ledger_retention *retention, char **ret,
                      size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_prune_wish wish = {.before_ms = INT64_MAX};
    struct wbi_prune_report report = {.removed = 0};
    struct wbi_arena *arena;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc;

    if (l == NULL || retention == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_prune: NULL");
    if (retention->older_than == NULL && retention->keep == 0)
        return wbi_api_fail_text(reterr, WB_EINPUT, "say which rows may go: older_than or keep");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    wish.keep = retention->keep > INT64_MAX ? INT64_MAX : (int64_t)retention->keep;
    wish.dry = retention->dry_run != 0;
    rc = wbi_filter_time(l, "older-than", retention->older_than, &wish.before_ms, &err);
    if (rc == WB_OK)
        rc = running_calls(l, arena, &wish, &err);
    if (rc == WB_OK)
        rc = wbi_ledger_prune(l->ledger, &wish, &report, &err);
    if (rc == WB_OK)
        write_pruned(&w, &report, wish.dry);
    wbi_arena_free(arena);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

/* ---- statistics ---- */

wb_rc wb_ledger_stats(wb_ledger *l, const wb_ledger_filter *filter, char **ret, size_t *ret_size,
                      wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_row_query q;
    struct wbi_buf out;
    wb_rc rc;

    if (l == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_stats: NULL");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_filter_query(l, filter, &q, &err);
    if (rc == WB_OK)
        rc = wbi_ledger_stats(l->ledger, &q, &out, &err);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}
