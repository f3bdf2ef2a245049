/* SPDX-License-Identifier: Apache-2.0
 * guard/chain.h: all guards of a runtime, asked as one (C3.5, C8).
 *
 * A call is admitted by all guards or by none; a refusal leaves every guard as
 * it was. They are asked in this order, and the first that refuses answers:
 *   deadline, idempotency key, cache, circuit, rate, budget, slots.
 * Then all is taken at once. A call that has to wait (for a slot, or for an
 * identical call that runs) holds its place only and is asked all over again
 * when its turn comes, with the deadline still counting.
 *
 * A ticket belongs to the caller (zeroed once, at an address that does not
 * change until it is settled). Loop thread only; no function blocks but for
 * the stores given. */
#ifndef WBI_GUARD_CHAIN_H
#define WBI_GUARD_CHAIN_H

#include "base/clock.h"
#include "guard/cache.h"
#include "guard/policy.h"

struct wbi_guard_chain;
struct wbi_guard_ticket;

enum wbi_guard_verdict {
    WBI_GUARD_ADMITTED = 1, /* run it, then settle */
    WBI_GUARD_REFUSED,      /* over; nothing to settle */
    WBI_GUARD_QUEUED,       /* on_ready tells; or cancel */
    WBI_GUARD_WAIT,         /* the same; an identical Pure call runs */
    WBI_GUARD_REPLAY,       /* over; bytes is the stored outcome of this key */
    WBI_GUARD_CACHED        /* over; bytes is the cached outcome */
};

struct wbi_guard_refusal {
    enum wbi_kind kind;
    const char *code; /* NULL: the kind's own; "RequiredMissing" for a missing key */
    bool retryable;
    int64_t retry_after_ms;          /* -1: none */
    int64_t reset_after_ms;          /* -1: none; budgets */
    struct wbi_str throttling_scope; /* tool or provider that refused; absent otherwise */
    const char *circuit_state;       /* NULL unless a circuit refused */
    const char *missing_field;       /* NULL or "idempotencyKey" */
    const char *hint;                /* NULL: the kind's own */
    char message[240];
};

struct wbi_guard_answer {
    enum wbi_guard_verdict verdict;
    struct wbi_str bytes; /* REPLAY, CACHED: copy before the next guard call */
    struct wbi_guard_refusal refusal;
};

/* Slices and pointers must live as long as the ticket. */
struct wbi_guard_request {
    struct wbi_str tool;   /* qualified */
    struct wbi_str origin; /* provider: "local", "mcp::github" */
    struct wbi_str principal;
    enum wbi_guard_effect effect;
    struct wbi_str idempotency_key; /* absent: none */
    bool key_required;              /* by the tool; an IdempotentWrite needs one anyway */
    const uint8_t *input_hash;      /* SHA-256 of the canonical input; NULL: no key, no cache */
    struct wbi_str version, content_hash, partition; /* for the cache */
    int64_t estimated_cost;                          /* millionths */
    int64_t estimated_time_ns;
    int64_t deadline_ns; /* WBI_NO_DEADLINE */
    const struct wbi_policy_values *policy;
    /* After QUEUED or WAIT, once: ADMITTED, REFUSED, REPLAY or CACHED. May call
     * any guard function. */
    void (*on_ready)(void *arg, struct wbi_guard_ticket *ticket,
                     const struct wbi_guard_answer *answer);
    void *arg;
};

enum wbi_guard_class {
    WBI_GUARD_OK = 1,
    WBI_GUARD_FAILED,     /* execution or system error: a failure of the provider */
    WBI_GUARD_TIMED_OUT,  /* a failure of the provider, effect unknown */
    WBI_GUARD_CONTRACT,   /* it ran, but e.g. its output broke the schema: no circuit sample */
    WBI_GUARD_CANCELLED,  /* stopped on request while running: no circuit sample */
    WBI_GUARD_NOT_STARTED /* everything is given back */
};

struct wbi_guard_outcome {
    enum wbi_guard_class class;
    bool retryable;     /* the outcome says so: its key is not bound to it */
    bool refused;       /* turned away, not failed: no sample of its circuit */
    bool still_running; /* TIMED_OUT, CANCELLED: the executor was not stopped; wbi_guard_late
                           follows */
    int64_t duration_ns;
    int64_t cost;          /* millionths, as it turned out */
    struct wbi_str stored; /* redacted outcome for replays and cache */
};

/* For events (C8.10), each once per happening. */
enum wbi_guard_event_type {
    WBI_GUARD_EVENT_RATE_LIMITED = 1,
    WBI_GUARD_EVENT_CIRCUIT_OPEN,
    WBI_GUARD_EVENT_CIRCUIT_HALF_OPEN,
    WBI_GUARD_EVENT_CIRCUIT_CLOSED
};
struct wbi_guard_event {
    enum wbi_guard_event_type type;
    const struct wbi_guard_request *request; /* the call that made it happen */
    struct wbi_str limiter;                  /* RATE_LIMITED */
    int64_t tokens;
    int64_t retry_after_ms; /* -1: none */
};

struct wbi_guard_parts {
    struct wbi_clock clock;                 /* read once, to date keys and budgets */
    struct wbi_ids random;                  /* table seeds, jitter */
    const struct wbi_idem_store *keys;      /* NULL: in memory */
    const struct wbi_budget_store *budgets; /* NULL: in memory */
    size_t cache_bytes;                     /* 0: WBI_LIMIT_CACHE */
    void (*on_event)(void *arg, const struct wbi_guard_event *event); /* may be NULL */
    void *arg;
};

WB_MUST_CHECK wb_rc wbi_guard_chain_new(const struct wbi_guard_parts *parts,
                                        struct wbi_guard_chain **ret);
/* No ticket may be queued or waiting. NULL is fine. */
void wbi_guard_chain_free(struct wbi_guard_chain *chain);

/* ticket: zeroed. */
void wbi_guard_admit(struct wbi_guard_chain *chain, const struct wbi_guard_request *request,
                     int64_t now_ns, struct wbi_guard_ticket *ticket, struct wbi_guard_answer *ret);
/* The admitted call is over. A second settle of a ticket does nothing. rc: what
 * the key store said (the outcome is right all the same; the key may then be
 * unknown to later calls). */
WB_MUST_CHECK wb_rc wbi_guard_settle(struct wbi_guard_ticket *ticket,
                                     const struct wbi_guard_outcome *outcome, int64_t now_ns);
/* Leave the queue, or give back an admission that was not used. No callback. */
void wbi_guard_cancel(struct wbi_guard_ticket *ticket, int64_t now_ns);

/* ---- retries: one admission, several attempts ---- */

/* The attempt failed: its slot, budget and circuit pass are settled, the key
 * stays claimed. Says whether and when to try again; on anything but
 * WBI_RETRY_GO settle the ticket (the attempt is not counted twice). */
enum wbi_retry_verdict wbi_guard_retry(struct wbi_guard_ticket *ticket,
                                       const struct wbi_guard_outcome *failed,
                                       enum wbi_retry_failure failure, int64_t hint_ms,
                                       int64_t now_ns, int64_t *ret_delay_ns);
/* Begin the next attempt: rate, circuit, budget and slots anew. REFUSED leaves
 * the ticket to be settled or tried again after refusal.retry_after_ms. */
void wbi_guard_again(struct wbi_guard_ticket *ticket, int64_t now_ns, struct wbi_guard_answer *ret);

/* An executor reported after its call had timed out: closes the key left in
 * flight. Nothing else changes: slot and circuit sample were settled. */
WB_MUST_CHECK wb_rc wbi_guard_late(struct wbi_guard_chain *chain,
                                   const struct wbi_guard_request *request,
                                   const struct wbi_guard_outcome *outcome, int64_t now_ns);

/* ---- time ---- */

/* Expire what waited too long. */
void wbi_guard_tick(struct wbi_guard_chain *chain, int64_t now_ns);
/* When tick has something to do; WBI_NO_DEADLINE: never. */
int64_t wbi_guard_next_wake(const struct wbi_guard_chain *chain);

/* ---- questions ---- */

/* NULL when the policy has no circuit. */
const char *wbi_guard_circuit_state(struct wbi_guard_chain *chain,
                                    const struct wbi_guard_request *request);
/* C4.7: an error kind's upper bound narrowed by effect and key: what may have
 * run is retryable only when Pure, or IdempotentWrite with a key. */
bool wbi_guard_retryable(enum wbi_kind kind, bool may_have_run, enum wbi_guard_effect effect,
                         struct wbi_str idempotency_key);
size_t wbi_guard_waiting(const struct wbi_guard_chain *chain);

/* The caller's memory, the chain's contents. */
struct wbi_guard_ticket {
    struct wbi_guard_chain *chain;
    struct wbi_guard_request request;
    struct wbi_guard_ticket *next, *prev; /* of the chain's waiting or ready list */
    int state;                            /* enum of chain.c */
    bool attempt_open, key_claimed;
    int64_t claim_ends_ms; /* the claim is nobody's from here on */
    struct wbi_rate_ask rate[2];
    size_t rate_n;
    struct wbi_circuit *circuit;
    struct wbi_circuit_pass pass;
    struct wbi_slot_waiter slot;
    struct wbi_slot_ask slots;
    struct wbi_budget_hold budget;
    struct wbi_cache_entry *flight;
    struct wbi_cache_waiter cache;
    struct wbi_retry_state retry;
    int64_t wait_until_ns;  /* while it is in the waiting list */
    int64_t queue_until_ns; /* the end of its time for a slot; 0: it has not queued for one */
};

#endif
