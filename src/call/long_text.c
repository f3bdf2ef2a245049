/* SPDX-License-Identifier: Apache-2.0
 * call/long_text.c */
#include "call/long_text.h"

#include "artifact/spool.h"
#include "base/checked.h"
#include "base/limits.h"
#include "call/runtime.h"
#include "call/stages_int.h"
#include "family/generic/generic.h"

#define PIECE ((size_t)64 * 1024)

struct keeping {
    struct wbi_exec *exec;
    struct wbi_shown *shown;
    uint64_t bytes;
};

static void free_shown(void *shown)
{
    wbi_shown_free(shown);
}

struct wbi_shown *wbi_long_shown(struct wbi_exec *x)
{
    struct wbi_shown *shown;

    if (wbi_shown_new(wbi_artifact_dir(x->runtime->artifacts), x->runtime->secrets, WBI_NONE,
                      &shown) != WB_OK)
        return NULL;
    if (wbi_arena_defer(x->arena, free_shown, shown) == WB_OK)
        return shown;
    wbi_shown_free(shown);
    return NULL;
}

void wbi_long_done(struct wbi_exec *x, struct wbi_shown *shown, uint64_t bytes, struct wbi_str path,
                   struct wbi_str audit)
{
    struct wbi_complete complete = {.ok = true, .bounded = true, .audit = audit};
    struct wbi_projection p = {.arena = x->arena, .budget_tokens = wbi_call_budget(x->call)};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_generic_put_shown(&p, shown, bytes, path, &w, &err) != WB_OK ||
        wbi_buf_rc(&out) != WB_OK) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "the output could not be shown: %s", err.text);
        return;
    }
    complete.output = wbi_buf_str(&out);
    wbi_exec_done(x, &complete);
}

static void on_kept(void *arg, wb_rc rc, const struct wbi_artifact got[WBI_SPOOL_STREAMS],
                    const struct wbi_error *err)
{
    struct keeping *k = arg;
    struct wbi_exec *x = k->exec;
    struct wbi_str path = WBI_NONE;

    (void)rc; /* what could not be kept has no name, or says in its facts what is missing */
    (void)err;
    if (got[0].name[0] != '\0')
        path = wbi_artifact_path(x->runtime->artifacts, x->arena, got[0].name);
    if (path.p == NULL || wbi_runtime_note_artifact(x->call, path, &got[0], NULL) != WB_OK ||
        wbi_shown_end(k->shown) != WB_OK)
        wbi_exec_fail(x, WBI_KIND_INVALID_TOOL_OUTPUT,
                      "%.*s ran, but its output of %llu bytes could not be kept; at most %u can be "
                      "read as a value",
                      WBI_FMT(x->tool->model_name), (unsigned long long)k->bytes,
                      WBI_LIMIT_CAPTURE);
    else
        wbi_long_done(x, k->shown, k->bytes, path, WBI_NONE);
}

bool wbi_long_text(struct wbi_exec *x, struct wbi_str text)
{
    static const char *const roles[WBI_SPOOL_STREAMS] = {"output", NULL};
    struct wbi_runtime *rt = x->runtime;
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_spool *spool;
    struct keeping *k;

    if (text.n <= WBI_LIMIT_CAPTURE || x->tool->family != &wbi_generic_family ||
        x->tool->output_compiled != NULL || rt->no_ledger ||
        wbi_runtime_open_artifacts(rt, NULL) != WB_OK)
        return false;
    k = wbi_arena_alloc(x->arena, sizeof(*k));
    if (k == NULL)
        return false;
    *k = (struct keeping){.exec = x, .shown = wbi_long_shown(x), .bytes = text.n};
    if (k->shown == NULL ||
        wbi_spool_open(rt->artifacts, wbi_str_z(x->call->name), roles, &spool, NULL) != WB_OK)
        return false;
    wbi_spool_add(spool, 0, text);
    for (size_t at = 0; at < text.n; at += PIECE)
        wbi_shown_feed(k->shown, wbi_str_head(wbi_str_from(text, at), WBI_MIN(PIECE, text.n - at)));
    if (wbi_spool_finish_later(spool, rt->loop, 1, on_kept, k) != WB_OK)
        on_kept(k, wbi_spool_finish(spool, 1, got, &err), got, &err);
    return true;
}
