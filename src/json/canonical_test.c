/* SPDX-License-Identifier: Apache-2.0
 * json/canonical_test.c: RFC 8785 against its public vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/hash.h"
#include "base/limits.h"
#include "json/canonical.h"
#include "json/write.h"
#include "shared_vectors.h"

static struct wbi_arena *arena;
static struct wbi_buf out;

static int set_up(void **state)
{
    (void)state;
    wbi_buf_init(&out, 1 << 26);
    return wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_buf_fini(&out);
    wbi_arena_free(arena);
    return 0;
}

static wb_rc canonical(struct wbi_str text, struct wbi_error *err)
{
    const wbi_json *v = NULL;

    assert_int_equal(wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL), WB_OK);
    wbi_buf_clear(&out);
    return wbi_json_canonical(v, &out, err);
}

static void assert_canonical(const char *text, const char *expected)
{
    assert_int_equal(canonical(wbi_str_z(text), NULL), WB_OK);
    assert_string_equal(out.p, expected);
}

static void published_pairs_hold(void **state)
{
    static const char *const names[] = {"arrays",  "french", "structures",
                                        "unicode", "values", "weird"};
    char path[200];

    (void)state;
    if (!shared_present("vectors/json-canonical"))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct wbi_buf in, expected;

        (void)snprintf(path, sizeof(path), "vectors/json-canonical/input/%s.json", names[i]);
        assert_true(read_shared(path, &in));
        (void)snprintf(path, sizeof(path), "vectors/json-canonical/output/%s.json", names[i]);
        assert_true(read_shared(path, &expected));
        assert_int_equal(canonical(wbi_buf_str(&in), NULL), WB_OK);
        if (!wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&expected)))
            fail_msg("%s: %s", names[i], out.p);
        wbi_buf_fini(&in);
        wbi_buf_fini(&expected);
    }
}

/* The published sequence: fixed values, then doubles counted up from the
 * smallest normal one, then a chain of hashes. */
static const uint64_t fixed[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
    0xc46696695dbd1cc3, 0xc43211ede4974a35, 0xc3fce97ca0f21056, 0xc3c7213080c1a6ac,
    0xc39280f39a348556, 0xc35d9b1f5d20d557, 0xc327af4c4a80aaac, 0xc2f2f2a36ecd5556,
    0xc2be51057e155558, 0xc28840d131aaaaac, 0xc253670dc1555557, 0xc21f0b4935555557,
    0xc1e8d5d42aaaaaac, 0xc1b3de4355555556, 0xc17fca0555555556, 0xc1496e6aaaaaaaab,
    0xc114585555555555, 0xc0e046aaaaaaaaab, 0xc0aa0aaaaaaaaaaa, 0xc074d55555555555,
    0xc040aaaaaaaaaaab, 0xc00aaaaaaaaaaaab, 0xbfd5555555555555, 0xbfa1111111111111,
    0xbf6b4e81b4e81b4f, 0xbf35d867c3ece2a5, 0xbf0179ec9cbd821e, 0xbecbf647612f3696,
    0xbe965e9f80f29212, 0xbe61e54c672874db, 0xbe2ca213d840baf8, 0xbdf6e80fe033c8c6,
    0xbdc2533fe68fd3d2, 0xbd8d51ffd74c861c, 0xbd5774ccac3d3817, 0xbd22c3d6f030f9ac,
    0xbcee0624b3818f79, 0xbcb804ea293472c7, 0xbc833721ba905bd3, 0xbc4ebe9c5db3c61e,
    0xbc18987d17c304e5, 0xbbe3ad30dfcf371d, 0xbbaf7b816618582f, 0xbb792f9ab81379bf,
    0xbb442615600f9499, 0xbb101e77800c76e1, 0xbad9ca58cce0be35, 0xbaa4a1e0a3e6fe90,
    0xba708180831f320d, 0xba3a68cd9e985016, 0x446696695dbd1cc3, 0x443211ede4974a35,
    0x43fce97ca0f21056, 0x43c7213080c1a6ac, 0x439280f39a348556, 0x435d9b1f5d20d557,
    0x4327af4c4a80aaac, 0x42f2f2a36ecd5556, 0x42be51057e155558, 0x428840d131aaaaac,
    0x4253670dc1555557, 0x421f0b4935555557, 0x41e8d5d42aaaaaac, 0x41b3de4355555556,
    0x417fca0555555556, 0x41496e6aaaaaaaab, 0x4114585555555555, 0x40e046aaaaaaaaab,
    0x40aa0aaaaaaaaaaa, 0x4074d55555555555, 0x4040aaaaaaaaaaab, 0x400aaaaaaaaaaaab,
    0x3fd5555555555555, 0x3fa1111111111111, 0x3f6b4e81b4e81b4f, 0x3f35d867c3ece2a5,
    0x3f0179ec9cbd821e, 0x3ecbf647612f3696, 0x3e965e9f80f29212, 0x3e61e54c672874db,
    0x3e2ca213d840baf8, 0x3df6e80fe033c8c6, 0x3dc2533fe68fd3d2, 0x3d8d51ffd74c861c,
    0x3d5774ccac3d3817, 0x3d22c3d6f030f9ac, 0x3cee0624b3818f79, 0x3cb804ea293472c7,
    0x3c833721ba905bd3, 0x3c4ebe9c5db3c61e, 0x3c18987d17c304e5, 0x3be3ad30dfcf371d,
    0x3baf7b816618582f, 0x3b792f9ab81379bf, 0x3b442615600f9499, 0x3b101e77800c76e1,
    0x3ad9ca58cce0be35, 0x3aa4a1e0a3e6fe90, 0x3a708180831f320d, 0x3a3a68cd9e985016,
    0x4024000000000000, 0x4014000000000000, 0x3fe0000000000000, 0x3fa999999999999a,
    0x3f747ae147ae147b, 0x3f40624dd2f1a9fc, 0x3f0a36e2eb1c432d, 0x3ed4f8b588e368f1,
    0x3ea0c6f7a0b5ed8d, 0x3e6ad7f29abcaf48, 0x3e35798ee2308c3a, 0x3ed539223589fa95,
    0x3ed4ff26cd5a7781, 0x3ed4f95a762283ff, 0x3ed4f8c60703520c, 0x3ed4f8b72f19cd0d,
    0x3ed4f8b5b31c0c8d, 0x3ed4f8b58d1c461a, 0x3ed4f8b5894f7f0e, 0x3ed4f8b588ee37f3,
    0x3ed4f8b588e47da4, 0x3ed4f8b588e3849c, 0x3ed4f8b588e36bb5, 0x3ed4f8b588e36937,
    0x3ed4f8b588e368f8, 0x3ed4f8b588e368f1, 0x3ff0000000000000, 0xbff0000000000000,
    0xbfeffffffffffffa, 0xbfeffffffffffffb, 0x3feffffffffffffa, 0x3feffffffffffffb,
    0x3feffffffffffffc, 0x3feffffffffffffe, 0xbfefffffffffffff, 0xbfefffffffffffff,
    0x3fefffffffffffff, 0x3fefffffffffffff, 0x3fd3333333333332, 0x3fd3333333333333,
    0x3fd3333333333334, 0x0010000000000000, 0x000ffffffffffffd, 0x000fffffffffffff,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x4340000000000000, 0xc340000000000000,
    0x4430000000000000, 0x44b52d02c7e14af5, 0x44b52d02c7e14af6, 0x44b52d02c7e14af7,
    0x444b1ae4d6e2ef4e, 0x444b1ae4d6e2ef4f, 0x444b1ae4d6e2ef50, 0x3eb0c6f7a0b5ed8c,
    0x3eb0c6f7a0b5ed8d, 0x41b3de4355555553, 0x41b3de4355555554, 0x41b3de4355555555,
    0x41b3de4355555556, 0x41b3de4355555557, 0xbecbf647612f3696, 0x43143ff3c1cb0959,
};

#define COUNTED 2000

struct chain {
    uint8_t block[WBI_SHA256_SIZE];
    size_t used;
};

static uint64_t next_in_chain(struct chain *c)
{
    double value = 0;
    uint64_t bits = 0;

    while (value == 0 || !isfinite(value)) {
        if (c->used == sizeof(c->block)) {
            assert_int_equal(wbi_sha256(c->block, sizeof(c->block), c->block), WB_OK);
            c->used = 0;
        }
        memcpy(&bits, c->block + c->used, sizeof(bits));
        memcpy(&value, &bits, sizeof(value));
        c->used += sizeof(bits);
    }
    return bits;
}

static void assert_sum(const char *expected)
{
    uint8_t sum[WBI_SHA256_SIZE];
    char hex[WBI_SHA256_HEX];

    assert_int_equal(wbi_sha256(out.p, out.n, sum), WB_OK);
    wbi_hex(sum, sizeof(sum), hex);
    assert_string_equal(hex, expected);
}

static void the_number_sequence_has_its_published_sums(void **state)
{
    const size_t fixed_n = sizeof(fixed) / sizeof(fixed[0]);
    struct chain chain = {.used = WBI_SHA256_SIZE};

    (void)state;
    wbi_buf_clear(&out);
    for (size_t i = 0; i < 100000; i++) {
        uint64_t bits = i < fixed_n             ? fixed[i]
                        : i < fixed_n + COUNTED ? UINT64_C(0x10000000000000) + (i - fixed_n)
                                                : next_in_chain(&chain);
        char text[WBI_JSON_NUMBER_SIZE];
        double value;

        memcpy(&value, &bits, sizeof(value));
        wbi_buf_addf(&out, "%llx,", (unsigned long long)bits);
        wbi_buf_add(&out, text, wbi_json_number(value, text));
        wbi_buf_addc(&out, '\n');
        if (i + 1 == 1000)
            assert_sum("be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687");
        if (i + 1 == 10000)
            assert_sum("b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892");
    }
    assert_sum("22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7");
}

static void members_sort_by_utf16_code_units(void **state)
{
    (void)state;
    /* U+1F4E6 is D83D DCE6, before U+E000 and U+FFFD though its bytes are larger */
    assert_canonical("{\"\xef\xbf\xbd\":1,\"\xf0\x9f\x93\xa6\":2,\"\xee\x80\x80\":3,"
                     "\"\xed\x9f\xbf\":4}",
                     "{\"\xed\x9f\xbf\":4,\"\xf0\x9f\x93\xa6\":2,\"\xee\x80\x80\":3,"
                     "\"\xef\xbf\xbd\":1}");
    assert_canonical("{\"ab\":1,\"a\":2,\"\":3,\"b\":{\"z\":[{\"y\":0,\"x\":0}],\"A\":0}}",
                     "{\"\":3,\"a\":2,\"ab\":1,\"b\":{\"A\":0,\"z\":[{\"x\":0,\"y\":0}]}}");
}

static void many_members_sort_too(void **state)
{
    struct wbi_buf text, expected;

    (void)state;
    wbi_buf_init(&text, 1 << 24);
    wbi_buf_init(&expected, 1 << 24);
    wbi_buf_addz(&text, "{\"0\":{\"b\":1,\"a\":2}");
    wbi_buf_addz(&expected, "{\"0\":{\"a\":2,\"b\":1}");
    for (unsigned i = 0; i < 20011; i++) { /* a prime: i * 7919 visits each once */
        wbi_buf_addf(&text, ",\"k%05u\":0", (i * 7919u) % 20011u);
        wbi_buf_addf(&expected, ",\"k%05u\":0", i);
    }
    wbi_buf_addc(&text, '}');
    wbi_buf_addc(&expected, '}');
    assert_int_equal(canonical(wbi_buf_str(&text), NULL), WB_OK);
    assert_true(wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&expected)));
    wbi_buf_fini(&text);
    wbi_buf_fini(&expected);
}

static void scalars_have_their_form(void **state)
{
    (void)state;
    assert_canonical(" null ", "null");
    assert_canonical("[-0, -0.0, 1.0, 4.50, 1E30, 0.002, 1e-27, []]",
                     "[0,0,1,4.5,1e+30,0.002,1e-27,[]]");
    assert_canonical("\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"",
                     "\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    assert_canonical("[9007199254740991,-9007199254740991,{}]",
                     "[9007199254740991,-9007199254740991,{}]");
}

/* I5: "integers beyond +-(2^53-1) are kept exact as text and refused by the
 * canonical form". */
static void large_integers_are_refused_with_their_place(void **state)
{
    static const char *const bad[] = {"9007199254740992", "-9007199254740992",
                                      "18446744073709551615", "18446744073709551616",
                                      "-9223372036854775808"};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wbi_error err = WBI_ERROR_INIT;

        (void)snprintf(text, sizeof(text), "{\"z\":0,\"a/b\":[1,{\"n\":%s}]}", bad[i]);
        assert_int_equal(canonical(wbi_str_z(text), &err), WB_EINPUT);
        assert_string_equal(err.at, "/a~1b/1/n");
    }
}

static void it_is_its_own_canonical_form(void **state)
{
    char first[200];

    (void)state;
    assert_int_equal(
        canonical(WBI_LIT("{\"b\":[1e2,{\"d\":\"\\u000f\",\"c\":0.5}],\"a\":{}}"), NULL), WB_OK);
    (void)snprintf(first, sizeof(first), "%s", out.p);
    assert_canonical(first, first);
}

static void depth_is_no_matter(void **state)
{
    struct wbi_buf text;

    (void)state;
    wbi_buf_init(&text, 1 << 16);
    for (unsigned i = 0; i < WBI_LIMIT_JSON_DEPTH; i++)
        wbi_buf_addz(&text, "{\"a\":");
    wbi_buf_addc(&text, '0');
    for (unsigned i = 0; i < WBI_LIMIT_JSON_DEPTH; i++)
        wbi_buf_addc(&text, '}');
    assert_canonical(text.p, text.p);
    wbi_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_pairs_hold),
        cmocka_unit_test(the_number_sequence_has_its_published_sums),
        cmocka_unit_test(members_sort_by_utf16_code_units),
        cmocka_unit_test(many_members_sort_too),
        cmocka_unit_test(scalars_have_their_form),
        cmocka_unit_test(large_integers_are_refused_with_their_place),
        cmocka_unit_test(it_is_its_own_canonical_form),
        cmocka_unit_test(depth_is_no_matter),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
