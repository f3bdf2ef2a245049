/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_serve.c: bytes of a client into a whole gateway on stdio, with no
 * tools behind it: it ends with its input, and says nothing but one JSON-RPC message a line,
 * at most one answer to each request. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "mcp/rpc.h"
#include "waybill/runtime.h"
#include "waybill/serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct wbi_str line)
{
    struct wbi_arena *arena = NULL;
    struct wbi_rpc rpc;
    int code;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return;
    /* An error about what has no id has none either. */
    if (wbi_rpc_read(arena, line, &rpc, &code, NULL) != WB_OK &&
        !wbi_str_starts(line, WBI_LIT("{\"jsonrpc\":\"2.0\",\"error\":")))
        abort();
    wbi_arena_free(arena);
}

static void check_output(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = size > 0 ? malloc((size_t)size) : NULL;
    struct wbi_str rest;

    if (text == NULL || pread(fd, text, (size_t)size, 0) != size) {
        free(text);
        return;
    }
    for (rest = wbi_str_make(text, (size_t)size); rest.n > 0;) {
        size_t end = wbi_str_index(rest, '\n');

        if (end == rest.n)
            abort(); /* half a message */
        check_line(wbi_str_head(rest, end));
        rest = wbi_str_from(rest, end + 1);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wb_serve_options so = {.stop = -1, .access_log = -1};
    wb_options *o = wb_options_new();
    wb_runtime *rt = NULL;
    int in[2];

    if (size > 32768 || pipe2(in, O_CLOEXEC) != 0) {
        wb_options_free(o);
        return 0;
    }
    so.out = memfd_create("out", MFD_CLOEXEC);
    if (write(in[1], data, size) != (ssize_t)size) /* a pipe holds 64 KiB */
        abort();
    (void)close(in[1]);
    so.in = in[0];
    if (wb_options_set(o, WB_OPT_BARE, "1") == WB_OK && wb_runtime_new(o, &rt, NULL) == WB_OK &&
        wb_serve(rt, &so, NULL) == WB_OK)
        check_output(so.out);
    wb_runtime_free(rt);
    wb_options_free(o);
    (void)close(in[0]);
    (void)close(so.out);
    return 0;
}
