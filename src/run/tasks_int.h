/* SPDX-License-Identifier: Apache-2.0
 * run/tasks_int.h: what the files of the registry share. */
#ifndef WBI_RUN_TASKS_INT_H
#define WBI_RUN_TASKS_INT_H

#include "run/tasks.h"

struct wbi_task_wait {
    struct wbi_task_wait *next;
    struct wbi_command *command;
    struct wbi_timer *timer;
    void (*on_ready)(void *arg, enum wbi_retrieval r);
    void *arg;
};

/* A command that has not ended, or whose end could not be stored. */
struct wbi_command {
    struct wbi_command *next;
    struct wbi_tasks *tasks;
    struct wbi_process *process; /* NULL once ended */
    struct wbi_spool *spool;     /* NULL once finished */
    struct wbi_command_ops ops;
    void *arg;
    bool promoted, stop_asked;
    bool unstored;           /* it has ended, and only memory knows */
    struct wbi_arena *arena; /* the slices of info, and place */
    struct wbi_task_info info;
    struct wbi_str place;
    struct wbi_process_end end;
    uint64_t lines[WBI_SPOOL_STREAMS]; /* printed, once it has ended */
    struct wbi_task_wait *waits;
};

struct wbi_tasks {
    struct wbi_tasks_config config;
    struct wbi_command *commands;
    size_t busy;
};

/* had: the text of the fact that is replaced, as for wbi_facts; NULL for the task's owner. */
WB_MUST_CHECK wb_rc wbi_task_store(struct wbi_tasks *t, const struct wbi_task_info *info,
                                   const struct wbi_str *had, struct wbi_error *err);
/* WB_ENOTFOUND without a kind when there is no such fact. */
WB_MUST_CHECK wb_rc wbi_task_load(struct wbi_tasks *t, struct wbi_str id, struct wbi_arena *arena,
                                  struct wbi_task_info *ret, struct wbi_error *err);
/* The live task of that id, or NULL. */
struct wbi_command *wbi_task_live(const struct wbi_tasks *t, struct wbi_str id);
/* Bring info up to date with the process and the spool. */
void wbi_task_refresh(struct wbi_command *c);

#endif
