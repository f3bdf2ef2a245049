/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_known_test.c: known values in every form they are written in (C8.8; attack
 * rows 102, 104 and 105). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "text/secrets.h"

static struct wbi_secrets *set;
static struct wbi_secrets_report report;

static int open_set(void **state)
{
    static const struct wbi_secrets_known known[] = {
        {WBI_LIT_INIT("correct horse battery"), WBI_LIT_INIT("DB_PASSWORD")},
        {WBI_LIT_INIT("p@ss/w\"rd-19xyz"), WBI_LIT_INIT("QUOTED")},
        {WBI_LIT_INIT("x"), WBI_LIT_INIT("ONE")},
        {WBI_LIT_INIT("a&b/c d<\xc3\xa9\xf0\x9f\x98\x80>(+'\"z"), WBI_LIT_INIT("ODD")},
        {WBI_LIT_INIT("not \xff UTF-8 \"\xe2\x82"), WBI_LIT_INIT("BROKEN")},
    };
    struct wbi_secrets_options o = {WBI_LIT("key of the test"), known, 5};

    (void)state;
    return wbi_secrets_new(&o, &set, NULL, NULL) == WB_OK ? 0 : 1;
}

static int close_set(void **state)
{
    (void)state;
    wbi_secrets_free(set);
    return 0;
}

static void replace(struct wbi_str in, struct wbi_buf *out)
{
    wbi_buf_clear(out);
    memset(&report, 0, sizeof report);
    assert_int_equal(wbi_secrets_replace(set, in, out, &report), WB_OK);
}

static bool holds(const struct wbi_buf *b, struct wbi_str s)
{
    return wbi_str_find(wbi_buf_str(b), s) < b->n;
}

/* Each of the n texts holds the value of that name, once. */
static void each_is_found(const char *const *texts, size_t n, const char *label)
{
    struct wbi_buf out;

    wbi_buf_init(&out, 8192);
    for (size_t i = 0; i < n; i++) {
        replace(wbi_str_z(texts[i]), &out);
        if (report.total != 1)
            fail_msg("not found: %s", texts[i]);
        assert_string_equal(report.row[0].label, label);
    }
    wbi_buf_fini(&out);
}

/* row 104: known values in all their forms */
static void known_values_are_found_encoded(void **state)
{
    static const char *const forms_of_it[] = {
        "say correct horse battery now",
        "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5",         /* base64, phase 0 */
        "eGNvcnJlY3QgaG9yc2UgYmF0dGVyeXh4eA==", /* x + value + xxx */
        "eHhjb3JyZWN0IGhvcnNlIGJhdHRlcnl4eHg=", /* xx + value + xxx */
        "q=correct%20horse%20battery",
        "q=correct+horse+battery",
        "636f727265637420686f7273652062617474657279",
        "636F727265637420686F7273652062617474657279",
    };
    struct wbi_buf out;

    (void)state;
    wbi_buf_init(&out, 8192);
    each_is_found(forms_of_it, sizeof forms_of_it / sizeof *forms_of_it, "DB_PASSWORD");
    replace(WBI_LIT("{\"v\":\"p@ss/w\\\"rd-19xyz\"} p%40ss%2Fw%22rd-19xyz"), &out);
    assert_int_equal(report.total, 2);
    replace(WBI_LIT("x marks the spot"), &out); /* row 105 */
    assert_int_equal(report.total, 0);
    wbi_buf_fini(&out);
}

/* row 104: as the libraries of other languages write them */
static void known_values_are_found_as_others_escape_them(void **state)
{
    static const char *const forms_of_it[] = {
        "{\"v\":\"a\\u0026b/c d\\u003c\xc3\xa9\xf0\x9f\x98\x80\\u003e(+'\\\"z\"}", /* Go */
        "{\"v\":\"a&b\\/c d<\\u00e9\\ud83d\\ude00>(+'\\\"z\"}",                    /* PHP */
        "{\"v\":\"a&b\\/c d<\xc3\xa9\xf0\x9f\x98\x80>(+'\\\"z\"}",                 /* PHP */
        "{\"v\":\"a&b/c d<\\u00e9\\ud83d\\ude00>(+'\\\"z\"}",                      /* Python */
        "{\"v\":\"a\\u0026b/c d\\u003c\xc3\xa9\xf0\x9f\x98\x80\\u003e(+\\u0027\\\"z\"}", /* Gson */
        "{\"v\":\"a\\u0026b/c d\\u003C\\u00E9\\uD83D\\uDE00\\u003E(\\u002B\\u0027\\u0022z\"}",
        "q=a%26b%2fc+d%3c%c3%a9%f0%9f%98%80%3e%28%2b%27%22z&r=1",
        "q=a%26b%2Fc%20d%3C%C3%A9%F0%9F%98%80%3E(%2B'%22z",
        "/a%26b/c%20d%3C%C3%A9%F0%9F%98%80%3E%28%2B%27%22z",
    };

    (void)state;
    each_is_found(forms_of_it, sizeof forms_of_it / sizeof *forms_of_it, "ODD");
}

/* A value of several lines, cut at every byte. */
static void a_known_value_of_several_lines_is_found_across_reads(void **state)
{
    static const struct wbi_secrets_known known = {
        WBI_LIT_INIT("first line of it\nand a second one"), WBI_LIT_INIT("BLOCK")};
    struct wbi_secrets_options o = {WBI_LIT("k"), &known, 1};
    struct wbi_str text = WBI_LIT("log a\nvalue: first line of it\nand a second one!\nlog b\n");
    struct wbi_secrets *own = NULL;
    struct wbi_secrets_stream st;
    struct wbi_buf out;

    (void)state;
    assert_int_equal(wbi_secrets_new(&o, &own, NULL, NULL), WB_OK);
    wbi_buf_init(&out, 1u << 20);
    for (size_t cut = 0; cut <= text.n; cut++) {
        wbi_buf_clear(&out);
        wbi_secrets_stream_init(&st, own);
        assert_int_equal(wbi_secrets_stream_feed(&st, wbi_str_head(text, cut), &out), WB_OK);
        assert_int_equal(wbi_secrets_stream_feed(&st, wbi_str_from(text, cut), &out), WB_OK);
        assert_int_equal(wbi_secrets_stream_finish(&st, &out), WB_OK);
        assert_int_equal(st.report.total, 1);
        assert_false(holds(&out, WBI_LIT("second")));
        assert_true(holds(&out, WBI_LIT("]\n!\nlog b\n")));
        wbi_secrets_stream_fini(&st);
    }
    wbi_buf_fini(&out);
    wbi_secrets_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values_are_found_encoded),
        cmocka_unit_test(known_values_are_found_as_others_escape_them),
        cmocka_unit_test(a_known_value_of_several_lines_is_found_across_reads),
    };
    return cmocka_run_group_tests(tests, open_set, close_set);
}
