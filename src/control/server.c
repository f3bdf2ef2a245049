/* SPDX-License-Identifier: Apache-2.0
 * control/server.c: the listening end, on the loop.
 * (1) A peer is freed when its connection has ended; requests that still run
 *     then are cut from it and answer into nothing.
 * (2) A peer that sends too long a line, or no JSON-RPC, is told and dropped. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "control/control_int.h"
#include "json/write.h"

struct method {
    const char *name;
    wbi_control_fn *fn;
    void *arg;
};

struct peer {
    struct peer *next;
    struct wbi_control *control;
    struct wbi_watch *watch;
    int fd;
    struct wbi_buf in, out;
    size_t sent; /* of out */
    bool ending; /* write what is left, then close */
    bool broken; /* close now */
    bool inside; /* its own event is being handled, which will close it */
    struct wbi_control_request *requests;
};

struct wbi_control_request {
    struct wbi_control_request *next;
    struct peer *peer; /* NULL: gone */
    char *id;          /* JSON; NULL: a notification */
};

struct wbi_control {
    struct wbi_loop *loop;
    struct wbi_watch *watch;
    int fd, run_fd;
    struct sockaddr_un address;
    struct method methods[WBI_LIMIT_CONTROL_METHODS];
    size_t methods_n, peers_n;
    struct peer *peers;
};

static void drop(struct peer *p)
{
    struct peer **at = &p->control->peers;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->control->peers_n--;
    for (struct wbi_control_request *r = p->requests; r != NULL; r = r->next)
        r->peer = NULL;
    wbi_watch_free(p->watch);
    close(p->fd);
    wbi_buf_fini(&p->in);
    wbi_buf_fini(&p->out);
    wbi_free(p);
}

static void push_out(struct peer *p)
{
    while (p->sent < p->out.n) {
        ssize_t n = send(p->fd, p->out.p + p->sent, p->out.n - p->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n < 0) {
            p->broken = true;
            return;
        }
        p->sent += (size_t)n;
    }
    if (p->sent == p->out.n) {
        wbi_buf_clear(&p->out);
        p->sent = 0;
        if (p->ending && p->requests == NULL)
            p->broken = true;
    }
    if (!p->broken && wbi_watch_set(p->watch, (p->ending ? 0 : WBI_WATCH_READ) |
                                                  (p->out.n > 0 ? WBI_WATCH_WRITE : 0)) != WB_OK)
        p->broken = true;
}

static void begin_reply(struct peer *p, struct wbi_jw *w, const char *id)
{
    *w = wbi_jw_to(&p->out);
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "jsonrpc", "2.0");
    if (id != NULL)
        wbi_jw_kraw(w, "id", wbi_str_z(id));
    else
        wbi_jw_knull(w, "id");
}

static void end_reply(struct peer *p, struct wbi_jw *w)
{
    wbi_jw_obj_end(w);
    wbi_buf_addc(&p->out, '\n');
    if (wbi_buf_rc(&p->out) != WB_OK)
        p->broken = true; /* half a line must not be sent */
    else
        push_out(p);
}

static void put_error(struct peer *p, const char *id, int code, const char *kind, const char *text)
{
    struct wbi_jw w;

    begin_reply(p, &w, id);
    wbi_jw_key(&w, "error");
    wbi_jw_obj(&w);
    wbi_jw_kint(&w, "code", code);
    wbi_jw_kstrz(&w, "message", text);
    if (kind != NULL) {
        wbi_jw_key(&w, "data");
        wbi_jw_obj(&w);
        wbi_jw_kstrz(&w, "kind", kind);
        wbi_jw_obj_end(&w);
    }
    wbi_jw_obj_end(&w);
    end_reply(p, &w);
}

/* Takes the request out of its peer's list; NULL when the peer is gone. */
static struct peer *release(struct wbi_control_request *r)
{
    struct peer *p = r->peer;
    struct wbi_control_request **at = p != NULL ? &p->requests : NULL;

    while (at != NULL && *at != r)
        at = &(*at)->next;
    if (at != NULL)
        *at = r->next;
    return p;
}

static void free_request(struct wbi_control_request *r)
{
    wbi_free(r->id);
    wbi_free(r);
}

/* After an answer: one that came later has no event of the peer behind it. */
static void after_answer(struct peer *p)
{
    if (!p->broken)
        push_out(p);
    if (p->broken && !p->inside)
        drop(p);
}

void wbi_control_answer(struct wbi_control_request *r, struct wbi_str result)
{
    struct peer *p = release(r);
    struct wbi_jw w;

    if (p != NULL && r->id != NULL) {
        begin_reply(p, &w, r->id);
        wbi_jw_kraw(&w, "result", result);
        end_reply(p, &w);
    }
    if (p != NULL)
        after_answer(p);
    free_request(r);
}

void wbi_control_refuse(struct wbi_control_request *r, const struct wbi_error *err)
{
    const struct wbi_kind_row *kind = wbi_kind_row(err->kind);
    struct peer *p = release(r);

    if (p != NULL && r->id != NULL)
        put_error(p, r->id, kind->jsonrpc, kind->kind, err->text);
    if (p != NULL)
        after_answer(p);
    free_request(r);
}

static struct wbi_control_request *make_request(struct peer *p, const wbi_json *id)
{
    struct wbi_control_request *r = wbi_zalloc(sizeof(*r));
    struct wbi_buf b;

    if (r == NULL)
        return NULL;
    if (id != NULL) {
        wbi_buf_init(&b, WBI_LIMIT_ID * 8);
        wbi_json_write(&b, id);
        r->id = wbi_buf_take(&b, NULL);
        if (r->id == NULL) {
            wbi_buf_fini(&b);
            wbi_free(r);
            return NULL;
        }
    }
    r->peer = p;
    r->next = p->requests;
    p->requests = r;
    return r;
}

static void dispatch(struct peer *p, const wbi_json *message)
{
    struct wbi_control *c = p->control;
    struct wbi_str name = wbi_json_get_str(message, "method");
    struct wbi_control_request *r;

    if (!wbi_str_eqz(wbi_json_get_str(message, "jsonrpc"), "2.0") || name.p == NULL) {
        put_error(p, NULL, -32600, NULL, "a request has \"jsonrpc\": \"2.0\" and a method");
        return;
    }
    r = make_request(p, wbi_json_get(message, "id"));
    if (r == NULL) {
        p->broken = true; /* out of memory: the caller sees the end */
        return;
    }
    for (size_t i = 0; i < c->methods_n; i++) {
        if (wbi_str_eqz(name, c->methods[i].name)) {
            c->methods[i].fn(c->methods[i].arg, r, wbi_json_get(message, "params"));
            return;
        }
    }
    (void)release(r);
    if (r->id != NULL)
        put_error(p, r->id, -32601, NULL, "this runtime has no such method");
    free_request(r);
}

static void take_line(struct peer *p, struct wbi_str line)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena;
    const wbi_json *message;

    if (wbi_str_trim(line).n == 0)
        return;
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA * 4, &arena) != WB_OK) {
        p->broken = true;
        return;
    }
    if (wbi_json_read(arena, line, WBI_JSON_STRICT, &message, &err) == WB_OK) {
        dispatch(p, message);
    } else {
        put_error(p, NULL, -32700, NULL, err.text);
        p->ending = true;
    }
    wbi_arena_free(arena);
}

static void take_lines(struct peer *p)
{
    size_t start = 0;

    while (!p->ending && !p->broken) {
        struct wbi_str rest = wbi_str_from(wbi_buf_str(&p->in), start);
        size_t end = wbi_str_index(rest, '\n');
        if (end == rest.n)
            break;
        start += end + 1;
        take_line(p, wbi_str_head(rest, end));
    }
    if (start > 0 && p->in.n > 0) {
        memmove(p->in.p, p->in.p + start, p->in.n - start);
        p->in.n -= start;
    }
    if (p->in.n >= WBI_LIMIT_CONTROL_LINE && !p->ending) {
        put_error(p, NULL, -32600, NULL, "the line is too long");
        p->ending = true;
    }
}

static void pull_in(struct peer *p)
{
    char *room = wbi_buf_room(&p->in, 16384);
    ssize_t n;

    if (room == NULL) {
        p->broken = true;
        return;
    }
    do
        n = recv(p->fd, room, 16384, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        p->in.n += (size_t)n;
        take_lines(p);
    } else if (n == 0) {
        p->ending = true; /* answers that are on their way still go out */
    } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
        p->broken = true;
    }
}

static void on_peer(void *arg, int events)
{
    struct peer *p = arg;

    p->inside = true;
    if ((events & WBI_WATCH_READ) != 0 && !p->ending)
        pull_in(p);
    if (!p->broken)
        push_out(p);
    p->inside = false;
    if (p->broken)
        drop(p);
}

static void on_connection(void *arg, int events)
{
    struct wbi_control *c = arg;
    struct peer *p;
    int fd = accept4(c->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    (void)events; /* only reading is watched */
    if (fd < 0)
        return; /* gone again, or no descriptor left: the next event tries again */
    p = c->peers_n < WBI_LIMIT_CONTROL_PEERS && wbi_control_peer_ok(fd) ? wbi_zalloc(sizeof(*p))
                                                                        : NULL;
    if (p == NULL) {
        close(fd);
        return;
    }
    p->control = c;
    p->fd = fd;
    wbi_buf_init(&p->in, WBI_LIMIT_CONTROL_LINE + 32768);
    wbi_buf_init(&p->out, 4 * WBI_LIMIT_CONTROL_LINE);
    p->next = c->peers;
    c->peers = p;
    c->peers_n++;
    if (wbi_watch_new(c->loop, fd, on_peer, p, &p->watch, NULL) != WB_OK ||
        wbi_watch_set(p->watch, WBI_WATCH_READ) != WB_OK)
        drop(p);
}

/* It gets its name when it listens: before, it would refuse whoever asks, and be taken
 * for the socket of a dead process. */
static wb_rc listen_at(struct wbi_control *c, const char *instance, struct wbi_error *err)
{
    char name[64], fresh[64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return wbi_fail_errno(err, errno, "control: cannot make a socket");
    (void)snprintf(name, sizeof(name), "%s.sock", instance);
    (void)snprintf(fresh, sizeof(fresh), ".%s.sock", instance);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", c->run_fd,
                   fresh);
    (void)unlinkat(c->run_fd, fresh, 0); /* ours alone: instance ids are never used twice */
    if (bind(c->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        return wbi_fail_errno(err, errno, "control: cannot bind the socket in run/");
    if (fchmodat(c->run_fd, fresh, 0600, 0) != 0 || listen(c->fd, 64) != 0 ||
        renameat(c->run_fd, fresh, c->run_fd, name) != 0) {
        wb_rc rc = wbi_fail_errno(err, errno, "control: cannot listen in run/");

        (void)unlinkat(c->run_fd, fresh, 0);
        return rc;
    }
    return WB_OK;
}

wb_rc wbi_control_open(struct wbi_loop *loop, int run_fd, const char *instance,
                       struct wbi_control **ret, struct wbi_error *err)
{
    struct wbi_control *c = wbi_zalloc(sizeof(*c));
    wb_rc rc;

    if (c == NULL)
        return wbi_fail_nomem(err);
    c->loop = loop;
    c->fd = -1;
    c->run_fd = run_fd;
    if (!wbi_control_address(run_fd, instance, &c->address))
        rc = wbi_fail(err, WB_EMISUSE, "control: no instance id");
    else
        rc = listen_at(c, instance, err);
    if (rc == WB_OK)
        rc = wbi_watch_new(loop, c->fd, on_connection, c, &c->watch, err);
    if (rc == WB_OK && wbi_watch_set(c->watch, WBI_WATCH_READ) != WB_OK)
        rc = wbi_fail(err, WB_EIO, "control: cannot watch the socket");
    if (rc != WB_OK) {
        wbi_control_close(c);
        return rc;
    }
    *ret = c;
    return WB_OK;
}

void wbi_control_close(struct wbi_control *c)
{
    if (c == NULL)
        return;
    while (c->peers != NULL)
        drop(c->peers);
    wbi_watch_free(c->watch);
    if (c->fd >= 0) {
        (void)unlink(c->address.sun_path); /* absent when binding failed */
        close(c->fd);
    }
    wbi_free(c);
}

void wbi_control_background(struct wbi_control *c)
{
    wbi_watch_background(c->watch);
}

wb_rc wbi_control_method(struct wbi_control *c, const char *name, wbi_control_fn *fn, void *arg)
{
    for (size_t i = 0; i < c->methods_n; i++) {
        if (strcmp(c->methods[i].name, name) == 0)
            return WB_EEXISTS;
    }
    if (c->methods_n == WBI_LIMIT_CONTROL_METHODS)
        return WB_ELIMIT;
    c->methods[c->methods_n++] = (struct method){name, fn, arg};
    return WB_OK;
}
