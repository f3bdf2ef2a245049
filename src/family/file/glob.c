/* SPDX-License-Identifier: Apache-2.0
 * family/file/glob.c: matching without recursion: of all stars only the last
 * one of each kind is ever tried again, so the work is bounded by the product
 * of the two lengths. */
#include "family/file/glob.h"

#include "base/arena.h"

static bool between(unsigned char c, unsigned char lo, unsigned char hi)
{
    return c >= lo && c <= hi;
}

/* The classes of POSIX by name, of ASCII as git has them. */
static bool in_named(struct wbi_str name, unsigned char c)
{
    bool lower = between(c, 'a', 'z'), upper = between(c, 'A', 'Z'), digit = between(c, '0', '9');
    bool graph = between(c, 0x21, 0x7e);
    const struct {
        const char *name;
        bool in;
    } classes[] = {
        {"alpha", lower || upper},
        {"digit", digit},
        {"alnum", lower || upper || digit},
        {"lower", lower},
        {"upper", upper},
        {"space", c == ' ' || between(c, '\t', '\r')},
        {"blank", c == ' ' || c == '\t'},
        {"punct", graph && !lower && !upper && !digit},
        {"graph", graph},
        {"print", graph || c == ' '},
        {"cntrl", c < 0x20 || c == 0x7f},
        {"xdigit", digit || between(c, 'a', 'f') || between(c, 'A', 'F')},
    };

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (wbi_str_eqz(name, classes[i].name))
            return classes[i].in;
    return false;
}

/* "[:alpha:]" at i: its length, 0 when there is none. */
static size_t named_class(struct wbi_str p, size_t i, struct wbi_str *ret_name)
{
    struct wbi_str rest = wbi_str_from(p, i);
    size_t end;

    if (!wbi_str_starts(rest, WBI_LIT("[:")))
        return 0;
    end = wbi_str_find(rest, WBI_LIT(":]"));
    if (end < 2 || end == rest.n)
        return 0;
    *ret_name = wbi_str_make(rest.p + 2, end - 2);
    return end + 2;
}

/* One element of a [class] against c; *at stands behind '['. Returns false when
 * the class does not end, else moves *at behind ']'. */
static bool in_class(struct wbi_str p, size_t *at, unsigned char c, bool *ret_in)
{
    size_t i = *at;
    bool negated = i < p.n && (p.p[i] == '!' || p.p[i] == '^'), in = false;

    i += negated;
    for (size_t first = i; i < p.n && (p.p[i] != ']' || i == first); i++) {
        unsigned char lo = (unsigned char)p.p[i], hi;
        struct wbi_str name;
        size_t skip = named_class(p, i, &name);

        if (skip > 0) {
            in = in || in_named(name, c);
            i += skip - 1;
            continue;
        }
        if (lo == '\\' && i + 1 < p.n)
            lo = (unsigned char)p.p[++i];
        hi = lo;
        if (i + 2 < p.n && p.p[i + 1] == '-' && p.p[i + 2] != ']') {
            i += 2;
            hi = (unsigned char)p.p[i];
            if (hi == '\\' && i + 1 < p.n)
                hi = (unsigned char)p.p[++i];
        }
        in = in || c == lo || between(c, lo, hi);
    }
    if (i >= p.n)
        return false;
    *at = i + 1;
    *ret_in = in != negated;
    return true;
}

/* Does the single element at *pi take c? Moves *pi behind it. */
static bool take_one(struct wbi_str p, size_t *pi, char c)
{
    size_t at = *pi;
    bool in = false;

    if (p.p[at] == '?') {
        *pi = at + 1;
        return c != '/';
    }
    if (p.p[at] == '[') {
        size_t after = at + 1;

        if (in_class(p, &after, (unsigned char)c, &in)) {
            *pi = after;
            return in && c != '/';
        }
    }
    if (p.p[at] == '\\' && at + 1 < p.n)
        at++;
    *pi = at + 1;
    return p.p[at] == c;
}

/* At a "**" that stands for whole components? Gives the index behind it, its
 * following slash included. */
static bool at_globstar(struct wbi_str p, size_t at, size_t *ret_after)
{
    if (at + 1 >= p.n || p.p[at] != '*' || p.p[at + 1] != '*' || (at > 0 && p.p[at - 1] != '/'))
        return false;
    if (at + 2 == p.n) {
        *ret_after = at + 2;
        return true;
    }
    *ret_after = at + 3;
    return p.p[at + 2] == '/';
}

bool wbi_path_glob(struct wbi_str p, struct wbi_str s)
{
    size_t pi = 0, si = 0, after;
    size_t star_p = SIZE_MAX, star_s = 0, deep_p = SIZE_MAX, deep_s = 0;

    for (;;) {
        if (pi < p.n && at_globstar(p, pi, &after)) {
            if (after == p.n)
                return p.p[p.n - 1] == '*';
            deep_p = pi = after;
            deep_s = si;
            star_p = SIZE_MAX;
            continue;
        }
        if (pi < p.n && p.p[pi] == '*') {
            while (pi < p.n && p.p[pi] == '*')
                pi++;
            star_p = pi;
            star_s = si;
            continue;
        }
        if (pi < p.n && si < s.n && take_one(p, &pi, s.p[si])) {
            si++;
            continue;
        }
        if (pi == p.n && si == s.n)
            return true;
        if (star_p != SIZE_MAX && star_s < s.n && s.p[star_s] != '/') {
            pi = star_p;
            si = ++star_s;
            continue;
        }
        if (deep_p == SIZE_MAX)
            return false;
        deep_s += wbi_str_index(wbi_str_from(s, deep_s), '/') + 1;
        if (deep_s > s.n)
            return false;
        star_p = SIZE_MAX;
        pi = deep_p;
        si = deep_s;
    }
}

/* ---- a caller's glob ---- */

/* First {…} group with a comma or false. */
static bool find_braces(struct wbi_str s, size_t *ret_open, size_t *ret_close)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == '{')
            *ret_open = i;
        else if (s.p[i] == '}' && *ret_open != SIZE_MAX) {
            *ret_close = i;
            return true;
        }
    }
    return false;
}

static wb_rc too_many(struct wbi_error *err)
{
    return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                         "the glob has more than %u alternatives", WBI_LIMIT_GLOB_ALTERNATIVES);
}

wb_rc wbi_globs_compile(struct wbi_str glob, struct wbi_arena *arena, struct wbi_error *err,
                        struct wbi_globs *ret)
{
    struct wbi_globs g = {0};

    if (glob.n == 0) {
        *ret = g;
        return WB_OK;
    }
    if (glob.n > WBI_LIMIT_GLOB)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the glob has %zu bytes; at most %u are accepted", glob.n,
                             WBI_LIMIT_GLOB);
    g.patterns = wbi_arena_array(arena, WBI_LIMIT_GLOB_ALTERNATIVES, sizeof(*g.patterns));
    if (g.patterns == NULL)
        return wbi_fail_nomem(err);
    if (wbi_str_starts(glob, WBI_LIT("./")))
        glob = wbi_str_from(glob, 2);
    g.patterns[g.n++] = glob;
    for (size_t i = 0; i < g.n;) {
        struct wbi_str s = g.patterns[i], inner;
        size_t open = SIZE_MAX, close = 0, n = 0;

        if (!find_braces(s, &open, &close)) {
            i++;
            continue;
        }
        inner = wbi_str_make(s.p + open + 1, close - open - 1);
        for (bool more = true; more; n++) {
            size_t len = wbi_str_index(inner, ',');
            struct wbi_str made = wbi_arena_fmt(arena, "%.*s%.*s%.*s", (int)open, s.p, (int)len,
                                                inner.p, (int)(s.n - close - 1), s.p + close + 1);

            if (made.p == NULL)
                return wbi_fail_nomem(err);
            if (n > 0 && g.n == WBI_LIMIT_GLOB_ALTERNATIVES)
                return too_many(err);
            g.patterns[n == 0 ? i : g.n++] = made;
            more = len < inner.n;
            inner = wbi_str_from(inner, len + 1);
        }
    }
    *ret = g;
    return WB_OK;
}

static struct wbi_str last_component(struct wbi_str path)
{
    size_t n = path.n;

    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return wbi_str_from(path, n);
}

bool wbi_globs_match(const struct wbi_globs *g, struct wbi_str path)
{
    if (g->n == 0)
        return true;
    for (size_t i = 0; i < g->n; i++) {
        struct wbi_str p = g->patterns[i];
        bool whole = wbi_str_index(p, '/') < p.n;

        if (wbi_path_glob(wbi_str_starts(p, WBI_LIT("/")) ? wbi_str_from(p, 1) : p,
                          whole ? path : last_component(path)))
            return true;
    }
    return false;
}
