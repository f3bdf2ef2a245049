/* SPDX-License-Identifier: Apache-2.0
 * mcp/stdio_test.c: the end of a connection by pipes whose client reads late or not at all. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop/loop.h"
#include "mcp/server.h"

#define LARGE ((size_t)300 * 1000) /* more than a pipe takes */

struct world {
    struct wbi_loop *loop;
    struct wbi_mcp_server *server;
    struct wbi_mcp_stdio *c;
    struct wbi_error lost;
    int to[2], from[2]; /* pipes to the server and from it */
    struct wbi_mcp_request *held;
    bool ended;
};

static void on_call(void *arg, struct wbi_mcp_request *r, struct wbi_str name,
                    const wbi_json *arguments)
{
    (void)name;
    (void)arguments;
    ((struct world *)arg)->held = r;
}

static void on_end(void *arg)
{
    ((struct world *)arg)->ended = true;
}

static void turn(struct world *w)
{
    for (int i = 0; i < 50; i++) {
        (void)wbi_loop_turn(w->loop, false);
        (void)usleep(200);
    }
}

/* A call is under way. */
static void start(struct world *w)
{
    static const char said[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{}}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n";
    static const struct wbi_mcp_ops ops = {.call = on_call};
    struct wbi_mcp_options o = {.name = "t"};

    *w = (struct world){.lost = WBI_ERROR_INIT};
    assert_int_equal(pipe2(w->to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(w->from, O_CLOEXEC), 0);
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_mcp_server_new(w->loop, &o, &ops, w, &w->server, NULL), WB_OK);
    assert_int_equal(
        wbi_mcp_stdio_new(w->server, w->to[0], w->from[1], WBI_LIT("me"), on_end, w, &w->c, NULL),
        WB_OK);
    wbi_mcp_stdio_watch(w->c, &w->lost);
    assert_int_equal(write(w->to[1], said, sizeof(said) - 1), sizeof(said) - 1);
    turn(w);
    assert_non_null(w->held);
}

static void answer_at_length(struct world *w)
{
    struct wbi_buf b;

    wbi_buf_init(&b, LARGE * 2);
    wbi_buf_addz(&b, "{\"content\":\"");
    while (b.n < LARGE)
        wbi_buf_addz(&b, "all work and no play ");
    wbi_buf_addz(&b, "\"}");
    wbi_mcp_reply(w->held, wbi_buf_str(&b));
    wbi_buf_fini(&b);
}

static void stop(struct world *w)
{
    wbi_mcp_stdio_free(w->c);
    wbi_mcp_server_free(w->server);
    wbi_loop_free(w->loop);
    for (int i = 0; i < 2; i++) {
        close(w->to[i]);
        close(w->from[i]);
    }
}

static void a_drain_waits_for_who_reads_slowly(void **state)
{
    static char text[2 * LARGE];
    size_t n = 0;
    struct world w;

    (void)state;
    start(&w);
    wbi_mcp_stdio_drain(w.c, false);
    turn(&w);
    assert_false(w.ended); /* an answer is owed */
    answer_at_length(&w);
    turn(&w);
    assert_false(w.ended);
    while (!w.ended) {
        ssize_t got = read(w.from[0], text + n, sizeof(text) - n);

        assert_true(got > 0);
        n += (size_t)got;
        turn(&w);
    }
    (void)fcntl(w.from[0], F_SETFL, O_NONBLOCK);
    for (ssize_t got; (got = read(w.from[0], text + n, sizeof(text) - n)) > 0;)
        n += (size_t)got;
    assert_true(n > LARGE);
    assert_memory_equal(text + n - 4, "\"}}\n", 4);
    stop(&w);
    assert_int_equal(w.lost.rc, WB_OK);
}

static void a_drain_in_a_hurry_waits_for_answers_alone(void **state)
{
    struct world w;

    (void)state;
    start(&w);
    wbi_mcp_stdio_drain(w.c, false);
    wbi_mcp_stdio_drain(w.c, true);
    turn(&w);
    assert_false(w.ended);
    answer_at_length(&w);
    turn(&w);
    assert_true(w.ended);
    stop(&w);
    assert_int_equal(w.lost.rc, WB_EIO); /* half of the answer is not nothing: it is told */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drain_waits_for_who_reads_slowly),
        cmocka_unit_test(a_drain_in_a_hurry_waits_for_answers_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
