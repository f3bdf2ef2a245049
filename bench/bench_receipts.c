/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_receipts.c: one output made into a receipt, for measuring.
 *   bench_receipts FILE BUDGET STATUS [COMMAND]   prints the receipt
 *   bench_receipts --speed FILE…                  MB/s of cleaning and of selection at 2,500 tokens
 *   bench_receipts --tokens FILE…                 prints the estimate of each file
 * The budget covers the status line as well. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "text/hygiene.h"
#include "text/preview.h"
#include "text/tokens.h"

static struct wbi_str load(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, cap = 64u << 20;
    char *p = f ? malloc(cap) : NULL;

    if (p != NULL)
        n = fread(p, 1, cap, f);
    if (f != NULL)
        fclose(f);
    return wbi_str_make(p, n);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other programs may be running */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int receipt(char **argv, const char *command)
{
    struct wbi_str raw = load(argv[1]);
    struct wbi_arena *arena = NULL;
    struct wbi_preview v;
    struct wbi_buf clean;
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_preview_policy policy = {.budget = strtoull(argv[2], NULL, 10),
                                        .command = wbi_str_z(command)};
    char status[64];

    snprintf(status, sizeof status, "Process exited with code %s\n", argv[3]);
    policy.budget -= wbi_tokens(wbi_str_z(status)) + 2;
    policy.read_call =
        WBI_LIT("ReadArtifact {\"path\":\".waybill/artifacts/4f2a\",\"lines\":\"A-B\"}");
    wbi_buf_init(&clean, 512u << 20);
    if (raw.p == NULL || wbi_hygiene_clean(raw, &clean, NULL) != WB_OK ||
        wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK ||
        wbi_preview_text(arena, wbi_buf_str(&clean), &policy, &v, &err) != WB_OK) {
        fprintf(stderr, "bench_receipts: %s: %s\n", argv[1], err.text);
        return 1;
    }
    printf("%s%.*s\n", status, WBI_FMT(v.text));
    wbi_arena_free(arena);
    wbi_buf_fini(&clean);
    free((char *)(uintptr_t)raw.p);
    return 0;
}

static int speed(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        struct wbi_str raw = load(argv[i]);
        struct wbi_buf clean;
        double t0, t1, t2;
        struct wbi_arena *arena = NULL;
        struct wbi_preview v;
        struct wbi_preview_policy policy = {.budget = 2500};
        int rounds = (int)(100e6 / ((double)raw.n + 1)) + 1;

        wbi_buf_init(&clean, 512u << 20);
        if (raw.p == NULL || wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
            return 1;
        t0 = now();
        for (int r = 0; r < rounds; r++) {
            wbi_buf_clear(&clean);
            if (wbi_hygiene_clean(raw, &clean, NULL) != WB_OK)
                return 1;
        }
        t1 = now();
        for (int r = 0; r < rounds; r++) {
            wbi_arena_reset(arena);
            if (wbi_preview_text(arena, wbi_buf_str(&clean), &policy, &v, NULL) != WB_OK)
                return 1;
        }
        t2 = now();
        printf("%-60s clean %6.0f MB/s  select %6.0f MB/s\n", argv[i],
               (double)raw.n * rounds / (t1 - t0) / 1e6,
               (double)clean.n * rounds / (t2 - t1) / 1e6);
        wbi_buf_fini(&clean);
        wbi_arena_free(arena);
        free((char *)(uintptr_t)raw.p);
    }
    return 0;
}

static int tokens(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        struct wbi_str raw = load(argv[i]);

        if (raw.p == NULL)
            return 1;
        printf("%llu\t%s\n", (unsigned long long)wbi_tokens(raw), argv[i]);
        free((char *)(uintptr_t)raw.p);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--tokens") == 0)
        return tokens(argc, argv);
    if (argc > 2 && strcmp(argv[1], "--speed") == 0)
        return speed(argc, argv);
    if (argc < 4) {
        fprintf(stderr, "usage: bench_receipts FILE BUDGET STATUS [COMMAND] | --speed FILE...\n");
        return 2;
    }
    return receipt(argv, argc > 4 ? argv[4] : "");
}
