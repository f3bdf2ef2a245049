/* SPDX-License-Identifier: Apache-2.0
 * text/preview_wide_int.h: a line 63 bytes at a time, with vectors of 64 lanes: a bit for every
 * byte of a kind, and the shape written down for all of them at once. */
#ifndef WBI_TEXT_PREVIEW_WIDE_INT_H
#define WBI_TEXT_PREVIEW_WIDE_INT_H

#include <immintrin.h>

#include "text/preview_bits_int.h"
#include "text/preview_shape_int.h"

#define WIDER                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2," \
                          "bmi,bmi2,popcnt"),                                      \
                   no_sanitize("address")))

struct line_bits {
    __m512i bytes;
    uint64_t letter, digit, slash, join, quote, mark;
    uint64_t dot, colon, minus, e, hex, underscore;
    uint64_t chunk;       /* of letters, digits, slashes, joins and quotes that quote nothing */
    uint64_t inside;      /* quoted, with the quotes */
    uint64_t closing;     /* quotes */
    uint64_t number_mark; /* a colon or parenthesis before a digit */
    uint64_t again;       /* marks and joins equal to the byte before */
};

WIDER static INLINE uint64_t equal_64(__m512i v, int c)
{
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)c));
}

/* How many of the n bytes at p lie before the last blank or mark, or the end of the line, with
 * that one; *b is of those. 0 when there is none before what is not ASCII. The first `rule` bytes
 * are counted one by one; 1 at least where the line begins at p. */
WIDER static INLINE size_t look_64(struct line_bits *b, const uint8_t *p, size_t n, size_t rule)
{
    uint64_t there = n < 64 ? (1ull << n) - 1 : UINT64_MAX, high, space, below, digit;
    __m512i v = _mm512_maskz_loadu_epi8(there, p);
    __m512i kind = _mm512_permutex2var_epi8(_mm512_loadu_si512(class_of), v,
                                            _mm512_loadu_si512(class_of + 64));
    size_t end = n;

    high = _mm512_movepi8_mask(v);
    space = equal_64(kind, C_SPACE);
    b->mark = equal_64(kind, C_OTHER);
    if (n > WINDOW || high != 0) {
        below = (high & -high) - 1; /* all when there is none */
        below &= (b->mark | space) & there & (UINT64_MAX >> 1);
        if (below == 0)
            return 0;
        end = 64 - (size_t)__builtin_clzll(below);
    }
    below = (1ull << end) - 1;
    digit = equal_64(kind, C_DIGIT) & there & ~high;
    b->bytes = v;
    b->letter = equal_64(kind, C_LETTER) & below;
    b->digit = digit & below;
    b->slash = equal_64(kind, C_SLASH) & below;
    b->join = equal_64(kind, C_JOIN) & below;
    b->quote = equal_64(kind, C_QUOTE) & below;
    b->mark &= below;
    b->dot = equal_64(v, '.') & below;
    b->colon = equal_64(v, ':') & below;
    b->minus = equal_64(v, '-') & below;
    b->e = equal_64(v, 'E') & below;
    b->underscore = equal_64(v, '_');
    b->hex = _mm512_cmplt_epu8_mask(
        _mm512_sub_epi8(_mm512_or_si512(v, _mm512_set1_epi8(0x20)), _mm512_set1_epi8('a')),
        _mm512_set1_epi8(6));
    b->number_mark = (b->colon | equal_64(v, '(')) & digit >> 1 & below;
    b->chunk = b->letter | b->digit | b->slash | b->join;
    b->again = _mm512_cmpeq_epi8_mask(v, _mm512_maskz_loadu_epi8(there << (rule > 0), p - 1)) &
               (b->mark | b->join) & UINT64_MAX << (rule < WINDOW ? rule : WINDOW);
    b->inside = 0;
    b->closing = 0;
    return end;
}

/* Which quotes open and close what; *quote is the closing one that is looked for, 0 outside. */
WIDER static INLINE void find_quotes(struct line_bits *b, const uint8_t *p, uint8_t *quote)
{
    uint64_t names = (b->letter | b->digit) << 1, bit;
    uint8_t open = *quote;
    uint64_t from = 1; /* where it opened */

    if (b->quote == 0 && open == 0)
        return;
    for (uint64_t left = b->quote; left != 0; left &= left - 1) {
        uint8_t c = p[__builtin_ctzll(left)];

        bit = left & -left;
        if (open != 0 && (c == open || (open == '\'' && c == '`'))) {
            b->inside |= (bit << 1) - from;
            b->closing |= bit;
            open = 0;
        } else if (open == 0 && !(c == '\'' && (names & bit) != 0)) {
            from = bit;
            open = c == '`' ? '\'' : c;
            b->inside |= bit;
        } else {
            b->chunk |= bit;
        }
    }
    if (open != 0)
        b->inside |= -from;
    *quote = open;
}

/* The starts of the runs whose last bytes are given, of all runs. */
WIDER static INLINE uint64_t starts_of(uint64_t given, uint64_t lasts, uint64_t starts)
{
    return _pdep_u64(_pext_u64(given, lasts), starts);
}

/* What stands right behind the chunks in which one of those bits is set. */
static INLINE uint64_t behind(const struct line_bits *b, uint64_t bits)
{
    return (b->chunk + bits) & ~b->chunk;
}

static INLINE uint64_t behind_dots(const struct line_bits *b)
{
    return behind(b, b->dot & b->letter >> 1);
}

/* Of the starts of words, those of words that may be known; p is where the window begins. */
WIDER static INLINE uint64_t may_be_words(const struct words *w, const struct line_bits *b,
                                          const uint8_t *p, size_t n, uint64_t starts)
{
    uint64_t there = n < 64 ? (1ull << n) - 1 : UINT64_MAX, few;
    __m512i common = _mm512_permutexvar_epi8(b->bytes, _mm512_loadu_si512(w->begins[0]));

    for (unsigned i = 1; i < BEGIN; i++) {
        __m512i v = _mm512_maskz_loadu_epi8(there >> i, p + i);

        common =
            _mm512_and_si512(common, _mm512_permutexvar_epi8(v, _mm512_loadu_si512(w->begins[i])));
    }
    few = ~(b->letter >> 1 & b->letter >> 2 & b->letter >> 3); /* fewer than BEGIN */
    return starts & ((few & _mm512_movepi8_mask(common)) |
                     (~few & _mm512_test_epi8_mask(common, _mm512_set1_epi8(SHORT_WORDS - 1))));
}

/* The starts of words with a digit beside them. */
WIDER static INLINE uint64_t glued_words(const struct line_bits *b, uint64_t starts, uint64_t lasts)
{
    uint64_t before_digits = starts_of(b->digit >> 1, lasts, starts);

    return (starts & b->digit << 1) | (before_digits & ~b->underscore);
}

/* The starts of numbers outside of quotes, without most of those that are part of a name, a
 * path, a time, a date or a version. */
WIDER static INLINE uint64_t free_numbers(const struct line_bits *b)
{
    uint64_t starts = b->digit & ~(b->digit << 1), lasts = b->digit & ~(b->digit >> 1);
    uint64_t named = (b->letter | b->slash | b->dot) << 1;
    uint64_t joined = (b->colon & b->digit << 1) << 1;
    uint64_t goes_on = b->slash >> 1 | ((b->colon | b->minus) & b->digit >> 1) >> 1;

    goes_on = starts_of(goes_on, lasts, starts);
    return starts & ~(named | joined | goes_on | b->inside);
}

/* One byte of a dump, a hash or an address. */
static INLINE uint64_t hex_pairs(const struct line_bits *b)
{
    uint64_t starts = b->letter & ~(b->letter << 1), lasts = b->letter & ~(b->letter >> 1);

    return starts & lasts >> 1 & b->hex & b->hex >> 1;
}

WIDER static INLINE void shape_write(struct shape_text *t, const struct line_bits *b)
{
    uint64_t starts = b->chunk & ~(b->chunk << 1), lasts = b->chunk & ~(b->chunk >> 1);
    uint64_t varies = b->digit | b->slash | (b->join & ~b->minus & b->letter >> 1) | hex_pairs(b);
    uint64_t last = lasts & behind(b, varies) >> 1;
    uint64_t first = starts_of(last, lasts, starts), all = (last << 1) - first;
    uint64_t nothing = b->quote & ~(b->letter >> 1); /* the quote behind a name */
    uint64_t kept =
        ((((b->chunk & ~all & ~nothing) | first | b->mark) & ~b->inside & ~b->again)) | b->closing;
    __m512i v = b->bytes;

    v = _mm512_mask_blend_epi8(b->letter, v, _mm512_or_si512(v, _mm512_set1_epi8(0x20)));
    v = _mm512_mask_mov_epi8(v, first, _mm512_set1_epi8(SHAPE_VARIES));
    v = _mm512_mask_blend_epi8(starts, v, _mm512_or_si512(v, _mm512_set1_epi8((char)CHUNK_FIRST)));
    v = _mm512_mask_mov_epi8(v, b->closing, _mm512_set1_epi8(SHAPE_QUOTED));
    _mm512_storeu_si512(t->bytes + t->n, _mm512_maskz_compress_epi8(kept, v));
    t->n += (size_t)__builtin_popcountll(kept);
    shape_settle(t);
}

#endif
