/* SPDX-License-Identifier: Apache-2.0
 * text/secrets.c: replacing over a text or a stream. Text with visible marks
 * (<U+200B>) is judged once more without them. */
#include "text/secrets.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/local.h"
#include "text/secrets_int.h"

wb_rc wbi_secrets_new(const struct wbi_secrets_options *o, struct wbi_secrets **ret,
                      size_t *ret_ignored, struct wbi_error *err)
{
    struct wbi_secrets *s;
    size_t ignored = 0;
    wb_rc rc;

    if (o->n_known > WBI_LIMIT_SECRET_KNOWN)
        return wbi_fail(err, WB_ELIMIT, "%zu known secret values are too many, at most %u",
                        o->n_known, WBI_LIMIT_SECRET_KNOWN);
    s = wbi_zalloc(sizeof *s);
    if (s == NULL)
        return wbi_fail_nomem(err);
    wbi_prefilter_init(&s->filter);
    s->key_n = o->key.n < WBI_SECRETS_KEY_MAX ? o->key.n : WBI_SECRETS_KEY_MAX;
    if (s->key_n > 0)
        memcpy(s->key, o->key.p, s->key_n);
    rc = wbi_known_new(o->known, o->n_known, &s->known, &ignored);
    if (rc != WB_OK) {
        wbi_free(s);
        return wbi_fail_nomem(err);
    }
    if (ret_ignored != NULL)
        *ret_ignored = ignored;
    *ret = s;
    return WB_OK;
}

void wbi_secrets_free(struct wbi_secrets *s)
{
    if (s == NULL)
        return;
    wbi_known_free(s->known);
    wbi_free(s);
}

/* ---- replacing ---- */

static void count(struct wbi_secrets_report *r, const char *label)
{
    if (r == NULL)
        return;
    r->total++;
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->row[i].label, label) == 0) {
            r->row[i].count++;
            return;
        }
    }
    if (r->n < sizeof r->row / sizeof *r->row) {
        struct wbi_str s = wbi_str_head(wbi_str_z(label), WBI_SECRETS_LABEL_SIZE - 1);

        memcpy(r->row[r->n].label, s.p, s.n);
        r->row[r->n].label[s.n] = '\0';
        r->row[r->n++].count = 1;
    }
}

static void keep_newlines(struct wbi_str s, struct wbi_buf *out)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\n')
            wbi_buf_addc(out, '\n');
}

/* What tells a secret: of a block its first bytes, for the rest may not have come yet. */
static struct wbi_str told_by(const struct secret *m, struct wbi_str value)
{
    if (m->indent > 0)
        return wbi_str_head(value, wbi_str_index(value, '\n'));
    return strcmp(m->label, "private-key") == 0 ? wbi_str_head(value, 27) : value;
}

static wb_rc replace_one(const struct wbi_secrets *s, struct wbi_str text, const struct secret *m,
                         struct wbi_buf *out, struct wbi_secrets_report *report)
{
    struct wbi_str value = wbi_str_make(text.p + m->from, m->to - m->from);
    wb_rc rc = wbi_secrets_mask(s, m->label, told_by(m, value), out);

    keep_newlines(value, out);
    count(report, m->label);
    return rc;
}

/* One pass over a text. */
struct pass {
    size_t limit;   /* replace up to here; a match may reach beyond */
    bool line_ends; /* nothing but a block goes on behind the text */
    bool final;     /* nothing at all does */
    size_t used;    /* how far it came */
    size_t open;    /* it ended inside a block, of which so much may follow */
    size_t indent;  /* of that block */
    bool waits;     /* what is left needs more text to be judged */
    bool taken;     /* so does what was written behind the limit: it is to be taken back */
    bool marked;    /* nothing was done: there are visible marks before the limit */
    bool again;     /* what was written is to be judged once more */
    size_t lines;   /* where the lines written last begin that were changed, or NOWHERE */
    size_t changed; /* behind the last replacement in them */
    struct wbi_secrets_table table; /* that goes on from what came before, then behind it */
};

/* A secret is left in lines that were changed. */
static bool any_left(const struct wbi_secrets *s, struct wbi_str text);

/* A replacement changes what others in its line are judged by: it ends values that went on,
 * and makes what follows the rest of one. So lines with replacements are judged again, with
 * the line before, which may name the value of the next. */
static void look_again(const struct wbi_secrets *s, struct pass *p, const struct wbi_buf *out,
                       bool end)
{
    const char *nl;
    size_t to = out->n;

    if (p->lines == NOWHERE || p->again)
        return;
    nl = memchr(out->p + p->changed, '\n', out->n - p->changed);
    if (nl == NULL && !end)
        return;
    if (nl != NULL)
        to = (size_t)(nl - out->p) + 1;
    p->again = any_left(s, wbi_str_make(out->p + p->lines, to - p->lines));
    p->lines = NOWHERE;
}

static void note_change(struct pass *p, const struct wbi_buf *out, size_t written, size_t from)
{
    if (p->lines == NOWHERE) {
        struct wbi_str text = wbi_str_make(out->p + written, from - written);

        p->lines = wbi_line_start(text, text.n);
        p->lines = written + wbi_line_start(text, p->lines > 0 ? p->lines - 1 : 0);
    }
    p->changed = out->n;
}

static void note_open(struct pass *p, const struct secret *m)
{
    p->open = m->left;
    p->indent = m->indent;
}

/* The table that goes on at `at`, where the finder has come to. A replacement changes its rows,
 * too, and the head that they are judged by may stand far above: all is judged again. */
static void note_table(struct pass *p, const struct finder *f, size_t at, bool changed)
{
    p->again |= changed && f->table.of.separator != 0;
    if (wbi_columns_goes_on(&f->table, at))
        p->table = f->table.of;
    else
        p->table.separator = 0;
}

/* A match that reaches into what is not settled yet is left for later, its line with it,
 * so that it is judged with what stands before it. */
static void hold_back(struct pass *p, struct wbi_str text, size_t at, size_t literal)
{
    size_t line = wbi_line_start(text, literal);

    p->limit = literal > at ? literal : at;
    if (text.n - line <= WBI_LIMIT_SECRET_HOLD) {
        p->limit = line;
        p->taken = line < at;
    }
}

static wb_rc replace_plain(const struct wbi_secrets *s, struct wbi_str text, struct pass *p,
                           struct wbi_buf *out, struct wbi_secrets_report *report)
{
    WBI_LARGE_LOCAL struct finder f;
    struct secret m;
    size_t at = 0, written = out->n;
    wb_rc rc = WB_OK;

    wbi_finder_start(&f, s, text, p->limit, p->final, &p->table);
    p->lines = NOWHERE;
    p->changed = 0;
    while (rc == WB_OK && wbi_finder_next(&f, at, &m) && f.literal < p->limit) {
        size_t from;

        wbi_finder_note_mark(&f, &m);
        if (f.mark < p->limit)
            break;
        if (!p->line_ends && !m.open && (m.to == text.n || m.to > p->limit)) {
            hold_back(p, text, at, f.literal < m.from ? f.literal : m.from);
            break;
        }
        wbi_buf_add(out, text.p + at, m.from - at);
        look_again(s, p, out, false);
        from = out->n;
        rc = replace_one(s, text, &m, out, report);
        note_change(p, out, written, from);
        at = m.to;
        if (m.open && m.to == text.n)
            note_open(p, &m);
    }
    p->waits = f.wait < p->limit;
    if (p->waits) {
        p->limit = f.wait;
        p->taken = f.wait < at;
    }
    if (rc == WB_OK && at < p->limit) {
        wbi_buf_add(out, text.p + at, p->limit - at);
        at = p->limit;
    }
    if (rc == WB_OK)
        rc = wbi_buf_rc(out);
    if (rc == WB_OK)
        look_again(s, p, out, true);
    p->used = at;
    note_table(p, &f, at, p->changed > 0);
    p->marked = f.mark < p->limit;
    return rc;
}

/* Secrets that only show without the marks: their place in the marked text. */
static wb_rc replace_marked(const struct wbi_secrets *s, struct wbi_str text, struct pass *p,
                            struct wbi_buf *out, struct wbi_secrets_report *report)
{
    struct bare bare;
    WBI_LARGE_LOCAL struct finder f;
    struct secret m;
    wb_rc rc = wbi_bare_of(text, &bare);
    size_t from = 0, at = 0, written = out->n, stands;

    if (rc != WB_OK)
        return rc;
    wbi_finder_start(&f, s, wbi_buf_str(&bare.text), bare.text.n, true, &p->table);
    p->lines = NOWHERE;
    while (rc == WB_OK && wbi_finder_next(&f, at, &m)) {
        wbi_buf_add(out, text.p + from, wbi_bare_stood(&bare, m.from) - from);
        look_again(s, p, out, false);
        stands = out->n;
        rc = replace_one(s, wbi_buf_str(&bare.text), &m, out, report);
        note_change(p, out, written, stands);
        from = m.to > m.from ? wbi_bare_stood(&bare, m.to - 1) + 1 : wbi_bare_stood(&bare, m.to);
        at = m.to;
        if (m.open && m.to == bare.text.n)
            note_open(p, &m);
    }
    note_table(p, &f, bare.text.n, from > 0);
    wbi_buf_add(out, text.p + from, text.n - from);
    wbi_bare_fini(&bare);
    if (rc == WB_OK)
        rc = wbi_buf_rc(out);
    if (rc == WB_OK)
        look_again(s, p, out, true);
    return rc;
}

/* Whichever of the two it takes. What was written before the first mark was seen is
 * taken back, and so is the beginning of a line whose end has to wait: they are judged
 * together. */
static wb_rc replace_once(const struct wbi_secrets *s, struct wbi_str text, struct pass *p,
                          struct wbi_buf *out, struct wbi_secrets_report *report)
{
    WBI_LARGE_LOCAL struct wbi_secrets_report before;
    const struct pass first = *p;
    size_t n = out->n;
    bool waits = false;
    wb_rc rc;

    if (report != NULL)
        before = *report;
    while ((rc = replace_plain(s, text, p, out, report)) == WB_OK && (p->marked || p->taken)) {
        size_t limit = p->limit;

        out->n = n;
        if (report != NULL)
            *report = before;
        if (p->marked) {
            *p = (struct pass){.limit = first.limit, .used = first.limit, .table = first.table};
            return replace_marked(s, wbi_str_head(text, first.limit), p, out, report);
        }
        waits |= p->waits;
        *p = first;
        p->limit = limit; /* less than before */
    }
    p->waits |= waits;
    return rc;
}

#define ROUNDS 16u /* each replaces more; texts that are not made for it need two */

static wb_rc replace(const struct wbi_secrets *s, struct wbi_str text, struct pass *p,
                     struct wbi_buf *out, struct wbi_secrets_report *report)
{
    size_t n = out->n;
    const struct wbi_secrets_table table = p->table;
    wb_rc rc = replace_once(s, text, p, out, report);
    bool again = p->again;

    for (unsigned round = 1; rc == WB_OK && again && round < ROUNDS; round++) {
        struct wbi_buf once;
        struct pass next;

        wbi_buf_init(&once, out->n - n + 1);
        wbi_buf_add(&once, out->p + n, out->n - n);
        rc = wbi_buf_rc(&once);
        out->n = n;
        next = (struct pass){.limit = once.n, .line_ends = true, .final = true, .table = table};
        if (rc == WB_OK)
            rc = replace_once(s, wbi_buf_str(&once), &next, out, report);
        again = next.again;
        if (p->open == 0) {
            p->open = next.open;
            p->indent = next.indent;
        }
        wbi_buf_fini(&once);
    }
    return rc;
}

wb_rc wbi_secrets_replace(const struct wbi_secrets *s, struct wbi_str text, struct wbi_buf *out,
                          struct wbi_secrets_report *report)
{
    struct pass p = {.limit = text.n, .line_ends = true, .final = true};

    return replace(s, text, &p, out, report);
}

static bool any_in(const struct wbi_secrets *s, struct wbi_str text, bool *ret_marks)
{
    WBI_LARGE_LOCAL struct finder f;
    struct secret m;
    bool any;

    wbi_finder_start(&f, s, text, text.n, true, NULL);
    any = wbi_finder_next(&f, 0, &m);
    *ret_marks = f.mark != NOWHERE;
    return any;
}

static bool any_left(const struct wbi_secrets *s, struct wbi_str text)
{
    struct bare bare;
    bool found, marks;

    if (wbi_str_find(text, WBI_LIT("<U+")) == text.n)
        return any_in(s, text, &marks);
    if (wbi_bare_of(text, &bare) != WB_OK)
        return true;
    found = any_in(s, wbi_buf_str(&bare.text), &marks);
    wbi_bare_fini(&bare);
    return found;
}

bool wbi_secrets_knows_values(const struct wbi_secrets *s)
{
    return wbi_known_any(s->known);
}

bool wbi_secrets_found(const struct wbi_secrets *s, struct wbi_str text)
{
    struct bare bare;
    bool found, marks;

    if (any_in(s, text, &marks))
        return true;
    if (!marks)
        return false;
    if (wbi_bare_of(text, &bare) != WB_OK)
        return true; /* better too careful than not at all */
    found = any_in(s, wbi_buf_str(&bare.text), &marks);
    wbi_bare_fini(&bare);
    return found;
}

/* ---- stream ---- */

void wbi_secrets_stream_init(struct wbi_secrets_stream *st, const struct wbi_secrets *s)
{
    *st = (struct wbi_secrets_stream){.set = s};
    wbi_buf_init(&st->hold, SIZE_MAX / 2);
}

void wbi_secrets_stream_fini(struct wbi_secrets_stream *st)
{
    wbi_buf_fini(&st->hold);
}

/* How much of text may be settled now: whole lines, or when a line grows too
 * long all but the longest form. */
static size_t settled(const struct wbi_secrets_stream *st, struct wbi_str text)
{
    const char *nl = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;
    size_t limit = nl != NULL ? (size_t)(nl - text.p) + 1 : 0;
    size_t back = wbi_known_longest(st->set->known) + 4096;
    size_t block = wbi_known_longest_block(st->set->known);

    if (block > 0) { /* the lines in which a value of several lines may have begun wait */
        nl = text.n > block ? memrchr(text.p, '\n', text.n - block) : NULL;
        limit = nl != NULL ? (size_t)(nl - text.p) + 1 : 0;
    }
    if (text.n - limit > WBI_LIMIT_SECRET_HOLD + block)
        limit = text.n - back;
    return limit;
}

/* What is judged together ends with a line, if there is one. */
static struct wbi_str whole_lines(struct wbi_str text)
{
    const char *nl = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;

    return nl != NULL ? wbi_str_head(text, (size_t)(nl - text.p) + 1) : text;
}

/* Inside a block: drop what belongs to it. Whole lines only, unless last. */
static size_t inside_block(struct wbi_secrets_stream *st, struct wbi_str text, bool last,
                           struct wbi_buf *out)
{
    const char *nl = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;
    struct wbi_str whole = text;
    bool ended;
    size_t n;

    if (!last) {
        if (nl == NULL && text.n < st->block_left)
            return 0;
        if (nl != NULL)
            whole.n = (size_t)(nl - text.p) + 1;
    }
    n = st->indent > 0 ? wbi_indented_body(whole, 0, st->block_left, st->indent, &ended)
                       : wbi_pem_body(whole, 0, st->block_left, &ended);
    keep_newlines(wbi_str_head(whole, n), out);
    st->block_left = ended ? 0 : st->block_left - n;
    return n;
}

static wb_rc stream_step(struct wbi_secrets_stream *st, struct wbi_str text, bool last,
                         struct wbi_buf *out, size_t *ret_used)
{
    struct pass p = {.final = last, .table = st->table};
    size_t used = 0;
    wb_rc rc = WB_OK;

    if (st->block_left > 0) {
        used = inside_block(st, text, last, out);
        if (st->block_left > 0) {
            *ret_used = last ? text.n : used;
            return wbi_buf_rc(out);
        }
        text = wbi_str_from(text, used);
    }
    if (!last)
        text = whole_lines(text);
    p.limit = last ? text.n : settled(st, text);
    /* no secret but a block goes beyond a line */
    p.line_ends = last || (p.limit > 0 && text.p[p.limit - 1] == '\n' &&
                           wbi_known_longest_block(st->set->known) == 0);
    if (p.limit > 0)
        rc = replace(st->set, p.line_ends ? wbi_str_head(text, p.limit) : text, &p, out,
                     &st->report);
    if (p.open > 0) {
        st->block_left = p.open;
        st->indent = p.indent;
    }
    st->waiting = p.waits;
    st->table = p.table;
    *ret_used = used + p.used;
    return rc;
}

static void drop_head(struct wbi_buf *b, size_t n)
{
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}

static wb_rc feed_held(struct wbi_secrets_stream *st, struct wbi_str text, struct wbi_buf *out)
{
    size_t used = 0;
    wb_rc rc;

    wbi_buf_adds(&st->hold, text);
    rc = wbi_buf_rc(&st->hold);
    if (rc == WB_OK && st->hold.n > 0)
        rc = stream_step(st, wbi_buf_str(&st->hold), false, out, &used);
    if (rc == WB_OK && used > 0)
        drop_head(&st->hold, used);
    return rc;
}

/* The held start of a line is finished with the head of text, so that the rest
 * need not be copied; *ret_used says how much of text that took. */
static wb_rc finish_held_line(struct wbi_secrets_stream *st, struct wbi_str text,
                              struct wbi_buf *out, size_t *ret_used)
{
    const char *nl = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    size_t n = nl != NULL ? (size_t)(nl - text.p) + 1 : text.n, used = 0;
    wb_rc rc;

    wbi_buf_add(&st->hold, text.p, n);
    rc = wbi_buf_rc(&st->hold);
    if (rc == WB_OK)
        rc = stream_step(st, wbi_buf_str(&st->hold), false, out, &used);
    if (rc != WB_OK)
        return rc;
    drop_head(&st->hold, used);
    *ret_used = n;
    return WB_OK;
}

wb_rc wbi_secrets_stream_feed(struct wbi_secrets_stream *st, struct wbi_str text,
                              struct wbi_buf *out)
{
    size_t used = 0;
    wb_rc rc = WB_OK;

    if (wbi_known_longest_block(st->set->known) > 0) /* several lines are judged together */
        return feed_held(st, text, out);
    while (rc == WB_OK && st->hold.n > 0 && text.n > 0 && !st->waiting) {
        rc = finish_held_line(st, text, out, &used);
        text = wbi_str_from(text, used);
    }
    if (rc != WB_OK || text.n == 0)
        return rc;
    if (st->waiting)
        return feed_held(st, text, out);
    rc = stream_step(st, text, false, out, &used);
    if (rc == WB_OK)
        wbi_buf_adds(&st->hold, wbi_str_from(text, used));
    return rc != WB_OK ? rc : wbi_buf_rc(&st->hold);
}

wb_rc wbi_secrets_stream_finish(struct wbi_secrets_stream *st, struct wbi_buf *out)
{
    size_t used;
    wb_rc rc = stream_step(st, wbi_buf_str(&st->hold), true, out, &used);

    wbi_buf_clear(&st->hold);
    st->block_left = 0;
    st->table.separator = 0;
    return rc;
}
