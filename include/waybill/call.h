/* SPDX-License-Identifier: Apache-2.0
 * waybill/call.h: one call in, exactly one outcome out. */
#ifndef WAYBILL_CALL_H
#define WAYBILL_CALL_H

#include "waybill/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is asked ---- */

typedef struct wb_request wb_request;

typedef enum wb_field {
    WB_FIELD_INPUT = 1, /* JSON text; default "{}" */
    WB_FIELD_VERSION_RANGE = 2,
    WB_FIELD_CORRELATION_ID = 3,
    WB_FIELD_CAUSATION_ID = 4,
    WB_FIELD_IDEMPOTENCY_KEY = 5,
    WB_FIELD_HEADERS = 6,  /* JSON object of strings */
    WB_FIELD_METADATA = 7, /* JSON object */
    WB_FIELD_DEADLINE = 8, /* RFC 3339 */
    WB_FIELD_CALL_ID = 9,
    WB_FIELD_CONVERSATION_ID = 10,
    WB_FIELD_TURN_ID = 11,
    WB_FIELD_PRINCIPAL = 12,
    WB_FIELD_PROVIDER = 13,
    WB_FIELD_MODEL = 14,
    WB_FIELD_MAX_TOKENS = 15,  /* lower the receipt's budget; decimal, 0 not */
    WB_FIELD_LENIENT = 16,     /* "1": repair input as for calls of a model (C3.3); "0" not */
    WB_FIELD_TRACEPARENT = 17, /* W3C; a wrong one is left out, as that standard says */
    WB_FIELD_HEARTBEAT_MS = 18 /* with frames: how often a heartbeat comes; decimal, 0 never */
} wb_field;

/* A native invocation of a tool by model or qualified name. NULL when out of
 * memory. Any thread; one thread at a time per object. */
WB_API wb_request *wb_request_new(const char *tool_name);
/* This one and the three below: as wb_request_new.
 * value is copied; NULL takes a field back. Nothing is judged here: a bad value
 * (also what is not UTF-8) gives the call the error outcome malformed_call, bad JSON as
 * input invalid_tool_input. WB_EMISUSE, WB_ENOMEM. */
WB_API wb_rc wb_request_set(wb_request *request, wb_field field, const char *value);
/* One frame of a call (C8.9), JSON text without a line end, NUL-terminated; on the loop thread,
 * while the call runs. The last one has the event "completed" or "error" and
 * comes before the result. */
typedef void (*wb_frame_cb)(const char *frame, size_t size, void *arg);
/* Ask for frames; NULL takes the wish back. */
WB_API wb_rc wb_request_set_frames(wb_request *request, wb_frame_cb on_frame, void *arg);
WB_API void wb_request_free(wb_request *request); /* NULL is fine */

/* Inside callbacks that get frames or output calls may be submitted and cancelled, also the one
 * they are of (its last frame and its result may then come before wb_call_cancel returns); the
 * loop may not be run. */

/* Raw output of a command while it runs; stream is "stdout" or "stderr" (a
 * terminal has only the first). Bytes are good during the call. Loop thread. */
typedef void (*wb_output_cb)(const char *stream, const char *bytes, size_t size, void *arg);
/* Also hand the output of the command out as it comes. NULL takes it back. */
WB_API wb_rc wb_request_on_output(wb_request *request, wb_output_cb on_output, void *arg);

/* ---- what came of it ---- */

typedef struct wb_result wb_result;

typedef enum wb_view {
    WB_VIEW_RECEIPT = 1,   /* the text for the model */
    WB_VIEW_CANONICAL = 2, /* C4.1 */
    WB_VIEW_RESULT = 3,    /* C4.2 */
    WB_VIEW_ENVELOPE = 4,  /* C4.3 */
    WB_VIEW_RECORD = 5,    /* C4.6 */
    WB_VIEW_ITEM = 6       /* the provider's output item, for calls made of one */
} wb_view;

/* A surface as text, NUL-terminated, owned by the result; *ret_size may be NULL.
 * NULL when out of memory or (ITEM) when there is none. Any thread, one at a time. */
WB_API const char *wb_result_view(wb_result *result, wb_view view, size_t *ret_size);
/* 1 for a success, 0 for an error. This one and the three below: any thread. */
WB_API int wb_result_ok(const wb_result *result);
/* Kind of the error, "" for a success. Static storage. */
WB_API const char *wb_result_kind(const wb_result *result);
/* Exit code of the error table, 0 for a success. */
WB_API int wb_result_exit_code(const wb_result *result);
/* The runtime's own id of the call, "call_…". */
WB_API const char *wb_result_call(const wb_result *result);
/* Keep a result after its callback; each ref needs one free, before the runtime is freed.
 * Any thread, both: the last free of another thread is handed over to the loop. */
WB_API wb_result *wb_result_ref(wb_result *result);
WB_API void wb_result_free(wb_result *result); /* NULL is fine */

/* ---- submitting ---- */

typedef struct wb_call_id {
    uint64_t v;
} wb_call_id;

/* On the loop thread, exactly once per submitted call. result is good during the
 * callback; wb_result_ref keeps it. result is NULL only for a call submitted from
 * another thread that could not be started: no memory, or the runtime ended. */
typedef void (*wb_done_cb)(wb_result *result, void *arg);

/* Any thread; request is copied and stays the caller's. on_done fires exactly
 * once, maybe before this returns when called on the loop thread; if this fails
 * it never fires. ret_id may be NULL. WB_EMISUSE, WB_ENOMEM, WB_ECANCELLED while
 * the runtime ends. */
WB_API WB_MUST_CHECK wb_rc wb_call_submit(wb_runtime *runtime, const wb_request *request,
                                          wb_done_cb on_done, void *arg, wb_call_id *ret_id);
/* Any thread, any number of times, also for calls that are over. */
WB_API void wb_call_cancel(wb_runtime *runtime, wb_call_id id);
/* Submit and drive the loop of this thread until the outcome is there. The
 * caller frees the result. Not after wb_runtime_start. Inside a callback it may be used for
 * calls that do not wait for the callback's own to end; WB_EMISUSE inside one that gets frames
 * or output. A loop of the caller's runs all that is on it meanwhile, none of which may free the
 * runtime. */
WB_API WB_MUST_CHECK wb_rc wb_call_run(wb_runtime *runtime, const wb_request *request,
                                       wb_result **ret);

#ifdef __cplusplus
}
#endif
#endif
