/* SPDX-License-Identifier: Apache-2.0
 * serve/pass.c: one request of a client as a request to the upstream it is for.
 * A resource whose owner is not known is asked for one server after the other.
 * Answers pass as they came, but for secrets in them (C8.8). */
#include "serve/definition.h"
#include "serve/pass.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "call/redact.h"
#include "json/write.h"
#include "serve/relay.h"
#include "serve/upstreams.h"

struct pass {
    enum wbi_served_kind kind;
    struct wbi_gateway *gateway;
    struct wbi_mcp_request *r;
    struct wbi_server *server; /* that is asked */
    struct wbi_upstream_call *call;
    const char *method;
    char *params;
    size_t next; /* server to ask when this one does not know */
    bool try_others;
};

static void try_next(struct pass *p);

static void end(struct pass *p)
{
    wbi_free(p->params);
    wbi_free(p);
}

static void fail_rpc(struct wbi_mcp_request *r, const wbi_json *error)
{
    int64_t code = WBI_RPC_INTERNAL;
    struct wbi_buf data;

    (void)wbi_json_i64(wbi_json_get(error, "code"), &code);
    if (code == WBI_RPC_NO_RESOURCE && wbi_mcp_era(r) == WBI_ERA_MODERN)
        code = WBI_RPC_PARAMS;
    wbi_buf_init(&data, WBI_LIMIT_MCP_MESSAGE);
    if (wbi_json_get(error, "data") != NULL)
        wbi_json_write(&data, wbi_json_get(error, "data"));
    wbi_mcp_fail(r, (int)code, wbi_json_get_str(error, "message"),
                 data.n > 0 ? wbi_buf_str(&data) : WBI_NONE);
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
        wbi_jw_keyn(&w, wbi_json_str(k));
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_key(&w, "waybill/redactions");
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
static wb_rc redact(const struct pass *p, struct wbi_str *text, struct wbi_redact_list *list)
{
    struct wbi_str name =
        wbi_arena_fmt(list->arena, "mcp::%.*s::%s", WBI_FMT(wbi_server_name(p->server)), p->method);

    if (name.p == NULL)
        return WB_ENOMEM;
    return wbi_redact_passing(p->gateway->rt, name, wbi_mcp_principal(p->r), text, list);
}

static void reply(const struct pass *p, const struct wbi_upstream_answer *a)
{
    struct wbi_redact_list list = {0};
    struct wbi_str text = a->text;
    const wbi_json *error = a->error;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &list.arena);

    if (rc == WB_OK)
        rc = redact(p, &text, &list);
    if (rc == WB_OK && list.n > 0)
        rc = error != NULL ? wbi_json_read(list.arena, text, WBI_JSON_STRICT, &error, NULL)
                           : tell_redactions(&list, &text);
    if (rc != WB_OK) /* rather nothing than a secret */
        wbi_mcp_fail(p->r, WBI_RPC_INTERNAL, WBI_LIT("the answer could not be redacted"), WBI_NONE);
    else if (error != NULL)
        fail_rpc(p->r, error);
    else
        wbi_mcp_reply(p->r, text);
    wbi_arena_free(list.arena);
}

static void on_done(void *arg, const struct wbi_upstream_answer *a)
{
    struct pass *p = arg;

    p->call = NULL;
    if (p->try_others && a->rc != WB_ECANCELLED && (a->rc != WB_OK || a->error != NULL) &&
        p->next < wbi_upstreams_count(p->gateway->ups)) {
        try_next(p);
        return;
    }
    if (a->rc == WB_OK)
        reply(p, a);
    else if (a->rc == WB_EDENIED && a->lacks != NULL)
        wbi_mcp_fail_able(p->r, a->lacks);
    else
        wbi_mcp_fail(p->r, WBI_RPC_INTERNAL, wbi_str_z(a->why), WBI_NONE);
    wbi_gateway_rest(p->gateway);
    end(p);
}

static void on_progress(void *arg, double progress, double total, struct wbi_str message)
{
    const struct pass *p = arg;

    wbi_relay_progress(p->gateway->rt, p->r, progress, total, message);
}

static void on_log(void *arg, struct wbi_str level, struct wbi_str logger, const wbi_json *data)
{
    const struct pass *p = arg;

    wbi_relay_log(p->gateway->rt, p->r, level, logger, data);
}

static void on_ask(void *arg, struct wbi_upstream_ask *ask, struct wbi_str key,
                   struct wbi_str method, struct wbi_str params)
{
    wbi_relay_ask(((struct pass *)arg)->r, ask, key, method, params);
}

static bool send_to(struct pass *p, struct wbi_server *s)
{
    static const struct wbi_upstream_call_ops ops = {on_done, on_progress, on_log, on_ask};
    struct wbi_upstream_request q = {.method = p->method, .params = wbi_str_z(p->params)};
    struct wbi_upstream *up = wbi_server_link(s, NULL);

    wbi_relay_client(&q, p->r);
    p->server = s;
    return up != NULL && wbi_upstream_start(up, &q, &ops, p, &p->call, NULL) == WB_OK;
}

static void fail_unreached(struct pass *p)
{
    wbi_mcp_fail(p->r, WBI_RPC_INTERNAL, WBI_LIT("no server could be asked"), WBI_NONE);
    end(p);
}

static void try_next(struct pass *p)
{
    while (p->next < wbi_upstreams_count(p->gateway->ups))
        if (send_to(p, wbi_upstreams_at(p->gateway->ups, p->next++)))
            return;
    fail_unreached(p);
}

/* s NULL: whoever answers first, in order. params is copied. */
static void pass_on(struct wbi_gateway *g, struct wbi_mcp_request *r, struct wbi_server *s,
                    const char *method, struct wbi_str params)
{
    struct pass *p = wbi_zalloc(sizeof(*p));

    if (p != NULL)
        p->params = wbi_strdup(params);
    if (p == NULL || p->params == NULL) {
        wbi_free(p);
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
        return;
    }
    p->kind = WBI_SERVED_PASS;
    p->gateway = g;
    p->r = r;
    p->method = method;
    p->try_others = s == NULL;
    wbi_mcp_set_user(r, p);
    if (s == NULL)
        try_next(p);
    else if (!send_to(p, s))
        fail_unreached(p);
}

/* The params as they came, _meta aside; name in place of a member of that name. */
static void write_params(struct wbi_buf *out, const wbi_json *params, const char *member,
                         struct wbi_str name)
{
    struct wbi_jw w = wbi_jw_to(out);

    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (params, k) {
        if (wbi_str_eqz(wbi_json_str(k), "_meta"))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        if (member != NULL && wbi_str_eqz(wbi_json_str(k), member))
            wbi_jw_str(&w, name);
        else
            wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
}

/* The server that a shown name belongs to, and its own name there. */
static struct wbi_server *owner_of(struct wbi_gateway *g, struct wbi_str shown,
                                   struct wbi_str *ret_name)
{
    struct wbi_server *found = NULL, *bare = NULL;
    size_t longest = 0;

    for (size_t i = 0; i < wbi_upstreams_count(g->ups); i++) {
        struct wbi_server *s = wbi_upstreams_at(g->ups, i);
        struct wbi_str prefix = wbi_server_prefix(s);

        if (prefix.n > longest && shown.n > prefix.n + 2 && wbi_str_starts(shown, prefix) &&
            memcmp(shown.p + prefix.n, "__", 2) == 0) {
            longest = prefix.n;
            found = s;
        }
        if (prefix.n == 0 && bare == NULL)
            bare = s;
    }
    *ret_name = found != NULL ? wbi_str_from(shown, longest + 2) : shown;
    return found != NULL ? found : bare;
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
        wbi_mcp_fail(r, WBI_RPC_PARAMS, WBI_LIT("there is no such prompt"), WBI_NONE);
        return;
    }
    wbi_buf_init_arena(&params, wbi_mcp_arena(r), WBI_LIMIT_MCP_MESSAGE);
    write_params(&params, wbi_mcp_params(r), "name", name);
    pass_on(g, r, s, "prompts/get", wbi_buf_str(&params));
}

/* The server whose newest lists name the URI; NULL: not known. */
static struct wbi_server *owner_of_uri(struct wbi_gateway *g, struct wbi_str uri)
{
    for (size_t i = 0; i < wbi_upstreams_count(g->ups); i++) {
        struct wbi_server *s = wbi_upstreams_at(g->ups, i);
        struct wbi_str listed = wbi_server_listed(s, WBI_MCP_RESOURCES);

        if (listed.p != NULL && wbi_str_find(listed, uri) < listed.n)
            return s;
    }
    return NULL;
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
    pass_on(g, r, owner_of_uri(g, uri), "resources/read", wbi_buf_str(&params));
}

void wbi_serve_complete(void *arg, struct wbi_mcp_request *r, const wbi_json *params)
{
    struct wbi_gateway *g = arg;
    const wbi_json *ref = wbi_json_get(params, "ref");
    struct wbi_str shown = wbi_json_get_str(ref, "name"), name = shown;
    struct wbi_server *s = NULL;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    if (wbi_upstreams_count(g->ups) == 0) {
        wbi_mcp_fail(r, WBI_RPC_PARAMS, WBI_LIT("there is nothing to complete"), WBI_NONE);
        return;
    }
    if (shown.p != NULL)
        s = owner_of(g, shown, &name);
    wbi_buf_init_arena(&out, wbi_mcp_arena(r), WBI_LIMIT_MCP_MESSAGE);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (params, k) {
        if (wbi_str_eqz(wbi_json_str(k), "_meta"))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        if (shown.p != NULL && k_val == ref) {
            write_params(&out, ref, "name", name);
            w.comma = true;
        } else {
            wbi_jw_val(&w, k_val);
        }
    }
    wbi_jw_obj_end(&w);
    pass_on(g, r, s, "completion/complete", wbi_buf_str(&out));
}

/* ---- lists ---- */

struct gathering {
    struct wbi_gateway *gateway;
    struct wbi_mcp_request *r;
    enum wbi_mcp_list what;
    struct wbi_buf items;
    size_t left;
};

struct part {
    struct gathering *all;
    struct wbi_server *server;
};

static void finish(struct gathering *all)
{
    if (--all->left > 0)
        return;
    wbi_buf_addc(&all->items, ']');
    if (wbi_buf_rc(&all->items) == WB_OK)
        wbi_mcp_reply_list(all->r, wbi_buf_str(&all->items));
    else
        wbi_mcp_fail(all->r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
    wbi_gateway_rest(all->gateway);
    wbi_buf_fini(&all->items);
    wbi_free(all);
}

/* Prompts get the server's prefix in front, as tools do. */
static void add_item(struct gathering *all, const struct wbi_server *s, const wbi_json *item)
{
    struct wbi_buf name;
    struct wbi_jw w = wbi_jw_to(&all->items);

    if (!wbi_item_allowed(all->what, item))
        return; /* clients would refuse the whole list for it */
    if (all->items.n > 1)
        wbi_buf_addc(&all->items, ',');
    if (all->what != WBI_MCP_PROMPTS || wbi_server_prefix(s).n == 0) {
        wbi_jw_val(&w, item);
        return;
    }
    wbi_buf_init(&name, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_adds(&name, wbi_server_prefix(s));
    wbi_buf_addz(&name, "__");
    wbi_buf_adds(&name, wbi_json_get_str(item, "name"));
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (item, k) {
        wbi_jw_keyn(&w, wbi_json_str(k));
        if (wbi_str_eqz(wbi_json_str(k), "name"))
            wbi_jw_str(&w, wbi_buf_str(&name));
        else
            wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
    wbi_buf_fini(&name);
}

static void on_listed(void *arg, const struct wbi_upstream_answer *a)
{
    struct part *part = arg;
    struct gathering *all = part->all;
    struct wbi_server *s = part->server;
    struct wbi_arena *arena;
    const wbi_json *items;

    wbi_free(part);
    if (a->rc == WB_OK && a->error == NULL &&
        wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK) {
        wbi_server_remember(s, all->what, a->text);
        if (wbi_json_read(arena, a->text, WBI_JSON_STRICT, &items, NULL) == WB_OK)
            WBI_JSON_EACH (items, item)
                add_item(all, s, item);
        wbi_arena_free(arena);
    }
    finish(all);
}

static void ask_server(struct gathering *all, struct wbi_server *s)
{
    struct wbi_upstream *up = wbi_server_link(s, NULL);
    struct part *part = up != NULL ? wbi_alloc(sizeof(*part)) : NULL;

    if (part == NULL)
        return;
    *part = (struct part){all, s};
    all->left++;
    if (wbi_upstream_list(up, all->what, on_listed, part, NULL) != WB_OK) {
        all->left--;
        wbi_free(part);
    }
}

void wbi_pass_list(struct wbi_gateway *g, struct wbi_mcp_request *r, enum wbi_mcp_list what,
                   struct wbi_str own)
{
    struct gathering *all = wbi_zalloc(sizeof(*all));

    if (all == NULL) {
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
        return;
    }
    *all = (struct gathering){.gateway = g, .r = r, .what = what, .left = 1};
    wbi_buf_init(&all->items, WBI_LIMIT_MCP_OUT);
    wbi_buf_addc(&all->items, '[');
    wbi_buf_adds(&all->items, own);
    for (size_t i = 0; i < wbi_upstreams_count(g->ups); i++)
        ask_server(all, wbi_upstreams_at(g->ups, i));
    finish(all);
}

/* ---- watching resources ---- */

static void on_subscribed(void *arg, const struct wbi_upstream_answer *a)
{
    (void)arg;
    (void)a; /* a server that cannot tell will not */
}

void wbi_serve_subscribed(void *arg, struct wbi_str uri, bool on)
{
    static const struct wbi_upstream_call_ops ops = {.on_done = on_subscribed};
    struct wbi_gateway *g = arg;
    struct wbi_server *s = owner_of_uri(g, uri);
    struct wbi_upstream *up = s != NULL ? wbi_server_link(s, NULL) : NULL;
    struct wbi_upstream_request q = {.method =
                                         on ? "resources/subscribe" : "resources/unsubscribe"};
    struct wbi_upstream_call *call;
    struct wbi_buf params;
    struct wbi_jw w = wbi_jw_to(&params);

    if (up == NULL)
        return;
    wbi_buf_init(&params, WBI_LIMIT_MCP_MESSAGE);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "uri", uri);
    wbi_jw_obj_end(&w);
    q.params = wbi_buf_str(&params);
    (void)!wbi_upstream_start(up, &q, &ops, NULL, &call, NULL); /* then nothing is heard */
    wbi_buf_fini(&params);
}

void wbi_serve_cancelled(void *arg, struct wbi_mcp_request *r)
{
    enum wbi_served_kind *kind = wbi_mcp_user(r);
    struct pass *p = wbi_mcp_user(r);

    if (kind == NULL)
        return;
    if (*kind == WBI_SERVED_CALL)
        wbi_serve_cancel(arg, r);
    else if (p->call != NULL)
        wbi_upstream_cancel(p->call);
}
