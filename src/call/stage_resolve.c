/* SPDX-License-Identifier: Apache-2.0
 * call/stage_resolve.c: RESOLVE, name and range to one version (C3.2). */
#include "call/guards.h"
#include "call/stages_int.h"
#include "catalog/catalog.h"
#include "wire/wire.h"

enum wbi_step wbi_stage_resolve(struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_catalog_resolve(call->catalog, call->arena, call->inv.name_space,
                                   call->inv.tool_name, call->inv.version_range, &call->tool, &err);

    if (rc != WB_OK)
        return wbi_call_fail_error(call, WBI_KIND_UNKNOWN_TOOL, &err);
    wbi_say_invoked(call);
    if (call->inv.truncated && call->tool->effect != WBI_EFFECT_PURE) /* C3.6 */
        return wbi_call_fail(call, WBI_KIND_TRUNCATED_MUTATION_TOOL_CALL,
                             "the call of %.*s was cut off by the model's output limit; it was not "
                             "executed",
                             WBI_FMT(call->tool->model_name));
    if (wire != NULL && wire->problem_kind != WBI_KIND_NONE)
        return wbi_refuse_item(call);
    return WBI_STEP_NEXT;
}
