/* SPDX-License-Identifier: Apache-2.0
 * http/flush_test.c: a crowd is answered in one turn, so that its answers go
 * through the sending thread: none is lost, crossed or cut, whoever leaves,
 * reads late or asks again meanwhile. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "http/http_int.h"
#include "support/dial.h"
#include "support/ring_calls.h"

#define CROWD 40

struct crowd {
    struct wbi_loop *loop;
    struct wbi_http *http;
    int fd[CROWD];
    struct {
        uint64_t id;
        int who; /* as its path says */
    } asked[2 * CROWD];
    size_t asked_n, gone;
};

static void on_request(void *arg, const struct wbi_http_request *r)
{
    struct crowd *w = arg;

    assert_true(w->asked_n < 2 * CROWD);
    w->asked[w->asked_n].id = r->id;
    w->asked[w->asked_n++].who = atoi(r->path.p + 1);
}

static void on_gone(void *arg, uint64_t id, void *user)
{
    (void)id;
    (void)user;
    ((struct crowd *)arg)->gone++;
}

static void ask(const struct crowd *w, int who)
{
    char text[80];
    int n = snprintf(text, sizeof(text), "GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n", who);

    assert_int_equal(send(w->fd[who], text, (size_t)n, MSG_NOSIGNAL), n);
}

static void gather(struct crowd *w, size_t n)
{
    while (w->asked_n < n)
        (void)wbi_loop_turn(w->loop, true);
    assert_int_equal(w->asked_n, n);
}

static int setup(void **state)
{
    static const struct wbi_http_ops ops = {on_request, on_gone, NULL};
    struct wbi_http_options o = {.address = WBI_LIT("127.0.0.1:0")};
    struct crowd *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_http_listen(w->loop, &o, &ops, w, &w->http, NULL), WB_OK);
    for (int i = 0; i < CROWD; i++) {
        w->fd[i] = dial_port(wbi_http_port(w->http));
        assert_true(w->fd[i] >= 0);
        ask(w, i);
    }
    gather(w, CROWD);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct crowd *w = *state;

    wbi_http_free(w->http);
    wbi_loop_free(w->loop);
    for (int i = 0; i < CROWD; i++)
        if (w->fd[i] >= 0)
            close(w->fd[i]);
    free(w);
    return 0;
}

/* The body for one: its number, again and again. */
static char *body_of(int who, size_t n)
{
    char *p = malloc(n + 16);

    assert_non_null(p);
    for (size_t at = 0; at < n; at += 8)
        (void)snprintf(p + at, 16, "%07d,", who);
    return p;
}

/* All who asked and were not answered, in one go. */
static void answer_all(struct crowd *w, size_t bytes)
{
    for (size_t i = 0; i < w->asked_n; i++) {
        char *body = body_of(w->asked[i].who, bytes);
        struct wbi_http_response r = {.status = 200, .type = "text/plain"};

        r.body = wbi_str_make(body, bytes);
        (void)wbi_http_respond(w->http, w->asked[i].id, &r); /* who left is told by on_gone */
        free(body);
    }
    w->asked_n = 0;
}

/* One whole answer, of whom it is for. */
static void expect(struct crowd *w, int who, size_t bytes)
{
    size_t cap = bytes + 1024, n = 0, head = 0;
    char *got = malloc(cap), *body = body_of(who, bytes);

    assert_non_null(got);
    for (int quiet = 0; quiet < 5000 && (head == 0 || n < head + bytes);) {
        struct pollfd p = {w->fd[who], POLLIN, 0};
        size_t room = head == 0 ? 1 : head + bytes - n; /* no byte of the next answer */
        ssize_t k;

        (void)wbi_loop_turn(w->loop, false);
        k = recv(w->fd[who], got + n, room, MSG_DONTWAIT);
        if (k < 0 && errno == EAGAIN)
            quiet += poll(&p, 1, 1) == 0;
        else if (k <= 0)
            break;
        n += k > 0 ? (size_t)k : 0;
        if (head == 0 && n >= 4 && memcmp(got + n - 4, "\r\n\r\n", 4) == 0)
            head = n;
    }
    assert_int_equal(n, head + bytes);
    assert_memory_equal(got, "HTTP/1.1 200 OK", 15);
    assert_memory_equal(got + head, body, bytes);
    free(got);
    free(body);
}

static void a_crowd_is_answered_by_the_sender(void **state)
{
    struct crowd *w = *state;

    for (int round = 0; round < 5; round++) {
        answer_all(w, 64);
        assert_non_null(w->http->sender);
        for (int i = 0; i < CROWD; i++)
            expect(w, i, 64);
        for (int i = 0; i < CROWD; i++)
            ask(w, i);
        gather(w, CROWD);
    }
}

/* As where containers forbid it. */
static void without_a_ring_the_sender_answers_a_crowd(void **state)
{
    ring_calls.setup_error = EPERM;
    a_crowd_is_answered_by_the_sender(state);
    ring_calls.setup_error = 0;
}

static void a_ring_that_fails_loses_no_answer(void **state)
{
    struct wbi_ring *ring = wbi_ring_new();
    bool allowed = ring != NULL;

    wbi_ring_free(ring);
    ring_calls.enter_fails_at = 3;
    a_crowd_is_answered_by_the_sender(state);
    assert_int_equal(ring_calls.enter_fails_at, allowed ? 0 : 3);
    ring_calls.enter_fails_at = 0;
}

static void a_few_are_answered_here(void **state)
{
    struct crowd *w = *state;

    w->asked_n = WBI_HTTP_SEND_APART - 1;
    answer_all(w, 64);
    for (size_t i = 0; i < WBI_HTTP_SEND_APART - 1; i++)
        expect(w, w->asked[i].who, 64);
    assert_null(w->http->sender);
}

static void without_a_thread_all_are_answered_here(void **state)
{
    struct crowd *w = *state;

    w->http->alone = true; /* as if none could be started */
    answer_all(w, 64);
    for (int i = 0; i < CROWD; i++)
        expect(w, i, 64);
    assert_null(w->http->sender);
}

static void what_a_socket_does_not_take_follows(void **state)
{
    struct crowd *w = *state;

    answer_all(w, (size_t)6 << 20);
    for (int i = 0; i < 200; i++)
        (void)wbi_loop_turn(w->loop, false);
    for (int i = CROWD - 1; i >= 0; i--)
        expect(w, i, (size_t)6 << 20);
}

static void who_leaves_meanwhile_harms_nobody(void **state)
{
    struct crowd *w = *state;
    struct linger reset = {1, 0};

    answer_all(w, (size_t)6 << 20); /* cannot be taken whole, so all are under way */
    for (int i = 0; i < CROWD; i += 2) {
        assert_int_equal(setsockopt(w->fd[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        close(w->fd[i]);
        w->fd[i] = -1;
    }
    for (int i = 1; i < CROWD; i += 2)
        expect(w, i, (size_t)6 << 20);
    while (wbi_http_connections(w->http) > CROWD / 2)
        (void)wbi_loop_turn(w->loop, true);
    assert_int_equal(wbi_http_connections(w->http), CROWD / 2);
    assert_int_equal(w->gone, 0); /* all of them had been answered */
}

static void the_next_request_waits_for_the_answer(void **state)
{
    struct crowd *w = *state;

    for (int i = 0; i < CROWD; i++)
        ask(w, i);
    for (int i = 0; i < 200; i++)
        (void)wbi_loop_turn(w->loop, false);
    assert_int_equal(w->asked_n, CROWD);
    answer_all(w, 64);
    gather(w, CROWD);
    answer_all(w, 128);
    for (int i = 0; i < CROWD; i++) {
        expect(w, i, 64);
        expect(w, i, 128);
    }
}

static void on_drained(void *arg)
{
    *(bool *)arg = true;
}

static void draining_waits_for_answers_under_way_and_no_longer(void **state)
{
    struct crowd *w = *state;
    bool drained = false;

    answer_all(w, 64);
    wbi_http_drain(w->http, 600000, on_drained, &drained);
    wbi_loop_run(w->loop, &drained); /* the test would not wait ten minutes */
    for (int i = 0; i < CROWD; i++)
        expect(w, i, 64);
}

static void the_end_sends_what_was_answered(void **state)
{
    struct crowd *w = *state;
    char got[256];

    answer_all(w, 64);
    wbi_http_free(w->http); /* a report of the sender may still be on its way */
    w->http = NULL;
    for (int i = 0; i < CROWD; i++) {
        size_t n = 0;
        ssize_t k;

        while (n < sizeof(got) && (k = recv(w->fd[i], got + n, sizeof(got) - n, 0)) > 0)
            n += (size_t)k;
        assert_true(n > 64);
        assert_int_equal(atoi(got + n - 8), i);
    }
    (void)wbi_loop_turn(w->loop, false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_crowd_is_answered_by_the_sender),
        TEST(without_a_ring_the_sender_answers_a_crowd),
        TEST(a_ring_that_fails_loses_no_answer),
        TEST(a_few_are_answered_here),
        TEST(without_a_thread_all_are_answered_here),
        TEST(what_a_socket_does_not_take_follows),
        TEST(who_leaves_meanwhile_harms_nobody),
        TEST(the_next_request_waits_for_the_answer),
        TEST(draining_waits_for_answers_under_way_and_no_longer),
        TEST(the_end_sends_what_was_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
