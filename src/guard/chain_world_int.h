/* SPDX-License-Identifier: Apache-2.0
 * guard/chain_world_int.h: a chain with a clock by hand, for the tests of this
 * room: its calls, its settings and a picture of everything a call can take. */
#ifndef WBI_GUARD_CHAIN_WORLD_INT_H
#define WBI_GUARD_CHAIN_WORLD_INT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "guard/chain_int.h"

#define MS WBI_NS_PER_MS
#define S WBI_NS_PER_S

static const uint8_t input_a[32] = {1}, input_b[32] = {2};

/* What the callbacks of one call and of the chain saw. */
struct seen {
    int times;
    struct wbi_guard_answer last;
    char bytes[32];
};

struct world {
    struct wbi_clock_manual clock;
    uint64_t ids;
    struct wbi_guard_chain *chain;
    struct wbi_policy_values policy;
    int events[5];
    struct wbi_guard_event last_event;
};

static inline void on_event(void *arg, const struct wbi_guard_event *event)
{
    struct world *w = arg;

    w->events[event->type]++;
    w->last_event = *event;
}

static inline void on_ready(void *arg, struct wbi_guard_ticket *ticket,
                            const struct wbi_guard_answer *answer)
{
    struct seen *seen = arg;

    (void)ticket;
    seen->times++;
    seen->last = *answer;
    if (answer->bytes.p != NULL)
        memcpy(seen->bytes, answer->bytes.p, WBI_MIN(answer->bytes.n, sizeof(seen->bytes) - 1));
}

static inline int setup(void **state)
{
    static struct world w;
    struct wbi_guard_parts parts = {.on_event = on_event, .arg = &w};

    w = (struct world){.clock = {.mono_ns = 1000 * S, .wall_ms = 1700000000000}};
    parts.clock = wbi_clock_by_hand(&w.clock);
    parts.random = wbi_ids_counting(&w.ids);
    w.policy = wbi_policy_builtin();
    w.policy.timeout_ms = 10000;
    *state = &w;
    return wbi_guard_chain_new(&parts, &w.chain) == WB_OK ? 0 : -1;
}

static inline int teardown(void **state)
{
    struct world *w = *state;

    wbi_guard_chain_free(w->chain);
    return 0;
}

static inline struct wbi_guard_request request(struct world *w, enum wbi_guard_effect effect,
                                               const char *key)
{
    return (struct wbi_guard_request){.tool = WBI_LIT("mcp::git::push"),
                                      .origin = WBI_LIT("mcp::git"),
                                      .principal = WBI_LIT("alice"),
                                      .effect = effect,
                                      .idempotency_key = wbi_str_z(key),
                                      .input_hash = input_a,
                                      .version = WBI_LIT("1.0.0"),
                                      .deadline_ns = WBI_NO_DEADLINE,
                                      .policy = &w->policy};
}

static inline struct wbi_guard_answer admit(struct world *w, const struct wbi_guard_request *r,
                                            struct wbi_guard_ticket *t)
{
    struct wbi_guard_answer answer;

    *t = (struct wbi_guard_ticket){0};
    wbi_guard_admit(w->chain, r, w->clock.mono_ns, t, &answer);
    return answer;
}

static inline void settle(struct world *w, struct wbi_guard_ticket *t, enum wbi_guard_class class,
                          bool retryable, const char *stored)
{
    struct wbi_guard_outcome o = {
        .class = class, .retryable = retryable, .duration_ns = S, .stored = wbi_str_z(stored)};

    assert_int_equal(wbi_guard_settle(t, &o, w->clock.mono_ns), WB_OK);
}

static inline struct wbi_rate_limit rate(int64_t count, int64_t capacity)
{
    struct wbi_rate_limit l;

    assert_int_equal(wbi_rate_limit_make(count, S, capacity, &l), WB_OK);
    return l;
}

static inline struct wbi_circuit_settings circuit(int32_t probes)
{
    return (struct wbi_circuit_settings){.set = true,
                                         .failure_percent = 50,
                                         .min_calls = 1,
                                         .window_ns = 60 * S,
                                         .open_ns = 5 * S,
                                         .probes = probes,
                                         .probe_ns = 60 * S};
}

static inline void everything(struct world *w)
{
    w->policy.rate = rate(10, 10);
    w->policy.provider_rate = rate(10, 10);
    w->policy.circuit = circuit(1);
    w->policy.circuit.min_calls = 100;
    w->policy.concurrency = 2;
    w->policy.provider_concurrency = 3;
    w->policy.budget = (struct wbi_budget_settings){true, WBI_LIT("b"), 60 * S, {5, -1, 1000}};
    w->policy.retry = wbi_retry_defaults();
    w->policy.retry.max_attempts = 3;
    w->policy.retry.jitter = WBI_JITTER_NONE;
}

/* All counters a refused call must not move. */
struct picture {
    int64_t tool_tokens, provider_tokens, slots, provider_slots;
    struct wbi_budget_amount spent, reserved;
    size_t keys, flights;
    uint32_t samples;
};

static inline struct picture look(struct world *w)
{
    struct wbi_guard_chain *c = w->chain;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_rate_ask tool = {wbi_key_of(c->seed, 'R', r.tool, WBI_NONE, WBI_NONE),
                                w->policy.rate, 0};
    struct wbi_rate_ask provider = {wbi_key_of(c->seed, 'r', r.origin, WBI_NONE, WBI_NONE),
                                    w->policy.provider_rate, 0};
    struct wbi_circuit **circuit_slot =
        wbi_table_find(&c->circuits, wbi_key_of(c->seed, 'O', r.tool, r.origin, WBI_NONE));
    struct picture p = {0};

    if (w->policy.rate.capacity > 0)
        p.tool_tokens = wbi_rate_peek(&c->rate, &tool, c->now_ns).remaining;
    if (w->policy.provider_rate.capacity > 0)
        p.provider_tokens = wbi_rate_peek(&c->rate, &provider, c->now_ns).remaining;
    p.slots = wbi_slots_in_use(&c->slots, wbi_key_of(c->seed, 'S', r.tool, WBI_NONE, WBI_NONE));
    p.provider_slots =
        wbi_slots_in_use(&c->slots, wbi_key_of(c->seed, 's', r.origin, WBI_NONE, WBI_NONE));
    wbi_budget_peek(&c->budget, &w->policy.budget, c->now_ns, &p.spent, &p.reserved);
    p.keys = wbi_idem_memory_count(c->own_keys);
    p.flights = c->cache.table.used;
    p.samples = circuit_slot ? (*circuit_slot)->ring_used : 0;
    return p;
}

static inline void same(const struct picture *a, const struct picture *b)
{
    assert_memory_equal(a, b, sizeof(*a));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
