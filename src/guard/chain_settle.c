/* SPDX-License-Identifier: Apache-2.0
 * guard/chain_settle.c: how calls end, who goes next, and what time does.
 * (1) An open attempt is closed exactly once: one circuit report, one budget
 * settlement, one slot release. (2) A claimed key is completed, given up or
 * released exactly once, or deliberately left in flight for a late result.
 * (3) Callbacks run only from the pump or the tick, never twice for a ticket,
 * and may call anything. */
#include "guard/chain_int.h"

#include "base/checked.h"

#define TICKET_OF_SLOT(w) \
    ((struct wbi_guard_ticket *)(void *)((char *)(w)-offsetof(struct wbi_guard_ticket, slot)))
#define TICKET_OF_CACHE(w) \
    ((struct wbi_guard_ticket *)(void *)((char *)(w)-offsetof(struct wbi_guard_ticket, cache)))

/* ---- the end of an attempt ---- */

static void settle_circuit(struct wbi_guard_ticket *t, const struct wbi_guard_outcome *o,
                           int64_t now)
{
    const struct wbi_circuit_settings *s = &t->request.policy->circuit;
    bool failed = (o->class == WBI_GUARD_FAILED && !o->refused) || o->class == WBI_GUARD_TIMED_OUT;

    if (!s->set)
        return;
    if (failed || o->class == WBI_GUARD_OK)
        wbi_chain_circuit_event(
            t, wbi_circuit_settle(t->circuit, s, now, &t->pass, failed, o->duration_ns));
    else
        wbi_circuit_cancel(t->circuit, &t->pass);
}

static void settle_budget(struct wbi_guard_ticket *t, const struct wbi_guard_outcome *o,
                          int64_t now)
{
    const struct wbi_budget_settings *s = &t->request.policy->budget;
    struct wbi_budget_amount actual = {1, o->duration_ns, o->cost};
    struct wbi_budget_time time = wbi_chain_budget_time(t->chain, now);

    if (!s->set)
        return;
    if (o->class == WBI_GUARD_NOT_STARTED)
        wbi_budget_cancel(&t->chain->budget, s, &t->budget, time);
    else
        wbi_budget_settle(&t->chain->budget, s, &t->budget, &actual, time);
}

static void close_attempt(struct wbi_guard_ticket *t, const struct wbi_guard_outcome *o,
                          int64_t now)
{
    if (!t->attempt_open)
        return;
    t->attempt_open = false;
    wbi_slots_settle(&t->chain->slots, &t->slots);
    settle_budget(t, o, now);
    if (o->class == WBI_GUARD_NOT_STARTED)
        wbi_rate_cancel(&t->chain->rate, t->rate, t->rate_n);
    settle_circuit(t, o, now);
}

/* ---- the end of a call ---- */

/* What becomes of a key. A retryable outcome must not be bound to it, or the
 * retry it invites would only replay it. What was cut short may have happened:
 * repeating is safe for an IdempotentWrite alone. */
static wb_rc close_key(struct wbi_guard_chain *chain, const struct wbi_guard_request *r,
                       const struct wbi_guard_outcome *o, int64_t now)
{
    struct wbi_idem_id id = wbi_chain_key_id(r);
    const struct wbi_idem_settings *s = &r->policy->idempotency;
    int64_t dated = wbi_chain_dated(chain, now);
    bool cut_short = o->class == WBI_GUARD_TIMED_OUT || o->class == WBI_GUARD_CANCELLED;

    if (o->class == WBI_GUARD_NOT_STARTED)
        return wbi_idem_cancel(&chain->keys, &id);
    if (cut_short && o->still_running)
        return WB_OK;
    if (cut_short || (o->class == WBI_GUARD_FAILED && o->retryable)) {
        if (r->effect == WBI_GUARD_IDEMPOTENT_WRITE || !cut_short)
            return wbi_idem_cancel(&chain->keys, &id);
        return wbi_idem_lose(&chain->keys, &id, s, r->input_hash, dated);
    }
    return wbi_idem_settle(&chain->keys, &id, s, r->input_hash, dated, o->stored);
}

static void close_flight(struct wbi_guard_ticket *t, const struct wbi_guard_outcome *o, int64_t now)
{
    struct wbi_guard_chain *chain = t->chain;
    struct wbi_cache_waiter *waiters, *next;

    if (t->flight == NULL)
        return;
    if (o->class == WBI_GUARD_OK)
        waiters = wbi_cache_settle(&chain->cache, t->flight, o->stored, now,
                                   t->request.policy->cache_ttl_ns);
    else
        waiters = wbi_cache_cancel(&chain->cache, t->flight);
    t->flight = NULL;
    for (; waiters != NULL; waiters = next) {
        struct wbi_guard_ticket *w = TICKET_OF_CACHE(waiters);
        next = waiters->next;
        waiters->next = waiters->prev = NULL;
        wbi_chain_list_remove(&chain->waiting, w);
        w->state = TICKET_READY;
        wbi_chain_list_add(&chain->ready, w);
    }
}

static wb_rc settle(struct wbi_guard_ticket *t, const struct wbi_guard_outcome *o, int64_t now_ns)
{
    int64_t now;
    wb_rc rc = WB_OK;

    if (t->state != TICKET_HELD)
        return WB_OK;
    now = wbi_chain_now(t->chain, now_ns);
    t->state = TICKET_DONE;
    close_attempt(t, o, now);
    if (o->class == WBI_GUARD_OK && t->request.policy->retry.set)
        wbi_retry_settle(&t->chain->retry, &t->retry,
                         wbi_chain_provider(t->chain, t->request.origin));
    /* a claim that outlived its record may be another call's by now */
    if (t->key_claimed && wbi_chain_dated(t->chain, now) < t->claim_ends_ms)
        rc = close_key(t->chain, &t->request, o, now);
    t->key_claimed = false;
    close_flight(t, o, now);
    wbi_chain_pump(t->chain);
    return rc;
}

wb_rc wbi_guard_settle(struct wbi_guard_ticket *t, const struct wbi_guard_outcome *o,
                       int64_t now_ns)
{
    return settle(t, o, now_ns);
}

/* Out of whatever list it waits in. */
static void unpark(struct wbi_guard_ticket *t)
{
    wbi_slots_cancel(&t->chain->slots, &t->slot);
    wbi_cache_leave(&t->cache);
    wbi_chain_list_remove(t->state == TICKET_READY ? &t->chain->ready : &t->chain->waiting, t);
    t->state = TICKET_HELD;
}

void wbi_guard_cancel(struct wbi_guard_ticket *t, int64_t now_ns)
{
    static const struct wbi_guard_outcome unused = {.class = WBI_GUARD_NOT_STARTED};

    if (t->state == TICKET_IDLE || t->state == TICKET_DONE)
        return;
    if (t->state != TICKET_HELD)
        unpark(t);
    (void)settle(t, &unused, now_ns); /* a key left behind becomes unknown in time */
}

enum wbi_retry_verdict wbi_guard_retry(struct wbi_guard_ticket *t,
                                       const struct wbi_guard_outcome *failed,
                                       enum wbi_retry_failure failure, int64_t hint_ms,
                                       int64_t now_ns, int64_t *ret_delay_ns)
{
    const struct wbi_guard_request *r = &t->request;
    int64_t now = wbi_chain_now(t->chain, now_ns);
    enum wbi_retry_verdict verdict = WBI_RETRY_STOP_FINAL;

    close_attempt(t, failed, now);
    if (r->policy->retry.set && wbi_retry_may(r->effect, r->idempotency_key) && t->key_claimed)
        verdict = wbi_retry_admit(&t->chain->retry, &r->policy->retry, &t->retry,
                                  wbi_chain_provider(t->chain, r->origin), failure, hint_ms, now,
                                  r->deadline_ns, ret_delay_ns);
    wbi_chain_pump(t->chain);
    return verdict;
}

wb_rc wbi_guard_late(struct wbi_guard_chain *chain, const struct wbi_guard_request *r,
                     const struct wbi_guard_outcome *o, int64_t now_ns)
{
    struct wbi_idem_id id = wbi_chain_key_id(r);
    struct wbi_guard_outcome final = *o;
    struct wbi_idem_record record;
    int64_t now = wbi_chain_now(chain, now_ns);
    wb_rc rc;

    if (r->input_hash == NULL || !wbi_idem_applies(r->effect, r->idempotency_key))
        return WB_OK;
    rc = chain->keys.get(chain->keys.arg, &id, wbi_chain_dated(chain, now), &record);
    if (rc == WB_ENOTFOUND)
        return WB_OK;
    if (rc != WB_OK || record.state != WBI_IDEM_IN_FLIGHT ||
        memcmp(record.fingerprint, r->input_hash, WBI_SHA256_SIZE) != 0)
        return rc;
    final.still_running = false;
    return close_key(chain, r, &final, now);
}

/* ---- who goes next ---- */

static struct wbi_guard_ticket *next_ready(struct wbi_guard_chain *chain, bool *ret_in_turn)
{
    struct wbi_guard_ticket *t = chain->ready.first;
    struct wbi_slot_waiter *w;

    *ret_in_turn = false;
    if (t != NULL) {
        wbi_chain_list_remove(&chain->ready, t);
        return t;
    }
    w = wbi_slots_next(&chain->slots);
    if (w == NULL)
        return NULL;
    *ret_in_turn = true;
    t = TICKET_OF_SLOT(w);
    wbi_chain_list_remove(&chain->waiting, t);
    return t;
}

void wbi_chain_pump(struct wbi_guard_chain *chain)
{
    struct wbi_guard_ticket *t;
    struct wbi_guard_answer answer;
    bool in_turn;

    if (chain->pumping)
        return;
    chain->pumping = true;
    while ((t = next_ready(chain, &in_turn)) != NULL) {
        t->state = TICKET_IDLE;
        wbi_chain_try(t, in_turn, &answer);
        if (answer.verdict != WBI_GUARD_QUEUED && answer.verdict != WBI_GUARD_WAIT)
            t->request.on_ready(t->request.arg, t, &answer);
    }
    chain->pumping = false;
}

/* ---- time ---- */

static void expire(struct wbi_guard_ticket *t)
{
    const struct wbi_guard_request *r = &t->request;
    struct wbi_guard_answer answer;

    unpark(t);
    if (!t->key_claimed)
        t->state = TICKET_DONE;
    t->queue_until_ns = 0;
    if (t->chain->now_ns < r->deadline_ns) {
        struct wbi_str scope =
            wbi_slots_scope(&t->chain->slots, &t->slots) == WBI_SLOT_TOOL ? r->tool : r->origin;
        wbi_chain_refuse(&answer, WBI_KIND_CONCURRENCY_LIMITED,
                         "no slot of %.*s became free in time", WBI_FMT(scope));
        answer.refusal.throttling_scope = scope;
    } else {
        wbi_chain_refuse(&answer, WBI_KIND_TIMED_OUT,
                         "the deadline passed while the call waited; %s", wbi_chain_untouched(t));
        answer.refusal.retryable =
            wbi_guard_retryable(WBI_KIND_TIMED_OUT, true, r->effect, r->idempotency_key);
    }
    r->on_ready(r->arg, t, &answer);
}

void wbi_guard_tick(struct wbi_guard_chain *chain, int64_t now_ns)
{
    int64_t now = wbi_chain_now(chain, now_ns);
    struct wbi_guard_ticket *t = chain->waiting.first;

    while (t != NULL) {
        if (t->wait_until_ns > now) {
            t = t->next;
            continue;
        }
        expire(t);
        t = chain->waiting.first; /* the callback may have changed the list */
    }
    wbi_chain_pump(chain);
}

int64_t wbi_guard_next_wake(const struct wbi_guard_chain *chain)
{
    int64_t wake = WBI_NO_DEADLINE;

    for (const struct wbi_guard_ticket *t = chain->waiting.first; t != NULL; t = t->next)
        wake = WBI_MIN(wake, t->wait_until_ns);
    return wake;
}

size_t wbi_guard_waiting(const struct wbi_guard_chain *chain)
{
    return chain->waiting.n + chain->ready.n;
}
