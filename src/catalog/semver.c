/* SPDX-License-Identifier: Apache-2.0
 * catalog/semver.c: versions. Precedence is that of semver.org 2.0.0; the
 * limits on lengths and numbers are npm's. */
#include "catalog/semver.h"

#include "base/limits.h"
#include "catalog/semver_int.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_identifier_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

bool wbi_semver_number(struct wbi_str s, size_t *at, uint64_t *ret)
{
    size_t from = *at;

    while (*at < s.n && is_digit(s.p[*at]))
        (*at)++;
    if (*at - from > 1 && s.p[from] == '0')
        return false;
    return wbi_parse_u64(wbi_str_make(s.p + from, *at - from), ret) &&
           *ret <= WBI_SEMVER_MAX_NUMBER;
}

static bool all_digits(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return false;
    return s.n > 0;
}

/* Identifiers separated by dots, after the sign at *at. */
static bool identifiers(struct wbi_str s, size_t *at, bool zeros_matter, struct wbi_str *ret)
{
    size_t from = ++*at;

    for (;; (*at)++) {
        size_t start = *at;
        struct wbi_str one;

        while (*at < s.n && is_identifier_char(s.p[*at]))
            (*at)++;
        one = wbi_str_make(s.p + start, *at - start);
        if (one.n == 0 || (zeros_matter && one.n > 1 && one.p[0] == '0' && all_digits(one)))
            return false;
        if (*at == s.n || s.p[*at] != '.')
            break;
    }
    *ret = wbi_str_make(s.p + from, *at - from);
    return true;
}

bool wbi_semver_pre(struct wbi_str s, size_t *at, struct wbi_str *ret)
{
    *ret = WBI_NONE;
    return *at == s.n || s.p[*at] != '-' || identifiers(s, at, true, ret);
}

bool wbi_semver_build(struct wbi_str s, size_t *at, struct wbi_str *ret)
{
    *ret = WBI_NONE;
    return *at == s.n || s.p[*at] != '+' || identifiers(s, at, false, ret);
}

static bool dot(struct wbi_str s, size_t *at)
{
    return *at < s.n && s.p[(*at)++] == '.';
}

wb_rc wbi_semver_parse(struct wbi_str text, struct wbi_semver *ret, struct wbi_error *err)
{
    struct wbi_str s = wbi_str_trim(text);
    struct wbi_semver v;
    size_t at = s.n > 0 && s.p[0] == 'v';

    if (text.n <= WBI_LIMIT_SEMVER_TEXT && wbi_semver_number(s, &at, &v.major) && dot(s, &at) &&
        wbi_semver_number(s, &at, &v.minor) && dot(s, &at) && wbi_semver_number(s, &at, &v.patch) &&
        wbi_semver_pre(s, &at, &v.pre) && wbi_semver_build(s, &at, &v.build) && at == s.n) {
        *ret = v;
        return WB_OK;
    }
    return wbi_fail(err, WB_EINPUT,
                    "\"%.*s\" is no version; \"1.2.3\", \"1.2.3-rc.1\" and \"1.2.3+build\" are",
                    WBI_FMT(wbi_str_head(text, 80)));
}

/* Numbers as numbers, however long; they come before words. */
static int compare_identifiers(struct wbi_str a, struct wbi_str b)
{
    bool a_digits = all_digits(a), b_digits = all_digits(b);
    int order;

    if (a_digits != b_digits)
        return a_digits ? -1 : 1;
    if (a_digits && a.n != b.n)
        return a.n < b.n ? -1 : 1;
    order = wbi_str_cmp(a, b);
    return order < 0 ? -1 : order > 0;
}

static int compare_pre(struct wbi_str a, struct wbi_str b)
{
    if (a.p == NULL || b.p == NULL)
        return (a.p == NULL) - (b.p == NULL); /* a release is above its pre-releases */
    for (;;) {
        struct wbi_str one = wbi_str_head(a, wbi_str_index(a, '.'));
        struct wbi_str other = wbi_str_head(b, wbi_str_index(b, '.'));
        int order = compare_identifiers(one, other);

        if (order != 0)
            return order;
        if (one.n == a.n || other.n == b.n)
            return (other.n == b.n) - (one.n == a.n);
        a = wbi_str_from(a, one.n + 1);
        b = wbi_str_from(b, other.n + 1);
    }
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int wbi_semver_compare(const struct wbi_semver *a, const struct wbi_semver *b)
{
    int order = compare_numbers(a->major, b->major);

    if (order == 0)
        order = compare_numbers(a->minor, b->minor);
    if (order == 0)
        order = compare_numbers(a->patch, b->patch);
    return order != 0 ? order : compare_pre(a->pre, b->pre);
}
