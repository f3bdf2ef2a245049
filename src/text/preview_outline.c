/* SPDX-License-Identifier: Apache-2.0
 * text/preview_outline.c: few lines that all others are indented under (sections of a
 * manual, the top of a tree, records of a dump) say what there is to read. Those that
 * are not shown are told with their line numbers. */
#include "text/preview_bits_int.h"

#include "text/tokens.h"

#define LINES_MIN 40u   /* shorter texts need no outline */
#define ENTRIES_MIN 4u  /* fewer are no outline */
#define ENTRIES_MAX 64u /* more are a list */
#define ENTRY_BYTES 48u
#define RARE 16u /* at most one line in so many */

struct outline {
    size_t at[ENTRIES_MAX]; /* picks */
    size_t n;
    uint64_t units; /* that it may cost */
};

/* What stands below it, or else above it, is indented under it. */
static bool stands_out(const struct chooser *c, size_t i)
{
    size_t next = i + 1, before = i;

    while (next < c->n && c->picks[next].rec->flags & LINE_BLANK)
        next++;
    if (next < c->n && c->picks[next].rec->indent > c->picks[i].rec->indent)
        return true;
    while (before > 0 && c->picks[before - 1].rec->flags & LINE_BLANK)
        before--;
    return before > 0 && c->picks[before - 1].rec->indent > c->picks[i].rec->indent;
}

/* The indentation of the outline, or 256: the least that some lines have, if they are few. */
static unsigned outline_indent(const struct wbi_preview_index *x)
{
    uint64_t sum = 0, lines = 0;

    for (unsigned indent = 0; indent < 256; indent++)
        lines += x->indents[indent];
    for (unsigned indent = 0; indent < 256 && lines >= LINES_MIN; indent++) {
        sum += x->indents[indent];
        if (sum >= ENTRIES_MIN)
            return sum * RARE <= lines ? indent : 256;
    }
    return 256;
}

static bool find_entries(const struct chooser *c, unsigned indent, struct outline *o)
{
    o->n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct record *r = c->picks[i].rec;

        if (r->flags & LINE_BLANK || r->indent > indent || !stands_out(c, i))
            continue;
        if (o->n == ENTRIES_MAX)
            return false;
        o->at[o->n++] = i;
    }
    return o->n >= ENTRIES_MIN;
}

static struct wbi_str entry_text(const struct pick *p)
{
    struct wbi_str t = wbi_str_trim(wbi_str_from(p->text, p->rec->start));
    size_t n = t.n < ENTRY_BYTES ? t.n : ENTRY_BYTES;

    while (n > 0 && n < t.n && ((uint8_t)t.p[n] & 0xc0) == 0x80)
        n--;
    return wbi_str_head(t, n);
}

static bool names_something(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (class_of[(uint8_t)s.p[i]] == C_LETTER || class_of[(uint8_t)s.p[i]] == C_DIGIT ||
            class_of[(uint8_t)s.p[i]] == C_HIGH)
            return true;
    return false;
}

/* Brackets by themselves say nothing of what stands in them. */
static wb_rc drop_nameless(struct chooser *c, struct outline *o)
{
    size_t n = 0;
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < o->n && rc == WB_OK; i++) {
        rc = wbi_pick_load(c, &c->picks[o->at[i]]);
        if (rc == WB_OK && names_something(entry_text(&c->picks[o->at[i]])))
            o->at[n++] = o->at[i];
    }
    o->n = n;
    return rc;
}

wb_rc wbi_choose_outline(struct chooser *c)
{
    uint64_t left = c->units > c->spent ? c->units - c->spent : 0;
    unsigned indent = outline_indent(c->index);
    struct outline *o = indent < 256 ? wbi_arena_alloc(c->arena, sizeof *o) : NULL;
    wb_rc rc;

    if (indent == 256)
        return WB_OK;
    if (o == NULL)
        return WB_ENOMEM;
    if (!find_entries(c, indent, o))
        return WB_OK;
    rc = drop_nameless(c, o);
    if (rc != WB_OK || o->n < ENTRIES_MIN)
        return rc;
    o->units = left < c->units / 7 ? left : c->units / 7;
    c->outline = o;
    c->spent += o->units;
    return WB_OK;
}

/* One more entry; false when it does not fit, and is not there then. */
static bool add_entry(struct chooser *c, const struct pick *p, size_t from, bool first)
{
    size_t before = c->out.n;

    wbi_buf_addf(&c->out, "%s%llu ", first ? "[outline, by line: " : "; ",
                 (unsigned long long)p->rec->line);
    wbi_buf_adds(&c->out, entry_text(p));
    if (wbi_tokens_units(wbi_str_from(wbi_buf_str(&c->out), from)) + 3 * WBI_TOKEN_UNIT <=
        c->outline->units)
        return true;
    c->out.n = before;
    return false;
}

wb_rc wbi_tell_outline(struct chooser *c)
{
    const struct outline *o = c->outline;
    size_t from = c->out.n;
    bool fits = true;

    for (size_t i = 0; o != NULL && i < o->n && fits; i++) {
        struct pick *p = &c->picks[o->at[i]];
        wb_rc rc = wbi_pick_load(c, p);

        if (rc != WB_OK)
            return rc;
        if (p->wave == 0)
            fits = add_entry(c, p, from, c->out.n == from);
    }
    if (c->out.n > from)
        wbi_buf_addz(&c->out, fits ? "]\n" : "; \xe2\x80\xa6]\n");
    return wbi_buf_rc(&c->out);
}
