/* SPDX-License-Identifier: Apache-2.0
 * call/local_tool.h: a tool that is a command of the configuration: JSON on its
 * standard input, JSON or text on its standard output (C7.6). */
#ifndef WBI_CALL_LOCAL_TOOL_H
#define WBI_CALL_LOCAL_TOOL_H

#include "call/runtime.h"

/* Read command, env, workdir and output of a descriptor and declare the tool.
 * descriptor may go away afterwards. */
WB_MUST_CHECK wb_rc wbi_local_tool_add(struct wbi_runtime *rt, const wbi_json *descriptor,
                                       struct wbi_error *err);

#endif
