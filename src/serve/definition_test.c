/* SPDX-License-Identifier: Apache-2.0
 * serve/definition_test.c: what a server may say about its tools (attack row 78). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/limits.h"
#include "json/write.h"
#include "serve/definition.h"
#include "text/secrets.h"

static const struct {
    const char *name, *tool, *clean; /* clean NULL: hides nothing, stays as it is */
} rows[] = {
    {"plain", "{\"name\":\"t\",\"description\":\"Lists files.\\nAll of them.\"}", NULL},
    {"line ends", "{\"name\":\"t\",\"description\":\"one\\r\\ntwo\"}", NULL},
    {"umlauts and emoji", "{\"name\":\"t\",\"title\":\"Größe ✔️ 日本\"}", NULL},
    {"escape sequence", "{\"description\":\"a\\u001b[8mhidden\\u001b[0mb\",\"name\":\"t\"}",
     "{\"description\":\"ahiddenb\",\"name\":\"t\"}"},
    {"bidirectional", "{\"description\":\"a\\u202eb\"}", "{\"description\":\"a<U+202E>b\"}"},
    {"tags", "{\"title\":\"x\\udb40\\udc41\"}", "{\"title\":\"x<U+E0041>\"}"},
    {"drawn over", "{\"description\":\"delete all\\rlist some\"}",
     "{\"description\":\"list somel\"}"},
    {"in a schema", "{\"inputSchema\":{\"properties\":{\"p\":{\"description\":\"a\\u200bb\"}}}}",
     "{\"inputSchema\":{\"properties\":{\"p\":{\"description\":\"a<U+200B>b\"}}}}"},
    {"values stay",
     "{\"enum\":[\"a\\u200bb\"],\"pattern\":\"\\u200b\",\"description\":\"\\u200b\"}",
     "{\"enum\":[\"a\xe2\x80\x8b"
     "b\"],\"pattern\":\"\xe2\x80\x8b\",\"description\":\"<U+200B>\"}"},
    {"a name that is prose elsewhere", "{\"description\":{\"title\":\"\\u200b\\\"\\\\\"}}",
     "{\"description\":{\"title\":\"<U+200B>\\\"\\\\\"}}"},
};

static struct wbi_secrets *new_secrets(void)
{
    struct wbi_secrets_options options = {.key = WBI_LIT("k")};
    struct wbi_secrets *secrets = NULL;

    assert_int_equal(wbi_secrets_new(&options, &secrets, NULL, NULL), WB_OK);
    return secrets;
}

static void hidden_text_is_found_and_made_visible(void **state)
{
    struct wbi_secrets *secrets = new_secrets();

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_arena *arena = NULL;
        const wbi_json *tool, *clean;
        struct wbi_buf text;

        assert_int_equal(wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena), WB_OK);
        assert_int_equal(
            wbi_json_read(arena, wbi_str_z(rows[i].tool), WBI_JSON_STRICT, &tool, NULL), WB_OK);
        if (wbi_definition_hides(tool) != (rows[i].clean != NULL))
            fail_msg("%s: hides %d", rows[i].name, wbi_definition_hides(tool));
        assert_int_equal(wbi_definition_clean(arena, secrets, tool, &clean, NULL), WB_OK);
        wbi_buf_init_arena(&text, arena, WBI_LIMIT_SMALL_ARENA);
        wbi_json_write(&text, clean);
        wbi_buf_addc(&text, '\0');
        if (rows[i].clean != NULL)
            assert_string_equal(text.p, rows[i].clean);
        wbi_arena_free(arena);
    }
    wbi_secrets_free(secrets);
}

/* In two pieces, so that no scanner takes this file for a leak. */
#define SECRET \
    "ghp_"     \
    "16C7e42F292c6912E7710c838347Ae178B4a"
static void secrets_of_texts_are_replaced_where_no_call_depends_on_them(void **state) /* C8.8 */
{
    static const char tool[] =
        "{\"name\":\"a\",\"description\":\"use " SECRET "\",\"inputSchema\":{\"properties\":{"
        "\"k\":{\"title\":\"" SECRET "\",\"default\":\"" SECRET "\",\"examples\":[\"" SECRET
        "\",{\"a\":[{}],\"b\":\"" SECRET "\"}],\"const\":\"" SECRET "\"}}}}";
    struct wbi_secrets *secrets = new_secrets();
    struct wbi_arena *arena = NULL;
    const wbi_json *v, *clean, *k;
    struct wbi_buf text;

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena), WB_OK);
    assert_int_equal(wbi_json_read(arena, wbi_str_z(tool), WBI_JSON_STRICT, &v, NULL), WB_OK);
    assert_true(wbi_definition_tells(secrets, v));
    assert_false(wbi_definition_tells(secrets, wbi_json_get(v, "name")));
    assert_int_equal(wbi_definition_clean(arena, secrets, v, &clean, NULL), WB_OK);
    k = wbi_json_get(wbi_json_get(wbi_json_get(clean, "inputSchema"), "properties"), "k");
    assert_true(wbi_str_starts(wbi_json_get_str(clean, "description"), WBI_LIT("use [redacted:")));
    assert_true(wbi_str_eqz(wbi_json_get_str(k, "const"), SECRET)); /* validation needs it */
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_SMALL_ARENA);
    wbi_json_write(&text, clean);
    wbi_buf_addc(&text, '\0');
    assert_non_null(strstr(text.p, SECRET));
    assert_null(strstr(strstr(text.p, SECRET) + 1, SECRET)); /* that one alone */
    wbi_arena_free(arena);
    wbi_secrets_free(secrets);
}

#define OBJ "\"inputSchema\":{\"type\":\"object\"}"
static const struct {
    const char *tool, *rest; /* rest: members that are left; NULL: no definition */
} forms[] = {
    {"{\"name\":\"a\"," OBJ "}", OBJ},
    {"{\"name\":\"a\"}", NULL},
    {"{\"name\":\"a\",\"inputSchema\":true}", NULL},
    {"{\"name\":\"a\",\"inputSchema\":{}}", NULL},
    {"{\"name\":\"a\",\"inputSchema\":{\"type\":[\"object\"]}}", NULL},
    {"7", NULL},
    {"{\"name\":\"a\"," OBJ ",\"title\":null,\"description\":5}", OBJ},
    {"{\"name\":\"a\"," OBJ ",\"annotations\":{\"readOnlyHint\":\"yes\"}}", OBJ},
    {"{\"name\":\"a\"," OBJ ",\"annotations\":{\"title\":\"t\",\"readOnlyHint\":true,\"x\":7}}",
     OBJ ",\"annotations\":{\"title\":\"t\",\"readOnlyHint\":true,\"x\":7}"},
    {"{\"name\":\"a\"," OBJ ",\"annotations\":{\"title\":null,\"readOnlyHint\":true}}",
     OBJ ",\"annotations\":{\"readOnlyHint\":true}"},
    {"{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"properties\":null,\"required\":null}}",
     OBJ},
    {"{\"name\":\"a\"," OBJ ",\"outputSchema\":{\"type\":\"object\",\"required\":null}}",
     OBJ ",\"outputSchema\":{\"type\":\"object\"}"},
    {"{\"name\":\"a\"," OBJ ",\"icons\":[{\"src\":\"u\",\"theme\":\"dark\"}]}",
     OBJ ",\"icons\":[{\"src\":\"u\",\"theme\":\"dark\"}]"},
    {"{\"name\":\"a\"," OBJ ",\"icons\":[{\"src\":\"u\",\"theme\":\"pink\"}]}", OBJ},
    {"{\"name\":\"a\"," OBJ ",\"icons\":[{}]}", OBJ},
    {"{\"name\":\"a\"," OBJ ",\"execution\":{\"taskSupport\":\"maybe\"}}", OBJ},
    {"{\"name\":\"a\"," OBJ ",\"execution\":{\"taskSupport\":\"optional\"}}",
     OBJ ",\"execution\":{\"taskSupport\":\"optional\"}"},
    {"{\"name\":\"a\"," OBJ ",\"_meta\":1,\"outputSchema\":true,\"vendor\":1}",
     OBJ ",\"vendor\":1"},
};

static void what_the_protocol_does_not_allow_is_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(forms); i++) {
        struct wbi_arena *arena = NULL;
        const wbi_json *tool, *taken;
        struct wbi_buf got, want;
        struct wbi_jw w = wbi_jw_to(&got);
        wb_rc rc;

        assert_int_equal(wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena), WB_OK);
        assert_int_equal(
            wbi_json_read(arena, wbi_str_z(forms[i].tool), WBI_JSON_STRICT, &tool, NULL), WB_OK);
        rc = wbi_definition_take(arena, tool, &taken, NULL);
        if ((rc == WB_OK) != (forms[i].rest != NULL))
            fail_msg("%s: %d", forms[i].tool, rc);
        wbi_buf_init_arena(&got, arena, WBI_LIMIT_SMALL_ARENA);
        wbi_buf_init_arena(&want, arena, WBI_LIMIT_SMALL_ARENA);
        if (rc == WB_OK) {
            wbi_definition_write(&w, WBI_LIT("s__a"), taken, false);
            wbi_buf_addf(&want, "{\"name\":\"s__a\",%s}", forms[i].rest);
            assert_true(wbi_str_eq(wbi_buf_str(&got), wbi_buf_str(&want)));
        }
        wbi_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_text_is_found_and_made_visible),
        cmocka_unit_test(secrets_of_texts_are_replaced_where_no_call_depends_on_them),
        cmocka_unit_test(what_the_protocol_does_not_allow_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
