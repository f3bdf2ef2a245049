/* SPDX-License-Identifier: Apache-2.0
 * mcp/server_world_test.h: a server over HTTP with a clock that the test moves, and its clients. */
#ifndef WBI_MCP_SERVER_WORLD_TEST_H
#define WBI_MCP_SERVER_WORLD_TEST_H

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/checked.h"
#include "mcp/server_int.h"
#include "support/dial.h"

struct world {
    struct wbi_loop *loop;
    struct wbi_clock_manual clock;
    struct wbi_mcp_server *server;
    struct wbi_http *http;
    struct wbi_mcp_request *held;
    unsigned dropped; /* questions nobody answers any more */
    unsigned refused; /* answered with an error */
};

static inline void on_answer(void *arg, const wbi_json *answer, bool is_error)
{
    struct wbi_mcp_request *r = ((struct world *)arg)->held;

    ((struct world *)arg)->dropped += answer == NULL;
    ((struct world *)arg)->refused += answer != NULL && is_error;
    if (answer == NULL || is_error)
        return;
    wbi_mcp_progress(r, 10, 100, WBI_NONE, WBI_NONE);
    wbi_mcp_reply(r, WBI_LIT("{}"));
}

/* Far in its work it asks, and begins anew with the answer. */
static inline void ask(struct world *w, struct wbi_mcp_request *r)
{
    w->held = r;
    wbi_mcp_progress(r, 50, 100, WBI_NONE, WBI_NONE);
    assert_int_equal(wbi_mcp_ask(r, WBI_LIT("q"), WBI_LIT("roots/list"), WBI_NONE, on_answer, w),
                     WB_OK);
}

/* It asks, and is over before the question has gone out: nothing is left of it then, not even
 * for the next turn of the loop, which may be after the end of the server. */
static inline void ask_and_end(struct world *w, struct wbi_mcp_request *r)
{
    assert_int_equal(wbi_mcp_ask(r, WBI_LIT("q"), WBI_LIT("roots/list"), WBI_NONE, on_answer, w),
                     WB_OK);
    wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("over"), WBI_NONE);
    assert_null(w->server->requests);
}

static inline void on_call(void *arg, struct wbi_mcp_request *r, struct wbi_str name,
                           const wbi_json *arguments)
{
    (void)arguments;
    if (wbi_str_eqz(name, "lacks"))
        wbi_mcp_fail(r, WBI_RPC_CAPABILITY, WBI_LIT("no"), WBI_NONE);
    else if (wbi_str_eqz(name, "link"))
        wbi_mcp_fail(r, WBI_RPC_URL_ELICITATION, WBI_LIT("no"), WBI_NONE);
    else if (wbi_str_eqz(name, "ask"))
        ask(arg, r);
    else if (wbi_str_eqz(name, "brief"))
        ask_and_end(arg, r);
    else
        ((struct world *)arg)->held = r;
}

static inline void on_cancel(void *arg, struct wbi_mcp_request *r)
{
    struct world *w = arg;

    if (w->held == r)
        w->held = NULL;
    wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("cancelled"), WBI_NONE);
}

static inline void on_request(void *arg, const struct wbi_http_request *r)
{
    struct world *w = arg;

    wbi_mcp_http(w->server, w->http, r, WBI_LIT("me"));
}

static inline void on_gone(void *arg, uint64_t id, void *user)
{
    wbi_mcp_http_gone(((struct world *)arg)->server, id, user);
}

static inline void start(struct world *w, size_t sessions)
{
    static const struct wbi_mcp_ops ops = {.call = on_call, .cancel = on_cancel};
    static const struct wbi_http_ops http_ops = {on_request, on_gone, NULL};
    struct wbi_mcp_options o = {.sessions = sessions, .clock = wbi_clock_by_hand(&w->clock)};
    struct wbi_http_options h = {.address = WBI_LIT_INIT("127.0.0.1:0"), .clock = o.clock};

    memset(w, 0, sizeof(*w));
    w->clock.mono_ns = 1;
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_mcp_server_new(w->loop, &o, &ops, w, &w->server, NULL), WB_OK);
    assert_int_equal(wbi_http_listen(w->loop, &h, &http_ops, w, &w->http, NULL), WB_OK);
}

static inline void stop(struct world *w)
{
    wbi_http_free(w->http);
    wbi_mcp_server_stop(w->server);
    assert_int_equal(wbi_mcp_server_busy(w->server), 0);
    wbi_mcp_server_free(w->server);
    wbi_loop_free(w->loop);
}

static inline void turn(struct world *w)
{
    for (int i = 0; i < 50; i++) {
        (void)wbi_loop_turn(w->loop, false);
        (void)poll(NULL, 0, 1);
    }
}

/* Sends a request with the session's and other headers (empty: none); the connection. */
static inline int request(struct world *w, const char *method, const char *session,
                          const char *body)
{
    int fd = dial_port(wbi_http_port(w->http));
    static char text[16384];

    assert_true(fd >= 0);
    (void)snprintf(text, sizeof(text),
                   "%s /mcp HTTP/1.1\r\nHost: localhost\r\n%s"
                   "Accept: application/json, text/event-stream\r\n",
                   method, session);
    if (body[0] != '\0')
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "\r\n%s", body);
    assert_true(write(fd, text, strlen(text)) > 0);
    turn(w);
    return fd;
}

/* What has come; empty: nothing. */
static const char *came(int fd)
{
    static char text[8192];
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static inline int status_of(struct world *w, const char *method, const char *session,
                            const char *body)
{
    int fd = request(w, method, session, body);
    const char *text = came(fd);
    int status = strlen(text) > 12 ? atoi(text + 9) : 0;

    close(fd);
    turn(w);
    return status;
}

#define SESSION_SIZE 80
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define CALL "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}"

#define INITIALIZE(members)                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":" \
    "{\"protocolVersion\":\"2025-11-25\"," members "}}"

static inline void open_session_as(struct world *w, char session[SESSION_SIZE], const char *body)
{
    int fd = request(w, "POST", "", body);
    const char *at = strstr(came(fd), "Mcp-Session-Id: ");

    assert_non_null(at);
    (void)snprintf(session, SESSION_SIZE, "%.*s\r\n", (int)strcspn(at, "\r"), at);
    close(fd);
    turn(w);
}

static inline void open_session(struct world *w, char session[SESSION_SIZE])
{
    open_session_as(w, session, INITIALIZE("\"capabilities\":{}"));
}

/* That much later the server looks around. */
static inline void pass(struct world *w, int minutes)
{
    w->clock.mono_ns += minutes * INT64_C(60000) * WBI_NS_PER_MS;
    wbi_mcp_on_tick(w->server);
    turn(w);
}

/* By a reset, which cannot be taken for the end of what it has to say. */
static inline void leave(int fd)
{
    struct linger at_once = {.l_onoff = 1};

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(fd);
}

#endif
