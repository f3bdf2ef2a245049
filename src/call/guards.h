/* SPDX-License-Identifier: Apache-2.0
 * call/guards.h: authorization and policies of a runtime, and what one call
 * holds of them. */
#ifndef WBI_CALL_GUARDS_H
#define WBI_CALL_GUARDS_H

#include "base/limits.h"
#include "call/runtime.h"
#include "event/event.h"
#include "event/out.h"
#include "guard/approvals.h"
#include "guard/authorize.h"
#include "guard/chain.h"

/* Sets of redaction paths that stay compiled. */
#define WBI_GUARD_RULE_SETS 32

struct wbi_guards {
    struct wbi_auth *auth;
    struct wbi_policy *policy;
    struct wbi_guard_chain *chain;
    struct wbi_approvals *approvals;
    struct wbi_events *events;
    struct wbi_timer *timer;          /* for queues and approvals that expire */
    struct wbi_call *speaking;        /* whose events are being written */
    struct wbi_event_out *events_out; /* NULL: none asked for */
    struct {
        uint8_t sum[WBI_SHA256_SIZE];
        struct wbi_redact_rules *rules;
    } rules[WBI_GUARD_RULE_SETS];
    size_t rules_n;
    void (*on_reload)(void *arg); /* what principals see may be another now; may be NULL */
    void *on_reload_arg;
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
    bool held;    /* admitted and not settled */
    bool waiting; /* in a queue of the guards: they will call back, or it leaves */
    /* between two attempts; see attempts.c */
    struct wbi_timer *timer;
    enum { WBI_BETWEEN_NONE = 0, WBI_BETWEEN_TIMER, WBI_BETWEEN_QUEUE } between;
    bool refused_again;       /* a guard let no further attempt in */
    int64_t attempt_ns;       /* when the attempt began that runs or ran last */
    struct wbi_fault *failed; /* attempts before, newest first; NULL: none */
    size_t failed_n;
};

/* events: a file, the number of a descriptor, or absent. */
WB_MUST_CHECK wb_rc wbi_guards_new(struct wbi_runtime *rt, struct wbi_str events,
                                   struct wbi_guards **ret, struct wbi_error *err);
/* Read the files again. On failure everything stays as it was; err says why.
 * Calls under way keep what they were admitted with. */
WB_MUST_CHECK wb_rc wbi_guards_reload(struct wbi_runtime *rt, struct wbi_error *err);
void wbi_guards_free(struct wbi_guards *g);
/* Look again when the next thing expires. */
void wbi_guards_arm(struct wbi_runtime *rt);

struct wbi_auth_tool wbi_guards_tool(const struct wbi_tool *tool);
/* How a principal (absent: the runtime's) sees tools, for wbi_catalog_resolve. */
struct wbi_viewer wbi_guards_viewer(const struct wbi_runtime *rt, struct wbi_str principal);
/* Is this the version a call without a range gets? Lists that tell of a tool once tell of it. */
bool wbi_guards_tells(const struct wbi_runtime *rt, struct wbi_str principal,
                      const struct wbi_catalog *catalog, const struct wbi_tool *tool);
/* May the principal see the tool? The same answer as calling it (C3.4). */
bool wbi_guards_lists(const struct wbi_runtime *rt, struct wbi_str principal,
                      const struct wbi_tool *tool);

/* The circuit as it is now, for the snapshot: after the guards were asked. */
void wbi_admission_look(const struct wbi_call *call, struct wbi_admission *a);
/* A guard's refusal as the error of a call; in the call's arena. */
struct wbi_fault wbi_refusal_fault(struct wbi_call *call, const struct wbi_guard_refusal *r);
enum wbi_step wbi_call_fail_refusal(struct wbi_call *call, const struct wbi_guard_refusal *r);
/* What the attempt that ran last took of a budget, millionths. */
int64_t wbi_attempt_cost(const struct wbi_call *call);
/* What an error means to the guards. */
enum wbi_guard_class wbi_guard_class_of(const struct wbi_fault *fault);
/* Whoever ran it said no: nobody's failure. */
bool wbi_fault_refuses(const struct wbi_fault *fault);

/* policySnapshot of the call so far; made when its redactions are known. */
WB_MUST_CHECK wb_rc wbi_guards_snapshot(struct wbi_call *call);

/* Events (C8.10): each does nothing the second time. */
void wbi_say_invoked(struct wbi_call *call);
void wbi_say_policy(struct wbi_call *call);
void wbi_say_end(struct wbi_call *call);
/* What the guard chain tells; arg: the guards. */
void wbi_say_guard_event(void *arg, const struct wbi_guard_event *event);
/* W3C trace context to be passed on: the call's own span, in the caller's trace
 * where it sent one. Texts in the call's arena; "" for no state. False: no memory. */
struct wbi_trace_texts {
    struct wbi_str parent, state;
};
bool wbi_call_trace(struct wbi_call *call, struct wbi_trace_texts *ret);

/* Events that no reader has taken (so far). */
uint64_t wbi_events_missed(struct wbi_guards *g);
/* Give a slow reader a moment. */
void wbi_events_flush(struct wbi_guards *g);
/* Of wbi_guards_new. */
WB_MUST_CHECK wb_rc wbi_events_open(struct wbi_runtime *rt, struct wbi_guards *g,
                                    struct wbi_str target, struct wbi_error *err);

#endif
