/* SPDX-License-Identifier: Apache-2.0
 * examples/error_surfaces.c: one error on every surface. All of them are views of
 * the same outcome; none is parsed back to learn what happened. */
#include <stdio.h>

#include <waybill/waybill.h>

static void busy(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_fail(call, "rate_limited", "the printer takes one page a second",
                 "{\"retryAfterMs\": 800, \"throttlingScope\": \"tool\"}");
}

static int64_t still(void *arg)
{
    return *(int64_t *)arg;
}

static void count(void *arg, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (*(uint8_t *)arg)++;
}

static int run(wb_runtime *runtime)
{
    static const struct {
        const char *name;
        wb_view view;
    } views[] = {{"receipt", WB_VIEW_RECEIPT},
                 {"canonical", WB_VIEW_CANONICAL},
                 {"result", WB_VIEW_RESULT},
                 {"envelope", WB_VIEW_ENVELOPE}};
    wb_request *request = wb_request_new("print");
    wb_result *result;

    if (request == NULL || wb_request_set(request, WB_FIELD_CORRELATION_ID, "demo") != WB_OK ||
        wb_request_set(request, WB_FIELD_CALL_ID, "call_1") != WB_OK ||
        wb_call_run(runtime, request, &result) != WB_OK)
        return 1;
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
        printf("-- %s\n%s\n", views[i].name, wb_result_view(result, views[i].view, NULL));
    printf("-- exit code\n%d\n", wb_result_exit_code(result));
    wb_result_free(result);
    wb_request_free(request);
    return 0;
}

int main(void)
{
    int64_t moment = 1763187480000; /* a clock and ids of our own: the same bytes every time */
    uint8_t next = 0;
    wb_options *options = wb_options_new();
    wb_runtime *runtime;
    int code = 1;

    if (options == NULL || wb_options_set(options, WB_OPT_BARE, "1") != WB_OK ||
        wb_options_set_clock(options, still, still, &moment) != WB_OK ||
        wb_options_set_ids(options, count, &next) != WB_OK ||
        wb_runtime_new(options, &runtime, NULL) != WB_OK)
        return 1;
    if (wb_tool_register(runtime, "{\"name\": \"print\", \"effect\": \"Pure\"}", NULL, busy, NULL,
                         NULL, NULL) == WB_OK)
        code = run(runtime);
    wb_runtime_free(runtime);
    wb_options_free(options);
    return code;
}
