/* SPDX-License-Identifier: Apache-2.0
 * guard/policy_test.c: settings, layers, provenance, tightening, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guard/policy.h"

#define MS WBI_NS_PER_MS

struct world {
    struct wbi_arena *arena;
    struct wbi_policy *policy;
};

static int setup(void **state)
{
    static struct world w;

    *state = &w;
    return wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &w.arena) == WB_OK &&
                   wbi_policy_new(&w.policy) == WB_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    struct world *w = *state;

    wbi_policy_free(w->policy);
    wbi_arena_free(w->arena);
    return 0;
}

static const wbi_json *json(struct world *w, const char *text)
{
    const wbi_json *v;
    struct wbi_error err = WBI_ERROR_INIT;

    assert_int_equal(wbi_json_read(w->arena, wbi_str_z(text), WBI_JSON_STRICT, &v, &err), WB_OK);
    return v;
}

static void add(struct world *w, const char *text, enum wbi_policy_trust trust)
{
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_policy_add(w->policy, json(w, text), WBI_LIT("waybill.json"), trust, &err);

    if (rc != WB_OK)
        print_error("%s %s\n", err.at, err.text);
    assert_int_equal(rc, WB_OK);
}

static const struct wbi_policy_effective *effective(struct world *w, const char *tool,
                                                    const char *principal)
{
    const struct wbi_policy_effective *e;

    assert_int_equal(
        wbi_policy_effective(w->policy, wbi_str_z(tool), wbi_str_z(principal), 30000, &e), WB_OK);
    return e;
}

/* C8 "environment < principal < tool" */
static void layers_override_and_say_where_values_came_from(void **state)
{
    struct world *w = *state;
    const struct wbi_policy_effective *e;

    add(w,
        "{\"environment\":{\"timeoutMs\":60000,\"rate\":{\"count\":5,\"periodMs\":1000},"
        "\"budget\":{\"windowMs\":60000,\"calls\":9}},"
        "\"principals\":{\"ci-*\":{\"timeoutMs\":50000,\"budget\":{\"windowMs\":1000,\"cost\":1.5}}"
        "},"
        "\"tools\":{\"mcp::*\":{\"timeoutMs\":40000},\"MCP::git::*\":{\"rate\":null},"
        "\"mcp::git::push\":{\"timeoutMs\":20000,\"redact\":[\"a.b\"]}}}",
        WBI_POLICY_TRUSTED);
    e = effective(w, "local::read", "bob");
    assert_int_equal(e->values.timeout_ms, 60000);
    assert_int_equal(e->values.rate.capacity, 5);
    assert_int_equal(e->values.rate.interval_ns, 200 * MS);
    assert_string_equal(e->source[WBI_POLICY_TIMEOUT].layer, "environment");
    assert_string_equal(e->source[WBI_POLICY_CIRCUIT].layer, "built-in");
    assert_true(wbi_str_eqz(e->values.budget.id, "environment"));
    e = effective(w, "local::read", "CI-7");
    assert_int_equal(e->values.timeout_ms, 50000);
    assert_int_equal(e->values.budget.limit.cost, 1500000);
    assert_true(wbi_str_eqz(e->values.budget.id, "principal:CI-7"));
    e = effective(w, "mcp::git::push", "ci-7");
    assert_int_equal(e->values.timeout_ms, 20000);
    assert_int_equal(e->values.rate.capacity, 0); /* null takes it away */
    assert_true(wbi_str_eqz(e->source[WBI_POLICY_RATE].pattern, "MCP::git::*")); /* as written */
    assert_string_equal(e->source[WBI_POLICY_TIMEOUT].layer, "tool");
    assert_true(wbi_str_eqz(e->source[WBI_POLICY_TIMEOUT].pattern, "mcp::git::push"));
    assert_true(wbi_str_eqz(e->source[WBI_POLICY_TIMEOUT].file, "waybill.json"));
    assert_int_equal(e->values.redact_n, 1);
    assert_ptr_equal(e, effective(w, "mcp::git::push", "ci-7")); /* resolved once */
}

/* Bindings take the names that models see; so do policies, where a limit without effect is one
 * that nobody misses. */
static void a_tool_goes_by_its_short_names(void **state)
{
    struct world *w = *state;

    add(w,
        "{\"tools\":{\"fs.write\":{\"timeoutMs\":1},\"fs_list\":{\"timeoutMs\":2},"
        "\"git__issues_*\":{\"timeoutMs\":3},\"push\":{\"timeoutMs\":4},"
        "\"wetter__l_nder\":{\"timeoutMs\":5}}}",
        WBI_POLICY_TRUSTED);
    assert_int_equal(effective(w, "local::fs.write", "local")->values.timeout_ms, 1);
    assert_int_equal(effective(w, "local::fs.list", "local")->values.timeout_ms, 2);
    assert_int_equal(effective(w, "mcp::git::issues.create", "local")->values.timeout_ms, 3);
    assert_int_equal(effective(w, "local::push", "local")->values.timeout_ms, 4);
    assert_int_equal(effective(w, "mcp::wetter::l\xc3\xa4nder", "local")->values.timeout_ms, 5);
    /* a name that is none is no tool's, and its bytes are not followed beyond its end */
    assert_int_equal(effective(w, "local::\xf0", "local")->values.timeout_ms, 30000);
    assert_int_equal(effective(w, "mcp::git::push", "local")->values.timeout_ms, 30000);
}

static void without_configuration_the_built_in_timeout_holds(void **state)
{
    const struct wbi_policy_effective *e = effective(*state, "local::read", "local");

    assert_int_equal(e->values.timeout_ms, 30000);
    assert_int_equal(e->values.concurrency, WBI_SLOTS_UNLIMITED);
    assert_false(e->values.circuit.set || e->values.budget.set || e->values.retry.set);
}

/* I1: "A workspace's files may only tighten policy until … trust". */
static void an_untrusted_file_only_tightens(void **state)
{
    struct world *w = *state;
    const struct wbi_policy_effective *e;

    add(w,
        "{\"environment\":{\"timeoutMs\":10000,\"rate\":{\"count\":5,\"periodMs\":1000},"
        "\"concurrency\":{\"limit\":4,\"queue\":10,\"queueTimeoutMs\":50},"
        "\"retry\":{\"maxAttempts\":2}}}",
        WBI_POLICY_TRUSTED);
    add(w,
        "{\"environment\":{\"timeoutMs\":20000,\"rate\":null,"
        "\"concurrency\":{\"limit\":2,\"queue\":1000},\"retry\":{\"maxAttempts\":9},\"cache\":{"
        "\"ttlMs\":5},\"redact\":[\"x\"],"
        "\"circuit\":{}}}",
        WBI_POLICY_TIGHTEN_ONLY);
    e = effective(w, "t", "p");
    assert_int_equal(e->values.timeout_ms, 10000);
    assert_int_equal(e->values.rate.capacity, 5);
    assert_int_equal(e->values.concurrency, 2);
    assert_int_equal(e->values.queue_max, 10);
    assert_int_equal(e->values.queue_timeout_ms, 50);
    assert_int_equal(e->values.retry.max_attempts, 2);
    assert_int_equal(e->values.cache_ttl_ns, 0);
    assert_int_equal(e->values.redact_n, 1);
    assert_true(e->values.circuit.set);
}

/* I1: what was spent of a budget stays spent, and retries wait as they did. */
static void an_untrusted_file_begins_no_budget_anew_and_hastens_no_retry(void **state)
{
    static const char *const others[] = {
        "{\"tools\":{\"*\":{\"budget\":{\"windowMs\":60000,\"calls\":5}}}}",
        "{\"principals\":{\"*\":{\"budget\":{\"windowMs\":60000,\"calls\":5}}}}",
        "{\"environment\":{\"budget\":{\"windowMs\":60001,\"calls\":5}}}",
        "{\"environment\":{\"budget\":{\"id\":\"new\",\"windowMs\":60000,\"calls\":5}}}"};
    struct world *w = *state;
    const struct wbi_policy_effective *e;

    add(w,
        "{\"environment\":{\"budget\":{\"windowMs\":60000,\"calls\":9},"
        "\"retry\":{\"maxAttempts\":4,\"baseMs\":5000,\"jitter\":\"none\",\"maxTotalMs\":9000,"
        "\"quota\":5}}}",
        WBI_POLICY_TRUSTED);
    for (size_t i = 0; i < WBI_COUNT(others); i++) {
        add(w, others[i], WBI_POLICY_TIGHTEN_ONLY);
        e = effective(w, "t", "p");
        assert_true(wbi_str_eqz(e->values.budget.id, "environment"));
        assert_int_equal(e->values.budget.limit.calls, 9);
        assert_int_equal(e->values.budget.window_ns, 60 * WBI_NS_PER_S);
    }
    add(w,
        "{\"environment\":{\"budget\":{\"windowMs\":60000,\"calls\":5},"
        "\"retry\":{\"maxAttempts\":3,\"baseMs\":0,\"quota\":1000000}}}",
        WBI_POLICY_TIGHTEN_ONLY);
    e = effective(w, "t", "p");
    assert_true(wbi_str_eqz(e->values.budget.id, "environment"));
    assert_int_equal(e->values.budget.limit.calls, 5);
    assert_int_equal(e->values.retry.max_attempts, 3);
    assert_int_equal(e->values.retry.base_ns, 5 * WBI_NS_PER_S);
    assert_int_equal(e->values.retry.jitter, WBI_JITTER_NONE);
    assert_int_equal(e->values.retry.total_ns, 9 * WBI_NS_PER_S);
    assert_int_equal(e->values.retry.quota, 5);
}

static void a_bad_file_is_refused_whole_with_place_and_reason(void **state)
{
    static const struct {
        const char *text, *at;
    } bad[] = {
        {"[]", ""},
        {"{\"tool\":{}}", "/tool"},
        {"{\"environment\":[]}", "/environment"},
        {"{\"environment\":{\"timeout\":1}}", "/environment/timeout"},
        {"{\"environment\":{\"timeoutMs\":0}}", "/environment/timeoutMs"},
        {"{\"environment\":{\"timeoutMs\":\"5\"}}", "/environment/timeoutMs"},
        {"{\"environment\":{\"rate\":{\"count\":0,\"periodMs\":1}}}", "/environment/rate/count"},
        {"{\"environment\":{\"rate\":{\"count\":1,\"periodMs\":0}}}", "/environment/rate/periodMs"},
        {"{\"environment\":{\"rate\":{\"count\":1}}}", "/environment/rate/periodMs"},
        {"{\"environment\":{\"rate\":{\"count\":1000000000,\"periodMs\":1}}}", "/environment/rate"},
        {"{\"environment\":{\"rate\":{\"count\":1,\"periodMs\":1,\"per\":\"x\"}}}",
         "/environment/rate/per"},
        {"{\"environment\":{\"providerRate\":{\"count\":1,\"periodMs\":1,\"per\":\"principal\"}}}",
         "/environment/providerRate/per"},
        {"{\"tools\":{\"a/b\":{\"circuit\":{\"failureRate\":101}}}}",
         "/tools/a~1b/circuit/failureRate"},
        {"{\"tools\":{\"*\":{\"circuit\":{\"probes\":33}}}}", "/tools/*/circuit/probes"},
        {"{\"tools\":{\"*\":{\"circuit\":{\"windowMs\":50,\"windowCalls\":5}}}}",
         "/tools/*/circuit"},
        {"{\"tools\":{\"\":{}}}", "/tools/"},
        {"{\"tools\":{\"*\":{\"concurrency\":{\"limit\":-1}}}}", "/tools/*/concurrency/limit"},
        {"{\"tools\":{\"*\":{\"budget\":{\"windowMs\":5}}}}", "/tools/*/budget"},
        {"{\"tools\":{\"*\":{\"budget\":{\"windowMs\":5,\"calls\":1,\"id\":\"\"}}}}",
         "/tools/*/budget/id"},
        {"{\"tools\":{\"*\":{\"cost\":-0.5}}}", "/tools/*/cost"},
        {"{\"tools\":{\"*\":{\"cost\":\"1\"}}}", "/tools/*/cost"},
        {"{\"tools\":{\"*\":{\"budget\":{\"windowMs\":5,\"cost\":-1}}}}", "/tools/*/budget/cost"},
        {"{\"tools\":{\"*\":{\"retry\":{\"jitter\":\"some\"}}}}", "/tools/*/retry/jitter"},
        {"{\"tools\":{\"*\":{\"retry\":{\"jitter\":101}}}}", "/tools/*/retry/jitter"},
        {"{\"tools\":{\"*\":{\"retry\":{\"multiplier\":0.5}}}}", "/tools/*/retry/multiplier"},
        {"{\"tools\":{\"*\":{\"retry\":{\"maxAttempts\":1.5}}}}", "/tools/*/retry/maxAttempts"},
        {"{\"tools\":{\"*\":{\"cache\":{}}}}", "/tools/*/cache/ttlMs"},
        {"{\"tools\":{\"*\":{\"cache\":{\"ttlMs\":1,\"log\":1}}}}", "/tools/*/cache/log"},
        {"{\"tools\":{\"*\":{\"redact\":[1]}}}", "/tools/*/redact"},
        {"{\"principals\":{\"x\":{\"idempotency\":{\"ttlMs\":0}}}}",
         "/principals/x/idempotency/ttlMs"},
    };
    struct world *w = *state;

    add(w, "{\"environment\":{\"timeoutMs\":777}}", WBI_POLICY_TRUSTED);
    for (size_t i = 0; i < WBI_COUNT(bad); i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        const wbi_json *v = json(w, bad[i].text);
        assert_int_equal(wbi_policy_add(w->policy, v, WBI_NONE, WBI_POLICY_TRUSTED, &err),
                         WB_EINPUT);
        assert_string_equal(err.at, bad[i].at);
        assert_true(err.text[0] != '\0');
        assert_int_equal(wbi_policy_check(v, NULL), WB_EINPUT);
        assert_int_equal(effective(w, "t", "p")->values.timeout_ms, 777); /* the old one stays */
    }
}

/* C4.7: what would be accepted has two ends. */
static void a_time_that_is_too_long_is_told_the_longest(void **state)
{
    struct world *w = *state;
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = json(w, "{\"environment\":{\"timeoutMs\":9007199254740991}}");

    assert_int_equal(wbi_policy_add(w->policy, v, WBI_NONE, WBI_POLICY_TRUSTED, &err), WB_EINPUT);
    assert_string_equal(err.at, "/environment/timeoutMs");
    assert_string_equal(err.text, "must be a whole number from 1 to 316224000000");
}

/* C8.4: however small a cost is, enough of it spends a budget. */
static void what_costs_anything_is_not_free(void **state)
{
    struct world *w = *state;

    add(w, "{\"environment\":{\"cost\":1e-9},\"tools\":{\"b\":{\"cost\":0},\"c\":{\"cost\":0.1}}}",
        WBI_POLICY_TRUSTED);
    assert_int_equal(effective(w, "a", "p")->values.cost, 1);
    assert_int_equal(effective(w, "b", "p")->values.cost, 0);
    assert_int_equal(effective(w, "c", "p")->values.cost, 100000);
}

/* C8 "an invocation may only tighten (a looser wish is clamped and noted)"; S1
 * "deadline? — absolute timestamp; must be ≤ policy timeout." (C13: clamped) */
static void wishes_tighten_or_are_clamped_and_noted(void **state)
{
    struct wbi_policy_values v = wbi_policy_builtin();
    struct wbi_policy_wishes wishes = {5000, 9, 60000 * MS, true};
    struct wbi_policy_clamps clamps;

    (void)state;
    v.timeout_ms = 10000;
    v.cache_ttl_ns = 5;
    v.retry = wbi_retry_defaults();
    v.retry.max_attempts = 3;
    wbi_policy_tighten(&v, &wishes, 0, &clamps);
    assert_int_equal(v.timeout_ms, 5000);
    assert_int_equal(v.retry.max_attempts, 3);
    assert_int_equal(v.cache_ttl_ns, 0);
    assert_int_equal(clamps.n, 2);
    assert_string_equal(clamps.row[0].what, "retry.maxAttempts");
    assert_int_equal(clamps.row[0].given, 3);
    assert_string_equal(clamps.row[1].what, "deadline");
    wishes = (struct wbi_policy_wishes){90000, 2, WBI_NO_DEADLINE, false, 64000, 8000};
    wbi_policy_tighten(&v, &wishes, 0, &clamps);
    assert_int_equal(v.timeout_ms, 5000);
    assert_int_equal(v.retry.max_attempts, 2);
    assert_int_equal(clamps.n, 2);
    assert_string_equal(clamps.row[0].what, "timeoutMs");
    assert_int_equal(clamps.row[0].asked, 90000);
    assert_string_equal(clamps.row[1].what, "maxTokens");
    assert_int_equal(clamps.row[1].given, 8000);
}

/* S1 "policySnapshot — effective policy values (timeout, retry, rate-limit ids,
 * circuit state) at execution time.", "Include a redactions array in
 * policySnapshot or envelope metadata if fields were removed." */
static void the_snapshot_says_what_applied(void **state)
{
    static const int64_t limits[][2] = {{4, 9}, {9, 4}, {WBI_SLOTS_UNLIMITED, 4}};
    struct wbi_policy_values v = wbi_policy_builtin();
    struct wbi_str redactions[] = {WBI_LIT("headers.authorization")};
    struct wbi_policy_clamps clamps = {.row = {{"timeoutMs", 9, 5}}, .n = 1};
    struct wbi_policy_snapshot s = {.values = &v,
                                    .tool = WBI_LIT("local::x"),
                                    .origin = WBI_LIT("local"),
                                    .limit_ms = WBI_NO_LIMIT_MS};
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    (void)state;
    wbi_buf_init(&out, 4096);
    wbi_policy_write_snapshot(&w, &s); /* nothing configured: no timeout, not 0 */
    assert_true(
        wbi_str_eqz(wbi_buf_str(&out), "{\"rateLimitIds\":[],\"clamped\":[],\"redactions\":[]}"));
    wbi_buf_clear(&out);
    v.rate.capacity = v.provider_rate.capacity = 1;
    v.concurrency = 4;
    v.retry = wbi_retry_defaults();
    v.budget = (struct wbi_budget_settings){.set = true, .id = WBI_LIT("b1")};
    s.limit_ms = 0; /* expired already */
    s.circuit_state = "half-open";
    s.clamps = &clamps;
    s.redactions = redactions;
    s.redactions_n = 1;
    w = wbi_jw_to(&out);
    wbi_policy_write_snapshot(&w, &s);
    assert_true(wbi_str_eqz(
        wbi_buf_str(&out),
        "{\"timeoutMs\":0,\"retry\":{\"maxAttempts\":1,\"baseMs\":200,\"capMs\":20000,"
        "\"multiplier\":2,\"jitter\":20,\"quota\":500},\"rateLimitIds\":[\"local::x\",\"local\"],"
        "\"circuitState\":\"half-open\",\"concurrency\":4,\"budgetId\":\"b1\","
        "\"clamped\":[{\"setting\":\"timeoutMs\",\"asked\":9,\"given\":5}],"
        "\"redactions\":[\"headers.authorization\"]}"));
    for (size_t i = 0; i < WBI_COUNT(limits); i++) { /* one of the provider is one of the tool */
        v.concurrency = limits[i][0];
        v.provider_concurrency = limits[i][1];
        wbi_buf_clear(&out);
        w = wbi_jw_to(&out);
        wbi_policy_write_snapshot(&w, &s);
        assert_true(wbi_str_find(wbi_buf_str(&out), WBI_LIT("\"concurrency\":4,")) < out.n);
    }
    wbi_buf_fini(&out);
}

static void explain_is_json_with_every_item_and_its_source(void **state)
{
    struct world *w = *state;
    const wbi_json *v;
    struct wbi_buf out;
    struct wbi_jw jw = wbi_jw_to(&out);

    add(w,
        "{\"environment\":{\"rate\":{\"count\":1,\"periodMs\":1000},\"circuit\":{\"slowRate\":50},"
        "\"budget\":{\"windowMs\":5,\"timeMs\":7,\"cost\":2},\"concurrency\":{\"limit\":1},"
        "\"retry\":{},\"cache\":{\"ttlMs\":9}}}",
        WBI_POLICY_TRUSTED);
    wbi_buf_init(&out, 8192);
    wbi_policy_write_explain(&jw, effective(w, "t", "p"));
    assert_int_equal(wbi_json_read(w->arena, wbi_buf_str(&out), WBI_JSON_STRICT, &v, NULL), WB_OK);
    assert_int_equal(wbi_json_count(v), WBI_POLICY_ITEMS);
    WBI_JSON_EACH_MEMBER (v, item) {
        assert_non_null(wbi_json_get(item_val, "value"));
        assert_true(wbi_json_get_str(wbi_json_get(item_val, "from"), "layer").n > 0);
    }
    wbi_buf_fini(&out);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(layers_override_and_say_where_values_came_from),
        TEST(a_tool_goes_by_its_short_names),
        TEST(without_configuration_the_built_in_timeout_holds),
        TEST(an_untrusted_file_only_tightens),
        TEST(an_untrusted_file_begins_no_budget_anew_and_hastens_no_retry),
        TEST(a_bad_file_is_refused_whole_with_place_and_reason),
        TEST(a_time_that_is_too_long_is_told_the_longest),
        TEST(what_costs_anything_is_not_free),
        TEST(wishes_tighten_or_are_clamped_and_noted),
        TEST(the_snapshot_says_what_applied),
        TEST(explain_is_json_with_every_item_and_its_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
