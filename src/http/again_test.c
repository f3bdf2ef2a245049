/* SPDX-License-Identifier: Apache-2.0
 * http/again_test.c: a request whose head came before is what the parser would have
 * made of it, and everything else still goes to the parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/checked.h"
#include "http/http_int.h"

struct world {
    struct wbi_loop *loop;
    struct wbi_http *http;
    int fd; /* of the client */
    struct wbi_buf said, heard, log;
};

static size_t parsed; /* requests that the parser has begun */
static llhttp_cb server_begin;

static int count_begin(llhttp_t *p)
{
    parsed++;
    return server_begin(p);
}

static void on_request(void *arg, const struct wbi_http_request *r)
{
    struct world *w = arg;
    struct wbi_http_response ok = {.status = 200, .type = "text/plain", .body = r->body};

    wbi_buf_addf(&w->said, "%.*s %.*s?%.*s", WBI_FMT(r->method), WBI_FMT(r->path),
                 WBI_FMT(r->query));
    for (size_t i = 0; i < r->header_count; i++)
        wbi_buf_addf(&w->said, " %.*s=%.*s/%d", WBI_FMT(r->headers[i].name),
                     WBI_FMT(r->headers[i].value), (int)r->headers[i].field);
    wbi_buf_addf(&w->said, " length %.*s [%.*s]\n",
                 WBI_FMT(wbi_http_first(r, WBI_HTTP_CONTENT_LENGTH)), WBI_FMT(r->body));
    wbi_http_respond(w->http, r->id, &ok);
}

static void on_access(void *arg, const struct wbi_http_access *a)
{
    struct world *w = arg;

    wbi_buf_addf(&w->log, "%d %llu %llu\n", a->status, (unsigned long long)a->bytes_in,
                 (unsigned long long)a->bytes_out);
}

static void start(struct world *w, struct wbi_http_options o)
{
    static const struct wbi_http_ops ops = {on_request, NULL, on_access};
    int pair[2];

    *w = (struct world){0};
    o.address = WBI_LIT("127.0.0.1:0");
    wbi_buf_init(&w->said, WBI_MIB);
    wbi_buf_init(&w->heard, WBI_MIB);
    wbi_buf_init(&w->log, WBI_MIB);
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    assert_int_equal(wbi_http_listen(w->loop, &o, &ops, w, &w->http, NULL), WB_OK);
    server_begin = w->http->settings.on_message_begin;
    w->http->settings.on_message_begin = count_begin;
    parsed = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    w->fd = pair[0];
    assert_non_null(wbi_conn_new(w->http, pair[1], "test"));
}

static void stop(struct world *w)
{
    close(w->fd);
    wbi_http_free(w->http);
    wbi_loop_free(w->loop);
    wbi_buf_fini(&w->said);
    wbi_buf_fini(&w->heard);
    wbi_buf_fini(&w->log);
}

/* One piece, and what is answered to it. */
static void say(struct world *w, struct wbi_str piece)
{
    char sink[4096];
    ssize_t n;

    (void)!send(w->fd, piece.p, piece.n, MSG_NOSIGNAL); /* it may have been closed */
    for (int i = 0; i < 6; i++) {
        (void)wbi_loop_turn(w->loop, false);
        while ((n = recv(w->fd, sink, sizeof(sink), MSG_DONTWAIT)) > 0)
            wbi_buf_add(&w->heard, sink, (size_t)n);
    }
}

static bool holds(const struct wbi_buf *b, struct wbi_str text)
{
    return wbi_str_find(wbi_buf_str(b), text) < b->n;
}

#define HEAD(length)                                                                      \
    "POST /mcp?a=b HTTP/1.1\r\nHost: localhost\r\nAccept: a/b\r\ncontent-LENGTH: " length \
    "\r\nX-Last: \tone \r\n\r\n"
#define FIRST HEAD("3") "abc"

struct row {
    const char *name;
    struct wbi_str next; /* after FIRST, twice */
    size_t parsed;       /* of the three requests */
};

#define ROW(name, parsed, bytes)          \
    {                                     \
        name, WBI_LIT_INIT(bytes), parsed \
    }

static const struct row rows[] = {
    ROW("the same", 1, HEAD("3") "xyz"),
    ROW("another length of as many digits", 1, HEAD("7") "seven77"),
    ROW("the body begins like a head", 2, HEAD("14") "POST / HTTP/1."),
    ROW("a length with another digit, then the same", 2, HEAD("12") "twelve bytes"),
    ROW("no body", 3, HEAD("0")),
    ROW("a leading zero", 3, HEAD("03") "abc"),
    ROW("a sign", 2, HEAD("+") "abc"),
    ROW("not a digit", 2, HEAD("a") "abc"),
    ROW("a space before it", 2, HEAD(" 3") "abc"),
    ROW("another target", 2,
        "POST /mcq?a=b HTTP/1.1\r\nHost: localhost\r\nAccept: a/b\r\ncontent-LENGTH: 3\r\n"
        "X-Last: \tone \r\n\r\nabc"),
    ROW("another host", 2,
        "POST /mcp?a=b HTTP/1.1\r\nHost: bad.host!\r\nAccept: a/b\r\ncontent-LENGTH: 3\r\n"
        "X-Last: \tone \r\n\r\nabc"),
    ROW("a byte more in the last field", 2,
        "POST /mcp?a=b HTTP/1.1\r\nHost: localhost\r\nAccept: a/b\r\ncontent-LENGTH: 3\r\n"
        "X-Last: \tone 2\r\n\r\nabc"),
    ROW("the last line ends otherwise", 2,
        "POST /mcp?a=b HTTP/1.1\r\nHost: localhost\r\nAccept: a/b\r\ncontent-LENGTH: 3\r\n"
        "X-Last: \tone \n\r\n\rabc"),
    ROW("an empty line in front", 2, "\r\n" HEAD("3") "abc"),
    ROW("chunks", 3,
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        "0\r\n\r\n"),
    ROW("something expected", 3,
        "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
        "abc"),
    ROW("no method with a body", 3, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ROW("the end", 2,
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"),
};

/* Everything said in one connection: whole requests, or byte by byte, when none is ever whole
 * and the parser reads it all. The date of answers is cut out. */
static void converse(struct world *w, const struct row *r, bool by_bytes)
{
    struct wbi_str parts[] = {WBI_LIT(FIRST), r->next, r->next};

    start(w, (struct wbi_http_options){0});
    for (size_t i = 0; i < WBI_COUNT(parts); i++) {
        for (size_t k = 0; by_bytes && k < parts[i].n; k++)
            say(w, wbi_str_head(wbi_str_from(parts[i], k), 1));
        if (!by_bytes)
            say(w, parts[i]);
    }
    wbi_buf_add(&w->heard, "", 1);
    for (char *p = w->heard.p; (p = strstr(p, "Date: ")) != NULL; p += 6)
        memset(p + 6, 'x', 29);
}

static void it_is_what_the_parser_would_have_made_of_it(void **state)
{
    struct world whole, bytes;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        size_t count;

        converse(&whole, &rows[i], false);
        count = parsed;
        converse(&bytes, &rows[i], true);
        if (!wbi_str_eq(wbi_buf_str(&whole.said), wbi_buf_str(&bytes.said)) ||
            !wbi_str_eq(wbi_buf_str(&whole.log), wbi_buf_str(&bytes.log)) ||
            strcmp(whole.heard.p, bytes.heard.p) != 0)
            fail_msg("%s:\n%.*s%.*s%s\nbyte by byte:\n%.*s%.*s%s", rows[i].name,
                     WBI_FMT(wbi_buf_str(&whole.said)), WBI_FMT(wbi_buf_str(&whole.log)),
                     whole.heard.p, WBI_FMT(wbi_buf_str(&bytes.said)),
                     WBI_FMT(wbi_buf_str(&bytes.log)), bytes.heard.p);
        if (count != rows[i].parsed)
            fail_msg("%s: %zu requests were parsed, not %zu", rows[i].name, count, rows[i].parsed);
        stop(&whole);
        stop(&bytes);
    }
}

static void several_in_one_piece_are_taken_one_by_one(void **state)
{
    struct world w;

    (void)state;
    start(&w, (struct wbi_http_options){0});
    say(&w, WBI_LIT(FIRST HEAD("1") "1" HEAD("2") "22" HEAD("3") "33"));
    assert_int_equal(parsed, 2); /* the first, and the one that is not whole */
    say(&w, WBI_LIT("3" HEAD("4") "4444"));
    assert_int_equal(parsed, 3);
    assert_true(holds(&w.said, WBI_LIT("length 2 [22]\n")));
    assert_true(holds(&w.said, WBI_LIT("length 3 [333]\n")));
    assert_true(holds(&w.said, WBI_LIT("length 4 [4444]\n")));
    stop(&w);
}

#define WITH(token)                                                                             \
    "POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " token "\r\nContent-Length: " \
    "3\r\n\r\nabc"

static void a_head_is_judged_again_when_the_token_changed(void **state)
{
    struct world w;

    (void)state;
    start(&w, (struct wbi_http_options){.token = WBI_LIT("old")});
    say(&w, WBI_LIT(WITH("old")));
    say(&w, WBI_LIT(WITH("old")));
    assert_int_equal(parsed, 1);
    assert_int_equal(wbi_http_set_token(w.http, WBI_LIT("new")), WB_OK);
    say(&w, WBI_LIT(WITH("old")));
    assert_true(wbi_str_starts(wbi_buf_str(&w.log), WBI_LIT("200 ")));
    assert_true(holds(&w.log, WBI_LIT("401 ")));
    stop(&w);
}

static void a_body_too_large_is_refused_by_the_parser(void **state)
{
    struct world w;

    (void)state;
    start(&w, (struct wbi_http_options){.body_bytes = 4});
    say(&w, WBI_LIT(FIRST));
    say(&w, WBI_LIT(HEAD("5") "abcde"));
    assert_int_equal(parsed, 2);
    assert_true(holds(&w.log, WBI_LIT("413 ")));
    stop(&w);
}

static void a_long_head_is_not_remembered(void **state)
{
    char request[WBI_LIMIT_HTTP_AGAIN + 256];
    struct world w;
    int n;

    (void)state;
    n = snprintf(request, sizeof(request),
                 "POST / HTTP/1.1\r\nHost: localhost\r\nX: %0*d\r\nContent-Length: 3\r\n\r\nabc",
                 (int)WBI_LIMIT_HTTP_AGAIN, 1);
    start(&w, (struct wbi_http_options){0});
    say(&w, wbi_str_make(request, (size_t)n));
    say(&w, wbi_str_make(request, (size_t)n));
    assert_int_equal(parsed, 2);
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_the_parser_would_have_made_of_it),
        cmocka_unit_test(several_in_one_piece_are_taken_one_by_one),
        cmocka_unit_test(a_head_is_judged_again_when_the_token_changed),
        cmocka_unit_test(a_body_too_large_is_refused_by_the_parser),
        cmocka_unit_test(a_long_head_is_not_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
