/* SPDX-License-Identifier: Apache-2.0
 * api/dispatch.c: the router for callers of the library, and the stream of
 * lines that `waybill dispatch` is. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "api/api_int.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "base/limits.h"
#include "call/router.h"
#include "wire/repair.h"

struct wb_router {
    wb_runtime *runtime;
    struct wbi_router *router;
    bool frames; /* on_line gets them, whose makers are on the stack */
    wb_line_cb on_line;
    void *arg;
};

static wb_rc read_options(const wb_dispatch_options *o, struct wbi_router_options *ret,
                          struct wbi_error *err)
{
    *ret = (struct wbi_router_options){.provider = WBI_PROVIDER_AUTO};
    if (o == NULL)
        return WB_OK;
    if (o->provider != NULL && !wbi_provider_parse(wbi_str_z(o->provider), &ret->provider))
        return wbi_fail(err, WB_EINPUT,
                        "provider must be auto, responses, chat, anthropic, gemini, mcp or native; "
                        "got \"%.40s\"",
                        o->provider);
    ret->parallel = o->parallel;
    ret->group = o->group != 0;
    ret->frames = o->frames != 0;
    return WB_OK;
}

static void hand_line(void *arg, struct wbi_str text)
{
    wb_router *r = arg;
    wb_runtime *runtime = r->runtime;

    wbi_api_enter(runtime);
    runtime->showing += r->frames;
    r->on_line(text.p, text.n, r->arg);
    runtime->showing -= r->frames;
    wbi_api_leave(runtime);
}

wb_rc wb_router_new(wb_runtime *runtime, const wb_dispatch_options *options, wb_line_cb on_line,
                    void *arg, wb_router **ret, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_router_options o;
    struct wbi_router_sink sink = {.line = hand_line};
    wb_router *r;

    if (runtime == NULL || on_line == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_router_new: NULL");
    if (read_options(options, &o, &err) != WB_OK)
        return wbi_api_fail(reterr, &err);
    r = wbi_zalloc(sizeof(*r));
    sink.arg = r;
    if (r == NULL || wbi_router_new(runtime->rt, &o, &sink, &r->router) != WB_OK) {
        wbi_free(r);
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    }
    r->runtime = runtime;
    r->frames = o.frames;
    r->on_line = on_line;
    r->arg = arg;
    *ret = r;
    return WB_OK;
}

wb_rc wb_router_line(wb_router *router, const char *line, size_t size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (router == NULL || line == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_router_line: NULL");
    if (wbi_api_check(router->runtime, "wb_router_line", reterr) != WB_OK)
        return WB_EMISUSE;
    if (wbi_router_line(router->router, wbi_str_make(line, size), &err) != WB_OK)
        return wbi_api_fail(reterr, &err);
    return WB_OK;
}

size_t wb_router_pending(const wb_router *router)
{
    return router ? wbi_router_pending(router->router) : 0;
}

void wb_router_cancel(wb_router *router)
{
    if (router != NULL)
        wbi_router_cancel(router->router);
}

void wb_router_free(wb_router *router)
{
    if (router == NULL)
        return;
    wbi_router_free(router->router);
    wbi_free(router);
}

/* ---- a whole stream ---- */

#define READ_BYTES ((size_t)64 * 1024)
/* Reading pauses while this many calls wait for their answer, or this many bytes of
 * answers for their reader; frames wait for the latter, too. */
#define PENDING_MAX 4096
#define UNWRITTEN_MAX ((size_t)4 * WBI_MIB)

struct stream {
    struct wbi_router *router;
    struct wbi_loop *loop;
    struct wbi_watch *in_watch, *out_watch, *stop_watch;
    int in, out;
    int own;               /* another number for out where in has the same; or -1 */
    struct wbi_buf input;  /* the unfinished line */
    size_t searched;       /* bytes of it that hold no line end */
    bool skipping;         /* the rest of a line that is too long */
    struct wbi_buf output; /* not yet written */
    size_t written;
    bool feeding; /* lines are being taken: write once at the end */
    bool at_end;
    bool reader_gone;
    bool paused;
    bool done;
    struct wbi_error err;
};

static void check_done(struct stream *s)
{
    s->done = s->at_end && wbi_router_pending(s->router) == 0 && s->output.n == 0;
}

static bool reader_is_behind(void *arg)
{
    const struct stream *s = arg;

    return s->output.n - s->written > UNWRITTEN_MAX;
}

static bool must_wait(struct stream *s)
{
    return wbi_router_pending(s->router) > PENDING_MAX || reader_is_behind(s);
}

static void check_reading(struct stream *s)
{
    bool pause = must_wait(s);

    if (s->in_watch != NULL && pause != s->paused &&
        wbi_watch_set(s->in_watch, pause ? 0 : WBI_WATCH_READ) == WB_OK)
        s->paused = pause;
}

/* A reader that is always behind never empties the buffer: what it has goes. */
static void drop_written(struct stream *s)
{
    size_t left = s->output.n - s->written;

    if (s->written < left)
        return;
    memmove(s->output.p, s->output.p + s->written, left);
    s->output.n = left;
    s->written = 0;
}

/* As much as the reader takes; the rest when it can take more. */
static void write_some(struct stream *s)
{
    while (s->output.n > s->written && !s->reader_gone) {
        ssize_t n = wbi_write_quiet(s->out, s->output.p + s->written, s->output.n - s->written);
        if (n >= 0) {
            s->written += (size_t)n;
        } else if (n == -EAGAIN && s->out_watch != NULL) {
            if (wbi_watch_set(s->out_watch, WBI_WATCH_WRITE) == WB_OK) {
                drop_written(s);
                return;
            }
            s->reader_gone = true;
        } else if (n == -EAGAIN) {
            struct pollfd p = {s->out, POLLOUT, 0};
            (void)poll(&p, 1, 1000); /* then try again */
        } else {
            s->reader_gone = true; /* calls go on and are recorded */
            if (n != -EPIPE && s->err.rc == WB_OK)
                (void)wbi_fail(&s->err, WB_EIO, "the answers cannot be written: %s",
                               strerror((int)-n));
        }
    }
    if (s->out_watch != NULL && wbi_watch_set(s->out_watch, 0) != WB_OK)
        s->reader_gone = true;
    wbi_buf_clear(&s->output);
    s->written = 0;
}

static void end_input(struct stream *s);

static void write_out(struct stream *s)
{
    write_some(s);
    if (s->reader_gone && !s->at_end) { /* of what nobody reads no more is begun */
        s->input.n = s->searched = 0;
        end_input(s);
    }
    check_reading(s);
    check_done(s);
}

static void on_writable(void *arg, int events)
{
    (void)events;
    write_out(arg);
}

static void take_answer(void *arg, struct wbi_str text)
{
    struct stream *s = arg;

    if (s->reader_gone)
        return;
    wbi_buf_adds(&s->output, text);
    wbi_buf_addc(&s->output, '\n');
    if (wbi_buf_rc(&s->output) != WB_OK && s->err.rc == WB_OK)
        (void)wbi_fail(&s->err, wbi_buf_rc(&s->output), "an answer could not be kept for writing");
    if (!s->feeding)
        write_out(s);
}

static void take_line(struct stream *s, struct wbi_str line)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_router_line(s->router, line, &err) != WB_OK && s->err.rc == WB_OK)
        s->err = err;
}

/* Whole lines of what has been read; what is left stays for the next read. */
static void take_lines(struct stream *s, bool end)
{
    size_t at = 0;

    s->feeding = true;
    while (at < s->input.n) {
        struct wbi_str rest = wbi_str_from(wbi_buf_str(&s->input), at);
        size_t n = s->searched + wbi_str_index(wbi_str_from(rest, s->searched), '\n');
        s->searched = n == rest.n ? n : 0;
        if (n == rest.n && !end)
            break;
        if (!s->skipping)
            take_line(s, wbi_str_head(rest, n));
        s->skipping = false;
        at += n + (n < rest.n);
    }
    s->feeding = false;
    if (at > 0) {
        memmove(s->input.p, s->input.p + at, s->input.n - at);
        s->input.n -= at;
    }
    write_out(s);
}

static void end_input(struct stream *s)
{
    if (s->at_end)
        return;
    s->at_end = true;
    take_lines(s, /* end= */ true);
    wbi_watch_free(s->in_watch);
    s->in_watch = NULL;
    check_done(s);
}

/* A line that is too long is answered as such by its first part; the rest is left
 * out, and the lines after it count. */
static void give_up_line(struct stream *s)
{
    if (!s->skipping)
        take_line(s, wbi_buf_str(&s->input));
    s->skipping = true;
    s->searched = 0;
    wbi_buf_clear(&s->input);
    write_out(s);
}

/* One read; false when there is nothing more for now. */
static bool read_some(struct stream *s)
{
    char *room;
    ssize_t n;

    if (s->input.n > WBI_LIMIT_JSON_TEXT || (s->skipping && s->input.n > 0))
        give_up_line(s);
    if (s->at_end)
        return false; /* nobody was there to take its answer */
    room = wbi_buf_room(&s->input, READ_BYTES);
    if (room == NULL) {
        if (s->err.rc == WB_OK)
            (void)wbi_fail_nomem(&s->err);
        end_input(s);
        return false;
    }
    n = read(s->in, room, READ_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (n < 0) {
        if (s->err.rc == WB_OK)
            (void)wbi_fail(&s->err, WB_EIO, "the input cannot be read: %s", strerror(errno));
        s->input.n = s->searched = 0; /* a line that is not finished was not accepted */
    }
    if (n <= 0) {
        end_input(s);
        return false;
    }
    s->input.n += (size_t)n;
    take_lines(s, /* end= */ false);
    return true;
}

static void on_readable(void *arg, int events)
{
    struct stream *s = arg;

    (void)events;
    if (!s->at_end)
        (void)read_some(s);
    check_reading(s);
}

static void on_idle(void *arg)
{
    struct stream *s = arg;

    check_reading(s);
    check_done(s);
}

static void on_stop(void *arg, int events)
{
    struct stream *s = arg;

    (void)events;
    wbi_watch_free(s->stop_watch);
    s->stop_watch = NULL;
    wbi_router_cancel(s->router);
    s->input.n = s->searched = 0; /* a line that is not finished was not accepted */
    end_input(s);
}

/* Files cannot be watched; they are always ready. One number is watched once. */
static wb_rc watch(struct stream *s, int stop)
{
    wb_rc rc = WB_OK;

    if (s->in == s->out)
        s->own = fcntl(s->out, F_DUPFD_CLOEXEC, 0);
    if (s->own >= 0)
        s->out = s->own;
    if (wbi_watch_new(s->loop, s->in, on_readable, s, &s->in_watch, NULL) == WB_OK)
        rc = wbi_watch_set(s->in_watch, WBI_WATCH_READ);
    if (rc == WB_OK && fcntl(s->out, F_SETFL, fcntl(s->out, F_GETFL) | O_NONBLOCK) == 0 &&
        wbi_watch_new(s->loop, s->out, on_writable, s, &s->out_watch, NULL) != WB_OK)
        s->out_watch = NULL;
    if (rc == WB_OK && stop >= 0)
        rc = wbi_watch_new(s->loop, stop, on_stop, s, &s->stop_watch, NULL);
    if (rc == WB_OK && s->stop_watch != NULL)
        rc = wbi_watch_set(s->stop_watch, WBI_WATCH_READ);
    return rc;
}

static void drive(struct stream *s)
{
    while (s->in_watch == NULL && !s->at_end) { /* a file: always ready */
        bool wait = must_wait(s);
        if (wait || read_some(s))
            (void)wbi_loop_turn(s->loop, wait);
    }
    check_done(s);
    if (!s->done)
        wbi_loop_run(s->loop, &s->done);
}

static void restore_flags(int fd, int flags)
{
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags);
}

wb_rc wb_dispatch(wb_runtime *runtime, const wb_dispatch_options *options, int in, int out,
                  int stop, wb_error **reterr)
{
    struct stream s = {.in = in, .out = out, .own = -1};
    struct wbi_router_sink sink = {
        .line = take_answer, .idle = on_idle, .behind = reader_is_behind, .arg = &s};
    int in_flags = fcntl(in, F_GETFL), out_flags = fcntl(out, F_GETFL);
    struct wbi_router_options o;
    wb_rc rc;

    if (wbi_api_check(runtime, "wb_dispatch", reterr) != WB_OK)
        return WB_EMISUSE;
    if (runtime->threaded || wbi_api_showing(runtime))
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_dispatch drives the loop itself");
    rc = read_options(options, &o, &s.err);
    if (rc == WB_OK && wbi_router_new(runtime->rt, &o, &sink, &s.router) != WB_OK)
        rc = wbi_fail_nomem(&s.err);
    if (rc != WB_OK)
        return wbi_api_fail(reterr, &s.err);
    s.loop = runtime->rt->loop;
    wbi_buf_init(&s.input, WBI_LIMIT_JSON_TEXT + READ_BYTES);
    wbi_buf_init(&s.output, (size_t)1024 * WBI_MIB);
    rc = watch(&s, stop);
    if (rc == WB_OK)
        drive(&s);
    wbi_watch_free(s.in_watch);
    wbi_watch_free(s.out_watch);
    wbi_watch_free(s.stop_watch);
    if (s.own >= 0)
        (void)close(s.own);      /* out itself stays open */
    restore_flags(in, in_flags); /* whoever gave them shares O_NONBLOCK */
    restore_flags(out, out_flags);
    wbi_router_free(s.router);
    wbi_buf_fini(&s.input);
    wbi_buf_fini(&s.output);
    if (rc != WB_OK)
        return wbi_api_fail_text(reterr, rc, "the streams cannot be watched");
    return s.err.rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &s.err);
}

/* ---- histories ---- */

static wb_rc repair(enum wbi_provider provider, struct wbi_str text, struct wbi_buf *out,
                    struct wbi_error *err)
{
    struct wbi_arena *arena;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_wire_repair(arena, provider, text, out, NULL, err);
    wbi_arena_free(arena);
    return rc;
}

wb_rc wbi_api_history_provider(const char *name, enum wbi_provider *ret, struct wbi_error *err)
{
    *ret = WBI_PROVIDER_AUTO;
    if (name == NULL || (wbi_provider_parse(wbi_str_z(name), ret) && *ret != WBI_PROVIDER_MCP &&
                         *ret != WBI_PROVIDER_NATIVE))
        return WB_OK;
    return wbi_fail(err, WB_EINPUT,
                    "provider must be auto, responses, chat, anthropic or gemini; got \"%.40s\"",
                    name);
}

wb_rc wb_repair(const char *provider, const char *history, size_t size, char **ret,
                size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    enum wbi_provider form;
    struct wbi_buf out;
    wb_rc rc;

    if (history == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_repair: NULL");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_api_history_provider(provider, &form, &err);
    if (rc == WB_OK)
        rc = repair(form, wbi_str_make(history, size), &out, &err);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}
