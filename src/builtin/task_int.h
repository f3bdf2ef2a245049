/* SPDX-License-Identifier: Apache-2.0
 * builtin/task_int.h: tasks of this runtime and of others that share its state
 * directory. A task of another runtime is seen by its fact and reached through
 * that runtime's control socket. */
#ifndef WBI_BUILTIN_TASK_INT_H
#define WBI_BUILTIN_TASK_INT_H

#include "builtin/reading_int.h"
#include "family/task/task.h"
#include "run/tasks.h"

/* The task as it is now; an unfinished one of a dead runtime is closed first.
 * Slices in x's arena. */
WB_MUST_CHECK wb_rc wbi_task_fetch(struct wbi_exec *x, struct wbi_str id, struct wbi_task_info *ret,
                                   struct wbi_error *err);
/* Whether this runtime runs it. */
bool wbi_task_is_ours(const struct wbi_exec *x, const struct wbi_task_info *info);
struct wbi_task_view wbi_task_view_of(const struct wbi_exec *x, const struct wbi_task_info *info);

/* Wait for the end of a task of any runtime. on_ready runs once, maybe from
 * inside. Lives in the call's arena. */
struct wbi_task_watch {
    struct wbi_exec *exec;
    char id[WBI_ID_SIZE];
    void (*on_ready)(void *arg, enum wbi_retrieval r);
    void *arg;
    struct wbi_task_wait *wait; /* ours */
    struct wbi_timer *timer;    /* of another runtime: looked at now and then */
    int64_t until_ns;
};
WB_MUST_CHECK wb_rc wbi_task_watch_start(struct wbi_task_watch *w, const struct wbi_task_info *info,
                                         int64_t wait_ms, struct wbi_error *err);
/* on_ready never runs then. */
void wbi_task_watch_stop(struct wbi_task_watch *w);

/* Ask the runtime that runs a task, off the loop. params is JSON; on_done comes
 * once, on the loop thread. */
WB_MUST_CHECK wb_rc wbi_task_ask(struct wbi_exec *x, const char *owner, const char *method,
                                 struct wbi_str params, wbi_read_done *on_done, void *arg,
                                 struct wbi_error *err);
/* Answer such questions: tasks.input, tasks.stop. */
WB_MUST_CHECK wb_rc wbi_task_serve(struct wbi_runtime *rt, struct wbi_error *err);

#endif
