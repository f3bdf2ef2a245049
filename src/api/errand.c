/* SPDX-License-Identifier: Apache-2.0
 * api/errand.c: asking the loop from any thread. */
#include <pthread.h>

#include "api/api_int.h"

struct wbi_errand {
    struct wbi_post post;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool done;
    void (*begin)(void *arg, struct wbi_errand *errand);
    void *arg;
};

void wbi_errand_done(void *errand)
{
    struct wbi_errand *e = errand;

    (void)pthread_mutex_lock(&e->lock); /* cannot fail: ours, and not held by us */
    e->done = true;
    (void)pthread_cond_signal(&e->over);
    (void)pthread_mutex_unlock(&e->lock);
}

static void begin_errand(void *arg)
{
    struct wbi_errand *e = arg;

    e->begin(e->arg, e);
}

void wbi_api_wait_for_loop(wb_runtime *runtime, void (*begin)(void *, struct wbi_errand *),
                           void *arg)
{
    struct wbi_errand e = {.lock = PTHREAD_MUTEX_INITIALIZER,
                           .over = PTHREAD_COND_INITIALIZER,
                           .begin = begin,
                           .arg = arg};

    e.post = (struct wbi_post){NULL, begin_errand, &e};
    wbi_loop_post(runtime->rt->loop, &e.post);
    (void)pthread_mutex_lock(&e.lock);
    while (!e.done)
        (void)pthread_cond_wait(&e.over, &e.lock);
    (void)pthread_mutex_unlock(&e.lock);
    (void)pthread_cond_destroy(&e.over);
    (void)pthread_mutex_destroy(&e.lock);
}

struct function {
    void (*fn)(void *arg);
    void *arg;
};

static void run_function(void *arg, struct wbi_errand *errand)
{
    const struct function *f = arg;

    f->fn(f->arg);
    wbi_errand_done(errand);
}

void wbi_api_on_loop(wb_runtime *runtime, void (*fn)(void *), void *arg)
{
    struct function f = {fn, arg};

    if (wbi_loop_here(runtime->rt->loop))
        fn(arg);
    else
        wbi_api_wait_for_loop(runtime, run_function, &f);
}

void wbi_api_with_loop(wb_runtime *runtime, void (*fn)(void *), void *arg)
{
    if (runtime->threaded)
        wbi_api_on_loop(runtime, fn, arg);
    else
        fn(arg);
}
