/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/load/threads.c: each client is a thread that sends, sleeps until its answer
 * is there and sends again, as programs of their own would: the kernel wakes one for
 * every answer, where one thread for all finds several at once. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "load.h"

/* Of the run's books; calls themselves go on beside each other. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct thread {
    struct run *run;
    struct client *client;
    pthread_t thread;
};

static bool begin(struct run *r, struct client *c)
{
    bool goes_on;

    (void)pthread_mutex_lock(&mutex);
    goes_on = more(r);
    if (goes_on)
        next_call(r, c);
    (void)pthread_mutex_unlock(&mutex);
    return goes_on;
}

static void end(struct run *r, struct client *c)
{
    int64_t took = now_ns() - c->sent_ns;
    enum verdict v = judge(c, c->body.p, c->body.n);

    (void)pthread_mutex_lock(&mutex);
    note_answer(r, c, took, v, c->body.p, c->body.n);
    (void)pthread_mutex_unlock(&mutex);
}

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
    struct text body = {NULL, 0, 0};
    int got;

    wait_at_most(c, STUCK_NS);
    while (begin(t->run, c)) {
        body.n = 0;
        put_call(t->run->o, c, &body);
        http_post(t->run->o, c, c->kind->name, &body);
        while ((got = http_take(c)) == 0)
            ;
        if (got < 0)
            die("an answer is missing", "the connection ended, or 30 seconds without any");
        end(t->run, c);
        if (c->closing) {
            http_connect(t->run->o, c);
            wait_at_most(c, STUCK_NS);
        }
    }
    free(body.p);
    return NULL;
}

void run_threads(struct run *r)
{
    struct thread threads[CLIENTS_MAX];
    int n = r->o->clients;

    for (int i = 0; i < n; i++) {
        threads[i] = (struct thread){.run = r, .client = &r->clients[i]};
        if (pthread_create(&threads[i].thread, NULL, thread_main, &threads[i]) != 0)
            die("cannot start a thread", NULL);
    }
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i].thread, NULL);
}
