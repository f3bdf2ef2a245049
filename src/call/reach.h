/* SPDX-License-Identifier: Apache-2.0
 * call/reach.h: approvals answered from outside the process, by the control
 * socket's methods "approvals.list" and "approvals.resolve" {id, granted, who?}. */
#ifndef WBI_CALL_REACH_H
#define WBI_CALL_REACH_H

#include "call/runtime.h"
#include "guard/approvals.h"

/* Offer the methods; once, after the guards were made. */
WB_MUST_CHECK wb_rc wbi_reach_offer(struct wbi_runtime *rt, struct wbi_error *err);
/* Somebody has to answer: see that the socket is there. A runtime without a
 * state directory is only reached from inside. */
void wbi_reach_open(struct wbi_runtime *rt);

/* One approval as {id, tool, principal, invocation, ageMs, expiresInMs}. */
void wbi_approval_write(struct wbi_runtime *rt, const struct wbi_approval *a, struct wbi_jw *w);
/* All that wait, as a JSON array of them. */
void wbi_approvals_write(struct wbi_runtime *rt, struct wbi_jw *w);

#endif
