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

static void add_char(struct chars *s, unsigned c)
{
    s->bits[c >> 6] |= 1ull << (c & 63);
}

/* Of four letters that are base64 of three digits, the fourth is a digit or a late letter. */
static bool other_place(uint8_t alphabet, size_t i, unsigned c)
{
    return alphabet == A_DIGITS64 && (i == 3) != (c >= 'w' || wbi_is_digit((uint8_t)c));
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
        if ((i > n && r->alphabet >= A_NAME_ENDS) ||
            (wbi_in_alphabet((uint8_t)c, r->alphabet) && !other_place(r->alphabet, i, c)))
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
    return first_bytes * 0x9e3779b1u >> (32 - QUAD_BITS);
}

static void set_bit(uint64_t *bits, unsigned i)
{
    bits[i >> 6] |= 1ull << (i & 63);
}

/* Takes the least character out. */
static unsigned take_char(struct chars *s)
{
    unsigned half = s->bits[0] == 0, c = half * 64 + (unsigned)__builtin_ctzll(s->bits[half]);

    s->bits[half] &= s->bits[half] - 1;
    return c;
}

static bool no_chars(const struct chars *s)
{
    return (s->bits[0] | s->bits[1]) == 0;
}

/* The first four bytes, hashed: exact where shuffles let through what is mixed. */
static void add_last(struct prefilter *f, const struct rule *r, uint32_t three)
{
    struct chars last = wbi_chars_of(r, 3);
    bool any = (last.bits[0] & last.bits[1]) == UINT64_MAX; /* also what is not ASCII */

    while (!no_chars(&last)) {
        unsigned c = take_char(&last);

        set_bit(f->quads, hash_quad(three | c << 24));
        set_bit(f->quads, hash_quad(three | (any ? c + 128 : c) << 24));
    }
}

static void add_quads(struct prefilter *f, const struct rule *r, uint32_t pair)
{
    struct chars third = wbi_chars_of(r, 2);

    while (!no_chars(&third))
        add_last(f, r, pair | take_char(&third) << 16);
}

/* Two bytes before almost any others would fill the table of four. */
static void add_first_bytes(struct prefilter *f, const struct rule *r)
{
    struct chars first = wbi_chars_of(r, 0);
    bool brief = r->literal[2] == '\0' && r->alphabet != A_DIGITS64;

    while (!no_chars(&first)) {
        struct chars second = wbi_chars_of(r, 1);
        unsigned c = take_char(&first);

        while (!no_chars(&second)) {
            unsigned pair = c | take_char(&second) << 8;

            set_bit(f->pairs, pair);
            if (brief)
                set_bit(f->short_pairs, pair);
            else
                add_quads(f, r, pair);
        }
    }
}

/* First bytes as one number, to refuse most candidates by one comparison. */
static void add_rule(struct prefilter *f, size_t at, size_t rule)
{
    const struct rule *r = &wbi_secret_rules[rule];
    size_t n = r->n;

    f->order[at] = (uint16_t)rule;
    f->length[at] = (uint8_t)n;
    f->mask[at] = n < 8 ? (1ull << 8 * n) - 1 : UINT64_MAX;
    f->soft[at] = r->fold ? 0x2020202020202020u & f->mask[at] : 0;
    f->want[at] = first_bytes(r->literal) | f->soft[at];
    add_first_bytes(f, r);
}

/* Rules by the first bytes of their literal, so that a candidate meets few: counted, then put
 * in their places. */
static void sort_rules(struct prefilter *f)
{
    uint16_t next[RULE_KEYS + 1] = {0};

    for (size_t r = 0; r < wbi_secret_rules_n; r++)
        next[wbi_rule_key(first_bytes(wbi_secret_rules[r].literal)) + 1]++;
    for (unsigned key = 0; key < RULE_KEYS; key++)
        next[key + 1] = (uint16_t)(next[key + 1] + next[key]);
    memcpy(f->start, next, sizeof f->start);
    for (size_t r = 0; r < wbi_secret_rules_n; r++)
        add_rule(f, next[wbi_rule_key(first_bytes(wbi_secret_rules[r].literal))]++, r);
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
    unsigned pair = quad & 0xffff, hash = hash_quad(quad);

    return ((f->quads[hash >> 6] >> (hash & 63)) | (f->short_pairs[pair >> 6] >> (pair & 63))) & 1;
}

static bool pair_may_start(const struct prefilter *f, const uint8_t *p)
{
    unsigned pair = p[0] | (unsigned)p[1] << 8;

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
