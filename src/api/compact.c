/* SPDX-License-Identifier: Apache-2.0
 * api/compact.c */
#include "api/api_int.h"
#include "base/limits.h"
#include "builtin/builtin.h"
#include "catalog/tool.h"
#include "call/compact.h"
#include "family/canonical.h"
#include "family/receipt.h"
#include "ledger/ledger.h"
#include "waybill/compact.h"

wb_rc wb_compact_result(const char *canonical, size_t size, int rung, char **ret, size_t *ret_size,
                        wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena;
    struct wbi_str text;
    struct wbi_buf out;
    wb_rc rc;

    if (canonical == NULL || ret == NULL || rung < 0 || rung >= WBI_RUNGS)
        return wbi_api_fail_text(reterr, WB_EMISUSE,
                                 "wb_compact_result: NULL, or a rung that is not 0 to 3");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_compact_result(arena, wbi_str_make(canonical, size), (enum wbi_rung)rung, &text, &err);
    if (rc == WB_OK)
        wbi_buf_adds(&out, text);
    wbi_arena_free(arena);
    if (rc == WB_OK)
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    err.rc = rc;
    return wbi_api_fail(reterr, &err);
}

/* ---- from the ledger ---- */

struct lookup {
    struct wbi_runtime *rt;
    struct wbi_arena *arena;
    struct wbi_str call_id;
    struct wbi_record record;
    bool found;
};

static void look_up(void *arg)
{
    struct lookup *l = arg;

    l->found = wbi_ledger_get(l->rt->ledger, l->arena, l->call_id, &l->record, NULL) == WB_OK &&
               l->record.has_outcome && l->record.outcome.canonical.p != NULL;
}

static bool known(void *arg, struct wbi_arena *arena, struct wbi_str call_id,
                  struct wbi_compact_known *ret)
{
    wb_runtime *runtime = arg;
    struct lookup l = {.rt = runtime->rt, .arena = arena, .call_id = call_id};
    enum wbi_effect effect;

    wbi_api_with_loop(runtime, look_up, &l);
    if (!l.found)
        return false;
    ret->canonical = l.record.outcome.canonical;
    ret->receipt = l.record.outcome.receipt;
    effect = l.record.outcome.effect.p != NULL ? wbi_effect_by_name(l.record.outcome.effect) : 0;
    ret->mutates =
        effect == WBI_EFFECT_IDEMPOTENT_WRITE || effect == WBI_EFFECT_NON_IDEMPOTENT_WRITE;
    ret->external = effect == WBI_EFFECT_EXTERNAL;
    return true;
}

static wb_rc render(void *arg, struct wbi_arena *arena, struct wbi_str canonical,
                    struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_canonical c;
    wb_rc rc = wbi_canonical_parse(arena, canonical, &c, err);

    (void)arg;
    if (rc == WB_OK)
        rc = wbi_receipt_render(wbi_builtin_family_of(c.tool_name), &c, arena, out, err);
    return rc;
}

struct opening {
    struct wbi_runtime *rt;
    bool open;
};

/* Only a ledger that is already there is read; none is made for this. */
static void open_ledger(void *arg)
{
    struct opening *o = arg;

    o->open = wbi_runtime_keeps_ledger(o->rt) && wbi_runtime_ledger_exists(o->rt) &&
              wbi_runtime_open_ledger(o->rt, NULL) == WB_OK;
}

static bool has_ledger(wb_runtime *runtime)
{
    struct opening o = {.rt = runtime ? runtime->rt : NULL};

    if (runtime != NULL)
        wbi_api_with_loop(runtime, open_ledger, &o);
    return o.open;
}

wb_rc wb_compact_history(wb_runtime *runtime, const char *provider, const char *history,
                         size_t size, uint64_t budget, wb_compact_report *report, char **ret,
                         size_t *ret_size, wb_error **reterr)
{
    struct wbi_compact_source source = {known, render, runtime};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_compact_report r = {.minimum = 0};
    enum wbi_provider p;
    struct wbi_arena *arena;
    struct wbi_buf out;
    wb_rc rc;

    if (history == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_compact_history: NULL");
    if (runtime != NULL && wbi_api_check(runtime, "wb_compact_history", reterr) != WB_OK)
        return WB_EMISUSE;
    if (wbi_api_history_provider(provider, &p, &err) != WB_OK)
        return wbi_api_fail(reterr, &err);
    if (wbi_arena_new((size_t)1024 * WBI_MIB, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_compact_history(arena, p, wbi_str_make(history, size), budget,
                             has_ledger(runtime) ? &source : NULL, &out, &r, &err);
    wbi_arena_free(arena);
    if (report != NULL)
        *report = (wb_compact_report){r.tokens_before, r.tokens_after, r.minimum,
                                      r.results,       r.compacted,    r.folded};
    if (rc == WB_OK)
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    err.rc = rc;
    return wbi_api_fail(reterr, &err);
}
