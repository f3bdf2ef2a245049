/* SPDX-License-Identifier: Apache-2.0
 * run/process_int.h: what the files of run/ share. */
#ifndef WBI_RUN_PROCESS_INT_H
#define WBI_RUN_PROCESS_INT_H

#include "base/arena.h"
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
void wbi_stdio_close_child(struct wbi_stdio *io);
void wbi_stdio_close(struct wbi_stdio *io);
/* Move a descriptor out of the way of 0 to 2; -1 stays, failure closes it. */
int wbi_fd_high(int fd);
/* Close and forget; -1 is fine. */
void wbi_fd_drop(int *fd);
/* write() that reports EPIPE without the signal. Returns -errno on failure. */
ssize_t wbi_write_quiet(int fd, const void *p, size_t n);

/* Resolve program and directory, copy arguments and environment into arena.
 * l->workdir_fd is then the caller's to close (-1 if none); stdio is not set. */
WB_MUST_CHECK wb_rc wbi_plan_launch(struct wbi_arena *arena, const struct wbi_process_spec *spec,
                                    struct wbi_launch *l, struct wbi_error *err);
/* The error of a failed launch. */
wb_rc wbi_launch_error(struct wbi_error *err, enum wbi_launch_stage stage, int errno_value,
                       const char *program);

#endif
