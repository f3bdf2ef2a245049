/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_run.c: starting and capturing commands against the bare system
 * calls, interleaved in one run; medians and ratios.
 * Run pinned to one core (taskset -c 0): waking the other one is the machine's
 * cost, not ours. An argument N sets the rounds (default 200). */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "artifact/spool.h"
#include "base/limits.h"
#include "loop/loop.h"
#include "run/process.h"
#include "text/hygiene.h"
#include "text/secrets.h"

#define MOST 2000

static char *const no_env[] = {NULL};
static const char target[] = "/tmp/waybill-bench-run.out";

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * WBI_NS_PER_S + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static double median_us(int64_t *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_value);
    return (double)v[n / 2] / 1000.0;
}

/* posix_spawn, two pipes, a group of its own, read to the end, wait; output goes to
 * `file` if it is open. */
static void bare(char *const *argv, int file, bool big_pipe)
{
    static char buffer[256 * 1024];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    struct pollfd fds[2];
    int out[2], err[2], open_ends = 2;
    pid_t pid;

    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
        exit(1);
    if (big_pipe)
        (void)fcntl(out[0], F_SETPIPE_SZ, (int)WBI_RUN_PIPE_BYTES);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (posix_spawn(&pid, argv[0], &actions, &attributes, argv, no_env) != 0)
        exit(1);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    fds[0] = (struct pollfd){.fd = out[0], .events = POLLIN};
    fds[1] = (struct pollfd){.fd = err[0], .events = POLLIN};
    while (open_ends > 0 && poll(fds, 2, -1) > 0)
        for (int i = 0; i < 2; i++) {
            ssize_t n;
            if (fds[i].revents == 0)
                continue;
            n = read(fds[i].fd, buffer, sizeof(buffer));
            if (n <= 0) {
                close(fds[i].fd);
                fds[i].fd = -1;
                open_ends--;
            } else if (file >= 0 && write(file, buffer, (size_t)n) != n) {
                exit(1);
            }
        }
    waitpid(pid, NULL, 0);
}

struct show {
    struct wbi_hygiene hygiene;
    struct wbi_secrets_stream stream;
    struct wbi_buf clean;
    struct wbi_buf shown;
    uint64_t bytes;
};

struct ours {
    struct wbi_loop *loop;
    struct wbi_runner *runner;
    bool done;
    int file;
    struct wbi_spool *spool;
    struct show *show;
};

/* The text a receipt is made from: cleaned, then redacted. */
static void clean_and_redact(struct show *v, struct wbi_str bytes)
{
    wbi_buf_clear(&v->clean);
    wbi_buf_clear(&v->shown);
    if (wbi_hygiene_feed(&v->hygiene, bytes, &v->clean) != WB_OK ||
        wbi_secrets_stream_feed(&v->stream, wbi_buf_str(&v->clean), &v->shown) != WB_OK)
        exit(1);
    v->bytes += v->shown.n;
}

static void on_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct ours *o = arg;

    if (o->show != NULL)
        clean_and_redact(o->show, bytes);
    if (o->spool != NULL)
        wbi_spool_add(o->spool, (int)stream, bytes);
    if (o->file >= 0 && write(o->file, bytes.p, bytes.n) != (ssize_t)bytes.n)
        exit(1);
}

static void on_end(void *arg, const struct wbi_process_end *end)
{
    if (end->rc != WB_OK)
        exit(1);
    ((struct ours *)arg)->done = true;
}

static void held(struct ours *o, char *const *argv, bool uncontained)
{
    static const struct wbi_process_ops ops = {on_output, on_end};
    struct wbi_str words[8];
    struct wbi_process_spec spec = {.argv = words, .uncontained = uncontained};
    struct wbi_process *p;

    for (; argv[spec.argc] != NULL; spec.argc++)
        words[spec.argc] = wbi_str_z(argv[spec.argc]);
    o->done = false;
    if (wbi_process_start(o->runner, &spec, &ops, o, &p, NULL) != WB_OK)
        exit(1);
    wbi_loop_run(o->loop, &o->done);
}

static void starts(struct ours *o, int rounds, const char *title)
{
    static char program[] = "/bin/true";
    static int64_t a[MOST], b[MOST], c[MOST];
    char *const argv[] = {program, NULL};
    double base, alone, with;

    o->file = -1;
    held(o, argv, false); /* the holder is there from now on */
    for (int i = 0; i < rounds; i++) {
        int64_t t = now_ns();
        bare(argv, -1, false);
        a[i] = now_ns() - t;
        t = now_ns();
        held(o, argv, true);
        b[i] = now_ns() - t;
        t = now_ns();
        held(o, argv, false);
        c[i] = now_ns() - t;
    }
    base = median_us(a, rounds);
    alone = median_us(b, rounds);
    with = median_us(c, rounds);
    printf("%-28s posix_spawn+pipes %7.0f us   group %7.0f us (%.2fx)   holder %7.0f us (%.2fx)\n",
           title, base, alone, alone / base, with, with / base);
}

static int fresh_file(void)
{
    int fd = open(target, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

    if (fd < 0)
        exit(1);
    return fd;
}

/* One capture of ours into the artifact store; finishing (hash, sync) apart. */
static void spooled(struct ours *o, char *const *argv, struct wbi_artifact_store *store,
                    int64_t *ret_capture, int64_t *ret_finish)
{
    static const char *const roles[] = {"stdout", "stderr"};
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    int64_t t = now_ns();

    o->file = -1;
    if (wbi_spool_open(store, WBI_LIT("bench"), roles, &o->spool, NULL) != WB_OK)
        exit(1);
    held(o, argv, false);
    *ret_capture = now_ns() - t;
    t = now_ns();
    if (wbi_spool_finish(o->spool, 1, got, NULL) != WB_OK)
        exit(1);
    *ret_finish = now_ns() - t;
    o->spool = NULL;
}

#define TEXT_MIB 256
static const char text[] = "/tmp/waybill-bench-run.txt";

/* Lines of a log, with a credential now and then. */
static void make_text(void)
{
    FILE *f = fopen(text, "w");
    unsigned r = 1;
    long n = 0;

    if (f == NULL)
        exit(1);
    for (unsigned i = 0; n < (long)TEXT_MIB << 20; i++) {
        r = r * 1664525u + 1013904223u;
        n += fprintf(f, "%08x INFO worker-%u handled request %u path=/api/v1/items/%u in %u ms\n",
                     i, i % 4, r, i, r % 97);
        if (i % 4000 == 0)
            n += fprintf(f, "remote: https://u%u:pa55word%u@host/x.git\n", i, i);
    }
    if (fclose(f) != 0)
        exit(1);
}

/* Captured, spooled, cleaned and redacted. */
static int64_t shown(struct ours *o, char *const *argv, struct wbi_artifact_store *store)
{
    struct wbi_secrets_options options = {WBI_LIT("bench"), NULL, 0};
    struct wbi_secrets *set;
    struct show v = {.bytes = 0};
    int64_t capture, finish;

    if (wbi_secrets_new(&options, &set, NULL, NULL) != WB_OK)
        exit(1);
    wbi_hygiene_init(&v.hygiene);
    wbi_secrets_stream_init(&v.stream, set);
    wbi_buf_init(&v.clean, 64u << 20);
    wbi_buf_init(&v.shown, 64u << 20);
    o->show = &v;
    spooled(o, argv, store, &capture, &finish);
    o->show = NULL;
    if (v.bytes == 0 || v.stream.report.total == 0)
        exit(1);
    wbi_buf_fini(&v.clean);
    wbi_buf_fini(&v.shown);
    wbi_secrets_stream_fini(&v.stream);
    wbi_hygiene_fini(&v.hygiene);
    wbi_secrets_free(set);
    return capture;
}

static void print_rates(int64_t *base, int64_t *plain, int64_t *spool, int64_t *show, int rounds)
{
    double loop = TEXT_MIB / median_us(base, rounds) * 1e6;
    double with = TEXT_MIB / median_us(plain, rounds) * 1e6;
    double kept = TEXT_MIB / median_us(spool, rounds) * 1e6;
    double clean = TEXT_MIB / median_us(show, rounds) * 1e6;

    printf("%-28s read+write loop %6.0f MiB/s   ours %6.0f (%.0f %%)   spooled %6.0f (%.0f %%, "
           "target 80)   cleaned and redacted too %6.0f (%.0f %%, target 40)\n",
           "256 MiB of text to a file", loop, with, 100.0 * with / loop, kept, 100.0 * kept / loop,
           clean, 100.0 * clean / loop);
}

static void throughput(struct ours *o, int rounds)
{
    static char program[] = "/bin/cat", from[sizeof text], dir[] = "/tmp/waybill-bench-XXXXXX";
    static int64_t a[MOST], b[MOST], c[MOST], d[MOST], e[MOST];
    char *const argv[] = {program, from, NULL};
    char *const four[] = {program, from, from, from, from, NULL};
    char command[64];
    struct wbi_artifact_store *store;
    struct rusage usage;

    memcpy(from, text, sizeof text);
    make_text();
    if (mkdtemp(dir) == NULL ||
        wbi_artifact_store_open(dir, NULL, NULL, wbi_clock_system(), &store, NULL) != WB_OK)
        exit(1);
    for (int i = 0; i < rounds; i++) {
        int64_t t;
        o->file = fresh_file();
        t = now_ns();
        bare(argv, o->file, true);
        a[i] = now_ns() - t;
        close(o->file);
        o->file = fresh_file();
        t = now_ns();
        held(o, argv, false);
        b[i] = now_ns() - t;
        close(o->file);
        spooled(o, argv, store, &c[i], &d[i]);
        e[i] = shown(o, argv, store);
    }
    print_rates(a, b, c, e, rounds);
    printf("%-28s hash and sync afterwards %.0f ms\n", "", median_us(d, rounds) / 1000.0);
    (void)shown(o, four, store);
    getrusage(RUSAGE_SELF, &usage);
    printf("%-28s most memory so far %.1f MiB (target: under 32)\n", "1 GiB of text, all of it",
           (double)usage.ru_maxrss / 1024.0);
    unlink(target);
    unlink(text);
    wbi_artifact_store_close(store);
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    if (system(command) != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    struct ours o = {.file = -1};
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200;
    size_t big = (size_t)1 << 30;
    char *memory;

    rounds = rounds < 1 ? 1 : rounds > MOST ? MOST : rounds;
    if (wbi_loop_new(NULL, &o.loop, NULL) != WB_OK ||
        wbi_runner_new(o.loop, wbi_clock_system(), &o.runner, NULL) != WB_OK)
        return 1;
    starts(&o, rounds, "start, small parent");
    throughput(&o, 5);
    memory = malloc(big);
    if (memory != NULL) {
        for (size_t i = 0; i < big; i += 4096)
            memory[i] = 1;
        starts(&o, rounds, "start, 1 GiB parent");
        free(memory);
    }
    wbi_runner_free(o.runner);
    wbi_loop_free(o.loop);
    return 0;
}
