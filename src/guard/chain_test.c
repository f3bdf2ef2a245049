/* SPDX-License-Identifier: Apache-2.0
 * guard/chain_test.c: all guards together: all or nothing, exactly once, and
 * the rows of the cross-policy matrix that need no more than the chain. */
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

static void on_event(void *arg, const struct wbi_guard_event *event)
{
    struct world *w = arg;

    w->events[event->type]++;
    w->last_event = *event;
}

static void on_ready(void *arg, struct wbi_guard_ticket *ticket,
                     const struct wbi_guard_answer *answer)
{
    struct seen *seen = arg;

    (void)ticket;
    seen->times++;
    seen->last = *answer;
    if (answer->bytes.p != NULL)
        memcpy(seen->bytes, answer->bytes.p, WBI_MIN(answer->bytes.n, sizeof(seen->bytes) - 1));
}

static int setup(void **state)
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

static int teardown(void **state)
{
    struct world *w = *state;

    wbi_guard_chain_free(w->chain);
    return 0;
}

static struct wbi_guard_request request(struct world *w, enum wbi_guard_effect effect,
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

static struct wbi_guard_answer admit(struct world *w, const struct wbi_guard_request *r,
                                     struct wbi_guard_ticket *t)
{
    struct wbi_guard_answer answer;

    *t = (struct wbi_guard_ticket){0};
    wbi_guard_admit(w->chain, r, w->clock.mono_ns, t, &answer);
    return answer;
}

static void settle(struct world *w, struct wbi_guard_ticket *t, enum wbi_guard_class class,
                   bool retryable, const char *stored)
{
    struct wbi_guard_outcome o = {
        .class = class, .retryable = retryable, .duration_ns = S, .stored = wbi_str_z(stored)};

    assert_int_equal(wbi_guard_settle(t, &o, w->clock.mono_ns), WB_OK);
}

static struct wbi_rate_limit rate(int64_t count, int64_t capacity)
{
    struct wbi_rate_limit l;

    assert_int_equal(wbi_rate_limit_make(count, S, capacity, &l), WB_OK);
    return l;
}

static struct wbi_circuit_settings circuit(int32_t probes)
{
    return (struct wbi_circuit_settings){.set = true,
                                         .failure_percent = 50,
                                         .min_calls = 1,
                                         .window_ns = 60 * S,
                                         .open_ns = 5 * S,
                                         .probes = probes,
                                         .probe_ns = 60 * S};
}

static void everything(struct world *w)
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

static struct picture look(struct world *w)
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
    p.samples = circuit_slot ? (*circuit_slot)->sum.calls : 0;
    return p;
}

static void same(const struct picture *a, const struct picture *b)
{
    assert_memory_equal(a, b, sizeof(*a));
}

/* C3.1, C3.5: "A call refused at one step spends nothing in a later one". Each
 * guard in turn refuses; nothing else moves. */
static void a_refusal_by_one_guard_leaves_all_others_untouched(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_ticket first, t;
    struct picture before, after;
    struct wbi_policy_values good;

    everything(w);
    assert_int_equal(admit(w, &r, &first).verdict, WBI_GUARD_ADMITTED);
    good = w->policy;
    r.idempotency_key = WBI_LIT("k2");
    for (int guard = 0; guard < 6; guard++) {
        enum wbi_kind expected = WBI_KIND_NONE;
        struct wbi_guard_request bad = r;
        struct wbi_guard_answer answer;
        w->policy = good;
        switch (guard) {
        case 0:
            bad.deadline_ns = w->clock.mono_ns;
            expected = WBI_KIND_TIMED_OUT;
            break;
        case 1:
            bad.idempotency_key = WBI_LIT("k");
            expected = WBI_KIND_CALL_IN_FLIGHT;
            break;
        case 2:
            w->policy.provider_rate = rate(1, 1);
            expected = WBI_KIND_RATE_LIMITED;
            break;
        case 3:
            bad.estimated_cost = 1001;
            expected = WBI_KIND_BUDGET_EXCEEDED;
            break;
        case 4:
            w->policy.concurrency = 1;
            expected = WBI_KIND_CONCURRENCY_LIMITED;
            break;
        case 5:
            bad.idempotency_key = WBI_NONE;
            expected = WBI_KIND_INVALID_TOOL_INPUT;
            break;
        }
        before = look(w);
        answer = admit(w, &bad, &t);
        assert_int_equal(answer.verdict, WBI_GUARD_REFUSED);
        assert_int_equal(answer.refusal.kind, expected);
        after = look(w);
        same(&before, &after);
        if (guard == 5) { /* S1 "details? — machine-readable info (e.g., retryAfterMs,
                           * missingField)." */
            assert_string_equal(answer.refusal.code, "RequiredMissing");
            assert_string_equal(answer.refusal.missing_field, "idempotencyKey");
        }
    }
    w->policy = good;
    settle(w, &first, WBI_GUARD_OK, false, "{}");
}

static void what_is_taken_comes_back_exactly_once(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_ticket t;
    struct picture before, after;

    everything(w);
    before = look(w);
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    after = look(w);
    assert_int_equal(after.tool_tokens, 9);
    assert_int_equal(after.provider_tokens, 9);
    assert_int_equal(after.slots, 1);
    assert_int_equal(after.reserved.calls, 1);
    assert_int_equal(after.keys, 1);
    wbi_guard_cancel(&t, w->clock.mono_ns); /* never started: all of it */
    wbi_guard_cancel(&t, w->clock.mono_ns);
    after = look(w);
    same(&before, &after);
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, "{}");
    settle(w, &t, WBI_GUARD_FAILED, false, "{}"); /* the second is ignored */
    after = look(w);
    assert_int_equal(after.slots + after.provider_slots + after.reserved.calls, 0);
    assert_int_equal(after.spent.calls, 1);
    assert_int_equal(after.spent.time_ns, S);
    assert_int_equal(after.samples, 1);
}

/* ---- the matrix, by number ---- */

static void matrix_3_and_4_a_passed_deadline_beats_replay_and_cache(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_request pure = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_guard_ticket t;

    w->policy.cache_ttl_ns = 60 * S;
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, "1");
    assert_int_equal(admit(w, &pure, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, "2");
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_REPLAY);
    assert_int_equal(admit(w, &pure, &t).verdict, WBI_GUARD_CACHED);
    r.deadline_ns = pure.deadline_ns = w->clock.mono_ns;
    assert_int_equal(admit(w, &r, &t).refusal.kind, WBI_KIND_TIMED_OUT);
    assert_int_equal(admit(w, &pure, &t).refusal.kind, WBI_KIND_TIMED_OUT);
}

static void matrix_5_7_8_keys_replay_conflict_and_stay_apart(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_request other = r;
    struct wbi_guard_ticket running, t;
    struct wbi_guard_answer answer;

    assert_int_equal(admit(w, &r, &running).verdict, WBI_GUARD_ADMITTED);
    other.deadline_ns = w->clock.mono_ns + 10 * MS; /* 8: conflict at once, no waiting */
    answer = admit(w, &other, &t);
    assert_int_equal(answer.refusal.kind, WBI_KIND_CALL_IN_FLIGHT);
    assert_true(answer.refusal.retryable);
    assert_true(answer.refusal.retry_after_ms > 0);
    settle(w, &running, WBI_GUARD_OK, false, "done");
    answer = admit(w, &r, &t); /* 5, 6: the same canonical input has the same hash */
    assert_int_equal(answer.verdict, WBI_GUARD_REPLAY);
    assert_true(wbi_str_eqz(answer.bytes, "done"));
    r.input_hash = input_b;
    answer = admit(w, &r, &t);
    assert_int_equal(answer.refusal.kind, WBI_KIND_IDEMPOTENCY_KEY_REUSED);
    assert_false(answer.refusal.retryable);
    other = r;
    other.tool = WBI_LIT("mcp::git::tag"); /* 7 */
    assert_int_equal(admit(w, &other, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, "1");
}

static void matrix_9_and_10_probes(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_NON_IDEMPOTENT_WRITE, NULL);
    struct wbi_guard_ticket t[8];
    struct wbi_guard_answer answer;
    int ran = 0;

    w->policy.circuit = circuit(2);
    assert_int_equal(admit(w, &r, &t[0]).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t[0], WBI_GUARD_FAILED, false, NULL);
    assert_int_equal(w->events[WBI_GUARD_EVENT_CIRCUIT_OPEN], 1);
    answer = admit(w, &r, &t[0]);
    assert_int_equal(answer.refusal.kind, WBI_KIND_CIRCUIT_OPEN);
    assert_string_equal(answer.refusal.circuit_state, "open");
    assert_int_equal(answer.refusal.retry_after_ms, 5000);
    w->clock.mono_ns += 5 * S;
    for (int i = 0; i < 6; i++) { /* 9 */
        answer = admit(w, &r, &t[ran]);
        if (answer.verdict == WBI_GUARD_ADMITTED)
            ran++;
        else
            assert_string_equal(answer.refusal.circuit_state, "half-open");
    }
    assert_int_equal(ran, 2);
    assert_string_equal(wbi_guard_circuit_state(w->chain, &r), "half-open");
    w->clock.mono_ns += S;
    settle(w, &t[0], WBI_GUARD_TIMED_OUT, false, NULL); /* 10 */
    answer = admit(w, &r, &t[2]);
    assert_int_equal(answer.refusal.retry_after_ms, 5000);
    settle(w, &t[1], WBI_GUARD_OK, false, NULL); /* a straggler */
    assert_string_equal(wbi_guard_circuit_state(w->chain, &r), "open");
    w->clock.mono_ns += 5 * S;
    for (int i = 0; i < 2; i++)
        assert_int_equal(admit(w, &r, &t[i]).verdict, WBI_GUARD_ADMITTED);
    for (int i = 0; i < 2; i++)
        settle(w, &t[i], WBI_GUARD_OK, false, NULL);
    assert_int_equal(w->events[WBI_GUARD_EVENT_CIRCUIT_OPEN], 2);
    assert_int_equal(w->events[WBI_GUARD_EVENT_CIRCUIT_HALF_OPEN], 2);
    assert_int_equal(w->events[WBI_GUARD_EVENT_CIRCUIT_CLOSED], 1);
}

static void matrix_11_a_rate_limited_retry_waits_within_its_deadline(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_outcome failed = {.class = WBI_GUARD_FAILED, .retryable = true};
    struct wbi_guard_answer answer;
    struct wbi_guard_ticket t;
    int64_t delay;

    everything(w);
    w->policy.rate = rate(1, 1);
    r.deadline_ns = w->clock.mono_ns + 1500 * MS;
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    assert_int_equal(wbi_guard_retry(&t, &failed, WBI_RETRY_TRANSIENT, WBI_HINT_NONE,
                                     w->clock.mono_ns, &delay),
                     WBI_RETRY_GO);
    w->clock.mono_ns += delay; /* 200 ms */
    wbi_guard_again(&t, w->clock.mono_ns, &answer);
    assert_int_equal(answer.refusal.kind, WBI_KIND_RATE_LIMITED);
    assert_int_equal(answer.refusal.retry_after_ms, 800);
    w->clock.mono_ns += 799 * MS;
    wbi_guard_again(&t, w->clock.mono_ns, &answer);
    assert_int_equal(answer.refusal.retry_after_ms, 1);
    w->clock.mono_ns += MS;
    wbi_guard_again(&t, w->clock.mono_ns, &answer);
    assert_int_equal(answer.verdict, WBI_GUARD_ADMITTED);
    assert_int_equal(wbi_guard_attempts(&t), 2);
    /* a third try would wait 1 s for its token, past the deadline: the last hint
     * is the answer */
    assert_int_equal(
        wbi_guard_retry(&t, &failed, WBI_RETRY_TRANSIENT, 1000, w->clock.mono_ns, &delay),
        WBI_RETRY_STOP_DEADLINE);
    settle(w, &t, WBI_GUARD_FAILED, true, NULL);
    assert_int_equal(look(w).slots, 0);
    assert_int_equal(look(w).keys, 0); /* retryable: the key is not bound to it */
}

static void matrix_12_and_13_limits_of_tool_and_provider(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_guard_answer answer;
    struct wbi_guard_ticket t;

    w->policy.rate = rate(10, 10);
    w->policy.provider_rate = rate(1, 1);
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, NULL);
    answer = admit(w, &r, &t);
    assert_int_equal(answer.refusal.kind, WBI_KIND_RATE_LIMITED);
    assert_true(wbi_str_eqz(answer.refusal.throttling_scope, "mcp::git"));
    assert_int_equal(look(w).tool_tokens, 9);
    assert_int_equal(w->events[WBI_GUARD_EVENT_RATE_LIMITED], 1);
    assert_true(wbi_str_eqz(w->last_event.limiter, "mcp::git"));
    w->clock.mono_ns += answer.refusal.retry_after_ms * MS; /* 13: two waiters, one token */
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, NULL);
    answer = admit(w, &r, &t);
    assert_int_equal(answer.refusal.retry_after_ms, 1000);
}

static void matrix_14_an_upgrade_misses_the_cache(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_guard_ticket t;

    w->policy.cache_ttl_ns = 60 * S;
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, "old");
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_CACHED);
    r.version = WBI_LIT("1.1.0");
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_FAILED, false, "not kept");
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED); /* Ok only */
    settle(w, &t, WBI_GUARD_OK, false, "x");
}

static void matrix_15_bad_output_completes_the_key_and_is_no_circuit_sample(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_ticket t;

    everything(w);
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_CONTRACT, false, "OutputInvalid");
    assert_int_equal(look(w).samples, 0);
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_REPLAY);
    assert_int_equal(wbi_guard_attempts(&t), 1);
}

static void matrix_18_late_results_change_nothing_but_the_record(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_NON_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_outcome timeout = {.class = WBI_GUARD_TIMED_OUT, .still_running = true};
    struct wbi_guard_outcome late = {.class = WBI_GUARD_OK, .stored = WBI_LIT_INIT("late")};
    struct wbi_guard_answer answer;
    struct wbi_guard_ticket t;
    struct picture before, after;

    everything(w);
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    assert_int_equal(wbi_guard_settle(&t, &timeout, w->clock.mono_ns), WB_OK);
    before = look(w);
    assert_int_equal(before.slots, 0);
    assert_int_equal(before.samples, 1);
    assert_int_equal(admit(w, &r, &t).refusal.kind, WBI_KIND_CALL_IN_FLIGHT);
    assert_int_equal(wbi_guard_late(w->chain, &r, &late, w->clock.mono_ns), WB_OK);
    assert_int_equal(wbi_guard_late(w->chain, &r, &timeout, w->clock.mono_ns), WB_OK);
    after = look(w);
    same(&before, &after);
    answer = admit(w, &r, &t);
    assert_int_equal(answer.verdict, WBI_GUARD_REPLAY);
    assert_true(wbi_str_eqz(answer.bytes, "late"));
}

static void matrix_19_a_stepping_wall_clock_changes_nothing(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_guard_request keyed = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_ticket t;
    static const int64_t steps_ms[] = {-3600000, 7200000};

    w->policy.cache_ttl_ns = S;
    w->policy.rate = rate(1, 3);
    w->policy.idempotency.ttl_ms = 1000;
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, "c");
    assert_int_equal(admit(w, &keyed, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, "k");
    for (int i = 0; i < 2; i++) {
        w->clock.wall_ms += steps_ms[i];
        assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_CACHED);
        assert_int_equal(admit(w, &keyed, &t).verdict, WBI_GUARD_REPLAY);
        assert_int_equal(look(w).tool_tokens, 1);
        r.deadline_ns = w->clock.mono_ns + 1;
        assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_CACHED);
        r.deadline_ns = WBI_NO_DEADLINE;
    }
    w->clock.mono_ns += S;
    assert_int_equal(admit(w, &keyed, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, "k");
    w->clock.mono_ns -= S; /* even a monotonic clock that stepped back revives nothing */
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, NULL);
}

static void matrix_22_the_last_call_of_a_budget_runs_once(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_guard_ticket a, b;
    struct wbi_guard_answer answer;

    w->policy.budget = (struct wbi_budget_settings){true, WBI_LIT("b"), 60 * S, {1, -1, -1}};
    assert_int_equal(admit(w, &r, &a).verdict, WBI_GUARD_ADMITTED);
    answer = admit(w, &r, &b);
    assert_int_equal(answer.refusal.kind, WBI_KIND_BUDGET_EXCEEDED);
    assert_false(answer.refusal.retryable);
    assert_int_equal(answer.refusal.reset_after_ms, 60000);
    wbi_guard_cancel(&a, w->clock.mono_ns);
    assert_int_equal(admit(w, &r, &b).verdict, WBI_GUARD_ADMITTED);
    settle(w, &b, WBI_GUARD_OK, false, NULL);
}

static void matrix_23_24_25_what_may_be_tried_again(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_guard_outcome failed = {.class = WBI_GUARD_FAILED, .retryable = true};
    struct wbi_guard_answer answer;
    struct wbi_guard_ticket t;
    int64_t delay;

    everything(w);
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED); /* 23 */
    assert_int_equal(wbi_guard_retry(&t, &failed, WBI_RETRY_TRANSIENT, WBI_HINT_NONE,
                                     w->clock.mono_ns, &delay),
                     WBI_RETRY_STOP_FINAL);
    assert_int_equal(wbi_guard_attempts(&t), 1);
    settle(w, &t, WBI_GUARD_FAILED, true, NULL);
    assert_true(wbi_guard_retryable(WBI_KIND_UPSTREAM_UNAVAILABLE, true, WBI_GUARD_PURE, WBI_NONE));
    /* 24, S1 "isRetryable — boolean aligned with policy and effect level." */
    assert_false(wbi_guard_retryable(WBI_KIND_TIMED_OUT, true, WBI_GUARD_NON_IDEMPOTENT_WRITE,
                                     WBI_LIT("k")));
    assert_true(wbi_guard_retryable(WBI_KIND_TIMED_OUT, true, WBI_GUARD_IDEMPOTENT_WRITE,
                                    WBI_LIT("k")));
    assert_false(wbi_guard_retryable(WBI_KIND_BUDGET_EXCEEDED, false, WBI_GUARD_PURE, WBI_NONE));
    /* 25, S1 "attempts — total tries (≥1)." */
    r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wbi_guard_retry(&t, &failed, WBI_RETRY_TRANSIENT, WBI_HINT_NONE,
                                         w->clock.mono_ns, &delay),
                         WBI_RETRY_GO);
        w->clock.mono_ns += delay;
        wbi_guard_again(&t, w->clock.mono_ns, &answer);
        assert_int_equal(answer.verdict, WBI_GUARD_ADMITTED);
    }
    assert_int_equal(wbi_guard_retry(&t, &failed, WBI_RETRY_TRANSIENT, WBI_HINT_NONE,
                                     w->clock.mono_ns, &delay),
                     WBI_RETRY_STOP_ATTEMPTS);
    assert_int_equal(wbi_guard_attempts(&t), 3);
    settle(w, &t, WBI_GUARD_FAILED, true, NULL);
    assert_int_equal(look(w).spent.calls, 4); /* each retry spends again */
    assert_int_equal(look(w).samples, 4);
    assert_int_equal(look(w).slots, 0);
}

static void matrix_26_a_cancelled_place_in_the_queue_goes_to_the_next(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_NON_IDEMPOTENT_WRITE, NULL);
    struct wbi_guard_ticket running, waiting[3];
    struct seen seen[3] = {0};
    static const char *const who[] = {"alice", "alice", "bob"};

    w->policy.concurrency = 1;
    assert_int_equal(admit(w, &r, &running).verdict, WBI_GUARD_ADMITTED);
    r.on_ready = on_ready;
    for (int i = 0; i < 3; i++) {
        r.arg = &seen[i];
        r.principal = wbi_str_z(who[i]);
        assert_int_equal(admit(w, &r, &waiting[i]).verdict, WBI_GUARD_QUEUED);
    }
    wbi_guard_cancel(&waiting[0], w->clock.mono_ns);
    settle(w, &running, WBI_GUARD_OK, false, NULL);
    assert_int_equal(seen[0].times, 0);
    assert_int_equal(seen[2].times, 1); /* bob's turn comes before alice's second */
    assert_int_equal(seen[2].last.verdict, WBI_GUARD_ADMITTED);
    assert_int_equal(seen[1].times, 0);
    settle(w, &waiting[2], WBI_GUARD_OK, false, NULL);
    assert_int_equal(seen[1].times, 1);
    settle(w, &waiting[1], WBI_GUARD_OK, false, NULL);
    assert_int_equal(look(w).slots, 0);
}

/* S1 taxonomy: PolicyError "Timeout, RateLimited, CircuitOpen, BudgetExceeded,
 * ConcurrencyLimited"; "code — stable symbolic code (e.g., Timeout,
 * RateLimited, SchemaInvalid)."; "message — human-readable and sanitized."; "When
 * returning Retryable or PolicyError.RateLimited, include:" the back-off hints;
 * "Error ⇒ non-retryable failure; caller should not retry." */
static void refusals_are_policy_errors_with_their_codes_and_hints(void **state)
{
    static const struct {
        const char *code;
        bool retryable, after, reset, scope, circuit;
    } rows[] = {
        {"Timeout", true, false, false, false, false},
        {"RateLimited", true, true, false, true, false},
        {"CircuitOpen", true, true, false, false, true},
        {"BudgetExceeded", false, false, true, false, false},
        {"ConcurrencyLimited", true, false, false, true, false},
    };
    struct world *w = *state;

    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
        struct wbi_guard_ticket t, held;
        struct wbi_guard_answer answer;
        char name[] = {'t', (char)('0' + i), 0};
        w->policy = wbi_policy_builtin();
        r.tool = wbi_str_z(name);
        if (i == 1)
            w->policy.rate = rate(1, 1);
        if (i == 2)
            w->policy.circuit = circuit(1);
        if (i == 3)
            w->policy.budget =
                (struct wbi_budget_settings){true, WBI_LIT("b"), 60 * S, {1, -1, -1}};
        if (i == 4)
            w->policy.concurrency = 1;
        assert_int_equal(admit(w, &r, &held).verdict, WBI_GUARD_ADMITTED);
        if (i == 2)
            settle(w, &held, WBI_GUARD_FAILED, false, NULL);
        if (i == 0)
            r.deadline_ns = w->clock.mono_ns;
        answer = admit(w, &r, &t);
        assert_int_equal(answer.verdict, WBI_GUARD_REFUSED);
        assert_int_equal(wbi_kind_row(answer.refusal.kind)->category, WBI_CATEGORY_POLICY);
        assert_string_equal(wbi_kind_row(answer.refusal.kind)->code, rows[i].code);
        assert_int_equal(answer.refusal.retryable, rows[i].retryable);
        assert_int_equal(answer.refusal.retry_after_ms >= 0, rows[i].after);
        assert_int_equal(answer.refusal.reset_after_ms >= 0, rows[i].reset);
        assert_int_equal(answer.refusal.throttling_scope.p != NULL, rows[i].scope);
        assert_int_equal(answer.refusal.circuit_state != NULL, rows[i].circuit);
        assert_true(answer.refusal.message[0] != '\0');
        wbi_guard_cancel(&held, w->clock.mono_ns);
    }
}

/* S1 Caching "Allowed only for Pure tools." */
static void only_pure_calls_are_cached(void **state)
{
    struct world *w = *state;

    w->policy.cache_ttl_ns = 60 * S;
    for (int effect = 0; effect < WBI_GUARD_EFFECTS; effect++) {
        struct wbi_guard_request r = request(w, (enum wbi_guard_effect)effect, NULL);
        struct wbi_guard_ticket t;
        if (effect == WBI_GUARD_IDEMPOTENT_WRITE)
            continue; /* needs a key, which replays: another matter */
        assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
        settle(w, &t, WBI_GUARD_OK, false, "x");
        assert_int_equal(admit(w, &r, &t).verdict,
                         effect == WBI_GUARD_PURE ? WBI_GUARD_CACHED : WBI_GUARD_ADMITTED);
        wbi_guard_cancel(&t, w->clock.mono_ns);
    }
}

/* ---- waiting ---- */

static void a_queued_call_obeys_its_deadline_and_its_queue_timeout(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_NON_IDEMPOTENT_WRITE, NULL);
    struct wbi_guard_ticket running, a, b;
    struct seen seen_a = {0}, seen_b = {0};

    w->policy.concurrency = 1;
    w->policy.queue_timeout_ms = 2000;
    assert_int_equal(admit(w, &r, &running).verdict, WBI_GUARD_ADMITTED);
    r.on_ready = on_ready;
    r.arg = &seen_a;
    r.deadline_ns = w->clock.mono_ns + S;
    assert_int_equal(admit(w, &r, &a).verdict, WBI_GUARD_QUEUED);
    r.arg = &seen_b;
    r.deadline_ns = WBI_NO_DEADLINE;
    assert_int_equal(admit(w, &r, &b).verdict, WBI_GUARD_QUEUED);
    assert_int_equal(wbi_guard_next_wake(w->chain), w->clock.mono_ns + S);
    wbi_guard_tick(w->chain, w->clock.mono_ns += S - 1);
    assert_int_equal(seen_a.times, 0);
    wbi_guard_tick(w->chain, w->clock.mono_ns += 1);
    assert_int_equal(seen_a.last.refusal.kind, WBI_KIND_TIMED_OUT);
    wbi_guard_tick(w->chain, w->clock.mono_ns += S);
    assert_int_equal(seen_b.last.refusal.kind, WBI_KIND_CONCURRENCY_LIMITED);
    assert_int_equal(seen_a.times + seen_b.times, 2);
    assert_int_equal(wbi_guard_waiting(w->chain), 0);
    settle(w, &running, WBI_GUARD_OK, false, NULL);
}

/* C8.7: single flight. */
static void identical_pure_calls_run_once(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_guard_ticket leader, t[3];
    struct seen seen[3] = {0};

    w->policy.cache_ttl_ns = 60 * S;
    assert_int_equal(admit(w, &r, &leader).verdict, WBI_GUARD_ADMITTED);
    r.on_ready = on_ready;
    for (int i = 0; i < 3; i++) {
        r.arg = &seen[i];
        assert_int_equal(admit(w, &r, &t[i]).verdict, WBI_GUARD_WAIT);
    }
    settle(w, &leader, WBI_GUARD_FAILED, false, "no");
    assert_int_equal(seen[0].last.verdict, WBI_GUARD_ADMITTED); /* errors are not shared */
    assert_int_equal(seen[1].times + seen[2].times, 0);
    wbi_guard_cancel(&t[1], w->clock.mono_ns);
    settle(w, &t[0], WBI_GUARD_OK, false, "yes");
    assert_int_equal(seen[2].last.verdict, WBI_GUARD_CACHED);
    assert_string_equal(seen[2].bytes, "yes");
    assert_int_equal(seen[1].times, 0);
    assert_int_equal(wbi_guard_waiting(w->chain), 0);
}

/* C8.6: what becomes of a key when a call is cut short. */
static void keys_after_failures(void **state)
{
    static const struct {
        enum wbi_guard_effect effect;
        enum wbi_guard_class class;
        bool retryable;
        int then; /* verdict, or minus the kind of the refusal */
    } rows[] = {
        {WBI_GUARD_IDEMPOTENT_WRITE, WBI_GUARD_FAILED, false, WBI_GUARD_REPLAY},
        {WBI_GUARD_IDEMPOTENT_WRITE, WBI_GUARD_FAILED, true, WBI_GUARD_ADMITTED},
        {WBI_GUARD_IDEMPOTENT_WRITE, WBI_GUARD_TIMED_OUT, true, WBI_GUARD_ADMITTED},
        {WBI_GUARD_IDEMPOTENT_WRITE, WBI_GUARD_CANCELLED, false, WBI_GUARD_ADMITTED},
        {WBI_GUARD_NON_IDEMPOTENT_WRITE, WBI_GUARD_TIMED_OUT, false, -WBI_KIND_OUTCOME_UNKNOWN},
        {WBI_GUARD_EXTERNAL_SIDE_EFFECTS, WBI_GUARD_CANCELLED, false, -WBI_KIND_OUTCOME_UNKNOWN},
        {WBI_GUARD_NON_IDEMPOTENT_WRITE, WBI_GUARD_NOT_STARTED, false, WBI_GUARD_ADMITTED},
        {WBI_GUARD_IDEMPOTENT_WRITE, WBI_GUARD_CONTRACT, false, WBI_GUARD_REPLAY},
    };
    struct world *w = *state;

    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        char key[] = {'k', (char)('0' + i), 0};
        struct wbi_guard_request r = request(w, rows[i].effect, key);
        struct wbi_guard_answer answer;
        struct wbi_guard_ticket t;
        assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
        settle(w, &t, rows[i].class, rows[i].retryable, "out");
        answer = admit(w, &r, &t);
        assert_int_equal(answer.verdict == WBI_GUARD_REFUSED ? -(int)answer.refusal.kind
                                                             : (int)answer.verdict,
                         rows[i].then);
        wbi_guard_cancel(&t, w->clock.mono_ns);
    }
}

static void one_hundred_identical_keys_start_one_execution(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    struct wbi_guard_ticket t[100];
    int started = 0, in_flight = 0;

    for (int i = 0; i < 100; i++) {
        struct wbi_guard_answer answer = admit(w, &r, &t[i]);
        started += answer.verdict == WBI_GUARD_ADMITTED;
        in_flight += answer.refusal.kind == WBI_KIND_CALL_IN_FLIGHT;
    }
    assert_int_equal(started, 1);
    assert_int_equal(in_flight, 99);
    settle(w, &t[0], WBI_GUARD_OK, false, "1");
}

static wb_rc broken_get(void *arg, const struct wbi_idem_id *id, struct wbi_idem_record *ret)
{
    (void)arg, (void)id, (void)ret;
    return WB_ENOTFOUND;
}
static wb_rc broken_put(void *arg, const struct wbi_idem_id *id,
                        const struct wbi_idem_record *record, bool only_if_absent, int64_t now_ms)
{
    (void)arg, (void)id, (void)record, (void)only_if_absent, (void)now_ms;
    return WB_EIO;
}
static wb_rc broken_drop(void *arg, const struct wbi_idem_id *id)
{
    (void)arg, (void)id;
    return WB_EIO;
}

static void a_store_that_fails_refuses_the_call_and_spends_nothing(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r;
    struct wbi_guard_ticket t;
    struct wbi_idem_store good = w->chain->keys;
    struct picture before, after;

    everything(w);
    r = request(w, WBI_GUARD_IDEMPOTENT_WRITE, "k");
    w->chain->keys = (struct wbi_idem_store){broken_get, broken_put, broken_drop, NULL};
    before = look(w);
    assert_int_equal(admit(w, &r, &t).refusal.kind, WBI_KIND_STATE_UNAVAILABLE);
    after = look(w);
    same(&before, &after);
    w->chain->keys = good;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_refusal_by_one_guard_leaves_all_others_untouched),
        TEST(what_is_taken_comes_back_exactly_once),
        TEST(matrix_3_and_4_a_passed_deadline_beats_replay_and_cache),
        TEST(matrix_5_7_8_keys_replay_conflict_and_stay_apart),
        TEST(matrix_9_and_10_probes),
        TEST(matrix_11_a_rate_limited_retry_waits_within_its_deadline),
        TEST(matrix_12_and_13_limits_of_tool_and_provider),
        TEST(matrix_14_an_upgrade_misses_the_cache),
        TEST(matrix_15_bad_output_completes_the_key_and_is_no_circuit_sample),
        TEST(matrix_18_late_results_change_nothing_but_the_record),
        TEST(matrix_19_a_stepping_wall_clock_changes_nothing),
        TEST(matrix_22_the_last_call_of_a_budget_runs_once),
        TEST(matrix_23_24_25_what_may_be_tried_again),
        TEST(matrix_26_a_cancelled_place_in_the_queue_goes_to_the_next),
        TEST(refusals_are_policy_errors_with_their_codes_and_hints),
        TEST(only_pure_calls_are_cached),
        TEST(a_queued_call_obeys_its_deadline_and_its_queue_timeout),
        TEST(identical_pure_calls_run_once),
        TEST(keys_after_failures),
        TEST(one_hundred_identical_keys_start_one_execution),
        TEST(a_store_that_fails_refuses_the_call_and_spends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
