/* SPDX-License-Identifier: Apache-2.0
 * builtin/reading_int.h: reading kept output for a call, off the loop. */
#ifndef WBI_BUILTIN_READING_INT_H
#define WBI_BUILTIN_READING_INT_H

#include "artifact/read.h"
#include "artifact/spool.h"
#include "builtin/builtin.h"
#include "family/artifact/artifact.h"
#include "family/command/command.h"

/* The budget of a receipt: the argument max_output_tokens, else the tool's, lowered
 * by the caller's wish, never under WBI_BUDGET_LEAST. */
struct wbi_allowance wbi_exec_budget(const struct wbi_exec *x);
/* Give err to the caller; otherwise is the kind of one that has none. */
void wbi_exec_fail_error(struct wbi_exec *x, enum wbi_kind otherwise, const struct wbi_error *err);
/* The end of a call: what it made, or that error. */
void wbi_exec_end(struct wbi_exec *x, const void *typed, wb_rc rc, enum wbi_kind otherwise,
                  const struct wbi_error *err);
/* An end of work on another thread. */
typedef void wbi_read_done(void *arg, wb_rc rc, const struct wbi_error *err);

/* One page. Fill exec, artifact, other, on_done and arg; the rest comes from the input. Fill
 * view.subject before on_done, with which view is complete if it says WB_OK. Lives in the
 * call's arena. */
struct wbi_reading {
    struct wbi_exec *exec;
    struct wbi_artifact artifact; /* that is read, from wbi_reading_start on */
    struct wbi_artifact other;    /* of which the page token may be instead; without a name: none */
    struct wbi_page_view view;
    wbi_read_done *on_done;
    void *arg;
    atomic_bool stop;            /* the read may end early with WB_ECANCELLED */
    struct wbi_reading_job *job; /* of the room */
};
/* True when the input asks for a range. */
bool wbi_reading_asked(const wbi_json *input);
/* On failure nothing is called; err has a kind. */
WB_MUST_CHECK wb_rc wbi_reading_start(struct wbi_reading *r, struct wbi_error *err);

/* Both streams of a command, prepared for showing: out->stream[i] gets shown,
 * counts and artifact. stop as in wbi_reading. */
WB_MUST_CHECK wb_rc wbi_streams_start(struct wbi_exec *x,
                                      const struct wbi_artifact from[WBI_SPOOL_STREAMS],
                                      struct wbi_command_output *out, const atomic_bool *stop,
                                      wbi_read_done *on_done, void *arg, struct wbi_error *err);

extern const struct wbi_tool_ops wbi_read_artifact_ops;
extern const struct wbi_tool_ops wbi_list_artifacts_ops;
extern const struct wbi_tool_ops wbi_task_output_ops;
extern const struct wbi_tool_ops wbi_task_status_ops;
extern const struct wbi_tool_ops wbi_task_list_ops;
extern const struct wbi_tool_ops wbi_task_input_ops;
extern const struct wbi_tool_ops wbi_task_stop_ops;

#endif
