/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_unified.c: unified diffs, with or without git's headers.
 * Text before the first file is skipped as mail and commit messages are. Wrong
 * counts in a hunk header are a diagnostic, since context decides; binary
 * patches, links, submodules, copies and set-id modes are refused. */
#include "family/file/patch_int.h"

#include <stdio.h>

#include "base/clock.h"

struct header {
    bool git, is_new, is_deleted, rename;
    struct wbi_str old_name, new_name; /* of --- and +++; absent: /dev/null */
    struct wbi_str git_name;           /* of "diff --git", without prefixes; both are the same */
    struct wbi_str rename_from, rename_to;
    bool old_epoch, new_epoch; /* the date says that there was no such file */
    int exec;
};

static bool starts(struct wbi_str s, const char *z)
{
    return wbi_str_starts(s, wbi_str_z(z));
}

static struct wbi_str strip_cr(struct wbi_str s)
{
    return s.n > 0 && s.p[s.n - 1] == '\r' ? wbi_str_head(s, s.n - 1) : s;
}

/* ---- names ---- */

static int escape_value(struct wbi_str s, size_t *at)
{
    static const char from[] = "abtnvfr\"\\", to[] = "\a\b\t\n\v\f\r\"\\";
    const char *hit;

    if (*at >= s.n)
        return -1;
    hit = s.p[*at] ? strchr(from, s.p[*at]) : NULL;
    if (hit != NULL) {
        (*at)++;
        return (unsigned char)to[hit - from];
    }
    if (*at + 3 > s.n || s.p[*at] < '0' || s.p[*at] > '3')
        return -1;
    for (size_t i = 1; i < 3; i++)
        if (s.p[*at + i] < '0' || s.p[*at + i] > '7')
            return -1;
    *at += 3;
    return (s.p[*at - 3] - '0') * 64 + (s.p[*at - 2] - '0') * 8 + (s.p[*at - 1] - '0');
}

static wb_rc bad_quoting(struct wbi_patch_parser *p)
{
    return wbi_patch_syntax(p, "invalid_git_header", "the quoted name is not well-formed");
}

/* A name in double quotes with C escapes; *ret_used counts the quotes. */
static wb_rc unquote(struct wbi_patch_parser *p, struct wbi_str s, struct wbi_str *ret,
                     size_t *ret_used)
{
    char *out = wbi_arena_alloc(p->arena, s.n);
    size_t n = 0, at = 1;

    if (out == NULL)
        return wbi_fail_nomem(p->err);
    while (at < s.n) {
        char c = s.p[at++];

        if (c == '"') {
            *ret = wbi_str_make(out, n);
            *ret_used = at;
            return WB_OK;
        }
        if (c == '\\') {
            int v = escape_value(s, &at);
            if (v < 0)
                return bad_quoting(p);
            c = (char)v;
        }
        out[n++] = c;
    }
    return bad_quoting(p);
}

/* The name on a line: quoted, or up to a tab (a date follows; git writes one behind a name
 * with a space, which may end with it) or the end, where spaces are stray. */
static wb_rc line_name(struct wbi_patch_parser *p, struct wbi_str s, struct wbi_str *ret)
{
    size_t used;
    wb_rc rc = WB_OK;

    s = strip_cr(s);
    if (s.n > 0 && s.p[0] == '"') {
        rc = unquote(p, s, ret, &used);
        if (rc != WB_OK)
            return rc;
    } else {
        size_t tab = wbi_str_index(s, '\t');

        *ret = wbi_str_head(s, tab);
        while (tab == s.n && ret->n > 0 && ret->p[ret->n - 1] == ' ')
            ret->n--;
    }
    if (ret->n == 0)
        return wbi_patch_syntax(p, "missing_file_header", "the file name is missing");
    return WB_OK;
}

static bool is_dev_null(struct wbi_str s)
{
    return wbi_str_eqz(s, "/dev/null");
}

/* Both names carry a prefix of git (a/ b/, or i/ w/ c/ o/)? */
static bool has_prefix(struct wbi_str s)
{
    return s.n > 2 && s.p[1] == '/' && strchr("abiwco", s.p[0]) != NULL;
}

static struct wbi_str beneath_first(struct wbi_str s)
{
    return wbi_str_from(s, wbi_str_index(s, '/') + 1);
}

/* `diff -r OLD NEW`: the names go on alike behind directories that differ. */
static void strip_directories(struct wbi_str *a, struct wbi_str *b)
{
    struct wbi_str rest = beneath_first(*a);

    if (rest.n > 0 && wbi_str_eq(rest, beneath_first(*b)) && !wbi_str_eq(*a, *b))
        *a = *b = rest;
}

static void strip_prefixes(struct wbi_str *a, struct wbi_str *b)
{
    bool pa = has_prefix(*a), pb = has_prefix(*b);

    if (is_dev_null(*a) ? pb : is_dev_null(*b) ? pa : pa && pb && a->p[0] != b->p[0]) {
        if (!is_dev_null(*a))
            *a = wbi_str_from(*a, 2);
        if (!is_dev_null(*b))
            *b = wbi_str_from(*b, 2);
    } else if (!is_dev_null(*a) && !is_dev_null(*b)) {
        strip_directories(a, b);
    }
}

#define TWO_NAMES 8192 /* no two paths are as long */

/* Is the blank at this place between two names that are the same without prefixes? */
static bool same_name(struct wbi_str s, size_t at, struct wbi_str *ret)
{
    struct wbi_str a = wbi_str_head(s, at), b = wbi_str_from(s, at + 1);

    if (at == 0 || s.p[at] != ' ')
        return false;
    strip_prefixes(&a, &b);
    if (!wbi_str_eq(a, b))
        return false;
    *ret = a;
    return true;
}

/* "diff --git X Y": quoted, or two names that are the same without prefixes.
 * Where they differ the rename lines or ---/+++ give them. */
static wb_rc git_names(struct wbi_patch_parser *p, struct wbi_str s, struct header *h)
{
    size_t used;
    struct wbi_str a, b;
    wb_rc rc = WB_OK;

    s = strip_cr(s);
    if (s.n > 0 && s.p[0] == '"') {
        rc = unquote(p, s, &a, &used);
        if (rc == WB_OK && (used >= s.n || s.p[used] != ' '))
            rc = bad_quoting(p);
        if (rc != WB_OK)
            return rc;
        b = wbi_str_from(s, used + 1);
        if (b.n > 0 && b.p[0] == '"')
            rc = unquote(p, b, &b, &used);
        if (rc != WB_OK)
            return rc;
        strip_prefixes(&a, &b);
        if (wbi_str_eq(a, b))
            h->git_name = a;
        return WB_OK;
    }
    if (s.n % 2 == 1 && same_name(s, s.n / 2, &h->git_name))
        return WB_OK;
    for (size_t at = 1; at + 1 < s.n && s.n < TWO_NAMES; at++)
        if (same_name(s, at, &h->git_name))
            break;
    return WB_OK;
}

/* ---- git's extended header ---- */

static wb_rc mode_line(struct wbi_patch_parser *p, struct wbi_str mode, bool is_new_side,
                       struct header *h)
{
    mode = wbi_str_trim(mode);
    if (wbi_str_eqz(mode, "100644") || wbi_str_eqz(mode, "100664") || wbi_str_eqz(mode, "100600")) {
        if (is_new_side)
            h->exec = 0;
        return WB_OK;
    }
    if (wbi_str_eqz(mode, "100755") || wbi_str_eqz(mode, "100775") || wbi_str_eqz(mode, "100700")) {
        if (is_new_side)
            h->exec = 1;
        return WB_OK;
    }
    return wbi_patch_syntax(p, "unsupported_git_patch_feature",
                            "only regular files of mode 100644 and 100755 are patched (no links, "
                            "submodules, set-id bits)");
}

/* "index aa..bb 100644": a mode here means it did not change. */
static wb_rc index_line(struct wbi_patch_parser *p, struct wbi_str rest, struct header *h)
{
    size_t space = wbi_str_index(rest, ' ');

    if (space == rest.n)
        return WB_OK;
    return mode_line(p, wbi_str_from(rest, space + 1), false, h);
}

/* True when the line belongs to the extended header. */
static wb_rc extended_line(struct wbi_patch_parser *p, struct header *h, bool *ret_taken)
{
    struct wbi_str l = strip_cr(p->line);

    *ret_taken = true;
    if (starts(l, "old mode "))
        return mode_line(p, wbi_str_from(l, 9), false, h);
    if (starts(l, "new mode "))
        return mode_line(p, wbi_str_from(l, 9), true, h);
    if (starts(l, "deleted file mode ")) {
        h->is_deleted = true;
        return mode_line(p, wbi_str_from(l, 18), false, h);
    }
    if (starts(l, "new file mode ")) {
        h->is_new = true;
        return mode_line(p, wbi_str_from(l, 14), true, h);
    }
    if (starts(l, "rename from ") || starts(l, "rename old ")) {
        h->rename = true;
        return line_name(p, wbi_str_from(l, starts(l, "rename from ") ? 12 : 11), &h->rename_from);
    }
    if (starts(l, "rename to ") || starts(l, "rename new ")) {
        h->rename = true;
        return line_name(p, wbi_str_from(l, starts(l, "rename to ") ? 10 : 11), &h->rename_to);
    }
    if (starts(l, "index "))
        return index_line(p, wbi_str_from(l, 6), h);
    if (starts(l, "copy from ") || starts(l, "copy to "))
        return wbi_patch_syntax(p, "unsupported_git_patch_feature", "copies are not supported");
    if (starts(l, "GIT binary patch") || starts(l, "Binary files "))
        return wbi_patch_syntax(p, "unsupported_git_patch_feature",
                                "binary patches are not supported");
    if (starts(l, "similarity index ") || starts(l, "dissimilarity index "))
        return WB_OK;
    *ret_taken = false;
    return WB_OK;
}

static bool at_file_header(const struct wbi_patch_parser *p)
{
    return starts(p->line, "--- ") && starts(wbi_patch_peek(p), "+++ ");
}

/* The name of a file that is not there is dated to the epoch by `diff -N`, in whatever
 * zone: "NAME\t1970-01-01 01:00:00.000000000 +0100". */
static bool dated_epoch(struct wbi_str line)
{
    struct wbi_str s = strip_cr(wbi_str_from(line, wbi_str_index(line, '\t') + 1));
    char text[48]; /* with the T and the colon of RFC 3339 */
    int64_t ms;
    int n;

    if (s.n < 25 || s.n > 40 || s.p[10] != ' ' || s.p[s.n - 6] != ' ')
        return false;
    n = snprintf(text, sizeof(text), "%.10sT%.*s%.3s:%.2s", s.p, (int)(s.n - 17), s.p + 11,
                 s.p + s.n - 5, s.p + s.n - 2);
    return wbi_time_parse(wbi_str_make(text, (size_t)n), &ms) && ms == 0;
}

/* Do the names stand as git's header has them, so that no prefix is on them (--no-prefix)? */
static bool names_are_plain(const struct header *h)
{
    struct wbi_str from = h->rename ? h->rename_from : h->git_name;
    struct wbi_str to = h->rename ? h->rename_to : h->git_name;

    return from.p != NULL && to.p != NULL &&
           (is_dev_null(h->old_name) || wbi_str_eq(h->old_name, from)) &&
           (is_dev_null(h->new_name) || wbi_str_eq(h->new_name, to));
}

/* A prefix of one's own (--src-prefix=old/), where git's header tells what is behind it. */
static void strip_to(struct wbi_str known, struct wbi_str *name)
{
    if (known.p != NULL && !is_dev_null(*name) && wbi_str_eq(beneath_first(*name), known))
        *name = known;
}

static wb_rc name_lines(struct wbi_patch_parser *p, struct header *h)
{
    wb_rc rc = line_name(p, wbi_str_from(p->line, 4), &h->old_name);

    h->old_epoch = dated_epoch(p->line);
    wbi_patch_next(p);
    h->new_epoch = dated_epoch(p->line);
    if (rc == WB_OK)
        rc = line_name(p, wbi_str_from(p->line, 4), &h->new_name);
    if (rc)
        return rc;
    if (!names_are_plain(h)) {
        strip_prefixes(&h->old_name, &h->new_name);
        strip_to(h->rename ? h->rename_from : h->git_name, &h->old_name);
        strip_to(h->rename ? h->rename_to : h->git_name, &h->new_name);
    }
    if (is_dev_null(h->old_name) && is_dev_null(h->new_name))
        return wbi_patch_syntax(p, "missing_file_header", "both names are /dev/null");
    wbi_patch_next(p);
    return WB_OK;
}

/* ---- hunks ---- */

/* After a complete hunk: does the line still read as part of it? */
static bool runs_on(const struct wbi_patch_parser *p)
{
    struct wbi_str l = p->line;

    if (l.n == 0 || at_file_header(p) || wbi_str_eqz(wbi_str_trim(l), "--"))
        return false;
    return l.p[0] == ' ' || l.p[0] == '+' || l.p[0] == '-';
}

static wb_rc no_newline(struct wbi_patch_parser *p, struct wbi_patch_hunk *h)
{
    if (h->n_lines == 0)
        return wbi_patch_syntax(p, "invalid_hunk_line", "`\\ No newline` follows no line");
    h->lines[h->n_lines - 1].no_newline = true;
    return WB_OK;
}

/* Empty lines at the end of a hunk with wrong counts only separate. */
static void drop_blank_tail(struct wbi_patch_hunk *h)
{
    while (h->n_lines > 0 && h->lines[h->n_lines - 1].op == ' ' &&
           h->lines[h->n_lines - 1].text.n == 0) {
        h->n_lines--;
        h->n_old--;
        h->n_new--;
    }
}

static wb_rc hunk_line(struct wbi_patch_parser *p, struct wbi_patch_hunk *h)
{
    struct wbi_str l = p->line;

    if (l.n == 0 || (l.n == 1 && l.p[0] == '\r'))
        return wbi_patch_add_line(p, ' ', l);
    if (l.p[0] == '\\')
        return no_newline(p, h);
    if (l.p[0] == ' ' || l.p[0] == '+' || l.p[0] == '-')
        return wbi_patch_add_line(p, l.p[0], wbi_str_from(l, 1));
    return wbi_patch_syntax(p, "invalid_hunk_line",
                            "a line of a hunk starts with ` `, `+`, `-` or `\\`");
}

static wb_rc hunk_lines(struct wbi_patch_parser *p, struct wbi_patch_hunk *h)
{
    wb_rc rc = WB_OK;

    while (rc == WB_OK && !p->ended) {
        struct wbi_str l = p->line;
        bool full = h->n_old >= h->old_count && h->n_new >= h->new_count;

        if (starts(l, "\\"))
            rc = no_newline(p, h);
        else if (full ? !runs_on(p) : starts(l, "@@ ") || starts(l, "diff --git "))
            break;
        else if (!full && (starts(l, "```") || (at_file_header(p) && h->n_old + 1 > h->old_count)))
            break;
        else
            rc = hunk_line(p, h);
        if (rc == WB_OK)
            wbi_patch_next(p);
    }
    if (h->n_old != h->old_count || h->n_new != h->new_count)
        drop_blank_tail(h);
    h->count_mismatch = h->n_old != h->old_count || h->n_new != h->new_count;
    return rc;
}

/* "@@", "@@ @@" and "@@ ... @@": models leave the numbers out. */
static bool has_no_numbers(struct wbi_str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (strchr("@. \t\r", line.p[i]) == NULL)
            return false;
    return true;
}

/* The lines of a hunk that announces no counts: up to what cannot be one. */
static wb_rc open_hunk_lines(struct wbi_patch_parser *p, struct wbi_patch_hunk *h)
{
    wb_rc rc = WB_OK;

    while (rc == WB_OK && !p->ended && !starts(p->line, "@@") && !starts(p->line, "diff --git ") &&
           !starts(p->line, "```") && !at_file_header(p)) {
        rc = hunk_line(p, h);
        wbi_patch_next(p);
    }
    drop_blank_tail(h);
    h->old_count = (uint32_t)h->n_old;
    h->new_count = (uint32_t)h->n_new;
    return rc;
}

static wb_rc one_hunk(struct wbi_patch_parser *p)
{
    struct wbi_patch_hunk *h = wbi_patch_new_hunk(p);
    wb_rc rc;

    if (h == NULL)
        return wbi_fail_nomem(p->err);
    if (!has_no_numbers(p->line) && !wbi_patch_hunk_numbers(wbi_str_from(p->line, 3), h))
        return wbi_patch_syntax(p, "invalid_hunk_header",
                                "a hunk header reads `@@ -start,count +start,count @@`");
    wbi_patch_next(p);
    rc = h->has_numbers ? hunk_lines(p, h) : open_hunk_lines(p, h);
    if (rc == WB_OK && h->n_lines == 0)
        rc = wbi_patch_syntax(p, "missing_hunk", "the hunk holds no line");
    return rc;
}

/* ---- a whole file ---- */

static wb_rc settle_names(struct wbi_patch_parser *p, struct header *h, struct wbi_patch_file *f)
{
    bool from_null = is_dev_null(h->old_name), to_null = is_dev_null(h->new_name);

    if (h->rename && (h->rename_from.p == NULL || h->rename_to.p == NULL))
        return wbi_patch_syntax(p, "missing_rename_header", "a rename names both paths");
    if (h->rename) {
        f->action = WBI_PATCH_MOVE;
        f->from_path = h->rename_from;
        f->path = h->rename_to;
        if (h->old_name.p != NULL &&
            (!wbi_str_eq(h->old_name, h->rename_from) || !wbi_str_eq(h->new_name, h->rename_to)))
            return wbi_patch_syntax(p, "path_header_mismatch",
                                    "the rename lines and the ---/+++ lines disagree");
        return WB_OK;
    }
    f->action = h->is_new || from_null     ? WBI_PATCH_ADD
                : h->is_deleted || to_null ? WBI_PATCH_DELETE
                                           : WBI_PATCH_MODIFY;
    f->path = h->old_name.p == NULL ? h->git_name : to_null ? h->old_name : h->new_name;
    if (f->path.p == NULL)
        return wbi_patch_syntax(p, "invalid_git_header", "the names of the git header differ");
    if (h->git_name.p != NULL && !wbi_str_eq(h->git_name, f->path))
        return wbi_patch_syntax(p, "path_header_mismatch",
                                "the git header and the ---/+++ lines disagree");
    if (h->old_name.p != NULL && !from_null && !to_null && !wbi_str_eq(h->old_name, h->new_name)) {
        if (h->git)
            return wbi_patch_syntax(p, "path_header_mismatch", "--- and +++ name different files");
        /* A diff of a copy: "--- x.orig", "+++ x". */
        if (!wbi_str_eqz(wbi_str_from(h->old_name, h->new_name.n), ".orig") ||
            !wbi_str_starts(h->old_name, h->new_name))
            return wbi_patch_syntax(p, "path_header_mismatch", "--- and +++ name different files");
    }
    return WB_OK;
}

/* Only with the whole file on one side: some systems date all files to the epoch. */
static void settle_dates(const struct header *h, struct wbi_patch_file *f)
{
    if (h->git || f->action != WBI_PATCH_MODIFY || f->n_hunks != 1 || !f->hunks[0].has_numbers)
        return;
    if (h->old_epoch && !h->new_epoch && f->hunks[0].n_old == 0)
        f->action = WBI_PATCH_ADD;
    else if (h->new_epoch && !h->old_epoch && f->hunks[0].n_new == 0)
        f->action = WBI_PATCH_DELETE;
}

#define NO_HUNK "the file has no hunk; one begins with `@@ -start,count +start,count @@`"

static wb_rc check_shape(struct wbi_patch_parser *p, const struct header *h,
                         const struct wbi_patch_file *f)
{
    if ((h->is_new && h->old_name.p != NULL && !is_dev_null(h->old_name)) ||
        (h->is_deleted && h->old_name.p != NULL && !is_dev_null(h->new_name)))
        return wbi_patch_syntax(p, "path_header_mismatch",
                                "the mode line and the ---/+++ lines disagree");
    if (f->n_hunks == 0 && !h->git)
        return wbi_patch_syntax(p, "missing_hunk", NO_HUNK);
    if (f->n_hunks == 0 && f->action == WBI_PATCH_MODIFY && f->exec < 0)
        return wbi_patch_syntax(p, "missing_hunk", NO_HUNK);
    if (f->action == WBI_PATCH_ADD && f->n_hunks > 0 && (f->n_hunks > 1 || f->hunks[0].n_old > 0))
        return wbi_patch_syntax(p, "invalid_hunk_line", "a new file has only added lines");
    if (f->action == WBI_PATCH_DELETE)
        for (size_t i = 0; i < f->n_hunks; i++)
            if (f->hunks[i].n_new > 0)
                return wbi_patch_syntax(p, "invalid_hunk_line",
                                        "a deleted file has only removed lines");
    return WB_OK;
}

static wb_rc one_file(struct wbi_patch_parser *p)
{
    struct header h = {.exec = -1};
    struct wbi_patch_file *f = wbi_patch_new_file(p, WBI_PATCH_MODIFY);
    bool taken = true;
    wb_rc rc = WB_OK;

    if (f == NULL)
        return wbi_fail_nomem(p->err);
    if (starts(p->line, "diff --git ")) {
        h.git = true;
        rc = git_names(p, wbi_str_from(p->line, 11), &h);
        wbi_patch_next(p);
        while (rc == WB_OK && taken && !p->ended) {
            rc = extended_line(p, &h, &taken);
            if (rc == WB_OK && taken)
                wbi_patch_next(p);
        }
    }
    if (rc == WB_OK && at_file_header(p))
        rc = name_lines(p, &h);
    if (rc == WB_OK)
        rc = settle_names(p, &h, f);
    f->exec = h.exec;
    while (rc == WB_OK && starts(p->line, "@@"))
        rc = one_hunk(p);
    if (rc == WB_OK)
        settle_dates(&h, f);
    if (rc == WB_OK && f->action == WBI_PATCH_ADD && f->exec == 0)
        f->exec = -1;
    return rc ? rc : check_shape(p, &h, f);
}

wb_rc wbi_patch_parse_unified(struct wbi_patch_parser *p)
{
    wb_rc rc = WB_OK;
    bool any = false;

    while (rc == WB_OK && !p->ended) {
        if (starts(p->line, "diff --git ") || at_file_header(p)) {
            any = true;
            rc = one_file(p);
        } else if (starts(p->line, "@@ -")) {
            return wbi_patch_syntax(p, "missing_file_header",
                                    "a hunk stands before any `--- ` and `+++ ` lines");
        } else if (starts(p->line, "*** End Patch") || starts(p->line, "*** Update File:")) {
            return wbi_patch_syntax(p, "wrong_patch_format",
                                    any ? "the text mixes the two forms; send one of them"
                                        : "the Codex form begins with the line `*** Begin Patch`, "
                                          "which is missing");
        } else if (starts(p->line, "GIT binary patch") ||
                   (starts(p->line, "Binary files ") && any)) {
            return wbi_patch_syntax(p, "unsupported_git_patch_feature",
                                    "binary patches are not supported");
        } else {
            wbi_patch_next(p);
        }
    }
    return rc == WB_OK && !any ? wbi_patch_unknown_format(p) : rc;
}
