/* SPDX-License-Identifier: Apache-2.0
 * call/run.h: the driver and the table of calls in flight. */
#ifndef WBI_CALL_RUN_H
#define WBI_CALL_RUN_H

#include "call/call.h"
#include "loop/loop.h"

/* How long a cancelled stage may take to wind up before its call ends anyway. */
#define WBI_CANCEL_GRACE_MS 5000

struct wbi_calls;
WB_MUST_CHECK wb_rc wbi_calls_new(struct wbi_loop *loop, struct wbi_calls **ret);
/* All calls must be over. */
void wbi_calls_free(struct wbi_calls *calls);
size_t wbi_calls_count(const struct wbi_calls *calls);
/* Calls fn for each call in flight; fn may not start or end calls. */
void wbi_calls_each(struct wbi_calls *calls, void (*fn)(void *arg, struct wbi_call *call),
                    void *arg);
struct wbi_call *wbi_calls_get(struct wbi_calls *calls, uint64_t id);

/* Take the call (filled but for the driver's part) on its way. The journey's
 * finish() is called exactly once, maybe before this returns (never so where the call
 * starts_later). WB_ENOMEM or WB_ELIMIT when it cannot even be entered; then nothing is called. */
WB_MUST_CHECK wb_rc wbi_call_start(struct wbi_calls *calls, struct wbi_call *call,
                                   const struct wbi_journey *journey);
/* Ask the call to end. Any number of times, also for calls that are gone. */
void wbi_call_cancel(struct wbi_calls *calls, uint64_t id, enum wbi_cancel_reason reason);
/* Set or tighten the moment at which the call times out. */
void wbi_call_limit(struct wbi_call *call, int64_t limit_ns);
/* Another attempt begins, or is waited for: a time-out of the attempt before it
 * is forgotten and limit_ns (INT64_MAX: none) holds from here on. Not for a call
 * that was cancelled for another reason. */
void wbi_call_relimit(struct wbi_call *call, int64_t limit_ns);

/* The grace time of a cancelled call is over: end it if its stage is still away
 * (the driver's timer calls this). */
void wbi_call_grace_over(struct wbi_call *call);

#endif
