/* SPDX-License-Identifier: Apache-2.0
 * mcp/sse.h: events out of a text/event-stream, with a cap. */
#ifndef WBI_MCP_SSE_H
#define WBI_MCP_SSE_H

#include "base/buf.h"

struct wbi_sse {
    struct wbi_buf line, data;
    size_t max;
    bool after_cr, has_data, overflow;
    uint64_t too_long;
};

void wbi_sse_init(struct wbi_sse *s, size_t max);
void wbi_sse_fini(struct wbi_sse *s);
/* Takes bytes off *bytes until one event is complete: true and its data in *ret,
 * good until the next call. Comments and other fields are passed over; an event
 * over the cap is dropped whole and counted. */
bool wbi_sse_next(struct wbi_sse *s, struct wbi_str *bytes, struct wbi_str *ret);

#endif
