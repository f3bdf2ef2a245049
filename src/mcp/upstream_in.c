/* SPDX-License-Identifier: Apache-2.0
 * mcp/upstream_in.c: what a server sends: answers, progress, news, questions.
 * Anything that fits no open call is dropped and counted. */
#include <stdio.h>

#include "base/alloc.h"
#include "json/write.h"
#include "mcp/question.h"
#include "mcp/upstream_int.h"

static struct wbi_upstream_call *by_number(struct wbi_upstream *up, uint64_t n)
{
    for (struct wbi_upstream_call *c = up->by_id[n % WBI_UPSTREAM_BUCKETS]; c != NULL;
         c = c->next_by_id) {
        if (c->id == n && c->sent)
            return c;
    }
    return NULL;
}

static struct wbi_upstream_call *by_text(struct wbi_upstream *up, struct wbi_str id)
{
    uint64_t n;

    if (id.n > 2 && id.p[0] == '"')
        id = wbi_str_make(id.p + 1, id.n - 2);
    return wbi_parse_u64(id, &n) ? by_number(up, n) : NULL;
}

/* All of ours are numbers, which some servers give back as texts, or as 7.0. */
static struct wbi_upstream_call *by_id(struct wbi_upstream *up, const wbi_json *id)
{
    uint64_t n;

    if (wbi_json_is(id, WBI_JSON_STR))
        return by_text(up, wbi_json_str(id));
    if ((wbi_json_is(id, WBI_JSON_INT) && wbi_json_u64(id, &n)) || wbi_rpc_whole(id, &n))
        return by_number(up, n);
    return NULL;
}

/* NULL: there is none, or no memory. */
static char *json_text(const wbi_json *v)
{
    struct wbi_buf b;

    if (v == NULL)
        return NULL;
    wbi_buf_init(&b, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&b, v);
    return wbi_buf_take(&b, NULL);
}

/* A result without the members that belong to one hop of the protocol. */
static void put_own_members(struct wbi_buf *b, const wbi_json *result)
{
    struct wbi_jw w = wbi_jw_to(b);

    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (result, k) {
        struct wbi_str name = wbi_json_str(k);

        if (wbi_str_eqz(name, "resultType") || wbi_str_eqz(name, "ttlMs") ||
            wbi_str_eqz(name, "cacheScope"))
            continue;
        wbi_jw_keyn(&w, name);
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
}

static void free_ask(struct wbi_upstream_ask *a)
{
    wbi_free(a->key);
    wbi_free(a->id);
    wbi_free(a->method);
    wbi_free(a->params);
    wbi_free(a->answer);
    wbi_free(a);
}

/* One of key and id is given; both are JSON. */
static struct wbi_upstream_ask *new_ask(struct wbi_upstream_call *c, char *key, struct wbi_str id)
{
    struct wbi_upstream_ask *a = wbi_zalloc(sizeof(*a));

    if (a == NULL) {
        wbi_free(key);
        return NULL;
    }
    a->up = c->up;
    a->call = c;
    a->key = key;
    a->id = id.p != NULL ? wbi_strdup(id) : NULL;
    if (a->key == NULL && a->id == NULL) {
        free_ask(a);
        return NULL;
    }
    a->next = c->asks;
    c->asks = a;
    c->open_asks++;
    return a;
}

/* All questions of a round are answered: the same call again, with answers. */
static void next_round(struct wbi_upstream_call *c)
{
    struct wbi_buf b;

    if (c->refused)
        return; /* it is about to end */
    wbi_buf_init(&b, WBI_LIMIT_JSON_TEXT);
    while (c->asks != NULL) {
        struct wbi_upstream_ask *a = c->asks;

        c->asks = a->next;
        if (b.n > 0)
            wbi_buf_addc(&b, ',');
        wbi_buf_addz(&b, a->key);
        wbi_buf_addc(&b, ':');
        wbi_buf_addz(&b, a->answer != NULL ? a->answer : "null");
        free_ask(a);
    }
    wbi_free(c->responses);
    c->responses = wbi_buf_take(&b, NULL);
    if (c->responses == NULL)
        wbi_upstream_call_fail(c, WB_ENOMEM, "out of memory");
    else
        wbi_call_send(c);
}

/* A caller who does not want to be asked can say so in the answer to an elicitation alone;
 * without the others the call cannot go on. */
static void refuse_round(struct wbi_upstream_call *c)
{
    c->refused = true;
    c->deadline_ns = 0; /* ended from the loop: callers do not expect it here */
    wbi_up_arm(c->up, wbi_now_ns(&c->up->clock));
}

static void answer_request(struct wbi_upstream *up, struct wbi_str id, struct wbi_str json,
                           bool is_error)
{
    struct wbi_buf b;

    wbi_buf_init(&b, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addz(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
    wbi_buf_adds(&b, id);
    wbi_buf_addz(&b, is_error ? ",\"error\":" : ",\"result\":");
    wbi_buf_adds(&b, json);
    wbi_buf_addc(&b, '}');
    wbi_rpc_one_line(&b, 0);
    if (wbi_buf_rc(&b) == WB_OK)
        up->link->send(up, NULL, wbi_buf_str(&b)); /* if it fails, the call times out */
    wbi_buf_fini(&b);
}

void wbi_upstream_answer(struct wbi_upstream_ask *ask, struct wbi_str json, bool is_error)
{
    struct wbi_upstream_call *c = ask->call;
    struct wbi_upstream_ask **at;

    if (c == NULL) { /* the call is over; this was the last holder */
        free_ask(ask);
        return;
    }
    c->open_asks--;
    ask->held = false;
    if (ask->key != NULL && is_error && !ask->elicits)
        refuse_round(c);
    if (ask->key != NULL) {
        ask->answer = wbi_strdup(is_error ? WBI_LIT("{\"action\":\"cancel\"}") : json);
        if (c->open_asks == 0)
            next_round(c);
        return;
    }
    for (at = &c->asks; *at != ask;)
        at = &(*at)->next;
    *at = ask->next;
    if (!ask->withdrawn)
        answer_request(ask->up, wbi_str_z(ask->id), json, is_error);
    free_ask(ask);
}

/* The server was told what the caller can be asked, and asks for more. */
static void fail_unable(struct wbi_upstream_call *c, const wbi_json *question)
{
    struct wbi_upstream_answer a = {.rc = WB_EDENIED,
                                    .sent = true,
                                    .why = "the server asks what the caller cannot answer",
                                    .lacks = wbi_mcp_required(wbi_json_get_str(question, "method"),
                                                              wbi_json_get(question, "params"))};

    wbi_call_end(c, &a);
}

static const wbi_json *params_of(const wbi_json *question)
{
    const wbi_json *params = wbi_json_get(question, "params");

    return wbi_json_is(params, WBI_JSON_NULL) ? NULL : params;
}

/* Whether each could be understood; else the call is over. */
static bool all_readable(struct wbi_upstream_call *c, const wbi_json *requests)
{
    char why[120];

    WBI_JSON_EACH_MEMBER (requests, k) {
        const char *fault =
            wbi_mcp_question_fault(wbi_json_get_str(k_val, "method"), params_of(k_val));

        if (fault == NULL)
            continue;
        (void)snprintf(why, sizeof(why), "the server asks in a form that is no request: %s", fault);
        wbi_upstream_call_fail(c, WB_EINPUT, why);
        return false;
    }
    return true;
}

/* The result asks for input: hand every question to the caller. */
static void ask_caller(struct wbi_upstream_call *c, const wbi_json *result)
{
    const wbi_json *requests = wbi_json_get_as(result, "inputRequests", WBI_JSON_OBJ);
    const wbi_json *state = wbi_json_get_as(result, "requestState", WBI_JSON_STR);
    struct wbi_upstream_ask *asks[WBI_LIMIT_MCP_ASKS];
    bool none = wbi_json_count(requests) == 0;
    size_t n = 0;

    if (++c->rounds > WBI_LIMIT_UPSTREAM_ROUNDS || (none && state == NULL) ||
        wbi_json_count(requests) > WBI_LIMIT_MCP_ASKS || (!none && c->ops.on_ask == NULL)) {
        wbi_upstream_call_fail(c, WB_ELIMIT, "the server asks for input that cannot be given");
        return;
    }
    wbi_free(c->state);
    c->state = state != NULL ? json_text(state) : NULL;
    if (none) { /* it only wants to see its state again */
        wbi_free(c->responses);
        c->responses = NULL;
        wbi_call_send(c);
        return;
    }
    c->sent = true;
    wbi_call_rename(c, 0); /* answers to the old message are late ones now */
    if (!all_readable(c, requests))
        return;
    WBI_JSON_EACH_MEMBER (requests, k) {
        if (!wbi_mcp_able_with(&c->abilities, wbi_json_get_str(k_val, "method"),
                               params_of(k_val))) {
            fail_unable(c, k_val);
            return;
        }
        asks[n] = new_ask(c, json_text(k), WBI_NONE);
        if (asks[n++] == NULL) {
            wbi_upstream_call_fail(c, WB_ENOMEM, "out of memory");
            return;
        }
        asks[n - 1]->elicits = wbi_str_eqz(wbi_json_get_str(k_val, "method"), "elicitation/create");
    }
    n = 0;
    c->open_asks++; /* held, so that answers from inside do not end the round early */
    WBI_JSON_EACH_MEMBER (requests, q) {
        char *params = json_text(params_of(q_val));

        asks[n]->held = true;
        c->ops.on_ask(c->arg, asks[n++], wbi_json_str(q), wbi_json_get_str(q_val, "method"),
                      wbi_str_z(params));
        wbi_free(params);
    }
    if (--c->open_asks == 0)
        next_round(c);
}

void wbi_up_too_large(struct wbi_upstream_call *call)
{
    char why[80];

    (void)snprintf(why, sizeof(why), "the answer is larger than %zu bytes", call->up->spec.message);
    wbi_upstream_call_fail(call, WB_EINPUT, why); /* it was answered, with what cannot be used */
}

static void take_answer(struct wbi_upstream *up, const struct wbi_rpc *rpc,
                        struct wbi_arena **arena)
{
    struct wbi_upstream_call *c = by_id(up, rpc->id);
    struct wbi_upstream_answer a = {.rc = WB_OK, .sent = true, .arena = arena};
    struct wbi_str type = wbi_json_get_str(rpc->result, "resultType");
    struct wbi_buf text;

    if (c == NULL) {
        up->counts.unknown_ids++;
        return;
    }
    if (!c->own && !c->lists)
        up->failures = 0; /* what only opens and tells its lists has done nothing yet */
    if (type.p != NULL && wbi_str_eqz(type, "input_required")) {
        ask_caller(c, rpc->result);
        return;
    }
    if ((type.p != NULL && !wbi_str_eqz(type, "complete")) ||
        (rpc->result != NULL && !wbi_json_is(rpc->result, WBI_JSON_OBJ))) {
        wbi_upstream_call_fail(c, WB_EINPUT, "the server sent a result of an unknown type");
        return;
    }
    wbi_buf_init_arena(&text, *arena, WBI_LIMIT_JSON_TEXT);
    a.result = rpc->result;
    a.error = rpc->error;
    if (rpc->result != NULL)
        put_own_members(&text, rpc->result);
    else
        wbi_json_write(&text, rpc->error);
    if (wbi_buf_rc(&text) != WB_OK) {
        wbi_up_too_large(c);
        return;
    }
    a.text = wbi_buf_str(&text);
    if (rpc->error == NULL || !wbi_up_lost_era(up, c, &a, rpc->error, arena))
        wbi_call_end(c, &a);
}

/* Whether a question is more likely b's, which is older, than a's. Somebody who is there is
 * asked before somebody who may come back; of two the one that waits for fewer answers, and the
 * older one of these: a server that does one thing at a time is at that. */
static bool rather(const struct wbi_upstream_call *a, const struct wbi_upstream_call *b)
{
    bool a_away = a->ops.is_away != NULL && a->ops.is_away(a->arg);
    bool b_away = b->ops.is_away != NULL && b->ops.is_away(b->arg);

    return a_away != b_away ? a_away : b->open_asks <= a->open_asks;
}

/* Whose question is it, where the connection does not tell? All open calls must be of one
 * conversation, else it is nobody's. */
static struct wbi_upstream_call *asked_call(struct wbi_upstream *up, struct wbi_str method)
{
    struct wbi_upstream_call *found = NULL, *first = NULL;

    for (struct wbi_upstream_call *c = up->calls; c != NULL; c = c->next) {
        if (!wbi_call_under_way(c) || c->ops.on_ask == NULL)
            continue;
        if (first == NULL)
            first = c;
        if (strcmp(first->conversation, c->conversation) != 0)
            return NULL;
        if (wbi_mcp_able(&c->abilities, method) && (found == NULL || rather(found, c)))
            found = c;
    }
    return found;
}

/* Gives the question to the call's caller; false when it cannot be asked. What may be
 * another call's is kept, for that one. */
static bool ask_for(struct wbi_upstream_call *call, struct wbi_str id, struct wbi_str method,
                    struct wbi_str params, bool certain)
{
    struct wbi_upstream_ask *ask;

    if (call == NULL || call->open_asks >= WBI_LIMIT_MCP_ASKS)
        return false;
    ask = new_ask(call, NULL, id);
    if (ask == NULL)
        return false;
    if (!certain) { /* for want of memory it is this call's */
        ask->method = wbi_strdup(method);
        ask->params = params.p != NULL ? wbi_strdup(params) : NULL;
    }
    ask->held = true;
    call->ops.on_ask(call->arg, ask, WBI_NONE, method, params);
    return true;
}

static void refuse_request(struct wbi_upstream *up, struct wbi_str id)
{
    answer_request(
        up, id, WBI_LIT("{\"code\":-32601,\"message\":\"nobody here can be asked this\"}"), true);
}

static void refuse_malformed(struct wbi_upstream *up, struct wbi_str id, const char *fault)
{
    char error[120];

    (void)snprintf(error, sizeof(error), "{\"code\":-32602,\"message\":\"%s\"}", fault);
    answer_request(up, id, wbi_str_z(error), true);
}

/* A question may be on its way to the caller: who holds it frees it. A caller who cancels
 * will not answer; after any other end the question may be that of a call still open. */
void wbi_call_leave_asks(struct wbi_upstream_call *c, bool cancelled)
{
    struct wbi_upstream *up = c->up;
    struct wbi_upstream_ask *a = c->asks;

    c->asks = NULL;
    for (struct wbi_upstream_ask *next; a != NULL; a = next) {
        bool held = a->held;

        next = a->next;
        a->call = NULL;
        if (a->id != NULL && up->state == WBI_UP_READY) {
            struct wbi_str method = wbi_str_z(a->method);

            if (cancelled || method.p == NULL ||
                !ask_for(asked_call(up, method), wbi_str_z(a->id), method, wbi_str_z(a->params),
                         false))
                refuse_request(up, wbi_str_z(a->id));
        }
        if (!held)
            free_ask(a);
    }
}

static void take_request(struct wbi_upstream *up, struct wbi_upstream_call *call,
                         const struct wbi_rpc *rpc)
{
    bool certain = call != NULL && !call->own; /* it came on the call's own stream */
    const char *fault = wbi_mcp_question_fault(rpc->method, rpc->params);
    char *params = NULL;

    if (wbi_str_eqz(rpc->method, "ping") && up->era == WBI_ERA_LEGACY) {
        answer_request(up, rpc->id_text, WBI_LIT("{}"), false);
        return;
    }
    if (fault != NULL) {
        refuse_malformed(up, rpc->id_text, fault);
        return;
    }
    if (up->era == WBI_ERA_MODERN || wbi_mcp_ability_for(rpc->method) == NULL)
        call = NULL;
    else if (!certain)
        call = asked_call(up, rpc->method);
    else if (call->ops.on_ask == NULL || !wbi_mcp_able(&call->abilities, rpc->method))
        call = NULL;
    if (call != NULL)
        params = json_text(rpc->params);
    if ((params == NULL) != (rpc->params == NULL) ||
        !ask_for(call, rpc->id_text, rpc->method, wbi_str_z(params), certain))
        refuse_request(up, rpc->id_text);
    wbi_free(params);
}

static bool is_number(const wbi_json *v)
{
    return wbi_json_is(v, WBI_JSON_INT) || wbi_json_is(v, WBI_JSON_REAL);
}

static void take_progress(struct wbi_upstream *up, const wbi_json *params)
{
    struct wbi_upstream_call *c = by_id(up, wbi_json_get(params, "progressToken"));
    const wbi_json *progress = wbi_json_get(params, "progress");
    const wbi_json *total = wbi_json_get(params, "total");

    if (c == NULL || !c->progress || c->ops.on_progress == NULL || !is_number(progress) ||
        (total != NULL && !is_number(total) && !wbi_json_is(total, WBI_JSON_NULL)))
        return; /* of wrong form it says nothing */
    c->ops.on_progress(c->arg, wbi_json_num(progress), is_number(total) ? wbi_json_num(total) : -1,
                       wbi_json_get_str(params, "message"), params);
}

/* Whose message is it? On a shared connection the newest call's, if all that are open
 * belong to one conversation; else it could be anybody's. */
static struct wbi_upstream_call *logged_call(const struct wbi_upstream *up)
{
    struct wbi_upstream_call *found = NULL;

    for (struct wbi_upstream_call *c = up->calls; c != NULL; c = c->next) {
        if (!wbi_call_under_way(c))
            continue;
        if (found != NULL && strcmp(found->conversation, c->conversation) != 0)
            return NULL;
        if (found == NULL)
            found = c;
    }
    return found;
}

static void take_log(struct wbi_upstream *up, const struct wbi_upstream_call *call,
                     const wbi_json *params)
{
    const struct wbi_upstream_call *c = call != NULL ? call : logged_call(up);

    if (c != NULL && c->ops.on_log != NULL)
        c->ops.on_log(c->arg, wbi_json_get_str(params, "level"), wbi_json_get_str(params, "logger"),
                      wbi_json_get(params, "data"), params);
}

static struct wbi_upstream_ask *asked_by(const struct wbi_upstream *up, struct wbi_str id)
{
    for (const struct wbi_upstream_call *c = up->calls; c != NULL; c = c->next) {
        for (struct wbi_upstream_ask *a = c->asks; a != NULL; a = a->next) {
            if (a->id != NULL && wbi_str_eqz(id, a->id))
                return a;
        }
    }
    return NULL;
}

/* The server takes a question of its own back and goes on without. */
static void take_cancelled(const struct wbi_upstream *up, const wbi_json *params)
{
    char *id = json_text(wbi_json_get(params, "requestId"));
    struct wbi_upstream_ask *a = id != NULL ? asked_by(up, wbi_str_z(id)) : NULL;

    if (a != NULL && a->held && !a->withdrawn && a->call->ops.on_withdrawn != NULL) {
        a->withdrawn = true;
        a->call->ops.on_withdrawn(a->call->arg, a);
    }
    wbi_free(id);
}

static void take_note(struct wbi_upstream *up, struct wbi_upstream_call *call,
                      const struct wbi_rpc *rpc)
{
    struct wbi_str m = rpc->method;

    if (wbi_str_eqz(m, "notifications/progress"))
        take_progress(up, rpc->params);
    else if (wbi_str_eqz(m, "notifications/cancelled"))
        take_cancelled(up, rpc->params);
    else if (wbi_str_eqz(m, "notifications/elicitation/complete")) {
        struct wbi_str id = wbi_json_get_str(rpc->params, "elicitationId");

        if (up->ops.on_elicited != NULL && id.p != NULL)
            up->ops.on_elicited(up->arg, id);
    } else if (wbi_str_eqz(m, "notifications/message"))
        take_log(up, call, rpc->params);
    else if (wbi_str_eqz(m, "notifications/subscriptions/acknowledged"))
        wbi_up_listened(up);
    else if (wbi_str_eqz(m, "notifications/resources/updated")) {
        if (up->ops.on_updated != NULL)
            up->ops.on_updated(up->arg, wbi_json_get_str(rpc->params, "uri"));
    } else if (up->ops.on_changed != NULL) {
        if (wbi_str_eqz(m, "notifications/tools/list_changed"))
            up->ops.on_changed(up->arg, WBI_MCP_TOOLS);
        else if (wbi_str_eqz(m, "notifications/prompts/list_changed"))
            up->ops.on_changed(up->arg, WBI_MCP_PROMPTS);
        else if (wbi_str_eqz(m, "notifications/resources/list_changed"))
            up->ops.on_changed(up->arg, WBI_MCP_RESOURCES);
    }
}

void wbi_up_lost(struct wbi_upstream *up, const struct wbi_overlong *about)
{
    struct wbi_str id = wbi_overlong_id(about);
    struct wbi_upstream_call *c;

    if (id.p != NULL && about->has_method) {
        answer_request(up, id, WBI_LIT("{\"code\":-32600,\"message\":\"the message is too long\"}"),
                       /* is_error= */ true);
        return;
    }
    c = by_text(up, id);
    if (c != NULL)
        wbi_up_too_large(c);
}

/* A line that is no message is passed over, but whoever waits for the answer it was meant to
 * be is told. */
static void take_unreadable(struct wbi_upstream *up, struct wbi_str text, const struct wbi_rpc *rpc,
                            const char *why)
{
    bool empty = rpc->kind == WBI_RPC_RESULT; /* it says whose answer it is, and no more */
    struct wbi_overlong about = {0};
    struct wbi_upstream_call *c;
    char reason[256];

    up->counts.banners++;
    if (up->ops.on_banner != NULL)
        up->ops.on_banner(up->arg);
    wbi_overlong_feed(&about, text);
    c = by_text(up, wbi_overlong_id(&about));
    if (about.has_method || !(about.has_answer || empty) || c == NULL)
        return;
    (void)snprintf(reason, sizeof(reason), "the answer cannot be read: %.200s", why);
    wbi_upstream_call_fail(c, WB_EINPUT, reason);
}

void wbi_up_message(struct wbi_upstream *up, struct wbi_upstream_call *call, struct wbi_str text)
{
    struct wbi_arena *arena = NULL;
    struct wbi_rpc rpc;
    int code;
    WBI_ERROR_HERE(err);

    if (wbi_loop_arena(up->loop, WBI_ARENA_MESSAGE, WBI_LIMIT_MESSAGE_ARENA, &arena) != WB_OK)
        return; /* the call it belonged to will time out */
    if (wbi_rpc_read(arena, text, &rpc, &code, &err) != WB_OK)
        take_unreadable(up, text, &rpc, err.text);
    else if (rpc.kind == WBI_RPC_RESULT || rpc.kind == WBI_RPC_ERROR)
        take_answer(up, &rpc, &arena);
    else if (rpc.kind == WBI_RPC_REQUEST)
        take_request(up, call, &rpc);
    else
        take_note(up, call, &rpc);
    wbi_arena_free(arena);
}
