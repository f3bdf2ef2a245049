/* SPDX-License-Identifier: Apache-2.0
 * base/base_test.c: the foundation's own promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/belt.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/sign.h"
#include "base/spares.h"
#include "base/utf8.h"

static int order[3], ordered;
static void first(void *arg)
{
    (void)arg;
    order[ordered++] = 1;
}
static void second(void *arg)
{
    (void)arg;
    order[ordered++] = 2;
}

static void arena_runs_cleanups_newest_first(void **state)
{
    struct wbi_arena *a;

    (void)state;
    ordered = 0;
    assert_int_equal(wbi_arena_new(1 << 20, &a), WB_OK);
    assert_int_equal(wbi_arena_defer(a, first, NULL), WB_OK);
    assert_int_equal(wbi_arena_defer(a, second, NULL), WB_OK);
    wbi_arena_free(a);
    assert_int_equal(ordered, 2);
    assert_int_equal(order[0], 2);
    assert_int_equal(order[1], 1);
}

static void arena_keeps_its_cap(void **state)
{
    struct wbi_arena *a;

    (void)state;
    assert_int_equal(wbi_arena_new(1000, &a), WB_OK);
    assert_non_null(wbi_arena_alloc(a, 500));
    assert_null(wbi_arena_alloc(a, 600));
    assert_non_null(wbi_arena_alloc(a, 400));
    wbi_arena_reset(a);
    assert_non_null(wbi_arena_alloc(a, 900));
    wbi_arena_free(a);
}

static void arenas_of_a_pool_serve_again(void **state)
{
    struct wbi_arena_pool *pool;
    struct wbi_arena *a, *b;
    void *old;

    (void)state;
    ordered = 0;
    assert_int_equal(wbi_arena_pool_new(&pool), WB_OK);
    assert_int_equal(wbi_arena_pool_take(pool, WBI_ARENA_CALL, 1000, &a), WB_OK);
    old = a;
    assert_non_null(wbi_arena_alloc(a, 900));
    assert_int_equal(wbi_arena_defer(a, first, NULL), WB_OK);
    wbi_arena_free(a);
    assert_int_equal(ordered, 1); /* clean-ups do not wait */
    assert_int_equal(wbi_arena_pool_take(pool, WBI_ARENA_CALL, 200, &a), WB_OK);
#if defined(__SANITIZE_ADDRESS__) /* none are kept for it */
    (void)old;
#else
    assert_ptr_equal(a, old);
#endif
    assert_null(wbi_arena_alloc(a, 300)); /* its cap is the new one */
    assert_non_null(wbi_arena_alloc(a, 150));
    assert_int_equal(wbi_arena_pool_take(pool, WBI_ARENA_CALL, 200, &b), WB_OK);
    assert_ptr_not_equal(a, b);
    wbi_arena_free(a);
    wbi_arena_pool_free(pool);
    assert_non_null(wbi_arena_alloc(b, 100)); /* outlives it */
    wbi_arena_free(b);
}

static void arena_grows_in_place_or_copies(void **state)
{
    struct wbi_arena *a;
    char *p, *q;

    (void)state;
    assert_int_equal(wbi_arena_new(1 << 20, &a), WB_OK);
    p = wbi_arena_alloc(a, 10);
    memcpy(p, "waybill", 8);
    assert_ptr_equal(wbi_arena_grow(a, p, 10, 100), p);
    assert_non_null(wbi_arena_alloc(a, 1));
    q = wbi_arena_grow(a, p, 100, 200);
    assert_ptr_not_equal(q, p);
    assert_string_equal(q, "waybill");
    wbi_arena_free(a);
}

/* Pieces of all sizes around a limit and around what a buffer asks for first. */
static void buf_takes_what_fits_and_no_more(void **state)
{
    static const size_t limits[] = {0, 1, 5, 255, 256, 257, 1000};
    static const size_t pieces[] = {0, 1, 2, 4, 16, 255, 256, 300};
    struct wbi_arena *arena;
    char text[300];

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(wbi_arena_new(1u << 20, &arena), WB_OK);
    for (size_t i = 0; i < 2 * WBI_COUNT(limits) * WBI_COUNT(pieces); i++) {
        size_t max = limits[i / 2 % WBI_COUNT(limits)];
        size_t piece = pieces[i / 2 / WBI_COUNT(limits)], want = 0;
        struct wbi_buf b;

        if (i % 2 == 0)
            wbi_buf_init(&b, max);
        else
            wbi_buf_init_arena(&b, arena, max);
        for (int k = 0; k < 300; k++) {
            wbi_buf_add(&b, text, piece);
            want += want + piece <= max && wbi_buf_rc(&b) == WB_OK ? piece : 0;
            assert_int_equal(b.n, want);
            assert_true(b.p == NULL || b.p[b.n] == '\0');
        }
        assert_int_equal(wbi_buf_rc(&b), piece * 300 > max ? WB_ELIMIT : WB_OK);
        wbi_buf_addc(&b, 'y');
        assert_int_equal(b.n, want + (want < max && piece * 300 <= max));
        wbi_buf_clear(&b);
        wbi_buf_add(&b, text, WBI_MIN(max, sizeof(text)));
        assert_int_equal(b.n, WBI_MIN(max, sizeof(text)));
        assert_int_equal(wbi_buf_rc(&b), WB_OK);
        wbi_buf_fini(&b);
    }
    wbi_arena_free(arena);
}

static void buf_failure_sticks(void **state)
{
    struct wbi_buf b;

    (void)state;
    wbi_buf_init(&b, 5);
    wbi_buf_addz(&b, "abc");
    wbi_buf_addz(&b, "defg");
    wbi_buf_addz(&b, "h");
    assert_int_equal(wbi_buf_rc(&b), WB_ELIMIT);
    assert_int_equal(b.n, 3);
    wbi_buf_clear(&b);
    wbi_buf_addi(&b, -42);
    wbi_buf_addu(&b, 7);
    assert_true(wbi_str_eqz(wbi_buf_str(&b), "-427"));
    wbi_buf_fini(&b);
}

static void numbers_have_the_digits_of_printf(void **state)
{
    struct wbi_buf b;
    char want[32];

    (void)state;
    wbi_buf_init(&b, 64);
    for (uint64_t v = 1, step = 0; step < 20; step++, v *= 10) {
        uint64_t near[] = {v - 1, v, v + 1, v * 9, v * 7 + 3};

        for (size_t i = 0; i < WBI_COUNT(near); i++) {
            (void)snprintf(want, sizeof(want), "%" PRIu64, near[i]);
            wbi_buf_clear(&b);
            wbi_buf_addu(&b, near[i]);
            assert_true(wbi_str_eqz(wbi_buf_str(&b), want));
            assert_int_equal(b.p[b.n], '\0');
        }
    }
    wbi_buf_clear(&b);
    wbi_buf_addu(&b, UINT64_MAX);
    wbi_buf_addi(&b, INT64_MIN);
    assert_true(wbi_str_eqz(wbi_buf_str(&b), "18446744073709551615-9223372036854775808"));
    wbi_buf_fini(&b);
}

/* Every byte at every place of a word and of the rest behind it. */
static void only_capitals_are_made_small(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        for (size_t at = 0; at < 11; at++) {
            char bytes[12] = "aZ09_-.zA[@", want = (char)c;

            if (c >= 'A' && c <= 'Z')
                want = (char)(c + 32);
            bytes[at] = (char)c;
            wbi_lower(bytes, 11);
            assert_int_equal(bytes[at], want);
            assert_int_equal(bytes[at == 1 ? 8 : 1], at == 1 ? 'a' : 'z');
            assert_int_equal(bytes[11], '\0');
        }
    }
}

/* Also after what its code takes in memory was given back, and on a thread that ends. */
static void signatures_hold_after_leaving(void **state)
{
    uint8_t secret[WBI_SIGN_KEY_SIZE] = {1, 2, 3}, public_key[WBI_SIGN_KEY_SIZE];
    uint8_t signature[WBI_SIGNATURE_SIZE], again[WBI_SIGNATURE_SIZE];

    (void)state;
    if (wbi_sign_public(secret, public_key) != WB_OK) {
        print_message("skipped: signatures (libcrypto.so.3 cannot be loaded)\n");
        return;
    }
    assert_int_equal(wbi_sign(secret, "abc", 3, signature), WB_OK);
    wbi_sign_leave();
    wbi_sign_leave();
    assert_int_equal(wbi_sign(secret, "abc", 3, again), WB_OK);
    assert_memory_equal(signature, again, sizeof(again));
    wbi_sign_leave();
    assert_int_equal(wbi_sign_check(public_key, "abc", 3, signature), WB_OK);
    assert_int_equal(wbi_sign_check(public_key, "abd", 3, signature), WB_EDENIED);
}

static void times_round_trip(void **state)
{
    static const char *const good[] = {"1970-01-01T00:00:00.000Z", "2026-11-15T06:18:00.123Z",
                                       "2038-01-19T03:14:08.000Z", "0000-01-01T00:00:00.000Z",
                                       "9999-12-31T23:59:59.999Z", "2000-02-29T12:00:00.500Z"};
    static const char *const bad[] = {"2026-02-29T00:00:00Z", "2026-11-15 06:18:00Z",
                                      "2026-11-15",           "2026-11-15T24:00:00Z",
                                      "2026-11-15T06:18:00",  "2026-11-15T06:18:00.Z",
                                      "2026-13-15T06:18:00Z", ""};
    char out[WBI_RFC3339_SIZE];
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(wbi_time_parse(wbi_str_z(good[i]), &ms));
        wbi_time_format(ms, out);
        assert_string_equal(out, good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(wbi_time_parse(wbi_str_z(bad[i]), &ms));
    assert_true(wbi_time_parse(WBI_LIT("2026-11-15T08:18:00.5+02:00"), &ms));
    wbi_time_format(ms, out);
    assert_string_equal(out, "2026-11-15T06:18:00.500Z");
}

static void sha256_knows_its_vectors(void **state)
{
    uint8_t sum[WBI_SHA256_SIZE];
    char hex[WBI_SHA256_HEX];

    (void)state;
    assert_int_equal(wbi_sha256("abc", 3, sum), WB_OK);
    wbi_hex(sum, sizeof(sum), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(wbi_sha256("", 0, sum), WB_OK);
    wbi_hex(sum, sizeof(sum), hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void spare_blocks_are_used_again_up_to_a_number(void **state)
{
    struct wbi_spares s = {0};
    char *blocks[WBI_SPARES_MOST + 2];

    (void)state;
    wbi_spares_give(&s, NULL, WBI_SPARES_MOST);
    assert_int_equal(s.n, 0);
    for (size_t i = 0; i < WBI_COUNT(blocks); i++) {
        blocks[i] = wbi_spares_take(&s, 1); /* less than a spare needs for itself */
        assert_non_null(blocks[i]);
    }
    for (size_t i = 0; i < WBI_COUNT(blocks); i++)
        wbi_spares_give(&s, blocks[i], WBI_SPARES_MOST);
    assert_true(s.n <= WBI_SPARES_MOST);
    if (s.n > 0) { /* none are kept where a sanitizer looks for what is used after its end */
        assert_int_equal(s.n, WBI_SPARES_MOST);
        assert_ptr_equal(wbi_spares_take(&s, 1), blocks[WBI_SPARES_MOST - 1]);
        assert_int_equal(s.n, WBI_SPARES_MOST - 1);
        wbi_spares_give(&s, blocks[WBI_SPARES_MOST - 1], WBI_SPARES_MOST);
    }
    wbi_spares_free(&s);
    assert_int_equal(s.n, 0);
    assert_null(s.first);
    wbi_spares_free(&s);
}

/* More than a slab holds, of sizes from nothing to larger than a slab, each filled to its end. */
static void a_belt_holds_blocks_of_any_size(void **state)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 1350, 16 * WBI_KIB, 100 * WBI_KIB};
    unsigned char *blocks[256];
    struct wbi_belt belt;

    (void)state;
    wbi_belt_init(&belt);
    assert_null(wbi_belt_take(&belt, SIZE_MAX));
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < WBI_COUNT(blocks); i++) {
            size_t n = sizes[i % WBI_COUNT(sizes)];

            blocks[i] = wbi_belt_take(&belt, n);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % alignof(max_align_t), 0);
            memset(blocks[i], (int)i, n);
        }
        for (size_t k = 0; k < WBI_COUNT(blocks); k++) { /* not quite in their order */
            size_t i = k ^ 1, n = sizes[i % WBI_COUNT(sizes)];

            for (size_t at = 0; at < n; at++)
                assert_int_equal(blocks[i][at], i);
            wbi_belt_give(&belt, blocks[i]);
        }
    }
    wbi_belt_end(&belt);
}

static void a_belt_uses_its_memory_again(void **state)
{
    void *one, *two, *again;
    struct wbi_belt belt;

    (void)state;
    wbi_belt_init(&belt);
    one = wbi_belt_take(&belt, 100);
    two = wbi_belt_take(&belt, 100);
    assert_non_null(one);
    assert_non_null(two);
    wbi_belt_give(&belt, two);
    wbi_belt_give(&belt, one);
    again = wbi_belt_take(&belt, 100);
    assert_non_null(again);
    if (belt.filling != NULL) /* not where a sanitizer looks for what is used after its end */
        assert_ptr_equal(again, one);
    wbi_belt_give(&belt, again);
    wbi_belt_end(&belt);
}

static void a_belt_keeps_what_a_full_queue_needs(void **state)
{
    enum { BLOCKS = 100, SIZE = 10000, OF_A_SLAB = 6 };
    void *blocks[BLOCKS];
    struct wbi_belt belt;

    (void)state;
    wbi_belt_init(&belt);
    for (size_t i = 0; i < BLOCKS; i++)
        assert_non_null(blocks[i] = wbi_belt_take(&belt, SIZE));
    for (size_t i = 0; i < BLOCKS; i++)
        wbi_belt_give(&belt, blocks[i]);
    if (belt.filling != NULL)
        assert_int_equal(belt.spares, BLOCKS / OF_A_SLAB);
    wbi_belt_end(&belt);
}

static void white_space_is_cut_at_both_ends(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        char bytes[] = {(char)c, (char)c, 'a', (char)c, 'b', (char)c};
        bool space = c == ' ' || (c >= '\t' && c <= '\r');
        struct wbi_str both = wbi_str_trim(wbi_str_make(bytes, 6));
        struct wbi_str behind = wbi_str_trim(wbi_str_make(bytes + 2, 4));
        struct wbi_str before = wbi_str_trim(wbi_str_make(bytes, 5));

        assert_int_equal(both.n, space ? 3 : 6);
        assert_ptr_equal(both.p, space ? bytes + 2 : bytes);
        assert_int_equal(behind.n, space ? 3 : 4);
        assert_int_equal(before.n, space ? 3 : 5);
        assert_int_equal(wbi_str_trim(wbi_str_make(bytes, 1)).n, space ? 0 : 1);
    }
    assert_null(wbi_str_trim(WBI_NONE).p);
}

static void every_byte_has_its_two_digits(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        uint8_t byte = (uint8_t)i;
        char hex[4] = "???", want[3];

        (void)snprintf(want, sizeof(want), "%02x", i);
        wbi_hex(&byte, 1, hex);
        assert_string_equal(hex, want);
        assert_int_equal(hex[3], '\0');
    }
}

static void two_hashes_in_one_pass_are_the_same_two(void **state)
{
    char bytes[48];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37 + 200);
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        uint64_t lane[2] = {n, ~(uint64_t)n};
        wbi_hash64_twice(bytes, n, lane);
        assert_true(lane[0] == wbi_hash64(bytes, n, n));
        assert_true(lane[1] == wbi_hash64(bytes, n, ~(uint64_t)n));
        for (size_t m = 0; m < n; m++)
            assert_true(wbi_hash64(bytes, m, n) != lane[0]);
    }
}

static void ids_have_their_shape(void **state)
{
    uint64_t counter = 0;
    struct wbi_ids ids = wbi_ids_counting(&counter);
    char uuid[WBI_UUID_SIZE], id[WBI_ID_SIZE];

    (void)state;
    wbi_id_uuid(&ids, uuid);
    assert_string_equal(uuid, "00000000-0000-4000-8000-000000000001");
    wbi_id_make(&ids, "call_", id);
    assert_string_equal(id, "call_00000000000000000002");
    wbi_id_ordered(&ids, 1, "call_", id); /* the same ids every time come first */
    assert_string_equal(id, "call_00000000000000000003");
}

static void ordered_ids_sort_by_time_and_never_repeat(void **state)
{
    struct wbi_ids_pool pool = {.left = 0};
    struct wbi_ids ids = wbi_ids_pooled(&pool);
    char id[WBI_ID_SIZE], before[WBI_ID_SIZE] = "";

    (void)state;
    *ids.serial = UINT32_MAX - 3;
    for (int i = 0; i < 3; i++) {
        wbi_id_ordered(&ids, 1700000000123, "call_", id);
        assert_memory_equal(id, "call_018bcfe5687b", 17);
        assert_int_equal(strlen(id), 25);
        assert_true(strcmp(before, id) < 0);
        memcpy(before, id, sizeof(id));
    }
    wbi_id_ordered(&ids, 1700000000124, "call_", id); /* the number begins anew, time goes on */
    assert_true(strcmp(before, id) < 0);
}

static void utf8_is_strict(void **state)
{
    size_t skip;

    (void)state;
    assert_true(wbi_utf8_valid(WBI_LIT("gr\xc3\xbc\xc3\x9f \xf0\x9f\x93\xa6")));
    assert_false(wbi_utf8_valid(WBI_LIT("\xc0\xaf")));         /* overlong */
    assert_false(wbi_utf8_valid(WBI_LIT("\xed\xa0\x80")));     /* surrogate */
    assert_false(wbi_utf8_valid(WBI_LIT("\xf4\x90\x80\x80"))); /* past U+10FFFF */
    assert_int_equal(wbi_utf8_step((const uint8_t *)"\xe2\x82x", 3, &skip), 0);
    assert_int_equal(skip, 2);
    assert_int_equal(wbi_utf8_cut(WBI_LIT("a\xc3\xbc"), 2), 1);
    assert_int_equal(wbi_utf8_cut(WBI_LIT("a\xc3"), 2), 1);
    assert_int_equal(wbi_utf8_cut_words(WBI_LIT("ab  cd ef"), 5), 2);
    assert_int_equal(wbi_utf8_cut_words(WBI_LIT("ab  cdefg"), 8), 8);
    assert_int_equal(wbi_utf8_cut_whole_words(WBI_LIT("ab  cdefg"), 8), 2);
    assert_int_equal(wbi_utf8_cut_whole_words(WBI_LIT("abcdefg"), 5), 0);
    assert_int_equal(wbi_utf8_cut_words(WBI_LIT("ab  cd ef"), 6), 6);
    assert_int_equal(wbi_utf8_cut_words(WBI_LIT("ab  cd ef"), 9), 9);
    assert_int_equal(wbi_utf8_cut_words(WBI_LIT("abcd\xc3\xbc"), 5), 4);
    assert_int_equal(wbi_utf8_cut_chars(WBI_LIT("a\xc3\xbc"
                                                "b"),
                                        2),
                     3);
    assert_int_equal(wbi_utf8_count(WBI_LIT("a\xc3\xbc"
                                            "b")),
                     3);
    assert_int_equal(wbi_utf8_control(WBI_LIT("plain, long enough for words")), 28);
    assert_int_equal(wbi_utf8_control(WBI_LIT("plain, long enough\nfor words")), 18);
    assert_int_equal(wbi_utf8_control(WBI_LIT("\x7f")), 0);
    assert_int_equal(wbi_utf8_control(WBI_LIT("\xc3\x85\xc2\xa0")),
                     4); /* A with a ring, no-break space */
    assert_int_equal(wbi_utf8_control(WBI_LIT("\xc3\x85 long, \xc2\x9b")), 9); /* CSI */
    assert_int_equal(wbi_utf8_control(WBI_NONE), 0);
}

static void error_table_is_whole(void **state)
{
    (void)state;
    for (int k = 1; k < WBI_KIND_COUNT; k++) {
        const struct wbi_kind_row *row = wbi_kind_row((enum wbi_kind)k);
        assert_int_equal(wbi_kind_by_name(wbi_str_z(row->kind)), k);
        assert_true(strlen(row->hint) > 0);
        for (int other = 1; other < k; other++)
            assert_string_not_equal(wbi_kind_row((enum wbi_kind)other)->kind, row->kind);
    }
    assert_string_equal(wbi_kind_row(WBI_KIND_NONE)->kind, "internal_error");
}

static void globs_match(void **state)
{
    (void)state;
    assert_true(wbi_glob_match(WBI_LIT("mcp::*::read*"), WBI_LIT("mcp::fs::read_file")));
    assert_false(wbi_glob_match(WBI_LIT("mcp::*::read*"), WBI_LIT("mcp::fs::write")));
    assert_true(wbi_glob_match(WBI_LIT("*"), WBI_LIT("")));
    assert_false(wbi_glob_match(WBI_LIT(""), WBI_LIT("x")));
    assert_true(wbi_glob_match(WBI_LIT("a?c*"), WBI_LIT("abcdef")));
}

static void errors_are_cut_whole(void **state)
{
    struct wbi_error err;
    char big[1000];

    (void)state;
    memset(big, 'x', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    memcpy(big + 478, "\xc3\xbc", 2); /* straddles the end of text */
    assert_int_equal(wbi_fail(&err, WB_EINPUT, "%s", big), WB_EINPUT);
    assert_true(wbi_utf8_valid(wbi_str_z(err.text)));
    assert_int_equal(wbi_fail(NULL, WB_EIO, "x"), WB_EIO);
    (void)wbi_fail(&err, WB_EINPUT, "no \"%.4s\" and \"%.3s\"; \xff", "\xe6\x97\xa5\xe6\x97\xa5",
                   "\xf0\x9f\x98\x80");
    assert_string_equal(err.text, "no \"\xe6\x97\xa5\" and \"\"; \xff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_runs_cleanups_newest_first),
        cmocka_unit_test(arena_keeps_its_cap),
        cmocka_unit_test(arenas_of_a_pool_serve_again),
        cmocka_unit_test(arena_grows_in_place_or_copies),
        cmocka_unit_test(buf_takes_what_fits_and_no_more),
        cmocka_unit_test(buf_failure_sticks),
        cmocka_unit_test(times_round_trip),
        cmocka_unit_test(sha256_knows_its_vectors),
        cmocka_unit_test(spare_blocks_are_used_again_up_to_a_number),
        cmocka_unit_test(a_belt_holds_blocks_of_any_size),
        cmocka_unit_test(a_belt_uses_its_memory_again),
        cmocka_unit_test(a_belt_keeps_what_a_full_queue_needs),
        cmocka_unit_test(white_space_is_cut_at_both_ends),
        cmocka_unit_test(every_byte_has_its_two_digits),
        cmocka_unit_test(two_hashes_in_one_pass_are_the_same_two),
        cmocka_unit_test(ids_have_their_shape),
        cmocka_unit_test(ordered_ids_sort_by_time_and_never_repeat),
        cmocka_unit_test(utf8_is_strict),
        cmocka_unit_test(error_table_is_whole),
        cmocka_unit_test(globs_match),
        cmocka_unit_test(errors_are_cut_whole),
        cmocka_unit_test(numbers_have_the_digits_of_printf),
        cmocka_unit_test(only_capitals_are_made_small),
        cmocka_unit_test(signatures_hold_after_leaving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
