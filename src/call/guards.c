/* SPDX-License-Identifier: Apache-2.0
 * call/guards.c: guards made of the configuration. */
#include "call/guards.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "call/keys.h"
#include "call/kept.h"
#include "call/local_tool.h"
#include "config/config.h"

static wb_rc add_policies(struct wbi_guards *g, const struct wbi_config *config,
                          struct wbi_error *err)
{
    const struct wbi_config_part *parts;
    size_t n = wbi_config_policies(config, &parts);

    for (size_t i = 0; i < n; i++) {
        struct wbi_error inner = WBI_ERROR_INIT;
        wb_rc rc = wbi_policy_add(g->policy, parts[i].value, parts[i].file,
                                  parts[i].tighten_only ? WBI_POLICY_TIGHTEN_ONLY
                                                        : WBI_POLICY_TRUSTED,
                                  &inner);
        if (rc != WB_OK) {
            (void)wbi_fail(err, rc, "policies%s: %s", inner.at, inner.text);
            wbi_error_at(err, parts[i].file);
            if (err != NULL)
                err->line = parts[i].line, err->column = 1;
            return rc;
        }
    }
    return WB_OK;
}

/* What descriptors declare comes first: the files' own policies win. */
static wb_rc add_declared(struct wbi_guards *g, const struct wbi_config *config,
                          struct wbi_error *err)
{
    const struct wbi_config_tool *tools;
    size_t n = wbi_config_tools(config, &tools);

    for (size_t i = 0; i < n; i++) {
        struct wbi_error inner = WBI_ERROR_INIT;
        wb_rc rc = wbi_tool_policies_add(g->policy, tools[i].descriptor, tools[i].file, &inner);
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
static wb_rc add_binding(struct wbi_guards *g, struct wbi_arena *arena,
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
        rc = wbi_auth_add(g->auth, list,
                          part->tighten_only ? WBI_POLICY_TIGHTEN_ONLY : WBI_POLICY_TRUSTED, err);
    return rc;
}

static wb_rc add_bindings(struct wbi_guards *g, struct wbi_arena *arena,
                          const struct wbi_config *config, struct wbi_error *err)
{
    const struct wbi_config_part *parts;
    size_t n = wbi_config_bindings(config, &parts);

    for (size_t i = 0; i < n; i++) {
        struct wbi_error inner = WBI_ERROR_INIT;
        wb_rc rc = add_binding(g, arena, &parts[i], &inner);
        if (rc != WB_OK) {
            (void)wbi_fail(err, rc, "bindings%s: %s", inner.at, inner.text);
            wbi_error_at(err, parts[i].file);
            if (err != NULL)
                err->line = parts[i].line, err->column = 1;
            return rc;
        }
    }
    return WB_OK;
}

/* ---- events ---- */

/* To the descriptor asked for, and into the record of the call they are about. */
static wb_rc write_event(void *arg, struct wbi_str line)
{
    struct wbi_guards *g = arg;

    if (g->speaking != NULL) {
        struct wbi_buf *b = &g->speaking->event_lines;
        size_t before = b->n;
        if (before > 0)
            wbi_buf_addc(b, ',');
        wbi_buf_adds(b, line);
        if (wbi_buf_rc(b) != WB_OK)
            b->n = before; /* whole events or none */
    }
    if (g->events_fd < 0)
        return WB_OK;
    for (size_t at = 0; at <= line.n;) {
        const char *p = at < line.n ? line.p + at : "\n";
        ssize_t n = write(g->events_fd, p, at < line.n ? line.n - at : 1);
        if (n > 0)
            at += (size_t)n;
        else if (errno != EINTR)
            return WB_EIO;
    }
    return WB_OK;
}

static wb_rc make_events(struct wbi_runtime *rt, struct wbi_guards *g)
{
    struct wbi_events_parts parts = {
        {write_event, g}, WBI_LIT("/waybill"), rt->clock, rt->ids};

    return wbi_events_new(&parts, &g->events);
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

wb_rc wbi_guards_new(struct wbi_runtime *rt, struct wbi_guards **ret, struct wbi_error *err)
{
    struct wbi_guards *g = wbi_zalloc(sizeof(*g));
    struct wbi_guard_parts parts = {.clock = rt->clock, .random = rt->ids};
    wb_rc rc;

    if (g == NULL)
        return wbi_fail_nomem(err);
    g->events_fd = -1;
    if (!rt->no_ledger) {
        parts.keys = wbi_keys_store(rt);
        parts.budgets = wbi_kept_budgets(rt);
    }
    rc = wbi_auth_new(&g->auth);
    if (rc == WB_OK)
        rc = wbi_policy_new(&g->policy);
    if (rc == WB_OK)
        rc = wbi_guard_chain_new(&parts, &g->chain);
    if (rc == WB_OK)
        rc = wbi_approvals_new(&rt->ids, &g->approvals);
    if (rc == WB_OK)
        rc = make_events(rt, g);
    if (rc == WB_OK)
        rc = wbi_timer_new(rt->loop, on_timer, rt, &g->timer);
    if (rc != WB_OK)
        (void)wbi_fail_nomem(err);
    if (rc == WB_OK && rt->config != NULL)
        rc = add_declared(g, rt->config, err);
    if (rc == WB_OK && rt->config != NULL)
        rc = add_policies(g, rt->config, err);
    if (rc == WB_OK && rt->config != NULL)
        rc = add_bindings(g, rt->arena, rt->config, err);
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
    wbi_timer_free(g->timer);
    wbi_events_free(g->events);
    wbi_approvals_free(g->approvals);
    wbi_guard_chain_free(g->chain);
    wbi_policy_free(g->policy);
    wbi_auth_free(g->auth);
    if (g->events_fd > 2)
        (void)close(g->events_fd); /* nothing can be done about a failure */
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

struct wbi_auth_tool wbi_guards_tool(const struct wbi_tool *tool)
{
    return (struct wbi_auth_tool){.qualified = tool->qualified,
                                  .model_name = tool->model_name,
                                  .effect = effect_of(tool->effect),
                                  .network = tool->effect == WBI_EFFECT_EXTERNAL};
}

bool wbi_guards_lists(const struct wbi_runtime *rt, struct wbi_str principal,
                      const struct wbi_tool *tool)
{
    struct wbi_auth_tool t = wbi_guards_tool(tool);

    return wbi_auth_lists(rt->guards->auth, principal.p ? principal : rt->principal, &t);
}

/* ---- what is said about a call ---- */

static struct wbi_event_call *event_call(struct wbi_call *call)
{
    struct wbi_event_call *e = &call->event;

    e->tool = call->tool ? call->tool->qualified : call->inv.tool_name;
    e->origin = call->tool ? call->tool->origin : WBI_LIT("unknown");
    e->version = call->tool ? call->tool->version : WBI_NONE;
    e->principal = call->inv.principal;
    e->call_id = wbi_str_z(call->name);
    e->correlation_id = call->inv.correlation_id;
    e->causation_id = call->inv.causation_id;
    e->conversation_id = call->inv.conversation_id;
    e->effect = call->tool ? wbi_effect_name(call->tool->effect) : NULL;
    e->redactions = call->facts.redactions;
    e->redactions_n = call->facts.redaction_count;
    if (e->trace == NULL) {
        struct wbi_trace *trace = wbi_arena_zalloc(call->arena, sizeof(*trace));
        if (trace != NULL) {
            (void)wbi_trace_begin(call->inv.traceparent, call->inv.tracestate,
                                  &call->runtime->ids, trace);
            e->trace = trace;
        }
    }
    call->runtime->guards->speaking = call;
    return e;
}

static void spoken(struct wbi_call *call, wb_rc rc)
{
    (void)rc; /* said before, or lost and counted */
    call->runtime->guards->speaking = NULL;
}

void wbi_say_invoked(struct wbi_call *call)
{
    spoken(call, wbi_event_invoked(call->runtime->guards->events, event_call(call)));
}

void wbi_say_policy(struct wbi_call *call)
{
    if (call->facts.policy_snapshot.p != NULL)
        spoken(call, wbi_event_policy(call->runtime->guards->events, event_call(call),
                                      call->facts.policy_snapshot));
}

void wbi_say_end(struct wbi_call *call)
{
    struct wbi_events *events = call->runtime->guards->events;
    const struct wbi_outcome *o = &call->outcome;
    struct wbi_event_end end = {.duration_ms = (call->ended_ns - call->started_ns) / WBI_NS_PER_MS,
                                .attempts = call->facts.attempts ? (int32_t)call->facts.attempts : 1,
                                .output_bytes = -1,
                                .cache_hit = -1,
                                .replayed = call->facts.replayed};

    if (o->state == WBI_OUTCOME_SUCCESS) {
        end.output_bytes = (int64_t)(o->output.p ? o->output.n : o->result.n);
        spoken(call, wbi_event_succeeded(events, event_call(call), &end));
        return;
    }
    end.kind = o->fault.kind;
    end.retryable = wbi_fault_retryable(&o->fault);
    spoken(call, wbi_event_failed(events, event_call(call), &end));
}
