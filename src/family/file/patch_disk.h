/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_disk.h: between committing a patch and recovering one.
 * A journal is a text file of the state directory, locked while its process
 * lives:
 *   waybill-patch 1 DEV INO            the root
 *   c|r|d TEMP KEEP HEXPATH            create, replace, delete; KEEP bytes of
 *                                      the path are folders that existed
 *   x TEMP KEEP HEXPATH                a file becomes a folder or the reverse:
 *                                      TEMP and the path change places
 *   m TEMP KEEP HEXPATH                a file in that folder; TEMP is the one of
 *                                      its x, KEEP bytes of the path name it
 *   i NEW OLD                          inodes, one line an entry, in order
 *   commit HASH                        of all before; without it all stays old
 */
#ifndef WBI_FAMILY_FILE_PATCH_DISK_H
#define WBI_FAMILY_FILE_PATCH_DISK_H

#include "base/arena.h"
#include "base/buf.h"
#include "family/file/patch.h"
#include "path/path.h"

#define WBI_JOURNAL_SEED UINT64_C(0x77617962696c6c31)

struct wbi_journal_entry {
    char kind; /* 'c', 'r', 'd', 'x', 'm' */
    char temp[48];
    uint32_t keep;
    struct wbi_str path; /* relative to the root */
    uint64_t new_ino, old_ino;
};

void wbi_journal_head(struct wbi_buf *b, const struct stat *root);
void wbi_journal_entry(struct wbi_buf *b, const struct wbi_journal_entry *e);
/* The lines that make it final; b holds everything before. */
void wbi_journal_commit(struct wbi_buf *b, const struct wbi_journal_entry *e, size_t n);

/* Removes the folders of path beyond its first keep bytes while they are empty. */
void wbi_journal_drop_dirs(struct wbi_root *root, const struct wbi_journal_entry *e);

/* ---- files that become folders and the reverse (patch_nest.c) ---- */

#define WBI_NEST_NONE SIZE_MAX

/* For each op the one whose file or folder it is beneath, or WBI_NEST_NONE. */
void wbi_nest_owners(const struct wbi_patch_op *ops, size_t n, size_t *owner);
/* Where the file of an m entry is while its folder has the temporary name. */
struct wbi_str wbi_nest_place(const struct wbi_journal_entry *e, struct wbi_arena *arena);
/* Takes an m entry's file from there, and the folders that are empty then. */
void wbi_nest_drop(struct wbi_root *root, const struct wbi_journal_entry *e,
                   struct wbi_arena *arena);
/* Nothing lies in the folder at place but the files, which are named beneath folder. */
WB_MUST_CHECK wb_rc wbi_nest_holds_only(struct wbi_root *root, struct wbi_str place,
                                        struct wbi_str folder, const struct wbi_str *files,
                                        size_t n, struct wbi_error *err);

#endif
