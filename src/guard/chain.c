/* SPDX-License-Identifier: Apache-2.0
 * guard/chain.c: admission. Each check looks and changes nothing (but makes
 * room in its table); only when all have passed is anything taken, the parts
 * that can fail first, so that a failure has little to undo. */
#include "guard/chain_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"

/* ---- building ---- */

static uint64_t random_seed(const struct wbi_ids *random)
{
    uint8_t bytes[8];
    uint64_t seed;

    random->fill(random->arg, bytes, sizeof(bytes));
    memcpy(&seed, bytes, sizeof(seed));
    return seed;
}

wb_rc wbi_guard_chain_new(const struct wbi_guard_parts *parts, struct wbi_guard_chain **ret)
{
    struct wbi_guard_chain *chain = wbi_zalloc(sizeof(*chain));
    wb_rc rc;

    if (chain == NULL)
        return WB_ENOMEM;
    chain->seed = random_seed(&parts->random);
    if (parts->keys != NULL) {
        chain->keys = *parts->keys;
    } else {
        rc = wbi_idem_memory_new(chain->seed, &chain->own_keys);
        if (rc != WB_OK) {
            wbi_free(chain);
            return rc;
        }
        chain->keys = wbi_idem_memory_store(chain->own_keys);
    }
    chain->start_ns = wbi_now_ns(&parts->clock);
    chain->start_wall_ms = wbi_wall_ms(&parts->clock);
    chain->now_ns = chain->start_ns;
    chain->on_event = parts->on_event;
    chain->arg = parts->arg;
    wbi_rate_init(&chain->rate);
    wbi_table_init(&chain->circuits, sizeof(struct wbi_circuit *));
    wbi_slots_init(&chain->slots);
    wbi_budget_init(&chain->budget, parts->budgets, chain->seed);
    wbi_retry_init(&chain->retry, &parts->random);
    wbi_cache_init(&chain->cache, parts->cache_bytes ? parts->cache_bytes : WBI_LIMIT_CACHE,
                   chain->seed);
    *ret = chain;
    return WB_OK;
}

void wbi_guard_chain_free(struct wbi_guard_chain *chain)
{
    struct wbi_circuit **circuit;
    size_t at = 0;

    if (chain == NULL)
        return;
    while ((circuit = wbi_table_next(&chain->circuits, &at)) != NULL)
        wbi_free(*circuit);
    wbi_table_fini(&chain->circuits);
    wbi_rate_fini(&chain->rate);
    wbi_slots_fini(&chain->slots);
    wbi_budget_fini(&chain->budget);
    wbi_retry_fini(&chain->retry);
    wbi_cache_fini(&chain->cache);
    wbi_idem_memory_free(chain->own_keys);
    wbi_free(chain);
}

/* ---- small things ---- */

void wbi_chain_list_add(struct ticket_list *list, struct wbi_guard_ticket *t)
{
    t->next = NULL;
    t->prev = list->last;
    *(list->last ? &list->last->next : &list->first) = t;
    list->last = t;
    list->n++;
}

void wbi_chain_list_remove(struct ticket_list *list, struct wbi_guard_ticket *t)
{
    *(t->prev ? &t->prev->next : &list->first) = t->next;
    *(t->next ? &t->next->prev : &list->last) = t->prev;
    t->next = t->prev = NULL;
    list->n--;
}

int64_t wbi_chain_now(struct wbi_guard_chain *chain, int64_t now_ns)
{
    chain->now_ns = WBI_MAX(chain->now_ns, now_ns);
    return chain->now_ns;
}

int64_t wbi_chain_dated(const struct wbi_guard_chain *chain, int64_t now_ns)
{
    return chain->start_wall_ms + (now_ns - chain->start_ns) / WBI_NS_PER_MS;
}

struct wbi_budget_time wbi_chain_budget_time(const struct wbi_guard_chain *chain, int64_t now_ns)
{
    return (struct wbi_budget_time){now_ns, wbi_chain_dated(chain, now_ns)};
}

struct wbi_idem_id wbi_chain_key_id(const struct wbi_guard_request *r)
{
    return (struct wbi_idem_id){r->principal, r->tool, r->idempotency_key};
}

struct wbi_key wbi_chain_provider(const struct wbi_guard_chain *chain, struct wbi_str origin)
{
    return wbi_key_of(chain->seed, 'P', origin, WBI_NONE, WBI_NONE);
}

bool wbi_guard_retryable(enum wbi_kind kind, bool may_have_run, enum wbi_guard_effect effect,
                         struct wbi_str idempotency_key)
{
    if (!wbi_kind_row(kind)->retryable)
        return false;
    return !may_have_run || effect == WBI_GUARD_PURE || wbi_retry_may(effect, idempotency_key);
}

void wbi_chain_refuse(struct wbi_guard_answer *ret, enum wbi_kind kind, const char *fmt, ...)
{
    va_list ap;

    *ret = (struct wbi_guard_answer){.verdict = WBI_GUARD_REFUSED};
    ret->refusal.kind = kind;
    ret->refusal.retryable = wbi_kind_row(kind)->retryable;
    ret->refusal.retry_after_ms = -1;
    ret->refusal.reset_after_ms = -1;
    va_start(ap, fmt);
    (void)vsnprintf(ret->refusal.message, sizeof(ret->refusal.message), fmt, ap);
    va_end(ap);
}

const char *wbi_chain_untouched(const struct wbi_guard_ticket *t)
{
    return t->retry.attempts > 1 ? "no further attempt was made" : "nothing was executed";
}

/* A guard itself failed. */
static bool broken(const struct wbi_guard_ticket *t, struct wbi_guard_answer *ret, wb_rc rc,
                   const char *what)
{
    bool memory = rc == WB_ENOMEM || rc == WB_ELIMIT;

    wbi_chain_refuse(ret, memory ? WBI_KIND_INTERNAL_ERROR : WBI_KIND_STATE_UNAVAILABLE,
                     "%s could not be checked%s; %s", what,
                     memory ? ", there is no memory for it" : "", wbi_chain_untouched(t));
    return false;
}

static void emit(struct wbi_guard_chain *chain, const struct wbi_guard_event *event)
{
    if (chain->on_event != NULL)
        chain->on_event(chain->arg, event);
}

void wbi_chain_circuit_event(struct wbi_guard_ticket *t, enum wbi_circuit_change change)
{
    static const enum wbi_guard_event_type types[] = {
        [WBI_CIRCUIT_OPENED] = WBI_GUARD_EVENT_CIRCUIT_OPEN,
        [WBI_CIRCUIT_HALF_OPENED] = WBI_GUARD_EVENT_CIRCUIT_HALF_OPEN,
        [WBI_CIRCUIT_CLOSED_AGAIN] = WBI_GUARD_EVENT_CIRCUIT_CLOSED,
    };
    struct wbi_guard_event event = {.request = &t->request, .retry_after_ms = -1};

    if (change == WBI_CIRCUIT_SAME)
        return;
    event.type = types[change];
    if (change == WBI_CIRCUIT_OPENED)
        event.retry_after_ms = wbi_ms_up(t->request.policy->circuit.open_ns);
    emit(t->chain, &event);
}

/* ---- the checks: true when the call may go on, else *ret is the answer ---- */

static bool check_deadline(struct wbi_guard_ticket *t, int64_t now, struct wbi_guard_answer *ret)
{
    const struct wbi_guard_request *r = &t->request;

    if (!wbi_deadline_limit(now, r->deadline_ns, r->policy->timeout_ms).expired)
        return true;
    wbi_chain_refuse(ret, WBI_KIND_TIMED_OUT,
                     "the deadline had passed before the %s could start; %s",
                     t->retry.attempts > 1 ? "next attempt" : "call", wbi_chain_untouched(t));
    ret->refusal.retryable =
        wbi_guard_retryable(WBI_KIND_TIMED_OUT, true, r->effect, r->idempotency_key);
    return false;
}

static bool answer_key(enum wbi_idem_answer answer, struct wbi_str outcome,
                       struct wbi_guard_answer *ret)
{
    switch (answer) {
    case WBI_IDEM_NEW:
        return true;
    case WBI_IDEM_REPLAY:
        *ret = (struct wbi_guard_answer){.verdict = WBI_GUARD_REPLAY, .bytes = outcome};
        return false;
    case WBI_IDEM_RUNNING:
        wbi_chain_refuse(ret, WBI_KIND_CALL_IN_FLIGHT,
                         "a call with this idempotency key is still running");
        ret->refusal.retry_after_ms = 1000;
        return false;
    case WBI_IDEM_REUSED:
        wbi_chain_refuse(ret, WBI_KIND_IDEMPOTENCY_KEY_REUSED,
                         "this idempotency key was used with another input");
        return false;
    case WBI_IDEM_LOST:
        break;
    }
    wbi_chain_refuse(
        ret, WBI_KIND_OUTCOME_UNKNOWN,
        "an earlier call with this idempotency key has no known outcome; it is not run "
        "again");
    return false;
}

static bool check_key(struct wbi_guard_ticket *t, int64_t now, struct wbi_guard_answer *ret)
{
    const struct wbi_guard_request *r = &t->request;
    struct wbi_idem_id id = wbi_chain_key_id(r);
    enum wbi_idem_answer answer;
    struct wbi_str outcome = WBI_NONE;
    wb_rc rc;

    if (wbi_idem_missing(r->effect, r->idempotency_key) ||
        (r->key_required && wbi_str_trim(r->idempotency_key).n == 0)) {
        wbi_chain_refuse(
            ret, WBI_KIND_INVALID_TOOL_INPUT, "%s needs idempotencyKey, a text that is not blank",
            r->key_required && r->effect != WBI_GUARD_IDEMPOTENT_WRITE ? "this tool"
                                                                       : "an IdempotentWrite");
        ret->refusal.code = "RequiredMissing";
        ret->refusal.missing_field = "idempotencyKey";
        return false;
    }
    if (t->key_claimed || r->input_hash == NULL || !wbi_idem_applies(r->effect, r->idempotency_key))
        return true;
    rc = wbi_idem_admit(&t->chain->keys, &id, r->input_hash, wbi_chain_dated(t->chain, now),
                        &answer, &outcome);
    if (rc != WB_OK)
        return broken(t, ret, rc, "the idempotency key");
    return answer_key(answer, outcome, ret);
}

static bool uses_cache(const struct wbi_guard_ticket *t)
{
    return t->request.effect == WBI_GUARD_PURE && t->request.policy->cache_ttl_ns > 0 &&
           t->request.input_hash != NULL;
}

static struct wbi_cache_id cache_id(const struct wbi_guard_request *r)
{
    return (struct wbi_cache_id){r->tool, r->version, r->content_hash, r->partition, r->input_hash};
}

static bool check_cache(struct wbi_guard_ticket *t, int64_t now, struct wbi_guard_answer *ret)
{
    struct wbi_cache_id id = cache_id(&t->request);
    struct wbi_str bytes;

    if (!uses_cache(t) || t->flight != NULL)
        return true;
    switch (wbi_cache_admit(&t->chain->cache, &id, now, &bytes)) {
    case WBI_CACHE_HIT:
        *ret = (struct wbi_guard_answer){.verdict = WBI_GUARD_CACHED, .bytes = bytes};
        return false;
    case WBI_CACHE_FLYING:
        if (t->request.on_ready == NULL) /* cannot wait: runs beside the other */
            return true;
        wbi_cache_wait(&t->chain->cache, &id, &t->cache);
        *ret = (struct wbi_guard_answer){.verdict = WBI_GUARD_WAIT};
        return false;
    case WBI_CACHE_MISS:
        break;
    }
    return true;
}

static wb_rc find_circuit(struct wbi_guard_chain *chain, const struct wbi_guard_request *r,
                          struct wbi_circuit **ret)
{
    struct wbi_key key = wbi_key_of(chain->seed, 'O', r->tool, r->origin, WBI_NONE);
    void *slot;
    wb_rc rc = wbi_table_add(&chain->circuits, key, &slot);

    if (rc != WB_OK)
        return rc;
    *ret = *(struct wbi_circuit **)slot;
    if (*ret != NULL)
        return WB_OK;
    *ret = wbi_alloc(sizeof(**ret));
    if (*ret == NULL) {
        wbi_table_remove(&chain->circuits, key);
        return WB_ENOMEM;
    }
    wbi_circuit_init(*ret);
    *(struct wbi_circuit **)slot = *ret;
    return WB_OK;
}

static bool check_circuit(struct wbi_guard_ticket *t, int64_t now, struct wbi_guard_answer *ret)
{
    const struct wbi_circuit_settings *s = &t->request.policy->circuit;
    struct wbi_circuit_answer a;
    wb_rc rc;

    if (!s->set)
        return true;
    rc = find_circuit(t->chain, &t->request, &t->circuit);
    if (rc != WB_OK)
        return broken(t, ret, rc, "the circuit");
    a = wbi_circuit_peek(t->circuit, s, now);
    if (a.admitted)
        return true;
    wbi_chain_refuse(
        ret, WBI_KIND_CIRCUIT_OPEN, "the circuit of %.*s is %s after repeated failures; %s",
        WBI_FMT(t->request.tool), wbi_circuit_state_name(a.state), wbi_chain_untouched(t));
    ret->refusal.retry_after_ms = a.retry_after_ms;
    ret->refusal.circuit_state = wbi_circuit_state_name(a.state);
    return false;
}

static void make_rate_asks(struct wbi_guard_ticket *t)
{
    const struct wbi_guard_request *r = &t->request;
    struct wbi_str who = r->policy->rate_per_principal ? r->principal : WBI_NONE;

    t->rate_n = 0;
    if (r->policy->rate.capacity > 0)
        t->rate[t->rate_n++] = (struct wbi_rate_ask){
            wbi_key_of(t->chain->seed, 'R', r->tool, who, WBI_NONE), r->policy->rate, 1};
    if (r->policy->provider_rate.capacity > 0)
        t->rate[t->rate_n++] =
            (struct wbi_rate_ask){wbi_key_of(t->chain->seed, 'r', r->origin, WBI_NONE, WBI_NONE),
                                  r->policy->provider_rate, 1};
}

static bool check_rate(struct wbi_guard_ticket *t, int64_t now, struct wbi_guard_answer *ret)
{
    const struct wbi_guard_request *r = &t->request;
    struct wbi_guard_event event = {.type = WBI_GUARD_EVENT_RATE_LIMITED, .request = r};
    struct wbi_rate_refusal refusal;
    bool by_tool;
    wb_rc rc;

    make_rate_asks(t);
    if (t->rate_n == 0)
        return true;
    rc = wbi_rate_admit(&t->chain->rate, t->rate, t->rate_n, now, &refusal);
    if (rc == WB_OK)
        return true;
    if (rc != WB_EAGAIN)
        return broken(t, ret, rc, "the rate limit");
    by_tool = refusal.which == 0 && r->policy->rate.capacity > 0;
    event.limiter = by_tool ? r->tool : r->origin;
    event.tokens = t->rate[refusal.which].quantity;
    event.retry_after_ms = refusal.never ? -1 : refusal.retry_after_ms;
    wbi_chain_refuse(ret, WBI_KIND_RATE_LIMITED, "the rate limit of %.*s is reached",
                     WBI_FMT(event.limiter));
    ret->refusal.retryable = !refusal.never;
    ret->refusal.retry_after_ms = event.retry_after_ms;
    ret->refusal.throttling_scope = event.limiter;
    emit(t->chain, &event);
    return false;
}

static bool answer_budget(const struct wbi_guard_ticket *t, wb_rc rc,
                          const struct wbi_budget_refusal *refusal, struct wbi_guard_answer *ret)
{
    if (rc == WB_OK)
        return true;
    if (rc != WB_EAGAIN)
        return broken(t, ret, rc, "the budget");
    if (refusal->reset_after_ms < 0)
        wbi_chain_refuse(ret, WBI_KIND_BUDGET_EXCEEDED,
                         "the call needs more %s than budget %.*s ever has", refusal->what,
                         WBI_FMT(t->request.policy->budget.id));
    else
        wbi_chain_refuse(ret, WBI_KIND_BUDGET_EXCEEDED, "the %s of budget %.*s %s spent",
                         refusal->what, WBI_FMT(t->request.policy->budget.id),
                         strcmp(refusal->what, "calls") == 0 ? "are" : "is");
    ret->refusal.reset_after_ms = refusal->reset_after_ms;
    return false;
}

static bool check_budget(struct wbi_guard_ticket *t, int64_t now, struct wbi_guard_answer *ret)
{
    const struct wbi_guard_request *r = &t->request;
    struct wbi_budget_refusal refusal;
    wb_rc rc;

    if (!r->policy->budget.set)
        return true;
    t->budget.estimate = (struct wbi_budget_amount){1, r->estimated_time_ns, r->estimated_cost};
    rc = wbi_budget_admit(&t->chain->budget, &r->policy->budget, &t->budget.estimate,
                          wbi_chain_budget_time(t->chain, now), &refusal);
    return answer_budget(t, rc, &refusal, ret);
}

static void make_slot_ask(struct wbi_guard_ticket *t)
{
    const struct wbi_guard_request *r = &t->request;

    t->slots.limit[0] = r->policy->concurrency;
    t->slots.limit[1] = r->policy->provider_concurrency;
    t->slots.queue_max = r->policy->queue_max;
    if (t->slots.limit[0] != WBI_SLOTS_UNLIMITED)
        t->slots.key[0] = wbi_key_of(t->chain->seed, 'S', r->tool, WBI_NONE, WBI_NONE);
    if (t->slots.limit[1] != WBI_SLOTS_UNLIMITED)
        t->slots.key[1] = wbi_key_of(t->chain->seed, 's', r->origin, WBI_NONE, WBI_NONE);
}

static void refuse_crowd(struct wbi_guard_answer *ret, int64_t limit, struct wbi_str scope)
{
    if (limit == 0) {
        wbi_chain_refuse(ret, WBI_KIND_CONCURRENCY_LIMITED,
                         "no call of %.*s may run: its concurrency limit is 0", WBI_FMT(scope));
        ret->refusal.retryable = false; /* no slot will ever be free */
        ret->refusal.hint = "the configuration lets no call of it run; use another tool";
    } else {
        wbi_chain_refuse(ret, WBI_KIND_CONCURRENCY_LIMITED,
                         "%" PRId64 " call%s of %.*s run%s already and its queue is full", limit,
                         limit == 1 ? "" : "s", WBI_FMT(scope), limit == 1 ? "s" : "");
    }
    ret->refusal.throttling_scope = scope;
}

static bool check_slots(struct wbi_guard_ticket *t, bool in_turn, struct wbi_guard_answer *ret)
{
    const struct wbi_guard_request *r = &t->request;
    size_t scope = 0;
    wb_rc rc;

    make_slot_ask(t);
    rc = wbi_slots_admit(&t->chain->slots, &t->slots, !in_turn, &scope);
    if (rc == WB_OK)
        return true;
    if (rc == WB_EAGAIN && r->on_ready != NULL) {
        struct wbi_key who = wbi_key_of(t->chain->seed, 'W', r->principal, WBI_NONE, WBI_NONE);
        rc = wbi_slots_wait(&t->chain->slots, &t->slot, &t->slots, who);
        if (rc == WB_OK) {
            *ret = (struct wbi_guard_answer){.verdict = WBI_GUARD_QUEUED};
            return false;
        }
    }
    if (rc != WB_EAGAIN)
        return broken(t, ret, rc, "the concurrency limit");
    refuse_crowd(ret, t->slots.limit[scope], scope == 0 ? r->tool : r->origin);
    return false;
}

/* ---- taking ---- */

static bool claim_key(struct wbi_guard_ticket *t, int64_t now, struct wbi_guard_answer *ret)
{
    const struct wbi_guard_request *r = &t->request;
    struct wbi_idem_id id = wbi_chain_key_id(r);
    enum wbi_idem_answer answer;
    struct wbi_str outcome = WBI_NONE;
    wb_rc rc;

    if (t->key_claimed || r->input_hash == NULL || !wbi_idem_applies(r->effect, r->idempotency_key))
        return true;
    rc = wbi_idem_claim(&t->chain->keys, &id, &r->policy->idempotency, r->input_hash,
                        wbi_chain_dated(t->chain, now), &answer, &outcome);
    if (rc != WB_OK)
        return broken(t, ret, rc, "the idempotency key");
    if (!answer_key(answer, outcome, ret))
        return false;
    t->key_claimed = true;
    t->claim_ends_ms = wbi_idem_claim_ends(&r->policy->idempotency, wbi_chain_dated(t->chain, now));
    return true;
}

static void release_key(struct wbi_guard_ticket *t)
{
    struct wbi_idem_id id = wbi_chain_key_id(&t->request);

    if (t->key_claimed && wbi_idem_cancel(&t->chain->keys, &id) == WB_OK)
        t->key_claimed = false;
}

static bool take_all(struct wbi_guard_ticket *t, int64_t now, struct wbi_guard_answer *ret)
{
    struct wbi_guard_chain *chain = t->chain;
    const struct wbi_policy_values *policy = t->request.policy;
    struct wbi_cache_id id = cache_id(&t->request);
    struct wbi_budget_refusal refusal;
    bool first_attempt = !t->key_claimed;
    wb_rc rc;

    if (!claim_key(t, now, ret))
        return false;
    if (uses_cache(t) && t->flight == NULL) {
        rc = wbi_cache_lead(&chain->cache, &id, &t->flight);
        if (rc != WB_OK)
            return broken(t, ret, rc, "the cache"); /* Pure: no key was claimed */
    }
    if (policy->budget.set) {
        rc = wbi_budget_take(&chain->budget, &policy->budget, &t->budget,
                             wbi_chain_budget_time(chain, now), &refusal);
        if (rc != WB_OK) {
            if (first_attempt)
                release_key(t);
            if (t->flight != NULL) /* just made: nobody waits for it yet */
                (void)wbi_cache_cancel(&chain->cache, t->flight);
            t->flight = NULL;
            return answer_budget(t, rc, &refusal, ret);
        }
    }
    wbi_rate_take(&chain->rate, t->rate, t->rate_n, now);
    wbi_slots_take(&chain->slots, &t->slots);
    t->attempt_open = true;
    if (policy->circuit.set)
        wbi_chain_circuit_event(t, wbi_circuit_take(t->circuit, &policy->circuit, now, &t->pass));
    return true;
}

/* ---- putting it together ---- */

/* The order of precedence among guards (see chain.h). */
static bool ask_guards(struct wbi_guard_ticket *t, int64_t now, bool in_turn,
                       struct wbi_guard_answer *ret)
{
    return check_deadline(t, now, ret) && check_key(t, now, ret) && check_cache(t, now, ret) &&
           check_circuit(t, now, ret) && check_rate(t, now, ret) && check_budget(t, now, ret) &&
           check_slots(t, in_turn, ret) && take_all(t, now, ret);
}

static void park(struct wbi_guard_ticket *t, int64_t now, enum ticket_state state)
{
    const struct wbi_guard_request *r = &t->request;
    int64_t limit_ms = r->policy->queue_timeout_ms;

    t->wait_until_ns = r->deadline_ns;
    if (state == TICKET_QUEUED && limit_ms != WBI_NO_LIMIT_MS) {
        if (t->queue_until_ns == 0)
            t->queue_until_ns = wbi_time_after(now, wbi_ms_to_ns(limit_ms));
        t->wait_until_ns = WBI_MIN(r->deadline_ns, t->queue_until_ns);
    }
    t->state = state;
    wbi_chain_list_add(&t->chain->waiting, t);
}

void wbi_chain_try(struct wbi_guard_ticket *t, bool in_turn, struct wbi_guard_answer *ret)
{
    int64_t now = t->chain->now_ns;

    if (ask_guards(t, now, in_turn, ret))
        *ret = (struct wbi_guard_answer){.verdict = WBI_GUARD_ADMITTED};
    if (ret->verdict == WBI_GUARD_QUEUED) {
        park(t, now, TICKET_QUEUED);
        return;
    }
    if (ret->verdict == WBI_GUARD_WAIT) {
        park(t, now, TICKET_WAITING);
        return;
    }
    t->queue_until_ns = 0; /* of this attempt */
    t->state = ret->verdict == WBI_GUARD_ADMITTED || t->key_claimed ? TICKET_HELD : TICKET_DONE;
}

void wbi_guard_admit(struct wbi_guard_chain *chain, const struct wbi_guard_request *request,
                     int64_t now_ns, struct wbi_guard_ticket *ticket, struct wbi_guard_answer *ret)
{
    ticket->chain = chain;
    ticket->request = *request;
    ticket->retry.attempts = 1;
    ticket->retry.first_ns = wbi_chain_now(chain, now_ns);
    wbi_chain_try(ticket, false, ret);
}

void wbi_guard_again(struct wbi_guard_ticket *t, int64_t now_ns, struct wbi_guard_answer *ret)
{
    if (t->state != TICKET_HELD || t->attempt_open) {
        wbi_chain_refuse(ret, WBI_KIND_INTERNAL_ERROR, "the call is not between two attempts");
        return;
    }
    (void)wbi_chain_now(t->chain, now_ns);
    wbi_chain_try(t, false, ret);
}

const char *wbi_guard_circuit_state(struct wbi_guard_chain *chain,
                                    const struct wbi_guard_request *r)
{
    struct wbi_key key = wbi_key_of(chain->seed, 'O', r->tool, r->origin, WBI_NONE);
    struct wbi_circuit **slot;

    if (!r->policy->circuit.set)
        return NULL;
    slot = wbi_table_find(&chain->circuits, key);
    return wbi_circuit_state_name(slot ? (*slot)->state : WBI_CIRCUIT_CLOSED);
}
