/* SPDX-License-Identifier: Apache-2.0
 * examples/register_tool.c: a tool that is a C function. Its input is checked
 * against the schema before it runs; Waybill bounds and shows what it returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <waybill/waybill.h>

static const char descriptor[] =
    "{\"name\": \"shout\", \"version\": \"1.0.0\", \"effect\": \"Pure\","
    " \"description\": \"Give back the text in capital letters.\","
    " \"inputSchema\": {\"type\": \"object\", \"required\": [\"text\"],"
    "   \"properties\": {\"text\": {\"type\": \"string\"}}, \"additionalProperties\": false}}";

static void shout(wb_tool_call *call, void *arg)
{
    size_t n;
    const char *text = wb_tool_call_string(call, "/text", &n);
    char *loud = malloc(n + 1);

    (void)arg;
    if (loud == NULL) {
        wb_tool_fail(call, NULL, "no memory for the answer", NULL);
        return;
    }
    for (size_t i = 0; i < n; i++)
        loud[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 32) : text[i];
    wb_tool_finish_text(call, loud, n); /* copied */
    free(loud);
}

static void show(wb_runtime *runtime, const char *input)
{
    wb_request *request = wb_request_new("shout");
    wb_result *result;

    if (request != NULL && wb_request_set(request, WB_FIELD_INPUT, input) == WB_OK &&
        wb_call_run(runtime, request, &result) == WB_OK) {
        printf("%s -> exit code %d\n%s\n\n", input, wb_result_exit_code(result),
               wb_result_view(result, WB_VIEW_RECEIPT, NULL));
        wb_result_free(result);
    }
    wb_request_free(request);
}

int main(void)
{
    wb_options *options = wb_options_new();
    wb_runtime *runtime;
    wb_error *error = NULL;

    /* No files, no configuration: only what is registered here. */
    if (options == NULL || wb_options_set(options, WB_OPT_BARE, "1") != WB_OK ||
        wb_runtime_new(options, &runtime, &error) != WB_OK ||
        wb_tool_register(runtime, descriptor, NULL, shout, NULL, NULL, &error) != WB_OK) {
        fprintf(stderr, "register_tool: %s\n", wb_error_text(error));
        return 1;
    }
    show(runtime, "{\"text\": \"hello\"}");
    show(runtime, "{\"txet\": \"hello\"}");
    wb_runtime_free(runtime);
    wb_options_free(options);
    return 0;
}
