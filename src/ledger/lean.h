/* SPDX-License-Identifier: Apache-2.0
 * ledger/lean.h: what one text of a row says is not stored again in another.
 * Left out of an outcome, and put back by whoever reads it:
 *   result   output, where it is the canonical result; policySnapshot, which is
 *            the column policy; correlationId, where the invocation has it
 *   trust    principal, which is the column; tool, where the invocation has it
 *   events   the time of one that came in the same millisecond as the one before it
 *            (the first: as the call's start)
 * The bytes are those that were left out, so a text read is the text once made. */
#ifndef WBI_LEDGER_LEAN_H
#define WBI_LEDGER_LEAN_H

#include "base/arena.h"
#include "store/row.h"

/* The result as it stands in a canonical text; absent in an error's, or in one that
 * is not ours. */
struct wbi_str wbi_lean_result(struct wbi_str canonical);

/* A string of an invocation with its quotes, as wbi_lean_fill finds it; absent in a text
 * that is not ours. */
struct wbi_str wbi_lean_tool(struct wbi_str invocation);
struct wbi_str wbi_lean_correlation(struct wbi_str invocation);
/* Whether that is s, nothing escaped or redacted: then s may be left out. What is found
 * may belong to something else, so neither a null nor a sequence that stands for another
 * character is taken for s. */
static inline bool wbi_lean_says(struct wbi_str quoted, struct wbi_str s)
{
    return s.n > 0 && quoted.n == s.n + 2 && quoted.p[0] == '"' &&
           memcmp(quoted.p + 1, s.p, s.n) == 0 && memchr(s.p, '\\', s.n) == NULL;
}

/* result, trust and events as they were; texts that lack nothing stay. Memory of arena. */
WB_MUST_CHECK wb_rc wbi_lean_fill(struct wbi_arena *arena, struct wbi_row *row);

#endif
