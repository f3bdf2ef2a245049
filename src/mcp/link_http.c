/* SPDX-License-Identifier: Apache-2.0
 * mcp/link_http.c: a server behind a URL: each message is a POST of its own,
 * answered by one JSON text or a stream of events.
 * (1) A transfer belongs to at most one call; when the call ends first, the
 *     transfer is dropped, which cancels it in 2026-07-28. */
#include <stdio.h>

#include "base/alloc.h"
#include "mcp/curl.h"
#include "mcp/sse.h"
#include "mcp/upstream_int.h"

#define MAX_HEADERS 80

/* One exchange. */
struct wbi_exchange {
    struct wbi_exchange *next, **prev;
    struct wbi_upstream *up;
    struct wbi_upstream_call *call; /* NULL: nobody waits for it */
    uint64_t call_id;
    struct wbi_transfer *transfer;
    struct wbi_sse sse;
    bool initialize;
};

static void drop(struct wbi_exchange *x)
{
    *x->prev = x->next;
    if (x->next != NULL)
        x->next->prev = x->prev;
    if (x->call != NULL)
        x->call->exchange = NULL;
    wbi_transfer_free(x->transfer);
    wbi_sse_fini(&x->sse);
    wbi_free(x);
}

static void forget(struct wbi_upstream *up, struct wbi_upstream_call *call)
{
    struct wbi_exchange *x = call->exchange;

    (void)up;
    call->exchange = NULL;
    if (x == NULL)
        return;
    x->call = NULL;
    if (x->transfer != NULL) /* else it is in the middle of its event, and ends with it */
        drop(x);
}

/* The exchange is over: what does that mean for the call it carried? */
static void settle(struct wbi_upstream *up, struct wbi_upstream_call *call, long status,
                   const char *failure)
{
    char why[160];

    if (call == NULL)
        return;
    if (failure != NULL)
        (void)snprintf(why, sizeof(why), "the server cannot be reached: %s", failure);
    else if (status == 404 && up->session != NULL && !call->own) {
        wbi_up_lost_session(up, call);
        return;
    } else
        (void)snprintf(why, sizeof(why), "the server answered with HTTP status %ld and no result",
                       status);
    wbi_upstream_call_fail(call, WB_EIO, why);
}

static void on_event(void *arg, struct wbi_transfer *t, const struct wbi_transfer_view *v)
{
    struct wbi_exchange *x = arg;
    struct wbi_upstream *up = x->up;
    struct wbi_upstream_call *call;
    struct wbi_str bytes = v->bytes, data;
    struct wbi_sse sse = x->sse;
    uint64_t id = x->call_id;
    bool done = v->done;
    long status = v->status;
    const char *failure = v->failure;

    x->transfer = NULL; /* whoever ends the call now must not free us under our feet */
    wbi_sse_init(&x->sse, up->spec.message);
    if (x->initialize && v->session.p != NULL && status == 200) {
        wbi_free(up->session);
        up->session = wbi_strdup(v->session);
    }
    if (v->event_stream && status == 200) {
        while (wbi_sse_next(&sse, &bytes, &data))
            wbi_up_message(up, x->call, data);
    } else if (done && failure == NULL && status != 404 && bytes.n > 0) {
        wbi_up_message(up, x->call, bytes);
    }
    x->transfer = t;
    wbi_sse_fini(&x->sse);
    x->sse = sse;
    if (!done && x->call != NULL)
        return;
    call = x->call;
    if (call != NULL && call->id != id)
        call = NULL; /* it has gone on to another round */
    if (x->call != NULL)
        x->call->exchange = NULL;
    x->call = NULL;
    drop(x);
    if (done)
        settle(up, call, status, failure);
}

static void add_line(struct wbi_str *lines, size_t *n, struct wbi_str line)
{
    if (*n < MAX_HEADERS && line.p != NULL)
        lines[(*n)++] = line;
}

/* Header lines of the message; text that must be made goes into arena. */
static size_t make_headers(struct wbi_upstream *up, const struct wbi_upstream_call *call,
                           struct wbi_arena *arena, struct wbi_str *lines)
{
    bool modern = up->era == WBI_ERA_MODERN;
    struct wbi_str rest = wbi_str_z(call != NULL ? call->param_headers : NULL);
    size_t n = 0;

    add_line(lines, &n, WBI_LIT("Content-Type: application/json"));
    add_line(lines, &n, WBI_LIT("Accept: application/json, text/event-stream"));
    add_line(lines, &n, WBI_LIT("Expect:"));
    for (size_t i = 0; i < up->spec.header_count; i++)
        add_line(lines, &n, up->spec.headers[i]);
    if (modern)
        add_line(lines, &n, WBI_LIT("MCP-Protocol-Version: " WBI_MCP_MODERN));
    else if (up->version[0] != '\0' && (call == NULL || !call->own))
        add_line(lines, &n, wbi_arena_fmt(arena, "MCP-Protocol-Version: %s", up->version));
    if (!modern && up->session != NULL)
        add_line(lines, &n, wbi_arena_fmt(arena, "Mcp-Session-Id: %s", up->session));
    if (!modern || call == NULL)
        return n;
    add_line(lines, &n, wbi_arena_fmt(arena, "Mcp-Method: %s", call->method));
    while (rest.n > 0) {
        size_t end = wbi_str_index(rest, '\n');

        add_line(lines, &n, wbi_str_head(rest, end));
        rest = wbi_str_from(rest, end + 1);
    }
    return n;
}

static wb_rc start_exchange(struct wbi_upstream *up, struct wbi_upstream_call *call,
                            const char *method, struct wbi_str message)
{
    struct wbi_exchange *x = wbi_zalloc(sizeof(*x));
    struct wbi_arena *arena = NULL;
    struct wbi_str lines[MAX_HEADERS];
    struct wbi_transfer_spec spec = {.url = up->spec.url.p,
                                     .method = method,
                                     .body = message,
                                     .max = up->spec.message,
                                     .headers = lines};
    wb_rc rc = x == NULL ? WB_ENOMEM : wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK) {
        wbi_free(x);
        return rc;
    }
    spec.header_count = make_headers(up, call, arena, lines);
    x->up = up;
    x->call = call;
    x->call_id = call != NULL ? call->id : 0;
    x->initialize = call != NULL && strcmp(call->method, "initialize") == 0;
    wbi_sse_init(&x->sse, up->spec.message);
    rc = wbi_transfer_start(up->curl, &spec, on_event, x, &x->transfer);
    wbi_arena_free(arena);
    if (rc != WB_OK) {
        wbi_free(x);
        return rc;
    }
    x->next = up->exchanges;
    x->prev = &up->exchanges;
    if (x->next != NULL)
        x->next->prev = &x->next;
    *x->prev = x;
    if (call != NULL && call->exchange != NULL)
        call->exchange->call = NULL; /* the call goes on here */
    if (call != NULL)
        call->exchange = x;
    return WB_OK;
}

static wb_rc send_message(struct wbi_upstream *up, struct wbi_upstream_call *call,
                          struct wbi_str message)
{
    return start_exchange(up, call, "POST", message);
}

static wb_rc open_link(struct wbi_upstream *up, struct wbi_error *err)
{
    (void)err;
    up->version[0] = '\0';
    return WB_OK; /* connections come with the first message */
}

static void on_bye(void *arg, struct wbi_transfer *t, const struct wbi_transfer_view *v)
{
    (void)arg;
    if (v->done)
        wbi_transfer_free(t);
}

/* A session we opened is ended by us; nobody waits for the answer. */
static void end_session(struct wbi_upstream *up)
{
    struct wbi_arena *arena = NULL;
    struct wbi_str lines[MAX_HEADERS];
    struct wbi_transfer_spec spec = {
        .url = up->spec.url.p, .method = "DELETE", .max = up->spec.message, .headers = lines};
    struct wbi_transfer *t;

    if (up->session == NULL || wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return;
    spec.header_count = make_headers(up, NULL, arena, lines);
    if (wbi_transfer_start(up->curl, &spec, on_bye, NULL, &t) != WB_OK)
        t = NULL; /* it will end by idleness */
    wbi_arena_free(arena);
    wbi_free(up->session);
    up->session = NULL;
}

static void close_link(struct wbi_upstream *up)
{
    struct wbi_exchange *x = up->exchanges;

    end_session(up);
    for (struct wbi_exchange *next; x != NULL; x = next) {
        next = x->next;
        if (x->transfer != NULL) /* else it is in the middle of its event */
            drop(x);
    }
}

const struct wbi_upstream_link wbi_link_http = {open_link, send_message, forget, close_link};
