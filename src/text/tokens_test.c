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
    "\xe2\x80\xa6",
    "\xe2\x80\xb4",
    "\xe2\xa0\xbf",
    "\xe2\x86",
    "\xe1\x88\x80",
    "\xc7\x82",
    "@",
    "\tBCD",
    "{}",
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
    uint64_t sum = 0, run = 0;

    for (size_t at = 0; at < text.n;) {
        size_t n = wbi_str_index(wbi_str_from(text, at), '\n');
        struct wbi_str line = wbi_str_head(wbi_str_from(text, at), n);

        sum += wbi_tokens_units(line);
        run = n > 0 ? 1 : run + 1;
        sum += at + n < text.n ? wbi_tokens_newline(line, run) : 0;
        at += n + 1;
    }
    return sum;
}

static void lines_add_up_to_the_whole(void **state)
{
    static const char *const texts[] = {
        "\n", "\n\n", "a\n\nb\n", "a\n \n\nb", "end.\n\n\nx", "{\n}\n", "  \n  x  \n-\n\n\n",
    };
    char blank[1000];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(by_lines(wbi_str_z(texts[i])), wbi_tokens_units(wbi_str_z(texts[i])));
    memset(blank, '\n', sizeof blank);
    for (size_t n = 0; n < sizeof blank; n++)
        assert_int_equal(by_lines(wbi_str_make(blank, n)),
                         wbi_tokens_units(wbi_str_make(blank, n)));
}

/* A budget bounds what is nothing but blanks, too. */
static void blanks_are_not_for_nothing(void **state)
{
    static const char *const runs[] = {" ", "\t", "\n", " \n", "\n \n"};
    char text[1u << 16];

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        for (size_t at = 0; at < sizeof text; at++)
            text[at] = runs[i][at % strlen(runs[i])];
        assert_true(wbi_tokens(wbi_str_make(text, sizeof text)) >= sizeof text / 64);
        all_ways_agree(wbi_str_make(text, sizeof text));
        for (size_t n = 0; n < 300; n++)
            all_ways_agree(wbi_str_make(text, n));
    }
}

/* Exactly 13 tokens: few begin with a comma. */
static void words_behind_commas_are_not_too_cheap(void **state)
{
    (void)state;
    assert_in_range(wbi_tokens(WBI_LIT("776,eu,48.13,EUR,settled\n")), 13, 15);
}

/* A blank goes with the mark behind it, a tab never does: 8 tokens each. */
static void a_tab_before_a_mark_is_a_token(void **state)
{
    (void)state;
    assert_in_range(wbi_tokens(WBI_LIT("\t}\n12\t}\n\t\t/*\n")), 8, 10);
    assert_in_range(wbi_tokens(WBI_LIT("a } b\n\t\"c\n")), 7, 9);
}

/* Row 43: a run that is one piece is cut within, at a character. */
static void long_runs_are_cut_within(void **state)
{
    static const char *const runs[] = {"x", "X", "7", "=", "\xc3\xa9", "ab", "-=", " ", "\n"};
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
            assert_in_range(wbi_tokens_units(wbi_str_make(text, fits)), units - 400, units);
        }
    }
    assert_int_equal(wbi_tokens_prefix(WBI_LIT("one internationalization"), 300), 4);
}

/* Exact counts: braille, rare Han, Ethiopic, Tibetan, signs of mathematics, arrows and blocks,
 * letters of few languages, capitals without sense, marks. */
static void what_is_rare_is_not_too_cheap(void **state)
{
    static const struct {
        const char *text;
        uint64_t tokens;
    } rare[] = {
        {"\xe2\xa0\xbf\xe2\xa0\x97\xe2\xa0\x91\xe2\xa0\x81\xe2\xa0\x99 "
         "\xe2\xa0\x83\xe2\xa0\x97\xe2\xa0\x81\xe2\xa0\x8a\xe2\xa0\x87\xe2\xa0\x87\xe2\xa0\x91",
         36},
        {"\xe9\xbc\xb4\xe9\xbe\x98\xe9\x9d\x90\xe9\xbd\x89\xe7\x88\xa9 "
         "\xe9\xba\xa4\xe7\x81\xaa\xe7\xb1\xb1",
         16},
        {"\xe1\x8d\x8b\xe1\x8b\xad\xe1\x88\x89 "
         "\xe1\x88\xb5\xe1\x88\x8b\xe1\x88\x8d\xe1\x89\xb0\xe1\x8c\x88\xe1\x8a\x98 "
         "\xe1\x8a\xa0\xe1\x8c\x88\xe1\x88\x8d\xe1\x8c\x8b\xe1\x8b\xa9\xe1\x8a\x95",
         32},
        {"\xe0\xbd\xa1\xe0\xbd\xb2\xe0\xbd\x82\xe0\xbc\x8b\xe0\xbd\x86\xe0\xbc\x8b\xe0\xbd\x98\xe0"
         "\xbc\x8b\xe0\xbd\xa2\xe0\xbe\x99\xe0\xbd\xba\xe0\xbd\x91",
         18},
        {"\xe2\x8a\x95\xe2\x8a\x97\xe2\x88\xae\xe2\x88\xb0\xe2\x89\xaa\xe2\x8b\x98 "
         "\xe2\x88\xb4\xe2\x88\xb5\xe2\x8b\x89",
         18},
        {"\xe2\x87\xb6\xe2\x87\x9d\xe2\x86\xaf\xe2\x9f\xbf "
         "\xe2\x96\x9a\xe2\x96\x9e\xe2\x96\x9f\xe2\x96\x99",
         17},
        {"\xca\x98\xc7\x82\xc9\xae\xca\xa2 \xc9\xb6\xc9\x9e", 13},
        {"QZXKV WPTRJ HBGFD", 9},
        {"@$_{qw(a b)}=map{$$_[0]=~m#^(.+):#}@{$x->{y}};$|=1;", 33},
        {"\xf0\x92\x80\x80\xf0\x92\x81\x80\xf0\x92\x82\x80 \xf0\x93\x80\x80\xf0\x93\x80\x81", 21},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rare / sizeof *rare; i++) {
        uint64_t tokens = wbi_tokens(wbi_str_z(rare[i].text));

        if (tokens * 10 < rare[i].tokens * 9 || tokens * 10 > rare[i].tokens * 16)
            fail_msg("%s: %llu, exactly %llu", rare[i].text, (unsigned long long)tokens,
                     (unsigned long long)rare[i].tokens);
    }
}

/* Exact counts: what programs say in Russian, Hindi, Thai, Tamil, Greek and Arabic, whose words
 * are few tokens, and Cyrillic letters without sense, which are one each. */
static void words_of_other_scripts_are_not_too_dear(void **state)
{
    static const struct {
        const char *text;
        uint64_t tokens;
    } said[] = {
        {"\xd0\x9d\xd0\xb5 \xd1\x83\xd0\xb4\xd0\xb0\xd0\xbb\xd0\xbe\xd1\x81\xd1\x8c "
         "\xd0\xbe\xd1\x82\xd0\xba\xd1\x80\xd1\x8b\xd1\x82\xd1\x8c "
         "\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb \xd0\xb4\xd0\xbb\xd1\x8f "
         "\xd1\x87\xd1\x82\xd0\xb5\xd0\xbd\xd0\xb8\xd1\x8f: "
         "\xd1\x82\xd0\xb0\xd0\xba\xd0\xbe\xd0\xb3\xd0\xbe "
         "\xd0\xba\xd0\xb0\xd1\x82\xd0\xb0\xd0\xbb\xd0\xbe\xd0\xb3\xd0\xb0 "
         "\xd0\xbd\xd0\xb5\xd1\x82, "
         "\xd0\xbf\xd1\x80\xd0\xbe\xd0\xb2\xd0\xb5\xd1\x80\xd1\x8c\xd1\x82\xd0\xb5 "
         "\xd0\xbf\xd1\x83\xd1\x82\xd1\x8c",
         17},
        {"\xe0\xa4\xab\xe0\xa4\xbc\xe0\xa4\xbe\xe0\xa4\x87\xe0\xa4\xb2 "
         "\xe0\xa4\xa8\xe0\xa4\xb9\xe0\xa5\x80\xe0\xa4\x82 "
         "\xe0\xa4\x96\xe0\xa5\x81\xe0\xa4\xb2 \xe0\xa4\xb8\xe0\xa4\x95\xe0\xa5\x80 "
         "\xe0\xa4\x95\xe0\xa5\x8d\xe0\xa4\xaf\xe0\xa5\x8b\xe0\xa4\x82\xe0\xa4\x95"
         "\xe0\xa4\xbf "
         "\xe0\xa4\xa8\xe0\xa4\xbf\xe0\xa4\xb0\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x87"
         "\xe0\xa4\xb6\xe0\xa4\xbf\xe0\xa4\x95\xe0\xa4\xbe "
         "\xe0\xa4\xae\xe0\xa5\x8c\xe0\xa4\x9c\xe0\xa5\x82\xe0\xa4\xa6 "
         "\xe0\xa4\xa8\xe0\xa4\xb9\xe0\xa5\x80\xe0\xa4\x82 \xe0\xa4\xb9\xe0\xa5\x88",
         12},
        {"\xe0\xb9\x84\xe0\xb8\xa1\xe0\xb9\x88\xe0\xb8\xaa\xe0\xb8\xb2\xe0\xb8\xa1"
         "\xe0\xb8\xb2\xe0\xb8\xa3\xe0\xb8\x96\xe0\xb9\x80\xe0\xb8\x9b\xe0\xb8\xb4"
         "\xe0\xb8\x94\xe0\xb9\x84\xe0\xb8\x9f\xe0\xb8\xa5\xe0\xb9\x8c\xe0\xb9\x84"
         "\xe0\xb8\x94\xe0\xb9\x89\xe0\xb9\x80\xe0\xb8\x9e\xe0\xb8\xa3\xe0\xb8\xb2"
         "\xe0\xb8\xb0\xe0\xb9\x84\xe0\xb8\xa1\xe0\xb9\x88\xe0\xb8\xa1\xe0\xb8\xb5"
         "\xe0\xb9\x84\xe0\xb8\x94\xe0\xb9\x80\xe0\xb8\xa3\xe0\xb8\x81\xe0\xb8\x97"
         "\xe0\xb8\xad\xe0\xb8\xa3\xe0\xb8\xb5\xe0\xb8\x99\xe0\xb8\xb5\xe0\xb9\x89",
         17},
        {"\xe0\xae\x95\xe0\xaf\x8b\xe0\xae\xaa\xe0\xaf\x8d\xe0\xae\xaa\xe0\xaf\x88"
         "\xe0\xae\xa4\xe0\xaf\x8d "
         "\xe0\xae\xa4\xe0\xae\xbf\xe0\xae\xb1\xe0\xae\x95\xe0\xaf\x8d\xe0\xae\x95 "
         "\xe0\xae\xae\xe0\xaf\x81\xe0\xae\x9f\xe0\xae\xbf\xe0\xae\xaf\xe0\xae\xb5"
         "\xe0\xae\xbf\xe0\xae\xb2\xe0\xaf\x8d\xe0\xae\xb2\xe0\xaf\x88 "
         "\xe0\xae\x8f\xe0\xae\xa9\xe0\xaf\x86\xe0\xae\xa9\xe0\xae\xbf\xe0\xae\xb2"
         "\xe0\xaf\x8d \xe0\xae\x85\xe0\xae\x9f\xe0\xaf\x88\xe0\xae\xb5\xe0\xaf\x81 "
         "\xe0\xae\x87\xe0\xae\xb2\xe0\xaf\x8d\xe0\xae\xb2\xe0\xaf\x88",
         17},
        {"\xce\x94\xce\xb5\xce\xbd \xce\xae\xcf\x84\xce\xb1\xce\xbd "
         "\xce\xb4\xcf\x85\xce\xbd\xce\xb1\xcf\x84\xcf\x8c \xcf\x84\xce\xbf "
         "\xce\xac\xce\xbd\xce\xbf\xce\xb9\xce\xb3\xce\xbc\xce\xb1 "
         "\xcf\x84\xce\xbf\xcf\x85 "
         "\xce\xb1\xcf\x81\xcf\x87\xce\xb5\xce\xaf\xce\xbf\xcf\x85",
         10},
        {"\xd8\xaa\xd8\xb9\xd8\xb0\xd8\xb1 \xd9\x81\xd8\xaa\xd8\xad "
         "\xd8\xa7\xd9\x84\xd9\x85\xd9\x84\xd9\x81 \xd9\x84\xd8\xa3\xd9\x86 "
         "\xd8\xa7\xd9\x84\xd8\xaf\xd9\x84\xd9\x8a\xd9\x84 \xd8\xba\xd9\x8a\xd8\xb1 "
         "\xd9\x85\xd9\x88\xd8\xac\xd9\x88\xd8\xaf",
         9},
        {"\xd1\x8a\xd1\x89\xd0\xb9\xd1\x84\xd0\xb6\xd1\x86\xd0\xb3\xd1\x8d\xd1\x85\xd1\x89"
         "\xd1\x8e\xd0\xb1\xd1\x91\xd1\x8b\xd0\xbf\xd1\x87\xd1\x88\xd1\x89",
         15},
    };

    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        uint64_t tokens = wbi_tokens(wbi_str_z(said[i].text));

        if (tokens < said[i].tokens || tokens * 10 > said[i].tokens * 18)
            fail_msg("%s: %llu, exactly %llu", said[i].text, (unsigned long long)tokens,
                     (unsigned long long)said[i].tokens);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_agree_on_random_text),
        cmocka_unit_test(all_ways_agree_on_random_bytes),
        cmocka_unit_test(lines_add_up_to_the_whole),
        cmocka_unit_test(blanks_are_not_for_nothing),
        cmocka_unit_test(words_behind_commas_are_not_too_cheap),
        cmocka_unit_test(a_tab_before_a_mark_is_a_token),
        cmocka_unit_test(long_runs_are_cut_within),
        cmocka_unit_test(what_is_rare_is_not_too_cheap),
        cmocka_unit_test(words_of_other_scripts_are_not_too_dear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
