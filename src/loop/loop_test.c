/* SPDX-License-Identifier: Apache-2.0
 * loop/loop_test.c: what owners of watches, timers and posts rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
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

static void count(void *arg)
{
    ++*(int *)arg;
}

/* Two turns with an event each; how often the loop looked for one in between. */
static uint64_t looks_of_two_turns(struct wbi_loop *loop, bool wait)
{
    uint64_t before = wbi_loop_eager(loop)->looks;
    int posted = 0;

    wbi_loop_hold(loop);
    for (int i = 0; i < 2; i++) {
        struct wbi_post post = {.fn = count, .arg = &posted};

        wbi_loop_post(loop, &post);
        (void)wbi_loop_turn(loop, wait);
        assert_int_equal(posted, i + 1);
    }
    wbi_loop_unhold(loop);
    return wbi_loop_eager(loop)->looks - before;
}

static void only_a_loop_of_our_own_that_waits_looks_before_it_sleeps(void **state)
{
    struct wbi_loop *around;
    uv_loop_t theirs;

    assert_int_equal(looks_of_two_turns(*state, true), wbi_loop_eager(*state)->may ? 1 : 0);
    assert_int_equal(looks_of_two_turns(*state, false), 0);
    assert_int_equal(uv_loop_init(&theirs), 0);
    assert_int_equal(wbi_loop_new(&theirs, &around, NULL), WB_OK);
    assert_int_equal(looks_of_two_turns(around, true), 0);
    wbi_loop_free(around);
    assert_int_equal(uv_loop_close(&theirs), 0);
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
        cmocka_unit_test_setup_teardown(only_a_loop_of_our_own_that_waits_looks_before_it_sleeps,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
