/* SPDX-License-Identifier: Apache-2.0
 * http/http_test.c: the server over real sockets: what it refuses (attack rows
 * 83 to 95), keeping order, streams, limits, draining. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/checked.h"
#include "http/http_int.h"
#include "support/dial.h"

struct world {
    struct wbi_loop *loop;
    struct wbi_http *http;
    struct wbi_clock_manual clock;
    uint64_t held[8]; /* requests for /later */
    size_t held_n, seen, gone;
    char log[4096];
    bool drained;
};

static void on_request(void *arg, const struct wbi_http_request *r)
{
    struct world *w = arg;
    struct wbi_http_response ok = {.status = 200, .type = "text/plain", .body = r->body};

    w->seen++;
    if (wbi_str_eqz(r->path, "/later")) {
        assert_true(w->held_n < WBI_COUNT(w->held));
        w->held[w->held_n++] = r->id;
        return;
    }
    if (!wbi_str_eqz(r->method, "POST"))
        ok.body = r->path;
    wbi_http_respond(w->http, r->id, &ok);
}

static void on_gone(void *arg, uint64_t id, void *user)
{
    (void)id;
    (void)user;
    ((struct world *)arg)->gone++;
}

static void on_access(void *arg, const struct wbi_http_access *a)
{
    struct world *w = arg;
    struct wbi_buf b;

    wbi_buf_init(&b, 4000);
    wbi_http_access_json(a, &b);
    (void)snprintf(w->log, sizeof(w->log), "%.*s", WBI_FMT(wbi_buf_str(&b)));
    wbi_buf_fini(&b);
}

static void start(struct world *w, struct wbi_http_options *o)
{
    static const struct wbi_http_ops ops = {on_request, on_gone, on_access};

    memset(w, 0, sizeof(*w));
    if (o->address.p == NULL)
        o->address = WBI_LIT("127.0.0.1:0");
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_http_listen(w->loop, o, &ops, w, &w->http, NULL), WB_OK);
}

static void stop(struct world *w)
{
    wbi_http_free(w->http);
    wbi_loop_free(w->loop);
}

static int dial(struct world *w)
{
    int fd = dial_port(wbi_http_port(w->http));

    assert_true(fd >= 0);
    return fd;
}

static void put(int fd, const void *p, size_t n)
{
    assert_int_equal(send(fd, p, n, MSG_NOSIGNAL), (ssize_t)n);
}

/* Turns the loop until `until` has come, the server closed, or nothing happens
 * for half a second. */
static size_t hear(struct world *w, int fd, char *out, size_t cap, const char *until)
{
    size_t n = 0;

    out[0] = '\0';
    for (int quiet = 0; quiet < 500 && n + 1 < cap;) {
        struct pollfd p = {fd, POLLIN, 0};
        ssize_t got;

        (void)wbi_loop_turn(w->loop, false);
        got = recv(fd, out + n, cap - 1 - n, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            break;
        if (got < 0) {
            quiet += poll(&p, 1, 1) == 0;
            continue;
        }
        n += (size_t)got;
        out[n] = '\0';
        if (until != NULL && strstr(out, until) != NULL)
            break;
    }
    return n;
}

static int exchange(struct world *w, struct wbi_str request, char *out, size_t cap)
{
    int fd = dial(w), status = 0;

    put(fd, request.p, request.n);
    (void)hear(w, fd, out, cap, NULL);
    close(fd);
    for (int i = 0; i < 20 && wbi_http_connections(w->http) > 0; i++)
        (void)wbi_loop_turn(w->loop, false);
    if (strncmp(out, "HTTP/1.1 ", 9) == 0)
        status = (out[9] - '0') * 100 + (out[10] - '0') * 10 + (out[11] - '0');
    return status;
}

#define LATER "GET /later HTTP/1.1\r\n" H "\r\n"
#define NEXT "GET /next HTTP/1.1\r\n" H "\r\n"
#define H "Host: localhost\r\n"
#define C "Connection: close\r\n"
#define CHUNKED "POST / HTTP/1.1\r\n" H C "Transfer-Encoding: chunked\r\n\r\n"

struct row {
    const char *name;
    struct wbi_str bytes;
    int status;
};

#define ROW(name, status, bytes)          \
    {                                     \
        name, WBI_LIT_INIT(bytes), status \
    }

/* Rows 83, 84, 88, 89, 90, 93, 94 of the attack list. */
static const struct row rows[] = {
    ROW("plain GET", 200, "GET /x HTTP/1.1\r\n" H C "\r\n"),
    ROW("host with port", 200, "GET / HTTP/1.1\r\nHost: localhost:7717\r\n" C "\r\n"),
    ROW("v6 host", 200, "GET / HTTP/1.1\r\nHost: [::1]:1\r\n" C "\r\n"),
    ROW("foreign host", 403, "GET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n"),
    ROW("look-alike host", 403, "GET / HTTP/1.1\r\nHost: localhost.attacker.example\r\n\r\n"),
    ROW("two hosts", 400, "GET / HTTP/1.1\r\n" H "Host: localhost\r\n\r\n"),
    ROW("no host", 400, "GET / HTTP/1.1\r\n\r\n"),
    ROW("empty host", 403, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    ROW("host with user", 403, "GET / HTTP/1.1\r\nHost: a@localhost\r\n\r\n"),
    ROW("host with NUL", 400, "GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n"),
    ROW("host list", 403, "GET / HTTP/1.1\r\nHost: localhost, localhost\r\n\r\n"),
    ROW("bad port", 403, "GET / HTTP/1.1\r\nHost: localhost:99999\r\n\r\n"),
    ROW("origin null", 403, "GET / HTTP/1.1\r\n" H "Origin: null\r\n\r\n"),
    ROW("own origin", 200, "GET / HTTP/1.1\r\n" H C "Origin: http://localhost:80\r\n\r\n"),
    ROW("foreign origin", 403, "GET / HTTP/1.1\r\n" H "Origin: http://evil.example\r\n\r\n"),
    ROW("look-alike origin", 403,
        "GET / HTTP/1.1\r\n" H "Origin: http://localhost.evil.example\r\n\r\n"),
    ROW("upper case scheme", 403, "GET / HTTP/1.1\r\n" H "Origin: HTTP://localhost\r\n\r\n"),
    ROW("origin with path", 403, "GET / HTTP/1.1\r\n" H "Origin: http://localhost/\r\n\r\n"),
    ROW("length and chunks", 400,
        "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        "0\r\n\r\n"),
    ROW("chunks and length", 400,
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"
        "0\r\n\r\n"),
    ROW("two lengths", 400,
        "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    ROW("equal lengths twice", 400,
        "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"),
    ROW("length list", 400, "POST / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n\r\na"),
    ROW("length with sign", 400, "POST / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\na"),
    ROW("negative length", 400, "POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\na"),
    ROW("hex length", 400, "POST / HTTP/1.1\r\n" H "Content-Length: 0x1\r\n\r\na"),
    ROW("length overflow", 400,
        "POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551617\r\n\r\na"),
    ROW("length too large", 413, "POST / HTTP/1.1\r\n" H "Content-Length: 99999999\r\n\r\na"),
    ROW("no length", 411, "POST / HTTP/1.1\r\n" H "\r\n"),
    ROW("bare LF lines", 400, "GET / HTTP/1.1\nHost: localhost\n\n"),
    ROW("bare LF after header", 400, "GET / HTTP/1.1\r\nHost: localhost\n\r\n"),
    ROW("bare CR in value", 400, "GET / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n"),
    ROW("obs-fold", 400, "GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n"),
    ROW("space before colon", 400, "GET / HTTP/1.1\r\n" H "Content-Length : 0\r\n\r\n"),
    ROW("space in name", 400, "GET / HTTP/1.1\r\n" H "X y: 0\r\n\r\n"),
    ROW("empty name", 400, "GET / HTTP/1.1\r\n" H ": x\r\n\r\n"),
    ROW("chunked, chunked", 400,
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    ROW("gzip, chunked", 400,
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ROW("xchunked", 400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    ROW("identity coding", 400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n"),
    ROW("two transfer codings", 400,
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n"),
    ROW("cHunKed", 200,
        "POST / HTTP/1.1\r\n" H C "Transfer-Encoding: cHunKed\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
    ROW("Chunked and length", 400,
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\nContent-Length: 3\r\n\r\n"
        "0\r\n\r\n"),
    ROW("Chunked, extended", 400,
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n"),
    ROW("good chunks", 200, CHUNKED "3\r\nabc\r\n0\r\n\r\n"),
    ROW("chunk extension", 400, CHUNKED "3;a=b\r\nabc\r\n0\r\n\r\n"),
    ROW("chunk size 2^64", 400, CHUNKED "10000000000000000\r\nabc"),
    ROW("chunk size negative", 400, CHUNKED "-1\r\nabc\r\n0\r\n\r\n"),
    ROW("chunk size 0x", 400, CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"),
    ROW("chunk size and space", 400, CHUNKED "3 \r\nabc\r\n0\r\n\r\n"),
    ROW("chunk with bare LF", 400, CHUNKED "3\nabc\n0\n\n"),
    ROW("chunk without CRLF", 400, CHUNKED "3\r\nabcd\r\n0\r\n\r\n"),
    ROW("huge chunk", 413, CHUNKED "ffffff0\r\nabc"),
    ROW("trailer", 400, CHUNKED "0\r\nX: y\r\n\r\n"),
    ROW("body with GET", 400, "GET / HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\na"),
    ROW("compressed body", 415,
        "POST / HTTP/1.1\r\n" H "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\na"),
    ROW("HTTP/1.0", 505, "GET / HTTP/1.0\r\n" H "\r\n"),
    ROW("HTTP/0.9", 505, "GET /\r\n\r\n"),
    ROW("HTTP/2 preface", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ROW("absolute target", 400, "GET http://localhost/ HTTP/1.1\r\n" H "\r\n"),
    ROW("authority target", 400, "CONNECT localhost:1 HTTP/1.1\r\n" H "\r\n"),
    ROW("star target", 400, "OPTIONS * HTTP/1.1\r\n" H "\r\n"),
    ROW("upgrade", 400, "GET / HTTP/1.1\r\n" H "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n"),
    ROW("unknown method", 400, "BREW / HTTP/1.1\r\n" H "\r\n"),
    ROW("lower case method", 400, "get / HTTP/1.1\r\n" H "\r\n"),
    ROW("other expectation", 417,
        "POST / HTTP/1.1\r\n" H "Expect: magic\r\nContent-Length: 1\r\n\r\na"),
    ROW("two versions", 400,
        "GET / HTTP/1.1\r\n" H "MCP-Protocol-Version: 1\r\nmcp-protocol-version: 1\r\n\r\n"),
    ROW("two names", 400, "GET / HTTP/1.1\r\n" H "Mcp-Name: 1\r\nX: y\r\nmcp-name: 1\r\n\r\n"),
    ROW("two of no meaning", 200, "GET / HTTP/1.1\r\n" H C "X-Name: 1\r\nx-name: 1\r\n\r\n"),
    ROW("two accepts", 200, "GET / HTTP/1.1\r\n" H C "Accept: a/b\r\nAccept: a/b\r\n\r\n"),
    ROW("control byte at the end", 400, "GET / HTTP/1.1\r\n" H "X: abcdefghi\x7f\r\n\r\n"),
    ROW("tab at the end", 200, "GET / HTTP/1.1\r\n" H C "X: abcdefgh\ti\r\n\r\n"),
    ROW("two tokens", 400, "GET / HTTP/1.1\r\n" H "Authorization: a\r\nAuthorization: b\r\n\r\n"),
    ROW("TLS hello", 400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
};

static void ambiguous_requests_are_refused_and_the_connection_ends(void **state)
{
    struct wbi_http_options o = {0};
    struct world w;
    char out[8192];

    (void)state;
    start(&w, &o);
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        size_t seen = w.seen;
        int status = exchange(&w, rows[i].bytes, out, sizeof(out));

        if (status != rows[i].status)
            fail_msg("%s: expected %d, got %d:\n%s", rows[i].name, rows[i].status, status, out);
        if (status == 413 && strstr(out, "the body is larger than 16777216 bytes") == NULL)
            fail_msg("%s: does not say what is accepted:\n%s", rows[i].name, out);
        if ((w.seen != seen) != (status == 200))
            fail_msg("%s: reached the handler: %d", rows[i].name, w.seen != seen);
        if (status != 200 && strstr(out, "Connection: close") == NULL)
            fail_msg("%s: connection not closed", rows[i].name);
        assert_int_equal(wbi_http_connections(w.http), 0);
    }
    stop(&w);
}

static bool serves(struct world *w, const char *host, const char *origin)
{
    return wbi_http_host_ok(w->http, wbi_str_z(host)) &&
           wbi_http_origin_ok(w->http, wbi_str_z(origin));
}

/* Whoever is told where we listen can call there; a page of somebody else's cannot. */
static void the_address_listened_on_is_a_host_that_is_served(void **state)
{
    const struct wbi_str more = WBI_LIT_INIT("gate.example");
    struct wbi_http_options o = {
        .address = WBI_LIT_INIT("127.0.0.2:0"), .hosts = &more, .host_count = 1};
    struct wbi_http_options everywhere = {.address = WBI_LIT_INIT("0.0.0.0:0")};
    struct world w;

    (void)state;
    start(&w, &o);
    assert_true(serves(&w, "127.0.0.2:7717", "http://127.0.0.2:7717"));
    assert_true(serves(&w, "gate.example", "http://gate.example"));
    assert_true(serves(&w, "localhost:7717", "http://localhost"));
    assert_false(wbi_http_host_ok(w.http, WBI_LIT("127.0.0.3:7717")));
    assert_false(wbi_http_origin_ok(w.http, WBI_LIT("http://127.0.0.2.evil.example")));
    stop(&w);
    start(&w, &everywhere);
    assert_false(wbi_http_host_ok(w.http, WBI_LIT("0.0.0.0:7717")));
    assert_false(wbi_http_host_ok(w.http, WBI_LIT("127.0.0.2:7717")));
    stop(&w);
}

static void fields_are_known_by_their_whole_name(void **state)
{
    static const char *const names[WBI_HTTP_FIELD_COUNT] = {
        [WBI_HTTP_ACCEPT] = "accept",
        [WBI_HTTP_AUTHORIZATION] = "authorization",
        [WBI_HTTP_CONTENT_ENCODING] = "content-encoding",
        [WBI_HTTP_CONTENT_LENGTH] = "content-length",
        [WBI_HTTP_CONTENT_TYPE] = "content-type",
        [WBI_HTTP_EXPECT] = "expect",
        [WBI_HTTP_HOST] = "host",
        [WBI_HTTP_LAST_EVENT_ID] = "last-event-id",
        [WBI_HTTP_MCP_PROTOCOL_VERSION] = "mcp-protocol-version",
        [WBI_HTTP_MCP_SESSION_ID] = "mcp-session-id",
        [WBI_HTTP_ORIGIN] = "origin",
        [WBI_HTTP_TRANSFER_ENCODING] = "transfer-encoding",
        [WBI_HTTP_UPGRADE] = "upgrade",
    };

    (void)state;
    for (int i = 1; i < WBI_HTTP_FIELD_COUNT; i++) {
        char other[32];
        size_t n = strlen(names[i]);

        (void)snprintf(other, sizeof(other), "%s-", names[i]);
        assert_int_equal(wbi_http_field_of(wbi_str_make(other, n)), i);
        assert_int_equal(wbi_http_field_of(wbi_str_make(other, n - 1)), WBI_HTTP_OTHER);
        assert_int_equal(wbi_http_field_of(wbi_str_make(other, n + 1)), WBI_HTTP_OTHER);
        other[n - 1] = 'z';
        assert_int_equal(wbi_http_field_of(wbi_str_make(other, n)), WBI_HTTP_OTHER);
    }
    assert_int_equal(wbi_http_field_of(WBI_LIT("")), WBI_HTTP_OTHER);
}

static void the_date_moves_on_with_the_second(void **state)
{
    struct wbi_clock_manual clock = {.mono_ns = 5, .wall_ms = 59999};
    struct wbi_http_options o = {.clock = wbi_clock_by_hand(&clock)};
    struct wbi_str ask = WBI_LIT("GET / HTTP/1.1\r\n" H C "\r\n");
    struct world w;
    char out[1024];

    (void)state;
    start(&w, &o);
    assert_int_equal(exchange(&w, ask, out, sizeof(out)), 200);
    assert_non_null(strstr(out, "\r\nDate: Thu, 01 Jan 1970 00:00:59 GMT\r\n"));
    clock.mono_ns += WBI_NS_PER_MS - 1;
    assert_int_equal(exchange(&w, ask, out, sizeof(out)), 200);
    assert_non_null(strstr(out, "\r\nDate: Thu, 01 Jan 1970 00:00:59 GMT\r\n"));
    clock.mono_ns++;
    clock.wall_ms++;
    assert_int_equal(exchange(&w, ask, out, sizeof(out)), 200);
    assert_non_null(strstr(out, "\r\nDate: Thu, 01 Jan 1970 00:01:00 GMT\r\n"));
    stop(&w);
}

static void one_byte_at_a_time_gives_the_same_verdicts(void **state)
{
    struct wbi_http_options o = {0};
    struct world w;
    char out[8192];

    (void)state;
    start(&w, &o);
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        int fd = dial(&w);

        for (size_t k = 0; k < rows[i].bytes.n; k++) {
            if (send(fd, rows[i].bytes.p + k, 1, MSG_NOSIGNAL) != 1)
                break; /* it has refused already */
            (void)wbi_loop_turn(w.loop, false);
        }
        (void)hear(&w, fd, out, sizeof(out), NULL);
        close(fd);
        if (atoi(out + 9) != rows[i].status)
            fail_msg("%s: expected %d, got:\n%s", rows[i].name, rows[i].status, out);
    }
    stop(&w);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    static const char two[] = "POST /later HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\na"
                              "POST / HTTP/1.1\r\n" H C "Content-Length: 6\r\n\r\nsecond";
    struct wbi_http_options o = {0};
    struct wbi_http_response first = {.status = 200, .body = WBI_LIT_INIT("first")};
    struct world w;
    char out[4096];
    int fd;

    (void)state;
    start(&w, &o);
    fd = dial(&w);
    put(fd, two, sizeof(two) - 1);
    for (int i = 0; i < 50 && w.held_n == 0; i++)
        (void)wbi_loop_turn(w.loop, false);
    assert_int_equal(w.held_n, 1);
    assert_int_equal(w.seen, 1); /* the second waits */
    assert_int_equal(wbi_http_respond(w.http, w.held[0], &first), WB_OK);
    assert_int_equal(wbi_http_respond(w.http, w.held[0], &first), WB_ENOTFOUND);
    (void)hear(&w, fd, out, sizeof(out), NULL);
    assert_non_null(strstr(out, "first"));
    assert_true(strstr(out, "first") < strstr(out, "second"));
    assert_non_null(strstr(w.log, "\"status\":200"));
    close(fd);
    stop(&w);
}

static void a_stream_is_sent_in_chunks_and_ended(void **state)
{
    struct wbi_http_options o = {0};
    struct wbi_http_response head = {.status = 200, .type = "text/event-stream"};
    struct world w;
    char out[4096];
    int fd;

    (void)state;
    start(&w, &o);
    fd = dial(&w);
    put(fd, LATER, sizeof(LATER) - 1);
    for (int i = 0; i < 50 && w.held_n == 0; i++)
        (void)wbi_loop_turn(w.loop, false);
    assert_int_equal(wbi_http_stream(w.http, w.held[0], &head), WB_OK);
    assert_int_equal(wbi_http_send(w.http, w.held[0], WBI_LIT("data: 1\n\n")), WB_OK);
    (void)hear(&w, fd, out, sizeof(out), "data: 1");
    assert_non_null(strstr(out, "Transfer-Encoding: chunked"));
    assert_int_equal(wbi_http_end(w.http, w.held[0], WBI_NONE), WB_OK);
    (void)hear(&w, fd, out, sizeof(out), "0\r\n\r\n");
    put(fd, NEXT, sizeof(NEXT) - 1); /* still alive */
    (void)hear(&w, fd, out, sizeof(out), "/next");
    assert_non_null(strstr(out, "/next"));
    close(fd);
    stop(&w);
}

/* However much it has sent ahead, which is more than is read. */
static void a_client_that_leaves_is_reported_once(void **state)
{
    static char ahead[8 * 1024];
    struct wbi_http_options o = {0};
    struct wbi_http_response late = {.status = 200};
    struct world w;
    int fd;

    (void)state;
    for (int pieces = 0; pieces <= 16; pieces += 16) {
        start(&w, &o);
        fd = dial(&w);
        put(fd, LATER, sizeof(LATER) - 1);
        for (int i = 0; i < 50 && w.held_n == 0; i++)
            (void)wbi_loop_turn(w.loop, false);
        for (int i = 0; i < pieces; i++) {
            put(fd, ahead, sizeof(ahead));
            (void)wbi_loop_turn(w.loop, false);
        }
        close(fd);
        for (int i = 0; i < 50 && w.gone == 0; i++)
            (void)wbi_loop_turn(w.loop, true); /* ticks */
        assert_int_equal(w.gone, 1);
        assert_int_equal(wbi_http_respond(w.http, w.held[0], &late), WB_ENOTFOUND);
        assert_int_equal(wbi_http_connections(w.http), 0);
        stop(&w);
    }
}

static int dial_and_shut(struct world *w, const char *requests)
{
    int fd = dial(w);

    put(fd, requests, strlen(requests));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    for (int i = 0; i < 50 && w->held_n == 0; i++)
        (void)wbi_loop_turn(w->loop, false);
    assert_int_equal(w->held_n, 1);
    return fd;
}

static void a_client_that_has_said_all_gets_every_answer(void **state)
{
    struct wbi_http_options o = {0};
    struct wbi_http_response first = {.status = 200, .body = WBI_LIT_INIT("first")};
    struct world w;
    char out[4096];
    int fd;

    (void)state;
    start(&w, &o);
    fd = dial_and_shut(&w, LATER NEXT "GET /half HTTP/1.1\r\n");
    (void)wbi_loop_turn(w.loop, false);
    assert_int_equal(wbi_http_respond(w.http, w.held[0], &first), WB_OK);
    (void)hear(&w, fd, out, sizeof(out), NULL);
    assert_int_equal(strncmp(out, "HTTP/1.1 200", 12), 0); /* a quick answer comes alone */
    assert_non_null(strstr(out, "first"));
    assert_true(strstr(out, "first") < strstr(out, "/next"));
    assert_int_equal(w.seen, 2); /* half a request is none */
    assert_int_equal(w.gone, 0);
    assert_int_equal(wbi_http_connections(w.http), 0);
    close(fd);
    stop(&w);
}

static void a_client_that_has_said_all_may_wait_long(void **state)
{
    struct wbi_http_options o = {0};
    struct wbi_http_response answer = {.status = 200, .body = WBI_LIT_INIT("late")};
    struct wbi_http_response stream = {.status = 200, .filler = ": \n\n"};
    struct world w;
    char out[4096];
    int fd;

    (void)state;
    for (int streams = 0; streams < 2; streams++) {
        start(&w, &o);
        fd = dial_and_shut(&w, LATER);
        if (streams)
            assert_int_equal(wbi_http_stream(w.http, w.held[0], &stream), WB_OK);
        (void)hear(&w, fd, out, sizeof(out), streams ? ": \n\n" : "100 Continue\r\n\r\n");
        for (int i = 0; i < 2; i++)
            wbi_conn_tick(w.http->conns[0], 0);
        assert_int_equal(w.gone, 0);
        assert_int_equal(streams ? wbi_http_end(w.http, w.held[0], WBI_NONE)
                                 : wbi_http_respond(w.http, w.held[0], &answer),
                         WB_OK);
        (void)hear(&w, fd, out, sizeof(out), NULL);
        assert_non_null(strstr(out, streams ? "0\r\n\r\n" : "late"));
        assert_int_equal(wbi_http_connections(w.http), 0);
        close(fd);
        stop(&w);
    }
}

static void a_client_that_leaves_its_stream_is_reported(void **state)
{
    struct wbi_http_options o = {0};
    struct wbi_http_response with = {.status = 200, .filler = ": \n\n"}, without = {.status = 200};
    struct world w;
    int fd;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start(&w, &o);
        fd = dial_and_shut(&w, LATER);
        assert_int_equal(wbi_http_stream(w.http, w.held[0], i == 0 ? &with : &without), WB_OK);
        close(fd);
        for (int k = 0; k < 50 && w.gone == 0; k++)
            (void)wbi_loop_turn(w.loop, true); /* ticks */
        assert_int_equal(w.gone, 1);
        assert_int_equal(wbi_http_connections(w.http), 0);
        stop(&w);
    }
}

/* Row 91: slow headers, slow body, a client that never reads. */
static void slow_clients_are_timed_out(void **state)
{
    static const char *const parts[] = {"GET / HT",
                                        "POST / HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nabc"};
    char out[2048];

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(parts); i++) {
        struct wbi_http_options o = {.header_ms = 20, .body_ms = 20};
        struct world w;
        int fd;

        start(&w, &o);
        fd = dial(&w);
        put(fd, parts[i], strlen(parts[i]));
        (void)hear(&w, fd, out, sizeof(out), "408");
        assert_non_null(strstr(out, "408"));
        close(fd);
        stop(&w);
    }
}

static void the_token_guards_everything_but_health(void **state)
{
    struct wbi_http_options o = {.token = WBI_LIT_INIT("s3cret"),
                                 .health = WBI_LIT_INIT("/healthz")};
    struct world w;
    char out[2048];

    (void)state;
    start(&w, &o);
#define GET(path, auth) \
    exchange(&w, WBI_LIT("GET " path " HTTP/1.1\r\n" H C auth "\r\n"), out, sizeof(out))
    assert_int_equal(GET("/", ""), 401);
    assert_non_null(strstr(out, "WWW-Authenticate: Bearer"));
    assert_int_equal(GET("/", "Authorization: Bearer s3cre\r\n"), 401);
    assert_int_equal(GET("/", "Authorization: Bearer s3crets\r\n"), 401);
    assert_int_equal(GET("/", "Authorization: Bearer \r\n"), 401);
    assert_int_equal(GET("/", "Authorization: Basic s3cret\r\n"), 401);
    assert_int_equal(GET("/", "Authorization: bearer s3cret\r\n"), 200);
    assert_int_equal(GET("/healthz", ""), 200);
    assert_int_equal(GET("/healthz", "Origin: http://evil.example\r\n"), 403);
    assert_int_equal(GET("/healthz/x", ""), 401);
#undef GET
    assert_int_equal(
        exchange(&w, WBI_LIT("DELETE /healthz HTTP/1.1\r\n" H C "\r\n"), out, sizeof(out)), 405);
    assert_non_null(strstr(out, "\r\nAllow: GET, HEAD\r\n"));
    assert_int_equal(exchange(&w, WBI_LIT("HEAD / HTTP/1.1\r\n" H C "\r\n"), out, sizeof(out)),
                     401);
    assert_string_equal(strstr(out, "\r\n\r\n"), "\r\n\r\n"); /* a head, and no more */
    stop(&w);
}

static void limits_on_the_head_hold(void **state)
{
    static char big[80 * 1024];
    struct wbi_http_options o = {0};
    struct world w;
    char out[2048];
    size_t n;

    (void)state;
    start(&w, &o);
    n = (size_t)snprintf(big, sizeof(big), "GET /");
    memset(big + n, 'a', 5000);
    assert_int_equal(exchange(&w, wbi_str_make(big, n + 5000), out, sizeof(out)), 414);
    n = (size_t)snprintf(big, sizeof(big), "GET / HTTP/1.1\r\n" H "X: ");
    memset(big + n, 'a', 40000);
    assert_int_equal(exchange(&w, wbi_str_make(big, n + 40000), out, sizeof(out)), 431);
    n = (size_t)snprintf(big, sizeof(big), "GET / HTTP/1.1\r\n" H);
    for (int i = 0; i < 80; i++)
        n += (size_t)snprintf(big + n, sizeof(big) - n, "X%d: 1\r\n", i);
    assert_int_equal(exchange(&w, wbi_str_make(big, n), out, sizeof(out)), 431);
    stop(&w);
}

static void expect_continue_is_answered_before_the_body(void **state)
{
    static const char head[] =
        "POST / HTTP/1.1\r\n" H C "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    struct wbi_http_options o = {0};
    struct world w;
    char out[2048];
    int fd;

    (void)state;
    start(&w, &o);
    fd = dial(&w);
    put(fd, head, sizeof(head) - 1);
    (void)hear(&w, fd, out, sizeof(out), "\r\n\r\n");
    assert_string_equal(out, "HTTP/1.1 100 Continue\r\n\r\n");
    put(fd, "body", 4);
    (void)hear(&w, fd, out, sizeof(out), NULL);
    assert_non_null(strstr(out, "\r\n\r\nbody"));
    close(fd);
    stop(&w);
}

/* Row 92. */
static void too_many_connections_are_refused_not_queued(void **state)
{
    struct wbi_http_options o = {.connections = 2};
    struct world w;
    int fds[2];
    char out[512];

    (void)state;
    start(&w, &o);
    for (size_t i = 0; i < 2; i++)
        fds[i] = dial(&w);
    for (int i = 0; i < 50 && wbi_http_connections(w.http) < 2; i++)
        (void)wbi_loop_turn(w.loop, false);
    assert_int_equal(exchange(&w, WBI_LIT("GET / HTTP/1.1\r\n" H "\r\n"), out, sizeof(out)), 503);
    close(fds[0]);
    close(fds[1]);
    stop(&w);
}

static void without_descriptors_callers_are_refused_and_nothing_spins(void **state)
{
    struct wbi_http_options o = {0};
    struct rlimit old, low;
    struct world w;
    char out[512];
    int fd;

    (void)state;
    start(&w, &o);
    fd = dial(&w);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = (rlim_t)fd + 1; /* every descriptor up to here is open */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    (void)hear(&w, fd, out, sizeof(out), NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(strncmp(out, "HTTP/1.1 503", 12), 0);
    close(fd);
    assert_int_equal(exchange(&w, WBI_LIT("GET / HTTP/1.1\r\n" H C "\r\n"), out, sizeof(out)), 200);
    stop(&w);
}

static void note_drained(void *arg)
{
    ((struct world *)arg)->drained = true;
}

/* Two connections; the first waits for an answer. */
static void begin_two(struct world *w, struct wbi_http_options *o, int *ret_busy, int *ret_other)
{
    start(w, o);
    *ret_busy = dial(w);
    *ret_other = dial(w);
    put(*ret_busy, LATER, sizeof(LATER) - 1);
    for (int i = 0; i < 50 && (w->held_n == 0 || wbi_http_connections(w->http) < 2); i++)
        (void)wbi_loop_turn(w->loop, false);
}

/* Its answer comes, whole, and then the draining is done. */
static void end_drain(struct world *w, int busy, int other, char *out, size_t size)
{
    struct wbi_http_response late = {.status = 200, .body = WBI_LIT_INIT("late")};

    assert_false(w->drained);
    assert_int_equal(wbi_http_respond(w->http, w->held[0], &late), WB_OK);
    (void)hear(w, busy, out, size, NULL);
    assert_non_null(strstr(out, "Connection: close"));
    assert_non_null(strstr(out, "late"));
    close(busy);
    close(other);
    for (int i = 0; i < 100 && !w->drained; i++)
        (void)wbi_loop_turn(w->loop, true);
    assert_true(w->drained);
    stop(w);
}

static void draining_waits_for_owed_answers(void **state)
{
    struct wbi_http_options o = {0};
    struct world w;
    char out[2048];
    int busy, idle;

    (void)state;
    begin_two(&w, &o, &busy, &idle);
    wbi_http_drain(w.http, 10000, note_drained, &w);
    assert_int_equal(wbi_http_connections(w.http), 1);
    end_drain(&w, busy, idle, out, sizeof(out));
}

static void draining_ends_without_those_who_send_no_whole_request(void **state)
{
    static const char half[] = "GET / HTTP/1.1\r\nHo";
    struct wbi_http_options o = {0};
    struct world w;
    char out[2048];
    int busy, slow;

    (void)state;
    begin_two(&w, &o, &busy, &slow);
    put(slow, half, sizeof(half) - 1);
    for (int i = 0; i < 5; i++) /* what slow has sent is read */
        (void)wbi_loop_turn(w.loop, false);
    wbi_http_drain(w.http, 10000, note_drained, &w);
    assert_int_equal(wbi_http_connections(w.http), 2); /* the rest may be on its way */
    wbi_http_drain_now(w.http);
    assert_int_equal(wbi_http_connections(w.http), 1);
    end_drain(&w, busy, slow, out, sizeof(out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ambiguous_requests_are_refused_and_the_connection_ends),
        cmocka_unit_test(the_address_listened_on_is_a_host_that_is_served),
        cmocka_unit_test(fields_are_known_by_their_whole_name),
        cmocka_unit_test(the_date_moves_on_with_the_second),
        cmocka_unit_test(one_byte_at_a_time_gives_the_same_verdicts),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(a_stream_is_sent_in_chunks_and_ended),
        cmocka_unit_test(a_client_that_leaves_is_reported_once),
        cmocka_unit_test(a_client_that_has_said_all_gets_every_answer),
        cmocka_unit_test(a_client_that_has_said_all_may_wait_long),
        cmocka_unit_test(a_client_that_leaves_its_stream_is_reported),
        cmocka_unit_test(slow_clients_are_timed_out),
        cmocka_unit_test(the_token_guards_everything_but_health),
        cmocka_unit_test(limits_on_the_head_hold),
        cmocka_unit_test(expect_continue_is_answered_before_the_body),
        cmocka_unit_test(too_many_connections_are_refused_not_queued),
        cmocka_unit_test(without_descriptors_callers_are_refused_and_nothing_spins),
        cmocka_unit_test(draining_waits_for_owed_answers),
        cmocka_unit_test(draining_ends_without_those_who_send_no_whole_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
