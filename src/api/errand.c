/* SPDX-License-Identifier: Apache-2.0
 * api/errand.c: asking the loop from any thread. */
#include <pthread.h>

#include "api/api_int.h"

struct errand {
    struct wbi_post post;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool done;
    void (*fn)(void *arg);
    void *arg;
};

static void run_errand(void *arg)
{
    struct errand *e = arg;

    e->fn(e->arg);
    (void)pthread_mutex_lock(&e->lock); /* cannot fail: ours, and not held by us */
    e->done = true;
    (void)pthread_cond_signal(&e->over);
    (void)pthread_mutex_unlock(&e->lock);
}

void wbi_api_on_loop(wb_runtime *runtime, void (*fn)(void *), void *arg)
{
    struct errand e = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER, .fn = fn, .arg = arg};

    if (wbi_loop_here(runtime->rt->loop)) {
        fn(arg);
        return;
    }
    e.post = (struct wbi_post){NULL, run_errand, &e};
    wbi_loop_post(runtime->rt->loop, &e.post);
    (void)pthread_mutex_lock(&e.lock);
    while (!e.done)
        (void)pthread_cond_wait(&e.over, &e.lock);
    (void)pthread_mutex_unlock(&e.lock);
    (void)pthread_cond_destroy(&e.over);
    (void)pthread_mutex_destroy(&e.lock);
}
