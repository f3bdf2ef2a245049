/* SPDX-License-Identifier: Apache-2.0
 * guard/property_test.c: a long random walk over the chain against a simple
 * model. Calls succeed, fail, time out, are cancelled, retried, settled twice
 * and report late, while the clock jumps; slots, budgets, probes and keys must
 * come back exactly once. A walk has a million steps, with WAYBILL_SOAK=1
 * twenty million; WAYBILL_SEED repeats it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/checked.h"
#include "chance.h"
#include "guard/chain_int.h"

#define MS WBI_NS_PER_MS
#define S WBI_NS_PER_S
#define CALLS 48
#define TOOLS 3
#define KEYS 12
#define KEY_TTL_MS 5000

enum where { NOWHERE = 0, PARKED, RUNNING, BETWEEN };

struct model_call {
    struct wbi_guard_ticket ticket;
    uint8_t input[32];
    enum where where;
    int tool;
    int key; /* -1: none */
    int answers_due;
    int64_t since; /* when it claimed its key */
};

struct walk {
    struct wbi_clock_manual clock;
    uint64_t ids;
    struct wbi_guard_chain *chain;
    struct wbi_policy_values policy[TOOLS];
    struct model_call call[CALLS];
    /* the model */
    int running[TOOLS];
    int64_t settled_calls; /* of the budget that never turns */
    int64_t settled_cost;
    bool key_runs[TOOLS][KEYS];
    int64_t key_since[TOOLS][KEYS];
    int opened, half_opened, closed;
    uint64_t admitted, refused, parked, replayed;
};

static const char *const tool_names[TOOLS] = {"local::read", "local::put", "mcp::x::send"};
static const char *const origins[TOOLS] = {"local", "local", "mcp::x"};
static const char *const principals[] = {"ann", "bob", "cy"};
static const char *const keys[KEYS] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b"};
static const enum wbi_guard_effect effects[TOOLS] = {WBI_GUARD_PURE, WBI_GUARD_IDEMPOTENT_WRITE,
                                                     WBI_GUARD_NON_IDEMPOTENT_WRITE};

static void started(struct walk *w, struct model_call *c)
{
    c->where = RUNNING;
    w->running[c->tool]++;
    w->admitted++;
    if (c->key >= 0) {
        bool again = c->ticket.retry.attempts > 1;
        int64_t *since = &w->key_since[c->tool][c->key];
        int64_t now = wbi_chain_dated(w->chain, w->chain->now_ns);
        bool expired = now - *since >= KEY_TTL_MS;
        /* one execution per key, as long as the key lives */
        assert_true(again || expired || !w->key_runs[c->tool][c->key]);
        if (!again) {
            w->key_runs[c->tool][c->key] = true;
            *since = c->since = now;
        }
    }
    assert_true(w->running[c->tool] <= w->policy[c->tool].concurrency);
    assert_true(w->running[0] + w->running[1] <= w->policy[0].provider_concurrency);
}

static void answered(struct walk *w, struct model_call *c, const struct wbi_guard_answer *answer)
{
    switch (answer->verdict) {
    case WBI_GUARD_ADMITTED:
        started(w, c);
        break;
    case WBI_GUARD_QUEUED:
    case WBI_GUARD_WAIT:
        c->where = PARKED;
        c->answers_due = 1;
        w->parked++;
        break;
    case WBI_GUARD_REPLAY:
    case WBI_GUARD_CACHED:
        w->replayed++;
        c->where = NOWHERE;
        break;
    case WBI_GUARD_REFUSED:
        w->refused++;
        assert_true(answer->refusal.kind != WBI_KIND_INTERNAL_ERROR);
        c->where = c->ticket.key_claimed ? BETWEEN : NOWHERE;
        break;
    }
}

static void on_ready(void *arg, struct wbi_guard_ticket *ticket,
                     const struct wbi_guard_answer *answer)
{
    struct model_call *c = (struct model_call *)(void *)ticket;

    assert_int_equal(c->where, PARKED);
    assert_int_equal(c->answers_due, 1); /* told once */
    c->answers_due = 0;
    answered(arg, c, answer);
}

static void on_event(void *arg, const struct wbi_guard_event *event)
{
    struct walk *w = arg;

    w->opened += event->type == WBI_GUARD_EVENT_CIRCUIT_OPEN;
    w->half_opened += event->type == WBI_GUARD_EVENT_CIRCUIT_HALF_OPEN;
    w->closed += event->type == WBI_GUARD_EVENT_CIRCUIT_CLOSED;
}

static void step_admit(struct walk *w, struct model_call *c)
{
    struct wbi_guard_answer answer;
    struct wbi_guard_request r = {.arg = w, .on_ready = chance(5) ? on_ready : NULL};

    c->tool = (int)chance(TOOLS);
    c->key = c->tool == 0 || (c->tool == 2 && chance(2)) ? -1 : (int)chance(KEYS);
    memset(c->input, (int)chance(3), sizeof(c->input));
    r.tool = wbi_str_z(tool_names[c->tool]);
    r.origin = wbi_str_z(origins[c->tool]);
    r.principal = wbi_str_z(principals[c->tool == 1 ? 0 : chance(3)]);
    r.effect = effects[c->tool];
    r.idempotency_key = c->key < 0 ? WBI_NONE : wbi_str_z(keys[c->key]);
    if (c->tool == 2)
        r.principal = WBI_LIT("ann");
    r.input_hash = c->input;
    r.estimated_cost = 10;
    r.deadline_ns = chance(3) ? WBI_NO_DEADLINE : w->clock.mono_ns + (int64_t)chance(3) * S;
    r.policy = &w->policy[c->tool];
    c->ticket = (struct wbi_guard_ticket){0};
    c->where = NOWHERE;
    wbi_guard_admit(w->chain, &r, w->clock.mono_ns, &c->ticket, &answer);
    answered(w, c, &answer);
}

static struct wbi_guard_outcome random_outcome(void)
{
    struct wbi_guard_outcome o = {.class = (enum wbi_guard_class)(1 + chance(6)),
                                  .retryable = chance(2),
                                  .still_running = chance(2),
                                  .duration_ns = (int64_t)chance(3) * S,
                                  .cost = (int64_t)chance(20),
                                  .stored = WBI_LIT("{}")};

    if (chance(2))
        o.class = WBI_GUARD_OK;
    return o;
}

static void model_attempt_over(struct walk *w, struct model_call *c,
                               const struct wbi_guard_outcome *o)
{
    w->running[c->tool]--;
    if (c->tool != 2 && o->class != WBI_GUARD_NOT_STARTED) {
        w->settled_calls++;
        w->settled_cost += o->cost;
    }
}

/* The call's claim ends. One that expired meanwhile is not its own any more. */
static void model_key_over(struct walk *w, const struct model_call *c, bool still_runs)
{
    int64_t now = wbi_chain_dated(w->chain, WBI_MAX(w->clock.mono_ns, w->chain->now_ns));

    if (c->key >= 0 && c->ticket.key_claimed && now - c->since < KEY_TTL_MS)
        w->key_runs[c->tool][c->key] = still_runs;
}

static void step_settle(struct walk *w, struct model_call *c)
{
    struct wbi_guard_outcome o = random_outcome();
    bool cut = o.class == WBI_GUARD_TIMED_OUT || o.class == WBI_GUARD_CANCELLED;

    if (c->where == RUNNING)
        model_attempt_over(w, c, &o);
    c->where = NOWHERE;
    model_key_over(w, c, cut && o.still_running);
    assert_int_equal(wbi_guard_settle(&c->ticket, &o, w->clock.mono_ns), WB_OK);
    if (chance(4) == 0) /* a second report is ignored */
        assert_int_equal(wbi_guard_settle(&c->ticket, &o, w->clock.mono_ns), WB_OK);
    if (cut && o.still_running && c->key >= 0 && chance(2)) {
        struct wbi_guard_outcome late = {.class = WBI_GUARD_OK, .stored = WBI_LIT("{}")};
        assert_int_equal(wbi_guard_late(w->chain, &c->ticket.request, &late, w->clock.mono_ns),
                         WB_OK);
    }
}

static void step_cancel(struct walk *w, struct model_call *c)
{
    static const struct wbi_guard_outcome unused = {.class = WBI_GUARD_NOT_STARTED};

    if (c->where == RUNNING)
        model_attempt_over(w, c, &unused);
    model_key_over(w, c, false);
    c->where = NOWHERE;
    c->answers_due = 0;
    wbi_guard_cancel(&c->ticket, w->clock.mono_ns);
}

static void step_retry(struct walk *w, struct model_call *c)
{
    struct wbi_guard_outcome o = {.class = WBI_GUARD_FAILED, .retryable = true, .cost = 3};
    struct wbi_guard_answer answer;
    enum wbi_retry_verdict verdict;
    int64_t delay = 0;

    if (c->where == RUNNING) {
        model_attempt_over(w, c, &o);
        c->where = BETWEEN;
        verdict = wbi_guard_retry(&c->ticket, &o, WBI_RETRY_TRANSIENT, WBI_HINT_NONE,
                                  w->clock.mono_ns, &delay);
        if (verdict != WBI_RETRY_GO)
            return;
        w->clock.mono_ns += delay;
    }
    if (!c->ticket.key_claimed || c->ticket.retry.attempts == 1)
        return; /* told to stop: the next step settles it */
    wbi_guard_again(&c->ticket, w->clock.mono_ns, &answer);
    answered(w, c, &answer);
}

static void compare(struct walk *w)
{
    struct wbi_guard_chain *chain = w->chain;
    struct wbi_budget_amount spent, reserved;
    size_t parked = 0;

    for (int t = 0; t < TOOLS; t++)
        assert_int_equal(
            wbi_slots_in_use(&chain->slots, wbi_key_of(chain->seed, 'S', wbi_str_z(tool_names[t]),
                                                       WBI_NONE, WBI_NONE)),
            w->running[t]);
    assert_int_equal(wbi_slots_in_use(&chain->slots, wbi_key_of(chain->seed, 's', WBI_LIT("local"),
                                                                WBI_NONE, WBI_NONE)),
                     w->running[0] + w->running[1]);
    wbi_budget_peek(&chain->budget, &w->policy[0].budget, w->clock.mono_ns, &spent, &reserved);
    assert_int_equal(reserved.calls, w->running[0] + w->running[1]);
    assert_int_equal(reserved.cost, 10 * reserved.calls);
    assert_int_equal(spent.calls, w->settled_calls);
    assert_int_equal(spent.cost, w->settled_cost);
    wbi_budget_peek(&chain->budget, &w->policy[2].budget, w->clock.mono_ns, &spent, &reserved);
    assert_int_equal(reserved.calls, w->running[2]);
    assert_true(spent.calls + reserved.calls <= w->policy[2].budget.limit.calls + CALLS);
    for (int i = 0; i < CALLS; i++) {
        struct wbi_guard_ticket *t = &w->call[i].ticket;
        parked += w->call[i].where == PARKED;
        if (t->state == TICKET_QUEUED) /* nobody waits for what is free */
            assert_int_equal(wbi_slots_admit(&chain->slots, &t->slots, false, &(size_t){0}),
                             WB_EAGAIN);
    }
    assert_int_equal(wbi_guard_waiting(chain), parked);
    assert_in_range(w->opened - w->half_opened, 0, TOOLS);
    assert_true(w->closed <= w->half_opened);
}

static void configure(struct walk *w)
{
    for (int t = 0; t < TOOLS; t++) {
        struct wbi_policy_values *p = &w->policy[t];
        *p = wbi_policy_builtin();
        p->timeout_ms = 10000;
        p->concurrency = 4;
        p->provider_concurrency = t == 2 ? WBI_SLOTS_UNLIMITED : 6;
        p->queue_max = 8;
        p->queue_timeout_ms = t == 1 ? 2000 : WBI_NO_LIMIT_MS;
        assert_int_equal(wbi_rate_limit_make(20, S, 10, &p->rate), WB_OK);
        p->circuit = (struct wbi_circuit_settings){.set = true,
                                                   .failure_percent = 60,
                                                   .min_calls = 8,
                                                   .window_calls = t == 0 ? 20 : 0,
                                                   .window_ns = 10 * S,
                                                   .open_ns = S,
                                                   .probes = 2,
                                                   .probe_ns = 20 * S};
        p->budget = (struct wbi_budget_settings){
            true, WBI_LIT("all"), INT64_MAX, {INT64_MAX / 2, -1, INT64_MAX / 2}};
        if (t == 2)
            p->budget = (struct wbi_budget_settings){true, WBI_LIT("few"), S, {5, -1, -1}};
        p->retry = wbi_retry_defaults();
        p->retry.max_attempts = 4;
        p->idempotency.ttl_ms = KEY_TTL_MS;
        p->idempotency.in_flight_ms = 1000;
        p->cache_ttl_ns = t == 0 ? 300 * MS : 0;
    }
}

static void step(struct walk *w)
{
    struct model_call *c = &w->call[chance(CALLS)];

    w->clock.mono_ns += (int64_t)chance(40) * MS;
    w->clock.wall_ms += (int64_t)chance(7200000) - 3600000; /* steps about: must not matter */
    switch (chance(8)) {
    case 0:
        w->clock.mono_ns += (int64_t)chance(2000) * MS;
        wbi_guard_tick(w->chain, w->clock.mono_ns);
        return;
    case 1:
        if (c->where != NOWHERE)
            step_cancel(w, c);
        return;
    case 2:
        if (c->where == RUNNING || c->where == BETWEEN)
            step_retry(w, c);
        return;
    default:
        if (c->where == NOWHERE)
            step_admit(w, c);
        else if (c->where != PARKED)
            step_settle(w, c);
    }
}

static void a_long_walk_agrees_with_the_model(void **state)
{
    static struct walk w;
    struct wbi_guard_parts parts = {.on_event = on_event, .arg = &w};
    long steps = (long)soak(20000000);

    (void)state;
    chance_start();
    print_message("%ld steps\n", steps);
    w.clock.mono_ns = S;
    w.clock.wall_ms = 1700000000000;
    parts.clock = wbi_clock_by_hand(&w.clock);
    parts.random = wbi_ids_counting(&w.ids);
    configure(&w);
    assert_int_equal(wbi_guard_chain_new(&parts, &w.chain), WB_OK);
    for (long i = 0; i < steps; i++) {
        step(&w);
        compare(&w);
    }
    for (int round = 0; round < 2; round++) { /* settling lets parked ones in */
        for (int i = 0; i < CALLS; i++) {
            if (w.call[i].where != NOWHERE)
                step_cancel(&w, &w.call[i]);
        }
    }
    compare(&w);
    for (int t = 0; t < TOOLS; t++)
        assert_int_equal(w.running[t], 0);
    assert_int_equal(wbi_guard_waiting(w.chain), 0);
    printf("admitted %llu, refused %llu, parked %llu, replayed %llu, opened %d, closed %d\n",
           (unsigned long long)w.admitted, (unsigned long long)w.refused,
           (unsigned long long)w.parked, (unsigned long long)w.replayed, w.opened, w.closed);
    assert_true(w.admitted > (uint64_t)steps / 50 && w.parked > 0 && w.replayed > 0 &&
                w.opened > 0 && w.closed > 0);
    wbi_guard_chain_free(w.chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_long_walk_agrees_with_the_model)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
