/* SPDX-License-Identifier: Apache-2.0
 * guard/policy.c: layers of rules and what they come to for one tool and one
 * principal. Rules live in the policy's arena and never change, but for marks of
 * what they came to; resolved pairs are kept until the next change of rules or
 * until too many are. */
#include "guard/policy_int.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "catalog/names.h"

struct resolved {
    struct wbi_str tool, principal;
    struct wbi_str model, own; /* other names of the tool */
    int64_t builtin_timeout_ms;
    struct wbi_policy_effective effective;
};

struct wbi_policy {
    struct wbi_arena *arena; /* rules */
    struct wbi_policy_rules rules;
    struct wbi_arena *resolved_arena;
    struct wbi_table resolved; /* struct resolved * */
};

const char *wbi_policy_item_name(enum wbi_policy_item item)
{
    static const char *const names[WBI_POLICY_ITEMS] = {
        "timeoutMs", "rate",  "providerRate", "circuit", "concurrency", "budget",
        "cost",      "retry", "idempotency",  "cache",   "redact"};

    return names[item];
}

struct wbi_policy_values wbi_policy_builtin(void)
{
    return (struct wbi_policy_values){
        .timeout_ms = WBI_NO_LIMIT_MS,
        .concurrency = WBI_SLOTS_UNLIMITED,
        .provider_concurrency = WBI_SLOTS_UNLIMITED,
        .queue_max = 64,
        .queue_timeout_ms = WBI_NO_LIMIT_MS,
        .idempotency = {WBI_IDEM_TTL_MS, WBI_IDEM_IN_FLIGHT_MS},
    };
}

wb_rc wbi_policy_new(struct wbi_policy **ret)
{
    struct wbi_policy *p = wbi_zalloc(sizeof(*p));
    wb_rc rc;

    if (p == NULL)
        return WB_ENOMEM;
    rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &p->arena);
    if (rc == WB_OK)
        rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &p->resolved_arena);
    if (rc != WB_OK) {
        wbi_policy_free(p);
        return rc;
    }
    wbi_table_init(&p->resolved, sizeof(struct resolved *));
    *ret = p;
    return WB_OK;
}

void wbi_policy_free(struct wbi_policy *p)
{
    if (p == NULL)
        return;
    wbi_table_fini(&p->resolved);
    wbi_arena_free(p->arena);
    wbi_arena_free(p->resolved_arena);
    wbi_free(p);
}

static void forget_resolved(struct wbi_policy *p)
{
    wbi_table_fini(&p->resolved);
    wbi_arena_reset(p->resolved_arena);
}

wb_rc wbi_policy_add(struct wbi_policy *p, const wbi_json *policies, struct wbi_str file,
                     enum wbi_policy_trust trust, struct wbi_error *err)
{
    struct wbi_policy_rules more;
    wb_rc rc;

    if (policies == NULL)
        return WB_OK;
    rc = wbi_policy_read(p->arena, policies, file, trust == WBI_POLICY_TIGHTEN_ONLY, &more, err);
    if (rc != WB_OK)
        return rc;
    for (int layer = 0; layer < LAYERS; layer++) {
        if (more.first[layer] == NULL)
            continue;
        *(p->rules.last[layer] ? &p->rules.last[layer]->next : &p->rules.first[layer]) =
            more.first[layer];
        p->rules.last[layer] = more.last[layer];
    }
    forget_resolved(p);
    return WB_OK;
}

wb_rc wbi_policy_check(const wbi_json *policies, struct wbi_error *err)
{
    struct wbi_policy_rules rules;
    struct wbi_arena *arena;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_policy_read(arena, policies, WBI_NONE, false, &rules, err);
    wbi_arena_free(arena);
    return rc;
}

/* ---- one item of one rule onto what holds so far ---- */

static void copy_item(struct wbi_policy_values *to, const struct wbi_policy_values *from,
                      enum wbi_policy_item item)
{
    switch (item) {
    case WBI_POLICY_TIMEOUT:
        to->timeout_ms = from->timeout_ms;
        break;
    case WBI_POLICY_RATE:
        to->rate = from->rate;
        to->rate_per_principal = from->rate_per_principal;
        break;
    case WBI_POLICY_PROVIDER_RATE:
        to->provider_rate = from->provider_rate;
        break;
    case WBI_POLICY_CIRCUIT:
        to->circuit = from->circuit;
        break;
    case WBI_POLICY_CONCURRENCY:
        to->concurrency = from->concurrency;
        to->provider_concurrency = from->provider_concurrency;
        to->queue_max = from->queue_max;
        to->queue_timeout_ms = from->queue_timeout_ms;
        break;
    case WBI_POLICY_BUDGET:
        to->budget = from->budget;
        break;
    case WBI_POLICY_COST:
        to->cost = from->cost;
        break;
    case WBI_POLICY_RETRY:
        to->retry = from->retry;
        break;
    case WBI_POLICY_IDEMPOTENCY:
        to->idempotency = from->idempotency;
        break;
    case WBI_POLICY_CACHE:
        to->cache_ttl_ns = from->cache_ttl_ns;
        to->cache_log = from->cache_log;
        break;
    case WBI_POLICY_REDACT:
        break; /* adds up; see merge_redact */
    }
}

/* No limit (-1) counts as the largest. */
static bool no_looser(int64_t fresh, int64_t old)
{
    return old < 0 || (fresh >= 0 && fresh <= old);
}

static bool rate_no_looser(const struct wbi_rate_limit *fresh, const struct wbi_rate_limit *old)
{
    return old->capacity == 0 || (fresh->capacity > 0 && fresh->capacity <= old->capacity &&
                                  fresh->interval_ns >= old->interval_ns);
}

/* One of another name or window is another budget, of which nothing is spent. */
static bool budget_no_looser(const struct wbi_budget_settings *fresh,
                             const struct wbi_budget_settings *old)
{
    if (!old->set)
        return true;
    return fresh->set && fresh->window_ns == old->window_ns && wbi_str_eq(fresh->id, old->id) &&
           no_looser(fresh->limit.calls, old->limit.calls) &&
           no_looser(fresh->limit.time_ns, old->limit.time_ns) &&
           no_looser(fresh->limit.cost, old->limit.cost);
}

/* May a file that may only tighten replace this item? Where tighter has no
 * meaning (keys, circuit thresholds), only an item that was not set. */
static bool is_tighter(const struct wbi_policy_values *fresh, const struct wbi_policy_values *old,
                       enum wbi_policy_item item)
{
    switch (item) {
    case WBI_POLICY_TIMEOUT:
        return no_looser(fresh->timeout_ms, old->timeout_ms);
    case WBI_POLICY_RATE:
        return rate_no_looser(&fresh->rate, &old->rate) &&
               (!fresh->rate_per_principal || old->rate_per_principal || old->rate.capacity == 0);
    case WBI_POLICY_PROVIDER_RATE:
        return rate_no_looser(&fresh->provider_rate, &old->provider_rate);
    case WBI_POLICY_CIRCUIT:
        return !old->circuit.set;
    case WBI_POLICY_CONCURRENCY:
        return no_looser(fresh->concurrency, old->concurrency) &&
               no_looser(fresh->provider_concurrency, old->provider_concurrency);
    case WBI_POLICY_BUDGET:
        return budget_no_looser(&fresh->budget, &old->budget);
    case WBI_POLICY_COST:
        return fresh->cost >= old->cost;
    case WBI_POLICY_RETRY:
        return old->retry.set && fresh->retry.max_attempts <= old->retry.max_attempts;
    case WBI_POLICY_IDEMPOTENCY:
        return false;
    case WBI_POLICY_CACHE:
        return fresh->cache_ttl_ns <= old->cache_ttl_ns && (!fresh->cache_log || old->cache_log);
    case WBI_POLICY_REDACT:
        return true;
    }
    return false;
}

/* A file that may only tighten and does so with its limits may leave the rest of the unit as it
 * is, or say something looser: the shorter queue holds, and retries wait as they did. */
static void keep_rest(struct wbi_policy_values *now, const struct wbi_policy_values *old)
{
    int32_t attempts = now->retry.max_attempts;

    if (!no_looser(now->queue_max, old->queue_max))
        now->queue_max = old->queue_max;
    if (!no_looser(now->queue_timeout_ms, old->queue_timeout_ms))
        now->queue_timeout_ms = old->queue_timeout_ms;
    now->retry = old->retry;
    now->retry.max_attempts = attempts;
}

/* The paths of a further rule, each with where it came from. */
static wb_rc merge_redact(struct wbi_arena *arena, struct wbi_policy_effective *e,
                          const struct wbi_policy_values *from,
                          const struct wbi_policy_source *source)
{
    size_t had = e->values.redact_n, n = had + from->redact_n;
    struct wbi_str *all = wbi_arena_array(arena, n + 1, sizeof(*all));
    struct wbi_policy_source *sources = wbi_arena_array(arena, n + 1, sizeof(*sources));

    if (all == NULL || sources == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        all[i] = i < had ? e->values.redact[i] : from->redact[i - had];
        sources[i] = i < had ? e->redact_source[i] : *source;
    }
    e->values.redact = all;
    e->values.redact_n = n;
    e->redact_source = sources;
    return WB_OK;
}

/* Budgets without an id of their own are named after where they come from. */
static wb_rc name_budget(struct wbi_policy *p, const struct resolved *who,
                         const struct wbi_policy_source *from, struct wbi_budget_settings *budget)
{
    if (!budget->set || budget->id.p != NULL)
        return WB_OK;
    if (from->pattern.p == NULL)
        budget->id = WBI_LIT("environment");
    else
        budget->id =
            wbi_arena_fmt(p->resolved_arena, "%s:%.*s", from->layer,
                          WBI_FMT(strcmp(from->layer, "tool") == 0 ? who->tool : who->principal));
    return budget->id.p != NULL ? WB_OK : WB_ENOMEM;
}

static wb_rc apply_item(struct wbi_policy *p, struct resolved *who, struct wbi_policy_rule *rule,
                        const char *layer, enum wbi_policy_item item)
{
    struct wbi_policy_effective *e = &who->effective;
    bool away = (rule->taken_away & 1u << item) != 0;
    struct wbi_policy_values old = e->values, fresh = away ? wbi_policy_builtin() : rule->values;
    struct wbi_policy_source source = {layer, rule->file, rule->glob};
    wb_rc rc = WB_OK;

    if (item == WBI_POLICY_BUDGET)
        rc = name_budget(p, who, &source, &fresh.budget);
    if (rc != WB_OK)
        return rc;
    if (rule->tighten_only && (away || !is_tighter(&fresh, &old, item)))
        return WB_OK;
    if (item == WBI_POLICY_REDACT && !away)
        rc = merge_redact(p->resolved_arena, e, &fresh, &source);
    else if (item == WBI_POLICY_REDACT)
        e->values.redact_n = 0;
    if (rc != WB_OK)
        return rc;
    copy_item(&e->values, &fresh, item);
    rule->held |= 1u << item;
    if (rule->tighten_only)
        keep_rest(&e->values, &old);
    e->source[item] = source;
    return WB_OK;
}

/* What models see of a tool unless a prefix or another's name is in the way: server__tool, other
 * characters replaced. */
static wb_rc name_model(struct wbi_policy *p, struct resolved *who)
{
    struct wbi_name_parts parts = wbi_name_parts(wbi_str_head(who->tool, WBI_LIMIT_TOOL_NAME));
    struct wbi_buf out;

    wbi_buf_init_arena(&out, p->resolved_arena, 2 * WBI_LIMIT_TOOL_NAME);
    if (parts.origin == WBI_NAME_MCP) {
        (void)wbi_name_put_clean(parts.server, &out);
        wbi_buf_addz(&out, "__");
    }
    (void)wbi_name_put_clean(parts.tool, &out);
    who->model = wbi_buf_str(&out);
    who->own = parts.origin == WBI_NAME_LOCAL ? parts.tool : who->tool;
    return wbi_buf_rc(&out);
}

/* A tool goes by its qualified name, by its model name as in bindings, and a local one by its
 * own. */
static bool applies(const struct wbi_policy_rule *rule, int layer, const struct resolved *who)
{
    if (rule->pattern.p == NULL)
        return true;
    if (layer != LAYER_TOOL)
        return wbi_policy_matches(rule->pattern, who->principal);
    return wbi_policy_matches(rule->pattern, who->tool) ||
           wbi_policy_matches(rule->pattern, who->model) ||
           wbi_policy_matches(rule->pattern, who->own);
}

static const char *const layers[LAYERS] = {"environment", "principal", "tool"};

static wb_rc resolve(struct wbi_policy *p, struct resolved *who)
{
    struct wbi_policy_effective *e = &who->effective;
    wb_rc rc = name_model(p, who);

    if (rc != WB_OK)
        return rc;
    e->values = wbi_policy_builtin();
    e->values.timeout_ms = who->builtin_timeout_ms;
    for (int i = 0; i < WBI_POLICY_ITEMS; i++)
        e->source[i].layer = "built-in";
    for (int layer = 0; layer < LAYERS; layer++) {
        for (struct wbi_policy_rule *rule = p->rules.first[layer]; rule; rule = rule->next) {
            if (!applies(rule, layer, who))
                continue;
            rule->met = true;
            for (int i = 0; i < WBI_POLICY_ITEMS; i++) {
                if ((rule->present & 1u << i) == 0)
                    continue;
                rc = apply_item(p, who, rule, layers[layer], (enum wbi_policy_item)i);
                if (rc != WB_OK)
                    return rc;
            }
        }
    }
    return WB_OK;
}

static bool is_pair(const struct resolved *r, struct wbi_str tool, struct wbi_str principal,
                    int64_t builtin_timeout_ms)
{
    return wbi_str_eq(r->tool, tool) && wbi_str_eq(r->principal, principal) &&
           r->builtin_timeout_ms == builtin_timeout_ms;
}

wb_rc wbi_policy_effective(struct wbi_policy *p, struct wbi_str tool, struct wbi_str principal,
                           int64_t builtin_timeout_ms, const struct wbi_policy_effective **ret)
{
    struct wbi_key key = wbi_key_of((uint64_t)builtin_timeout_ms, 'E', tool, principal, WBI_NONE);
    struct resolved **kept = wbi_table_find(&p->resolved, key);
    struct resolved *fresh;
    void *slot;
    wb_rc rc;

    if (kept != NULL && is_pair(*kept, tool, principal, builtin_timeout_ms)) {
        *ret = &(*kept)->effective;
        return WB_OK;
    }
    if (p->resolved.used >= WBI_LIMIT_POLICY_CACHE || kept != NULL)
        forget_resolved(p);
    fresh = wbi_arena_zalloc(p->resolved_arena, sizeof(*fresh));
    if (fresh == NULL)
        return WB_ENOMEM;
    fresh->tool = wbi_arena_str(p->resolved_arena, tool);
    fresh->principal = wbi_arena_str(p->resolved_arena, principal);
    fresh->builtin_timeout_ms = builtin_timeout_ms;
    if ((tool.p && !fresh->tool.p) || (principal.p && !fresh->principal.p))
        return WB_ENOMEM;
    rc = resolve(p, fresh);
    if (rc == WB_OK)
        rc = wbi_table_add(&p->resolved, key, &slot);
    if (rc != WB_OK)
        return rc;
    *(struct resolved **)slot = fresh;
    *ret = &fresh->effective;
    return WB_OK;
}

/* ---- what of a file that may only tighten holds ---- */

static void tell_tight(const struct wbi_policy_rule *rule, int layer,
                       void (*each)(void *, const struct wbi_policy_tight *), void *arg)
{
    struct wbi_policy_tight t = {.layer = layers[layer], .glob = rule->glob, .file = rule->file};

    for (int i = 0; i < WBI_POLICY_ITEMS; i++) {
        if ((rule->present & 1u << i) == 0)
            continue;
        t.item = wbi_policy_item_name((enum wbi_policy_item)i);
        t.holds = (rule->held & 1u << i) != 0;
        each(arg, &t);
    }
}

wb_rc wbi_policy_each_tight(struct wbi_policy *p,
                            void (*each)(void *arg, const struct wbi_policy_tight *t), void *arg)
{
    const struct wbi_policy_effective *unused;
    wb_rc rc;

    for (int layer = 0; layer < LAYERS; layer++)
        for (const struct wbi_policy_rule *rule = p->rules.first[layer]; rule; rule = rule->next) {
            bool tool = layer == LAYER_TOOL;

            if (!rule->tighten_only)
                continue;
            rc = rule->met ? WB_OK
                           : wbi_policy_effective(p, tool ? rule->pattern : WBI_LIT("*"),
                                                  tool ? WBI_LIT("*") : rule->pattern,
                                                  WBI_NO_LIMIT_MS, &unused);
            if (rc != WB_OK)
                return rc;
            tell_tight(rule, layer, each, arg);
        }
    return WB_OK;
}

/* ---- wishes of an invocation ---- */

static void note_clamp(struct wbi_policy_clamps *c, const char *what, int64_t asked, int64_t given)
{
    if (c->n < WBI_COUNT(c->row))
        c->row[c->n++] = (struct wbi_policy_clamp){what, asked, given};
}

void wbi_policy_tighten(struct wbi_policy_values *v, const struct wbi_policy_wishes *wishes,
                        int64_t now_ns, struct wbi_policy_clamps *ret)
{
    *ret = (struct wbi_policy_clamps){0};
    if (wishes->timeout_ms != WBI_NO_LIMIT_MS) {
        if (no_looser(wishes->timeout_ms, v->timeout_ms))
            v->timeout_ms = wishes->timeout_ms;
        else
            note_clamp(ret, "timeoutMs", wishes->timeout_ms, v->timeout_ms);
    }
    if (wishes->max_attempts > 0) {
        int32_t most = v->retry.set ? v->retry.max_attempts : 1;
        if (wishes->max_attempts > most)
            note_clamp(ret, "retry.maxAttempts", wishes->max_attempts, most);
        else if (v->retry.set)
            v->retry.max_attempts = wishes->max_attempts;
    }
    if (wishes->deadline_ns != WBI_NO_DEADLINE && v->timeout_ms != WBI_NO_LIMIT_MS) {
        int64_t left_ms = wbi_ms_up(wishes->deadline_ns - now_ns);
        if (left_ms > v->timeout_ms)
            note_clamp(ret, "deadline", left_ms, v->timeout_ms);
    }
    if (wishes->max_tokens > wishes->budget_tokens)
        note_clamp(ret, "maxTokens", wishes->max_tokens, wishes->budget_tokens);
    if (wishes->no_cache)
        v->cache_ttl_ns = 0;
}
