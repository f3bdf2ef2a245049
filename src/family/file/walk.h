/* SPDX-License-Identifier: Apache-2.0
 * family/file/walk.h: everything beneath a directory, in one order that never
 * changes (names by bytes, a directory before what it holds), so that a walk
 * can be taken up again behind any path. Links are reported, never followed;
 * depth and memory are bounded however large a directory is. */
#ifndef WBI_FAMILY_FILE_WALK_H
#define WBI_FAMILY_FILE_WALK_H

#include "family/file/glob.h"
#include "path/path.h"

struct wbi_walk_options {
    unsigned max_depth; /* 0: as deep as the cap; 1: one level */
    bool hidden;        /* names starting with a dot too (never .git) */
    bool no_ignore;     /* do not read .gitignore and .ignore, also those of directories
                         * above up to the root, nor the root's .git/info/exclude */
};

struct wbi_walk_entry {
    struct wbi_str path; /* relative to where the walk began; until the next call */
    const char *name;    /* its last component */
    unsigned char type;  /* DT_* */
    unsigned depth;      /* 1: directly in the directory */
    int dir_fd;          /* directory that holds it */
};

struct wbi_walk;

/* after: path of the last entry already seen, absent to begin. */
WB_MUST_CHECK wb_rc wbi_walk_begin(struct wbi_root *root, struct wbi_str dir,
                                   const struct wbi_walk_options *options, struct wbi_str after,
                                   struct wbi_error *err, struct wbi_walk **ret);
/* *ret_more false at the end. Directories that vanish or may not be read are
 * counted and passed over; without a descriptor to be had the walk fails. */
WB_MUST_CHECK wb_rc wbi_walk_next(struct wbi_walk *w, struct wbi_error *err,
                                  struct wbi_walk_entry *ret, bool *ret_more);
/* Of an entry that could not be opened: WB_OK, it is to be passed over; an error where that
 * says nothing of the entry, for nothing else could be opened either. */
WB_MUST_CHECK wb_rc wbi_walk_not_opened(struct wbi_str path, int errno_value,
                                        struct wbi_error *err);
unsigned wbi_walk_unreadable(const struct wbi_walk *w);
unsigned wbi_walk_too_deep(const struct wbi_walk *w);
/* NULL is fine. */
void wbi_walk_end(struct wbi_walk *w);

#endif
