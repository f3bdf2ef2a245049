/* SPDX-License-Identifier: Apache-2.0
 * mcp/stdio_test.c: a connection by pipes whose client reads late or not at all, and its end. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

/* A call is under way. socket: one that is both ends. */
static void start_by(struct world *w, bool socket)
{
    static const char said[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{\"roots\":{}}}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n";
    static const struct wbi_mcp_ops ops = {.call = on_call};
    struct wbi_mcp_options o = {.name = "t"};

    *w = (struct world){.lost = WBI_ERROR_INIT};
    if (socket) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->to), 0);
        w->from[0] = dup(w->to[1]);
        w->from[1] = dup(w->to[0]);
    } else {
        assert_int_equal(pipe2(w->to, O_CLOEXEC), 0);
        assert_int_equal(pipe2(w->from, O_CLOEXEC), 0);
    }
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_mcp_server_new(w->loop, &o, &ops, w, &w->server, NULL), WB_OK);
    assert_int_equal(wbi_mcp_stdio_new(w->server, w->to[0], socket ? w->to[0] : w->from[1],
                                       WBI_LIT("me"), on_end, w, &w->c, NULL),
                     WB_OK);
    wbi_mcp_stdio_watch(w->c, &w->lost);
    assert_int_equal(write(w->to[1], said, sizeof(said) - 1), sizeof(said) - 1);
    turn(w);
    assert_non_null(w->held);
}

static void start(struct world *w)
{
    start_by(w, /* socket= */ false);
}

static void answer_with(struct world *w, size_t bytes)
{
    struct wbi_buf b;

    wbi_buf_init(&b, bytes + 64);
    wbi_buf_addz(&b, "{\"content\":\"");
    while (b.n < bytes)
        wbi_buf_addz(&b, "all work and no play ");
    wbi_buf_addz(&b, "\"}");
    wbi_mcp_reply(w->held, wbi_buf_str(&b));
    wbi_buf_fini(&b);
    w->held = NULL;
}

static void answer_at_length(struct world *w)
{
    answer_with(w, LARGE);
}

static void say(struct world *w, const char *line)
{
    assert_int_equal(write(w->to[1], line, strlen(line)), strlen(line));
}

/* Another call, when the one before has its answer. */
static void call_again(struct world *w)
{
    static const char said[] =
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n";

    assert_null(w->held);
    say(w, said);
    while (w->held == NULL)
        (void)wbi_loop_turn(w->loop, true);
}

/* Reads that much of what the server writes meanwhile; the last bytes of it. */
static const char *read_on(struct world *w, size_t bytes)
{
    static char piece[1 << 16], last[1024];
    size_t kept = 0;

    (void)fcntl(w->from[0], F_SETFL, O_NONBLOCK);
    while (bytes > 0) {
        ssize_t n = read(w->from[0], piece, bytes < sizeof(piece) ? bytes : sizeof(piece));

        if (n <= 0) {
            assert_false(w->ended);
            (void)wbi_loop_turn(w->loop, false);
            continue;
        }
        kept = (size_t)n < sizeof(last) ? (size_t)n : sizeof(last) - 1;
        memcpy(last, piece + n - kept, kept);
        bytes -= (size_t)n;
    }
    last[kept] = '\0';
    return last;
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

/* What has come from the server by now. */
static const char *came(struct world *w)
{
    static char text[4096];
    ssize_t n;

    turn(w);
    (void)fcntl(w->from[0], F_SETFL, O_NONBLOCK);
    n = read(w->from[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void note_answer(void *arg, const wbi_json *answer, bool is_error)
{
    *(bool *)arg = answer != NULL && !is_error;
}

/* C1.2: else who always has a call under way would put the end off for ever. What answers the
 * server's own question is nothing new. */
static void a_drain_takes_nothing_new(void **state)
{
    static const char question[] = "{\"jsonrpc\":\"2.0\",\"id\":\"";
    bool answered = false;
    struct world w;
    char line[128];
    const char *id;

    (void)state;
    start(&w);
    (void)came(&w);
    assert_int_equal(
        wbi_mcp_ask(w.held, WBI_NONE, WBI_LIT("roots/list"), WBI_NONE, note_answer, &answered),
        WB_OK);
    wbi_mcp_stdio_drain(w.c, false);
    id = came(&w);
    assert_memory_equal(id, question, sizeof(question) - 1);
    (void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"result\":{}}\n",
                   (int)strcspn(id + sizeof(question) - 1, "\""), id + sizeof(question) - 1);
    say(&w,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n");
    assert_string_equal(came(&w), "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,"
                                  "\"message\":\"the server is ending\"}}\n");
    say(&w, line);
    turn(&w);
    assert_true(answered);
    assert_false(w.ended);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    assert_string_equal(came(&w), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert_true(w.ended);
    stop(&w);
    assert_int_equal(w.lost.rc, WB_OK);
}

/* Reads the one message that comes, a question, and answers it. */
static void answer_question(struct world *w, const bool *answered)
{
    static const char before[] = "{\"jsonrpc\":\"2.0\",\"id\":\"";
    static char piece[1 << 16];
    char id[64] = "", line[128];
    ssize_t n;

    do {
        (void)wbi_loop_turn(w->loop, false);
        n = read(w->from[0], piece, sizeof(piece));
        if (n > (ssize_t)sizeof(id) && id[0] == '\0') {
            assert_memory_equal(piece, before, sizeof(before) - 1);
            (void)snprintf(id, sizeof(id), "%.*s", (int)strcspn(piece + sizeof(before) - 1, "\""),
                           piece + sizeof(before) - 1);
        }
    } while (n <= 0 || piece[n - 1] != '\n');
    (void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{}}\n", id);
    say(w, line);
    while (!*answered)
        (void)wbi_loop_turn(w->loop, true);
}

/* A call that asks again and again holds no more than what is open. */
static void a_call_may_ask_any_number_of_questions(void **state)
{
    const size_t mib = (size_t)1 << 20;
    struct wbi_buf params;
    struct world w;

    (void)state;
    start(&w);
    (void)came(&w);
    wbi_buf_init(&params, 2 * mib);
    wbi_buf_addz(&params, "{\"x\":\"");
    while (params.n < mib)
        wbi_buf_addz(&params, "all work and no play ");
    wbi_buf_addz(&params, "\"}");
    for (int i = 0; i < 300; i++) {
        bool answered = false;

        assert_int_equal(wbi_mcp_ask(w.held, WBI_NONE, WBI_LIT("roots/list"), wbi_buf_str(&params),
                                     note_answer, &answered),
                         WB_OK);
        answer_question(&w, &answered);
    }
    wbi_buf_fini(&params);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    stop(&w);
}

/* C1.2: what has been read does not count, however much that was and though some is always left. */
static void who_reads_steadily_is_not_cut_off(void **state)
{
    const size_t most = (size_t)1 << 20;
    struct world w;

    (void)state;
    start(&w);
    answer_with(&w, most);
    for (int i = 0; i < 70; i++) {
        call_again(&w);
        answer_with(&w, most);
        (void)read_on(&w, most);
    }
    turn(&w);
    assert_false(w.ended);
    stop(&w);
    assert_int_equal(w.lost.rc, WB_EIO); /* the last answer, which was not read */
    assert_string_equal(w.lost.text, "the client did not read all answers");
}

/* C1.1: one answer that finds no room is an error; those before it stay, and the connection. */
static void an_answer_without_room_is_an_error(void **state)
{
    const size_t mib = (size_t)1 << 20;
    const char *last;
    struct world w;
    int unread = 0;

    (void)state;
    start(&w);
    answer_with(&w, 20 * mib);
    call_again(&w);
    answer_with(&w, 50 * mib);
    call_again(&w);
    answer_with(&w, 1);
    last = read_on(&w, 20 * mib);
    turn(&w);
    while (ioctl(w.from[0], FIONREAD, &unread) == 0 && unread > 0) {
        last = read_on(&w, (size_t)unread);
        turn(&w);
    }
    last = strstr(last, "\"}}\n");
    assert_non_null(last);
    assert_string_equal(last, "\"}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,"
                              "\"message\":\"the answer is too large beside those that were not "
                              "read yet\"}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":"
                              "{\"content\":\"\"}}\n");
    assert_false(w.ended);
    stop(&w);
    assert_int_equal(w.lost.rc, WB_OK);
}

/* One socket is in and out: what it does not take at once goes on when it can, though the
 * client says nothing more. */
static void a_socket_that_is_both_is_written_to_the_end(void **state)
{
    struct world w;

    (void)state;
    start_by(&w, /* socket= */ true);
    answer_with(&w, 10 * LARGE);
    turn(&w);
    assert_non_null(strstr(read_on(&w, 9 * LARGE), "no play"));
    wbi_mcp_stdio_drain(w.c, false);
    (void)read_on(&w, LARGE / 2);
    turn(&w);
    stop(&w);
    assert_int_equal(w.lost.rc, WB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drain_waits_for_who_reads_slowly),
        cmocka_unit_test(a_drain_in_a_hurry_waits_for_answers_alone),
        cmocka_unit_test(a_drain_takes_nothing_new),
        cmocka_unit_test(a_call_may_ask_any_number_of_questions),
        cmocka_unit_test(who_reads_steadily_is_not_cut_off),
        cmocka_unit_test(an_answer_without_room_is_an_error),
        cmocka_unit_test(a_socket_that_is_both_is_written_to_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
