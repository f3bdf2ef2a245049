/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_json.c: reading and writing a typical tool call, against yyjson
 * alone (which does not look for duplicate names or depth), and the canonical
 * form. Prints the best of several rounds in nanoseconds, and the ratio. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "json/canonical.h"
#include "json/write.h"

static const char typical[] =
    "{\"type\":\"function_call\",\"id\":\"fc_0a1b2c3d4e5f60718293a4b5c6d7e8f9\",\"call_id\":"
    "\"call_8mVQ1dT0Zq3pXcW7\",\"name\":\"ExecCommand\",\"status\":\"completed\",\"arguments\":{"
    "\"cmd\":[\"bash\",\"-lc\",\"cd src && grep -rn \\\"turn_id\\\" --include=*.c . | head -50\"],"
    "\"workdir\":\"src/runtime\",\"env\":{\"LC_ALL\":\"C.UTF-8\",\"NO_COLOR\":\"1\"},"
    "\"timeout_ms\":120000,\"yield_time_ms\":10000,\"max_output_tokens\":8000,\"tty\":false,"
    "\"weights\":[0.25,1.5,3e-7]}}";

#define ROUNDS 20
#define CALLS 20000

struct bench {
    struct wbi_arena *arena;
    struct wbi_buf out;
    struct wbi_str text;
};

static void stop(const char *what)
{
    fprintf(stderr, "bench_json: %s failed\n", what);
    exit(1);
}

static void ours(struct bench *b)
{
    const wbi_json *v;

    wbi_arena_reset(b->arena);
    wbi_buf_clear(&b->out);
    if (wbi_json_read(b->arena, b->text, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        stop("reading");
    wbi_json_write(&b->out, v);
    if (wbi_buf_rc(&b->out) != WB_OK)
        stop("writing");
}

static void ours_canonical(struct bench *b)
{
    const wbi_json *v;

    wbi_arena_reset(b->arena);
    wbi_buf_clear(&b->out);
    if (wbi_json_read(b->arena, b->text, WBI_JSON_STRICT, &v, NULL) != WB_OK ||
        wbi_json_canonical(v, &b->out, NULL) != WB_OK)
        stop("the canonical form");
}

static void theirs(struct bench *b)
{
    yyjson_doc *doc = yyjson_read(b->text.p, b->text.n, 0);
    size_t n = 0;
    char *text = doc ? yyjson_write(doc, 0, &n) : NULL;

    if (text == NULL)
        stop("yyjson");
    free(text);
    yyjson_doc_free(doc);
}

static double best_ns(struct bench *b, void (*fn)(struct bench *))
{
    struct wbi_clock clock = wbi_clock_system();
    double best = 1e18;

    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = wbi_now_ns(&clock);
        double ns;

        for (int i = 0; i < CALLS; i++)
            fn(b);
        ns = (double)(wbi_now_ns(&clock) - start) / CALLS;
        best = ns < best ? ns : best;
    }
    return best;
}

int main(void)
{
    struct bench b = {.text = wbi_str_z(typical)};
    double yyjson, waybill, canonical;

    wbi_buf_init(&b.out, WBI_LIMIT_JSON_TEXT);
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &b.arena) != WB_OK)
        stop("memory");
    yyjson = best_ns(&b, theirs);
    waybill = best_ns(&b, ours);
    canonical = best_ns(&b, ours_canonical);
    printf("json read+write, %zu bytes: yyjson %.0f ns, waybill %.0f ns (%.2fx)\n", b.text.n,
           yyjson, waybill, waybill / yyjson);
    printf("json read+canonical: %.0f ns (%.2fx)\n", canonical, canonical / yyjson);
    wbi_buf_fini(&b.out);
    wbi_arena_free(b.arena);
    return 0;
}
