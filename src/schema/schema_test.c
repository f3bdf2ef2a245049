/* SPDX-License-Identifier: Apache-2.0
 * schema/schema_test.c: what the suite does not say: dialects that are refused,
 * errors in words, repair by schema, lint, and the limits (C3.3, issue 5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_fixture.h"
#include "base/limits.h"
#include "schema/keywords.h"
#include "schema/schema.h"

static const wbi_json *json(const char *text)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;
    wb_rc rc = wbi_json_read(arena, wbi_str_z(text), WBI_JSON_STRICT, &v, &err);

    if (rc != WB_OK)
        fail_msg("bad JSON in the test: %s: %s", err.text, text);
    return v;
}

static struct wbi_schema *compile_opt(const wbi_json *schema, const struct wbi_schema_options *opt)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema *s = NULL;

    if (wbi_schema_compile(schema, opt, &s, &err) != WB_OK)
        fail_msg("schema refused: %s (%s)", err.text, err.at);
    return s;
}

static struct wbi_schema *compile(const char *text)
{
    return compile_opt(json(text), NULL);
}

static struct wbi_schema_report check(const char *schema, const char *instance)
{
    struct wbi_schema *s = compile(schema);
    struct wbi_schema_report report;
    struct wbi_error err = WBI_ERROR_INIT;

    assert_int_equal(wbi_schema_check(s, json(instance), arena, &report, &err), WB_OK);
    assert_int_equal(report.valid, wbi_schema_valid(s, json(instance)));
    wbi_schema_free(s);
    return report;
}

static const char *z(struct wbi_str s)
{
    return s.p == NULL ? "(absent)" : wbi_arena_strz(arena, s);
}

static wb_rc refuse(const wbi_json *schema, struct wbi_error *err)
{
    struct wbi_schema *s = NULL;
    wb_rc rc = wbi_schema_compile(schema, NULL, &s, err);

    wbi_schema_free(s);
    return rc;
}

static void assert_refused(const char *schema, wb_rc rc, const char *at, const char *says)
{
    struct wbi_error err = WBI_ERROR_INIT;

    assert_int_equal(refuse(json(schema), &err), rc);
    assert_string_equal(err.at, at);
    if (strstr(err.text, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void every_keyword_is_found_by_its_name(void **state)
{
    (void)state;
    for (int k = KW_NONE + 1; k < KW_FALSE; k++)
        assert_int_equal(wbi_keyword_find(wbi_keyword_row((enum wbi_keyword)k)->name), k);
    assert_int_equal(wbi_keyword_find(WBI_LIT("Type")), KW_NONE);
    assert_int_equal(wbi_keyword_find(WBI_LIT("")), KW_NONE);
}

static void other_dialects_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\"}",
                   WB_EUNSUPPORTED, "/$schema", "draft/2019-09/schema");
    assert_refused("{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", WB_EUNSUPPORTED,
                   "/$schema", "draft-04");
    assert_refused("{\"$defs\":{\"a\":{\"$id\":\"http://x/a\",\"$schema\":\"http://json-schema.org/"
                   "draft-06/schema#\"}}}",
                   WB_EUNSUPPORTED, "/$defs/a/$schema", "draft-06");
}

static void draft_07_is_used_when_declared_or_forced(void **state)
{
    struct wbi_schema_options forced = {.draft = WBI_SCHEMA_DRAFT_07};
    const char *tuple = "{\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}";
    struct wbi_schema *s;
    struct wbi_error err = WBI_ERROR_INIT;

    (void)state;
    s = compile("{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
                "\"$ref\":\"#/definitions/a\",\"type\":\"null\",\"definitions\":{\"a\":{}}}");
    assert_true(wbi_schema_valid(s, json("1"))); /* siblings of $ref are hidden */
    wbi_schema_free(s);
    s = compile_opt(json(tuple), &forced);
    assert_false(wbi_schema_valid(s, json("[\"a\",1]")));
    wbi_schema_free(s);
    assert_int_equal(refuse(json(tuple), &err), WB_EINPUT); /* 2020-12 has no such items */
}

static void references_that_would_need_the_network_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("{\"properties\":{\"a\":{\"$ref\":\"https://example.com/a.json\"}}}",
                   WB_EUNSUPPORTED, "/properties/a/$ref", "https://example.com/a.json");
    assert_refused("{\"$ref\":\"#/$defs/no\"}", WB_EINPUT, "/$ref", "leads nowhere");
    assert_refused("{\"$ref\":\"#no\"}", WB_EINPUT, "/$ref", "anchor");
}

static void wrong_schemas_are_refused_with_their_place(void **state)
{
    (void)state;
    assert_refused("[]", WB_EINPUT, "", "object or a boolean");
    assert_refused("{\"type\":\"strin\"}", WB_EINPUT, "/type", "strin");
    assert_refused("{\"properties\":{\"a/b\":{\"minimum\":\"1\"}}}", WB_EINPUT,
                   "/properties/a~1b/minimum", "minimum");
    assert_refused("{\"required\":\"a\"}", WB_EINPUT, "/required", "list");
    assert_refused("{\"pattern\":\"a(\"}", WB_EINPUT, "/pattern", "( without )");
    assert_refused("{\"pattern\":\"(?<=a+)b\"}", WB_EUNSUPPORTED, "/pattern", "lookbehind");
    assert_refused("{\"multipleOf\":0}", WB_EINPUT, "/multipleOf", "more than 0");
    assert_refused("{\"anyOf\":[]}", WB_EINPUT, "/anyOf", "not empty");
    assert_refused("{\"maxLength\":-1}", WB_EINPUT, "/maxLength", "at least 0");
}

/* The sentence of issue 5: what was expected, what was found, where. */
static void an_error_says_place_expectation_and_finding(void **state)
{
    struct wbi_schema_report r =
        check("{\"type\":\"object\",\"properties\":{\"limit\":{\"type\":\"integer\","
              "\"minimum\":1,\"maximum\":500}}}",
              "{\"limit\":\"many\"}");
    const struct wbi_schema_error *e = r.errors;

    (void)state;
    assert_int_equal(r.n_errors, 1);
    assert_int_equal(e->code, WBI_SCHEMA_INVALID_TYPE);
    assert_string_equal(wbi_schema_code_name(e->code), "InvalidType");
    assert_string_equal(z(e->path), "/limit");
    assert_string_equal(z(e->keyword), "type");
    assert_string_equal(z(e->schema_path), "#/properties/limit/type");
    assert_string_equal(z(e->expected), "an integer from 1 to 500");
    assert_string_equal(z(e->found), "a string (\"many\")");
    assert_string_equal(z(e->message),
                        "\"/limit\" must be an integer from 1 to 500; got a string (\"many\")");
}

static void messages_fit_their_keywords(void **state)
{
    static const struct {
        const char *schema, *instance, *code, *message;
    } t[] = {
        {"{\"required\":[\"q\"],\"properties\":{\"q\":{\"type\":\"string\",\"minLength\":1}}}",
         "{}", "RequiredMissing",
         "the value must have the member \"q\", a string of at least 1 character; it is missing"},
        {"{\"properties\":{\"u\":{\"enum\":[\"c\",\"f\"]}}}", "{\"u\":\"k\"}", "InvalidEnumValue",
         "\"/u\" must be one of \"c\", \"f\"; got a string (\"k\")"},
        {"{\"pattern\":\"^a\"}", "\"b\"", "InvalidFormat",
         "the value must be a value matching \"^a\"; got a string (\"b\")"},
        {"{\"properties\":{\"a\":{},\"b\":{}},\"additionalProperties\":false}", "{\"x\":1}",
         "SchemaInvalid", "\"/x\" is not accepted; members are \"a\", \"b\""},
        {"{\"items\":{\"type\":\"object\",\"required\":[\"n\"]}}", "[{\"n\":1},{}]",
         "RequiredMissing", "\"/1\" must have the member \"n\"; it is missing"},
        {"{\"uniqueItems\":true}", "[1,1.0]", "SchemaInvalid",
         "the value must not have two equal items"},
        {"{\"not\":{\"type\":\"null\"}}", "null", "SchemaInvalid", "the value must not be null"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "5", "InvalidType",
         "the value must be a string or null; got an integer (5)"},
        {"{\"oneOf\":[{\"type\":\"string\",\"minLength\":2},{\"type\":\"array\"}]}", "\"a\"",
         "SchemaInvalid",
         "the value must be a string of at least 2 characters; got a string (\"a\")"},
        {"{\"oneOf\":[{\"minimum\":1},{\"maximum\":9}]}", "5", "SchemaInvalid",
         "the value fits 2 of the alternatives; exactly one is allowed"},
        {"{\"contains\":{\"const\":1},\"minContains\":2}", "[1]", "SchemaInvalid",
         "the value must have at least 2 items with 1"},
        {"{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}", "SchemaInvalid",
         "the member name \"abc\" must be a value of at most 2 characters; got a string (\"abc\")"},
        {"{\"minItems\":1,\"type\":\"array\"}", "[]", "SchemaInvalid",
         "the value must be an array of at least 1 item; got an array of 0 items"},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", "RequiredMissing",
         "the value must have the member \"b\"; it is missing"},
        {"{\"prefixItems\":[true],\"items\":false}", "[1,2]", "SchemaInvalid",
         "\"/1\" is one item too many"},
        {"false", "1", "SchemaInvalid", "the value is not accepted"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct wbi_schema_report r = check(t[i].schema, t[i].instance);
        assert_false(r.valid);
        assert_string_equal(z(r.errors[0].message), t[i].message);
        assert_string_equal(wbi_schema_code_name(r.errors[0].code), t[i].code);
    }
}

static void the_closest_branch_of_a_choice_is_told(void **state)
{
    const char *shapes =
        "{\"oneOf\":["
        "{\"properties\":{\"kind\":{\"const\":\"circle\"},\"r\":{\"type\":\"number\"}},"
        "\"required\":[\"kind\",\"r\"]},"
        "{\"properties\":{\"kind\":{\"const\":\"square\"},\"side\":{\"type\":\"number\"}},"
        "\"required\":[\"kind\",\"side\"]}]}";
    struct wbi_schema_report r = check(shapes, "{\"kind\":\"square\",\"side\":\"x\"}");

    (void)state;
    assert_string_equal(z(r.errors[0].path), "/side");
    r = check(shapes, "{\"kind\":\"circle\"}");
    assert_string_equal(z(r.errors[0].missing), "r");
    r = check(shapes, "{\"kind\":\"circle\",\"r\":\"x\"}");
    assert_string_equal(z(r.errors[0].path), "/r");
}

/* C3.3 "what would be accepted": by every branch that may be meant. */
static void a_choice_without_a_closest_branch_names_all(void **state)
{
    static const char kinds[] =
        "{\"oneOf\":[{\"properties\":{\"kind\":{\"const\":\"a\"}},\"required\":[\"kind\",\"x\"]},"
        "{\"$ref\":\"#/$defs/b\"},"
        "{\"properties\":{\"kind\":{\"enum\":[\"c\",\"d\"]}},\"required\":[\"kind\"]}],"
        "\"$defs\":{\"b\":{\"properties\":{\"kind\":{\"const\":\"b\"}},\"required\":[\"kind\"]}}}";
    static const char members[] = "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}},"
                                  "\"required\":[\"a\"]},{\"required\":[\"b\"]}]}";
    struct wbi_schema_report r = check(kinds, "{\"kind\":\"z\"}");

    (void)state;
    assert_int_equal(r.n_errors, 1);
    assert_string_equal(z(r.errors[0].message),
                        "\"/kind\" must be \"b\" or \"a\" or one of \"c\", \"d\"; got a string "
                        "(\"z\")");
    assert_string_equal(z(r.errors[0].accepted), "\"b\", \"a\", \"c\", \"d\"");
    r = check(kinds, "{}");
    assert_int_equal(r.n_errors, 1);
    assert_string_equal(z(r.errors[0].missing), "kind");
    assert_string_equal(z(r.errors[0].message),
                        "the value must have the member \"kind\", \"b\" or \"a\" or one of \"c\", "
                        "\"d\"; it is missing");
    r = check(members, "{}");
    assert_null(r.errors[0].missing.p);
    assert_string_equal(
        z(r.errors[0].message),
        "the value must have the member \"a\", a string, or the member \"b\"; it is "
        "missing");
    r = check(members, "{\"a\":1}");
    assert_string_equal(z(r.errors[0].path), "/a");
}

static void found_text_is_short_and_shows_no_whole_secret(void **state)
{
    struct wbi_schema_report r = check("{\"properties\":{\"n\":{\"type\":\"integer\"}}}",
                                       "{\"n\":\"sk-live-0123456789abcdef\"}");

    (void)state;
    assert_string_equal(z(r.errors[0].found), "a string (\"sk-live-…\" of 24 characters)");
    assert_null(strstr(z(r.errors[0].message), "0123"));
    r = check("{\"type\":\"null\"}",
              "123456789012345678901234567890123456789012345678901234567890");
    assert_true(r.errors[0].found.n <= WBI_LIMIT_SCHEMA_FOUND);
}

/* Integers beyond 64 bits are compared digit by digit, also with bounds written as 1e20. */
static void integers_beyond_64_bits_are_compared_exactly(void **state)
{
    static const struct {
        const char *schema, *instance;
        bool valid;
    } cases[] = {{"{\"maximum\":1e20}", "100000000000000000000", true},
                 {"{\"maximum\":1e20}", "100000000000000000001", false},
                 {"{\"exclusiveMaximum\":1e20}", "99999999999999999999", true},
                 {"{\"exclusiveMaximum\":1e20}", "100000000000000000000", false},
                 {"{\"minimum\":-1e20}", "-100000000000000000000", true},
                 {"{\"minimum\":-1e20}", "-100000000000000000001", false},
                 {"{\"exclusiveMinimum\":-1e20}", "-99999999999999999999", true},
                 {"{\"maximum\":1e23}", "100000000000000000000000", true},
                 {"{\"maximum\":1e23}", "100000000000000000000001", false},
                 {"{\"maximum\":1.5e300}", "100000000000000000000001", true},
                 {"{\"maximum\":0.5}", "-18446744073709551617", true},
                 {"{\"minimum\":0.5}", "18446744073709551617", true},
                 {"{\"maximum\":-0.5}", "18446744073709551617", false},
                 {"{\"maximum\":100000000000000000001}", "1e20", true},
                 {"{\"minimum\":100000000000000000001}", "1e20", false},
                 {"{\"const\":1e23}", "100000000000000000000000", true},
                 {"{\"const\":1e20}", "100000000000000000001", false},
                 {"{\"uniqueItems\":true}", "[1e23,100000000000000000000000]", false},
                 {"{\"uniqueItems\":true}", "[1e20,100000000000000000001]", true},
                 {"{\"multipleOf\":1e20}", "300000000000000000000", true},
                 {"{\"multipleOf\":1e20}", "300000000000000000001", false},
                 {"{\"multipleOf\":1e20}", "-350000000000000000000", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (check(cases[i].schema, cases[i].instance).valid != cases[i].valid)
            fail_msg("%s of %s", cases[i].instance, cases[i].schema);
}

static void the_number_of_errors_is_bounded(void **state)
{
    struct wbi_buf b;
    struct wbi_schema_report r;

    (void)state;
    wbi_buf_init_arena(&b, arena, WBI_MIB);
    for (int i = 0; i < 2000; i++)
        wbi_buf_addz(&b, i == 0 ? "[\"x\"" : ",\"x\"");
    wbi_buf_addz(&b, "]");
    wbi_buf_addc(&b, '\0');
    r = check("{\"items\":{\"type\":\"integer\"}}", b.p);
    assert_int_equal(r.n_errors, WBI_LIMIT_SCHEMA_ERRORS);
    assert_true(r.more);
    assert_string_equal(z(r.errors[0].path), "/0");
}

static void format_asserts_only_where_configured(void **state)
{
    struct wbi_schema_options on = {.format_assert = true};
    struct wbi_schema *plain = compile("{\"format\":\"date\"}");
    struct wbi_schema *strict = compile_opt(json("{\"format\":\"date\"}"), &on);
    struct wbi_schema_report r;

    (void)state;
    assert_true(wbi_schema_valid(plain, json("\"yesterday\"")));
    assert_false(wbi_schema_valid(strict, json("\"yesterday\"")));
    assert_int_equal(wbi_schema_check(strict, json("\"yesterday\""), arena, &r, NULL), WB_OK);
    assert_int_equal(r.errors[0].code, WBI_SCHEMA_INVALID_FORMAT);
    wbi_schema_free(plain);
    wbi_schema_free(strict);
}

static void a_schema_outlives_what_it_was_made_from(void **state)
{
    struct wbi_arena *short_lived;
    const wbi_json *v;
    struct wbi_schema *s;

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_MIB, &short_lived), WB_OK);
    assert_int_equal(wbi_json_read(short_lived,
                                   WBI_LIT("{\"properties\":{\"a\":{\"enum\":[\"xyz\",{\"k\":1}]}},"
                                           "\"required\":[\"a\"]}"),
                                   WBI_JSON_STRICT, &v, NULL),
                     WB_OK);
    s = compile_opt(v, NULL);
    wbi_arena_free(short_lived);
    assert_true(wbi_schema_valid(s, json("{\"a\":\"xyz\"}")));
    assert_true(wbi_schema_valid(s, json("{\"a\":{\"k\":1}}")));
    assert_false(wbi_schema_valid(s, json("{\"a\":\"xy\"}")));
    wbi_schema_free(s);
}

/* ---- repair ---- */

static void assert_repair(const char *schema, const char *instance, const char *want,
                          const char *note)
{
    struct wbi_schema *s = compile(schema);
    struct wbi_schema_repair r;

    assert_int_equal(wbi_schema_coerce(s, json(instance), arena, &r, NULL), WB_OK);
    if (want == NULL) {
        assert_false(r.repaired);
    } else {
        assert_true(r.repaired);
        assert_string_equal(z(r.json), want);
        assert_true(wbi_schema_valid(s, r.value));
        assert_string_equal(
            z(wbi_arena_fmt(arena, "%s: %s", z(r.notes[0].path), z(r.notes[0].text))), note);
    }
    wbi_schema_free(s);
}

#define LIMIT_SCHEMA                                                        \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},"    \
    "\"x\":{\"type\":\"number\"},\"b\":{\"type\":\"boolean\"},"             \
    "\"s\":{\"type\":\"string\"},\"e\":{\"type\":[\"integer\",\"string\"]," \
    "\"maximum\":5},\"m\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}}}"

static void scalars_written_as_strings_are_read_where_only_that_fits(void **state)
{
    (void)state;
    assert_repair(LIMIT_SCHEMA, "{\"n\":\"900000.0\"}", "{\"n\":900000}",
                  "/n: string read as integer");
    assert_repair(LIMIT_SCHEMA, "{\"n\":\"12\",\"s\":\"12\"}", "{\"n\":12,\"s\":\"12\"}",
                  "/n: string read as integer");
    assert_repair(LIMIT_SCHEMA, "{\"x\":\"-1.5e3\"}", "{\"x\":-1500}", "/x: string read as number");
    assert_repair(LIMIT_SCHEMA, "{\"b\":\"true\"}", "{\"b\":true}", "/b: string read as boolean");
    assert_repair(LIMIT_SCHEMA, "{\"m\":\"3\"}", "{\"m\":3}", "/m: string read as integer");
    assert_repair("{\"items\":{\"const\":5}}", "[\"5\"]", "[5]", "/0: string read as integer");
    assert_repair("{\"items\":{\"enum\":[1,2.5,true]}}", "[\"2.5\"]", "[2.5]",
                  "/0: string read as number");
    assert_repair("{\"items\":{\"enum\":[true,null]}}", "[\"true\"]", "[true]",
                  "/0: string read as boolean");
    assert_repair("{\"items\":{\"type\":\"integer\"}}", "[1,\"2\"]", "[1,2]",
                  "/1: string read as integer");
}

/* Schemas that say nothing of types only bound what another says. */
static void one_schema_that_always_applies_tells_the_type(void **state)
{
    (void)state;
    assert_repair("{\"items\":{\"allOf\":[{\"type\":\"number\"},{\"minimum\":0}]}}", "[\"2.5\"]",
                  "[2.5]", "/0: string read as number");
    assert_repair("{\"items\":{\"type\":\"integer\",\"allOf\":[{\"minimum\":0}]}}", "[\"2\"]",
                  "[2]", "/0: string read as integer");
    assert_repair(
        "{\"properties\":{\"n\":{\"type\":\"integer\"}},"
        "\"if\":{\"properties\":{\"n\":{\"minimum\":9}}},\"then\":{\"required\":[\"m\"]}}",
        "{\"n\":\"2\"}", "{\"n\":2}", "/n: string read as integer");
    assert_repair("{\"properties\":{\"n\":{\"type\":\"integer\"}},"
                  "\"patternProperties\":{\"n\":{\"minimum\":0}},\"additionalProperties\":false}",
                  "{\"n\":\"2\"}", "{\"n\":2}", "/n: string read as integer");
    assert_repair(
        "{\"patternProperties\":{\"^n\":{}},\"additionalProperties\":{\"type\":\"integer\"}}",
        "{\"n\":\"2\",\"m\":\"3\"}", "{\"n\":\"2\",\"m\":3}", "/m: string read as integer");
    assert_repair(
        "{\"if\":{\"required\":[\"n\"]},\"then\":{\"properties\":{\"n\":{\"type\":\"integer\"}}},"
        "\"properties\":{\"n\":{}}}",
        "{\"n\":\"2\"}", NULL, NULL);
}

static void nothing_is_repaired_where_another_reading_is_possible(void **state)
{
    (void)state;
    assert_repair(LIMIT_SCHEMA, "{\"n\":\"12.5\"}", NULL, NULL);
    assert_repair(LIMIT_SCHEMA, "{\"n\":\" 12\"}", NULL, NULL);
    assert_repair(LIMIT_SCHEMA, "{\"n\":\"0x10\"}", NULL, NULL);
    assert_repair(LIMIT_SCHEMA, "{\"b\":\"yes\"}", NULL, NULL);
    assert_repair(LIMIT_SCHEMA, "{\"n\":true}", NULL, NULL);
    assert_repair(LIMIT_SCHEMA, "{\"n\":\"1\",\"b\":3}", NULL, NULL); /* would stay invalid */
    assert_repair(LIMIT_SCHEMA, "{\"n\":1}", NULL, NULL);             /* valid as it is */
    assert_repair("{\"items\":{\"const\":5}}", "[\"6\"]", NULL, NULL);
    assert_repair("{\"items\":{\"enum\":[1,\"2\"]}}", "[\"1\"]", NULL, NULL);
    assert_repair("{\"items\":{\"anyOf\":[{\"const\":1},{\"const\":\"a\"}]}}", "[\"1\"]", NULL,
                  NULL);
    /* another alternative takes a string at the same place */
    assert_repair(
        "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"b\"]},"
        "{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"c\"]}]}",
        "{\"a\":\"5\",\"b\":1}", NULL, NULL);
    assert_repair("{\"propertyNames\":{\"type\":\"integer\"}}", "{\"1\":2}", NULL, NULL);
}

static void one_stray_wrapper_is_taken_off(void **state)
{
    const char *schema = "{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"}},"
                         "\"required\":[\"q\"]}";

    (void)state;
    assert_repair(schema, "{\"arguments\":{\"q\":\"a\"}}", "{\"q\":\"a\"}",
                  ": taken out of the wrapper \"arguments\"");
    assert_repair(schema, "{\"params\":{\"q\":\"a\"}}", "{\"q\":\"a\"}",
                  ": taken out of the wrapper \"params\"");
    assert_repair(schema, "{\"args\":{\"q\":\"a\"}}", NULL, NULL);
    assert_repair(schema, "{\"input\":{\"x\":1}}", NULL, NULL);
    assert_repair(schema, "{\"input\":{\"q\":\"a\"},\"more\":1}", NULL, NULL);
    assert_repair("{\"properties\":{\"input\":{\"type\":\"string\"}},\"required\":[\"input\"]}",
                  "{\"input\":{\"input\":\"a\"}}", NULL, NULL);
}

/* ---- lint ---- */

static bool has_finding(const struct wbi_schema_findings *f, const char *path, const char *keyword,
                        unsigned providers, bool refused)
{
    for (size_t i = 0; i < f->n; i++)
        if (wbi_str_eqz(f->list[i].path, path) && wbi_str_eqz(f->list[i].keyword, keyword) &&
            f->list[i].providers == providers && f->list[i].refused == refused)
            return true;
    return false;
}

static void lint_finds_what_providers_refuse(void **state)
{
    struct wbi_schema_findings f;
    const unsigned openai = WBI_LINT_RESPONSES | WBI_LINT_CHAT;

    (void)state;
    assert_int_equal(wbi_schema_lint(json("{\"properties\":{}}"), WBI_LINT_ALL, arena, &f), WB_OK);
    assert_true(has_finding(&f, "", "type", WBI_LINT_ALL, true));
    assert_int_equal(
        wbi_schema_lint(json("{\"type\":\"object\",\"anyOf\":[{}],\"properties\":{\"a b\":"
                             "{\"type\":\"array\"},\"c\":{\"oneOf\":[{\"const\":1}]}}}"),
                        WBI_LINT_ALL, arena, &f),
        WB_OK);
    assert_true(has_finding(&f, "", "anyOf", openai | WBI_LINT_ANTHROPIC, true));
    assert_true(has_finding(&f, "/properties/a b", "properties", WBI_LINT_ANTHROPIC, true));
    assert_true(has_finding(&f, "/properties/a b", "items", openai | WBI_LINT_GEMINI, true));
    assert_true(has_finding(&f, "/properties/c", "oneOf", WBI_LINT_GEMINI, true));
    assert_true(has_finding(&f, "/properties/c", "oneOf", openai, false));
    assert_true(has_finding(&f, "/properties/c/oneOf/0", "const", WBI_LINT_GEMINI, true));
    assert_int_equal(wbi_schema_lint(json("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
                                          "\"string\"}},\"required\":[\"a\"]}"),
                                     WBI_LINT_ALL, arena, &f),
                     WB_OK);
    assert_int_equal(f.n, 0);
    assert_int_equal(wbi_schema_lint(json("{\"type\":\"objekt\"}"), WBI_LINT_MCP, arena, &f),
                     WB_OK);
    assert_true(has_finding(&f, "", "", WBI_LINT_MCP, true));
    assert_string_equal(wbi_lint_provider_name(WBI_LINT_GEMINI), "gemini");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_keyword_is_found_by_its_name),
        cmocka_unit_test_setup_teardown(other_dialects_are_refused_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(draft_07_is_used_when_declared_or_forced, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(references_that_would_need_the_network_are_refused_by_name,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_schemas_are_refused_with_their_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_error_says_place_expectation_and_finding, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(messages_fit_their_keywords, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_closest_branch_of_a_choice_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_choice_without_a_closest_branch_names_all, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(found_text_is_short_and_shows_no_whole_secret, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_number_of_errors_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(format_asserts_only_where_configured, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_schema_outlives_what_it_was_made_from, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scalars_written_as_strings_are_read_where_only_that_fits,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_schema_that_always_applies_tells_the_type, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_repaired_where_another_reading_is_possible,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(integers_beyond_64_bits_are_compared_exactly, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_stray_wrapper_is_taken_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lint_finds_what_providers_refuse, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
