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

/* True when the call is parked until an answer is there. */
static bool ask_for_more(struct wbi_call *call)
{
    struct wbi_runtime *rt = call->runtime;
    struct wbi_str name = call->inv.tool_name;

    if (rt->find_more == NULL || call->asked_for_more)
        return false;
    call->asked_for_more = true;
    if (call->inv.name_space.n > 0)
        name = wbi_arena_fmt(call->arena, "%.*s__%.*s", WBI_FMT(call->inv.name_space),
                             WBI_FMT(name));
    return rt->find_more(rt->find_more_arg, name, wbi_call_park(call));
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

enum wbi_step wbi_stage_resolve(struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = call->asked_for_more ? look_again(call, &err) : look_up(call, &err);

    if (rc == WB_ENOTFOUND && err.kind == WBI_KIND_UNKNOWN_TOOL && ask_for_more(call))
        return WBI_STEP_PARKED;
    if (rc != WB_OK)
        return wbi_call_fail_error(call, WBI_KIND_UNKNOWN_TOOL, &err);
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
