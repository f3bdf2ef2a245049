/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_scan_test.c: every way of scanning finds what secrets begin with, and redaction
 * comes to the same by all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/checked.h"
#include "text/secrets_scan_int.h"

static const size_t lanes[] = {0, 32, 64};

/* A byte that may stand in the i-th place: where any may, one beyond ASCII. */
static char byte_at(const struct rule *rule, size_t i)
{
    struct chars may = wbi_chars_of(rule, i < DEEP ? i : DEEP - 1);

    if (rule->alphabet == A_ANY && i >= rule->n)
        return (char)0xc3;
    return (char)(may.bits[1] != 0 ? 64 + __builtin_ctzll(may.bits[1])
                                   : __builtin_ctzll(may.bits[0]));
}

/* Every literal at every place of a block, with and without vector shuffles. */
static void every_way_of_scanning_finds_every_literal(void **state)
{
    static struct prefilter filter;
    static struct scan scan;
    char text[256];

    (void)state;
    wbi_prefilter_init(&filter);
    for (size_t k = 0; k < WBI_COUNT(lanes); k++) {
        if (!wbi_prefilter_hold(&filter, lanes[k]))
            continue;
        for (size_t r = 0; r < wbi_secret_rules_n; r++) {
            const struct rule *rule = &wbi_secret_rules[r];
            size_t n = strlen(rule->literal);

            for (size_t at = 0; at + n <= sizeof text; at += 1 + r % 3) {
                size_t found;

                memset(text, '.', sizeof text);
                for (size_t i = 0; i < 60 && at + i < sizeof text; i++)
                    text[at + i] = byte_at(rule, i);
                memcpy(text + at, rule->literal, n);
                wbi_scan_start(&scan, &filter, wbi_str_make(text, sizeof text));
                while ((found = wbi_scan_next(&scan, 0)) < at)
                    ;
                assert_int_equal(found, at);
            }
        }
    }
}

/* Every so often "key=", then a dash at every place: more candidates than are collected ahead,
 * wherever the text ends. */
static void check_dense(const struct prefilter *filter, size_t keys, size_t dashes)
{
    static struct scan scan;
    size_t n = 4 * keys + dashes, found = 0, from = 0;
    char *text = malloc(n + 1);

    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = i < 4 * keys ? "key="[i % 4] : '-';
    wbi_scan_start(&scan, filter, wbi_str_make(text, n));
    while ((from = wbi_scan_next(&scan, from)) < n) {
        found += from < 4 * keys ? from % 4 == 0 : 1;
        from++;
    }
    assert_int_equal(found, keys + (dashes > 1 ? dashes - 1 : 0)); /* two are enough at the end */
    free(text);
}

static void candidates_may_be_many(void **state)
{
    static struct prefilter filter;

    (void)state;
    wbi_prefilter_init(&filter);
    for (size_t k = 0; k < WBI_COUNT(lanes); k++) {
        if (!wbi_prefilter_hold(&filter, lanes[k]))
            continue;
        for (size_t keys = 0; keys < 70; keys++)
            for (size_t dashes = 0; dashes < 200; dashes++)
                check_dense(&filter, keys, dashes);
    }
}

static uint64_t seed = 5;

static size_t chance(size_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % below;
}

/* Letters of either case. */
static void add_folded(struct wbi_buf *b, const char *z, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool letter = (uint8_t)((z[i] | 0x20) - 'a') < 26;

        wbi_buf_addc(b, letter && chance(8) == 0 ? (char)(z[i] ^ 0x20) : z[i]);
    }
}

/* What is a secret, almost is one, or only has bytes of one. */
static void add_piece(struct wbi_buf *b)
{
    static const char *const others[] = {"\n",
                                         " ",
                                         "=",
                                         ": ",
                                         "://user:pa55w0rd9@host/",
                                         "\xc3\xa4",
                                         "\xe2\x80\x8b",
                                         "\"",
                                         "'",
                                         "\\",
                                         "<U+200B>",
                                         "password: hunter22hunter",
                                         "kind: Secret\n",
                                         "--user ",
                                         " -u a:b1c2d3e4f5 ",
                                         ".",
                                         "_",
                                         "-",
                                         "\r",
                                         "\x7f",
                                         "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"};
    const struct rule *rule = &wbi_secret_rules[chance(wbi_secret_rules_n)];
    size_t n = strlen(rule->literal);

    switch (chance(6)) {
    case 0:
        add_folded(b, rule->literal, chance(n + 1));
        break;
    case 1:
        add_folded(b, rule->literal, n);
        break;
    case 2:
        wbi_buf_addz(b, others[chance(WBI_COUNT(others))]);
        break;
    case 3:
        for (size_t k = chance(4); k > 0; k--)
            wbi_buf_addc(b, (char)chance(256));
        break;
    default:
        wbi_buf_addz(b, rule->literal);
        for (size_t k = chance(90); k > 0; k--)
            wbi_buf_addc(b, "0123456789abcdefABCDEFghijXYZ234567-_."[chance(38)]);
    }
}

static void redact(struct wbi_secrets *set, struct wbi_str text, struct wbi_buf *ret)
{
    struct wbi_secrets_stream stream;

    wbi_secrets_stream_init(&stream, set);
    wbi_buf_init(ret, 1u << 20);
    assert_int_equal(wbi_secrets_stream_feed(&stream, text, ret), WB_OK);
    assert_int_equal(wbi_secrets_stream_finish(&stream, ret), WB_OK);
    wbi_secrets_stream_fini(&stream);
}

static void every_way_of_scanning_redacts_the_same(void **state)
{
    struct wbi_secrets_options options = {WBI_LIT("test"), NULL, 0};
    struct wbi_secrets *set = NULL;
    size_t masked = 0;

    (void)state;
    assert_int_equal(wbi_secrets_new(&options, &set, NULL, NULL), WB_OK);
    for (unsigned round = 0; round < 4000; round++) {
        struct wbi_buf text, first, other;
        char *exact;

        wbi_buf_init(&text, 1u << 20);
        for (size_t k = chance(40); k > 0; k--)
            add_piece(&text);
        exact = malloc(text.n + 1); /* nothing readable behind it */
        assert_non_null(exact);
        memcpy(exact, text.n > 0 ? text.p : "", text.n);
        assert_true(wbi_prefilter_hold(&set->filter, 0));
        redact(set, wbi_str_make(exact, text.n), &first);
        masked += first.n > 0 && memmem(first.p, first.n, "[redacted:", 10) != NULL;
        for (size_t k = 1; k < WBI_COUNT(lanes); k++) {
            if (!wbi_prefilter_hold(&set->filter, lanes[k]))
                continue;
            redact(set, wbi_str_make(exact, text.n), &other);
            assert_true(wbi_str_eq(wbi_buf_str(&first), wbi_buf_str(&other)));
            wbi_buf_fini(&other);
        }
        wbi_buf_fini(&first);
        wbi_buf_fini(&text);
        free(exact);
    }
    assert_true(masked > 1000); /* there was something to find */
    wbi_secrets_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_scanning_finds_every_literal),
        cmocka_unit_test(candidates_may_be_many),
        cmocka_unit_test(every_way_of_scanning_redacts_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
