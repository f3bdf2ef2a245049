/* SPDX-License-Identifier: Apache-2.0
 * json/pointer.c: RFC 6901. Tokens are compared in their escaped form, so that
 * nothing is copied. */
#include "json/pointer.h"

/* True when every ~ is followed by 0 or 1. */
static bool escapes_fine(struct wbi_str pointer)
{
    for (size_t i = 0; (i += wbi_str_index(wbi_str_from(pointer, i), '~')) < pointer.n; i++)
        if (i + 1 == pointer.n || (pointer.p[i + 1] != '0' && pointer.p[i + 1] != '1'))
            return false;
    return true;
}

/* Is name what the escaped token stands for? */
static bool token_is(struct wbi_str token, struct wbi_str name)
{
    size_t at = 0;

    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];
        if (c == '~')
            c = token.p[++i] == '0' ? '~' : '/';
        if (at == name.n || name.p[at++] != c)
            return false;
    }
    return at == name.n;
}

static const wbi_json *member(const wbi_json *o, struct wbi_str token)
{
    if (wbi_str_index(token, '~') == token.n)
        return wbi_json_getn(o, token);
    WBI_JSON_EACH_MEMBER (o, k) {
        if (token_is(token, wbi_json_str(k)))
            return k_val;
    }
    return NULL;
}

/* Digits without a leading zero; "-" is the place after the last element. */
static const wbi_json *element(const wbi_json *a, struct wbi_str token)
{
    uint64_t i;

    if (token.n > 1 && token.p[0] == '0')
        return NULL;
    if (!wbi_parse_u64(token, &i) || i >= wbi_json_count(a))
        return NULL;
    return wbi_json_at(a, (size_t)i);
}

wb_rc wbi_json_pointer(const wbi_json *root, struct wbi_str pointer, const wbi_json **ret,
                       struct wbi_error *err)
{
    struct wbi_str rest = pointer;
    const wbi_json *v = root;

    if (pointer.n > 0 && pointer.p[0] != '/')
        return wbi_fail(err, WB_EINPUT, "a JSON Pointer is empty or starts with \"/\"");
    if (!escapes_fine(pointer))
        return wbi_fail(err, WB_EINPUT, "in a JSON Pointer \"~\" stands only in \"~0\" and \"~1\"");
    while (rest.n > 0 && v != NULL) {
        struct wbi_str token;

        rest = wbi_str_from(rest, 1);
        token = wbi_str_head(rest, wbi_str_index(rest, '/'));
        rest = wbi_str_from(rest, token.n);
        v = wbi_json_is(v, WBI_JSON_ARR) ? element(v, token) : member(v, token);
    }
    if (v == NULL)
        return wbi_fail(err, WB_ENOTFOUND, "nothing at \"%.*s\"",
                        WBI_FMT(wbi_str_head(pointer, 200)));
    *ret = v;
    return WB_OK;
}

void wbi_json_pointer_add(struct wbi_buf *path, struct wbi_str token)
{
    size_t from = 0;

    wbi_buf_addc(path, '/');
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] != '~' && token.p[i] != '/')
            continue;
        wbi_buf_add(path, token.p + from, i - from);
        wbi_buf_addz(path, token.p[i] == '~' ? "~0" : "~1");
        from = i + 1;
    }
    if (token.n > from)
        wbi_buf_add(path, token.p + from, token.n - from);
}
