/* SPDX-License-Identifier: Apache-2.0
 * http/answer.c: answers by id: whole ones, streams in chunks, refusals.
 * (1) Exactly one head is written for a request. (2) After a refusal nothing
 * more is read as a request from that connection. */
#include <stdio.h>
#include <time.h>

#include "http/http_int.h"

static void put_status(struct wbi_buf *out, int status)
{
    static const struct {
        int status;
        struct wbi_str line;
    } rows[] = {{200, WBI_LIT_INIT("200 OK")},
                {202, WBI_LIT_INIT("202 Accepted")},
                {204, WBI_LIT_INIT("204 No Content")},
                {400, WBI_LIT_INIT("400 Bad Request")},
                {401, WBI_LIT_INIT("401 Unauthorized")},
                {403, WBI_LIT_INIT("403 Forbidden")},
                {404, WBI_LIT_INIT("404 Not Found")},
                {405, WBI_LIT_INIT("405 Method Not Allowed")},
                {406, WBI_LIT_INIT("406 Not Acceptable")},
                {408, WBI_LIT_INIT("408 Request Timeout")},
                {409, WBI_LIT_INIT("409 Conflict")},
                {411, WBI_LIT_INIT("411 Length Required")},
                {413, WBI_LIT_INIT("413 Content Too Large")},
                {414, WBI_LIT_INIT("414 URI Too Long")},
                {415, WBI_LIT_INIT("415 Unsupported Media Type")},
                {417, WBI_LIT_INIT("417 Expectation Failed")},
                {429, WBI_LIT_INIT("429 Too Many Requests")},
                {431, WBI_LIT_INIT("431 Request Header Fields Too Large")},
                {500, WBI_LIT_INIT("500 Internal Server Error")},
                {503, WBI_LIT_INIT("503 Service Unavailable")},
                {505, WBI_LIT_INIT("505 HTTP Version Not Supported")}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].status == status) {
            wbi_buf_adds(out, rows[i].line);
            return;
        }
    }
    wbi_buf_addi(out, status);
    wbi_buf_addz(out, " Status");
}

/* The wall clock is asked once a second: it says when the next one begins. */
static const char *date_now(struct wbi_http *http, int64_t now_ns)
{
    /* not strftime's, which are those of the host's locale */
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t wall_ms;
    struct tm tm;
    time_t t;

    if (now_ns < http->date_until_ns)
        return http->date;
    wall_ms = wbi_wall_ms(&http->o.clock);
    t = (time_t)(wall_ms / 1000);
    http->date[0] = '\0';
    if (gmtime_r(&t, &tm) != NULL)
        (void)snprintf(http->date, sizeof(http->date), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                       days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900,
                       tm.tm_hour, tm.tm_min, tm.tm_sec);
    http->date_until_ns = now_ns + (1000 - wall_ms % 1000) * WBI_NS_PER_MS;
    return http->date;
}

void wbi_conn_head(struct wbi_conn *c, const struct wbi_http_response *r, bool chunked,
                   int64_t now_ns)
{
    struct wbi_buf *out = &c->out;

    c->status = r->status;
    wbi_buf_addz(out, "HTTP/1.1 ");
    put_status(out, r->status);
    wbi_buf_addz(out, "\r\nDate: ");
    wbi_buf_addz(out, date_now(c->http, now_ns));
    if (r->type != NULL) {
        wbi_buf_addz(out, "\r\nContent-Type: ");
        wbi_buf_addz(out, r->type);
    }
    if (chunked) {
        wbi_buf_addz(out, "\r\nTransfer-Encoding: chunked");
    } else if (r->status != 204) {
        wbi_buf_addz(out, "\r\nContent-Length: ");
        wbi_buf_addu(out, r->body.n);
    }
    wbi_buf_addz(out, "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
    if (!c->keep_alive)
        wbi_buf_addz(out, "Connection: close\r\n");
    if (r->extra != NULL)
        wbi_buf_addz(out, r->extra);
    if (c->extra[0] != '\0') {
        wbi_buf_addz(out, c->extra);
        c->extra[0] = '\0';
    }
    wbi_buf_addz(out, "\r\n");
}

/* An answer to HEAD has the head that one to GET would have, and no more. */
static void put_whole(struct wbi_conn *c, const struct wbi_http_response *r, int64_t now_ns)
{
    wbi_conn_head(c, r, false, now_ns);
    if (llhttp_get_method(&c->parser) != HTTP_HEAD)
        wbi_buf_adds(&c->out, r->body);
}

static void tell_access(const struct wbi_conn *c, const char *refused, int64_t now_ns)
{
    struct wbi_http *http = c->http;
    struct wbi_str url = wbi_str_head(wbi_buf_str(&c->head), c->url_n);
    const char *method = llhttp_method_name((llhttp_method_t)c->parser.method);
    struct wbi_http_access a = {
        .peer = wbi_str_z(c->peer),
        .method = wbi_str_z(url.n > 0 ? method : "-"),      /* before a target nothing was read */
        .path = wbi_str_head(url, wbi_str_index(url, '?')), /* queries may hold secrets */
        .status = c->status,
        .bytes_in = c->bytes_in,
        .bytes_out = c->bytes_out,
        .duration_ns = now_ns - c->begun_ns,
        .wall_ms = wbi_wall_ms(&http->o.clock),
        .refused = refused,
    };

    http->ops.on_access(http->arg, &a);
}

void wbi_conn_log(const struct wbi_conn *c, const char *refused, int64_t now_ns)
{
    if (c->http->ops.on_access != NULL)
        tell_access(c, refused, now_ns);
}

void wbi_conn_refuse(struct wbi_conn *c, int status, const char *why, int64_t now_ns)
{
    char text[256];
    int n = snprintf(text, sizeof(text), "%s\n", why);
    struct wbi_http_response r = {.status = status, .type = "text/plain; charset=utf-8"};
    size_t before = c->out.n;

    r.body = wbi_str_make(text, n > 0 && (size_t)n < sizeof(text) ? (size_t)n : 0);
    if (status == 401)
        r.extra = "WWW-Authenticate: Bearer realm=\"waybill\"\r\n";
    c->keep_alive = false;
    put_whole(c, &r, now_ns);
    c->bytes_out += c->out.n - before;
    wbi_conn_log(c, why, now_ns);
    c->state = WBI_CONN_CLOSING;
}

/* The request is answered: on to the next one, or goodbye. */
void wbi_conn_answered(struct wbi_conn *c, int64_t now_ns)
{
    wbi_conn_log(c, NULL, now_ns);
    c->request = 0;
    c->user = NULL;
    c->begun = c->in_body = false;
    c->state = c->keep_alive ? WBI_CONN_READING : WBI_CONN_CLOSING;
    c->deadline_ns =
        now_ns + (c->keep_alive ? c->http->o.idle_ms : c->http->o.write_ms) * WBI_NS_PER_MS;
    wbi_buf_clear(&c->body);
}

/* Ends a call by id: what could not be buffered drops the connection. */
static wb_rc settle(struct wbi_conn *c)
{
    wb_rc rc = wbi_buf_rc(&c->out);

    if (rc != WB_OK)
        c->broken = true; /* half an answer must not be sent */
    if (!c->inside)
        wbi_conn_go(c);
    return rc;
}

wb_rc wbi_http_respond(struct wbi_http *http, uint64_t id, const struct wbi_http_response *response)
{
    struct wbi_conn *c = wbi_conn_find(http, id);
    int64_t now_ns;
    size_t before;

    if (c == NULL || c->state != WBI_CONN_PENDING)
        return WB_ENOTFOUND;
    if (http->draining)
        c->keep_alive = false;
    now_ns = wbi_now_ns(&http->o.clock);
    before = c->out.n;
    put_whole(c, response, now_ns);
    c->bytes_out += c->out.n - before;
    wbi_conn_answered(c, now_ns);
    return settle(c);
}

wb_rc wbi_http_stream(struct wbi_http *http, uint64_t id, const struct wbi_http_response *head)
{
    struct wbi_conn *c = wbi_conn_find(http, id);

    if (c == NULL || c->state != WBI_CONN_PENDING)
        return WB_ENOTFOUND;
    wbi_conn_head(c, head, true, wbi_now_ns(&http->o.clock));
    c->filler = head->filler;
    c->state = WBI_CONN_STREAMING;
    return settle(c);
}

void wbi_conn_chunk(struct wbi_conn *c, struct wbi_str bytes)
{
    wbi_buf_addf(&c->out, "%zx\r\n", bytes.n);
    wbi_buf_adds(&c->out, bytes);
    wbi_buf_addz(&c->out, "\r\n");
}

/* A message may be longer than a client is allowed to be behind, and the next one come before
 * it could read any of it: what was added since it last kept up is what counts. */
static bool keeps_up(struct wbi_conn *c)
{
    if (c->out.n - c->sent <= c->http->o.stream_bytes)
        c->behind = 0;
    return c->behind <= c->http->o.stream_bytes;
}

wb_rc wbi_http_send(struct wbi_http *http, uint64_t id, struct wbi_str bytes)
{
    struct wbi_conn *c = wbi_conn_find(http, id);
    size_t before;

    if (c == NULL || c->state != WBI_CONN_STREAMING)
        return WB_ENOTFOUND;
    if (bytes.n == 0)
        return WB_OK; /* an empty chunk would end the body */
    if (!keeps_up(c)) {
        c->broken = true;
        if (!c->inside)
            wbi_conn_go(c);
        return WB_ELIMIT;
    }
    before = c->out.n;
    wbi_conn_chunk(c, bytes);
    if (before - c->sent > http->o.stream_bytes)
        c->behind += c->out.n - before;
    c->bytes_out += bytes.n;
    return settle(c);
}

wb_rc wbi_http_end(struct wbi_http *http, uint64_t id, struct wbi_str last)
{
    struct wbi_conn *c = wbi_conn_find(http, id);

    if (c == NULL || c->state != WBI_CONN_STREAMING)
        return WB_ENOTFOUND;
    if (last.n > 0)
        wbi_conn_chunk(c, last);
    c->bytes_out += last.n;
    wbi_buf_addz(&c->out, "0\r\n\r\n");
    if (http->draining)
        c->keep_alive = false;
    wbi_conn_answered(c, wbi_now_ns(&http->o.clock));
    return settle(c);
}

wb_rc wbi_http_set_extra(struct wbi_http *http, uint64_t id, const char *extra)
{
    struct wbi_conn *c = wbi_conn_find(http, id);

    if (c == NULL || strlen(extra) >= sizeof(c->extra))
        return WB_ENOTFOUND;
    (void)snprintf(c->extra, sizeof(c->extra), "%s", extra);
    return WB_OK;
}

wb_rc wbi_http_set_user(struct wbi_http *http, uint64_t id, void *user)
{
    struct wbi_conn *c = wbi_conn_find(http, id);

    if (c == NULL)
        return WB_ENOTFOUND;
    c->user = user;
    return WB_OK;
}
