/* SPDX-License-Identifier: Apache-2.0
 * call/frames.c: frames of one call, handed out as they come. */
#include "call/frames.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "call/redact.h"
#include "call/runtime.h"
#include "call/views.h"
#include "event/stream.h"

struct wbi_frames {
    struct wbi_stream *stream;
    struct wbi_timer *heartbeat;
    struct wbi_arena *scratch; /* for one partial at a time: memory stays flat */
    bool held;                 /* frames wait for a receiver that is behind */
    bool handing;              /* a receiver is on the stack: it gets what else comes */
    bool ending;               /* no more: what waits goes before the last */
};

static bool must_wait(struct wbi_call *call)
{
    struct wbi_frames *f = call->frames;

    f->held = wbi_stream_peek(f->stream).p != NULL && call->hold_frames != NULL && !f->ending &&
              call->hold_frames(call->on_frame_arg);
    return f->held;
}

/* All that wait go out; a frame made by the receiver itself is one of them. A receiver may end
 * the call (by cancelling it): then it gets the last frame before this one returns, and there
 * are no frames any more behind it. The call is held by whoever calls this. */
static void hand_out(void *arg)
{
    struct wbi_call *call = arg;
    struct wbi_frames *f = call->frames;
    struct wbi_str frame;
    void *taken;

    if (f->handing && !f->ending)
        return;
    f->handing = true;
    while (call->frames == f && !must_wait(call) &&
           (taken = wbi_stream_take(f->stream, &frame)) != NULL) {
        call->on_frame(call, frame, call->on_frame_arg);
        wbi_free(taken);
    }
    if (call->frames == f)
        f->handing = false;
}

static struct wbi_frames *frames_of(struct wbi_call *call)
{
    struct wbi_frames *f = call->frames;

    if (f == NULL) {
        f = wbi_zalloc(sizeof(*f));
        if (f == NULL)
            return NULL;
        call->frames = f;
    }
    if (f->stream == NULL && /* the correlation id is known by now */
        wbi_stream_new(call->inv.correlation_id.p ? call->inv.correlation_id : WBI_LIT(""),
                       WBI_LIMIT_FRAMES_BUFFERED, hand_out, call, &f->stream) != WB_OK)
        return NULL;
    return f;
}

/* What cannot be put is left out and counted by the stream. */
static bool put(struct wbi_call *call, enum wbi_frame_event event, struct wbi_str data)
{
    struct wbi_frames *f = frames_of(call);

    if (f == NULL)
        return false;
    if (f->held)
        hand_out(call); /* the receiver may have caught up */
    return call->frames == f && wbi_stream_put(f->stream, event, data) == WB_OK;
}

static void on_heartbeat(void *arg)
{
    struct wbi_call *call = arg;

    wbi_timer_start(call->frames->heartbeat, call->heartbeat_ms);
    wbi_call_hold(call);
    (void)put(call, WBI_FRAME_HEARTBEAT, WBI_NONE);
    wbi_call_release(call);
}

wb_rc wbi_frames_begin(struct wbi_call *call)
{
    wb_rc rc;

    if (call->on_frame == NULL || call->heartbeat_ms <= 0)
        return WB_OK;
    call->frames = wbi_zalloc(sizeof(*call->frames));
    if (call->frames == NULL)
        return WB_ENOMEM;
    rc = wbi_timer_new(call->runtime->loop, on_heartbeat, call, &call->frames->heartbeat);
    if (rc == WB_OK)
        wbi_timer_start(call->frames->heartbeat, call->heartbeat_ms);
    return rc;
}

void wbi_frames_partial(struct wbi_call *call, struct wbi_str data)
{
    struct wbi_frames *f;

    if (call->on_frame == NULL)
        return;
    f = frames_of(call);
    if (f == NULL ||
        (f->scratch == NULL && wbi_arena_new(WBI_LIMIT_CALL_ARENA, &f->scratch) != WB_OK))
        return;
    wbi_call_hold(call);
    if (wbi_redact_frame(call, f->scratch, &data) == WB_OK)
        (void)put(call, WBI_FRAME_PARTIAL, data);
    if (call->frames == f)
        wbi_arena_reset(f->scratch);
    wbi_call_release(call);
}

static struct wbi_str terminal_data(struct wbi_call *call)
{
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_FRAME);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "callId", call->name);
    if (call->outcome.state == WBI_OUTCOME_ERROR) {
        wbi_jw_key(&w, "error");
        wbi_view_error(&call->outcome.fault, &w);
    }
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&text) == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

void wbi_frames_end(struct wbi_call *call)
{
    enum wbi_frame_event event =
        call->outcome.state == WBI_OUTCOME_SUCCESS ? WBI_FRAME_COMPLETED : WBI_FRAME_ERROR;
    struct wbi_frames *f;

    if (call->on_frame == NULL)
        return;
    f = frames_of(call);
    if (f != NULL)
        f->ending = true;
    if (!put(call, event, terminal_data(call)))
        (void)put(call, event, WBI_NONE); /* without memory even for that the result tells */
    if (f != NULL && f->stream != NULL)
        hand_out(call); /* behind frames that wait, nobody was told of it */
    wbi_frames_drop(call);
}

void wbi_frames_drop(struct wbi_call *call)
{
    struct wbi_frames *f = call->frames;

    if (f == NULL)
        return;
    call->frames = NULL;
    wbi_timer_free(f->heartbeat);
    wbi_stream_free(f->stream);
    wbi_arena_free(f->scratch);
    wbi_free(f);
}

bool wbi_frames_committed(const struct wbi_call *call)
{
    return call->frames != NULL && call->frames->stream != NULL &&
           wbi_stream_committed(call->frames->stream);
}
