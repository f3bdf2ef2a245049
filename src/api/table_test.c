/* SPDX-License-Identifier: Apache-2.0
 * api/table_test.c: tables on terminals and in pipes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "waybill/waybill.h"

static const char *const columns[] = {"id=ID", "tool=TOOL", "text=TEXT"};

static char *table(const char *json, size_t width)
{
    char *text = NULL;
    size_t n = 0;

    assert_int_equal(wb_json_table(json, strlen(json), columns, 3, width, &text, &n, NULL), WB_OK);
    assert_int_equal(strlen(text), n);
    return text;
}

static void a_line_keeps_to_the_terminal(void **state)
{
    char *text = table("[{\"id\":\"1\",\"tool\":\"x\",\"text\":\"one two three four\"}]", 20);

    (void)state;
    assert_string_equal(text, "ID  TOOL  TEXT\n1   x     one two t\u2026\n");
    wb_free(text);
}

static void what_a_caller_wrote_widens_no_column_without_end(void **state)
{
    char json[400], name[301], *text;

    (void)state;
    memset(name, 'n', 300);
    name[300] = '\0';
    (void)snprintf(json, sizeof(json), "[{\"id\":\"1\",\"tool\":\"%s\",\"text\":\"t\"}]", name);
    text = table(json, 100);
    assert_true(strcspn(text, "\n") < 100);
    assert_non_null(strstr(text, "n\u2026  t\n"));
    wb_free(text);
    text = table(json, 0);
    assert_non_null(strstr(text, name)); /* not cut where nobody looks at a width */
    wb_free(text);
}

static void what_a_caller_wrote_is_seen(void **state)
{
    char *text = table("[{\"id\":\"1\\u0007\",\"tool\":{\"cmd\":\"a\\u202eb\"},"
                       "\"text\":\"x\\ny\\u0085\\u200b\\u001b[2J\"}]",
                       0);

    (void)state;
    assert_string_equal(text, "ID  TOOL                  TEXT\n"
                              "1   {\"cmd\":\"a<U+202E>b\"}  x y <U+200B> [2J\n");
    wb_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_keeps_to_the_terminal),
        cmocka_unit_test(what_a_caller_wrote_widens_no_column_without_end),
        cmocka_unit_test(what_a_caller_wrote_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
