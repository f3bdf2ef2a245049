/* SPDX-License-Identifier: Apache-2.0
 * family/file/glob.h: globs over paths and the ignore files that use them. */
#ifndef WBI_FAMILY_FILE_GLOB_H
#define WBI_FAMILY_FILE_GLOB_H

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"

struct wbi_arena;

/* One pattern over a whole path: * and ? stay within a component, ** spans
 * them, [a-z] and [!a-z], backslash escapes. No recursion. */
bool wbi_path_glob(struct wbi_str pattern, struct wbi_str path);

/* A caller's glob: {a,b} alternatives; without a slash it is matched against
 * the last component, else against the whole path. */
struct wbi_globs {
    struct wbi_str *patterns;
    size_t n;
};
/* absent or empty: everything matches. WB_EINPUT: too long or too many. */
WB_MUST_CHECK wb_rc wbi_globs_compile(struct wbi_str glob, struct wbi_arena *arena,
                                      struct wbi_error *err, struct wbi_globs *ret);
bool wbi_globs_match(const struct wbi_globs *g, struct wbi_str path);

/* ---- ignore files (gitignore semantics) ---- */

enum wbi_ignore_verdict { WBI_IGNORE_NONE, WBI_IGNORE_YES, WBI_IGNORE_NO };

struct wbi_ignore_rule {
    size_t at, n;   /* pattern within text */
    size_t literal; /* bytes of it up to the first special one */
    bool negated, dir_only, anchored;
};
/* The rules of one directory; heap memory of its own. */
struct wbi_ignore {
    struct wbi_buf text;
    struct wbi_buf rules; /* of struct wbi_ignore_rule */
};
void wbi_ignore_init(struct wbi_ignore *ig);
void wbi_ignore_fini(struct wbi_ignore *ig);
/* Adds the rules of a file; later ones win. */
WB_MUST_CHECK wb_rc wbi_ignore_add(struct wbi_ignore *ig, struct wbi_str text);
/* path relative to the directory of the rules. */
enum wbi_ignore_verdict wbi_ignore_match(const struct wbi_ignore *ig, struct wbi_str path,
                                         bool is_dir);

#endif
