/* SPDX-License-Identifier: Apache-2.0
 * run/process_int.h: what the files of run/ share. */
#ifndef WBI_RUN_PROCESS_INT_H
#define WBI_RUN_PROCESS_INT_H

#include "base/arena.h"
#include "base/buf.h"
#include "loop/loop.h"
#include "run/process.h"

/* The ends of a child's standard descriptors; -1 where there is none. All are 3
 * or more and close-on-exec; ours do not block. */
struct wbi_stdio {
    int child[3];
    int in;     /* write end of the child's input */
    int out[2]; /* read ends, by enum wbi_stream */
};

WB_MUST_CHECK wb_rc wbi_stdio_open(const struct wbi_process_spec *spec, struct wbi_stdio *ret,
                                   struct wbi_error *err);
/* input.c: it has printed: a terminal whose input is at its end says so again, for whoever may
 * have asked. */
void wbi_process_end_again(struct wbi_process *p);
void wbi_stdio_close(struct wbi_stdio *io);
/* Move a descriptor out of the way of 0 to 2; -1 stays, failure closes it. */
int wbi_fd_high(int fd);
/* Close and forget; -1 is fine. */
void wbi_fd_drop(int *fd);

/* Resolve program and directory, copy arguments and environment into arena.
 * l->workdir_fd is then the caller's to close (-1 if none); stdio is not set. */
WB_MUST_CHECK wb_rc wbi_plan_launch(struct wbi_arena *arena, const struct wbi_process_spec *spec,
                                    struct wbi_launch *l, struct wbi_error *err);
/* The error of a failed launch. */
wb_rc wbi_launch_error(struct wbi_error *err, enum wbi_launch_stage stage, int errno_value,
                       const char *program);

struct wbi_holder;
struct wbi_timer;
struct wbi_watch;

struct wbi_runner {
    struct wbi_loop *loop;
    struct wbi_clock clock;
    size_t busy;
    char *buffer;
    struct wbi_holder *holder; /* NULL until the first command */
    bool holder_failed;        /* it could not be started: groups from then on */
};

enum wbi_phase {
    WBI_RUNNING,   /* until the leader ends */
    WBI_LINGERING, /* others hold its pipes */
    WBI_SWEEPING,  /* the keeper kills what is left */
    WBI_ENDED
};

struct wbi_output {
    struct wbi_process *process;
    int fd; /* -1 once at its end */
    struct wbi_watch *watch;
};

struct wbi_process {
    struct wbi_runner *runner;
    struct wbi_process_ops ops;
    void *arg;
    enum wbi_phase phase;
    pid_t pid;
    int pidfd;                    /* without a holder */
    int keeper;                   /* with one: the keeper's socket */
    struct wbi_watch *exit_watch; /* of either */
    bool keeper_gone;
    char *program; /* for the message when exec fails */
    struct wbi_output out[2];
    int in;
    bool in_closing, in_tty;
    unsigned ends_told; /* ends of input that a terminal was given */
    struct wbi_watch *in_watch;
    bool in_watched;
    struct wbi_defer in_flush; /* what one turn of the loop says leaves in one write */
    struct wbi_buf pending;
    size_t taken;               /* of pending, written already */
    struct wbi_timer *deadline; /* then the linger time */
    struct wbi_timer *grace;
    int64_t grace_ms, linger_ms, started_ns;
    uint64_t output_left, words; /* words: of either stream, whatever the other printed */
    bool output_limited, stopping;
    bool sweep_asked, keeper_killed; /* it has a while to answer, then it is killed */
    pid_t keeper_pid;
    struct wbi_process_end end;
};

#endif
