/* SPDX-License-Identifier: Apache-2.0
 * api/task.c: holding tasks, and news of them. */
#include "api/api_int.h"
#include "base/alloc.h"
#include "run/tasks.h"
#include "waybill/task.h"

void wb_tasks_hold(wb_runtime *runtime)
{
    if (!wbi_api_ours(runtime) || wbi_api_inside(runtime))
        return;
    wbi_api_join(runtime);
    while (runtime->rt->tasks != NULL && wbi_tasks_busy(runtime->rt->tasks) > 0)
        (void)wbi_loop_turn(runtime->rt->loop, /* wait= */ true);
}

wb_rc wb_task_next_ended(wb_runtime *runtime, char **ret, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    char id[WBI_ID_SIZE];
    char *copy;
    wb_rc rc;

    if (runtime == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_task_next_ended: an argument is NULL");
    rc = wbi_runtime_open_artifacts(runtime->rt, &err);
    if (rc == WB_OK)
        rc = wbi_tasks_take_finished(runtime->rt->tasks, id, &err);
    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    copy = wbi_strdup(wbi_str_z(id));
    if (copy == NULL)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    *ret = copy;
    return WB_OK;
}
