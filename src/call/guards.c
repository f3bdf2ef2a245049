/* SPDX-License-Identifier: Apache-2.0
 * call/guards.c: guards made of the configuration. */
#include "call/guards.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "call/budgets.h"
#include "call/keys.h"
#include "call/known.h"
#include "call/local_tool.h"
#include "config/config.h"
#include "json/pointer.h"
#include "text/redact.h"

/* Where exactly in its file; a member that is missing is placed at its parent. */
static void locate(const struct wbi_config *config, const struct wbi_config_part *part,
                   struct wbi_str at, struct wbi_error *err)
{
    const wbi_json *v = NULL;

    while (at.n > 0 && wbi_json_pointer(part->value, at, &v, NULL) != WB_OK) {
        do
            at.n--;
        while (at.n > 0 && at.p[at.n] != '/');
    }
    wbi_config_locate(config, part, at.n > 0 ? v : NULL, err);
}

static wb_rc add_policies(struct wbi_policy *policy, const struct wbi_config *config,
                          struct wbi_error *err)
{
    const struct wbi_config_part *parts;
    size_t n = wbi_config_policies(config, &parts);

    for (size_t i = 0; i < n; i++) {
        struct wbi_error inner = WBI_ERROR_INIT;
        wb_rc rc = wbi_policy_add(
            policy, parts[i].value, parts[i].file,
            parts[i].tighten_only ? WBI_POLICY_TIGHTEN_ONLY : WBI_POLICY_TRUSTED, &inner);
        if (rc != WB_OK) {
            (void)wbi_fail(err, rc, "policies%s: %s", inner.at, inner.text);
            locate(config, &parts[i], wbi_str_z(inner.at), err);
            return rc;
        }
    }
    return WB_OK;
}

/* What descriptors declare comes first: the files' own policies win. */
static wb_rc add_declared(struct wbi_policy *policy, const struct wbi_config *config,
                          struct wbi_error *err)
{
    const struct wbi_config_tool *tools;
    size_t n = wbi_config_tools(config, &tools);

    for (size_t i = 0; i < n; i++) {
        struct wbi_error inner = WBI_ERROR_INIT;
        wb_rc rc = wbi_tool_policies_add(policy, tools[i].descriptor, tools[i].file, &inner);
        if (rc != WB_OK) {
            (void)wbi_fail(err, rc, "tool %.*s: %s", WBI_FMT(tools[i].name), inner.text);
            wbi_error_at(err, tools[i].file);
            if (err != NULL)
                err->line = tools[i].line, err->column = 1;
            return rc;
        }
    }
    return WB_OK;
}

/* Parts are single bindings; the room below reads a list of them. */
static wb_rc add_binding(struct wbi_auth *auth, struct wbi_arena *arena,
                         const struct wbi_config_part *part, struct wbi_error *err)
{
    struct wbi_buf text;
    const wbi_json *list;
    wb_rc rc;

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addc(&text, '[');
    wbi_json_write(&text, part->value);
    wbi_buf_addc(&text, ']');
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &list, err);
    if (rc == WB_OK)
        rc = wbi_auth_add(auth, list,
                          part->tighten_only ? WBI_POLICY_TIGHTEN_ONLY : WBI_POLICY_TRUSTED, err);
    return rc;
}

static wb_rc add_bindings(struct wbi_auth *auth, struct wbi_arena *arena,
                          const struct wbi_config *config, struct wbi_error *err)
{
    const struct wbi_config_part *parts;
    size_t n = wbi_config_bindings(config, &parts);

    for (size_t i = 0; i < n; i++) {
        struct wbi_error inner = WBI_ERROR_INIT;
        wb_rc rc = add_binding(auth, arena, &parts[i], &inner);
        if (rc != WB_OK) {
            struct wbi_str at = wbi_str_z(inner.at); /* "/0/…": a list of one */
            at = wbi_str_from(at, WBI_MIN((size_t)2, at.n));
            (void)wbi_fail(err, rc, "bindings%.*s: %s", WBI_FMT(at), inner.text);
            locate(config, &parts[i], at, err);
            return rc;
        }
    }
    return WB_OK;
}

/* Both or neither; config may be NULL. */
static wb_rc read_rules(const struct wbi_config *config, struct wbi_policy **ret_policy,
                        struct wbi_auth **ret_auth, struct wbi_error *err)
{
    struct wbi_policy *policy = NULL;
    struct wbi_auth *auth = NULL;
    struct wbi_arena *scratch = NULL;
    wb_rc rc = wbi_policy_new(&policy);

    if (rc == WB_OK)
        rc = wbi_auth_new(&auth);
    if (rc == WB_OK)
        rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &scratch);
    if (rc != WB_OK)
        (void)wbi_fail_nomem(err);
    if (rc == WB_OK && config != NULL)
        rc = add_declared(policy, config, err);
    if (rc == WB_OK && config != NULL)
        rc = add_policies(policy, config, err);
    if (rc == WB_OK && config != NULL)
        rc = add_bindings(auth, scratch, config, err);
    wbi_arena_free(scratch);
    if (rc != WB_OK) {
        wbi_policy_free(policy);
        wbi_auth_free(auth);
        return rc;
    }
    *ret_policy = policy;
    *ret_auth = auth;
    return WB_OK;
}

wb_rc wbi_guards_reload(struct wbi_runtime *rt, struct wbi_error *err)
{
    struct wbi_config *config = NULL;
    struct wbi_policy *policy;
    struct wbi_auth *auth;
    wb_rc rc;

    if (rt->config == NULL)
        return wbi_fail(err, WB_EUNSUPPORTED, "this runtime has no configuration files");
    rc = wbi_config_load(&rt->places, &config, err);
    if (rc == WB_OK)
        rc = wbi_config_validate(config, err);
    if (rc == WB_OK)
        rc = read_rules(config, &policy, &auth, err);
    if (rc != WB_OK) {
        wbi_config_unref(config);
        return rc;
    }
    wbi_config_unref(rt->config);
    rt->config = config;
    wbi_policy_free(rt->guards->policy);
    wbi_auth_free(rt->guards->auth);
    rt->guards->policy = policy;
    rt->guards->auth = auth;
    if (rt->guards->on_reload != NULL)
        rt->guards->on_reload(rt->guards->on_reload_arg);
    return WB_OK;
}

/* ---- expiry ---- */

static void on_timer(void *arg)
{
    struct wbi_runtime *rt = arg;
    int64_t now = wbi_now_ns(&rt->clock);

    wbi_guard_tick(rt->guards->chain, now);
    wbi_approvals_tick(rt->guards->approvals, now);
    wbi_guards_arm(rt);
}

void wbi_guards_arm(struct wbi_runtime *rt)
{
    int64_t next = wbi_guard_next_wake(rt->guards->chain);
    int64_t other = wbi_approvals_next_wake(rt->guards->approvals);

    if (other < next)
        next = other;
    if (next == WBI_NO_DEADLINE)
        wbi_timer_stop(rt->guards->timer);
    else
        wbi_timer_start(rt->guards->timer, wbi_ms_up(next - wbi_now_ns(&rt->clock)));
}

wb_rc wbi_guards_new(struct wbi_runtime *rt, struct wbi_str events, struct wbi_guards **ret,
                     struct wbi_error *err)
{
    struct wbi_guards *g = wbi_zalloc(sizeof(*g));
    struct wbi_guard_parts parts = {
        .clock = rt->clock, .random = rt->ids, .on_event = wbi_say_guard_event, .arg = g};
    wb_rc rc;

    if (g == NULL)
        return wbi_fail_nomem(err);
    if (!rt->no_ledger) {
        parts.keys = wbi_keys_store(rt);
        parts.budgets = wbi_budgets_store(rt);
    }
    rc = wbi_guard_chain_new(&parts, &g->chain);
    if (rc == WB_OK)
        rc = wbi_approvals_new(&rt->ids, &g->approvals);
    if (rc == WB_OK)
        rc = wbi_timer_new(rt->loop, on_timer, rt, &g->timer);
    if (rc != WB_OK)
        (void)wbi_fail_nomem(err);
    if (rc == WB_OK)
        rc = read_rules(rt->config, &g->policy, &g->auth, err);
    if (rc == WB_OK)
        rc = wbi_events_open(rt, g, events, err);
    if (rc != WB_OK) {
        wbi_guards_free(g);
        return rc;
    }
    *ret = g;
    return WB_OK;
}

void wbi_guards_free(struct wbi_guards *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; i < g->rules_n; i++)
        wbi_redact_rules_free(g->rules[i].rules);
    wbi_timer_free(g->timer);
    wbi_events_free(g->events);
    wbi_event_out_free(g->events_out);
    wbi_approvals_free(g->approvals);
    wbi_guard_chain_free(g->chain);
    wbi_policy_free(g->policy);
    wbi_auth_free(g->auth);
    wbi_free(g);
}

static enum wbi_guard_effect effect_of(enum wbi_effect effect)
{
    switch (effect) {
    case WBI_EFFECT_PURE:
        return WBI_GUARD_PURE;
    case WBI_EFFECT_IDEMPOTENT_WRITE:
        return WBI_GUARD_IDEMPOTENT_WRITE;
    case WBI_EFFECT_NON_IDEMPOTENT_WRITE:
        return WBI_GUARD_NON_IDEMPOTENT_WRITE;
    case WBI_EFFECT_EXTERNAL:
        break;
    }
    return WBI_GUARD_EXTERNAL_SIDE_EFFECTS;
}

/* Looked up anew each time: credentials come and go while a process runs. */
static struct wbi_str missing_credential(const struct wbi_tool *tool)
{
    WBI_JSON_EACH (tool->credentials, name) {
        if (wbi_credential(wbi_json_str(name)) == NULL)
            return wbi_json_str(name);
    }
    return WBI_NONE;
}

struct wbi_auth_tool wbi_guards_tool(const struct wbi_tool *tool)
{
    return (struct wbi_auth_tool){.qualified = tool->qualified,
                                  .model_name = tool->model_name,
                                  .effect = effect_of(tool->effect),
                                  .network = tool->effect == WBI_EFFECT_EXTERNAL,
                                  .scopes = tool->scopes,
                                  .missing_credential = missing_credential(tool)};
}

bool wbi_guards_lists(const struct wbi_runtime *rt, struct wbi_str principal,
                      const struct wbi_tool *tool)
{
    struct wbi_auth_tool t = wbi_guards_tool(tool);

    return wbi_auth_lists(rt->guards->auth, principal.p ? principal : rt->principal, &t);
}

static enum wbi_sight sees(const struct wbi_viewer *viewer, const struct wbi_tool *tool)
{
    const struct wbi_runtime *rt = viewer->arg;
    struct wbi_auth_tool t = wbi_guards_tool(tool);
    struct wbi_auth_answer answer;

    wbi_authorize(rt->guards->auth, viewer->principal, &t, &answer);
    if (answer.verdict == WBI_AUTH_HIDDEN)
        return WBI_SIGHT_HIDDEN;
    if (answer.verdict == WBI_AUTH_DENIED || tool->blocked.p != NULL)
        return WBI_SIGHT_BARRED;
    return WBI_SIGHT_CLEAR;
}

struct wbi_viewer wbi_guards_viewer(const struct wbi_runtime *rt, struct wbi_str principal)
{
    return (struct wbi_viewer){sees, rt, principal.p ? principal : rt->principal};
}

bool wbi_guards_tells(const struct wbi_runtime *rt, struct wbi_str principal,
                      const struct wbi_catalog *catalog, const struct wbi_tool *tool)
{
    struct wbi_viewer viewer = wbi_guards_viewer(rt, principal);
    const struct wbi_tool *picked;

    return !tool->hidden && sees(&viewer, tool) == WBI_SIGHT_CLEAR &&
           wbi_catalog_resolve(catalog, NULL, &viewer, WBI_NONE, tool->qualified, WBI_NONE, &picked,
                               NULL) == WB_OK &&
           picked == tool;
}
