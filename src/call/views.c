/* SPDX-License-Identifier: Apache-2.0
 * call/views.c: canonical form, Result, envelope and record. */
#include "call/views.h"

#include "call/call.h"
#include "catalog/names.h"
#include "ledger/lean.h"

/* ---- canonical (C4.1) ---- */

void wbi_view_error(const struct wbi_fault *f, struct wbi_jw *w)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "kind", wbi_kind_row(f->kind)->kind);
    wbi_jw_kstr(w, "message", f->message);
    if (f->details.p != NULL)
        wbi_jw_kraw(w, "details", f->details);
    wbi_jw_kstr(w, "recovery_hint", wbi_fault_hint(f));
    wbi_jw_kbool(w, "retryable", wbi_fault_retryable(f));
    wbi_jw_obj_end(w);
}

wb_rc wbi_view_canonical(const struct wbi_outcome *o, struct wbi_str tool_name, struct wbi_buf *out)
{
    struct wbi_jw w = wbi_jw_to(out);
    bool ok = o->state == WBI_OUTCOME_SUCCESS;

    if (o->state == WBI_OUTCOME_NONE)
        return WB_EMISUSE;
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "tool_name", tool_name.p ? tool_name : WBI_LIT(""));
    wbi_jw_kstrz(&w, "status", ok ? "success" : "error");
    wbi_jw_kstr(&w, "summary_text", o->summary);
    wbi_jw_key(&w, "result");
    if (ok)
        wbi_jw_raw(&w, o->result);
    else
        wbi_jw_null(&w);
    wbi_jw_key(&w, "error");
    if (ok)
        wbi_jw_null(&w);
    else
        wbi_view_error(&o->fault, &w);
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(out);
}

/* ---- Result (C4.2) ---- */

static const char *result_status(const struct wbi_outcome *o)
{
    if (o->state == WBI_OUTCOME_SUCCESS)
        return "Ok";
    return wbi_fault_retryable(&o->fault) ? "Retryable" : "Error";
}

/* Of a name that was not found, as far as its syntax tells (C2.5). */
static struct wbi_str origin_by_name(struct wbi_arena *arena, struct wbi_str name)
{
    struct wbi_name_parts parts = wbi_name_parts(name);
    struct wbi_str origin = WBI_NONE;

    if (parts.origin == WBI_NAME_LOCAL)
        return WBI_LIT("local");
    if (parts.origin == WBI_NAME_MCP)
        origin = wbi_arena_fmt(arena, "mcp::%.*s", WBI_FMT(parts.server));
    return origin.p ? origin : WBI_LIT("unknown");
}

struct wbi_str wbi_call_origin(const struct wbi_call *call)
{
    if (call->tool != NULL)
        return call->tool->origin;
    if (call->named.origin.p != NULL)
        return call->named.origin;
    return origin_by_name(call->arena, call->inv.tool_name);
}

static void write_causes(struct wbi_jw *w, const struct wbi_fault *f, struct wbi_str origin)
{
    size_t depth = f->cause_count;

    for (size_t i = 0; i < depth; i++) {
        const struct wbi_cause *c = &f->causes[i];
        const struct wbi_kind_row *row = wbi_kind_row(c->kind);

        wbi_jw_key(w, "causedBy");
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "category", wbi_category_name(row->category));
        wbi_jw_kstr(w, "code", c->code.p ? c->code : wbi_str_z(row->code));
        wbi_jw_kstr(w, "message", c->message);
        wbi_jw_kstr(w, "origin", origin);
    }
    for (size_t i = 0; i < depth; i++)
        wbi_jw_obj_end(w);
}

static void write_result_error(struct wbi_jw *w, const struct wbi_fault *f, struct wbi_str origin)
{
    wbi_jw_key(w, "error");
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "category", wbi_category_name(wbi_kind_row(f->kind)->category));
    wbi_jw_kstr(w, "code", wbi_fault_code(f));
    wbi_jw_kstr(w, "message", f->message);
    if (f->details.p != NULL)
        wbi_jw_kraw(w, "details", f->details);
    wbi_jw_kbool(w, "isRetryable", wbi_fault_retryable(f));
    write_causes(w, f, origin);
    wbi_jw_kstr(w, "origin", origin);
    wbi_jw_obj_end(w);
}

int64_t wbi_call_duration_ms(const struct wbi_call *call)
{
    return (call->ended_ns - call->started_ns) / WBI_NS_PER_MS;
}

struct wbi_str wbi_call_tool_name(const struct wbi_call *call)
{
    if (call->tool != NULL)
        return call->tool->model_name;
    return call->named.model.p ? call->named.model : call->inv.tool_name;
}

struct wbi_str wbi_call_full_name(const struct wbi_call *call)
{
    struct wbi_str name = call->inv.tool_name;

    if (call->inv.name_space.n == 0)
        return name;
    return wbi_arena_fmt(call->arena, "%.*s__%.*s", WBI_FMT(call->inv.name_space), WBI_FMT(name));
}

struct wbi_str wbi_call_qualified(const struct wbi_call *call)
{
    if (call->tool != NULL)
        return call->tool->qualified;
    return call->named.qualified.p ? call->named.qualified : call->inv.tool_name;
}

static const char empty_snapshot[] = "{\"rateLimitIds\":[],\"clamped\":[],\"redactions\":[]}";

struct wbi_str wbi_call_snapshot(const struct wbi_call *call)
{
    return call->facts.policy_snapshot.p ? call->facts.policy_snapshot : wbi_str_z(empty_snapshot);
}

static struct wbi_str output_of(const struct wbi_outcome *o)
{
    return o->output.p ? o->output : o->result;
}

enum result_parts { WITH_OUTPUT = 1u << 0, WITH_POLICY = 1u << 1, WITH_CORRELATION = 1u << 2 };

static wb_rc write_result(const struct wbi_call *call, unsigned parts, struct wbi_buf *out)
{
    const struct wbi_outcome *o = &call->outcome;
    struct wbi_str origin = wbi_call_origin(call);
    struct wbi_jw w = wbi_jw_to(out);

    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "status", result_status(o));
    if (o->state != WBI_OUTCOME_SUCCESS)
        write_result_error(&w, &o->fault, origin);
    else if (parts & WITH_OUTPUT)
        wbi_jw_kraw(&w, "output", output_of(o));
    wbi_jw_kint(&w, "durationMs", wbi_call_duration_ms(call));
    wbi_jw_kint(&w, "attempts", call->facts.attempts ? call->facts.attempts : 1);
    if (call->tool != NULL)
        wbi_jw_kstr(&w, "resolvedVersion", call->tool->version);
    if (parts & WITH_POLICY)
        wbi_jw_kraw(&w, "policySnapshot", wbi_call_snapshot(call));
    if (parts & WITH_CORRELATION)
        wbi_jw_kstr(&w, "correlationId", call->inv.correlation_id);
    wbi_jw_kstr(&w, "origin", origin);
    if (call->facts.replayed)
        wbi_jw_kbool(&w, "replayed", true);
    if (call->facts.cached && !call->facts.cache_untold)
        wbi_jw_kbool(&w, "cached", true);
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(out);
}

wb_rc wbi_view_result(const struct wbi_call *call, struct wbi_buf *out)
{
    return write_result(call, WITH_OUTPUT | WITH_POLICY | WITH_CORRELATION, out);
}

wb_rc wbi_view_lean_result(const struct wbi_call *call, struct wbi_buf *out)
{
    unsigned parts = 0;

    if (call->outcome.state == WBI_OUTCOME_SUCCESS &&
        !wbi_lean_has_output(call->canonical, output_of(&call->outcome)))
        parts |= WITH_OUTPUT;
    if (!wbi_lean_has_correlation(call->redacted_invocation, call->inv.correlation_id))
        parts |= WITH_CORRELATION;
    return write_result(call, parts, out);
}
