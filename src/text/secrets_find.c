/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_find.c: the next secret of a text: by form, by a known value, by the object
 * that it stands in. The leftmost match wins, of two at one place the longer. */
#include <endian.h>

#include "base/limits.h"
#include "base/local.h"
#include "text/secrets_int.h"

/* The literal and a byte that may follow it. */
static inline __attribute__((always_inline)) bool literal_here(const struct rule *r, size_t n,
                                                               struct wbi_str t, size_t at)
{
    if (n > t.n - at || (n < t.n - at && !wbi_in_alphabet((uint8_t)t.p[at + n], r->alphabet)))
        return false;
    if (n <= 8) /* compared as a number already */
        return true;
    if (r->fold)
        return wbi_str_ieq(wbi_str_make(t.p + at, n), wbi_str_make(r->literal, n));
    return memcmp(t.p + at, r->literal, n) == 0;
}

/* Eight bytes, the first one lowest. */
static uint64_t first_bytes(struct wbi_str t, size_t at)
{
    const uint8_t *p = (const uint8_t *)t.p + at;
    uint64_t v = 0;

    if (t.n - at >= 8) {
        memcpy(&v, p, 8);
        return le64toh(v);
    }
    for (size_t i = 0; i < t.n - at; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* What a literal that is no secret itself says about the text around it. */
static void take_context(struct finder *f, const struct rule *rule, size_t at, size_t from)
{
    if (rule->literal[0] == '<') {
        if (f->mark == NOWHERE && wbi_mark_at(f->text, at) > 0)
            f->mark = at;
        return;
    }
    if (f->has_value || at >= f->limit ||
        !wbi_sealed_open(&f->sealed, wbi_str_head(f->text, f->limit), at, &f->left))
        return;
    if (f->sealed.unfinished && !f->final && f->limit - f->sealed.from < WBI_LIMIT_SECRET_SEALED)
        f->wait = f->sealed.from;
    else
        f->has_value = wbi_sealed_next(&f->sealed, f->set, f->text, from, &f->value);
}

/* Does the literal of the i-th rule in order stand at `at`? here: first_bytes. */
static bool rule_here(const struct prefilter *p, size_t i, struct wbi_str t, size_t at,
                      uint64_t here)
{
    return ((here | p->soft[i]) & p->mask[i]) == p->want[i] &&
           literal_here(&wbi_secret_rules[p->order[i]], p->length[i], t, at);
}

/* The longest match of any rule whose literal stands at `at`. */
static bool match_at(struct finder *f, size_t at, size_t floor, struct secret *ret)
{
    const struct prefilter *p = &f->set->filter;
    struct judged j = {f->set, f->text, floor, f->limit, false, &f->runs, &f->table};
    uint64_t here = first_bytes(f->text, at);
    unsigned key = wbi_rule_key(here);
    struct secret m = {0};
    bool any = false;

    for (size_t i = p->start[key]; i < p->start[key + 1]; i++) {
        const struct rule *rule = &wbi_secret_rules[p->order[i]];

        if (!rule_here(p, i, f->text, at, here))
            continue;
        if (rule->match == wbi_match_context) {
            take_context(f, rule, at, floor);
            continue;
        }
        if (!(rule->match ? rule->match : wbi_match_prefix)(&j, at, rule, &m) ||
            wbi_masked_before(f->set, f->text, &m))
            continue;
        if (!any || m.from < ret->from || (m.from == ret->from && m.to > ret->to))
            *ret = m;
        any = true;
    }
    if (f->table.fresh) {
        f->table.fresh = false;
        f->has_cell = wbi_columns_next(&f->table, f->set, f->text, floor, &f->cell);
    }
    if (!any && j.undecided && !f->final)
        f->wait = wbi_line_start(f->text, at);
    return any;
}

void wbi_finder_start(struct finder *f, const struct wbi_secrets *set, struct wbi_str text,
                      size_t limit, bool final, const struct wbi_secrets_table *table)
{
    static const struct wbi_secrets_table none;

    f->set = set;
    f->text = text;
    f->limit = limit;
    f->final = final;
    f->mark = NOWHERE;
    f->wait = NOWHERE;
    f->has_value = false;
    f->left = SEALED_READS * text.n;
    f->literal = 0;
    f->runs.there = 0;
    wbi_scan_start(&f->scan, &set->filter, text);
    wbi_columns_start(&f->table, table != NULL ? table : &none);
    f->has_cell = wbi_columns_next(&f->table, set, text, 0, &f->cell);
    f->has_known = wbi_known_next(set->known, text, 0, &f->known);
}

static bool comes_first(const struct secret *a, const struct secret *b)
{
    return a->from < b->from || (a->from == b->from && a->to >= b->to);
}

/* Of two, each of which may be NULL. */
static const struct secret *first_of(const struct secret *a, const struct secret *b)
{
    return a == NULL || (b != NULL && comes_first(b, a)) ? b : a;
}

/* What is known ahead: a known value, one of a sealed object or of a table; NULL for none. */
static const struct secret *ahead(struct finder *f, size_t from)
{
    while (f->has_known && f->known.from < from)
        f->has_known = wbi_known_next(f->set->known, f->text, from, &f->known);
    if (f->has_value && f->value.from < from)
        f->has_value = wbi_sealed_next(&f->sealed, f->set, f->text, from, &f->value);
    if (f->has_cell && f->cell.from < from)
        f->has_cell = wbi_columns_next(&f->table, f->set, f->text, from, &f->cell);
    return first_of(first_of(f->has_known ? &f->known : NULL, f->has_value ? &f->value : NULL),
                    f->has_cell ? &f->cell : NULL);
}

bool wbi_finder_next(struct finder *f, size_t from, struct secret *ret)
{
    const struct secret *next = ahead(f, from);
    struct secret m;
    size_t at;

    for (;;) {
        at = wbi_scan_next(&f->scan, from);
        if (at >= f->text.n || (next != NULL && next->to <= at))
            break;
        if (!match_at(f, at, from, &m)) {
            if (f->wait != NOWHERE)
                return false;
            if (f->has_value || f->has_cell || next == &f->cell) /* it may have come just now */
                next = ahead(f, from);
            continue;
        }
        if (next != NULL && comes_first(next, &m))
            break;
        *ret = m;
        f->literal = at;
        return true;
    }
    if (next == NULL)
        return false;
    *ret = *next;
    f->literal = ret->from;
    /* candidates passed over lie before its end or are looked at again */
    wbi_scan_start(&f->scan, &f->set->filter, f->text);
    f->scan.at = ret->to;
    return true;
}

void wbi_finder_note_mark(struct finder *f, const struct secret *m)
{
    size_t from = f->literal < m->from ? f->literal : m->from;
    struct wbi_str found = wbi_str_make(f->text.p + from, m->to - from);
    size_t i = 0;

    while (f->mark == NOWHERE &&
           (i += wbi_str_find(wbi_str_from(found, i), WBI_LIT("<U+"))) < found.n) {
        if (wbi_mark_at(f->text, from + i) > 0)
            f->mark = from + i;
        i++;
    }
}

bool wbi_secrets_suspected(const struct wbi_secrets *s, struct wbi_str text)
{
    const struct prefilter *p = &s->filter;
    struct secret ignored;
    WBI_LARGE_LOCAL struct scan scan;

    if (wbi_known_next(s->known, text, 0, &ignored))
        return true;
    wbi_scan_start(&scan, p, text);
    for (size_t at = wbi_scan_next(&scan, 0); at < text.n; at = wbi_scan_next(&scan, at + 1)) {
        uint64_t here = first_bytes(text, at);
        unsigned key = wbi_rule_key(here);

        for (size_t i = p->start[key]; i < p->start[key + 1]; i++)
            if (rule_here(p, i, text, at, here))
                return true;
    }
    return false;
}
