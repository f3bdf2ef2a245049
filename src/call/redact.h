/* SPDX-License-Identifier: Apache-2.0
 * call/redact.h: secrets leave the outcome before anything is made of it: no
 * receipt, ledger row, event or frame sees them (C8.8). Output was validated
 * before. */
#ifndef WBI_CALL_REDACT_H
#define WBI_CALL_REDACT_H

#include "call/call.h"
#include "text/redact.h"

/* What a tool gave, before anything is made or kept of it: output and parts are replaced by
 * redacted ones. Paths of policy count from the root of the output. */
WB_MUST_CHECK wb_rc wbi_redact_complete(struct wbi_call *call);
/* The same of what stands beside the output: of a failure, whose text has its own way. */
WB_MUST_CHECK wb_rc wbi_redact_beside(struct wbi_call *call, struct wbi_complete *full);
/* Whether one look at JSON text tells that nothing is to be redacted in it, nor in any part of
 * it. */
bool wbi_redact_is_plain(struct wbi_call *call, struct wbi_str json);
/* Whether something of a whole result would be: by its names, forms and paths, and by paths
 * from the root of the output in it (NULL: none). */
WB_MUST_CHECK wb_rc wbi_redact_would(struct wbi_call *call, const wbi_json *result,
                                     const wbi_json *output, bool *ret);
/* The value without what is to be redacted in it; v itself where that is nothing. */
WB_MUST_CHECK wb_rc wbi_redact_value(struct wbi_call *call, const wbi_json *v,
                                     const wbi_json **ret);
/* The same of a block of content, or of members of one or of a result, by name and form: paths
 * of policy count from the root of the output, and here would take what makes it a block. */
WB_MUST_CHECK wb_rc wbi_redact_block(struct wbi_call *call, const wbi_json *v,
                                     const wbi_json **ret);
/* A place into facts.redactions, once. */
WB_MUST_CHECK wb_rc wbi_redact_note(struct wbi_call *call, struct wbi_str path);
/* Replace the secrets in a text, the place goes to facts.redactions; of one that a tool or
 * server said also what C6.5 removes. Before anything is cut: half a secret is not known. */
WB_MUST_CHECK wb_rc wbi_redact_text(struct wbi_call *call, const char *where, struct wbi_str *text);
WB_MUST_CHECK wb_rc wbi_redact_said(struct wbi_call *call, const char *where, struct wbi_str *text);
/* Many tools give their JSON as text: where it is, its members are redacted by name and path,
 * as in output that is no text. Counted from the root of that JSON. */
WB_MUST_CHECK wb_rc wbi_redact_json_text(struct wbi_call *call, const char *where,
                                         struct wbi_str *text);
/* Replace the outcome's result, output, message, details and summary by
 * redacted ones where they hold secrets, and bound what an error says then; the paths go to
 * facts.redactions. */
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
/* The sentence about what was taken for no call, and so has no outcome: it may quote that. */
void wbi_redact_error(const struct wbi_runtime *rt, struct wbi_error *err);
/* The record's invocation as JSON, redacted. */
WB_MUST_CHECK wb_rc wbi_redacted_invocation(struct wbi_call *call, struct wbi_str *ret);

#endif
