/* SPDX-License-Identifier: Apache-2.0
 * call/redact.h: secrets leave the outcome before anything is made of it: no
 * receipt, ledger row, event or frame sees them (C8.8). Output was validated
 * before. */
#ifndef WBI_CALL_REDACT_H
#define WBI_CALL_REDACT_H

#include "call/call.h"

/* Replace the outcome's result, output, message, details and summary by
 * redacted ones where they hold secrets; the paths go to facts.redactions. */
WB_MUST_CHECK wb_rc wbi_redact_outcome(struct wbi_call *call);
/* Data of a frame, a JSON object: replaced by a redacted text in scratch where
 * that differs; WB_EINPUT when it is none. */
WB_MUST_CHECK wb_rc wbi_redact_frame(struct wbi_call *call, struct wbi_arena *scratch,
                                     struct wbi_str *data);
/* The record's invocation as JSON, redacted. */
WB_MUST_CHECK wb_rc wbi_redacted_invocation(struct wbi_call *call, struct wbi_str *ret);

#endif
