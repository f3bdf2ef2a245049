/* SPDX-License-Identifier: Apache-2.0
 * http/stream_test.c: how far behind the client of a stream may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/http_int.h"
#include "support/dial.h"

#define BEHIND ((size_t)64 * 1024)
#define LONG ((size_t)12 * 1024 * 1024) /* more than a socket takes */

struct world {
    struct wbi_loop *loop;
    struct wbi_http *http;
    uint64_t id;
    size_t gone;
    int fd;
};

static void on_request(void *arg, const struct wbi_http_request *r)
{
    ((struct world *)arg)->id = r->id;
}

static void on_gone(void *arg, uint64_t id, void *user)
{
    (void)id;
    (void)user;
    ((struct world *)arg)->gone++;
}

/* A stream is open. */
static void start(struct world *w)
{
    static const char said[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const struct wbi_http_ops ops = {on_request, on_gone, NULL};
    static const struct wbi_http_response head = {.status = 200};
    struct wbi_http_options o = {.address = WBI_LIT("127.0.0.1:0"), .stream_bytes = BEHIND};

    memset(w, 0, sizeof(*w));
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_http_listen(w->loop, &o, &ops, w, &w->http, NULL), WB_OK);
    w->fd = dial_port(wbi_http_port(w->http));
    assert_true(w->fd >= 0);
    assert_int_equal(send(w->fd, said, sizeof(said) - 1, MSG_NOSIGNAL), sizeof(said) - 1);
    while (w->id == 0)
        (void)wbi_loop_turn(w->loop, true);
    assert_int_equal(wbi_http_stream(w->http, w->id, &head), WB_OK);
}

static void stop(struct world *w)
{
    close(w->fd);
    wbi_http_free(w->http);
    wbi_loop_free(w->loop);
}

static wb_rc send_block(struct world *w, size_t n)
{
    char *block = malloc(n);
    wb_rc rc;

    assert_non_null(block);
    memset(block, 'x', n);
    rc = wbi_http_send(w->http, w->id, wbi_str_make(block, n));
    free(block);
    return rc;
}

static void a_client_that_never_reads_its_stream_is_dropped(void **state)
{
    struct world w;
    wb_rc rc = WB_OK;

    (void)state;
    start(&w);
    for (int i = 0; i < 1000 && rc == WB_OK; i++)
        rc = send_block(&w, BEHIND);
    assert_int_equal(rc, WB_ELIMIT);
    assert_int_equal(w.gone, 1);
    stop(&w);
}

/* Behind a message that is longer than the limit there is room for as much again. */
static void what_piles_up_behind_a_long_message_has_a_limit(void **state)
{
    struct world w;

    (void)state;
    start(&w);
    assert_int_equal(send_block(&w, LONG), WB_OK);
    assert_int_equal(send_block(&w, BEHIND / 2), WB_OK);
    assert_int_equal(send_block(&w, BEHIND), WB_OK);
    assert_int_equal(send_block(&w, 1), WB_ELIMIT);
    assert_int_equal(w.gone, 1);
    stop(&w);
}

/* Reads to the end of the stream; whether it ends in `end`. */
static bool ends_in(struct world *w, const char *end)
{
    static char text[2 * LONG];
    size_t n = 0, m = strlen(end);

    for (;;) {
        ssize_t got = recv(w->fd, text + n, sizeof(text) - n, MSG_DONTWAIT);

        (void)wbi_loop_turn(w->loop, false);
        n += got > 0 ? (size_t)got : 0;
        if (got == 0 || w->gone > 0)
            return false;
        if (n > 5 && memcmp(text + n - 5, "0\r\n\r\n", 5) == 0)
            return n > m && memcmp(text + n - m, end, m) == 0;
    }
}

/* C1.1: nobody could have read a message before the next one comes in the same turn, and the
 * answer is owed in any case. */
static void a_long_message_does_not_cost_the_next_ones(void **state)
{
    struct world w;

    (void)state;
    start(&w);
    assert_int_equal(send_block(&w, LONG), WB_OK);
    assert_int_equal(send_block(&w, BEHIND / 2), WB_OK);
    assert_int_equal(send_block(&w, BEHIND), WB_OK);
    assert_int_equal(wbi_http_end(w.http, w.id, WBI_LIT("the answer")), WB_OK);
    assert_true(ends_in(&w, "\r\na\r\nthe answer\r\n0\r\n\r\n"));
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_never_reads_its_stream_is_dropped),
        cmocka_unit_test(what_piles_up_behind_a_long_message_has_a_limit),
        cmocka_unit_test(a_long_message_does_not_cost_the_next_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
