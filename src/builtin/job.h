/* SPDX-License-Identifier: Apache-2.0
 * builtin/job.h: tools whose work may block: it runs on a pool thread with
 * memory of its own, so that the loop goes on and a call that is over before
 * its work is not written to. */
#ifndef WBI_BUILTIN_JOB_H
#define WBI_BUILTIN_JOB_H

#include <stdatomic.h>

#include "builtin/builtin.h"

struct wbi_job {
    struct wbi_exec *exec;   /* input and tool may be read on the pool thread */
    struct wbi_arena *arena; /* the job's; lives as long as the call */
    struct wbi_root *root;   /* counted; NULL when the tool has none */
    atomic_bool stop;        /* the work may end early with WB_ECANCELLED */
    wb_rc rc;
    struct wbi_error err;
    const void *typed;               /* the complete output, set by run */
    struct wbi_str details;          /* of an error, JSON object or absent */
    const char *hint;                /* of an error; NULL: the kind's */
    const char *code;                /* of an error; NULL: the kind's */
    const char *redacted;            /* where secrets were replaced; NULL: nowhere */
    void *state;                     /* the tool's own, prepared on the loop thread */
    wb_rc (*run)(struct wbi_job *j); /* pool thread; fills err on failure */
    void (*done)(struct wbi_job *j); /* loop thread, before the call ends; may be NULL */
};

/* Start run for x; ends in wbi_exec_done. with_root: the conversation's
 * execution root goes along. */
void wbi_job_start(struct wbi_exec *x, wb_rc (*run)(struct wbi_job *j),
                   void (*done)(struct wbi_job *j), void *state, bool with_root);
/* The same with a root, for work that may be known not to wait: where at_hand says so
 * it is done at once, since handing it over would take longer than it does. */
void wbi_job_start_quick(struct wbi_exec *x, wb_rc (*run)(struct wbi_job *j),
                         bool (*at_hand)(struct wbi_job *j));
/* For work on a pool thread: root is counted until the arena is freed. */
WB_MUST_CHECK wb_rc wbi_job_hold_root(struct wbi_arena *arena, struct wbi_root *root,
                                      struct wbi_error *err);
/* For wbi_tool_ops: asks the work to end. */
void wbi_job_cancel(struct wbi_exec *x);

#endif
