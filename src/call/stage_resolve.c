/* SPDX-License-Identifier: Apache-2.0
 * call/stage_resolve.c: RESOLVE, name and range to one version (C3.2). A name the
 * catalog does not know is asked for once where tools come from on demand. */
#include "call/guards.h"
#include "call/stages_int.h"
#include "catalog/catalog.h"
#include "wire/wire.h"

static wb_rc look_up(struct wbi_call *call, struct wbi_error *err)
{
    return wbi_catalog_resolve(call->catalog, call->arena, call->inv.name_space,
                               call->inv.tool_name, call->inv.version_range, &call->tool, err);
}

/* The name with its namespace, as other rooms are asked for it. */
static struct wbi_str full_name(struct wbi_call *call)
{
    struct wbi_str name = call->inv.tool_name;

    if (call->inv.name_space.n == 0)
        return name;
    return wbi_arena_fmt(call->arena, "%.*s__%.*s", WBI_FMT(call->inv.name_space), WBI_FMT(name));
}

/* True when the call is parked until an answer is there. */
static bool ask_for_more(struct wbi_call *call)
{
    struct wbi_runtime *rt = call->runtime;

    if (rt->find_more == NULL || call->asked_for_more)
        return false;
    call->asked_for_more = true;
    return rt->find_more(rt->find_more_arg, full_name(call), wbi_call_park(call));
}

/* The snapshot of now, for a call that waited for tools to arrive. */
static wb_rc look_again(struct wbi_call *call, struct wbi_error *err)
{
    struct wbi_catalog *now;
    wb_rc rc = wbi_runtime_catalog(call->runtime, &now, err);

    if (rc != WB_OK)
        return rc;
    wbi_catalog_unref(call->catalog);
    call->catalog = wbi_catalog_ref(now);
    return look_up(call, err);
}

/* Hidden tools do not exist for the principal: neither their versions nor their
 * schemas may show through an earlier refusal (C3.2, C3.4). */
static bool hides(const struct wbi_call *call, const struct wbi_auth_tool *asked)
{
    struct wbi_auth_answer answer;

    wbi_authorize(call->runtime->guards->auth, call->inv.principal, asked, &answer);
    return answer.verdict == WBI_AUTH_HIDDEN;
}

static bool is_hidden(const struct wbi_call *call, const struct wbi_tool *tool)
{
    struct wbi_auth_tool asked = wbi_guards_tool(tool);

    return hides(call, &asked);
}

enum wbi_step wbi_refuse_hidden(struct wbi_call *call)
{
    call->tool = NULL; /* as if it did not exist */
    return wbi_call_fail(call, WBI_KIND_UNKNOWN_TOOL, "there is no tool \"%.*s\"",
                         WBI_FMT(wbi_str_head(call->inv.tool_name, 128)));
}

/* A tool that the refusal in err tells of: another version, or another spelling. */
static const struct wbi_tool *told_of(const struct wbi_call *call, const struct wbi_error *err)
{
    const struct wbi_tool *tool = NULL;

    if (err->kind == WBI_KIND_UNSUPPORTED_VERSION &&
        wbi_catalog_resolve(call->catalog, call->arena, call->inv.name_space, call->inv.tool_name,
                            WBI_NONE, &tool, NULL) == WB_OK)
        return tool;
    for (size_t i = 0; i < wbi_catalog_count(call->catalog); i++) {
        tool = wbi_catalog_at(call->catalog, i);
        if (wbi_str_ieq(tool->model_name, call->inv.tool_name))
            return tool;
    }
    return NULL;
}

/* Absent, or why the server that the name belongs to has not said what it offers. */
static struct wbi_str unreachable(struct wbi_call *call)
{
    struct wbi_runtime *rt = call->runtime;
    struct wbi_auth_tool asked = {.effect = WBI_GUARD_EXTERNAL_SIDE_EFFECTS, .network = true};
    struct wbi_str why;

    if (rt->why_missing == NULL ||
        !rt->why_missing(rt->find_more_arg, full_name(call), call->arena, &asked.qualified, &why))
        return WBI_NONE;
    asked.model_name = call->inv.tool_name;
    return hides(call, &asked) ? WBI_NONE : why;
}

static enum wbi_step unresolved(struct wbi_call *call, const struct wbi_error *err)
{
    const struct wbi_tool *tool = told_of(call, err);
    struct wbi_str why = tool == NULL ? unreachable(call) : WBI_NONE;

    if (why.p != NULL)
        return wbi_call_fail(call, WBI_KIND_UPSTREAM_UNAVAILABLE, "%.*s", WBI_FMT(why));
    if (tool != NULL && is_hidden(call, tool))
        return wbi_refuse_hidden(call);
    if (tool != NULL && err->kind == WBI_KIND_UNSUPPORTED_VERSION)
        call->origin = tool->origin;
    return wbi_call_fail_error(call, WBI_KIND_UNKNOWN_TOOL, err);
}

enum wbi_step wbi_stage_resolve(struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = call->asked_for_more ? look_again(call, &err) : look_up(call, &err);

    if (rc == WB_ENOTFOUND && err.kind == WBI_KIND_UNKNOWN_TOOL && ask_for_more(call))
        return WBI_STEP_PARKED;
    if (rc != WB_OK)
        return unresolved(call, &err);
    if (is_hidden(call, call->tool))
        return wbi_refuse_hidden(call);
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
