/* SPDX-License-Identifier: Apache-2.0
 * run/process.h: running programs on the loop.
 * A runner belongs to one loop; a process reports to its owner by callbacks on
 * the loop thread: any number of on_output, then exactly one on_end, after which
 * nothing of it is left (C7.1) and the handle is gone. Everything here is for the
 * loop thread only. */
#ifndef WBI_RUN_PROCESS_H
#define WBI_RUN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/slice.h"
#include "run/launch.h"

struct wbi_arena;
struct wbi_loop;
struct wbi_runner;
struct wbi_process;

/* Programs without a slash are looked for here and nowhere else. */
#define WBI_SEARCH_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

WB_MUST_CHECK wb_rc wbi_runner_new(struct wbi_loop *loop, struct wbi_clock clock,
                                   struct wbi_runner **ret, struct wbi_error *err);
/* No process may be running any more. NULL is fine. */
void wbi_runner_free(struct wbi_runner *runner);
/* Begin to start the holder, beside whatever the caller does next. For a runtime that
 * is sure to run a command; otherwise the first command does it. */
void wbi_runner_ready(struct wbi_runner *runner);
/* Processes started and not yet ended. */
size_t wbi_runner_busy(const struct wbi_runner *runner);

enum wbi_stdin_kind {
    WBI_STDIN_NULL = 0, /* /dev/null */
    WBI_STDIN_BYTES,    /* stdin_bytes, then end of file */
    WBI_STDIN_PIPE,     /* open until wbi_process_close_input */
    WBI_STDIN_FD,       /* stdin_fd, which stays the caller's */
    WBI_STDIN_TTY       /* a pseudo-terminal for all three; output is one stream */
};

enum wbi_stream { WBI_STDOUT = 0, WBI_STDERR = 1 };

/* What a command was contained by, as its record says. */
enum wbi_containment {
    WBI_CONTAIN_GROUP = 0, /* its process group only */
    WBI_CONTAIN_HOLDER     /* a subreaper of its own that outlives the runtime */
};
/* "group", "holder". */
const char *wbi_containment_name(enum wbi_containment c);

/* The limit that ended a command. */
enum wbi_limit_hit {
    WBI_HIT_NONE = 0,
    WBI_HIT_TIME,
    WBI_HIT_OUTPUT,
    WBI_HIT_MEMORY,
    WBI_HIT_PROCESSES,
    WBI_HIT_FILE_SIZE,
    WBI_HIT_CPU
};
/* "time", "output", …; NULL for none. */
const char *wbi_limit_name(enum wbi_limit_hit hit);

/* Slices are copied; zero is a good default for every member. */
struct wbi_process_spec {
    const struct wbi_str *argv; /* argument array, run without a shell */
    size_t argc;
    struct wbi_str shell_line; /* or a line, run by `shell -c line` */
    struct wbi_str shell;      /* absent: /bin/sh */
    const struct wbi_str *env; /* the whole environment, "NAME=value" each */
    size_t env_count;
    struct wbi_str search_path; /* absent: WBI_SEARCH_PATH; relative parts are skipped */
    int workdir_fd;             /* > 0: a directory that stays the caller's; else: */
    struct wbi_str workdir;     /* absent: the working directory of the process */
    enum wbi_stdin_kind stdin_kind;
    size_t input_bytes; /* most that may wait to be read; 0: WBI_LIMIT_PENDING_INPUT */
    struct wbi_str stdin_bytes;
    int stdin_fd;
    uint16_t tty_rows, tty_columns; /* 0: 24 and 80 */
    struct wbi_rlimits limits;
    uint64_t output_bytes; /* of both streams together, but for the first words of the second
                            * (WBI_RUN_LAST_WORDS); 0: no limit */
    int64_t timeout_ms;    /* 0: none; then TERM, grace, KILL */
    int64_t grace_ms;      /* between TERM and KILL; 0: WBI_RUN_GRACE_MS */
    int64_t linger_ms;     /* for others that hold the pipes; 0: WBI_RUN_LINGER_MS */
    bool allow_new_privs;
    bool die_with_parent; /* group containment only: KILL when our thread ends */
    bool uncontained;     /* do not use the runner's holder */
};

struct wbi_process_end {
    wb_rc rc; /* not WB_OK: it never ran; error says why */
    struct wbi_error error;
    int exit_status;  /* -1 when a signal ended it */
    int signal;       /* 0 when it exited */
    bool status_lost; /* somebody else reaped it */
    bool timed_out, cancelled;
    bool pipe_held; /* others still held a pipe after the linger time */
    enum wbi_limit_hit limit;
    enum wbi_containment containment;
    uint64_t bytes[2];   /* read from each stream */
    uint64_t dropped[2]; /* of these, not handed out: past the output limit */
    uint32_t swept;      /* processes it left behind and we ended (holder only) */
    uint32_t unkillable; /* of these, still there after five seconds */
    int64_t duration_ns;
    pid_t pid;
};

struct wbi_process_ops {
    /* Bytes are good during the call only. May stop the process. */
    void (*on_output)(void *arg, enum wbi_stream stream, struct wbi_str bytes);
    void (*on_end)(void *arg, const struct wbi_process_end *end);
    /* Bytes past the output limit, to be counted; NULL if not wanted. */
    void (*on_dropped)(void *arg, enum wbi_stream stream, struct wbi_str bytes);
    /* The keeper has told the process id; output may come before. NULL if not wanted. */
    void (*on_started)(void *arg);
    /* The stream has ended before the process, whose end may be near. NULL if not wanted. */
    void (*on_closed)(void *arg, enum wbi_stream stream);
};

/* On failure nothing is called back. WB_ENOTFOUND: program (kind
 * command_spawn_failed) or directory (workdir_not_found) missing; WB_EDENIED:
 * not executable; others as they come. */
WB_MUST_CHECK wb_rc wbi_process_start(struct wbi_runner *runner,
                                      const struct wbi_process_spec *spec,
                                      const struct wbi_process_ops *ops, void *arg,
                                      struct wbi_process **ret, struct wbi_error *err);
/* Whether program and directory of spec are there now; errors as of wbi_process_start. */
WB_MUST_CHECK wb_rc wbi_process_look(struct wbi_arena *arena, const struct wbi_process_spec *spec,
                                     struct wbi_error *err);
/* What a shell would exit with: 127 not found, 126 not executable, else 125. */
int wbi_spawn_exit_code(wb_rc rc, const struct wbi_error *err);

/* TERM to the group, KILL after the grace time; on_end says cancelled. Harmless
 * when it is already ending. */
void wbi_process_stop(struct wbi_process *p);
/* KILL at once. */
void wbi_process_kill(struct wbi_process *p);
/* Queue bytes for WBI_STDIN_PIPE or _TTY. WB_EMISUSE without such an input,
 * WB_ENOTFOUND when it is closed, WB_ELIMIT over the spec's input_bytes. */
WB_MUST_CHECK wb_rc wbi_process_input(struct wbi_process *p, struct wbi_str bytes,
                                      struct wbi_error *err);
/* The same with a "\n" behind them. */
WB_MUST_CHECK wb_rc wbi_process_line(struct wbi_process *p, struct wbi_str line,
                                     struct wbi_error *err);
/* It has an input that is not closed, by us or by the child. */
bool wbi_process_reads(const struct wbi_process *p);
/* End of file for the child once all is written; who reads a terminal again finds its end again. */
void wbi_process_close_input(struct wbi_process *p);
/* Other callbacks from now on (promotion hands a process over). */
void wbi_process_handover(struct wbi_process *p, const struct wbi_process_ops *ops, void *arg);
/* 0 until the keeper has told it; output may come before. */
pid_t wbi_process_pid(const struct wbi_process *p);
enum wbi_containment wbi_process_containment(const struct wbi_process *p);

#endif
