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
    KIND_PAIR, /* two words that together tell a failure; "no" may be one of them */
    KIND_WARN,
    KIND_SUMMARY,
    KIND_EXIT, /* tells how something ended; the number behind it says how well */
    KIND_NOT,
    KIND_PASS,
    KIND_QUIET,
    KIND_NOTE,
    KIND_PLACE,
    KIND_LEVEL /* what follows says how bad it is */
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

/* The highest bit of each byte that is a letter or an underscore; other bits are any. */
static inline uint64_t letters_in(uint64_t v)
{
    uint64_t low = (v | BYTES(0x20)) & BYTES(0x7f);
    uint64_t letter = (low + BYTES(0x80 - 'a')) & ~(low + BYTES(0x7f - 'z'));
    uint64_t line = ~(((v ^ BYTES('_')) & BYTES(0x7f)) + BYTES(0x7f));

    return (letter | line) & ~v;
}

/* The n letters at p, folded, as a hash. */
static inline uint64_t hash_letters(const uint8_t *p, size_t n, const uint8_t *readable)
{
    uint64_t h = HASH_START;

    for (; n >= 8; n -= 8, p += 8)
        h = mix(h, (load_8(p, readable) | BYTES(0x20)) + 8);
    return mix(h, ((load_8(p, readable) & ((1ull << 8 * n) - 1)) | BYTES(0x20)) + n);
}

static inline bool may_be_known(const struct words *w, uint64_t hash)
{
    return w->maybe[hash >> 52 & (WORD_BITS / 64 - 1)] >> (hash >> 58) & 1;
}

static inline size_t slot_of(const struct words *w, uint64_t hash)
{
    size_t i = (size_t)(hash >> 40) & (WORD_SLOTS - 1);

    while (w->slot[i].hash != 0 && w->slot[i].hash != hash)
        i = (i + 1) & (WORD_SLOTS - 1);
    return i;
}

static inline void add_word(struct words *w, struct word_slot word)
{
    w->slot[slot_of(w, word.hash)] = word;
    w->maybe[word.hash >> 52 & (WORD_BITS / 64 - 1)] |= 1ull << (word.hash >> 58);
}

/* How much two words together say, 0 when no more than each. */
uint8_t wbi_words_pair(const struct words *w, uint64_t first, uint64_t second);

#endif
