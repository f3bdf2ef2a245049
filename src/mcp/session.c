/* SPDX-License-Identifier: Apache-2.0
 * mcp/session.c: the server object, sessions, and news for whoever watches.
 * (1) A session has an owner (its principal), a limit and an end: by the client,
 *     by idleness, or to make room when all are taken.
 * (2) One message goes out on one stream only. */

#include "base/alloc.h"
#include "base/hash.h"
#include "json/write.h"
#include "mcp/server_int.h"

#define TICK_MS 1000
#define END_TICK_MS 50 /* while everything ends */

wb_rc wbi_mcp_server_new(struct wbi_loop *loop, const struct wbi_mcp_options *options,
                         const struct wbi_mcp_ops *ops, void *arg, struct wbi_mcp_server **ret,
                         struct wbi_error *err)
{
    struct wbi_mcp_server *s = wbi_zalloc(sizeof(*s));

    if (s == NULL)
        return wbi_fail_nomem(err);
    s->loop = loop;
    s->o = *options;
    s->ops = *ops;
    s->arg = arg;
    if (s->o.page == 0)
        s->o.page = WBI_LIMIT_MCP_PAGE;
    if (s->o.ttl_ms == 0)
        s->o.ttl_ms = WBI_MCP_TTL_MS;
    if (s->o.sessions == 0)
        s->o.sessions = WBI_LIMIT_MCP_SESSIONS;
    if (s->o.clock.mono_ns == NULL)
        s->o.clock = wbi_clock_system();
    if (s->o.ids.fill == NULL)
        s->o.ids = wbi_ids_system();
    if (wbi_timer_new(loop, wbi_mcp_on_tick, s, &s->timer) != WB_OK) {
        wbi_free(s);
        return wbi_fail_nomem(err);
    }
    *ret = s;
    return WB_OK;
}

/* Our end is no break of the stream: its request has an answer. */
static void end_listening(struct wbi_mcp_request *r)
{
    struct wbi_str result = wbi_arena_fmt(
        r->arena, "{\"_meta\":{\"" WBI_META "subscriptionId\":%.*s}}", WBI_FMT(r->id));

    if (result.p != NULL)
        wbi_mcp_reply(r, result);
    else
        wbi_request_cancel(r);
}

/* Asked to end, like a cancelled one, but what comes of it is still answered. */
static void stop_request(struct wbi_mcp_request *r)
{
    struct wbi_mcp_server *s = r->server;

    if (r->stopped || r->cancelled)
        return;
    r->stopped = true;
    if (s->ops.cancel != NULL)
        s->ops.cancel(s->arg, r);
}

static void end_idle_sessions(struct wbi_mcp_server *s)
{
    for (struct wbi_mcp_session *at = s->sessions, *next; at != NULL; at = next) {
        next = at->next;
        if (at->stdio == NULL && at->requests == NULL)
            wbi_session_end(at);
    }
}

/* Those that have no request now; the others on a tick, when they have none any more. */
static void end_sessions(struct wbi_mcp_server *s)
{
    s->ending = true;
    end_idle_sessions(s);
    if (s->sessions != NULL) {
        s->ticking = true;
        wbi_timer_start(s->timer, END_TICK_MS);
    }
}

void wbi_mcp_server_stop(struct wbi_mcp_server *s)
{
    for (struct wbi_mcp_request *r = s->requests, *next; r != NULL; r = next) {
        r->refs++; /* ending may free it */
        if (r->phase == WBI_REQ_LISTENING)
            end_listening(r);
        else if (r->phase == WBI_REQ_RUNNING && r->handed)
            stop_request(r);
        else
            wbi_request_cancel(r);
        next = r->next;
        wbi_request_unref(r);
    }
    end_sessions(s);
}

void wbi_mcp_server_quiet(struct wbi_mcp_server *s)
{
    for (struct wbi_mcp_request *r = s->requests, *next; r != NULL; r = next) {
        r->refs++; /* ending may free it */
        if (r->phase == WBI_REQ_LISTENING)
            end_listening(r);
        next = r->next;
        wbi_request_unref(r);
    }
    end_sessions(s);
}

void wbi_mcp_server_free(struct wbi_mcp_server *s)
{
    if (s == NULL)
        return;
    while (s->sessions != NULL)
        wbi_session_end(s->sessions);
    wbi_timer_free(s->timer);
    wbi_buf_fini(&s->spare);
    wbi_free(s);
}

size_t wbi_mcp_server_busy(const struct wbi_mcp_server *s)
{
    return s->busy;
}

uint64_t wbi_session_stream(const struct wbi_mcp_session *session)
{
    for (size_t i = 0; i < WBI_LIMIT_MCP_STREAMS; i++) {
        if (session->streams[i] != 0)
            return session->streams[i];
    }
    return 0;
}

bool wbi_session_listens(const struct wbi_mcp_session *session)
{
    return wbi_session_stream(session) != 0;
}

/* Who listens is there; who does not may have left long ago. */
static bool idler(const struct wbi_mcp_session *a, const struct wbi_mcp_session *b)
{
    return wbi_session_listens(a) != wbi_session_listens(b) ? wbi_session_listens(b)
                                                            : a->used_ns < b->used_ns;
}

/* The session unused for longest, of those that have no request. */
static struct wbi_mcp_session *idlest(struct wbi_mcp_server *s)
{
    struct wbi_mcp_session *found = NULL;

    for (struct wbi_mcp_session *at = s->sessions; at != NULL; at = at->next) {
        if (at->stdio == NULL && at->requests == NULL && (found == NULL || idler(at, found)))
            found = at;
    }
    return found;
}

static struct wbi_mcp_session **bucket_of(struct wbi_mcp_server *s, struct wbi_str id)
{
    return &s->sessions_by_id[wbi_hash64(id.p, id.n, 0) % 64];
}

struct wbi_mcp_session *wbi_session_new(struct wbi_mcp_server *s, struct wbi_str principal,
                                        struct wbi_mcp_stdio *stdio)
{
    struct wbi_mcp_session *n, *idle;

    if (stdio == NULL && s->session_count >= s->o.sessions) {
        idle = idlest(s);
        if (idle == NULL)
            return NULL;
        wbi_session_end(idle);
    }
    n = wbi_zalloc(sizeof(*n));
    if (n == NULL)
        return NULL;
    n->principal = wbi_strdup(principal.p != NULL ? principal : WBI_LIT(""));
    if (n->principal == NULL) {
        wbi_free(n);
        return NULL;
    }
    n->server = s;
    n->stdio = stdio;
    wbi_id_uuid(&s->o.ids, n->id);
    n->id_n = strlen(n->id);
    n->used_ns = wbi_now_ns(&s->o.clock);
    n->next = s->sessions;
    s->sessions = n;
    n->next_by_id = *bucket_of(s, wbi_str_make(n->id, n->id_n));
    *bucket_of(s, wbi_str_make(n->id, n->id_n)) = n;
    s->session_count += stdio == NULL;
    wbi_mcp_tick_on(s);
    return n;
}

/* NULL for an unknown id and for another's alike. */
struct wbi_mcp_session *wbi_session_find(struct wbi_mcp_server *s, struct wbi_str id,
                                         struct wbi_str principal, int64_t now_ns)
{
    for (struct wbi_mcp_session *at = *bucket_of(s, id); at != NULL; at = at->next_by_id) {
        if (id.n == at->id_n && memcmp(id.p, at->id, id.n) == 0 && at->stdio == NULL &&
            wbi_str_eqz(principal, at->principal)) {
            at->used_ns = now_ns;
            return at;
        }
    }
    return NULL;
}

void wbi_session_end(struct wbi_mcp_session *session)
{
    struct wbi_mcp_server *s = session->server;
    struct wbi_mcp_session **at = &s->sessions;

    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    for (at = bucket_of(s, wbi_str_make(session->id, session->id_n)); *at != session;)
        at = &(*at)->next_by_id;
    *at = session->next_by_id;
    s->session_count -= session->stdio == NULL;
    wbi_trails_drop(session);
    while (session->requests != NULL) {
        struct wbi_mcp_request *r = session->requests;

        wbi_request_leave(r);
        r->refs++;
        wbi_request_cancel(r);
        wbi_request_unref(r);
    }
    for (size_t i = 0; i < WBI_LIMIT_MCP_STREAMS; i++) {
        if (session->streams[i] != 0)
            wbi_http_end(s->http, session->streams[i], WBI_NONE);
    }
    while (session->uri_count > 0)
        wbi_session_unwatch(session, wbi_str_z(session->uris[0]));
    if (s->ops.ended != NULL)
        s->ops.ended(s->arg, wbi_str_make(session->id, session->id_n));
    wbi_free(session->principal);
    wbi_free(session);
}

void wbi_session_notify(struct wbi_mcp_session *session, struct wbi_str message)
{
    if (!session->open)
        return;
    if (session->stdio != NULL)
        wbi_stdio_write(session->stdio, message);
    else if (wbi_session_listens(session))
        wbi_request_sse(session->server->http, wbi_session_stream(session), message);
}

/* On a stream of the session's own, or else of one of its requests. */
static void tell_client(struct wbi_mcp_session *session, struct wbi_str message)
{
    struct wbi_mcp_request *r = session->requests;

    if (session->stdio != NULL || wbi_session_listens(session)) {
        wbi_session_notify(session, message);
        return;
    }
    while (r != NULL && (r->http_id == 0 || r->phase != WBI_REQ_RUNNING || r->cancelled))
        r = r->session_next;
    if (r != NULL)
        wbi_request_emit(r, message);
}

void wbi_mcp_elicited(struct wbi_mcp_server *s, struct wbi_str conversation, struct wbi_str id)
{
    struct wbi_mcp_session *at = *bucket_of(s, conversation);
    struct wbi_buf params, b;

    while (at != NULL && !wbi_str_eq(wbi_str_make(at->id, at->id_n), conversation))
        at = at->next_by_id;
    if (at == NULL)
        return;
    wbi_buf_init(&params, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_addz(&params, "{\"elicitationId\":");
    wbi_json_quote(&params, id);
    wbi_buf_addc(&params, '}');
    wbi_rpc_put_call(&b, WBI_NONE, "notifications/elicitation/complete", wbi_buf_str(&params));
    if (wbi_buf_rc(&params) == WB_OK && wbi_buf_rc(&b) == WB_OK)
        tell_client(at, wbi_buf_str(&b));
    wbi_buf_fini(&params);
    wbi_buf_fini(&b);
}

bool wbi_mcp_tell_watch(struct wbi_mcp_server *s, struct wbi_str uri, bool on)
{
    return s->ops.subscribed == NULL || s->ops.subscribed(s->arg, uri, on);
}

static bool watches(const struct wbi_mcp_session *session, struct wbi_str uri)
{
    for (size_t i = 0; i < session->uri_count; i++) {
        if (wbi_str_eqz(uri, session->uris[i]))
            return true;
    }
    return false;
}

const char *wbi_session_watch(struct wbi_mcp_session *session, struct wbi_str uri)
{
    char *copy;

    if (watches(session, uri))
        return NULL;
    if (session->uri_count == WBI_LIMIT_MCP_SUBSCRIPTIONS)
        return "too many subscriptions in this session";
    copy = wbi_strdup(uri);
    if (copy == NULL)
        return "out of memory";
    if (!wbi_mcp_tell_watch(session->server, uri, true)) {
        wbi_free(copy);
        return "no server here can tell when this resource changes";
    }
    session->uris[session->uri_count++] = copy;
    return NULL;
}

void wbi_session_unwatch(struct wbi_mcp_session *session, struct wbi_str uri)
{
    for (size_t i = 0; i < session->uri_count; i++) {
        char *gone = session->uris[i];

        if (wbi_str_eqz(uri, gone)) {
            session->uris[i] = session->uris[--session->uri_count];
            (void)wbi_mcp_tell_watch(session->server, wbi_str_z(gone), false);
            wbi_free(gone);
            return;
        }
    }
}

void wbi_mcp_tick_on(struct wbi_mcp_server *s)
{
    if (s->ticking)
        return;
    s->ticking = true;
    wbi_timer_start(s->timer, s->ending ? END_TICK_MS : TICK_MS);
}

/* Comments keep quiet streams open through proxies. */
static void keep_streams_alive(struct wbi_mcp_server *s, int64_t now)
{
    static const struct wbi_str comment = WBI_LIT_INIT(WBI_SSE_COMMENT);

    if (now < s->keep_alive_ns)
        return;
    s->keep_alive_ns = now + WBI_MCP_KEEP_ALIVE_MS * WBI_NS_PER_MS;
    for (struct wbi_mcp_session *at = s->sessions; at != NULL; at = at->next) {
        for (size_t i = 0; i < WBI_LIMIT_MCP_STREAMS; i++) {
            if (at->streams[i] != 0)
                wbi_http_send(s->http, at->streams[i], comment);
        }
    }
    for (struct wbi_mcp_request *r = s->requests, *next; r != NULL; r = next) {
        r->refs++; /* a client found gone cancels it */
        if (r->streaming && r->http_id != 0 && r->phase != WBI_REQ_DONE)
            wbi_http_send(r->http, r->http_id, comment);
        next = r->next;
        wbi_request_unref(r);
    }
}

/* Whoever waits long, or something between that waits no longer, is told that it is at work. */
static void open_slow_streams(struct wbi_mcp_server *s, int64_t now)
{
    for (struct wbi_mcp_request *r = s->requests, *next; r != NULL; r = next) {
        r->refs++; /* as above */
        if ((r->session == NULL || r->session->open) && r->http_id != 0 && !r->streaming &&
            r->phase == WBI_REQ_RUNNING && now - r->begun_ns >= WBI_MCP_SLOW_MS * WBI_NS_PER_MS)
            wbi_request_open_stream(r);
        next = r->next;
        wbi_request_unref(r);
    }
}

void wbi_mcp_on_tick(void *arg)
{
    struct wbi_mcp_server *s = arg;
    int64_t now = wbi_now_ns(&s->o.clock);

    s->ticking = false;
    if (s->ending)
        end_idle_sessions(s);
    for (struct wbi_mcp_session *at = s->sessions, *next; at != NULL; at = next) {
        next = at->next;
        if (at->stdio == NULL && at->requests == NULL && !wbi_session_listens(at) &&
            now - at->used_ns > WBI_MCP_SESSION_IDLE_MS * WBI_NS_PER_MS)
            wbi_session_end(at);
    }
    for (struct wbi_mcp_request *r = s->requests, *next; r != NULL; r = next) {
        next = r->next;
        if (r->phase == WBI_REQ_PARKED && now >= r->expires_ns) {
            wbi_request_cancel(r);
            break; /* the list may have changed; the rest is for the next tick */
        }
    }
    for (struct wbi_mcp_session *at = s->sessions; at != NULL; at = at->next)
        wbi_trails_expire(at, now);
    keep_streams_alive(s, now);
    open_slow_streams(s, now);
    if (s->sessions != NULL || s->requests != NULL)
        wbi_mcp_tick_on(s);
}

/* One message for a listening stream, marked with its request's id. */
static void tell_listener(struct wbi_mcp_request *r, const char *method, struct wbi_str uri)
{
    struct wbi_buf params, b;
    struct wbi_jw w;

    wbi_buf_init(&params, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    w = wbi_jw_to(&params);
    wbi_jw_obj(&w);
    if (uri.p != NULL)
        wbi_jw_kstr(&w, "uri", uri);
    wbi_jw_key(&w, "_meta");
    wbi_jw_obj(&w);
    wbi_jw_kraw(&w, WBI_META "subscriptionId", r->id);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    wbi_rpc_put_call(&b, WBI_NONE, method, wbi_buf_str(&params));
    if (wbi_buf_rc(&b) == WB_OK && wbi_buf_rc(&params) == WB_OK)
        wbi_request_emit(r, wbi_buf_str(&b));
    wbi_buf_fini(&params);
    wbi_buf_fini(&b);
}

static bool listens_to_uri(const struct wbi_mcp_request *r, struct wbi_str uri)
{
    WBI_JSON_EACH (r->wants_uris, e) {
        if (wbi_str_eq(wbi_json_str(e), uri))
            return true;
    }
    return false;
}

/* what < 0: the resource was updated */
static void tell_all(struct wbi_mcp_server *s, const char *method, int what, struct wbi_str uri)
{
    struct wbi_buf params, b;

    wbi_buf_init(&params, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    if (uri.p != NULL) {
        wbi_buf_addz(&params, "{\"uri\":");
        wbi_json_quote(&params, uri);
        wbi_buf_addc(&params, '}');
    }
    wbi_rpc_put_call(&b, WBI_NONE, method, uri.p != NULL ? wbi_buf_str(&params) : WBI_NONE);
    for (struct wbi_mcp_session *at = s->sessions; at != NULL; at = at->next) {
        if (wbi_buf_rc(&b) == WB_OK && (what >= 0 || watches(at, uri)))
            wbi_session_notify(at, wbi_buf_str(&b));
    }
    for (struct wbi_mcp_request *r = s->requests, *next; r != NULL; r = next) {
        r->refs++;
        if (r->phase == WBI_REQ_LISTENING && (what >= 0 ? r->wants[what] : listens_to_uri(r, uri)))
            tell_listener(r, method, uri);
        next = r->next;
        wbi_request_unref(r);
    }
    wbi_buf_fini(&params);
    wbi_buf_fini(&b);
}

void wbi_mcp_list_changed(struct wbi_mcp_server *s, enum wbi_mcp_list what)
{
    static const char *const methods[] = {
        [WBI_MCP_TOOLS] = "notifications/tools/list_changed",
        [WBI_MCP_RESOURCES] = "notifications/resources/list_changed",
        [WBI_MCP_TEMPLATES] = "notifications/resources/list_changed",
        [WBI_MCP_PROMPTS] = "notifications/prompts/list_changed",
    };

    tell_all(s, methods[what], what == WBI_MCP_TEMPLATES ? WBI_MCP_RESOURCES : (int)what, WBI_NONE);
}

void wbi_mcp_resource_updated(struct wbi_mcp_server *s, struct wbi_str uri)
{
    tell_all(s, "notifications/resources/updated", -1, uri);
}
