/* SPDX-License-Identifier: Apache-2.0
 * call/record.c */
#include "call/record.h"

#include "base/limits.h"
#include "call/guards.h"
#include "call/redact.h"
#include "call/views.h"
#include "family/envelope.h"
#include "family/generic/generic.h"
#include "ledger/lean.h"

static struct wbi_str or_else(struct wbi_str s, const char *json)
{
    return s.p ? s : wbi_str_z(json);
}

static void write_timings(struct wbi_jw *w, const struct wbi_call *call)
{
    struct wbi_buf *out = w->out;
    char started[WBI_RFC3339_SIZE];
    const char *before = "\"";

    wbi_time_format(call->started_wall_ms, started);
    wbi_jw_raw(w, WBI_LIT("{\"startedAt\":\""));
    wbi_buf_add(out, started, WBI_RFC3339_SIZE - 1);
    wbi_buf_add(out, "\",\"durationMs\":", 15);
    wbi_buf_addi(out, wbi_call_duration_ms(call));
    wbi_buf_add(out, ",\"stagesUs\":{", 13);
    for (int s = 0; s < WBI_STAGE_RECORD; s++) {
        if (call->stage_ns[s] < 1000) /* what took so little is not told */
            continue;
        wbi_buf_addz(out, before);
        wbi_buf_addz(out, wbi_stage_name((enum wbi_stage)s));
        wbi_buf_add(out, "\":", 2);
        wbi_buf_addi(out, call->stage_ns[s] / 1000);
        before = ",\"";
    }
    wbi_buf_add(out, "}}", 2);
}

/* Who asked, what ran, and what the executor noted. */
static void write_trust(struct wbi_jw *w, const struct wbi_call *call, bool lean)
{
    wbi_jw_obj(w);
    if (!lean)
        wbi_jw_kstr(w, "principal", call->inv.principal);
    if (call->tool != NULL) {
        if (!lean || !wbi_lean_has_tool(call->redacted_invocation, call->tool->qualified))
            wbi_jw_kstr(w, "tool", call->tool->qualified);
        wbi_jw_kstr(w, "version", call->tool->version);
        if (call->tool->tags != NULL)
            wbi_jw_kval(w, "tags", call->tool->tags);
        if (wbi_json_get_str(call->tool->output_schema, "$id").p != NULL)
            wbi_jw_kstr(w, "schemaRef", wbi_json_get_str(call->tool->output_schema, "$id"));
    }
    if (call->facts.trust.p != NULL)
        wbi_jw_kraw(w, "server", call->facts.trust);
    if (call->facts.approved_by.n > 0)
        wbi_jw_kstr(w, "answeredBy", call->facts.approved_by);
    if (call->facts.coercion.p != NULL)
        wbi_jw_kstr(w, "inputCoercion", call->facts.coercion);
    wbi_jw_kraw(w, "audit", or_else(call->facts.audit, "{}"));
    wbi_jw_obj_end(w);
}

static void write_events(struct wbi_jw *w, const struct wbi_call *call)
{
    const struct wbi_buf *kept = &call->event_briefs;
    struct wbi_buf *out = w->out;
    struct wbi_event_brief brief;
    char time[WBI_RFC3339_SIZE];
    int64_t told = call->started_wall_ms; /* most events of a call share their millisecond */

    wbi_jw_arr(w);
    /* where memory ran out, some would be missing: none is told then */
    for (size_t at = 0; wbi_buf_rc(kept) == WB_OK && at < kept->n; at += sizeof(brief)) {
        memcpy(&brief, kept->p + at, sizeof(brief));
        wbi_buf_addz(out, at == 0 ? "{\"type\":\"" : ",{\"type\":\"");
        wbi_buf_addz(out, wbi_event_type_name(brief.type));
        if (brief.wall_ms != told) {
            wbi_time_format(told = brief.wall_ms, time);
            wbi_buf_add(out, "\",\"time\":\"", 10);
            wbi_buf_add(out, time, WBI_RFC3339_SIZE - 1);
        }
        wbi_buf_add(out, "\",\"sequence\":", 13);
        wbi_buf_addu(out, brief.sequence);
        wbi_buf_addc(out, '}');
    }
    wbi_jw_arr_end(w);
}

wb_rc wbi_record_trust(struct wbi_call *call, struct wbi_str *ret)
{
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_JSON_TEXT);
    write_trust(&w, call, false);
    *ret = wbi_buf_str(&text);
    return wbi_buf_rc(&text);
}

static struct wbi_str part(const struct wbi_buf *all, size_t from, size_t to)
{
    return wbi_str_make(all->p + from, to - from);
}

/* The texts that the call does not have yet, one behind the other: a buffer each would cost
 * as much as what is written. */
static wb_rc write_texts(struct wbi_call *call, struct wbi_record_texts *t)
{
    struct wbi_buf all;
    struct wbi_jw w = wbi_jw_to(&all);
    size_t result, events, timings;
    wb_rc rc;

    wbi_buf_init_arena(&all, call->arena, WBI_LIMIT_CALL_ARENA);
    call->facts.cache_untold = call->admission == NULL || !call->admission->values.cache_log;
    rc = wbi_view_lean_result(call, &all);
    call->facts.cache_untold = false;
    result = all.n;
    write_events(&w, call);
    events = all.n;
    w.comma = false;
    write_timings(&w, call);
    timings = all.n;
    w.comma = false;
    write_trust(&w, call, true);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&all);
    if (rc != WB_OK)
        return rc;
    t->result = part(&all, 0, result);
    t->events = part(&all, result, events);
    t->timings = part(&all, events, timings);
    t->trust = part(&all, timings, all.n);
    return WB_OK;
}

static wb_rc make(struct wbi_call *call, struct wbi_record_texts *t)
{
    wb_rc rc = wbi_redacted_invocation(call, &t->invocation);

    if (rc == WB_OK)
        rc = write_texts(call, t);
    t->id = wbi_str_z(call->name);
    t->canonical = call->canonical;
    t->receipt = call->outcome.receipt;
    t->artifacts = or_else(call->facts.artifacts, "[]");
    t->policy = wbi_call_snapshot(call);
    if (rc == WB_OK && t->canonical.p == NULL) { /* RENDER had no memory for it */
        struct wbi_buf canonical;
        wbi_buf_init_arena(&canonical, call->arena, WBI_LIMIT_CALL_ARENA);
        rc = wbi_view_canonical(&call->outcome, wbi_call_tool_name(call), &canonical);
        t->canonical = wbi_buf_str(&canonical);
    }
    return rc;
}

wb_rc wbi_record_make(struct wbi_call *call, const struct wbi_record_texts **ret)
{
    struct wbi_record_texts *t = call->record;
    wb_rc rc;

    if (t == NULL) {
        t = wbi_arena_zalloc(call->arena, sizeof(*t));
        rc = t ? make(call, t) : WB_ENOMEM;
        if (rc != WB_OK)
            return rc;
        call->record = t;
    }
    *ret = t;
    return WB_OK;
}

void wbi_record_write(struct wbi_jw *w, const struct wbi_record_texts *t)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "id", t->id);
    wbi_jw_kraw(w, "invocation", or_else(t->invocation, "null"));
    wbi_jw_kraw(w, "canonical", or_else(t->canonical, "null"));
    wbi_jw_kraw(w, "result", or_else(t->result, "null"));
    wbi_jw_kstr(w, "receipt", t->receipt);
    wbi_jw_kraw(w, "artifacts", or_else(t->artifacts, "[]"));
    wbi_jw_kraw(w, "timings", or_else(t->timings, "null"));
    wbi_jw_kraw(w, "policySnapshot", or_else(t->policy, "null"));
    wbi_jw_kraw(w, "events", or_else(t->events, "[]"));
    wbi_jw_kraw(w, "trust", or_else(t->trust, "{}"));
    wbi_jw_obj_end(w);
}

/* As the ledger gives them back. */
static wb_rc fill(struct wbi_arena *arena, struct wbi_str principal, struct wbi_record_texts *t)
{
    struct wbi_row row = {.principal = principal,
                          .invocation = t->invocation,
                          .canonical = t->canonical,
                          .result = t->result,
                          .policy = t->policy,
                          .timings = t->timings,
                          .trust = t->trust,
                          .events = t->events};
    wb_rc rc = wbi_lean_fill(arena, &row);

    t->result = row.result;
    t->trust = row.trust;
    t->events = row.events;
    return rc;
}

wb_rc wbi_view_record(struct wbi_call *call, struct wbi_buf *out)
{
    const struct wbi_record_texts *lean;
    struct wbi_record_texts whole;
    struct wbi_jw w = wbi_jw_to(out);
    wb_rc rc = wbi_record_make(call, &lean);

    if (rc != WB_OK)
        return rc;
    whole = *lean;
    rc = fill(call->arena, call->inv.principal, &whole);
    if (rc != WB_OK)
        return rc;
    wbi_record_write(&w, &whole);
    return wbi_buf_rc(out);
}

/* ---- as a root with __envelope ---- */

static wb_rc tags_of(struct wbi_arena *arena, const wbi_json *tags, struct wbi_envelope *env)
{
    struct wbi_str *list = wbi_arena_array(arena, wbi_json_count(tags), sizeof(*list));
    size_t n = 0;

    if (list == NULL)
        return WB_ENOMEM;
    WBI_JSON_EACH (tags, tag) {
        list[n++] = wbi_json_str(tag);
    }
    env->tags = list;
    env->tags_n = n;
    return WB_OK;
}

struct parsed {
    const wbi_json *invocation, *canonical, *timings, *trust;
};

static wb_rc parse(struct wbi_arena *arena, const struct wbi_record_texts *t, struct parsed *ret)
{
    wb_rc rc = wbi_json_read(arena, t->invocation, WBI_JSON_STRICT, &ret->invocation, NULL);

    if (rc == WB_OK)
        rc = wbi_json_read(arena, t->canonical, WBI_JSON_STRICT, &ret->canonical, NULL);
    if (rc == WB_OK)
        rc = wbi_json_read(arena, or_else(t->timings, "{}"), WBI_JSON_STRICT, &ret->timings, NULL);
    if (rc == WB_OK)
        rc = wbi_json_read(arena, or_else(t->trust, "{}"), WBI_JSON_STRICT, &ret->trust, NULL);
    return rc;
}

/* An error's root holds the canonical error and no payload. */
static wb_rc error_root(const wbi_json *error, struct wbi_envelope *env, struct wbi_buf *out)
{
    struct wbi_jw w = wbi_jw_to(out);
    wb_rc rc;

    env->content_type = WBI_CONTENT_UNKNOWN;
    wbi_jw_obj(&w);
    wbi_jw_kval(&w, "error", error);
    wbi_jw_key(&w, WBI_ENVELOPE_KEY);
    rc = wbi_envelope_write(&w, env, NULL, NULL);
    wbi_jw_obj_end(&w);
    return rc == WB_OK ? wbi_buf_rc(out) : rc;
}

wb_rc wbi_record_envelope(struct wbi_arena *arena, const struct wbi_record_texts *t,
                          struct wbi_buf *out)
{
    struct wbi_envelope env = {.payload_path = WBI_NONE};
    const wbi_json *result;
    struct parsed p;
    wb_rc rc = parse(arena, t, &p);

    if (rc == WB_OK)
        rc = tags_of(arena, wbi_json_get_as(p.trust, "tags", WBI_JSON_ARR), &env);
    if (rc != WB_OK)
        return rc;
    env.tool = wbi_json_get_str(p.trust, "tool");
    if (env.tool.p == NULL)
        env.tool = wbi_json_get_str(p.invocation, "toolName");
    env.provider = wbi_json_get_str(p.invocation, "provider");
    env.model = wbi_json_get_str(p.invocation, "model");
    env.tool_call_id = wbi_json_get_str(p.invocation, "callId");
    if (env.tool_call_id.p == NULL)
        env.tool_call_id = t->id;
    env.schema_ref = wbi_json_get_str(p.trust, "schemaRef");
    env.created_at = wbi_json_get_str(p.timings, "startedAt");
    result = wbi_json_get(p.canonical, "result");
    env.content_type = wbi_generic_content_type(result);
    if (wbi_str_eqz(wbi_json_get_str(p.canonical, "status"), "error"))
        return error_root(wbi_json_get(p.canonical, "error"), &env, out);
    /* A tool's own root with an envelope is kept (ensure). */
    if (wbi_json_is(wbi_json_get(result, WBI_ENVELOPE_KEY), WBI_JSON_OBJ))
        return wbi_envelope_ensure(result, &env, out, NULL);
    return wbi_envelope_wrap(result, &env, WBI_NONE, out, NULL);
}

wb_rc wbi_view_envelope(struct wbi_call *call, struct wbi_buf *out)
{
    const struct wbi_record_texts *t;
    wb_rc rc = wbi_record_make(call, &t);

    return rc == WB_OK ? wbi_record_envelope(call->arena, t, out) : rc;
}
