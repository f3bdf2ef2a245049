/* SPDX-License-Identifier: Apache-2.0
 * call/workspace.h: the execution root of each conversation: the workspace, or
 * the directory beneath it that EnterWorkspace went to. Loop thread only. */
#ifndef WBI_CALL_WORKSPACE_H
#define WBI_CALL_WORKSPACE_H

#include "call/runtime.h"

struct wbi_workspaces;

/* The root that calls of this conversation work beneath; not counted. */
WB_MUST_CHECK wb_rc wbi_workspace_root(struct wbi_runtime *rt, struct wbi_str conversation,
                                       struct wbi_root **ret, struct wbi_error *err);
/* Where that is, relative to the workspace; "." is the workspace itself. Until
 * the next enter or leave. */
struct wbi_str wbi_workspace_path(const struct wbi_runtime *rt, struct wbi_str conversation);
/* Later calls of the conversation work beneath root (a reference is taken). */
WB_MUST_CHECK wb_rc wbi_workspace_enter(struct wbi_runtime *rt, struct wbi_str conversation,
                                        struct wbi_root *root, struct wbi_str path,
                                        struct wbi_error *err);
/* Back to the workspace itself; false when the conversation was there. */
bool wbi_workspace_leave(struct wbi_runtime *rt, struct wbi_str conversation);
void wbi_workspaces_free(struct wbi_workspaces *w); /* NULL is fine */

#endif
