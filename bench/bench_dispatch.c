/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_dispatch.c: provider items over pipes, one round trip at a time:
 * wb_dispatch with a C function as its tool, against a child that only sends each
 * line back. All on the cores the caller pinned this program to. With the ledger,
 * a Pure call is written behind its reply and one with an effect waits for two
 * rows on the disk, which is why that one stands apart. Processor time is told
 * besides: it is what a trip takes on a core that nobody else wants.
 * WAYBILL_BENCH_DIR: where the ledgers are (default /var/tmp). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "waybill/waybill.h"

#define TRIPS 8000
#define DURABLE_TRIPS 200
#define ROUNDS 7

static char base[256];

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

/* A ledger of its own under base/name; no ledger without a name. */
static void serve(int in, int out, const char *name, const char *descriptor)
{
    wb_options *options = wb_options_new();
    char path[300], user[300];
    wb_runtime *runtime;
    wb_error *err = NULL;
    int rc;

    snprintf(path, sizeof(path), "%s/%s", base, name ? name : "none");
    snprintf(user, sizeof(user), "%s/user", base);
    rc = name ? wb_options_set(options, WB_OPT_ROOT, base) : WB_OK;
    if (rc == WB_OK)
        rc = wb_options_set(options, name ? WB_OPT_STATE : WB_OPT_BARE, name ? path : "1");
    if (rc != WB_OK || setenv("XDG_STATE_HOME", user, 1) != 0 ||
        wb_runtime_new(options, &runtime, &err) != WB_OK ||
        wb_tool_register(runtime, descriptor, NULL, echo, NULL, NULL, &err) != WB_OK ||
        wb_dispatch(runtime, NULL, in, out, -1, &err) != WB_OK) {
        fprintf(stderr, "bench_dispatch: %s\n", err ? wb_error_text(err) : "no options");
        _exit(1);
    }
    wb_runtime_free(runtime);
    _exit(0);
}

#define PURE "{\"name\":\"echo\",\"effect\":\"Pure\"}"
#define WRITE "{\"name\":\"echo\",\"effect\":\"NonIdempotentWrite\"}"

static void serve_alone(int in, int out)
{
    serve(in, out, NULL, PURE);
}

static void serve_pure(int in, int out)
{
    serve(in, out, "pure", PURE);
}

static void serve_write(int in, int out)
{
    serve(in, out, "write", WRITE);
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
    const char *name;
    void (*serve)(int, int);
    int trips;
    double ns[ROUNDS], cpu[ROUNDS];
};

static struct peer peers[] = {
    {.name = "echo of the same lines", .serve = serve_echo, .trips = TRIPS},
    {.name = "dispatch", .serve = serve_alone, .trips = TRIPS},
    {.name = "dispatch with the ledger, Pure", .serve = serve_pure, .trips = TRIPS},
    {.name = "dispatch with the ledger, an effect", .serve = serve_write, .trips = DURABLE_TRIPS},
};
#define PEERS (sizeof(peers) / sizeof(peers[0]))

static pid_t start(const struct peer *p, int *ret_to, int *ret_from)
{
    int down[2], up[2];
    pid_t pid;

    if (pipe(down) != 0 || pipe(up) != 0)
        die("pipe");
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        close(down[1]);
        close(up[0]);
        p->serve(down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    *ret_to = down[1];
    *ret_from = up[0];
    return pid;
}

static void trip(int to, int from, int number)
{
    char line[512], answer[65536];
    int n = snprintf(line, sizeof(line),
                     "{\"type\":\"function_call\",\"id\":\"fc_%08d\",\"call_id\":\"call_%08d\","
                     "\"name\":\"echo\",\"arguments\":\"{\\\"path\\\":\\\"src/runtime/turn.c\\\","
                     "\\\"offset\\\":120,\\\"limit\\\":200}\"}\n",
                     number, number);
    size_t got = 0;

    if (write(to, line, (size_t)n) != n)
        die("write");
    while (got == 0 || answer[got - 1] != '\n') {
        ssize_t m = read(from, answer + got, sizeof(answer) - got);
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

static double used_ns(int who)
{
    struct rusage u;

    if (getrusage(who, &u) != 0)
        die("getrusage");
    return ((double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
            (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)) *
           1000;
}

/* Processor time of a process that runs. */
static double used_by(pid_t pid)
{
    struct timespec t;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        die("clock_getcpuclockid");
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Time a trip, of the clock and of the processor. It ends with the process, so
 * that what is written behind the replies counts. */
static void measure(struct peer *p, int round)
{
    static int number;
    double children = used_ns(RUSAGE_CHILDREN), before;
    int to, from, status;
    pid_t pid = start(p, &to, &from);
    int64_t begin;

    for (int i = 0; i < p->trips / 10; i++) /* warm */
        trip(to, from, number++);
    before = used_ns(RUSAGE_SELF) + used_by(pid);
    begin = now_ns();
    for (int i = 0; i < p->trips; i++)
        trip(to, from, number++);
    close(to);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        exit(1);
    close(from);
    p->ns[round] = (double)(now_ns() - begin) / p->trips;
    p->cpu[round] =
        (used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN) - children - before) / p->trips;
}

int main(void)
{
    const char *where = getenv("WAYBILL_BENCH_DIR");
    char command[300];
    double floor, floor_cpu;

    snprintf(base, sizeof(base), "%s/waybill-bench-XXXXXX", where ? where : "/var/tmp");
    if (mkdtemp(base) == NULL)
        die("mkdtemp");
    for (int round = 0; round < ROUNDS; round++) /* interleaved */
        for (size_t i = 0; i < PEERS; i++)
            measure(&peers[i], round);
    floor = median(peers[0].ns, ROUNDS);
    floor_cpu = median(peers[0].cpu, ROUNDS);
    for (size_t i = 0; i < PEERS; i++) {
        double ns = median(peers[i].ns, ROUNDS), cpu = median(peers[i].cpu, ROUNDS);
        printf("%-36s %8.0f ns  %8.0f round trips/s  %7.2f x the floor   processor %7.0f ns  "
               "%.2f x\n",
               peers[i].name, ns, 1e9 / ns, ns / floor, cpu, cpu / floor_cpu);
    }
    snprintf(command, sizeof(command), "rm -rf '%s'", base);
    return system(command) == 0 ? 0 : 1;
}
