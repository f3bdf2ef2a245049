/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_scan.c: where a literal of the rules may begin. Literals are put
 * into sixteen buckets; tables say, for each of their first four bytes, in which
 * buckets a byte may stand there, so that a few shuffles judge 32 or 64 positions
 * at once: by tables of all 128 characters where the machine has such shuffles
 * (AVX-512 VBMI), by low and high nibble on AVX2. Other machines look at pairs of
 * bytes. */
#include "text/secrets_scan_int.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static uint8_t fold(uint8_t c)
{
    return c | 0x20;
}

static void add_char(struct chars *s, unsigned c)
{
    s->bits[c >> 6] |= 1ull << (c & 63);
}

struct chars wbi_chars_of(const struct rule *r, size_t i)
{
    size_t n = r->n;
    struct chars v = {{0, 0}};

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

static void put(struct prefilter *f, unsigned bucket, const struct chars *at)
{
    uint8_t bit = (uint8_t)(1u << bucket % 8);

    for (size_t i = 0; i < DEEP; i++)
        for (unsigned half = 0; half < 2; half++)
            for (uint64_t left = at[i].bits[half]; left != 0; left &= left - 1)
                f->exact[bucket / 8][i][half * 64 + (unsigned)__builtin_ctzll(left)] |= bit;
}

static uint64_t first_bytes(const char *literal)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 8 && literal[i] != '\0'; i++)
        v |= (uint64_t)(uint8_t)literal[i] << (8 * i);
    return v;
}

static unsigned hash_quad(uint32_t first_bytes)
{
    return (first_bytes | 0x20202020u) * 0x9e3779b1u >> 16;
}

/* The first four bytes, hashed: exact where shuffles let through what is mixed. */
static void add_quads(struct prefilter *f, const struct rule *r)
{
    uint32_t quad = (uint32_t)first_bytes(r->literal) & 0xffffff;
    struct chars last = wbi_chars_of(r, 3);
    bool any = (last.bits[0] & last.bits[1]) == UINT64_MAX; /* also what is not ASCII */
    unsigned hash;

    for (unsigned half = 0; half < 2; half++)
        for (uint64_t left = last.bits[half]; left != 0; left &= left - 1) {
            unsigned c = half * 64 + (unsigned)__builtin_ctzll(left);

            hash = hash_quad(quad | c << 24);
            f->quads[hash >> 6] |= 1ull << (hash & 63);
            hash = hash_quad(quad | (any ? c + 128 : c) << 24);
            f->quads[hash >> 6] |= 1ull << (hash & 63);
        }
}

static void add_first_bytes(struct prefilter *f, const struct rule *r)
{
    unsigned pair = fold((uint8_t)r->literal[0]) | (unsigned)fold((uint8_t)r->literal[1]) << 8;

    f->pairs[pair >> 6] |= 1ull << (pair & 63);
    if (r->literal[2] == '\0')
        f->short_pairs[pair >> 6] |= 1ull << (pair & 63);
    else
        add_quads(f, r);
}

/* First bytes as one number, to refuse most candidates by one comparison. */
static void add_rule(struct prefilter *f, size_t at, size_t rule)
{
    const struct rule *r = &wbi_secret_rules[rule];
    size_t n = r->n;

    f->order[at] = (uint8_t)rule;
    f->length[at] = (uint8_t)n;
    f->mask[at] = n < 8 ? (1ull << 8 * n) - 1 : UINT64_MAX;
    f->soft[at] = r->fold ? 0x2020202020202020u & f->mask[at] : 0;
    f->want[at] = first_bytes(r->literal) | f->soft[at];
    add_first_bytes(f, r);
}

/* Rules by the first bytes of their literal, so that a candidate meets few. */
static void sort_rules(struct prefilter *f)
{
    uint16_t keys[LITERALS_MAX];
    size_t n = 0;

    for (size_t r = 0; r < wbi_secret_rules_n; r++)
        keys[r] = (uint16_t)wbi_rule_key(first_bytes(wbi_secret_rules[r].literal));
    for (unsigned key = 0; key < RULE_KEYS; key++) {
        f->start[key] = (uint8_t)n;
        for (size_t r = 0; r < wbi_secret_rules_n; r++)
            if (keys[r] == key)
                add_rule(f, n++, r);
    }
    f->start[RULE_KEYS] = (uint8_t)n;
}

static size_t lanes_here(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512vbmi") ? 64 : __builtin_cpu_supports("avx2") ? 32 : 0;
#else
    return 0;
#endif
}

void wbi_prefilter_init(struct prefilter *f)
{
    struct chars at[DEEP];

    memset(f, 0, sizeof *f);
    for (size_t r = 0; r < wbi_secret_rules_n; r++) {
        for (size_t i = 0; i < DEEP; i++)
            at[i] = wbi_chars_of(&wbi_secret_rules[r], i);
        put(f, wbi_bucket_of(wbi_exact_buckets, r), at);
    }
    sort_rules(f);
    f->lanes = lanes_here();
    if (f->lanes == 32)
        wbi_nibble_tables(f);
}

bool wbi_prefilter_hold(struct prefilter *f, size_t lanes)
{
    if (lanes > lanes_here())
        return false;
    if (lanes == 32 && f->lanes != 32) {
        memset(f->low, 0, sizeof f->low);
        memset(f->high, 0, sizeof f->high);
        wbi_nibble_tables(f);
    }
    f->lanes = lanes;
    return true;
}

void wbi_scan_start(struct scan *s, const struct prefilter *f, struct wbi_str text)
{
    s->filter = f;
    s->text = text;
    s->at = 0;
    s->n_found = 0;
    s->next = 0;
}

/* Four bytes can be read. */
static inline bool may_start(const struct prefilter *f, const uint8_t *p)
{
    uint32_t quad = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    unsigned pair = (quad | 0x2020) & 0xffff, hash = hash_quad(quad);

    return ((f->quads[hash >> 6] >> (hash & 63)) | (f->short_pairs[pair >> 6] >> (pair & 63))) & 1;
}

static bool pair_may_start(const struct prefilter *f, const uint8_t *p)
{
    unsigned pair = fold(p[0]) | (unsigned)fold(p[1]) << 8;

    return (f->pairs[pair >> 6] >> (pair & 63)) & 1;
}

/* Places of the next block: those whose four bytes are all there. */
static size_t places_left(const struct scan *s)
{
    size_t left = s->text.n - s->at;

    return left < DEEP ? 0 : left - (DEEP - 1) < 64 ? left - (DEEP - 1) : 64;
}

/* Without shuffles: pairs first, with nothing to guess, then what they let through. */
static void collect_pairs(struct scan *s)
{
    uint8_t places[64];
    size_t n, left;

    while (s->n_found < FOUND_MAX && (left = places_left(s)) > 0) {
        const uint8_t *p = (const uint8_t *)s->text.p + s->at;

        n = 0;
        for (size_t i = 0; i < left; i++) {
            places[n] = (uint8_t)i;
            n += pair_may_start(s->filter, p + i);
        }
        for (size_t k = 0; k < n; k++) {
            s->found[s->n_found] = s->at + places[k];
            s->n_found += may_start(s->filter, p + places[k]);
        }
        s->at += left;
    }
}

#if defined(__x86_64__)
/* The candidates of the block at s->at whose first four bytes may begin a literal. */
static inline void add_found(struct scan *s, uint64_t mask)
{
    const uint8_t *p = (const uint8_t *)s->text.p + s->at;

    for (; mask != 0; mask &= mask - 1) {
        size_t i = (size_t)__builtin_ctzll(mask);

        s->found[s->n_found] = s->at + i;
        s->n_found += may_start(s->filter, p + i);
    }
}

#define TABLE_256(t) \
    _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(t)))
/* Address sanitizers may put such frames where wide vectors cannot be stored. */
#define WITH_AVX2 __attribute__((target("avx2,bmi"), no_sanitize("address")))
/* Clearing it first takes longer than all the rest. */
#define NOT_CLEARED __attribute__((uninitialized))

/* Else all that is to be combined waits for the end, in more registers than there are. */
#define IN_THIS_ORDER(v) __asm__("" : "+x"(v))

/* Two times 32 places: bytes that are not 0 are candidates of a set. */
struct places {
    __m256i a[SETS];
    __m256i b[SETS];
};

/* By the i-th byte of each. Tables are fetched here: there are not registers enough for all. */
WITH_AVX2 static inline void judge(const struct prefilter *f, const char *p, int i,
                                   struct places *ret)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + i + 32));
    __m256i high_a = _mm256_and_si256(_mm256_srli_epi16(a, 4), nibble);
    __m256i high_b = _mm256_and_si256(_mm256_srli_epi16(b, 4), nibble);

    a = _mm256_and_si256(a, nibble);
    b = _mm256_and_si256(b, nibble);
    for (int set = 0; set < SETS; set++) {
        __m256i low = TABLE_256(f->low[set][i]), high = TABLE_256(f->high[set][i]);
        __m256i in_a =
            _mm256_and_si256(_mm256_shuffle_epi8(low, a), _mm256_shuffle_epi8(high, high_a));
        __m256i in_b =
            _mm256_and_si256(_mm256_shuffle_epi8(low, b), _mm256_shuffle_epi8(high, high_b));

        ret->a[set] = i == 0 ? in_a : _mm256_and_si256(ret->a[set], in_a);
        ret->b[set] = i == 0 ? in_b : _mm256_and_si256(ret->b[set], in_b);
        IN_THIS_ORDER(ret->a[set]);
        IN_THIS_ORDER(ret->b[set]);
    }
}

WITH_AVX2 static inline uint32_t not_zero(const __m256i v[SETS])
{
    __m256i none = _mm256_cmpeq_epi8(_mm256_or_si256(v[0], v[1]), _mm256_setzero_si256());

    return ~(uint32_t)_mm256_movemask_epi8(none);
}

WITH_AVX2 static inline uint64_t candidates_256(const struct prefilter *f, const char *p)
{
    struct places v NOT_CLEARED;

    for (int i = 0; i < DEEP; i++)
        judge(f, p, i, &v);
    return not_zero(v.a) | (uint64_t)not_zero(v.b) << 32;
}

/* From s->at on, until enough candidates are there. */
WITH_AVX2 static void collect_32(struct scan *s)
{
    const struct prefilter *f = s->filter;
    char rest[64 + DEEP] NOT_CLEARED;
    size_t n;

    for (; s->at + 63 + DEEP <= s->text.n && s->n_found < FOUND_MAX; s->at += 64)
        add_found(s, candidates_256(f, s->text.p + s->at));
    n = places_left(s);
    if (n == 0 || n == 64 || s->n_found >= FOUND_MAX)
        return;
    memset(rest, 0, sizeof rest);
    memcpy(rest, s->text.p + s->at, n + DEEP - 1);
    add_found(s, candidates_256(f, rest) & ((1ull << n) - 1));
    s->at += n;
}

#define HALF_TABLE(t) _mm512_loadu_si512((const void *)(t))

struct byte_tables {
    __m512i first[SETS][DEEP], second[SETS][DEEP];
};

#define WITH_AVX512 __attribute__((target("avx512bw,avx512vbmi,bmi"), no_sanitize("address")))

/* The eighth bit of a byte is not looked at: a few candidates more, none less. */
WITH_AVX512 static inline uint64_t candidates_512(const struct byte_tables *t, const char *p,
                                                  uint64_t there)
{
    __m512i one = _mm512_set1_epi8(-1), two = one;

    for (int i = 0; i < DEEP; i++) {
        __m512i v = _mm512_maskz_loadu_epi8(there, p + i);

        one = _mm512_and_si512(one, _mm512_permutex2var_epi8(t->first[0][i], v, t->second[0][i]));
        two = _mm512_and_si512(two, _mm512_permutex2var_epi8(t->first[1][i], v, t->second[1][i]));
    }
    one = _mm512_or_si512(one, two);
    return _mm512_mask_test_epi8_mask(there, one, one);
}

WITH_AVX512 static void collect_64(struct scan *s)
{
    const struct prefilter *f = s->filter;
    struct byte_tables t NOT_CLEARED;
    size_t n;

    for (int i = 0; i < SETS * DEEP; i++) {
        t.first[i / DEEP][i % DEEP] = HALF_TABLE(f->exact[i / DEEP][i % DEEP]);
        t.second[i / DEEP][i % DEEP] = HALF_TABLE(f->exact[i / DEEP][i % DEEP] + 64);
    }
    for (; s->at + 63 + DEEP <= s->text.n && s->n_found < FOUND_MAX; s->at += 64)
        add_found(s, candidates_512(&t, s->text.p + s->at, UINT64_MAX));
    n = places_left(s);
    if (n == 0 || n == 64 || s->n_found >= FOUND_MAX)
        return;
    add_found(s, candidates_512(&t, s->text.p + s->at, (1ull << n) - 1));
    s->at += n;
}

#endif

/* False when nothing was found before the last bytes. */
static bool collect(struct scan *s)
{
    s->n_found = 0;
    s->next = 0;
    switch (s->filter->lanes) {
#if defined(__x86_64__)
    case 64:
        collect_64(s);
        break;
    case 32:
        collect_32(s);
        break;
#endif
    default:
        collect_pairs(s);
    }
    return s->n_found > 0;
}

size_t wbi_scan_next(struct scan *s, size_t from)
{
    const uint8_t *p = (const uint8_t *)s->text.p;

    do {
        while (s->next < s->n_found) {
            size_t at = s->found[s->next++];

            if (at >= from)
                return at;
        }
        if (s->at < from)
            s->at = from;
    } while (collect(s));
    while (s->at + 1 < s->text.n) {
        size_t at = s->at++;

        if (pair_may_start(s->filter, p + at))
            return at;
    }
    return s->text.n;
}
