/* SPDX-License-Identifier: Apache-2.0
 * text/preview_bits_int.h: what bytes of a line are; where the letters and digits of a line are, a
 * bit for each of the next 63 bytes, so that a word's end is found by counting zeros. */
#ifndef WBI_TEXT_PREVIEW_BITS_INT_H
#define WBI_TEXT_PREVIEW_BITS_INT_H

#include "text/preview_words_int.h"

#define INLINE inline __attribute__((always_inline))
#define WINDOW 63u /* one less than a mask has bits: whatever is asked for ends within it */
#define LOOKED 64u /* bytes that are looked at */

enum { C_LETTER, C_DIGIT, C_SPACE, C_SLASH, C_JOIN, C_QUOTE, C_OTHER, C_HIGH };

#define X4(c) c, c, c, c
#define X8(c) X4(c), X4(c)
#define X16(c) X8(c), X8(c)
static const uint8_t class_of[256] = {
    X8(C_OTHER),
    C_OTHER,
    C_SPACE,
    C_SPACE,
    X4(C_SPACE),
    C_OTHER,
    X16(C_OTHER),
    /*  ! " # $ % & ' ( ) * + , - . / */
    C_SPACE,
    C_OTHER,
    C_QUOTE,
    C_OTHER,
    C_OTHER,
    C_OTHER,
    C_OTHER,
    C_QUOTE,
    C_OTHER,
    C_OTHER,
    C_OTHER,
    C_JOIN,
    C_OTHER,
    C_JOIN,
    C_JOIN,
    C_SLASH,
    X8(C_DIGIT),
    C_DIGIT,
    C_DIGIT,
    X4(C_OTHER),
    C_OTHER,
    C_OTHER,
    C_JOIN,
    X16(C_LETTER),
    X8(C_LETTER),
    C_LETTER,
    C_LETTER,
    C_OTHER,
    C_SLASH,
    C_OTHER,
    C_OTHER,
    C_LETTER,
    C_QUOTE,
    X16(C_LETTER),
    X8(C_LETTER),
    C_LETTER,
    C_LETTER,
    X4(C_OTHER),
    C_OTHER,
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
};

struct window {
    size_t base;     /* where in the line it begins */
    uint64_t letter; /* and underscores */
    uint64_t digit;
};

/* The highest bit of each byte that is set in v, as eight bits. */
static inline uint64_t high_bits(uint64_t v)
{
    return (v & BYTES(0x80)) / 128 * 0x0102040810204080u >> 56;
}

static inline uint64_t digits_of(uint64_t v)
{
    uint64_t low = v & BYTES(0x7f);

    return (low + BYTES(0x80 - '0')) & ~(low + BYTES(0x7f - '9')) & ~v;
}

static inline void window_plain(struct window *w, const uint8_t *p, const uint8_t *readable)
{
    w->letter = 0;
    w->digit = 0;
    for (unsigned i = 0; i < LOOKED && p + i < readable; i += 8) {
        uint64_t v = load_8(p + i, readable);

        w->letter |= high_bits(letters_in(v)) << i;
        w->digit |= high_bits(digits_of(v)) << i;
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Address sanitizers may put such frames where wide vectors cannot be stored. */
#define WIDE __attribute__((target("avx2,bmi,bmi2"), no_sanitize("address")))

WIDE static inline uint64_t within(__m256i v, __m256i w, int first, int count)
{
    __m256i from = _mm256_set1_epi8((char)first), most = _mm256_set1_epi8((char)(count - 1));

    v = _mm256_sub_epi8(v, from);
    w = _mm256_sub_epi8(w, from);
    v = _mm256_cmpeq_epi8(_mm256_min_epu8(v, most), v);
    w = _mm256_cmpeq_epi8(_mm256_min_epu8(w, most), w);
    return (uint32_t)_mm256_movemask_epi8(v) | (uint64_t)(uint32_t)_mm256_movemask_epi8(w) << 32;
}

WIDE static inline void window_wide(struct window *b, const uint8_t *p, const uint8_t *readable)
{
    __m256i fold = _mm256_set1_epi8(0x20), v, w;
    uint8_t copy[LOOKED] NOT_CLEARED;

    if (readable - p < (ptrdiff_t)LOOKED) {
        memset(copy, 0, sizeof copy);
        memcpy(copy, p, (size_t)(readable - p));
        p = copy;
    }
    v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    w = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    b->digit = within(v, w, '0', 10);
    b->letter =
        within(v, w, '_', 1) | within(_mm256_or_si256(v, fold), _mm256_or_si256(w, fold), 'a', 26);
}

#else
#define WIDE
#define window_wide window_plain
#endif

#endif
