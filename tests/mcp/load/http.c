/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/load/http.c: a client of Streamable HTTP on loopback: answers with a
 * length or in chunks, as JSON or as a stream of events. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

void http_connect(const struct options *o, struct client *c)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)};
    int on = 1;

    if (c->fd >= 0)
        close(c->fd);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        die("cannot connect", strerror(errno));
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    c->in.n = 0;
    c->closing = c->waiting = false;
}

static void put_field(struct text *t, const char *name, const char *value)
{
    text_addz(t, name);
    text_addz(t, ": ");
    text_addz(t, value);
    text_addz(t, "\r\n");
}

static void put_head(const struct options *o, const struct client *c, const char *tool, size_t n,
                     struct text *t)
{
    char length[32];

    (void)snprintf(length, sizeof(length), "%zu", n);
    text_addz(t, "POST ");
    text_addz(t, o->path);
    text_addz(t, " HTTP/1.1\r\n");
    put_field(t, "Host", "127.0.0.1");
    put_field(t, "Content-Type", "application/json");
    put_field(t, "Accept", "application/json, text/event-stream");
    put_field(t, "MCP-Protocol-Version", o->modern ? "2026-07-28" : "2025-11-25");
    if (o->token != NULL) {
        text_addz(t, "Authorization: Bearer ");
        text_addz(t, o->token);
        text_addz(t, "\r\n");
    }
    if (c->session[0] != '\0')
        put_field(t, "Mcp-Session-Id", c->session);
    if (o->modern)
        put_field(t, "Mcp-Method", "tools/call");
    if (o->modern && tool != NULL)
        put_field(t, "Mcp-Name", tool);
    put_field(t, "Content-Length", length);
    text_addz(t, "\r\n");
}

static void send_text(struct client *c, const struct text *t)
{
    for (size_t at = 0; at < t->n;) {
        ssize_t n = send(c->fd, t->p + at, t->n - at, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the reader finds the end */
        at += (size_t)n;
    }
}

void http_post(const struct options *o, struct client *c, const char *tool, const struct text *body)
{
    static _Thread_local struct text all;

    all.n = 0;
    put_head(o, c, tool, body->n, &all);
    text_add(&all, body->p, body->n);
    send_text(c, &all);
    c->waiting = true;
}

/* ---- answers ---- */

/* The value of a header of the head at p, NULL: absent. */
static const char *field(const char *head, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = strstr(head, "\r\n"); line != NULL && line < end;
         line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, n) == 0 && line[n] == ':')
            return line + n + 1 + strspn(line + n + 1, " ");
    }
    return NULL;
}

/* All chunks into body: bytes used, 0: incomplete. */
static size_t join_chunks(struct client *c, size_t from)
{
    c->body.n = 0;
    for (size_t at = from; at < c->in.n;) {
        char *line = c->in.p + at, *end = strstr(line, "\r\n");
        size_t n;

        if (end == NULL)
            return 0;
        n = strtoul(line, NULL, 16);
        at = (size_t)(end - c->in.p) + 2;
        if (at + n + 2 > c->in.n)
            return 0;
        text_add(&c->body, c->in.p + at, n);
        at += n + 2;
        if (n == 0)
            return at;
    }
    return 0;
}

static void keep_session(struct client *c, const char *value)
{
    size_t n = value != NULL ? strcspn(value, "\r") : 0;

    if (n > 0 && n < sizeof(c->session)) {
        memcpy(c->session, value, n);
        c->session[n] = '\0';
    }
}

/* Of events only the newest message counts: the answer comes last. */
static void unwrap_events(struct client *c)
{
    char *data = NULL, *at;
    size_t n;

    text_add(&c->body, "", 0);
    if (c->body.n == 0 || c->body.p[0] == '{')
        return;
    for (at = c->body.p; (at = strstr(at, "data: ")) != NULL; at += 6)
        data = at + 6;
    if (data == NULL)
        return;
    n = strcspn(data, "\r\n");
    memmove(c->body.p, data, n);
    c->body.n = n;
}

static int parse(struct client *c)
{
    char *end = c->in.n > 0 ? strstr(c->in.p, "\r\n\r\n") : NULL;
    const char *length, *connection;
    size_t head, used, n;

    if (end == NULL)
        return 0;
    head = (size_t)(end - c->in.p) + 4;
    c->status = atoi(c->in.p + 9);
    length = field(c->in.p, end, "content-length");
    connection = field(c->in.p, end, "connection");
    if (field(c->in.p, end, "transfer-encoding") != NULL) {
        used = join_chunks(c, head);
        if (used == 0)
            return 0;
    } else {
        n = length != NULL ? strtoul(length, NULL, 10) : 0;
        if (c->in.n < head + n)
            return 0;
        c->body.n = 0;
        text_add(&c->body, c->in.p + head, n);
        used = head + n;
    }
    keep_session(c, field(c->in.p, end, "mcp-session-id"));
    c->closing = connection != NULL && strncasecmp(connection, "close", 5) == 0;
    unwrap_events(c);
    text_drop(&c->in, used);
    c->waiting = false;
    return 1;
}

int http_take(struct client *c)
{
    static _Thread_local char piece[65536];
    ssize_t n = recv(c->fd, piece, sizeof(piece), 0);

    if (n <= 0)
        return -1;
    text_add(&c->in, piece, (size_t)n);
    return parse(c);
}

static void exchange(const struct options *o, struct client *c, const char *message)
{
    struct text body = {NULL, 0, 0};
    int done = 0;

    text_addz(&body, message);
    http_post(o, c, NULL, &body);
    while (done == 0)
        done = http_take(c);
    if (done < 0 || c->status >= 300)
        die("cannot open a session", c->body.p);
    if (c->closing)
        http_connect(o, c);
    free(body.p);
}

void http_open(const struct options *o, struct client *c)
{
    http_connect(o, c);
    if (o->modern || c->session[0] != '\0')
        return;
    exchange(o, c, message_initialize);
    exchange(o, c, message_initialized);
}

/* ---- faults ---- */

void http_fault(const struct options *o, struct client *c)
{
    static const char broken[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":";
    struct text body = {NULL, 0, 0}, all = {NULL, 0, 0};
    unsigned which = chance(4);

    c->kind = NULL;
    if (which == 0) { /* a message that ends too early */
        text_addz(&body, broken);
        http_post(o, c, NULL, &body);
    } else if (which == 1) { /* half a request, then gone */
        put_head(o, c, NULL, 1000, &all);
        text_addz(&all, broken);
        send_text(c, &all);
        http_connect(o, c);
    } else if (which == 2) { /* no HTTP at all */
        text_addz(&all, "\x16\x03\x01 GET /mcp\r\n\r\n");
        send_text(c, &all);
        c->waiting = true;
    } else { /* an unknown session */
        char kept[sizeof(c->session)];

        memcpy(kept, c->session, sizeof(kept));
        (void)snprintf(c->session, sizeof(c->session), "00000000-0000-4000-8000-000000000000");
        text_addz(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        http_post(o, c, NULL, &body);
        memcpy(c->session, kept, sizeof(kept));
    }
    free(body.p);
    free(all.p);
}
