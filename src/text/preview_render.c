/* SPDX-License-Identifier: Apache-2.0
 * text/preview_render.c: chosen lines become text, with a notice at every gap.
 * The first notice keeps the words of the seed and carries the call that reads
 * the rest; later ones name their range only. */
#include "text/preview_int.h"

#include "text/tokens.h"

void wbi_preview_read_hint(struct wbi_buf *out, const struct wbi_preview_policy *policy,
                           uint64_t first, uint64_t last)
{
    struct wbi_str call = policy->read_call;
    struct wbi_str range = WBI_LIT("\"A-B\""); /* a path has no bare quotes */
    size_t at = wbi_str_find(call, range);

    if (call.p == NULL)
        return;
    wbi_buf_addz(out, ": ");
    wbi_buf_adds(out, wbi_str_head(call, at));
    if (at < call.n) {
        wbi_buf_addf(out, "\"%llu-%llu\"", (unsigned long long)first, (unsigned long long)last);
        wbi_buf_adds(out, wbi_str_from(call, at + range.n));
    }
}

/* What the lines of a gap have in common with the one shown before it; NULL for nothing. */
static const char *in_common(const struct chooser *c, size_t before, size_t after)
{
    for (size_t i = before + 1; i <= after; i++)
        if (!wbi_neighbours(c, i - 1, i) ||
            (i < after && c->picks[i].rec->shape != c->picks[before].rec->shape))
            return NULL;
    return "alike";
}

/* Lines shown of it and those that say the same. */
static uint64_t lines_of(const struct pick *p)
{
    return wbi_pick_folds(p) ? 1 : 1 + (uint64_t)p->rec->again;
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* The words of the seed; an end that shows nothing is not named. */
static void what_is_shown(struct wbi_buf *out, const struct wbi_preview *v)
{
    unsigned long long first = v->first_lines, last = v->last_lines;
    unsigned long long between = v->lines_shown - first - last;

    if (first > 0 && last > 0)
        wbi_buf_addf(out, "first %llu and last %llu lines", first, last);
    else if (first + last > 0)
        wbi_buf_addf(out, "%s %llu line%s", first ? "first" : "last", first + last,
                     plural(first + last));
    else if (between > 0)
        wbi_buf_addf(out, "%llu line%s", between, plural(between));
    else
        wbi_buf_addz(out, "no lines");
    if (between > 0 && first + last > 0)
        wbi_buf_addf(out, " and %llu between", between);
}

static void lines_left_out(struct wbi_buf *out, uint64_t first, uint64_t last)
{
    if (first == last)
        wbi_buf_addf(out, "line %llu left out", (unsigned long long)first);
    else
        wbi_buf_addf(out, "lines %llu-%llu left out", (unsigned long long)first,
                     (unsigned long long)last);
}

static void gap_notice(struct wbi_buf *out, const struct chooser *c, const struct wbi_preview *v,
                       uint64_t first, uint64_t last, const char *common, bool opening)
{
    uint64_t n = last - first + 1;

    if (opening) {
        wbi_buf_addz(out, "[output truncated: showing ");
        what_is_shown(out, v);
        wbi_buf_addf(out, " of %llu; ", (unsigned long long)v->lines_total);
        lines_left_out(out, first, last);
        if (common != NULL)
            wbi_buf_addf(out, ", %llu %s", (unsigned long long)n, common);
        wbi_preview_read_hint(out, c->policy, first, last);
        wbi_buf_addz(out, "]\n");
        return;
    }
    if (n == 1)
        wbi_buf_addf(out, "[\xe2\x80\xa6 line %llu left out]\n", (unsigned long long)first);
    else
        wbi_buf_addf(out, "[\xe2\x80\xa6 lines %llu-%llu: %llu%s%s left out]\n",
                     (unsigned long long)first, (unsigned long long)last, (unsigned long long)n,
                     common != NULL ? " " : "", common != NULL ? common : "");
}

static void count_ends(const struct chooser *c, struct wbi_preview *v)
{
    const struct pick *p = c->picks, *end = c->picks + c->n;

    v->lines_shown = 0;
    v->first_lines = 0;
    v->last_lines = 0;
    for (const struct pick *i = p; i < end; i++)
        v->lines_shown += i->wave != 0 ? lines_of(i) : 0;
    for (; p < end && p->wave != 0 && p->rec->line == v->first_lines + 1; p++)
        v->first_lines += lines_of(p);
    for (p = end; p > c->picks && p[-1].wave != 0 && !wbi_pick_folds(&p[-1]) &&
                  p[-1].rec->line + p[-1].rec->again == v->lines_total - v->last_lines;
         p--)
        v->last_lines += lines_of(&p[-1]);
    if (v->first_lines == v->lines_total)
        v->last_lines = 0;
}

struct writer {
    struct chooser *c;
    struct wbi_preview *v;
    struct wbi_segment *segments;
    size_t n;
    bool told;        /* the opening notice is written */
    uint64_t units;   /* of out */
    uint64_t newline; /* the share of the last newline */
    uint64_t run;     /* newlines that out ends with */
};

static void segment(struct writer *w, enum wbi_segment_kind kind, uint64_t first, uint64_t last)
{
    struct wbi_segment *s = w->n > 0 ? &w->segments[w->n - 1] : NULL;

    if (s != NULL && kind == WBI_SEGMENT_LINES && s->kind == kind && s->last + 1 == first) {
        s->last = last;
        return;
    }
    w->segments[w->n++] = (struct wbi_segment){kind, first, last};
}

/* A line was written from `from` on; its cost is known. */
static void count_line(struct writer *w, size_t from, uint64_t units)
{
    struct wbi_str line = wbi_str_make(w->c->out.p + from, w->c->out.n - from - 1);

    w->run = line.n > 0 ? 1 : w->run + 1;
    w->newline = wbi_tokens_newline(line, w->run);
    w->units += units + w->newline;
}

/* Count what was written from `from` on, whole lines. */
static void count_from(struct writer *w, size_t from)
{
    struct wbi_str s = wbi_str_from(wbi_buf_str(&w->c->out), from);

    if (s.n == 0)
        return;
    w->units += wbi_tokens_units(s);
    w->run = 1; /* notices are no blank lines */
    w->newline = wbi_tokens_newline(wbi_str_head(s, s.n - 1), w->run);
}

static void gap(struct writer *w, uint64_t first, uint64_t last, const char *common)
{
    size_t from = w->c->out.n;

    segment(w, WBI_SEGMENT_GAP, first, last);
    gap_notice(&w->c->out, w->c, w->v, first, last, common, !w->told);
    count_from(w, from);
    w->told = true;
}

/* The nth of the lines that p stands for. */
static wb_rc write_line(struct writer *w, const struct pick *p, uint64_t nth)
{
    const struct record *r = p->rec;
    struct chooser *c = w->c;
    size_t from = c->out.n;
    wb_rc rc = WB_OK;

    if (p->text.p != NULL && nth == 0)
        wbi_buf_adds(&c->out, p->text);
    else
        rc = c->source.read(c->source.arg, r->offset + nth * (r->bytes + 1ull), r->bytes, &c->out);
    wbi_buf_addc(&c->out, '\n');
    if (wbi_buf_rc(&c->out) == WB_OK)
        count_line(w, from, p->units);
    segment(w, p->clipped ? WBI_SEGMENT_CLIPPED : WBI_SEGMENT_LINES, r->line + nth, r->line + nth);
    return rc;
}

static wb_rc write_pick(struct writer *w, const struct pick *p)
{
    const struct record *r = p->rec;
    wb_rc rc = WB_OK;

    for (uint64_t i = 0; i < lines_of(p) && rc == WB_OK; i++)
        rc = write_line(w, p, i);
    if (rc == WB_OK && wbi_pick_folds(p))
        gap(w, r->line + 1, r->line + r->again, r->flags & LINE_TIMES ? "alike" : "identical");
    w->v->truncated |= p->clipped;
    return rc;
}

static wb_rc write_all(struct writer *w)
{
    struct chooser *c = w->c;
    uint64_t next = 1;
    size_t before = 0;
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < c->n && rc == WB_OK; i++) {
        const struct pick *p = &c->picks[i];

        if (p->wave == 0)
            continue;
        if (p->rec->line > next)
            gap(w, next, p->rec->line - 1, w->told ? in_common(c, before, i) : NULL);
        rc = write_pick(w, p);
        next = p->rec->line + p->rec->again + 1;
        before = i;
    }
    if (next <= w->v->lines_total)
        gap(w, next, w->v->lines_total, NULL);
    w->v->truncated |= w->told;
    return rc;
}

/* Clipped lines without any gap still need to say how to read them. */
static void clip_notice(struct writer *w)
{
    uint64_t line = 0;

    for (size_t i = 0; i < w->n && line == 0; i++)
        if (w->segments[i].kind == WBI_SEGMENT_CLIPPED)
            line = w->segments[i].first;
    if (line == 0 || w->told)
        return;
    wbi_buf_addf(&w->c->out,
                 "[output truncated: showing parts of long lines, first of them line %llu",
                 (unsigned long long)line);
    wbi_preview_read_hint(&w->c->out, w->c->policy, line, line);
    wbi_buf_addz(&w->c->out, "]\n");
}

/* Hide what was chosen last until `over` units less are shown, at least one step. */
static void drop_last_waves(struct chooser *c, uint64_t over)
{
    uint64_t dropped = 0;

    do {
        for (size_t i = 0; i < c->n; i++) {
            if (c->picks[i].wave == c->wave) {
                c->picks[i].wave = 0;
                dropped += wbi_pick_cost(&c->picks[i]);
            }
        }
        c->wave--;
    } while (dropped < over && c->wave > 1);
}

/* One attempt; fits or not. */
static wb_rc render_once(struct writer *w)
{
    struct chooser *c = w->c;
    size_t from;
    wb_rc rc;

    wbi_buf_clear(&c->out);
    w->v->truncated = false;
    count_ends(c, w->v);
    w->segments = wbi_arena_array(c->arena, 3 * w->v->lines_shown + 2, sizeof *w->segments);
    if (w->segments == NULL)
        return WB_ENOMEM;
    rc = write_all(w);
    if (rc != WB_OK)
        return rc;
    from = c->out.n;
    clip_notice(w);
    wbi_buf_adds(&c->out, wbi_buf_str(&c->groups));
    rc = wbi_tell_outline(c);
    count_from(w, from);
    return rc != WB_OK ? rc : wbi_buf_rc(&c->out);
}

wb_rc wbi_render(struct chooser *c, struct wbi_preview *ret)
{
    uint64_t limit = wbi_preview_usable(c->policy->budget);
    struct writer w;
    wb_rc rc;

    for (;;) {
        w = (struct writer){.c = c, .v = ret};
        rc = render_once(&w);
        if (rc != WB_OK)
            return rc;
        if (w.units <= limit || c->wave <= 1) /* one line is always shown */
            break;
        drop_last_waves(c, w.units - limit);
    }
    ret->text = wbi_buf_str(&c->out);
    if (ret->text.n > 0 && ret->text.p[ret->text.n - 1] == '\n')
        ret->text.n--;
    ret->tokens = wbi_tokens_of_units(w.units);
    c->rendered = w.units - w.newline;
    ret->segments = w.segments;
    ret->n_segments = w.n;
    return WB_OK;
}
