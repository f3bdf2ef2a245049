/* SPDX-License-Identifier: Apache-2.0
 * serve/pass.c: one request of a client as a request to the upstream it is for.
 * (1) Where the owner of a resource is not known, all servers are asked at once and
 * the first that has it counts: one that hangs holds nobody up. (2) Answers pass as
 * they came, but for secrets in them (C8.8). */
#include "serve/pass.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "call/redact.h"
#include "json/write.h"
#include "serve/relay.h"
#include "serve/shelf.h"
#include "serve/upstreams.h"

struct pass;

#define NO_REF \
    "there is nothing to complete; params.ref must be a ref/prompt or ref/resource of a server"
#define REDACTIONS "waybill/redactions" /* member of _meta */
#define NO_PROMPT "there is no such prompt; params.name must be one of prompts/list"

/* One server that is asked. */
struct attempt {
    struct pass *pass;
    struct wbi_server *server;
    struct wbi_upstream_call *call; /* NULL: it is over */
    struct wbi_upstream *up;        /* that it goes over */
    bool moved;                     /* from another one */
};

struct pass {
    enum wbi_served_kind kind;
    struct wbi_gateway *gateway;
    struct wbi_mcp_request *r; /* NULL: answered */
    const char *method;
    struct wbi_str uri; /* of a resource that is looked for, in r's arena */
    char *params;
    size_t open; /* attempts that are not over, and one for who holds it */
    size_t count;
    struct attempt attempts[];
};

static void let_go(struct pass *p)
{
    if (--p->open > 0)
        return;
    wbi_free(p->params);
    wbi_free(p);
}

/* r has been answered, or is cancelled (perhaps with a reason): nobody needs the others. */
static void finish(struct pass *p, struct wbi_str reason)
{
    p->r = NULL;
    p->open++;
    for (size_t i = 0; i < p->count; i++)
        if (p->attempts[i].call != NULL)
            wbi_upstream_cancel(p->attempts[i].call, reason);
    let_go(p);
}

/* A resource that is not there: in each revision by another code. What else could be wrong with
 * the params of a read was looked at before. */
static bool is_unfound(const struct attempt *t, int64_t code)
{
    return code == WBI_RPC_NO_RESOURCE ||
           (code == WBI_RPC_PARAMS && t->pass->uri.p != NULL && wbi_upstream_is_modern(t->up));
}

static void fail_rpc(const struct attempt *t, const wbi_json *error)
{
    struct wbi_mcp_request *r = t->pass->r;
    int64_t code = WBI_RPC_INTERNAL;
    struct wbi_buf data;

    (void)wbi_json_i64(wbi_json_get(error, "code"), &code);
    if (code == WBI_RPC_URL_ELICITATION)
        wbi_relay_elicits(t->server, r, error);
    if (is_unfound(t, code))
        code = wbi_mcp_era(r) == WBI_ERA_MODERN ? WBI_RPC_PARAMS : WBI_RPC_NO_RESOURCE;
    if (code == WBI_RPC_HEADER || code == WBI_RPC_VERSION)
        code = WBI_RPC_INTERNAL; /* what we sent, not what the client did */
    wbi_buf_init(&data, WBI_LIMIT_MCP_MESSAGE);
    if (wbi_json_get(error, "data") != NULL)
        wbi_json_write(&data, wbi_json_get(error, "data"));
    wbi_mcp_fail(r, (int)code, wbi_json_get_str(error, "message"),
                 data.n > 0 && wbi_buf_rc(&data) == WB_OK ? wbi_buf_str(&data) : WBI_NONE);
    wbi_buf_fini(&data);
}

/* The result with a _meta that tells what was taken out of it. */
static wb_rc tell_redactions(const struct wbi_redact_list *list, struct wbi_str *text)
{
    const wbi_json *result, *meta;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = wbi_json_read(list->arena, *text, WBI_JSON_STRICT, &result, NULL);

    if (rc != WB_OK || !wbi_json_is(result, WBI_JSON_OBJ))
        return rc;
    meta = wbi_json_get(result, "_meta");
    wbi_buf_init_arena(&out, list->arena, WBI_LIMIT_CALL_ARENA);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (result, k) {
        if (k_val == meta)
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_key(&w, "_meta");
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (meta, k) {
        if (wbi_str_eqz(wbi_json_str(k), REDACTIONS))
            continue; /* another gateway behind this one tells what it took out */
        wbi_jw_keyn(&w, wbi_json_str(k));
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_key(&w, REDACTIONS);
    wbi_jw_arr(&w);
    for (size_t i = 0; i < list->n; i++)
        wbi_jw_str(&w, list->path[i]);
    wbi_jw_arr_end(&w);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    *text = wbi_buf_str(&out);
    return wbi_buf_rc(&out);
}

/* Rules of policy know it by a name that no tool can have: mcp::SERVER::resources/read. */
static wb_rc redact(const struct attempt *t, struct wbi_str *text, struct wbi_redact_list *list)
{
    const struct pass *p = t->pass;
    struct wbi_str name =
        wbi_arena_fmt(list->arena, "mcp::%.*s::%s", WBI_FMT(wbi_server_name(t->server)), p->method);

    if (name.p == NULL)
        return WB_ENOMEM;
    return wbi_redact_passing(p->gateway->rt, name, wbi_mcp_principal(p->r), text, list);
}

/* How long its server lets others keep a result; one that does not say so gives no time. */
static int64_t ttl_of(const wbi_json *result)
{
    int64_t ms = 0;

    return wbi_json_i64(wbi_json_get(result, "ttlMs"), &ms) && ms > 0 ? ms : 0;
}

static void reply(const struct attempt *t, const struct wbi_upstream_answer *a)
{
    const struct pass *p = t->pass;
    struct wbi_redact_list list = {0};
    struct wbi_str text = a->text;
    const wbi_json *error = a->error;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &list.arena);

    if (rc == WB_OK)
        rc = redact(t, &text, &list);
    if (rc == WB_OK && list.n > 0)
        rc = error != NULL ? wbi_json_read(list.arena, text, WBI_JSON_STRICT, &error, NULL)
                           : tell_redactions(&list, &text);
    if (rc != WB_OK) /* rather nothing than a secret */
        wbi_mcp_fail(p->r, WBI_RPC_INTERNAL, WBI_LIT("the answer could not be redacted"), WBI_NONE);
    else if (error != NULL)
        fail_rpc(t, error);
    else {
        wbi_mcp_set_ttl(p->r, ttl_of(a->result));
        wbi_mcp_reply(p->r, text);
    }
    wbi_arena_free(list.arena);
}

/* Nobody has what was looked for. */
static void fail_unfound(const struct pass *p)
{
    if (p->uri.p != NULL)
        wbi_mcp_fail_resource(p->r, p->uri);
    else
        wbi_mcp_fail(p->r, WBI_RPC_PARAMS,
                     strcmp(p->method, "prompts/get") == 0 ? WBI_LIT(NO_PROMPT) : WBI_LIT(NO_REF),
                     WBI_NONE);
}

/* The server knows no such method: it has nothing of the kind. */
static bool has_no_such(const struct wbi_upstream_answer *a)
{
    int64_t code;

    return wbi_json_i64(wbi_json_get(a->error, "code"), &code) && code == WBI_RPC_NO_METHOD;
}

/* The method is one of ours: that one server has none of what it is about is no reason to tell
 * a client that nobody has. */
static void answer(const struct attempt *t, const struct wbi_upstream_answer *a)
{
    const struct pass *p = t->pass;
    struct wbi_buf why;

    if (a->rc == WB_OK && p->count == 1 && has_no_such(a)) {
        if (strcmp(p->method, "completion/complete") == 0)
            wbi_mcp_reply(p->r, WBI_LIT("{\"completion\":{\"values\":[]}}"));
        else
            fail_unfound(p);
    } else if (a->rc == WB_OK && (a->error == NULL || p->count == 1)) {
        reply(t, a);
    } else if (p->count > 1) {
        fail_unfound(p);
    } else if (a->lacks != NULL && wbi_mcp_era(p->r) == WBI_ERA_MODERN) {
        wbi_mcp_fail_able(p->r, a->lacks);
    } else {
        wbi_buf_init(&why, WBI_LIMIT_MCP_MESSAGE);
        wbi_mcp_fail(p->r, WBI_RPC_INTERNAL, wbi_relay_why(p->gateway->rt, a->why, &why), WBI_NONE);
        wbi_buf_fini(&why);
    }
}

/* Some servers answer with nothing where they have nothing: that finds nothing. */
static bool has_something(const struct wbi_upstream_answer *a)
{
    return a->rc == WB_OK && a->error == NULL &&
           (wbi_json_count(wbi_json_get(a->result, "contents")) > 0 ||
            wbi_json_count(wbi_json_get(wbi_json_get(a->result, "completion"), "values")) > 0);
}

static bool begin(struct attempt *t);

/* What one connection to the server could not take, and did not send, goes over another. */
static bool move(struct attempt *t, const struct wbi_upstream_answer *a)
{
    if (t->moved || t->pass->r == NULL || a->rc != WB_EIO || a->sent)
        return false;
    t->moved = true;
    t->up = wbi_server_link_instead(t->server, t->up, WBI_NONE);
    return t->up != NULL && begin(t);
}

static void on_done(void *arg, const struct wbi_upstream_answer *a)
{
    struct attempt *t = arg;
    struct pass *p = t->pass;

    t->call = NULL;
    if (move(t, a))
        return;
    if (p->r != NULL && (p->open == 1 || has_something(a))) {
        answer(t, a);
        finish(p, WBI_NONE);
    }
    let_go(p);
}

static void on_progress(void *arg, double progress, double total, struct wbi_str message,
                        const wbi_json *params)
{
    const struct pass *p = ((struct attempt *)arg)->pass;

    wbi_relay_progress(p->gateway->rt, p->r, progress, total, message, params);
}

static void on_log(void *arg, struct wbi_str level, struct wbi_str logger, const wbi_json *data,
                   const wbi_json *params)
{
    const struct pass *p = ((struct attempt *)arg)->pass;

    wbi_relay_log(p->gateway->rt, p->r, level, logger, data, params);
}

static void on_ask(void *arg, struct wbi_upstream_ask *ask, struct wbi_str key,
                   struct wbi_str method, struct wbi_str params)
{
    const struct attempt *t = arg;

    wbi_relay_ask(t->server, t->pass->r, ask, key, method, params);
}

static void on_withdrawn(void *arg, struct wbi_upstream_ask *ask)
{
    wbi_relay_withdrawn(((struct attempt *)arg)->pass->r, ask);
}

static bool is_away(void *arg)
{
    const struct wbi_mcp_request *r = ((struct attempt *)arg)->pass->r;

    return r != NULL && wbi_mcp_parked(r);
}

/* Only the owner may ask the client something, report and take its time. */
static bool begin(struct attempt *t)
{
    static const struct wbi_upstream_call_ops ops = {on_done,      on_progress, on_log, on_ask,
                                                     on_withdrawn, NULL,        is_away};
    static const struct wbi_upstream_call_ops quiet = {.on_done = on_done};
    const struct pass *p = t->pass;
    struct wbi_upstream_request q = {
        .method = p->method, .params = wbi_str_z(p->params), .meta = wbi_mcp_meta(p->r)};
    bool owner = p->count == 1;

    if (owner)
        wbi_relay_client(&q, p->r);
    else
        q.timeout_ms = WBI_UPSTREAM_LISTS_MS;
    return wbi_upstream_start(t->up, &q, owner ? &ops : &quiet, t, &t->call, NULL) == WB_OK;
}

static void send_to(struct pass *p, struct wbi_server *s)
{
    struct attempt *t = &p->attempts[p->open - 1];

    *t = (struct attempt){
        .pass = p, .server = s, .up = wbi_server_link_for(s, p->r, WBI_NONE, NULL)};
    if (t->up != NULL && begin(t))
        p->open++;
}

/* s NULL: whoever has it, uri (absent: something to complete). params is copied. */
static void pass_on(struct wbi_gateway *g, struct wbi_mcp_request *r, struct wbi_server *s,
                    const char *method, const struct wbi_buf *params, struct wbi_str uri)
{
    size_t n = s != NULL ? 1 : wbi_upstreams_count(g->ups);
    struct pass *p;

    if (wbi_buf_rc(params) == WB_ELIMIT) { /* numbers in our spelling may be longer */
        wbi_mcp_fail(r, WBI_RPC_PARAMS, WBI_LIT("params are longer than 16 MiB"), WBI_NONE);
        return;
    }
    p = wbi_buf_rc(params) == WB_OK ? wbi_zalloc(sizeof(*p) + n * sizeof(p->attempts[0])) : NULL;
    if (p != NULL)
        p->params = wbi_strdup(wbi_buf_str(params));
    if (p == NULL || p->params == NULL) {
        wbi_free(p);
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
        return;
    }
    p->kind = WBI_SERVED_PASS;
    p->gateway = g;
    p->r = r;
    p->method = method;
    p->uri = uri;
    p->count = n;
    p->open = 1;
    wbi_mcp_set_user(r, p);
    for (size_t i = 0; i < n; i++)
        send_to(p, s != NULL ? s : wbi_upstreams_at(g->ups, i));
    if (p->open == 1) {
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("no server could be asked"), WBI_NONE);
        p->r = NULL;
    }
    let_go(p);
}

/* Members of params that are of one hop: what a call asked, and was answered, is told apart on
 * either side. null is no member, and strict servers take it for one of the wrong form. */
static bool stays(struct wbi_str member, const wbi_json *v)
{
    return wbi_str_eqz(member, "_meta") || wbi_str_eqz(member, "inputResponses") ||
           wbi_str_eqz(member, "requestState") || wbi_json_is(v, WBI_JSON_NULL);
}

/* The params as they came, those of this hop aside; name in place of a member of that name. */
static void write_params(struct wbi_buf *out, const wbi_json *params, const char *member,
                         struct wbi_str name)
{
    struct wbi_jw w = wbi_jw_to(out);

    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (params, k) {
        if (stays(wbi_json_str(k), k_val))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        if (member != NULL && wbi_str_eqz(wbi_json_str(k), member))
            wbi_jw_str(&w, name);
        else
            wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
}

/* The server that a shown name belongs to, and its own name there: the first that lists it, as
 * in prompts/list, else the longest prefix counts. */
static struct wbi_server *owner_of(struct wbi_gateway *g, struct wbi_str shown,
                                   struct wbi_str *ret_name)
{
    struct wbi_server *found = NULL;
    size_t best = 0;

    *ret_name = shown;
    for (size_t i = 0; i < wbi_upstreams_count(g->ups); i++) {
        struct wbi_server *s = wbi_upstreams_at(g->ups, i);
        struct wbi_str prefix = wbi_server_prefix(s);
        bool listed = wbi_shelf_has(wbi_server_shelf(s, WBI_MCP_PROMPTS), shown);

        if (prefix.n > 0 && (shown.n <= prefix.n + 2 || !wbi_str_starts(shown, prefix) ||
                             memcmp(shown.p + prefix.n, "__", 2) != 0))
            continue;
        if (!listed && prefix.n + 1 <= best)
            continue;
        best = prefix.n + 1;
        found = s;
        *ret_name = prefix.n > 0 ? wbi_str_from(shown, prefix.n + 2) : shown;
        if (listed)
            break;
    }
    return found;
}

void wbi_serve_prompt(void *arg, struct wbi_mcp_request *r, struct wbi_str prompt,
                      const wbi_json *arguments)
{
    struct wbi_gateway *g = arg;
    struct wbi_str name;
    struct wbi_server *s = owner_of(g, prompt, &name);
    struct wbi_buf params;

    (void)arguments;
    if (s == NULL) {
        wbi_mcp_fail(r, WBI_RPC_PARAMS, WBI_LIT(NO_PROMPT), WBI_NONE);
        return;
    }
    wbi_buf_init_arena(&params, wbi_mcp_arena(r), WBI_LIMIT_MCP_MESSAGE);
    write_params(&params, wbi_mcp_params(r), "name", name);
    pass_on(g, r, s, "prompts/get", &params, WBI_NONE);
}

struct wbi_server *wbi_pass_owner(const struct wbi_gateway *g, struct wbi_str uri)
{
    struct wbi_server *found = NULL;
    size_t best = 0;

    for (size_t i = 0; i < wbi_upstreams_count(g->ups); i++) {
        struct wbi_server *s = wbi_upstreams_at(g->ups, i);
        size_t rank = wbi_shelf_fits(wbi_server_shelf(s, WBI_MCP_TEMPLATES), uri);

        if (wbi_shelf_has(wbi_server_shelf(s, WBI_MCP_RESOURCES), uri))
            return s;
        if (rank > best) {
            best = rank;
            found = s;
        }
    }
    return found;
}

void wbi_pass_read(struct wbi_gateway *g, struct wbi_mcp_request *r, struct wbi_str uri)
{
    struct wbi_buf params;

    if (wbi_upstreams_count(g->ups) == 0) {
        wbi_mcp_fail_resource(r, uri);
        return;
    }
    wbi_buf_init_arena(&params, wbi_mcp_arena(r), WBI_LIMIT_MCP_MESSAGE);
    write_params(&params, wbi_mcp_params(r), NULL, WBI_NONE);
    pass_on(g, r, wbi_pass_owner(g, uri), "resources/read", &params, uri);
}

/* Where a reference belongs to; false: nowhere. *ret NULL: not known. */
static bool owner_of_ref(struct wbi_gateway *g, const wbi_json *ref, struct wbi_server **ret,
                         struct wbi_str *ret_name)
{
    struct wbi_str type = wbi_json_get_str(ref, "type"), uri = wbi_json_get_str(ref, "uri");

    *ret = NULL;
    *ret_name = wbi_json_get_str(ref, "name");
    if (wbi_str_eqz(type, "ref/prompt")) {
        *ret = ret_name->p != NULL ? owner_of(g, *ret_name, ret_name) : NULL;
        return *ret != NULL;
    }
    if (!wbi_str_eqz(type, "ref/resource") || uri.p == NULL)
        return false;
    for (size_t i = 0; i < wbi_upstreams_count(g->ups) && *ret == NULL; i++)
        if (wbi_shelf_has(wbi_server_shelf(wbi_upstreams_at(g->ups, i), WBI_MCP_TEMPLATES), uri))
            *ret = wbi_upstreams_at(g->ups, i);
    if (*ret == NULL)
        *ret = wbi_pass_owner(g, uri);
    return wbi_upstreams_count(g->ups) > 0;
}

void wbi_serve_complete(void *arg, struct wbi_mcp_request *r, const wbi_json *params)
{
    struct wbi_gateway *g = arg;
    const wbi_json *ref = wbi_json_get(params, "ref");
    struct wbi_server *s;
    struct wbi_str name;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    if (!owner_of_ref(g, ref, &s, &name)) {
        wbi_mcp_fail(r, WBI_RPC_PARAMS, WBI_LIT(NO_REF), WBI_NONE);
        return;
    }
    wbi_buf_init_arena(&out, wbi_mcp_arena(r), WBI_LIMIT_MCP_MESSAGE);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (params, k) {
        if (stays(wbi_json_str(k), k_val))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        if (k_val == ref) {
            write_params(&out, ref, "name", name);
            w.comma = true;
        } else {
            wbi_jw_val(&w, k_val);
        }
    }
    wbi_jw_obj_end(&w);
    pass_on(g, r, s, "completion/complete", &out, WBI_NONE);
}

void wbi_serve_cancelled(void *arg, struct wbi_mcp_request *r)
{
    enum wbi_served_kind *kind = wbi_mcp_user(r);
    struct pass *p = wbi_mcp_user(r);

    if (kind == NULL)
        return;
    if (*kind == WBI_SERVED_CALL) {
        wbi_serve_cancel(arg, r);
    } else if (*kind == WBI_SERVED_LIST) {
        wbi_gather_cancel(wbi_mcp_user(r));
    } else if (*kind == WBI_SERVED_TOOLS) {
        wbi_serve_tools_cancel(wbi_mcp_user(r));
    } else {
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("cancelled"), WBI_NONE); /* dropped */
        finish(p, wbi_mcp_cancel_reason(r));
    }
}
