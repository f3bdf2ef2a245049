/* SPDX-License-Identifier: Apache-2.0
 * call/local_tool.h: tools declared in configuration: a command that takes JSON
 * on stdin and gives JSON (or text) on stdout (C7.6). */
#ifndef WBI_CALL_LOCAL_TOOL_H
#define WBI_CALL_LOCAL_TOOL_H

#include "call/runtime.h"

struct wbi_policy;

/* Declare one; err names the member that is wrong. */
WB_MUST_CHECK wb_rc wbi_local_tool_add(struct wbi_runtime *rt, const wbi_json *descriptor,
                                       struct wbi_error *err);
/* The same checks without a runtime: the tool is added to builder, which is
 * only built to see whether names and versions go together. */
WB_MUST_CHECK wb_rc wbi_local_tool_check(struct wbi_arena *arena, struct wbi_str root,
                                         const wbi_json *descriptor,
                                         struct wbi_catalog_builder *builder,
                                         struct wbi_error *err);

/* Why its command could not be started now, of a descriptor that was checked. */
WB_MUST_CHECK wb_rc wbi_local_tool_look(struct wbi_arena *arena, struct wbi_str root,
                                        const wbi_json *descriptor, struct wbi_error *err);

/* Guards that a descriptor declares (its `policies`) as settings of that tool,
 * and its timeoutMs. To be added before the files' own policies, which win. */
WB_MUST_CHECK wb_rc wbi_tool_policies_add(struct wbi_policy *policy, const wbi_json *descriptor,
                                          struct wbi_str file, struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_tool_policies_check(const wbi_json *descriptor, struct wbi_error *err);

#endif
