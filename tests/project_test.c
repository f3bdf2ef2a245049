/* SPDX-License-Identifier: Apache-2.0
 * tests/project_test.c: projecting and rendering by hand (C5.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "waybill/waybill.h"

static wb_rc put(const char *role, const void *bytes, size_t size, const char **ret_path, void *arg)
{
    (void)bytes;
    assert_string_equal(role, "output");
    *(size_t *)arg = size;
    *ret_path = "/kept/output.log";
    return WB_OK;
}

static wb_rc refuse_put(const char *role, const void *bytes, size_t size, const char **ret_path,
                        void *arg)
{
    (void)role;
    (void)bytes;
    (void)size;
    (void)ret_path;
    (void)arg;
    return WB_EIO;
}

/* S0 "Projection Algorithm", step 5: a large field is written through the sink, a
 * path-only reference recorded, the field replaced by a preview, the flag set; and
 * "deterministic for the same complete output, policy, and artifact sink state". */
static void test_a_large_output_goes_through_the_sink(void **state)
{
    char *big = malloc(100000), *canonical, *again, *receipt;
    size_t kept = 0, n;
    wb_error *error = NULL;

    (void)state;
    big[0] = '"';
    for (size_t i = 1; i < 99999; i++)
        big[i] = i % 60 == 0 ? ' ' : (char)('a' + i % 26);
    big[99999] = '"';
    assert_int_equal(wb_project("t", big, 100000, 400, put, &kept, &canonical, &n, NULL), WB_OK);
    assert_int_equal(kept, 99998);
    assert_non_null(strstr(canonical, "\"truncated\":true"));
    assert_non_null(strstr(canonical, "\"artifacts\":[{\"path\":\"/kept/output.log\"}]"));
    assert_non_null(strstr(canonical, "\"output_artifact\":0"));
    assert_int_equal(wb_project("t", big, 100000, 400, put, &kept, &again, NULL, NULL), WB_OK);
    assert_string_equal(canonical, again);
    assert_int_equal(wb_render(canonical, n, &receipt, NULL, NULL), WB_OK);
    assert_non_null(strstr(receipt, "Artifact: /kept/output.log\n"));
    assert_int_equal(wb_project("t", big, 100000, 400, refuse_put, NULL, &again, NULL, &error),
                     WB_EIO);
    assert_string_equal(wb_error_kind(error), "output_persistence_failed");
    wb_error_free(error);
    wb_free(canonical);
    wb_free(again);
    wb_free(receipt);
    free(big);
}

static void test_rendering_refuses_what_is_no_canonical_result(void **state)
{
    wb_error *error = NULL;
    char *receipt;

    (void)state;
    assert_int_equal(wb_render("{}", 2, &receipt, NULL, &error), WB_EINPUT);
    assert_non_null(strstr(wb_error_text(error), "not a canonical result"));
    wb_error_free(error);
    assert_int_equal(wb_render("{", 1, &receipt, NULL, NULL), WB_EINPUT);
    assert_int_equal(wb_render(NULL, 0, &receipt, NULL, NULL), WB_EMISUSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_large_output_goes_through_the_sink),
        cmocka_unit_test(test_rendering_refuses_what_is_no_canonical_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
