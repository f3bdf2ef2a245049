/* SPDX-License-Identifier: Apache-2.0
 * waybill/tool.h: tools and families of one's own. */
#ifndef WAYBILL_TOOL_H
#define WAYBILL_TOOL_H

#include "waybill/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a tool as a C function ---- */

/* One running call of a registered tool. Good until it is finished. */
typedef struct wb_tool_call wb_tool_call;

/* On the loop thread. Must end in exactly one wb_tool_finish… or wb_tool_fail,
 * inside this function or later from any thread. */
typedef void (*wb_tool_run_cb)(wb_tool_call *call, void *arg);
/* On the loop thread, while the call runs: please end soon. May come again. */
typedef void (*wb_tool_cancel_cb)(wb_tool_call *call, void *arg);

/* descriptor: JSON object with name, title, description, version, inputSchema,
 * outputSchema, effect, parallel, idempotencyKey, timeoutMs (none: no limit but those of
 * policies and the call), budgetTokens, inputKind, grammar, tags, scopes, credentials,
 * deprecated (docs/tools.md). Its guards are those of the configuration. family: name of a
 * registered family, or NULL for the generic one. cancel may be NULL. Loop thread (or before
 * it runs). WB_EINPUT: the error says which member is wrong; WB_EEXISTS; WB_ENOTFOUND: no
 * such family. */
WB_API WB_MUST_CHECK wb_rc wb_tool_register(wb_runtime *runtime, const char *descriptor,
                                            const char *family, wb_tool_run_cb run,
                                            wb_tool_cancel_cb cancel, void *arg, wb_error **reterr);

/* The validated input as JSON text, NUL-terminated, owned by the call. NULL when
 * out of memory. This one and those up to wb_tool_call_cancelled: loop thread. */
WB_API const char *wb_tool_call_input(wb_tool_call *call, size_t *ret_size);
/* A member of the input by JSON Pointer when it is a string, else NULL. */
WB_API const char *wb_tool_call_string(wb_tool_call *call, const char *pointer, size_t *ret_size);
/* The runtime's own id of the call, "call_…". */
WB_API const char *wb_tool_call_id(const wb_tool_call *call);
WB_API const char *wb_tool_call_correlation_id(wb_tool_call *call);
/* What the call was asked with, as it counts: with the ids and the principal that the request
 * left out, and the idempotency key that a model's call of an IdempotentWrite has, by which the
 * tool knows that two attempts or calls mean one effect. Owned by the call; "" where there is
 * none, also for what has no meaning to a tool (MAX_TOKENS, LENIENT, HEARTBEAT_MS). NULL when out
 * of memory. */
WB_API const char *wb_tool_call_field(wb_tool_call *call, wb_field field);
/* Milliseconds until the attempt is asked to end, 0 when they are over; -1: no limit. */
WB_API int64_t wb_tool_call_left_ms(const wb_tool_call *call);
/* W3C trace context to be passed on: traceparent of the call's own span (in the
 * caller's trace where it sent one) and tracestate; "" when there is none. */
WB_API const char *wb_tool_call_traceparent(wb_tool_call *call);
WB_API const char *wb_tool_call_tracestate(wb_tool_call *call);
/* Make request a call that this one causes (C2.2): the same correlation id, principal,
 * conversation and trace, and this call's own id ("call_…") as its causation id. Call it
 * while parent runs; submit it as any other. Loop thread. WB_EMISUSE, WB_ENOMEM. */
WB_API WB_MUST_CHECK wb_rc wb_request_set_parent(wb_request *request, wb_tool_call *parent);
/* Not 0 once the call was asked to end. Loop thread. */
WB_API int wb_tool_call_cancelled(const wb_tool_call *call);
/* The caller's own pointer, kept with the call. Any thread, one at a time. */
WB_API void wb_tool_call_set_data(wb_tool_call *call, void *data);
WB_API void *wb_tool_call_data(const wb_tool_call *call);

/* Finish with the tool's complete output as JSON text (copied). Text that is no
 * JSON, or longer than 64 MiB, ends the call in an error. Any thread. The call is gone then: a
 * cancel function and a thread at work must agree on which of them finishes. Inside the run and
 * cancel functions of the call only the first finish counts. */
WB_API void wb_tool_finish_json(wb_tool_call *call, const char *json, size_t size);
/* The same with plain text (copied, need not be UTF-8). Over 8 MiB it is kept whole as an
 * artifact and its preview is the output, as for commands; where that cannot be (no state
 * directory, outputSchema, a family of one's own), it may have 64 MiB as a JSON string. */
WB_API void wb_tool_finish_text(wb_tool_call *call, const char *text, size_t size);
/* The same with an error. kind: of the error table, NULL for
 * "tool_execution_failed"; details: JSON object text or NULL. */
WB_API void wb_tool_fail(wb_tool_call *call, const char *kind, const char *message,
                         const char *details);
/* What this attempt took of a budget of cost, in the budget's unit; without it the
 * policy's `cost` counts. In millionths, of which one is the least. Any thread, before the call
 * is finished; the last counts. */
WB_API void wb_tool_cost(wb_tool_call *call, double cost);
/* Hand out partial output (a JSON object, copied) to a caller who asked for frames; anything
 * else is left out. Any thread, before the call is finished; frames come in this order. */
WB_API void wb_tool_partial(wb_tool_call *call, const char *json, size_t size);

/* ---- a family: how output is bounded and shown (C5.1) ---- */

/* Where a projector keeps what is too large to show. This and texts are used inside the
 * family's function alone, on the loop thread. */
typedef struct wb_sink wb_sink;
/* Keep bytes; *ret_path is the absolute path, good until the projection ends. role says what
 * they are and ends the file's name: 1 to 23 of a-z, 0-9 and _, or it is WB_EINPUT.
 * WB_EUNSUPPORTED when nothing can be kept; WB_EMISUSE. */
WB_API WB_MUST_CHECK wb_rc wb_sink_put(wb_sink *sink, const char *role, const void *bytes,
                                       size_t size, const char **ret_path);

/* Text under construction, given to a family's functions. Summaries and receipts are cleaned
 * as all that is shown: no terminal controls, hidden characters made visible. */
typedef struct wb_text wb_text;
WB_API void wb_text_add(wb_text *text, const char *bytes, size_t size);
/* The same as a JSON string, quotes included; what is no UTF-8 becomes U+FFFD. */
WB_API void wb_text_quote(wb_text *text, const char *bytes, size_t size);
/* "name: (N lines)" and the lines: a section no payload can forge. */
WB_API void wb_text_section(wb_text *text, const char *name, const char *bytes, size_t size);

/* Make the bounded result (JSON text into result) and a one-line summary of the
 * tool's complete output (JSON text). Deterministic; no side effects but sink. Loop thread. */
typedef wb_rc (*wb_project_cb)(const char *output, size_t size, unsigned budget_tokens,
                               wb_sink *sink, wb_text *result, wb_text *summary, void *arg);
/* Write the receipt of a canonical result (C4.1, JSON text). Cuts nothing. Where it writes
 * nothing the summary is the receipt. Loop thread. */
typedef wb_rc (*wb_render_cb)(const char *canonical, size_t size, wb_text *receipt, void *arg);

/* Loop thread (or before it runs). WB_EEXISTS, WB_EMISUSE, WB_ENOMEM. */
WB_API WB_MUST_CHECK wb_rc wb_family_register(wb_runtime *runtime, const char *name,
                                              wb_project_cb project, wb_render_cb render, void *arg,
                                              wb_error **reterr);

/* ---- projecting and rendering by hand: any thread ---- */

/* Keeps bytes for wb_project; returns the path in *ret_path (static or owned by
 * the caller until wb_project returns). */
typedef wb_rc (*wb_sink_cb)(const char *role, const void *bytes, size_t size, const char **ret_path,
                            void *arg);

/* Complete output (JSON) of a tool of the generic family -> canonical result.
 * sink may be NULL. The caller frees *ret with wb_free. */
WB_API WB_MUST_CHECK wb_rc wb_project(const char *tool_name, const char *output, size_t size,
                                      unsigned budget_tokens, wb_sink_cb sink, void *sink_arg,
                                      char **ret, size_t *ret_size, wb_error **reterr);
/* Canonical result (JSON) -> receipt, by the family its tool belongs to. Refuses
 * (WB_EINPUT) what is no canonical result. The caller frees *ret. */
WB_API WB_MUST_CHECK wb_rc wb_render(const char *canonical, size_t size, char **ret,
                                     size_t *ret_size, wb_error **reterr);

/* ---- listing: any thread after wb_runtime_start, else the thread that drives the loop ----
 * Lists start the MCP servers of the configuration and wait for their tools, but on the
 * runtime's own thread, where the tools known so far are listed. */

/* All tools the principal (NULL: the runtime's) may call, as a JSON array of
 * descriptors with modelName, qualifiedName, origin, effect, parallel, version.
 * name: only the versions of that tool, or NULL. The caller frees *ret. */
WB_API WB_MUST_CHECK wb_rc wb_tools_list(wb_runtime *runtime, const char *principal,
                                         const char *name, char **ret, size_t *ret_size,
                                         wb_error **reterr);
/* The same tools as definitions for a provider (responses, chat, anthropic,
 * gemini, mcp), ready to be sent as `tools`: one a name, the version a call
 * without a range gets, in the order of names. What a provider would refuse at the
 * top of a schema is written otherwise; a tool it would refuse all the same is left out
 * (wb_runtime_on_notice). The caller frees *ret. */
WB_API WB_MUST_CHECK wb_rc wb_tools_export(wb_runtime *runtime, const char *principal,
                                           const char *provider, char **ret, size_t *ret_size,
                                           wb_error **reterr);
/* Whether calls of a tool may run beside others (C9.4), by any name it has.
 * *ret is 1 or 0. WB_ENOTFOUND: no such tool, or hidden from the principal. */
WB_API WB_MUST_CHECK wb_rc wb_tool_parallel(wb_runtime *runtime, const char *principal,
                                            const char *name, int *ret, wb_error **reterr);

/* ---- descriptors in files ---- */

/* Check a file of tools.d (one descriptor or an array, comments allowed) as a
 * runtime would: schema, members, schemas in it, guards, command. root: what
 * paths are relative to. *ret is a JSON array of {line, column, tool?, severity:
 * error|warning|note, providers?, message}: what is wrong, programs that are
 * not there, and what providers would refuse or not enforce. *ret_errors: how many are errors. Any
 * thread. */
WB_API WB_MUST_CHECK wb_rc wb_tools_check(const char *text, size_t size, const char *root,
                                          size_t *ret_errors, char **ret, size_t *ret_size,
                                          wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
