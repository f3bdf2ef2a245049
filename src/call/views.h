/* SPDX-License-Identifier: Apache-2.0
 * call/views.h: the surfaces of C4, each derived from the outcome. */
#ifndef WBI_CALL_VIEWS_H
#define WBI_CALL_VIEWS_H

#include "call/outcome.h"

struct wbi_call;

/* C4.1: {"tool_name","status","summary_text","result","error"}, compact. */
WB_MUST_CHECK wb_rc wbi_view_canonical(const struct wbi_outcome *o, struct wbi_str tool_name,
                                       struct wbi_buf *out);
/* The canonical error object alone. */
void wbi_view_error(const struct wbi_fault *f, struct wbi_jw *w);

/* What several surfaces say alike. */
int64_t wbi_call_duration_ms(const struct wbi_call *call);
/* C2.5: the model name, and the qualified one; as it came where it names nothing known. */
struct wbi_str wbi_call_tool_name(const struct wbi_call *call);
struct wbi_str wbi_call_qualified(const struct wbi_call *call);
/* As it came, with its namespace: how other rooms are asked for it. */
struct wbi_str wbi_call_full_name(const struct wbi_call *call);
/* The name says the origin even where nothing was resolved; else "unknown". */
struct wbi_str wbi_call_origin(const struct wbi_call *call);
struct wbi_str wbi_call_snapshot(const struct wbi_call *call);

/* C4.2. */
WB_MUST_CHECK wb_rc wbi_view_result(const struct wbi_call *call, struct wbi_buf *out);
/* The same as the ledger keeps it (ledger/lean.h). */
WB_MUST_CHECK wb_rc wbi_view_lean_result(const struct wbi_call *call, struct wbi_buf *out);
/* C4.3: {"result": …} or {"error": …} with __envelope. */
WB_MUST_CHECK wb_rc wbi_view_envelope(struct wbi_call *call, struct wbi_buf *out);
/* C10, I4: the result of an MCP tools/call. */
WB_MUST_CHECK wb_rc wbi_view_mcp(struct wbi_call *call, struct wbi_buf *out);
/* The result of an MCP tool that is passed on as it came, or absent. */
struct wbi_str wbi_call_untouched(const struct wbi_call *call);
/* C4.6: see record.h. */
WB_MUST_CHECK wb_rc wbi_view_record(struct wbi_call *call, struct wbi_buf *out);

#endif
