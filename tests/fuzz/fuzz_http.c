/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_http.c: bytes of a client into a real connection of the
 * server, whole and in two parts: no crash, no answer without a request, and
 * everything is freed. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct wbi_http *http;
    size_t seen;
};

static void on_request(void *arg, const struct wbi_http_request *r)
{
    struct world *w = arg;
    struct wbi_http_response ok = {.status = 200, .type = "text/plain", .body = r->body};

    w->seen++;
    if (r->header_count == 0 || r->path.n == 0 || r->path.p[0] != '/')
        abort(); /* such a request must not get here */
    wbi_http_respond(w->http, r->id, &ok);
}

static void feed(struct wbi_loop *loop, struct wbi_http *http, const uint8_t *data, size_t size,
                 size_t cut)
{
    int pair[2];
    char sink[4096];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return;
    if (wbi_conn_new(http, pair[1], "fuzz") != NULL) {
        (void)!send(pair[0], data, cut, MSG_NOSIGNAL);
        (void)wbi_loop_turn(loop, false);
        (void)!send(pair[0], data + cut, size - cut, MSG_NOSIGNAL);
        (void)wbi_loop_turn(loop, false);
        (void)!shutdown(pair[0], SHUT_WR);
        for (int i = 0; i < 8; i++) {
            (void)wbi_loop_turn(loop, false);
            while (recv(pair[0], sink, sizeof(sink), MSG_DONTWAIT) > 0)
                ;
        }
    }
    close(pair[0]);
    for (int i = 0; i < 4; i++)
        (void)wbi_loop_turn(loop, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct wbi_http_ops ops = {on_request, NULL, NULL};
    struct wbi_http_options o = {
        .address = WBI_LIT_INIT("127.0.0.1:0"), .body_bytes = 4096, .connections = 4};
    struct world w = {0};
    struct wbi_loop *loop;

    if (size > 65536 || wbi_loop_new(NULL, &loop, NULL) != WB_OK)
        return 0;
    if (wbi_http_listen(loop, &o, &ops, &w, &w.http, NULL) == WB_OK) {
        size_t whole;

        feed(loop, w.http, data, size, size);
        whole = w.seen;
        feed(loop, w.http, data, size, size / 2);
        if (w.seen != 2 * whole)
            abort(); /* cutting the bytes must not change what they mean */
        wbi_http_free(w.http);
    }
    wbi_loop_free(loop);
    return 0;
}
