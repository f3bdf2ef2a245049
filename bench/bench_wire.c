/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_wire.c: decode + encode of one call, by provider: nanoseconds and
 * arena bytes with the line's parse and without it. */
#include <stdio.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"
#include "wire/wire.h"

#define SLICES 200
#define ROUNDS 1000 /* a slice; few enough that some run undisturbed */

static const char *const lines[] = {
    [WBI_PROVIDER_RESPONSES] =
        "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":"
        "\"ExecCommand\","
        "\"arguments\":\"{\\\"cmd\\\":\\\"git "
        "status\\\",\\\"workdir\\\":\\\"src\\\"}\",\"status\":\"completed\"}",
    [WBI_PROVIDER_CHAT] =
        "{\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"ExecCommand\","
        "\"arguments\":\"{\\\"cmd\\\":\\\"git status\\\",\\\"workdir\\\":\\\"src\\\"}\"}}",
    [WBI_PROVIDER_ANTHROPIC] = "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"ExecCommand\","
                               "\"input\":{\"cmd\":\"git status\",\"workdir\":\"src\"}}",
    [WBI_PROVIDER_GEMINI] = "{\"functionCall\":{\"id\":\"g1\",\"name\":\"ExecCommand\","
                            "\"args\":{\"cmd\":\"git status\",\"workdir\":\"src\"}}}",
    [WBI_PROVIDER_MCP] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"ExecCommand\",\"arguments\":{\"cmd\":\"git status\",\"workdir\":\"src\"}}}",
    [WBI_PROVIDER_NATIVE] = "{\"toolName\":\"local::ExecCommand\",\"callId\":\"n1\","
                            "\"input\":{\"cmd\":\"git status\",\"workdir\":\"src\"}}",
};

static bool one_call(struct wbi_arena *arena, enum wbi_provider provider, const wbi_json *line,
                     struct wbi_buf *out)
{
    static const struct wbi_wire_answer answer = {
        .receipt = WBI_LIT_INIT("Process exited with code 0\nstdout: (2 lines)\n"
                                "On branch main\nnothing to commit"),
        .result = WBI_LIT_INIT("{\"status\":\"Ok\",\"durationMs\":3,\"attempts\":1}")};
    struct wbi_wire_turn turn;

    wbi_buf_clear(out);
    return wbi_wire_decode(arena, provider, line, &turn, NULL) == WB_OK &&
           wbi_wire_encode(&turn.calls[0], &answer, out, NULL) == WB_OK;
}

/* Nanoseconds a round in the best slice; the line is parsed every time or once. */
static double measure(struct wbi_arena *arena, struct wbi_arena *kept, enum wbi_provider provider,
                      bool parse, struct wbi_buf *out, size_t *ret_bytes)
{
    struct wbi_clock clock = wbi_clock_system();
    struct wbi_str text = wbi_str_z(lines[provider]);
    const wbi_json *line = NULL;
    int64_t best = INT64_MAX;
    bool ok = wbi_json_read(kept, text, WBI_JSON_STRICT, &line, NULL) == WB_OK;

    for (int slice = 0; slice < SLICES && ok; slice++) {
        int64_t start = wbi_now_ns(&clock);
        for (int i = 0; i < ROUNDS && ok; i++) {
            wbi_arena_reset(arena);
            if (parse)
                ok = wbi_json_read(arena, text, WBI_JSON_STRICT, &line, NULL) == WB_OK;
            ok = ok && one_call(arena, provider, line, out);
        }
        best = WBI_MIN(best, wbi_now_ns(&clock) - start);
    }
    *ret_bytes = wbi_arena_used(arena);
    return ok ? (double)best / ROUNDS : -1;
}

int main(void)
{
    struct wbi_arena *arena, *kept;
    struct wbi_buf out;

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK ||
        wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &kept) != WB_OK)
        return 1;
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    printf("%-10s %14s %12s %16s %12s\n", "provider", "ns with parse", "bytes", "ns without",
           "bytes");
    for (int p = WBI_PROVIDER_RESPONSES; p < WBI_PROVIDER_COUNT; p++) {
        size_t with_bytes, bytes;
        double with = measure(arena, kept, (enum wbi_provider)p, true, &out, &with_bytes);
        double without = measure(arena, kept, (enum wbi_provider)p, false, &out, &bytes);
        printf("%-10s %14.0f %12zu %16.0f %12zu\n", wbi_provider_name((enum wbi_provider)p), with,
               with_bytes, without, bytes);
    }
    wbi_buf_fini(&out);
    wbi_arena_free(kept);
    wbi_arena_free(arena);
    return 0;
}
