/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_parse.c: what both grammars share: lines, growing arrays,
 * errors with a rule, and the choice of the grammar. */
#include "family/file/patch_int.h"

#include "base/checked.h"
#include "path/path.h"

void *wbi_patch_push(struct wbi_arena *arena, void *items_ptr, size_t n, size_t *cap, size_t size)
{
    char **items = items_ptr;

    if (n == *cap) {
        size_t more = *cap ? *cap * 2 : 8, bytes;
        char *grown;

        if (!wbi_mul(more, size, &bytes))
            return NULL;
        grown = wbi_arena_grow(arena, *cap ? *items : NULL, n * size, bytes);
        if (grown == NULL)
            return NULL;
        *items = grown;
        *cap = more;
    }
    memset(*items + n * size, 0, size);
    return *items + n * size;
}

/* A line without the indentation that all lines have. */
static struct wbi_str dedented(const struct wbi_patch_parser *p, struct wbi_str line)
{
    return wbi_str_starts(line, p->indent) ? wbi_str_from(line, p->indent.n) : line;
}

void wbi_patch_next(struct wbi_patch_parser *p)
{
    struct wbi_str rest = wbi_str_from(p->text, p->at);
    size_t n;

    if (rest.n == 0) {
        p->ended = true;
        p->line = wbi_str_make("", 0);
        return;
    }
    n = wbi_str_index(rest, '\n');
    p->line = dedented(p, wbi_str_head(rest, n));
    p->at += n < rest.n ? n + 1 : n;
    p->line_no++;
}

struct wbi_str wbi_patch_peek(const struct wbi_patch_parser *p)
{
    struct wbi_str rest = wbi_str_from(p->text, p->at);

    return dedented(p, wbi_str_head(rest, wbi_str_index(rest, '\n')));
}

wb_rc wbi_patch_syntax(struct wbi_patch_parser *p, const char *rule, const char *what)
{
    char shown[WBI_PATH_SHOWN];
    wb_rc rc;

    p->fault->rule = rule;
    p->fault->line = p->line_no;
    if (p->ended)
        rc = wbi_fail_kind(p->err, WB_EINPUT, WBI_KIND_INVALID_PATCH,
                           "after patch line %u: %s (rule %s)", p->line_no, what, rule);
    else
        rc = wbi_fail_kind(p->err, WB_EINPUT, WBI_KIND_INVALID_PATCH,
                           "patch line %u: %s (rule %s; the line is `%s`)", p->line_no, what, rule,
                           wbi_path_show(p->line, shown));
    if (p->err != NULL)
        p->err->line = p->line_no;
    return rc;
}

#define UNKNOWN_FORMAT                                                                           \
    "the text is neither a Codex patch (`*** Begin Patch`) nor a unified diff (`--- `, `+++ `, " \
    "`@@ `)"

wb_rc wbi_patch_unknown_format(struct wbi_patch_parser *p)
{
    p->fault->rule = "unknown_patch_format";
    if (wbi_str_trim(p->text).n == 0)
        return wbi_fail_kind(p->err, WB_EINPUT, WBI_KIND_INVALID_PATCH,
                             "the patch is empty (rule unknown_patch_format)");
    p->at = 0;
    p->line_no = 0;
    p->ended = false;
    do
        wbi_patch_next(p);
    while (wbi_str_trim(p->line).n == 0);
    return wbi_patch_syntax(p, "unknown_patch_format", UNKNOWN_FORMAT);
}

struct wbi_patch_file *wbi_patch_new_file(struct wbi_patch_parser *p, enum wbi_patch_action action)
{
    struct wbi_patch *patch = p->patch;
    struct wbi_patch_file *f;

    f = wbi_patch_push(p->arena, &patch->files, patch->n_files, &p->files_cap, sizeof(*f));
    if (f == NULL)
        return NULL;
    patch->n_files++;
    f->action = action;
    f->exec = -1;
    f->at_line = p->line_no;
    p->hunks_cap = p->lines_cap = p->anchors_cap = 0;
    return f;
}

struct wbi_patch_hunk *wbi_patch_new_hunk(struct wbi_patch_parser *p)
{
    struct wbi_patch_file *f = &p->patch->files[p->patch->n_files - 1];
    struct wbi_patch_hunk *h;

    h = wbi_patch_push(p->arena, &f->hunks, f->n_hunks, &p->hunks_cap, sizeof(*h));
    if (h == NULL)
        return NULL;
    f->n_hunks++;
    p->n_hunks_total++;
    h->at_line = p->line_no;
    p->lines_cap = p->anchors_cap = 0;
    return h;
}

wb_rc wbi_patch_add_line(struct wbi_patch_parser *p, char op, struct wbi_str text)
{
    struct wbi_patch_file *f = &p->patch->files[p->patch->n_files - 1];
    struct wbi_patch_hunk *h = &f->hunks[f->n_hunks - 1];
    struct wbi_patch_line *l;

    l = wbi_patch_push(p->arena, &h->lines, h->n_lines, &p->lines_cap, sizeof(*l));
    if (l == NULL)
        return wbi_fail_nomem(p->err);
    h->n_lines++;
    l->op = op;
    l->text = text;
    h->n_old += op != '+';
    h->n_new += op != '-';
    return WB_OK;
}

static bool number(struct wbi_str *s, uint32_t *ret)
{
    uint64_t v = 0;
    size_t n = 0;

    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9' && n < 10) {
        v = v * 10 + (uint64_t)(s->p[n] - '0');
        n++;
    }
    if (n == 0 || v > INT32_MAX - 1)
        return false;
    *s = wbi_str_from(*s, n);
    *ret = (uint32_t)v;
    return true;
}

static bool range(struct wbi_str *s, char sign, uint32_t *start, uint32_t *count)
{
    *count = 1;
    if (s->n == 0 || s->p[0] != sign)
        return false;
    *s = wbi_str_from(*s, 1);
    if (!number(s, start))
        return false;
    if (s->n > 0 && s->p[0] == ',') {
        *s = wbi_str_from(*s, 1);
        return number(s, count);
    }
    return true;
}

bool wbi_patch_hunk_numbers(struct wbi_str s, struct wbi_patch_hunk *h)
{
    struct wbi_patch_hunk n = {0};

    if (!range(&s, '-', &n.old_start, &n.old_count) || s.n == 0 || s.p[0] != ' ')
        return false;
    s = wbi_str_from(s, 1);
    if (!range(&s, '+', &n.new_start, &n.new_count) || !wbi_str_starts(s, WBI_LIT(" @@")))
        return false;
    h->has_numbers = true;
    h->old_start = n.old_start;
    h->old_count = n.old_count;
    h->new_start = n.new_start;
    h->new_count = n.new_count;
    return true;
}

static struct wbi_str indentation(struct wbi_str line)
{
    size_t n = 0;

    while (n < line.n && (line.p[n] == ' ' || line.p[n] == '\t'))
        n++;
    return wbi_str_head(line, n);
}

/* What all lines start with, blank ones and the fences of a quotation aside: a
 * patch quoted in a list. Markers and headers stand at the start of their lines,
 * so that a patch that is not quoted has none. */
static struct wbi_str common_indent(struct wbi_str text)
{
    struct wbi_str common = WBI_NONE;

    while (text.n > 0 && (common.p == NULL || common.n > 0)) {
        size_t n = wbi_str_index(text, '\n');
        struct wbi_str line = wbi_str_head(text, n), trimmed = wbi_str_trim(line);
        struct wbi_str indent = indentation(line);
        size_t same = 0;

        text = wbi_str_from(text, n + 1);
        if (trimmed.n == 0 || wbi_str_starts(trimmed, WBI_LIT("```")))
            continue;
        while (common.p != NULL && same < common.n && same < indent.n &&
               common.p[same] == indent.p[same])
            same++;
        common = common.p ? wbi_str_head(common, same) : indent;
    }
    return common.p ? common : WBI_LIT("");
}

/* The Codex form begins with its marker, after whatever a model writes in front
 * of it (a sentence, a fence, a heredoc); headers of a unified diff come first in
 * everything else. */
static bool looks_codex(struct wbi_patch_parser p)
{
    for (wbi_patch_next(&p); !p.ended; wbi_patch_next(&p)) {
        if (wbi_str_starts(wbi_str_trim(p.line), WBI_LIT("*** Begin Patch")))
            return true;
        if (wbi_str_starts(p.line, WBI_LIT("diff --git ")) ||
            (wbi_str_starts(p.line, WBI_LIT("--- ")) &&
             wbi_str_starts(wbi_patch_peek(&p), WBI_LIT("+++ "))))
            break;
    }
    return false;
}

wb_rc wbi_patch_parse(struct wbi_str text, struct wbi_arena *arena, struct wbi_error *err,
                      struct wbi_patch_fault *fault, struct wbi_patch *ret)
{
    struct wbi_patch patch = {0};
    struct wbi_patch_parser p = {
        .arena = arena, .err = err, .fault = fault, .patch = &patch, .text = text};
    wb_rc rc;

    memset(fault, 0, sizeof(*fault));
    if (text.n > WBI_LIMIT_PATCH_TEXT)
        return wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_INVALID_PATCH,
                             "the patch has %zu bytes; at most %u are accepted", text.n,
                             WBI_LIMIT_PATCH_TEXT);
    p.indent = common_indent(text);
    patch.indented = p.indent.n > 0;
    patch.form = looks_codex(p) ? WBI_PATCH_CODEX : WBI_PATCH_UNIFIED;
    wbi_patch_next(&p);
    rc = patch.form == WBI_PATCH_CODEX ? wbi_patch_parse_codex(&p) : wbi_patch_parse_unified(&p);
    if (rc == WB_OK && patch.n_files == 0)
        rc = wbi_patch_syntax(&p, "missing_file_header", "the patch names no file");
    if (rc == WB_OK &&
        (patch.n_files > WBI_LIMIT_PATCH_FILES || p.n_hunks_total > WBI_LIMIT_PATCH_HUNKS))
        rc = wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_INVALID_PATCH,
                           "the patch has %zu files and %zu hunks; at most %u and %u are accepted",
                           patch.n_files, p.n_hunks_total, WBI_LIMIT_PATCH_FILES,
                           WBI_LIMIT_PATCH_HUNKS);
    if (rc)
        return rc;
    *ret = patch;
    return WB_OK;
}
