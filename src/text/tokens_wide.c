/* SPDX-License-Identifier: Apache-2.0
 * text/tokens_wide.c: the pieces of text/tokens.c, 63 bytes at a time. A bit for every
 * byte of a kind; where pieces begin, what stands before and behind them is then a matter
 * of shifts, and all but words are counted by counting bits. Text that is not ASCII, but
 * for quotation marks and the like, and runs without an end are left to the other way. */
#include "text/tokens_int.h"

#define WINDOW 63u

struct bits {
    uint64_t upper, lower, digit, space, newline, punct, control, high;
    uint64_t consonant;
    uint64_t equal;  /* to the byte before */
    uint64_t quotes; /* first bytes of U+2000 to U+2FFF */
    uint64_t comma;  /* or @ */
    uint64_t tab;
};

#if defined(__x86_64__)
#include <immintrin.h>

/* Address sanitizers may put such frames where wide vectors cannot be stored. */
#define WIDE __attribute__((target("avx2,bmi,bmi2,popcnt"), no_sanitize("address")))
/* Clearing them first takes longer than all the rest. */
#define NOT_CLEARED __attribute__((uninitialized))
#define EACH(c) _mm256_set1_epi8((char)(c))

WIDE static inline uint32_t mask_of(__m256i v)
{
    return (uint32_t)_mm256_movemask_epi8(v);
}

WIDE static inline __m256i is(__m256i v, int c)
{
    return _mm256_cmpeq_epi8(v, EACH(c));
}

WIDE static inline __m256i within(__m256i v, int first, int count)
{
    __m256i d = _mm256_sub_epi8(v, EACH(first));

    return _mm256_cmpeq_epi8(_mm256_min_epu8(d, EACH(count - 1)), d);
}

/* One bit for each of 64 bytes. */
WIDE static inline uint64_t bits_of(__m256i low, __m256i high)
{
    return mask_of(low) | (uint64_t)mask_of(high) << 32;
}

WIDE static inline __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

WIDE static inline __m256i vowels(__m256i v)
{
    __m256i fold = _mm256_or_si256(v, EACH(0x20));

    return _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(is(fold, 'a'), is(fold, 'e')),
                                           _mm256_or_si256(is(fold, 'i'), is(fold, 'o'))),
                           _mm256_or_si256(is(fold, 'u'), is(fold, 'y')));
}

/* 65 bytes can be read. */
WIDE static inline void look(const uint8_t *p, struct bits *b)
{
    __m256i v = load(p), w = load(p + 32);

    b->upper = bits_of(within(v, 'A', 26), within(w, 'A', 26));
    b->lower = bits_of(within(v, 'a', 26), within(w, 'a', 26));
    b->digit = bits_of(within(v, '0', 10), within(w, '0', 10));
    b->tab = bits_of(is(v, '\t'), is(w, '\t'));
    b->space = bits_of(is(v, ' '), is(w, ' ')) | b->tab;
    b->newline = bits_of(is(v, '\n'), is(w, '\n'));
    b->control = bits_of(within(v, 0, 32), within(w, 0, 32)) | bits_of(is(v, 127), is(w, 127));
    b->control &= ~(b->newline | b->space);
    b->high = bits_of(v, w);
    b->punct = ~(b->upper | b->lower | b->digit | b->space | b->newline | b->control | b->high);
    b->consonant = ~bits_of(vowels(v), vowels(w)) & (b->upper | b->lower);
    b->equal = bits_of(_mm256_cmpeq_epi8(v, load(p + 1)), _mm256_cmpeq_epi8(w, load(p + 33))) << 1;
    b->quotes = b->high != 0 ? bits_of(is(v, 0xe2), is(w, 0xe2)) : 0;
    b->comma = bits_of(is(v, ','), is(w, ',')) | bits_of(is(v, '@'), is(w, '@'));
}

WIDE static inline uint64_t count(uint64_t bits)
{
    return (uint64_t)__builtin_popcountll(bits);
}

/* By digits, blank and mark beside it; by capitals only, and that. No jumps: which words come
 * cannot be guessed. */
static const uint8_t place_of[8] = {ALONE,         BEHIND_MARK,   BEHIND_BLANK,  BEHIND_BLANK,
                                    BESIDE_DIGITS, BESIDE_DIGITS, BESIDE_DIGITS, BESIDE_DIGITS};
static const uint8_t row_of[2][4] = {{BEHIND_BLANK, ALONE, BEHIND_MARK, BESIDE_DIGITS},
                                     {UPPER_BEHIND_BLANK, UPPER_ELSE, UPPER_ELSE, UPPER_ELSE}};

/* The word that begins at s and has n letters; behind and mark: where a blank stands
 * right before a word, or a mark that joins it. */
WIDE static inline uint64_t word(const struct bits *b, unsigned s, unsigned n, uint64_t triples,
                                 uint64_t joins)
{
    unsigned upper = (unsigned)__builtin_ctzll(~(b->upper >> s));
    unsigned blank = (unsigned)(b->space << 1 >> s & 1), mark = (unsigned)(joins << 1 >> s & 1);
    unsigned digits = (unsigned)((b->digit << 1 >> s | b->digit >> (s + n)) & 1);
    unsigned place = place_of[digits << 2 | blank << 1 | mark];
    unsigned row = row_of[upper == n][place];
    uint64_t marked = (digits & mark) * (COST_MARKED + (n == 1) * COST_MARKED);
    uint64_t clusters = count(_bzhi_u64(triples >> s, n) & ~3ull) * wbi_cluster_cost[place];

    if (upper > 1 && upper < n)
        return COST_MIXED * (n + 1) + marked + clusters;
    return wbi_word_cost(row, n) + marked + clusters;
}

WIDE static inline uint64_t words(const struct bits *b, uint64_t joins)
{
    uint64_t letter = b->upper | b->lower;
    uint64_t starts = (b->upper & ~(b->upper << 1)) | (b->lower & ~(letter << 1));
    uint64_t ends = ~letter | starts, units = 0;
    uint64_t triples = b->consonant & b->consonant << 1 & b->consonant << 2;

    for (uint64_t left = starts; left != 0; left &= left - 1) {
        unsigned s = (unsigned)__builtin_ctzll(left);
        unsigned n = (unsigned)__builtin_ctzll(ends >> s >> 1) + 1;

        units += word(b, s, n, triples, joins);
    }
    return units;
}

/* Every three digits of a run. */
WIDE static inline uint64_t numbers(uint64_t digit)
{
    uint64_t starts = digit & ~(digit << 1), three = digit & digit << 1 & digit << 2, n = 0;

    for (; starts != 0; starts = starts << 3 & three)
        n += count(starts);
    return n;
}

/* All but words, below bit `end`; what stands at that bit is known too. */
WIDE static inline uint64_t others(const struct bits *b, uint64_t below, uint64_t joins)
{
    uint64_t punct = b->punct & below, first = b->punct & ~(b->punct << 1);
    uint64_t more = punct & b->punct << 1, second = more & first << 1 & ~b->equal;
    uint64_t later = more & b->punct << 2 & b->punct << 3 & b->punct << 4 & ~b->equal;
    uint64_t blank_end = b->space & ~(b->space >> 1) & below;
    uint64_t wide = blank_end & b->space << 1 & ~(b->newline >> 1);
    uint64_t newline = b->newline & ~(b->newline << 1) & below, hard = newline & b->punct << 1;
    uint64_t pieces = numbers(b->digit) + count(wide) + count(blank_end & b->digit >> 1) +
                      count(newline & ~hard) + count(first & below & ~joins);

    return pieces * COST_PIECE + count(hard) * COST_NEWLINE_PUNCT +
           count(more & b->equal) * COST_PUNCT_SAME + count(second) * COST_PUNCT_SECOND +
           count(more & ~b->equal & ~second) * COST_PUNCT_NEXT +
           count(later) * (COST_PUNCT_LATER - COST_PUNCT_NEXT) + count(b->control) * COST_CONTROL +
           count(b->consonant & b->consonant << 1 & b->consonant << 2 & b->upper & b->upper << 1 &
                 b->upper << 2) *
               COST_CLUSTER_CAPITALS +
           count((b->upper | b->lower) & b->tab << 1) * COST_TAB +
           count(b->upper & ~(b->upper << 1) & b->lower >> 1) * COST_CAPITAL +
           count(b->quotes) * COST_HIGH_3 + count(joins & b->comma) * COST_COMMA;
}

/* Nothing of what stands beyond the end counts, but what stands right there. */
WIDE static inline void cut(struct bits *b, uint64_t below)
{
    b->upper &= below;
    b->lower &= below;
    b->digit &= below;
    b->control &= below;
    b->high &= below;
    b->quotes &= below;
    b->space &= below << 1 | 1;
    b->punct &= below << 1 | 1;
    b->newline &= below;
}

/* Where the last pieces that lie within the window end. */
WIDE static inline size_t last_end(const struct bits *b)
{
    uint64_t marks = b->space | b->punct;

    marks &= ~(marks << 1) & ~1ull;
    return marks == 0 ? 0 : 63 - (size_t)__builtin_clzll(marks);
}

/* Dashes, quotation marks, bullets and dots only: one token each. */
static inline bool all_common(const uint8_t *p, uint64_t quotes)
{
    for (; quotes != 0; quotes &= quotes - 1) {
        const uint8_t *c = p + __builtin_ctzll(quotes);

        if (c[1] != 0x80 || c[2] < 0x93 || c[2] > 0xa6 ||
            wbi_char_tokens(0x2000 + (c[2] & 0x3fu)) > 1)
            return false;
    }
    return true;
}

WIDE size_t wbi_tokens_wide(const uint8_t *p, size_t n, size_t readable, uint64_t *units)
{
    uint8_t copy[96] NOT_CLEARED;
    struct bits b NOT_CLEARED;
    uint64_t below, joins;
    size_t end = n;

    if (readable <= WINDOW + 1) {
        memset(copy, 0, sizeof copy);
        memcpy(copy, p, n);
        p = copy;
    }
    look(p, &b);
    if (n > WINDOW) {
        end = last_end(&b);
        if (end == 0)
            return 0;
    }
    below = (1ull << end) - 1;
    cut(&b, below);
    if (n <= WINDOW) { /* the end of the text is as good as a newline */
        b.space &= below;
        b.punct &= below;
        b.newline |= below + 1;
    }
    if (b.high != (b.quotes | b.quotes << 1 | b.quotes << 2) || !all_common(p, b.quotes))
        return 0;
    joins = b.punct & ~((b.punct | b.space) << 1) & (b.upper | b.lower) >> 1;
    *units += words(&b, joins) + others(&b, below, joins);
    return end;
}

bool wbi_tokens_have_wide(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}
#else
size_t wbi_tokens_wide(const uint8_t *p, size_t n, size_t readable, uint64_t *units)
{
    (void)p;
    (void)n;
    (void)readable;
    (void)units;
    return 0;
}

bool wbi_tokens_have_wide(void)
{
    return false;
}
#endif
