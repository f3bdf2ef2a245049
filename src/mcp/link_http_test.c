/* SPDX-License-Identifier: Apache-2.0
 * mcp/link_http_test.c: the stream for news of a server behind a URL, by a clock that the test
 * moves. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mcp/curl.h"
#include "mcp/upstream_int.h"
#include "support/raw_http.h"

static unsigned *streams; /* asked for so far, of all processes */

static void answer(const char *body, const char *result)
{
    const char *id = strstr(body, "\"id\":");
    char text[512], message[256];

    (void)snprintf(message, sizeof(message), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}",
                   id != NULL ? strtol(id + 5, NULL, 10) : 0, result);
    (void)snprintf(text, sizeof(text),
                   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                   "\r\n%s",
                   strlen(message), message);
    raw_put(text);
}

/* Its streams end without having told anything. */
static void serve_one(const char *body)
{
    if (strncmp(raw_request, "GET", 3) == 0) {
        ++*streams;
        raw_put("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                "retry: 0\n\n");
        exit(0);
    }
    if (strstr(body, "\"initialize\"") != NULL)
        answer(body, "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                     "\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}");
    else if (strstr(body, "\"ping\"") != NULL)
        answer(body, "{}");
    else
        raw_put("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
}

/* The port, and the process that serves there. */
static int start_server(pid_t *ret)
{
    int out[2], port = 0;
    char text[64] = "";

    streams =
        mmap(NULL, sizeof(*streams), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(streams != MAP_FAILED);
    assert_int_equal(pipe(out), 0);
    *ret = fork();
    assert_true(*ret >= 0);
    if (*ret == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        _exit(raw_serve(serve_one));
    }
    close(out[1]);
    assert_true(read(out[0], text, sizeof(text) - 1) > 0);
    assert_int_equal(sscanf(text, "port %d", &port), 1);
    close(out[0]);
    return port;
}

static void on_done(void *arg, const struct wbi_upstream_answer *a)
{
    assert_int_equal(a->rc, WB_OK);
    *(bool *)arg = true;
}

static void news_are_listened_to_for_as_long_as_their_streams_hold(void **state)
{
    static const struct wbi_upstream_ops ops = {0};
    static const struct wbi_upstream_call_ops call_ops = {.on_done = on_done};
    struct wbi_upstream_request ping = {.method = "ping"};
    struct wbi_upstream_spec spec = {.name = "x", .era = WBI_UP_LEGACY};
    struct wbi_clock_manual clock = {.mono_ns = 1};
    struct wbi_upstream *up;
    struct wbi_curl *curl;
    struct wbi_loop *loop;
    char url[64];
    bool done = false;
    pid_t server;

    (void)state;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/", start_server(&server));
    spec.url = wbi_str_z(url);
    assert_int_equal(wbi_loop_new(NULL, &loop, NULL), WB_OK);
    assert_int_equal(wbi_curl_new(loop, &curl, NULL), WB_OK);
    assert_int_equal(wbi_upstream_new(loop, NULL, curl, &spec, &ops, NULL, &up, NULL), WB_OK);
    up->clock = wbi_clock_by_hand(&clock);
    assert_int_equal(wbi_upstream_start(up, &ping, &call_ops, &done, NULL, NULL), WB_OK);
    while (!done)
        (void)wbi_loop_turn(loop, true);
    for (int i = 0; i < 10000 && *streams <= WBI_LIMIT_UPSTREAM_BREAKS + 1; i++) {
        clock.mono_ns += (WBI_UPSTREAM_BACKOFF_MAX_MS + 1) * WBI_NS_PER_MS;
        (void)wbi_loop_turn(loop, false);
        (void)usleep(2000);
    }
    assert_true(*streams > WBI_LIMIT_UPSTREAM_BREAKS + 1);
    wbi_upstream_free(up);
    while (wbi_curl_busy(curl))
        (void)wbi_loop_turn(loop, true);
    wbi_curl_free(curl);
    wbi_loop_free(loop);
    assert_int_equal(kill(server, SIGKILL), 0);
    assert_int_equal(waitpid(server, NULL, 0), server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(news_are_listened_to_for_as_long_as_their_streams_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
