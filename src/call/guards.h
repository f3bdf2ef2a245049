/* SPDX-License-Identifier: Apache-2.0
 * call/guards.h: authorization and policies of a runtime, and what one call
 * holds of them. */
#ifndef WBI_CALL_GUARDS_H
#define WBI_CALL_GUARDS_H

#include "call/runtime.h"
#include "event/event.h"
#include "guard/approvals.h"
#include "guard/authorize.h"
#include "guard/chain.h"

struct wbi_guards {
    struct wbi_auth *auth;
    struct wbi_policy *policy;
    struct wbi_guard_chain *chain;
    struct wbi_approvals *approvals;
    struct wbi_events *events;
    struct wbi_timer *timer; /* for queues and approvals that expire */
    struct wbi_call *speaking; /* whose events are being written */
    int events_fd;             /* -1: none asked for */
};

/* Of one call, in its arena; made by ADMIT. */
struct wbi_admission {
    struct wbi_policy_values values;
    struct wbi_policy_clamps clamps;
    struct wbi_guard_request request;
    struct wbi_guard_ticket ticket;
    struct wbi_guard_answer answer;
    struct wbi_attempt_limit limit;
    struct wbi_call_ref ref;
    uint8_t input_hash[WBI_SHA256_SIZE];
    const char *circuit_state;
    bool held;  /* admitted and not settled */
    bool ready; /* a queued call was answered */
    struct wbi_timer *timer; /* between two attempts */
};

/* config may be NULL. */
WB_MUST_CHECK wb_rc wbi_guards_new(struct wbi_runtime *rt, struct wbi_guards **ret,
                                   struct wbi_error *err);
void wbi_guards_free(struct wbi_guards *g);
/* Look again when the next thing expires. */
void wbi_guards_arm(struct wbi_runtime *rt);

struct wbi_auth_tool wbi_guards_tool(const struct wbi_tool *tool);
/* May the principal see the tool? The same answer as calling it (C3.4). */
bool wbi_guards_lists(const struct wbi_runtime *rt, struct wbi_str principal,
                      const struct wbi_tool *tool);

/* policySnapshot of the call so far; made when its redactions are known. */
WB_MUST_CHECK wb_rc wbi_guards_snapshot(struct wbi_call *call);

/* Events (C8.10): each does nothing the second time. */
void wbi_say_invoked(struct wbi_call *call);
void wbi_say_policy(struct wbi_call *call);
void wbi_say_end(struct wbi_call *call);

#endif
