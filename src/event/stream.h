/* SPDX-License-Identifier: Apache-2.0
 * event/stream.h: frames of a call whose caller asked for them (C8.9):
 * {"correlationId", "sequence", "event", "data"}, numbered from 0 without gaps,
 * exactly one terminal frame (completed or error) and nothing after it. Frames
 * wait in a bounded buffer while the caller is slow; when it is full, partials
 * and heartbeats are left out before they get a number (and counted in the
 * terminal frame), the terminal frame always fits. Loop thread only. */
#ifndef WBI_EVENT_STREAM_H
#define WBI_EVENT_STREAM_H

#include "json/write.h"

enum wbi_frame_event {
    WBI_FRAME_PARTIAL = 0,
    WBI_FRAME_HEARTBEAT,
    WBI_FRAME_COMPLETED,
    WBI_FRAME_ERROR
};

struct wbi_stream;

/* Called when a frame was added to an empty buffer; may be NULL. */
WB_MUST_CHECK wb_rc wbi_stream_new(struct wbi_str correlation_id, size_t max_buffered,
                                   void (*on_frame)(void *arg), void *arg, struct wbi_stream **ret);
void wbi_stream_free(struct wbi_stream *s); /* NULL is fine */

/* data: a JSON object, already redacted; absent writes {}. WB_EMISUSE after the
 * terminal frame; WB_EAGAIN: left out, the buffer is full; WB_ELIMIT: one frame
 * over WBI_LIMIT_FRAME. */
WB_MUST_CHECK wb_rc wbi_stream_put(struct wbi_stream *s, enum wbi_frame_event event,
                                   struct wbi_str data);
/* The oldest frame, a line without newline; absent when none. It stays until
 * wbi_stream_drop. */
struct wbi_str wbi_stream_peek(const struct wbi_stream *s);
void wbi_stream_drop(struct wbi_stream *s);
/* The same, out of the stream at once: whoever gets it may end the call, and the stream with
 * it. *ret is good until what is returned is freed (wbi_free); NULL when there is none. */
void *wbi_stream_take(struct wbi_stream *s, struct wbi_str *ret);
/* A frame reached the caller: the call is committed and must not be retried
 * silently. */
bool wbi_stream_committed(const struct wbi_stream *s);

#endif
