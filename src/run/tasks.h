/* SPDX-License-Identifier: Apache-2.0
 * run/tasks.h: commands that may become tasks (C7.1, C7.2).
 * A command is a process whose output goes to the artifact store from its first
 * byte. Promotion only gives it a task id and takes the caller out: process,
 * output and counts stay the same. A task's fact is durable from promotion on;
 * terminal states never change again. Loop thread only. */
#ifndef WBI_RUN_TASKS_H
#define WBI_RUN_TASKS_H

#include "artifact/spool.h"
#include "base/id.h"
#include "run/process.h"

struct wbi_tasks;
struct wbi_command;
struct wbi_secrets;

enum wbi_task_state {
    WBI_TASK_QUEUED = 0, /* asked for, not yet running */
    WBI_TASK_RUNNING,
    WBI_TASK_CANCELLING, /* told to stop */
    WBI_TASK_COMPLETED,  /* it exited, with any status */
    WBI_TASK_FAILED,     /* it could not start, a signal, a limit or its own timeout ended it */
    WBI_TASK_CANCELLED,
    WBI_TASK_INTERRUPTED /* its runtime died; the output so far is kept */
};
/* "queued", "running", … */
const char *wbi_task_state_name(enum wbi_task_state state);
static inline bool wbi_task_over(enum wbi_task_state state)
{
    return state >= WBI_TASK_COMPLETED;
}

/* A snapshot; slices live where the function that made it says. */
struct wbi_task_info {
    char id[WBI_ID_SIZE];
    char owner[64];
    enum wbi_task_state state;
    struct wbi_str call_id, cmd, workdir, shell;
    bool tty, accepts_input;
    int exit_status, signal; /* as in wbi_process_end; -1 and 0 while it runs */
    bool timed_out;
    enum wbi_limit_hit limit;
    enum wbi_containment containment;
    struct wbi_str error;         /* why it could not start or its output not be kept */
    int64_t started_ms, ended_ms; /* wall clock; 0 while it runs */
    struct wbi_artifact output[WBI_SPOOL_STREAMS]; /* name "" where there is none */
    bool delivered;                                /* wbi_tasks_take_finished gave it out */
};

struct wbi_tasks_config {
    struct wbi_loop *loop;
    struct wbi_runner *runner;
    struct wbi_artifact_store *store;
    struct wbi_facts facts; /* of tasks; the key is the task id */
    struct wbi_clock clock;
    struct wbi_ids ids;
    const struct wbi_secrets *secrets; /* replaced in the facts; NULL: none is known */
    char owner[64];                    /* names this runtime in the facts */
    /* Is the runtime of that name alive? NULL: only this one is. */
    bool (*owner_alive)(void *arg, const char *owner);
    /* May be NULL: a task has ended and its fact is durable. */
    void (*on_finished)(void *arg, const struct wbi_task_info *task);
    void *arg;
};

WB_MUST_CHECK wb_rc wbi_tasks_new(const struct wbi_tasks_config *config, struct wbi_tasks **ret,
                                  struct wbi_error *err);
/* No command may be running: see wbi_tasks_stop_all. NULL is fine. */
void wbi_tasks_free(struct wbi_tasks *t);
/* Commands, promoted or not, that have not ended. */
size_t wbi_tasks_busy(const struct wbi_tasks *t);
/* Stop everything; run the loop until wbi_tasks_busy is 0. */
void wbi_tasks_stop_all(struct wbi_tasks *t);
/* Ends of tasks that could not be stored when they came, once more. Getting, listing and
 * freeing do it, too. */
void wbi_tasks_settle(struct wbi_tasks *t);
/* After a start: unfinished tasks of dead owners become interrupted, and their
 * output is finished as it is. */
WB_MUST_CHECK wb_rc wbi_tasks_recover(struct wbi_tasks *t, uint64_t *ret_count,
                                      struct wbi_error *err);

/* Tasks that ended before a time are no longer known: at most `most` now, *ret_count says how
 * many. */
WB_MUST_CHECK wb_rc wbi_tasks_forget(struct wbi_tasks *t, int64_t before_ms, uint64_t most,
                                     uint64_t *ret_count, struct wbi_error *err);

/* Commands */

struct wbi_command_spec {
    struct wbi_process_spec process;
    struct wbi_str call_id;
    struct wbi_str cmd;     /* as the caller wrote it: shown, and compared for duplicates */
    struct wbi_str workdir; /* the same */
    struct wbi_str shell;
    struct wbi_str place; /* what else a duplicate must share; never shown */
    bool accepts_input;
};

struct wbi_command_ops {
    /* A copy of each piece, after it was spooled; NULL if not wanted. */
    void (*on_output)(void *arg, enum wbi_stream stream, struct wbi_str bytes);
    /* Not called once promoted. The spool is the callee's to finish or discard. */
    void (*on_end)(void *arg, const struct wbi_process_end *end, struct wbi_spool *spool);
};

/* Failures as wbi_process_start and wbi_spool_open give them. */
WB_MUST_CHECK wb_rc wbi_command_start(struct wbi_tasks *t, const struct wbi_command_spec *spec,
                                      const struct wbi_command_ops *ops, void *arg,
                                      struct wbi_command **ret, struct wbi_error *err);
struct wbi_process *wbi_command_process(struct wbi_command *c);
struct wbi_spool *wbi_command_spool(struct wbi_command *c);
/* Make it a task, durably; no callback of its ops runs any more. The id is good as
 * long as the task runs. On failure it goes on as it was. */
WB_MUST_CHECK wb_rc wbi_command_promote(struct wbi_command *c, const char **ret_id,
                                        struct wbi_error *err);

/* Tasks. Kinds task_not_found (WB_ENOTFOUND) and task_not_running (WB_EMISUSE). */

/* The running task with the same command, directory, shell, terminal and place that can be used
 * as a new one could: it still takes input if that is wanted, and nobody has asked it to stop. NULL
 * for none. */
const char *wbi_tasks_duplicate(const struct wbi_tasks *t, struct wbi_str cmd,
                                struct wbi_str workdir, struct wbi_str shell, struct wbi_str place,
                                bool tty, bool wants_input);
WB_MUST_CHECK wb_rc wbi_tasks_get(struct wbi_tasks *t, struct wbi_str id, struct wbi_arena *arena,
                                  struct wbi_task_info *ret, struct wbi_error *err);
/* Newest first, also those of earlier runtimes. */
WB_MUST_CHECK wb_rc wbi_tasks_list(struct wbi_tasks *t, struct wbi_arena *arena,
                                   struct wbi_task_info **ret, size_t *ret_count,
                                   struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_tasks_input(struct wbi_tasks *t, struct wbi_str id, struct wbi_str bytes,
                                    bool end_of_input, struct wbi_error *err);
/* First TERM and later KILL; asked again, KILL at once. */
WB_MUST_CHECK wb_rc wbi_tasks_stop(struct wbi_tasks *t, struct wbi_str id, struct wbi_error *err);

enum wbi_retrieval {
    WBI_RETRIEVAL_SUCCESS = 0, /* the task is over */
    WBI_RETRIEVAL_TIMEOUT,     /* waited, still running */
    WBI_RETRIEVAL_NOT_READY    /* did not wait, still running */
};
/* "success", "timeout", "not_ready". */
const char *wbi_retrieval_name(enum wbi_retrieval r);

/* on_ready runs exactly once, on the loop thread, possibly from inside this call.
 * wait_ms 0 does not wait. The output is read with wbi_artifact_read from
 * info.output, whether it runs or not. */
struct wbi_task_wait;
WB_MUST_CHECK wb_rc wbi_tasks_wait(struct wbi_tasks *t, struct wbi_str id, int64_t wait_ms,
                                   void (*on_ready)(void *arg, enum wbi_retrieval r), void *arg,
                                   struct wbi_task_wait **ret, struct wbi_error *err);
/* Its on_ready never runs then. For a caller that goes away. */
void wbi_tasks_unwait(struct wbi_task_wait *w);

/* The ids of ended tasks nobody was told of yet, each once, oldest first; durable.
 * WB_ENOTFOUND when there is none. */
WB_MUST_CHECK wb_rc wbi_tasks_take_finished(struct wbi_tasks *t, char ret_id[WBI_ID_SIZE],
                                            struct wbi_error *err);

#endif
