/* SPDX-License-Identifier: Apache-2.0
 * artifact/range_test.c: ranges as people and models write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "artifact/range.h"
#include "base/checked.h"

static void ranges_in_words(void **state)
{
    uint64_t a, z;
    static const char *const bad_lines[] = {
        "", "-", "0-3", "0", "3-2", "a-b", "1-2-3", "--1", "18446744073709551616", "1 - 2", "+1"};
    static const char *const bad_bytes[] = {"", "-", "5", "3-2", "x-", "1--2"};

    (void)state;
    assert_int_equal(wbi_range_lines(WBI_LIT("3-7"), &a, &z, NULL), WB_OK);
    assert_true(a == 3 && z == 7);
    assert_int_equal(wbi_range_lines(WBI_LIT("3-"), &a, &z, NULL), WB_OK);
    assert_true(a == 3 && z == WBI_RANGE_END);
    assert_int_equal(wbi_range_lines(WBI_LIT("-4"), &a, &z, NULL), WB_OK);
    assert_true(a == 1 && z == 4);
    assert_int_equal(wbi_range_lines(WBI_LIT("9"), &a, &z, NULL), WB_OK);
    assert_true(a == 9 && z == 9);
    assert_int_equal(wbi_range_bytes(WBI_LIT("0-10"), &a, &z, NULL), WB_OK);
    assert_true(a == 0 && z == 10);
    for (size_t i = 0; i < WBI_COUNT(bad_lines); i++)
        assert_int_equal(wbi_range_lines(wbi_str_z(bad_lines[i]), &a, &z, NULL), WB_EINPUT);
    for (size_t i = 0; i < WBI_COUNT(bad_bytes); i++)
        assert_int_equal(wbi_range_bytes(wbi_str_z(bad_bytes[i]), &a, &z, NULL), WB_EINPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_in_words)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
