/* SPDX-License-Identifier: Apache-2.0
 * base/word.h: eight bytes looked at in one word. The results have the high bit of
 * some byte set where the answer is yes; which byte is not told. */
#ifndef WBI_BASE_WORD_H
#define WBI_BASE_WORD_H

#include <stdint.h>

#define WBI_EACH_BYTE(c) ((c)*UINT64_C(0x0101010101010101))

/* Is a byte of v below c? c at most 0x80; bytes from 0x80 on count as not below. */
static inline uint64_t wbi_word_below(uint64_t v, uint8_t c)
{
    return (v - WBI_EACH_BYTE(c)) & ~v & WBI_EACH_BYTE(0x80);
}

/* Is a byte of v equal to c? */
static inline uint64_t wbi_word_has(uint64_t v, uint8_t c)
{
    return wbi_word_below(v ^ WBI_EACH_BYTE(c), 1);
}

/* Is a byte of v a control character of ASCII? */
static inline uint64_t wbi_word_control(uint64_t v)
{
    return wbi_word_below(v, 0x20) | wbi_word_has(v, 0x7f);
}

/* v with its ASCII capitals made small. */
static inline uint64_t wbi_word_lower(uint64_t v)
{
    uint64_t low = v & WBI_EACH_BYTE(0x7f);
    uint64_t from_a = low + WBI_EACH_BYTE(0x80 - 'A'), past_z = low + WBI_EACH_BYTE(0x7f - 'Z');

    return v | ((from_a & ~past_z & ~v & WBI_EACH_BYTE(0x80)) >> 2);
}

#endif
