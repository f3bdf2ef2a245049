/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/load/threads.c: each client is a thread that sends, sleeps until its answer
 * is there and sends again, as programs of their own would: the kernel wakes one for
 * every answer, where one thread for all finds several at once. What they share is the
 * number of calls begun; a lock would make them wait for each other, not for the server. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "load.h"

struct thread {
    struct run run; /* its own books */
    struct client *client;
    pthread_t thread;
};

static void wait_at_most(const struct client *c, int64_t ns)
{
    struct timeval tv = {.tv_sec = (time_t)(ns / 1000000000)};

    if (setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) != 0)
        die("cannot limit a wait", strerror(errno));
}

static void *thread_main(void *arg)
{
    struct thread *t = arg;
    struct client *c = t->client;
    struct run *r = &t->run;
    struct text body = {NULL, 0, 0};
    int got;

    wait_at_most(c, STUCK_NS);
    while (next_call(r, c)) {
        body.n = 0;
        put_call(r->o, c, &body);
        http_post(r->o, c, c->kind->name, &body);
        while ((got = http_take(c)) == 0)
            ;
        if (got < 0)
            die("an answer is missing", "the connection ended, or 30 seconds without any");
        finish_call(r, c, c->body.p, c->body.n);
        if (c->closing) {
            http_connect(r->o, c);
            wait_at_most(c, STUCK_NS);
        }
    }
    free(body.p);
    return NULL;
}

static void start(struct thread *t, const struct run *r, struct client *c, long most)
{
    *t = (struct thread){.run = *r, .client = c};
    t->run.took = malloc(sizeof(*t->run.took) * (size_t)most);
    if (t->run.took == NULL)
        die("out of memory", NULL);
    if (pthread_create(&t->thread, NULL, thread_main, t) != 0)
        die("cannot start a thread", NULL);
}

static void add_books(struct run *r, struct run *more)
{
    if (more->began_ns != 0) {
        r->began_ns = more->began_ns;
        r->before = more->before;
    }
    memcpy(r->took + r->measured, more->took, sizeof(*r->took) * (size_t)more->measured);
    r->measured += more->measured;
    r->done += more->done;
    r->refused += more->refused;
    r->unexpected += more->unexpected;
    r->crossed += more->crossed;
    free(more->took);
}

void run_threads(struct run *r)
{
    static struct thread threads[CLIENTS_MAX];
    int n = r->o->clients;

    for (int i = 0; i < n; i++)
        start(&threads[i], r, &r->clients[i], r->o->calls);
    for (int i = 0; i < n; i++) {
        (void)pthread_join(threads[i].thread, NULL);
        add_books(r, &threads[i].run);
    }
}
