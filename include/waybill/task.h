/* SPDX-License-Identifier: Apache-2.0
 * waybill/task.h: commands that go on after their call. They are listed, read,
 * written to and stopped by calls of TaskList, TaskOutput, TaskInput and
 * TaskStop; here is what a program that holds them needs besides. */
#ifndef WAYBILL_TASK_H
#define WAYBILL_TASK_H

#include "waybill/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stay until no task of this runtime is left: they go on, and other processes
 * reach them through the control socket. Ends the runtime's thread, if it has
 * one; from then on the calling thread drives the loop. Any thread but the loop's own. */
WB_API void wb_tasks_hold(wb_runtime *runtime);

/* News of an ended task, each once, oldest first, also over a restart: *ret is
 * its id, freed by the caller with wb_free. WB_ENOTFOUND when there is none. Loop
 * thread (or while no loop runs). */
WB_API WB_MUST_CHECK wb_rc wb_task_next_ended(wb_runtime *runtime, char **ret, wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
