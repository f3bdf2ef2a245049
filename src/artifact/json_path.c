/* SPDX-License-Identifier: Apache-2.0
 * artifact/json_path.c: one value by a JSON Pointer ("/a/0") or a plain path
 * ("$.a[0]['b c']"); no wildcards, no filters. */
#include "artifact/read.h"
#include "json/json.h"

#define STEP_MAX 1024u

struct step {
    char text[STEP_MAX];
    size_t n;
    bool index_only; /* written as [n] */
};

static wb_rc bad_path(struct wbi_str path, struct wbi_error *err)
{
    return wbi_fail(err, WB_EINPUT, "bad JSON path \"%.*s\": \"/a/0/b\" or \"$.a[0]['b']\"",
                    WBI_FMT(wbi_str_head(path, 100)));
}

static bool put(struct step *s, char c)
{
    if (s->n >= STEP_MAX)
        return false;
    s->text[s->n++] = c;
    return true;
}

/* "/token" with ~0 and ~1. */
static bool pointer_step(struct wbi_str path, size_t *at, struct step *s)
{
    for ((*at)++; *at < path.n && path.p[*at] != '/'; (*at)++) {
        char c = path.p[*at];
        if (c == '~') {
            if (++*at >= path.n || (path.p[*at] != '0' && path.p[*at] != '1'))
                return false;
            c = path.p[*at] == '0' ? '~' : '/';
        }
        if (!put(s, c))
            return false;
    }
    return true;
}

/* "[12]", "['name']" or "["name"]". */
static bool bracket_step(struct wbi_str path, size_t *at, struct step *s)
{
    char quote = ++*at < path.n ? path.p[*at] : '\0';

    if (quote == '\'' || quote == '"') {
        for ((*at)++; *at < path.n && path.p[*at] != quote; (*at)++) {
            if (path.p[*at] == '\\' && ++*at >= path.n)
                return false;
            if (!put(s, path.p[*at]))
                return false;
        }
        (*at)++;
    } else {
        s->index_only = true;
        for (; *at < path.n && path.p[*at] >= '0' && path.p[*at] <= '9'; (*at)++)
            if (!put(s, path.p[*at]))
                return false;
        if (s->n == 0)
            return false;
    }
    return *at < path.n && path.p[(*at)++] == ']';
}

static bool dot_step(struct wbi_str path, size_t *at, struct step *s)
{
    for ((*at)++; *at < path.n && path.p[*at] != '.' && path.p[*at] != '['; (*at)++)
        if (!put(s, path.p[*at]))
            return false;
    return s->n > 0;
}

static const wbi_json *descend(const wbi_json *v, const struct step *s)
{
    struct wbi_str name = wbi_str_make(s->text, s->n);
    uint64_t i;

    if (wbi_json_is(v, WBI_JSON_ARR)) {
        bool canonical = s->n == 1 || (s->n > 0 && s->text[0] != '0');
        return canonical && wbi_parse_u64(name, &i) && i < wbi_json_count(v)
                   ? wbi_json_at(v, (size_t)i)
                   : NULL;
    }
    return s->index_only ? NULL : wbi_json_getn(v, name);
}

wb_rc wbi_json_path(const wbi_json *root, struct wbi_str path, const wbi_json **ret,
                    struct wbi_error *err)
{
    bool pointer = path.n > 0 && path.p[0] == '/';
    size_t at = path.n > 0 && path.p[0] == '$' ? 1 : 0;
    const wbi_json *v = root;

    if (path.n > 0 && !pointer && at == 0 && path.p[0] != '[' && path.p[0] != '.')
        return bad_path(path, err);
    while (at < path.n) {
        struct step s = {.n = 0};
        bool ok = pointer             ? pointer_step(path, &at, &s)
                  : path.p[at] == '[' ? bracket_step(path, &at, &s)
                  : path.p[at] == '.' ? dot_step(path, &at, &s)
                                      : false;
        if (!ok)
            return bad_path(path, err);
        v = descend(v, &s);
        if (v == NULL)
            return wbi_fail(err, WB_ENOTFOUND, "nothing at \"%.*s\"",
                            WBI_FMT(wbi_str_head(path, at > 200 ? 200 : at)));
    }
    *ret = v;
    return WB_OK;
}
