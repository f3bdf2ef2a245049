/* SPDX-License-Identifier: Apache-2.0
 * guard/policy_write.c: policies for the eyes of callers: policySnapshot (C4.2)
 * and `waybill policy explain`. */
#include "base/checked.h"
#include "base/clock.h"
#include "guard/policy.h"

static void write_ms(struct wbi_jw *w, const char *name, int64_t ns)
{
    wbi_jw_kint(w, name, ns / WBI_NS_PER_MS);
}

static void write_retry(struct wbi_jw *w, const struct wbi_retry_settings *r)
{
    wbi_jw_obj(w);
    wbi_jw_kint(w, "maxAttempts", r->max_attempts);
    write_ms(w, "baseMs", r->base_ns);
    write_ms(w, "capMs", r->cap_ns);
    wbi_jw_key(w, "multiplier");
    wbi_jw_real(w, r->multiplier_percent / 100.0);
    if (r->jitter == WBI_JITTER_SPREAD)
        wbi_jw_kint(w, "jitter", r->jitter_percent);
    else
        wbi_jw_kstrz(w, "jitter", r->jitter == WBI_JITTER_FULL ? "full" : "none");
    if (r->total_ns > 0)
        write_ms(w, "maxTotalMs", r->total_ns);
    wbi_jw_kint(w, "quota", r->quota);
    wbi_jw_obj_end(w);
}

static void write_rate(struct wbi_jw *w, const struct wbi_rate_limit *r, bool per_principal)
{
    if (r->capacity == 0) {
        wbi_jw_null(w);
        return;
    }
    wbi_jw_obj(w);
    wbi_jw_key(w, "intervalMs");
    wbi_jw_real(w, (double)r->interval_ns / 1e6);
    wbi_jw_kint(w, "burst", r->capacity);
    wbi_jw_kstrz(w, "per", per_principal ? "principal" : "all");
    wbi_jw_obj_end(w);
}

static void write_circuit(struct wbi_jw *w, const struct wbi_circuit_settings *c)
{
    if (!c->set) {
        wbi_jw_null(w);
        return;
    }
    wbi_jw_obj(w);
    wbi_jw_kint(w, "failureRate", c->failure_percent);
    if (c->slow_percent > 0) {
        wbi_jw_kint(w, "slowRate", c->slow_percent);
        write_ms(w, "slowMs", c->slow_ns);
    }
    wbi_jw_kint(w, "minCalls", c->min_calls);
    if (c->window_calls > 0)
        wbi_jw_kint(w, "windowCalls", c->window_calls);
    else
        write_ms(w, "windowMs", c->window_ns);
    write_ms(w, "openMs", c->open_ns);
    wbi_jw_kint(w, "probes", c->probes);
    write_ms(w, "probeTimeoutMs", c->probe_ns);
    wbi_jw_obj_end(w);
}

static void write_limit(struct wbi_jw *w, const char *name, int64_t limit)
{
    if (limit >= 0)
        wbi_jw_kint(w, name, limit);
}

static void write_concurrency(struct wbi_jw *w, const struct wbi_policy_values *v)
{
    wbi_jw_obj(w);
    write_limit(w, "limit", v->concurrency);
    write_limit(w, "providerLimit", v->provider_concurrency);
    wbi_jw_kint(w, "queue", v->queue_max);
    write_limit(w, "queueTimeoutMs", v->queue_timeout_ms);
    wbi_jw_obj_end(w);
}

static void write_budget(struct wbi_jw *w, const struct wbi_budget_settings *b)
{
    if (!b->set) {
        wbi_jw_null(w);
        return;
    }
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "id", b->id);
    write_ms(w, "windowMs", b->window_ns);
    write_limit(w, "calls", b->limit.calls);
    if (b->limit.time_ns >= 0)
        write_ms(w, "timeMs", b->limit.time_ns);
    if (b->limit.cost >= 0) {
        wbi_jw_key(w, "cost");
        wbi_jw_real(w, (double)b->limit.cost / WBI_COST_SCALE);
    }
    wbi_jw_obj_end(w);
}

static void write_strings(struct wbi_jw *w, const struct wbi_str *list, size_t n)
{
    wbi_jw_arr(w);
    for (size_t i = 0; i < n; i++)
        wbi_jw_str(w, list[i]);
    wbi_jw_arr_end(w);
}

static void write_item(struct wbi_jw *w, const struct wbi_policy_values *v,
                       enum wbi_policy_item item)
{
    switch (item) {
    case WBI_POLICY_TIMEOUT:
        if (v->timeout_ms == WBI_NO_LIMIT_MS)
            wbi_jw_null(w);
        else
            wbi_jw_int(w, v->timeout_ms);
        break;
    case WBI_POLICY_RATE:
        write_rate(w, &v->rate, v->rate_per_principal);
        break;
    case WBI_POLICY_PROVIDER_RATE:
        write_rate(w, &v->provider_rate, false);
        break;
    case WBI_POLICY_CIRCUIT:
        write_circuit(w, &v->circuit);
        break;
    case WBI_POLICY_CONCURRENCY:
        write_concurrency(w, v);
        break;
    case WBI_POLICY_BUDGET:
        write_budget(w, &v->budget);
        break;
    case WBI_POLICY_COST:
        wbi_jw_real(w, (double)v->cost / WBI_COST_SCALE);
        break;
    case WBI_POLICY_RETRY:
        if (v->retry.set)
            write_retry(w, &v->retry);
        else
            wbi_jw_null(w);
        break;
    case WBI_POLICY_IDEMPOTENCY:
        wbi_jw_obj(w);
        wbi_jw_kint(w, "ttlMs", v->idempotency.ttl_ms);
        wbi_jw_kint(w, "inFlightMs", v->idempotency.in_flight_ms);
        wbi_jw_obj_end(w);
        break;
    case WBI_POLICY_CACHE:
        wbi_jw_obj(w);
        write_ms(w, "ttlMs", v->cache_ttl_ns);
        wbi_jw_kbool(w, "log", v->cache_log);
        wbi_jw_obj_end(w);
        break;
    case WBI_POLICY_REDACT:
        write_strings(w, v->redact, v->redact_n);
        break;
    }
}

static void write_source(struct wbi_jw *w, const struct wbi_policy_source *from)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "layer", from->layer);
    if (from->file.p != NULL)
        wbi_jw_kstr(w, "file", from->file);
    if (from->pattern.p != NULL)
        wbi_jw_kstr(w, "pattern", from->pattern);
    wbi_jw_obj_end(w);
}

/* Where an item came from; what adds up has a source for each of its parts. */
static void write_sources(struct wbi_jw *w, const struct wbi_policy_effective *e, int item)
{
    if (item != WBI_POLICY_REDACT || e->values.redact_n == 0) {
        write_source(w, &e->source[item]);
        return;
    }
    wbi_jw_arr(w);
    for (size_t i = 0; i < e->values.redact_n; i++)
        write_source(w, &e->redact_source[i]);
    wbi_jw_arr_end(w);
}

void wbi_policy_write_explain(struct wbi_jw *w, const struct wbi_policy_effective *e)
{
    wbi_jw_obj(w);
    for (int i = 0; i < WBI_POLICY_ITEMS; i++) {
        wbi_jw_key(w, wbi_policy_item_name((enum wbi_policy_item)i));
        wbi_jw_obj(w);
        wbi_jw_key(w, "value");
        write_item(w, &e->values, (enum wbi_policy_item)i);
        wbi_jw_key(w, "from");
        write_sources(w, e, i);
        wbi_jw_obj_end(w);
    }
    wbi_jw_obj_end(w);
}

static void write_clamps(struct wbi_jw *w, const struct wbi_policy_clamps *clamps)
{
    wbi_jw_arr(w);
    for (size_t i = 0; clamps != NULL && i < clamps->n; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "setting", clamps->row[i].what);
        wbi_jw_kint(w, "asked", clamps->row[i].asked);
        wbi_jw_kint(w, "given", clamps->row[i].given);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

/* How many calls of the tool may run, whichever limit says so. */
static int64_t calls_at_once(const struct wbi_policy_values *v)
{
    if (v->concurrency < 0 || v->provider_concurrency < 0)
        return WBI_MAX(v->concurrency, v->provider_concurrency);
    return WBI_MIN(v->concurrency, v->provider_concurrency);
}

void wbi_policy_write_snapshot(struct wbi_jw *w, const struct wbi_policy_snapshot *s)
{
    const struct wbi_policy_values *v = s->values;

    wbi_jw_obj(w);
    if (s->limit_ms != WBI_NO_LIMIT_MS)
        wbi_jw_kint(w, "timeoutMs", s->limit_ms);
    if (v->retry.set) {
        wbi_jw_key(w, "retry");
        write_retry(w, &v->retry);
    }
    wbi_jw_key(w, "rateLimitIds");
    wbi_jw_arr(w);
    if (v->rate.capacity > 0)
        wbi_jw_str(w, s->tool);
    if (v->provider_rate.capacity > 0)
        wbi_jw_str(w, s->origin);
    wbi_jw_arr_end(w);
    if (s->circuit_state != NULL)
        wbi_jw_kstrz(w, "circuitState", s->circuit_state);
    write_limit(w, "concurrency", calls_at_once(v));
    if (v->budget.set)
        wbi_jw_kstr(w, "budgetId", v->budget.id);
    wbi_jw_key(w, "clamped");
    write_clamps(w, s->clamps);
    wbi_jw_key(w, "redactions");
    write_strings(w, s->redactions, s->redactions_n);
    wbi_jw_obj_end(w);
}
