/* SPDX-License-Identifier: Apache-2.0
 * ledger/lean.h: what one text of a row says is not stored again in another.
 * Left out of an outcome, and put back by whoever reads it:
 *   invocation  callId, conversationId and principal, which are columns: the number of
 *            those left out stands for them ("principal":3)
 *   canonical   tool_name and status, which are columns
 *   timings  startedAt, where it is the column time_ms
 *   result   output, where it is the canonical result; policySnapshot, which is
 *            the column policy; correlationId, where the invocation has it
 *   trust    principal, which is the column; tool, where the invocation has it
 *   events   the time of one that came in the same millisecond as the one before it
 *            (the first: as the call's start); of the usual three (ToolInvoked,
 *            PolicyApplied, ToolSucceeded) without times, all but their numbers
 * The bytes are those that were left out, so a text read is the text once made. */
#ifndef WBI_LEDGER_LEAN_H
#define WBI_LEDGER_LEAN_H

#include "base/arena.h"
#include "store/row.h"

/* What may be left out: the other text has it in the same bytes, nothing escaped or
 * redacted, where wbi_lean_fill finds it. */
bool wbi_lean_has_output(struct wbi_str canonical, struct wbi_str output);
bool wbi_lean_has_tool(struct wbi_str invocation, struct wbi_str tool);
bool wbi_lean_has_correlation(struct wbi_str invocation, struct wbi_str id);

/* Takes out of an outcome, whose texts are the caller's to change, what its columns say. */
void wbi_lean_cut(struct wbi_row *row);

/* The result as it stands in a canonical text; absent in an error's, or in one that
 * is not ours. */
struct wbi_str wbi_lean_result(struct wbi_str canonical);
/* All texts as they were; texts that lack nothing stay. Memory of arena. */
WB_MUST_CHECK wb_rc wbi_lean_fill(struct wbi_arena *arena, struct wbi_row *row);

#endif
