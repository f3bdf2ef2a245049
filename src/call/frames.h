/* SPDX-License-Identifier: Apache-2.0
 * call/frames.h: what a caller who asked for frames gets while its call runs
 * (C8.9): partials and heartbeats, redacted, then exactly one terminal frame
 * that agrees with the outcome, then the result. Without call->on_frame all of
 * this does nothing. */
#ifndef WBI_CALL_FRAMES_H
#define WBI_CALL_FRAMES_H

#include "call/call.h"

/* Where nobody said otherwise. */
#define WBI_FRAMES_HEARTBEAT_MS 15000

/* Heartbeats from here on, every call->heartbeat_ms. */
WB_MUST_CHECK wb_rc wbi_frames_begin(struct wbi_call *call);
/* A piece of partial output, a JSON object; what is none is left out. Whoever gets it may end
 * the call: behind this one it may be gone. */
void wbi_frames_partial(struct wbi_call *call, struct wbi_str data);
/* The terminal frame, before the result is handed out. */
void wbi_frames_end(struct wbi_call *call);
/* Frees what is left, without a frame. */
void wbi_frames_drop(struct wbi_call *call);
/* A frame reached the caller: no silent retry from here on. */
bool wbi_frames_committed(const struct wbi_call *call);

#endif
