/* SPDX-License-Identifier: Apache-2.0
 * base/slice.c */
#include "base/slice.h"

#include "base/checked.h"
#include "base/word.h"

size_t wbi_str_index(struct wbi_str s, char c)
{
    const char *at = s.n ? memchr(s.p, c, s.n) : NULL;

    return at ? (size_t)(at - s.p) : s.n;
}

size_t wbi_str_find(struct wbi_str s, struct wbi_str needle)
{
    const char *at;

    if (needle.n == 0)
        return 0;
    if (needle.n > s.n)
        return s.n;
    at = memmem(s.p, s.n, needle.p, needle.n);
    return at ? (size_t)(at - s.p) : s.n;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

struct wbi_str wbi_str_trim_ends(struct wbi_str s)
{
    while (s.n > 0 && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

int wbi_str_cmp(struct wbi_str a, struct wbi_str b)
{
    size_t n = WBI_MIN(a.n, b.n);
    int order = n ? memcmp(a.p, b.p, n) : 0;

    if (order != 0)
        return order;
    return a.n < b.n ? -1 : a.n > b.n;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool wbi_str_ieq(struct wbi_str a, struct wbi_str b)
{
    if (a.n != b.n)
        return false;
    if (wbi_str_eq(a, b))
        return true;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

void wbi_lower(char *p, size_t n)
{
    uint64_t v;

    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&v, p, 8);
        v = wbi_word_lower(v);
        memcpy(p, &v, 8);
    }
    for (size_t i = 0; i < n; i++)
        p[i] = lower(p[i]);
}

bool wbi_parse_u64(struct wbi_str s, uint64_t *ret)
{
    uint64_t v = 0;

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        if (!wbi_mul(v, (uint64_t)10, &v) || !wbi_add(v, (uint64_t)(s.p[i] - '0'), &v))
            return false;
    }
    *ret = v;
    return true;
}

bool wbi_parse_i64(struct wbi_str s, int64_t *ret)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    uint64_t v;

    if (!wbi_parse_u64(wbi_str_from(s, negative), &v))
        return false;
    if (negative) {
        if (v > (uint64_t)INT64_MAX + 1)
            return false;
        *ret = v == (uint64_t)INT64_MAX + 1 ? INT64_MIN : -(int64_t)v;
        return true;
    }
    if (v > INT64_MAX)
        return false;
    *ret = (int64_t)v;
    return true;
}

/* Backtracks to the last star only, so the work is O(pattern * text). */
bool wbi_glob_match(struct wbi_str pattern, struct wbi_str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, resume = 0;

    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}
