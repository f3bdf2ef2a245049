/* SPDX-License-Identifier: Apache-2.0
 * builtin/builtin.h: the tools that come with Waybill. A family is a row here:
 * its tools as data (family/NAME/tools.json), their projectors and renderers
 * (family/NAME), and how each tool runs (builtin/NAME.c). Adding a tool touches
 * its family and its row in builtin.c, nothing else. */
#ifndef WBI_BUILTIN_BUILTIN_H
#define WBI_BUILTIN_BUILTIN_H

#include "artifact/store.h"
#include "call/exec.h"
#include "call/runtime.h"

struct wbi_builtin_tool {
    const char *name; /* as in tools.json */
    const struct wbi_family *family;
    const struct wbi_tool_ops *ops;
    bool hidden; /* callable, not listed */
};

struct wbi_builtin_family {
    const char *name;
    const char *tools_json; /* array of descriptors */
    const size_t *tools_json_n;
    const struct wbi_builtin_tool *tools; /* ends with a NULL name */
};

/* Declare all of them. */
WB_MUST_CHECK wb_rc wbi_builtin_declare(struct wbi_catalog_builder *b, struct wbi_error *err);
/* The same in a runtime; for wbi_runtime_options.load_builtins. */
wb_rc wbi_builtin_load(struct wbi_runtime *rt, struct wbi_error *err);
/* An artifact by path, name, hash, or the id of a task that printed it. */
WB_MUST_CHECK wb_rc wbi_builtin_find_artifact(struct wbi_runtime *rt, struct wbi_str ref,
                                              struct wbi_artifact *ret, struct wbi_error *err);
/* All of them as a JSON array, newest first. */
WB_MUST_CHECK wb_rc wbi_builtin_list_artifacts(struct wbi_runtime *rt, struct wbi_buf *out,
                                               struct wbi_error *err);
/* The family that made a canonical result of that tool; NULL: none of these. */
const struct wbi_family *wbi_builtin_family_of(struct wbi_str tool_name);

#endif
