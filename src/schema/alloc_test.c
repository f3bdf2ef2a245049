/* SPDX-License-Identifier: Apache-2.0
 * schema/alloc_test.c: compile, check, repair and lint with the n-th allocation
 * failing, for every n: an error is returned, nothing crashes, nothing leaks.
 * The allocator of base/ is replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/limits.h"
#include "faults/base_fault.h"
#include "schema/schema.h"

struct journey {
    const char *schema;
    const char *instance;
};

static wb_rc use(struct wbi_arena *arena, const struct wbi_schema *s, const wbi_json *instance)
{
    struct wbi_schema_report report;
    struct wbi_schema_repair repair;
    wb_rc rc = wbi_schema_check(s, instance, arena, &report, NULL);

    if (rc == WB_OK)
        rc = wbi_schema_coerce(s, instance, arena, &repair, NULL);
    return rc;
}

/* WB_ENOMEM, or WB_ELIMIT where a regular expression could not get memory. */
static wb_rc walk(const struct journey *j)
{
    struct wbi_schema_options opt = {.format_assert = true};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema_findings findings;
    const wbi_json *schema_json, *instance;
    struct wbi_schema *s = NULL;
    struct wbi_arena *arena = NULL;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc == WB_OK)
        rc = wbi_json_read(arena, wbi_str_z(j->schema), WBI_JSON_STRICT, &schema_json, &err);
    if (rc == WB_OK)
        rc = wbi_json_read(arena, wbi_str_z(j->instance), WBI_JSON_STRICT, &instance, &err);
    if (rc == WB_OK)
        rc = wbi_schema_compile(schema_json, &opt, &s, &err);
    if (rc == WB_OK)
        rc = use(arena, s, instance);
    if (rc == WB_OK)
        rc = wbi_schema_lint(schema_json, WBI_LINT_ALL, arena, &findings);
    wbi_schema_free(s);
    wbi_arena_free(arena);
    return rc;
}

static void every_allocation_may_fail(void **state)
{
    static const struct journey journeys[] = {
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"enum\":[\"x\","
         "{\"y\":1}]}},\"required\":[\"c\"],\"additionalProperties\":false}",
         "{\"a\":\"1\",\"b\":2,\"z\":3}"},
        {"{\"$id\":\"http://x/y\",\"patternProperties\":{\"^\\\\p{Letter}+$\":{\"$ref\":\"#/$defs/"
         "d\"}},"
         "\"$defs\":{\"d\":{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"z\"}]},\"z\":{\"$id\":\"z\","
         "\"items\":{\"pattern\":\"^a\",\"format\":\"regex\"},\"uniqueItems\":true}},"
         "\"unevaluatedProperties\":false}",
         "{\"ab\":[\"b\",\"a\",\"c\",1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],\"1\":2}"},
        {"{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}",
         "{\"properties\":{\"a\":{\"minLength\":\"1\"}}}"}};

    (void)state;
    for (size_t i = 0; i < sizeof(journeys) / sizeof(journeys[0]); i++) {
        long n = 0;
        wb_rc rc;

        until_failure = -1;
        assert_int_equal(walk(&journeys[i]), WB_OK);
        assert_int_equal(live, 0);
        do {
            until_failure = n++;
            rc = walk(&journeys[i]);
            assert_int_equal(live, 0);
            if (until_failure < 0)
                assert_true(rc == WB_ENOMEM || rc == WB_ELIMIT || rc == WB_OK);
        } while (until_failure < 0);
        assert_int_equal(rc, WB_OK); /* it was not needed any more */
        assert_true(n > 5);
    }
    until_failure = -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
