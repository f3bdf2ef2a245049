/* SPDX-License-Identifier: Apache-2.0
 * json/write_test.c: what is written reads back, and is then written again with
 * the same bytes (C4.1 needs this of every surface). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "json/write.h"
#include "shared_vectors.h"

static struct wbi_arena *arena;
static struct wbi_buf out, again;

static int set_up(void **state)
{
    (void)state;
    wbi_buf_init(&out, 1 << 24);
    wbi_buf_init(&again, 1 << 24);
    return wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_buf_fini(&out);
    wbi_buf_fini(&again);
    wbi_arena_free(arena);
    return 0;
}

static const wbi_json *parse(struct wbi_str text)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;

    if (wbi_json_read(arena, text, WBI_JSON_STRICT, &v, &err) != WB_OK)
        fail_msg("%.*s: %s", WBI_FMT(text), err.text);
    return v;
}

static void assert_stable(struct wbi_str text)
{
    wbi_buf_clear(&out);
    wbi_buf_clear(&again);
    wbi_json_write(&out, parse(text));
    wbi_json_write(&again, parse(wbi_buf_str(&out)));
    assert_int_equal(wbi_buf_rc(&again), WB_OK);
    assert_true(wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&again)));
    wbi_buf_clear(&again);
    wbi_json_pretty(&again, parse(wbi_buf_str(&out)));
    assert_true(wbi_json_equal(parse(wbi_buf_str(&out)), parse(wbi_buf_str(&again))));
}

static void assert_written(const char *text, const char *expected)
{
    wbi_buf_clear(&out);
    wbi_json_write(&out, parse(wbi_str_z(text)));
    assert_string_equal(out.p, expected);
}

static void values_are_written_compactly(void **state)
{
    (void)state;
    assert_written(" { \"b\" : [ 1 , 2.50 , { } , [ ] ] , \"a\" : null } ",
                   "{\"b\":[1,2.5,{},[]],\"a\":null}");
    assert_written("[true,false,\"\"]", "[true,false,\"\"]");
    assert_written("\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\\\/\\u007f\\u00e9\"",
                   "\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\x7f\xc3\xa9\"");
    assert_written("[-0, -0.0, 0e5, 1E2, 1.0, 123456789012345678901234567890]",
                   "[0,0,0,100,1,123456789012345678901234567890]");
    assert_written("[1e20, 1e21, 1e-6, 1e-7, 18446744073709551615, -9223372036854775808]",
                   "[100000000000000000000,1e+21,0.000001,1e-7,18446744073709551615,"
                   "-9223372036854775808]");
}

static void pretty_has_two_spaces_a_level(void **state)
{
    (void)state;
    wbi_buf_clear(&out);
    wbi_json_pretty(&out, parse(WBI_LIT("{\"a\":[1,{\"b\":{}}],\"c\":[]}")));
    assert_string_equal(out.p, "{\n  \"a\": [\n    1,\n    {\n      \"b\": {}\n    }\n  ],\n"
                               "  \"c\": []\n}");
}

static void writing_and_reading_is_stable(void **state)
{
    static const char *const texts[] = {
        "1e20",
        "[0.1,5e-324,1.7976931348623157e308,123e-7,-1.5e300]",
        "{\"\":{\"\":[[],[[]],{}]},\"z\":1,\"a\":2}",
        "\"\\ud83d\\udce6 \\u20ac\"",
        "[99999999999999999999999999,-99999999999999999999999]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_stable(wbi_str_z(texts[i]));
}

static void parsing_vectors_are_stable(void **state)
{
    const char *folder = "vectors/json-parsing/test_parsing";
    char path[1024], name[1400];
    unsigned stable = 0;
    struct dirent *e;
    DIR *d;

    (void)state;
    if (!shared_present(folder))
        return;
    d = opendir(shared_path(path, sizeof(path), folder));
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        struct wbi_buf text;
        const wbi_json *v;

        if (strncmp(e->d_name, "y_", 2) != 0)
            continue;
        (void)snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        assert_true(read_whole_file(name, &text));
        if (wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &v, NULL) == WB_OK) {
            assert_stable(wbi_buf_str(&text));
            stable++;
        }
        wbi_buf_fini(&text);
    }
    closedir(d);
    assert_true(stable > 90);
}

static void ill_formed_text_is_written_as_json_all_the_same(void **state)
{
    (void)state;
    wbi_buf_clear(&out);
    wbi_json_quote(&out, wbi_str_make("a\xff\xe2\x82z\n\xed\xa0\x80", 9));
    assert_string_equal(out.p, "\"a\xef\xbf\xbd\xef\xbf\xbdz\\n\xef\xbf\xbd\xef\xbf\xbd"
                               "\xef\xbf\xbd\"");
    assert_true(wbi_utf8_valid(wbi_buf_str(&out)));
    wbi_buf_clear(&out);
    wbi_json_quote(&out, WBI_NONE);
    assert_string_equal(out.p, "\"\"");
}

/* One special byte at every place of every short length: the words that are
 * looked at at once begin and end everywhere. */
static void a_special_byte_is_seen_wherever_it_stands(void **state)
{
    static const struct {
        char byte;
        const char *written;
    } special[] = {{'"', "\\\""},     {'\\', "\\\\"}, {'\n', "\\n"},
                   {0x1f, "\\u001f"}, {0, "\\u0000"}, {(char)0xff, "\xef\xbf\xbd"},
                   {' ', " "},        {0x7f, "\x7f"}};
    char text[41], expected[64];

    (void)state;
    for (size_t k = 0; k < sizeof(special) / sizeof(special[0]); k++)
        for (size_t n = 1; n <= sizeof(text) - 1; n++)
            for (size_t at = 0; at < n; at++) {
                memset(text, 'x', n);
                text[at] = special[k].byte;
                (void)snprintf(expected, sizeof(expected), "\"%.*s%s%.*s\"", (int)at, text,
                               special[k].written, (int)(n - at - 1), text + at + 1);
                wbi_buf_clear(&out);
                wbi_json_quote(&out, wbi_str_make(text, n));
                assert_string_equal(out.p, expected);
                if ((uint8_t)special[k].byte < 0x80) { /* and from a tree */
                    wbi_buf_clear(&again);
                    wbi_json_write(&again, parse(wbi_buf_str(&out)));
                    assert_string_equal(again.p, expected);
                }
            }
}

static void the_writer_places_commas(void **state)
{
    struct wbi_jw w = wbi_jw_to(&out);

    (void)state;
    wbi_buf_clear(&out);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "s", "x\"y");
    wbi_jw_kstr(&w, "absent", WBI_NONE);
    wbi_jw_key(&w, "list");
    wbi_jw_arr(&w);
    wbi_jw_int(&w, -1);
    wbi_jw_uint(&w, UINT64_MAX);
    wbi_jw_real(&w, 0.5);
    wbi_jw_real(&w, 1.0 / 0.0);
    wbi_jw_arr(&w);
    wbi_jw_arr_end(&w);
    wbi_jw_bool(&w, true);
    wbi_jw_arr_end(&w);
    wbi_jw_kval(&w, "v", parse(WBI_LIT("{\"k\":[1]}")));
    wbi_jw_kraw(&w, "r", WBI_LIT("{}"));
    wbi_jw_knull(&w, "n");
    wbi_jw_kval(&w, "none", NULL);
    wbi_jw_obj_end(&w);
    assert_string_equal(out.p, "{\"s\":\"x\\\"y\",\"absent\":null,"
                               "\"list\":[-1,18446744073709551615,0.5,null,[],true],"
                               "\"v\":{\"k\":[1]},\"r\":{},\"n\":null,\"none\":null}");
}

static void a_full_buffer_fails_the_writer(void **state)
{
    struct wbi_buf small;

    (void)state;
    wbi_buf_init(&small, 4);
    wbi_json_write(&small, parse(WBI_LIT("[1,2,3]")));
    assert_int_equal(wbi_buf_rc(&small), WB_ELIMIT);
    wbi_buf_fini(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_compactly),
        cmocka_unit_test(pretty_has_two_spaces_a_level),
        cmocka_unit_test(writing_and_reading_is_stable),
        cmocka_unit_test(parsing_vectors_are_stable),
        cmocka_unit_test(ill_formed_text_is_written_as_json_all_the_same),
        cmocka_unit_test(a_special_byte_is_seen_wherever_it_stands),
        cmocka_unit_test(the_writer_places_commas),
        cmocka_unit_test(a_full_buffer_fails_the_writer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
