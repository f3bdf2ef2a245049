/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_int.h: between the parts of the patch engine. */
#ifndef WBI_FAMILY_FILE_PATCH_INT_H
#define WBI_FAMILY_FILE_PATCH_INT_H

#include "base/arena.h"
#include "base/buf.h"
#include "family/file/patch.h"

/* ---- growing arrays in the arena ---- */

/* Room for one more item of size at *items (count n, capacity *cap); NULL when
 * out of memory. */
void *wbi_patch_push(struct wbi_arena *arena, void *items_ptr, size_t n, size_t *cap, size_t size);

static inline bool wbi_patch_beneath(struct wbi_str path, struct wbi_str folder)
{
    return path.n > folder.n && path.p[folder.n] == '/' && wbi_str_starts(path, folder);
}

/* ---- parsing ---- */

struct wbi_patch_parser {
    struct wbi_arena *arena;
    struct wbi_error *err;
    struct wbi_patch_fault *fault;
    struct wbi_patch *patch;
    struct wbi_str text;
    struct wbi_str indent; /* that every line has; not part of `line` */
    size_t at;             /* offset of the line after `line` */
    uint32_t line_no;      /* of `line` */
    struct wbi_str line;   /* current one, without its newline */
    bool ended;
    bool crlf; /* the text itself came with CRLF: no line's CR is content */
    size_t files_cap, hunks_cap, lines_cap, anchors_cap, n_hunks_total;
};

/* Moves to the next line; at the end `ended` is set and line is empty. */
void wbi_patch_next(struct wbi_patch_parser *p);
/* The line after the current one, without moving. */
struct wbi_str wbi_patch_peek(const struct wbi_patch_parser *p);
wb_rc wbi_patch_syntax(struct wbi_patch_parser *p, const char *rule, const char *what);
/* The same for a text that is no patch at all, at its first line. */
wb_rc wbi_patch_unknown_format(struct wbi_patch_parser *p);
struct wbi_patch_file *wbi_patch_new_file(struct wbi_patch_parser *p, enum wbi_patch_action action);
struct wbi_patch_hunk *wbi_patch_new_hunk(struct wbi_patch_parser *p);
wb_rc wbi_patch_add_line(struct wbi_patch_parser *p, char op, struct wbi_str text);
/* "-12,3 +12,4 @@" after the leading "@@ ". False unless well-formed. */
bool wbi_patch_hunk_numbers(struct wbi_str s, struct wbi_patch_hunk *h);

wb_rc wbi_patch_parse_codex(struct wbi_patch_parser *p);
wb_rc wbi_patch_parse_unified(struct wbi_patch_parser *p);

/* ---- files as lines ---- */

struct wbi_patch_text {
    struct wbi_str data;
    struct wbi_str *lines; /* with their line ends; BOM left out of the first */
    size_t n;
    size_t bom; /* 0 or 3 bytes before the first line */
    bool crlf;  /* most lines end so */
    bool final_newline;
};
wb_rc wbi_patch_split(struct wbi_str data, struct wbi_arena *arena, struct wbi_patch_text *ret);
/* A file's line without its line end. */
struct wbi_str wbi_patch_bare(struct wbi_str line);

/* ---- finding ---- */

enum wbi_patch_tier {
    WBI_TIER_RAW,      /* every byte, line ends included */
    WBI_TIER_TEXT,     /* line ends aside */
    WBI_TIER_TRAILING, /* and white space at line ends */
    WBI_TIER_SPACE,    /* and at line starts */
    WBI_TIER_PUNCT,    /* and typographic punctuation */
    WBI_TIER_COUNT
};

struct wbi_patch_place {
    size_t at; /* index of the first line */
    enum wbi_patch_tier tier;
};

/* Where hunk goes in text at or after line index `from`. Errors:
 * context_not_found, ambiguous_context, with fault filled. */
wb_rc wbi_patch_find(const struct wbi_patch_text *text, const struct wbi_patch_hunk *hunk,
                     enum wbi_patch_form form, size_t from, struct wbi_arena *arena,
                     struct wbi_error *err, struct wbi_patch_fault *fault,
                     struct wbi_patch_place *ret);

/* ---- building ---- */

struct wbi_patch_build {
    const struct wbi_patch_text *text;
    const struct wbi_patch_file *file;
    enum wbi_patch_form form;
    const struct wbi_patch_place *places;
};
wb_rc wbi_patch_new_content(const struct wbi_patch_build *b, struct wbi_arena *arena,
                            struct wbi_error *err, struct wbi_str *ret);
wb_rc wbi_patch_describe(const struct wbi_patch_build *b, struct wbi_arena *arena,
                         struct wbi_error *err, struct wbi_patch_change *ret);

#endif
