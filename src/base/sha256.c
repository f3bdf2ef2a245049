/* SPDX-License-Identifier: Apache-2.0
 * base/sha256.c: SHA-256 (FIPS 180-4). Blocks go through the processor's own
 * instructions where it has them, else through portable C. */
#include <pthread.h>

#include "base/alloc.h"
#include "base/hash.h"

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

static void spread(uint32_t w[64], const uint8_t *p)
{
    for (size_t i = 0; i < 16; i++)
        w[i] = load_be(p + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
}

static void portable_blocks(uint32_t state[8], const uint8_t *p, size_t blocks)
{
    uint32_t w[64], s[8];

    for (; blocks > 0; blocks--, p += BLOCK) {
        spread(w, p);
        memcpy(s, state, sizeof(s));
        for (size_t i = 0; i < 64; i++) {
            uint32_t e = s[4], a = s[0];
            uint32_t t = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                         ((e & s[5]) ^ (~e & s[6])) + K[i] + w[i];
            uint32_t u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
                         ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
            memmove(s + 1, s, 7 * sizeof(s[0]));
            s[4] += t;
            s[0] = t + u;
        }
        for (size_t i = 0; i < 8; i++)
            state[i] += s[i];
    }
}

#if defined(__x86_64__)

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

#endif

static blocks_fn *add_blocks = portable_blocks;
static pthread_once_t chosen = PTHREAD_ONCE_INIT;

static void choose(void)
{
#if defined(__x86_64__)
    if (has_instructions())
        add_blocks = sha_blocks;
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
