/* SPDX-License-Identifier: Apache-2.0
 * catalog/semver_match.c: what a parsed range says about versions. */
#include "catalog/semver.h"
#include "catalog/semver_int.h"

static bool holds(const struct wbi_semver_comparator *c, const struct wbi_semver *v)
{
    int order = c->op == WBI_SEMVER_ANY ? 0 : wbi_semver_compare(v, &c->v);

    switch (c->op) {
    case WBI_SEMVER_ANY:
        return true;
    case WBI_SEMVER_EQ:
        return order == 0;
    case WBI_SEMVER_LT:
        return order < 0;
    case WBI_SEMVER_LE:
        return order <= 0;
    case WBI_SEMVER_GT:
        return order > 0;
    case WBI_SEMVER_GE:
        return order >= 0;
    }
    return false;
}

static bool set_admits(const struct wbi_semver_comparator *c, size_t n, const struct wbi_semver *v)
{
    bool named = v->pre.p == NULL;

    for (size_t i = 0; i < n; i++) {
        if (!holds(&c[i], v))
            return false;
        /* A pre-release only where one of the same release is named. */
        if (c[i].op != WBI_SEMVER_ANY && c[i].v.pre.p != NULL && c[i].v.major == v->major &&
            c[i].v.minor == v->minor && c[i].v.patch == v->patch)
            named = true;
    }
    return named;
}

bool wbi_semver_satisfies(const struct wbi_semver_range *r, const struct wbi_semver *version)
{
    for (size_t i = 0; i < r->sets_n; i++)
        if (set_admits(r->comparators + r->sets[i].first, r->sets[i].count, version))
            return true;
    return false;
}

/* Comparisons as seen when looking up (sign 1) or down (sign -1). */
struct view {
    int sign;
    enum wbi_semver_op open;   /* > when looking up: no end on that side */
    enum wbi_semver_op closed; /* >= */
};

static int seen(const struct view *w, const struct wbi_semver *a, const struct wbi_semver *b)
{
    return w->sign * wbi_semver_compare(a, b);
}

/* Is v past the far end of one set? */
static bool past_set(const struct view *w, const struct wbi_semver_comparator *c, size_t n,
                     const struct wbi_semver *v)
{
    static const struct wbi_semver_comparator from_zero = {.op = WBI_SEMVER_GE};
    const struct wbi_semver_comparator *high = NULL, *low = NULL;
    int order;

    for (size_t i = 0; i < n; i++) {
        const struct wbi_semver_comparator *one = c[i].op == WBI_SEMVER_ANY ? &from_zero : &c[i];

        high = high ? high : one;
        low = low ? low : one;
        if (seen(w, &one->v, &high->v) > 0)
            high = one;
        else if (seen(w, &one->v, &low->v) < 0)
            low = one;
    }
    if (high == NULL || high->op == w->open || high->op == w->closed)
        return false;
    order = seen(w, v, &low->v);
    if (low->op == WBI_SEMVER_EQ || low->op == w->open)
        return order > 0;
    return low->op != w->closed || order >= 0;
}

static bool past_range(const struct view *w, const struct wbi_semver_range *r,
                       const struct wbi_semver *v)
{
    if (wbi_semver_satisfies(r, v))
        return false;
    for (size_t i = 0; i < r->sets_n; i++)
        if (!past_set(w, r->comparators + r->sets[i].first, r->sets[i].count, v))
            return false;
    return true;
}

bool wbi_semver_above(const struct wbi_semver_range *r, const struct wbi_semver *version)
{
    static const struct view up = {1, WBI_SEMVER_GT, WBI_SEMVER_GE};

    return past_range(&up, r, version);
}

bool wbi_semver_below(const struct wbi_semver_range *r, const struct wbi_semver *version)
{
    static const struct view down = {-1, WBI_SEMVER_LT, WBI_SEMVER_LE};

    return past_range(&down, r, version);
}

static void format_comparator(const struct wbi_semver_comparator *c, struct wbi_buf *out)
{
    static const char *const signs[] = {"*", "", "<", "<=", ">", ">="};

    wbi_buf_addz(out, signs[c->op]);
    if (c->op == WBI_SEMVER_ANY)
        return;
    wbi_buf_addu(out, c->v.major);
    wbi_buf_addc(out, '.');
    wbi_buf_addu(out, c->v.minor);
    wbi_buf_addc(out, '.');
    wbi_buf_addu(out, c->v.patch);
    if (c->v.pre.p != NULL) {
        wbi_buf_addc(out, '-');
        wbi_buf_adds(out, c->v.pre);
    }
}

void wbi_semver_range_format(const struct wbi_semver_range *r, struct wbi_buf *out)
{
    for (size_t i = 0; i < r->sets_n; i++) {
        if (i > 0)
            wbi_buf_addz(out, "||");
        for (size_t k = 0; k < r->sets[i].count; k++) {
            if (k > 0)
                wbi_buf_addc(out, ' ');
            format_comparator(&r->comparators[r->sets[i].first + k], out);
        }
    }
}

/* False when none fits. */
static bool highest(const struct wbi_semver_range *range, const struct wbi_str *versions, size_t n,
                    size_t *ret_index)
{
    struct wbi_semver best, v;
    bool found = false;

    for (size_t i = 0; i < n; i++) {
        if (wbi_semver_parse(versions[i], &v, NULL) != WB_OK || !wbi_semver_satisfies(range, &v))
            continue;
        if (found && wbi_semver_compare(&v, &best) <= 0)
            continue;
        best = v;
        found = true;
        *ret_index = i;
    }
    return found;
}

wb_rc wbi_semver_pick(struct wbi_arena *arena, struct wbi_str range, const struct wbi_str *versions,
                      size_t n, size_t *ret_index, struct wbi_error *err)
{
    struct wbi_semver_range *r = NULL;
    wb_rc rc = wbi_semver_range_parse(arena, range, &r, err);

    if (rc != WB_OK)
        return rc;
    if (!highest(r, versions, n, ret_index))
        return wbi_fail(err, WB_ENOTFOUND, "no version satisfies \"%.*s\"",
                        WBI_FMT(wbi_str_head(range, 80)));
    return WB_OK;
}
