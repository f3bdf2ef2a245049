/* SPDX-License-Identifier: Apache-2.0
 * mcp/mcp_test.c: framing, events, headers, and the server over pipes and HTTP
 * (attack rows 68 to 70, 86 to 89). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/checked.h"
#include "http/http.h"
#include "loop/loop.h"
#include "mcp/server.h"
#include "support/dial.h"

static bool header_equals(const char *header, const char *json)
{
    struct wbi_arena *arena = NULL;
    const wbi_json *v = NULL;
    bool same;

    assert_int_equal(wbi_arena_new(1u << 20, &arena), WB_OK);
    assert_int_equal(wbi_json_read(arena, wbi_str_z(json), WBI_JSON_STRICT, &v, NULL), WB_OK);
    same = wbi_mcp_header_equals(wbi_str_z(header), v);
    wbi_arena_free(arena);
    return same;
}

/* Row 88. */
static void headers_repeat_values_exactly(void **state)
{
    struct wbi_buf b;

    (void)state;
    assert_true(header_equals("echo", "\"echo\""));
    assert_false(header_equals("Echo", "\"echo\""));
    assert_true(header_equals("=?base64?aMOk?=", "\"h\\u00e4\""));
    assert_false(header_equals("=?base64?aMOk", "\"h\\u00e4\""));
    assert_true(header_equals("=?base64?aMOk", "\"=?base64?aMOk\""));
    assert_true(header_equals("=?base64?=", "\"=?base64?=\""));
    assert_true(header_equals("aMOk?=", "\"aMOk?=\""));
    assert_false(header_equals("=?base64?aMO*?=", "\"h\\u00e4\""));
    assert_false(header_equals("=?base64?aMOk=?=", "\"h\\u00e4\""));
    assert_true(header_equals("=?base64?"
                              "?=",
                              "\"\""));
    assert_true(header_equals("042", "42"));
    assert_false(header_equals("42x", "42"));
    assert_true(header_equals("42.0", "42"));
    assert_true(header_equals("4.2e1", "42"));
    assert_false(header_equals("42.5", "42"));
    assert_false(header_equals("+42.0", "42"));
    assert_false(header_equals("nan", "42"));
    assert_true(header_equals("true", "true"));
    assert_false(header_equals("1", "true"));
    assert_false(header_equals("null", "null"));
    wbi_buf_init(&b, 256);
    wbi_mcp_header_put(&b, WBI_LIT("h\xc3\xa4"));
    assert_string_equal(b.p, "=?base64?aMOk?=");
    wbi_buf_clear(&b);
    wbi_mcp_header_put(&b, WBI_LIT("a\r\nX: y"));
    assert_null(strchr(b.p, '\n'));
    assert_true(header_equals(b.p, "\"a\\r\\nX: y\""));
    wbi_buf_fini(&b);
}

/* A runtime that keeps its calls until told to answer. */
struct world {
    struct wbi_loop *loop;
    struct wbi_mcp_server *server;
    struct wbi_http *http;
    struct wbi_mcp_request *held[256];
    char said[256][64];
    size_t held_n, cancelled, answers, dropped;
    bool ended;
};

static void on_answer(void *arg, const wbi_json *answer, bool is_error)
{
    struct world *w = arg;

    if (answer == NULL) {
        assert_true(is_error);
        w->dropped++;
        return;
    }
    assert_false(is_error);
    assert_true(wbi_str_eqz(wbi_json_get_str(answer, "action"), "accept"));
    w->answers++;
}

static void on_call(void *arg, struct wbi_mcp_request *r, struct wbi_str name,
                    const wbi_json *arguments)
{
    struct world *w = arg;

    if (wbi_str_eqz(name, "now")) {
        wbi_mcp_reply(r, WBI_LIT("{\"content\":[]}"));
        return;
    }
    assert_true(w->held_n < WBI_COUNT(w->held));
    (void)snprintf(w->said[w->held_n], sizeof(w->said[0]), "{\"said\":\"%.*s\"}",
                   WBI_FMT(wbi_json_get_str(arguments, "who")));
    w->held[w->held_n++] = r;
    if (wbi_str_eqz(name, "ask"))
        assert_int_equal(wbi_mcp_ask(r, WBI_LIT("q"), WBI_LIT("elicitation/create"), WBI_LIT("{}"),
                                     on_answer, w),
                         WB_OK);
}

static void on_cancel(void *arg, struct wbi_mcp_request *r)
{
    struct world *w = arg;

    w->cancelled++;
    for (size_t i = 0; i < w->held_n; i++) {
        if (w->held[i] == r) {
            w->held[i] = NULL;
            wbi_mcp_reply(r, WBI_LIT("{}"));
        }
    }
}

static void on_list(void *arg, struct wbi_mcp_request *r, enum wbi_mcp_list what)
{
    (void)arg;
    (void)what;
    wbi_mcp_reply_list(r, WBI_LIT("[{\"name\":\"a\"},\n{\"name\":\"b\"},{\"name\":\"c\"}]"));
}

static void on_end(void *arg)
{
    ((struct world *)arg)->ended = true;
}

static void on_request(void *arg, const struct wbi_http_request *r)
{
    struct world *w = arg;

    wbi_mcp_http(w->server, w->http, r, WBI_LIT("me"));
}

static void on_gone(void *arg, uint64_t id, void *user)
{
    wbi_mcp_http_gone(((struct world *)arg)->server, id, user);
}

static void start(struct world *w)
{
    static const struct wbi_mcp_ops ops = {.list = on_list, .call = on_call, .cancel = on_cancel};
    static const struct wbi_http_ops http_ops = {on_request, on_gone, NULL};
    struct wbi_mcp_options o = {.page = 2};
    struct wbi_http_options h = {.address = WBI_LIT_INIT("127.0.0.1:0")};

    memset(w, 0, sizeof(*w));
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_mcp_server_new(w->loop, &o, &ops, w, &w->server, NULL), WB_OK);
    assert_int_equal(wbi_http_listen(w->loop, &h, &http_ops, w, &w->http, NULL), WB_OK);
}

static void stop(struct world *w)
{
    wbi_http_free(w->http);
    wbi_mcp_server_stop(w->server);
    assert_int_equal(wbi_mcp_server_busy(w->server), 0);
    wbi_mcp_server_free(w->server);
    wbi_loop_free(w->loop);
}

struct pipes {
    int in, out; /* our ends */
    int server_in, server_out;
    struct wbi_mcp_stdio *c;
};

static void open_pipes(struct world *w, struct pipes *p)
{
    int a[2], b[2];

    assert_int_equal(pipe2(a, O_CLOEXEC), 0);
    assert_int_equal(pipe2(b, O_CLOEXEC), 0);
    *p = (struct pipes){b[0], a[1], a[0], b[1], NULL};
    assert_int_equal(wbi_mcp_stdio_new(w->server, p->server_in, p->server_out, WBI_LIT("me"),
                                       on_end, w, &p->c, NULL),
                     WB_OK);
}

static void close_pipes(struct pipes *p)
{
    wbi_mcp_stdio_free(p->c);
    close(p->server_in);
    close(p->server_out);
    close(p->in);
    if (p->out >= 0)
        close(p->out);
}

static void say(struct pipes *p, const char *text)
{
    assert_int_equal(write(p->out, text, strlen(text)), (ssize_t)strlen(text));
}

static void turn(struct world *w)
{
    for (int i = 0; i < 5; i++)
        (void)wbi_loop_turn(w->loop, false);
}

static const char *heard(struct world *w, struct pipes *p)
{
    static char text[65536];
    struct pollfd f = {p->in, POLLIN, 0};
    ssize_t n = 0;

    turn(w);
    if (poll(&f, 1, 0) > 0)
        n = read(p->in, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

#define INIT                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":" \
    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}}\n"
#define CALL(id, who)                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":" \
    "{\"name\":\"wait\",\"arguments\":{\"who\":\"" who "\"}}}\n"

/* Row 69: 64 clients with the same ids, answered in another order. */
static void equal_ids_of_many_clients_never_cross(void **state)
{
    static struct pipes p[64];
    struct world w;

    (void)state;
    start(&w);
    for (int i = 0; i < 64; i++) {
        char call[256];

        open_pipes(&w, &p[i]);
        say(&p[i], INIT);
        (void)heard(&w, &p[i]);
        for (int k = 1; k <= 3; k++) {
            (void)snprintf(call, sizeof(call),
                           "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":"
                           "\"tools/call\",\"params\":{\"name\":\"wait\",\"arguments\":"
                           "{\"who\":\"c%d-%d\"}}}\n",
                           k, i, k);
            say(&p[i], call);
        }
        turn(&w);
    }
    assert_int_equal(w.held_n, 192);
    for (size_t i = 0; i < 192; i++) {
        size_t at = (i * 91 + 17) % 192; /* 91 and 192 share no factor */

        wbi_mcp_reply(w.held[at], wbi_str_z(w.said[at]));
    }
    for (int i = 0; i < 64; i++) {
        const char *text = heard(&w, &p[i]);

        for (int k = 1; k <= 3; k++) {
            char want[128];

            (void)snprintf(want, sizeof(want), "\"id\":%d,\"result\":{\"said\":\"c%d-%d\"}", k, i,
                           k);
            assert_non_null(strstr(text, want));
        }
        close_pipes(&p[i]);
    }
    stop(&w);
}

static void an_id_in_use_is_refused(void **state)
{
    struct pipes p;
    struct world w;

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    say(&p, INIT CALL("1", "a") CALL("1", "b"));
    assert_non_null(strstr(heard(&w, &p), "\"id\":1,\"error\":{\"code\":-32600"));
    assert_int_equal(w.held_n, 1);
    wbi_mcp_reply(w.held[0], WBI_LIT("{}"));
    say(&p, CALL("1", "again"));
    (void)heard(&w, &p);
    assert_int_equal(w.held_n, 2);
    wbi_mcp_reply(w.held[1], WBI_LIT("{}"));
    close_pipes(&p);
    stop(&w);
}

static void a_cancelled_call_is_never_answered(void **state)
{
    struct pipes p;
    struct world w;

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    say(&p, INIT);
    (void)heard(&w, &p);
    say(&p, CALL("\"x\"", "a") "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                               "\"params\":{\"requestId\":\"x\"}}\n"
                               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                               "\"params\":{\"requestId\":\"unknown\"}}\n");
    assert_string_equal(heard(&w, &p), "");
    assert_int_equal(w.cancelled, 1);
    close_pipes(&p);
    stop(&w);
}

#define MODERN                                                               \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}}}"
#define CANCEL(id)                                                            \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":" \
    "{\"requestId\":" id "," MODERN "}}\n"

/* The call with that id; state: of an earlier answer, "" for none. */
static void ask_as(struct pipes *p, const char *id, const char *state)
{
    char line[1024];

    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"ask\",\"arguments\":{\"who\":\"a\"},%s%s%s" MODERN "}}\n",
                   id, state[0] != '\0' ? "\"requestState\":\"" : "", state,
                   state[0] != '\0'
                       ? "\",\"inputResponses\":{\"q\":{\"action\":\"accept\",\"content\":{}}},"
                       : "");
    say(p, line);
}

/* Waits for the question and copies its state. */
static void asked(struct world *w, struct pipes *p, char state[64])
{
    const char *text = heard(w, p), *at = strstr(text, "\"requestState\":\"");

    assert_non_null(strstr(text, "\"resultType\":\"input_required\""));
    assert_non_null(at);
    at += strlen("\"requestState\":\"");
    (void)snprintf(state, 64, "%.*s", (int)strcspn(at, "\""), at);
}

/* 2026-07-28: the request that began a call was answered with a question; what goes on after the
 * retry is known to the client by the id of the retry alone. */
static void a_call_that_was_asked_is_cancelled_by_the_id_of_its_retry(void **state)
{
    char first[64], second[64];
    struct pipes p;
    struct world w;

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    ask_as(&p, "1", "");
    asked(&w, &p, first);
    ask_as(&p, "2", first);
    assert_string_equal(heard(&w, &p), "");
    assert_int_equal(w.answers, 1);
    assert_int_equal(w.held_n, 1);        /* the same call goes on */
    say(&p, CANCEL("1") CANCEL("\"2\"")); /* was answered; is none */
    assert_string_equal(heard(&w, &p), "");
    assert_int_equal(w.cancelled, 0);
    ask_as(&p, "1", ""); /* the first id is free again, for another call */
    asked(&w, &p, second);
    say(&p, CANCEL("2"));
    assert_string_equal(heard(&w, &p), ""); /* a cancelled call is never answered */
    assert_int_equal(w.cancelled, 1);
    assert_null(w.held[0]);
    ask_as(&p, "3", first); /* and nobody takes it up again */
    assert_non_null(strstr(heard(&w, &p), "\"id\":3,\"error\":{\"code\":-32602"));
    ask_as(&p, "4", second); /* the other one is as it was */
    assert_string_equal(heard(&w, &p), "");
    assert_int_equal(w.answers, 2);
    wbi_mcp_reply(w.held[1], WBI_LIT("{}"));
    assert_non_null(strstr(heard(&w, &p), "\"id\":4,\"result\":"));
    close_pipes(&p);
    stop(&w);
}

/* A wish to cancel that crossed the question: the client will not come back, so it ends. */
static void a_call_that_waits_for_answers_is_cancelled_by_its_own_id(void **state)
{
    char first[64];
    struct pipes p;
    struct world w;

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    ask_as(&p, "1", "");
    asked(&w, &p, first);
    say(&p, CANCEL("1"));
    assert_string_equal(heard(&w, &p), "");
    assert_int_equal(w.cancelled, 1);
    ask_as(&p, "2", first);
    assert_non_null(strstr(heard(&w, &p), "\"id\":2,\"error\":{\"code\":-32602"));
    assert_int_equal(w.answers, 0);
    close_pipes(&p);
    stop(&w);
}

/* A call that went on without its answer, or failed: what came of it waits for the retry. */
static void a_parked_call_keeps_its_answer(void **state)
{
    char first[64], second[64];
    struct pipes p;
    struct world w;

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    ask_as(&p, "1", "");
    asked(&w, &p, first);
    ask_as(&p, "\"two\"", "");
    asked(&w, &p, second);
    wbi_mcp_reply(w.held[0], WBI_LIT("{\"said\":\"a\"}"));
    wbi_mcp_fail(w.held[1], -32000, WBI_LIT("no"), WBI_NONE);
    assert_string_equal(heard(&w, &p), "");
    assert_int_equal(w.dropped, 2); /* whoever asked knows that nobody answers */
    assert_int_equal(wbi_mcp_server_busy(w.server), 0);
    ask_as(&p, "\"three\"", first);
    assert_string_equal(heard(&w, &p), "{\"jsonrpc\":\"2.0\",\"id\":\"three\",\"result\":{"
                                       "\"resultType\":\"complete\",\"said\":\"a\"}}\n");
    ask_as(&p, "4", second);
    assert_string_equal(heard(&w, &p), "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32000,"
                                       "\"message\":\"no\"}}\n");
    ask_as(&p, "5", first); /* once */
    assert_non_null(strstr(heard(&w, &p), "\"id\":5,\"error\":{\"code\":-32602"));
    ask_as(&p, "6", "");
    asked(&w, &p, first);
    wbi_mcp_reply(w.held[2], WBI_LIT("{}"));
    say(&p, CANCEL("6")); /* nobody will come for it */
    assert_string_equal(heard(&w, &p), "");
    assert_int_equal(w.cancelled, 0);
    ask_as(&p, "7", first);
    assert_non_null(strstr(heard(&w, &p), "\"id\":7,\"error\":{\"code\":-32602"));
    assert_int_equal(w.answers, 0);
    close_pipes(&p);
    stop(&w);
}

/* A state means a call that has begun; nothing runs for one that nobody knows. */
static void a_foreign_state_runs_nothing(void **state)
{
    static const char *const states[] = {"5", "null", "{}", "\"\"", "\"zzz\"", "\"wb1.0\""};
    struct pipes p;
    struct world w;
    char line[1024];

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    for (size_t i = 0; i < WBI_COUNT(states); i++) {
        (void)snprintf(
            line, sizeof(line),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"ask\",\"requestState\":%s," MODERN "}}\n",
            states[i]);
        say(&p, line);
        assert_non_null(
            strstr(heard(&w, &p), "\"id\":1,\"error\":{\"code\":-32602,\"message\":\""));
    }
    assert_int_equal(w.held_n, 0);
    close_pipes(&p);
    stop(&w);
}

static void what_is_owed_is_answered_when_the_server_stops(void **state)
{
    char first[64];
    const char *text;
    struct pipes p;
    struct world w;

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    ask_as(&p, "1", "");
    asked(&w, &p, first);
    say(&p, INIT CALL("2", "a") "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":"
                                "\"subscriptions/listen\",\"params\":{\"notifications\":{}," MODERN
                                "}}\n");
    assert_non_null(strstr(heard(&w, &p), "acknowledged"));
    wbi_mcp_server_stop(w.server);
    text = heard(&w, &p);
    assert_non_null(strstr(text, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n"));
    assert_non_null(strstr(text, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":"
                                 "\"complete\",\"_meta\":{\"io.modelcontextprotocol/"
                                 "subscriptionId\":3}}}\n"));
    assert_int_equal(w.cancelled, 2); /* the parked one, too, for which nobody waits */
    assert_null(strstr(text, "\"id\":1,"));
    close_pipes(&p);
    stop(&w);
}

/* Row 70. */
static void the_connection_ends_after_its_last_answer(void **state)
{
    struct pipes p;
    struct world w;

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    say(&p, INIT CALL("1", "a") "{\"jsonrpc\":\"2.0\",\"id\":2,\"met");
    close(p.out);
    p.out = -1;
    turn(&w);
    assert_false(w.ended);
    wbi_mcp_reply(w.held[0], WBI_LIT("{\"a\":\n1}"));
    assert_non_null(strstr(heard(&w, &p), "\"id\":1,\"result\":{\"a\": 1}}\n"));
    for (int i = 0; i < 50 && !w.ended; i++)
        (void)wbi_loop_turn(w.loop, true);
    assert_true(w.ended);
    close_pipes(&p);
    stop(&w);
}

static void lists_come_in_pages_and_foreign_cursors_are_refused(void **state)
{
    struct pipes p;
    struct world w;
    const char *text;

    (void)state;
    start(&w);
    open_pipes(&w, &p);
    say(&p, INIT);
    (void)heard(&w, &p);
#define LIST(params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":" params "}\n"
    say(&p, LIST("{}"));
    text = heard(&w, &p);
    assert_non_null(strstr(text, "[{\"name\":\"a\"},{\"name\":\"b\"}],\"nextCursor\":\"p2\""));
    say(&p, LIST("{\"cursor\":\"p2\"}"));
    text = heard(&w, &p);
    assert_non_null(strstr(text, "\"tools\":[{\"name\":\"c\"}]}"));
    say(&p, LIST("{\"cursor\":\"p99\"}"));
    assert_non_null(strstr(heard(&w, &p), "-32602,\"message\":\"params.cursor must be the next"));
    say(&p, LIST("{\"cursor\":7}"));
    assert_non_null(strstr(heard(&w, &p), "-32602"));
    say(&p, LIST("{\"cursor\":\"\"}")); /* the first page, as without one */
    assert_non_null(strstr(heard(&w, &p), "\"nextCursor\":\"p2\""));
    say(&p, LIST("{\"cursor\":null}"));
    assert_non_null(strstr(heard(&w, &p), "\"nextCursor\":\"p2\""));
    say(&p, LIST("null"));
    assert_non_null(strstr(heard(&w, &p), "\"nextCursor\":\"p2\""));
    close_pipes(&p);
    stop(&w);
}

/* One exchange by HTTP; the status, with the body in out. */
/* Annotations count beneath `properties`, at any depth, and nowhere else. */
static void headers_are_declared_where_they_can_be_sent(void **state)
{
    static const struct {
        const char *schema;
        bool good;
    } rows[] = {
        {"{}", true},
        {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}", true},
        {"{\"properties\":{\"o\":{\"properties\":{\"z\":{\"type\":\"string\",\"x-mcp-header\":"
         "\"Z\"}}}}}",
         true},
        {"{\"properties\":{\"o\":{\"properties\":{\"z\":{\"type\":\"array\",\"x-mcp-header\":\"Z\"}"
         "}}}}",
         false},
        {"{\"properties\":{\"z\":{\"type\":\"string\",\"x-mcp-header\":\"z\"},\"o\":{"
         "\"properties\":{"
         "\"z\":{\"type\":\"string\",\"x-mcp-header\":\"Z\"}}}}}",
         false},
        {"{\"properties\":{\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-mcp-"
         "header\":"
         "\"L\"}}}}",
         false},
        {"{\"anyOf\":[{\"properties\":{\"l\":{\"type\":\"string\",\"x-mcp-header\":\"L\"}}}]}",
         false},
        {"{\"properties\":{\"a\":{\"description\":\"\\\"x-mcp-header\\\":\\\"A\\\"\"}}}", true},
        {"{\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}", true},
    };

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_arena *arena;
        const wbi_json *v;

        assert_int_equal(wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena), WB_OK);
        assert_int_equal(wbi_json_read(arena, wbi_str_z(rows[i].schema), WBI_JSON_STRICT, &v, NULL),
                         WB_OK);
        if (wbi_mcp_headers_usable(v) != rows[i].good)
            fail_msg("%s", rows[i].schema);
        wbi_arena_free(arena);
    }
}

static int post(struct world *w, const char *method, const char *headers, const char *body,
                char *out, size_t cap)
{
    int fd = dial_port(wbi_http_port(w->http));
    static char request[8192];
    size_t n = 0;

    assert_true(fd >= 0);
    (void)snprintf(request, sizeof(request),
                   "%s /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                   "Accept: application/json, text/event-stream\r\n%s"
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   method, headers, strlen(body), body);
    assert_true(write(fd, request, strlen(request)) > 0);
    for (int quiet = 0; quiet < 500 && n + 1 < cap;) {
        struct pollfd p = {fd, POLLIN, 0};
        ssize_t got;

        (void)wbi_loop_turn(w->loop, false);
        got = recv(fd, out + n, cap - 1 - n, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            break;
        if (got < 0)
            quiet += poll(&p, 1, 1) == 0;
        else
            n += (size_t)got;
    }
    out[n] = '\0';
    close(fd);
    return n > 12 ? atoi(out + 9) : 0;
}

#define META(v)                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" v \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN_CALL                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":" \
    "{\"name\":\"now\"," META("2026-07-28") "}}"
#define V "MCP-Protocol-Version: 2026-07-28\r\n"
#define M "Mcp-Method: tools/call\r\n"

/* Rows 86, 88, 89. */
static void header_rules_hold_in_each_era(void **state)
{
    static const struct {
        const char *method, *headers, *body;
        int status;
        const char *holds;
    } rows[] = {
        {"POST", V M "Mcp-Name: now\r\n", MODERN_CALL, 200, "\"resultType\":\"complete\""},
        {"POST", V M "Mcp-Name: =?base64?bm93?=\r\n", MODERN_CALL, 200, "complete"},
        {"POST", V M "Mcp-Name: now\r\nMcp-Session-Id: old\r\n", MODERN_CALL, 200, "complete"},
        {"POST", V M, MODERN_CALL, 400, "-32020"},
        {"POST", V M "Mcp-Name: other\r\n", MODERN_CALL, 400, "-32020"},
        {"POST", V M "Mcp-Name: =?base64?b?=\r\n", MODERN_CALL, 400, "-32020"},
        {"POST", V "Mcp-Name: now\r\n", MODERN_CALL, 400, "-32020"},
        {"POST", M "Mcp-Name: now\r\n", MODERN_CALL, 400, "-32020"},
        {"POST", "MCP-Protocol-Version: 2025-11-25\r\n" M "Mcp-Name: now\r\n", MODERN_CALL, 400,
         "-32020"},
        {"POST", V M V, MODERN_CALL, 400, "repeated"},
        {"POST", "MCP-Protocol-Version: 2099-01-01\r\n" M,
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" META(
             "2099-01-01") "}}",
         400, "-32022"},
        {"POST", V M, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", 400, "-32602"},
        {"POST", V "Mcp-Method: initialize\r\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" META(
             "2026-07-28") "}}",
         404, "-32601"},
        {"POST", V "Mcp-Method: ping\r\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META("2026-07-28") "}}",
         404, "-32601"},
        {"POST", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 400, "Mcp-Session-Id"},
        {"POST", "Mcp-Session-Id: guess\r\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
         404, "no such session"},
        {"POST", "", "[]", 400, "batches"},
        {"POST", "", "{", 400, "-32700"},
        {"POST", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", 400,
         "-32602"},
        {"POST", V, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", 202, ""},
    };
    struct world w;
    char out[8192];

    (void)state;
    start(&w);
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        int status = post(&w, rows[i].method, rows[i].headers, rows[i].body, out, sizeof(out));

        if (status != rows[i].status || strstr(out, rows[i].holds) == NULL)
            fail_msg("row %zu: expected %d and %s, got:\n%s", i, rows[i].status, rows[i].holds,
                     out);
    }
    assert_int_equal(post(&w, "GET", "Mcp-Session-Id: x\r\n", "", out, sizeof(out)), 404);
    stop(&w);
}

/* A 405 lists what would be served: beside POST what sessions have, to those who may have one. */
static void a_refused_method_is_told_what_there_is(void **state)
{
#define OLD "MCP-Protocol-Version: 2025-11-25\r\n"
    static const struct {
        const char *method, *headers, *allow;
    } rows[] = {
        {"GET", V "Mcp-Session-Id: x\r\n", "\r\nAllow: POST\r\n"},
        {"DELETE", V, "\r\nAllow: POST\r\n"},
        {"PUT", V, "\r\nAllow: POST\r\n"},
        {"GET", "", "\r\nAllow: POST\r\n"},
        {"DELETE", OLD, "\r\nAllow: POST\r\n"},
        {"PUT", "", "\r\nAllow: POST, GET, DELETE\r\n"},
        {"PATCH", OLD "Mcp-Session-Id: x\r\n", "\r\nAllow: POST, GET, DELETE\r\n"},
    };
    struct world w;
    char out[8192];

    (void)state;
    start(&w);
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        int status = post(&w, rows[i].method, rows[i].headers, "", out, sizeof(out));

        if (status != 405 || strstr(out, rows[i].allow) == NULL)
            fail_msg("row %zu: expected 405 and %s, got:\n%s", i, rows[i].allow, out);
    }
    stop(&w);
#undef OLD
}

static void a_session_opens_serves_and_ends(void **state)
{
    struct world w;
    char out[8192], session[128];
    const char *at;

    (void)state;
    start(&w);
    assert_int_equal(post(&w, "POST", "", INIT, out, sizeof(out)), 200);
    at = strstr(out, "Mcp-Session-Id: ");
    assert_non_null(at);
    (void)snprintf(session, sizeof(session), "%.*s\r\n", (int)strcspn(at, "\r"), at);
    assert_int_equal(post(&w, "POST", session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
                          out, sizeof(out)),
                     200);
    assert_int_equal(post(&w, "POST", session,
                          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", out,
                          sizeof(out)),
                     202);
    assert_int_equal(post(&w, "DELETE", session, "", out, sizeof(out)), 204);
    assert_int_equal(post(&w, "POST", session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
                          out, sizeof(out)),
                     404);
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_repeat_values_exactly),
        cmocka_unit_test(headers_are_declared_where_they_can_be_sent),
        cmocka_unit_test(equal_ids_of_many_clients_never_cross),
        cmocka_unit_test(an_id_in_use_is_refused),
        cmocka_unit_test(a_cancelled_call_is_never_answered),
        cmocka_unit_test(a_call_that_was_asked_is_cancelled_by_the_id_of_its_retry),
        cmocka_unit_test(a_call_that_waits_for_answers_is_cancelled_by_its_own_id),
        cmocka_unit_test(a_parked_call_keeps_its_answer),
        cmocka_unit_test(a_foreign_state_runs_nothing),
        cmocka_unit_test(what_is_owed_is_answered_when_the_server_stops),
        cmocka_unit_test(the_connection_ends_after_its_last_answer),
        cmocka_unit_test(lists_come_in_pages_and_foreign_cursors_are_refused),
        cmocka_unit_test(header_rules_hold_in_each_era),
        cmocka_unit_test(a_refused_method_is_told_what_there_is),
        cmocka_unit_test(a_session_opens_serves_and_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
