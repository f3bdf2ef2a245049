/* SPDX-License-Identifier: Apache-2.0
 * api/ledger_replay.c: recorded calls shown under another budget. Nothing runs
 * and nothing is recorded. The ledger keeps the complete output of generic tools
 * (it is the Result's output), artifacts keep that of commands: both are projected
 * and rendered anew. Of other families there is only what was shown. */
#include "api/ledger_int.h"
#include "api/replay_int.h"
#include "base/limits.h"
#include "call/guards.h"
#include "call/outcome.h"
#include "call/views.h"
#include "family/generic/generic.h"
#include "family/receipt.h"
#include "text/tokens.h"

struct replay {
    struct wbi_runtime *rt;
    struct wbi_catalog *catalog;
    uint32_t budget;
    struct wbi_arena *arena; /* for one row */
    struct wbi_buf line;
    wb_line_cb on_line;
    void *arg;
    wb_rc rc;
};

/* The artifact that the first showing made stands in for the one this would make. */
static wb_rc keep_nothing(void *arg, const char *role, struct wbi_str bytes,
                          struct wbi_str *ret_path, struct wbi_error *err)
{
    const struct wbi_canonical *then = arg;
    const wbi_json *first = wbi_json_at(wbi_json_get(then->result, "artifacts"), 0);
    struct wbi_str path = wbi_json_get_str(first, "path");

    (void)role;
    (void)bytes;
    (void)err;
    *ret_path = path.p ? path : WBI_LIT("(an artifact)");
    return WB_OK;
}

static wb_rc project(struct replay *r, const struct wbi_family *family,
                     const struct wbi_canonical *then, struct wbi_complete *full,
                     struct wbi_buf *ret)
{
    struct wbi_sink sink = {keep_nothing, (void *)(uintptr_t)then};
    struct wbi_projection p = {
        .arena = r->arena, .budget_tokens = r->budget, .sink = &sink, .tool_name = then->tool_name};
    struct wbi_outcome outcome = {.state = WBI_OUTCOME_NONE};
    struct wbi_str summary = WBI_NONE;
    struct wbi_buf text, result;
    struct wbi_canonical now;
    wb_rc rc;

    full->ok = true;
    full->summary = then->summary;
    wbi_buf_init_arena(&result, r->arena, WBI_LIMIT_JSON_TEXT);
    rc = family->project(family->arg, full, &p, &result, &summary, NULL);
    if (rc == WB_OK)
        rc = wbi_outcome_succeed(&outcome, r->arena, then->summary, wbi_buf_str(&result),
                                 full->output);
    wbi_buf_init_arena(&text, r->arena, WBI_LIMIT_JSON_TEXT);
    if (rc == WB_OK)
        rc = wbi_view_canonical(&outcome, then->tool_name, &text);
    if (rc == WB_OK)
        rc = wbi_canonical_parse(r->arena, wbi_buf_str(&text), &now, NULL);
    return rc == WB_OK ? wbi_receipt_render(family, &now, r->arena, ret, NULL) : rc;
}

static const struct wbi_tool *find_tool(struct replay *r, struct wbi_str name)
{
    for (size_t i = 0; i < wbi_catalog_count(r->catalog); i++)
        if (wbi_str_eq(wbi_catalog_at(r->catalog, i)->model_name, name))
            return wbi_catalog_at(r->catalog, i);
    return NULL;
}

/* The complete output of a recorded success; WB_ENOTFOUND where it was not kept. */
static wb_rc complete(struct replay *r, const struct wbi_row *row, const struct wbi_family *family,
                      const struct wbi_canonical *then, struct wbi_complete *ret)
{
    struct wbi_command_output *command;
    const wbi_json *result, *invocation, *output;
    struct wbi_buf text;
    wb_rc rc;

    if (wbi_json_read(r->arena, row->result, WBI_JSON_STRICT, &result, NULL) != WB_OK ||
        wbi_json_read(r->arena, row->invocation, WBI_JSON_STRICT, &invocation, NULL) != WB_OK)
        return WB_ENOTFOUND;
    output = wbi_json_get(result, "output");
    if (family == &wbi_generic_family && output != NULL) {
        wbi_buf_init_arena(&text, r->arena, WBI_LIMIT_JSON_TEXT);
        wbi_json_write(&text, output);
        ret->output = wbi_buf_str(&text);
        return wbi_buf_rc(&text);
    }
    if (family != &wbi_command_family)
        return WB_ENOTFOUND;
    command = wbi_arena_zalloc(r->arena, sizeof(*command));
    if (command == NULL)
        return WB_ENOMEM;
    rc = wbi_replay_command(r->rt, r->arena, then->result,
                            wbi_json_get_str(wbi_json_get(invocation, "input"), "cmd"), r->budget,
                            command);
    ret->typed = command;
    return rc;
}

/* The receipt under the budget, and how it came about. */
static wb_rc again(struct replay *r, const struct wbi_row *row, const struct wbi_tool *tool,
                   struct wbi_buf *ret, const char **ret_how)
{
    const struct wbi_family *family = tool ? tool->family : &wbi_generic_family;
    struct wbi_complete full = {.ok = true};
    struct wbi_canonical then;
    wb_rc rc;

    *ret_how = "same";
    wbi_buf_adds(ret, row->receipt);
    if (wbi_tokens(row->receipt) <= r->budget || wbi_str_eqz(row->status, "error"))
        return wbi_buf_rc(ret); /* errors have a budget of their own */
    *ret_how = "recorded";
    if (wbi_canonical_parse(r->arena, row->canonical, &then, NULL) != WB_OK)
        return wbi_buf_rc(ret);
    rc = complete(r, row, family, &then, &full);
    if (rc == WB_ENOTFOUND)
        return wbi_buf_rc(ret);
    wbi_buf_clear(ret);
    if (rc == WB_OK)
        rc = project(r, family, &then, &full, ret);
    *ret_how = "exact";
    return rc;
}

static void write_line(struct replay *r, const struct wbi_row *row, const struct wbi_tool *tool,
                       struct wbi_str receipt, const char *how)
{
    struct wbi_jw w = wbi_jw_to(&r->line);

    wbi_buf_clear(&r->line);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "id", row->call_id);
    wbi_jw_kstr(&w, "tool", row->tool);
    wbi_jw_kstr(&w, "status", row->status);
    wbi_jw_kstrz(&w, "how", how);
    wbi_jw_kbool(&w, "allowed", tool != NULL && wbi_guards_lists(r->rt, row->principal, tool));
    wbi_jw_kint(&w, "tokens_then", (int64_t)wbi_tokens(row->receipt));
    wbi_jw_kint(&w, "tokens", (int64_t)wbi_tokens(receipt));
    wbi_jw_kstr(&w, "receipt", receipt);
    wbi_jw_obj_end(&w);
}

static bool replay_row(void *arg, const struct wbi_row *row)
{
    struct replay *r = arg;
    const struct wbi_tool *tool = find_tool(r, row->tool);
    struct wbi_buf receipt;
    const char *how;

    wbi_arena_reset(r->arena);
    wbi_buf_init_arena(&receipt, r->arena, WBI_LIMIT_RECEIPT);
    r->rc = again(r, row, tool, &receipt, &how);
    if (r->rc != WB_OK)
        return false;
    write_line(r, row, tool, wbi_buf_str(&receipt), how);
    r->rc = wbi_buf_rc(&r->line);
    if (r->rc == WB_OK)
        r->on_line(r->line.p, r->line.n, r->arg);
    return r->rc == WB_OK;
}

wb_rc wb_ledger_replay(wb_ledger *l, wb_runtime *runtime, const wb_ledger_filter *filter,
                       unsigned budget, wb_line_cb on_line, void *arg, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct replay r = {.budget = budget, .on_line = on_line, .arg = arg};
    struct wbi_row_query q = {.max = 0};
    wb_rc rc;

    if (l == NULL || runtime == NULL || on_line == NULL || budget == 0)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_replay: NULL or no budget");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    r.rt = runtime->rt;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &r.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&r.line, WBI_LIMIT_CALL_ARENA);
    rc = wbi_runtime_catalog(r.rt, &r.catalog, &err);
    if (rc == WB_OK)
        rc = wbi_filter_query(l, filter, &q, &err);
    q.kind = WBI_LIT(WBI_KIND_OUTCOME);
    if (rc == WB_OK)
        rc = wbi_filter_newest(l, filter, &q, &err);
    if (rc == WB_OK)
        rc = wbi_ledger_list(l->ledger, &q, replay_row, &r, &err);
    if (rc == WB_OK && r.rc != WB_OK)
        rc = wbi_fail(&err, r.rc, "a recorded call could not be shown again");
    wbi_buf_fini(&r.line);
    wbi_arena_free(r.arena);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}
