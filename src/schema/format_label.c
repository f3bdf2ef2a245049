/* SPDX-License-Identifier: Apache-2.0
 * schema/format_label.c: labels of host names, "xn--…" and international: Punycode (RFC 3492)
 * and the rules of RFC 5892 that depend on context and of RFC 5893 about directions. General
 * categories are known for the scripts in use, not from the whole of Unicode. */
#include "base/checked.h"
#include "base/utf8.h"
#include "schema/schema_int.h"

#define MOST_CHARS 64

static int punycode_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0' + 26;
    c |= 32;
    return c >= 'a' && c <= 'z' ? c - 'a' : -1;
}

static uint32_t adapt(uint32_t delta, uint32_t n, bool first)
{
    uint32_t k = 0;

    delta = first ? delta / 700 : delta / 2;
    delta += delta / n;
    for (; delta > 455; k += 36)
        delta /= 35;
    return k + 36 * delta / (delta + 38);
}

/* One delta; *at moves on. False when it is cut off or too large. */
static bool delta_at(struct wbi_str s, size_t *at, uint32_t bias, uint32_t *i)
{
    uint32_t w = 1;

    for (uint32_t k = 36;; k += 36) {
        int d = *at < s.n ? punycode_digit(s.p[(*at)++]) : -1;
        uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, add;

        if (d < 0 || !wbi_mul((uint32_t)d, w, &add) || !wbi_add(*i, add, i))
            return false;
        if ((uint32_t)d < t)
            return true;
        if (!wbi_mul(w, 36 - t, &w))
            return false;
    }
}

static bool decode(struct wbi_str s, uint32_t *out, size_t *ret_n)
{
    uint32_t code = 128, i = 0, bias = 72;
    size_t n = 0, at = s.n;

    while (at > 0 && s.p[at - 1] != '-')
        at--;
    for (size_t k = 0; at > 0 && k < at - 1; k++)
        out[n++] = (uint32_t)(s.p[k] | (s.p[k] >= 'A' && s.p[k] <= 'Z' ? 32 : 0));
    while (at < s.n) {
        uint32_t before = i;
        if (n >= MOST_CHARS || !delta_at(s, &at, bias, &i))
            return false;
        bias = adapt(i - before, (uint32_t)n + 1, before == 0);
        code += i / (uint32_t)(n + 1);
        i %= (uint32_t)(n + 1);
        if (code > 0x10ffff)
            return false;
        memmove(out + i + 1, out + i, (n - i) * sizeof(*out));
        out[i++] = code;
        n++;
    }
    *ret_n = n;
    return n > 0;
}

struct range {
    uint32_t from, to;
};

static bool within(uint32_t c, const struct range *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= list[i].from && c <= list[i].to)
            return true;
    return false;
}

static bool is_mark(uint32_t c)
{
    static const struct range marks[] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x5bf, 0x5bf},   {0x5c1, 0x5c2},
        {0x5c4, 0x5c5},   {0x5c7, 0x5c7},   {0x610, 0x61a},   {0x64b, 0x65f},   {0x670, 0x670},
        {0x6d6, 0x6dc},   {0x6df, 0x6e4},   {0x6e7, 0x6e8},   {0x6ea, 0x6ed},   {0x711, 0x711},
        {0x730, 0x74a},   {0x7a6, 0x7b0},   {0x7eb, 0x7f3},   {0x816, 0x819},   {0x8d3, 0x903},
        {0x93a, 0x93c},   {0x93e, 0x94f},   {0x951, 0x957},   {0x962, 0x963},   {0x981, 0x983},
        {0x9bc, 0x9bc},   {0x9be, 0x9cd},   {0xa01, 0xa03},   {0xa3c, 0xa51},   {0xa81, 0xa83},
        {0xabc, 0xabc},   {0xabe, 0xacd},   {0xb01, 0xb03},   {0xb3c, 0xb3c},   {0xb3e, 0xb57},
        {0xbbe, 0xbcd},   {0xc00, 0xc04},   {0xc3e, 0xc56},   {0xc81, 0xc83},   {0xcbc, 0xcbc},
        {0xcbe, 0xcd6},   {0xd00, 0xd03},   {0xd3b, 0xd3c},   {0xd3e, 0xd4d},   {0xdca, 0xddf},
        {0xe31, 0xe31},   {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0xeb1, 0xeb1},   {0xeb4, 0xebc},
        {0xec8, 0xecd},   {0xf18, 0xf19},   {0xf71, 0xf84},   {0x102b, 0x103e}, {0x135d, 0x135f},
        {0x17b4, 0x17d3}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20f0}, {0x302a, 0x302f},
        {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

    return within(c, marks, WBI_COUNT(marks));
}

static bool is_disallowed(uint32_t c)
{
    static const struct range list[] = {
        {0x00, 0x2c},     {0x2e, 0x2f},     {0x3a, 0x60},     {0x7b, 0xb6},     {0xb8, 0xde},
        {0xf7, 0xf7},     {0x640, 0x640},   {0x7fa, 0x7fa},   {0x302e, 0x302f}, {0x3031, 0x3035},
        {0x303b, 0x303b}, {0x2000, 0x200b}, {0x200e, 0x206f}, {0x3000, 0x3004}, {0xd800, 0xf8ff},
        {0xfe00, 0xfe0f}, {0xff01, 0xff5e}};

    return within(c, list, WBI_COUNT(list));
}

static bool is_virama(uint32_t c)
{
    static const uint32_t list[] = {0x94d,  0x9cd,  0xa4d,  0xacd,  0xb4d,  0xbcd,  0xc4d,  0xccd,
                                    0xd4d,  0xdca,  0xe3a,  0xf84,  0x1039, 0x103a, 0x1714, 0x1734,
                                    0x17d2, 0x1a60, 0x1b44, 0x1baa, 0x1bf2, 0xa806, 0xa8c4, 0xa953,
                                    0xa9c0, 0xaaf6, 0xabed, 0xd3b,  0xd3c,  0xeba};

    for (size_t i = 0; i < WBI_COUNT(list); i++)
        if (list[i] == c)
            return true;
    return false;
}

/* Arabic letters join on both sides, but for those that only join to the right. */
static bool is_joining(uint32_t c)
{
    static const struct range dual[] = {
        {0x626, 0x626}, {0x628, 0x628}, {0x62a, 0x62e}, {0x633, 0x63f}, {0x641, 0x647},
        {0x649, 0x64a}, {0x66e, 0x66f}, {0x678, 0x687}, {0x69a, 0x6bf}, {0x6c1, 0x6c2},
        {0x6cc, 0x6cc}, {0x6ce, 0x6ce}, {0x6d0, 0x6d1}, {0x6fa, 0x6fc}};

    return within(c, dual, WBI_COUNT(dual));
}

static bool is_arabic_letter(uint32_t c)
{
    return c >= 0x620 && c <= 0x6ff && !is_mark(c);
}

static bool joiner_allowed(const uint32_t *c, size_t n, size_t i)
{
    if (i > 0 && is_virama(c[i - 1]))
        return true;
    return c[i] == 0x200c && i > 0 && i + 1 < n && is_joining(c[i - 1]) &&
           is_arabic_letter(c[i + 1]);
}

static bool has_kana_or_han(const uint32_t *c, size_t n)
{
    static const struct range list[] = {{0x3005, 0x3007}, {0x3041, 0x309f},  {0x30a1, 0x30fa},
                                        {0x30fc, 0x30ff}, {0x3400, 0x4dbf},  {0x4e00, 0x9fff},
                                        {0xf900, 0xfaff}, {0x20000, 0x3134f}};

    for (size_t i = 0; i < n; i++)
        if (within(c[i], list, WBI_COUNT(list)))
            return true;
    return false;
}

static bool mixes_arabic_digits(const uint32_t *c, size_t n)
{
    bool arabic = false, extended = false;

    for (size_t i = 0; i < n; i++) {
        arabic = arabic || (c[i] >= 0x660 && c[i] <= 0x669);
        extended = extended || (c[i] >= 0x6f0 && c[i] <= 0x6f9);
    }
    return arabic && extended;
}

static bool allowed_here(const uint32_t *c, size_t n, size_t i)
{
    static const struct range greek[] = {{0x370, 0x3ff}, {0x1f00, 0x1fff}};
    static const struct range hebrew[] = {{0x590, 0x5ff}};

    switch (c[i]) {
    case 0xb7: /* MIDDLE DOT: between two l */
        return i > 0 && i + 1 < n && c[i - 1] == 'l' && c[i + 1] == 'l';
    case 0x375: /* KERAIA: before Greek */
        return i + 1 < n && within(c[i + 1], greek, WBI_COUNT(greek));
    case 0x5f3: /* GERESH, GERSHAYIM: after Hebrew */
    case 0x5f4:
        return i > 0 && within(c[i - 1], hebrew, WBI_COUNT(hebrew));
    case 0x30fb: /* KATAKANA MIDDLE DOT */
        return has_kana_or_han(c, n);
    case 0x200c:
    case 0x200d:
        return joiner_allowed(c, n, i);
    default:
        return !is_disallowed(c[i]);
    }
}

static bool are_allowed(const uint32_t *chars, size_t n)
{
    if (is_mark(chars[0]) || mixes_arabic_digits(chars, n))
        return false;
    if (n > 3 && chars[2] == '-' && chars[3] == '-')
        return false;
    if (chars[0] == '-' || chars[n - 1] == '-')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!allowed_here(chars, n, i))
            return false;
    return true;
}

/* Digits that delta takes. */
static size_t delta_length(uint64_t delta, uint32_t bias)
{
    for (uint32_t k = 36, length = 1;; k += 36, length++) {
        uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;

        if (delta < t)
            return length;
        delta = (delta - t) / (36 - t);
    }
}

/* Of the code points in Punycode. */
static size_t encoded_length(const uint32_t *c, size_t n)
{
    uint32_t code = 128, bias = 72;
    uint64_t delta = 0;
    size_t basic = 0, done, length;

    for (size_t i = 0; i < n; i++)
        basic += c[i] < 128;
    length = basic + (basic > 0);
    for (done = basic; done < n; delta++, code++) {
        uint32_t next = UINT32_MAX;

        for (size_t i = 0; i < n; i++)
            next = c[i] >= code && c[i] < next ? c[i] : next;
        delta += (uint64_t)(next - code) * (done + 1);
        code = next;
        for (size_t i = 0; i < n; i++) {
            delta += c[i] < code;
            if (c[i] != code)
                continue;
            length += delta_length(delta, bias);
            bias = adapt((uint32_t)delta, (uint32_t)done + 1, done == basic);
            delta = 0;
            done++;
        }
    }
    return length;
}

/* There is one way to write what stands in a label. */
static bool decode_whole(struct wbi_str label, uint32_t *chars, size_t *ret_n)
{
    return decode(wbi_str_from(label, 4), chars, ret_n) &&
           encoded_length(chars, *ret_n) == label.n - 4;
}

bool wbi_format_a_label(struct wbi_str label)
{
    uint32_t chars[MOST_CHARS + 1];
    size_t n;

    return decode_whole(label, chars, &n) && are_allowed(chars, n);
}

static bool read_chars(struct wbi_str label, uint32_t *chars, size_t *ret_n)
{
    size_t at = 0;

    *ret_n = 0;
    while (at < label.n) {
        if (*ret_n == MOST_CHARS)
            return false;
        chars[(*ret_n)++] = wbi_utf8_next(label, &at);
    }
    return *ret_n > 0;
}

size_t wbi_format_u_label(struct wbi_str label)
{
    uint32_t chars[MOST_CHARS];
    size_t n, length;

    if (!read_chars(label, chars, &n) || !are_allowed(chars, n))
        return 0;
    length = 4 + encoded_length(chars, n);
    return length <= 63 ? length : 0;
}

/* ---- directions (RFC 5893) ---- */

enum direction { LEFT, RIGHT, NUMBER, ARABIC_NUMBER, MARK, NEUTRAL };

static enum direction direction_of(uint32_t c)
{
    static const struct range right[] = {
        {0x590, 0x8ff}, {0xfb1d, 0xfdff}, {0xfe70, 0xfeff}, {0x10800, 0x10fff}, {0x1e800, 0x1efff}};

    if (is_mark(c))
        return MARK;
    if ((c >= '0' && c <= '9') || (c >= 0x6f0 && c <= 0x6f9))
        return NUMBER;
    if ((c >= 0x660 && c <= 0x669) || c == 0x66b || c == 0x66c)
        return ARABIC_NUMBER;
    if (c == '-' || c == 0xb7 || c == 0x375 || c == 0x30fb || c == 0x200c || c == 0x200d)
        return NEUTRAL;
    return within(c, right, WBI_COUNT(right)) ? RIGHT : LEFT;
}

void wbi_format_directions(struct wbi_str label, bool *ret_right, bool *ret_fits)
{
    uint32_t chars[MOST_CHARS + 1];
    bool a_label = wbi_str_ieq(wbi_str_head(label, 4), WBI_LIT("xn--")), has[NEUTRAL + 1] = {0};
    enum direction first, last = MARK;
    size_t n;

    *ret_right = *ret_fits = false;
    if (!(a_label ? decode(wbi_str_from(label, 4), chars, &n) : read_chars(label, chars, &n)))
        return;
    first = direction_of(chars[0]);
    for (size_t i = 0; i < n; i++) {
        enum direction d = direction_of(chars[i]);

        has[d] = true;
        last = d == MARK ? last : d;
    }
    *ret_right = has[RIGHT] || has[ARABIC_NUMBER];
    if (first == LEFT)
        *ret_fits = !*ret_right && (last == LEFT || last == NUMBER);
    else
        *ret_fits =
            first == RIGHT && !has[LEFT] && !(has[NUMBER] && has[ARABIC_NUMBER]) && last != NEUTRAL;
}
