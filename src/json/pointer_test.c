/* SPDX-License-Identifier: Apache-2.0
 * json/pointer_test.c: RFC 6901, its own examples first (section 5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "json/pointer.h"
#include "json/write.h"

static const char document[] =
    "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,"
    "\"k\\\"l\":6,\" "
    "\":7,\"m~n\":8,\"deep\":[{\"~1\":{\"01\":[10,11,12,13,14,15,16,17,18,19,20]}}]}";

static void pointers_lead_where_the_rfc_says(void **state)
{
    static const struct {
        const char *pointer;
        const char *value; /* NULL: nowhere; "!": no pointer */
    } cases[] = {{"", document},
                 {"/foo", "[\"bar\",\"baz\"]"},
                 {"/foo/0", "\"bar\""},
                 {"/", "0"},
                 {"/a~1b", "1"},
                 {"/c%d", "2"},
                 {"/e^f", "3"},
                 {"/g|h", "4"},
                 {"/i\\j", "5"},
                 {"/k\"l", "6"},
                 {"/ ", "7"},
                 {"/m~0n", "8"},
                 {"/foo/2", NULL},
                 {"/foo/-", NULL},
                 {"/foo/00", NULL},
                 {"/foo/01", NULL},
                 {"/foo/ 0", NULL},
                 {"/foo/+0", NULL},
                 {"/foo/-0", NULL},
                 {"/foo/18446744073709551616", NULL},
                 {"/foo/", NULL},
                 {"/foo/0/x", NULL},
                 {"/nothing", NULL},
                 {"//", NULL},
                 {"foo", "!"},
                 {"/m~n", "!"},
                 {"/m~", "!"},
                 {"/~2", "!"},
                 {"#/foo", "!"},
                 {"/deep/0/~01/01/10", "20"},
                 {"/deep/0/~1/01", NULL}};
    struct wbi_arena *arena;
    struct wbi_buf out;
    const wbi_json *root;

    (void)state;
    wbi_buf_init(&out, 4096);
    assert_int_equal(wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena), WB_OK);
    assert_int_equal(wbi_json_read(arena, wbi_str_z(document), WBI_JSON_STRICT, &root, NULL),
                     WB_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        const wbi_json *v = NULL;
        wb_rc rc = wbi_json_pointer(root, wbi_str_z(cases[i].pointer), &v, &err);

        if (cases[i].value == NULL || cases[i].value[0] == '!') {
            assert_int_equal(rc, cases[i].value ? WB_EINPUT : WB_ENOTFOUND);
            assert_null(v);
            continue;
        }
        if (rc != WB_OK)
            fail_msg("%s: %s", cases[i].pointer, err.text);
        wbi_buf_clear(&out);
        wbi_json_write(&out, v);
        assert_string_equal(out.p, cases[i].value);
    }
    wbi_buf_fini(&out);
    wbi_arena_free(arena);
}

static void tokens_are_escaped(void **state)
{
    struct wbi_buf path;

    (void)state;
    wbi_buf_init(&path, 100);
    wbi_json_pointer_add(&path, WBI_LIT("a/b~c~1"));
    wbi_json_pointer_add(&path, WBI_LIT(""));
    wbi_json_pointer_add(&path, WBI_LIT("plain"));
    assert_string_equal(path.p, "/a~1b~0c~01//plain");
    wbi_buf_fini(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_lead_where_the_rfc_says),
        cmocka_unit_test(tokens_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
