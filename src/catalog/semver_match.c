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
