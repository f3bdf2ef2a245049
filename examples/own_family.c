/* SPDX-License-Identifier: Apache-2.0
 * examples/own_family.c: decide what a result keeps and what a model reads of it. The tool hands
 * over its complete output; the family's projector bounds it, its renderer writes the receipt. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <waybill/waybill.h>

/* The complete output: too much for a model, and little of it matters. */
static const char measured[] =
    "{\"covered\": 181, \"total\": 190, \"files\": [{\"name\": \"parse.c\", \"missed\": 9},"
    " {\"name\": \"print.c\", \"missed\": 0}, {\"name\": \"main.c\", \"missed\": 0}]}";

static void *measure(void *arg)
{
    wb_tool_finish_json(arg, measured, sizeof(measured) - 1); /* from any thread */
    return NULL;
}

static void start(wb_tool_call *call, void *arg)
{
    pthread_t thread;

    (void)arg;
    if (pthread_create(&thread, NULL, measure, call) == 0)
        pthread_detach(thread);
    else
        wb_tool_fail(call, NULL, "no thread to measure on", NULL);
}

static void add(wb_text *text, const char *s)
{
    wb_text_add(text, s, strlen(s));
}

/* Complete output -> bounded result (JSON) and a summary of one line. */
static wb_rc project(const char *output, size_t size, unsigned budget_tokens, wb_sink *sink,
                     wb_text *result, wb_text *summary, void *arg)
{
    static const char *const paths[] = {"/covered", "/total", "/files/0/name"};
    const char *kept;
    char *value;

    (void)budget_tokens; /* three values fit any budget */
    (void)arg;
    for (size_t i = 0; i < 3; i++) {
        if (wb_json_pointer(output, size, paths[i], &value, NULL, NULL) != WB_OK)
            return WB_EINPUT; /* the call ends in an error: this is no output of the tool */
        add(result, i == 0 ? "{\"covered\":" : i == 1 ? ",\"total\":" : ",\"worst\":");
        add(summary, i == 0 ? "covered " : i == 1 ? " of " : " lines, worst is ");
        add(summary, value);
        if (i < 2)
            add(result, value);
        else
            wb_text_quote(result, value, strlen(value)); /* pointers give strings as text */
        wb_free(value);
    }
    /* All of it stays readable where there is a state directory; here is none. */
    if (wb_sink_put(sink, "coverage", output, size, &kept) == WB_OK) {
        add(result, ",\"artifacts\":[{\"path\":");
        wb_text_quote(result, kept, strlen(kept));
        add(result, "}]");
    }
    add(result, "}");
    return WB_OK;
}

/* Canonical result -> receipt. It sees nothing else and cuts nothing. */
static wb_rc render(const char *canonical, size_t size, wb_text *receipt, void *arg)
{
    char *summary, *worst;

    (void)arg;
    if (wb_json_pointer(canonical, size, "/summary_text", &summary, NULL, NULL) != WB_OK)
        return WB_EINPUT;
    add(receipt, "Coverage: ");
    add(receipt, summary);
    wb_free(summary);
    if (wb_json_pointer(canonical, size, "/result/worst", &worst, NULL, NULL) == WB_OK) {
        add(receipt, "\n");
        wb_text_section(receipt, "to look at", worst, strlen(worst));
        wb_free(worst);
    }
    return WB_OK;
}

int main(void)
{
    wb_options *options = wb_options_new();
    wb_request *request = wb_request_new("coverage");
    wb_runtime *runtime;
    wb_result *result;
    wb_error *error = NULL;

    if (options == NULL || request == NULL || wb_options_set(options, WB_OPT_BARE, "1") != WB_OK ||
        wb_runtime_new(options, &runtime, &error) != WB_OK ||
        wb_family_register(runtime, "coverage", project, render, NULL, &error) != WB_OK ||
        wb_tool_register(runtime, "{\"name\": \"coverage\", \"effect\": \"Pure\"}", "coverage",
                         start, NULL, NULL, &error) != WB_OK ||
        wb_call_run(runtime, request, &result) != WB_OK) {
        fprintf(stderr, "own_family: %s\n", wb_error_text(error));
        return 1;
    }
    printf("%s\n%s\n", wb_result_view(result, WB_VIEW_RECEIPT, NULL),
           wb_result_view(result, WB_VIEW_CANONICAL, NULL));
    wb_result_free(result);
    wb_request_free(request);
    wb_runtime_free(runtime);
    wb_options_free(options);
    return 0;
}
