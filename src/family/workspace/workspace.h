/* SPDX-License-Identifier: Apache-2.0
 * family/workspace/workspace.h: where a conversation works, and the family that
 * shows it (C7.5). */
#ifndef WBI_FAMILY_WORKSPACE_WORKSPACE_H
#define WBI_FAMILY_WORKSPACE_WORKSPACE_H

#include "catalog/tool.h"
#include "family/file/file.h"

struct wbi_workspace_output {
    const char *disposition; /* "entered", "already_active", "exited", "not_entered", "state" */
    struct wbi_str workspace_root; /* host path */
    struct wbi_str active;         /* relative to it; "." is the workspace itself */
    struct wbi_str execution_root; /* host path */
    bool has_listing;              /* what stands directly in the execution root */
    struct wbi_list_result listing;
};

extern const struct wbi_family wbi_workspace_family; /* typed: struct wbi_workspace_output */

#endif
