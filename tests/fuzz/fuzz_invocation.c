/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_invocation.c: any bytes as an invocation, then as a line of
 * items: each ends in exactly one outcome whose canonical result is legal. */
#include <stdlib.h>

#include "base/limits.h"
#include "call/invocation.h"
#include "family/canonical.h"
#include "text/secrets.h"
#include "waybill/waybill.h"

static wb_runtime *runtime;
static struct wbi_secrets *secrets;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void echo(wb_tool_call *call, void *arg)
{
    size_t n;
    const char *input = wb_tool_call_input(call, &n);

    (void)arg;
    wb_tool_finish_json(call, input ? input : "null", input ? n : 4);
}

static void set_up(void)
{
    static const char descriptor[] =
        "{\"name\":\"echo\",\"version\":\"1.0.0\",\"effect\":\"Pure\",\"inputSchema\":{\"type\":"
        "\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"s\":{\"type\":\"string\"}}}}";
    wb_options *options = wb_options_new();

    require(options != NULL && wb_options_set(options, WB_OPT_BARE, "1") == WB_OK &&
            wb_runtime_new(options, &runtime, NULL) == WB_OK &&
            wb_tool_register(runtime, descriptor, NULL, echo, NULL, NULL, NULL) == WB_OK &&
            wbi_secrets_new(&(struct wbi_secrets_options){.key = WBI_LIT("k")}, &secrets, NULL,
                            NULL) == WB_OK);
    wb_options_free(options);
}

/* What is accepted keeps its promises: bounded ids, a correlation id. */
static void read_invocation(struct wbi_str text)
{
    struct wbi_invocation inv = {.native = true};
    uint64_t counter = 1;
    struct wbi_ids ids = wbi_ids_counting(&counter);
    struct wbi_arena *arena;
    const wbi_json *v;

    require(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK);
    if (wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL) == WB_OK &&
        wbi_invocation_read(v, &inv, NULL) == WB_OK &&
        wbi_invocation_check(&inv, arena, &ids, secrets, NULL) == WB_OK) {
        require(inv.correlation_id.n > 0 && inv.correlation_id.n <= WBI_LIMIT_ID);
        require(inv.call_id.n <= WBI_LIMIT_ID && inv.tool_name.n > 0);
    }
    wbi_arena_free(arena);
}

static void on_done(wb_result *result, void *arg)
{
    struct wbi_canonical c;
    struct wbi_arena *arena;
    const wbi_json *v;
    size_t n;
    const char *text = wb_result_view(result, WB_VIEW_CANONICAL, &n);

    ++*(int *)arg;
    require(text != NULL && wb_result_view(result, WB_VIEW_RECEIPT, NULL) != NULL &&
            wb_result_view(result, WB_VIEW_RECORD, NULL) != NULL &&
            wb_result_view(result, WB_VIEW_ENVELOPE, NULL) != NULL);
    require(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK);
    require(wbi_json_read(arena, wbi_str_make(text, n), WBI_JSON_STRICT, &v, NULL) == WB_OK &&
            wbi_canonical_read(v, &c, NULL) == WB_OK && c.success == (wb_result_ok(result) != 0));
    wbi_arena_free(arena);
}

static void on_line(const char *line, size_t size, void *arg)
{
    ++*(int *)arg;
    require(wb_json_check(line, size, NULL) == WB_OK);
}

/* The bytes as input of a native call. */
static void call_native(const char *text)
{
    wb_request *request = wb_request_new("echo");
    int done = 0;

    require(request != NULL && wb_request_set(request, WB_FIELD_INPUT, text) == WB_OK &&
            wb_request_set(request, WB_FIELD_CALL_ID, text) == WB_OK);
    require(wb_call_submit(runtime, request, on_done, &done, NULL) == WB_OK && done == 1);
    wb_request_free(request);
}

/* The bytes as a line: at least one answer, unless it is blank. */
static void call_line(struct wbi_str text)
{
    wb_router *router;
    int lines = 0;

    require(wb_router_new(runtime, NULL, on_line, &lines, &router, NULL) == WB_OK);
    if (wb_router_line(router, text.p, text.n, NULL) == WB_OK)
        require(lines > 0 || wbi_str_trim(text).n == 0);
    require(wb_router_pending(router) == 0);
    wb_router_free(router);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str text = wbi_str_make((const char *)data, size);
    char *copy;

    if (runtime == NULL)
        set_up();
    read_invocation(text);
    copy = malloc(size + 1);
    require(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    call_native(copy);
    free(copy);
    call_line(text);
    return 0;
}
