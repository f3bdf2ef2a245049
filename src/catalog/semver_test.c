/* SPDX-License-Identifier: Apache-2.0
 * catalog/semver_test.c: every row of the public vectors, and the picks of
 * C3.2 ("highest wins, pre-releases only as npm allows"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_fixture.h"
#include "base/limits.h"
#include "catalog/semver.h"
#include "json/json.h"
#include "shared_vectors.h"

/* Rows of a vector file, NULL when it is not there. */
static const wbi_json *rows(const char *name)
{
    const wbi_json *v = NULL;
    struct wbi_buf text;
    char path[200];

    (void)snprintf(path, sizeof(path), "vectors/semver/%s.json", name);
    if (!shared_present(path))
        return NULL;
    assert_true(read_shared(path, &text));
    assert_int_equal(wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &v, NULL), WB_OK);
    wbi_buf_fini(&text);
    assert_true(wbi_json_count(v) > 0);
    return v;
}

static struct wbi_str cell(const wbi_json *row, size_t i)
{
    return wbi_json_str(wbi_json_at(row, i));
}

static struct wbi_semver version(struct wbi_str text)
{
    struct wbi_semver v = {0};

    if (wbi_semver_parse(text, &v, NULL) != WB_OK)
        fail_msg("%.*s is no version", WBI_FMT(text));
    return v;
}

static struct wbi_semver_range *range(struct wbi_str text)
{
    struct wbi_semver_range *r = NULL;

    if (wbi_semver_range_parse(arena, text, &r, NULL) != WB_OK)
        fail_msg("%.*s is no range", WBI_FMT(text));
    return r;
}

typedef bool test_fn(const struct wbi_semver_range *, const struct wbi_semver *);

static void check_rows(const char *name, test_fn *fn, bool expected)
{
    const wbi_json *all = rows(name);

    WBI_JSON_EACH (all, row) {
        struct wbi_semver v;

        /* Rows whose version is not one (loose spellings) must not match. */
        if (wbi_semver_parse(cell(row, 1), &v, NULL) != WB_OK) {
            assert_false(expected);
            continue;
        }
        if (fn(range(cell(row, 0)), &v) != expected)
            fail_msg("%s: %.*s with %.*s", name, WBI_FMT(cell(row, 0)), WBI_FMT(cell(row, 1)));
    }
}

static void ranges_include_and_exclude(void **state)
{
    (void)state;
    check_rows("range-include", wbi_semver_satisfies, true);
    check_rows("range-exclude", wbi_semver_satisfies, false);
}

/* Both admit the same of the versions that the vectors name. */
static void check_same(const struct wbi_semver_range *a, const struct wbi_semver_range *b,
                       struct wbi_str text)
{
    static const char *const names[] = {"range-include", "range-exclude", "valid-versions"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        WBI_JSON_EACH (rows(names[i]), row) {
            struct wbi_str one = cell(row, i < 2 ? 1 : 0);
            struct wbi_semver v;

            if (wbi_semver_parse(one, &v, NULL) == WB_OK &&
                wbi_semver_satisfies(a, &v) != wbi_semver_satisfies(b, &v))
                fail_msg("%.*s with %.*s", WBI_FMT(text), WBI_FMT(one));
        }
}

static void ranges_mean_what_their_normal_form_does(void **state)
{
    const wbi_json *all = rows("range-parse");

    (void)state;
    WBI_JSON_EACH (all, row) {
        struct wbi_semver_range *r = NULL;
        wb_rc rc = wbi_semver_range_parse(arena, cell(row, 0), &r, NULL);

        if ((rc == WB_OK) != (cell(row, 1).p != NULL))
            fail_msg("%.*s", WBI_FMT(cell(row, 0)));
        if (rc == WB_OK)
            check_same(r, range(cell(row, 1)), cell(row, 0));
    }
}

static void versions_compare(void **state)
{
    const wbi_json *all = rows("comparisons");

    (void)state;
    WBI_JSON_EACH (all, row) {
        struct wbi_semver a = version(cell(row, 0)), b = version(cell(row, 1));

        assert_int_equal(wbi_semver_compare(&a, &b), 1);
        assert_int_equal(wbi_semver_compare(&b, &a), -1);
        assert_int_equal(wbi_semver_compare(&a, &a), 0);
    }
    all = rows("equality");
    WBI_JSON_EACH (all, same) {
        struct wbi_semver a = version(cell(same, 0)), b = version(cell(same, 1));

        assert_int_equal(wbi_semver_compare(&a, &b), 0);
    }
}

/* Identifiers of a row ([0] or ["a", 1]) joined by dots. */
static void joined(const wbi_json *list, struct wbi_buf *out)
{
    wbi_buf_clear(out);
    WBI_JSON_EACH (list, e) {
        if (out->n > 0)
            wbi_buf_addc(out, '.');
        if (wbi_json_is(e, WBI_JSON_STR))
            wbi_buf_adds(out, wbi_json_str(e));
        else
            wbi_buf_addf(out, "%.0f", wbi_json_num(e));
    }
}

static void versions_parse(void **state)
{
    const wbi_json *all = rows("valid-versions");
    struct wbi_buf ids;

    (void)state;
    wbi_buf_init(&ids, 1000);
    WBI_JSON_EACH (all, row) {
        struct wbi_semver v = version(cell(row, 0));

        assert_true((double)v.major == wbi_json_num(wbi_json_at(row, 1)));
        assert_true((double)v.minor == wbi_json_num(wbi_json_at(row, 2)));
        assert_true((double)v.patch == wbi_json_num(wbi_json_at(row, 3)));
        joined(wbi_json_at(row, 4), &ids);
        assert_true(wbi_str_eq(wbi_buf_str(&ids), v.pre));
        joined(wbi_json_at(row, 5), &ids);
        assert_true(wbi_str_eq(wbi_buf_str(&ids), v.build));
    }
    wbi_buf_fini(&ids);
    all = rows("invalid-versions");
    WBI_JSON_EACH (all, bad) {
        struct wbi_error err = WBI_ERROR_INIT;
        struct wbi_semver v;

        assert_int_equal(wbi_semver_parse(cell(bad, 0), &v, &err), WB_EINPUT);
        assert_true(strlen(err.text) > 0);
    }
}

static void odd_texts_are_refused(void **state)
{
    static const char *const versions[] = {
        "",           "1",      "1.2",     "01.2.3", "1.2.3-",  "1.2.3-01", "1.2.3+",
        "1.2.3-a..b", "=1.2.3", "1.2.3.4", "1.2.x",  "vv1.2.3", "1.2.3 4",  "1.2.3-\xc3\xbc"};
    static const char *const ranges[] = {">",       "~",        "1.2.3 -", "- 1.2.3", "1 - 2 - 3",
                                         "1 - 2 3", "blerg",    "|",       "1 | 2",   "1.2.3.4",
                                         "^1.2-rc", ">==1.2.3", "<>1",     "1.2.",    "1..2"};
    struct wbi_semver v;
    struct wbi_semver_range *r;

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
        if (wbi_semver_parse(wbi_str_z(versions[i]), &v, NULL) != WB_EINPUT)
            fail_msg("%s", versions[i]);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (wbi_semver_range_parse(arena, wbi_str_z(ranges[i]), &r, NULL) != WB_EINPUT)
            fail_msg("%s", ranges[i]);
}

/* Large numbers in pre-releases keep their order though no double holds them. */
static void long_identifiers_compare_exactly(void **state)
{
    struct wbi_semver a = version(WBI_LIT("1.0.0-90071992547409930"));
    struct wbi_semver b = version(WBI_LIT("1.0.0-90071992547409931"));

    (void)state;
    assert_int_equal(wbi_semver_compare(&a, &b), -1);
}

/* C3.2, and the picks that npm itself makes for these lists. */
static void the_highest_that_fits_is_picked(void **state)
{
    static const struct {
        const char *available[4];
        const char *range;
        const char *pick;
    } cases[] = {
        {{"1.0.0", "1.2.0", "2.0.0-rc.1"}, "*", "1.2.0"},
        {{"0.1.5", "0.2.0"}, "^0.1.0", "0.1.5"},
        {{"0.0.3", "0.0.4"}, "^0.0.3", "0.0.3"},
        {{"1.9.0", "1.10.0"}, "1.x", "1.10.0"},
        {{"1.2.3-beta.2", "1.2.3-beta.11"}, "^1.2.3-beta.1", "1.2.3-beta.11"},
        {{"1.2.3"}, "=1.2.3+zzz", "1.2.3"},
        {{"1.0.0-rc.1"}, ">=0.9.0", NULL},
        {{"1.2.4-alpha"}, ">1.2.3-alpha", NULL},
        {{"2.0.0"}, "1.x || >=2.0.0 <3", "2.0.0"},
        {{"01.2.3"}, "*", NULL},
        {{"v1.2.3"}, "1.2.3", "v1.2.3"},
        {{"1.2.3+a", "1.2.3+b"}, "1.2.3", "1.2.3+a"},
        {{"latest", "1.0.0"}, "", "1.0.0"},
        {{"2.0.0-alpha", "1.9.9"}, "^1", "1.9.9"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wbi_str list[4];
        size_t n = 0, at = 99;
        wb_rc rc;

        while (n < 4 && cases[i].available[n] != NULL) {
            list[n] = wbi_str_z(cases[i].available[n]);
            n++;
        }
        rc = wbi_semver_pick(arena, wbi_str_z(cases[i].range), list, n, &at, NULL);
        if (cases[i].pick == NULL) {
            assert_int_equal(rc, WB_ENOTFOUND);
            assert_int_equal(at, 99);
        } else if (rc != WB_OK || strcmp(cases[i].available[at], cases[i].pick) != 0) {
            fail_msg("%s of %s …", cases[i].range, cases[i].available[0]);
        }
    }
}

static void a_range_has_a_limit(void **state)
{
    struct wbi_semver_range *r;
    struct wbi_buf text;

    (void)state;
    wbi_buf_init(&text, 10000);
    while (text.n < WBI_LIMIT_SEMVER_RANGE - 8)
        wbi_buf_addz(&text, "1 || 2 >3 ");
    assert_int_equal(
        wbi_semver_range_parse(arena, wbi_str_head(wbi_buf_str(&text), 4090), &r, NULL), WB_OK);
    wbi_buf_addz(&text, "||||||||||||||||||||||");
    assert_int_equal(wbi_semver_range_parse(arena, wbi_buf_str(&text), &r, NULL), WB_ELIMIT);
    wbi_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_include_and_exclude),
        cmocka_unit_test(ranges_mean_what_their_normal_form_does),
        cmocka_unit_test(versions_compare),
        cmocka_unit_test(versions_parse),
        cmocka_unit_test(odd_texts_are_refused),
        cmocka_unit_test(long_identifiers_compare_exactly),
        cmocka_unit_test(the_highest_that_fits_is_picked),
        cmocka_unit_test(a_range_has_a_limit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
