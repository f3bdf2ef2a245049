/* SPDX-License-Identifier: Apache-2.0
 * builtin/work.h: how the tools of the small families run. */
#ifndef WBI_BUILTIN_WORK_H
#define WBI_BUILTIN_WORK_H

#include "builtin/builtin.h"

extern const struct wbi_tool_ops wbi_create_work_ops;
extern const struct wbi_tool_ops wbi_update_work_ops;
extern const struct wbi_tool_ops wbi_complete_work_ops;
extern const struct wbi_tool_ops wbi_list_work_ops;

extern const struct wbi_tool_ops wbi_enter_workspace_ops;
extern const struct wbi_tool_ops wbi_exit_workspace_ops;
extern const struct wbi_tool_ops wbi_workspace_state_ops;

extern const struct wbi_tool_ops wbi_notify_ops;
extern const struct wbi_tool_ops wbi_run_agent_ops;

#endif
