/* SPDX-License-Identifier: Apache-2.0
 * call/redact.h: secrets leave the outcome before anything is made of it: no
 * receipt, ledger row, event or frame sees them (C8.8). Output was validated
 * before. */
#ifndef WBI_CALL_REDACT_H
#define WBI_CALL_REDACT_H

#include "call/call.h"
#include "text/redact.h"

/* Replace the outcome's result, output, message, details and summary by
 * redacted ones where they hold secrets; the paths go to facts.redactions. */
WB_MUST_CHECK wb_rc wbi_redact_outcome(struct wbi_call *call);
/* Data of a frame, a JSON object: replaced by a redacted text in scratch where
 * that differs; WB_EINPUT when it is none. */
WB_MUST_CHECK wb_rc wbi_redact_frame(struct wbi_call *call, struct wbi_arena *scratch,
                                     struct wbi_str *data);
/* JSON that passes from a server to a client and is no outcome of a call: the rules of that
 * name and principal. Where something is replaced, *text is a new one in the arena of the
 * list, which tells the paths; else it stays. */
WB_MUST_CHECK wb_rc wbi_redact_passing(struct wbi_runtime *rt, struct wbi_str name,
                                       struct wbi_str principal, struct wbi_str *text,
                                       struct wbi_redact_list *list);
/* The record's invocation as JSON, redacted. */
WB_MUST_CHECK wb_rc wbi_redacted_invocation(struct wbi_call *call, struct wbi_str *ret);

#endif
