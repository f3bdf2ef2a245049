/* SPDX-License-Identifier: Apache-2.0
 * loop/loop.c: libuv behind a small face.
 * (1) Handles live in heap objects that are freed only in their close callback.
 * (2) Posts are a lock-free stack that one handle drains in order: an async one of our own
 *     loop, an eventfd in the caller's. libuv calls no other async handle while one of the
 *     caller's is in its callback, which may well wait for us.
 * (3) Deferred work runs after polling (check) and, for what timers deferred,
 *     before it (prepare).
 * (4) Our own loop looks once more before it sleeps (eager.h); the caller's does
 *     what the caller made it for, and a turn that is not to wait does not. */
#include "loop/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "loop/alarm.h"
#include "loop/eager.h"

struct wbi_loop {
    uv_loop_t *uv;
    uv_loop_t own;
    bool owned;
    uv_async_t wake; /* in the caller's loop it is only held */
    uv_poll_t bell;  /* of the caller's loop */
    int bell_fd;
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    int closed; /* of the four, or without bell three */
    struct wbi_defer *deferred, **deferred_end;
    _Atomic(struct wbi_post *) posted;
    atomic_int posting;   /* threads that are waking the loop for what may be done already */
    struct wbi_post *due; /* taken from there, in the order posted */
    _Atomic pthread_t thread;
    atomic_bool adrift; /* no thread runs it yet: wbi_loop_here is false everywhere */
    struct wbi_arena_pool *arenas;
    struct wbi_alarms *alarms;
    struct wbi_eager eager;
    size_t holds;
    bool waits; /* this turn may sleep */
};

struct wbi_timer {
    uv_timer_t uv;
    void (*on_fire)(void *);
    void *arg;
};

struct wbi_watch {
    uv_poll_t uv;
    struct wbi_loop *loop;
    int events; /* what the owner wants to hear of */
    void (*on_ready)(void *, int);
    void *arg;
};

static wb_rc uv_failed(struct wbi_error *err, int status, const char *what)
{
    if (status == UV_ENOMEM)
        return wbi_fail_nomem(err);
    return wbi_fail(err, WB_EIO, "%s: %s", what, uv_strerror(status));
}

/* Those that a callback which runs the loop itself would wait for are among them: they are
 * kept where it finds them. Returns whether there were any. */
static bool run_due(struct wbi_loop *loop)
{
    bool any = loop->due != NULL;

    while (loop->due != NULL) {
        struct wbi_post *p = loop->due;
        loop->due = p->next; /* fn may free p */
        p->fn(p->arg);
    }
    return any;
}

/* What other threads have posted. Returns whether there was anything to run. */
static bool run_posts(struct wbi_loop *loop)
{
    struct wbi_post *newest = atomic_exchange(&loop->posted, NULL), *oldest = NULL;
    struct wbi_post **end = &loop->due;

    while (newest != NULL) { /* reverse into the order posted */
        struct wbi_post *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (*end != NULL) /* older ones, where a callback runs the loop */
        end = &(*end)->next;
    *end = oldest;
    return run_due(loop);
}

static void on_wake(uv_async_t *handle)
{
    struct wbi_loop *loop = handle->data;

    wbi_eager_event(&loop->eager);
    (void)run_posts(loop);
}

static void on_bell(uv_poll_t *handle, int status, int events)
{
    struct wbi_loop *loop = handle->data;
    uint64_t rung;

    (void)status;
    (void)events;
    if (read(loop->bell_fd, &rung, sizeof(rung)) < 0) {
        /* heard already, where a callback has run the loop */
    }
    (void)run_posts(loop);
}

static void run_deferred(struct wbi_loop *loop)
{
    while (loop->deferred != NULL) {
        struct wbi_defer *d = loop->deferred;

        loop->deferred = d->next;
        if (loop->deferred == NULL)
            loop->deferred_end = &loop->deferred;
        d->waiting = false;
        d->fn(d->arg); /* may free d */
    }
}

static void take_over(struct wbi_loop *loop)
{
    atomic_store(&loop->thread, pthread_self());
    atomic_store(&loop->adrift, false);
}

/* The caller's loop may be run by another thread than the one that made it. */
static void on_prepare(uv_prepare_t *handle)
{
    struct wbi_loop *loop = handle->data;

    if (!loop->owned)
        take_over(loop);
    run_deferred(loop);
    if (loop->owned && loop->waits && uv_backend_timeout(loop->uv) != 0)
        wbi_eager_turn(&loop->eager);
}

static void on_check(uv_check_t *handle)
{
    run_deferred(handle->data);
}

void wbi_loop_defer(struct wbi_loop *loop, struct wbi_defer *defer)
{
    if (defer->waiting)
        return;
    defer->waiting = true;
    defer->next = NULL;
    *loop->deferred_end = defer;
    loop->deferred_end = &defer->next;
}

void wbi_loop_undefer(struct wbi_loop *loop, struct wbi_defer *defer)
{
    struct wbi_defer **at = &loop->deferred;

    if (!defer->waiting)
        return;
    while (*at != defer)
        at = &(*at)->next;
    *at = defer->next;
    if (*at == NULL)
        loop->deferred_end = at;
    defer->waiting = false;
}

/* They alone keep no loop alive. */
static void start_hooks(struct wbi_loop *loop)
{
    loop->deferred_end = &loop->deferred;
    loop->wake.data = loop->before_poll.data = loop->after_poll.data = loop;
    if (!loop->owned) {
        loop->bell.data = loop;
        (void)uv_poll_start(&loop->bell, UV_READABLE, on_bell); /* 0 for a handle that is open */
        uv_unref((uv_handle_t *)&loop->bell);
    }
    (void)uv_prepare_init(loop->uv, &loop->before_poll); /* these four always return 0 */
    (void)uv_check_init(loop->uv, &loop->after_poll);
    (void)uv_prepare_start(&loop->before_poll, on_prepare);
    (void)uv_check_start(&loop->after_poll, on_check);
    uv_unref((uv_handle_t *)&loop->wake);
    uv_unref((uv_handle_t *)&loop->before_poll);
    uv_unref((uv_handle_t *)&loop->after_poll);
}

/* libuv ends the process when the first loop finds none left for its own pipe. */
static bool enough_descriptors(void)
{
    int fds[3] = {-1, -1, -1};
    bool enough = pipe2(fds, O_CLOEXEC) == 0 && (fds[2] = dup(fds[0])) >= 0;

    for (size_t i = 0; i < WBI_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    return enough;
}

static int open_bell(struct wbi_loop *loop)
{
    int status;

    loop->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->bell_fd < 0)
        return uv_translate_sys_error(errno);
    status = uv_poll_init(loop->uv, &loop->bell, loop->bell_fd);
    if (status != 0)
        (void)close(loop->bell_fd);
    return status;
}

/* What other threads wake the loop by. With the caller's loop the second cannot fail: what it
 * needs was made with that loop. */
static int open_wake(struct wbi_loop *loop)
{
    int status = loop->owned ? 0 : open_bell(loop);

    return status != 0 ? status : uv_async_init(loop->uv, &loop->wake, on_wake);
}

wb_rc wbi_loop_new(void *uv_loop_or_null, struct wbi_loop **ret, struct wbi_error *err)
{
    struct wbi_loop *loop = wbi_zalloc(sizeof(*loop));
    int status = 0;

    if (loop == NULL || wbi_arena_pool_new(&loop->arenas) != WB_OK) {
        wbi_free(loop);
        return wbi_fail_nomem(err);
    }
    loop->owned = uv_loop_or_null == NULL;
    loop->uv = loop->owned ? &loop->own : uv_loop_or_null;
    atomic_init(&loop->thread, pthread_self());
    atomic_init(&loop->adrift, false);
    if (loop->owned)
        status = enough_descriptors() ? uv_loop_init(&loop->own) : UV_EMFILE;
    if (status == 0) {
        status = open_wake(loop);
        if (status != 0 && loop->owned)
            (void)uv_loop_close(&loop->own); /* nothing is open in it */
    }
    if (status != 0) {
        wbi_arena_pool_free(loop->arenas);
        wbi_free(loop);
        return uv_failed(err, status, "cannot start the event loop");
    }
    start_hooks(loop);
    wbi_eager_init(&loop->eager, uv_backend_fd(loop->uv));
    if (wbi_alarms_new(loop, &loop->alarms) != WB_OK) {
        wbi_loop_free(loop);
        return wbi_fail_nomem(err);
    }
    *ret = loop;
    return WB_OK;
}

static void on_closed(uv_handle_t *h)
{
    ((struct wbi_loop *)h->data)->closed++;
}

void wbi_loop_free(struct wbi_loop *loop)
{
    if (loop == NULL)
        return;
    while (atomic_load(&loop->posting) > 0)
        (void)sched_yield();
    (void)run_posts(loop);
    run_deferred(loop);
    wbi_alarms_free(loop->alarms);
    uv_close((uv_handle_t *)&loop->wake, on_closed);
    uv_close((uv_handle_t *)&loop->before_poll, on_closed);
    uv_close((uv_handle_t *)&loop->after_poll, on_closed);
    if (!loop->owned)
        uv_close((uv_handle_t *)&loop->bell, on_closed);
    while (loop->closed < (loop->owned ? 3 : 4))
        (void)uv_run(loop->uv, UV_RUN_NOWAIT); /* the close callbacks are due now */
    if (!loop->owned)
        (void)close(loop->bell_fd);
    if (loop->owned) {
        (void)uv_run(&loop->own, UV_RUN_NOWAIT); /* close callbacks of our handles */
        (void)uv_loop_close(&loop->own);         /* busy only if a room leaked a handle */
    }
    wbi_arena_pool_free(loop->arenas);
    wbi_free(loop);
}

struct wbi_alarms *wbi_loop_alarms(struct wbi_loop *loop)
{
    return loop->alarms;
}

const struct wbi_eager *wbi_loop_eager(const struct wbi_loop *loop)
{
    return &loop->eager;
}

wb_rc wbi_loop_arena(struct wbi_loop *loop, enum wbi_arena_use use, size_t cap,
                     struct wbi_arena **ret)
{
    return wbi_arena_pool_take(loop->arenas, use, cap, ret);
}

void wbi_loop_hold(struct wbi_loop *loop)
{
    if (loop->holds++ == 0)
        uv_ref((uv_handle_t *)&loop->wake);
}

void wbi_loop_unhold(struct wbi_loop *loop)
{
    if (--loop->holds == 0)
        uv_unref((uv_handle_t *)&loop->wake);
}

void wbi_loop_hand_over(struct wbi_loop *loop)
{
    atomic_store(&loop->adrift, true);
}

void wbi_loop_run(struct wbi_loop *loop, const bool *done)
{
    take_over(loop);
    loop->waits = true;
    wbi_loop_hold(loop); /* posts from other threads keep it alive */
    (void)run_posts(loop);
    while (!*done)
        (void)uv_run(loop->uv, UV_RUN_ONCE);
    wbi_loop_unhold(loop);
}

/* A loop with nothing under way does not even look who has woken it. */
bool wbi_loop_turn(struct wbi_loop *loop, bool wait)
{
    take_over(loop);
    if (run_posts(loop))
        wait = false;
    loop->waits = wait;
    return uv_run(loop->uv, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT) != 0;
}

bool wbi_loop_here(const struct wbi_loop *loop)
{
    return !atomic_load(&loop->adrift) &&
           pthread_equal(atomic_load(&loop->thread), pthread_self()) != 0;
}

bool wbi_loop_is_posted(const struct wbi_loop *loop)
{
    return atomic_load(&loop->posted) != NULL || loop->due != NULL;
}

static void ring(struct wbi_loop *loop)
{
    const uint64_t once = 1;

    if (write(loop->bell_fd, &once, sizeof(once)) < 0) {
        /* it has been rung so often that it is heard anyway */
    }
}

void wbi_loop_post(struct wbi_loop *loop, struct wbi_post *post)
{
    atomic_fetch_add(&loop->posting, 1);
    post->next = atomic_load(&loop->posted);
    while (!atomic_compare_exchange_weak(&loop->posted, &post->next, post))
        ;
    if (loop->owned)
        (void)uv_async_send(&loop->wake); /* cannot fail on an open handle */
    else
        ring(loop);
    atomic_fetch_sub(&loop->posting, 1); /* loop may be gone behind this */
}

static void fire(uv_timer_t *handle)
{
    struct wbi_timer *t = handle->data;

    t->on_fire(t->arg);
}

wb_rc wbi_timer_new(struct wbi_loop *loop, void (*on_fire)(void *), void *arg,
                    struct wbi_timer **ret)
{
    struct wbi_timer *t = wbi_zalloc(sizeof(*t));

    if (t == NULL)
        return WB_ENOMEM;
    (void)uv_timer_init(loop->uv, &t->uv); /* always 0 */
    t->uv.data = t;
    t->on_fire = on_fire;
    t->arg = arg;
    *ret = t;
    return WB_OK;
}

void wbi_timer_start(struct wbi_timer *t, int64_t after_ms)
{
    uv_update_time(t->uv.loop); /* else the time of the turn's start counts */
    (void)uv_timer_start(&t->uv, fire, after_ms > 0 ? (uint64_t)after_ms : 0, 0);
}

void wbi_timer_stop(struct wbi_timer *t)
{
    (void)uv_timer_stop(&t->uv); /* always 0 */
}

void wbi_timer_background(struct wbi_timer *t)
{
    uv_unref((uv_handle_t *)&t->uv);
}

static void free_timer(uv_handle_t *h)
{
    wbi_free(h->data);
}

void wbi_timer_free(struct wbi_timer *t)
{
    if (t != NULL)
        uv_close((uv_handle_t *)&t->uv, free_timer);
}

static int start_poll(struct wbi_watch *w);

static void ready(uv_poll_t *handle, int status, int events)
{
    struct wbi_watch *w = handle->data;
    int ret = 0;

    wbi_eager_event(&w->loop->eager);
    if (status < 0) /* let the owner's read or write find the error */
        ret = WBI_WATCH_READ | WBI_WATCH_WRITE;
    if (events & (UV_READABLE | UV_DISCONNECT | UV_PRIORITIZED))
        ret |= WBI_WATCH_READ;
    if (events & UV_WRITABLE)
        ret |= WBI_WATCH_WRITE;
    w->on_ready(w->arg, ret);
    /* libuv gives up a descriptor that has an error (a reset, say), but there may be
     * more to read behind it; w is there until its close callback. */
    if (status < 0 && w->events != 0 && !uv_is_closing((uv_handle_t *)handle))
        (void)start_poll(w);
}

static int start_poll(struct wbi_watch *w)
{
    int uv_events = 0;

    if (w->events & WBI_WATCH_READ)
        uv_events |= UV_READABLE | UV_DISCONNECT;
    if (w->events & WBI_WATCH_WRITE)
        uv_events |= UV_WRITABLE;
    if (w->events & WBI_WATCH_GONE) /* an end or an error is told with any; this is the rarest */
        uv_events |= UV_PRIORITIZED;
    return uv_poll_start(&w->uv, uv_events, ready);
}

wb_rc wbi_watch_new(struct wbi_loop *loop, int fd, void (*on_ready)(void *, int), void *arg,
                    struct wbi_watch **ret, struct wbi_error *err)
{
    struct wbi_watch *w = wbi_zalloc(sizeof(*w));
    int status;

    if (w == NULL)
        return wbi_fail_nomem(err);
    status = uv_poll_init(loop->uv, &w->uv, fd);
    if (status != 0) {
        wbi_free(w);
        return uv_failed(err, status, "cannot watch a descriptor");
    }
    w->uv.data = w;
    w->loop = loop;
    w->on_ready = on_ready;
    w->arg = arg;
    *ret = w;
    return WB_OK;
}

wb_rc wbi_watch_set(struct wbi_watch *w, int events)
{
    w->events = events;
    if (events == 0)
        return uv_poll_stop(&w->uv) == 0 ? WB_OK : WB_EIO;
    return start_poll(w) == 0 ? WB_OK : WB_EIO;
}

static void free_watch(uv_handle_t *h)
{
    wbi_free(h->data);
}

void wbi_watch_background(struct wbi_watch *w)
{
    uv_unref((uv_handle_t *)&w->uv);
}

void wbi_watch_free(struct wbi_watch *w)
{
    if (w == NULL)
        return;
    (void)uv_poll_stop(&w->uv); /* the descriptor leaves epoll now */
    uv_close((uv_handle_t *)&w->uv, free_watch);
}

struct job {
    uv_work_t uv;
    void (*work)(void *);
    void (*done)(void *);
    void *arg;
};

static void run_job(uv_work_t *req)
{
    struct job *j = req->data;

    j->work(j->arg);
}

static void end_job(uv_work_t *req, int status)
{
    struct job *j = req->data;
    void (*done)(void *) = j->done;
    void *arg = j->arg;

    (void)status; /* never cancelled by us */
    wbi_free(j);
    done(arg);
}

/* libuv starts the threads of its pool with the first work, and ends the process where one of
 * them may not be started (RLIMIT_NPROC, the pids of a container). So as many are started and
 * ended before it does. A forked child has a pool of its own. */
enum { POOL_THREADS = 4, POOL_MOST = 1024 }; /* libuv's: without and with UV_THREADPOOL_SIZE */

static void *wait_for_the_others(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

static int pool_size(void)
{
    const char *said = getenv("UV_THREADPOOL_SIZE");
    uint64_t n = POOL_THREADS;

    if (said != NULL && !wbi_parse_u64(wbi_str_z(said), &n))
        n = 1;
    return n < 1 ? 1 : (int)WBI_MIN(n, POOL_MOST);
}

static bool threads_may_start(void)
{
    static _Atomic pid_t tried; /* with success, by this process */
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[POOL_MOST];
    int n = 0, wanted = pool_size();
    pid_t self = getpid();

    if (atomic_load_explicit(&tried, memory_order_relaxed) == self)
        return true;
    pthread_mutex_lock(&gate);
    while (n < wanted && pthread_create(&threads[n], NULL, wait_for_the_others, &gate) == 0)
        n++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    if (n == wanted)
        atomic_store_explicit(&tried, self, memory_order_relaxed);
    return n == wanted;
}

wb_rc wbi_loop_work(struct wbi_loop *loop, void (*work)(void *), void (*done)(void *), void *arg,
                    struct wbi_error *err)
{
    struct job *j;

    if (!threads_may_start())
        return wbi_fail(err, WB_EAGAIN, "no thread can be started; end other work, then try again");
    j = wbi_zalloc(sizeof(*j));
    if (j == NULL)
        return wbi_fail_nomem(err);
    j->uv.data = j;
    j->work = work;
    j->done = done;
    j->arg = arg;
    if (uv_queue_work(loop->uv, &j->uv, run_job, end_job) != 0) {
        wbi_free(j);
        return wbi_fail(err, WB_EIO, "cannot hand work to another thread");
    }
    return WB_OK;
}
