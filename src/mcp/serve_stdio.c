/* SPDX-License-Identifier: Apache-2.0
 * mcp/serve_stdio.c: one connection of newline-framed messages.
 * (1) Nothing but whole messages is written. (2) Answers made in one turn of the
 * loop go out together, in one write. (3) A peer that does not read is cut
 * off when too much has piled up. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/local.h"
#include "mcp/line.h"
#include "mcp/server_int.h"

#define READ_PIECE ((size_t)64 * 1024)
#define SOON_MS 1 /* not 0: a timer that starts itself again must let others run */

struct wbi_mcp_stdio {
    struct wbi_mcp_server *server;
    struct wbi_mcp_session *session;
    int in_fd, out_fd, in_flags, out_flags;
    int own_fd; /* a second name of a socket that is both in and out; -1: they are two */
    struct wbi_watch *in, *out; /* NULL: a file, which is always ready */
    int out_events;             /* that out is watched for */
    struct wbi_lines lines;
    struct wbi_buf pending;
    size_t sent;
    struct wbi_defer flush; /* answers of one turn leave in one write */
    bool eof, broken, ended;
    bool draining, hurried;  /* ends with the last answer; hurried: whoever has read it */
    bool false_alarm;        /* out was told to be closed, and is not */
    struct wbi_error *lost;  /* NULL: nobody asks why messages were lost */
    struct wbi_timer *timer; /* reads files; runs on_end outside of callbacks */
    void (*on_end)(void *arg);
    void *arg;
};

/* Messages are lost. That the client has gone is its own affair. */
static void tell_lost(struct wbi_mcp_stdio *c, const char *what, int error)
{
    if (c->lost != NULL && c->lost->rc == WB_OK && error != EPIPE && error != ECONNRESET)
        (void)wbi_fail(c->lost, WB_EIO, "%s: %s", what, strerror(error));
}

static void break_off(struct wbi_mcp_stdio *c, int error)
{
    c->broken = true;
    tell_lost(c, "the answers cannot be written", error);
}

/* Of a client that says nothing any more it is told whether it still listens: if not, what it
 * asked for ends now, not when there is an answer. */
static void watch_out(struct wbi_mcp_stdio *c)
{
    bool silent = c->eof && !c->false_alarm;
    int events = (c->pending.n > 0 ? WBI_WATCH_WRITE : 0) | (silent ? WBI_WATCH_GONE : 0);

    if (c->broken)
        events = 0;
    if (c->out == NULL || c->out_events == events)
        return;
    c->out_events = events;
    if (wbi_watch_set(c->out, events) != WB_OK)
        break_off(c, ENOMEM);
}

static bool listener_gone(const struct wbi_mcp_stdio *c)
{
    struct pollfd p = {.fd = c->out_fd};

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP)) != 0;
}

/* What was sent makes room when it is the larger part: no more is moved than was sent. */
static void forget_sent(struct wbi_mcp_stdio *c)
{
    if (c->broken || c->sent == c->pending.n) {
        if (c->pending.cap > WBI_LIMIT_HTTP_KEPT)
            wbi_buf_fini(&c->pending);
        wbi_buf_clear(&c->pending);
        c->sent = 0;
    } else if (c->sent > c->pending.n / 2) {
        memmove(c->pending.p, c->pending.p + c->sent, c->pending.n - c->sent);
        c->pending.n -= c->sent;
        c->sent = 0;
    }
}

static void flush(struct wbi_mcp_stdio *c)
{
    wbi_loop_undefer(c->server->loop, &c->flush);
    while (!c->broken && c->sent < c->pending.n) {
        ssize_t n = wbi_write_quiet(c->out_fd, c->pending.p + c->sent, c->pending.n - c->sent);
        if (n == -EAGAIN)
            break;
        if (n < 0) {
            break_off(c, (int)-n);
            break;
        }
        c->sent += (size_t)n;
    }
    forget_sent(c);
    watch_out(c);
    wbi_stdio_idle(c);
}

bool wbi_stdio_takes(const struct wbi_mcp_stdio *c, size_t n)
{
    size_t unread = c->pending.n - c->sent;

    return n < WBI_LIMIT_MCP_OUT && unread < WBI_LIMIT_MCP_OUT - n; /* and the end of its line */
}

void wbi_stdio_write(struct wbi_mcp_stdio *c, struct wbi_str message)
{
    if (c == NULL || c->broken)
        return;
    if (wbi_stdio_takes(c, message.n)) {
        wbi_buf_adds(&c->pending, message);
        wbi_buf_addc(&c->pending, '\n');
        if (wbi_buf_rc(&c->pending) != WB_OK)
            break_off(c, ENOMEM);
    } else {
        break_off(c, ENOBUFS);
    }
    wbi_loop_defer(c->server->loop, &c->flush);
}

static void on_turn_ends(void *arg)
{
    flush(arg);
}

/* Whether all is done is looked at from the loop, never from inside a call. */
void wbi_stdio_idle(struct wbi_mcp_stdio *c)
{
    if (!c->ended && (c->broken || c->eof || c->draining))
        wbi_timer_start(c->timer, SOON_MS);
}

void wbi_mcp_stdio_drain(struct wbi_mcp_stdio *c, bool hurry)
{
    c->draining = true;
    c->hurried = hurry;
    wbi_stdio_idle(c);
}

static void answer_error(struct wbi_mcp_stdio *c, struct wbi_str id, int code, const char *why)
{
    struct wbi_buf b;

    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    wbi_rpc_put_error(&b, id, code, wbi_str_z(why), WBI_NONE);
    if (wbi_buf_rc(&b) == WB_OK)
        wbi_stdio_write(c, wbi_buf_str(&b));
    wbi_buf_fini(&b);
}

/* While the server ends, only what answers one of its questions is taken. */
static bool comes_late(const struct wbi_mcp_stdio *c, const struct wbi_rpc *rpc)
{
    bool resumes =
        wbi_json_get(rpc->params, "requestState") != NULL && wbi_mcp_means_modern(rpc, WBI_NONE) &&
        (wbi_str_eqz(rpc->method, "tools/call") || wbi_str_eqz(rpc->method, "prompts/get") ||
         wbi_str_eqz(rpc->method, "resources/read"));

    return c->draining && !resumes;
}

/* Who asked is told; what was to answer a question of ours has no id of the client's. */
static void refuse_line(struct wbi_mcp_stdio *c, struct wbi_str line, struct wbi_str id, int code,
                        const char *why)
{
    struct wbi_overlong about = {0};

    wbi_overlong_feed(&about, line);
    if (wbi_asks_spoil(c->session, &about))
        id = WBI_NONE;
    answer_error(c, id, code, why);
}

static void take_line(struct wbi_mcp_stdio *c, struct wbi_str line)
{
    struct wbi_arena *arena = NULL;
    struct wbi_mcp_request *r;
    struct wbi_rpc rpc;
    int code = 0;
    WBI_ERROR_HERE(err);

    if (wbi_loop_arena(c->server->loop, WBI_ARENA_MESSAGE, WBI_LIMIT_MESSAGE_ARENA, &arena) !=
        WB_OK) {
        answer_error(c, WBI_NONE, WBI_RPC_INTERNAL, "out of memory");
        return;
    }
    if (wbi_rpc_read(arena, line, &rpc, &code, &err) != WB_OK) {
        refuse_line(c, line, rpc.id_text, code, err.text);
        wbi_arena_free(arena);
        return;
    }
    if (rpc.kind != WBI_RPC_REQUEST) {
        wbi_mcp_note(c->server, c->session, &rpc);
        wbi_arena_free(arena);
        return;
    }
    if (comes_late(c, &rpc)) {
        answer_error(c, rpc.id_text, WBI_RPC_INTERNAL, "the server is ending");
        wbi_arena_free(arena);
        return;
    }
    r = wbi_request_new(c->server, c->session, arena, &rpc);
    if (r == NULL)
        answer_error(c, WBI_NONE, WBI_RPC_INTERNAL, "out of memory");
    else if (!wbi_mcp_means_modern(&rpc, WBI_NONE) || wbi_modern_accept(r, NULL))
        wbi_mcp_dispatch(r);
}

/* A message over the cap: who asked is told. */
static void refuse_lost(struct wbi_mcp_stdio *c)
{
    const struct wbi_overlong *about = &c->lines.about;
    char why[64];

    (void)snprintf(why, sizeof(why), "the message is longer than %zu bytes", c->lines.max);
    (void)wbi_asks_spoil(c->session, about);
    answer_error(c, about->has_method ? wbi_overlong_id(about) : WBI_NONE, WBI_RPC_INVALID, why);
}

static void take_bytes(struct wbi_mcp_stdio *c, struct wbi_str bytes)
{
    struct wbi_str line;

    while (!c->broken && wbi_lines_next(&c->lines, &bytes, &line)) {
        if (c->lines.lost)
            refuse_lost(c);
        else
            take_line(c, line);
    }
}

/* Returns false at the end of input. */
static bool read_some(struct wbi_mcp_stdio *c)
{
    WBI_LARGE_LOCAL char piece[READ_PIECE];
    ssize_t n = read(c->in_fd, piece, sizeof(piece));

    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
    if (n < 0)
        tell_lost(c, "the input cannot be read", errno);
    if (n > 0)
        take_bytes(c, wbi_str_make(piece, (size_t)n));
    else if (n == 0)
        take_bytes(c, WBI_LIT("\n")); /* the end is that of the last line, too */
    c->eof = n <= 0;
    wbi_loop_defer(c->server->loop, &c->flush);
    return n > 0;
}

static void on_readable(void *arg, int events)
{
    struct wbi_mcp_stdio *c = arg;

    (void)events;
    if (!c->eof && !c->broken && !read_some(c)) {
        wbi_watch_free(c->in);
        c->in = NULL;
    }
}

static void on_out_ready(void *arg, int events)
{
    struct wbi_mcp_stdio *c = arg;

    if (c->eof && !c->broken && listener_gone(c))
        break_off(c, EPIPE);
    else if (c->eof && (events & WBI_WATCH_READ))
        c->false_alarm = true; /* it would be told again and again */
    flush(c);
}

/* Nobody can answer any more: a call that asked goes on without. One at a time, since the
 * list may change. */
static void drop_questions(struct wbi_mcp_stdio *c)
{
    struct wbi_mcp_request *r = c->session->requests;

    while (r != NULL && (r->asks == NULL || r->era != WBI_ERA_LEGACY))
        r = r->session_next;
    if (r == NULL)
        return;
    r->refs++;
    wbi_asks_drop(r);
    wbi_request_unref(r);
    wbi_timer_start(c->timer, SOON_MS);
}

/* Nothing is owed any more, and nothing waits to be read. */
static bool is_over(const struct wbi_mcp_stdio *c)
{
    if (c->draining && wbi_mcp_server_busy(c->server) == 0 && (c->hurried || c->pending.n == 0))
        return true;
    return (c->eof || c->broken) && c->session->requests == NULL && c->pending.n == 0;
}

static void on_timer(void *arg)
{
    struct wbi_mcp_stdio *c = arg;
    bool over = is_over(c);

    if (c->ended)
        return;
    if (c->eof || c->broken) { /* listening streams have nobody to tell any more */
        drop_questions(c);
        for (struct wbi_mcp_request *r = c->session->requests, *next; r != NULL; r = next) {
            next = r->session_next;
            if (r->phase == WBI_REQ_LISTENING || r->phase == WBI_REQ_PARKED || c->broken) {
                bool stays;

                r->refs++; /* it may end here */
                wbi_request_cancel(r);
                stays = r->phase == WBI_REQ_PARKED;
                wbi_request_unref(r);
                if (!c->ended)
                    wbi_timer_start(c->timer, SOON_MS);
                if (!stays)
                    break;
            }
        }
    }
    if (over) {
        c->ended = true;
        c->on_end(c->arg);
        return;
    }
    if (c->in == NULL && !c->eof && !c->broken) {
        (void)read_some(c);
        wbi_timer_start(c->timer, SOON_MS);
    }
}

/* A descriptor is watched once: one that is both in and out is watched by another name, too,
 * for its client may leave answers unread and say nothing. */
static wb_rc part_descriptors(struct wbi_mcp_stdio *c)
{
    if (c->in_fd != c->out_fd)
        return WB_OK;
    c->own_fd = fcntl(c->out_fd, F_DUPFD_CLOEXEC, 0);
    if (c->own_fd < 0)
        return WB_EIO;
    c->out_fd = c->own_fd;
    return WB_OK;
}

static wb_rc watch_descriptors(struct wbi_mcp_stdio *c)
{
    struct wbi_loop *loop = c->server->loop;
    wb_rc rc = part_descriptors(c);

    if (rc != WB_OK)
        return rc;
    c->in_flags = fcntl(c->in_fd, F_GETFL);
    c->out_flags = fcntl(c->out_fd, F_GETFL);
    if (c->in_flags >= 0)
        (void)fcntl(c->in_fd, F_SETFL, c->in_flags | O_NONBLOCK);
    if (c->out_flags >= 0)
        (void)fcntl(c->out_fd, F_SETFL, c->out_flags | O_NONBLOCK);
    rc = wbi_watch_new(loop, c->in_fd, on_readable, c, &c->in, NULL);
    if (rc == WB_OK)
        rc = wbi_watch_set(c->in, WBI_WATCH_READ);
    else if (rc != WB_ENOMEM) { /* a file */
        wbi_timer_start(c->timer, SOON_MS);
        rc = WB_OK;
    }
    if (rc == WB_OK && wbi_watch_new(loop, c->out_fd, on_out_ready, c, &c->out, NULL) == WB_ENOMEM)
        rc = WB_ENOMEM;
    return rc;
}

wb_rc wbi_mcp_stdio_new(struct wbi_mcp_server *s, int in_fd, int out_fd, struct wbi_str principal,
                        void (*on_end)(void *), void *arg, struct wbi_mcp_stdio **ret,
                        struct wbi_error *err)
{
    struct wbi_mcp_stdio *c = wbi_zalloc(sizeof(*c));
    wb_rc rc;

    if (c == NULL)
        return wbi_fail_nomem(err);
    c->server = s;
    c->in_fd = in_fd;
    c->out_fd = out_fd;
    c->in_flags = c->out_flags = c->own_fd = -1;
    c->on_end = on_end;
    c->arg = arg;
    c->flush.fn = on_turn_ends;
    c->flush.arg = c;
    wbi_lines_init(&c->lines, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init(&c->pending, 2 * WBI_LIMIT_MCP_OUT); /* at most half of it has been sent */
    c->session = wbi_session_new(s, principal, c);
    rc = c->session == NULL ? WB_ENOMEM : wbi_timer_new(s->loop, on_timer, c, &c->timer);
    if (rc == WB_OK)
        rc = watch_descriptors(c);
    if (rc != WB_OK) {
        wbi_mcp_stdio_free(c);
        return wbi_fail(err, rc, "cannot serve on these descriptors");
    }
    *ret = c;
    return WB_OK;
}

void wbi_mcp_stdio_watch(struct wbi_mcp_stdio *c, struct wbi_error *lost)
{
    c->lost = lost;
}

void wbi_mcp_stdio_free(struct wbi_mcp_stdio *c)
{
    if (c == NULL)
        return;
    flush(c); /* what this turn still had to say */
    if (c->pending.n > 0 && c->lost != NULL && c->lost->rc == WB_OK)
        (void)wbi_fail(c->lost, WB_EIO, "the client did not read all answers");
    c->broken = c->ended = true;
    if (c->session != NULL)
        wbi_session_end(c->session);
    if (c->in_flags >= 0)
        (void)fcntl(c->in_fd, F_SETFL, c->in_flags);
    if (c->out_flags >= 0)
        (void)fcntl(c->out_fd, F_SETFL, c->out_flags);
    wbi_watch_free(c->in);
    wbi_watch_free(c->out);
    if (c->own_fd >= 0)
        (void)close(c->own_fd);
    wbi_timer_free(c->timer);
    wbi_lines_fini(&c->lines);
    wbi_buf_fini(&c->pending);
    wbi_free(c);
}
