/* SPDX-License-Identifier: Apache-2.0
 * call/attempts.h: what happens between two attempts of a call (C8.5): only an
 * IdempotentWrite with a key is tried again, never past its deadline, never
 * once a frame of it reached the caller. */
#ifndef WBI_CALL_ATTEMPTS_H
#define WBI_CALL_ATTEMPTS_H

#include "call/guards.h"

/* An attempt failed with fault. True: the call is parked and another attempt
 * follows, or what wbi_attempt_next says. False: this was the last one. */
bool wbi_attempt_again(struct wbi_call *call, const struct wbi_fault *fault);
/* The call was resumed between two attempts. NEXT: start one now; PARKED: wait
 * on; REFUSED: no further attempt, the outcome is decided. */
enum wbi_step wbi_attempt_next(struct wbi_call *call);
/* Whether the call stands between two attempts. */
bool wbi_attempt_between(const struct wbi_call *call);
/* An attempt begins: its own time limit holds from here on. */
void wbi_attempt_begin(struct wbi_call *call);
/* Stop waiting: wbi_attempt_next is run at once and sees the cancel. */
void wbi_attempt_cancel(struct wbi_call *call);
/* Add the attempts before as causes, newest first. */
void wbi_attempt_causes(const struct wbi_call *call, struct wbi_fault *fault);

#endif
