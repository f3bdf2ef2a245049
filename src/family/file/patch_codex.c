/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_codex.c: the Codex patch text.
 *   *** Begin Patch
 *   *** Add File: P      then + lines
 *   *** Delete File: P
 *   *** Update File: P   [*** Move to: P], then hunks of "@@ anchor" and
 *                        context, - and + lines, [*** End of File]
 *   *** End Patch
 * Tolerated, because models write it: white space around markers, a sentence,
 * a fence or a heredoc line in front, all lines indented, a bare empty line for an empty context
 * line, "@@ -1,2 +1,3 @@" (its numbers become hints), "@@ anchor @@", nothing after the first
 * "*** End Patch" being read. */
#include "family/file/patch_int.h"

static struct wbi_str marker(struct wbi_str line)
{
    return wbi_str_trim(line);
}

static bool is_marker(struct wbi_str line, const char *text)
{
    return wbi_str_eqz(marker(line), text);
}

/* "*** Add File: path" → path; false for another line. */
static bool names_file(struct wbi_str line, const char *head, struct wbi_str *ret)
{
    struct wbi_str m = marker(line), h = wbi_str_z(head);

    if (!wbi_str_starts(m, h))
        return false;
    *ret = wbi_str_trim(wbi_str_from(m, h.n));
    return true;
}

static bool at_section(const struct wbi_patch_parser *p)
{
    /* A context line may hold such text only behind its marker column. */
    return p->ended || wbi_str_starts(p->line, WBI_LIT("*** "));
}

static struct wbi_str without_cr(struct wbi_str s)
{
    return s.n > 0 && s.p[s.n - 1] == '\r' ? wbi_str_head(s, s.n - 1) : s;
}

/* What stands behind the marker column. */
static struct wbi_str content(const struct wbi_patch_parser *p, struct wbi_str line)
{
    line = wbi_str_from(line, 1);
    return p->crlf ? without_cr(line) : line;
}

/* Passes over empty lines before a first hunk, or behind a last. Those that lead to a line
 * of a change are context, whether or not they kept their marker column. */
static bool pass_separators(struct wbi_patch_parser *p)
{
    struct wbi_patch_parser ahead = *p;

    while (!ahead.ended && wbi_str_trim(ahead.line).n == 0)
        wbi_patch_next(&ahead);
    if (wbi_str_trim(p->line).n > 0 ||
        !(at_section(&ahead) || wbi_str_starts(ahead.line, WBI_LIT("@@"))))
        return false;
    *p = ahead;
    return true;
}

static wb_rc parse_add(struct wbi_patch_parser *p, struct wbi_str path)
{
    struct wbi_patch_file *f = wbi_patch_new_file(p, WBI_PATCH_ADD);
    wb_rc rc = WB_OK;

    if (f == NULL || wbi_patch_new_hunk(p) == NULL)
        return wbi_fail_nomem(p->err);
    f->path = path;
    wbi_patch_next(p);
    while (rc == WB_OK && !at_section(p)) {
        if (pass_separators(p))
            continue;
        if (p->line.n == 0 || p->line.p[0] != '+')
            return wbi_patch_syntax(p, "invalid_codex_add_line",
                                    "every line of an added file starts with `+`");
        rc = wbi_patch_add_line(p, '+', content(p, p->line));
        wbi_patch_next(p);
    }
    return rc;
}

static wb_rc parse_delete(struct wbi_patch_parser *p, struct wbi_str path)
{
    struct wbi_patch_file *f = wbi_patch_new_file(p, WBI_PATCH_DELETE);

    if (f == NULL)
        return wbi_fail_nomem(p->err);
    f->path = path;
    wbi_patch_next(p);
    while (!p->ended && wbi_str_trim(p->line).n == 0)
        wbi_patch_next(p);
    if (!at_section(p))
        return wbi_patch_syntax(p, "invalid_codex_hunk",
                                "a deleted file is followed by the next `*** ` line");
    return WB_OK;
}

static wb_rc add_anchor(struct wbi_patch_parser *p, struct wbi_patch_hunk *h)
{
    struct wbi_str text = wbi_str_from(p->line, 2), *a;

    text = without_cr(text);
    if (text.n > 0 && text.p[0] == ' ')
        text = wbi_str_from(text, 1);
    if (wbi_str_trim(text).n == 0 || wbi_patch_hunk_numbers(text, h))
        return WB_OK;
    a = wbi_patch_push(p->arena, &h->anchors, h->n_anchors, &p->anchors_cap, sizeof(*a));
    if (a == NULL)
        return wbi_fail_nomem(p->err);
    h->n_anchors++;
    *a = text;
    return WB_OK;
}

static wb_rc add_bare_line(struct wbi_patch_parser *p, struct wbi_patch_hunk *h,
                           struct wbi_str line)
{
    wb_rc rc = wbi_patch_add_line(p, ' ', line);

    if (rc == WB_OK)
        h->lines[h->n_lines - 1].bare = true;
    return rc;
}

/* Bare lines behind lines that are only added are a gap: as context they alone would place
 * the hunk. */
static void drop_gap(struct wbi_patch_hunk *h)
{
    size_t n = 0;

    while (n < h->n_lines && h->lines[h->n_lines - 1 - n].bare)
        n++;
    if (n < h->n_old)
        return;
    h->n_lines -= n;
    h->n_old -= n;
    h->n_new -= n;
}

/* Lines up to the next "@@", marker or end of the patch. */
static wb_rc change_lines(struct wbi_patch_parser *p, struct wbi_patch_hunk *h)
{
    wb_rc rc = WB_OK;

    while (rc == WB_OK && !at_section(p) && !wbi_str_starts(p->line, WBI_LIT("@@"))) {
        struct wbi_str line = p->line;

        if (line.n == 0 || (line.n == 1 && line.p[0] == '\r')) {
            rc = add_bare_line(p, h, line);
        } else if (line.p[0] == ' ' || line.p[0] == '+' || line.p[0] == '-') {
            rc = wbi_patch_add_line(p, line.p[0], content(p, line));
        } else {
            return wbi_patch_syntax(p, "invalid_codex_change_line",
                                    "a line of a change starts with ` `, `+` or `-`");
        }
        wbi_patch_next(p);
    }
    if (rc == WB_OK && at_section(p))
        drop_gap(h);
    if (rc == WB_OK && is_marker(p->line, "*** End of File")) {
        h->at_end = true;
        wbi_patch_next(p);
    }
    return rc;
}

static wb_rc parse_hunk(struct wbi_patch_parser *p)
{
    struct wbi_patch_hunk *h = wbi_patch_new_hunk(p);
    wb_rc rc = WB_OK;

    if (h == NULL)
        return wbi_fail_nomem(p->err);
    while (rc == WB_OK && wbi_str_starts(p->line, WBI_LIT("@@"))) {
        rc = add_anchor(p, h);
        wbi_patch_next(p);
    }
    if (rc == WB_OK)
        rc = change_lines(p, h);
    if (rc == WB_OK && h->n_lines == 0)
        rc = wbi_patch_syntax(p, "invalid_codex_hunk", "a hunk holds at least one line");
    return rc;
}

/* "--- a/x", "+++ b/x" of the other form. */
static bool at_unified_header(const struct wbi_patch_parser *p)
{
    return wbi_str_starts(p->line, WBI_LIT("diff --git ")) ||
           (wbi_str_starts(p->line, WBI_LIT("--- ")) &&
            wbi_str_starts(wbi_patch_peek(p), WBI_LIT("+++ ")));
}

static wb_rc parse_update(struct wbi_patch_parser *p, struct wbi_str path)
{
    struct wbi_patch_file *f = wbi_patch_new_file(p, WBI_PATCH_MODIFY);
    struct wbi_str to;
    wb_rc rc = WB_OK;

    if (f == NULL)
        return wbi_fail_nomem(p->err);
    f->path = path;
    wbi_patch_next(p);
    if (names_file(p->line, "*** Move to:", &to)) {
        if (to.n == 0)
            return wbi_patch_syntax(p, "missing_file_header", "the new path is missing");
        f->action = WBI_PATCH_MOVE;
        f->from_path = f->path;
        f->path = to;
        wbi_patch_next(p);
    }
    if (at_unified_header(p))
        return wbi_patch_syntax(p, "wrong_patch_format",
                                "headers of a unified diff stand in a Codex patch; the hunks "
                                "follow `*** Update File: ` directly");
    while (rc == WB_OK && !at_section(p)) {
        if (!pass_separators(p))
            rc = parse_hunk(p);
    }
    if (rc == WB_OK && f->n_hunks == 0 && f->action == WBI_PATCH_MODIFY)
        rc = wbi_patch_syntax(p, "missing_hunk", "an updated file needs at least one hunk");
    return rc;
}

wb_rc wbi_patch_parse_codex(struct wbi_patch_parser *p)
{
    struct wbi_str path;
    wb_rc rc = WB_OK;

    while (!is_marker(p->line, "*** Begin Patch")) {
        if (p->ended)
            return wbi_patch_syntax(p, "invalid_codex_hunk",
                                    "the line `*** Begin Patch` holds nothing else");
        wbi_patch_next(p);
    }
    p->crlf = wbi_str_ends(p->line, WBI_LIT("\r"));
    wbi_patch_next(p);
    while (rc == WB_OK && !is_marker(p->line, "*** End Patch")) {
        if (p->ended)
            return wbi_patch_syntax(p, "missing_end_patch", "the text ends before `*** End Patch`");
        if (wbi_str_trim(p->line).n == 0) {
            wbi_patch_next(p);
            continue;
        }
        if (names_file(p->line, "*** Add File:", &path))
            rc = path.n ? parse_add(p, path) : WB_EINPUT;
        else if (names_file(p->line, "*** Delete File:", &path))
            rc = path.n ? parse_delete(p, path) : WB_EINPUT;
        else if (names_file(p->line, "*** Update File:", &path))
            rc = path.n ? parse_update(p, path) : WB_EINPUT;
        else if (at_unified_header(p))
            return wbi_patch_syntax(p, "wrong_patch_format",
                                    "a unified diff stands between the Codex markers; send it "
                                    "without `*** Begin Patch` and `*** End Patch`");
        else
            return wbi_patch_syntax(p, "invalid_codex_hunk",
                                    "expected `*** Add File: `, `*** Update File: `, "
                                    "`*** Delete File: ` or `*** End Patch`");
        if (rc == WB_EINPUT && path.n == 0)
            rc = wbi_patch_syntax(p, "missing_file_header", "the path is missing");
    }
    return rc;
}
