/* SPDX-License-Identifier: Apache-2.0
 * schema/suite_test.c: the official JSON Schema test suite (issue 5, C3.3).
 * Every required test of 2020-12 and draft-07, and the optional ones named
 * below; every instance is judged twice, by the verdict alone and by the check
 * that collects errors, which must agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "schema/schema.h"
#include "shared_vectors.h"

struct suite {
    struct wbi_arena *arena;
    char root[512];
    enum wbi_schema_draft draft;
    bool format;
    size_t cases, tests, wrong;
};

static const wbi_json *read_json(struct wbi_arena *arena, const char *path)
{
    const wbi_json *v = NULL;
    struct wbi_buf text;

    if (!read_whole_file(path, &text) ||
        wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &v, NULL) != WB_OK)
        v = NULL;
    wbi_buf_fini(&text);
    return v;
}

/* remotes/x/y.json answers to http://localhost:1234/x/y.json. */
static const wbi_json *remote(void *arg, struct wbi_str uri)
{
    struct suite *s = arg;
    struct wbi_str prefix = WBI_LIT("http://localhost:1234/");
    char path[1024];

    if (!wbi_str_starts(uri, prefix))
        return NULL;
    snprintf(path, sizeof(path), "%s/remotes/%.*s", s->root, WBI_FMT(wbi_str_from(uri, prefix.n)));
    return read_json(s->arena, path);
}

static void wrong(struct suite *s, const char *file, const wbi_json *c, const wbi_json *t,
                  const char *why)
{
    s->wrong++;
    printf("  %s: %.*s / %.*s: %s\n", file, WBI_FMT(wbi_json_get_str(c, "description")),
           WBI_FMT(wbi_json_get_str(t, "description")), why);
}

static void run_one(struct suite *s, const struct wbi_schema *schema, const char *file,
                    const wbi_json *c, const wbi_json *t)
{
    const wbi_json *data = wbi_json_get(t, "data");
    bool want = wbi_json_true(wbi_json_get(t, "valid"));
    struct wbi_schema_report report;
    struct wbi_error err = WBI_ERROR_INIT;

    s->tests++;
    if (wbi_schema_valid(schema, data) != want)
        wrong(s, file, c, t, want ? "refused" : "let through");
    if (wbi_schema_check(schema, data, s->arena, &report, &err) != WB_OK)
        wrong(s, file, c, t, err.text);
    else if (report.valid != want)
        wrong(s, file, c, t, "the check with errors disagrees");
    else if (!want && (report.n_errors == 0 || report.errors[0].message.n == 0))
        wrong(s, file, c, t, "refused without a reason");
}

static void run_case(struct suite *s, const char *file, const wbi_json *c)
{
    struct wbi_schema_options opt = {
        .draft = s->draft, .format_assert = s->format, .remote = remote, .arg = s};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema *schema;

    s->cases++;
    if (wbi_schema_compile(wbi_json_get(c, "schema"), &opt, &schema, &err) != WB_OK) {
        WBI_JSON_EACH (wbi_json_get(c, "tests"), t) {
            s->tests++;
            wrong(s, file, c, t, err.text);
        }
        return;
    }
    WBI_JSON_EACH (wbi_json_get(c, "tests"), t) {
        run_one(s, schema, file, c, t);
    }
    wbi_schema_free(schema);
}

static void run_file(struct suite *s, const char *path)
{
    const wbi_json *file;

    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &s->arena), WB_OK);
    file = read_json(s->arena, path);
    assert_non_null(file);
    WBI_JSON_EACH (file, c) {
        run_case(s, path + strlen(s->root), c);
    }
    wbi_arena_free(s->arena);
}

static bool open_suite(struct suite *s, enum wbi_schema_draft draft)
{
    *s = (struct suite){.draft = draft};
    (void)shared_path(s->root, sizeof(s->root), "json-schema-test-suite");
    return shared_present("json-schema-test-suite");
}

static void run_folder(struct suite *s, const char *draft)
{
    char path[1024];
    struct dirent *e;
    DIR *d;

    snprintf(path, sizeof(path), "%s/tests/%s", s->root, draft);
    d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        if (!wbi_str_ends(wbi_str_z(e->d_name), WBI_LIT(".json")))
            continue;
        snprintf(path, sizeof(path), "%s/tests/%s/%s", s->root, draft, e->d_name);
        run_file(s, path);
    }
    closedir(d);
}

static void run_listed(struct suite *s, const char *draft, const char *folder,
                       const char *const *names)
{
    char path[1024];

    for (; *names != NULL; names++) {
        snprintf(path, sizeof(path), "%s/tests/%s/%s/%s.json", s->root, draft, folder, *names);
        run_file(s, path);
    }
}

static void say(const struct suite *s, const char *what)
{
    printf("%s: %zu cases, %zu tests, %zu wrong\n", what, s->cases, s->tests, s->wrong);
}

static void all_required_tests_of_2020_12_pass(void **state)
{
    struct suite s;

    (void)state;
    if (!open_suite(&s, WBI_SCHEMA_AUTO))
        return;
    run_folder(&s, "draft2020-12");
    say(&s, "2020-12 required");
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.tests, 1299);
}

static void all_required_tests_of_draft_07_pass(void **state)
{
    struct suite s;

    (void)state;
    if (!open_suite(&s, WBI_SCHEMA_DRAFT_07))
        return;
    run_folder(&s, "draft7");
    say(&s, "draft-07 required");
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.tests, 927);
}

static void the_formats_of_tool_schemas_are_checked_where_configured(void **state)
{
    static const char *const common[] = {"date-time",     "date",
                                         "time",          "email",
                                         "hostname",      "ipv4",
                                         "ipv6",          "uri",
                                         "uri-reference", "uri-template",
                                         "json-pointer",  "relative-json-pointer",
                                         "regex",         "ecmascript-regex",
                                         "idn-email",     "idn-hostname",
                                         "iri",           "iri-reference",
                                         "unknown",       NULL};
    static const char *const newer[] = {"duration", "uuid", NULL};
    struct suite s;

    (void)state;
    if (!open_suite(&s, WBI_SCHEMA_AUTO))
        return;
    s.format = true;
    run_listed(&s, "draft2020-12", "optional/format", common);
    run_listed(&s, "draft2020-12", "optional/format", newer);
    say(&s, "2020-12 format");
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.tests, 764);
    assert_true(open_suite(&s, WBI_SCHEMA_DRAFT_07));
    s.format = true;
    run_listed(&s, "draft7", "optional/format", common);
    say(&s, "draft-07 format");
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.tests, 676);
}

/* Not taken: cross-draft, which needs dialects that are refused, and content,
 * which is an annotation here. */
static void optional_tests_pass(void **state)
{
    static const char *const newer[] = {"anchor",
                                        "bignum",
                                        "dependencies-compatibility",
                                        "dynamicRef",
                                        "ecmascript-regex",
                                        "float-overflow",
                                        "format-assertion",
                                        "id",
                                        "no-schema",
                                        "non-bmp-regex",
                                        "refOfUnknownKeyword",
                                        "unknownKeyword",
                                        NULL};
    static const char *const older[] = {"bignum", "ecmascript-regex", "float-overflow",
                                        "id",     "non-bmp-regex",    "unknownKeyword",
                                        NULL};
    struct suite s;

    (void)state;
    if (!open_suite(&s, WBI_SCHEMA_AUTO))
        return;
    run_listed(&s, "draft2020-12", "optional", newer);
    say(&s, "2020-12 optional");
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.tests, 161);
    assert_true(open_suite(&s, WBI_SCHEMA_DRAFT_07));
    run_listed(&s, "draft7", "optional", older);
    say(&s, "draft-07 optional");
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.tests, 106);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_required_tests_of_2020_12_pass),
        cmocka_unit_test(all_required_tests_of_draft_07_pass),
        cmocka_unit_test(the_formats_of_tool_schemas_are_checked_where_configured),
        cmocka_unit_test(optional_tests_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
