/* SPDX-License-Identifier: Apache-2.0
 * http/sender.c: a thread that sends what the loop gives it and reports back.
 * (1) A connection is the thread's from wbi_sender_give to on_sent; of it the
 *     thread reads fd, out and sent, and writes flown.
 * (2) The socket does not block: what it does not take is the loop's again. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "http/http_int.h"

struct wbi_sender {
    struct wbi_loop *loop;
    void (*on_sent)(struct wbi_conn *c);
    pthread_t thread;
    struct wbi_ring *ring; /* the thread's; NULL: none can be had */
    pthread_mutex_t lock;  /* of all below */
    pthread_cond_t wake;
    struct wbi_conn *todo, **todo_end;
    struct wbi_conn *done, **done_end;
    struct wbi_post report;
    bool reporting; /* the post is under way */
    bool idle;      /* the thread waits */
    bool stop;
    bool orphan; /* freed but for a report under way */
};

static void destroy(struct wbi_sender *s)
{
    wbi_ring_free(s->ring);
    (void)pthread_cond_destroy(&s->wake);
    (void)pthread_mutex_destroy(&s->lock);
    wbi_free(s);
}

static void send_one(struct wbi_conn *c)
{
    ssize_t n = send(c->fd, c->out.p + c->sent, c->out.n - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    c->flown = n < 0 ? -errno : n;
}

static void send_list(struct wbi_sender *s, struct wbi_conn *c)
{
    if (s->ring != NULL && c->next_out != NULL)
        c = wbi_ring_send(s->ring, c);
    for (; c != NULL; c = c->next_out)
        send_one(c);
}

static struct wbi_conn *take_done(struct wbi_sender *s)
{
    struct wbi_conn *c;

    (void)pthread_mutex_lock(&s->lock);
    c = s->done;
    s->done = NULL;
    s->done_end = &s->done;
    s->reporting = false;
    (void)pthread_mutex_unlock(&s->lock);
    return c;
}

static void report(void *arg)
{
    struct wbi_sender *s = arg;
    struct wbi_conn *c, *next;

    if (s->orphan) {
        destroy(s);
        return;
    }
    for (c = take_done(s); c != NULL; c = next) {
        next = c->next_out;
        s->on_sent(c);
    }
}

/* Locked in, locked out: sends what there is, without the lock. */
static void send_all(struct wbi_sender *s)
{
    struct wbi_conn *first = s->todo, **end = s->todo_end;
    bool tell;

    s->todo = NULL;
    s->todo_end = &s->todo;
    (void)pthread_mutex_unlock(&s->lock);
    send_list(s, first);
    (void)pthread_mutex_lock(&s->lock);
    *s->done_end = first;
    s->done_end = end;
    tell = !s->reporting && !s->stop;
    s->reporting = s->reporting || tell;
    (void)pthread_mutex_unlock(&s->lock);
    if (tell)
        wbi_loop_post(s->loop, &s->report);
    (void)pthread_mutex_lock(&s->lock);
}

static void *sender_main(void *arg)
{
    struct wbi_sender *s = arg;

    (void)pthread_mutex_lock(&s->lock);
    while (s->todo != NULL || !s->stop) {
        if (s->todo != NULL) {
            send_all(s);
            continue;
        }
        s->idle = true;
        (void)pthread_cond_wait(&s->wake, &s->lock);
        s->idle = false;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Signals are the loop thread's. */
static int start_thread(struct wbi_sender *s)
{
    sigset_t all, before;
    int status;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&s->thread, NULL, sender_main, s);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

struct wbi_sender *wbi_sender_new(struct wbi_loop *loop, void (*on_sent)(struct wbi_conn *c))
{
    struct wbi_sender *s = wbi_zalloc(sizeof(*s));

    if (s == NULL)
        return NULL;
    s->loop = loop;
    s->on_sent = on_sent;
    s->todo_end = &s->todo;
    s->done_end = &s->done;
    s->report = (struct wbi_post){.fn = report, .arg = s};
    (void)pthread_mutex_init(&s->lock, NULL); /* these two cannot fail on Linux */
    (void)pthread_cond_init(&s->wake, NULL);
    s->ring = wbi_ring_new();
    if (start_thread(s) == 0)
        return s;
    destroy(s);
    return NULL;
}

void wbi_sender_give(struct wbi_sender *s, struct wbi_conn *first, struct wbi_conn **end)
{
    bool idle;

    (void)pthread_mutex_lock(&s->lock);
    *s->todo_end = first;
    s->todo_end = end;
    idle = s->idle;
    (void)pthread_mutex_unlock(&s->lock);
    if (idle)
        (void)pthread_cond_signal(&s->wake);
}

struct wbi_conn *wbi_sender_free(struct wbi_sender *s)
{
    struct wbi_conn *left;

    if (s == NULL)
        return NULL;
    (void)pthread_mutex_lock(&s->lock);
    s->stop = true;
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_cond_signal(&s->wake);
    (void)pthread_join(s->thread, NULL);
    left = s->done;
    if (s->reporting)
        s->orphan = true;
    else
        destroy(s);
    return left;
}
