/* SPDX-License-Identifier: Apache-2.0
 * waybill/dispatch.h: provider items in, output items out (C9). Providers by
 * name: auto, responses, chat, anthropic, gemini, mcp, native. */
#ifndef WAYBILL_DISPATCH_H
#define WAYBILL_DISPATCH_H

#include "waybill/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wb_dispatch_options {
    const char *provider; /* NULL: auto */
    unsigned parallel;    /* most calls that run at once; 0: no limit */
    int group;            /* one message per turn instead of one line per call */
    int frames;           /* partial output as frame lines */
} wb_dispatch_options;

/* ---- line by line ---- */

typedef struct wb_router wb_router;
/* One output line without its line end; on the loop thread, answers in call order. Calls may be
 * given and cancelled from inside. With frames it may not run the loop, like all that get frames
 * (call.h): wb_call_run is WB_EMISUSE there, wb_runtime_turn does nothing. */
typedef void (*wb_line_cb)(const char *line, size_t size, void *arg);

/* options may be NULL. Loop thread (or before it runs). WB_EINPUT: unknown provider. */
WB_API WB_MUST_CHECK wb_rc wb_router_new(wb_runtime *runtime, const wb_dispatch_options *options,
                                         wb_line_cb on_line, void *arg, wb_router **ret,
                                         wb_error **reterr);
/* Give it one line (copied); a blank one counts and is not answered. Answers come
 * by on_line, maybe before this returns. Loop thread. A failure is fatal: this line
 * was not taken (C9.3). */
WB_API WB_MUST_CHECK wb_rc wb_router_line(wb_router *router, const char *line, size_t size,
                                          wb_error **reterr);
/* Calls taken and not answered yet. Loop thread. */
WB_API size_t wb_router_pending(const wb_router *router);
/* Ask them all to end; each is still answered. Loop thread. */
WB_API void wb_router_cancel(wb_router *router);
/* After everything is answered. NULL is fine. Loop thread. */
WB_API void wb_router_free(wb_router *router);

/* ---- a whole stream ---- */

/* Read JSON Lines from in until its end, answer on out, return when every call
 * that was taken has its outcome. stop: a descriptor that becomes readable when
 * all calls should be cancelled and reading should stop, or -1. Drives the
 * runtime's loop on this thread. A reader of out that goes away does not stop
 * the calls: they finish and are recorded, but no more lines are taken. WB_OK: every
 * line that was taken was answered. */
WB_API WB_MUST_CHECK wb_rc wb_dispatch(wb_runtime *runtime, const wb_dispatch_options *options,
                                       int in, int out, int stop, wb_error **reterr);

/* ---- histories ---- */

/* Make a conversation legal for its provider (C9.5): every call has exactly one
 * output. history: the bare array or the request object; *ret has the same form
 * and the same bytes when there was nothing to repair. Any thread. */
WB_API WB_MUST_CHECK wb_rc wb_repair(const char *provider, const char *history, size_t size,
                                     char **ret, size_t *ret_size, wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
