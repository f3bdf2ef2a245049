/* SPDX-License-Identifier: Apache-2.0
 * family/task/task.h: what is told of tasks (C7.2). Output belongs to TaskOutput,
 * states to the others; neither repeats the other. */
#ifndef WBI_FAMILY_TASK_TASK_H
#define WBI_FAMILY_TASK_TASK_H

#include "family/artifact/artifact.h"
#include "family/command/command.h"

/* A task at one moment. Slices live as long as the call. */
struct wbi_task_view {
    struct wbi_str id;
    const char *status; /* "running", "completed", … */
    bool over;
    struct wbi_str command, workdir;
    struct wbi_str error; /* why it could not run or its output not be kept */
    int exit_status;      /* over, and signal 0 */
    int signal;
    bool timed_out, tty, accepts_input;
    const char *limit, *containment; /* limit: NULL for none */
    int64_t started_ms, ended_ms, now_ms;
};

struct wbi_task_output {
    struct wbi_task_view task;
    const char *retrieval;            /* "success", "timeout", "not_ready" */
    int64_t waited_ms;                /* less than was asked for, as a call may take; 0: all */
    const struct wbi_page_view *page; /* a range was asked for */
    const char *stream;               /* of the page, where the call named none; NULL */
    uint64_t other_bytes;             /* then: what the other stream has */
    /* without a range: */
    struct wbi_command_output output; /* its streams; budget for the whole receipt */
};

struct wbi_task_rows {
    const struct wbi_task_view *rows; /* those of this page and all after it */
    size_t count;
    size_t total; /* of all pages */
    size_t limit; /* at most so many on this page; 0: what fits */
    size_t running;
    struct wbi_allowance budget;
};
wbi_paged_mark wbi_task_mark; /* of rows */

struct wbi_task_input {
    struct wbi_str task_id;
    bool tty;
    uint64_t bytes;
    bool closed;
};

extern const struct wbi_family wbi_task_output_family; /* struct wbi_task_output */
extern const struct wbi_family wbi_task_status_family; /* struct wbi_task_view */
extern const struct wbi_family wbi_task_stop_family;   /* struct wbi_task_view */
extern const struct wbi_family wbi_task_list_family;   /* struct wbi_task_rows */
extern const struct wbi_family wbi_task_input_family;  /* struct wbi_task_input */

#endif
