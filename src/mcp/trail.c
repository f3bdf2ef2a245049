/* SPDX-License-Identifier: Apache-2.0
 * mcp/trail.c: what a call has said on its stream, for a client whose connection broke.
 * Up to 2025-11-25 a call goes on without its client, which may come back by GET with the id
 * of the last event it has read and is told the rest. An event's id is the stream's number in
 * its session and the event's in the stream: "3-12".
 * (1) A trail belongs to its session and ends with it. (2) What was sent whole, most probably
 * read, gives way first; a call's messages give way to newer ones, never to keep its answer. */
#include "base/alloc.h"
#include "mcp/server_int.h"

struct said {
    struct said *next;
    uint64_t number;
    size_t n;
    char text[]; /* the whole event */
};

struct wbi_mcp_trail {
    struct wbi_mcp_trail *next; /* of the session, newest first */
    struct wbi_mcp_session *session;
    struct wbi_mcp_request *r; /* NULL: it has been answered */
    uint64_t serial, number;   /* number: of the newest event */
    struct said *first, **end;
    size_t bytes;
    bool sent; /* answered, to a client that was there */
    int64_t expires_ns;
};

static void forget_first(struct wbi_mcp_trail *t)
{
    struct said *e = t->first;

    t->first = e->next;
    if (t->first == NULL)
        t->end = &t->first;
    t->bytes -= e->n;
    t->session->server->trail_bytes -= e->n;
    wbi_free(e);
}

static void free_trail(struct wbi_mcp_trail *t)
{
    struct wbi_mcp_trail **at = &t->session->trails;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    while (t->first != NULL)
        forget_first(t);
    if (t->r != NULL)
        t->r->trail = NULL;
    wbi_free(t);
}

void wbi_trail_begin(struct wbi_mcp_request *r)
{
    struct wbi_mcp_trail *t;

    if (r->trail != NULL || r->session == NULL || r->http == NULL || r->era != WBI_ERA_LEGACY)
        return;
    t = wbi_zalloc(sizeof(*t));
    if (t == NULL)
        return; /* a stream that cannot be taken up again, as before any could be */
    t->session = r->session;
    t->r = r;
    t->serial = ++r->session->trail_serial;
    t->end = &t->first;
    t->next = r->session->trails;
    r->session->trails = t;
    r->trail = t;
}

void wbi_trail_put_id(const struct wbi_mcp_request *r, struct wbi_buf *out)
{
    if (r->trail != NULL)
        wbi_buf_addf(out, "id: %llu-%llu\n", (unsigned long long)r->trail->serial,
                     (unsigned long long)r->trail->number);
}

void wbi_trail_put_next_id(struct wbi_mcp_request *r, struct wbi_buf *out)
{
    if (r->trail != NULL)
        r->trail->number++;
    wbi_trail_put_id(r, out);
}

/* Of two that have been answered, the one that is missed less. */
static bool gives_way_before(const struct wbi_mcp_trail *a, const struct wbi_mcp_trail *b)
{
    return a->sent != b->sent ? a->sent : a->expires_ns < b->expires_ns;
}

static struct wbi_mcp_trail *first_to_go(struct wbi_mcp_session *session,
                                         struct wbi_mcp_trail *found)
{
    for (struct wbi_mcp_trail *t = session->trails; t != NULL; t = t->next) {
        if (t->r == NULL && (found == NULL || gives_way_before(t, found)))
            found = t;
    }
    return found;
}

/* False: n bytes are too many beside what calls under way have said. */
static bool make_room(struct wbi_mcp_server *s, size_t n)
{
    struct wbi_mcp_trail *gone;

    if (n > WBI_LIMIT_MCP_TRAILS)
        return false;
    while (s->trail_bytes > WBI_LIMIT_MCP_TRAILS - n) {
        gone = NULL;
        for (struct wbi_mcp_session *at = s->sessions; at != NULL; at = at->next)
            gone = first_to_go(at, gone);
        if (gone == NULL)
            return false;
        free_trail(gone);
    }
    return true;
}

static bool keep(struct wbi_mcp_trail *t, struct wbi_str event)
{
    struct said *e =
        make_room(t->session->server, event.n) ? wbi_alloc(sizeof(*e) + event.n) : NULL;

    if (e == NULL)
        return false;
    e->next = NULL;
    e->number = t->number;
    e->n = event.n;
    memcpy(e->text, event.p, event.n);
    *t->end = e;
    t->end = &e->next;
    t->bytes += e->n;
    t->session->server->trail_bytes += e->n;
    return true;
}

void wbi_trail_keep(struct wbi_mcp_request *r, struct wbi_str event)
{
    struct wbi_mcp_trail *t = r->trail;

    if (t == NULL || event.n > WBI_LIMIT_MCP_TRAIL || !keep(t, event))
        return;
    while (t->bytes > WBI_LIMIT_MCP_TRAIL)
        forget_first(t);
}

/* So that the newest answers of a session are kept, whatever else it does. */
static void bound(struct wbi_mcp_session *session)
{
    size_t n = 0;

    for (struct wbi_mcp_trail *t = session->trails; t != NULL; t = t->next)
        n += t->r == NULL;
    if (n > WBI_LIMIT_MCP_KEPT)
        free_trail(first_to_go(session, NULL));
}

void wbi_trail_end(struct wbi_mcp_request *r, struct wbi_str event, bool sent)
{
    struct wbi_mcp_trail *t = r->trail;
    int64_t ms = sent ? WBI_MCP_SENT_MS : WBI_MCP_PARKED_MS;

    if (t == NULL)
        return;
    if (!keep(t, event)) { /* without its answer it is no use */
        free_trail(t);
        return;
    }
    r->trail = NULL;
    t->r = NULL;
    t->sent = sent;
    t->expires_ns = wbi_now_ns(&r->server->o.clock) + ms * WBI_NS_PER_MS;
    bound(t->session);
}

void wbi_trail_drop(struct wbi_mcp_request *r)
{
    if (r->trail != NULL)
        free_trail(r->trail);
}

void wbi_trails_drop(struct wbi_mcp_session *session)
{
    while (session->trails != NULL)
        free_trail(session->trails);
}

void wbi_trails_expire(struct wbi_mcp_session *session, int64_t now_ns)
{
    for (struct wbi_mcp_trail *t = session->trails, *next; t != NULL; t = next) {
        next = t->next;
        if (t->r == NULL && now_ns >= t->expires_ns)
            free_trail(t);
    }
}

static struct wbi_mcp_trail *find(const struct wbi_mcp_session *session, struct wbi_str last,
                                  uint64_t *ret_number)
{
    size_t dash = wbi_str_index(last, '-');
    struct wbi_mcp_trail *t = session->trails;
    uint64_t serial;

    if (dash == last.n || !wbi_parse_u64(wbi_str_head(last, dash), &serial) ||
        !wbi_parse_u64(wbi_str_from(last, dash + 1), ret_number))
        return NULL;
    while (t != NULL && t->serial != serial)
        t = t->next;
    return t != NULL && *ret_number <= t->number ? t : NULL;
}

/* The client is back, perhaps before it was noticed that it had gone. */
static void go_on(struct wbi_mcp_request *r, uint64_t id, struct wbi_str rest)
{
    uint64_t before = r->http_id;

    r->refs++; /* a client found gone again may be asked elsewhere, or nobody */
    r->http_id = id;
    wbi_http_set_user(r->http, id, r); /* first: it may be gone by then */
    wbi_http_stream(r->http, id, &wbi_sse_head);
    if (before != 0) {
        wbi_http_set_user(r->http, before, NULL);
        wbi_http_end(r->http, before, WBI_NONE);
        wbi_asks_unheard(r, before);
    }
    if (r->http_id == id)
        wbi_http_send(r->http, id, rest);
    wbi_request_unref(r);
}

bool wbi_trail_resume(struct wbi_mcp_session *session, uint64_t http_id, struct wbi_str last)
{
    struct wbi_http *http = session->server->http;
    struct wbi_mcp_trail *t;
    struct wbi_buf rest;
    uint64_t number;

    t = find(session, last, &number);
    if (t == NULL)
        return false;
    wbi_buf_init(&rest, WBI_LIMIT_HTTP_ANSWER);
    for (const struct said *e = t->first; e != NULL; e = e->next) {
        if (e->number > number)
            wbi_buf_add(&rest, e->text, e->n);
    }
    if (wbi_buf_rc(&rest) != WB_OK) {
        wbi_buf_fini(&rest);
        return false;
    }
    if (t->r != NULL) {
        go_on(t->r, http_id, wbi_buf_str(&rest));
    } else {
        wbi_http_stream(http, http_id, &wbi_sse_head);
        wbi_http_end(http, http_id, wbi_buf_str(&rest));
    }
    wbi_buf_fini(&rest);
    return true;
}
