/* SPDX-License-Identifier: Apache-2.0
 * builtin/file_int.h: the file tools among themselves. */
#ifndef WBI_BUILTIN_FILE_INT_H
#define WBI_BUILTIN_FILE_INT_H

#include "builtin/job.h"

/* Where journals of patches beneath one root are kept: STATE/patches/root, or
 * STATE/patches/HASH beside HASH.path for a root further down. state: host path
 * of the state directory, already checked; path: of the root beneath the
 * workspace. Counted. Any thread. */
WB_MUST_CHECK wb_rc wbi_patches_journal(const char *state, struct wbi_str path,
                                        struct wbi_error *err, struct wbi_root **ret);
/* Ends what a crash has left beneath the workspace and its directories, as far
 * as that can be done now: ApplyPatch tries again, and says why it cannot. */
void wbi_patches_recover(struct wbi_runtime *rt);

/* Gives the error of rc, if it is one, the input's path as a detail; returns rc. */
wb_rc wbi_job_tell_path(struct wbi_job *j, wb_rc rc);

/* Whether guarded names may be written here (settings files.allowGuarded). */
bool wbi_guarded_granted(const struct wbi_runtime *rt);

extern const struct wbi_tool_ops wbi_read_file_ops;
extern const struct wbi_tool_ops wbi_list_files_ops;
extern const struct wbi_tool_ops wbi_search_files_ops;
extern const struct wbi_tool_ops wbi_write_file_ops;
extern const struct wbi_tool_ops wbi_apply_patch_ops;

#endif
