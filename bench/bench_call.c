/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_call.c: what a call costs besides its tool: an empty C function
 * called natively, from request to result, on the loop's thread. Allocations are
 * counted by standing in front of malloc. Prints the best of several rounds.
 *   bench_call [calls a round] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../tests/faults/alloc_fault.h"
#include "waybill/waybill.h"

#define ROUNDS 300

static int calls = 1000; /* few enough that a round often runs undisturbed */

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void empty(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_finish_json(call, "{}", 2);
}

static void on_done(wb_result *result, void *arg)
{
    (void)result;
    ++*(int *)arg;
}

static void run(wb_runtime *runtime, const wb_request *request, int count)
{
    int done = 0;

    for (int i = 0; i < count; i++)
        if (wb_call_submit(runtime, request, on_done, &done, NULL) != WB_OK)
            exit(1);
    wb_runtime_run(runtime);
    if (done != count)
        exit(1);
}

static void measure(const char *name, const char *descriptor, const char *tool, const char *input)
{
    wb_options *options = wb_options_new();
    wb_request *request = wb_request_new(tool);
    wb_runtime *runtime;
    double best = 1e18;
    long made, bytes, first;

    if (wb_options_set(options, WB_OPT_BARE, "1") != WB_OK ||
        wb_request_set(request, WB_FIELD_INPUT, input) != WB_OK ||
        wb_runtime_new(options, &runtime, NULL) != WB_OK ||
        wb_tool_register(runtime, descriptor, NULL, empty, NULL, NULL, NULL) != WB_OK)
        exit(1);
    run(runtime, request, 1000);
    alloc_fault_start(-1, false);
    run(runtime, request, 1);
    (void)alloc_fault_stop();
    first = atomic_load(&alloc_faults.made);
    alloc_fault_start(-1, false);
    run(runtime, request, 1000);
    (void)alloc_fault_stop();
    made = atomic_load(&alloc_faults.made);
    bytes = atomic_load(&alloc_faults.bytes);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = now_ns();
        run(runtime, request, calls);
        double ns = (double)(now_ns() - start) / calls;
        best = ns < best ? ns : best;
    }
    printf("%-34s %8.0f ns  %6.2f allocations  %8.0f bytes  %s\n", name, best, (double)made / 1000,
           (double)bytes / 1000, made == first * 1000 ? "(the same every call)" : "");
    wb_request_free(request);
    wb_runtime_free(runtime);
    wb_options_free(options);
}

int main(int argc, char **argv)
{
    if (argc > 1 && (calls = atoi(argv[1])) < 1)
        return 1;
    measure("empty tool", "{\"name\":\"empty\",\"effect\":\"Pure\"}", "empty", "{}");
    measure("empty tool, schema of 4 members",
            "{\"name\":\"empty\",\"effect\":\"Pure\",\"inputSchema\":{\"type\":\"object\","
            "\"required\":[\"path\"],\"additionalProperties\":false,\"properties\":{"
            "\"path\":{\"type\":\"string\"},\"offset\":{\"type\":\"integer\",\"minimum\":0},"
            "\"limit\":{\"type\":\"integer\"},\"mode\":{\"enum\":[\"a\",\"b\"]}}}}",
            "empty", "{\"path\":\"src/main.c\",\"offset\":10,\"limit\":200,\"mode\":\"a\"}");
    measure("empty tool with a timeout",
            "{\"name\":\"empty\",\"effect\":\"Pure\",\"timeoutMs\":30000}", "empty", "{}");
    measure("unknown tool", "{\"name\":\"empty\",\"effect\":\"Pure\"}", "other", "{}");
    return 0;
}
