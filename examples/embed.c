/* SPDX-License-Identifier: Apache-2.0
 * examples/embed.c: put the runtime into a program and call a configured tool.
 *   embed CONFIG TOOL INPUT
 *   embed examples/tools.json greet '{"who": "Ada"}' */
#include <stdio.h>

#include <waybill/waybill.h>

static int complain(const char *what, wb_error *error)
{
    fprintf(stderr, "%s: %s\n", what, wb_error_text(error));
    wb_error_free(error);
    return 2;
}

static int call(wb_runtime *runtime, const char *tool, const char *input)
{
    wb_request *request = wb_request_new(tool);
    wb_result *result;
    int code;

    if (request == NULL || wb_request_set(request, WB_FIELD_INPUT, input) != WB_OK ||
        wb_call_run(runtime, request, &result) != WB_OK) {
        wb_request_free(request);
        fprintf(stderr, "out of memory\n");
        return 70;
    }
    /* What the model reads, and what the program keeps: two views of one outcome. */
    printf("%s\n", wb_result_view(result, WB_VIEW_RECEIPT, NULL));
    printf("%s\n", wb_result_view(result, WB_VIEW_CANONICAL, NULL));
    code = wb_result_exit_code(result);
    wb_result_free(result);
    wb_request_free(request);
    return code;
}

int main(int argc, char **argv)
{
    wb_options *options = wb_options_new();
    wb_runtime *runtime;
    wb_error *error = NULL;
    int code;

    if (argc != 4 || options == NULL) {
        fprintf(stderr, "usage: embed CONFIG TOOL INPUT\n");
        return 2;
    }
    if (wb_options_set(options, WB_OPT_CONFIG, argv[1]) != WB_OK ||
        wb_runtime_new(options, &runtime, &error) != WB_OK)
        return complain("no runtime", error);
    code = call(runtime, argv[2], argv[3]);
    wb_runtime_free(runtime);
    wb_options_free(options);
    return code;
}
