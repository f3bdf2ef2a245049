/* SPDX-License-Identifier: Apache-2.0
 * text/tokens_wide.c: the pieces of text/tokens.c, 63 bytes at a time. A bit for every
 * byte of a kind; where pieces begin, what stands before and behind them is then a matter
 * of shifts, and all but words are counted by counting bits. Text that is
 * not ASCII, but for quotation marks and the like, and runs without an end are left to the
 * other way. */
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
WIDE static inline void look_32(const uint8_t *p, struct bits *b)
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
    uint64_t letter = b->upper | b->lower;
    uint64_t alone = b->digit >> 1 | (b->tab & b->punct >> 1 & ~(letter >> 2)); /* blanks */
    uint64_t pieces = numbers(b->digit) + count(wide) + count(blank_end & alone) +
                      count(newline & ~hard) + count(first & below & ~joins);

    return pieces * COST_PIECE + count(hard) * COST_NEWLINE_PUNCT +
           count(more & b->equal) * COST_PUNCT_SAME + count(second) * COST_PUNCT_SECOND +
           count(more & ~b->equal & ~second) * COST_PUNCT_NEXT +
           count(later) * (COST_PUNCT_LATER - COST_PUNCT_NEXT) + count(b->control) * COST_CONTROL +
           count(b->consonant & b->consonant << 1 & b->consonant << 2 & b->upper & b->upper << 1 &
                 b->upper << 2) *
               COST_CLUSTER_CAPITALS +
           count(letter & b->tab << 1) * COST_TAB +
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

/* How much of the window of n bytes can be counted: up to the end, or to a mark or blank;
 * 0 when that cannot be told. What lies beyond is cut off. */
WIDE static inline size_t countable(const uint8_t *p, size_t n, struct bits *b)
{
    size_t end = n > WINDOW ? last_end(b) : n;
    uint64_t below = (1ull << end) - 1, behind;

    cut(b, below);
    if (n <= WINDOW) { /* the end of the text is as good as a newline */
        b->space &= below;
        b->punct &= below;
        b->newline |= below + 1;
    }
    behind = b->quotes << 1 | b->quotes << 2;
    if (b->high != (b->quotes | behind) || (b->quotes & behind) != 0 || !all_common(p, b->quotes))
        return 0;
    return end;
}

/* One mark right before a word, with nothing that holds it on the other side. */
WIDE static inline uint64_t joining(const struct bits *b)
{
    return b->punct & ~((b->punct | b->space) << 1) & (b->upper | b->lower) >> 1;
}

WIDE static size_t count_32(const uint8_t *p, size_t n, size_t readable, uint64_t *units)
{
    uint8_t copy[96] NOT_CLEARED;
    struct bits b NOT_CLEARED;
    uint64_t joins;
    size_t end;

    if (readable <= WINDOW + 1) {
        memset(copy, 0, sizeof copy);
        memcpy(copy, p, n);
        p = copy;
    }
    look_32(p, &b);
    end = countable(p, n, &b);
    if (end == 0)
        return 0;
    joins = joining(&b);
    *units += words(&b, joins) + others(&b, (1ull << end) - 1, joins);
    return end;
}

/* ---- 64 bytes in one vector ---- */

#define WIDER                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2," \
                          "bmi,bmi2,popcnt"),                                      \
                   no_sanitize("address")))

enum {
    IS_UPPER = 1,
    IS_LOWER = 2,
    IS_DIGIT = 4,
    IS_SPACE = 8,
    IS_NEWLINE = 16,
    IS_CONTROL = 32,
    IS_PUNCT = 64,
    IS_CONSONANT = 128
};

#define X2(c) c, c
#define X4(c) X2(c), X2(c)
#define X8(c) X4(c), X4(c)
#define X3(c) X2(c), c
#define X5(c) X4(c), c
/* a to z: v for vowels, c for consonants */
#define LETTERS(v, c) v, X3(c), v, X3(c), v, X5(c), v, X5(c), v, X3(c), v, c
static const uint8_t kinds[128] __attribute__((aligned(64))) = {
    X8(IS_CONTROL), IS_CONTROL,
    IS_SPACE,       IS_NEWLINE,
    X5(IS_CONTROL),                 /* 0x00 */
    X8(IS_CONTROL), X8(IS_CONTROL), /* 0x10 */
    IS_SPACE,       X8(IS_PUNCT),
    X5(IS_PUNCT),   X2(IS_PUNCT), /* 0x20 */
    X8(IS_DIGIT),   X2(IS_DIGIT),
    X4(IS_PUNCT),   X2(IS_PUNCT), /* 0x30 */
    IS_PUNCT,       LETTERS(IS_UPPER, IS_UPPER | IS_CONSONANT),
    X5(IS_PUNCT), /* 0x40 */
    IS_PUNCT,       LETTERS(IS_LOWER, IS_LOWER | IS_CONSONANT),
    X4(IS_PUNCT),   IS_CONTROL, /* 0x60 */
};

/* What stands behind the n bytes of p is of no kind. */
WIDER static inline void look_64(const uint8_t *p, size_t n, struct bits *b)
{
    uint64_t there = n < 64 ? (1ull << n) - 1 : UINT64_MAX;
    __m512i v = _mm512_maskz_loadu_epi8(there, p);
    __m512i next = _mm512_maskz_loadu_epi8(there >> 1, p + 1);
    __m512i kind;

    b->high = _mm512_movepi8_mask(v);
    kind = _mm512_maskz_permutex2var_epi8(there & ~b->high, _mm512_load_si512(kinds), v,
                                          _mm512_load_si512(kinds + 64));
    b->upper = _mm512_test_epi8_mask(kind, _mm512_set1_epi8(IS_UPPER));
    b->lower = _mm512_test_epi8_mask(kind, _mm512_set1_epi8(IS_LOWER));
    b->digit = _mm512_test_epi8_mask(kind, _mm512_set1_epi8(IS_DIGIT));
    b->space = _mm512_test_epi8_mask(kind, _mm512_set1_epi8(IS_SPACE));
    b->newline = _mm512_test_epi8_mask(kind, _mm512_set1_epi8(IS_NEWLINE));
    b->control = _mm512_test_epi8_mask(kind, _mm512_set1_epi8(IS_CONTROL));
    b->punct = _mm512_test_epi8_mask(kind, _mm512_set1_epi8(IS_PUNCT));
    b->consonant = _mm512_movepi8_mask(kind);
    b->equal = _mm512_cmpeq_epi8_mask(v, next) << 1;
    b->comma = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(',')) |
               _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('@'));
    b->tab = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\t'));
    b->quotes = b->high != 0 ? _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xe2)) : 0;
}

/* Words by where they begin and by their last letters: as many bits in both, in one order. */
struct words {
    uint64_t starts, lasts;
};

/* The starts of the words whose last letters are given. */
WIDER static inline uint64_t starts_of(const struct words *w, uint64_t lasts)
{
    return _pdep_u64(_pext_u64(lasts, w->lasts), w->starts);
}

/* All letters of the words whose starts are given. */
WIDER static inline uint64_t letters_of(const struct words *w, uint64_t starts)
{
    return (_pdep_u64(_pext_u64(starts, w->starts), w->lasts) << 1) - starts;
}

#define COUNT_8(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
static const uint8_t numbers_64[64]
    __attribute__((aligned(64))) = {COUNT_8(0),  COUNT_8(8),  COUNT_8(16), COUNT_8(24),
                                    COUNT_8(32), COUNT_8(40), COUNT_8(48), COUNT_8(56)};

/* The numbers of the first 32 bits that are set, the lowest first. */
WIDER static inline __m256i places(uint64_t bits)
{
    return _mm512_castsi512_si256(_mm512_maskz_compress_epi8(bits, _mm512_load_si512(numbers_64)));
}

/* What the table says of up to 32 words, all looked up at once, given their lengths less one
 * and the bits of the numbers of their rows at their starts. */
WIDER static inline uint64_t table_costs(const struct words *w, __m512i lengths,
                                         const uint64_t rows[3])
{
    __mmask32 there = (__mmask32)_pext_u64(w->starts, w->starts);
    __mmask32 capitals = (__mmask32)_pext_u64(rows[2], w->starts);
    __m512i at, cost;

    at = _mm512_mask_add_epi16(lengths, (__mmask32)_pext_u64(rows[0], w->starts), lengths,
                               _mm512_set1_epi16(TABLE));
    at = _mm512_mask_add_epi16(at, (__mmask32)_pext_u64(rows[1], w->starts), at,
                               _mm512_set1_epi16(2 * TABLE));
    cost = _mm512_permutex2var_epi16(_mm512_loadu_si512(wbi_word_costs[0]), at,
                                     _mm512_loadu_si512(wbi_word_costs[2]));
    cost = _mm512_mask_permutexvar_epi16(cost, capitals, at, _mm512_loadu_si512(wbi_word_costs[4]));
    cost = _mm512_madd_epi16(_mm512_maskz_mov_epi16(there, cost), _mm512_set1_epi16(1));
    return (uint64_t)_mm512_reduce_add_epi32(cost);
}

/* As words; words that are unusually long or many are left to that. */
WIDER static inline uint64_t words_64(const struct bits *b, uint64_t joins)
{
    uint64_t letter = b->upper | b->lower;
    uint64_t starts = (b->upper & ~(b->upper << 1)) | (b->lower & ~(letter << 1));
    struct words w = {starts, letter & (~letter | starts) >> 1};
    uint64_t digits = (starts & b->digit << 1) | starts_of(&w, w.lasts & b->digit >> 1);
    uint64_t blank = starts & b->space << 1 & ~digits, mark = starts & joins << 1;
    uint64_t alone = starts & ~(digits | blank | mark), marked = digits & mark;
    uint64_t capitals = starts_of(&w, w.lasts & b->upper);
    uint64_t mixed = starts & b->upper & b->upper >> 1 & ~capitals;
    uint64_t in_mixed = letters_of(&w, mixed);
    uint64_t clusters =
        b->consonant & b->consonant << 1 & b->consonant << 2 & letter & ~(starts | starts << 1);
    uint64_t rows[3] = {(~capitals & (alone | digits)) | (capitals & ~blank),
                        ~capitals & (mark | digits), capitals};
    struct words plain = {starts & ~mixed, w.lasts & ~in_mixed};
    __m256i lengths = _mm256_sub_epi8(places(plain.lasts), places(plain.starts));

    if (count(starts) > 32 || _mm256_cmpge_epu8_mask(lengths, _mm256_set1_epi8(TABLE)) != 0)
        return words(b, joins);
    return table_costs(&plain, _mm512_cvtepu8_epi16(lengths), rows) +
           (count(in_mixed) + count(mixed)) * COST_MIXED +
           (count(marked) + count(marked & w.lasts)) * COST_MARKED +
           count(clusters) * COST_CLUSTER +
           count(clusters & letters_of(&w, alone)) * (COST_CLUSTER_ALONE - COST_CLUSTER) +
           count(clusters & letters_of(&w, digits)) * (COST_CLUSTER_DIGITS - COST_CLUSTER);
}

WIDER static size_t count_64(const uint8_t *p, size_t n, uint64_t *units)
{
    struct bits b NOT_CLEARED;
    uint64_t joins;
    size_t end;

    look_64(p, n, &b);
    end = countable(p, n, &b);
    if (end == 0)
        return 0;
    joins = joining(&b);
    *units += words_64(&b, joins) + others(&b, (1ull << end) - 1, joins);
    return end;
}

size_t wbi_tokens_lanes(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
        return 0;
    return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") ? 64 : 32;
}

size_t wbi_tokens_wide(const uint8_t *p, size_t n, size_t readable, size_t lanes, uint64_t *units)
{
    return lanes == 64 ? count_64(p, n, units) : count_32(p, n, readable, units);
}
#else
size_t wbi_tokens_lanes(void)
{
    return 0;
}

size_t wbi_tokens_wide(const uint8_t *p, size_t n, size_t readable, size_t lanes, uint64_t *units)
{
    (void)p;
    (void)n;
    (void)readable;
    (void)lanes;
    (void)units;
    return 0;
}
#endif
