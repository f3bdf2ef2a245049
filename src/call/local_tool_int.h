/* SPDX-License-Identifier: Apache-2.0
 * call/local_tool_int.h: a configured command, as declared. */
#ifndef WBI_CALL_LOCAL_TOOL_INT_H
#define WBI_CALL_LOCAL_TOOL_INT_H

#include "call/local_tool.h"

enum wbi_local_output { WBI_LOCAL_AUTO, WBI_LOCAL_JSON, WBI_LOCAL_TEXT };

/* Lives in the runtime's arena. */
struct wbi_local_tool {
    struct wbi_str *argv;
    size_t argc;
    struct wbi_str *env;
    size_t env_count;
    struct wbi_str workdir;
    enum wbi_local_output output;
};

extern const struct wbi_tool_ops wbi_local_ops;

#endif
