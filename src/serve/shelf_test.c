/* SPDX-License-Identifier: Apache-2.0
 * serve/shelf_test.c: what a server lists is found again under its own name only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/checked.h"
#include "serve/shelf.h"

static void names_are_found_whole(void **state)
{
    struct wbi_shelf s = {0};

    (void)state;
    assert_false(wbi_shelf_has(&s, WBI_LIT("x://1")));
    assert_true(wbi_shelf_put(&s, WBI_MCP_RESOURCES, WBI_LIT("p"),
                              WBI_LIT("[{\"uri\":\"x://10\",\"name\":\"n\",\"a\":1},7,"
                                      "{\"uri\":\"y://\\\"q?x://2\",\"name\":\"n\"},"
                                      "{\"uri\":\"nameless://\"},{\"name\":\"n\"},\"x\"]")));
    assert_int_equal(s.count, 2);
    assert_true(wbi_str_eqz(s.items[0].json, "{\"uri\":\"x://10\",\"name\":\"n\",\"a\":1}"));
    assert_true(wbi_shelf_has(&s, WBI_LIT("x://10")));
    assert_true(wbi_shelf_has(&s, WBI_LIT("y://\"q?x://2")));
    assert_false(wbi_shelf_has(&s, WBI_LIT("x://1")));
    assert_false(wbi_shelf_has(&s, WBI_LIT("x://2")));
    assert_false(wbi_shelf_has(&s, WBI_LIT("")));
    wbi_shelf_empty(&s);
    assert_false(s.told);
}

static void only_another_list_is_a_change(void **state)
{
    struct wbi_shelf s = {.late = 2};
    struct wbi_str one = WBI_LIT("[{\"name\":\"one\"}]"), two = WBI_LIT("[{\"name\":\"two\"}]");

    (void)state;
    assert_true(wbi_shelf_put(&s, WBI_MCP_PROMPTS, WBI_LIT("gh"), one));
    assert_true(wbi_shelf_has(&s, WBI_LIT("gh__one")));
    assert_true(wbi_str_eqz(s.items[0].json, "{\"name\":\"gh__one\"}"));
    assert_false(wbi_shelf_put(&s, WBI_MCP_PROMPTS, WBI_LIT("gh"), one));
    assert_false(wbi_shelf_put(&s, WBI_MCP_PROMPTS, WBI_LIT("gh"), WBI_LIT("no JSON")));
    assert_true(wbi_shelf_has(&s, WBI_LIT("gh__one")));
    assert_true(wbi_shelf_put(&s, WBI_MCP_PROMPTS, WBI_LIT("gh"), two));
    assert_false(wbi_shelf_has(&s, WBI_LIT("gh__one")));
    assert_true(wbi_shelf_put(&s, WBI_MCP_PROMPTS, WBI_LIT(""), two));
    assert_true(wbi_shelf_has(&s, WBI_LIT("two")));
    assert_int_equal(s.late, 2);
    wbi_shelf_empty(&s);
}

#define MARKED(a) "{\"uri\":\"x:y\",\"name\":\"n\",\"annotations\":" a "}"
#define BARE "{\"uri\":\"x:y\",\"name\":\"n\"}"
static const struct {
    const char *item, *told;
} marks[] = {
    {MARKED("{\"audience\":[\"user\",\"assistant\"],\"priority\":0.5,\"x\":[1]}"), NULL},
    {MARKED("{\"lastModified\":\"2025-01-12T15:00:58.5+02:00\",\"priority\":1}"), NULL},
    {MARKED("{}"), NULL},
    {MARKED("{\"audience\":null,\"priority\":0}"), MARKED("{\"priority\":0}")},
    {MARKED("{\"lastModified\":\"2025-01-12\"}"), BARE},
    {MARKED("{\"lastModified\":5}"), BARE},
    {MARKED("{\"priority\":2}"), BARE},
    {MARKED("{\"priority\":\"1\"}"), BARE},
    {MARKED("{\"audience\":[\"model\"]}"), BARE},
    {MARKED("{\"audience\":\"user\"}"), BARE},
    {MARKED("[]"), BARE},
    {MARKED("null"), BARE},
};

/* Strict clients lose the whole list, of all servers, over one of another form. */
static void annotations_of_a_wrong_form_are_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(marks); i++) {
        struct wbi_shelf s = {0};
        char list[256];

        (void)snprintf(list, sizeof(list), "[%s]", marks[i].item);
        assert_true(wbi_shelf_put(&s, WBI_MCP_RESOURCES, WBI_NONE, wbi_str_z(list)));
        if (s.count != 1 ||
            !wbi_str_eqz(s.items[0].json, marks[i].told != NULL ? marks[i].told : marks[i].item))
            fail_msg("%s", marks[i].item);
        wbi_shelf_empty(&s);
    }
}

static const struct {
    const char *template, *uri;
    size_t fits; /* plain characters and one */
} rows[] = {
    {"a://t/{id}", "a://t/5", 7},
    {"a://t/{id}", "a://t/", 7},
    {"a://t/{id}", "a://u/5", 0},
    {"a://t/{id}", "xa://t/5", 0},
    {"a://t/{id}/end", "a://t/5/end", 11},
    {"a://t/{id}/end", "a://t/5/end/end", 11},
    {"a://t/{id}/end", "a://t/5/en", 0},
    {"{+all}", "anything at all", 1},
    {"{a}b{c}", "xxbyy", 2},
    {"{a}b{c}", "xxyy", 0},
    {"a://{", "a://{", 6}, /* no expression */
    {"a://{", "a://x", 0},
    {"a://}", "a://}", 6},
};

static void a_uri_fits_what_it_can_come_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_shelf s = {0};
        char list[128];

        (void)snprintf(list, sizeof(list), "[{\"uriTemplate\":\"%s\",\"name\":\"t\"}]",
                       rows[i].template);
        assert_true(wbi_shelf_put(&s, WBI_MCP_TEMPLATES, WBI_NONE, wbi_str_z(list)));
        assert_int_equal(wbi_shelf_fits(&s, wbi_str_z(rows[i].uri)), rows[i].fits);
        wbi_shelf_empty(&s);
    }
}

/* A template that is made to take long takes no time from others. */
static void a_search_has_an_end(void **state)
{
    static char list[65536], uri[65536];
    struct wbi_shelf s = {0};
    size_t n;

    (void)state;
    n = (size_t)snprintf(list, sizeof(list), "[{\"name\":\"t\",\"uriTemplate\":\"{x}");
    memset(list + n, 'a', 30000);
    (void)snprintf(list + n + 30000, sizeof(list) - n - 30000, "b\"}]");
    memset(uri, 'a', sizeof(uri) - 1);
    assert_true(wbi_shelf_put(&s, WBI_MCP_TEMPLATES, WBI_NONE, wbi_str_z(list)));
    assert_int_equal(wbi_shelf_fits(&s, wbi_str_z(uri)), 0);
    wbi_shelf_empty(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_whole), cmocka_unit_test(only_another_list_is_a_change),
        cmocka_unit_test(annotations_of_a_wrong_form_are_left_out),
        cmocka_unit_test(a_uri_fits_what_it_can_come_of), cmocka_unit_test(a_search_has_an_end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
