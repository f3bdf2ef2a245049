/* SPDX-License-Identifier: Apache-2.0
 * text/utf16.c */
#include "text/utf16.h"

#include "base/utf8.h"

void wbi_utf16_init(struct wbi_utf16 *u)
{
    *u = (struct wbi_utf16){.mode = WBI_UTF16_MAYBE};
}

static bool plain(uint8_t c)
{
    return (c >= 0x20 && c < 0x7f) || (c >= '\t' && c <= '\r');
}

/* What the first bytes say. */
static enum wbi_utf16_mode look(const uint8_t *p, size_t n, bool end)
{
    if (n < 2)
        return end ? WBI_UTF16_NOT : WBI_UTF16_MAYBE;
    if (p[0] == 0xfe && p[1] == 0xff)
        return WBI_UTF16_BIG;
    if (p[0] == 0xff && p[1] == 0xfe) {
        if (n < 4 && !end)
            return WBI_UTF16_MAYBE;
        return n >= 4 && p[2] == 0 && p[3] == 0 ? WBI_UTF16_NOT : WBI_UTF16_LITTLE; /* UTF-32 */
    }
    for (size_t i = 0; i < n; i++)
        if (i % 2 == 0 ? !plain(p[i]) && p[i] < 0xa0 : p[i] != 0)
            return WBI_UTF16_NOT;
    if (n == WBI_UTF16_LOOK)
        return WBI_UTF16_LITTLE;
    if (!end)
        return WBI_UTF16_MAYBE;
    return n % 2 == 0 && p[n - 2] == '\n' ? WBI_UTF16_LITTLE : WBI_UTF16_NOT;
}

static void drop(struct wbi_utf16 *u, size_t n)
{
    memmove(u->held, u->held + n, u->n - n);
    u->n -= (uint8_t)n;
}

/* From here on bytes pass as they are. */
static void pass(struct wbi_utf16 *u, struct wbi_buf *out)
{
    wbi_buf_add(out, u->held, u->n);
    u->n = 0;
    u->mode = WBI_UTF16_NOT;
}

static void put(uint32_t c, struct wbi_buf *out)
{
    char utf8[4];

    wbi_buf_add(out, utf8, wbi_utf8_put(c, utf8));
}

static void broken(struct wbi_utf16 *u, struct wbi_buf *out)
{
    u->unpaired++;
    put(0xfffd, out);
}

static void unit(struct wbi_utf16 *u, uint16_t c, struct wbi_buf *out)
{
    bool low = c >= 0xdc00 && c <= 0xdfff;

    if (u->high != 0 && low) {
        put(0x10000u + ((u->high - 0xd800u) << 10) + (c - 0xdc00u), out);
        u->high = 0;
        return;
    }
    if (u->high != 0)
        broken(u, out);
    u->high = c >= 0xd800 && c <= 0xdbff ? c : 0;
    if (low)
        broken(u, out);
    else if (u->high == 0)
        put(c, out);
    u->starts = c == '\n';
}

/* A line starts with bytes that are all plain ASCII: two of them are a character of UTF-16
 * in Chinese, too, sixteen are text of another program. */
static bool plain_so_far(const struct wbi_utf16 *u)
{
    for (size_t i = 0; i < u->n; i++)
        if (!plain(u->held[i]))
            return false;
    return u->starts;
}

static void settle(struct wbi_utf16 *u, bool end, struct wbi_buf *out)
{
    if (u->mode == WBI_UTF16_MAYBE) {
        u->mode = look(u->held, u->n, end);
        if (u->mode == WBI_UTF16_NOT)
            pass(u, out);
        if (u->mode == WBI_UTF16_NOT || u->mode == WBI_UTF16_MAYBE)
            return;
        u->seen = true;
        if (u->held[0] >= 0xfe)
            drop(u, 2);
    }
    while (u->n >= 2) {
        bool little = u->mode == WBI_UTF16_LITTLE;

        if (plain_so_far(u)) {
            if (u->n == WBI_UTF16_LOOK || (end && (u->n % 2 == 1 || u->held[u->n - 1] == '\n')))
                pass(u, out);
            if (!end || u->n == 0)
                return;
        }
        unit(u, (uint16_t)(u->held[little] << 8 | u->held[!little]), out);
        drop(u, 2);
    }
}

void wbi_utf16_feed(struct wbi_utf16 *u, struct wbi_str bytes, struct wbi_buf *out)
{
    size_t at = 0;

    while (at < bytes.n && u->mode != WBI_UTF16_NOT) {
        u->held[u->n++] = (uint8_t)bytes.p[at++];
        settle(u, /* end= */ false, out);
    }
    wbi_buf_adds(out, wbi_str_from(bytes, at));
}

void wbi_utf16_finish(struct wbi_utf16 *u, bool cut, struct wbi_buf *out)
{
    settle(u, /* end= */ true, out);
    if (!cut && (u->n > 0 || u->high != 0))
        broken(u, out);
    u->n = 0;
    u->high = 0;
}
