/* SPDX-License-Identifier: Apache-2.0
 * guard/matrix_test.c: the rows of the cross-policy matrix, by number, that need
 * no more than the chain. */
#include "guard/chain_world_int.h"

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
    assert_int_equal(
        wbi_guard_retry(&t, &failed, WBI_RETRY_TRANSIENT, WBI_HINT_NONE, w->clock.mono_ns, &delay),
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
    assert_int_equal(t.retry.attempts, 2);
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
    assert_int_equal(t.retry.attempts, 1);
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
    assert_int_equal(
        wbi_guard_retry(&t, &failed, WBI_RETRY_TRANSIENT, WBI_HINT_NONE, w->clock.mono_ns, &delay),
        WBI_RETRY_STOP_FINAL);
    assert_int_equal(t.retry.attempts, 1);
    settle(w, &t, WBI_GUARD_FAILED, true, NULL);
    assert_true(wbi_guard_retryable(WBI_KIND_UPSTREAM_UNAVAILABLE, true, WBI_GUARD_PURE, WBI_NONE));
    /* 24, S1 "isRetryable — boolean aligned with policy and effect level." */
    assert_false(wbi_guard_retryable(WBI_KIND_TIMED_OUT, true, WBI_GUARD_NON_IDEMPOTENT_WRITE,
                                     WBI_LIT("k")));
    assert_true(
        wbi_guard_retryable(WBI_KIND_TIMED_OUT, true, WBI_GUARD_IDEMPOTENT_WRITE, WBI_LIT("k")));
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
    assert_int_equal(
        wbi_guard_retry(&t, &failed, WBI_RETRY_TRANSIENT, WBI_HINT_NONE, w->clock.mono_ns, &delay),
        WBI_RETRY_STOP_ATTEMPTS);
    assert_int_equal(t.retry.attempts, 3);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
