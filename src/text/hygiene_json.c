/* SPDX-License-Identifier: Apache-2.0
 * text/hygiene_json.c: what clean JSON text says may not be clean: an escape hides
 * nothing, the character it stands for does. */
#include "text/hygiene.h"

#include "base/utf8.h"

/* One escape of a JSON text, its backslash at `at`. */
struct escape {
    size_t n;    /* bytes of it; a pair of surrogates is one */
    uint32_t cp; /* of an escape by number, else 0 */
};

static bool unit_at(struct wbi_str t, size_t at, uint32_t *ret)
{
    uint32_t v = 0;

    if (t.n < at + 6 || t.p[at] != '\\' || t.p[at + 1] != 'u')
        return false;
    for (size_t i = at + 2; i < at + 6; i++) {
        char c = t.p[i], low = (char)(c | 0x20);

        if (c >= '0' && c <= '9')
            v = v * 16 + (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v * 16 + (uint32_t)(low - 'a') + 10;
        else
            return false;
    }
    *ret = v;
    return true;
}

static struct escape escape_at(struct wbi_str t, size_t at)
{
    struct escape e = {2, 0};
    uint32_t low = 0;

    if (!unit_at(t, at, &e.cp))
        return e;
    e.n = 6;
    if (e.cp >> 10 == 0xd800 >> 10 && unit_at(t, at + 6, &low) && low >> 10 == 0xdc00 >> 10) {
        e.cp = 0x10000 + ((e.cp & 0x3ff) << 10) + (low & 0x3ff);
        e.n = 12;
    }
    return e;
}

/* Where the next escape at or after `at` begins; t.n when there is none. */
static size_t next_escape(struct wbi_str t, size_t at)
{
    const char *p = at < t.n ? memchr(t.p + at, '\\', t.n - at) : NULL;

    return p != NULL ? (size_t)(p - t.p) : t.n;
}

/* The character before `at` that is written as itself. */
static uint32_t char_before(struct wbi_str t, size_t at)
{
    size_t i = at, skip;

    while (i > 0 && at - i < 4 && ((uint8_t)t.p[--i] & 0xc0) == 0x80)
        ;
    if (wbi_utf8_step((const uint8_t *)t.p + i, at - i, &skip) == 0)
        return 0;
    return wbi_utf8_next(t, &i);
}

wb_rc wbi_hygiene_json(struct wbi_arena *arena, struct wbi_str json, struct wbi_str *ret)
{
    struct wbi_buf out;
    char mark[WBI_HYGIENE_MARK];
    size_t from = 0, end = 0;
    uint32_t last = 0; /* what the escape that ends at `end` stands for */

    wbi_buf_init_arena(&out, arena, json.n * 2 + 1);
    for (size_t at = next_escape(json, 0); at < json.n; at = next_escape(json, end)) {
        struct escape e = escape_at(json, at);

        if (e.cp >= 0x7f && wbi_hygiene_hidden(e.cp, at == end ? last : char_before(json, at))) {
            wbi_buf_add(&out, json.p + from, at - from);
            wbi_buf_add(&out, mark, wbi_hygiene_mark(e.cp, mark));
            from = at + e.n;
        }
        last = e.cp;
        end = at + e.n;
    }
    *ret = json;
    if (from == 0)
        return WB_OK;
    wbi_buf_add(&out, json.p + from, json.n - from);
    *ret = wbi_buf_str(&out);
    return wbi_buf_rc(&out);
}

/* The only way to write some controls is \\u001f, in lower case. */
static bool only_way(struct wbi_str t, size_t at, uint32_t cp)
{
    return cp < 0x20 && cp != '\b' && cp != '\t' && cp != '\n' && cp != '\f' && cp != '\r' &&
           !(t.p[at + 5] >= 'A' && t.p[at + 5] <= 'F');
}

bool wbi_hygiene_json_respelled(struct wbi_str json)
{
    size_t at = 0;

    while ((at = next_escape(json, at)) + 1 < json.n) {
        struct escape e = escape_at(json, at);

        if (json.p[at + 1] == '/' || (e.n > 2 && !only_way(json, at, e.cp)))
            return true;
        at += e.n;
    }
    return false;
}
