/* SPDX-License-Identifier: Apache-2.0
 * guard/chain_test.c: all guards together: all or nothing, exactly once,
 * waiting, and what becomes of keys. */
#include "guard/chain_world_int.h"

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

/* C4.7: what is said of other calls is so: one that outlives its time in flight has not ended. */
static void refusals_say_what_other_calls_do(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_EXTERNAL_SIDE_EFFECTS, "k");
    struct wbi_guard_ticket running, second;
    struct wbi_guard_answer answer;

    w->policy.concurrency = 1;
    assert_int_equal(admit(w, &r, &running).verdict, WBI_GUARD_ADMITTED);
    answer = admit(w, &r, &second);
    assert_int_equal(answer.refusal.kind, WBI_KIND_CALL_IN_FLIGHT);
    w->clock.mono_ns += w->policy.idempotency.in_flight_ms * MS;
    answer = admit(w, &r, &second);
    assert_int_equal(answer.refusal.kind, WBI_KIND_OUTCOME_UNKNOWN);
    assert_string_equal(
        answer.refusal.message,
        "an earlier call with this idempotency key has no known outcome; it is not run again");
    r.idempotency_key = WBI_NONE;
    answer = admit(w, &r, &second);
    assert_int_equal(answer.refusal.kind, WBI_KIND_CONCURRENCY_LIMITED);
    assert_non_null(strstr(answer.refusal.message, " runs already and its queue is full"));
    settle(w, &running, WBI_GUARD_OK, false, "done");
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

/* C8.4, C8.7: in its turn a call of the queue finds another with its input under way; the time
 * for a slot is not the time for that one's answer. */
static void a_follower_from_the_queue_waits_as_long_as_it_may(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL);
    struct wbi_guard_ticket before[2], t[2];
    uint8_t hash[2][WBI_SHA256_SIZE] = {{7}, {8}};
    struct seen seen[2] = {0};

    w->policy.cache_ttl_ns = 60 * S;
    w->policy.concurrency = 2;
    w->policy.queue_timeout_ms = 2000;
    r.on_ready = on_ready;
    for (int i = 0; i < 2; i++) {
        struct wbi_guard_request other = r;
        other.input_hash = hash[i];
        assert_int_equal(admit(w, &other, &before[i]).verdict, WBI_GUARD_ADMITTED);
    }
    for (int i = 0; i < 2; i++) {
        r.arg = &seen[i];
        assert_int_equal(admit(w, &r, &t[i]).verdict, WBI_GUARD_QUEUED);
    }
    settle(w, &before[0], WBI_GUARD_OK, false, "1");
    settle(w, &before[1], WBI_GUARD_OK, false, "1");
    assert_int_equal(seen[0].last.verdict, WBI_GUARD_ADMITTED);
    wbi_guard_tick(w->chain, w->clock.mono_ns += 3 * S);
    assert_int_equal(seen[1].times, 0);
    settle(w, &t[0], WBI_GUARD_OK, false, "yes");
    assert_int_equal(seen[1].last.verdict, WBI_GUARD_CACHED);
}

/* The other way round: a follower whose leader failed queues, and no longer than others. */
static void a_follower_that_has_to_queue_does_so_for_the_queue_timeout(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL), other = r;
    struct wbi_guard_ticket leader, follower, next;
    uint8_t hash[WBI_SHA256_SIZE] = {7};
    struct seen seen[2] = {0};

    w->policy.cache_ttl_ns = 60 * S;
    w->policy.concurrency = 1;
    w->policy.queue_timeout_ms = 2000;
    assert_int_equal(admit(w, &r, &leader).verdict, WBI_GUARD_ADMITTED);
    r.on_ready = other.on_ready = on_ready;
    r.arg = &seen[0];
    assert_int_equal(admit(w, &r, &follower).verdict, WBI_GUARD_WAIT);
    w->clock.mono_ns += 5 * S; /* not yet in the queue */
    other.input_hash = hash;
    other.arg = &seen[1];
    assert_int_equal(admit(w, &other, &next).verdict, WBI_GUARD_QUEUED);
    settle(w, &leader, WBI_GUARD_FAILED, false, "no");
    assert_int_equal(seen[1].last.verdict, WBI_GUARD_ADMITTED);
    assert_int_equal(wbi_guard_next_wake(w->chain), w->clock.mono_ns + 2 * S);
    wbi_guard_tick(w->chain, w->clock.mono_ns += 2 * S - 1);
    assert_int_equal(seen[0].times, 0);
    wbi_guard_tick(w->chain, w->clock.mono_ns += 1);
    assert_int_equal(seen[0].last.refusal.kind, WBI_KIND_CONCURRENCY_LIMITED);
    settle(w, &next, WBI_GUARD_OK, false, "1");
}

/* Whoever waits for a slot of its tool holds up no other tool of the provider, and a wait
 * that ends in vain names what was waited for. */
static void a_full_tool_leaves_its_provider_to_others(void **state)
{
    struct world *w = *state;
    struct wbi_policy_values wide = w->policy;
    struct wbi_guard_request r = request(w, WBI_GUARD_EXTERNAL_SIDE_EFFECTS, NULL), other = r;
    struct wbi_guard_ticket runs, waits, next, last;
    struct seen seen[2] = {0};

    w->policy.concurrency = 1;
    w->policy.provider_concurrency = 2;
    w->policy.queue_max = 1;
    w->policy.queue_timeout_ms = 2000;
    wide.provider_concurrency = 2;
    wide.queue_max = 1;
    wide.queue_timeout_ms = 2000;
    other.tool = WBI_LIT("mcp::git::pull");
    other.policy = &wide;
    r.on_ready = other.on_ready = on_ready;
    assert_int_equal(admit(w, &r, &runs).verdict, WBI_GUARD_ADMITTED);
    r.arg = &seen[0];
    assert_int_equal(admit(w, &r, &waits).verdict, WBI_GUARD_QUEUED);
    assert_int_equal(admit(w, &other, &next).verdict, WBI_GUARD_ADMITTED);
    other.arg = &seen[1];
    assert_int_equal(admit(w, &other, &last).verdict, WBI_GUARD_QUEUED);
    wbi_guard_tick(w->chain, w->clock.mono_ns += 2 * S);
    assert_true(wbi_str_eq(seen[0].last.refusal.throttling_scope, r.tool));
    assert_true(wbi_str_eq(seen[1].last.refusal.throttling_scope, other.origin));
    settle(w, &runs, WBI_GUARD_OK, false, "1");
    settle(w, &next, WBI_GUARD_OK, false, "1");
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

/* B8, B10 of the research: who is turned away by a provider says nothing about its health, and one
 * tool's circuit is not another's. */
static void a_refusal_of_the_provider_is_no_sample_and_circuits_stand_alone(void **state)
{
    struct world *w = *state;
    struct wbi_guard_request r = request(w, WBI_GUARD_PURE, NULL), other;
    struct wbi_guard_outcome refused = {.class = WBI_GUARD_FAILED, .refused = true};
    struct wbi_guard_ticket t;

    w->policy.circuit = circuit(1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
        assert_int_equal(wbi_guard_settle(&t, &refused, w->clock.mono_ns), WB_OK);
    }
    assert_int_equal(look(w).samples, 0);
    assert_int_equal(admit(w, &r, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_FAILED, false, NULL);
    assert_int_equal(admit(w, &r, &t).refusal.kind, WBI_KIND_CIRCUIT_OPEN);
    other = r;
    other.tool = WBI_LIT("mcp::git::tag");
    assert_int_equal(admit(w, &other, &t).verdict, WBI_GUARD_ADMITTED);
    settle(w, &t, WBI_GUARD_OK, false, NULL);
}

static wb_rc broken_get(void *arg, const struct wbi_idem_id *id, int64_t now_ms,
                        struct wbi_idem_record *ret)
{
    (void)arg, (void)id, (void)now_ms, (void)ret;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_refusal_by_one_guard_leaves_all_others_untouched),
        TEST(what_is_taken_comes_back_exactly_once),
        TEST(refusals_are_policy_errors_with_their_codes_and_hints),
        TEST(only_pure_calls_are_cached),
        TEST(refusals_say_what_other_calls_do),
        TEST(a_queued_call_obeys_its_deadline_and_its_queue_timeout),
        TEST(identical_pure_calls_run_once),
        TEST(a_follower_from_the_queue_waits_as_long_as_it_may),
        TEST(a_follower_that_has_to_queue_does_so_for_the_queue_timeout),
        TEST(a_full_tool_leaves_its_provider_to_others),
        TEST(keys_after_failures),
        TEST(one_hundred_identical_keys_start_one_execution),
        TEST(a_refusal_of_the_provider_is_no_sample_and_circuits_stand_alone),
        TEST(a_store_that_fails_refuses_the_call_and_spends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
