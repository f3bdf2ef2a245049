/* SPDX-License-Identifier: Apache-2.0
 * text/regex_test.c: expressions mean what ECMA-262 says, and end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "text/regex.h"

static enum wbi_regex_verdict match(const char *pattern, unsigned flags, const char *subject)
{
    struct wbi_error err = WBI_ERROR_INIT;
    enum wbi_regex_verdict v;
    struct wbi_regex *re;

    if (wbi_regex_compile(wbi_str_z(pattern), flags, &re, &err) != WB_OK)
        fail_msg("%s: %s", pattern, err.text);
    v = wbi_regex_test(re, wbi_str_z(subject), WBI_REGEX_FULL);
    wbi_regex_free(re);
    return v;
}

static void ecma_syntax_means_what_ecma_says(void **state)
{
    static const struct {
        const char *pattern, *subject;
        bool matches;
    } t[] = {
        {"^\\s$", "\xc2\xa0", true},
        {"^[\\s]$", "\xef\xbb\xbf", true},
        {"^[^\\S]$", "\xe2\x80\x83", true},
        {"^[\\S]$", "\xe2\x80\xa8", false},
        {"^\\w$", "\xc3\xa9", false},
        {"^\\v$", "\x0b", true},
        {"^\\v$", "\n", false},
        {"^.$", "\xe2\x80\xa9", false},
        {"^.$", "\xf0\x9f\x90\xb2", true},
        {"^\\ud83d\\udc32$", "\xf0\x9f\x90\xb2", true},
        {"^\\u{1F432}$", "\xf0\x9f\x90\xb2", true},
        {"^[\\x41-\\x43\\cJ\\0]+$", "ABC\n", true},
        {"^a$", "a\n", false},
        {"[]", "a", false},
        {"^[^]$", "\n", true},
        {"^[[:alpha:]]$", "a]", true}, /* one of [ : a l p h, then ] */
        {"^\\p{Lu}\\p{Lowercase_Letter}\\P{L}$", "Aa1", true},
        {"^\\p{Script=Greek}+$", "\xce\xb1\xce\xb2", true},
        {"^\\p{sc=Katakana}$", "\xe3\x83\xbc", false}, /* a mark of two scripts is of neither, */
        {"^\\p{scx=Kana}$", "\xe3\x83\xbc", true},     /* but for their extensions */
        {"^\\p{Assigned}\\P{Assigned}$", "a\xcd\xb8", true},
        {"^[^\\W\\p{L}]$", "\xd9\xa0", false},
        {"^[^\\D\\p{Lu}]$", "\xd9\xa0", false},
        {"^[\\W]$", "\xd9\xa0", true},
        {"^[\\p{ASCII}]$", "\x7f", true},
        {"^(?:a|(b))\\1c$", "ac", true}, /* a group that took no part matches empty */
        {"^\\1+c(a)?$", "c", true},
        {"^(?<y>\\d)-\\k<y>$", "7-7", true},
        {"^\\k<b>(a)[(](?:x)(?<b>b)(?<$c>c)\\k<$c>\\k<b>$", "a(xbccb", true},
        {"^(?<a_name_of_more_than_thirty_two_letters>a)$", "a", true},
        {"^a{,2}$", "a{,2}", true},
        {"^x{2}?$", "xx", true},
        {"^\\-\\/\\@$", "-/@", true},
        {"^[a\\-z_]+$", "a-_z", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
        if (match(t[i].pattern, WBI_REGEX_ECMA, t[i].subject) !=
            (t[i].matches ? WBI_REGEX_YES : WBI_REGEX_NO))
            fail_msg("%s on %s", t[i].pattern, t[i].subject);
}

static void what_ecma_lacks_is_refused(void **state)
{
    static const char *const bad[] = {"a++", "\\Aa",  "a\\Z", "(?#c)", "(?P<n>a)", "(*UTF)a",
                                      "*a",  "a**",   "(a",   "a)",    "[a",       "[z-a]",
                                      "\\",  "\\u12", "\\x1", "\\c1",  "\\p{",     "\\pL",
                                      "\\1", "(?i)a", "\\a",  "a|*",   "a{2,1}",   "\\k<n>(?<m>n)"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        struct wbi_regex *re;
        if (wbi_regex_ecma_valid(wbi_str_z(bad[i])))
            fail_msg("%s is let through", bad[i]);
        assert_int_equal(wbi_regex_compile(wbi_str_z(bad[i]), WBI_REGEX_ECMA, &re, &err),
                         WB_EINPUT);
        assert_non_null(strstr(err.text, "byte"));
    }
    assert_true(wbi_regex_ecma_valid(WBI_LIT("(?<=a+)b")));
}

static void a_match_gives_its_spans(void **state)
{
    struct wbi_regex_span spans[4];
    struct wbi_regex *re;

    (void)state;
    assert_int_equal(wbi_regex_compile(WBI_LIT("(k)=(v+)|(z)"), WBI_REGEX_CASELESS, &re, NULL),
                     WB_OK);
    assert_int_equal(wbi_regex_find(re, WBI_LIT("k=v; K=VVV"), 1, spans, 4), WBI_REGEX_YES);
    assert_int_equal(spans[0].from, 5);
    assert_int_equal(spans[0].to, 10);
    assert_int_equal(spans[2].from, 7);
    assert_int_equal(spans[3].from, WBI_REGEX_UNSET);
    assert_int_equal(wbi_regex_find(re, WBI_LIT("k=v"), 4, spans, 1), WBI_REGEX_NO);
    wbi_regex_free(re);
}

static void bytes_need_not_be_text(void **state)
{
    (void)state;
    assert_int_equal(match("^\\xff.$", WBI_REGEX_BYTES, "\xff\xfe"), WBI_REGEX_YES);
    assert_int_equal(match("^b$", WBI_REGEX_MULTILINE, "a\nb\nc"), WBI_REGEX_YES);
}

static void matching_gives_up_in_time(void **state)
{
    struct wbi_regex *re;

    (void)state;
    assert_int_equal(wbi_regex_compile(WBI_LIT("^(a+)+$"), WBI_REGEX_ECMA, &re, NULL), WB_OK);
    assert_int_equal(wbi_regex_test(re, WBI_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
                                    WBI_REGEX_QUICK),
                     WBI_REGEX_LIMIT);
    assert_int_equal(wbi_regex_test(re, WBI_LIT("aaaa"), WBI_REGEX_QUICK), WBI_REGEX_YES);
    wbi_regex_free(re);
    wbi_regex_free(NULL);
}

/* Nothing of it is a step: \w+ runs to the end from each place. */
static void long_subjects_are_given_up_in_time(void **state)
{
    static const struct {
        const char *pattern;
        enum wbi_regex_verdict verdict;
    } t[] = {
        {"(\\w+)=\\1", WBI_REGEX_LIMIT}, /* the = stands where no \w is before it */
        {"z$", WBI_REGEX_YES},           {"[^b]\\n?z", WBI_REGEX_YES},
        {"\\u00e9z$", WBI_REGEX_YES}, /* two bytes, wherever the steps end */
        {"^= a|Q", WBI_REGEX_YES},       {"^a|Q", WBI_REGEX_NO},
    };
    static char text[1u << 20];
    struct wbi_str subject = wbi_str_make(text, sizeof(text));

    (void)state;
    memset(text, 'a', sizeof(text));
    memcpy(text, "= ", 2);
    memcpy(text + sizeof(text) - 3, "\xc3\xa9z", 3);
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct wbi_regex *re;

        assert_int_equal(wbi_regex_compile(wbi_str_z(t[i].pattern), WBI_REGEX_ECMA, &re, NULL),
                         WB_OK);
        if (wbi_regex_test(re, subject, WBI_REGEX_FULL) != t[i].verdict)
            fail_msg("%s", t[i].pattern);
        wbi_regex_free(re);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ecma_syntax_means_what_ecma_says),
        cmocka_unit_test(what_ecma_lacks_is_refused),
        cmocka_unit_test(a_match_gives_its_spans),
        cmocka_unit_test(bytes_need_not_be_text),
        cmocka_unit_test(matching_gives_up_in_time),
        cmocka_unit_test(long_subjects_are_given_up_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
