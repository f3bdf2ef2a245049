/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_build.c: the new content of a file, and the description of
 * its change. Untouched and context lines keep the file's own bytes; added
 * lines take the file's line ends unless the diff matched byte for byte. */
#include "family/file/patch_int.h"

#include <stdio.h>

#include "base/utf8.h"

struct writer {
    struct wbi_buf buf;
    const char *eol;
    bool open_line;     /* the last line has no line end yet */
    bool tolerant_last; /* it was added by a hunk that says nothing of line ends */
};

static void close_line(struct writer *w)
{
    if (w->open_line)
        wbi_buf_addz(&w->buf, w->eol);
    w->open_line = false;
}

static void put_file_line(struct writer *w, struct wbi_str line)
{
    close_line(w);
    wbi_buf_adds(&w->buf, line);
    w->open_line = line.n == 0 || line.p[line.n - 1] != '\n';
    w->tolerant_last = false;
}

static void put_new_line(struct writer *w, const struct wbi_patch_line *l, bool raw)
{
    close_line(w);
    wbi_buf_adds(&w->buf, raw ? l->text : wbi_patch_bare(l->text));
    w->tolerant_last = !raw;
    if (raw && l->no_newline)
        w->open_line = true;
    else
        wbi_buf_addz(&w->buf, raw ? "\n" : w->eol);
}

static size_t put_hunk(struct writer *w, const struct wbi_patch_text *t,
                       const struct wbi_patch_hunk *h, size_t at, bool raw)
{
    for (size_t i = 0; i < h->n_lines; i++) {
        const struct wbi_patch_line *l = &h->lines[i];

        if (l->op == '+')
            put_new_line(w, l, raw);
        else if (l->op == ' ')
            put_file_line(w, t->lines[at++]);
        else
            at++;
    }
    return at;
}

wb_rc wbi_patch_new_content(const struct wbi_patch_build *b, struct wbi_arena *arena,
                            struct wbi_error *err, struct wbi_str *ret)
{
    const struct wbi_patch_text *t = b->text;
    struct writer w = {.eol = t->crlf ? "\r\n" : "\n"};
    size_t at = 0;
    wb_rc rc;

    wbi_buf_init_arena(&w.buf, arena, (size_t)WBI_LIMIT_PATCH_TARGET + WBI_LIMIT_PATCH_TEXT);
    wbi_buf_add(&w.buf, t->data.p, t->bom);
    for (size_t i = 0; i < b->file->n_hunks; i++) {
        bool raw = b->places[i].tier == WBI_TIER_RAW || b->file->action == WBI_PATCH_ADD;

        while (at < b->places[i].at)
            put_file_line(&w, t->lines[at++]);
        at = put_hunk(&w, t, &b->file->hunks[i], at, raw);
    }
    while (at < t->n)
        put_file_line(&w, t->lines[at++]);
    if (w.tolerant_last && !t->final_newline && wbi_buf_rc(&w.buf) == WB_OK)
        w.buf.n -= strlen(w.eol);
    rc = wbi_buf_rc(&w.buf);
    if (rc)
        return rc == WB_ENOMEM ? wbi_fail_nomem(err)
                               : wbi_fail(err, rc, "the patched file would be too large");
    *ret = wbi_buf_str(&w.buf);
    return WB_OK;
}

/* ---- description ---- */

struct preview {
    struct wbi_buf buf;
    unsigned lines;
    bool truncated; /* full: nothing more goes in */
    bool cut;       /* a line was too long */
};

static void preview_line(struct preview *p, char op, struct wbi_str text)
{
    text = wbi_patch_bare(text);
    if (p->truncated || p->lines == WBI_LIMIT_PATCH_PREVIEW_LINES ||
        p->buf.n + WBI_LIMIT_PATCH_PREVIEW_LINE + 2 > WBI_LIMIT_PATCH_PREVIEW) {
        p->truncated = true;
        return;
    }
    wbi_buf_addc(&p->buf, op);
    wbi_buf_adds(&p->buf, wbi_str_head(text, wbi_utf8_cut(text, WBI_LIMIT_PATCH_PREVIEW_LINE)));
    wbi_buf_addc(&p->buf, '\n');
    p->cut = p->cut || text.n > WBI_LIMIT_PATCH_PREVIEW_LINE;
    p->lines++;
}

static void preview_hunk(struct preview *p, const struct wbi_patch_text *t,
                         const struct wbi_patch_hunk *h, size_t at,
                         const struct wbi_patch_hunk_result *r)
{
    char head[80];
    int n = snprintf(head, sizeof(head), "@ -%u,%u +%u,%u @@", r->old_start, r->old_count,
                     r->new_start, r->new_count);

    preview_line(p, '@', wbi_str_make(head, (size_t)n));
    for (size_t i = 0; i < h->n_lines && !p->truncated; i++) {
        const struct wbi_patch_line *l = &h->lines[i];

        preview_line(p, l->op, l->op == '+' ? l->text : t->lines[at]);
        at += l->op != '+';
    }
}

static void hunk_result(const struct wbi_patch_hunk *h, size_t at, int64_t delta,
                        struct wbi_patch_hunk_result *r)
{
    size_t context = 0;

    for (size_t i = 0; i < h->n_lines; i++)
        context += h->lines[i].op == ' ';
    r->old_count = (uint32_t)h->n_old;
    r->new_count = (uint32_t)h->n_new;
    r->removed = (uint32_t)(h->n_old - context);
    r->added = (uint32_t)(h->n_new - context);
    r->old_start = (uint32_t)(at + (h->n_old > 0));
    r->new_start = (uint32_t)((int64_t)at + delta + (h->n_new > 0));
}

wb_rc wbi_patch_describe(const struct wbi_patch_build *b, struct wbi_arena *arena,
                         struct wbi_error *err, struct wbi_patch_change *ret)
{
    const struct wbi_patch_file *f = b->file;
    struct preview p = {0};
    int64_t delta = 0;

    ret->hunks = wbi_arena_array(arena, f->n_hunks ? f->n_hunks : 1, sizeof(*ret->hunks));
    if (ret->hunks == NULL)
        return wbi_fail_nomem(err);
    wbi_buf_init_arena(&p.buf, arena, WBI_LIMIT_PATCH_PREVIEW);
    ret->n_hunks = f->n_hunks;
    for (size_t i = 0; i < f->n_hunks; i++) {
        struct wbi_patch_hunk_result *r = &ret->hunks[i];

        hunk_result(&f->hunks[i], b->places[i].at, delta, r);
        delta += (int64_t)r->added - r->removed;
        ret->added += r->added;
        ret->removed += r->removed;
        preview_hunk(&p, b->text, &f->hunks[i], b->places[i].at, r);
    }
    if (f->action == WBI_PATCH_DELETE && f->n_hunks == 0) {
        ret->removed = (uint32_t)b->text->n;
        for (size_t i = 0; i < b->text->n && !p.truncated; i++)
            preview_line(&p, '-', b->text->lines[i]);
    }
    if (wbi_buf_rc(&p.buf) != WB_OK)
        return wbi_fail_nomem(err);
    ret->preview = wbi_buf_str(&p.buf);
    ret->preview_truncated = p.truncated || p.cut;
    return WB_OK;
}
