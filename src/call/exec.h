/* SPDX-License-Identifier: Apache-2.0
 * call/exec.h: one running attempt of a tool, as its executor sees it. */
#ifndef WBI_CALL_EXEC_H
#define WBI_CALL_EXEC_H

#include "call/call.h"

struct wbi_exec {
    struct wbi_arena *arena; /* the call's; valid until wbi_exec_done returns */
    const struct wbi_tool *tool;
    const wbi_json *input;
    struct wbi_call *call;
    struct wbi_runtime *runtime;
    int64_t limit_ns;                /* moment at which the attempt times out */
    enum wbi_cancel_reason cancel;   /* why it was asked to stop, if it was */
    void *state;                     /* the executor's own */
    int64_t cost;                    /* what it took of a budget, millionths; -1: not told */
    struct wbi_str artifacts, audit; /* for the record where it fails; as of wbi_complete */
    struct wbi_call_ref ref;
    bool done;
};

/* The attempt ended. Loop thread, exactly once per start; a second one is
 * ignored. complete lives in x->arena. */
void wbi_exec_done(struct wbi_exec *x, const struct wbi_complete *complete);
/* The attempt ended in an error with this kind and message. */
__attribute__((format(printf, 3, 4))) void wbi_exec_fail(struct wbi_exec *x, enum wbi_kind kind,
                                                         const char *fmt, ...);
/* The same with everything given; fault is copied. */
void wbi_exec_fail_fault(struct wbi_exec *x, const struct wbi_fault *fault);
/* Zeroed memory of the call. NULL: there is none, and the attempt has ended with that: x is
 * gone. */
void *wbi_exec_alloc(struct wbi_exec *x, size_t n);
/* The attempt ended because it was asked to: timed_out or cancelled by
 * x->cancel; partial (JSON object text or absent) becomes details.partial. */
void wbi_exec_stopped(struct wbi_exec *x, struct wbi_str partial);
/* Milliseconds the attempt may still take, 0 when they are over; -1: no limit. Clock and limit
 * are the call's. */
int64_t wbi_exec_left_ms(const struct wbi_exec *x);
/* Hand a piece of partial output to whoever listens; data is a JSON object. */
void wbi_exec_partial(struct wbi_exec *x, struct wbi_str data);

/* The same for raw output of a stream, as {"stream","text"}, cleaned. */
void wbi_exec_output(struct wbi_exec *x, const char *stream, struct wbi_str bytes);

/* The budget of the receipt as it is set for the tool (settings.budgets by name for
 * built-ins), before anybody wishes for another. */
uint32_t wbi_call_usual_budget(const struct wbi_call *call);

#endif
