/* SPDX-License-Identifier: Apache-2.0
 * base/sha256_test.c: the vectors of FIPS 180-4, the same sum however a message is cut,
 * and the processor's instructions and vectors against portable C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/sha256.c"

static void is(struct wbi_sha256 *h, const char *want)
{
    uint8_t sum[WBI_SHA256_SIZE];
    char hex[WBI_SHA256_HEX];

    end(h, sum);
    wbi_hex(sum, sizeof(sum), hex);
    assert_string_equal(hex, want);
}

static void vectors_are_known(void **state)
{
    static const struct {
        const char *text;
        size_t times;
        const char *sum;
    } rows[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    blocks_fn *ways[3] = {portable_blocks}, *fastest;
    size_t way_count = 1;

    (void)state;
    start(&(struct wbi_sha256){.bytes = 0});
    fastest = add_blocks;
#if defined(__x86_64__)
    if (has_vectors())
        ways[way_count++] = avx2_blocks;
    if (has_instructions())
        ways[way_count++] = sha_blocks;
#endif
    assert_ptr_equal(fastest, ways[way_count - 1]);
    for (size_t way = 0; way < way_count; way++) {
        for (size_t i = 0; i < WBI_COUNT(rows); i++) {
            struct wbi_sha256 h = {.bytes = 0};
            start(&h);
            add_blocks = ways[way];
            for (size_t n = 0; n < rows[i].times; n++)
                add(&h, (const uint8_t *)rows[i].text, strlen(rows[i].text));
            is(&h, rows[i].sum);
        }
    }
    add_blocks = fastest;
}

static void noise(uint8_t *p, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
}

static void cuts_do_not_matter(void **state)
{
    uint8_t text[300], whole[WBI_SHA256_SIZE], cut[WBI_SHA256_SIZE];
    struct wbi_sha256 *h = NULL;

    (void)state;
    noise(text, sizeof(text), 7);
    assert_int_equal(wbi_sha256_new(&h), WB_OK);
    for (size_t n = 0; n <= sizeof(text); n++) {
        assert_int_equal(wbi_sha256(text, n, whole), WB_OK);
        for (size_t at = 0; at <= n; at += 1 + n / 40) {
            assert_int_equal(wbi_sha256_restart(h), WB_OK);
            assert_int_equal(wbi_sha256_add(h, text, at), WB_OK);
            assert_int_equal(wbi_sha256_add(h, text + at, n - at), WB_OK);
            assert_int_equal(wbi_sha256_end(h, cut), WB_OK);
            assert_memory_equal(cut, whole, sizeof(cut));
        }
    }
    wbi_sha256_free(h);
}

static void agrees_with_portable_code(blocks_fn *fn)
{
    uint8_t text[BLOCK * 5];
    uint32_t a[8], b[8];

    for (uint32_t round = 0; round < 500; round++) {
        noise(text, sizeof(text), round);
        memcpy(a, text + round % 32, sizeof(a));
        memcpy(b, a, sizeof(b));
        fn(a, text, round % 6);
        portable_blocks(b, text, round % 6);
        assert_memory_equal(a, b, sizeof(a));
    }
}

static void instructions_agree_with_portable_code(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (has_instructions()) {
        agrees_with_portable_code(sha_blocks);
        return;
    }
#endif
    skip();
}

static void vectors_agree_with_portable_code(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (has_vectors()) {
        agrees_with_portable_code(avx2_blocks);
        return;
    }
#endif
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_known),
        cmocka_unit_test(cuts_do_not_matter),
        cmocka_unit_test(instructions_agree_with_portable_code),
        cmocka_unit_test(vectors_agree_with_portable_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
