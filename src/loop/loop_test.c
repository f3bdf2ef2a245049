/* SPDX-License-Identifier: Apache-2.0
 * loop/loop_test.c: what owners of watches, timers and posts rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "loop/eager.h"
#include "loop/loop.h"

struct reader {
    int fd;
    bool done;
    int resets;
    char words[16];
    struct wbi_watch *watch;
};

static void on_ready(void *arg, int events)
{
    struct reader *r = arg;
    char word[4];
    ssize_t n = recv(r->fd, word, sizeof(word), MSG_DONTWAIT);

    assert_true(events & WBI_WATCH_READ);
    if (n < 0 && errno == ECONNRESET) {
        r->resets++;
        return;
    }
    if (n > 0) {
        strncat(r->words, word, (size_t)n);
        return;
    }
    assert_int_equal(n, 0);
    wbi_watch_free(r->watch);
    r->done = true;
}

/* A peer that leaves with a word of ours unread: the error comes first, its own
 * last words after it, then the end. Nothing of it may be lost. */
static void the_last_words_of_a_peer_are_read(void **state)
{
    struct wbi_loop *loop = *state;
    struct reader r = {.done = false};
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_int_equal(send(pair[0], "x", 1, 0), 1);
    assert_int_equal(send(pair[1], "a", 1, 0), 1);
    assert_int_equal(send(pair[1], "b", 1, 0), 1);
    close(pair[1]);
    r.fd = pair[0];
    assert_int_equal(wbi_watch_new(loop, r.fd, on_ready, &r, &r.watch, NULL), WB_OK);
    assert_int_equal(wbi_watch_set(r.watch, WBI_WATCH_READ), WB_OK);
    wbi_loop_run(loop, &r.done);
    assert_int_equal(r.resets, 1);
    assert_string_equal(r.words, "ab");
    close(pair[0]);
}

struct note {
    struct wbi_post post;
    struct wbi_loop *loop;
    int number, *last;
    bool *done;
};

static void on_note(void *arg)
{
    struct note *n = arg;

    assert_int_equal(n->number, *n->last + 1); /* in the order they were posted */
    *n->last = n->number;
    *n->done = n->number == 100;
}

static void *post_all(void *arg)
{
    struct note *notes = arg;

    for (int i = 0; i < 100; i++)
        wbi_loop_post(notes[i].loop, &notes[i].post);
    return NULL;
}

static void posts_of_another_thread_arrive_in_order(void **state)
{
    static struct note notes[100];
    bool done = false;
    int last = 0;
    pthread_t thread;

    for (int i = 0; i < 100; i++)
        notes[i] = (struct note){.post = {.fn = on_note, .arg = &notes[i]},
                                 .loop = *state,
                                 .number = i + 1,
                                 .last = &last,
                                 .done = &done};
    assert_int_equal(pthread_create(&thread, NULL, post_all, notes), 0);
    wbi_loop_run(*state, &done);
    pthread_join(thread, NULL);
    assert_int_equal(last, 100);
}

static void on_tick(void *arg)
{
    (void)arg;
}

static void on_count(void *arg, int events)
{
    uint64_t n;

    assert_int_equal(events, WBI_WATCH_READ);
    assert_int_equal(read(*(int *)arg, &n, sizeof(n)), sizeof(n));
}

/* One event, then a turn in which there is none. */
static void event_and_turn(struct wbi_loop *loop, int fd, bool wait)
{
    struct wbi_timer *timer;
    uint64_t one = 1;

    assert_int_equal(wbi_timer_new(loop, on_tick, NULL, &timer), WB_OK);
    assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
    (void)wbi_loop_turn(loop, true);
    wbi_timer_start(timer, 1);
    (void)wbi_loop_turn(loop, wait);
    wbi_timer_free(timer);
    (void)wbi_loop_turn(loop, false);
}

/* How often a loop looks for another event after one. */
static uint64_t looks_after_an_event(void *uv_loop_or_null, bool wait)
{
    struct wbi_loop *loop;
    struct wbi_watch *watch;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    uint64_t looks;

    assert_int_equal(wbi_loop_new(uv_loop_or_null, &loop, NULL), WB_OK);
    assert_int_equal(wbi_watch_new(loop, fd, on_count, &fd, &watch, NULL), WB_OK);
    assert_int_equal(wbi_watch_set(watch, WBI_WATCH_READ), WB_OK);
    event_and_turn(loop, fd, wait);
    looks = wbi_loop_eager(loop)->looks;
    wbi_watch_free(watch);
    wbi_loop_free(loop);
    close(fd);
    return looks;
}

static void only_a_loop_of_our_own_that_would_sleep_looks_again(void **state)
{
    uv_loop_t theirs;

    assert_int_equal(looks_after_an_event(NULL, true), wbi_loop_eager(*state)->may ? 1 : 0);
    assert_int_equal(looks_after_an_event(NULL, false), 0);
    assert_int_equal(uv_loop_init(&theirs), 0);
    assert_int_equal(looks_after_an_event(&theirs, true), 0);
    (void)uv_run(&theirs, UV_RUN_NOWAIT);
    assert_int_equal(uv_loop_close(&theirs), 0);
}

struct worked {
    pthread_t thread;
    bool done;
};

static void work(void *arg)
{
    ((struct worked *)arg)->thread = pthread_self();
}

static void on_worked(void *arg)
{
    ((struct worked *)arg)->done = true;
}

/* Little more than the process has already: no room for the stacks of threads. */
static bool take_memory_away(struct rlimit *ret_before)
{
    FILE *f = fopen("/proc/self/statm", "r");
    struct rlimit now;
    unsigned long pages = 0;
    bool read = f != NULL && fscanf(f, "%lu", &pages) == 1;

    if (f != NULL)
        fclose(f);
    if (!read || pages > (64ul << 30) / (unsigned long)getpagesize() || /* a sanitizer's shadow */
        getrlimit(RLIMIT_AS, ret_before) != 0)
        return false;
    now = *ret_before;
    now.rlim_cur = pages * (unsigned long)getpagesize() + (4u << 20);
    return setrlimit(RLIMIT_AS, &now) == 0;
}

/* C1.2 "No input, upstream or child process can make the runtime abort": libuv does where it
 * cannot start its threads. */
static void work_is_refused_where_no_thread_may_start(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct worked w = {.thread = pthread_self()};
    struct rlimit before;
    wb_rc rc;

    if (!take_memory_away(&before)) {
        print_message("skipped: memory cannot be limited here\n");
        return;
    }
    rc = wbi_loop_work(*state, work, on_worked, &w, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(rc, WB_EAGAIN);
    assert_string_equal(err.text, "no thread can be started; end other work, then try again");
    (void)wbi_loop_turn(*state, false);
    assert_false(w.done);
    assert_int_equal(wbi_loop_work(*state, work, on_worked, &w, &err), WB_OK);
    wbi_loop_run(*state, &w.done);
    assert_false(pthread_equal(w.thread, pthread_self()));
}

static int set_up(void **state)
{
    return wbi_loop_new(NULL, (struct wbi_loop **)state, NULL) == WB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    wbi_loop_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_words_of_a_peer_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(posts_of_another_thread_arrive_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_a_loop_of_our_own_that_would_sleep_looks_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(work_is_refused_where_no_thread_may_start, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
