/* SPDX-License-Identifier: Apache-2.0
 * text/preview_clip.c: the text of a chosen line. A line that costs more than
 * its share is cut to its start, what surrounds its strongest word, and its
 * end, with the number of bytes left out between. Where all that is worth showing is
 * shown and budget is left, these parts grow. Never cuts a character. */
#include "text/preview_int.h"

#include "text/tokens.h"

#define READ_WHOLE 16384u
#define PART 3072u
#define PART_MOST (512u * 1024u)
#define GROW_LEAST (16u * WBI_TOKEN_UNIT)

#define PIECED_FROM 1500u /* bytes of a line that may be a whole report */
#define PIECED_MOST (256u * 1024u)
#define PLACE_LEAST (90u * WBI_TOKEN_UNIT) /* a place is worth so much */

struct parts {
    struct wbi_str part[2 + PLACES_IN_LINE];
    uint64_t at[2 + PLACES_IN_LINE]; /* offsets within the line */
    size_t n;
};

static wb_rc fetch(struct chooser *c, const struct record *r, uint64_t at, size_t n,
                   struct wbi_str *ret)
{
    struct wbi_buf b;
    wb_rc rc;

    wbi_buf_init_arena(&b, c->arena, n + 1);
    rc = c->source.read(c->source.arg, r->offset + at, n, &b);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&b);
    *ret = wbi_buf_str(&b);
    return rc;
}

/* From the first whole character on. */
static struct wbi_str skip_cut_start(struct wbi_str s, uint64_t *at)
{
    size_t i = 0;

    while (i < s.n && i < 3 && ((uint8_t)s.p[i] & 0xc0) == 0x80)
        i++;
    *at += i;
    return wbi_str_from(s, i);
}

/* The last bytes that cost about units; a token is rarely under two bytes. */
static struct wbi_str last_part(struct wbi_str s, uint64_t units, uint64_t *at)
{
    size_t n = (size_t)(units / WBI_TOKEN_UNIT) * 2 + 1;

    if (n > s.n)
        n = s.n;
    *at += s.n - n;
    return skip_cut_start(wbi_str_from(s, s.n - n), at);
}

/* A window that has the word at `hit` in its first third. */
static struct wbi_str window(struct wbi_str s, size_t hit, uint64_t units, uint64_t *at)
{
    size_t before = (size_t)(units / WBI_TOKEN_UNIT); /* a token has about three bytes */
    size_t from = hit > before ? hit - before : 0;
    struct wbi_str rest;

    *at += from;
    rest = skip_cut_start(wbi_str_from(s, from), at);
    return wbi_str_head(rest, wbi_tokens_prefix(rest, units));
}

static void add_part(struct parts *ps, struct wbi_str s, uint64_t at)
{
    struct wbi_str *last = ps->n > 0 ? &ps->part[ps->n - 1] : NULL;
    uint64_t end = last ? ps->at[ps->n - 1] + last->n : 0;

    if (last != NULL && at <= end) { /* overlaps: go on behind it */
        if (at + s.n <= end)
            return;
        s = wbi_str_from(s, (size_t)(end - at));
        at = end;
    }
    if (s.n > 0) {
        ps->part[ps->n] = s;
        ps->at[ps->n++] = at;
    }
}

static wb_rc join(struct chooser *c, const struct record *r, const struct parts *ps,
                  struct wbi_str *ret)
{
    struct wbi_buf b;
    uint64_t end = 0;

    wbi_buf_init_arena(&b, c->arena, 1u << 20);
    for (size_t i = 0; i < ps->n; i++) {
        if (ps->at[i] > end)
            wbi_buf_addf(&b, " [\xe2\x80\xa6 %llu bytes \xe2\x80\xa6] ",
                         (unsigned long long)(ps->at[i] - end));
        wbi_buf_adds(&b, ps->part[i]);
        end = ps->at[i] + ps->part[i].n;
    }
    if (end < r->bytes)
        wbi_buf_addf(&b, " [\xe2\x80\xa6 %llu bytes]", (unsigned long long)(r->bytes - end));
    *ret = wbi_buf_str(&b);
    return wbi_buf_rc(&b);
}

static wb_rc clip_whole(struct chooser *c, struct pick *p, struct wbi_str s, uint64_t most)
{
    struct parts ps = {.n = 0};
    uint64_t cap = most - 14 * WBI_TOKEN_UNIT;
    size_t head = wbi_tokens_prefix(s, p->rec->hit > 0 ? cap * 4 / 10 : cap * 7 / 10);
    uint64_t at = 0;
    struct wbi_str part;

    add_part(&ps, wbi_str_head(s, head), 0);
    if (p->rec->hit >= head) {
        part = window(s, p->rec->hit, cap * 4 / 10, &at);
        add_part(&ps, part, at);
    } else if (p->rec->hit > 0) { /* the word is in the first part: widen that */
        ps.part[0] = wbi_str_head(s, wbi_tokens_prefix(s, cap * 7 / 10));
    }
    at = 0;
    part = last_part(s, cap * 2 / 10, &at);
    add_part(&ps, part, at);
    return join(c, p->rec, &ps, &p->text);
}

/* A very long line is read in three places only. */
static wb_rc clip_long(struct chooser *c, struct pick *p, uint64_t cap)
{
    const struct record *r = p->rec;
    struct parts ps = {.n = 0};
    struct wbi_str s;
    uint64_t at = 0, from;
    wb_rc rc = fetch(c, r, 0, PART, &s);

    if (rc != WB_OK)
        return rc;
    add_part(&ps, wbi_str_head(s, wbi_tokens_prefix(s, cap * 4 / 10)), 0);
    if (r->hit > ps.part[0].n) {
        from = r->hit > PART / 2 ? r->hit - PART / 2 : 0;
        rc = fetch(c, r, from, r->bytes - from < PART ? (size_t)(r->bytes - from) : PART, &s);
        if (rc != WB_OK)
            return rc;
        s = window(s, (size_t)(r->hit - from), cap * 4 / 10, &at);
        add_part(&ps, s, from + at);
    }
    from = r->bytes - PART;
    rc = fetch(c, r, from, PART, &s);
    if (rc != WB_OK)
        return rc;
    at = from;
    s = last_part(s, cap * 2 / 10, &at);
    add_part(&ps, s, at);
    return join(c, r, &ps, &p->text);
}

/* ---- reports on one line ---- */

static bool is_near(uint32_t a, uint32_t b)
{
    return a < b + PART && b < a + PART;
}

/* Not found in lines that tell nothing, nor once much was looked at. */
static wb_rc find_places(struct chooser *c, struct pick *p)
{
    const struct record *r = p->rec;
    struct places *found;
    wb_rc rc;

    if (p->places != NULL || r->severity < FAILURE || r->bytes < PIECED_FROM ||
        c->pieced + r->bytes > PIECED_MOST)
        return WB_OK;
    c->pieced += r->bytes;
    found = wbi_arena_zalloc(c->arena, sizeof *found);
    if (found == NULL)
        return WB_ENOMEM;
    rc = fetch(c, r, 0, r->bytes, &found->text);
    if (rc == WB_OK)
        rc = wbi_find_places(c, found->text, found->at, &found->n);
    if (found->n == 1 && is_near(found->at[0], r->hit))
        found->n = 0;
    p->places = found;
    return rc;
}

/* A little of both ends, and what stands around as many places as there is room for. */
static void parts_at_places(const struct places *f, uint64_t units, struct parts *ps)
{
    uint64_t at;
    uint32_t place[PLACES_IN_LINE];
    size_t n = 1, k;
    struct wbi_str part;

    while (n < f->n && units / (n + 1) >= PLACE_LEAST)
        n++;
    units -= n * GAP_UNITS; /* that between two parts much is left out */
    for (size_t i = 0; i < n; i++) {
        for (k = i; k > 0 && place[k - 1] > f->at[i]; k--)
            place[k] = place[k - 1];
        place[k] = f->at[i];
    }
    add_part(ps, wbi_str_head(f->text, wbi_tokens_prefix(f->text, units * 18 / 100)), 0);
    for (size_t i = 0; i < n; i++) {
        at = 0;
        part = window(f->text, place[i], units * 7 / 10 / n, &at);
        add_part(ps, part, at);
    }
    at = 0;
    part = last_part(f->text, units * 12 / 100, &at);
    add_part(ps, part, at);
}

static wb_rc clip_at_places(struct chooser *c, struct pick *p, uint64_t cap)
{
    struct parts ps = {.n = 0};

    parts_at_places(p->places, cap - 14 * WBI_TOKEN_UNIT, &ps);
    return join(c, p->rec, &ps, &p->text);
}

static bool has_places(const struct pick *p)
{
    return p->places != NULL && p->places->n > 0;
}

/* Context may cost less than the line that tells what went wrong; lines of
 * ordinary length stay whole unless the budget is tiny. */
static uint64_t cap_of(const struct chooser *c, const struct record *r)
{
    bool tells = r->severity >= 42;
    uint64_t cap = tells ? c->line_cap : c->line_cap / 2;
    bool marked = r->severity >= 20 || r->flags & LINE_ODD || c->index->shapes[r->shape].count <= 2;
    uint64_t least = (tells ? 120 : marked ? 90 : 56) * WBI_TOKEN_UNIT, most = c->units / 3;

    if (cap < least)
        cap = least;
    if (cap > most)
        cap = most;
    return cap > 24 * WBI_TOKEN_UNIT ? cap : 24 * WBI_TOKEN_UNIT;
}

wb_rc wbi_pick_load(struct chooser *c, struct pick *p)
{
    uint64_t cap = cap_of(c, p->rec), units;
    wb_rc rc = WB_OK;

    if (p->text.p != NULL)
        return WB_OK;
    if (p->rec->bytes > cap / WBI_TOKEN_UNIT * 2)
        rc = find_places(c, p);
    if (rc != WB_OK)
        return rc;
    if (has_places(p)) {
        p->clipped = true;
        rc = clip_at_places(c, p, cap);
    } else if (p->rec->bytes > READ_WHOLE) {
        p->clipped = true;
        rc = clip_long(c, p, cap);
    } else {
        rc = fetch(c, p->rec, 0, p->rec->bytes, &p->text);
    }
    if (rc != WB_OK)
        return rc;
    units = p->rec->units > 0 && !p->clipped ? p->rec->units : wbi_tokens_units(p->text);
    if (units > cap && !p->clipped) {
        p->clipped = true;
        rc = clip_whole(c, p, p->text, cap);
        units = wbi_tokens_units(p->text);
    }
    p->units = (uint32_t)units;
    p->priced = true;
    return rc;
}

wb_rc wbi_pick_price(struct chooser *c, struct pick *p)
{
    const struct record *r = p->rec;

    if (p->priced)
        return WB_OK;
    if (r->bytes > 0 && (r->units == 0 || r->bytes > READ_WHOLE || r->units > cap_of(c, r)))
        return wbi_pick_load(c, p);
    p->units = r->units;
    p->priced = true;
    return WB_OK;
}

/* ---- growing ---- */

/* The longest end of s, but for a little, that costs no more than units. */
static struct wbi_str longest_end(struct wbi_str s, uint64_t units, uint64_t *at)
{
    size_t n = (size_t)(units / WBI_TOKEN_UNIT) * 2 + 1, best = 0;

    for (int round = 0; round < 5 && n > best; round++) {
        uint64_t cost;

        n = n < s.n ? n : s.n;
        cost = wbi_tokens_units(wbi_str_from(s, s.n - n)) + 1;
        if (cost <= units)
            best = n;
        n = (size_t)(n * units / cost) * 31 / 32;
    }
    *at += s.n - best;
    return skip_cut_start(wbi_str_from(s, s.n - best), at);
}

static wb_rc grow_parts(struct chooser *c, const struct record *r, uint64_t units, struct parts *ps)
{
    uint64_t span = units / WBI_TOKEN_UNIT * 8 + PART, at; /* no end of the line needs more bytes */
    struct wbi_str s;
    size_t head;
    wb_rc rc;

    span = span < PART_MOST ? span : PART_MOST;
    span = span < r->bytes ? span : r->bytes;
    rc = fetch(c, r, 0, (size_t)span, &s);
    if (rc != WB_OK)
        return rc;
    head = wbi_tokens_prefix(s, r->hit > 0 ? units * 3 / 10 : units / 2);
    if (r->hit > 0 && r->hit < head)
        head = wbi_tokens_prefix(s, units * 7 / 10);
    add_part(ps, wbi_str_head(s, head), 0);
    if (r->hit > 0 && r->hit >= head) {
        at = r->hit > span / 2 ? r->hit - span / 2 : 0;
        head = (size_t)(r->hit - at);
        rc = fetch(c, r, at, (size_t)(span < r->bytes - at ? span : r->bytes - at), &s);
        if (rc != WB_OK)
            return rc;
        s = window(s, head, units * 4 / 10, &at);
        add_part(ps, s, at);
    }
    at = r->bytes - span;
    rc = fetch(c, r, at, (size_t)span, &s);
    if (rc != WB_OK)
        return rc;
    s = longest_end(s, r->hit > 0 ? units * 3 / 10 : units / 2, &at);
    add_part(ps, s, at);
    return WB_OK;
}

/* Parts of p that cost so much more, or as they are. */
static wb_rc grow(struct chooser *c, struct pick *p, uint64_t more)
{
    struct parts ps = {.n = 0};
    struct wbi_str before = p->text;
    uint64_t units, most = p->units + more;
    wb_rc rc = WB_OK;

    if (has_places(p))
        parts_at_places(p->places, most - 14 * WBI_TOKEN_UNIT, &ps);
    else
        rc = grow_parts(c, p->rec, most - 14 * WBI_TOKEN_UNIT, &ps);
    if (rc == WB_OK)
        rc = join(c, p->rec, &ps, &p->text);
    if (rc != WB_OK)
        return rc;
    units = wbi_tokens_units(p->text);
    if (units > most || units < p->units) {
        p->text = before;
        return WB_OK;
    }
    p->units = (uint32_t)units;
    p->clipped = ps.n != 1 || ps.part[0].n != p->rec->bytes;
    return WB_OK;
}

wb_rc wbi_grow_clipped(struct chooser *c, uint64_t left)
{
    size_t n = 0;
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < c->n; i++)
        n += wbi_shown(c, i) && c->picks[i].clipped;
    for (size_t i = 0; i < c->n && n > 0 && rc == WB_OK; i++) {
        struct pick *p = &c->picks[i];
        uint64_t before = p->units;

        if (!wbi_shown(c, i) || !p->clipped)
            continue;
        if (left / n >= GROW_LEAST)
            rc = grow(c, p, left / n);
        left -= p->units - before;
        n--;
    }
    return rc;
}
