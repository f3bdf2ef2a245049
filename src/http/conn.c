/* SPDX-License-Identifier: Apache-2.0
 * http/conn.c: one connection: bytes in, requests out, one at a time.
 * (1) While a request is unanswered nothing after it is parsed; its bytes wait
 *     in `in`, up to a cap, then reading pauses.
 * (2) A connection is freed at the end of its own event only; whoever breaks it
 *     in between sets `broken`.
 * (3) The end of the client's stream may mean that it has said all or that it has
 *     left. What it asked for whole is answered; whether it still listens is found
 *     out by sending something that says nothing, which one who left resets. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "http/http_int.h"

#define READ_PIECE ((size_t)16 * 1024)
#define INTERIM "HTTP/1.1 100 Continue\r\n\r\n" /* any number may precede an answer */

static int refuse(struct wbi_conn *c, int status, const char *why)
{
    c->refuse = status;
    c->why = why;
    return HPE_USER;
}

static int on_begin(llhttp_t *p)
{
    struct wbi_conn *c = p->data;

    wbi_again_forget(&c->again);
    wbi_buf_clear(&c->head);
    wbi_buf_clear(&c->body);
    c->field_count = 0;
    memset(c->places, 0, sizeof(c->places));
    c->url_n = 0;
    c->field_open = c->in_body = false;
    return 0;
}

static int refuse_head(struct wbi_conn *c)
{
    if (wbi_buf_rc(&c->head) == WB_ENOMEM)
        return refuse(c, 503, "out of memory");
    return refuse(c, c->field_count > 0 ? 431 : 414, c->http->head_why);
}

/* A span of the head; *len of the member it belongs to grows with it. */
static int add_head(struct wbi_conn *c, const char *at, size_t n, uint32_t *len)
{
    wbi_buf_add(&c->head, at, n);
    *len += (uint32_t)n;
    return wbi_buf_rc(&c->head) == WB_OK ? 0 : refuse_head(c);
}

static int on_url(llhttp_t *p, const char *at, size_t n)
{
    struct wbi_conn *c = p->data;

    if (c->url_n + n > WBI_LIMIT_HTTP_TARGET)
        return refuse(c, 414, "the target is longer than 4096 bytes");
    return add_head(c, at, n, &c->url_n);
}

static int on_name(llhttp_t *p, const char *at, size_t n)
{
    struct wbi_conn *c = p->data;
    size_t from = c->head.n;
    struct wbi_field *f;
    int status;

    if (c->in_body)
        return refuse(c, 400, "trailer fields are not accepted");
    if (!c->field_open) {
        if (c->field_count == WBI_LIMIT_HTTP_FIELDS)
            return refuse(c, 431, "there are more than 64 header fields");
        c->fields[c->field_count++] = (struct wbi_field){.name = (uint32_t)from};
        c->field_open = true;
    }
    f = &c->fields[c->field_count - 1];
    status = add_head(c, at, n, &f->name_n);
    if (status == 0)
        wbi_lower(c->head.p + from, n);
    return status;
}

static int on_value(llhttp_t *p, const char *at, size_t n)
{
    struct wbi_conn *c = p->data;
    struct wbi_field *f;

    if (c->in_body || c->field_count == 0)
        return refuse(c, 400, "trailer fields are not accepted");
    f = &c->fields[c->field_count - 1];
    if (f->value_n == 0) {
        f->value = (uint32_t)c->head.n;
        c->value_in = (size_t)(at - c->in.p);
    }
    return add_head(c, at, n, &f->value_n);
}

static int on_value_end(llhttp_t *p)
{
    struct wbi_conn *c = p->data;
    struct wbi_field *f;
    struct wbi_str value;

    c->field_open = false;
    if (c->in_body || c->field_count == 0)
        return 0;
    f = &c->fields[c->field_count - 1];
    value = wbi_str_trim(wbi_str_make(c->head.p + f->value, f->value_n));
    f->value = (uint32_t)(value.p - c->head.p);
    f->value_n = (uint32_t)value.n;
    f->field = wbi_http_field_of(wbi_str_make(c->head.p + f->name, f->name_n));
    if (c->places[f->field] == 0)
        c->places[f->field] = (uint8_t)c->field_count;
    if (f->field == WBI_HTTP_CONTENT_LENGTH)
        c->again.digits_in = c->value_in;
    return 0;
}

static int on_extension(llhttp_t *p, const char *at, size_t n)
{
    (void)at;
    (void)n;
    return refuse(p->data, 400, "chunk extensions are not accepted");
}

void wbi_conn_request_of(struct wbi_conn *c, struct wbi_http_header *headers,
                         struct wbi_http_request *ret)
{
    struct wbi_str url = wbi_str_head(wbi_buf_str(&c->head), c->url_n);
    size_t mark = wbi_str_index(url, '?');

    *ret = (struct wbi_http_request){
        .id = c->request,
        .method = wbi_str_z(llhttp_method_name((llhttp_method_t)llhttp_get_method(&c->parser))),
        .path = wbi_str_head(url, mark),
        .query = mark < url.n ? wbi_str_from(url, mark + 1) : WBI_NONE,
        .body = wbi_buf_str(&c->body),
        .peer = wbi_str_z(c->peer),
        .headers = headers,
        .header_count = c->field_count,
        .places = c->places,
    };
    for (size_t i = 0; i < c->field_count; i++) {
        const struct wbi_field *f = &c->fields[i];

        headers[i].name = wbi_str_make(c->head.p + f->name, f->name_n);
        headers[i].value = wbi_str_make(c->head.p + f->value, f->value_n);
        headers[i].field = f->field;
    }
}

static int on_headers(llhttp_t *p)
{
    struct wbi_conn *c = p->data;
    struct wbi_http *http = c->http;
    WBI_LARGE_LOCAL struct wbi_http_header headers[WBI_LIMIT_HTTP_FIELDS];
    struct wbi_http_request r;
    const char *why = "";
    int status;

    c->in_body = true;
    c->keep_alive = llhttp_should_keep_alive(p) && !http->draining;
    wbi_conn_request_of(c, headers, &r);
    status = wbi_http_check(http, &r, p, &why);
    if (status == 0 && p->content_length > http->o.body_bytes && !(p->flags & F_CHUNKED))
        status = 413, why = http->body_why;
    if (status != 0)
        return refuse(c, status, why);
    if (wbi_http_first(&r, WBI_HTTP_EXPECT).p != NULL)
        wbi_buf_addz(&c->out, INTERIM);
    return 0;
}

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct wbi_conn *c = p->data;

    wbi_buf_add(&c->body, at, n);
    if (wbi_buf_rc(&c->body) == WB_OK)
        return 0;
    if (wbi_buf_rc(&c->body) == WB_ENOMEM)
        return refuse(c, 503, "out of memory");
    return refuse(c, 413, c->http->body_why);
}

/* Announced sizes are believed only as far as they are refused. */
static int on_chunk(llhttp_t *p)
{
    struct wbi_conn *c = p->data;

    if (p->content_length > c->http->o.body_bytes - c->body.n)
        return refuse(c, 413, c->http->body_why);
    return 0;
}

static int on_complete(llhttp_t *p)
{
    (void)p;
    return HPE_PAUSED; /* the rest waits for its turn */
}

void wbi_conn_settings(llhttp_settings_t *s)
{
    llhttp_settings_init(s);
    s->on_message_begin = on_begin;
    s->on_url = on_url;
    s->on_header_field = on_name;
    s->on_header_value = on_value;
    s->on_header_value_complete = on_value_end;
    s->on_chunk_extension_name = on_extension;
    s->on_headers_complete = on_headers;
    s->on_chunk_header = on_chunk;
    s->on_body = on_body;
    s->on_message_complete = on_complete;
}

struct wbi_conn *wbi_conn_find(struct wbi_http *http, uint64_t id)
{
    size_t slot = (size_t)(id & 0xffff);
    struct wbi_conn *c = id != 0 && slot < http->o.connections ? http->conns[slot] : NULL;

    return c != NULL && c->request == id && !c->broken ? c : NULL;
}

void wbi_conn_drop(struct wbi_conn *c)
{
    struct wbi_http *http = c->http;
    uint64_t id = c->request;
    void *user = c->user;

    http->conns[c->slot] = NULL;
    http->conn_count--;
    if (id != 0)
        wbi_conn_log(c, "the client left", wbi_now_ns(&http->o.clock));
    wbi_watch_free(c->watch);
    close(c->fd);
    wbi_buf_fini(&c->in);
    wbi_buf_fini(&c->head);
    wbi_buf_fini(&c->again.raw);
    wbi_buf_fini(&c->body);
    wbi_buf_fini(&c->out);
    wbi_free(c);
    if (id != 0 && http->ops.on_gone != NULL)
        http->ops.on_gone(http->arg, id, user);
    wbi_http_conn_ended(http);
}

/* A whole request has come: health checks are answered here. */
static void hand_over(struct wbi_conn *c, int64_t now_ns)
{
    struct wbi_http *http = c->http;
    WBI_LARGE_LOCAL struct wbi_http_header headers[WBI_LIMIT_HTTP_FIELDS];
    struct wbi_http_request r;
    struct wbi_http_response ok = {.status = 200, .type = "application/json"};

    c->request = ++http->serial << 16 | c->slot;
    c->state = WBI_CONN_PENDING;
    wbi_conn_request_of(c, headers, &r);
    r.now_ns = now_ns;
    if (http->o.health.p == NULL || !wbi_str_eq(r.path, http->o.health)) {
        http->ops.on_request(http->arg, &r);
        return;
    }
    ok.body = WBI_LIT("{\"status\":\"ok\"}\n");
    if (!wbi_str_eqz(r.method, "GET") && !wbi_str_eqz(r.method, "HEAD"))
        ok = (struct wbi_http_response){.status = 405, .extra = "Allow: GET, HEAD\r\n"};
    (void)wbi_http_respond(http, c->request, &ok); /* its own failure drops c */
}

/* An answer goes out before the next request is looked at. */
static bool may_parse(const struct wbi_conn *c)
{
    return c->state == WBI_CONN_READING && !c->broken && c->out.n == 0 && c->in_at < c->in.n;
}

static void parse(struct wbi_conn *c)
{
    while (may_parse(c)) {
        const char *from = c->in.p + c->in_at;
        int64_t now_ns = wbi_now_ns(&c->http->o.clock);
        bool in_body = c->in_body, first = !c->begun;
        llhttp_errno_t rc;
        size_t used;

        if (first) {
            c->begun = true;
            c->bytes_in = c->bytes_out = 0;
            c->status = 0;
            c->begun_ns = now_ns;
            c->deadline_ns = now_ns + c->http->o.header_ms * WBI_NS_PER_MS;
        }
        if (first && wbi_again_take(c)) {
            hand_over(c, now_ns);
            continue;
        }
        rc = llhttp_execute(&c->parser, from, c->in.n - c->in_at);
        used =
            rc == HPE_OK ? c->in.n - c->in_at : (size_t)(llhttp_get_error_pos(&c->parser) - from);
        c->in_at += used;
        c->bytes_in += used;
        if (rc == HPE_OK && c->in_body && !in_body)
            c->deadline_ns = now_ns + c->http->o.body_ms * WBI_NS_PER_MS;
        if (rc == HPE_PAUSED) {
            llhttp_resume(&c->parser);
            if (first)
                wbi_again_keep(c, from, used);
            hand_over(c, now_ns);
        } else if (rc != HPE_OK) {
            wbi_conn_refuse(c, c->refuse != 0 ? c->refuse : 400,
                            c->refuse != 0 ? c->why : "this is not strict HTTP/1.1", now_ns);
            c->deadline_ns = now_ns + c->http->o.write_ms * WBI_NS_PER_MS;
        }
    }
    if (c->in_at == c->in.n) {
        wbi_buf_clear(&c->in);
        c->in_at = 0;
    }
}

void wbi_conn_pushed(struct wbi_conn *c, ssize_t n)
{
    c->full = n == -EAGAIN || n == -EWOULDBLOCK;
    if (n < 0 && n != -EINTR && !c->full) {
        c->broken = true;
        return;
    }
    c->sent += n > 0 ? (size_t)n : 0;
    if (c->sent == c->out.n) {
        if (c->out.cap > WBI_LIMIT_HTTP_KEPT)
            wbi_buf_fini(&c->out);
        wbi_buf_clear(&c->out);
        c->sent = 0;
    } else if (c->sent > c->out.n / 2) {
        memmove(c->out.p, c->out.p + c->sent, c->out.n - c->sent);
        c->out.n -= c->sent;
        c->sent = 0;
    }
    if (c->out.n > 0 && (n > 0 || c->state != WBI_CONN_CLOSING))
        c->deadline_ns = wbi_now_ns(&c->http->o.clock) + c->http->o.write_ms * WBI_NS_PER_MS;
}

void wbi_conn_push(struct wbi_conn *c)
{
    while (!c->broken && !c->full && c->sent < c->out.n) {
        ssize_t n = send(c->fd, c->out.p + c->sent, c->out.n - c->sent, MSG_NOSIGNAL);

        wbi_conn_pushed(c, n < 0 ? -errno : n);
    }
}

/* Everything is written: shut our side and wait a little for theirs, so that
 * the answer is not lost to a reset. */
static void say_goodbye(struct wbi_conn *c)
{
    if (c->state != WBI_CONN_CLOSING || c->out.n > 0)
        return;
    if (c->eof || shutdown(c->fd, SHUT_WR) != 0) {
        c->broken = true;
        return;
    }
    c->state = WBI_CONN_LINGER;
    c->deadline_ns = wbi_now_ns(&c->http->o.clock) + WBI_HTTP_LINGER_MS * WBI_NS_PER_MS;
}

static void rewatch(struct wbi_conn *c)
{
    int mask = c->full ? WBI_WATCH_WRITE : 0;

    if (!c->eof && c->in.n - c->in_at < WBI_LIMIT_HTTP_AHEAD)
        mask |= WBI_WATCH_READ;
    if (mask == c->mask || c->broken)
        return;
    c->mask = mask;
    if (wbi_watch_set(c->watch, mask) != WB_OK)
        c->broken = true;
}

/* A whole answer can wait for those of the other connections. */
static void send_out(struct wbi_conn *c)
{
    if (c->state == WBI_CONN_READING && !c->begun && c->out.n > 0 && !c->full)
        wbi_flush_add(c);
    else
        wbi_conn_push(c);
}

bool wbi_conn_idle(const struct wbi_conn *c)
{
    return c->state == WBI_CONN_READING && !c->begun && c->out.n == 0;
}

void wbi_conn_go(struct wbi_conn *c)
{
    c->inside = true;
    while (!c->away && !c->broken) {
        parse(c);
        send_out(c);
        if (!may_parse(c))
            break;
    }
    if (c->eof && c->state == WBI_CONN_READING && c->out.n == 0)
        c->broken = true; /* everything is answered, what is left is half a request */
    if (c->http->draining && wbi_conn_idle(c))
        c->broken = true; /* its answer was still on its way when the draining began */
    say_goodbye(c);
    rewatch(c);
    c->inside = false;
    if (c->broken && !c->away)
        wbi_conn_drop(c);
}

/* True when there may be more. */
static bool read_piece(struct wbi_conn *c)
{
    bool discard = c->state == WBI_CONN_CLOSING || c->state == WBI_CONN_LINGER;
    char *room;
    ssize_t n;

    if (discard) {
        wbi_buf_clear(&c->in);
        c->in_at = 0;
    }
    room = wbi_buf_room(&c->in, READ_PIECE);
    if (room == NULL) {
        c->broken = true;
        return false;
    }
    n = recv(c->fd, room, READ_PIECE, 0);
    if (n > 0) {
        c->in.n += discard ? 0 : (size_t)n;
        return false;
    }
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    c->eof = true;
    if (n < 0 || c->state == WBI_CONN_LINGER)
        c->broken = true;
    return false;
}

static void on_ready(void *arg, int events)
{
    struct wbi_conn *c = arg;

    if (events & WBI_WATCH_WRITE)
        c->full = false;
    if (events & WBI_WATCH_READ) {
        if (c->in_at > 0 && c->in_at < c->in.n) {
            memmove(c->in.p, c->in.p + c->in_at, c->in.n - c->in_at);
            c->in.n -= c->in_at;
            c->in_at = 0;
        }
        while (read_piece(c))
            ;
    }
    wbi_conn_go(c);
}

/* Whether the client has said all. While reading pauses that cannot be read, for it stands
 * behind what was sent ahead. */
static bool said_all(const struct wbi_conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return c->eof || ((c->mask & WBI_WATCH_READ) == 0 && poll(&p, 1, 0) > 0);
}

/* Of a client that has said all and is owed an answer. It is asked in the second
 * tick, so that quick answers come without that. */
static bool has_left(struct wbi_conn *c)
{
    int error = 0;
    socklen_t n = sizeof(error);

    c->ticks_since_eof++;
    if (c->ticks_since_eof > 2)
        return getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0 || error != 0;
    if (c->ticks_since_eof < 2)
        return false;
    if (c->state == WBI_CONN_PENDING)
        wbi_buf_addz(&c->out, INTERIM);
    else if (c->filler != NULL)
        wbi_conn_chunk(c, wbi_str_z(c->filler));
    else
        return true;
    wbi_conn_push(c);
    return c->broken || wbi_buf_rc(&c->out) != WB_OK;
}

void wbi_conn_tick(struct wbi_conn *c, int64_t now_ns)
{
    bool waiting = c->request != 0 && c->out.n == 0; /* the handler takes its time */

    if (c->away)
        return;
    if (waiting && said_all(c) && has_left(c)) {
        wbi_conn_drop(c);
        return;
    }
    if (now_ns < c->deadline_ns || waiting)
        return;
    if (c->state == WBI_CONN_READING && c->begun && c->out.n == 0) {
        wbi_conn_refuse(c, 408, "the request took too long to arrive", now_ns);
        c->deadline_ns = now_ns + c->http->o.write_ms * WBI_NS_PER_MS;
        wbi_conn_go(c);
        return;
    }
    wbi_conn_drop(c);
}

static bool watch(struct wbi_conn *c)
{
    if (wbi_watch_new(c->http->loop, c->fd, on_ready, c, &c->watch, NULL) != WB_OK)
        return false;
    c->mask = WBI_WATCH_READ;
    if (wbi_watch_set(c->watch, c->mask) == WB_OK)
        return true;
    wbi_watch_free(c->watch);
    return false;
}

/* Takes fd over, also when it returns NULL. */
struct wbi_conn *wbi_conn_new(struct wbi_http *http, int fd, const char *peer)
{
    struct wbi_conn *c = wbi_zalloc(sizeof(*c));
    uint32_t slot = 0;

    if (c == NULL) {
        close(fd);
        return NULL;
    }
    while (http->conns[slot] != NULL) /* the caller saw that one is free */
        slot++;
    c->http = http;
    c->slot = slot;
    c->fd = fd;
    (void)snprintf(c->peer, sizeof(c->peer), "%s", peer);
    llhttp_init(&c->parser, HTTP_REQUEST, &http->settings);
    c->parser.data = c;
    wbi_buf_init(&c->in, WBI_LIMIT_HTTP_AHEAD + 2 * READ_PIECE);
    wbi_buf_init(&c->head, http->o.header_bytes);
    wbi_buf_init(&c->again.raw, WBI_LIMIT_HTTP_AGAIN);
    wbi_buf_init(&c->body, http->o.body_bytes);
    wbi_buf_init(&c->out, 2 * WBI_LIMIT_HTTP_ANSWER); /* at most half of it has been sent */
    c->deadline_ns = wbi_now_ns(&http->o.clock) + http->o.header_ms * WBI_NS_PER_MS;
    if (!watch(c)) {
        close(fd);
        wbi_free(c);
        return NULL;
    }
    http->conns[slot] = c;
    http->conn_count++;
    return c;
}
