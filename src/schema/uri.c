/* SPDX-License-Identifier: Apache-2.0
 * schema/uri.c: resolving references (RFC 3986, section 5). */
#include "base/buf.h"
#include "base/limits.h"
#include "schema/schema_int.h"

struct parts {
    struct wbi_str scheme, authority, path, query, fragment; /* absent: p NULL */
};

static struct wbi_str cut(struct wbi_str *rest, size_t n, size_t skip)
{
    struct wbi_str head = wbi_str_head(*rest, n);

    *rest = wbi_str_from(*rest, n + skip);
    return head;
}

static size_t scheme_length(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == ':')
            return i;
        if (c == '/' || c == '?' || c == '#')
            return 0;
    }
    return 0;
}

static struct parts split(struct wbi_str s)
{
    struct parts u = {.path = WBI_NONE};
    size_t n = wbi_str_index(s, '#');

    if (n < s.n) {
        u.fragment = wbi_str_from(s, n + 1);
        s = wbi_str_head(s, n);
    }
    n = scheme_length(s);
    if (n > 0)
        u.scheme = cut(&s, n, 1);
    n = wbi_str_index(s, '?');
    if (n < s.n) {
        u.query = wbi_str_from(s, n + 1);
        s = wbi_str_head(s, n);
    }
    if (wbi_str_starts(s, WBI_LIT("//"))) {
        s = wbi_str_from(s, 2);
        n = wbi_str_index(s, '/');
        u.authority = cut(&s, n, 0);
    }
    u.path = s;
    return u;
}

/* Append path to out without its dot segments. out->n at entry is the floor. */
static void add_path(struct wbi_buf *out, struct wbi_str path)
{
    size_t floor = out->n;

    while (path.n > 0) {
        bool slash = path.p[0] == '/';
        struct wbi_str rest = wbi_str_from(path, slash);
        struct wbi_str segment = wbi_str_head(rest, wbi_str_index(rest, '/'));
        bool last = segment.n == rest.n;

        if (wbi_str_eqz(segment, ".") || wbi_str_eqz(segment, "..")) {
            if (segment.n == 2) {
                while (out->n > floor && out->p[out->n - 1] != '/')
                    out->n--;
                out->n -= out->n > floor;
            }
            if (last && slash)
                wbi_buf_addc(out, '/');
        } else {
            if (slash)
                wbi_buf_addc(out, '/');
            wbi_buf_adds(out, segment);
        }
        path = wbi_str_from(rest, segment.n);
    }
}

static void add_merged(struct wbi_buf *out, const struct parts *base, struct wbi_str path,
                       struct wbi_arena *arena)
{
    size_t keep = base->path.n;
    struct wbi_str merged;

    while (keep > 0 && base->path.p[keep - 1] != '/')
        keep--;
    if (base->authority.p != NULL && base->path.n == 0)
        merged = wbi_arena_fmt(arena, "/%.*s", WBI_FMT(path));
    else
        merged = wbi_arena_fmt(arena, "%.*s%.*s", (int)keep, base->path.p ? base->path.p : "",
                               WBI_FMT(path));
    if (merged.p == NULL)
        out->rc = WB_ENOMEM;
    else
        add_path(out, merged);
}

static void add_part(struct wbi_buf *out, const char *before, struct wbi_str part,
                     const char *after)
{
    if (part.p == NULL)
        return;
    wbi_buf_addz(out, before);
    wbi_buf_adds(out, part);
    wbi_buf_addz(out, after);
}

struct wbi_str wbi_uri_resolve(struct wbi_arena *arena, struct wbi_str base, struct wbi_str ref)
{
    struct parts b = split(base), r = split(ref);
    bool own = r.scheme.p != NULL, own_authority = own || r.authority.p != NULL;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_SCHEMA_URI);
    add_part(&out, "", own ? r.scheme : b.scheme, ":");
    add_part(&out, "//", own_authority ? r.authority : b.authority, "");
    if (own_authority || (r.path.n > 0 && r.path.p[0] == '/'))
        add_path(&out, r.path);
    else if (r.path.n > 0)
        add_merged(&out, &b, r.path, arena);
    else
        wbi_buf_adds(&out, b.path.p ? b.path : WBI_LIT(""));
    add_part(&out, "?", r.path.n > 0 || own_authority || r.query.p ? r.query : b.query, "");
    add_part(&out, "#", r.fragment, "");
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}
