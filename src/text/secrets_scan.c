/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_scan.c: where a literal of the rules may begin. Literals are put
 * into sixteen buckets; tables say, for each of their first four bytes, in which
 * buckets a byte may stand there, so that a few shuffles judge 32 or 64 positions
 * at once: by tables of all 128 characters where the machine has such shuffles
 * (AVX-512 VBMI), by low and high nibble on AVX2. Other machines look at pairs of
 * bytes. */
#include "text/secrets_int.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* How often characters stand in program output, of 2,000. */
static const uint16_t often[128] = {
    12,  1,  1,  1,  1,  1,   1,  1,  1,  1,  44, 1,  1,  1,  1,  1,  /* controls */
    1,   1,  1,  1,  1,  1,   1,  1,  1,  1,  1,  5,  1,  1,  1,  1,  /* controls */
    370, 2,  19, 1,  1,  1,   4,  5,  18, 18, 7,  6,  18, 38, 27, 22, /* blank to slash */
    25,  19, 18, 12, 10, 8,   9,  5,  5,  7,  22, 13, 2,  14, 8,  1,  /* digits */
    1,   5,  4,  6,  4,  8,   3,  1,  2,  8,  1,  2,  7,  5,  8,  6,  /* @ to O */
    3,   1,  4,  7,  8,  4,   1,  5,  1,  1,  1,  9,  7,  5,  1,  41, /* P to _ */
    1,   62, 29, 52, 37, 102, 25, 17, 18, 75, 6,  11, 42, 30, 68, 68, /* ` to o */
    25,  2,  76, 79, 97, 36,  13, 17, 8,  10, 3,  6,  2,  6,  1,  1,  /* p to delete */
};

static uint8_t fold(uint8_t c)
{
    return c | 0x20;
}

/* Characters that may stand in one place; weight is the sum of how often. */
struct chars {
    uint64_t bits[2];
    unsigned weight;
};

static bool has_char(const struct chars *s, unsigned c)
{
    return (s->bits[c >> 6] >> (c & 63)) & 1;
}

static void add_char(struct chars *s, unsigned c)
{
    if (!has_char(s, c))
        s->weight += often[c];
    s->bits[c >> 6] |= 1ull << (c & 63);
}

/* What byte i of what a rule looks for may be: the alphabet follows the literal. */
static struct chars chars_of(const struct rule *r, size_t i)
{
    size_t n = strlen(r->literal);
    struct chars v = {{0, 0}, 0};

    if (i < n) {
        uint8_t c = (uint8_t)r->literal[i];

        add_char(&v, c);
        if (r->fold && c >= 'a' && c <= 'z')
            add_char(&v, c - 0x20u);
        return v;
    }
    for (unsigned c = 0; c < 128; c++)
        if ((i > n && r->alphabet >= A_ANY) || wbi_in_alphabet((uint8_t)c, r->alphabet))
            add_char(&v, c);
    return v;
}

struct bucket {
    struct chars at[DEEP];
    float through; /* what it lets through, of a million places */
};

static unsigned joint_weight(const struct chars *a, const struct chars *b)
{
    unsigned sum = a->weight;

    for (unsigned half = 0; half < 2; half++)
        for (uint64_t more = b->bits[half] & ~a->bits[half]; more != 0; more &= more - 1)
            sum += often[half * 64 + (unsigned)__builtin_ctzll(more)];
    return sum;
}

/* How many of a million places a bucket lets through when it also takes these. */
static float let_through(const struct bucket *b, const struct chars *more)
{
    float all = 1e6f;

    for (size_t i = 0; i < DEEP; i++)
        all *= (float)joint_weight(&b->at[i], &more[i]) / 2000.0f;
    return all;
}

static void put(struct prefilter *f, unsigned bucket, size_t rule, const struct chars *at)
{
    const char *literal = wbi_secret_rules[rule].literal;
    unsigned pair = fold((uint8_t)literal[0]) | (unsigned)fold((uint8_t)literal[1]) << 8;
    uint8_t bit = (uint8_t)(1u << bucket % 8);

    for (size_t i = 0; i < DEEP; i++) {
        bool any = (at[i].bits[0] & at[i].bits[1]) == UINT64_MAX;

        for (unsigned half = 0; half < 2; half++) {
            for (uint64_t left = at[i].bits[half]; left != 0; left &= left - 1) {
                unsigned c = half * 64 + (unsigned)__builtin_ctzll(left);

                f->exact[bucket / 8][i][c] |= bit;
                f->low[bucket / 8][i][c & 15] |= bit;
                f->high[bucket / 8][i][c >> 4] |= bit;
                if (any) /* also what is not ASCII */
                    f->high[bucket / 8][i][8 + (c >> 4)] |= bit;
            }
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
    unsigned first = literal[2] != '\0' ? (uint8_t)literal[2] : 0;
    unsigned last = literal[2] != '\0' ? first : 255;

    for (unsigned c = first; c <= last; c++) {
        unsigned t = triple((uint8_t)literal[0], (uint8_t)literal[1], (uint8_t)c);

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
    struct chars at[DEEP];
    unsigned best = 0;
    float least = 1e9f;

    for (size_t i = 0; i < DEEP; i++)
        at[i] = chars_of(&wbi_secret_rules[rule], i);
    for (unsigned b = 0; b < BUCKETS; b++) {
        float more = let_through(&buckets[b], at) - buckets[b].through;

        if (more < least) {
            least = more;
            best = b;
        }
    }
    for (size_t i = 0; i < DEEP; i++) {
        struct chars *have = &buckets[best].at[i];

        have->weight = joint_weight(have, &at[i]);
        have->bits[0] |= at[i].bits[0];
        have->bits[1] |= at[i].bits[1];
    }
    buckets[best].through += least;
    put(f, best, rule, at);
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
    s->lanes = __builtin_cpu_supports("avx512vbmi") ? 64 : __builtin_cpu_supports("avx2") ? 32 : 0;
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

/* Whole blocks from s->at on, until enough candidates are there. Address
 * sanitizers may put such frames where wide vectors cannot be stored. */
__attribute__((target("avx2"), no_sanitize("address"))) static void collect_32(struct scan *s)
{
    const struct prefilter *f = s->filter;
    const __m256i nibble = _mm256_set1_epi8(15);
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
            __m256i h = _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble);
            __m256i l = _mm256_and_si256(v, nibble);

            one = _mm256_and_si256(one, _mm256_and_si256(_mm256_shuffle_epi8(low[0][i], l),
                                                         _mm256_shuffle_epi8(high[0][i], h)));
            two = _mm256_and_si256(two, _mm256_and_si256(_mm256_shuffle_epi8(low[1][i], l),
                                                         _mm256_shuffle_epi8(high[1][i], h)));
        }
        one = _mm256_cmpeq_epi8(_mm256_or_si256(one, two), _mm256_setzero_si256());
        add_found(s, ~(uint32_t)_mm256_movemask_epi8(one));
    }
}

#define HALF_TABLE(t) _mm512_loadu_si512((const void *)(t))

/* The eighth bit of a byte is not looked at: a few candidates more, none less. */
__attribute__((target("avx512bw,avx512vbmi"), no_sanitize("address"))) static void
collect_64(struct scan *s)
{
    const struct prefilter *f = s->filter;
    __m512i first[SETS][DEEP], second[SETS][DEEP];

    for (int i = 0; i < SETS * DEEP; i++) {
        first[i / DEEP][i % DEEP] = HALF_TABLE(f->exact[i / DEEP][i % DEEP]);
        second[i / DEEP][i % DEEP] = HALF_TABLE(f->exact[i / DEEP][i % DEEP] + 64);
    }
    for (; s->at + 63 + DEEP <= s->text.n && s->n_found < FOUND_MAX; s->at += 64) {
        const char *p = s->text.p + s->at;
        __m512i one = _mm512_set1_epi8(-1), two = one;

        for (int i = 0; i < DEEP; i++) {
            __m512i v = HALF_TABLE(p + i);

            one = _mm512_and_si512(one, _mm512_permutex2var_epi8(first[0][i], v, second[0][i]));
            two = _mm512_and_si512(two, _mm512_permutex2var_epi8(first[1][i], v, second[1][i]));
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
