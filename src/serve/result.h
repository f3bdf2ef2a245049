/* SPDX-License-Identifier: Apache-2.0
 * serve/result.h: an MCP tool result read as a tool's complete output. */
#ifndef WBI_SERVE_RESULT_H
#define WBI_SERVE_RESULT_H

#include "call/exec.h"

struct wbi_tool_text {
    struct wbi_str text; /* all text of the content */
    bool structured;     /* there was structuredContent */
    bool twin;           /* which says what the text says */
    bool secrets;        /* something of it must not be shown */
    bool untouched;      /* it may be passed on as it came, if it fits its budget */
};

/* Fills output and parts of ret, in the call's arena; source is the text that
 * result was read from, if there is one. WB_EINPUT when the value is no result of a
 * tool, WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_tool_result_read(const struct wbi_exec *x, const wbi_json *result,
                                         struct wbi_str source, struct wbi_complete *ret,
                                         struct wbi_tool_text *ret_text);

/* A result whose structuredContent is no object, for revisions that know no such one:
 * without it; content that would then say nothing says it as text. */
WB_MUST_CHECK wb_rc wbi_result_for_legacy(struct wbi_arena *arena, struct wbi_str result,
                                          struct wbi_buf *out);

#endif
