/* SPDX-License-Identifier: Apache-2.0
 * text/tokens_test.c: all ways of counting agree on every text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "text/tokens_int.h"

/* What pieces are made of, with what comes rarely. */
static const char *const parts[] = {
    "a",
    "e",
    "word",
    "HTTP",
    "Server",
    "x86",
    "_",
    "-",
    "--",
    "==",
    "/usr",
    ".",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "0",
    "12345",
    "\xe2\x80\x98",
    "\xe2\x94\x80",
    "\xc3\xa9",
    "\x1b",
    "\x7f",
    "][",
    ",",
    "strch",
    "K",
    "aB-aB",
    "incomprehensibilities",
    "#!",
    "\xf0\x9f\x98",
    "\xff",
    "\xe4\xb8\xad",
    "\xe2\xe2\x80\x98",
};

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void all_ways_agree(struct wbi_str text)
{
    uint64_t units = wbi_tokens_units_with(text, 0);

    for (size_t lanes = 32; lanes <= wbi_tokens_lanes(); lanes *= 2)
        assert_int_equal(wbi_tokens_units_with(text, lanes), units);
    assert_int_equal(wbi_tokens_units(text), units);
}

static void all_ways_agree_on_random_text(void **state)
{
    uint64_t seed = 7;
    char text[700];

    (void)state;
    for (int round = 0; round < 60000; round++) {
        size_t n = 0, most = next(&seed) % 600,
               kinds = 1 + next(&seed) % (sizeof parts / sizeof *parts);
        size_t rare = next(&seed) % 3;

        while (n < most) {
            const char *part = parts[next(&seed) % (rare ? (kinds < 18 ? kinds : 18) : kinds)];

            memcpy(text + n, part, strlen(part));
            n += strlen(part);
        }
        all_ways_agree(wbi_str_make(text, n));
    }
}

static void all_ways_agree_on_random_bytes(void **state)
{
    uint64_t seed = 11;
    char text[300];

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t n = next(&seed) % sizeof text;
        unsigned top = next(&seed) % 2 ? 128 : 256;

        for (size_t i = 0; i < n; i++)
            text[i] = (char)(next(&seed) % top);
        all_ways_agree(wbi_str_make(text, n));
    }
}

/* Units of the lines and of their newlines, added up. */
static uint64_t by_lines(struct wbi_str text)
{
    uint64_t sum = 0;

    for (size_t at = 0; at < text.n;) {
        size_t n = wbi_str_index(wbi_str_from(text, at), '\n');
        struct wbi_str line = wbi_str_head(wbi_str_from(text, at), n);

        sum += wbi_tokens_units(line);
        sum += at + n < text.n ? wbi_tokens_newline(line, at == 0) : 0;
        at += n + 1;
    }
    return sum;
}

static void lines_add_up_to_the_whole(void **state)
{
    static const char *const texts[] = {
        "\n", "\n\n", "a\n\nb\n", "a\n \n\nb", "end.\n\n\nx", "{\n}\n", "  \n  x  \n-\n\n\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(by_lines(wbi_str_z(texts[i])), wbi_tokens_units(wbi_str_z(texts[i])));
}

/* Exactly 13 tokens: few begin with a comma. */
static void words_behind_commas_are_not_too_cheap(void **state)
{
    (void)state;
    assert_in_range(wbi_tokens(WBI_LIT("776,eu,48.13,EUR,settled\n")), 13, 15);
}

/* Row 43: a run that is one piece is cut within, at a character. */
static void long_runs_are_cut_within(void **state)
{
    static const char *const runs[] = {"x", "X", "7", "=", "\xc3\xa9", "ab", "-="};
    char text[20000];

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        size_t n = strlen(runs[i]);
        uint64_t units = 200 * WBI_TOKEN_UNIT;

        for (size_t at = 0; at + n <= sizeof text; at += n)
            memcpy(text + at, runs[i], n);
        for (; units > 2 * WBI_TOKEN_UNIT; units -= WBI_TOKEN_UNIT / 2) {
            size_t fits = wbi_tokens_prefix(wbi_str_make(text, sizeof text), units);

            assert_true(fits < sizeof text && (n < 2 || runs[i][1] > 0 || fits % n == 0));
            assert_in_range(wbi_tokens_units(wbi_str_make(text, fits)), units - 300, units);
        }
    }
    assert_int_equal(wbi_tokens_prefix(WBI_LIT("one internationalization"), 300), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_agree_on_random_text),
        cmocka_unit_test(all_ways_agree_on_random_bytes),
        cmocka_unit_test(lines_add_up_to_the_whole),
        cmocka_unit_test(words_behind_commas_are_not_too_cheap),
        cmocka_unit_test(long_runs_are_cut_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
