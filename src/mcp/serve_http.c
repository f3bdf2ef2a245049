/* SPDX-License-Identifier: Apache-2.0
 * mcp/serve_http.c: Streamable HTTP: what a POST, GET or DELETE on the endpoint
 * means in each revision. A request of 2026-07-28 stands alone; older ones live
 * in a session that `initialize` opened. */

#include "mcp/server_int.h"

static void plain(struct wbi_http *http, uint64_t id, int status, const char *extra)
{
    struct wbi_http_response answer = {.status = status, .extra = extra};

    wbi_http_respond(http, id, &answer);
}

/* A JSON-RPC error where no request object exists yet. */
static void refuse(struct wbi_http *http, uint64_t id, int status, struct wbi_str rpc_id, int code,
                   struct wbi_str why)
{
    struct wbi_http_response answer = {.status = status, .type = "application/json"};
    struct wbi_buf b;

    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    wbi_rpc_put_error(&b, rpc_id, code, why, WBI_NONE);
    answer.body = wbi_buf_str(&b);
    wbi_http_respond(http, id, &answer);
    wbi_buf_fini(&b);
}

struct post {
    struct wbi_mcp_server *s;
    struct wbi_http *http;
    const struct wbi_http_request *r;
    struct wbi_str principal;
    struct wbi_arena *arena; /* NULL once a request has it */
    struct wbi_rpc rpc;
};

/* Clients and proxies whose HTTP is traced say so there, whether or not they know MCP. A state
 * may come in several fields; of two parents neither counts. */
static void take_trace(struct wbi_mcp_request *r, const struct wbi_http_request *http)
{
    size_t parents = 0;

    for (size_t i = 0; i < http->header_count; i++) {
        struct wbi_str name = http->headers[i].name, value = http->headers[i].value;

        if (wbi_str_eqz(name, "traceparent"))
            r->trace_parent = ++parents == 1 ? wbi_arena_str(r->arena, value) : WBI_NONE;
        else if (wbi_str_eqz(name, "tracestate") && value.n > 0)
            r->trace_state =
                r->trace_state.n == 0
                    ? wbi_arena_str(r->arena, value)
                    : wbi_arena_fmt(r->arena, "%.*s,%.*s", WBI_FMT(r->trace_state), WBI_FMT(value));
    }
}

static void start(struct post *p, struct wbi_mcp_session *session, bool modern)
{
    struct wbi_mcp_request *r = wbi_request_new(p->s, session, p->arena, &p->rpc);

    p->arena = NULL;
    if (r == NULL) {
        plain(p->http, p->r->id, 503, NULL);
        return;
    }
    r->http = p->http;
    r->http_id = p->r->id;
    r->begun_ns = p->r->now_ns;
    if (session == NULL)
        r->principal = wbi_arena_str(r->arena, p->principal);
    take_trace(r, p->r);
    wbi_mcp_tick_on(p->s); /* it may take its time */
    wbi_http_set_user(p->http, p->r->id, r);
    if (!modern || wbi_modern_accept(r, p->r))
        wbi_mcp_dispatch(r);
}

static void post_modern(struct post *p)
{
    if (p->rpc.kind == WBI_RPC_REQUEST)
        start(p, NULL, true);
    else /* nothing a client could tell or answer outside a request */
        plain(p->http, p->r->id, 202, NULL);
}

/* `initialize` opens a session. */
static void post_initialize(struct post *p)
{
    struct wbi_mcp_session *session = wbi_session_new(p->s, p->principal, NULL);

    if (session == NULL) {
        refuse(p->http, p->r->id, 503, p->rpc.id_text, WBI_RPC_INTERNAL,
               WBI_LIT("too many sessions; end one or try again later"));
        return;
    }
    start(p, session, false);
    if (!session->open)
        wbi_session_end(session); /* it was refused */
}

static struct wbi_mcp_session *session_of(struct post *p)
{
    struct wbi_str id = wbi_http_first(p->r, WBI_HTTP_MCP_SESSION_ID);
    struct wbi_str version = wbi_http_first(p->r, WBI_HTTP_MCP_PROTOCOL_VERSION);
    struct wbi_mcp_session *session;

    if (id.p == NULL) {
        refuse(p->http, p->r->id, 400, p->rpc.id_text, WBI_RPC_INVALID,
               WBI_LIT("Mcp-Session-Id is missing; begin with initialize"));
        return NULL;
    }
    session = wbi_session_find(p->s, id, p->principal, p->r->now_ns);
    if (session == NULL) {
        refuse(p->http, p->r->id, 404, p->rpc.id_text, WBI_RPC_INVALID,
               WBI_LIT("there is no such session (any more); begin with initialize"));
        return NULL;
    }
    if (version.p != NULL && !wbi_era_legacy_version(version)) {
        refuse(p->http, p->r->id, 400, p->rpc.id_text, WBI_RPC_INVALID,
               WBI_LIT("this MCP-Protocol-Version does not fit the session"));
        return NULL;
    }
    return session;
}

static void post_legacy(struct post *p)
{
    struct wbi_mcp_session *session;

    if (p->rpc.kind == WBI_RPC_REQUEST && wbi_str_eqz(p->rpc.method, "initialize") &&
        wbi_http_first(p->r, WBI_HTTP_MCP_SESSION_ID).p == NULL) {
        post_initialize(p);
        return;
    }
    session = session_of(p);
    if (session == NULL)
        return;
    if (p->rpc.kind == WBI_RPC_REQUEST) {
        start(p, session, false);
        return;
    }
    plain(p->http, p->r->id, 202, NULL);
    wbi_mcp_note(p->s, session, &p->rpc);
}

/* What cannot be read may be the answer to a question of the session it names. */
static void post_unreadable(struct post *p, int status, int code, const char *why)
{
    struct wbi_str id = wbi_http_first(p->r, WBI_HTTP_MCP_SESSION_ID);
    struct wbi_mcp_session *session =
        id.p != NULL ? wbi_session_find(p->s, id, p->principal, p->r->now_ns) : NULL;
    struct wbi_overlong about = {0};

    wbi_overlong_feed(&about, p->r->body);
    if (session != NULL && wbi_asks_spoil(session, &about))
        p->rpc.id_text = WBI_NONE; /* it is none of the client's */
    refuse(p->http, p->r->id, status, p->rpc.id_text, code, wbi_str_z(why));
}

static bool accepts_both(const struct wbi_http_request *r)
{
    if (wbi_str_eqz(wbi_http_first(r, WBI_HTTP_ACCEPT), "application/json, text/event-stream"))
        return true; /* what nearly every client sends */
    return wbi_http_accepts(r, "application/json", true) &&
           wbi_http_accepts(r, "text/event-stream", true);
}

static void do_post(struct post *p)
{
    const struct wbi_http_request *r = p->r;
    int code = 0;
    wb_rc rc;
    WBI_ERROR_HERE(err);

    if (!wbi_http_is_type(r, "application/json")) {
        refuse(p->http, r->id, 415, WBI_NONE, WBI_RPC_INVALID,
               WBI_LIT("Content-Type must be application/json"));
        return;
    }
    if (!accepts_both(r)) {
        refuse(p->http, r->id, 406, WBI_NONE, WBI_RPC_INVALID,
               WBI_LIT("Accept must list application/json and text/event-stream"));
        return;
    }
    if (wbi_loop_arena(p->s->loop, WBI_ARENA_MESSAGE, WBI_LIMIT_CALL_ARENA, &p->arena) != WB_OK) {
        plain(p->http, r->id, 503, NULL);
        return;
    }
    rc = wbi_rpc_read(p->arena, r->body, &p->rpc, &code, &err);
    if (rc != WB_OK)
        post_unreadable(p, rc == WB_ENOMEM ? 503 : 400, code, err.text);
    else if (wbi_mcp_means_modern(&p->rpc, wbi_http_first(r, WBI_HTTP_MCP_PROTOCOL_VERSION)))
        post_modern(p);
    else
        post_legacy(p);
    wbi_arena_free(p->arena);
}

static void do_get(struct post *p, struct wbi_mcp_session *session)
{
    struct wbi_str last = wbi_http_first(p->r, WBI_HTTP_LAST_EVENT_ID);

    if (!wbi_http_accepts(p->r, "text/event-stream", true)) {
        refuse(p->http, p->r->id, 406, WBI_NONE, WBI_RPC_INVALID,
               WBI_LIT("Accept must list text/event-stream"));
        return;
    }
    if (last.n > 0) {
        if (!wbi_trail_resume(session, p->r->id, last))
            refuse(p->http, p->r->id, 400, WBI_NONE, WBI_RPC_INVALID,
                   WBI_LIT("what followed this Last-Event-ID is not kept (any more); without one "
                           "a GET opens a stream for news"));
        return;
    }
    for (size_t i = 0; i < WBI_LIMIT_MCP_STREAMS; i++) {
        if (session->streams[i] == 0) {
            session->streams[i] = p->r->id;
            wbi_http_stream(p->http, p->r->id, &wbi_sse_head);
            return;
        }
    }
    refuse(p->http, p->r->id, 409, WBI_NONE, WBI_RPC_INVALID,
           WBI_LIT("this session has all the streams it may have; end one first"));
}

/* 2026-07-28 has nothing but POST; GET and DELETE are for sessions. */
static void refuse_method(struct post *p, bool of_sessions, bool older)
{
    plain(p->http, p->r->id, 405,
          older && !of_sessions ? "Allow: POST, GET, DELETE\r\n" : "Allow: POST\r\n");
}

void wbi_mcp_http(struct wbi_mcp_server *s, struct wbi_http *http, const struct wbi_http_request *r,
                  struct wbi_str principal)
{
    struct wbi_str version = wbi_http_first(r, WBI_HTTP_MCP_PROTOCOL_VERSION);
    bool get = wbi_str_eqz(r->method, "GET"), del = wbi_str_eqz(r->method, "DELETE");
    struct post p = {s, http, r, principal.p != NULL ? principal : WBI_LIT(""), NULL, {0}};
    bool older = version.p == NULL || wbi_era_legacy_version(version);
    struct wbi_mcp_session *session;

    s->http = http;
    if (wbi_str_eqz(r->method, "POST")) {
        do_post(&p);
        return;
    }
    if ((!get && !del) || !older || wbi_http_first(r, WBI_HTTP_MCP_SESSION_ID).p == NULL) {
        refuse_method(&p, get || del, older);
        return;
    }
    session = session_of(&p);
    if (session == NULL)
        return;
    if (get) {
        do_get(&p, session);
        return;
    }
    wbi_session_end(session);
    plain(http, r->id, 204, NULL);
}

/* Calls whose own clients have left may have asked by the stream that is no more. */
static void stop_listening(struct wbi_mcp_session *session, uint64_t stream)
{
    for (struct wbi_mcp_request *r = session->requests, *next; r != NULL; r = next) {
        r->refs++;
        wbi_asks_unheard(r, stream);
        next = r->session_next;
        wbi_request_unref(r);
    }
}

void wbi_mcp_http_gone(struct wbi_mcp_server *s, uint64_t id, void *user)
{
    struct wbi_mcp_request *r = user;

    if (r != NULL) {
        r->http_id = 0;
        if (r->era == WBI_ERA_MODERN) /* leaving is how one cancels there */
            wbi_request_cancel(r);
        else
            wbi_asks_unheard(r, id);
        return;
    }
    for (struct wbi_mcp_session *at = s->sessions; at != NULL; at = at->next) {
        for (size_t i = 0; i < WBI_LIMIT_MCP_STREAMS; i++) {
            if (at->streams[i] == id) {
                at->streams[i] = 0;
                at->used_ns = wbi_now_ns(&s->o.clock);
                stop_listening(at, id);
                return;
            }
        }
    }
}
