/* SPDX-License-Identifier: Apache-2.0
 * tests/seed001_test.c: sentences of seed 001 ("Invocation & Result") about the shapes
 * themselves, each shown on whole calls. Those about policies are quoted in
 * tests/matrix_test.c and tests/guarded_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/guarded.h"

static struct guarded g;

static int setup(void **state)
{
    (void)state;
    guarded_open(&g,
                 "{\"tools\":{\"local::queued\":{\"concurrency\":{\"limit\":1}},"
                 "\"local::timed\":{\"timeoutMs\":1000,\"concurrency\":{\"limit\":1}},"
                 "\"local::again\":{\"retry\":{\"maxAttempts\":3,\"baseMs\":1}},"
                 "\"local::failing\":{\"circuit\":{\"minCalls\":1,\"openMs\":1000},"
                 "\"retry\":{\"maxAttempts\":3,\"baseMs\":10,\"jitter\":\"none\"}},"
                 "\"local::full\":{\"timeoutMs\":1000,"
                 "\"retry\":{\"maxAttempts\":3,\"baseMs\":10,\"capMs\":40},"
                 "\"rate\":{\"count\":5,\"periodMs\":1000},"
                 "\"providerRate\":{\"count\":5,\"periodMs\":1000},"
                 "\"circuit\":{\"minCalls\":5,\"openMs\":1000},"
                 "\"concurrency\":{\"limit\":2,\"queue\":1},"
                 "\"budget\":{\"windowMs\":60000,\"calls\":9,\"id\":\"team\"},"
                 "\"redact\":[\"done\"]}}}",
                 NULL, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    guarded_close(&g);
    return 0;
}

/* "Defines the stable wire-level semantics for calling a Tool and receiving its outcome. This
 * contract is origin-agnostic (Local or MCP)." */
static void every_result_has_the_same_members(void **state)
{
    static const char *const names[] = {"/status",         "/durationMs",    "/attempts",
                                        "/policySnapshot", "/correlationId", "/origin"};
    static const char *const calls[] = {"t", "mcp::git::log", "nothing"};
    static const char *const origins[] = {"\"local\"", "\"mcp::git\"", "\"unknown\""};
    struct asked a;

    (void)state;
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    for (size_t c = 0; c < 3; c++) {
        answer(&g, &a, calls[c], 0);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            assert_string_not_equal(at(&a, names[i]), "");
        /* "`origin` — `local` or `mcp::<server>`." (and C13: unknown) */
        assert_string_equal(at(&a, "/origin"), origins[c]);
    }
    assert_string_equal(at(&a, "/error/origin"), "\"unknown\"");
}

/* "`versionRange?` — preferred version/range (SemVer or provider pin); registry resolves the
 * concrete version." "`resolvedVersion` — concrete tool version executed." */
static void the_registry_resolves_the_version(void **state)
{
    struct scripted *old, *new;
    struct asked a;

    (void)state;
    old = guarded_tool(&g, "t@1.4.0", "Pure", NULL, "ok", NULL);
    new = guarded_tool(&g, "t@2.0.0", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", WB_FIELD_VERSION_RANGE, "^1.2", 0);
    assert_string_equal(at(&a, "/resolvedVersion"), "\"1.4.0\"");
    assert_int_equal(old->runs, 1);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/resolvedVersion"), "\"2.0.0\"");
    assert_int_equal(new->runs, 1);
    answer(&g, &a, "t", WB_FIELD_VERSION_RANGE, "^3", 0);
    assert_string_equal(at(&a, "/error/code"), "\"UnsupportedVersion\"");
    assert_string_equal(at(&a, "/resolvedVersion"), "");
}

/* "`input` — JSON-like payload validated against the tool's `inputSchema`." "`correlationId` —
 * stable id for tracing across systems." "`causationId?` — id of the parent event or invocation
 * that caused this call." "`headers?` — non-sensitive context (e.g., locale, tenant); **no
 * secrets** here." "`correlationId` — echoed from invocation." */
static void an_invocation_carries_its_context(void **state)
{
    struct asked a;

    (void)state;
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", WB_FIELD_INPUT, "{\"n\":true}", 0);
    assert_string_equal(at(&a, "/error/category"), "\"ContractError\"");
    assert_string_equal(at(&a, "/error/code"), "\"InvalidType\"");
    answer(&g, &a, "t", WB_FIELD_CORRELATION_ID, "trace-me", WB_FIELD_CAUSATION_ID, "call_parent",
           WB_FIELD_HEADERS, "{\"locale\":\"de-CH\",\"tenant\":\"a\"}", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_string_equal(at(&a, "/correlationId"), "\"trace-me\"");
    answer(&g, &a, "t", WB_FIELD_HEADERS, "{\"authorization\":\"Bearer not-to-be-shown\"}", 0);
    assert_string_equal(at(&a, "/error/category"), "\"ContractError\"");
    assert_null(strstr(at(&a, ""), "not-to-be-shown")); /* an id may hold "abc" */
}

/* "`status` — `Ok | Error | Retryable`." "`Ok` ⇒ `output` present, `error` absent." "`error?` —
 * structured error (see taxonomy)." "Downstream/service/network failure; map provider codes where
 * possible." */
static void a_status_agrees_with_what_is_there(void **state)
{
    struct scripted *t;
    struct asked a;

    (void)state;
    t = guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_string_equal(at(&a, "/output/done"), "true");
    assert_string_equal(at(&a, "/error"), "");
    t->script[0] = "broken";
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/status"), "\"Error\"");
    assert_string_equal(at(&a, "/output"), "");
    assert_string_equal(at(&a, "/error/category"), "\"ExecutionError\"");
    assert_string_equal(at(&a, "/error/isRetryable"), "false");
    t->script[0] = "fail";
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/status"), "\"Retryable\"");
    assert_string_equal(at(&a, "/error/isRetryable"), "true");
    assert_string_equal(at(&a, "/error/message"), "\"no answer in run 3\"");
}

static void fail_as_asked(wb_tool_call *call, void *arg)
{
    const char *kind = arg;

    wb_tool_fail(call, kind, "as asked", "{\"providerCode\":\"E503\"}");
}

/* "`SystemError`" — "Unexpected runtime faults, serialization errors not covered above." and
 * "`ExecutionError`": the provider's own code is kept. */
static void categories_tell_whose_fault_it_was(void **state)
{
    static const char *const cases[][3] = {
        {"internal", "internal_error", "\"SystemError\""},
        {"upstream", "upstream_unavailable", "\"ExecutionError\""},
    };
    struct asked a;
    char text[256];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof(text),
                 "{\"name\":\"%s\",\"description\":\"For tests.\",\"version\":\"1.0.0\","
                 "\"inputSchema\":{\"type\":\"object\"},\"effect\":\"Pure\"}",
                 cases[i][0]);
        assert_int_equal(wb_tool_register(g.runtime, text, NULL, fail_as_asked, NULL,
                                          (void *)(uintptr_t)cases[i][1], NULL),
                         WB_OK);
        answer(&g, &a, cases[i][0], 0);
        assert_string_equal(at(&a, "/error/category"), cases[i][2]);
        assert_string_equal(at(&a, "/error/details/providerCode"), "\"E503\"");
        assert_string_equal(at(&a, "/error/origin"), "\"local\"");
    }
}

/* "`durationMs` — end-to-end time including policies." */
static void waiting_in_a_queue_counts(void **state)
{
    struct scripted *t;
    struct asked a, b;

    (void)state;
    t = guarded_tool(&g, "queued", "Pure", NULL, "hold", NULL);
    ask(&g, &a, "queued", 0);
    ask(&g, &b, "queued", 0);
    settle_down(&g);
    guarded_pass_ms(&g, 70);
    scripted_finish(t, 0);
    wait_for(&a);
    settle_down(&g);
    guarded_pass_ms(&g, 5);
    scripted_finish(t, 1);
    wait_for(&b);
    assert_int_equal(number_at(&a, "/durationMs"), 70);
    assert_int_equal(number_at(&b, "/durationMs"), 75);
}

/* C8.1: an attempt has min(deadline - now, timeoutMs), and its time begins with it; what a call
 * has waited counts for its deadline alone. */
static void an_attempt_has_its_whole_time_after_a_queue(void **state)
{
    struct scripted *t;
    struct asked a, b, c;

    (void)state;
    t = guarded_tool(&g, "timed", "NonIdempotentWrite", NULL, "hold", NULL);
    ask(&g, &a, "timed", 0);
    ask(&g, &b, "timed", 0);
    ask(&g, &c, "timed", WB_FIELD_DEADLINE, deadline_in(&g, 2000), 0);
    settle_down(&g);
    guarded_pass_ms(&g, 900);
    scripted_finish(t, 0);
    wait_for(&a);
    settle_down(&g);
    guarded_pass_ms(&g, 900);
    scripted_finish(t, 1);
    wait_for(&b);
    assert_string_equal(at(&b, "/status"), "\"Ok\"");
    assert_int_equal(number_at(&b, "/durationMs"), 1800);
    assert_int_equal(number_at(&b, "/policySnapshot/timeoutMs"), 1000);
    settle_down(&g);
    guarded_pass_ms(&g, 200);
    wait_for(&c);
    assert_string_equal(c.kind, "timed_out");
    assert_int_equal(number_at(&c, "/durationMs"), 2000);
    assert_int_equal(number_at(&c, "/policySnapshot/timeoutMs"), 200);
    assert_int_equal(t->runs, 3);
}

/* The snapshot has the circuit as it was when the guards were last asked: a refusal and the
 * snapshot beside it say the same, also behind attempts that opened it. */
static void a_snapshot_agrees_with_the_refusal(void **state)
{
    struct asked a;

    (void)state;
    (void)guarded_tool(&g, "failing", "IdempotentWrite", NULL, "fail", NULL);
    answer(&g, &a, "failing", WB_FIELD_IDEMPOTENCY_KEY, "k", WB_FIELD_DEADLINE,
           deadline_in(&g, 500), 0);
    assert_string_equal(at(&a, "/error/code"), "\"CircuitOpen\"");
    assert_string_equal(at(&a, "/error/details/circuitState"), "\"open\"");
    assert_string_equal(at(&a, "/policySnapshot/circuitState"), "\"open\"");
    assert_string_equal(at(&a, "/attempts"), "1");
}

/* C8.6, K4: a replay has the whole error, with what came before it. */
static void a_replayed_error_has_its_causes(void **state)
{
    struct asked a, b;
    struct scripted *t;

    (void)state;
    t = guarded_tool(&g, "again", "IdempotentWrite", NULL, "fail", "broken");
    answer(&g, &a, "again", WB_FIELD_IDEMPOTENCY_KEY, "k", 0);
    answer(&g, &b, "again", WB_FIELD_IDEMPOTENCY_KEY, "k", 0);
    assert_string_equal(at(&a, "/attempts"), "2");
    assert_string_equal(at(&b, "/replayed"), "true");
    assert_string_equal(at(&a, "/error/causedBy/message"), "\"no answer in run 1\"");
    assert_string_equal(at(&b, "/error/causedBy/message"), "\"no answer in run 1\"");
    assert_string_equal(at(&b, "/error/causedBy/code"), "\"UpstreamUnavailable\"");
    assert_int_equal(t->runs, 2);
}

/* A list of three in pages of one; tokens are opaque. */
static void next_page(wb_tool_call *call, void *arg)
{
    const char *token = wb_tool_call_string(call, "/pageToken", NULL);
    char text[64];
    int page = token ? token[0] - 'a' + 1 : 0;

    (void)arg;
    if (page < 2)
        snprintf(text, sizeof(text), "{\"items\":[%d],\"nextToken\":\"%c==\"}", page, 'a' + page);
    else
        snprintf(text, sizeof(text), "{\"items\":[%d]}", page);
    wb_tool_finish_json(call, text, strlen(text));
}

/* "Prefer explicit `pageToken`/`nextToken` fields in `input`/`output` for list operations." */
static void tokens_of_pages_pass_unchanged(void **state)
{
    struct asked a;
    char input[64] = "{}";

    (void)state;
    assert_int_equal(
        wb_tool_register(g.runtime,
                         "{\"name\":\"list\",\"description\":\"For tests.\",\"version\":\"1.0.0\","
                         "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"pageToken\":"
                         "{\"type\":\"string\"}}},\"effect\":\"Pure\"}",
                         NULL, next_page, NULL, NULL, NULL),
        WB_OK);
    for (int page = 0; page < 3; page++) {
        char want[16];
        snprintf(want, sizeof(want), "[%d]", page);
        answer(&g, &a, "list", WB_FIELD_INPUT, input, 0);
        assert_string_equal(at(&a, "/output/items"), want);
        snprintf(input, sizeof(input), "{\"pageToken\":%s}", at(&a, "/output/nextToken"));
    }
    assert_string_equal(at(&a, "/output/nextToken"), "");
}

static int polls;

static void begin_work(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_finish_json(call, "{\"id\":\"op-1\",\"status\":\"running\"}", 32);
}

static void tell_work(wb_tool_call *call, void *arg)
{
    const char *id = wb_tool_call_string(call, "/id", NULL);

    (void)arg;
    if (id == NULL || strcmp(id, "op-1") != 0)
        wb_tool_fail(call, "task_not_found", "no such operation", NULL);
    else if (polls++ == 0)
        wb_tool_finish_json(call, "{\"status\":\"running\"}", 20);
    else
        wb_tool_finish_json(call, "{\"status\":\"done\"}", 17);
}

/* "For long-running operations, return `Ok` with an operation `id` and expose status via a
 * separate tool; avoid indefinite holds." */
static void long_work_is_a_success_with_an_id(void **state)
{
    static const char descriptor[] =
        "{\"name\":\"%s\",\"description\":\"For tests.\",\"version\":\"1.0.0\","
        "\"inputSchema\":{\"type\":\"object\"},\"effect\":\"%s\"}";
    struct asked a;
    char text[256], input[64];

    (void)state;
    polls = 0;
    snprintf(text, sizeof(text), descriptor, "begin", "ExternalSideEffects");
    assert_int_equal(wb_tool_register(g.runtime, text, NULL, begin_work, NULL, NULL, NULL), WB_OK);
    snprintf(text, sizeof(text), descriptor, "tell", "Pure");
    assert_int_equal(wb_tool_register(g.runtime, text, NULL, tell_work, NULL, NULL, NULL), WB_OK);
    answer(&g, &a, "begin", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    snprintf(input, sizeof(input), "{\"id\":%s}", at(&a, "/output/id"));
    answer(&g, &a, "tell", WB_FIELD_INPUT, input, 0);
    assert_string_equal(at(&a, "/output/status"), "\"running\"");
    answer(&g, &a, "tell", WB_FIELD_INPUT, input, 0);
    assert_string_equal(at(&a, "/output/status"), "\"done\"");
    answer(&g, &a, "tell", WB_FIELD_INPUT, "{\"id\":\"op-2\"}", 0);
    assert_string_equal(a.kind, "task_not_found");
}

/* "`toolName` — fully qualified name (e.g., `local::fs.write`, `mcp::github::issues.create`)."
 * The model's name means the same tool. */
static void a_qualified_name_is_that_tool(void **state)
{
    struct scripted *t;
    struct asked a;

    (void)state;
    t = guarded_tool(&g, "fs.write", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "local::fs.write", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    answer(&g, &a, "fs_write", 0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_int_equal(t->runs, 2);
    answer(&g, &a, "mcp::github::issues.create", 0);
    assert_string_equal(a.kind, "unknown_tool");
    assert_string_equal(at(&a, "/origin"), "\"mcp::github\"");
}

/* "`policySnapshot` — effective policy values (timeout, retry, rate-limit ids, circuit state) at
 * execution time." "`deadline?` — absolute timestamp; must be ≤ policy timeout." C13: a later
 * deadline is clamped and noted, not refused. */
static void the_snapshot_holds_what_applied(void **state)
{
    static const char want[] =
        "{\"timeoutMs\":1000,\"retry\":{\"maxAttempts\":3,\"baseMs\":10,\"capMs\":40,"
        "\"multiplier\":2,\"jitter\":20,\"quota\":500},\"rateLimitIds\":[\"local::full\",\"local\"]"
        ","
        "\"circuitState\":\"closed\",\"concurrency\":2,\"budgetId\":\"team\","
        "\"clamped\":[{\"setting\":\"deadline\",\"asked\":60000,\"given\":1000}],"
        "\"redactions\":[\"output.done\"]}";
    struct asked a;

    (void)state;
    (void)guarded_tool(&g, "full", "IdempotentWrite", NULL, "ok", NULL);
    answer(&g, &a, "full", WB_FIELD_IDEMPOTENCY_KEY, "k", WB_FIELD_DEADLINE, deadline_in(&g, 60000),
           0);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_string_equal(at(&a, "/policySnapshot"), want);
}

/* Calls "inner" and answers with what it was told there. */
static void call_another(wb_tool_call *call, void *arg)
{
    wb_request *r = wb_request_new("inner");
    wb_result *result;
    const char *record;
    size_t n;

    (void)arg;
    assert_int_equal(wb_request_set_parent(NULL, call), WB_EMISUSE);
    assert_int_equal(wb_request_set_parent(r, NULL), WB_EMISUSE);
    assert_int_equal(wb_request_set_parent(r, call), WB_OK);
    assert_int_equal(wb_call_run(g.runtime, r, &result), WB_OK);
    wb_request_free(r);
    record = wb_result_view(result, WB_VIEW_RECORD, &n);
    wb_tool_finish_json(call, record, n);
    wb_result_free(result);
}

/* "Set `causationId` when an invocation is triggered by a prior event or tool." "Always propagate
 * `correlationId`; generate one if missing." */
static void a_call_of_a_tool_names_its_parent(void **state)
{
    wb_request *r = wb_request_new("outer");
    wb_result *result;
    char *text;

    (void)state;
    (void)guarded_tool(&g, "inner", "Pure", NULL, "ok", NULL);
    assert_int_equal(wb_tool_register(g.runtime,
                                      "{\"name\":\"outer\",\"description\":\"For tests.\","
                                      "\"version\":\"1.0.0\",\"effect\":\"Pure\"}",
                                      NULL, call_another, NULL, NULL, NULL),
                     WB_OK);
    assert_int_equal(wb_request_set(r, WB_FIELD_CORRELATION_ID, "corr-1"), WB_OK);
    assert_int_equal(wb_request_set(r, WB_FIELD_CONVERSATION_ID, "conv-1"), WB_OK);
    assert_int_equal(wb_call_run(g.runtime, r, &result), WB_OK);
    wb_request_free(r);
    assert_int_equal(wb_result_ok(result), 1);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"correlationId", "conversationId", "causationId"};
        const char *want[] = {"corr-1", "conv-1", wb_result_call(result)};
        const char *view = wb_result_view(result, WB_VIEW_RESULT, NULL);
        char pointer[64];

        snprintf(pointer, sizeof(pointer), "/output/invocation/%s", names[i]);
        assert_int_equal(wb_json_pointer(view, strlen(view), pointer, &text, NULL, NULL), WB_OK);
        assert_string_equal(text, want[i]);
        wb_free(text);
    }
    wb_result_free(result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_qualified_name_is_that_tool),
        TEST(the_snapshot_holds_what_applied),
        TEST(a_call_of_a_tool_names_its_parent),
        TEST(every_result_has_the_same_members),
        TEST(the_registry_resolves_the_version),
        TEST(an_invocation_carries_its_context),
        TEST(a_status_agrees_with_what_is_there),
        TEST(categories_tell_whose_fault_it_was),
        TEST(waiting_in_a_queue_counts),
        TEST(tokens_of_pages_pass_unchanged),
        TEST(long_work_is_a_success_with_an_id),
        TEST(a_snapshot_agrees_with_the_refusal),
        TEST(an_attempt_has_its_whole_time_after_a_queue),
        TEST(a_replayed_error_has_its_causes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
