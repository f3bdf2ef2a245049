/* SPDX-License-Identifier: Apache-2.0
 * call/line.c: one input line: its calls, and the invocation of each. */
#include "call/line.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"

struct wbi_call_line *wbi_call_line_new(struct wbi_loop *loop)
{
    struct wbi_call_line *line = wbi_zalloc(sizeof(*line));

    if (line == NULL ||
        wbi_loop_arena(loop, WBI_ARENA_MESSAGE, WBI_LIMIT_CALL_ARENA, &line->arena) != WB_OK) {
        wbi_free(line);
        return NULL;
    }
    line->refs = 1;
    return line;
}

void wbi_call_line_release(void *arg)
{
    struct wbi_call_line *line = arg;

    if (--line->refs > 0)
        return;
    wbi_arena_free(line->arena);
    wbi_free(line);
}

/* ---- its calls ---- */

/* A line whose calls can be made out although it must be refused (C2.4): each of them is
 * answered (C1.1). What is wrong with the line is in *err. */
static wb_rc refuse_calls(struct wbi_call_line *line, enum wbi_provider provider,
                          struct wbi_str text, const wbi_json **ret_tree, struct wbi_error *err)
{
    bool marked = wbi_str_starts(text, WBI_LIT("\xef\xbb\xbf")); /* a byte order mark */
    struct wbi_error why = *err;
    struct wbi_str problem, json = wbi_str_from(text, marked ? 3 : 0);
    wb_rc rc = wbi_json_read(line->arena, json, WBI_JSON_TO_REFUSE, ret_tree, NULL);

    if (rc == WB_ENOMEM)
        return wbi_fail_nomem(err);
    (void)wbi_fail(err, why.rc, "the line %s: %s at column %u",
                   rc == WB_OK ? "cannot be taken" : "is not JSON", why.text, why.column);
    if (rc != WB_OK ||
        wbi_wire_decode(line->arena, provider, *ret_tree, &line->turn, NULL) != WB_OK)
        return err->rc;
    problem = wbi_arena_str(line->arena, wbi_str_z(err->text));
    if (problem.p == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < line->turn.n; i++) {
        struct wbi_wire_call *w = &line->turn.calls[i];
        w->problem_kind = WBI_KIND_MALFORMED_CALL;
        w->problem = problem;
        w->parse_error = WBI_NONE;
        w->truncated = false;
        w->item = NULL; /* nothing but ids is echoed */
    }
    line->refused = true;
    return WB_OK;
}

wb_rc wbi_call_line_read(struct wbi_call_line *line, enum wbi_provider provider,
                         struct wbi_str text, const wbi_json **ret_tree, struct wbi_error *err)
{
    struct wbi_str kept = wbi_arena_str(line->arena, text);
    wb_rc rc;

    if (kept.p == NULL)
        return WB_ENOMEM;
    rc = wbi_json_read(line->arena, kept, WBI_JSON_STRICT, ret_tree, err);
    if (rc != WB_OK && rc != WB_ENOMEM && err->line > 0) /* not a line that is too long */
        return refuse_calls(line, provider, kept, ret_tree, err);
    if (rc != WB_OK)
        return rc;
    return wbi_wire_decode(line->arena, provider, *ret_tree, &line->turn, err);
}

/* ---- the invocation of a call ---- */

/* S1 members of the item and beside it; all are read, the first that is wrong is told. */
static wb_rc read_members(struct wbi_call *call, const struct wbi_wire_call *w)
{
    struct wbi_invocation *inv = &call->inv;
    const wbi_json *places[] = {w->invocation, w->beside};
    wb_rc first = WB_OK;

    for (size_t i = 0; i < WBI_COUNT(places); i++) {
        wb_rc rc = WB_OK;
        if (places[i] != NULL)
            rc = wbi_invocation_read(places[i], inv, first == WB_OK ? &call->rejected : NULL);
        if (first == WB_OK)
            first = rc;
    }
    if (inv->provider.p == NULL && w->provider != WBI_PROVIDER_NATIVE) /* which names none */
        inv->provider = wbi_str_z(wbi_provider_name(w->provider));
    return first;
}

wb_rc wbi_call_line_fill(const struct wbi_call_line *line, struct wbi_wire_call *w,
                         struct wbi_call *call)
{
    struct wbi_invocation *inv = &call->inv;
    struct wbi_buf text;
    wb_rc rc;

    call->wire = w;
    inv->tool_name = w->name;
    inv->name_space = w->name_space;
    if (w->kind == WBI_WIRE_MCP_CALL)
        wbi_invocation_rpc_id(inv, w->id_value, w->id);
    else
        inv->call_id = w->id;
    inv->native = w->kind == WBI_WIRE_NATIVE;
    inv->truncated = w->truncated;
    inv->model = w->model;
    inv->turn_id = w->turn_id;
    inv->traceparent = w->traceparent;
    inv->tracestate = w->tracestate;
    inv->input = w->input;
    rc = read_members(call, w);
    inv->tool_name = w->name; /* whatever stands beside the item: wbi_stage_resolve compares */
    if (w->is_text && rc == WB_OK) { /* text reaches a tool as {"input": …} */
        struct wbi_jw jw = wbi_jw_to(&text);
        wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_JSON_TEXT);
        wbi_jw_obj(&jw);
        wbi_jw_kstr(&jw, "input", w->text);
        wbi_jw_obj_end(&jw);
        if (wbi_buf_rc(&text) != WB_OK)
            return wbi_buf_rc(&text);
        rc = wbi_json_read(call->arena, wbi_buf_str(&text), WBI_JSON_STRICT, &inv->input, NULL);
        if (rc != WB_OK)
            return rc;
    }
    if (line->refused) /* ids are all that may be taken from it */
        inv->input = inv->headers = inv->metadata = NULL;
    if (inv->input == NULL)
        rc = wbi_json_read(call->arena, WBI_LIT("{}"), WBI_JSON_STRICT, &inv->input, NULL);
    return rc == WB_EINPUT ? WB_OK : rc; /* rejected has it */
}
