/* SPDX-License-Identifier: Apache-2.0
 * tests/catalog_test.c: the catalog as an embedding program sees it: versions
 * side by side, text tools, exports, the query for parallel calls, and schemas
 * through the public header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "waybill/waybill.h"

static wb_runtime *open_bare(void)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime = NULL;

    assert_non_null(o);
    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    return runtime;
}

/* Says which registration ran. */
static void answer(wb_tool_call *call, void *arg)
{
    wb_tool_finish_text(call, arg, strlen(arg));
}

static wb_rc declare(wb_runtime *runtime, const char *descriptor, const char *says)
{
    wb_error *error = NULL;
    wb_rc rc =
        wb_tool_register(runtime, descriptor, NULL, answer, NULL, (void *)(uintptr_t)says, &error);

    wb_error_free(error);
    return rc;
}

static void expect_ran(wb_runtime *runtime, const char *range, const char *version,
                       const char *said)
{
    wb_request *request = wb_request_new("tool");
    wb_result *result = NULL;
    char want[64];

    assert_non_null(request);
    assert_int_equal(wb_request_set(request, WB_FIELD_VERSION_RANGE, range), WB_OK);
    assert_int_equal(wb_call_run(runtime, request, &result), WB_OK);
    (void)snprintf(want, sizeof(want), "\"resolvedVersion\":\"%s\"", version);
    assert_non_null(strstr(wb_result_view(result, WB_VIEW_RESULT, NULL), want));
    assert_non_null(strstr(wb_result_view(result, WB_VIEW_RECEIPT, NULL), said));
    wb_result_free(result);
    wb_request_free(request);
}

/* C3.2: resolvedVersion is the registry's own string, and the version that runs. */
static void the_version_resolved_is_the_one_that_runs(void **state)
{
    wb_runtime *runtime = open_bare();

    (void)state;
    assert_int_equal(declare(runtime, "{\"name\":\"tool\",\"version\":\"1.9.0\"}", "nine"), WB_OK);
    assert_int_equal(declare(runtime, "{\"name\":\"tool\",\"version\":\"1.10.0\"}", "ten"), WB_OK);
    assert_int_equal(declare(runtime, "{\"name\":\"tool\",\"version\":\"2.0.0-beta\"}", "beta"),
                     WB_OK);
    assert_int_equal(declare(runtime, "{\"name\":\"tool\",\"version\":\"1.9.0\"}", "twice"),
                     WB_EEXISTS);
    expect_ran(runtime, NULL, "1.10.0", "ten");
    expect_ran(runtime, "~1.9.0", "1.9.0", "nine");
    expect_ran(runtime, ">=2.0.0-alpha", "2.0.0-beta", "beta");
    expect_ran(runtime, "*", "1.10.0", "ten");
    /* A version that comes while the runtime lives counts from then on. */
    assert_int_equal(declare(runtime, "{\"name\":\"tool\",\"version\":\"1.11.0\"}", "eleven"),
                     WB_OK);
    expect_ran(runtime, "^1", "1.11.0", "eleven");
    wb_runtime_free(runtime);
}

/* S2 §5: ToolRouter::tool_supports_parallel(tool_name). */
static void whether_a_tool_runs_in_parallel_is_asked_by_name(void **state)
{
    wb_runtime *runtime = open_bare();
    int parallel = -1;

    (void)state;
    assert_int_equal(declare(runtime, "{\"name\":\"fs.read\",\"parallel\":true}", ""), WB_OK);
    assert_int_equal(declare(runtime, "{\"name\":\"fs.write\"}", ""), WB_OK);
    assert_int_equal(wb_tool_parallel(runtime, NULL, "fs_read", &parallel, NULL), WB_OK);
    assert_int_equal(parallel, 1);
    assert_int_equal(wb_tool_parallel(runtime, NULL, "local::fs.read", &parallel, NULL), WB_OK);
    assert_int_equal(parallel, 1);
    assert_int_equal(wb_tool_parallel(runtime, NULL, "fs_write", &parallel, NULL), WB_OK);
    assert_int_equal(parallel, 0);
    assert_int_equal(wb_tool_parallel(runtime, NULL, "fs_delete", &parallel, NULL), WB_ENOTFOUND);
    assert_int_equal(wb_tool_parallel(runtime, "stranger", "fs_read", &parallel, NULL),
                     WB_ENOTFOUND);
    assert_int_equal(wb_tool_parallel(NULL, NULL, "fs_read", &parallel, NULL), WB_EMISUSE);
    wb_runtime_free(runtime);
}

static void descriptors_that_contradict_themselves_are_refused(void **state)
{
    static const struct {
        const char *descriptor, *reason;
    } cases[] = {
        {"{\"version\":\"1.0.0\"}", "name is missing"},
        {"{\"name\":\"a\",\"grammar\":\"start: x\"}", "inputKind"},
        {"{\"name\":\"a\",\"inputKind\":\"text\",\"grammar\":{\"syntax\":\"bnf\",\"definition\":"
         "\"x\"}}",
         "grammar must be"},
        {"{\"name\":\"a\",\"inputKind\":\"xml\"}", "inputKind must be"},
        {"{\"name\":\"a\",\"effect\":\"Pure\",\"idempotencyKey\":\"required\"}", "Pure"},
        {"{\"name\":\"a\",\"effect\":\"IdempotentWrite\",\"idempotencyKey\":\"optional\"}",
         "must be \"required\""},
        {"{\"name\":\"a\",\"idempotencyKey\":\"maybe\"}", "\"required\" or \"optional\""},
        {"{\"name\":\"a\",\"effect\":\"Harmless\"}", "effect must be one of"},
        {"{\"name\":\"a\",\"deprecated\":7}", "deprecated must be"},
        {"{\"name\":\"a\",\"inputSchema\":{\"type\":\"strin\"}}", "strin"},
        {"{\"name\":\"a\",\"colour\":1}", "has no member \"colour\""},
    };
    wb_runtime *runtime = open_bare();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wb_error *error = NULL;
        assert_int_equal(
            wb_tool_register(runtime, cases[i].descriptor, NULL, answer, NULL, NULL, &error),
            WB_EINPUT);
        if (strstr(wb_error_text(error), cases[i].reason) == NULL)
            fail_msg("%s: %s", cases[i].descriptor, wb_error_text(error));
        wb_error_free(error);
    }
    wb_runtime_free(runtime);
}

/* Issue 5: exported as a custom tool; without a schema it takes {"input": text}. */
static void text_tools_are_custom_tools(void **state)
{
    wb_runtime *runtime = open_bare();
    char *text;

    (void)state;
    assert_int_equal(
        declare(runtime, "{\"name\":\"t\",\"inputKind\":\"text\",\"grammar\":\"start: /a/\"}", ""),
        WB_OK);
    assert_int_equal(wb_tools_export(runtime, NULL, "responses", &text, NULL, NULL), WB_OK);
    assert_string_equal(text,
                        "[{\"type\":\"custom\",\"name\":\"t\",\"format\":{\"type\":\"grammar\","
                        "\"syntax\":\"lark\",\"definition\":\"start: /a/\"}}]");
    wb_free(text);
    assert_int_equal(wb_tools_export(runtime, NULL, "anthropic", &text, NULL, NULL), WB_OK);
    assert_non_null(strstr(text, "\"properties\":{\"input\":{\"type\":\"string\"}},"
                                 "\"required\":[\"input\"]"));
    wb_free(text);
    assert_int_equal(wb_tools_export(runtime, NULL, "native", &text, NULL, NULL), WB_EINPUT);
    assert_int_equal(wb_tools_export(runtime, NULL, "gemini", &text, NULL, NULL), WB_OK);
    assert_non_null(strstr(text, "[{\"functionDeclarations\":[{\"name\":\"t\""));
    wb_free(text);
    wb_runtime_free(runtime);
}

static int give(const char *uri, const char **ret_text, size_t *ret_size, void *arg)
{
    if (strcmp(uri, "https://example.com/n.json") != 0)
        return 0;
    *ret_text = arg;
    *ret_size = strlen(arg);
    return 1;
}

static void schemas_are_compiled_once_and_asked_often(void **state)
{
    char document[] = "{\"type\":\"number\"}";
    wb_schema_options options = {.remote = give, .arg = document};
    const char *text = "{\"$ref\":\"https://example.com/n.json\"}";
    wb_schema *schema = NULL;
    wb_error *error = NULL;
    char *report;
    int valid = -1;

    (void)state;
    assert_int_equal(wb_schema_compile(text, strlen(text), NULL, &schema, &error), WB_EUNSUPPORTED);
    wb_error_free(error);
    error = NULL;
    assert_int_equal(wb_schema_compile(text, strlen(text), &options, &schema, NULL), WB_OK);
    assert_int_equal(wb_schema_check(schema, "1", 1, &valid, NULL, NULL, NULL), WB_OK);
    assert_int_equal(valid, 1);
    assert_int_equal(wb_schema_check(schema, "\"1\"", 3, &valid, &report, NULL, NULL), WB_OK);
    assert_int_equal(valid, 0);
    assert_non_null(strstr(report, "\"code\":\"InvalidType\""));
    wb_free(report);
    assert_int_equal(wb_schema_check(schema, "{", 1, &valid, NULL, NULL, &error), WB_EINPUT);
    wb_error_free(error);
    wb_schema_free(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_resolved_is_the_one_that_runs),
        cmocka_unit_test(whether_a_tool_runs_in_parallel_is_asked_by_name),
        cmocka_unit_test(descriptors_that_contradict_themselves_are_refused),
        cmocka_unit_test(text_tools_are_custom_tools),
        cmocka_unit_test(schemas_are_compiled_once_and_asked_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
