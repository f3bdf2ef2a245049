/* SPDX-License-Identifier: Apache-2.0
 * call/local_tool_int.h: a configured command, as declared. */
#ifndef WBI_CALL_LOCAL_TOOL_INT_H
#define WBI_CALL_LOCAL_TOOL_INT_H

#include "call/local_tool.h"
#include "run/capture.h"

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

/* text without terminal controls and invisible characters, in the call's arena. */
struct wbi_str wbi_local_clean(struct wbi_exec *x, struct wbi_str text);
/* Previews, counts, artifacts and the index each role has in them (C5.6), as members
 * of the object that is open in w. Empty streams are left out. */
void wbi_local_write_streams(struct wbi_exec *x, struct wbi_jw *w, const struct wbi_captured *c);

#endif
