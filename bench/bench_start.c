/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_start.c: from start to end of a process, medians of interleaved
 * runs: bench_start EMPTY-PROGRAM WAYBILL JSON-FILE */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define RUNS 201

extern char **environ;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double run(char *const *argv)
{
    struct timespec a, b;
    pid_t pid;
    int status;

    clock_gettime(CLOCK_MONOTONIC, &a);
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "bench_start: %s failed\n", argv[0]);
        exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
}

int main(int argc, char **argv)
{
    char *empty[] = {argc > 3 ? argv[1] : NULL, NULL};
    char json[] = "json", verb[] = "check";
    char *check[] = {argc > 3 ? argv[2] : NULL, json, verb, argc > 3 ? argv[3] : NULL, NULL};
    double ms[2][RUNS];

    if (argc != 4) {
        fprintf(stderr, "usage: bench_start EMPTY-PROGRAM WAYBILL JSON-FILE\n");
        return 2;
    }
    for (int i = 0; i < RUNS; i++) {
        ms[0][i] = run(empty);
        ms[1][i] = run(check);
    }
    qsort(ms[0], RUNS, sizeof(double), by_value);
    qsort(ms[1], RUNS, sizeof(double), by_value);
    printf("%-34s %8.3f ms, best %.3f\n", "an empty C program", ms[0][RUNS / 2], ms[0][0]);
    printf("%-34s %8.3f ms, best %.3f  %.3f ms over, best %.3f\n", "waybill json check",
           ms[1][RUNS / 2], ms[1][0], ms[1][RUNS / 2] - ms[0][RUNS / 2], ms[1][0] - ms[0][0]);
    return 0;
}
