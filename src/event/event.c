/* SPDX-License-Identifier: Apache-2.0
 * event/event.c: writing events. `sequence` counts all events of one emitter
 * from 1, padded so that it sorts as text; id is the same number under the
 * instance's own random prefix, so source and id together are unique. */
#include "event/event.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"

struct wbi_events {
    struct wbi_events_parts parts;
    char *source;
    char instance[WBI_UUID_SIZE];
    uint64_t lost;
    struct wbi_event_brief brief; /* of the event under way */
    struct wbi_buf line;
};

static const char *const names[WBI_EVENT_TYPES] = {
    "ToolInvoked", "ToolSucceeded", "ToolFailed",      "PolicyApplied",
    "RateLimited", "CircuitOpen",   "CircuitHalfOpen", "CircuitClosed"};

const char *wbi_event_type_name(enum wbi_event_type type)
{
    return names[type];
}

wb_rc wbi_events_new(const struct wbi_events_parts *parts, struct wbi_events **ret)
{
    struct wbi_events *e;

    if (parts->source.n == 0 || parts->sink.write == NULL)
        return WB_EMISUSE;
    e = wbi_zalloc(sizeof(*e));
    if (e == NULL)
        return WB_ENOMEM;
    e->parts = *parts;
    e->source = wbi_strdup(parts->source);
    if (e->source == NULL) {
        wbi_free(e);
        return WB_ENOMEM;
    }
    wbi_id_uuid(&parts->ids, e->instance);
    wbi_buf_init(&e->line, WBI_LIMIT_EVENT_LINE);
    *ret = e;
    return WB_OK;
}

void wbi_events_free(struct wbi_events *e)
{
    if (e == NULL)
        return;
    wbi_buf_fini(&e->line);
    wbi_free(e->source);
    wbi_free(e);
}

uint64_t wbi_events_lost(const struct wbi_events *e)
{
    return e->lost;
}

static void optional(struct wbi_jw *w, const char *name, struct wbi_str s)
{
    if (s.p != NULL)
        wbi_jw_kstr(w, name, s);
}

/* Everything up to and with the members of data that all events share. */
static struct wbi_jw begin_line(struct wbi_events *e, const struct wbi_event_call *call)
{
    char number[24], text[WBI_UUID_SIZE + 24], time[WBI_RFC3339_SIZE];
    char traceparent[WBI_TRACEPARENT_SIZE];
    struct wbi_jw w;

    wbi_buf_clear(&e->line);
    w = wbi_jw_to(&e->line);
    (void)snprintf(number, sizeof(number), "%020" PRIu64, e->brief.sequence);
    (void)snprintf(text, sizeof(text), "%s-%s", e->instance, number);
    wbi_time_format(e->brief.wall_ms, time);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "specversion", "1.0");
    wbi_jw_kstrz(&w, "id", text);
    wbi_jw_kstrz(&w, "source", e->source);
    (void)snprintf(text, sizeof(text), "dev.waybill.%s", names[e->brief.type]);
    wbi_jw_kstrz(&w, "type", text);
    wbi_jw_kstrz(&w, "time", time);
    wbi_jw_kstrz(&w, "datacontenttype", "application/json");
    optional(&w, "subject", call->call_id);
    optional(&w, "correlationid", call->correlation_id);
    optional(&w, "causationid", call->causation_id);
    if (call->trace != NULL) {
        wbi_trace_format(call->trace, traceparent);
        wbi_jw_kstrz(&w, "traceparent", traceparent);
        if (call->trace->state[0] != '\0')
            wbi_jw_kstrz(&w, "tracestate", call->trace->state);
    }
    wbi_jw_kstrz(&w, "sequence", number);
    wbi_jw_key(&w, "data");
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "eventVersion", WBI_EVENT_VERSION);
    optional(&w, "tool", call->tool);
    optional(&w, "origin", call->origin);
    optional(&w, "version", call->version);
    return w;
}

static void end_line(struct wbi_jw *w, const struct wbi_event_call *call)
{
    wbi_jw_key(w, "redactions");
    wbi_jw_arr(w);
    for (size_t i = 0; i < call->redactions_n; i++)
        wbi_jw_str(w, call->redactions[i]);
    wbi_jw_arr_end(w);
    wbi_jw_obj_end(w);
    wbi_jw_obj_end(w);
}

/* What the types add to data; only what a type uses is set. */
struct facts {
    const struct wbi_event_end *end;
    struct wbi_str snapshot, limiter;
    int64_t tokens, retry_after_ms;
};

#define SAID(type) (1u << (type))
#define ENDED (SAID(WBI_EVENT_TOOL_SUCCEEDED) | SAID(WBI_EVENT_TOOL_FAILED))

static void write_invoked(struct wbi_jw *w, const struct wbi_event_call *call)
{
    optional(w, "principal", call->principal);
    optional(w, "conversationId", call->conversation_id);
    if (call->effect != NULL)
        wbi_jw_kstrz(w, "effect", call->effect);
}

static void write_error(struct wbi_jw *w, const struct wbi_event_end *end)
{
    const struct wbi_kind_row *row = wbi_kind_row(end->kind);

    wbi_jw_key(w, "error");
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "kind", row->kind);
    wbi_jw_kstrz(w, "category", wbi_category_name(row->category));
    wbi_jw_kstrz(w, "code", end->code ? end->code : row->code);
    wbi_jw_kbool(w, "isRetryable", end->retryable);
    wbi_jw_obj_end(w);
}

static void write_end(struct wbi_jw *w, const struct wbi_event_end *end)
{
    wbi_jw_kint(w, "durationMs", end->duration_ms);
    wbi_jw_kint(w, "attempts", end->attempts);
    if (end->output_bytes >= 0)
        wbi_jw_kint(w, "outputSizeBytes", end->output_bytes);
    if (end->cache_hit >= 0)
        wbi_jw_kbool(w, "cacheHit", end->cache_hit != 0);
    if (end->replayed)
        wbi_jw_kbool(w, "replayed", true);
}

static void write_facts(struct wbi_jw *w, const struct wbi_event_call *call,
                        enum wbi_event_type type, const struct facts *f)
{
    switch (type) {
    case WBI_EVENT_TOOL_INVOKED:
        write_invoked(w, call);
        return;
    case WBI_EVENT_TOOL_FAILED:
        write_error(w, f->end);
        write_end(w, f->end);
        return;
    case WBI_EVENT_TOOL_SUCCEEDED:
        write_end(w, f->end);
        return;
    case WBI_EVENT_POLICY_APPLIED:
        wbi_jw_kraw(w, "policySnapshot", f->snapshot);
        return;
    case WBI_EVENT_RATE_LIMITED:
        wbi_jw_kstr(w, "limiterId", f->limiter);
        wbi_jw_kint(w, "tokensRequested", f->tokens);
        break;
    case WBI_EVENT_CIRCUIT_OPEN:
    case WBI_EVENT_CIRCUIT_HALF_OPEN:
    case WBI_EVENT_CIRCUIT_CLOSED:
        break;
    }
    if (f->retry_after_ms >= 0)
        wbi_jw_kint(w, "retryAfterMs", f->retry_after_ms);
}

static void emit(struct wbi_events *e, const struct wbi_event_call *call, enum wbi_event_type type,
                 const struct facts *f)
{
    const struct wbi_event_sink *sink = &e->parts.sink;
    struct wbi_str line = WBI_NONE;
    bool ok = true;

    e->brief.type = type;
    e->brief.wall_ms = call->wall_ms != 0 ? call->wall_ms : wbi_wall_ms(&e->parts.clock);
    e->brief.sequence++;
    if (!sink->briefs_only) {
        struct wbi_jw w = begin_line(e, call);
        write_facts(&w, call, type, f);
        end_line(&w, call);
        line = wbi_buf_str(&e->line);
        ok = wbi_buf_rc(&e->line) == WB_OK;
    }
    if (!ok || sink->write(sink->arg, line, &e->brief) != WB_OK)
        e->lost++;
}

wb_rc wbi_event_invoked(struct wbi_events *e, struct wbi_event_call *call)
{
    if (call->said & (SAID(WBI_EVENT_TOOL_INVOKED) | ENDED))
        return WB_EMISUSE;
    call->said |= SAID(WBI_EVENT_TOOL_INVOKED);
    emit(e, call, WBI_EVENT_TOOL_INVOKED, NULL);
    return WB_OK;
}

static wb_rc say_end(struct wbi_events *e, struct wbi_event_call *call, enum wbi_event_type type,
                     const struct wbi_event_end *end)
{
    struct facts f = {.end = end};

    if ((call->said & SAID(WBI_EVENT_TOOL_INVOKED)) == 0 || (call->said & ENDED) != 0)
        return WB_EMISUSE;
    call->said |= SAID(type);
    emit(e, call, type, &f);
    return WB_OK;
}

wb_rc wbi_event_succeeded(struct wbi_events *e, struct wbi_event_call *call,
                          const struct wbi_event_end *end)
{
    return say_end(e, call, WBI_EVENT_TOOL_SUCCEEDED, end);
}

wb_rc wbi_event_failed(struct wbi_events *e, struct wbi_event_call *call,
                       const struct wbi_event_end *end)
{
    return say_end(e, call, WBI_EVENT_TOOL_FAILED, end);
}

wb_rc wbi_event_policy(struct wbi_events *e, struct wbi_event_call *call, struct wbi_str snapshot)
{
    struct facts f = {.snapshot = snapshot};

    if (call->said & SAID(WBI_EVENT_POLICY_APPLIED))
        return WB_EMISUSE;
    call->said |= SAID(WBI_EVENT_POLICY_APPLIED);
    emit(e, call, WBI_EVENT_POLICY_APPLIED, &f);
    return WB_OK;
}

void wbi_event_rate_limited(struct wbi_events *e, const struct wbi_event_call *call,
                            struct wbi_str limiter, int64_t tokens, int64_t retry_after_ms)
{
    struct facts f = {.limiter = limiter, .tokens = tokens, .retry_after_ms = retry_after_ms};

    emit(e, call, WBI_EVENT_RATE_LIMITED, &f);
}

void wbi_event_circuit(struct wbi_events *e, const struct wbi_event_call *call,
                       enum wbi_event_type type, int64_t retry_after_ms)
{
    struct facts f = {.retry_after_ms = retry_after_ms};

    emit(e, call, type, &f);
}
