/* SPDX-License-Identifier: Apache-2.0
 * schema/limits_test.c: no schema and no instance can hang or exhaust the
 * validator (C3.3, issue 5): each limit is reached once. Times are generous:
 * what they rule out is exponential work, not a slow machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_fixture.h"
#include "base/clock.h"
#include "base/limits.h"
#include "schema/schema.h"

static const wbi_json *json_of(struct wbi_buf *b)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;

    assert_int_equal(wbi_buf_rc(b), WB_OK);
    if (wbi_json_read(arena, wbi_buf_str(b), WBI_JSON_STRICT, &v, &err) != WB_OK)
        fail_msg("bad JSON in the test: %s", err.text);
    return v;
}

static const wbi_json *json(const char *text)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, arena, 64 * WBI_MIB);
    wbi_buf_addz(&b, text);
    return json_of(&b);
}

/* before, then `each` n times with commas, then after */
static const wbi_json *repeated(const char *before, const char *each, size_t n, const char *after)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, arena, 64 * WBI_MIB);
    wbi_buf_addz(&b, before);
    for (size_t i = 0; i < n; i++) {
        wbi_buf_addz(&b, i > 0 ? "," : "");
        wbi_buf_addz(&b, each);
    }
    wbi_buf_addz(&b, after);
    return json_of(&b);
}

static wb_rc compile(const wbi_json *schema, struct wbi_schema **ret, struct wbi_error *err)
{
    *ret = NULL;
    return wbi_schema_compile(schema, NULL, ret, err);
}

static double seconds_since(int64_t start)
{
    struct wbi_clock c = wbi_clock_system();

    return (double)(wbi_now_ns(&c) - start) / 1e9;
}

static int64_t now(void)
{
    struct wbi_clock c = wbi_clock_system();

    return wbi_now_ns(&c);
}

static void a_hundred_thousand_subschemas_compile_and_one_more_is_refused(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema *s;
    int64_t start = now();

    (void)state;
    assert_int_equal(
        compile(repeated("{\"allOf\":[", "{\"minimum\":1}", WBI_LIMIT_SCHEMA_SUBSCHEMAS - 1, "]}"),
                &s, &err),
        WB_OK);
    assert_true(wbi_schema_valid(s, json("1")));
    assert_false(wbi_schema_valid(s, json("0")));
    wbi_schema_free(s);
    assert_int_equal(
        compile(repeated("{\"allOf\":[", "true", WBI_LIMIT_SCHEMA_SUBSCHEMAS, "]}"), &s, &err),
        WB_ELIMIT);
    assert_true(seconds_since(start) < 20);
}

static void loops_of_references_are_refused(void **state)
{
    static const char *const loops[] = {
        "{\"$ref\":\"#\"}",
        "{\"allOf\":[{\"$ref\":\"#\"}]}",
        ("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},"
         "\"b\":{\"anyOf\":[{\"type\":\"null\"},{\"not\":{\"$ref\":\"#/$defs/a\"}}]}}}"),
        "{\"if\":true,\"then\":{\"$ref\":\"#\"}}",
        "{\"dependentSchemas\":{\"a\":{\"$ref\":\"#\"}}}",
        "{\"$dynamicAnchor\":\"a\",\"$dynamicRef\":\"#a\"}"};

    (void)state;
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        struct wbi_schema *s;
        assert_int_equal(compile(json(loops[i]), &s, &err), WB_EINPUT);
        assert_non_null(strstr(err.text, "refers to itself"));
    }
}

/* A loop that only the dynamic scope closes is stopped while validating. */
static void loops_through_dynamic_scope_end(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema_report report;
    struct wbi_schema *s;

    (void)state;
    assert_int_equal(
        compile(json("{\"$id\":\"http://x/a\",\"$dynamicAnchor\":\"n\",\"$ref\":\"b\",\"$defs\":{"
                     "\"b\":{\"$id\":\"b\",\"$dynamicRef\":\"#n\",\"$defs\":{\"n\":"
                     "{\"$dynamicAnchor\":\"n\"}}}}}"),
                &s, &err),
        WB_OK);
    assert_false(wbi_schema_valid(s, json("1")));
    assert_int_equal(wbi_schema_check(s, json("1"), arena, &report, &err), WB_ELIMIT);
    wbi_schema_free(s);
}

static void recursive_references_follow_the_deepest_instance(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema *s;
    struct wbi_buf b;

    (void)state;
    assert_int_equal(compile(json("{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"anyOf\":[{\"type\":"
                                  "\"integer\"},{\"items\":{\"$ref\":\"#/$defs/t\"},\"type\":"
                                  "\"array\"}]}}}"),
                             &s, &err),
                     WB_OK);
    wbi_buf_init_arena(&b, arena, WBI_MIB);
    for (unsigned i = 0; i < WBI_LIMIT_JSON_DEPTH; i++)
        wbi_buf_addc(&b, '[');
    wbi_buf_addz(&b, "7");
    for (unsigned i = 0; i < WBI_LIMIT_JSON_DEPTH; i++)
        wbi_buf_addc(&b, ']');
    assert_true(wbi_schema_valid(s, json_of(&b)));
    *strchr(b.p, '7') = ' ';
    assert_true(wbi_schema_valid(s, json_of(&b)));
    wbi_schema_free(s);
}

/* Each level asks the next twice: 2^60 visits without a budget. */
static void exponential_schemas_run_out_of_steps(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema_report report;
    struct wbi_schema *s;
    struct wbi_buf b;
    int64_t start = now();

    (void)state;
    wbi_buf_init_arena(&b, arena, WBI_MIB);
    wbi_buf_addz(&b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 60; i++)
        wbi_buf_addf(&b,
                     "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},",
                     i, i + 1, i + 1);
    wbi_buf_addz(&b, "\"d60\":{\"type\":\"integer\"}}}");
    assert_int_equal(compile(json_of(&b), &s, &err), WB_OK);
    assert_false(wbi_schema_valid(s, json("1")));
    assert_int_equal(wbi_schema_check(s, json("1"), arena, &report, &err), WB_ELIMIT);
    wbi_schema_free(s);
    assert_true(seconds_since(start) < 30);
}

static void catastrophic_patterns_are_given_up(void **state)
{
    static const char *const patterns[] = {
        "{\"pattern\":\"^(a+)+$\"}", "{\"pattern\":\"^(a|a)*$\"}", "{\"pattern\":\"(.*a){25}$\"}",
        "{\"patternProperties\":{\"^(a|aa)+$\":false}}", "{\"pattern\":\"^(([a-z])+.)+[A-Z]$\"}"};
    int64_t start = now();

    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        struct wbi_schema_report report;
        struct wbi_schema *s;
        const char *text = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
        struct wbi_buf b;

        wbi_buf_init_arena(&b, arena, WBI_MIB);
        wbi_buf_addf(&b, strstr(patterns[i], "Properties") ? "{\"%s\":1}" : "\"%s\"", text);
        assert_int_equal(compile(json(patterns[i]), &s, &err), WB_OK);
        assert_false(wbi_schema_valid(s, json_of(&b)));
        assert_int_equal(wbi_schema_check(s, json_of(&b), arena, &report, &err), WB_ELIMIT);
        wbi_schema_free(s);
    }
    assert_true(seconds_since(start) < 20);
}

/* Many strings, each of which would cost the most a match may cost. */
static void the_work_of_all_matches_is_bounded_together(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema_report report;
    struct wbi_schema *s;
    int64_t start = now();

    (void)state;
    assert_int_equal(compile(json("{\"items\":{\"pattern\":\"^(a+)+$\"}}"), &s, &err), WB_OK);
    assert_int_equal(
        wbi_schema_check(s,
                         repeated("[", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"", 100000, "]"),
                         arena, &report, &err),
        WB_ELIMIT);
    wbi_schema_free(s);
    assert_true(seconds_since(start) < 20);
}

static void large_arrays_are_searched_for_duplicates_in_linear_time(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema *s;
    struct wbi_buf b;
    int64_t start = now();

    (void)state;
    assert_int_equal(compile(json("{\"uniqueItems\":true}"), &s, &err), WB_OK);
    wbi_buf_init_arena(&b, arena, 64 * WBI_MIB);
    for (int i = 0; i < 300000; i++)
        wbi_buf_addf(&b, "%s{\"a\":%d,\"b\":[%d]}", i == 0 ? "[" : ",", i, i / 2);
    wbi_buf_addz(&b, "]");
    assert_true(wbi_schema_valid(s, json_of(&b)));
    b.n--;
    wbi_buf_addz(&b, ",{\"b\":[0],\"a\":0.0}]");
    assert_false(wbi_schema_valid(s, json_of(&b)));
    wbi_schema_free(s);
    assert_true(seconds_since(start) < 20);
}

/* Names chosen to look alike to the short key of the table of names. */
static void names_that_look_alike_cost_no_more(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema *s;
    struct wbi_buf b;
    int64_t start = now();

    (void)state;
    wbi_buf_init_arena(&b, arena, 64 * WBI_MIB);
    wbi_buf_addz(&b, "{\"additionalProperties\":false,\"properties\":{");
    for (int i = 0; i < 90000; i++)
        wbi_buf_addf(&b, "%s\"aaaaaaaa%08dzzzzzzzz\":true", i == 0 ? "" : ",", i);
    wbi_buf_addz(&b, "}}");
    assert_int_equal(compile(json_of(&b), &s, &err), WB_OK);
    assert_true(wbi_schema_valid(s, wbi_json_get(json_of(&b), "properties")));
    assert_false(wbi_schema_valid(s, json("{\"aaaaaaaa00090000zzzzzzzz\":1}")));
    wbi_schema_free(s);
    assert_true(seconds_since(start) < 20);
}

static void many_required_names_are_all_asked_for(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema_report report;
    struct wbi_schema *s;
    struct wbi_buf schema, instance;

    (void)state;
    wbi_buf_init_arena(&schema, arena, WBI_MIB);
    wbi_buf_init_arena(&instance, arena, WBI_MIB);
    for (int i = 0; i < 100; i++) {
        wbi_buf_addf(&schema, "%s\"m%d\"", i == 0 ? "{\"required\":[" : ",", i);
        wbi_buf_addf(&instance, "%s\"m%d\":%d", i == 0 ? "{" : ",", i == 70 ? 1000 : i, i);
    }
    wbi_buf_addz(&schema, "]}");
    wbi_buf_addz(&instance, "}");
    assert_int_equal(compile(json_of(&schema), &s, &err), WB_OK);
    assert_int_equal(wbi_schema_check(s, json_of(&instance), arena, &report, &err), WB_OK);
    assert_int_equal(report.n_errors, 1);
    assert_true(wbi_str_eqz(report.errors[0].missing, "m70"));
    wbi_schema_free(s);
}

static void long_patterns_and_references_are_refused(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema *s;
    struct wbi_buf b;

    (void)state;
    wbi_buf_init_arena(&b, arena, WBI_MIB);
    wbi_buf_addz(&b, "{\"pattern\":\"");
    for (unsigned i = 0; i <= WBI_LIMIT_REGEX_PATTERN; i++)
        wbi_buf_addc(&b, 'a');
    wbi_buf_addz(&b, "\"}");
    assert_int_equal(compile(json_of(&b), &s, &err), WB_ELIMIT);
    memcpy(b.p, "{  \"$ref\" :\"", 12);
    assert_int_equal(compile(json_of(&b), &s, &err), WB_ELIMIT);
    wbi_buf_clear(&b);
    wbi_buf_addz(&b, "{\"patternProperties\":{");
    for (unsigned i = 0; i <= WBI_LIMIT_SCHEMA_PATTERNS; i++)
        wbi_buf_addf(&b, "%s\"p%u\":true", i == 0 ? "" : ",", i);
    wbi_buf_addz(&b, "}}");
    assert_int_equal(compile(json_of(&b), &s, &err), WB_ELIMIT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_hundred_thousand_subschemas_compile_and_one_more_is_refused),
        TEST(loops_of_references_are_refused),
        TEST(loops_through_dynamic_scope_end),
        TEST(recursive_references_follow_the_deepest_instance),
        TEST(exponential_schemas_run_out_of_steps),
        TEST(catastrophic_patterns_are_given_up),
        TEST(the_work_of_all_matches_is_bounded_together),
        TEST(large_arrays_are_searched_for_duplicates_in_linear_time),
        TEST(names_that_look_alike_cost_no_more),
        TEST(many_required_names_are_all_asked_for),
        TEST(long_patterns_and_references_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
