/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_compact.c: a history of 2,000 calls brought to a half, a fifth and
 * its minimum: milliseconds, MB/s and calls/s; and one of about 200,000 tokens
 * (target: under 20 ms). Texts as programs print them. */
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "call/compact.h"
#include "json/write.h"

#define ROUNDS 9

static struct wbi_str make_history(struct wbi_arena *arena, int calls, int lines)
{
    struct wbi_buf out, text;
    struct wbi_jw w;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    w = wbi_jw_to(&out);
    wbi_jw_arr(&w);
    for (int i = 0; i < calls; i++) {
        wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
        wbi_buf_addf(&text, "Process exited with code %d\nstdout: (%d lines)", i % 7 == 0, lines);
        for (int l = 0; l < lines; l++)
            wbi_buf_addf(&text, "\nsrc/room/file_%d.c:%d: in function parse_%d: value %d", i, l * 7,
                         l, i * l);
        wbi_jw_raw(&w, wbi_arena_fmt(arena,
                                     "{\"type\":\"function_call\",\"call_id\":\"call_%d\",\"name\":"
                                     "\"ExecCommand\",\"arguments\":\"{\\\"cmd\\\":\\\"make "
                                     "t%d\\\"}\"}",
                                     i, i));
        wbi_jw_obj(&w);
        wbi_jw_kstrz(&w, "type", "function_call_output");
        wbi_jw_kstr(&w, "call_id", wbi_arena_fmt(arena, "call_%d", i));
        wbi_jw_kstr(&w, "output", wbi_buf_str(&text));
        wbi_jw_obj_end(&w);
    }
    wbi_jw_arr_end(&w);
    return wbi_buf_str(&out);
}

/* Best of ROUNDS, in milliseconds; below 0 when it failed. */
static double measure(struct wbi_str history, uint64_t budget, struct wbi_compact_report *report)
{
    struct wbi_clock clock = wbi_clock_system();
    struct wbi_arena *arena;
    double best = -1;

    if (wbi_arena_new((size_t)1024 * WBI_MIB, &arena) != WB_OK)
        return -1;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = wbi_now_ns(&clock);
        struct wbi_buf out;
        double ms;

        wbi_arena_reset(arena);
        wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
        if (wbi_compact_history(arena, WBI_PROVIDER_RESPONSES, history, budget, NULL, &out, report,
                                NULL) == WB_OK ||
            report->minimum > 0) {
            ms = (double)(wbi_now_ns(&clock) - start) / 1e6;
            best = best < 0 || ms < best ? ms : best;
        }
    }
    wbi_arena_free(arena);
    return best;
}

static void bench(const char *what, int calls, int lines)
{
    struct wbi_compact_report report;
    struct wbi_arena *arena;
    struct wbi_str history;
    uint64_t tokens, least;

    if (wbi_arena_new((size_t)1024 * WBI_MIB, &arena) != WB_OK)
        return;
    history = make_history(arena, calls, lines);
    (void)measure(history, UINT64_MAX / 1000, &report);
    tokens = report.tokens_before;
    (void)measure(history, 1, &report);
    least = report.minimum;
    for (int i = 0; i < 4; i++) {
        uint64_t budgets[] = {tokens * 2, tokens / 2, tokens / 5 > least ? tokens / 5 : least,
                              least};
        double ms = measure(history, budgets[i], &report);
        printf("%-22s %8llu tokens -> %8llu: %8.2f ms %8.1f MB/s %10.0f calls/s\n", what,
               (unsigned long long)tokens, (unsigned long long)report.tokens_after, ms,
               (double)history.n / 1e3 / ms, calls * 1e3 / ms);
    }
    wbi_arena_free(arena);
}

int main(void)
{
    bench("2,000 calls", 2000, 40);
    bench("200,000 tokens", 200, 34);
    return 0;
}
