/* SPDX-License-Identifier: Apache-2.0
 * event/trace.h: W3C trace context, in and out. A traceparent that is not
 * acceptable restarts the trace, and its tracestate is dropped with it. */
#ifndef WBI_EVENT_TRACE_H
#define WBI_EVENT_TRACE_H

#include "base/id.h"
#include "base/limits.h"
#include "base/slice.h"

#define WBI_TRACEPARENT_SIZE 56 /* 55 and a NUL */

enum wbi_trace_flags { WBI_TRACE_SAMPLED = 1, WBI_TRACE_RANDOM = 2 };

struct wbi_trace {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t flags;
    char state[WBI_LIMIT_TRACESTATE + 1]; /* as received, "" when none */
};

/* False when s is no valid traceparent; *ret is then untouched. ret->state is
 * set to "". */
bool wbi_trace_parse(struct wbi_str s, struct wbi_trace *ret);
/* True when s is a valid tracestate list (empty members are allowed). */
bool wbi_trace_state_valid(struct wbi_str s);
/* What arrives with a call: parent and state, either may be absent. False when
 * a new trace was begun. */
bool wbi_trace_begin(struct wbi_str traceparent, struct wbi_str tracestate,
                     const struct wbi_ids *ids, struct wbi_trace *ret);
/* Same trace, flags and state, a new span; ret may be parent. */
void wbi_trace_child(const struct wbi_trace *parent, const struct wbi_ids *ids,
                     struct wbi_trace *ret);
void wbi_trace_format(const struct wbi_trace *t, char out[WBI_TRACEPARENT_SIZE]);

#endif
