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
    KIND_LEVEL, /* what follows says how bad it is */
    KIND_GRAVE, /* KIND_FAIL, or the level of a log that is worse than an error */
    KIND_ERROR, /* KIND_FAIL, or that level */
    KIND_WARNS  /* KIND_WARN, or that level */
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

/* Where the word is in a table of n slots, or would be. */
static inline size_t slot_in(const struct word_slot *slots, size_t n, uint64_t hash)
{
    size_t i = (size_t)(hash >> 40) & (n - 1);

    while (slots[i].hash != 0 && slots[i].hash != hash)
        i = (i + 1) & (n - 1);
    return i;
}

/* Of the vocabulary, or else of the command; one with the hash 0 when it is of neither. */
static inline const struct word_slot *slot_of(const struct words *w, uint64_t hash)
{
    const struct word_slot *slot = &w->known[slot_in(w->known, WORD_SLOTS, hash)];

    return slot->hash != 0 ? slot : &w->query[slot_in(w->query, QUERY_SLOTS, hash)];
}

static inline void set_maybe(uint64_t *maybe, uint64_t hash)
{
    maybe[hash >> 52 & (WORD_BITS / 64 - 1)] |= 1ull << (hash >> 58);
}

/* Words in groups by their first letter, the short ones by themselves: begins[i][c & 63] has a
 * bit for each group in which c, of either case, is letter i of some word. A word may be known
 * when its first letters have a bit in common; of a short one only two are looked at. */
#define SHORT_WORDS 0x80u

static inline void set_begins(uint8_t begins[BEGIN][64], const uint8_t *p, size_t n)
{
    uint8_t group = n < BEGIN ? SHORT_WORDS : (uint8_t)(1u << (p[0] & 31) % 7);

    for (size_t i = 0; i < (n < BEGIN ? 2 : BEGIN); i++) {
        begins[i][p[i] & 63] |= group;
        begins[i][(p[i] ^ 0x20) & 63] |= group;
    }
}

/* How much two words together say, 0 when no more than each. */
uint8_t wbi_words_pair(uint64_t first, uint64_t second);

#endif
