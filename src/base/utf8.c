/* SPDX-License-Identifier: Apache-2.0
 * base/utf8.c: well-formed as in the Unicode Standard, table 3-7. */
#include "base/utf8.h"

#include <string.h>

#include "base/word.h"

/* Bounds of the second byte by the first; *len is the sequence length. */
static bool lead(uint8_t c, size_t *len, uint8_t *low, uint8_t *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (c >= 0xc2 && c <= 0xdf) {
        *len = 2;
    } else if (c >= 0xe0 && c <= 0xef) {
        *len = 3;
        if (c == 0xe0)
            *low = 0xa0;
        else if (c == 0xed)
            *high = 0x9f;
    } else if (c >= 0xf0 && c <= 0xf4) {
        *len = 4;
        if (c == 0xf0)
            *low = 0x90;
        else if (c == 0xf4)
            *high = 0x8f;
    } else {
        return false;
    }
    return true;
}

size_t wbi_utf8_step(const uint8_t *p, size_t n, size_t *ret_skip)
{
    uint8_t low, high;
    size_t len, i;

    if (p[0] < 0x80)
        return 1;
    *ret_skip = 1;
    if (!lead(p[0], &len, &low, &high))
        return 0;
    for (i = 1; i < len; i++) {
        if (i >= n || p[i] < low || p[i] > high) {
            *ret_skip = i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return len;
}

size_t wbi_utf8_valid_prefix(struct wbi_str s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    size_t at = 0, skip;

    while (at < s.n) {
        uint64_t eight;
        size_t len;

        while (s.n - at >= 8) {
            memcpy(&eight, p + at, 8);
            if (eight & UINT64_C(0x8080808080808080))
                break;
            at += 8;
        }
        if (at >= s.n)
            break;
        len = wbi_utf8_step(p + at, s.n - at, &skip);
        if (len == 0)
            return at;
        at += len;
    }
    return at;
}

bool wbi_utf8_valid(struct wbi_str s)
{
    return wbi_utf8_valid_prefix(s) == s.n;
}

size_t wbi_utf8_count(struct wbi_str s)
{
    size_t count = 0;

    for (size_t i = 0; i < s.n; i++)
        count += ((uint8_t)s.p[i] & 0xc0) != 0x80;
    return count;
}

size_t wbi_utf8_cut(struct wbi_str s, size_t n)
{
    if (n >= s.n)
        n = s.n;
    else
        while (n > 0 && ((uint8_t)s.p[n] & 0xc0) == 0x80)
            n--;
    /* The end of s itself may cut a sequence. */
    if (n == s.n && n > 0) {
        size_t start = n - 1, skip;
        while (start > 0 && n - start < 4 && ((uint8_t)s.p[start] & 0xc0) == 0x80)
            start--;
        if ((uint8_t)s.p[start] >= 0xc0 &&
            wbi_utf8_step((const uint8_t *)s.p + start, n - start, &skip) == 0)
            n = start;
    }
    return n;
}

size_t wbi_utf8_cut_whole_words(struct wbi_str s, size_t n)
{
    size_t cut = wbi_utf8_cut(s, n), i = cut;

    if (cut == s.n || (uint8_t)s.p[cut] <= ' ')
        return cut;
    while (i > 0 && (uint8_t)s.p[i - 1] > ' ')
        i--;
    while (i > 0 && (uint8_t)s.p[i - 1] <= ' ')
        i--;
    return i;
}

size_t wbi_utf8_cut_words(struct wbi_str s, size_t n)
{
    size_t cut = wbi_utf8_cut(s, n), words = wbi_utf8_cut_whole_words(s, n);

    return words >= cut / 2 ? words : cut;
}

size_t wbi_utf8_cut_chars(struct wbi_str s, size_t n)
{
    for (size_t i = 0; i < s.n; i++) {
        if (((uint8_t)s.p[i] & 0xc0) != 0x80) {
            if (n == 0)
                return i;
            n--;
        }
    }
    return s.n;
}

uint32_t wbi_utf8_next(struct wbi_str s, size_t *at)
{
    const uint8_t *p = (const uint8_t *)s.p + *at;

    if (p[0] < 0x80) {
        *at += 1;
        return p[0];
    }
    if (p[0] < 0xe0) {
        *at += 2;
        return (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    }
    if (p[0] < 0xf0) {
        *at += 3;
        return (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    }
    *at += 4;
    return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
           (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
}

size_t wbi_utf8_control(struct wbi_str s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    size_t i = 0;
    uint64_t v;

    for (; s.n - i >= sizeof(v); i += sizeof(v)) {
        memcpy(&v, p + i, sizeof(v));
        if ((wbi_word_control(v) | (v & WBI_EACH_BYTE(0x80))) != 0)
            break;
    }
    if (s.n >= sizeof(v) && s.n - i < sizeof(v)) { /* what is left, with some that was seen */
        memcpy(&v, p + s.n - sizeof(v), sizeof(v));
        if ((wbi_word_control(v) | (v & WBI_EACH_BYTE(0x80))) == 0)
            return s.n;
    }
    for (; i < s.n; i++)
        if (p[i] < 0x20 || p[i] == 0x7f ||
            (p[i] == 0xc2 && s.n - i > 1 && p[i + 1] >= 0x80 && p[i + 1] < 0xa0))
            break;
    return i;
}

size_t wbi_utf8_put(uint32_t cp, char out[4])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xe0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}
