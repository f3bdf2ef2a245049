/* SPDX-License-Identifier: Apache-2.0
 * call/workspace.h: the execution root of each conversation: the workspace, or
 * the directory beneath it that EnterWorkspace went to. A conversation that its
 * caller has named is found there again by a later process (C7.5): the store
 * keeps where it is. Loop thread only. */
#ifndef WBI_CALL_WORKSPACE_H
#define WBI_CALL_WORKSPACE_H

#include "call/runtime.h"

struct wbi_workspaces;

/* What to do when the directory is gone since it was entered. */
#define WBI_HINT_WORKSPACE_GONE \
    "make the directory again, call ExitWorkspace or enter one that exists"

/* The root that calls of this one's conversation work beneath; not counted.
 * workdir_not_found when the directory is gone since it was entered. */
WB_MUST_CHECK wb_rc wbi_workspace_root(const struct wbi_call *call, struct wbi_root **ret,
                                       struct wbi_error *err);
/* Where that is, relative to the workspace; "." is the workspace itself. Until
 * the next enter or leave. */
WB_MUST_CHECK wb_rc wbi_workspace_path(const struct wbi_call *call, struct wbi_str *ret,
                                       struct wbi_error *err);
/* Later calls of the conversation work beneath root (a reference is taken). What
 * is kept of it is queued in front of the outcome of the call. */
WB_MUST_CHECK wb_rc wbi_workspace_enter(const struct wbi_call *call, struct wbi_root *root,
                                        struct wbi_str path, struct wbi_error *err);
/* Back to the workspace itself; *ret_left false when the conversation was there. */
WB_MUST_CHECK wb_rc wbi_workspace_leave(const struct wbi_call *call, bool *ret_left,
                                        struct wbi_error *err);
/* The conversation is over: nobody can name it again, so its place is given up. What its caller
 * named himself, and entered as such, stays. */
void wbi_workspace_forget(struct wbi_runtime *rt, struct wbi_str conversation);
void wbi_workspaces_free(struct wbi_workspaces *w); /* NULL is fine */

#endif
