/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_dispatch.c: provider items over pipes, one round trip at a time:
 * wb_dispatch with a C function as its tool, against a child that only sends each
 * line back. Both on the cores the caller pinned this program to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "waybill/waybill.h"

#define TRIPS 4000
#define ROUNDS 9

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void echo(wb_tool_call *call, void *arg)
{
    size_t n;
    const char *input = wb_tool_call_input(call, &n);

    (void)arg;
    wb_tool_finish_json(call, input, n);
}

static void serve_waybill(int in, int out)
{
    wb_options *options = wb_options_new();
    wb_runtime *runtime;

    if (wb_options_set(options, WB_OPT_BARE, "1") != WB_OK ||
        wb_runtime_new(options, &runtime, NULL) != WB_OK ||
        wb_tool_register(runtime, "{\"name\":\"echo\",\"effect\":\"Pure\"}", NULL, echo, NULL, NULL,
                         NULL) != WB_OK ||
        wb_dispatch(runtime, NULL, in, out, -1, NULL) != WB_OK)
        _exit(1);
    _exit(0);
}

/* The floor: read what there is, write it back. */
static void serve_echo(int in, int out)
{
    char text[65536];
    ssize_t n;

    while ((n = read(in, text, sizeof(text))) > 0)
        if (write(out, text, (size_t)n) != n)
            _exit(1);
    _exit(0);
}

struct peer {
    pid_t pid;
    int to, from;
};

/* other: a peer started before, whose ends must not live on in this one. */
static struct peer start(void (*serve)(int, int), const struct peer *other)
{
    int down[2], up[2];
    struct peer p;

    if (pipe(down) != 0 || pipe(up) != 0)
        die("pipe");
    p.pid = fork();
    if (p.pid < 0)
        die("fork");
    if (p.pid == 0) {
        close(down[1]);
        close(up[0]);
        if (other != NULL) {
            close(other->to);
            close(other->from);
        }
        serve(down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    p.to = down[1];
    p.from = up[0];
    return p;
}

static void trip(const struct peer *p, int number)
{
    char line[512], answer[65536];
    int n = snprintf(line, sizeof(line),
                     "{\"type\":\"function_call\",\"id\":\"fc_%08d\",\"call_id\":\"call_%08d\","
                     "\"name\":\"echo\",\"arguments\":\"{\\\"path\\\":\\\"src/runtime/turn.c\\\","
                     "\\\"offset\\\":120,\\\"limit\\\":200}\"}\n",
                     number, number);
    size_t got = 0;

    if (write(p->to, line, (size_t)n) != n)
        die("write");
    while (got == 0 || answer[got - 1] != '\n') {
        ssize_t m = read(p->from, answer + got, sizeof(answer) - got);
        if (m <= 0)
            die("read");
        got += (size_t)m;
    }
}

static double median(double *v, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
            double t = v[k];
            v[k] = v[k - 1];
            v[k - 1] = t;
        }
    return v[n / 2];
}

int main(void)
{
    struct peer peers[2];
    double ns[2][ROUNDS];
    int number = 0;

    peers[0] = start(serve_echo, NULL);
    peers[1] = start(serve_waybill, &peers[0]);
    for (int round = -1; round < ROUNDS; round++) { /* interleaved; the first warms up */
        for (int which = 0; which < 2; which++) {
            int64_t begin = now_ns();
            for (int i = 0; i < TRIPS; i++)
                trip(&peers[which], number++);
            if (round >= 0)
                ns[which][round] = (double)(now_ns() - begin) / TRIPS;
        }
    }
    for (int which = 0; which < 2; which++) {
        close(peers[which].to);
        (void)waitpid(peers[which].pid, NULL, 0);
    }
    {
        double floor = median(ns[0], ROUNDS), ours = median(ns[1], ROUNDS);
        printf("%-34s %8.0f ns  %8.0f round trips/s\n", "echo of the same lines", floor,
               1e9 / floor);
        printf("%-34s %8.0f ns  %8.0f round trips/s  %.2f x the floor\n", "dispatch", ours,
               1e9 / ours, ours / floor);
    }
    return 0;
}
