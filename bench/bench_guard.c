/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_guard.c: what guards cost. Full chain per call against an empty
 * one (the median of slices of 1,000 calls, so that what else runs on the machine
 * does not count), and the memory of a million keys with the average time of one,
 * growth included. Brings its own base/alloc to count.
 *   bench_guard [calls] [keys] */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "guard/chain.h"

static uint64_t allocations;

void *wbi_alloc(size_t n)
{
    allocations++;
    return malloc(n ? n : 1);
}
void *wbi_zalloc(size_t n)
{
    return wbi_zalloc_array(1, n);
}
void *wbi_zalloc_array(size_t count, size_t size)
{
    allocations++;
    return calloc(count ? count : 1, size ? size : 1);
}
void *wbi_realloc(void *p, size_t n)
{
    allocations++;
    return realloc(p, n ? n : 1);
}
void wbi_free(void *p)
{
    free(p);
}
char *wbi_strdup(struct wbi_str s)
{
    char *p = wbi_alloc(s.n + 1);

    if (p != NULL) {
        memcpy(p, s.p, s.n);
        p[s.n] = '\0';
    }
    return p;
}

static struct wbi_policy_values everything(void)
{
    struct wbi_policy_values v = wbi_policy_builtin();

    v.timeout_ms = 30000;
    if (wbi_rate_limit_make(1000000, 1000000, 1000000, &v.rate) != WB_OK ||
        wbi_rate_limit_make(1000000, 1000000, 1000000, &v.provider_rate) != WB_OK)
        abort();
    v.circuit = (struct wbi_circuit_settings){.set = true,
                                              .failure_percent = 50,
                                              .slow_percent = 50,
                                              .slow_ns = WBI_NS_PER_S,
                                              .min_calls = 10,
                                              .window_ns = 60 * WBI_NS_PER_S,
                                              .open_ns = WBI_NS_PER_S,
                                              .probes = 1,
                                              .probe_ns = WBI_NS_PER_S};
    v.concurrency = 8;
    v.provider_concurrency = 16;
    v.budget = (struct wbi_budget_settings){
        true, WBI_LIT("team"), INT64_MAX, {INT64_MAX, INT64_MAX, INT64_MAX}};
    v.retry = wbi_retry_defaults();
    return v;
}

static int64_t now(void)
{
    struct wbi_clock clock = wbi_clock_system();

    return wbi_now_ns(&clock);
}

enum mode { PLAIN, KEYED, CACHE_HIT };

#define SLICE 1000
#define SLICES_MAX 4096

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void run(struct wbi_guard_chain *chain, const char *name,
                const struct wbi_policy_values *policy, enum mode mode, long calls)
{
    static const uint8_t input[32] = {1};
    struct wbi_guard_outcome ok = {.class = WBI_GUARD_OK, .stored = WBI_LIT_INIT("{\"ok\":true}")};
    struct wbi_guard_answer answer;
    static int64_t slices[SLICES_MAX];
    char key[32] = "12345678aaaaaaaabbbbbbbb";
    uint64_t before = allocations, answered = 0;
    int64_t start = now(), slice = start;
    size_t n = 0;

    for (long i = 0; i < calls; i++) {
        struct wbi_guard_ticket t = {0};
        struct wbi_guard_request r = {.tool = WBI_LIT("mcp::github::issues.create"),
                                      .origin = WBI_LIT("mcp::github"),
                                      .principal = WBI_LIT("local"),
                                      .effect = mode == KEYED ? WBI_GUARD_IDEMPOTENT_WRITE
                                                              : WBI_GUARD_PURE,
                                      .input_hash = input,
                                      .version = WBI_LIT("1.2.3"),
                                      .deadline_ns = WBI_NO_DEADLINE,
                                      .policy = policy};
        if (mode == KEYED) { /* 24 bytes, not counting the cost of printing them */
            memcpy(key, &i, sizeof(i));
            r.idempotency_key = wbi_str_make(key, 24);
        }
        wbi_guard_admit(chain, &r, start + i * 1000, &t, &answer);
        if (answer.verdict == WBI_GUARD_ADMITTED) {
            answered++;
            if (wbi_guard_settle(&t, &ok, start + i * 1000 + 500) != WB_OK)
                abort();
        } else if (answer.verdict != WBI_GUARD_CACHED) {
            abort();
        }
        if ((i + 1) % SLICE == 0 && n < SLICES_MAX) {
            slices[n++] = now() - slice;
            slice = now();
        }
    }
    qsort(slices, n, sizeof(slices[0]), by_value);
    printf("%-44s %8.1f ns/call  %5.2f allocations/call  (%" PRIu64 " ran)\n", name,
           n > 0 ? (double)slices[n / 2] / SLICE : 0,
           (double)(allocations - before) / (double)calls, answered);
}

static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static void rate_memory(long keys)
{
    struct wbi_rate_limit limit;
    struct wbi_rate_refusal refusal;
    struct wbi_rate r;
    size_t before = heap();
    int64_t start;

    if (wbi_rate_limit_make(1, 3600 * WBI_NS_PER_S, 1, &limit) != WB_OK)
        abort();
    wbi_rate_init(&r);
    start = now();
    for (long i = 0; i < keys; i++) {
        struct wbi_str name = wbi_str_make((const char *)&i, sizeof(i));
        struct wbi_rate_ask ask = {wbi_key_of(1, 'R', name, WBI_NONE, WBI_NONE), limit, 1};
        if (wbi_rate_admit(&r, &ask, 1, start, &refusal) != WB_OK)
            abort();
        wbi_rate_take(&r, &ask, 1, start);
    }
    printf("rate limiter, %ld keys: %.1f bytes/key, %.0f ns/key\n", keys,
           (double)(heap() - before) / (double)keys, (double)(now() - start) / (double)keys);
    wbi_rate_fini(&r);
}

static void key_memory(long keys)
{
    static const struct wbi_idem_settings settings = {WBI_IDEM_TTL_MS, WBI_IDEM_IN_FLIGHT_MS};
    static const uint8_t print[32] = {1};
    size_t before = heap();
    struct wbi_idem_memory *m;
    struct wbi_idem_store store;
    int64_t start = now();

    if (wbi_idem_memory_new(1, &m) != WB_OK)
        abort();
    store = wbi_idem_memory_store(m);
    for (long i = 0; i < keys; i++) {
        char text[40];
        struct wbi_idem_id id = {WBI_LIT("local"), WBI_LIT("mcp::github::issues.create"), WBI_NONE};
        id.key = wbi_str_make(
            text, (size_t)snprintf(text, sizeof(text), "6ba7b810-9dad-11d1-80b4-%012ld", i));
        if (wbi_idem_settle(&store, &id, &settings, print, 0, WBI_LIT("{\"ok\":true}")) != WB_OK)
            abort();
    }
    printf("idempotency in memory, %ld keys (36-byte keys, 11-byte outcomes): %.1f bytes/key, "
           "%.0f ns/key\n",
           keys, (double)(heap() - before) / (double)keys, (double)(now() - start) / (double)keys);
    wbi_idem_memory_free(m);
}

int main(int argc, char **argv)
{
    long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
    long keys = argc > 2 ? strtol(argv[2], NULL, 10) : 1000000;
    struct wbi_policy_values none = wbi_policy_builtin(), all = everything(), cached;
    struct wbi_guard_parts parts = {.clock = wbi_clock_system(), .random = wbi_ids_system()};
    struct wbi_guard_chain *chain;

    if (calls < 1 || keys < 1 || wbi_guard_chain_new(&parts, &chain) != WB_OK)
        return 1;
    cached = all;
    cached.cache_ttl_ns = 3600 * WBI_NS_PER_S;
    run(chain, "empty chain", &none, PLAIN, calls);
    run(chain, "rate x2, circuit, slots x2, budget, retry", &all, PLAIN, calls);
    run(chain, "the same and an idempotency key each", &all, KEYED, calls / 4 + 1);
    run(chain, "cache hit", &cached, CACHE_HIT, calls);
    wbi_guard_chain_free(chain);
    rate_memory(keys);
    key_memory(keys);
    return 0;
}
