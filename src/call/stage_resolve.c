/* SPDX-License-Identifier: Apache-2.0
 * call/stage_resolve.c: RESOLVE, name and range to one version (C3.2). A name the
 * catalog does not know, or has blocked, is asked for once where tools come from on
 * demand. */
#include "call/guards.h"
#include "call/stages_int.h"
#include "call/views.h"
#include "catalog/catalog.h"
#include "config/config.h"
#include "wire/wire.h"

static wb_rc look_up(struct wbi_call *call, struct wbi_error *err)
{
    struct wbi_viewer viewer;

    if (call->found != NULL) {
        call->tool = call->found;
        return WB_OK;
    }
    viewer = wbi_guards_viewer(call->runtime, call->inv.principal);
    return wbi_catalog_resolve(call->catalog, call->arena, &viewer, call->inv.name_space,
                               call->inv.tool_name, call->inv.version_range, &call->tool, err);
}

/* True when the call is parked until an answer is there, its deadline passes or it is
 * cancelled. */
static bool ask_for_more(struct wbi_call *call)
{
    struct wbi_runtime *rt = call->runtime;

    if (rt->find_more == NULL || call->asked_for_more)
        return false;
    call->asked_for_more = true;
    if (!rt->find_more(rt->find_more_arg, wbi_call_full_name(call), wbi_call_park(call)))
        return false;
    wbi_call_limit(call, wbi_deadline_from_wall(call->inv.deadline_ms, wbi_wall_ms(&call->clock),
                                                wbi_now_ns(&call->clock)));
    return true;
}

void wbi_cancel_resolve(struct wbi_call *call)
{
    struct wbi_call_ref ref = {call->id, call->park};

    (void)wbi_call_resume(call->calls, ref); /* parked, so it goes on, and ends as cancelled */
}

/* The snapshot of now, for a call that waited for tools to arrive. */
static wb_rc look_again(struct wbi_call *call, struct wbi_error *err)
{
    struct wbi_catalog *now;
    wb_rc rc = wbi_runtime_catalog(call->runtime, &now, err);

    wbi_call_relimit(call, INT64_MAX); /* where it waits next has its own way with deadlines */
    if (rc != WB_OK)
        return rc;
    wbi_catalog_unref(call->catalog);
    call->catalog = wbi_catalog_ref(now);
    call->found = NULL; /* it was in the one before */
    return look_up(call, err);
}

enum wbi_step wbi_refuse_hidden(struct wbi_call *call)
{
    call->tool = NULL; /* as if it did not exist */
    return wbi_call_fail(call, WBI_KIND_UNKNOWN_TOOL, "there is no tool \"%.*s\"",
                         WBI_FMT(wbi_str_head(call->inv.tool_name, 128)));
}

/* Whether the name is one of a server's tools, as far as the principal may know. */
static bool is_of_server(struct wbi_call *call)
{
    struct wbi_runtime *rt = call->runtime;
    struct wbi_auth_tool asked = {.effect = WBI_GUARD_EXTERNAL_SIDE_EFFECTS,
                                  .network = true,
                                  .model_name = call->inv.tool_name};
    struct wbi_auth_answer answer;
    struct wbi_str origin;

    if (rt->qualify == NULL || !rt->qualify(rt->find_more_arg, wbi_call_full_name(call),
                                            call->arena, &origin, &asked.qualified))
        return false;
    wbi_authorize(rt->guards->auth, call->inv.principal, &asked, &answer);
    if (answer.verdict == WBI_AUTH_HIDDEN)
        return false;
    call->named.qualified = asked.qualified;
    call->named.origin = origin;
    return true;
}

/* Absent, or why the server that the name belongs to has not said what it offers. */
static struct wbi_str unreachable(struct wbi_call *call)
{
    struct wbi_runtime *rt = call->runtime;
    struct wbi_str why;

    if (!is_of_server(call) ||
        !rt->why_missing(rt->find_more_arg, wbi_call_full_name(call), call->arena, &why))
        return WBI_NONE;
    return why;
}

/* Whether a name is that of a server or of one of its tools, or of a local tool. */
static bool is_of(struct wbi_str name, struct wbi_str declared)
{
    if (wbi_str_starts(name, WBI_LIT("mcp::")) || wbi_str_starts(name, WBI_LIT("mcp__")))
        name = wbi_str_from(name, 5);
    else if (wbi_str_starts(name, WBI_LIT("local::")))
        name = wbi_str_from(name, 7);
    if (!wbi_str_starts(name, declared))
        return false;
    name = wbi_str_from(name, declared.n);
    return name.n == 0 || wbi_str_starts(name, WBI_LIT("__")) ||
           wbi_str_starts(name, WBI_LIT("::"));
}

/* Absent, or the file that declares the tool or its server, but does not count. */
static struct wbi_str untrusted_file(struct wbi_call *call)
{
    const struct wbi_config *config = call->runtime->config;
    const struct wbi_config_ignored *list;
    size_t n;

    if (config == NULL || wbi_config_trust_state(config) == WBI_CONFIG_TRUSTED)
        return WBI_NONE;
    n = wbi_config_ignored(config, &list);
    for (size_t i = 0; i < n; i++)
        if (list[i].names_tools && is_of(wbi_call_full_name(call), list[i].what))
            return list[i].file;
    return WBI_NONE;
}

static enum wbi_step refuse_untrusted(struct wbi_call *call, struct wbi_str file)
{
    bool changed = wbi_config_trust_state(call->runtime->config) == WBI_CONFIG_CHANGED;

    return wbi_call_fail(call, WBI_KIND_UNKNOWN_TOOL,
                         "there is no tool \"%.*s\": %.*s declares it, but the workspace's files "
                         "%s; a person lets them count with `waybill config trust`",
                         WBI_FMT(wbi_str_head(call->inv.tool_name, 128)), WBI_FMT(file),
                         changed ? "have changed since they were trusted" : "are not trusted");
}

static enum wbi_step unresolved(struct wbi_call *call, const struct wbi_error *err)
{
    struct wbi_viewer viewer = wbi_guards_viewer(call->runtime, call->inv.principal);
    const struct wbi_tool *other;
    struct wbi_str why;

    call->tool = NULL;
    if (err->kind == WBI_KIND_UNSUPPORTED_VERSION) {
        if (wbi_catalog_resolve(call->catalog, NULL, &viewer, call->inv.name_space,
                                call->inv.tool_name, WBI_NONE, &other, NULL) == WB_OK)
            call->named = (struct wbi_call_named){
                .qualified = other->qualified, .model = other->model_name, .origin = other->origin};
    } else if (why = unreachable(call), why.p != NULL) {
        return wbi_call_fail(call, WBI_KIND_UPSTREAM_UNAVAILABLE, "%.*s", WBI_FMT(why));
    }
    why = untrusted_file(call);
    return why.p != NULL && err->kind == WBI_KIND_UNKNOWN_TOOL
               ? refuse_untrusted(call, why)
               : wbi_call_fail_error(call, WBI_KIND_UNKNOWN_TOOL, err);
}

/* Whether the toolName beside an item is none of the names of the tool that the item calls. */
static bool names_other(const struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    const wbi_json *v = wire != NULL ? wbi_json_get(wire->beside, "toolName") : NULL;
    struct wbi_str name = wbi_json_str(v), qualified = call->tool->qualified, front;
    const struct wbi_tool *other;
    struct wbi_viewer viewer;

    if (v == NULL || wbi_json_is(v, WBI_JSON_NULL) || wbi_str_eq(name, call->inv.tool_name) ||
        wbi_str_eq(name, call->tool->model_name) || wbi_str_eq(name, qualified))
        return false;
    front = wbi_str_head(qualified, qualified.n > name.n ? qualified.n - name.n : 0);
    if (name.n > 0 && wbi_str_ends(qualified, name) && wbi_str_ends(front, WBI_LIT("::")))
        return false;
    viewer = wbi_guards_viewer(call->runtime, call->inv.principal);
    return wbi_catalog_resolve(call->catalog, NULL, &viewer, WBI_NONE, name, WBI_NONE, &other,
                               NULL) != WB_OK ||
           !wbi_str_eq(other->qualified, qualified);
}

enum wbi_step wbi_stage_resolve(struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    wb_rc rc;
    WBI_ERROR_HERE(err);

    rc = call->asked_for_more ? look_again(call, &err) : look_up(call, &err);
    if ((rc == WB_OK ? call->tool->blocked.p != NULL : err.kind == WBI_KIND_UNKNOWN_TOOL) &&
        ask_for_more(call))
        return WBI_STEP_PARKED;
    if (rc != WB_OK)
        return unresolved(call, &err);
    if (names_other(call))
        return wbi_call_fail(call, WBI_KIND_MALFORMED_CALL,
                             "invocation.toolName is not what the item says itself; leave it out");
    wbi_say_invoked(call);
    if (call->tool->blocked.p != NULL)
        return wbi_call_fail(call, WBI_KIND_FORBIDDEN, "%.*s", WBI_FMT(call->tool->blocked));
    if (call->inv.truncated && call->tool->effect != WBI_EFFECT_PURE) /* C3.6 */
        return wbi_call_fail(call, WBI_KIND_TRUNCATED_MUTATION_TOOL_CALL,
                             "the call of %.*s was cut off by the model's output limit; it was not "
                             "executed",
                             WBI_FMT(call->tool->model_name));
    if (wire != NULL && wire->problem_kind != WBI_KIND_NONE)
        return wbi_refuse_item(call);
    return WBI_STEP_NEXT;
}
