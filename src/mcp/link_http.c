/* SPDX-License-Identifier: Apache-2.0
 * mcp/link_http.c: a server behind a URL: each message is a POST of its own,
 * answered by one JSON text or a stream of events.
 * (1) A transfer belongs to at most one call; when the call ends first, the
 *     transfer is dropped, which cancels it in 2026-07-28. (2) Servers of older
 *     revisions may break a stream off and be asked for the rest; what belongs to
 *     no call they send on a stream of its own, which is kept open. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/utf8.h"
#include "mcp/curl.h"
#include "mcp/sse.h"
#include "mcp/upstream_int.h"

#define OWN_HEADERS 7 /* at most, beside those of the configuration and the arguments */

/* One exchange. */
struct wbi_exchange {
    struct wbi_exchange *next, **prev;
    struct wbi_upstream *up;
    struct wbi_upstream_call *call; /* NULL: nobody waits for it */
    uint64_t call_id;
    struct wbi_transfer *transfer; /* NULL: broken off, until `again` */
    struct wbi_timer *again;
    struct wbi_sse sse;
    unsigned breaks;  /* since it last brought something, or held for long */
    int64_t since_ns; /* when its transfer began */
    bool initialize;
    bool in_session;     /* sent as part of one */
    bool news;           /* the stream of what belongs to no call */
    bool inside, closed; /* in its event; to be dropped when that is over */
};

static wb_rc transfer(struct wbi_exchange *x, const char *method, struct wbi_str message);

static void drop(struct wbi_exchange *x)
{
    if (x->inside) {
        x->closed = true;
        return;
    }
    *x->prev = x->next;
    if (x->next != NULL)
        x->next->prev = x->prev;
    if (x->call != NULL)
        x->call->exchange = NULL;
    wbi_transfer_free(x->transfer);
    wbi_timer_free(x->again);
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
    drop(x);
}

/* What a refusal says: servers answer what they cannot read with an error without an id. */
static void put_said(struct wbi_str body, char *out, size_t size)
{
    struct wbi_arena *arena = NULL;
    const wbi_json *v;
    struct wbi_str said = WBI_NONE;

    out[0] = '\0';
    if (body.n == 0 || wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return;
    if (wbi_json_read(arena, body, WBI_JSON_STRICT, &v, NULL) == WB_OK) {
        said = wbi_json_get_str(wbi_json_get(v, "error"), "message");
        if (said.p == NULL)
            said = wbi_json_get_str(v, "error_description");
    }
    said = wbi_str_trim(said);
    said.n = wbi_utf8_cut_whole_words(said, size - 1);
    for (size_t i = 0; i < said.n; i++)
        out[i] = (unsigned char)said.p[i] < ' ' ? ' ' : said.p[i];
    out[said.n] = '\0';
    wbi_arena_free(arena);
}

/* What to do about a status that is no passing trouble. */
static const char *advice(long status)
{
    if (status >= 300 && status < 400)
        return ": a redirect, which is not followed; put the address it leads to into its url";
    if (status == 401)
        return ": it wants a credential; put one into its headers";
    return status == 404 ? ": there is nothing at its url" : " and no result";
}

/* A status that says more than any body: the call was turned away. */
static bool turns_away(long status)
{
    return status == 401 || status == 403 || status == 429 || status == 503;
}

/* Outside of a session 404 is the status of methods that are not there. */
static bool lost_session(const struct wbi_exchange *x, const struct wbi_transfer_view *v)
{
    return x->in_session && v->failure == NULL && v->status == 404;
}

/* What the end of an exchange means for the call that was sent with it. */
static void settle(struct wbi_upstream *up, struct wbi_upstream_call *call,
                   const struct wbi_transfer_view *v, bool lost)
{
    char why[256], said[120] = "";

    if (lost && !call->own) {
        wbi_up_lost_session(up, call);
        return;
    }
    if (v->status >= 400)
        put_said(v->bytes, said, sizeof(said));
    if (v->failure != NULL)
        (void)snprintf(why, sizeof(why), "the server cannot be reached: %s", v->failure);
    else
        (void)snprintf(why, sizeof(why), "the server answered with HTTP status %ld%s%s", v->status,
                       said[0] != '\0' ? ": " : advice(v->status), said);
    if (v->failure == NULL && v->status == 400 && wbi_up_refused(up, call, v->bytes, why))
        return;
    /* A 503 that gives a reason or a time is the server's own; another may come from a
     * proxy whose connection broke when the server was at it. */
    if (call->rounds == 0 &&
        (v->unsent || (v->status == 503 && (said[0] != '\0' || v->retry_after_ms > 0))))
        call->sent = false; /* and so it has done nothing */
    call->status = v->failure == NULL ? v->status : 0;
    call->retry_after_ms = v->retry_after_ms;
    wbi_upstream_call_fail(call, WB_EIO, why);
}

/* The rest of the call's stream cannot be had. It was taken, whatever the status says: that
 * is about the request for the rest. */
static void leave(struct wbi_upstream_call *call, const struct wbi_transfer_view *v)
{
    char why[256];

    if (v->failure != NULL)
        (void)snprintf(why, sizeof(why), "the rest of the answer cannot be had: %s", v->failure);
    else
        (void)snprintf(why, sizeof(why),
                       "the rest of the answer cannot be had: the server answered with HTTP "
                       "status %ld",
                       v->status);
    wbi_upstream_call_fail(call, WB_EIO, why);
}

/* Ends the exchange, and with it the call that still waits for it. */
static void end(struct wbi_exchange *x, const struct wbi_transfer_view *v)
{
    struct wbi_upstream *up = x->up;
    struct wbi_upstream_call *call = x->call;
    bool asked = x->again == NULL, lost = lost_session(x, v);

    if (call != NULL && call->id != x->call_id)
        call = NULL; /* it has gone on to another round */
    drop(x);
    if (call != NULL && asked)
        settle(up, call, v, lost);
    else if (call != NULL)
        leave(call, v);
}

static void on_again(void *arg)
{
    struct wbi_exchange *x = arg;
    struct wbi_transfer_view failed = {.done = true, .failure = "out of memory"};

    if (transfer(x, "GET", WBI_NONE) != WB_OK)
        end(x, &failed);
}

/* A stream that has ended, or whose rest cannot be had just now. */
static bool broken(const struct wbi_exchange *x, const struct wbi_transfer_view *v)
{
    bool busy = v->status == 429 || (v->status >= 502 && v->status <= 504);

    if (busy)
        return x->news || x->again != NULL; /* not of a call that has yet to be taken */
    return (v->status == 200 && v->event_stream) ||
           (v->failure != NULL && (v->status == 200 || v->status == 0));
}

/* A stream that broke off can be taken up where it was, if it said where that is;
 * the one for news is opened again in any case. Older revisions only. */
static bool come_again(struct wbi_exchange *x, const struct wbi_transfer_view *v)
{
    struct wbi_upstream *up = x->up;
    int64_t ms = x->sse.retry_ms >= 0 ? x->sse.retry_ms : WBI_UPSTREAM_RETRY_MS;

    if (wbi_now_ns(&up->clock) - x->since_ns > WBI_UPSTREAM_BACKOFF_MAX_MS * WBI_NS_PER_MS)
        x->breaks = 0; /* quiet is no fault */
    if (up->era != WBI_ERA_LEGACY || up->state != WBI_UP_READY || !broken(x, v) ||
        x->breaks >= WBI_LIMIT_UPSTREAM_BREAKS ||
        (!x->news && (x->call == NULL || x->call->id != x->call_id || x->sse.last_id[0] == '\0')))
        return false;
    for (unsigned i = 1; i < x->breaks && ms < WBI_UPSTREAM_BACKOFF_MAX_MS; i++)
        ms *= 2;
    x->breaks++;
    wbi_sse_restart(&x->sse);
    wbi_transfer_free(x->transfer);
    x->transfer = NULL;
    if (x->again == NULL && wbi_timer_new(up->loop, on_again, x, &x->again) != WB_OK)
        return false;
    ms = WBI_MAX(WBI_MIN(ms, WBI_UPSTREAM_BACKOFF_MAX_MS), 100);
    wbi_timer_start(x->again, WBI_MAX(ms, v->retry_after_ms));
    return true;
}

/* For an answer or a notification; calls have deadlines, and news may come at any time. */
static bool nobody_waits(const struct wbi_exchange *x)
{
    return x->call == NULL && !x->news;
}

static void on_event(void *arg, struct wbi_transfer *t, const struct wbi_transfer_view *v)
{
    struct wbi_exchange *x = arg;
    struct wbi_upstream *up = x->up;
    struct wbi_str bytes = v->bytes, data;
    bool stream = v->event_stream && v->status == 200;

    (void)t;
    x->inside = true; /* whoever ends the call now must not free us under our feet */
    if (x->initialize && v->session.p != NULL && v->status == 200) {
        wbi_free(up->session);
        up->session = wbi_strdup(v->session);
    }
    while (stream && !x->closed && wbi_sse_next(&x->sse, &bytes, &data)) {
        x->breaks = 0;
        if (data.n > 0) /* else it only tells its id */
            wbi_up_message(up, x->call, data);
    }
    if ((x->sse.too_long > 0 || v->too_large) && x->call != NULL)
        wbi_up_too_large(x->call);
    if (v->done && x->call != NULL && x->again == NULL && v->status >= 400)
        x->call->status = v->status; /* of the call itself, not of the rest of its stream */
    if (!stream && v->done && v->failure == NULL && !lost_session(x, v) && !turns_away(v->status) &&
        bytes.n > 0)
        wbi_up_message(up, x->call, bytes);
    x->inside = false;
    if (x->closed || nobody_waits(x))
        drop(x);
    else if (v->done && !come_again(x, v))
        end(x, v);
}

/* A server that hangs must not hold a descriptor for each thing that it was told: the
 * oldest of too many is given up. */
static void make_room(struct wbi_upstream *up)
{
    struct wbi_exchange *oldest = NULL;
    size_t n = 0;

    for (struct wbi_exchange *x = up->exchanges; x != NULL; x = x->next) {
        if (!nobody_waits(x) || x->inside)
            continue;
        oldest = x;
        n++;
    }
    if (n >= WBI_LIMIT_UPSTREAM_NOTES)
        drop(oldest);
}

struct lines {
    struct wbi_str *at;
    size_t n, room;
    bool failed; /* one could not be made: a request without it would be another */
};

static void add_line(struct lines *l, struct wbi_str line)
{
    if (line.p == NULL || l->n == l->room)
        l->failed = true;
    else
        l->at[l->n++] = line;
}

static size_t count_lines(struct wbi_str text)
{
    size_t n = 0;

    for (; text.n > 0; n++)
        text = wbi_str_from(text, wbi_str_index(text, '\n') + 1);
    return n;
}

/* Header lines of the message (x NULL: of the end of the session), in arena. */
static wb_rc make_headers(struct wbi_upstream *up, const struct wbi_exchange *x,
                          struct wbi_arena *arena, struct wbi_transfer_spec *spec)
{
    const struct wbi_upstream_call *call = x != NULL ? x->call : NULL;
    bool modern = up->era == WBI_ERA_MODERN, post = spec->body.p != NULL;
    struct wbi_str rest = wbi_str_z(call != NULL && modern ? call->param_headers : NULL);
    struct lines l = {.room = OWN_HEADERS + up->spec.header_count + count_lines(rest)};

    l.at = wbi_arena_array(arena, l.room, sizeof(*l.at));
    if (l.at == NULL)
        return WB_ENOMEM;
    if (post)
        add_line(&l, WBI_LIT("Content-Type: application/json"));
    add_line(&l, post ? WBI_LIT("Accept: application/json, text/event-stream")
                      : WBI_LIT("Accept: text/event-stream"));
    add_line(&l, WBI_LIT("Expect:"));
    for (size_t i = 0; i < up->spec.header_count; i++)
        add_line(&l, up->spec.headers[i]);
    if (modern)
        add_line(&l, WBI_LIT("MCP-Protocol-Version: " WBI_MCP_MODERN));
    else if (up->version[0] != '\0') /* known once it is open */
        add_line(&l, wbi_arena_fmt(arena, "MCP-Protocol-Version: %s", up->version));
    if (!modern && up->session != NULL)
        add_line(&l, wbi_arena_fmt(arena, "Mcp-Session-Id: %s", up->session));
    if (x != NULL && x->sse.last_id[0] != '\0')
        add_line(&l, wbi_arena_fmt(arena, "Last-Event-ID: %s", x->sse.last_id));
    if (modern && call != NULL)
        add_line(&l, wbi_arena_fmt(arena, "Mcp-Method: %s", call->method));
    while (rest.n > 0) {
        size_t end_of_line = wbi_str_index(rest, '\n');

        add_line(&l, wbi_str_head(rest, end_of_line));
        rest = wbi_str_from(rest, end_of_line + 1);
    }
    spec->headers = l.at;
    spec->header_count = l.n;
    return l.failed ? WB_ENOMEM : WB_OK;
}

static wb_rc transfer(struct wbi_exchange *x, const char *method, struct wbi_str message)
{
    struct wbi_upstream *up = x->up;
    struct wbi_arena *arena = NULL;
    struct wbi_transfer_spec spec = {.url = up->spec.url.p,
                                     .method = method,
                                     .body = message,
                                     .max = up->spec.message,
                                     .most_ms = nobody_waits(x) ? WBI_UPSTREAM_NOTE_MS : 0};
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return rc;
    x->since_ns = wbi_now_ns(&up->clock);
    rc = make_headers(up, x, arena, &spec);
    if (rc == WB_OK)
        rc = wbi_transfer_start(up->curl, &spec, on_event, x, &x->transfer);
    wbi_arena_free(arena);
    return rc;
}

/* message absent: the stream for news. */
static wb_rc start_exchange(struct wbi_upstream *up, struct wbi_upstream_call *call,
                            struct wbi_str message)
{
    struct wbi_exchange *x = wbi_zalloc(sizeof(*x));
    wb_rc rc;

    if (x == NULL)
        return WB_ENOMEM;
    x->up = up;
    x->call = call;
    x->call_id = call != NULL ? call->id : 0;
    x->initialize = call != NULL && strcmp(call->method, "initialize") == 0;
    x->news = message.p == NULL;
    x->in_session = up->era == WBI_ERA_LEGACY && up->session != NULL;
    wbi_sse_init(&x->sse, up->spec.message);
    if (nobody_waits(x))
        make_room(up);
    rc = transfer(x, x->news ? "GET" : "POST", message);
    if (rc != WB_OK) {
        wbi_free(x);
        return rc;
    }
    x->next = up->exchanges;
    x->prev = &up->exchanges;
    if (x->next != NULL)
        x->next->prev = &x->next;
    *x->prev = x;
    if (call != NULL) { /* it goes on here */
        forget(up, call);
        call->exchange = x;
    }
    return WB_OK;
}

static wb_rc send_message(struct wbi_upstream *up, struct wbi_upstream_call *call,
                          struct wbi_str message)
{
    return start_exchange(up, call, message);
}

/* Without it nothing is lost but news, and questions that come by no call. */
static void open_news(struct wbi_upstream *up)
{
    if (up->era == WBI_ERA_LEGACY)
        (void)!start_exchange(up, NULL, WBI_NONE);
}

static wb_rc open_link(struct wbi_upstream *up, struct wbi_error *err)
{
    (void)err;
    up->version[0] = '\0';
    for (struct wbi_exchange *x = up->exchanges, *next; x != NULL; x = next) {
        next = x->next;
        if (x->news) /* of a session that is no more */
            drop(x);
    }
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
    struct wbi_transfer_spec spec = {.url = up->spec.url.p,
                                     .method = "DELETE",
                                     .max = up->spec.message,
                                     .most_ms = WBI_UPSTREAM_NOTE_MS};
    struct wbi_transfer *t;

    if (up->session == NULL || wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return;
    if (make_headers(up, NULL, arena, &spec) != WB_OK ||
        wbi_transfer_start(up->curl, &spec, on_bye, NULL, &t) != WB_OK)
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
        drop(x);
    }
}

const struct wbi_upstream_link wbi_link_http = {open_link, send_message, forget, close_link,
                                                open_news};
