/* SPDX-License-Identifier: Apache-2.0
 * call/say.c: what is told about calls while they run (C8.10): events as JSON
 * Lines where somebody asked for them, and a short list of them in the record. */
#include "call/guards.h"
#include "call/views.h"

/* ---- where they go ---- */

/* In short into the record of the call, and to where it was asked for. */
static wb_rc write_event(void *arg, struct wbi_str line, const struct wbi_event_brief *brief)
{
    struct wbi_guards *g = arg;

    if (g->speaking != NULL)
        wbi_buf_add(&g->speaking->event_briefs, brief, sizeof(*brief));
    return g->events_out == NULL ? WB_OK : wbi_event_out_put(g->events_out, line);
}

wb_rc wbi_events_open(struct wbi_runtime *rt, struct wbi_guards *g, struct wbi_str target,
                      struct wbi_error *err)
{
    struct wbi_events_parts parts = {
        {write_event, g, target.p == NULL}, WBI_LIT("/waybill"), rt->clock, rt->ids};
    wb_rc rc = WB_OK;

    if (target.p != NULL)
        rc = wbi_event_out_open(rt->loop, target, &g->events_out, err);
    if (rc == WB_OK && wbi_events_new(&parts, &g->events) != WB_OK)
        rc = wbi_fail_nomem(err);
    return rc;
}

uint64_t wbi_events_missed(struct wbi_guards *g)
{
    if (g->events_out == NULL)
        return 0;
    return wbi_events_lost(g->events) + wbi_event_out_untaken(g->events_out);
}

void wbi_events_flush(struct wbi_guards *g)
{
    if (g->events_out != NULL)
        wbi_event_out_flush(g->events_out);
}

/* ---- what is said about a call ---- */

/* A span of the call's own, in the caller's trace where there is one; begun once.
 * NULL without memory. */
static const struct wbi_trace *span_of(struct wbi_call *call)
{
    const struct wbi_ids *ids = &call->runtime->ids;
    struct wbi_trace *span;

    if (call->event.trace != NULL)
        return call->event.trace;
    span = wbi_arena_alloc(call->arena, sizeof(*span));
    if (span != NULL && wbi_trace_begin(call->inv.traceparent, call->inv.tracestate, ids, span))
        wbi_trace_child(span, ids, span);
    call->event.trace = span;
    return span;
}

bool wbi_call_trace(struct wbi_call *call, struct wbi_trace_texts *ret)
{
    const struct wbi_trace *span = span_of(call);
    char text[WBI_TRACEPARENT_SIZE];

    if (span == NULL)
        return false;
    wbi_trace_format(span, text);
    ret->parent = wbi_arena_str(call->arena, wbi_str_z(text));
    ret->state = wbi_str_z(span->state);
    return ret->parent.p != NULL;
}

static struct wbi_event_call *event_call(struct wbi_call *call)
{
    struct wbi_event_call *e = &call->event;

    e->tool = wbi_call_qualified(call);
    e->origin = wbi_call_origin(call);
    e->version = call->tool ? call->tool->version : WBI_NONE;
    e->principal = call->inv.principal;
    e->call_id = wbi_str_z(call->name);
    e->correlation_id = call->inv.correlation_id;
    e->causation_id = call->inv.causation_id;
    e->conversation_id = call->inv.conversation_id;
    e->effect = call->tool ? wbi_effect_name(call->tool->effect) : NULL;
    e->redactions = call->facts.redactions;
    e->redactions_n = call->facts.redaction_count;
    e->wall_ms = 0;
    (void)span_of(call);
    call->runtime->guards->speaking = call;
    return e;
}

static void spoken(struct wbi_call *call, wb_rc rc)
{
    (void)rc; /* said before, or lost and counted */
    call->runtime->guards->speaking = NULL;
}

void wbi_say_invoked(struct wbi_call *call)
{
    struct wbi_event_call *e = event_call(call);

    e->wall_ms = call->started_wall_ms;
    spoken(call, wbi_event_invoked(call->runtime->guards->events, e));
}

/* Once the tool is through, what is said of the call is dated by its end. */
static struct wbi_event_call *ended_call(struct wbi_call *call)
{
    struct wbi_event_call *e = event_call(call);

    if (call->stage >= WBI_STAGE_PROJECT)
        e->wall_ms = wbi_call_wall_ms(call, call->ended_ns);
    return e;
}

void wbi_say_policy(struct wbi_call *call)
{
    wbi_say_invoked(call); /* of a call that found no tool, too, before anything else */
    if (call->facts.policy_snapshot.p != NULL)
        spoken(call, wbi_event_policy(call->runtime->guards->events, ended_call(call),
                                      call->facts.policy_snapshot));
}

/* C8.7: cache metadata only where policy allows it. */
static int cache_told(const struct wbi_call *call)
{
    if (call->admission == NULL || !call->admission->values.cache_log)
        return -1;
    return call->facts.cached ? 1 : 0;
}

void wbi_say_end(struct wbi_call *call)
{
    struct wbi_events *events = call->runtime->guards->events;
    const struct wbi_outcome *o = &call->outcome;
    struct wbi_event_end end = {.duration_ms = (call->ended_ns - call->started_ns) / WBI_NS_PER_MS,
                                .attempts =
                                    call->facts.attempts ? (int32_t)call->facts.attempts : 1,
                                .output_bytes = -1,
                                .cache_hit = cache_told(call),
                                .replayed = call->facts.replayed};

    if (o->state == WBI_OUTCOME_SUCCESS) {
        end.output_bytes = (int64_t)(o->output.p ? o->output.n : o->result.n);
        spoken(call, wbi_event_succeeded(events, ended_call(call), &end));
        return;
    }
    end.kind = o->fault.kind;
    end.retryable = wbi_fault_retryable(&o->fault);
    spoken(call, wbi_event_failed(events, ended_call(call), &end));
}

/* ---- what the guards tell ---- */

void wbi_say_guard_event(void *arg, const struct wbi_guard_event *event)
{
    static const enum wbi_event_type types[] = {
        [WBI_GUARD_EVENT_CIRCUIT_OPEN] = WBI_EVENT_CIRCUIT_OPEN,
        [WBI_GUARD_EVENT_CIRCUIT_HALF_OPEN] = WBI_EVENT_CIRCUIT_HALF_OPEN,
        [WBI_GUARD_EVENT_CIRCUIT_CLOSED] = WBI_EVENT_CIRCUIT_CLOSED,
    };
    struct wbi_guards *g = arg;
    struct wbi_call *call = event->request->arg, *before = g->speaking;
    struct wbi_event_call *e = event_call(call);

    if (event->type == WBI_GUARD_EVENT_RATE_LIMITED)
        wbi_event_rate_limited(g->events, e, event->limiter, event->tokens, event->retry_after_ms);
    else
        wbi_event_circuit(g->events, e, types[event->type], event->retry_after_ms);
    g->speaking = before;
}
