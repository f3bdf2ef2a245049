/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_scan.c: where a literal of the rules may begin. Literals are put
 * into sixteen buckets; for each of their first four bytes two tables of sixteen
 * say which buckets may have that low and that high nibble there, so that one
 * shuffle per table judges 32 or 64 positions at once. Bytes are compared with bit 5
 * set (letters without case). Machines without AVX2 look at pairs of bytes. */
#include "text/secrets_int.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* How often bytes stand in program output, of 2,000, bit 5 set: 0x20, 0x30, 0x60
 * and 0x70 and up. */
static const uint16_t often[4][16] = {
    {241, 1, 25, 1, 1, 1, 1, 6, 12, 17, 28, 3, 16, 61, 37, 61},
    {50, 50, 46, 29, 25, 19, 28, 18, 19, 20, 37, 7, 1, 8, 1, 1},
    {1, 63, 22, 58, 53, 104, 26, 22, 21, 66, 3, 7, 58, 34, 66, 77},
    {34, 2, 96, 76, 94, 44, 11, 18, 15, 12, 7, 13, 4, 8, 3, 18},
};
static const uint8_t high_of[4] = {2, 3, 6, 7};

static uint8_t fold(uint8_t c)
{
    return c | 0x20;
}

/* Nibbles that byte i of what a rule looks for may have. */
struct nibbles {
    uint16_t low;
    uint16_t high;
};

static struct nibbles nibbles_of(const struct rule *r, size_t i)
{
    size_t n = strlen(r->literal);
    struct nibbles v = {0xffff, 0xffff};

    if (i < n)
        return (struct nibbles){(uint16_t)(1u << (r->literal[i] & 15)),
                                (uint16_t)(1u << (fold((uint8_t)r->literal[i]) >> 4))};
    if (r->match == NULL) { /* the alphabet goes on where the literal ends */
        v = (struct nibbles){0, 0};
        for (unsigned c = 0; c < 128; c++) {
            if (wbi_in_alphabet((uint8_t)c, r->alphabet)) {
                v.low |= (uint16_t)(1u << (c & 15));
                v.high |= (uint16_t)(1u << (fold((uint8_t)c) >> 4));
            }
        }
    }
    return v;
}

struct bucket {
    struct nibbles set[DEEP];
    float through; /* what it lets through, of a million places */
};

/* How many of a million places a bucket lets through when it also takes r. */
static float let_through(const struct bucket *b, const struct nibbles *more)
{
    float all = 1e6f;

    for (size_t i = 0; i < DEEP; i++) {
        unsigned low = b->set[i].low | more[i].low, high = b->set[i].high | more[i].high;
        unsigned sum = 0;

        for (unsigned h = 0; h < 4; h++)
            for (unsigned l = 0; high >> high_of[h] & 1 && l < 16; l++)
                sum += (low >> l & 1) ? often[h][l] : 0;
        all *= (float)sum / 2000.0f;
    }
    return all;
}

static void put(struct prefilter *f, unsigned bucket, size_t rule, const struct nibbles *set)
{
    const char *literal = wbi_secret_rules[rule].literal;
    unsigned pair = fold((uint8_t)literal[0]) | (unsigned)fold((uint8_t)literal[1]) << 8;

    for (size_t i = 0; i < DEEP; i++) {
        for (unsigned v = 0; v < 16; v++) {
            f->low[bucket / 8][i][v] |= (uint8_t)((set[i].low >> v & 1) << bucket % 8);
            f->high[bucket / 8][i][v] |= (uint8_t)((set[i].high >> v & 1) << bucket % 8);
        }
    }
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
    bool folds = wbi_secret_rules[rule].fold;

    f->order[at] = (uint8_t)rule;
    f->length[at] = (uint8_t)strlen(literal);
    add_triples(f, literal);
    for (unsigned i = 0; i < 4 && literal[i] != '\0'; i++) {
        uint8_t c = (uint8_t)literal[i];

        f->want[at] |= (uint32_t)(folds ? fold(c) : c) << (8 * i);
        f->mask[at] |= 0xffu << (8 * i);
        f->soft[at] |= (folds ? 0x20u : 0) << (8 * i);
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

/* Into the bucket that lets the least more through by it. */
static void place(struct prefilter *f, struct bucket *buckets, size_t rule)
{
    struct nibbles set[DEEP];
    unsigned best = 0;
    float least = 1e9f;

    for (size_t i = 0; i < DEEP; i++)
        set[i] = nibbles_of(&wbi_secret_rules[rule], i);
    for (unsigned b = 0; b < BUCKETS; b++) {
        float more = let_through(&buckets[b], set) - buckets[b].through;

        if (more < least) {
            least = more;
            best = b;
        }
    }
    for (size_t i = 0; i < DEEP; i++) {
        buckets[best].set[i].low |= set[i].low;
        buckets[best].set[i].high |= set[i].high;
    }
    buckets[best].through += least;
    put(f, best, rule, set);
}

/* Short literals first: they let most through and belong together. */
void wbi_prefilter_init(struct prefilter *f)
{
    struct bucket buckets[BUCKETS] = {0};

    memset(f, 0, sizeof *f);
    for (size_t length = 2; length <= DEEP; length++) {
        for (size_t r = 0; r < wbi_secret_rules_n; r++) {
            size_t n = strlen(wbi_secret_rules[r].literal);

            if ((n < DEEP ? n : DEEP) == length)
                place(f, buckets, r);
        }
    }
    sort_rules(f);
}

void wbi_scan_start(struct scan *s, const struct prefilter *f, struct wbi_str text)
{
    s->filter = f;
    s->text = text;
    s->at = 0;
    s->lanes = 0;
    s->n_found = 0;
    s->next = 0;
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
/* The candidates of the block at s->at whose first three bytes may begin a literal. */
static inline void add_found(struct scan *s, uint64_t mask)
{
    const uint8_t *p = (const uint8_t *)s->text.p + s->at;

    for (; mask != 0; mask &= mask - 1) {
        size_t i = (size_t)__builtin_ctzll(mask);
        unsigned t = triple(p[i], p[i + 1], p[i + 2]);

        s->found[s->n_found] = s->at + i;
        s->n_found += (s->filter->triples[t >> 6] >> (t & 63)) & 1;
    }
}

#define TABLE_256(t) \
    _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(t)))
#define TABLE_512(t) _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)(t)))

/* Whole blocks from s->at on, until enough candidates are there. A shuffle takes
 * the low four bits of its index and gives nothing for bytes from 0x80 on. */
/* Address sanitizers may put such frames where wide vectors cannot be stored. */
__attribute__((target("avx2"), no_sanitize("address"))) static void collect_32(struct scan *s)
{
    const struct prefilter *f = s->filter;
    const __m256i nibble = _mm256_set1_epi8(15), bit5 = _mm256_set1_epi8(0x20);
    __m256i low[SETS][DEEP], high[SETS][DEEP];

    for (int i = 0; i < SETS * DEEP; i++) {
        low[i / DEEP][i % DEEP] = TABLE_256(f->low[i / DEEP][i % DEEP]);
        high[i / DEEP][i % DEEP] = TABLE_256(f->high[i / DEEP][i % DEEP]);
    }
    for (; s->at + 31 + DEEP <= s->text.n && s->n_found < FOUND_MAX; s->at += 32) {
        const char *p = s->text.p + s->at;
        __m256i one = _mm256_set1_epi8(-1), two = one;

        for (int i = 0; i < DEEP; i++) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
            __m256i h = _mm256_and_si256(_mm256_srli_epi16(_mm256_or_si256(v, bit5), 4), nibble);

            one = _mm256_and_si256(one, _mm256_and_si256(_mm256_shuffle_epi8(low[0][i], v),
                                                         _mm256_shuffle_epi8(high[0][i], h)));
            two = _mm256_and_si256(two, _mm256_and_si256(_mm256_shuffle_epi8(low[1][i], v),
                                                         _mm256_shuffle_epi8(high[1][i], h)));
        }
        one = _mm256_cmpeq_epi8(_mm256_or_si256(one, two), _mm256_setzero_si256());
        add_found(s, ~(uint32_t)_mm256_movemask_epi8(one));
    }
}

__attribute__((target("avx512bw"), no_sanitize("address"))) static void collect_64(struct scan *s)
{
    const struct prefilter *f = s->filter;
    const __m512i nibble = _mm512_set1_epi8(15), bit5 = _mm512_set1_epi8(0x20);
    __m512i low[SETS][DEEP], high[SETS][DEEP];

    for (int i = 0; i < SETS * DEEP; i++) {
        low[i / DEEP][i % DEEP] = TABLE_512(f->low[i / DEEP][i % DEEP]);
        high[i / DEEP][i % DEEP] = TABLE_512(f->high[i / DEEP][i % DEEP]);
    }
    for (; s->at + 63 + DEEP <= s->text.n && s->n_found < FOUND_MAX; s->at += 64) {
        const char *p = s->text.p + s->at;
        __m512i one = _mm512_set1_epi8(-1), two = one;

        for (int i = 0; i < DEEP; i++) {
            __m512i v = _mm512_loadu_si512((const void *)(p + i));
            __m512i h = _mm512_and_si512(_mm512_srli_epi16(_mm512_or_si512(v, bit5), 4), nibble);

            one = _mm512_and_si512(one, _mm512_and_si512(_mm512_shuffle_epi8(low[0][i], v),
                                                         _mm512_shuffle_epi8(high[0][i], h)));
            two = _mm512_and_si512(two, _mm512_and_si512(_mm512_shuffle_epi8(low[1][i], v),
                                                         _mm512_shuffle_epi8(high[1][i], h)));
        }
        one = _mm512_or_si512(one, two);
        add_found(s, _mm512_test_epi8_mask(one, one));
    }
}

/* False when no whole block is left. */
static bool collect(struct scan *s)
{
    s->n_found = 0;
    s->next = 0;
    if (s->lanes == 64)
        collect_64(s);
    if (s->lanes > 0 && s->n_found == 0)
        collect_32(s);
    return s->n_found > 0;
}
#endif

size_t wbi_scan_next(struct scan *s, size_t from)
{
    const uint8_t *p = (const uint8_t *)s->text.p;

#if defined(__x86_64__)
    do {
        while (s->next < s->n_found) {
            size_t at = s->found[s->next++];

            if (at >= from)
                return at;
        }
        if (s->at < from)
            s->at = from;
    } while (collect(s));
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
