/* SPDX-License-Identifier: Apache-2.0
 * serve/definition.c: definitions are cleaned as text: in compact JSON a string is
 * a name when a colon follows, and belongs to the last name otherwise. */
#include "serve/definition.h"

#include "base/limits.h"
#include "json/write.h"
#include "text/hygiene.h"

/* Without recursion: a parsed text is one run of values. */
bool wbi_strings_clean(const wbi_json *v)
{
    const wbi_json *end = wbi_json_skip(v);

    for (; v < end; v++)
        if (wbi_json_is(v, WBI_JSON_STR) && !wbi_hygiene_is_clean(wbi_json_str(v)))
            return false;
    return true;
}

static bool hides(struct wbi_str s)
{
    struct wbi_hygiene_counts n = {0};
    struct wbi_buf out;
    wb_rc rc;

    if (wbi_hygiene_is_clean(s))
        return false;
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    rc = wbi_hygiene_clean(s, &out, &n);
    wbi_buf_fini(&out);
    return rc != WB_OK || n.sequences + n.redraws + n.invisible + n.controls + n.repaired > 0;
}

bool wbi_definition_hides(const wbi_json *tool)
{
    const wbi_json *end = wbi_json_skip(tool);

    for (; tool < end; tool++)
        if (wbi_json_is(tool, WBI_JSON_STR) && hides(wbi_json_str(tool)))
            return true;
    return false;
}

/* The length of the string literal that text begins with. */
static size_t literal(struct wbi_str text)
{
    size_t n = 1;

    while (n < text.n && text.p[n] != '"')
        n += text.p[n] == '\\' ? 2 : 1;
    return n + 1 < text.n ? n + 1 : text.n;
}

static bool is_prose(struct wbi_str name)
{
    return wbi_str_eqz(name, "\"description\"") || wbi_str_eqz(name, "\"title\"");
}

static wb_rc add_cleaned(struct wbi_arena *arena, struct wbi_str quoted, struct wbi_buf *out)
{
    const wbi_json *v;
    struct wbi_buf clean;
    wb_rc rc = wbi_json_read(arena, quoted, WBI_JSON_STRICT, &v, NULL);

    wbi_buf_init_arena(&clean, arena, WBI_LIMIT_JSON_TEXT);
    if (rc == WB_OK)
        rc = wbi_hygiene_clean(wbi_json_str(v), &clean, NULL);
    if (rc == WB_OK)
        wbi_json_quote(out, wbi_buf_str(&clean));
    return rc;
}

wb_rc wbi_definition_clean(struct wbi_arena *arena, const wbi_json *tool, const wbi_json **ret,
                           struct wbi_error *err)
{
    struct wbi_str rest, name = WBI_NONE;
    struct wbi_buf text, out;
    wb_rc rc;

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, tool);
    rc = wbi_buf_rc(&text);
    rest = wbi_buf_str(&text);
    while (rc == WB_OK && rest.n > 0) {
        size_t n = rest.p[0] == '"' ? literal(rest) : 1;
        struct wbi_str piece = wbi_str_head(rest, n);

        rest = wbi_str_from(rest, n);
        if (n > 1 && rest.n > 0 && rest.p[0] == ':')
            name = piece;
        else if (n > 1 && is_prose(name)) {
            rc = add_cleaned(arena, piece, &out);
            continue;
        }
        wbi_buf_adds(&out, piece);
    }
    if (rc == WB_OK)
        rc = wbi_buf_rc(&out);
    if (rc != WB_OK)
        return wbi_fail(err, rc, "a definition could not be cleaned");
    return wbi_json_read(arena, wbi_buf_str(&out), WBI_JSON_STRICT, ret, err);
}
