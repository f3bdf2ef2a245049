/* SPDX-License-Identifier: Apache-2.0
 * family/task/task_int.h: what the files of the family share. */
#ifndef WBI_FAMILY_TASK_TASK_INT_H
#define WBI_FAMILY_TASK_TASK_INT_H

#include "family/task/task.h"

/* task_id, kind, status and how it ended, into an open object. */
void wbi_task_write_state(struct wbi_jw *w, const struct wbi_task_view *t);
/* The rest: command, directory, times. */
void wbi_task_write_facts(struct wbi_jw *w, const struct wbi_task_view *t);
/* "Task: …", "Status: …" and how it ended, from the member "task". */
void wbi_task_render_state(struct wbi_buf *out, const wbi_json *task);
/* "task_1 exited with status 0", "task_1 is running". */
struct wbi_str wbi_task_summary(const struct wbi_task_view *t, struct wbi_arena *arena);

#endif
