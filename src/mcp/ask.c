/* SPDX-License-Identifier: Apache-2.0
 * mcp/ask.c: questions to the client in the middle of a call.
 * Up to 2025-11-25 a question is a request of ours on the call's own stream.
 * From 2026-07-28 on the call answers `input_required`, waits parked under an
 * unguessable requestState that only its principal and the same request can
 * take up, and goes on when the client sends the request again with answers.
 * (1) on_answer runs exactly once. (2) A parked call ends by a retry, expires, or gives way
 * to newer ones; one that ends meanwhile keeps its answer for the retry. */
#include <stdio.h>

#include "base/alloc.h"
#include "json/write.h"
#include "mcp/server_int.h"

#define STATE_PREFIX "wb1."
#define AROUND 4096 /* most of what stands around the questions in a result: id, state */

static void tell_waiting(struct wbi_mcp_request *r, bool on)
{
    if (r->server->ops.waiting != NULL)
        r->server->ops.waiting(r->server->arg, r, on);
}

/* Older revisions over HTTP: a call goes on when its client has left. */
static bool left(const struct wbi_mcp_request *r)
{
    return r->http != NULL && r->http_id == 0;
}

/* On the call's stream; when that is no more, on one of the session's. */
static void tell(struct wbi_mcp_request *r, struct wbi_str message)
{
    if (!left(r))
        wbi_request_emit_once(r, message);
    else if (r->session != NULL && !r->cancelled)
        wbi_session_notify(r->session, message);
}

/* Nobody needs the answer any more to a question that was a request. */
static void take_back(struct wbi_mcp_request *r, struct wbi_ask *a)
{
    char params[96];
    struct wbi_buf b;

    a->taken_back = true;
    (void)snprintf(params, sizeof(params), "{\"requestId\":\"%.*s\"}", WBI_FMT(a->key));
    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    wbi_rpc_put_call(&b, WBI_NONE, "notifications/cancelled", wbi_str_z(params));
    if (wbi_buf_rc(&b) == WB_OK)
        tell(r, wbi_buf_str(&b));
    wbi_buf_fini(&b);
}

/* A client found gone while it is told may end any of the questions: each time from the first. */
void wbi_asks_take_back(struct wbi_mcp_request *r)
{
    struct wbi_ask *a = r->asks;

    while (a != NULL && r->era == WBI_ERA_LEGACY) {
        if (a->taken_back) {
            a = a->next;
        } else {
            take_back(r, a);
            a = r->asks;
        }
    }
}

static void free_ask(struct wbi_ask *a)
{
    wbi_free((void *)(uintptr_t)a->key.p);
    wbi_buf_fini(&a->text);
    wbi_free(a);
}

void wbi_asks_drop(struct wbi_mcp_request *r)
{
    struct wbi_ask *a, *next;

    wbi_asks_take_back(r);
    a = r->asks;
    if (a == NULL)
        return;
    r->asks = NULL;
    r->ask_count = 0;
    tell_waiting(r, false);
    for (; a != NULL; a = next) {
        next = a->next;
        a->on_answer(a->arg, NULL, true);
        free_ask(a);
    }
}

/* Kept answers go before calls that still wait, older ones before newer ones. */
static bool gives_way_before(const struct wbi_mcp_request *a, const struct wbi_mcp_request *b)
{
    if ((a->kept_answer != NULL) != (b->kept_answer != NULL))
        return a->kept_answer != NULL;
    return a->expires_ns < b->expires_ns;
}

/* Clients that never come back must not keep others from being asked. */
static void make_room(struct wbi_mcp_server *s)
{
    struct wbi_mcp_request *gone = NULL;

    if (s->parked < WBI_LIMIT_MCP_PARKED)
        return;
    for (struct wbi_mcp_request *at = s->requests; at != NULL; at = at->next) {
        if (at->phase == WBI_REQ_PARKED && !at->cancelled &&
            (gone == NULL || gives_way_before(at, gone)))
            gone = at;
    }
    if (gone != NULL)
        wbi_request_cancel(gone);
}

/* By stdio what the client has yet to read may leave no room. */
static bool finds_room(const struct wbi_mcp_request *r, size_t n)
{
    return r->http != NULL || r->session == NULL || wbi_stdio_takes(r->session->stdio, n);
}

/* Answers the present exchange with all open questions and parks r. Where that cannot be, the
 * call goes on without answers, as if there were nobody to ask. */
static void park(struct wbi_mcp_request *r)
{
    struct wbi_mcp_server *s = r->server;
    struct wbi_buf b;
    char id[WBI_ID_SIZE];

    wbi_id_make(&s->o.ids, STATE_PREFIX, id);
    (void)snprintf(r->state, sizeof(r->state), "%s", id);
    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    wbi_rpc_put_id(&b, r->id);
    wbi_buf_addz(&b, ",\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{");
    for (const struct wbi_ask *a = r->asks; a != NULL; a = a->next) {
        wbi_buf_adds(&b, wbi_buf_str(&a->text));
        wbi_buf_addz(&b, a->next != NULL ? "," : "");
    }
    wbi_buf_addf(&b, "},\"requestState\":\"%s\"}}", r->state);
    if (wbi_buf_rc(&b) != WB_OK || !finds_room(r, b.n)) {
        wbi_buf_fini(&b);
        wbi_asks_drop(r);
        return;
    }
    r->phase = WBI_REQ_PARKED;
    s->parked++;
    r->expires_ns = wbi_now_ns(&s->o.clock) + WBI_MCP_PARKED_MS * WBI_NS_PER_MS;
    wbi_mcp_tick_on(s);
    if (r->http == NULL) {
        if (r->session != NULL)
            wbi_stdio_write(r->session->stdio, wbi_buf_str(&b));
    } else if (r->http_id != 0) {
        struct wbi_http_response answer = {200, "application/json", wbi_buf_str(&b), NULL};
        uint64_t http_id = r->http_id;

        r->http_id = 0;
        wbi_http_set_user(r->http, http_id, NULL);
        if (r->streaming)
            wbi_request_sse_end(r->http, http_id, wbi_buf_str(&b));
        else
            wbi_http_respond(r->http, http_id, &answer);
    }
    wbi_buf_fini(&b);
}

static bool has_to_park(const struct wbi_mcp_request *r)
{
    return r->phase == WBI_REQ_RUNNING && r->asks != NULL && !r->cancelled;
}

static void at_end_of_turn(void *arg)
{
    struct wbi_mcp_request *r = arg;

    r->refs++; /* it may end here */
    if (has_to_park(r))
        make_room(r->server);
    if (has_to_park(r)) /* still: the end of another call may have been its own */
        park(r);
    wbi_request_unref(r);
}

/* Questions of one turn of the loop go out together; if the call ends before, not at all. */
static void ask_by_result(struct wbi_mcp_request *r)
{
    if (r->phase != WBI_REQ_RUNNING)
        return;
    r->ask_together.fn = at_end_of_turn;
    r->ask_together.arg = r;
    wbi_loop_defer(r->server->loop, &r->ask_together);
}

static bool hears(const struct wbi_mcp_request *r)
{
    return !left(r) || (r->session != NULL && wbi_session_listens(r->session));
}

/* As a request of ours; it may be over afterwards. */
static void ask_by_request(struct wbi_mcp_request *r, struct wbi_ask *a)
{
    a->stream = r->http_id;
    if (left(r) && r->session != NULL)
        a->stream = wbi_session_stream(r->session);
    tell(r, wbi_buf_str(&a->text));
}

/* A question that is open, and known to the client by that stream only. */
static struct wbi_ask *asked_on(const struct wbi_mcp_request *r, uint64_t stream)
{
    struct wbi_ask *a = r->asks;

    while (a != NULL && (a->stream != stream || a->taken_back))
        a = a->next;
    return a;
}

void wbi_asks_unheard(struct wbi_mcp_request *r, uint64_t stream)
{
    struct wbi_ask *a;

    if (r->era != WBI_ERA_LEGACY || asked_on(r, stream) == NULL)
        return;
    r->refs++;
    if (!hears(r))
        wbi_asks_drop(r);
    while ((a = asked_on(r, stream)) != NULL)
        ask_by_request(r, a); /* by another stream, which may end, too */
    wbi_request_unref(r);
}

/* A request of ours has an id of our own; an input request the key that was given. */
static struct wbi_str make_key(struct wbi_mcp_request *r, struct wbi_str key)
{
    char own[48];
    char *copy;

    if (r->era == WBI_ERA_LEGACY)
        (void)snprintf(own, sizeof(own), "wb-%llx-%llu",
                       (unsigned long long)(uintptr_t)r->server & 0xffff,
                       (unsigned long long)++r->server->ask_serial);
    else
        (void)snprintf(own, sizeof(own), "q%llu", (unsigned long long)r->ask_serial);
    if (r->era == WBI_ERA_LEGACY || key.p == NULL)
        key = wbi_str_z(own);
    copy = wbi_strdup(key);
    return copy != NULL ? wbi_str_make(copy, key.n) : WBI_NONE;
}

static void put_request(struct wbi_ask *a, struct wbi_str method, struct wbi_str params)
{
    char id[64], name[64];

    (void)snprintf(id, sizeof(id), "\"%.*s\"", WBI_FMT(a->key));
    (void)snprintf(name, sizeof(name), "%.*s", WBI_FMT(method));
    wbi_rpc_put_call(&a->text, wbi_str_z(id), name, params);
}

static void put_member(struct wbi_ask *a, struct wbi_str method, struct wbi_str params)
{
    struct wbi_jw w = wbi_jw_to(&a->text);

    wbi_json_quote(&a->text, a->key);
    wbi_buf_addc(&a->text, ':');
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "method", method);
    if (params.p != NULL)
        wbi_jw_kraw(&w, "params", params);
    wbi_jw_obj_end(&w);
    wbi_rpc_one_line(&a->text, 0);
}

/* Whether a question can go out: by itself, or in one result with those that are open. */
static bool can_be_sent(const struct wbi_mcp_request *r, const struct wbi_ask *a)
{
    size_t n = a->text.n + AROUND;

    if (r->era == WBI_ERA_LEGACY)
        return finds_room(r, a->text.n);
    for (const struct wbi_ask *at = r->asks; at != NULL; at = at->next)
        n += at->text.n + 1;
    return n <= WBI_LIMIT_MCP_MESSAGE;
}

static wb_rc new_ask(struct wbi_mcp_request *r, struct wbi_str key, struct wbi_str method,
                     struct wbi_str params, struct wbi_ask **ret)
{
    struct wbi_ask *a = wbi_zalloc(sizeof(*a));
    wb_rc rc;

    if (a == NULL)
        return WB_ENOMEM;
    wbi_buf_init(&a->text, WBI_LIMIT_MCP_MESSAGE);
    a->r = r;
    a->serial = ++r->ask_serial;
    a->key = make_key(r, key);
    if (a->key.p != NULL && r->era == WBI_ERA_LEGACY)
        put_request(a, method, params);
    else if (a->key.p != NULL)
        put_member(a, method, params);
    rc = a->key.p != NULL ? wbi_buf_rc(&a->text) : WB_ENOMEM;
    if (rc == WB_OK && !can_be_sent(r, a))
        rc = WB_ELIMIT;
    if (rc == WB_OK)
        *ret = a;
    else
        free_ask(a);
    return rc;
}

/* Whether the client can be asked this; params is JSON text or absent. */
static bool askable(struct wbi_mcp_request *r, struct wbi_str method, struct wbi_str params)
{
    struct wbi_arena *arena = NULL;
    const wbi_json *v = NULL;
    bool able;

    if (params.p == NULL)
        return wbi_mcp_able_with(&r->abilities, method, NULL);
    if (wbi_loop_arena(r->server->loop, WBI_ARENA_MESSAGE, WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return false;
    able = wbi_json_read(arena, params, WBI_JSON_STRICT, &v, NULL) == WB_OK &&
           wbi_mcp_able_with(&r->abilities, method, v);
    wbi_arena_free(arena);
    return able;
}

/* An answer that the request brought along before it was asked, as a client does that keeps no
 * state. It counts once: who asks again was not content with it. */
static const wbi_json *take_given(struct wbi_mcp_request *r, struct wbi_str key)
{
    uint32_t bit = 1;

    if (r->era != WBI_ERA_MODERN || key.p == NULL)
        return NULL;
    WBI_JSON_EACH_MEMBER (wbi_json_get(r->rpc.params, "inputResponses"), k) {
        if (wbi_str_eq(wbi_json_str(k), key) && wbi_json_is(k_val, WBI_JSON_OBJ) &&
            (r->given_used & bit) == 0) {
            r->given_used |= bit;
            return bit != 0 ? k_val : NULL;
        }
        bit <<= 1; /* those behind the 32nd are left out */
    }
    return NULL;
}

wb_rc wbi_mcp_ask(struct wbi_mcp_request *r, struct wbi_str key, struct wbi_str method,
                  struct wbi_str params, wbi_mcp_answer_fn *on_answer, void *arg)
{
    struct wbi_ask *a = NULL, **at = &r->asks;
    const wbi_json *given;
    wb_rc rc;

    if (r->cancelled || r->phase == WBI_REQ_DONE || (r->era == WBI_ERA_LEGACY && !hears(r)) ||
        !askable(r, method, params))
        return WB_EDENIED;
    given = take_given(r, key);
    if (given != NULL) {
        on_answer(arg, given, false);
        return WB_OK;
    }
    if (r->ask_count >= WBI_LIMIT_MCP_ASKS)
        return WB_ELIMIT;
    rc = new_ask(r, key, method, params, &a);
    if (rc != WB_OK)
        return rc;
    a->on_answer = on_answer;
    a->arg = arg;
    while (*at != NULL)
        at = &(*at)->next;
    *at = a;
    if (++r->ask_count == 1)
        tell_waiting(r, true);
    if (r->era == WBI_ERA_MODERN)
        ask_by_result(r);
    else
        ask_by_request(r, a);
    return WB_OK;
}

/* a is none of its request's questions any more. */
static void take_out(struct wbi_ask *a)
{
    struct wbi_ask **at = &a->r->asks;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    if (--a->r->ask_count == 0)
        tell_waiting(a->r, false);
}

static void answer(struct wbi_ask *a, const wbi_json *value, bool is_error)
{
    take_out(a);
    a->on_answer(a->arg, value, is_error);
    free_ask(a);
}

/* A question that is a request of ours, by its id. */
static struct wbi_ask *find_ask(const struct wbi_mcp_session *session, struct wbi_str id)
{
    for (struct wbi_mcp_request *r = session->requests; r != NULL; r = r->session_next) {
        for (struct wbi_ask *a = r->asks; a != NULL; a = a->next) {
            if (r->era == WBI_ERA_LEGACY && wbi_str_eq(id, a->key))
                return a;
        }
    }
    return NULL;
}

static void take_answer(struct wbi_ask *a, const wbi_json *value, bool is_error)
{
    struct wbi_mcp_request *r = a->r;

    r->refs++;
    answer(a, value, is_error);
    wbi_request_unref(r);
}

void wbi_asks_answer(struct wbi_mcp_session *session, const struct wbi_rpc *rpc)
{
    struct wbi_str id = wbi_json_str(rpc->id);
    struct wbi_ask *a = id.p != NULL ? find_ask(session, id) : NULL;

    if (a != NULL)
        take_answer(a, rpc->result != NULL ? rpc->result : rpc->error, rpc->error != NULL);
}

bool wbi_asks_spoil(struct wbi_mcp_session *session, const struct wbi_overlong *about)
{
    static const char why[] =
        "{\"code\":-32603,\"message\":\"the client's answer cannot be read\"}";
    struct wbi_str id = wbi_overlong_id(about);
    struct wbi_arena *arena = NULL;
    const wbi_json *value = NULL;
    struct wbi_ask *a;

    if (about->has_method || id.n < 2)
        return false;
    a = find_ask(session, wbi_str_make(id.p + 1, id.n - 2)); /* all of ours are texts */
    if (a == NULL)
        return false;
    if (wbi_loop_arena(session->server->loop, WBI_ARENA_MESSAGE, WBI_LIMIT_CALL_ARENA, &arena) ==
        WB_OK)
        (void)!wbi_json_read(arena, wbi_str_z(why), WBI_JSON_STRICT, &value, NULL);
    take_answer(a, value, true);
    wbi_arena_free(arena);
    return true;
}

void wbi_mcp_withdraw(struct wbi_mcp_request *r, const void *arg)
{
    struct wbi_ask *a = r->asks;

    while (a != NULL && a->arg != arg)
        a = a->next;
    if (a == NULL)
        return;
    r->refs++; /* telling a client that has gone may end it, and what else it asks */
    take_out(a);
    if (r->era == WBI_ERA_LEGACY)
        take_back(r, a);
    a->on_answer(a->arg, NULL, true);
    free_ask(a);
    wbi_request_unref(r);
}

static struct wbi_mcp_request *find_parked(struct wbi_mcp_request *r, struct wbi_str state)
{
    for (struct wbi_mcp_request *at = r->server->requests; at != NULL; at = at->next) {
        if (at->phase == WBI_REQ_PARKED && !at->cancelled && wbi_str_eqz(state, at->state) &&
            wbi_str_eq(at->rpc.method, r->rpc.method) && wbi_str_eq(at->principal, r->principal))
            return at;
    }
    return NULL;
}

/* The same request: name or uri, and arguments. */
static bool same_subject(const struct wbi_mcp_request *a, const struct wbi_mcp_request *b)
{
    static const char *const members[] = {"name", "uri", "arguments"};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const wbi_json *x = wbi_json_get(a->rpc.params, members[i]);
        const wbi_json *y = wbi_json_get(b->rpc.params, members[i]);

        if (wbi_json_count(x) == 0 && wbi_json_count(y) == 0 && !wbi_json_str(x).p &&
            !wbi_json_str(y).p)
            continue; /* absent and empty arguments are the same */
        if (x == NULL || y == NULL || !wbi_json_equal(x, y))
            return false;
    }
    return true;
}

/* A copy of the value in the arena, NULL for none. */
static bool copy_value(struct wbi_arena *arena, const wbi_json *value, const wbi_json **ret)
{
    struct wbi_buf text;

    *ret = NULL;
    if (value == NULL)
        return true;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_MCP_MESSAGE);
    wbi_json_write(&text, value);
    return wbi_buf_rc(&text) == WB_OK &&
           wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, NULL) == WB_OK;
}

/* Hand the exchange of `retry` to the parked call; retry itself is over. */
static bool adopt(struct wbi_mcp_request *parked, struct wbi_mcp_request *retry)
{
    struct wbi_str id = wbi_arena_str(parked->arena, retry->id);
    const wbi_json *token, *value;

    if (id.p == NULL || !copy_value(parked->arena, retry->rpc.id, &value) ||
        !copy_value(parked->arena, retry->progress_token, &token))
        return false;
    wbi_request_rename(parked, id);
    parked->rpc.id = value;         /* what a wish to cancel will name */
    parked->progress_token = token; /* the client no longer knows the first one, */
    parked->has_progress = false;   /* nor what was reported under it */
    parked->http = retry->http;
    parked->http_id = retry->http_id;
    parked->begun_ns = retry->begun_ns; /* of this exchange */
    parked->streaming = false;
    parked->abilities = retry->abilities;
    parked->level = retry->level;
    parked->phase = WBI_REQ_RUNNING;
    parked->server->parked--;
    if (parked->http_id != 0)
        wbi_http_set_user(parked->http, parked->http_id, parked);
    retry->http_id = 0;
    return true;
}

/* An open question that has an answer, up to that one. */
static struct wbi_ask *answered(const struct wbi_mcp_request *r, const wbi_json *responses,
                                uint64_t last)
{
    for (struct wbi_ask *a = r->asks; a != NULL && a->serial <= last; a = a->next) {
        if (wbi_json_is(wbi_json_getn(responses, a->key), WBI_JSON_OBJ))
            return a;
    }
    return NULL;
}

/* Each answer may end other questions, and bring new ones, which these are no answers to. */
static void deliver(struct wbi_mcp_request *r, const wbi_json *responses)
{
    uint64_t last = r->ask_serial;
    struct wbi_ask *a;

    while (r->phase != WBI_REQ_DONE && (a = answered(r, responses, last)) != NULL)
        answer(a, wbi_json_getn(responses, a->key), false);
    if (r->asks != NULL && r->phase == WBI_REQ_RUNNING)
        ask_by_result(r); /* some are still open, or new ones came */
}

/* Whoever sends a state means a call that has begun: one that nobody knows is refused, for
 * the tool must not run a second time. */
bool wbi_asks_resume(struct wbi_mcp_request *r)
{
    const wbi_json *state = wbi_json_get(r->rpc.params, "requestState");
    struct wbi_mcp_request *parked;

    if (state == NULL)
        return false;
    if (!wbi_json_is(state, WBI_JSON_STR)) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 400, "params.requestState must be a string", WBI_NONE);
        return true;
    }
    parked = find_parked(r, wbi_json_str(state));
    if (parked == NULL || !same_subject(parked, r) || !adopt(parked, r)) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 400,
                          "requestState is unknown, expired, altered, or of another request",
                          WBI_NONE);
        return true;
    }
    parked->refs++;
    if (parked->kept_answer != NULL)
        wbi_request_give_kept(parked); /* it went on without */
    else
        deliver(parked, wbi_json_get(r->rpc.params, "inputResponses"));
    wbi_request_unref(parked);
    r->phase = WBI_REQ_DONE; /* its exchange was given away */
    wbi_request_unref(r);
    return true;
}
