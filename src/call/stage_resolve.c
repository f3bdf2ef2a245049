/* SPDX-License-Identifier: Apache-2.0
 * call/stage_resolve.c: RESOLVE, name and range to one version (C3.2). */
#include "call/stages_int.h"
#include "catalog/catalog.h"

enum wbi_step wbi_stage_resolve(struct wbi_call *call)
{
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_catalog_resolve(call->catalog, call->arena, call->inv.name_space,
                                   call->inv.tool_name, call->inv.version_range, &call->tool, &err);

    if (rc != WB_OK)
        return wbi_call_fail_error(call, WBI_KIND_UNKNOWN_TOOL, &err);
    return WBI_STEP_NEXT;
}
