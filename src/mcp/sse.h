/* SPDX-License-Identifier: Apache-2.0
 * mcp/sse.h: events out of a text/event-stream, with a cap. */
#ifndef WBI_MCP_SSE_H
#define WBI_MCP_SSE_H

#include "base/buf.h"

#define WBI_SSE_ID 255 /* longer ids are not taken */

struct wbi_sse {
    struct wbi_buf line, data;
    size_t max;
    bool begun, after_cr, has_data, overflow;
    uint64_t too_long;
    char id[WBI_SSE_ID + 1];      /* counts when its event is complete */
    char last_id[WBI_SSE_ID + 1]; /* of the newest event that has one; "": none */
    int64_t retry_ms;             /* to wait before coming again; -1: not said */
};

void wbi_sse_init(struct wbi_sse *s, size_t max);
void wbi_sse_fini(struct wbi_sse *s);
/* Another stream follows: half an event is forgotten, last_id and retry_ms are not. */
void wbi_sse_restart(struct wbi_sse *s);
/* Takes bytes off *bytes until one event is complete: true and its data in *ret,
 * good until the next call. Ids and retry times are kept, comments and
 * other fields passed over; an event
 * over the cap is dropped whole and counted. */
bool wbi_sse_next(struct wbi_sse *s, struct wbi_str *bytes, struct wbi_str *ret);

#endif
