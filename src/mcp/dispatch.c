/* SPDX-License-Identifier: Apache-2.0
 * mcp/dispatch.c: which function answers which method. What the protocol can
 * answer by itself is answered here; the rest goes to the table. */
#include <stdio.h>

#include "base/checked.h"
#include "base/utf8.h"
#include "json/write.h"
#include "mcp/server_int.h"

/* Of a reason to cancel, as much as anybody reads. */
#define REASON_MAX 1024u

struct wbi_arena *wbi_mcp_arena(struct wbi_mcp_request *r)
{
    return r->arena;
}
const wbi_json *wbi_mcp_params(const struct wbi_mcp_request *r)
{
    return r->rpc.params;
}
const wbi_json *wbi_mcp_meta(const struct wbi_mcp_request *r)
{
    return r->meta;
}
void wbi_mcp_trace(const struct wbi_mcp_request *r, struct wbi_str *ret_parent,
                   struct wbi_str *ret_state)
{
    bool own = wbi_json_get(r->meta, "traceparent") != NULL;

    *ret_parent = own ? wbi_json_get_str(r->meta, "traceparent") : r->trace_parent;
    *ret_state = own ? wbi_json_get_str(r->meta, "tracestate") : r->trace_state;
}
struct wbi_str wbi_mcp_cancel_reason(const struct wbi_mcp_request *r)
{
    return r->cancel_reason;
}
enum wbi_mcp_era wbi_mcp_era(const struct wbi_mcp_request *r)
{
    return r->era;
}
const struct wbi_mcp_abilities *wbi_mcp_abilities(const struct wbi_mcp_request *r)
{
    return &r->abilities;
}
struct wbi_str wbi_mcp_id(const struct wbi_mcp_request *r)
{
    return r->id;
}
const wbi_json *wbi_mcp_id_value(const struct wbi_mcp_request *r)
{
    return r->rpc.id;
}
struct wbi_str wbi_mcp_conversation(const struct wbi_mcp_request *r)
{
    return wbi_str_z(r->conversation);
}
bool wbi_mcp_alone(const struct wbi_mcp_request *r)
{
    return r->alone;
}
struct wbi_str wbi_mcp_principal(const struct wbi_mcp_request *r)
{
    return r->principal;
}
bool wbi_mcp_cancelled(const struct wbi_mcp_request *r)
{
    return r->cancelled;
}
bool wbi_mcp_parked(const struct wbi_mcp_request *r)
{
    return r->phase == WBI_REQ_PARKED;
}
bool wbi_mcp_wants_progress(const struct wbi_mcp_request *r)
{
    return r->progress_token != NULL;
}
const char *wbi_mcp_log_level(const struct wbi_mcp_request *r)
{
    return wbi_mcp_level_name(r->level);
}
bool wbi_mcp_log_asked(const struct wbi_mcp_request *r)
{
    return r->log_asked;
}
void *wbi_mcp_user(const struct wbi_mcp_request *r)
{
    return r->user;
}
void wbi_mcp_set_ttl(struct wbi_mcp_request *r, int64_t ttl_ms)
{
    r->ttl_ms = ttl_ms;
}
void wbi_mcp_set_user(struct wbi_mcp_request *r, void *user)
{
    r->user = user;
}

static void put_info(struct wbi_jw *w, const struct wbi_mcp_server *s, const char *member)
{
    wbi_jw_key(w, member);
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "name", s->o.name != NULL ? s->o.name : "waybill");
    if (s->o.title != NULL)
        wbi_jw_kstrz(w, "title", s->o.title);
    wbi_jw_kstrz(w, "version", s->o.version != NULL ? s->o.version : WAYBILL_VERSION);
    wbi_jw_obj_end(w);
}

static void put_ability(struct wbi_jw *w, const char *name, bool list_changed, bool subscribe)
{
    wbi_jw_key(w, name);
    wbi_jw_obj(w);
    if (subscribe)
        wbi_jw_kbool(w, "subscribe", true);
    if (list_changed)
        wbi_jw_kbool(w, "listChanged", true);
    wbi_jw_obj_end(w);
}

static void put_capabilities(struct wbi_jw *w, const struct wbi_mcp_server *s)
{
    wbi_jw_key(w, "capabilities");
    wbi_jw_obj(w);
    if (s->ops.call != NULL)
        put_ability(w, "tools", true, false);
    if (s->ops.read != NULL)
        put_ability(w, "resources", true, true);
    if (s->ops.prompt != NULL)
        put_ability(w, "prompts", true, false);
    if (s->ops.complete != NULL)
        put_ability(w, "completions", false, false);
    put_ability(w, "logging", false, false);
    wbi_jw_obj_end(w);
}

static void reply_buf(struct wbi_mcp_request *r, struct wbi_buf *b)
{
    if (wbi_buf_rc(b) == WB_OK)
        wbi_mcp_reply(r, wbi_buf_str(b));
    else
        wbi_request_fault(r, WBI_RPC_INTERNAL, 200, "out of memory", WBI_NONE);
}

/* The id of the new session goes out with the answer. */
static void name_session(const struct wbi_mcp_request *r)
{
    char extra[WBI_SESSION_ID_SIZE + 24];

    if (r->http == NULL)
        return;
    (void)snprintf(extra, sizeof(extra), "Mcp-Session-Id: %s\r\n", r->session->id);
    wbi_http_set_extra(r->http, r->http_id, extra);
}

static void do_initialize(struct wbi_mcp_request *r)
{
    struct wbi_mcp_session *session = r->session;
    struct wbi_str asked = wbi_json_get_str(r->rpc.params, "protocolVersion");
    const wbi_json *caps = wbi_json_get_as(r->rpc.params, "capabilities", WBI_JSON_OBJ);
    struct wbi_buf b;
    struct wbi_jw w;

    if (session == NULL || asked.p == NULL || caps == NULL) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 400,
                          "params.protocolVersion must be a string, params.capabilities an object",
                          WBI_NONE);
        return;
    }
    if (session->open) {
        wbi_request_fault(r, WBI_RPC_INVALID, 400, "this session is initialized already", WBI_NONE);
        return;
    }
    (void)snprintf(session->version, sizeof(session->version), "%.*s",
                   WBI_FMT(wbi_era_legacy_version(asked) ? asked : WBI_LIT(WBI_MCP_LEGACY)));
    wbi_mcp_abilities_of(caps, strcmp(session->version, WBI_MCP_LEGACY) == 0, &session->abilities);
    session->open = true;
    name_session(r);
    wbi_buf_init_arena(&b, r->arena, WBI_LIMIT_MCP_MESSAGE);
    w = wbi_jw_to(&b);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "protocolVersion", session->version);
    put_capabilities(&w, r->server);
    put_info(&w, r->server, "serverInfo");
    if (r->server->o.instructions != NULL)
        wbi_jw_kstrz(&w, "instructions", r->server->o.instructions);
    wbi_jw_obj_end(&w);
    reply_buf(r, &b);
}

static void do_discover(struct wbi_mcp_request *r)
{
    struct wbi_buf b, versions;
    struct wbi_jw w;

    wbi_buf_init_arena(&b, r->arena, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init_arena(&versions, r->arena, 256);
    wbi_era_put_versions(&versions);
    w = wbi_jw_to(&b);
    wbi_jw_obj(&w);
    wbi_jw_kraw(&w, "supportedVersions", wbi_buf_str(&versions));
    put_capabilities(&w, r->server);
    if (r->server->o.instructions != NULL)
        wbi_jw_kstrz(&w, "instructions", r->server->o.instructions);
    wbi_jw_key(&w, "_meta");
    wbi_jw_obj(&w);
    put_info(&w, r->server, WBI_META "serverInfo");
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    r->is_list = true;
    reply_buf(r, &b);
}

static void do_ping(struct wbi_mcp_request *r)
{
    wbi_mcp_reply(r, WBI_LIT("{}"));
}

static void do_level(struct wbi_mcp_request *r)
{
    int level = wbi_mcp_level(wbi_json_get_str(r->rpc.params, "level"));

    if (level < 0 || r->session == NULL) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 200,
                          "params.level must be one of debug, info, notice, "
                          "warning, error, critical, alert, emergency",
                          WBI_NONE);
        return;
    }
    r->session->level = level;
    r->session->log_asked = true;
    wbi_mcp_reply(r, WBI_LIT("{}"));
}

static void hand(struct wbi_mcp_request *r)
{
    r->handed = true;
    r->server->busy++;
}

static bool is_none(const wbi_json *v)
{
    return v == NULL || wbi_json_is(v, WBI_JSON_NULL);
}

static void do_list(struct wbi_mcp_request *r)
{
    struct wbi_str m = r->rpc.method;
    enum wbi_mcp_list what = wbi_str_eqz(m, "tools/list")       ? WBI_MCP_TOOLS
                             : wbi_str_eqz(m, "prompts/list")   ? WBI_MCP_PROMPTS
                             : wbi_str_eqz(m, "resources/list") ? WBI_MCP_RESOURCES
                                                                : WBI_MCP_TEMPLATES;
    const wbi_json *cursor = wbi_json_get(r->rpc.params, "cursor");

    if (!is_none(cursor) && !wbi_json_is(cursor, WBI_JSON_STR)) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 200, "params.cursor must be a string", WBI_NONE);
        return;
    }
    r->is_list = true;
    hand(r);
    r->server->ops.list(r->server->arg, r, what);
}

/* Name (or uri) and arguments of the three methods that may ask back; what is wrong with them,
 * or NULL. */
static const char *read_subject(const struct wbi_mcp_request *r, const char *member,
                                struct wbi_str *ret_name, const wbi_json **ret_arguments)
{
    const wbi_json *arguments = wbi_json_get(r->rpc.params, "arguments");
    const wbi_json *responses = wbi_json_get(r->rpc.params, "inputResponses");

    *ret_name = wbi_json_get_str(r->rpc.params, member);
    *ret_arguments = is_none(arguments) ? NULL : arguments;
    if (ret_name->p == NULL || ret_name->n == 0)
        return member[0] == 'u' ? "params.uri must be a string that is not empty"
                                : "params.name must be a string that is not empty";
    if (!is_none(arguments) && !wbi_json_is(arguments, WBI_JSON_OBJ))
        return "params.arguments must be an object";
    if (!is_none(responses) && !wbi_json_is(responses, WBI_JSON_OBJ))
        return "params.inputResponses must be an object";
    return NULL;
}

static bool take_subject(struct wbi_mcp_request *r, const char *member, struct wbi_str *ret_name,
                         const wbi_json **ret_arguments)
{
    const char *why = read_subject(r, member, ret_name, ret_arguments);

    if (why == NULL)
        return r->era != WBI_ERA_MODERN || !wbi_asks_resume(r);
    wbi_request_fault(r, WBI_RPC_PARAMS, 200, why, WBI_NONE);
    return false;
}

static void do_call(struct wbi_mcp_request *r)
{
    const struct wbi_mcp_ops *ops = &r->server->ops;
    struct wbi_str name;
    const wbi_json *arguments;
    const char *why = read_subject(r, "name", &name, &arguments);

    if (why != NULL && ops->malformed != NULL) {
        hand(r);
        ops->malformed(r->server->arg, r, name, why);
        return;
    }
    if (!take_subject(r, "name", &name, &arguments))
        return;
    hand(r);
    ops->call(r->server->arg, r, name, arguments);
}

static void do_prompt(struct wbi_mcp_request *r)
{
    struct wbi_str name;
    const wbi_json *arguments;

    if (!take_subject(r, "name", &name, &arguments))
        return;
    hand(r);
    r->server->ops.prompt(r->server->arg, r, name, arguments);
}

static void do_read(struct wbi_mcp_request *r)
{
    struct wbi_str uri;
    const wbi_json *arguments;

    if (!take_subject(r, "uri", &uri, &arguments))
        return;
    r->is_list = true; /* reads carry caching hints too */
    hand(r);
    r->server->ops.read(r->server->arg, r, uri);
}

static void do_complete(struct wbi_mcp_request *r)
{
    if (wbi_json_get_as(r->rpc.params, "ref", WBI_JSON_OBJ) == NULL ||
        wbi_json_get_as(r->rpc.params, "argument", WBI_JSON_OBJ) == NULL) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 200, "params.ref and params.argument must be objects",
                          WBI_NONE);
        return;
    }
    hand(r);
    r->server->ops.complete(r->server->arg, r, r->rpc.params);
}

/* What is wrong with a URI; NULL: nothing. */
static const char *uri_fault(const wbi_json *uri)
{
    struct wbi_str text = wbi_json_str(uri);

    if (!wbi_json_is(uri, WBI_JSON_STR))
        return "must be a string";
    if (text.n == 0)
        return "must not be empty";
    if (memchr(text.p, '\0', text.n) != NULL) /* they are kept as C strings */
        return "holds a NUL, which no URI does";
    return text.n > WBI_LIMIT_MCP_URI ? "is longer than 8 KiB" : NULL;
}

static void do_subscribe(struct wbi_mcp_request *r)
{
    const wbi_json *value = wbi_json_get(r->rpc.params, "uri");
    const char *fault = uri_fault(value), *refused;
    struct wbi_str uri = wbi_json_str(value);
    bool on = wbi_str_eqz(r->rpc.method, "resources/subscribe");
    char why[64];

    if (fault != NULL || r->session == NULL) {
        (void)snprintf(why, sizeof(why), "params.uri %s",
                       fault != NULL ? fault : "needs a session");
        wbi_request_fault(r, WBI_RPC_PARAMS, 200, why, WBI_NONE);
        return;
    }
    refused = on ? wbi_session_watch(r->session, uri) : NULL;
    if (refused != NULL) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 200, refused, WBI_NONE);
        return;
    }
    if (!on)
        wbi_session_unwatch(r->session, uri);
    wbi_mcp_reply(r, WBI_LIT("{}"));
}

/* The acknowledgement comes first and names what will be told. */
static void acknowledge(struct wbi_mcp_request *r)
{
    struct wbi_buf params, b;
    struct wbi_jw w;

    wbi_buf_init_arena(&params, r->arena, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init_arena(&b, r->arena, WBI_LIMIT_MCP_MESSAGE);
    w = wbi_jw_to(&params);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "_meta");
    wbi_jw_obj(&w);
    wbi_jw_kraw(&w, WBI_META "subscriptionId", r->id);
    wbi_jw_obj_end(&w);
    wbi_jw_key(&w, "notifications");
    wbi_jw_obj(&w);
    if (r->wants[WBI_MCP_TOOLS])
        wbi_jw_kbool(&w, "toolsListChanged", true);
    if (r->wants[WBI_MCP_PROMPTS])
        wbi_jw_kbool(&w, "promptsListChanged", true);
    if (r->wants[WBI_MCP_RESOURCES])
        wbi_jw_kbool(&w, "resourcesListChanged", true);
    if (r->wants_uris != NULL)
        wbi_jw_kval(&w, "resourceSubscriptions", r->wants_uris);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    wbi_rpc_put_call(&b, WBI_NONE, "notifications/subscriptions/acknowledged",
                     wbi_buf_str(&params));
    if (wbi_buf_rc(&b) == WB_OK && wbi_buf_rc(&params) == WB_OK)
        wbi_request_emit(r, wbi_buf_str(&b));
}

#define URIS "params.notifications.resourceSubscriptions"

static bool refuse_uris(struct wbi_mcp_request *r, const char *why)
{
    wbi_request_fault(r, WBI_RPC_PARAMS, 400, why, WBI_NONE);
    return false;
}

/* False when r has been refused. uris may be NULL. */
static bool check_uris(struct wbi_mcp_request *r, const wbi_json *uris)
{
    size_t i = 0;
    char why[96];

    if (uris != NULL && !wbi_json_is(uris, WBI_JSON_ARR))
        return refuse_uris(r, URIS " must be an array of strings");
    if (wbi_json_count(uris) > WBI_LIMIT_MCP_SUBSCRIPTIONS) {
        (void)snprintf(why, sizeof(why), URIS " has more than %u URIs",
                       WBI_LIMIT_MCP_SUBSCRIPTIONS);
        return refuse_uris(r, why);
    }
    WBI_JSON_EACH (uris, e) {
        if (uri_fault(e) != NULL) {
            (void)snprintf(why, sizeof(why), URIS "[%zu] %s", i, uri_fault(e));
            return refuse_uris(r, why);
        }
        i++;
    }
    return true;
}

/* Those of which somebody can tell. NULL: none were asked for, or out of memory. */
static const wbi_json *watch_uris(struct wbi_mcp_request *r, const wbi_json *uris)
{
    bool told[WBI_LIMIT_MCP_SUBSCRIPTIONS] = {false};
    const wbi_json *kept = NULL;
    struct wbi_buf b;
    struct wbi_jw w = wbi_jw_to(&b);
    size_t i = 0;

    if (uris == NULL)
        return NULL;
    wbi_buf_init_arena(&b, r->arena, WBI_LIMIT_MCP_MESSAGE);
    wbi_jw_arr(&w);
    WBI_JSON_EACH (uris, e) {
        told[i] = wbi_mcp_tell_watch(r->server, wbi_json_str(e), true);
        if (told[i++])
            wbi_jw_val(&w, e);
    }
    wbi_jw_arr_end(&w);
    if (wbi_buf_rc(&b) == WB_OK &&
        wbi_json_read(r->arena, wbi_buf_str(&b), WBI_JSON_STRICT, &kept, NULL) == WB_OK)
        return kept;
    i = 0;
    WBI_JSON_EACH (uris, e) { /* each beginning has one end */
        if (told[i++])
            (void)wbi_mcp_tell_watch(r->server, wbi_json_str(e), false);
    }
    return NULL;
}

static void do_listen(struct wbi_mcp_request *r)
{
    const wbi_json *wanted = wbi_json_get_as(r->rpc.params, "notifications", WBI_JSON_OBJ);
    const wbi_json *uris = wbi_json_get(wanted, "resourceSubscriptions");

    if (wanted == NULL) {
        wbi_request_fault(r, WBI_RPC_PARAMS, 400, "params.notifications must say what to listen to",
                          WBI_NONE);
        return;
    }
    if (!check_uris(r, uris))
        return;
    if (r->server->listening >= WBI_LIMIT_MCP_LISTENERS) {
        wbi_request_fault(r, WBI_RPC_INTERNAL, 503, "too many listening streams", WBI_NONE);
        return;
    }
    r->wants[WBI_MCP_TOOLS] = wbi_json_true(wbi_json_get(wanted, "toolsListChanged"));
    r->wants[WBI_MCP_PROMPTS] = wbi_json_true(wbi_json_get(wanted, "promptsListChanged"));
    r->wants[WBI_MCP_RESOURCES] = wbi_json_true(wbi_json_get(wanted, "resourcesListChanged"));
    r->phase = WBI_REQ_LISTENING;
    r->server->listening++;
    wbi_mcp_tick_on(r->server);
    r->wants_uris = watch_uris(r, uris);
    acknowledge(r);
}

enum { LEGACY = 1, MODERN = 2, BOTH = 3 };

struct row {
    const char *method;
    int eras;
    void (*go)(struct wbi_mcp_request *r);
};

static const struct row rows[] = {
    {"tools/call", BOTH, do_call},
    {"tools/list", BOTH, do_list},
    {"resources/read", BOTH, do_read},
    {"resources/list", BOTH, do_list},
    {"resources/templates/list", BOTH, do_list},
    {"prompts/get", BOTH, do_prompt},
    {"prompts/list", BOTH, do_list},
    {"completion/complete", BOTH, do_complete},
    {"initialize", LEGACY, do_initialize},
    {"ping", LEGACY, do_ping},
    {"logging/setLevel", LEGACY, do_level},
    {"resources/subscribe", LEGACY, do_subscribe},
    {"resources/unsubscribe", LEGACY, do_subscribe},
    {"server/discover", MODERN, do_discover},
    {"subscriptions/listen", MODERN, do_listen},
};

static bool offered(const struct wbi_mcp_server *s, const struct row *row)
{
    if (row->go == do_call)
        return s->ops.call != NULL;
    if (row->go == do_list)
        return s->ops.list != NULL;
    if (row->go == do_read)
        return s->ops.read != NULL;
    if (row->go == do_prompt)
        return s->ops.prompt != NULL;
    return row->go != do_complete || s->ops.complete != NULL;
}

static const struct row *row_of(const struct wbi_mcp_request *r)
{
    int era = r->era == WBI_ERA_MODERN ? MODERN : LEGACY;

    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        if ((rows[i].eras & era) && wbi_str_eqz(r->rpc.method, rows[i].method) &&
            offered(r->server, &rows[i]))
            return &rows[i];
    }
    return NULL;
}

/* The name is quoted as far as it may be shown: plain characters, and not too many. */
static void refuse_method(struct wbi_mcp_request *r)
{
    struct wbi_str m = wbi_str_head(r->rpc.method, 100);
    bool modern = r->era == WBI_ERA_MODERN, plain = m.n == r->rpc.method.n;
    char why[200];

    for (size_t i = 0; i < m.n; i++)
        plain = plain && m.p[i] > ' ' && m.p[i] <= '~';
    (void)snprintf(why, sizeof(why), "Method not found%s%.*s", plain ? ": " : "",
                   WBI_FMT(plain ? m : WBI_LIT("")));
    wbi_request_fault(r, WBI_RPC_NO_METHOD, modern ? 404 : 200, why, WBI_NONE);
}

void wbi_mcp_dispatch(struct wbi_mcp_request *r)
{
    const struct row *row = row_of(r);

    if (wbi_request_has_twin(r)) { /* it would be open which answer is whose */
        wbi_request_fault(r, WBI_RPC_INVALID, 400, "this id is in use by a running request",
                          WBI_NONE);
        return;
    }
    if (r->session != NULL && r->session->request_count > WBI_LIMIT_MCP_IN_FLIGHT) {
        wbi_request_fault(r, WBI_RPC_INTERNAL, 429, "too many requests at once", WBI_NONE);
        return;
    }
    if (row == NULL) {
        refuse_method(r);
        return;
    }
    if (r->era == WBI_ERA_LEGACY && r->session != NULL && !r->session->open &&
        row->go != do_initialize && row->go != do_ping) {
        wbi_request_fault(r, WBI_RPC_INVALID, 400, "initialize must come first", WBI_NONE);
        return;
    }
    row->go(r);
}

static void take_reason(struct wbi_mcp_request *r, struct wbi_str reason)
{
    reason.n = wbi_utf8_cut_whole_words(reason, REASON_MAX);
    r->cancel_reason = reason.n > 0 ? wbi_arena_str(r->arena, reason) : WBI_NONE;
}

void wbi_mcp_note(struct wbi_mcp_server *s, struct wbi_mcp_session *session,
                  const struct wbi_rpc *rpc)
{
    const wbi_json *id = wbi_json_get(rpc->params, "requestId");

    (void)s;
    if (session == NULL)
        return;
    if (rpc->kind != WBI_RPC_NOTIFICATION) {
        wbi_asks_answer(session, rpc);
        return;
    }
    if (!wbi_str_eqz(rpc->method, "notifications/cancelled") || id == NULL)
        return; /* all others are only information */
    for (struct wbi_mcp_request *r = session->requests; r != NULL; r = r->session_next) {
        if (r->phase != WBI_REQ_DONE && wbi_json_equal(r->rpc.id, id)) {
            take_reason(r, wbi_json_get_str(rpc->params, "reason"));
            wbi_request_cancel(r);
            return;
        }
    }
}
