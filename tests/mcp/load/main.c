/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/load/main.c: a load generator for tools/call. One thread for all clients
 * (or one each, --threads); every client has one call under way; every answer is
 * checked against its own call.
 *   mcp_load [OPTION…] --http PORT       connections to a server on loopback
 *   mcp_load [OPTION…] -- COMMAND ARG…   one child on stdio
 *   mcp_load --starts N -- COMMAND ARG…  how long a child takes to its first answer
 * Prints one line: calls, refused, p50 and p99 in us, calls/s, us of CPU a call of the
 * whole process, its first thread and its descendants, peak resident MB. Status 0; 1:
 * an answer that belongs to another call, none at all, or a refusal where something was
 * expected; 3: not --flat. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define FLAT_DESCRIPTORS 8
#define FLAT_CHILDREN 2

static const char usage_text[] =
    "usage: mcp_load [OPTION...] (--http PORT | -- COMMAND ARG...)\n"
    "  --clients N      calls under way at once (1)\n"
    "  --calls N        calls to measure (10000), after --warm N (1000)\n"
    "  --seconds S      or until then (30)\n"
    "  --starts N       start COMMAND N times: median ms until its first call is answered\n"
    "  --call NAME ARGUMENTS EXPECTED   a kind of call, drawn at random; %s is unique\n"
    "  --modern         2026-07-28 instead of 2025-11-25\n"
    "  --shared         one session for all connections\n"
    "  --threads        a thread for each client of --http, instead of one for all\n"
    "  --token TOKEN, --path /mcp\n"
    "  --faults N       of 1000 calls are something a client should not send\n"
    "  --pid PID        the server behind --http\n"
    "  --flat KB        its memory may grow by that much, descriptors and children not\n";

static unsigned seed;

int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

_Noreturn void die(const char *what, const char *detail)
{
    fprintf(stderr, "mcp_load: %s: %s\n", what, detail != NULL ? detail : "");
    exit(1);
}

unsigned chance(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (unsigned)(((uint64_t)seed * below) >> 32);
}

void text_add(struct text *t, const char *bytes, size_t n)
{
    if (t->n + n + 1 > t->cap) {
        t->cap = 2 * (t->n + n) + 256;
        t->p = realloc(t->p, t->cap);
        if (t->p == NULL)
            die("out of memory", NULL);
    }
    memcpy(t->p + t->n, bytes, n);
    t->n += n;
    t->p[t->n] = '\0';
}

void text_addz(struct text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_drop(struct text *t, size_t n)
{
    memmove(t->p, t->p + n, t->n - n + 1);
    t->n -= n;
}

/* ---- one call ---- */

/* Over stdio one session has all ids, so they differ; over HTTP they collide. */
bool next_call(struct run *r, struct client *c)
{
    const struct options *o = r->o;
    int64_t now = now_ns();
    long nth;

    if (now >= r->end_ns)
        return false;
    nth = atomic_fetch_add(r->issued, 1);
    if (nth >= o->calls + o->warm)
        return false;
    c->serial++;
    c->id = o->port != 0 && !o->shared ? c->serial : c->serial * o->clients + c->number;
    (void)snprintf(c->unique, sizeof(c->unique), "c%dn%ldx", c->number, c->serial);
    c->kind = &o->kinds[o->kind_count > 1 ? chance((unsigned)o->kind_count) : 0];
    c->measured = nth >= o->warm;
    if (nth == o->warm) {
        r->began_ns = now;
        usage_of(o->pid, &r->before);
    }
    c->sent_ns = now;
    return true;
}

/* At every tenth of the run. */
static void sample(struct run *r)
{
    const struct options *o = r->o;
    double by_time = (double)(now_ns() - r->end_ns) / 1e9 / o->seconds + 1;
    double by_calls = (double)r->done / (double)(o->calls + o->warm);

    if (o->flat_kb == 0 || r->sampled == SAMPLES)
        return;
    if ((by_time > by_calls ? by_time : by_calls) * SAMPLES >= r->sampled + 1)
        usage_of(o->pid, &r->samples[r->sampled++]);
}

static void note_answer(struct run *r, const struct client *c, int64_t took, enum verdict v,
                        const char *json, size_t n)
{
    r->done++;
    r->refused += v == REFUSED;
    if (v == CROSSED && r->crossed++ == 0)
        fprintf(stderr, "mcp_load: client %d, call %ld, wanted %s: %.*s\n", c->number, c->id,
                c->unique, (int)(n < 400 ? n : 400), json != NULL ? json : "");
    if (v == REFUSED && c->kind->expected[0] != '\0' && r->unexpected++ == 0)
        fprintf(stderr, "mcp_load: a refusal: %.*s\n", (int)(n < 400 ? n : 400), json);
    if (c->measured && r->measured < KEPT_MAX)
        r->took[r->measured++] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    if ((r->done & 63) == 0)
        sample(r);
}

void finish_call(struct run *r, struct client *c, const char *json, size_t n)
{
    int64_t took = now_ns() - c->sent_ns;

    note_answer(r, c, took, judge(c, json, n), json, n);
}

/* ---- HTTP ---- */

static void watch(int epoll, struct client *c)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        die("epoll", strerror(errno));
}

static void send_next(struct run *r, struct client *c, int epoll)
{
    static struct text body;
    const struct options *o = r->o;

    while (!c->waiting && next_call(r, c)) {
        int fd = c->fd;

        if (o->faults > 0 && chance(1000) < o->faults) {
            c->measured = false;
            http_fault(o, c);
            if (c->fd != fd || !c->waiting)
                watch(epoll, c); /* it connected anew: the old one left epoll when closed */
            if (!c->waiting)
                r->done++;
            continue;
        }
        body.n = 0;
        put_call(o, c, &body);
        http_post(o, c, c->kind->name, &body);
    }
}

static void on_answer(struct run *r, struct client *c, int epoll)
{
    int rc = http_take(c);
    bool gone = rc < 0 || (rc > 0 && c->closing);

    if (rc == 0)
        return;
    if (rc < 0 && c->waiting && c->kind != NULL)
        die("the server ended a connection that waits for an answer", c->in.p);
    if (rc > 0 || c->waiting)
        finish_call(r, c, c->body.p, c->body.n);
    if (gone) {
        http_connect(r->o, c);
        watch(epoll, c);
    }
    send_next(r, c, epoll);
}

static bool any_waiting(const struct run *r)
{
    for (int i = 0; i < r->o->clients; i++)
        if (r->clients[i].waiting)
            return true;
    return false;
}

static void open_all(struct run *r)
{
    for (int i = 0; i < r->o->clients; i++) {
        struct client *c = &r->clients[i];

        if (i > 0 && r->o->shared)
            memcpy(c->session, r->clients[0].session, sizeof(c->session));
        http_open(r->o, c);
    }
}

static void run_http(struct run *r)
{
    struct epoll_event events[CLIENTS_MAX];
    int epoll = epoll_create1(0), n;

    for (int i = 0; i < r->o->clients; i++)
        watch(epoll, &r->clients[i]);
    for (int i = 0; i < r->o->clients; i++)
        send_next(r, &r->clients[i], epoll);
    while (any_waiting(r)) {
        n = epoll_wait(epoll, events, CLIENTS_MAX, (int)(STUCK_NS / 1000000));
        if (n == 0)
            die("an answer is missing", "30 seconds without any");
        for (int i = 0; i < n; i++)
            on_answer(r, events[i].data.ptr, epoll);
    }
    close(epoll);
}

/* ---- stdio ---- */

struct child {
    pid_t pid;
    int to, from;
    struct text in, out;
};

static void start_child(struct child *c, char **argv)
{
    int to[2], from[2];

    if (pipe(to) != 0 || pipe(from) != 0)
        die("pipe", strerror(errno));
    c->pid = fork();
    if (c->pid == 0) {
        if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0)
            _exit(126);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    c->to = to[1];
    c->from = from[0];
}

static void flush_child(struct child *c)
{
    for (size_t at = 0; at < c->out.n;) {
        ssize_t n = write(c->to, c->out.p + at, c->out.n - at);
        if (n <= 0)
            die("the server does not read", strerror(errno));
        at += (size_t)n;
    }
    c->out.n = 0;
}

static void read_child(struct child *c)
{
    struct pollfd ready = {.fd = c->from, .events = POLLIN};
    static char piece[65536];
    ssize_t n;

    if (poll(&ready, 1, (int)(STUCK_NS / 1000000)) <= 0)
        die("an answer is missing", "30 seconds without any");
    n = read(c->from, piece, sizeof(piece));
    if (n <= 0)
        die("the server has ended", NULL);
    text_add(&c->in, piece, (size_t)n);
}

static void call_child(struct run *r, struct client *c, struct child *child)
{
    if (c->waiting || !next_call(r, c))
        return;
    put_call(r->o, c, &child->out);
    text_addz(&child->out, "\n");
    c->waiting = true;
}

/* Every whole line that has come. */
static void take_lines(struct run *r, struct child *child)
{
    char *line = child->in.p, *end;

    while ((end = memchr(line, '\n', (size_t)(child->in.p + child->in.n - line))) != NULL) {
        long id = message_id(line, (size_t)(end - line));
        struct client *c = id >= 0 ? &r->clients[id % r->o->clients] : NULL;

        if (c != NULL && c->waiting) {
            finish_call(r, c, line, (size_t)(end - line));
            c->waiting = false;
            call_child(r, c, child);
        } else if (id >= 0) {
            r->crossed++; /* nobody asked */
        }
        line = end + 1;
    }
    text_drop(&child->in, (size_t)(line - child->in.p));
}

static void open_child(struct child *child)
{
    text_addz(&child->out, message_initialize);
    text_addz(&child->out, "\n");
    flush_child(child);
    while (child->in.n == 0 || strstr(child->in.p, "\"open\"") == NULL ||
           strchr(child->in.p, '\n') == NULL)
        read_child(child);
    text_drop(&child->in, child->in.n);
    text_addz(&child->out, message_initialized);
    text_addz(&child->out, "\n");
}

static void run_stdio(struct run *r, struct child *child)
{
    if (!r->o->modern)
        open_child(child);
    for (int i = 0; i < r->o->clients; i++)
        call_child(r, &r->clients[i], child);
    flush_child(child);
    while (any_waiting(r)) {
        read_child(child);
        take_lines(r, child);
        flush_child(child);
    }
}

static void end_child(struct child *child)
{
    close(child->to);
    (void)waitpid(child->pid, NULL, 0);
    close(child->from);
    free(child->in.p);
    free(child->out.p);
    memset(child, 0, sizeof(*child));
}

/* ---- report ---- */

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static double quantile_us(const struct run *r, double q)
{
    return r->measured > 0 ? r->took[(long)((double)(r->measured - 1) * q)] / 1000.0 : 0;
}

static void report(struct run *r, int64_t ended_ns)
{
    double seconds = (double)(ended_ns - r->began_ns) / 1e9;
    double n = r->measured > 0 ? (double)r->measured : 1;

    qsort(r->took, (size_t)r->measured, sizeof(*r->took), by_size);
    printf("%ld %ld %.1f %.1f %.0f %.1f %.1f %.1f %.1f\n", r->measured, r->refused,
           quantile_us(r, 0.5), quantile_us(r, 0.99), (double)r->measured / seconds,
           (r->after.self_us - r->before.self_us) / n, (r->after.loop_us - r->before.loop_us) / n,
           (r->after.kids_us - r->before.kids_us) / n, (double)r->after.peak_kb / 1024);
}

/* From fork to the answer of the first call, each time with a new child. */
static int report_starts(struct run *r)
{
    struct child child = {0, -1, -1, {NULL, 0, 0}, {NULL, 0, 0}};

    for (long i = 0; i < r->o->starts; i++) {
        int64_t began = now_ns();

        start_child(&child, r->o->command);
        r->end_ns = INT64_MAX;
        atomic_store(r->issued, r->o->calls + r->o->warm - 1); /* one more */
        run_stdio(r, &child);
        r->took[i] = (uint32_t)(now_ns() - began);
        r->measured = i + 1;
        end_child(&child);
    }
    qsort(r->took, (size_t)r->measured, sizeof(*r->took), by_size);
    printf("%.2f\n", quantile_us(r, 0.5) / 1000);
    return r->crossed + r->refused > 0;
}

/* What the later half reaches, the earlier half has reached, the first sample aside. */
static bool grows(const struct run *r, const char *what, size_t place, long slack)
{
    long early = 0, late = 0;

    for (int i = 1; i < r->sampled; i++) {
        long v = *(const long *)(const void *)((const char *)&r->samples[i] + place);
        long *half = i < r->sampled / 2 ? &early : &late;

        *half = v > *half ? v : *half;
    }
    printf("%s: %ld, then %ld\n", what, early, late);
    return late > early + slack;
}

static bool is_flat(const struct run *r)
{
    bool bad = r->sampled < 4;

    bad |= grows(r, "resident KB", offsetof(struct usage, rss_kb), r->o->flat_kb);
    bad |= grows(r, "descriptors", offsetof(struct usage, descriptors), FLAT_DESCRIPTORS);
    bad |= grows(r, "children", offsetof(struct usage, children), FLAT_CHILDREN);
    return !bad;
}

/* ---- options ---- */

static int usage_error(const char *word)
{
    fprintf(stderr, "mcp_load: %s\n%s", word, usage_text);
    return 2;
}

static bool flag(struct options *o, const char *name)
{
    bool *to = strcmp(name, "--modern") == 0    ? &o->modern
               : strcmp(name, "--shared") == 0  ? &o->shared
               : strcmp(name, "--threads") == 0 ? &o->threads
                                                : NULL;

    if (to != NULL)
        *to = true;
    return to != NULL;
}

static bool valued(struct options *o, const char *name, const char *v)
{
    if (strcmp(name, "--http") == 0)
        o->port = atoi(v);
    else if (strcmp(name, "--clients") == 0)
        o->clients = atoi(v);
    else if (strcmp(name, "--calls") == 0)
        o->calls = atol(v);
    else if (strcmp(name, "--warm") == 0)
        o->warm = atol(v);
    else if (strcmp(name, "--starts") == 0)
        o->starts = atol(v);
    else if (strcmp(name, "--seconds") == 0)
        o->seconds = atof(v);
    else if (strcmp(name, "--token") == 0)
        o->token = v;
    else if (strcmp(name, "--path") == 0)
        o->path = v;
    else if (strcmp(name, "--faults") == 0)
        o->faults = (unsigned)atoi(v);
    else if (strcmp(name, "--flat") == 0)
        o->flat_kb = atol(v);
    else if (strcmp(name, "--pid") == 0)
        o->pid = atol(v);
    else
        return false;
    return true;
}

static int read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0 && i + 1 < argc) {
            o->command = argv + i + 1;
            break;
        }
        if (strcmp(argv[i], "--call") == 0 && i + 3 < argc && o->kind_count < KINDS_MAX) {
            o->kinds[o->kind_count++] = (struct kind){argv[i + 1], argv[i + 2], argv[i + 3]};
            i += 3;
        } else if (!flag(o, argv[i])) {
            if (i + 1 == argc || !valued(o, argv[i], argv[i + 1]))
                return usage_error(argv[i]);
            i++;
        }
    }
    if (o->kind_count == 0)
        o->kinds[o->kind_count++] = (struct kind){"echo", "{\"message\":\"%s\"}", "%s"};
    if (o->clients < 1 || o->clients > CLIENTS_MAX || o->calls < 1 || o->seconds <= 0 ||
        (o->port == 0) == (o->command == NULL) || o->starts < 0 || o->starts > o->calls ||
        (o->starts > 0 && o->command == NULL))
        return usage_error("a number is out of range, or not one of --http and COMMAND is given");
    if (o->threads && (o->command != NULL || o->faults > 0 || o->flat_kb > 0 || o->kind_count > 1 ||
                       o->calls > KEPT_MAX))
        return usage_error("--threads goes with --http and one kind of call, and not with "
                           "--faults or --flat");
    return 0;
}

static void release(struct run *r)
{
    for (int i = 0; i < r->o->clients; i++) {
        free(r->clients[i].in.p);
        free(r->clients[i].body.p);
    }
    free(r->clients);
    free(r->took);
}

int main(int argc, char **argv)
{
    struct options o = {.clients = 1, .calls = 10000, .warm = 1000, .seconds = 30, .path = "/mcp"};
    atomic_long issued = 0;
    struct run r = {.o = &o, .issued = &issued};
    struct child child = {0, -1, -1, {NULL, 0, 0}, {NULL, 0, 0}};
    const char *given = getenv("WAYBILL_SEED");
    int64_t ended_ns;
    int status = read_options(argc, argv, &o);

    if (status != 0)
        return status;
    seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)getpid();
    (void)signal(SIGPIPE, SIG_IGN);
    r.clients = calloc((size_t)o.clients, sizeof(*r.clients));
    r.took = malloc(sizeof(*r.took) * (size_t)(o.calls < KEPT_MAX ? o.calls : KEPT_MAX));
    if (r.clients == NULL || r.took == NULL)
        die("out of memory", NULL);
    for (int i = 0; i < o.clients; i++) {
        r.clients[i].number = i;
        r.clients[i].fd = -1;
    }
    if (o.starts > 0)
        return report_starts(&r);
    if (o.command != NULL) {
        start_child(&child, o.command);
        o.pid = child.pid;
    }
    if (o.command == NULL)
        open_all(&r);
    r.end_ns = now_ns() + (int64_t)(o.seconds * 1e9);
    if (o.command != NULL)
        run_stdio(&r, &child);
    else if (o.threads)
        run_threads(&r);
    else
        run_http(&r);
    ended_ns = now_ns();
    usage_of(o.pid, &r.after);
    if (o.command != NULL)
        end_child(&child);
    report(&r, ended_ns);
    release(&r);
    if (r.crossed + r.unexpected > 0) {
        fprintf(stderr, "mcp_load: %ld wrong answers, %ld refusals\n", r.crossed, r.unexpected);
        return 1;
    }
    return o.flat_kb > 0 && !is_flat(&r) ? 3 : 0;
}
