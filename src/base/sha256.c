/* SPDX-License-Identifier: Apache-2.0
 * base/sha256.c: SHA-256 (FIPS 180-4). Blocks go through the processor's own
 * instructions where it has them, else two at a time through vectors (AVX2), else
 * through portable C. */
#include <pthread.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/local.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#define BLOCK 64

struct wbi_sha256 {
    uint32_t state[8];
    uint8_t rest[BLOCK]; /* the begun block */
    uint64_t bytes;      /* of the whole message so far */
};

typedef void blocks_fn(uint32_t state[8], const uint8_t *p, size_t blocks);

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t load_be(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint32_t turn(uint32_t v, unsigned by)
{
    return v >> by | v << (32 - by);
}

/* One round. The words change their names instead of their places. b_c is b ^ c, and by the end
 * what that is for the next round, so that the majority of a, b and c costs two operations. */
#define ROUND(a, b, c, d, e, f, g, h, kw)                                                  \
    do {                                                                                   \
        const uint32_t a_b = (a) ^ (b);                                                    \
        (h) += (kw) + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) + (~(e) & (g))); \
        (d) += (h);                                                                        \
        (h) += (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((b) ^ (a_b & b_c));             \
        b_c = a_b;                                                                         \
    } while (0)

#define FOUR_ROUNDS(a, b, c, d, e, f, g, h, kw) \
    do {                                        \
        ROUND(a, b, c, d, e, f, g, h, (kw)[0]); \
        ROUND(h, a, b, c, d, e, f, g, (kw)[1]); \
        ROUND(g, h, a, b, c, d, e, f, (kw)[2]); \
        ROUND(f, g, h, a, b, c, d, e, (kw)[3]); \
    } while (0)

/* The rounds of a block: four words of the schedule, with K in them, at kw, the next four at
 * kw + step, and so on. */
static inline __attribute__((always_inline)) void rounds(uint32_t state[8], const uint32_t *kw,
                                                         size_t step)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5],
             g = state[6], h = state[7], b_c = b ^ c;

    for (size_t i = 0; i < 8; i++, kw += 2 * step) {
        FOUR_ROUNDS(a, b, c, d, e, f, g, h, kw);
        FOUR_ROUNDS(e, f, g, h, a, b, c, d, kw + step);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void spread(uint32_t w[64], const uint8_t *p)
{
    for (size_t i = 0; i < 16; i++)
        w[i] = load_be(p + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    for (size_t i = 0; i < 64; i++)
        w[i] += K[i];
}

static void portable_blocks(uint32_t state[8], const uint8_t *p, size_t blocks)
{
    WBI_LARGE_LOCAL uint32_t kw[64];

    for (; blocks > 0; blocks--, p += BLOCK) {
        spread(kw, p);
        rounds(state, kw, 4);
    }
}

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

AVX2_INLINE __m256i shr(__m256i v, int by)
{
    return _mm256_srli_epi32(v, by);
}

AVX2_INLINE __m256i turn_all(__m256i v, int by)
{
    return _mm256_or_si256(shr(v, by), _mm256_slli_epi32(v, 32 - by));
}

/* sigma 1 of the words 0 and 2 of each half, which stand twice beside each other: of 64 bits a
 * shift leaves the turned word below. Those two go to the places that `to` names. */
AVX2_INLINE __m256i sigma1(__m256i twice, __m256i to)
{
    __m256i v = _mm256_xor_si256(_mm256_srli_epi64(twice, 17), _mm256_srli_epi64(twice, 19));

    return _mm256_shuffle_epi8(_mm256_xor_si256(v, shr(twice, 10)), to);
}

/* The next four words of two schedules, one in each half; m has the sixteen before, from `at` on.
 */
AVX2_INLINE __m256i next_words(const __m256i m[4], size_t at)
{
    const __m256i none = _mm256_set1_epi64x(-1), words = _mm256_set1_epi64x(0x0b0a090803020100);
    const __m256i oldest = m[at & 3], newest = m[(at + 3) & 3];
    const __m256i ago15 = _mm256_alignr_epi8(m[(at + 1) & 3], oldest, 4);
    const __m256i ago7 = _mm256_alignr_epi8(newest, m[(at + 2) & 3], 4);
    __m256i w = _mm256_xor_si256(turn_all(ago15, 7), turn_all(ago15, 18));

    w = _mm256_add_epi32(_mm256_xor_si256(w, shr(ago15, 3)), _mm256_add_epi32(oldest, ago7));
    w = _mm256_add_epi32(
        w, sigma1(_mm256_shuffle_epi32(newest, 0xfa), _mm256_unpacklo_epi64(words, none)));
    return _mm256_add_epi32(
        w, sigma1(_mm256_shuffle_epi32(w, 0x50), _mm256_unpacklo_epi64(none, words)));
}

AVX2_INLINE void put_words(uint32_t *kw, __m256i w, size_t i)
{
    const __m128i k = _mm_loadu_si128((const __m128i *)(const void *)(K + 4 * i));

    _mm256_storeu_si256((__m256i *)(void *)(kw + 8 * i),
                        _mm256_add_epi32(w, _mm256_broadcastsi128_si256(k)));
}

AVX2_INLINE void first_words(__m256i m[4], uint32_t *kw, const uint8_t *p, const uint8_t *q)
{
    const __m256i bytes = _mm256_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203,
                                            0x0c0d0e0f08090a0b, 0x0405060700010203);

#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const __m128i *low = (const __m128i *)(const void *)(p + 16 * i);
        const __m128i *high = (const __m128i *)(const void *)(q + 16 * i);

        m[i] = _mm256_shuffle_epi8(_mm256_set_m128i(_mm_loadu_si128(high), _mm_loadu_si128(low)),
                                   bytes);
        put_words(kw, m[i], i);
    }
}

/* The rounds of the first of two blocks, and both schedules between them: the rounds wait for each
 * other and leave the processor room for that. */
AVX2_INLINE void rounds_and_words(uint32_t state[8], uint32_t *kw, __m256i m[4])
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5],
             g = state[6], h = state[7], b_c = b ^ c;

    for (size_t i = 0; i < 16; i += 4) {
        const uint32_t *now = kw + 8 * i;
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++) {
            if (i < 12) {
                m[j] = next_words(m, j);
                put_words(kw, m[j], i + 4 + j);
            }
            if (j % 2 == 0)
                FOUR_ROUNDS(a, b, c, d, e, f, g, h, now + 8 * j);
            else
                FOUR_ROUNDS(e, f, g, h, a, b, c, d, now + 8 * j);
        }
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/* Two blocks at a time; a last single one goes with itself. */
AVX2 static void avx2_blocks(uint32_t state[8], const uint8_t *p, size_t blocks)
{
    WBI_LARGE_LOCAL uint32_t kw[2 * 64];
    __m256i m[4];

    for (; blocks > 1; blocks -= 2, p += (size_t)2 * BLOCK) {
        first_words(m, kw, p, p + BLOCK);
        rounds_and_words(state, kw, m);
        rounds(state, kw + 4, 8);
    }
    if (blocks > 0) {
        first_words(m, kw, p, p);
        rounds_and_words(state, kw, m);
    }
}

/* The instructions want the words in the order ABEF and CDGH, and do four rounds of
 * the schedule at a time. */
__attribute__((target("sha,sse4.1"))) static void sha_blocks(uint32_t state[8], const uint8_t *p,
                                                             size_t blocks)
{
    const __m128i bytes = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i t = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
    __m128i u =
        _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(t, u, 8), cdgh = _mm_blend_epi16(u, t, 0xf0);

    for (; blocks > 0; blocks--, p += BLOCK) {
        __m128i m[4], abef_was = abef, cdgh_was = cdgh;
#pragma GCC unroll 16
        for (size_t i = 0; i < 16; i++) {
            __m128i w;
            if (i < 4)
                w = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)),
                                     bytes);
            else
                w = _mm_sha256msg2_epu32(
                    _mm_add_epi32(_mm_sha256msg1_epu32(m[i & 3], m[(i + 1) & 3]),
                                  _mm_alignr_epi8(m[(i + 3) & 3], m[(i + 2) & 3], 4)),
                    m[(i + 3) & 3]);
            m[i & 3] = w;
            w = _mm_add_epi32(w, _mm_loadu_si128((const __m128i *)(const void *)(K + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, w);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(w, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_was);
        cdgh = _mm_add_epi32(cdgh, cdgh_was);
    }
    t = _mm_shuffle_epi32(abef, 0x1b);
    u = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(t, u, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(u, t, 8));
}

static bool has_instructions(void)
{
    unsigned a, b, c, d, e = 0;

    return __get_cpuid(1, &a, &b, &e, &d) != 0 && (e & bit_SSE4_1) != 0 && (e & bit_SSSE3) != 0 &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

static bool has_vectors(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

#endif

static blocks_fn *add_blocks = portable_blocks;
static pthread_once_t chosen = PTHREAD_ONCE_INIT;

static void choose(void)
{
#if defined(__x86_64__)
    if (has_instructions())
        add_blocks = sha_blocks;
    else if (has_vectors())
        add_blocks = avx2_blocks;
#endif
}

static void start(struct wbi_sha256 *h)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    (void)pthread_once(&chosen, choose);
    memcpy(h->state, first, sizeof(first));
    h->bytes = 0;
}

static void add(struct wbi_sha256 *h, const uint8_t *p, size_t n)
{
    size_t begun = (size_t)(h->bytes % BLOCK);

    h->bytes += n;
    if (begun > 0) {
        size_t part = n < BLOCK - begun ? n : BLOCK - begun;
        memcpy(h->rest + begun, p, part);
        if (begun + part < BLOCK)
            return;
        add_blocks(h->state, h->rest, 1);
        p += part;
        n -= part;
    }
    add_blocks(h->state, p, n / BLOCK);
    if (n % BLOCK != 0)
        memcpy(h->rest, p + n / BLOCK * BLOCK, n % BLOCK);
}

static void end(struct wbi_sha256 *h, uint8_t out[WBI_SHA256_SIZE])
{
    static const uint8_t padding[BLOCK] = {0x80};
    uint64_t bits = h->bytes * 8;
    uint8_t length[8];

    store_be(length, (uint32_t)(bits >> 32));
    store_be(length + 4, (uint32_t)bits);
    add(h, padding, 1 + (BLOCK * 2 - 9 - (size_t)(h->bytes % BLOCK)) % BLOCK);
    add(h, length, sizeof(length));
    for (size_t i = 0; i < 8; i++)
        store_be(out + 4 * i, h->state[i]);
}

wb_rc wbi_sha256_new(struct wbi_sha256 **ret)
{
    struct wbi_sha256 *h = wbi_alloc(sizeof(*h));

    if (h == NULL)
        return WB_ENOMEM;
    start(h);
    *ret = h;
    return WB_OK;
}

wb_rc wbi_sha256_restart(struct wbi_sha256 *h)
{
    start(h);
    return WB_OK;
}

wb_rc wbi_sha256_add(struct wbi_sha256 *h, const void *p, size_t n)
{
    if (n > 0)
        add(h, p, n);
    return WB_OK;
}

wb_rc wbi_sha256_end(struct wbi_sha256 *h, uint8_t out[WBI_SHA256_SIZE])
{
    end(h, out);
    return WB_OK;
}

void wbi_sha256_free(struct wbi_sha256 *h)
{
    wbi_free(h);
}

wb_rc wbi_sha256(const void *p, size_t n, uint8_t out[WBI_SHA256_SIZE])
{
    struct wbi_sha256 h = {.bytes = 0};

    start(&h);
    if (n > 0)
        add(&h, p, n);
    end(&h, out);
    return WB_OK;
}
