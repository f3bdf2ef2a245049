/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/arena.h"
#include "catalog/catalog.h"
#include "json/json.h"

enum { MANY = 300 };

static wb_rc add(struct wbi_catalog_builder *b, const char *server, unsigned i, const char *version,
                 struct wbi_error *err)
{
    char origin[40], text[200];
    struct wbi_tool_binding binding = {.origin = WBI_NONE};
    const wbi_json *descriptor;
    struct wbi_arena *arena;
    wb_rc rc;

    snprintf(origin, sizeof(origin), "mcp::%s", server);
    binding.origin = wbi_str_z(origin);
    snprintf(text, sizeof(text),
             "{\"name\":\"tool_%u\",\"version\":\"%s\",\"inputSchema\":{\"type\":\"object\","
             "\"properties\":{\"n\":{\"const\":%u}}}}",
             i, version, i);
    assert_int_equal(wbi_arena_new(65536, &arena), WB_OK);
    assert_int_equal(wbi_json_read(arena, wbi_str_z(text), WBI_JSON_STRICT, &descriptor, NULL),
                     WB_OK);
    rc = wbi_catalog_add(b, descriptor, &binding, err);
    wbi_arena_free(arena); /* what was given is copied */
    return rc;
}

static struct wbi_catalog *build(struct wbi_catalog_builder *b)
{
    struct wbi_catalog *c;

    assert_int_equal(wbi_catalog_build(b, &c, NULL), WB_OK);
    return c;
}

static const struct wbi_tool *find(const struct wbi_catalog *c, const char *name)
{
    const struct wbi_tool *t = NULL;
    struct wbi_arena *arena;

    assert_int_equal(wbi_arena_new(65536, &arena), WB_OK);
    assert_int_equal(
        wbi_catalog_resolve(c, arena, NULL, WBI_NONE, wbi_str_z(name), WBI_NONE, &t, NULL), WB_OK);
    wbi_arena_free(arena);
    return t;
}

/* Two versions of each of many tools; none of them a second time. */
static void test_twins(void **state)
{
    struct wbi_catalog_builder *b;
    struct wbi_error err;
    struct wbi_catalog *c;

    (void)state;
    assert_int_equal(wbi_catalog_builder_new(&b), WB_OK);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(add(b, "a", i, "1.0.0", NULL), WB_OK);
        assert_int_equal(add(b, "a", i, "1.1.0", NULL), WB_OK);
    }
    for (unsigned i = 0; i < MANY; i += 7) {
        err = (struct wbi_error)WBI_ERROR_INIT;
        assert_int_equal(add(b, "a", i, "1.0.0", &err), WB_EEXISTS);
        assert_non_null(strstr(err.text, "has a version 1.0.0 already"));
        assert_int_equal(add(b, "a", i, "1.1.0", NULL), WB_EEXISTS);
    }
    c = build(b);
    assert_int_equal(wbi_catalog_count(c), 2 * MANY);
    assert_true(wbi_str_eqz(find(c, "mcp::a::tool_299")->version, "1.1.0"));
    wbi_catalog_unref(c);
}

/* A tool is read once, however many snapshots it stands in; names are settled in each. */
static void test_the_next_snapshot_shares_what_stays(void **state)
{
    struct wbi_catalog_builder *b;
    struct wbi_catalog *first, *second;
    const struct wbi_schema *compiled;
    struct wbi_str name;

    (void)state;
    assert_int_equal(wbi_catalog_builder_new(&b), WB_OK);
    assert_int_equal(add(b, "a", 1, "1.0.0", NULL), WB_OK);
    assert_int_equal(add(b, "b", 2, "1.0.0", NULL), WB_OK);
    first = build(b);
    compiled = find(first, "mcp::a::tool_1")->input_compiled;

    assert_int_equal(wbi_catalog_builder_new(&b), WB_OK);
    assert_int_equal(wbi_catalog_add_others(b, first, WBI_LIT("mcp::b"), NULL), WB_OK);
    assert_int_equal(add(b, "a", 1, "1.0.0", NULL), WB_EEXISTS);
    assert_int_equal(add(b, "b", 3, "1.0.0", NULL), WB_OK);
    second = build(b);
    assert_int_equal(wbi_catalog_count(second), 2);
    assert_ptr_equal(find(second, "mcp::a::tool_1")->input_compiled, compiled);
    wbi_catalog_unref(first);

    name = find(second, "mcp::a::tool_1")->model_name; /* still there */
    assert_true(name.n > 0);
    assert_true(wbi_str_eqz(wbi_json_get_str(find(second, "mcp::a::tool_1")->descriptor, "name"),
                            "tool_1"));
    wbi_catalog_unref(second);
}

/* One that is given up takes nothing with it that another still has. */
static void test_a_builder_that_is_given_up(void **state)
{
    struct wbi_catalog_builder *b;
    struct wbi_catalog *c;

    (void)state;
    assert_int_equal(wbi_catalog_builder_new(&b), WB_OK);
    assert_int_equal(add(b, "a", 1, "1.0.0", NULL), WB_OK);
    c = build(b);
    assert_int_equal(wbi_catalog_builder_new(&b), WB_OK);
    assert_int_equal(wbi_catalog_add_all(b, c, NULL), WB_OK);
    wbi_catalog_builder_free(b);
    assert_true(wbi_str_eqz(find(c, "mcp::a::tool_1")->qualified, "mcp::a::tool_1"));
    wbi_catalog_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_the_next_snapshot_shares_what_stays),
        cmocka_unit_test(test_a_builder_that_is_given_up),
    };

    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
