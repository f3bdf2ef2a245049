/* SPDX-License-Identifier: Apache-2.0
 * builtin/command_int.h: running one command, shared by the tools that do. */
#ifndef WBI_BUILTIN_COMMAND_INT_H
#define WBI_BUILTIN_COMMAND_INT_H

#include "builtin/builtin.h"
#include "builtin/reading_int.h"
#include "family/command/command.h"
#include "run/tasks.h"

/* What is asked of one command. Slices live as long as the call. */
struct wbi_command_ask {
    const wbi_json *cmd; /* string or array */
    const wbi_json *env; /* object or NULL */
    struct wbi_str workdir;
    struct wbi_str call_id;     /* names its artifacts */
    struct wbi_str stdin_bytes; /* given whole, then end of file; absent: none */
    int64_t timeout_ms;         /* 0: none */
    bool tty;
    bool accepts_input;
};

/* A command under way: its output is spooled and prepared for showing. Lives in
 * the call's arena; on_end comes exactly once unless it is promoted. */
struct wbi_running_command {
    struct wbi_exec *exec;
    struct wbi_command *command; /* NULL once it is over or promoted */
    struct wbi_command_output *out;
    struct wbi_process_end end;
    struct wbi_artifact kept[WBI_SPOOL_STREAMS];
    bool live;     /* copy output to the caller's partial frames */
    bool keep_all; /* both streams become artifacts, whatever fits */
    bool together; /* both do, or neither */
    void (*on_end)(struct wbi_running_command *r);
    void *arg;
};

/* Start it. On failure err has a kind, and nothing is called. */
WB_MUST_CHECK wb_rc wbi_running_start(struct wbi_running_command *r,
                                      const struct wbi_command_ask *ask, struct wbi_error *err);
/* Ask it to end: TERM, grace, KILL; on_end follows. */
void wbi_running_stop(struct wbi_running_command *r);
/* Make it a task; its output so far is in r->out. */
WB_MUST_CHECK wb_rc wbi_running_promote(struct wbi_running_command *r, struct wbi_error *err);

/* What it printed, for details.partial; absent when out of memory. */
struct wbi_str wbi_running_partial(const struct wbi_running_command *r);
/* Whether a write failed (not: a cap was reached), so that not all it printed is on the disk. */
bool wbi_running_lost(const struct wbi_running_command *r);
/* Answer the call of such a one: an error with what was saved (C5.3). who: "command". */
void wbi_running_fail_lost(const struct wbi_running_command *r, const char *who);

/* The same of one whose end nobody saw (end.status_lost). */
void wbi_running_fail_unknown(const struct wbi_running_command *r, const char *who);

/* How the caller wrote it, for receipts and comparing. */
struct wbi_str wbi_command_text(struct wbi_arena *arena, const wbi_json *cmd);
/* What would run a command line; absent for an argument array. */
struct wbi_str wbi_command_shell(const struct wbi_runtime *rt, struct wbi_arena *arena,
                                 const wbi_json *cmd);
/* What tells two commands with the same text apart: the workspace and the environment they
 * are given, and where the arguments of an array begin. Absent when out of memory. */
struct wbi_str wbi_command_place(const struct wbi_exec *x, const struct wbi_command_ask *ask);
/* NAME=value list for a command (allow list, then what the call adds). */
WB_MUST_CHECK wb_rc wbi_command_env(const struct wbi_exec *x, const wbi_json *add,
                                    struct wbi_str **ret, size_t *ret_n, struct wbi_error *err);
/* Facts of what was kept, for the record; absent when nothing was. */
struct wbi_str wbi_command_facts(struct wbi_exec *x, const struct wbi_artifact *list, size_t n);

extern const struct wbi_tool_ops wbi_exec_command_ops;
extern const struct wbi_tool_ops wbi_exec_batch_ops;

#endif
