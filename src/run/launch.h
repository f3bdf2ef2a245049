/* SPDX-License-Identifier: Apache-2.0
 * run/launch.h: one prepared program becomes one child process.
 * The set-up between clone and exec is async-signal-safe and allocates nothing,
 * so it may run in a parent of any size, with any number of threads, and in the
 * holder, which has no usable heap. */
#ifndef WBI_RUN_LAUNCH_H
#define WBI_RUN_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Limits of one child and what it starts; 0 leaves a limit as it is. */
struct wbi_rlimits {
    uint64_t memory_bytes; /* address space of each process */
    uint64_t files;        /* open descriptors of each process */
    uint64_t processes;    /* of the user; the kernel exempts root */
    uint64_t file_bytes;   /* size of a file it may write */
    uint64_t cpu_seconds;  /* of each process */
};

enum wbi_launch_stage {
    WBI_STAGE_NONE = 0,
    WBI_STAGE_CLONE,
    WBI_STAGE_SESSION,
    WBI_STAGE_TTY,
    WBI_STAGE_STDIO,
    WBI_STAGE_WORKDIR,
    WBI_STAGE_LIMITS,
    WBI_STAGE_EXEC
};

/* Everything but the last two members is given. All descriptors are 3 or more. */
struct wbi_launch {
    const char *path; /* with a slash in it */
    char *const *argv;
    char *const *envp;
    int stdio[3];
    int workdir_fd;       /* -1: the parent's */
    bool tty;             /* stdio[0] becomes the controlling terminal */
    bool allow_new_privs; /* else set-user-id programs gain nothing */
    bool die_with_parent; /* SIGKILL when the launching thread ends */
    struct wbi_rlimits limits;
    enum wbi_launch_stage stage; /* where it failed */
    int error;                   /* errno of that stage */
};

/* Start the child as leader of a new session and process group. True: *ret_pid
 * and *ret_pidfd (close-on-exec, the caller's) are set and exec has happened.
 * False: stage and error are set and no child is left. Any thread. */
bool wbi_launch(struct wbi_launch *l, pid_t *ret_pid, int *ret_pidfd);

#endif
