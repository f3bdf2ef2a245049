/* SPDX-License-Identifier: Apache-2.0
 * http/ring_test.c: of many sends by one system call each is told for itself: who
 * left, who reads late, and what is left where the ring fails. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/http_int.h"
#include "support/ring_calls.h"

#define CROWD 150 /* more than two batches */

struct crowd {
    struct wbi_ring *ring;
    struct wbi_conn *conns; /* CROWD, each with its number as its text */
    int far[CROWD];
};

static int setup(void **state)
{
    struct crowd *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->ring = wbi_ring_new();
    w->conns = calloc(CROWD, sizeof(*w->conns));
    assert_non_null(w->conns);
    for (uint32_t i = 0; i < CROWD; i++) {
        struct wbi_conn *c = &w->conns[i];
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        c->fd = pair[0];
        w->far[i] = pair[1];
        wbi_buf_init(&c->out, (size_t)8 << 20);
        wbi_buf_add(&c->out, (const char *)&i, sizeof(i));
        c->flown = -ENODATA; /* nothing was said */
        c->next_out = i + 1 < CROWD ? c + 1 : NULL;
    }
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct crowd *w = *state;

    wbi_ring_free(w->ring);
    for (int i = 0; i < CROWD; i++) {
        wbi_buf_fini(&w->conns[i].out);
        close(w->conns[i].fd);
        if (w->far[i] >= 0)
            close(w->far[i]);
    }
    free(w->conns);
    free(w);
    return 0;
}

/* Where the kernel has or allows no ring there is nothing to try. */
static bool no_ring(const struct crowd *w)
{
    if (w->ring == NULL)
        print_message("skipped: io_uring is not to be had here\n");
    return w->ring == NULL;
}

/* How often the number of one arrived at its other end. */
static int arrived(const struct crowd *w, uint32_t who)
{
    uint32_t got[4];
    ssize_t n = recv(w->far[who], got, sizeof(got), MSG_DONTWAIT);

    for (ssize_t i = 0; i < n / (ssize_t)sizeof(got[0]); i++)
        assert_int_equal(got[i], who);
    return n < 0 ? 0 : (int)(n / (ssize_t)sizeof(got[0]));
}

static void each_gets_its_own_once(void **state)
{
    struct crowd *w = *state;

    if (no_ring(w))
        return;
    for (int round = 0; round < 3; round++) { /* the ring comes round too */
        assert_null(wbi_ring_send(w->ring, w->conns));
        for (uint32_t i = 0; i < CROWD; i++) {
            assert_int_equal(w->conns[i].flown, sizeof(i));
            assert_int_equal(arrived(w, i), 1);
        }
    }
}

static void what_was_sent_before_is_not_sent_again(void **state)
{
    struct crowd *w = *state;
    char got[8];

    if (no_ring(w))
        return;
    w->conns[1].sent = 3;
    assert_null(wbi_ring_send(w->ring, w->conns));
    assert_int_equal(w->conns[1].flown, 1);
    assert_int_equal(recv(w->far[1], got, sizeof(got), MSG_DONTWAIT), 1);
}

static void who_left_is_told_and_holds_nobody_up(void **state)
{
    struct crowd *w = *state;

    if (no_ring(w))
        return;
    for (int i = 0; i < CROWD; i += 2) {
        close(w->far[i]);
        w->far[i] = -1;
    }
    assert_null(wbi_ring_send(w->ring, w->conns)); /* a SIGPIPE would end the test */
    for (uint32_t i = 0; i < CROWD; i++) {
        assert_int_equal(w->conns[i].flown, i % 2 == 0 ? -EPIPE : (int)sizeof(i));
        assert_int_equal(i % 2 == 0 ? 1 : arrived(w, i), 1);
    }
}

static void who_reads_late_is_told_and_holds_nobody_up(void **state)
{
    struct crowd *w = *state;
    struct wbi_conn *slow = &w->conns[7];

    if (no_ring(w))
        return;
    assert_non_null(wbi_buf_room(&slow->out, (size_t)4 << 20));
    memset(slow->out.p + slow->out.n, 'x', (size_t)4 << 20);
    slow->out.n += (size_t)4 << 20;
    assert_null(wbi_ring_send(w->ring, w->conns));
    assert_true(slow->flown > 0 && (size_t)slow->flown < slow->out.n);
    slow->sent = (size_t)slow->flown;
    assert_null(wbi_ring_send(w->ring, w->conns));
    assert_int_equal(slow->flown, -EAGAIN);
    for (uint32_t i = 0; i < CROWD; i++)
        assert_int_equal(i == 7 ? 2 : arrived(w, i), 2);
}

static void without_leave_there_is_none(void **state)
{
    (void)state;
    for (int e = 0; e < 3; e++) {
        const int errors[] = {ENOSYS, EPERM, ENOMEM};

        ring_calls.setup_error = errors[e];
        assert_null(wbi_ring_new());
    }
    ring_calls.setup_error = 0;
}

/* The rest comes back, the beginning has arrived, nothing of either is in both. */
static void expect_begun(struct crowd *w, struct wbi_conn *rest, uint32_t begun)
{
    assert_ptr_equal(rest, begun < CROWD ? &w->conns[begun] : NULL);
    for (uint32_t i = 0; i < CROWD; i++) {
        assert_int_equal(w->conns[i].flown, i < begun ? (int)sizeof(i) : -ENODATA);
        assert_int_equal(arrived(w, i), i < begun);
    }
}

static void a_ring_that_fails_gives_the_rest_back(void **state)
{
    struct crowd *w = *state;

    if (no_ring(w))
        return;
    ring_calls.enter_fails_at = 2;
    expect_begun(w, wbi_ring_send(w->ring, w->conns), WBI_HTTP_SEND_BATCH);
    ring_calls.enter_fails_at = 0;
    assert_ptr_equal(wbi_ring_send(w->ring, w->conns), w->conns); /* it is not tried again */
    assert_int_equal(arrived(w, 0), 0);
}

static void a_ring_that_stops_half_way_gives_the_rest_back(void **state)
{
    struct crowd *w = *state;

    if (no_ring(w))
        return;
    ring_calls.enter_takes = 5;
    expect_begun(w, wbi_ring_send(w->ring, w->conns), 5);
    ring_calls.enter_takes = 0;
}

static void an_interruption_is_no_failure(void **state)
{
    struct crowd *w = *state;

    if (no_ring(w))
        return;
    ring_calls.interruptions = 3;
    expect_begun(w, wbi_ring_send(w->ring, w->conns), CROWD);
    assert_int_equal(ring_calls.interruptions, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_gets_its_own_once),
        TEST(what_was_sent_before_is_not_sent_again),
        TEST(who_left_is_told_and_holds_nobody_up),
        TEST(who_reads_late_is_told_and_holds_nobody_up),
        cmocka_unit_test(without_leave_there_is_none),
        TEST(a_ring_that_fails_gives_the_rest_back),
        TEST(a_ring_that_stops_half_way_gives_the_rest_back),
        TEST(an_interruption_is_no_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
