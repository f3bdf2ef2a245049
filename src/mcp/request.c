/* SPDX-License-Identifier: Apache-2.0
 * mcp/request.c: the life of one request from its message to its one answer.
 * (1) A request is freed with its last reference: one is held by whoever owes
 *     the answer, others for the time of a call into foreign code.
 * (2) After its end nothing is sent for it; a cancelled one ends silently. */
#include <math.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "json/write.h"
#include "mcp/server_int.h"

/* An arena with several users: freed by the last one. It lies in itself. */
struct wbi_kept {
    struct wbi_arena *arena;
    unsigned users;
};

static void drop_kept(void *arg)
{
    struct wbi_kept *k = arg;

    if (--k->users == 0)
        wbi_arena_free(k->arena);
}

wb_rc wbi_mcp_keep(struct wbi_mcp_request *r, struct wbi_arena *with)
{
    if (r->kept == NULL) {
        r->kept = wbi_arena_zalloc(r->arena, sizeof(*r->kept));
        if (r->kept == NULL)
            return WB_ENOMEM;
        *r->kept = (struct wbi_kept){r->arena, 1};
    }
    if (wbi_arena_defer(with, drop_kept, r->kept) != WB_OK)
        return WB_ENOMEM;
    r->kept->users++;
    return WB_OK;
}

static void name_conversation(struct wbi_mcp_request *r)
{
    r->alone = r->session == NULL;
    if (!r->alone)
        memcpy(r->conversation, r->session->id, r->session->id_n + 1);
    else
        wbi_id_make(&r->server->o.ids, "req_", r->conversation);
}

static struct wbi_mcp_request **bucket_of(const struct wbi_mcp_request *r)
{
    struct wbi_mcp_session *session = r->session;

    return &session->by_id[wbi_hash64(r->id.p, r->id.n, 0) % WBI_COUNT(session->by_id)];
}

static void add_by_id(struct wbi_mcp_request *r)
{
    struct wbi_mcp_request **bucket = bucket_of(r);

    r->next_by_id = *bucket;
    r->prev_by_id = bucket;
    if (*bucket != NULL)
        (*bucket)->prev_by_id = &r->next_by_id;
    *bucket = r;
}

static void leave_by_id(struct wbi_mcp_request *r)
{
    *r->prev_by_id = r->next_by_id;
    if (r->next_by_id != NULL)
        r->next_by_id->prev_by_id = r->prev_by_id;
}

static void enter_session(struct wbi_mcp_request *r)
{
    struct wbi_mcp_session *session = r->session;

    r->session_next = session->requests;
    r->session_prev = &session->requests;
    if (r->session_next != NULL)
        r->session_next->session_prev = &r->session_next;
    session->requests = r;
    session->request_count++;
    add_by_id(r);
}

void wbi_request_leave(struct wbi_mcp_request *r)
{
    *r->session_prev = r->session_next;
    if (r->session_next != NULL)
        r->session_next->session_prev = r->session_prev;
    leave_by_id(r);
    r->session->request_count--;
    r->session = NULL;
}

void wbi_request_rename(struct wbi_mcp_request *r, struct wbi_str id)
{
    if (r->session != NULL)
        leave_by_id(r);
    r->id = id;
    if (r->session != NULL)
        add_by_id(r);
}

bool wbi_request_has_twin(const struct wbi_mcp_request *r)
{
    const struct wbi_mcp_request *at = r->session != NULL ? *bucket_of(r) : NULL;

    for (; at != NULL; at = at->next_by_id)
        if (at != r && at->phase != WBI_REQ_DONE && at->phase != WBI_REQ_PARKED &&
            wbi_str_eq(at->id, r->id))
            return true;
    return false;
}

/* Takes the arena over, also on failure; it lies in it. */
struct wbi_mcp_request *wbi_request_new(struct wbi_mcp_server *s, struct wbi_mcp_session *session,
                                        struct wbi_arena *arena, const struct wbi_rpc *rpc)
{
    struct wbi_mcp_request *r = wbi_arena_zalloc(arena, sizeof(*r));

    if (r == NULL) {
        wbi_arena_free(arena);
        return NULL;
    }
    r->server = s;
    r->session = session;
    r->arena = arena;
    r->rpc = *rpc;
    r->id = rpc->id_text;
    r->meta = wbi_json_get_as(rpc->params, "_meta", WBI_JSON_OBJ);
    r->progress_token = wbi_json_get(r->meta, "progressToken");
    if (!wbi_json_is(r->progress_token, WBI_JSON_STR) &&
        !wbi_json_is(r->progress_token, WBI_JSON_INT))
        r->progress_token = NULL;
    r->level = -1;
    r->ttl_ms = INT64_MAX;
    r->refs = 1;
    name_conversation(r);
    if (session != NULL) {
        r->abilities = session->abilities;
        r->level = session->level;
        r->log_asked = session->log_asked;
        r->principal = wbi_arena_str(arena, wbi_str_z(session->principal));
        enter_session(r);
    }
    r->next = s->requests;
    r->prev = &s->requests;
    if (r->next != NULL)
        r->next->prev = &r->next;
    s->requests = r;
    return r;
}

static void end_in_session(struct wbi_mcp_request *r)
{
    struct wbi_mcp_session *session = r->session;

    if (session == NULL)
        return;
    wbi_request_leave(r);
    session->used_ns = wbi_now_ns(&r->server->o.clock); /* until now, however long that was */
    if (session->stdio != NULL)
        wbi_stdio_idle(session->stdio);
}

void wbi_request_unref(struct wbi_mcp_request *r)
{
    if (--r->refs > 0)
        return;
    *r->prev = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    end_in_session(r);
    wbi_loop_undefer(r->server->loop, &r->ask_together);
    wbi_free(r->kept_answer);
    if (r->kept != NULL)
        drop_kept(r->kept);
    else
        wbi_arena_free(r->arena);
}

static void put_event(struct wbi_buf *b, struct wbi_str message)
{
    wbi_buf_addz(b, "event: message\ndata: ");
    wbi_buf_adds(b, message);
    wbi_buf_addz(b, "\n\n");
}

void wbi_request_sse(struct wbi_http *http, uint64_t id, struct wbi_str message)
{
    struct wbi_buf b;

    wbi_buf_init(&b, WBI_LIMIT_HTTP_ANSWER);
    put_event(&b, message);
    if (wbi_buf_rc(&b) == WB_OK)
        wbi_http_send(http, id, wbi_buf_str(&b));
    wbi_buf_fini(&b);
}

void wbi_request_sse_end(struct wbi_http *http, uint64_t id, struct wbi_str message)
{
    struct wbi_buf b;

    wbi_buf_init(&b, WBI_LIMIT_HTTP_ANSWER);
    put_event(&b, message);
    wbi_http_end(http, id, wbi_buf_rc(&b) == WB_OK ? wbi_buf_str(&b) : WBI_NONE);
    wbi_buf_fini(&b);
}

const struct wbi_http_response wbi_sse_head = {.status = 200,
                                               .type = "text/event-stream",
                                               .extra = "X-Accel-Buffering: no\r\n",
                                               .filler = WBI_SSE_COMMENT};

static void begin_stream(struct wbi_mcp_request *r)
{
    if (r->streaming || r->http_id == 0)
        return;
    r->streaming = true;
    wbi_trail_begin(r);
    wbi_http_stream(r->http, r->http_id, &wbi_sse_head);
}

/* Clients of revisions before 2025-11-25 know no event without a message: they get an id with
 * their first one. */
void wbi_request_open_stream(struct wbi_mcp_request *r)
{
    struct wbi_buf b;

    r->refs++; /* a client found gone may end it here */
    begin_stream(r);
    wbi_buf_init(&b, WBI_LIMIT_HTTP_ANSWER);
    if (r->trail != NULL && strcmp(r->session->version, WBI_MCP_LEGACY) >= 0) {
        wbi_trail_put_id(r, &b);
        wbi_buf_addz(&b, "data: \n\n");
    } else {
        wbi_buf_addz(&b, WBI_SSE_COMMENT);
    }
    if (r->http_id != 0 && wbi_buf_rc(&b) == WB_OK)
        wbi_http_send(r->http, r->http_id, wbi_buf_str(&b));
    wbi_buf_fini(&b);
    wbi_request_unref(r);
}

/* As an event with an id: behind that the stream can be taken up again. */
static void put_numbered(struct wbi_mcp_request *r, struct wbi_buf *b, struct wbi_str message)
{
    wbi_buf_init(b, WBI_LIMIT_HTTP_ANSWER);
    wbi_trail_put_next_id(r, b);
    put_event(b, message);
}

static void emit(struct wbi_mcp_request *r, struct wbi_str message, bool once)
{
    struct wbi_buf b;

    r->refs++; /* a client found gone may end it here */
    begin_stream(r);
    /* nobody: a question that has found nobody is gone, with its text */
    if (r->http_id != 0 || (r->trail != NULL && !once)) {
        put_numbered(r, &b, message);
        if (wbi_buf_rc(&b) == WB_OK && !once)
            wbi_trail_keep(r, wbi_buf_str(&b));
        if (wbi_buf_rc(&b) == WB_OK)
            wbi_http_send(r->http, r->http_id, wbi_buf_str(&b));
        wbi_buf_fini(&b);
    }
    wbi_request_unref(r);
}

static void emit_any(struct wbi_mcp_request *r, struct wbi_str message, bool once)
{
    if (r->phase == WBI_REQ_DONE || r->cancelled)
        return;
    if (r->http != NULL)
        emit(r, message, once);
    else if (r->session != NULL)
        wbi_stdio_write(r->session->stdio, message);
}

void wbi_request_emit(struct wbi_mcp_request *r, struct wbi_str message)
{
    emit_any(r, message, false);
}

void wbi_request_emit_once(struct wbi_mcp_request *r, struct wbi_str message)
{
    emit_any(r, message, true);
}

/* For an answer that ends in end_with. Another one that is made meanwhile finds no spare. */
static struct wbi_buf begin_answer(struct wbi_mcp_server *s)
{
    struct wbi_buf b = s->spare;

    wbi_buf_init(&s->spare, 0);
    b.max = WBI_LIMIT_MCP_OUT;
    wbi_buf_clear(&b);
    return b;
}

static void end_with(struct wbi_mcp_request *r, struct wbi_buf *b, int status);

/* One answer that finds no room is replaced; the other calls go on. */
static void write_last(struct wbi_mcp_request *r, struct wbi_str message)
{
    struct wbi_mcp_stdio *c = r->session->stdio;
    struct wbi_buf small;

    if (wbi_stdio_takes(c, message.n)) {
        wbi_stdio_write(c, message);
        return;
    }
    wbi_buf_init(&small, WBI_LIMIT_MCP_MESSAGE);
    wbi_rpc_put_error(&small, r->id, WBI_RPC_INTERNAL,
                      WBI_LIT("the answer is too large beside those that were not read yet"),
                      WBI_NONE);
    if (wbi_buf_rc(&small) == WB_OK)
        wbi_stdio_write(c, wbi_buf_str(&small));
    wbi_buf_fini(&small);
}

/* The end of a stream; id 0: nobody reads it now. */
static void end_stream(struct wbi_mcp_request *r, uint64_t id, struct wbi_str message)
{
    struct wbi_buf b;

    if (message.p == NULL) {
        wbi_trail_drop(r);
        wbi_http_end(r->http, id, WBI_NONE);
        return;
    }
    put_numbered(r, &b, message);
    if (wbi_buf_rc(&b) == WB_OK)
        wbi_trail_end(r, wbi_buf_str(&b), id != 0);
    else
        wbi_trail_drop(r);
    wbi_http_end(r->http, id, wbi_buf_rc(&b) == WB_OK ? wbi_buf_str(&b) : WBI_NONE);
    wbi_buf_fini(&b);
}

static void send_last(struct wbi_mcp_request *r, struct wbi_str message, int status)
{
    struct wbi_http_response answer = {status, "application/json", message, NULL};
    uint64_t id = r->http_id;

    if (r->http == NULL) {
        if (r->session != NULL && message.p != NULL)
            write_last(r, message);
        return;
    }
    if (id == 0) {
        if (r->trail != NULL)
            end_stream(r, 0, message);
        return;
    }
    wbi_http_set_user(r->http, id, NULL);
    if (!r->streaming && message.p != NULL) {
        r->http_id = 0;
        wbi_http_respond(r->http, id, &answer);
        return;
    }
    begin_stream(r);
    r->http_id = 0;
    end_stream(r, id, message);
}

/* The caller of a parked request comes for its answer with the retry. False: there is
 * none, or no memory for it. */
static bool keep_answer(struct wbi_mcp_request *r, struct wbi_str message, int status)
{
    r->kept_answer = wbi_strdup(wbi_rpc_after_id(message, r->id));
    if (r->kept_answer == NULL)
        return false;
    r->kept_status = status;
    r->server->busy--;
    r->handed = false;
    r->user = NULL;
    if (r->session != NULL && r->session->stdio != NULL)
        wbi_stdio_idle(r->session->stdio); /* it is owed no more */
    return true;
}

void wbi_request_give_kept(struct wbi_mcp_request *r)
{
    struct wbi_buf b = begin_answer(r->server);

    wbi_rpc_put_id(&b, r->id);
    wbi_buf_addz(&b, r->kept_answer);
    end_with(r, &b, r->kept_status);
}

/* The last message of r (absent: none), then r is over. */
static void end_request(struct wbi_mcp_request *r, struct wbi_str message, int status)
{
    if (r->phase == WBI_REQ_DONE)
        return;
    wbi_asks_drop(r);
    if (r->phase == WBI_REQ_PARKED && r->handed && !r->cancelled && keep_answer(r, message, status))
        return;
    if (r->phase == WBI_REQ_PARKED)
        r->server->parked--;
    if (r->phase == WBI_REQ_LISTENING) {
        r->server->listening--;
        WBI_JSON_EACH (r->wants_uris, uri)
            (void)wbi_mcp_tell_watch(r->server, wbi_json_str(uri), false);
    }
    if (r->handed)
        r->server->busy--;
    send_last(r, r->cancelled ? WBI_NONE : message, status);
    r->phase = WBI_REQ_DONE;
    wbi_request_unref(r);
}

static void end_with(struct wbi_mcp_request *r, struct wbi_buf *b, int status)
{
    struct wbi_mcp_server *s = r->server;
    struct wbi_buf small;

    if (wbi_buf_rc(b) == WB_OK) {
        end_request(r, wbi_buf_str(b), status);
    } else {
        wbi_buf_init(&small, WBI_LIMIT_MCP_MESSAGE);
        wbi_rpc_put_error(&small, r->id, WBI_RPC_INTERNAL,
                          WBI_LIT("the answer is too large or memory ran out"), WBI_NONE);
        end_request(r, wbi_buf_rc(&small) == WB_OK ? wbi_buf_str(&small) : WBI_NONE, 200);
        wbi_buf_fini(&small);
    }
    if (s->spare.p == NULL && b->cap <= WBI_LIMIT_HTTP_KEPT)
        s->spare = *b;
    else
        wbi_buf_fini(b);
}

void wbi_request_fault(struct wbi_mcp_request *r, int code, int status, const char *message,
                       struct wbi_str data)
{
    struct wbi_buf b;

    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    wbi_rpc_put_error(&b, r->id, code, wbi_str_z(message), data);
    end_with(r, &b, status);
}

void wbi_mcp_fail(struct wbi_mcp_request *r, int code, struct wbi_str message,
                  struct wbi_str data_or_none)
{
    bool modern = r->era == WBI_ERA_MODERN;
    bool refused = code == WBI_RPC_CAPABILITY || code == WBI_RPC_HEADER;
    struct wbi_buf b;

    if (modern && code == WBI_RPC_URL_ELICITATION) /* which it must not be sent any more */
        code = WBI_RPC_INTERNAL;
    wbi_buf_init(&b, WBI_LIMIT_MCP_OUT);
    wbi_rpc_put_error(&b, r->id, code, message, data_or_none);
    end_with(r, &b, modern && refused ? 400 : 200);
}

void wbi_mcp_fail_resource(struct wbi_mcp_request *r, struct wbi_str uri)
{
    struct wbi_buf data;
    struct wbi_jw w;

    wbi_buf_init_arena(&data, r->arena, WBI_LIMIT_MCP_MESSAGE);
    w = wbi_jw_to(&data);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "uri", uri);
    wbi_jw_obj_end(&w);
    wbi_mcp_fail(r, r->era == WBI_ERA_MODERN ? WBI_RPC_PARAMS : WBI_RPC_NO_RESOURCE,
                 WBI_LIT("Resource not found"),
                 wbi_buf_rc(&data) == WB_OK ? wbi_buf_str(&data) : WBI_NONE);
}

void wbi_mcp_fail_able(struct wbi_mcp_request *r, const char *required)
{
    struct wbi_str data = wbi_arena_fmt(r->arena, "{\"requiredCapabilities\":%s}", required);

    wbi_mcp_fail(r, r->era == WBI_ERA_MODERN ? WBI_RPC_CAPABILITY : WBI_RPC_PARAMS,
                 WBI_LIT("the client lacks a capability this needs"), data);
}

/* Whether a result names its type already; parsed only if the word occurs. */
static bool has_result_type(struct wbi_mcp_request *r, struct wbi_str result)
{
    const wbi_json *v;

    if (wbi_str_find(result, WBI_LIT("\"resultType\"")) == result.n)
        return false;
    return wbi_json_read(r->arena, result, WBI_JSON_STRICT, &v, NULL) == WB_OK &&
           wbi_json_get(v, "resultType") != NULL;
}

/* Members that 2026-07-28 wants in front of a result's own. */
static void put_modern_members(struct wbi_mcp_request *r, struct wbi_buf *b)
{
    wbi_buf_addz(b, "\"resultType\":\"complete\"");
    if (!r->is_list)
        return;
    wbi_buf_addz(b, ",\"ttlMs\":");
    wbi_buf_addi(b, WBI_MIN(r->ttl_ms, r->server->o.ttl_ms));
    wbi_buf_addf(b, ",\"cacheScope\":\"%s\"", r->server->o.shared_lists ? "public" : "private");
}

void wbi_mcp_reply(struct wbi_mcp_request *r, struct wbi_str result)
{
    struct wbi_str inner = wbi_str_trim(result);
    struct wbi_buf b = begin_answer(r->server);
    size_t from;

    if (r->era != WBI_ERA_MODERN || inner.n < 2 || inner.p[0] != '{' || has_result_type(r, inner)) {
        wbi_rpc_put_result(&b, r->id, inner);
        end_with(r, &b, 200);
        return;
    }
    inner = wbi_str_trim(wbi_str_from(inner, 1));
    wbi_rpc_put_id(&b, r->id);
    wbi_buf_addz(&b, ",\"result\":{");
    put_modern_members(r, &b);
    if (inner.p[0] != '}')
        wbi_buf_addc(&b, ',');
    from = b.n;
    wbi_buf_adds(&b, inner);
    wbi_rpc_one_line(&b, from);
    wbi_buf_addc(&b, '}');
    end_with(r, &b, 200);
}

/* Where a page begins: a part of the list and a place in it. */
struct place {
    size_t part, at;
};

/* A cursor is "p", the place in decimal and, but for the first part, "." and the part. */
static struct wbi_str put_cursor(struct wbi_mcp_request *r, struct place next)
{
    return next.part == 0 ? wbi_arena_fmt(r->arena, "p%zu", next.at)
                          : wbi_arena_fmt(r->arena, "p%zu.%zu", next.at, next.part);
}

/* False for what put_cursor does not make. That a part has become shorter is no fault of
 * the client: its page begins with the next one. */
static bool take_cursor(struct wbi_mcp_request *r, const wbi_json *const *parts, size_t n,
                        struct place *ret)
{
    const wbi_json *cursor = wbi_json_get(r->rpc.params, "cursor");
    struct wbi_str s = wbi_json_str(cursor), at;
    uint64_t place = 0, part = 0;
    size_t dot;

    *ret = (struct place){0, 0};
    if (s.p == NULL || s.n == 0) /* some say by "" or null that they have none yet */
        return true;
    if (s.n < 2 || s.p[0] != 'p')
        return false;
    s = wbi_str_from(s, 1);
    dot = wbi_str_index(s, '.');
    at = wbi_str_head(s, dot);
    if (!wbi_parse_u64(at, &place) ||
        (dot < s.n && !wbi_parse_u64(wbi_str_from(s, dot + 1), &part)) || part >= n ||
        place > (n > 1 ? WBI_LIMIT_UPSTREAM_ITEMS : wbi_json_count(parts[0])))
        return false;
    *ret = (struct place){(size_t)part, (size_t)place};
    return true;
}

static const char *list_member(const struct wbi_mcp_request *r)
{
    struct wbi_str m = r->rpc.method;

    if (wbi_str_eqz(m, "tools/list"))
        return "tools";
    if (wbi_str_eqz(m, "prompts/list"))
        return "prompts";
    return wbi_str_eqz(m, "resources/list") ? "resources" : "resourceTemplates";
}

/* The items of one page; *next becomes where the next one begins. False: there is none. */
static bool write_page(struct wbi_jw *w, const wbi_json *const *parts, size_t n, size_t page,
                       struct place *next)
{
    for (; next->part < n; next->part++, next->at = 0) {
        size_t i = 0;

        WBI_JSON_EACH (parts[next->part], e) {
            if (i++ < next->at)
                continue;
            if (page == 0)
                return true;
            wbi_jw_val(w, e);
            next->at++;
            page--;
        }
    }
    return false;
}

void wbi_mcp_reply_parts(struct wbi_mcp_request *r, const struct wbi_str *parts, size_t n)
{
    const wbi_json **all = wbi_arena_array(r->arena, n, sizeof(*all));
    struct place place;
    struct wbi_buf b;
    struct wbi_jw w;
    bool more;

    for (size_t i = 0; i < n; i++) {
        if (all == NULL ||
            wbi_json_read(r->arena, parts[i], WBI_JSON_STRICT, &all[i], NULL) != WB_OK ||
            !wbi_json_is(all[i], WBI_JSON_ARR)) {
            wbi_request_fault(r, WBI_RPC_INTERNAL, 200, "the list could not be made", WBI_NONE);
            return;
        }
    }
    if (!take_cursor(r, all, n, &place)) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 200,
                          "params.cursor must be the nextCursor of an earlier page", WBI_NONE);
        return;
    }
    wbi_buf_init_arena(&b, r->arena, WBI_LIMIT_MCP_OUT);
    w = wbi_jw_to(&b);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, list_member(r));
    wbi_jw_arr(&w);
    more = write_page(&w, all, n, r->server->o.page, &place);
    wbi_jw_arr_end(&w);
    if (more)
        wbi_jw_kstr(&w, "nextCursor", put_cursor(r, place));
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&b) == WB_OK)
        wbi_mcp_reply(r, wbi_buf_str(&b));
    else
        wbi_request_fault(r, WBI_RPC_INTERNAL, 200, "the list is too large", WBI_NONE);
}

void wbi_mcp_reply_list(struct wbi_mcp_request *r, struct wbi_str items)
{
    wbi_mcp_reply_parts(r, &items, 1);
}

void wbi_request_cancel(struct wbi_mcp_request *r)
{
    struct wbi_mcp_server *s = r->server;

    if (r->phase == WBI_REQ_DONE || r->cancelled)
        return;
    r->refs++;             /* it may be answered from inside */
    wbi_asks_take_back(r); /* afterwards nothing is sent for it */
    r->cancelled = true;
    wbi_trail_drop(r);
    if (!r->handed) /* listening: nobody else owes anything */
        end_request(r, WBI_NONE, 200);
    else if (r->phase != WBI_REQ_DONE && s->ops.cancel != NULL)
        s->ops.cancel(s->arg, r);
    if (r->phase != WBI_REQ_DONE && r->http_id != 0)
        send_last(r, WBI_NONE, 200); /* the stream ends now, the call when it can */
    wbi_request_unref(r);
}

static void put_more(struct wbi_buf *params, struct wbi_str more)
{
    if (more.n == 0)
        return;
    wbi_buf_addc(params, ',');
    wbi_buf_adds(params, more);
}

void wbi_mcp_progress(struct wbi_mcp_request *r, double progress, double total,
                      struct wbi_str message, struct wbi_str more)
{
    int64_t now = wbi_now_ns(&r->server->o.clock);
    struct wbi_buf params, b;
    struct wbi_jw w;

    if (r->progress_token == NULL || r->phase != WBI_REQ_RUNNING || !isfinite(progress))
        return;
    if (r->has_progress &&
        (progress <= r->progress || (now - r->progress_ns < WBI_MCP_PROGRESS_MS * WBI_NS_PER_MS &&
                                     !(total > 0 && progress >= total))))
        return;
    r->has_progress = true;
    r->progress = progress;
    r->progress_ns = now;
    wbi_buf_init(&params, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    w = wbi_jw_to(&params);
    wbi_jw_obj(&w);
    wbi_jw_kval(&w, "progressToken", r->progress_token);
    wbi_jw_key(&w, "progress");
    wbi_jw_real(&w, progress);
    if (total >= 0) {
        wbi_jw_key(&w, "total");
        wbi_jw_real(&w, total);
    }
    if (message.p != NULL)
        wbi_jw_kstr(&w, "message", message);
    put_more(&params, more);
    wbi_jw_obj_end(&w);
    wbi_rpc_put_call(&b, WBI_NONE, "notifications/progress", wbi_buf_str(&params));
    if (wbi_buf_rc(&b) == WB_OK && wbi_buf_rc(&params) == WB_OK)
        wbi_request_emit(r, wbi_buf_str(&b));
    wbi_buf_fini(&params);
    wbi_buf_fini(&b);
}

void wbi_mcp_log(struct wbi_mcp_request *r, struct wbi_str level, struct wbi_str logger,
                 struct wbi_str data, struct wbi_str more)
{
    int n = wbi_mcp_level(level);
    struct wbi_buf params, b;
    struct wbi_jw w;

    if (r->level < 0 || n < r->level)
        return;
    wbi_buf_init(&params, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    w = wbi_jw_to(&params);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "level", level);
    if (logger.p != NULL)
        wbi_jw_kstr(&w, "logger", logger);
    wbi_jw_kraw(&w, "data", data);
    put_more(&params, more);
    wbi_jw_obj_end(&w);
    wbi_rpc_put_call(&b, WBI_NONE, "notifications/message", wbi_buf_str(&params));
    if (wbi_buf_rc(&b) == WB_OK && wbi_buf_rc(&params) == WB_OK)
        wbi_request_emit(r, wbi_buf_str(&b));
    wbi_buf_fini(&params);
    wbi_buf_fini(&b);
}
