/* SPDX-License-Identifier: Apache-2.0
 * catalog/semver_range.c: ranges. A range is a list of sets joined by "||"; a
 * set is a list of comparators that must all hold. Everything a person may
 * write (hyphens, tildes, carets, x) becomes plain comparators when it is
 * parsed, so that testing a version is a few comparisons. */
#include "base/limits.h"
#include "catalog/semver.h"
#include "catalog/semver_int.h"

/* "1", "1.x", "1.2.*", "1.2.3-rc.1": numbers from the left, then x or nothing. */
struct partial {
    uint64_t number[3];
    unsigned given; /* how many are numbers; 3 is a whole version */
    bool odd;       /* a number stands after an x, where it says nothing */
    struct wbi_str pre;
};

/* What stands in front of a partial. */
enum sign { SIGN_NONE, SIGN_EQ, SIGN_LT, SIGN_LE, SIGN_GT, SIGN_GE, SIGN_TILDE, SIGN_CARET };

struct parsing {
    struct wbi_arena *arena;
    struct wbi_semver_range *range;
    struct wbi_str s; /* the set at hand */
    size_t at;
    bool no_memory;
};

static const struct wbi_semver nothing_below = {.pre = WBI_LIT_INIT("0")}; /* 0.0.0-0 */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static void skip_space(struct parsing *p)
{
    while (p->at < p->s.n && is_space(p->s.p[p->at]))
        p->at++;
}

static bool next_is(struct parsing *p, char c)
{
    if (p->at == p->s.n || p->s.p[p->at] != c)
        return false;
    p->at++;
    return true;
}

/* Comparators */

static bool null_comparator(const struct wbi_semver_comparator *c)
{
    return c->op == WBI_SEMVER_LT && wbi_semver_compare(&c->v, &nothing_below) == 0;
}

static struct wbi_semver_set *current_set(struct parsing *p)
{
    return &p->range->sets[p->range->sets_n - 1];
}

static bool add_comparator(struct parsing *p, enum wbi_semver_op op, struct wbi_semver v)
{
    struct wbi_semver_range *r = p->range;

    if (op == WBI_SEMVER_GE && v.major + v.minor + v.patch == 0 && v.pre.p == NULL)
        op = WBI_SEMVER_ANY; /* every release */
    if (r->comparators_n == r->comparators_cap) {
        size_t cap = r->comparators_cap ? r->comparators_cap * 2 : 4;
        struct wbi_semver_comparator *more = wbi_arena_grow(
            p->arena, r->comparators, r->comparators_cap * sizeof(*more), cap * sizeof(*more));
        if (more == NULL) {
            p->no_memory = true;
            return false;
        }
        r->comparators = more;
        r->comparators_cap = cap;
    }
    v.build = WBI_NONE;
    r->comparators[r->comparators_n++] = (struct wbi_semver_comparator){op, v};
    current_set(p)->count++;
    return true;
}

/* The version a partial starts at: x is 0. */
static struct wbi_semver floor_of(const struct partial *q)
{
    return (struct wbi_semver){.major = q->number[0],
                               .minor = q->number[1],
                               .patch = q->number[2],
                               .pre = q->given == 3 ? q->pre : WBI_NONE};
}

/* The version with number i raised by one and the rest 0; false past the
 * largest number. With `lowest` it is the lowest pre-release of that. */
static bool raised(const struct partial *q, unsigned i, bool lowest, struct wbi_semver *ret)
{
    uint64_t n[3] = {0, 0, 0};

    for (unsigned k = 0; k <= i; k++)
        n[k] = q->number[k];
    if (n[i] >= WBI_SEMVER_MAX_NUMBER)
        return false;
    n[i]++;
    *ret = (struct wbi_semver){
        .major = n[0], .minor = n[1], .patch = n[2], .pre = lowest ? WBI_LIT("0") : WBI_NONE};
    return true;
}

/* From the partial's floor to below number i raised. */
static bool add_span(struct parsing *p, const struct partial *q, unsigned i)
{
    struct wbi_semver top;

    return raised(q, i, true, &top) && add_comparator(p, WBI_SEMVER_GE, floor_of(q)) &&
           add_comparator(p, WBI_SEMVER_LT, top);
}

/* A caret keeps the first number that is not 0; x after a 0 counts as one. */
static unsigned caret_place(const struct partial *q)
{
    unsigned i = 0;

    while (i + 1 < q->given && q->number[i] == 0)
        i++;
    return i;
}

/* Whole versions behind a plain sign. */
static bool add_exact(struct parsing *p, enum sign sign, const struct partial *q)
{
    static const enum wbi_semver_op ops[] = {WBI_SEMVER_EQ, WBI_SEMVER_EQ, WBI_SEMVER_LT,
                                             WBI_SEMVER_LE, WBI_SEMVER_GT, WBI_SEMVER_GE};

    return add_comparator(p, ops[sign], floor_of(q));
}

static bool add_signed(struct parsing *p, enum sign sign, const struct partial *q)
{
    struct wbi_semver edge;

    if (q->given == 0) { /* nothing is above or below everything */
        bool none = sign == SIGN_LT || sign == SIGN_GT;
        return add_comparator(p, none ? WBI_SEMVER_LT : WBI_SEMVER_ANY, nothing_below);
    }
    switch (sign) {
    case SIGN_TILDE:
        return add_span(p, q, q->given == 1 ? 0 : 1);
    case SIGN_CARET:
        return add_span(p, q, caret_place(q));
    case SIGN_NONE:
    case SIGN_EQ:
        return q->given == 3 ? add_exact(p, sign, q) : add_span(p, q, q->given - 1);
    case SIGN_GE:
        return add_comparator(p, WBI_SEMVER_GE, floor_of(q));
    case SIGN_GT:
        if (q->given == 3)
            return add_exact(p, sign, q);
        return raised(q, q->given - 1, false, &edge) && add_comparator(p, WBI_SEMVER_GE, edge);
    case SIGN_LE:
        if (q->given == 3)
            return add_exact(p, sign, q);
        return raised(q, q->given - 1, true, &edge) && add_comparator(p, WBI_SEMVER_LT, edge);
    case SIGN_LT:
        edge = floor_of(q);
        if (q->given < 3)
            edge.pre = WBI_LIT("0");
        return add_comparator(p, WBI_SEMVER_LT, edge);
    }
    return false;
}

/* Reading */

static enum sign read_sign(struct parsing *p)
{
    if (next_is(p, '^'))
        return SIGN_CARET;
    if (next_is(p, '~')) {
        (void)next_is(p, '>'); /* an older spelling */
        return SIGN_TILDE;
    }
    if (next_is(p, '<'))
        return next_is(p, '=') ? SIGN_LE : SIGN_LT;
    if (next_is(p, '>'))
        return next_is(p, '=') ? SIGN_GE : SIGN_GT;
    return next_is(p, '=') ? SIGN_EQ : SIGN_NONE;
}

static bool read_place(struct parsing *p, struct partial *q, unsigned i)
{
    uint64_t number;

    if (next_is(p, 'x') || next_is(p, 'X') || next_is(p, '*'))
        return true;
    if (!wbi_semver_number(p->s, &p->at, &number))
        return false;
    q->odd = q->odd || q->given != i;
    if (!q->odd)
        q->number[q->given++] = number;
    return true;
}

static bool read_partial(struct parsing *p, enum sign sign, struct partial *q)
{
    bool plain = sign != SIGN_TILDE && sign != SIGN_CARET;
    struct wbi_str build;
    size_t start = p->at, prefix;
    unsigned i;

    *q = (struct partial){.given = 0};
    while (next_is(p, 'v') || next_is(p, '='))
        ;
    prefix = p->at - start;
    for (i = 0; i < 3 && (i == 0 || next_is(p, '.')); i++)
        if (!read_place(p, q, i))
            return false;
    if (i == 3 && !wbi_semver_pre(p->s, &p->at, &q->pre))
        return false;
    if (!wbi_semver_build(p->s, &p->at, &build))
        return false;
    if (plain && q->given == 3 && (prefix > 1 || (prefix == 1 && p->s.p[start] == '=')))
        return false;
    return p->at == p->s.n || is_space(p->s.p[p->at]);
}

/* " - " and the upper end, once the lower end was read; the set ends there. */
static bool read_upper_end(struct parsing *p, const struct partial *low)
{
    struct partial high;

    skip_space(p);
    if (!read_partial(p, SIGN_NONE, &high))
        return false;
    skip_space(p);
    if (p->at != p->s.n)
        return false;
    return add_signed(p, SIGN_GE, low) && add_signed(p, SIGN_LE, &high);
}

static bool hyphen_follows(struct parsing *p)
{
    if (p->at + 1 >= p->s.n || p->s.p[p->at] != '-' || !is_space(p->s.p[p->at + 1]))
        return false;
    p->at++;
    return true;
}

/* One set's comparators as written. */
static bool read_comparators(struct parsing *p)
{
    skip_space(p);
    if (p->at == p->s.n)
        return add_comparator(p, WBI_SEMVER_ANY, nothing_below);
    for (bool first = true; p->at < p->s.n; first = false) {
        enum sign sign = read_sign(p);
        struct partial q;

        skip_space(p);
        if ((sign == SIGN_TILDE || sign == SIGN_CARET) && next_is(p, '='))
            skip_space(p); /* "~= 1" */
        if (!read_partial(p, sign, &q))
            return false;
        skip_space(p);
        if (first && (sign == SIGN_NONE || sign == SIGN_EQ) && hyphen_follows(p))
            return read_upper_end(p, &q);
        /* npm refuses odd ones only where it does not rewrite them */
        if (q.odd && sign != SIGN_TILDE && sign != SIGN_CARET)
            return false;
        if (!add_signed(p, sign, &q))
            return false;
    }
    return true;
}

/* Normal form of what was read */

static bool same_comparator(const struct wbi_semver_comparator *a,
                            const struct wbi_semver_comparator *b)
{
    return a->op == b->op && (a->op == WBI_SEMVER_ANY || wbi_semver_compare(&a->v, &b->v) == 0);
}

static bool seen_before(const struct wbi_semver_comparator *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_comparator(&c[k], &c[i]))
            return true;
    return false;
}

/* A comparator nothing satisfies stands alone; "any" stands only alone; none
 * stands twice. */
static void tidy_set(struct wbi_semver_range *r, struct wbi_semver_set *set)
{
    struct wbi_semver_comparator *c = r->comparators + set->first;
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++)
        if (null_comparator(&c[i])) {
            c[0] = c[i];
            set->count = 1;
            break;
        }
    for (size_t i = 0; i < set->count; i++)
        if (!seen_before(c, i))
            c[kept++] = c[i];
    set->count = kept;
    kept = 0;
    for (size_t i = 0; i < set->count && set->count > 1; i++)
        if (c[i].op != WBI_SEMVER_ANY)
            c[kept++] = c[i];
    if (kept > 0)
        set->count = kept;
    r->comparators_n = set->first + set->count;
}

/* Sets that nothing satisfies go, unless all are; a set of "any" is all. */
static void tidy_range(struct wbi_semver_range *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->sets_n; i++)
        if (!null_comparator(&r->comparators[r->sets[i].first]))
            r->sets[kept++] = r->sets[i];
    r->sets_n = kept > 0 ? kept : 1;
    for (size_t i = 0; i < r->sets_n; i++)
        if (r->comparators[r->sets[i].first].op == WBI_SEMVER_ANY) {
            r->sets[0] = r->sets[i];
            r->sets_n = 1;
        }
}

static bool read_set(struct parsing *p, struct wbi_str text)
{
    struct wbi_semver_range *r = p->range;

    if (r->sets_n == r->sets_cap) {
        size_t cap = r->sets_cap ? r->sets_cap * 2 : 2;
        struct wbi_semver_set *more =
            wbi_arena_grow(p->arena, r->sets, r->sets_cap * sizeof(*more), cap * sizeof(*more));
        if (more == NULL) {
            p->no_memory = true;
            return false;
        }
        r->sets = more;
        r->sets_cap = cap;
    }
    r->sets[r->sets_n++] = (struct wbi_semver_set){.first = r->comparators_n};
    p->s = text;
    p->at = 0;
    if (!read_comparators(p))
        return false;
    tidy_set(r, current_set(p));
    return true;
}

wb_rc wbi_semver_range_parse(struct wbi_arena *arena, struct wbi_str text,
                             struct wbi_semver_range **ret, struct wbi_error *err)
{
    struct wbi_semver_range *r;
    struct parsing p = {.arena = arena};
    struct wbi_str rest;

    if (text.n > WBI_LIMIT_SEMVER_RANGE)
        return wbi_fail(err, WB_ELIMIT, "a version range has at most %u bytes",
                        WBI_LIMIT_SEMVER_RANGE);
    r = wbi_arena_zalloc(arena, sizeof(*r));
    rest = wbi_arena_str(arena, wbi_str_make(text.p ? text.p : "", text.n));
    if (r == NULL || rest.p == NULL)
        return wbi_fail_nomem(err);
    p.range = r;
    for (bool more = true; more;) {
        size_t end = wbi_str_find(rest, WBI_LIT("||"));

        more = end < rest.n;
        if (!read_set(&p, wbi_str_head(rest, end)))
            return p.no_memory
                       ? wbi_fail_nomem(err)
                       : wbi_fail(err, WB_EINPUT,
                                  "\"%.*s\" is no version range; \"1.2.3\", \"^1.2\", \"~1.2.3\", "
                                  "\"1.x\", \">=1 <3\", \"1 - 2\" and \"*\", joined by \"||\", are",
                                  WBI_FMT(wbi_str_head(text, 80)));
        rest = wbi_str_from(rest, end + 2);
    }
    tidy_range(r);
    *ret = r;
    return WB_OK;
}
