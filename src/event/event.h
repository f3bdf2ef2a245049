/* SPDX-License-Identifier: Apache-2.0
 * event/event.h: what happened to calls, as CloudEvents 1.0 in JSON Lines
 * (C8.10). Per call exactly one ToolInvoked and one of ToolSucceeded and
 * ToolFailed, also for refused calls; PolicyApplied once; RateLimited and
 * Circuit* once per happening. Events carry ids, numbers and names only, no
 * inputs, outputs or messages; `redactions` names what was removed from the
 * call. Loop thread only. */
#ifndef WBI_EVENT_EVENT_H
#define WBI_EVENT_EVENT_H

#include "base/clock.h"
#include "base/error.h"
#include "event/trace.h"
#include "json/write.h"

enum wbi_event_type {
    WBI_EVENT_TOOL_INVOKED = 0,
    WBI_EVENT_TOOL_SUCCEEDED,
    WBI_EVENT_TOOL_FAILED,
    WBI_EVENT_POLICY_APPLIED,
    WBI_EVENT_RATE_LIMITED,
    WBI_EVENT_CIRCUIT_OPEN,
    WBI_EVENT_CIRCUIT_HALF_OPEN,
    WBI_EVENT_CIRCUIT_CLOSED
};
#define WBI_EVENT_TYPES 8
#define WBI_EVENT_VERSION "1.0"
/* "ToolInvoked", …; the CloudEvents type is "dev.waybill." before it. */
const char *wbi_event_type_name(enum wbi_event_type type);

/* The event in short, for places that keep little. */
struct wbi_event_brief {
    enum wbi_event_type type;
    int64_t wall_ms;
    uint64_t sequence;
};

/* Takes one line, without its newline. Anything but WB_OK is counted as lost.
 * Lines cost more than an empty call does: a sink that keeps only briefs says so
 * and gets the absent slice. */
struct wbi_event_sink {
    wb_rc (*write)(void *arg, struct wbi_str line, const struct wbi_event_brief *brief);
    void *arg;
    bool briefs_only;
};

struct wbi_events;
struct wbi_events_parts {
    struct wbi_event_sink sink;
    struct wbi_str source; /* URI-reference, e.g. "/waybill/<instance>"; not empty */
    struct wbi_clock clock;
    struct wbi_ids ids;
};
WB_MUST_CHECK wb_rc wbi_events_new(const struct wbi_events_parts *parts, struct wbi_events **ret);
void wbi_events_free(struct wbi_events *e); /* NULL is fine */
/* Events that could not be written. */
uint64_t wbi_events_lost(const struct wbi_events *e);

/* What stays the same over a call; kept by the caller, zeroed first. */
struct wbi_event_call {
    struct wbi_str tool, origin, version; /* version absent before resolution */
    struct wbi_str principal, call_id, correlation_id, causation_id, conversation_id;
    const char *effect;
    const struct wbi_trace *trace; /* the call's own span; NULL: none */
    const struct wbi_str *redactions;
    size_t redactions_n;
    int64_t wall_ms; /* when it happened; 0: now */
    uint32_t said;   /* kept by this room: bit per type that comes once */
};

struct wbi_event_end {
    int64_t duration_ms;
    int32_t attempts;
    int64_t output_bytes; /* -1: not told */
    int cache_hit;        /* -1: not told (the default rule), 0, 1 */
    bool replayed;
    enum wbi_kind kind; /* failed only */
    const char *code;   /* NULL: the kind's own */
    bool retryable;
};

/* All return WB_EMISUSE, and write nothing, when the event was already sent for
 * this call or comes out of order (an end before ToolInvoked). A lost event
 * counts as sent. */
WB_MUST_CHECK wb_rc wbi_event_invoked(struct wbi_events *e, struct wbi_event_call *call);
WB_MUST_CHECK wb_rc wbi_event_succeeded(struct wbi_events *e, struct wbi_event_call *call,
                                        const struct wbi_event_end *end);
WB_MUST_CHECK wb_rc wbi_event_failed(struct wbi_events *e, struct wbi_event_call *call,
                                     const struct wbi_event_end *end);
/* snapshot: the JSON object of policySnapshot. */
WB_MUST_CHECK wb_rc wbi_event_policy(struct wbi_events *e, struct wbi_event_call *call,
                                     struct wbi_str snapshot);
/* retry_after_ms -1: none. */
void wbi_event_rate_limited(struct wbi_events *e, const struct wbi_event_call *call,
                            struct wbi_str limiter, int64_t tokens, int64_t retry_after_ms);
/* type: one of WBI_EVENT_CIRCUIT_*. */
void wbi_event_circuit(struct wbi_events *e, const struct wbi_event_call *call,
                       enum wbi_event_type type, int64_t retry_after_ms);

#endif
