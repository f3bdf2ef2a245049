/* SPDX-License-Identifier: Apache-2.0
 * http/listen.c: the listening socket, the clock tick, draining and the end.
 * (1) One descriptor is kept in reserve: when none is left, it is given up to
 *     accept and refuse a caller, so that the loop never spins on accept.
 * (2) The tick runs only while there is a connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "http/http_int.h"

#define TICK_MS 250
#define ACCEPT_BURST 64

static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                           "Retry-After: 1\r\nConnection: close\r\n\r\n";

static void refuse_socket(int fd)
{
    (void)send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* best effort */
    close(fd);
}

static void name_peer(const struct sockaddr_storage *from, char *out, size_t n)
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)from;
        (void)inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        (void)snprintf(out, n, "%s:%u", host, ntohs(v4->sin_port));
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)from;
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        (void)snprintf(out, n, "[%s]:%u", host, ntohs(v6->sin6_port));
    }
}

/* False when nobody is waiting any more. */
static bool accept_one(struct wbi_http *http)
{
    struct sockaddr_storage from = {0};
    socklen_t n = sizeof(from);
    char peer[64] = "?";
    int fd = accept4(http->fd, (struct sockaddr *)(void *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int on = 1;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && http->reserve_fd >= 0) {
        close(http->reserve_fd);
        fd = accept4(http->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            refuse_socket(fd);
        http->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return fd >= 0;
    }
    if (fd < 0)
        return errno == EINTR || errno == ECONNABORTED;
    if (http->conn_count >= http->o.connections) {
        refuse_socket(fd);
        return true;
    }
    name_peer(&from, peer, sizeof(peer));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only slower without */
    if (wbi_conn_new(http, fd, peer) != NULL)
        wbi_http_tick_on(http);
    return true;
}

static void on_accept(void *arg, int events)
{
    struct wbi_http *http = arg;

    (void)events;
    for (int i = 0; i < ACCEPT_BURST && http->fd >= 0 && accept_one(http); i++)
        ;
}

static void stop_listening(struct wbi_http *http)
{
    wbi_watch_free(http->watch);
    http->watch = NULL;
    if (http->fd >= 0)
        close(http->fd);
    http->fd = -1;
}

void wbi_http_tick_on(struct wbi_http *http)
{
    if (http->ticking)
        return;
    http->ticking = true;
    wbi_timer_start(http->timer, TICK_MS);
}

static void on_tick(void *arg)
{
    struct wbi_http *http = arg;
    int64_t now = wbi_now_ns(&http->o.clock);
    bool over = http->draining && now >= http->drain_end_ns;

    http->ticking = http->conn_count > 0;
    if (http->ticking)
        wbi_timer_start(http->timer, TICK_MS); /* first: dropping may end the server */
    for (size_t i = 0; i < http->o.connections && http->conn_count > 0; i++) {
        if (http->conns[i] != NULL && over && !http->conns[i]->away)
            wbi_conn_drop(http->conns[i]);
        else if (http->conns[i] != NULL)
            wbi_conn_tick(http->conns[i], now);
    }
    wbi_http_conn_ended(http);
}

void wbi_http_conn_ended(struct wbi_http *http)
{
    void (*done)(void *) = http->on_drained;

    if (!http->draining || http->conn_count > 0 || done == NULL)
        return;
    wbi_timer_start(http->timer, 0); /* on_drained may free us: never from inside */
    http->ticking = true;
}

static void on_timer(void *arg)
{
    struct wbi_http *http = arg;
    void (*done)(void *) = http->on_drained;

    if (http->draining && http->conn_count == 0) {
        http->ticking = false;
        http->on_drained = NULL;
        if (done != NULL)
            done(http->drained_arg);
        return;
    }
    on_tick(http);
}

void wbi_http_drain(struct wbi_http *http, int64_t grace_ms, void (*on_done)(void *), void *arg)
{
    stop_listening(http);
    http->draining = true;
    http->drain_end_ns = wbi_now_ns(&http->o.clock) + grace_ms * WBI_NS_PER_MS;
    http->on_drained = on_done;
    http->drained_arg = arg;
    for (size_t i = 0; i < http->o.connections; i++) {
        struct wbi_conn *c = http->conns[i];

        if (c != NULL && wbi_conn_idle(c))
            wbi_conn_drop(c);
    }
    wbi_http_conn_ended(http);
}

void wbi_http_drain_now(struct wbi_http *http)
{
    for (size_t i = 0; http->draining && i < http->o.connections; i++) {
        struct wbi_conn *c = http->conns[i];

        if (c != NULL && !c->away && c->state == WBI_CONN_READING && c->out.n == 0)
            wbi_conn_drop(c);
    }
    wbi_http_conn_ended(http);
}

/* What stands before the port; empty: there is no port. */
static struct wbi_str host_of(struct wbi_str address)
{
    size_t colon = address.n;

    while (colon > 0 && address.p[colon - 1] != ':')
        colon--;
    return wbi_str_head(address, colon > 0 ? colon - 1 : 0);
}

/* "host:port" to a socket address: numbers and "localhost" only, no look-ups. */
static wb_rc parse_address(struct wbi_str s, struct sockaddr_storage *ret, socklen_t *ret_n,
                           struct wbi_error *err)
{
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)ret;
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)ret;
    uint64_t port;
    char host[64];
    struct wbi_str name = host_of(s);
    bool bracketed;

    if (name.n == 0 || name.n >= sizeof(host) ||
        !wbi_parse_u64(wbi_str_from(s, name.n + 1), &port) || port > 65535)
        return wbi_fail(err, WB_EINPUT, "\"%.*s\" is no ADDRESS:PORT to listen on", WBI_FMT(s));
    bracketed = name.p[0] == '[' && name.p[name.n - 1] == ']';
    if (bracketed)
        name = wbi_str_make(name.p + 1, name.n - 2);
    if (wbi_str_eqz(name, "localhost"))
        name = WBI_LIT("127.0.0.1");
    memcpy(host, name.p, name.n);
    host[name.n] = '\0';
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *ret_n = sizeof(*v4);
        return WB_OK;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        if (!bracketed) /* which of its colons begins the port is anybody's guess */
            return wbi_fail(err, WB_EINPUT, "an IPv6 address stands in brackets: [%s]:%llu", host,
                            (unsigned long long)port);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        *ret_n = sizeof(*v6);
        return WB_OK;
    }
    return wbi_fail(err, WB_EINPUT, "\"%s\" is no numeric address; nor is it localhost", host);
}

static bool is_loopback(const struct sockaddr_storage *at)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)at;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)at;

    if (at->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}

static wb_rc open_socket(struct wbi_http *http, struct wbi_str address, struct wbi_error *err)
{
    struct sockaddr_storage at;
    socklen_t n = 0;
    int on = 1;
    wb_rc rc = parse_address(address, &at, &n, err);

    if (rc != WB_OK)
        return rc;
    http->fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (http->fd < 0)
        return wbi_fail_errno(err, errno, "cannot make a socket");
    (void)setsockopt(http->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (is_loopback(&at)) /* where nothing is lost, measuring and pacing only cost */
        (void)setsockopt(http->fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    if (bind(http->fd, (struct sockaddr *)(void *)&at, n) != 0 || listen(http->fd, 1024) != 0)
        return wbi_fail(
            err, WB_EIO, "cannot listen on %.*s: %s%s", WBI_FMT(address), strerror(errno),
            errno == EADDRINUSE ? "; another gateway may run there, or give another port" : "");
    n = sizeof(at);
    if (getsockname(http->fd, (struct sockaddr *)(void *)&at, &n) != 0)
        return wbi_fail_errno(err, errno, "cannot read the port");
    http->port = ntohs(at.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&at)->sin_port
                                               : ((struct sockaddr_in6 *)(void *)&at)->sin6_port);
    return WB_OK;
}

/* Whoever connects, also without a token, takes a descriptor: half of them are for the calls. */
static size_t most_connections(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return WBI_LIMIT_HTTP_CONNECTIONS;
    return WBI_MAX(WBI_MIN((size_t)files.rlim_cur / 2, (size_t)WBI_LIMIT_HTTP_CONNECTIONS),
                   (size_t)1);
}

static void set_defaults(struct wbi_http_options *o)
{
    if (o->header_bytes == 0)
        o->header_bytes = WBI_LIMIT_HTTP_HEAD;
    if (o->body_bytes == 0)
        o->body_bytes = WBI_LIMIT_HTTP_BODY;
    if (o->connections == 0)
        o->connections = most_connections();
    if (o->connections > 0xffff)
        o->connections = 0xffff;
    if (o->stream_bytes == 0)
        o->stream_bytes = WBI_LIMIT_HTTP_STREAM;
    if (o->header_ms == 0)
        o->header_ms = WBI_HTTP_HEADER_MS;
    if (o->body_ms == 0)
        o->body_ms = WBI_HTTP_BODY_MS;
    if (o->idle_ms == 0)
        o->idle_ms = WBI_HTTP_IDLE_MS;
    if (o->write_ms == 0)
        o->write_ms = WBI_HTTP_WRITE_MS;
    if (o->clock.mono_ns == NULL)
        o->clock = wbi_clock_system();
}

wb_rc wbi_http_set_token(struct wbi_http *http, struct wbi_str token)
{
    char *copy;

    if (http->o.token.p == NULL || token.p == NULL)
        return WB_EMISUSE;
    copy = wbi_strdup(token);
    if (copy == NULL)
        return WB_ENOMEM;
    wbi_free(http->token);
    http->token = copy;
    http->rules++;
    http->o.token = wbi_str_make(copy, token.n);
    return WB_OK;
}

static wb_rc add_host(struct wbi_http *http, struct wbi_str name)
{
    char *copy = wbi_strdup(name);

    if (copy == NULL)
        return WB_ENOMEM;
    http->hosts[http->host_count++] = copy;
    return WB_OK;
}

/* Who is at one address is asked by it; at all there are, by names that only its user knows. */
static bool is_name(struct wbi_str host)
{
    return host.n > 0 && !wbi_str_eqz(host, "0.0.0.0") && !wbi_str_eqz(host, "[::]");
}

static wb_rc copy_options(struct wbi_http *http, const struct wbi_http_options *options)
{
    http->o = *options;
    set_defaults(&http->o);
    (void)snprintf(http->head_why, sizeof(http->head_why), "the head is larger than %zu bytes",
                   http->o.header_bytes);
    (void)snprintf(http->body_why, sizeof(http->body_why), "the body is larger than %zu bytes",
                   http->o.body_bytes);
    http->conns = wbi_zalloc_array(http->o.connections, sizeof(struct wbi_conn *));
    http->hosts = wbi_zalloc_array(options->host_count + 1, sizeof(char *));
    if (http->conns == NULL || http->hosts == NULL)
        return WB_ENOMEM;
    if (is_name(host_of(options->address)) && add_host(http, host_of(options->address)) != WB_OK)
        return WB_ENOMEM;
    for (size_t i = 0; i < options->host_count; i++)
        if (add_host(http, options->hosts[i]) != WB_OK)
            return WB_ENOMEM;
    http->o.hosts = NULL;
    if (options->token.p != NULL && wbi_http_set_token(http, options->token) != WB_OK)
        return WB_ENOMEM;
    if (options->health.p != NULL) {
        http->health = wbi_strdup(options->health);
        if (http->health == NULL)
            return WB_ENOMEM;
        http->o.health = wbi_str_make(http->health, options->health.n);
    }
    return WB_OK;
}

static wb_rc check_hosts(const struct wbi_http_options *o, struct wbi_error *err)
{
    for (size_t i = 0; i < o->host_count; i++)
        if (!wbi_http_is_host(o->hosts[i]))
            return wbi_fail(err, WB_EINPUT,
                            "\"%.*s\" is no host that can be allowed: it is a name, or an address "
                            "(IPv6 in brackets), without scheme, port, path or `*`",
                            WBI_FMT(wbi_str_head(o->hosts[i], 80)));
    return WB_OK;
}

wb_rc wbi_http_listen(struct wbi_loop *loop, const struct wbi_http_options *options,
                      const struct wbi_http_ops *ops, void *arg, struct wbi_http **ret,
                      struct wbi_error *err)
{
    struct wbi_http *http = wbi_zalloc(sizeof(*http));
    wb_rc rc = check_hosts(options, err);

    if (rc != WB_OK) {
        wbi_free(http);
        return rc;
    }
    if (http == NULL)
        return wbi_fail_nomem(err);
    http->loop = loop;
    http->ops = *ops;
    http->arg = arg;
    http->fd = http->reserve_fd = -1;
    wbi_conn_settings(&http->settings);
    wbi_flush_init(http);
    rc = copy_options(http, options);
    if (rc == WB_OK)
        rc = wbi_timer_new(loop, on_timer, http, &http->timer);
    if (rc != WB_OK)
        (void)wbi_fail_nomem(err);
    if (rc == WB_OK)
        rc = open_socket(http, options->address, err);
    if (rc == WB_OK)
        rc = wbi_watch_new(loop, http->fd, on_accept, http, &http->watch, err);
    if (rc == WB_OK)
        rc = wbi_watch_set(http->watch, WBI_WATCH_READ);
    if (rc != WB_OK) {
        wbi_http_free(http);
        return rc;
    }
    http->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *ret = http;
    return WB_OK;
}

void wbi_http_free(struct wbi_http *http)
{
    if (http == NULL)
        return;
    stop_listening(http);
    wbi_flush_end(http);
    http->on_drained = NULL;
    for (size_t i = 0; http->conns != NULL && i < http->o.connections; i++) {
        if (http->conns[i] != NULL)
            wbi_conn_drop(http->conns[i]);
    }
    wbi_timer_free(http->timer);
    if (http->reserve_fd >= 0)
        close(http->reserve_fd);
    for (size_t i = 0; i < http->host_count; i++)
        wbi_free(http->hosts[i]);
    wbi_free(http->hosts);
    wbi_free(http->conns);
    wbi_free(http->token);
    wbi_free(http->health);
    wbi_free(http);
}

uint16_t wbi_http_port(const struct wbi_http *http)
{
    return http->port;
}

size_t wbi_http_connections(const struct wbi_http *http)
{
    return http->conn_count;
}
