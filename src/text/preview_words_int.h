/* SPDX-License-Identifier: Apache-2.0
 * text/preview_words_int.h: words by their hash, eight letters at a time; shared by the
 * vocabulary and by those who look for it. */
#ifndef WBI_TEXT_PREVIEW_WORDS_INT_H
#define WBI_TEXT_PREVIEW_WORDS_INT_H

#include <endian.h>

#include "text/preview_int.h"

enum kind {
    KIND_NONE,
    KIND_FAIL,
    KIND_WARN,
    KIND_SUMMARY,
    KIND_NOT,
    KIND_PASS,
    KIND_QUIET,
    KIND_NOTE,
    KIND_PLACE
};

#define HASH_START 0x9e3779b97f4a7c15u
#define HASH_STEP 0x9fb21c651e98df25u

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * HASH_STEP;
    return h ^ (h >> 29);
}

/* Eight bytes from p on, the first lowest; zeros behind what is readable. */
static inline uint64_t load_8(const uint8_t *p, const uint8_t *readable)
{
    uint64_t v = 0;

    if (readable - p >= 8) {
        memcpy(&v, p, 8);
        return le64toh(v);
    }
    while (readable > p)
        v = v << 8 | *--readable;
    return v;
}

#define BYTES(c) ((uint64_t)(c)*0x0101010101010101u)

/* How many of eight bytes from the first on are letters or underscores. */
static inline unsigned letters_of(uint64_t v)
{
    uint64_t low = (v | BYTES(0x20)) & BYTES(0x7f);
    uint64_t letter = (low + BYTES(0x80 - 'a')) & ~(low + BYTES(0x7f - 'z'));
    uint64_t line = ~(((v ^ BYTES('_')) & BYTES(0x7f)) + BYTES(0x7f));
    uint64_t other = ~((letter | line) & ~v) & BYTES(0x80);

    return other == 0 ? 8 : (unsigned)__builtin_ctzll(other) / 8;
}

/* The letters at p, folded, as a hash; *ret_end is where they end. */
static inline uint64_t hash_letters(const uint8_t *p, const uint8_t *end, const uint8_t *readable,
                                    const uint8_t **ret_end)
{
    uint64_t h = HASH_START, v;
    size_t n;

    do {
        v = load_8(p, readable);
        n = letters_of(v);
        n = n < (size_t)(end - p) ? n : (size_t)(end - p);
        if (n < 8)
            v &= (1ull << 8 * n) - 1;
        h = mix(h, (v | BYTES(0x20)) + n);
        p += n;
    } while (n == 8);
    *ret_end = p;
    return h;
}

static inline size_t slot_of(const struct words *w, uint64_t hash)
{
    size_t i = (size_t)(hash >> 40) & (WORD_SLOTS - 1);

    while (w->slot[i].hash != 0 && w->slot[i].hash != hash)
        i = (i + 1) & (WORD_SLOTS - 1);
    return i;
}

/* How much two words together say, 0 when no more than each. */
uint8_t wbi_words_pair(const struct words *w, uint64_t first, uint64_t second);

#endif
