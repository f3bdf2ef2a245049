/* SPDX-License-Identifier: Apache-2.0
 * tests/matrix_test.c: the 27 rows of the cross-policy matrix (contract research §5),
 * each as a whole call through the library. Sentences in quotes are those of seed 001
 * ("Invocation & Result") that the row stands for. Behind every row, events and ledger
 * must tell of each of its calls what its caller was told (books.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "api/api_int.h"
#include "support/books.h"
#include "support/guarded.h"

#define KEY WB_FIELD_IDEMPOTENCY_KEY
#define INPUT WB_FIELD_INPUT
#define DEADLINE WB_FIELD_DEADLINE
#define AS WB_FIELD_PRINCIPAL
#define RETRY "\"retry\":{\"maxAttempts\":3,\"baseMs\":1,\"jitter\":\"none\"}"
#define CIRCUIT(probes) \
    "\"circuit\":{\"failureRate\":50,\"minCalls\":1,\"openMs\":5000,\"probes\":" #probes "}"
/* long enough to begin on a slow disk: the limit counts from the admission */
#define SOON ",\"timeoutMs\":900"
#define FOR_ALL(settings) "{\"environment\":{" settings "}}"

static struct guarded g;

static void setup(const char *policies)
{
    guarded_open(&g, policies, NULL, true);
}

static int teardown(void **state)
{
    (void)state;
    books_agree(&g);
    guarded_close(&g);
    return 0;
}

/* "Validation happens before execution; on failure, return `ContractError`."
 * "Policies (timeouts, rate limits, circuit, budgets) apply **after** authorization succeeds." */
static void matrix_01_and_02_contract_before_auth_before_policy(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    guarded_open(&g, FOR_ALL("\"rate\":{\"count\":2,\"periodMs\":60000}," CIRCUIT(1)),
                 "[{\"principal\":\"local\",\"allow\":[\"*\"]},"
                 "{\"principal\":\"ann\",\"allow\":[\"*\"],\"deny\":[\"local::t\"]}]",
                 true);
    t = guarded_tool(&g, "t", "Pure", NULL, "fail", "ok");
    answer(&g, &a, "t", 0); /* takes a token and opens the circuit */
    answer(&g, &a, "t", 0);
    assert_string_equal(a.kind, "circuit_open");
    answer(&g, &a, "t", AS, "ann", INPUT, "{\"n\":\"x\"}", 0); /* 1 */
    assert_string_equal(at(&a, "/error/category"), "\"ContractError\"");
    answer(&g, &a, "t", AS, "ann", 0); /* 2 */
    assert_string_equal(at(&a, "/error/category"), "\"AuthError\"");
    assert_string_equal(at(&a, "/status"), "\"Error\"");
    assert_string_equal(at(&a, "/error/isRetryable"), "false");
    assert_string_equal(at(&a, "/attempts"), "1");
    assert_int_equal(t->runs, 1);
    guarded_pass_ms(&g, 5000); /* none of them spent the second token, or the probe */
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    answer(&g, &a, "t", AS, "ann", INPUT, "{\"n\":\"x\"}", 0); /* 1, rate limited now */
    assert_string_equal(at(&a, "/error/category"), "\"ContractError\"");
    answer(&g, &a, "t", 0);
    assert_string_equal(a.kind, "rate_limited");
    assert_int_equal(t->runs, 2);
    assert_int_equal(events_of(&g, "RateLimited"), 1);
    assert_int_equal(events_of(&g, "CircuitOpen"), 1);
}

static void matrix_03_a_passed_deadline_beats_a_completed_key(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(NULL);
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "ok", NULL);
    answer(&g, &a, "t", KEY, "k", 0);
    answer(&g, &a, "t", KEY, "k", DEADLINE, deadline_in(&g, 0), 0); /* I5 */
    assert_string_equal(at(&a, "/error/code"), "\"Timeout\"");
    assert_string_equal(at(&a, "/policySnapshot/timeoutMs"), "0");
    assert_string_equal(at(&a, "/output"), "");
    answer(&g, &a, "t", KEY, "k", DEADLINE, deadline_in(&g, 1), 0);
    assert_string_equal(at(&a, "/replayed"), "true");
    assert_string_equal(at(&a, "/output/done"), "true");
    assert_int_equal(t->runs, 1);
}

/* "Allowed only for `Pure` tools." */
static void matrix_04_a_passed_deadline_beats_the_cache(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"cache\":{\"ttlMs\":60000}"));
    t = guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/cached"), "");
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/cached"), "true");
    assert_string_equal(at(&a, "/attempts"), "1");
    answer(&g, &a, "t", DEADLINE, deadline_in(&g, -1), 0);
    assert_string_equal(at(&a, "/error/code"), "\"Timeout\"");
    guarded_pass_ms(&g, 60000); /* fresh while now < stored + ttl */
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/cached"), "");
    assert_int_equal(t->runs, 2);
}

/* "`idempotencyKey?` — required for `IdempotentWrite`; enables safe retries." */
static void matrix_05_06_07_keys_by_canonical_input_and_tool(void **state)
{
    struct asked a;
    struct scripted *t, *other;

    (void)state;
    setup(NULL);
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "ok", NULL);
    other = guarded_tool(&g, "u", "IdempotentWrite", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/error/code"), "\"RequiredMissing\"");
    assert_string_equal(at(&a, "/error/details/missingField"), "\"idempotencyKey\"");
    answer(&g, &a, "t", KEY, "k", INPUT, "{\"n\":\"x\"}", 0); /* stores nothing */
    assert_string_equal(at(&a, "/error/category"), "\"ContractError\"");
    answer(&g, &a, "t", KEY, "k", INPUT, "{\"n\":1,\"m\":2}", WB_FIELD_CORRELATION_ID, "one", 0);
    assert_string_equal(at(&a, "/replayed"), "");
    guarded_pass_ms(&g, 70); /* 5: with its own correlation id and duration */
    answer(&g, &a, "t", KEY, "k", INPUT, "{\"m\":2,\"n\":1}", WB_FIELD_CORRELATION_ID, "two", 0);
    assert_string_equal(at(&a, "/replayed"), "true");
    assert_string_equal(at(&a, "/correlationId"), "\"two\"");
    assert_string_equal(at(&a, "/durationMs"), "0");
    answer(&g, &a, "t", KEY, "k", INPUT, "{\"m\":2.0,\"n\":1.0}", 0); /* 6 */
    assert_string_equal(at(&a, "/replayed"), "true");
    answer(&g, &a, "t", KEY, "k", INPUT, "{\"m\":3,\"n\":1}", 0);
    assert_string_equal(a.kind, "idempotency_key_reused");
    assert_string_equal(at(&a, "/error/isRetryable"), "false");
    answer(&g, &a, "u", KEY, "k", INPUT, "{\"n\":9}", 0); /* 7 */
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_int_equal(t->runs, 1);
    /* 5 also where an id is an integer that RFC 8785 has no form for */
    answer(&g, &a, "u", KEY, "l", INPUT, "{\"n\":1234567890123456789,\"m\":2}", 0);
    answer(&g, &a, "u", KEY, "l", INPUT, "{\"m\":2.0,\"n\":1234567890123456789}", 0);
    assert_string_equal(at(&a, "/replayed"), "true");
    answer(&g, &a, "u", KEY, "l", INPUT, "{\"m\":2,\"n\":1234567890123456788}", 0);
    assert_string_equal(a.kind, "idempotency_key_reused");
    assert_int_equal(other->runs, 2);
}

static void matrix_08_a_key_in_flight_is_a_conflict_at_once(void **state)
{
    struct asked a, b;
    struct scripted *t;

    (void)state;
    setup(NULL);
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "hold", NULL);
    ask(&g, &a, "t", KEY, "k", 0);
    settle_down(&g);
    answer(&g, &b, "t", KEY, "k", DEADLINE, deadline_in(&g, 10), 0);
    assert_string_equal(b.kind, "call_in_flight");
    assert_string_equal(at(&b, "/status"), "\"Retryable\"");
    assert_true(number_at(&b, "/error/details/retryAfterMs") > 0);
    assert_int_equal(a.done, 0); /* at once, while the first still runs */
    scripted_finish(t, 0);
    wait_for(&a);
    answer(&g, &b, "t", KEY, "k", 0);
    assert_string_equal(at(&b, "/replayed"), "true");
    assert_int_equal(t->runs, 1);
}

static void matrix_09_half_open_runs_exactly_its_probes(void **state)
{
    struct asked a[6];
    struct scripted *t;
    int refused = 0;

    (void)state;
    setup(FOR_ALL(CIRCUIT(2)));
    t = guarded_tool(&g, "t", "Pure", NULL, "fail", "hold");
    answer(&g, &a[0], "t", 0);
    answer(&g, &a[0], "t", 0); /* "`circuitState?` — `open | half-open | closed` …" */
    assert_string_equal(at(&a[0], "/error/details/circuitState"), "\"open\"");
    assert_int_equal(number_at(&a[0], "/error/details/retryAfterMs"), 5000);
    guarded_pass_ms(&g, 5000);
    for (int i = 0; i < 6; i++)
        ask(&g, &a[i], "t", 0);
    settle_down(&g);
    for (int i = 0; i < 6; i++) {
        if (a[i].done == 0)
            continue;
        assert_string_equal(at(&a[i], "/error/details/circuitState"), "\"half-open\"");
        refused++;
    }
    assert_int_equal(refused, 4);
    assert_int_equal(t->runs, 3);
    scripted_finish(t, 0);
    scripted_finish(t, 1);
    settle_down(&g);
    answer(&g, &a[5], "nothing", 0);
    ask(&g, &a[5], "t", 0);
    settle_down(&g);
    assert_int_equal(t->runs, 4); /* closed again */
    scripted_finish(t, 2);
    wait_for(&a[5]);
    assert_string_equal(at(&a[5], "/policySnapshot/circuitState"), "\"closed\"");
    assert_int_equal(events_of(&g, "CircuitOpen"), 1); /* once per change */
    assert_int_equal(events_of(&g, "CircuitHalfOpen"), 1);
    assert_int_equal(events_of(&g, "CircuitClosed"), 1);
}

static void matrix_10_a_probe_that_times_out_reopens_for_the_full_wait(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"timeoutMs\":5," CIRCUIT(1)));
    t = guarded_tool(&g, "t", "Pure", NULL, "fail", "hold");
    answer(&g, &a, "t", 0);
    guarded_pass_ms(&g, 5000);
    answer(&g, &a, "t", 0); /* the probe */
    assert_string_equal(a.kind, "timed_out");
    guarded_pass_ms(&g, 4999);
    answer(&g, &a, "t", 0);
    assert_string_equal(a.kind, "circuit_open");
    assert_int_equal(number_at(&a, "/error/details/retryAfterMs"), 1);
    assert_string_equal(at(&a, "/error/details/circuitState"), "\"open\"");
    assert_int_equal(t->runs, 2);
    guarded_pass_ms(&g, 1);
    answer(&g, &a, "t", 0); /* the next probe */
    assert_string_equal(a.kind, "timed_out");
    assert_int_equal(t->runs, 3);
    assert_int_equal(events_of(&g, "CircuitOpen"), 3);
}

/* "`Retryable` ⇒ failure that **may** succeed on retry (respect backoff hints and policy)." */
static void matrix_11_a_rate_limited_retry_waits_within_its_deadline(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL(RETRY ",\"rate\":{\"count\":1,\"periodMs\":400}"));
    g.real_time = true;
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "fail", "ok");
    answer(&g, &a, "t", KEY, "k", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_string_equal(at(&a, "/attempts"), "2");
    assert_true(number_at(&a, "/durationMs") >= 390);
    t->runs = 0;
    g.mono_ns += 400 * 1000000;
    answer(&g, &a, "t", KEY, "l", DEADLINE, deadline_in(&g, 200), 0);
    assert_string_equal(at(&a, "/error/code"), "\"RateLimited\"");
    assert_true(number_at(&a, "/error/details/retryAfterMs") > 0);
    assert_string_equal(at(&a, "/error/causedBy/code"), "\"UpstreamUnavailable\"");
    assert_int_equal(t->runs, 1);
    g.mono_ns += 400 * 1000000; /* the key was not bound to the refusal */
    answer(&g, &a, "t", KEY, "l", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
}

/* "`throttlingScope?` — which limiter (tool id or provider id) applied." */
static void matrix_12_a_refusal_of_the_provider_spends_no_token_of_the_tool(void **state)
{
    struct asked a;

    (void)state;
    setup(FOR_ALL("\"rate\":{\"count\":1,\"periodMs\":3600000,\"burst\":2},"
                  "\"providerRate\":{\"count\":1,\"periodMs\":1000}"));
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/policySnapshot/rateLimitIds"), "[\"local::t\",\"local\"]");
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/error/details/throttlingScope"), "\"local\"");
    assert_int_equal(number_at(&a, "/error/details/retryAfterMs"), 1000);
    assert_int_equal(events_of(&g, "RateLimited"), 1);
    guarded_pass_ms(&g, 1000);
    answer(&g, &a, "t", 0); /* the tool's second token is still there */
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    guarded_pass_ms(&g, 1000);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/error/details/throttlingScope"), "\"local::t\"");
}

/* "`retryAfterMs?` — recommended client backoff." */
static void matrix_13_retry_hints_are_exact_to_the_millisecond(void **state)
{
    struct asked a, b;

    (void)state;
    setup(FOR_ALL("\"rate\":{\"count\":3,\"periodMs\":1000,\"burst\":1}"));
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/status"), "\"Retryable\"");
    assert_int_equal(number_at(&a, "/error/details/retryAfterMs"), 334); /* rounded up */
    guarded_pass_ms(&g, 333);
    answer(&g, &a, "t", 0);
    assert_int_equal(number_at(&a, "/error/details/retryAfterMs"), 1);
    guarded_pass_ms(&g, 1);
    ask(&g, &a, "t", 0);
    ask(&g, &b, "t", 0);
    wait_for(&a);
    wait_for(&b);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_int_equal(number_at(&b, "/error/details/retryAfterMs"), 334);
    assert_int_equal(events_of(&g, "RateLimited"), 3);
}

/* "Cache key should include `toolName`, `resolvedVersion`, and a canonicalized `input`." */
static void matrix_14_a_new_version_misses_the_cache(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"cache\":{\"ttlMs\":60000}"));
    t = guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/resolvedVersion"), "\"1.0.0\"");
    answer(&g, &a, "t", INPUT, "{ }", 0);
    assert_string_equal(at(&a, "/cached"), "true");
    assert_int_equal(t->runs, 1);
    t = guarded_tool(&g, "t@1.1.0", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/cached"), "");
    assert_string_equal(at(&a, "/resolvedVersion"), "\"1.1.0\"");
    assert_int_equal(t->runs, 1);
}

#define TYPED                                                         \
    ",\"outputSchema\":{\"type\":\"object\",\"required\":[\"done\"]," \
    "\"properties\":{\"done\":{\"type\":\"boolean\"}}}"

/* "Input/Output schema violations, unsupported version, missing required fields." */
static void matrix_15_invalid_output_closes_the_key_and_is_no_sample(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL(RETRY "," CIRCUIT(1)));
    t = guarded_tool(&g, "t", "IdempotentWrite", TYPED, "odd", NULL);
    answer(&g, &a, "t", KEY, "k", 0);
    assert_string_equal(at(&a, "/error/category"), "\"ContractError\"");
    assert_string_equal(at(&a, "/status"), "\"Error\"");
    assert_string_equal(at(&a, "/attempts"), "1");
    answer(&g, &a, "t", KEY, "k", 0);
    assert_string_equal(at(&a, "/replayed"), "true");
    assert_string_equal(a.kind, "invalid_tool_output");
    assert_string_equal(at(&a, "/policySnapshot/circuitState"), "\"closed\"");
    assert_int_equal(t->runs, 1);
}

/* "`output?` — validated/redacted object on success." */
static void matrix_16_redaction_comes_after_validation(void **state)
{
    struct asked a;

    (void)state;
    setup(FOR_ALL("\"redact\":[\"done\"]"));
    (void)guarded_tool(&g, "t", "Pure", TYPED, "ok", NULL);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_memory_equal(at(&a, "/output/done"), "\"[redacted:", 11);
    /* "Include a `redactions` array in `policySnapshot` …" */
    assert_string_equal(at(&a, "/policySnapshot/redactions"), "[\"output.done\"]");
}

/* "`message` — human-readable and sanitized." */
static void matrix_17_secrets_in_error_texts_are_redacted(void **state)
{
    struct asked a;

    (void)state;
    setup(NULL);
    (void)guarded_tool(&g, "t", "Pure", NULL, "leak", NULL);
    answer(&g, &a, "t", 0);
    assert_null(strstr(at(&a, "/error/message"), "ghp_0123"));
    assert_non_null(strstr(at(&a, "/error/message"), "[redacted:"));
    assert_non_null(strstr(at(&a, "/policySnapshot/redactions"), "\"error.message\""));
    assert_false(in_some_file(&g, "ghp_0123"));
}

static void end_grace(void *arg, struct wbi_call *call)
{
    *(struct wbi_call **)arg = call;
}

/* Asks with the key k, and ends the grace time of what does not listen. */
static void ask_a_deaf_one(struct asked *a)
{
    struct wbi_call *call = NULL;

    ask(&g, a, "t", KEY, "k", 0);
    do {
        (void)wb_runtime_turn(g.runtime, 1);
        wbi_calls_each(g.runtime->rt->calls, end_grace, &call);
    } while (call->cancel == WBI_CANCEL_NONE);
    wbi_call_grace_over(call); /* instead of waiting for it */
    wait_for(a);
    assert_string_equal(a->kind, "timed_out");
}

/* C8.1: a write that timed out may have happened, also while it still runs. */
static void matrix_24_a_write_that_outlives_its_time_is_not_offered_again(void **state)
{
    struct asked a;
    struct scripted *t;
    wb_tool_call *held;

    (void)state;
    setup(FOR_ALL("\"concurrency\":{\"limit\":1,\"queue\":0}" SOON));
    t = guarded_tool(&g, "t", "NonIdempotentWrite", NULL, "deaf", NULL);
    ask_a_deaf_one(&a);
    assert_string_equal(at(&a, "/status"), "\"Error\"");
    held = t->held[0];
    t->held[0] = NULL;
    wb_tool_fail(held, "upstream_unavailable", "half of it is done", NULL);
    settle_down(&g);
    answer(&g, &a, "t", KEY, "k", 0); /* known, not run again */
    assert_string_equal(at(&a, "/replayed"), "true");
    assert_string_equal(a.kind, "upstream_unavailable");
    assert_string_equal(at(&a, "/status"), "\"Error\"");
    assert_int_equal(t->runs, 1);
}

static void matrix_18_a_late_result_frees_its_slot_once_and_closes_its_key(void **state)
{
    struct wbi_call *call = NULL;
    struct asked a, b;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"concurrency\":{\"limit\":1,\"queue\":0}" SOON));
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "deaf", NULL);
    ask_a_deaf_one(&a);
    assert_string_equal(at(&a, "/status"), "\"Retryable\"");
    answer(&g, &b, "t", KEY, "k", 0);
    assert_string_equal(b.kind, "call_in_flight"); /* it still runs somewhere */
    scripted_finish(t, 0);
    settle_down(&g);
    assert_int_equal(a.done, 1);
    answer(&g, &b, "t", KEY, "k", 0);
    assert_string_equal(at(&b, "/replayed"), "true");
    assert_string_equal(at(&b, "/output/done"), "true");
    ask(&g, &b, "t", KEY, "l", 0); /* one slot, not two, came back */
    settle_down(&g);
    answer(&g, &a, "t", KEY, "m", 0);
    assert_string_equal(at(&a, "/error/code"), "\"ConcurrencyLimited\"");
    assert_int_equal(t->runs, 2);
    do
        (void)wb_runtime_turn(g.runtime, 1);
    while (b.done == 0 && (wbi_calls_each(g.runtime->rt->calls, end_grace, &call),
                           call->cancel == WBI_CANCEL_NONE));
    scripted_finish(t, 1);
    wait_for(&b);
    answer(&g, &b, "t", KEY, "l", 0); /* ended well after its time: known, not run again */
    assert_string_equal(at(&b, "/replayed"), "true");
    assert_int_equal(t->runs, 2);
}

/* "`deadline?` — absolute timestamp; must be ≤ policy timeout." */
static void matrix_19_a_wall_clock_that_steps_changes_nothing(void **state)
{
    struct asked a, b;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"rate\":{\"count\":2,\"periodMs\":3600000},\"cache\":{\"ttlMs\":1000}"));
    t = guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    g.wall_ms -= 3600000;
    answer(&g, &a, "t", INPUT, "{\"n\":1}", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    g.wall_ms += 2 * 3600000; /* no tokens out of thin air */
    answer(&g, &a, "t", INPUT, "{\"n\":2}", 0);
    assert_int_equal(number_at(&a, "/error/details/retryAfterMs"), 1800000);
    g.mono_ns += 999 * INT64_C(1000000);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/cached"), "true");
    g.mono_ns += INT64_C(1000000);
    g.wall_ms -= 3600000; /* and nothing comes back to life */
    answer(&g, &a, "t", 0);
    assert_string_equal(a.kind, "rate_limited");
    g.mono_ns += 3600000 * INT64_C(1000000);
    t->script[0] = "hold";
    ask(&g, &a, "t", INPUT, "{\"n\":3}", DEADLINE, deadline_in(&g, 60000), 0);
    ask(&g, &b, "t", INPUT, "{\"n\":4}", DEADLINE, deadline_in(&g, 60000), 0);
    settle_down(&g);
    g.wall_ms += 3600000;
    settle_down(&g);
    assert_int_equal(a.done + b.done, 0); /* not fired */
    scripted_finish(t, 0);
    wait_for(&a);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    scripted_finish(t, 1);
    wait_for(&b);
}

/* "Partial frames carry `correlationId` and sequence numbers."
 * "The `Result` envelope is delivered at completion; partials are emitted … out-of-band."
 * "The final envelope includes `status` and any terminal `error`." */
static void matrix_20_a_stream_that_fails_ends_in_one_error_frame(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL(RETRY));
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "partials", NULL);
    answer(&g, &a, "t", KEY, "k", WB_FIELD_CORRELATION_ID, "c", WB_FIELD_HEARTBEAT_MS, "0", 0);
    assert_non_null(strstr(a.frames,
                           "{\"correlationId\":\"c\",\"sequence\":0,\"event\":\"partial\","
                           "\"data\":{\"n\":1,\"token\":\"[redacted:"));
    assert_non_null(strstr(a.frames,
                           "\"sequence\":1,\"event\":\"partial\",\"data\":{\"n\":2}}\n"
                           "{\"correlationId\":\"c\",\"sequence\":2,\"event\":\"error\","));
    assert_null(strstr(a.frames, "\"sequence\":3"));
    assert_string_equal(at(&a, "/status"), "\"Retryable\"");
    assert_string_equal(at(&a, "/output"), "");
    assert_int_equal(t->runs, 1); /* a frame reached the caller: no silent retry */
    assert_string_equal(at(&a, "/policySnapshot/redactions"), "[\"frames.token\"]");
}

/* "`causedBy?` — nested/inner cause with limited depth." */
static void matrix_21_causes_are_capped(void **state)
{
    char pointer[128] = "/error";
    struct asked a;
    int depth = 0;

    (void)state;
    setup(FOR_ALL("\"retry\":{\"maxAttempts\":10,\"baseMs\":1,\"capMs\":1,\"jitter\":\"none\","
                  "\"quota\":5000}"));
    (void)guarded_tool(&g, "t", "IdempotentWrite", NULL, "fail", NULL);
    answer(&g, &a, "t", KEY, "k", 0);
    assert_string_equal(at(&a, "/attempts"), "10");
    assert_string_equal(at(&a, "/error/causedBy/message"), "\"no answer in run 9\"");
    for (;; depth++) {
        strcat(pointer, "/causedBy");
        if (at(&a, pointer)[0] == '\0')
            break;
    }
    assert_int_equal(depth, 5);
}

static void matrix_22_the_last_of_a_budget_is_spent_once(void **state)
{
    struct asked a, b;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"budget\":{\"windowMs\":60000,\"calls\":1,\"id\":\"b\"}"));
    t = guarded_tool(&g, "t", "Pure", NULL, "hold", NULL);
    ask(&g, &a, "t", 0);
    ask(&g, &b, "t", 0);
    settle_down(&g);
    assert_int_equal(t->runs, 1);
    assert_string_equal(at(&b, "/error/code"), "\"BudgetExceeded\"");
    assert_string_equal(at(&b, "/status"), "\"Error\"");
    assert_int_equal(number_at(&b, "/error/details/resetAfterMs"), 60000);
    scripted_finish(t, 0);
    wait_for(&a);
    assert_string_equal(at(&a, "/policySnapshot/budgetId"), "\"b\"");
}

/* "Retries are permitted only if the tool is `IdempotentWrite` and `idempotencyKey` is present." */
static void matrix_23_a_pure_tool_is_not_retried(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL(RETRY));
    t = guarded_tool(&g, "t", "Pure", NULL, "fail", NULL);
    answer(&g, &a, "t", KEY, "k", 0);
    assert_string_equal(at(&a, "/attempts"), "1");
    assert_string_equal(at(&a, "/error/isRetryable"), "true");
    assert_string_equal(at(&a, "/status"), "\"Retryable\"");
    assert_int_equal(t->runs, 1);
}

/* "`Error` ⇒ non-retryable failure; caller should not retry." */
static void matrix_24_a_write_that_timed_out_is_an_error(void **state)
{
    struct scripted *t;
    struct asked a;

    (void)state;
    setup(FOR_ALL(RETRY SOON));
    t = guarded_tool(&g, "t", "NonIdempotentWrite", NULL, "hold", NULL);
    answer(&g, &a, "t", 0);
    assert_int_equal(t->runs, 1);
    assert_string_equal(at(&a, "/error/code"), "\"Timeout\"");
    assert_string_equal(at(&a, "/status"), "\"Error\"");
    assert_string_equal(at(&a, "/error/isRetryable"), "false");
    assert_string_equal(at(&a, "/policySnapshot/timeoutMs"), "900"); /* how long it might take */
    assert_true(number_at(&a, "/durationMs") >= 0);                  /* and did */
}

/* "`attempts` — total tries (≥1)." */
static void matrix_25_all_attempts_fail(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL(RETRY));
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "fail", NULL);
    answer(&g, &a, "t", KEY, "k", 0);
    assert_int_equal(t->runs, 3);
    assert_string_equal(at(&a, "/attempts"), "3");
    assert_string_equal(at(&a, "/error/message"), "\"no answer in run 3\"");
    assert_string_equal(at(&a, "/error/causedBy/message"), "\"no answer in run 2\"");
    assert_string_equal(at(&a, "/error/causedBy/causedBy/message"), "\"no answer in run 1\"");
    t->script[0] = "ok"; /* the key is free for the retry that the result invites */
    answer(&g, &a, "t", KEY, "k", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
}

static void matrix_25_an_attempt_that_times_out_is_tried_again_with_a_full_limit(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL(RETRY SOON));
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "hold", "ok");
    answer(&g, &a, "t", KEY, "k", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_string_equal(at(&a, "/attempts"), "2");
    assert_int_equal(t->runs, 2);
}

static void matrix_25_no_retry_past_the_deadline_and_none_after_a_cancel(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"retry\":{\"maxAttempts\":3,\"baseMs\":60000,\"capMs\":60000,"
                  "\"jitter\":\"none\"}"));
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "fail", NULL);
    answer(&g, &a, "t", KEY, "k", DEADLINE, deadline_in(&g, 60000), 0);
    assert_string_equal(a.kind, "upstream_unavailable"); /* at once, with the last error */
    assert_string_equal(at(&a, "/attempts"), "1");
    ask(&g, &a, "t", KEY, "l", 0);
    settle_down(&g);
    assert_int_equal(a.done, 0); /* waits for its second attempt */
    wb_call_cancel(g.runtime, a.id);
    wait_for(&a);
    assert_string_equal(a.kind, "cancelled");
    assert_string_equal(at(&a, "/error/causedBy/message"), "\"no answer in run 2\"");
    assert_int_equal(t->runs, 2);
}

/* docs/policies.md: maxTotalMs is the most time from the first attempt to the last one's start. */
static void matrix_25_a_guard_is_not_waited_for_beyond_the_time_of_all_attempts(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"rate\":{\"count\":1,\"periodMs\":500},\"retry\":{\"maxAttempts\":3,"
                  "\"baseMs\":0,\"jitter\":\"none\",\"maxTotalMs\":499}"));
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "fail", "ok");
    answer(&g, &a, "t", KEY, "k", 0);
    assert_string_equal(at(&a, "/error/code"), "\"RateLimited\"");
    assert_string_equal(at(&a, "/attempts"), "1");
    assert_int_equal(t->runs, 1);
}

/* C4.7: a message says what happened: who is refused a third attempt has had two. */
static void matrix_25_a_refused_attempt_does_not_hide_those_before(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    setup(FOR_ALL("\"retry\":{\"maxAttempts\":5,\"baseMs\":1,\"capMs\":10},"
                  "\"circuit\":{\"minCalls\":2,\"openMs\":60000}"));
    t = guarded_tool(&g, "t", "IdempotentWrite", NULL, "fail", NULL);
    answer(&g, &a, "t", KEY, "k", 0);
    assert_int_equal(t->runs, 2);
    assert_string_equal(a.kind, "circuit_open");
    assert_string_equal(at(&a, "/attempts"), "2");
    assert_string_equal(at(&a, "/error/message"),
                        "\"the circuit of local::t is open after repeated failures; no further "
                        "attempt was made\"");
    assert_string_equal(at(&a, "/error/causedBy/message"), "\"no answer in run 2\"");
    answer(&g, &a, "t", KEY, "l", 0);
    assert_non_null(strstr(at(&a, "/error/message"), "nothing was executed"));
}

static void matrix_26_a_cancelled_waiter_gives_its_turn_away(void **state)
{
    struct asked a, b, c;
    struct scripted *t;

    (void)state;
    guarded_open(&g, FOR_ALL("\"concurrency\":{\"limit\":1}"),
                 "[{\"principal\":\"*\",\"allow\":[\"*\"]}]", true);
    t = guarded_tool(&g, "t", "Pure", NULL, "hold", NULL);
    ask(&g, &a, "t", AS, "ann", 0);
    ask(&g, &b, "t", AS, "bob", 0);
    ask(&g, &c, "t", AS, "cid", 0);
    settle_down(&g);
    wb_call_cancel(g.runtime, b.id);
    wait_for(&b);
    assert_string_equal(b.kind, "cancelled");
    assert_int_equal(t->runs, 1);
    scripted_finish(t, 0);
    wait_for(&a);
    settle_down(&g);
    assert_int_equal(t->runs, 2);
    scripted_finish(t, 1);
    wait_for(&c);
    assert_string_equal(at(&c, "/status"), "\"Ok\"");
}

/* "Always propagate `correlationId`; generate one if missing." */
static void matrix_27_bad_correlation_ids_are_refused(void **state)
{
    size_t n = (size_t)10 * 1024 * 1024;
    char *huge = malloc(n + 1);
    struct asked a;

    (void)state;
    setup(NULL);
    assert_non_null(huge);
    memset(huge, 'x', n);
    huge[n] = '\0';
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", WB_FIELD_CORRELATION_ID, huge, 0);
    assert_string_equal(at(&a, "/error/category"), "\"ContractError\"");
    assert_true(strlen(at(&a, "")) < 4096);
    answer(&g, &a, "t", WB_FIELD_CORRELATION_ID, "a\nb", 0);
    assert_string_equal(at(&a, "/error/category"), "\"ContractError\"");
    assert_null(strstr(at(&a, ""), "a\\nb"));
    answer(&g, &a, "t", WB_FIELD_CORRELATION_ID, "  ", 0);
    assert_int_equal(strlen(at(&a, "/correlationId")), 38);
    huge[1000] = '\0';
    assert_false(in_some_file(&g, huge) || in_some_file(&g, "a\nb"));
    free(huge);
}

#define ROW(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(matrix_01_and_02_contract_before_auth_before_policy),
        ROW(matrix_03_a_passed_deadline_beats_a_completed_key),
        ROW(matrix_04_a_passed_deadline_beats_the_cache),
        ROW(matrix_05_06_07_keys_by_canonical_input_and_tool),
        ROW(matrix_08_a_key_in_flight_is_a_conflict_at_once),
        ROW(matrix_09_half_open_runs_exactly_its_probes),
        ROW(matrix_10_a_probe_that_times_out_reopens_for_the_full_wait),
        ROW(matrix_11_a_rate_limited_retry_waits_within_its_deadline),
        ROW(matrix_12_a_refusal_of_the_provider_spends_no_token_of_the_tool),
        ROW(matrix_13_retry_hints_are_exact_to_the_millisecond),
        ROW(matrix_14_a_new_version_misses_the_cache),
        ROW(matrix_15_invalid_output_closes_the_key_and_is_no_sample),
        ROW(matrix_16_redaction_comes_after_validation),
        ROW(matrix_17_secrets_in_error_texts_are_redacted),
        ROW(matrix_18_a_late_result_frees_its_slot_once_and_closes_its_key),
        ROW(matrix_19_a_wall_clock_that_steps_changes_nothing),
        ROW(matrix_20_a_stream_that_fails_ends_in_one_error_frame),
        ROW(matrix_21_causes_are_capped),
        ROW(matrix_22_the_last_of_a_budget_is_spent_once),
        ROW(matrix_23_a_pure_tool_is_not_retried),
        ROW(matrix_24_a_write_that_timed_out_is_an_error),
        ROW(matrix_24_a_write_that_outlives_its_time_is_not_offered_again),
        ROW(matrix_25_all_attempts_fail),
        ROW(matrix_25_an_attempt_that_times_out_is_tried_again_with_a_full_limit),
        ROW(matrix_25_a_guard_is_not_waited_for_beyond_the_time_of_all_attempts),
        ROW(matrix_25_a_refused_attempt_does_not_hide_those_before),
        ROW(matrix_25_no_retry_past_the_deadline_and_none_after_a_cancel),
        ROW(matrix_26_a_cancelled_waiter_gives_its_turn_away),
        ROW(matrix_27_bad_correlation_ids_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
