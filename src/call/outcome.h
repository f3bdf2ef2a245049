/* SPDX-License-Identifier: Apache-2.0
 * call/outcome.h: the one outcome of a call (C1, C4). Every surface is a view
 * of it (views.h). An outcome is a success with a result or an error without
 * one; nothing else can be built. Slices live in the call's arena. */
#ifndef WBI_CALL_OUTCOME_H
#define WBI_CALL_OUTCOME_H

#include "base/error.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/write.h"

struct wbi_cause {
    enum wbi_kind kind;
    struct wbi_str code;
    struct wbi_str message;
};

enum wbi_retryable { WBI_RETRYABLE_DEFAULT = 0, WBI_RETRYABLE_NO, WBI_RETRYABLE_YES };

struct wbi_fault {
    enum wbi_kind kind;
    struct wbi_str code;    /* S1; absent: the code of the kind */
    struct wbi_str message; /* one sentence */
    struct wbi_str details; /* JSON object text, or absent */
    struct wbi_str hint;    /* absent: the hint of the kind */
    enum wbi_retryable retryable;
    struct wbi_cause causes[WBI_LIMIT_CAUSED_BY_COUNT];
    size_t cause_count;
    size_t causes_dropped;
};

/* Of the tokens of an error's receipt: the message. The details have the rest. */
#define WBI_MESSAGE_TOKENS 450u

enum wbi_outcome_state { WBI_OUTCOME_NONE = 0, WBI_OUTCOME_SUCCESS, WBI_OUTCOME_ERROR };

struct wbi_outcome {
    enum wbi_outcome_state state;
    struct wbi_str summary; /* one line, at most 200 characters */
    struct wbi_str result;  /* JSON text of the canonical result; success only */
    struct wbi_str output;  /* JSON text of S1's output; absent: same as result */
    struct wbi_fault fault; /* error only */
    struct wbi_str receipt; /* what the model reads */
};

/* Both refuse (WB_EMISUSE) an outcome that is already decided. summary is made
 * one line and cut; an empty one becomes "completed". result must be JSON text. */
WB_MUST_CHECK wb_rc wbi_outcome_succeed(struct wbi_outcome *o, struct wbi_arena *arena,
                                        struct wbi_str summary, struct wbi_str result,
                                        struct wbi_str output);
/* Takes fault as it is and sets the summary. */
WB_MUST_CHECK wb_rc wbi_outcome_fail(struct wbi_outcome *o, struct wbi_arena *arena,
                                     const struct wbi_fault *fault);
/* Bounds message and details of an error (C4.7: protected members stay whole, other details
 * over 1,000 characters become size, digest and preview) and its summary. Secrets are out
 * by now: half of one would not be known as such. */
WB_MUST_CHECK wb_rc wbi_outcome_bound(struct wbi_outcome *o, struct wbi_arena *arena);
/* Adds a cause, newest first; the sixth and later are only counted. */
void wbi_fault_cause(struct wbi_fault *fault, enum wbi_kind kind, struct wbi_str code,
                     struct wbi_str message);

bool wbi_fault_retryable(const struct wbi_fault *fault);
struct wbi_str wbi_fault_hint(const struct wbi_fault *fault);
struct wbi_str wbi_fault_code(const struct wbi_fault *fault);

/* A details object with its large members replaced, so that those that are not
 * protected cost at most that many tokens; ret is JSON text. */
WB_MUST_CHECK wb_rc wbi_details_bound(struct wbi_arena *arena, struct wbi_str details,
                                      uint64_t tokens, struct wbi_str *ret);

#endif
