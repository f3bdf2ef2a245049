/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch.h: patches of both forms (the Codex patch text and unified
 * diffs), applied to all files or to none.
 * Context decides where a hunk goes; line numbers only choose between places
 * that match. The engine is pure over struct wbi_patch_fs; wbi_patch_fs_path
 * gives the real one. All results live in the arena of the call. */
#ifndef WBI_FAMILY_FILE_PATCH_H
#define WBI_FAMILY_FILE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"

struct wbi_arena;
struct wbi_root;

/* ---- what the text says ---- */

enum wbi_patch_form { WBI_PATCH_CODEX, WBI_PATCH_UNIFIED };

enum wbi_patch_action {
    WBI_PATCH_ADD,
    WBI_PATCH_MODIFY,
    WBI_PATCH_DELETE,
    WBI_PATCH_MOVE /* with or without changes */
};

struct wbi_patch_line {
    struct wbi_str text; /* without the newline; a CR before it belongs to it */
    char op;             /* ' ' context, '-' removed, '+' added */
    bool no_newline;     /* "\ No newline at end of file" follows */
    bool bare;           /* empty, without a marker column: context, or a gap between parts */
};

struct wbi_patch_hunk {
    uint32_t at_line; /* of the hunk in the patch text, 1-based */
    bool has_numbers; /* the four below are given; hints only */
    uint32_t old_start, old_count, new_start, new_count;
    struct wbi_str *anchors; /* Codex "@@ text" lines, outermost first */
    size_t n_anchors;
    bool at_end; /* "*** End of File" */
    bool count_mismatch;
    struct wbi_patch_line *lines;
    size_t n_lines, n_old, n_new;
};

struct wbi_patch_file {
    enum wbi_patch_action action;
    uint32_t at_line;
    struct wbi_str path;      /* the new name */
    struct wbi_str from_path; /* MOVE: the old one, else absent */
    int exec;                 /* 1 set, 0 take away, -1 as it is */
    struct wbi_patch_hunk *hunks;
    size_t n_hunks;
};

struct wbi_patch {
    enum wbi_patch_form form;
    bool indented; /* the whole text was, as a quotation is */
    struct wbi_patch_file *files;
    size_t n_files;
};

/* ---- what went wrong, beside struct wbi_error ---- */

struct wbi_patch_candidate {
    uint32_t line;       /* 1-based place in the file */
    struct wbi_str text; /* up to 5 lines around it */
};

/* Filled only where it applies; path absent, rule NULL otherwise. */
struct wbi_patch_fault {
    const char *rule; /* invalid_patch_syntax: which rule of the grammar */
    struct wbi_str path;
    uint32_t line; /* in the patch text */
    uint32_t hunk; /* 1-based within the file, 0: none */
    struct wbi_patch_candidate candidates[WBI_LIMIT_PATCH_CANDIDATES];
    size_t n_candidates, candidates_total;
    bool has_divergence; /* context_not_found: where the best place breaks off */
    uint32_t candidate_line, matched_prefix_lines, file_line;
    struct wbi_str expected[3], actual[3];
    size_t n_expected, n_actual;
};

/* Parses either form. Errors: invalid_patch_syntax with fault->rule. text must
 * live as long as ret: the lines point into it. */
WB_MUST_CHECK wb_rc wbi_patch_parse(struct wbi_str text, struct wbi_arena *arena,
                                    struct wbi_error *err, struct wbi_patch_fault *fault,
                                    struct wbi_patch *ret);

/* ---- what is done ---- */

struct wbi_patch_hunk_result {
    uint32_t old_start, old_count, new_start, new_count;
    uint32_t added, removed;
};

struct wbi_patch_change {
    enum wbi_patch_action action;
    struct wbi_str path, from_path;
    struct wbi_patch_hunk_result *hunks;
    size_t n_hunks;
    uint32_t added, removed;
    struct wbi_str preview; /* unified, at most 80 lines */
    bool preview_truncated;
    int exec;   /* as in struct wbi_patch_file */
    bool again; /* an earlier change is of the same file */
};

struct wbi_patch_diagnostic {
    const char *kind; /* "whitespace_tolerant_match", "hunk_count_mismatch", … */
    struct wbi_str path;
    struct wbi_str message;
};

struct wbi_patch_result {
    enum wbi_patch_form form;
    struct wbi_patch_change *changes;
    size_t n_changes;
    uint32_t added, removed;
    struct wbi_patch_diagnostic *diagnostics;
    size_t n_diagnostics, diagnostics_total;
};

/* One change of the file system; data of a write is the whole new file. A file that is created
 * beneath one that is removed makes it a folder, and the reverse. */
enum wbi_patch_op_kind { WBI_PATCH_OP_CREATE, WBI_PATCH_OP_REPLACE, WBI_PATCH_OP_REMOVE };
struct wbi_patch_op {
    enum wbi_patch_op_kind kind;
    struct wbi_str real; /* as locate gave it */
    struct wbi_str data;
    struct wbi_str old; /* what the plan was made on (REPLACE, REMOVE) */
    int exec;
};

enum wbi_patch_locate {
    WBI_PATCH_THROUGH_LINK = 1u << 0, /* a link at the end is followed, else refused */
    WBI_PATCH_OVER_FILE = 1u << 1     /* a file on the way is to become a folder */
};

struct wbi_patch_fs {
    void *arg;
    /* The one true name of path for writing; refuses what may not be written. */
    wb_rc (*locate)(void *arg, struct wbi_str path, unsigned how, struct wbi_arena *arena,
                    struct wbi_error *err, struct wbi_str *ret_real);
    /* Content of a located file; *ret_exists false when there is none. */
    wb_rc (*read)(void *arg, struct wbi_str real, struct wbi_arena *arena, struct wbi_error *err,
                  bool *ret_exists, struct wbi_str *ret_data, bool *ret_exec);
    /* Fails with existing_file unless the located name is a folder with nothing in it but the
     * n located files and the folders that lead to them. */
    wb_rc (*holds_only)(void *arg, struct wbi_str folder, const struct wbi_str *files, size_t n,
                        struct wbi_error *err);
    /* All or nothing. file_changed when a target is no longer op.old. */
    wb_rc (*commit)(void *arg, const struct wbi_patch_op *ops, size_t n, struct wbi_arena *arena,
                    struct wbi_error *err);
};

enum wbi_patch_flags { WBI_PATCH_CHECK = 1u << 0 /* plan, touch nothing */ };

/* Errors: the kinds of wbi_patch_parse, context_not_found, ambiguous_context,
 * missing_file, existing_file, file_changed and those of path/path.h. On any
 * error no file has changed. fault is always initialised. */
WB_MUST_CHECK wb_rc wbi_patch_apply(struct wbi_str text, const struct wbi_patch_fs *fs,
                                    unsigned flags, struct wbi_arena *arena, struct wbi_error *err,
                                    struct wbi_patch_fault *fault, struct wbi_patch_result *ret);

/* ---- the real file system ---- */

struct wbi_patch_disk {
    struct wbi_root *root;
    struct wbi_root *journal; /* directory of the state; NULL: not safe over a crash */
    unsigned write_flags;     /* WBI_WRITE_GRANT or 0 */
    /* Tests: called before each step of the commit. */
    void (*step)(void *arg, const char *name, size_t index);
    void *step_arg;
};
/* disk must live as long as the result is used. */
struct wbi_patch_fs wbi_patch_fs_path(struct wbi_patch_disk *disk);

/* Ends what a crash left unfinished beneath root: a patch whose journal was
 * committed becomes all new, any other all old. Journals of other roots and of
 * living processes are left alone. Counts may be NULL. */
WB_MUST_CHECK wb_rc wbi_patch_recover(struct wbi_root *root, struct wbi_root *journal,
                                      struct wbi_arena *arena, struct wbi_error *err,
                                      unsigned *ret_finished, unsigned *ret_undone);

#endif
