/* SPDX-License-Identifier: Apache-2.0
 * guard/policy_read.c: `policies` of a configuration file, checked and turned
 * into rules. Numbers are bounded here so that no guard has to fear overflow:
 * times up to ten years, counts up to a thousand million. */
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "guard/policy_int.h"
#include "text/redact.h"

#define LONGEST_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)
#define LARGEST INT64_C(1000000000)

struct reader {
    struct wbi_policy_place at;
    struct wbi_arena *arena;
};

/* What is wrong is this member of where the reader stands. */
__attribute__((format(printf, 3, 4))) static wb_rc bad_member(struct reader *r, const char *name,
                                                              const char *fmt, ...)
{
    char text[200];
    va_list ap;

    (void)wbi_policy_enter(&r->at, wbi_str_z(name));
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return wbi_policy_bad(&r->at, "%s", text);
}

/* The reader stands at v. */
static wb_rc read_number(struct reader *r, const wbi_json *v, int64_t min, int64_t max,
                         int64_t *out)
{
    int64_t number;

    if (!wbi_json_i64(v, &number) || number < min || number > max)
        return wbi_policy_bad(&r->at, "must be a whole number from %lld to %lld", (long long)min,
                              (long long)max);
    *out = number;
    return WB_OK;
}

/* Member `name` of o as an integer within bounds. Absent: *out stays as it is
 * unless required. */
static wb_rc read_int(struct reader *r, const wbi_json *o, const char *name, int64_t min,
                      int64_t max, bool required, int64_t *out)
{
    const wbi_json *v = wbi_json_get(o, name);
    size_t back = wbi_policy_enter(&r->at, wbi_str_z(name));
    wb_rc rc;

    if (v == NULL && required)
        return wbi_policy_bad(&r->at, "is missing");
    if (v != NULL && (rc = read_number(r, v, min, max, out)) != WB_OK)
        return rc;
    wbi_policy_leave(&r->at, back);
    return WB_OK;
}

static wb_rc read_ms(struct reader *r, const wbi_json *o, const char *name, int64_t min_ms,
                     bool required, int64_t *out_ns)
{
    int64_t ms = -1;
    wb_rc rc = read_int(r, o, name, min_ms, LONGEST_MS, required, &ms);

    if (rc == WB_OK && ms >= 0)
        *out_ns = ms * WBI_NS_PER_MS;
    return rc;
}

static wb_rc read_i32(struct reader *r, const wbi_json *o, const char *name, int32_t min,
                      int32_t max, bool required, int32_t *out)
{
    int64_t number = *out;
    wb_rc rc = read_int(r, o, name, min, max, required, &number);

    if (rc == WB_OK)
        *out = (int32_t)number;
    return rc;
}

static wb_rc read_bool(struct reader *r, const wbi_json *o, const char *name, bool *out)
{
    const wbi_json *v = wbi_json_get(o, name);
    size_t back = wbi_policy_enter(&r->at, wbi_str_z(name));

    if (v != NULL && !wbi_json_is(v, WBI_JSON_BOOL))
        return wbi_policy_bad(&r->at, "must be true or false");
    if (v != NULL)
        *out = wbi_json_true(v);
    wbi_policy_leave(&r->at, back);
    return WB_OK;
}

static wb_rc read_rate(struct reader *r, const wbi_json *v, struct wbi_rate_limit *out,
                       bool *out_per_principal)
{
    static const char *const known[] = {"count", "periodMs", "burst", "per", NULL};
    int64_t count = 0, period_ns = 0, burst;
    const wbi_json *per = wbi_json_get(v, "per");
    wb_rc rc = wbi_policy_known(&r->at, v, known);

    if (rc == WB_OK)
        rc = read_int(r, v, "count", 1, LARGEST, true, &count);
    if (rc == WB_OK)
        rc = read_ms(r, v, "periodMs", 1, true, &period_ns);
    burst = count;
    if (rc == WB_OK)
        rc = read_int(r, v, "burst", 1, LARGEST, false, &burst);
    if (rc != WB_OK)
        return rc;
    if (per != NULL && out_per_principal != NULL && wbi_str_eqz(wbi_json_str(per), "principal"))
        *out_per_principal = true;
    else if (per != NULL && !wbi_str_eqz(wbi_json_str(per), "all"))
        return bad_member(r, "per", "must be \"all\"%s",
                          out_per_principal ? " or \"principal\"" : "");
    rc = wbi_rate_limit_make(count, period_ns, burst, out);
    if (rc != WB_OK)
        return wbi_policy_bad(&r->at, "count per periodMs is too fast, or burst too large");
    return WB_OK;
}

static wb_rc read_circuit_window(struct reader *r, const wbi_json *v,
                                 struct wbi_circuit_settings *c)
{
    if (wbi_json_get(v, "windowCalls") != NULL && wbi_json_get(v, "windowMs") != NULL)
        return wbi_policy_bad(&r->at, "takes windowMs or windowCalls, not both");
    if (wbi_json_get(v, "windowCalls") != NULL)
        return read_i32(r, v, "windowCalls", 1, WBI_LIMIT_CIRCUIT_CALLS, true, &c->window_calls);
    return read_ms(r, v, "windowMs", 10, false, &c->window_ns);
}

static wb_rc read_circuit(struct reader *r, const wbi_json *v, struct wbi_circuit_settings *c)
{
    static const char *const known[] = {"failureRate",    "slowRate",    "slowMs", "minCalls",
                                        "windowMs",       "windowCalls", "openMs", "probes",
                                        "probeTimeoutMs", NULL};
    wb_rc rc = wbi_policy_known(&r->at, v, known);

    *c = (struct wbi_circuit_settings){.set = true,
                                       .failure_percent = 50,
                                       .slow_ns = 60 * WBI_NS_PER_S,
                                       .min_calls = 10,
                                       .window_ns = 60 * WBI_NS_PER_S,
                                       .open_ns = 30 * WBI_NS_PER_S,
                                       .probes = 1,
                                       .probe_ns = 300 * WBI_NS_PER_S};
    if (rc == WB_OK)
        rc = read_i32(r, v, "failureRate", 1, 100, false, &c->failure_percent);
    if (rc == WB_OK)
        rc = read_i32(r, v, "slowRate", 1, 100, false, &c->slow_percent);
    if (rc == WB_OK)
        rc = read_ms(r, v, "slowMs", 1, false, &c->slow_ns);
    if (rc == WB_OK)
        rc = read_i32(r, v, "minCalls", 1, INT32_MAX, false, &c->min_calls);
    if (rc == WB_OK)
        rc = read_circuit_window(r, v, c);
    if (rc == WB_OK)
        rc = read_ms(r, v, "openMs", 1, false, &c->open_ns);
    if (rc == WB_OK)
        rc = read_i32(r, v, "probes", 1, WBI_LIMIT_CIRCUIT_PROBES, false, &c->probes);
    if (rc == WB_OK)
        rc = read_ms(r, v, "probeTimeoutMs", 1, false, &c->probe_ns);
    return rc;
}

static wb_rc read_concurrency(struct reader *r, const wbi_json *v, struct wbi_policy_values *out)
{
    static const char *const known[] = {"limit", "providerLimit", "queue", "queueTimeoutMs", NULL};
    wb_rc rc = wbi_policy_known(&r->at, v, known);

    if (rc == WB_OK)
        rc = read_int(r, v, "limit", 0, LARGEST, false, &out->concurrency);
    if (rc == WB_OK)
        rc = read_int(r, v, "providerLimit", 0, LARGEST, false, &out->provider_concurrency);
    if (rc == WB_OK)
        rc = read_int(r, v, "queue", 0, WBI_LIMIT_GUARD_QUEUE, false, &out->queue_max);
    if (rc == WB_OK)
        rc = read_int(r, v, "queueTimeoutMs", 0, LONGEST_MS, false, &out->queue_timeout_ms);
    return rc;
}

static wb_rc read_cost(struct reader *r, const wbi_json *cost, int64_t *out)
{
    double number = wbi_json_num(cost);

    if ((!wbi_json_is(cost, WBI_JSON_INT) && !wbi_json_is(cost, WBI_JSON_REAL)) ||
        !(number >= 0 && number <= (double)LARGEST))
        return wbi_policy_bad(&r->at, "must be a number from 0 to %lld", (long long)LARGEST);
    *out = wbi_cost_of(number);
    return WB_OK;
}

static wb_rc read_cost_limit(struct reader *r, const wbi_json *v, int64_t *out)
{
    const wbi_json *cost = wbi_json_get(v, "cost");
    size_t back = wbi_policy_enter(&r->at, WBI_LIT("cost"));
    wb_rc rc = cost != NULL ? read_cost(r, cost, out) : WB_OK;

    if (rc == WB_OK)
        wbi_policy_leave(&r->at, back);
    return rc;
}

static wb_rc read_budget(struct reader *r, const wbi_json *v, struct wbi_budget_settings *b)
{
    static const char *const known[] = {"id", "windowMs", "calls", "timeMs", "cost", NULL};
    const wbi_json *id = wbi_json_get(v, "id");
    wb_rc rc = wbi_policy_known(&r->at, v, known);

    *b = (struct wbi_budget_settings){
        .set = true, .limit = {WBI_BUDGET_UNLIMITED, WBI_BUDGET_UNLIMITED, WBI_BUDGET_UNLIMITED}};
    if (rc != WB_OK)
        return rc;
    if (id != NULL && (wbi_json_str(id).n == 0 || wbi_json_str(id).n > WBI_LIMIT_ID))
        return bad_member(r, "id", "must be a text of 1 to %u bytes", WBI_LIMIT_ID);
    if (id != NULL) {
        b->id = wbi_arena_str(r->arena, wbi_json_str(id));
        if (b->id.p == NULL)
            return wbi_fail_nomem(r->at.err);
    }
    rc = read_ms(r, v, "windowMs", 1, true, &b->window_ns);
    if (rc == WB_OK)
        rc = read_int(r, v, "calls", 0, LARGEST, false, &b->limit.calls);
    if (rc == WB_OK)
        rc = read_ms(r, v, "timeMs", 0, false, &b->limit.time_ns);
    if (rc == WB_OK)
        rc = read_cost_limit(r, v, &b->limit.cost);
    if (rc == WB_OK && wbi_json_get(v, "calls") == NULL && wbi_json_get(v, "timeMs") == NULL &&
        wbi_json_get(v, "cost") == NULL)
        return wbi_policy_bad(&r->at, "needs at least one of calls, timeMs and cost");
    return rc;
}

static wb_rc read_jitter(struct reader *r, const wbi_json *v, struct wbi_retry_settings *out)
{
    const wbi_json *jitter = wbi_json_get(v, "jitter");
    struct wbi_str name = wbi_json_str(jitter);

    if (jitter == NULL)
        return WB_OK;
    if (wbi_str_eqz(name, "full")) {
        out->jitter = WBI_JITTER_FULL;
        return WB_OK;
    }
    if (wbi_str_eqz(name, "none")) {
        out->jitter = WBI_JITTER_NONE;
        return WB_OK;
    }
    if (name.p != NULL)
        return bad_member(r, "jitter", "must be \"full\", \"none\" or a percentage 0 to 100");
    out->jitter = WBI_JITTER_SPREAD;
    return read_i32(r, v, "jitter", 0, 100, true, &out->jitter_percent);
}

static wb_rc read_retry(struct reader *r, const wbi_json *v, struct wbi_retry_settings *out)
{
    static const char *const known[] = {"maxAttempts", "baseMs",     "capMs", "multiplier",
                                        "jitter",      "maxTotalMs", "quota", NULL};
    const wbi_json *multiplier = wbi_json_get(v, "multiplier");
    wb_rc rc = wbi_policy_known(&r->at, v, known);

    *out = wbi_retry_defaults();
    out->max_attempts = 3;
    if (rc == WB_OK)
        rc = read_i32(r, v, "maxAttempts", 1, 10, false, &out->max_attempts);
    if (rc == WB_OK)
        rc = read_ms(r, v, "baseMs", 0, false, &out->base_ns);
    if (rc == WB_OK)
        rc = read_ms(r, v, "capMs", 0, false, &out->cap_ns);
    if (rc == WB_OK)
        rc = read_ms(r, v, "maxTotalMs", 0, false, &out->total_ns);
    if (rc == WB_OK)
        rc = read_int(r, v, "quota", 0, LARGEST, false, &out->quota);
    if (rc == WB_OK)
        rc = read_jitter(r, v, out);
    if (rc != WB_OK || multiplier == NULL)
        return rc;
    if (!(wbi_json_num(multiplier) >= 1 && wbi_json_num(multiplier) <= 100))
        return bad_member(r, "multiplier", "must be a number from 1 to 100");
    out->multiplier_percent = (int32_t)(wbi_json_num(multiplier) * 100 + 0.5);
    return WB_OK;
}

static wb_rc read_idempotency(struct reader *r, const wbi_json *v, struct wbi_idem_settings *out)
{
    static const char *const known[] = {"ttlMs", "inFlightMs", NULL};
    wb_rc rc = wbi_policy_known(&r->at, v, known);

    if (rc == WB_OK)
        rc = read_int(r, v, "ttlMs", 1, LONGEST_MS, false, &out->ttl_ms);
    if (rc == WB_OK)
        rc = read_int(r, v, "inFlightMs", 1, LONGEST_MS, false, &out->in_flight_ms);
    return rc;
}

static wb_rc read_cache(struct reader *r, const wbi_json *v, struct wbi_policy_values *out)
{
    static const char *const known[] = {"ttlMs", "log", NULL};
    wb_rc rc = wbi_policy_known(&r->at, v, known);

    if (rc == WB_OK)
        rc = read_ms(r, v, "ttlMs", 0, true, &out->cache_ttl_ns);
    if (rc == WB_OK)
        rc = read_bool(r, v, "log", &out->cache_log);
    return rc;
}

static wb_rc read_redact(struct reader *r, const wbi_json *v, struct wbi_policy_values *out)
{
    struct wbi_redact_rules *rules;
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_str *paths;
    wb_rc rc = wbi_policy_strings(&r->at, r->arena, v, false, &paths, &out->redact_n);

    if (rc != WB_OK)
        return rc;
    rc = wbi_redact_rules_new(paths, out->redact_n, /* by_name= */ false, &rules, &err);
    if (rc == WB_EINPUT)
        return wbi_policy_bad(&r->at, "%s", err.text);
    if (rc != WB_OK)
        return rc;
    wbi_redact_rules_free(rules);
    out->redact = paths;
    return WB_OK;
}

static wb_rc read_item(struct reader *r, enum wbi_policy_item item, const wbi_json *v,
                       struct wbi_policy_values *out)
{
    switch (item) {
    case WBI_POLICY_TIMEOUT:
        return read_number(r, v, 1, LONGEST_MS, &out->timeout_ms);
    case WBI_POLICY_RATE:
        return read_rate(r, v, &out->rate, &out->rate_per_principal);
    case WBI_POLICY_PROVIDER_RATE:
        return read_rate(r, v, &out->provider_rate, NULL);
    case WBI_POLICY_CIRCUIT:
        return read_circuit(r, v, &out->circuit);
    case WBI_POLICY_CONCURRENCY:
        return read_concurrency(r, v, out);
    case WBI_POLICY_BUDGET:
        return read_budget(r, v, &out->budget);
    case WBI_POLICY_COST:
        return read_cost(r, v, &out->cost);
    case WBI_POLICY_RETRY:
        return read_retry(r, v, &out->retry);
    case WBI_POLICY_IDEMPOTENCY:
        return read_idempotency(r, v, &out->idempotency);
    case WBI_POLICY_CACHE:
        return read_cache(r, v, out);
    case WBI_POLICY_REDACT:
        return read_redact(r, v, out);
    }
    return wbi_policy_bad(&r->at, "is not a known setting");
}

static bool item_by_name(struct wbi_str name, enum wbi_policy_item *ret)
{
    for (int i = 0; i < WBI_POLICY_ITEMS; i++) {
        if (wbi_str_eqz(name, wbi_policy_item_name((enum wbi_policy_item)i))) {
            *ret = (enum wbi_policy_item)i;
            return true;
        }
    }
    return false;
}

static wb_rc read_values(struct reader *r, const wbi_json *o, struct wbi_policy_rule *rule)
{
    wb_rc rc = WB_OK;

    if (!wbi_json_is(o, WBI_JSON_OBJ))
        return wbi_policy_bad(&r->at, "must be an object of settings, not %s",
                              wbi_json_type_name(o));
    rule->values = wbi_policy_builtin();
    WBI_JSON_EACH_MEMBER (o, key) {
        size_t back = wbi_policy_enter(&r->at, wbi_json_str(key));
        enum wbi_policy_item item;
        if (!item_by_name(wbi_json_str(key), &item))
            return wbi_policy_bad(
                &r->at, "is not a known setting; known: timeoutMs, rate, providerRate, "
                        "circuit, concurrency, budget, cost, retry, idempotency, cache, redact");
        rule->present |= 1u << item;
        if (wbi_json_is(key_val, WBI_JSON_NULL))
            rule->taken_away |= 1u << item;
        else
            rc = read_item(r, item, key_val, &rule->values);
        if (rc != WB_OK)
            return rc;
        wbi_policy_leave(&r->at, back);
    }
    return WB_OK;
}

static wb_rc add_rule(struct reader *r, const wbi_json *o, struct wbi_str pattern,
                      const struct wbi_policy_rule *like, enum policy_layer layer,
                      struct wbi_policy_rules *out)
{
    struct wbi_policy_rule *rule = wbi_arena_zalloc(r->arena, sizeof(*rule));
    wb_rc rc;

    if (rule == NULL)
        return wbi_fail_nomem(r->at.err);
    *rule = *like;
    if (pattern.p != NULL) {
        rule->pattern = wbi_policy_lower(r->arena, pattern);
        rule->glob = wbi_arena_str(r->arena, pattern);
        if (rule->pattern.p == NULL || rule->glob.p == NULL)
            return wbi_fail_nomem(r->at.err);
    }
    rc = read_values(r, o, rule);
    if (rc != WB_OK)
        return rc;
    *(out->last[layer] ? &out->last[layer]->next : &out->first[layer]) = rule;
    out->last[layer] = rule;
    return WB_OK;
}

static wb_rc read_layer(struct reader *r, const wbi_json *o, const struct wbi_policy_rule *like,
                        enum policy_layer layer, struct wbi_policy_rules *out)
{
    wb_rc rc;

    if (layer == LAYER_ENVIRONMENT)
        return add_rule(r, o, WBI_NONE, like, layer, out);
    if (!wbi_json_is(o, WBI_JSON_OBJ))
        return wbi_policy_bad(&r->at, "must be an object of globs, not %s", wbi_json_type_name(o));
    if (wbi_json_count(o) > WBI_LIMIT_POLICY_RULES)
        return wbi_policy_bad(&r->at, "has more than %u globs", WBI_LIMIT_POLICY_RULES);
    WBI_JSON_EACH_MEMBER (o, key) {
        size_t back = wbi_policy_enter(&r->at, wbi_json_str(key));
        if (wbi_json_str(key).n == 0)
            return wbi_policy_bad(&r->at, "a glob must not be empty");
        rc = add_rule(r, key_val, wbi_json_str(key), like, layer, out);
        if (rc != WB_OK)
            return rc;
        wbi_policy_leave(&r->at, back);
    }
    return WB_OK;
}

wb_rc wbi_policy_read(struct wbi_arena *arena, const wbi_json *policies, struct wbi_str file,
                      bool tighten_only, struct wbi_policy_rules *ret, struct wbi_error *err)
{
    static const char *const known[] = {"environment", "principals", "tools", NULL};
    struct reader r = {.at = {.err = err}, .arena = arena};
    struct wbi_policy_rule like = {.tighten_only = tighten_only};
    struct wbi_policy_rules rules = {0};
    wb_rc rc = wbi_policy_known(&r.at, policies, known);

    like.file = wbi_arena_str(arena, file);
    if (file.p != NULL && like.file.p == NULL)
        return wbi_fail_nomem(err);
    for (int layer = 0; rc == WB_OK && layer < LAYERS; layer++) {
        const wbi_json *o = wbi_json_get(policies, known[layer]);
        size_t back;
        if (o == NULL)
            continue;
        back = wbi_policy_enter(&r.at, wbi_str_z(known[layer]));
        rc = read_layer(&r, o, &like, (enum policy_layer)layer, &rules);
        if (rc == WB_OK)
            wbi_policy_leave(&r.at, back);
    }
    if (rc == WB_OK)
        *ret = rules;
    return rc;
}
