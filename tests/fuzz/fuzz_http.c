/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_http.c: bytes of a client into a real connection of the
 * server, whole, in two parts, and byte by byte (when no request is ever taken for
 * the last one again): no crash, no answer without a request, the same requests
 * each time, and everything is freed. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "http/http_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct wbi_http *http;
    uint64_t seen; /* a hash of all requests */
};

static void mix(struct world *w, struct wbi_str text)
{
    w->seen = wbi_hash64(text.p, text.n, w->seen * 31 + text.n);
}

static void on_request(void *arg, const struct wbi_http_request *r)
{
    struct world *w = arg;
    struct wbi_http_response ok = {.status = 200, .type = "text/plain", .body = r->body};

    mix(w, r->method);
    mix(w, r->path);
    mix(w, r->query);
    mix(w, r->body);
    for (size_t i = 0; i < r->header_count; i++) {
        mix(w, r->headers[i].name);
        mix(w, r->headers[i].value);
    }
    if (r->header_count == 0 || r->path.n == 0 || r->path.p[0] != '/')
        abort(); /* such a request must not get here */
    wbi_http_respond(w->http, r->id, &ok);
}

/* In pieces of so many bytes. */
static uint64_t feed(struct wbi_loop *loop, struct world *w, const uint8_t *data, size_t size,
                     size_t piece)
{
    int pair[2];
    char sink[4096];

    w->seen = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return 0;
    if (wbi_conn_new(w->http, pair[1], "fuzz") != NULL) {
        for (size_t at = 0; at < size; at += piece) {
            size_t n = size - at < piece ? size - at : piece;

            (void)!send(pair[0], data + at, n, MSG_NOSIGNAL);
            (void)wbi_loop_turn(loop, false);
        }
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
    return w->seen;
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
        uint64_t whole = feed(loop, &w, data, size, size);

        if (feed(loop, &w, data, size, size / 2 + 1) != whole)
            abort(); /* cutting the bytes must not change what they mean */
        if (size <= 1024 && feed(loop, &w, data, size, 1) != whole)
            abort();
        wbi_http_free(w.http);
    }
    wbi_loop_free(loop);
    return 0;
}
