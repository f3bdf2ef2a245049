/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_mcp.c: framing and messages of MCP: lines, events, JSON-RPC.
 * What is read is written and read again to the same kind and id, and is known by
 * that id, if by any, where it is too long to be read. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "mcp/line.h"
#include "mcp/rpc.h"
#include "mcp/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_id(struct wbi_str text, const struct wbi_rpc *rpc)
{
    struct wbi_overlong o = {0};
    struct wbi_str id;

    wbi_overlong_feed(&o, text);
    id = wbi_overlong_id(&o);
    if (id.p != NULL && !wbi_str_eq(id, rpc->id_text))
        abort();
    if (rpc->kind == WBI_RPC_REQUEST && id.p != NULL && !o.has_method)
        abort();
}

static void message(struct wbi_str text)
{
    struct wbi_arena *arena = NULL;
    struct wbi_rpc rpc, again;
    struct wbi_buf b;
    int code = 0;

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return;
    if (wbi_rpc_read(arena, text, &rpc, &code, NULL) != WB_OK) {
        if (code != WBI_RPC_PARSE && code != WBI_RPC_INVALID)
            abort();
    } else if (rpc.kind == WBI_RPC_REQUEST) {
        check_id(text, &rpc);
        wbi_buf_init_arena(&b, arena, WBI_LIMIT_SMALL_ARENA);
        wbi_rpc_put_result(&b, rpc.id_text, WBI_LIT("{\n}"));
        if (memchr(b.p, '\n', b.n) != NULL ||
            wbi_rpc_read(arena, wbi_buf_str(&b), &again, &code, NULL) != WB_OK ||
            again.kind != WBI_RPC_RESULT || !wbi_str_eq(again.id_text, rpc.id_text))
            abort();
    } else {
        check_id(text, &rpc);
    }
    wbi_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str bytes = wbi_str_make((const char *)data, size), one;
    struct wbi_lines lines;
    struct wbi_sse sse;

    if (size == 0)
        return 0;
    wbi_lines_init(&lines, 4096);
    while (wbi_lines_next(&lines, &bytes, &one)) {
        if (one.n > 4096)
            abort();
        message(one);
    }
    wbi_lines_fini(&lines);
    bytes = wbi_str_make((const char *)data, size);
    wbi_sse_init(&sse, 4096);
    while (wbi_sse_next(&sse, &bytes, &one)) {
        if (one.n > 4096)
            abort();
        message(one);
    }
    wbi_sse_fini(&sse);
    return 0;
}
