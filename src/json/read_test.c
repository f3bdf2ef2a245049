/* SPDX-License-Identifier: Apache-2.0
 * json/read_test.c: what is read, what is refused, and where (C2.4, I5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_fixture.h"
#include "base/limits.h"
#include "json/json.h"
#include "shared_vectors.h"

static wb_rc read_as(const char *text, enum wbi_json_flags flags, const wbi_json **ret,
                     struct wbi_error *err)
{
    return wbi_json_read(arena, wbi_str_z(text), flags, ret, err);
}

static const wbi_json *good(const char *text)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;

    assert_int_equal(read_as(text, WBI_JSON_STRICT, &v, &err), WB_OK);
    return v;
}

/* Texts that RFC 8259 leaves open and that we read; all other i_ texts are
 * refused. docs/json.md has the same list with reasons. */
static const char *const open_but_read[] = {
    "i_number_double_huge_neg_exp.json",   "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",       "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json", "i_structure_500_nested_arrays.json",
};

/* C2.4 overrules the suite here. */
static const char *const valid_but_refused[] = {
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
};

static bool in(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static bool expected_to_read(const char *name)
{
    if (name[0] == 'y')
        return !in(name, valid_but_refused, 2);
    return name[0] == 'i' && in(name, open_but_read, 6);
}

/* I5: "of vectors/json-parsing all y_ parse but [two]"; n_ are refused. */
static void parsing_vectors_hold(void **state)
{
    const char *folder = "vectors/json-parsing/test_parsing";
    char path[1024], name[1400];
    unsigned seen = 0;
    struct dirent *e;
    DIR *d;

    (void)state;
    if (!shared_present(folder))
        return;
    d = opendir(shared_path(path, sizeof(path), folder));
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        struct wbi_error err = WBI_ERROR_INIT;
        const wbi_json *v = NULL;
        struct wbi_buf text;
        wb_rc rc;

        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        assert_true(read_whole_file(name, &text));
        rc = wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &v, &err);
        if ((rc == WB_OK) != expected_to_read(e->d_name))
            fail_msg("%s: %s", e->d_name, rc == WB_OK ? "was read" : err.text);
        if (rc != WB_OK)
            assert_true(err.line >= 1 && err.column >= 1);
        wbi_buf_fini(&text);
        wbi_arena_reset(arena);
        seen++;
    }
    closedir(d);
    assert_int_equal(seen, 318);
}

static void errors_say_line_and_column(void **state)
{
    static const struct {
        const char *text;
        unsigned line, column;
    } cases[] = {
        {"", 1, 1},
        {"{\n  \"a\": 1,\n  \"a\": 2\n}", 3, 3},
        {"{\"x\": {\"\\u0061\": 1, \"b\": 2, \"a\": 3}}", 1, 29},
        {"[1,\n 1e999]", 2, 2},
        {"[1,\n -1e999]", 2, 2},
        {"[1, 2,]", 1, 6},
        {"[1] 2", 1, 5},
        {"{\"a\": tru}", 1, 7},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        const wbi_json *v = NULL;

        assert_int_equal(read_as(cases[i].text, WBI_JSON_STRICT, &v, &err), WB_EINPUT);
        assert_null(v);
        if (err.line != cases[i].line || err.column != cases[i].column)
            fail_msg("%s: %s at %u:%u", cases[i].text, err.text, err.line, err.column);
        assert_true(strlen(err.text) > 0);
    }
}

/* What is said depends on the text alone, not on the version of yyjson: receipts and ledgers
 * hold it. */
static void errors_are_in_our_own_words(void **state)
{
#define UNEXPECTED "unexpected character, expected a "
    static const struct {
        const char *text;
        unsigned column;
        const char *says;
    } cases[] = {
        {"  ]", 3, UNEXPECTED "valid root value"},
        {"{bad", 2, UNEXPECTED "string for object key"},
        {"{\"a\":[{}],2}", 11, UNEXPECTED "string for object key"},
        {"{\"a:\\\"{\"1}", 9, UNEXPECTED "colon after object key"},
        {"{\"a\": }", 7, UNEXPECTED "valid JSON value"},
        {"[[], +1]", 6, UNEXPECTED "valid JSON value"},
        {"[\"]\", [1,,2]]", 10, UNEXPECTED "valid JSON value"},
        {"{\"a\":[1] 2}", 10, UNEXPECTED "comma or a closing brace"},
        {"[{\"a\":1} 2]", 10, UNEXPECTED "comma or a closing bracket"},
        {"[1,]", 3, "trailing comma is not allowed"},
        {"[01]", 2, "invalid number, expected digits without a leading zero"},
        {"[-]", 3, "invalid number, expected digits without a leading zero"},
        {"[nulL]", 2, "invalid literal, expected a valid literal such as 'null'"},
        {"trux", 1, "invalid literal, expected a valid literal such as 'true'"},
        {"falsy", 1, "invalid literal, expected a valid literal such as 'false'"},
        {"\"a\nb\"", 3, "unexpected control character in string"},
        {"\"\xff\"", 2, "invalid UTF-8 encoding in string"},
        {"\"a\\q\"", 3, "invalid escaped sequence in string"},
        {"\"a\\ud800\"", 3, "invalid escaped sequence in string"},
        {"\"a\\uD800\\u0041\"", 3, "invalid escaped sequence in string"},
        {"\"a\\ude00\"", 3, "invalid escaped sequence in string"},
        {"1 2", 3, "unexpected content after document"},
        {"[\"abc", 6, "unexpected end of data"},
        {"\xef\xbb\xbf{}", 1, "byte order mark (BOM) is not supported"},
    };
#undef UNEXPECTED

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        const wbi_json *v = NULL;

        assert_int_equal(read_as(cases[i].text, WBI_JSON_STRICT, &v, &err), WB_EINPUT);
        if (err.column != cases[i].column || strcmp(err.text, cases[i].says) != 0)
            fail_msg("%s: %s at %u", cases[i].text, err.text, err.column);
    }
}

static void nested(struct wbi_buf *b, size_t depth, const char *open, const char *middle,
                   const char *close)
{
    wbi_buf_clear(b);
    for (size_t i = 0; i < depth; i++)
        wbi_buf_addz(b, open);
    wbi_buf_addz(b, middle);
    for (size_t i = 0; i < depth; i++)
        wbi_buf_addz(b, close);
}

static void depth_has_a_limit(void **state)
{
    static const struct {
        const char *open, *middle, *close;
        unsigned column;
    } cases[] = {{"[", "", "]", 513}, {"{\"[\\\"\":", "1", "}", 513 * 7 - 6}};
    struct wbi_buf b;

    (void)state;
    wbi_buf_init(&b, 1 << 20);
    for (size_t i = 0; i < 2; i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        const wbi_json *v = NULL;

        nested(&b, WBI_LIMIT_JSON_DEPTH, cases[i].open, cases[i].middle, cases[i].close);
        assert_int_equal(wbi_json_read(arena, wbi_buf_str(&b), WBI_JSON_STRICT, &v, &err), WB_OK);
        nested(&b, WBI_LIMIT_JSON_DEPTH + 1, cases[i].open, cases[i].middle, cases[i].close);
        assert_int_equal(wbi_json_read(arena, wbi_buf_str(&b), WBI_JSON_STRICT, &v, &err),
                         WB_ELIMIT);
        assert_int_equal(err.column, cases[i].column);
    }
    wbi_buf_fini(&b);
}

/* Brackets inside comments and strings are no depth. */
static void depth_ignores_comments(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;
    struct wbi_buf b;

    (void)state;
    wbi_buf_init(&b, 1 << 20);
    wbi_buf_addz(&b, "/* don't \" stop ");
    for (int i = 0; i < 600; i++)
        wbi_buf_addc(&b, '[');
    wbi_buf_addz(&b, " */ // [[[\n{\"a\": [1, 2,], }");
    assert_int_equal(wbi_json_read(arena, wbi_buf_str(&b), WBI_JSON_CONFIG, &v, &err), WB_OK);
    assert_int_equal(wbi_json_count(wbi_json_get(v, "a")), 2);
    wbi_buf_fini(&b);
}

static void comments_and_commas_are_for_configuration_only(void **state)
{
    const wbi_json *v = NULL;

    (void)state;
    assert_int_equal(read_as("[1, 2,]", WBI_JSON_CONFIG, &v, NULL), WB_OK);
    assert_int_equal(read_as("[1, 2] // two", WBI_JSON_CONFIG, &v, NULL), WB_OK);
    assert_int_equal(read_as("[1, 2,,]", WBI_JSON_CONFIG, &v, NULL), WB_EINPUT);
    assert_int_equal(read_as("[1, 2,]", WBI_JSON_STRICT, &v, NULL), WB_EINPUT);
    assert_int_equal(read_as("[1, 2] // two", WBI_JSON_STRICT, &v, NULL), WB_EINPUT);
    assert_int_equal(read_as("[NaN]", WBI_JSON_CONFIG, &v, NULL), WB_EINPUT);
}

/* C2.4: "Duplicate member names anywhere in a message are refused". */
static void duplicates_are_found_at_any_size_and_depth(void **state)
{
    static const size_t sizes[] = {2, 16, 17, 40, 1000};
    struct wbi_buf b;

    (void)state;
    wbi_buf_init(&b, 1 << 20);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (int twice = 0; twice < 2; twice++) {
            struct wbi_error err = WBI_ERROR_INIT;
            const wbi_json *v = NULL;

            wbi_buf_clear(&b);
            wbi_buf_addz(&b, "[[{\"k\": {");
            for (size_t i = 1; i < sizes[s]; i++)
                wbi_buf_addf(&b, "\"n%zu\": 0, ", i);
            wbi_buf_addf(&b, "\"n%zu\": 0}}]]", twice ? 1 : sizes[s]);
            assert_int_equal(wbi_json_read(arena, wbi_buf_str(&b), WBI_JSON_STRICT, &v, &err),
                             twice ? WB_EINPUT : WB_OK);
            if (twice)
                assert_int_equal(err.offset, b.n - strlen("\"n1\": 0}}]]"));
        }
    }
    wbi_buf_fini(&b);
    assert_non_null(good("[{\"a\":1},{\"a\":1}]"));
}

/* I5: "decimals become the nearest double; integers beyond … are kept exact as
 * text …; overflow is refused". */
static void numbers_keep_their_value(void **state)
{
    const wbi_json *v =
        good("[9007199254740993, 18446744073709551615, 18446744073709551616, "
             "-9223372036854775808, -9223372036854775809, 0.1, 1e-400, 1e19, 5.5, -0]");
    uint64_t u;
    int64_t i;

    (void)state;
    assert_true(wbi_json_i64(wbi_json_at(v, 0), &i) && i == INT64_C(9007199254740993));
    assert_true(wbi_json_u64(wbi_json_at(v, 1), &u) && u == UINT64_MAX);
    assert_false(wbi_json_i64(wbi_json_at(v, 1), &i));
    assert_int_equal(wbi_json_type(wbi_json_at(v, 2)), WBI_JSON_BIG);
    assert_true(wbi_str_eqz(wbi_json_str(wbi_json_at(v, 2)), "18446744073709551616"));
    assert_true(wbi_json_num(wbi_json_at(v, 2)) == 18446744073709551616.0);
    assert_true(wbi_json_i64(wbi_json_at(v, 3), &i) && i == INT64_MIN);
    assert_int_equal(wbi_json_type(wbi_json_at(v, 4)), WBI_JSON_BIG);
    assert_true(wbi_json_num(wbi_json_at(v, 5)) == 0.1);
    assert_true(wbi_json_num(wbi_json_at(v, 6)) == 0);
    assert_true(wbi_json_u64(wbi_json_at(v, 7), &u) && u == UINT64_C(10000000000000000000));
    assert_false(wbi_json_u64(wbi_json_at(v, 8), &u));
    assert_false(wbi_json_u64(wbi_json_at(v, 3), &u));
    assert_true(wbi_json_u64(wbi_json_at(v, 9), &u) && u == 0);
    assert_null(wbi_json_at(v, 10));
}

static void equality_is_by_value(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"1", "1.0", true},
        {"1e19", "10000000000000000000", true},
        {"1e20", "100000000000000000000", true},
        {"1e20", "100000000000000000001", false},
        {"1e23", "100000000000000000000000", false}, /* the double is another number */
        {"9007199254740992.0", "9007199254740993", false},
        {"18446744073709551616", "18446744073709551616", true},
        {"-1", "18446744073709551615", false},
        {"{\"a\":1,\"b\":[{}]}", "{\"b\":[{}],\"a\":1}", true},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"[1,2]", "[2,1]", false},
        {"[]", "{}", false},
        {"0", "false", false},
        {"\"1\"", "1", false},
        {"[[1,[2]],3]", "[[1,[2]],3]", true},
        {"[[1,[2]],3]", "[[1,[2,2]],3]", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const wbi_json *a = good(cases[i].a), *b = good(cases[i].b);

        if (wbi_json_equal(a, b) != cases[i].equal || wbi_json_equal(b, a) != cases[i].equal)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
    }
    assert_false(wbi_json_equal(NULL, good("null")));
}

/* Objects of the same members in opposite order stay affordable. */
static void equality_of_large_objects_is_not_quadratic(void **state)
{
    const wbi_json *v = NULL;
    struct wbi_buf b;

    (void)state;
    wbi_buf_init(&b, 8 << 20);
    wbi_buf_addz(&b, "[{");
    for (int i = 0; i < 100000; i++)
        wbi_buf_addf(&b, "%s\"k%06d\":%d", i ? "," : "", i, i);
    wbi_buf_addz(&b, "},{");
    for (int i = 99999; i >= 0; i--)
        wbi_buf_addf(&b, "\"k%06d\":%d%s", i, i, i ? "," : "");
    wbi_buf_addz(&b, "}]");
    assert_int_equal(wbi_json_read(arena, wbi_buf_str(&b), WBI_JSON_STRICT, &v, NULL), WB_OK);
    assert_true(wbi_json_equal(wbi_json_at(v, 0), wbi_json_at(v, 1)));
    wbi_buf_fini(&b);
}

static void absent_values_are_harmless(void **state)
{
    const wbi_json *none = NULL;
    unsigned seen = 0;

    (void)state;
    WBI_JSON_EACH (none, e) {
        seen += e != NULL;
    }
    WBI_JSON_EACH_MEMBER (none, k) {
        seen += k_val != NULL;
    }
    assert_int_equal(seen, 0);
    assert_null(wbi_json_get(NULL, "a"));
    assert_null(wbi_json_at(good("{}"), 0));
    assert_null(wbi_json_get_str(good("{\"a\":1}"), "a").p);
    assert_string_equal(wbi_json_type_name(NULL), "nothing");
    assert_string_equal(wbi_json_type_name(good("1e30")), "number");
}

/* What is refused can still be asked for its ids; what is no JSON cannot. */
static void refused_texts_can_be_looked_into(void **state)
{
    static const char *const texts[] = {
        "{\"id\":\"x\",\"a\":1,\"a\":2}",
        "{\"id\":\"x\",\"id\":\"y\"}",
        "{\"id\":\"x\",\"a\":\"\\ud83d\"}",
        "{\"id\":\"x\",\"a\":\"\\\\\\uDE00\\ud83d\\u0041\"}",
        "{\"id\":\"x\",\"a\":\"\xff \xe2\x82 \xed\xa0\x80\"}",
        "{\"id\":\"x\",\"a\":-1e999}",
        "{\"id\":\"x\",\"a\":\"\t\n\"}",
    };
    const wbi_json *v = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(read_as(texts[i], WBI_JSON_STRICT, &v, NULL), WB_EINPUT);
        assert_int_equal(read_as(texts[i], WBI_JSON_TO_REFUSE, &v, NULL), WB_OK);
        assert_true(wbi_str_eqz(wbi_json_get_str(v, "id"), "x"));
    }
    assert_int_equal(read_as("[\"\\\\ud83d \\ud83d\\ude00 \\ud83d\\ud83d\\ude00 \xc3(\"]",
                             WBI_JSON_TO_REFUSE, &v, NULL),
                     WB_OK);
    assert_true(wbi_str_eqz(wbi_json_str(wbi_json_at(v, 0)),
                            "\\ud83d \xf0\x9f\x98\x80 \xef\xbf\xbd\xf0\x9f\x98\x80 ?("));
    assert_int_equal(read_as("{\"a\":\"\\ud8", WBI_JSON_TO_REFUSE, &v, NULL), WB_EINPUT);
    assert_int_equal(read_as("\\", WBI_JSON_TO_REFUSE, &v, NULL), WB_EINPUT);
    assert_int_equal(read_as("", WBI_JSON_TO_REFUSE, &v, NULL), WB_EINPUT);
}

/* A call that is too deep still has an id to be answered to. */
static void what_lies_too_deep_is_left_out_to_refuse(void **state)
{
    static const char deep[] = "[1,{\"\\\"]\\u0041\":[\"[{\"]}]";
    char text[4 * WBI_LIMIT_JSON_DEPTH + sizeof(deep) + 32];
    const wbi_json *v = NULL;
    size_t n = 0;

    (void)state;
    n += (size_t)sprintf(text + n, "{\"id\":\"x\",\"a\":");
    for (size_t i = 1; i < WBI_LIMIT_JSON_DEPTH; i++)
        text[n++] = '[';
    n += (size_t)sprintf(text + n, "%s,2", deep);
    for (size_t i = 1; i < WBI_LIMIT_JSON_DEPTH; i++)
        text[n++] = ']';
    (void)sprintf(text + n, ",\"b\":3}");
    assert_int_equal(read_as(text, WBI_JSON_STRICT, &v, NULL), WB_ELIMIT);
    assert_int_equal(read_as(text, WBI_JSON_TO_REFUSE, &v, NULL), WB_OK);
    assert_true(wbi_str_eqz(wbi_json_get_str(v, "id"), "x"));
    assert_true(wbi_json_get(v, "b") != NULL);
    v = wbi_json_get(v, "a");
    for (size_t i = 2; i < WBI_LIMIT_JSON_DEPTH; i++)
        v = wbi_json_at(v, 0);
    assert_int_equal(wbi_json_count(v), 2);
    assert_int_equal(wbi_json_type(wbi_json_at(v, 0)), WBI_JSON_INT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_vectors_hold),
        cmocka_unit_test(errors_say_line_and_column),
        cmocka_unit_test(errors_are_in_our_own_words),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(depth_ignores_comments),
        cmocka_unit_test(comments_and_commas_are_for_configuration_only),
        cmocka_unit_test(duplicates_are_found_at_any_size_and_depth),
        cmocka_unit_test(numbers_keep_their_value),
        cmocka_unit_test(equality_is_by_value),
        cmocka_unit_test(equality_of_large_objects_is_not_quadratic),
        cmocka_unit_test(refused_texts_can_be_looked_into),
        cmocka_unit_test(what_lies_too_deep_is_left_out_to_refuse),
        cmocka_unit_test(absent_values_are_harmless),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
