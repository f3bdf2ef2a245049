/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_scan.c: where a literal of the rules may begin. Literals are put
 * into eight buckets; for each of their first four bytes two tables of sixteen
 * say which buckets may have that low and that high nibble there, so that one
 * shuffle per table judges 32 or 64 positions at once. Bytes are compared with bit 5
 * set (letters without case). Machines without AVX2 look at pairs of bytes. */
#include "text/secrets_int.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define NEW_BUCKET 12u

static uint8_t fold(uint8_t c)
{
    return c | 0x20;
}

/* How many of all byte groups a bucket would let through. */
static unsigned width(const struct prefilter *f, unsigned bucket, const char *literal)
{
    unsigned product = 1;
    size_t n = strlen(literal);

    for (size_t i = 0; i < DEEP; i++) {
        unsigned low = 0, high = 0;

        for (unsigned v = 0; v < 16; v++) {
            low += (f->low[i][v] >> bucket) & 1;
            high += (f->high[i][v] >> bucket) & 1;
        }
        if (i < n) {
            low += !((f->low[i][literal[i] & 15] >> bucket) & 1);
            high += !((f->high[i][fold((uint8_t)literal[i]) >> 4] >> bucket) & 1);
        } else {
            low = 16;
            high = 16;
        }
        product *= low * high;
    }
    return product;
}

static void put(struct prefilter *f, unsigned bucket, size_t rule)
{
    const char *literal = wbi_secret_rules[rule].literal;
    size_t n = strlen(literal);
    uint8_t bit = (uint8_t)(1u << bucket);
    unsigned pair = fold((uint8_t)literal[0]) | (unsigned)fold((uint8_t)literal[1]) << 8;

    for (size_t i = 0; i < DEEP; i++) {
        for (unsigned v = 0; v < 16; v++) {
            if (i >= n || (literal[i] & 15) == (char)v)
                f->low[i][v] |= bit;
            if (i >= n || fold((uint8_t)literal[i]) >> 4 == v)
                f->high[i][v] |= bit;
        }
    }
    f->n_members[bucket]++;
    f->pairs[pair >> 6] |= 1ull << (pair & 63);
}

static unsigned triple(uint8_t a, uint8_t b, uint8_t c)
{
    return (fold(a) * 0x9e5u ^ fold(b) * 0x2b1u ^ fold(c) * 0x47u) & 0xffff;
}

/* Exact first three bytes, hashed: what the shuffles let through by mixture. */
static void add_triples(struct prefilter *f, const char *literal)
{
    for (unsigned c = 0; c < 256; c++) {
        unsigned t = triple((uint8_t)literal[0], (uint8_t)literal[1], (uint8_t)c);

        if (literal[2] == '\0' || fold((uint8_t)c) == fold((uint8_t)literal[2]))
            f->triples[t >> 6] |= 1ull << (t & 63);
    }
}

/* First bytes as one number, to refuse most candidates by one comparison. */
static void add_rule(struct prefilter *f, size_t at, size_t rule)
{
    const char *literal = wbi_secret_rules[rule].literal;

    f->order[at] = (uint8_t)rule;
    add_triples(f, literal);
    for (unsigned i = 0; i < 4 && literal[i] != '\0'; i++) {
        f->want[at] |= (uint32_t)fold((uint8_t)literal[i]) << (8 * i);
        f->mask[at] |= 0xffu << (8 * i);
    }
}

/* Rules by the first byte of their literal, so that a candidate meets few. */
static void sort_rules(struct prefilter *f)
{
    size_t n = 0;

    for (unsigned c = 0; c < 256; c++) {
        f->start[c] = (uint8_t)n;
        for (size_t r = 0; r < wbi_secret_rules_n; r++)
            if (fold((uint8_t)wbi_secret_rules[r].literal[0]) == c)
                add_rule(f, n++, r);
    }
    f->start[256] = (uint8_t)n;
}

/* The bucket that this literal widens the least; a new one costs a little. */
static unsigned best_bucket(const struct prefilter *f, const char *literal)
{
    unsigned best = 0, cost = UINT32_MAX;

    for (unsigned b = 0; b < BUCKETS; b++) {
        unsigned now = f->n_members[b] ? f->width[b] : 0;
        unsigned more = f->n_members[b] ? width(f, b, literal) - now : NEW_BUCKET;

        if (more < cost) {
            cost = more;
            best = b;
        }
    }
    return best;
}

/* Short literals first: they let most through and belong together. */
void wbi_prefilter_init(struct prefilter *f)
{
    memset(f, 0, sizeof *f);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < wbi_secret_rules_n; r++) {
            const char *literal = wbi_secret_rules[r].literal;
            unsigned bucket;

            if ((strlen(literal) < 3) != (pass == 0))
                continue;
            bucket = pass == 0 ? 0 : best_bucket(f, literal);
            f->width[bucket] = width(f, bucket, literal);
            put(f, bucket, r);
        }
    }
    sort_rules(f);
}

void wbi_scan_start(struct scan *s, const struct prefilter *f, struct wbi_str text)
{
    *s = (struct scan){.filter = f, .text = text};
#if defined(__x86_64__)
    s->lanes = __builtin_cpu_supports("avx512bw") ? 64 : __builtin_cpu_supports("avx2") ? 32 : 0;
#endif
}

static bool pair_may_start(const struct prefilter *f, const uint8_t *p)
{
    unsigned pair = fold(p[0]) | (unsigned)fold(p[1]) << 8;

    return (f->pairs[pair >> 6] >> (pair & 63)) & 1;
}

#if defined(__x86_64__)
#define TABLE_256(t) \
    _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(t)))
#define TABLE_512(t) \
    _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)(t)))

/* Whole blocks from s->at on, until one has a candidate. A shuffle takes the low
 * four bits of its index and gives nothing for bytes from 0x80 on. */
__attribute__((target("avx2"))) static bool next_block_32(struct scan *s)
{
    const struct prefilter *f = s->filter;
    const __m256i nibble = _mm256_set1_epi8(15), bit5 = _mm256_set1_epi8(0x20);
    const __m256i low[DEEP] = {TABLE_256(f->low[0]), TABLE_256(f->low[1]), TABLE_256(f->low[2]),
                               TABLE_256(f->low[3])};
    const __m256i high[DEEP] = {TABLE_256(f->high[0]), TABLE_256(f->high[1]),
                                TABLE_256(f->high[2]), TABLE_256(f->high[3])};

    for (; s->at + 31 + DEEP <= s->text.n; s->at += 32) {
        const char *p = s->text.p + s->at;
        __m256i all = _mm256_set1_epi8(-1);

        for (int i = 0; i < DEEP; i++) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
            __m256i h = _mm256_and_si256(_mm256_srli_epi16(_mm256_or_si256(v, bit5), 4), nibble);

            all = _mm256_and_si256(all, _mm256_shuffle_epi8(low[i], v));
            all = _mm256_and_si256(all, _mm256_shuffle_epi8(high[i], h));
        }
        s->mask = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(all, _mm256_setzero_si256()));
        if (s->mask != 0) {
            s->base = s->at;
            s->at += 32;
            return true;
        }
    }
    return false;
}

__attribute__((target("avx512bw"))) static bool next_block_64(struct scan *s)
{
    const struct prefilter *f = s->filter;
    const __m512i nibble = _mm512_set1_epi8(15), bit5 = _mm512_set1_epi8(0x20);
    const __m512i low[DEEP] = {TABLE_512(f->low[0]), TABLE_512(f->low[1]), TABLE_512(f->low[2]),
                               TABLE_512(f->low[3])};
    const __m512i high[DEEP] = {TABLE_512(f->high[0]), TABLE_512(f->high[1]),
                                TABLE_512(f->high[2]), TABLE_512(f->high[3])};

    for (; s->at + 63 + DEEP <= s->text.n; s->at += 64) {
        const char *p = s->text.p + s->at;
        __m512i all = _mm512_set1_epi8(-1);

        for (int i = 0; i < DEEP; i++) {
            __m512i v = _mm512_loadu_si512((const void *)(p + i));
            __m512i h = _mm512_and_si512(_mm512_srli_epi16(_mm512_or_si512(v, bit5), 4), nibble);

            all = _mm512_and_si512(all, _mm512_shuffle_epi8(low[i], v));
            all = _mm512_and_si512(all, _mm512_shuffle_epi8(high[i], h));
        }
        s->mask = _mm512_test_epi8_mask(all, all);
        if (s->mask != 0) {
            s->base = s->at;
            s->at += 64;
            return true;
        }
    }
    return false;
}

static bool next_block(struct scan *s)
{
    return (s->lanes == 64 && next_block_64(s)) || (s->lanes >= 32 && next_block_32(s));
}
#endif

size_t wbi_scan_next(struct scan *s, size_t from)
{
    const uint8_t *p = (const uint8_t *)s->text.p;

#if defined(__x86_64__)
    unsigned t;

    while (s->lanes > 0) {
        while (s->mask != 0) {
            size_t at = s->base + (size_t)__builtin_ctzll(s->mask);

            s->mask &= s->mask - 1;
            t = triple(p[at], p[at + 1], p[at + 2]);
            if (at >= from && (s->filter->triples[t >> 6] >> (t & 63)) & 1)
                return at;
        }
        if (s->at + s->lanes < from)
            s->at = from;
        if (!next_block(s))
            break;
    }
#endif
    if (s->at < from)
        s->at = from;
    while (s->at + 1 < s->text.n) {
        size_t at = s->at++;

        if (pair_may_start(s->filter, p + at))
            return at;
    }
    return s->text.n;
}
