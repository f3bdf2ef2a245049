/* SPDX-License-Identifier: Apache-2.0
 * text/hygiene_value.c: see hygiene_value.h. Strings are cleaned where they stand in the
 * written text, so that nothing else of a value changes. */
#include "text/hygiene_value.h"

#include "base/limits.h"
#include "json/write.h"
#include "text/hygiene.h"

/* Without recursion: a parsed text is one run of values. */
bool wbi_hygiene_value_is_clean(const wbi_json *v)
{
    const wbi_json *end = wbi_json_skip(v);

    for (; v < end; v++)
        if (wbi_json_is(v, WBI_JSON_STR) && !wbi_hygiene_is_clean(wbi_json_str(v)))
            return false;
    return true;
}

static wb_rc add_clean(struct wbi_arena *arena, struct wbi_str string, struct wbi_buf *out)
{
    const wbi_json *v = NULL;
    struct wbi_buf clean;
    wb_rc rc = wbi_json_read(arena, string, WBI_JSON_STRICT, &v, NULL);

    wbi_buf_init_arena(&clean, arena, WBI_LIMIT_JSON_TEXT);
    if (rc == WB_OK && wbi_hygiene_is_clean(wbi_json_str(v))) {
        wbi_buf_adds(out, string);
        return WB_OK;
    }
    if (rc == WB_OK)
        rc = wbi_hygiene_clean(wbi_json_str(v), &clean, NULL);
    if (rc == WB_OK)
        wbi_json_quote(out, wbi_buf_str(&clean));
    return rc;
}

wb_rc wbi_hygiene_value(struct wbi_arena *arena, const wbi_json *v, const wbi_json **ret)
{
    struct wbi_buf text, out;
    struct wbi_str rest;
    wb_rc rc;

    *ret = v;
    if (wbi_hygiene_value_is_clean(v))
        return WB_OK;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, v);
    rc = wbi_buf_rc(&text);
    rest = wbi_buf_str(&text);
    while (rc == WB_OK && rest.n > 0) {
        bool string = rest.p[0] == '"';
        size_t n = string ? wbi_json_quoted(rest) : wbi_str_index(rest, '"');

        if (string)
            rc = add_clean(arena, wbi_str_head(rest, n), &out);
        else
            wbi_buf_adds(&out, wbi_str_head(rest, n));
        rest = wbi_str_from(rest, n);
    }
    if (rc == WB_OK)
        rc = wbi_buf_rc(&out);
    return rc == WB_OK ? wbi_json_read(arena, wbi_buf_str(&out), WBI_JSON_STRICT, ret, NULL) : rc;
}
