/* SPDX-License-Identifier: Apache-2.0
 * serve/calls.c: tools/call as a call of the runtime. (1) In a conversation an
 * exclusive call runs alone, parallel ones beside each other, nobody overtakes
 * (C9.4). (2) The call keeps what was read of its request: a tool that is given up
 * on may outlive it. (3) Exactly one answer: the runtime's on_done, or a cancel while
 * waiting. */
#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "call/guards.h"
#include "call/views.h"
#include "call/workspace.h"
#include "json/write.h"
#include "serve/gateway_int.h"
#include "serve/result.h"
#include "serve/upstreams.h"
#include "wire/wire.h"

static void pump(struct wbi_gateway *g, struct wbi_talk *talk);

static void pump_later(void *arg)
{
    struct wbi_talk *talk = arg;

    pump(talk->gateway, talk);
}

/* ---- conversations ---- */

/* What the client says beside the request, an object or NULL. */
static const wbi_json *invocation_of(const struct wbi_mcp_request *r)
{
    return wbi_json_get(wbi_mcp_meta(r), "waybill/invocation");
}

/* The one that the client names, else its session, else the request by itself (C2.1). */
static struct wbi_str conversation_of(const struct wbi_mcp_request *r, bool *ret_named)
{
    struct wbi_str named = wbi_str_trim(wbi_json_get_str(invocation_of(r), "conversationId"));

    *ret_named = named.n > 0;
    return *ret_named ? named : wbi_mcp_conversation(r);
}

/* Ids of requests count within their session; a request without one that names its
 * conversation is told from the others there by a name of its own. */
static void name_call(struct wbi_call *call, const struct wbi_mcp_request *r, bool named)
{
    struct wbi_invocation *inv = &call->inv;

    wbi_invocation_rpc_id(inv, wbi_mcp_id_value(r), wbi_mcp_id(r));
    if (!named || !wbi_mcp_alone(r))
        return;
    inv->call_id = wbi_arena_fmt(call->arena, "%.*s/%.*s", WBI_FMT(wbi_mcp_conversation(r)),
                                 WBI_FMT(inv->call_id));
    inv->key_id = WBI_NONE;
}

static struct wbi_talk **talks_like(struct wbi_gateway *g, struct wbi_str id)
{
    return &g->talks[wbi_hash64(id.p, id.n, 0) % WBI_COUNT(g->talks)];
}

/* NULL: it has no calls. */
static struct wbi_talk *known_talk(struct wbi_gateway *g, struct wbi_str id)
{
    struct wbi_talk *talk = *talks_like(g, id);

    while (talk != NULL && !wbi_str_eq(id, wbi_str_make(talk->id, talk->id_n)))
        talk = talk->next;
    return talk;
}

static struct wbi_talk *find_talk(struct wbi_gateway *g, struct wbi_str id)
{
    struct wbi_talk *talk, **like;

    id = wbi_str_head(id, sizeof(talk->id) - 1);
    like = talks_like(g, id);
    talk = known_talk(g, id);
    if (talk != NULL)
        return talk;
    talk = wbi_spares_take(&g->spare_talks, sizeof(*talk));
    if (talk == NULL)
        return NULL;
    memset(talk, 0, offsetof(struct wbi_talk, id));
    memcpy(talk->id, id.p, id.n);
    talk->id_n = id.n;
    talk->gateway = g;
    talk->like = like;
    talk->waiting_end = &talk->waiting;
    talk->pump.fn = pump_later;
    talk->pump.arg = talk;
    talk->next = *like;
    *like = talk;
    return talk;
}

static void drop_talk(struct wbi_gateway *g, struct wbi_talk *talk)
{
    struct wbi_talk **at = talk->like;

    if (talk->running > 0 || talk->asking > 0 || talk->waiting != NULL)
        return;
    wbi_loop_undefer(g->rt->loop, &talk->pump);
    while (*at != talk)
        at = &(*at)->next;
    *at = talk->next;
    if (talk->over)
        wbi_workspace_forget(g->rt, wbi_str_make(talk->id, talk->id_n));
    wbi_spares_give(&g->spare_talks, talk, WBI_SPARES_MOST);
}

void wbi_serve_ended(void *arg, struct wbi_str conversation)
{
    struct wbi_gateway *g = arg;
    struct wbi_talk *talk = known_talk(g, conversation);

    if (talk != NULL) /* a call that still winds up must not find itself elsewhere */
        talk->over = true;
    else
        wbi_workspace_forget(g->rt, conversation);
}

static void drop_served(struct wbi_served *s)
{
    wbi_spares_give(&s->gateway->spare_served, s, WBI_SPARES_MOST);
}

/* ---- answers ---- */

static void fail_params(struct wbi_call *call, struct wbi_mcp_request *r)
{
    struct wbi_buf data;
    struct wbi_jw w = wbi_jw_to(&data);

    wbi_buf_init(&data, WBI_LIMIT_MCP_MESSAGE);
    wbi_view_error(&call->outcome.fault, &w);
    wbi_mcp_fail(r, WBI_RPC_PARAMS, call->outcome.fault.message,
                 wbi_buf_rc(&data) == WB_OK ? wbi_buf_str(&data) : WBI_NONE);
    wbi_buf_fini(&data);
}

/* An error of an upstream that is addressed to the client's own machinery. */
static bool pass_rpc_error(const struct wbi_call *call, struct wbi_mcp_request *r)
{
    struct wbi_buf data;
    const wbi_json *error;
    int64_t code;

    if (call->complete == NULL || call->complete->rpc_error.p == NULL ||
        wbi_json_read(call->arena, call->complete->rpc_error, WBI_JSON_STRICT, &error, NULL) !=
            WB_OK ||
        !wbi_json_i64(wbi_json_get(error, "code"), &code) ||
        (code == WBI_RPC_URL_ELICITATION && wbi_mcp_era(r) == WBI_ERA_MODERN))
        return false; /* then the call failed as any other */
    wbi_buf_init(&data, WBI_LIMIT_MCP_MESSAGE);
    if (wbi_json_get(error, "data") != NULL)
        wbi_json_write(&data, wbi_json_get(error, "data"));
    wbi_mcp_fail(r, (int)code, wbi_json_get_str(error, "message"),
                 data.n > 0 && wbi_buf_rc(&data) == WB_OK ? wbi_buf_str(&data) : WBI_NONE);
    wbi_buf_fini(&data);
    return true;
}

/* Up to 2025-11-25 structuredContent is an object. */
static bool is_loose(const struct wbi_call *call)
{
    struct wbi_str output = call->outcome.output;

    return call->tool != NULL && !call->tool->builtin &&
           ((call->complete != NULL && call->complete->loose) || call->facts.kept_loose ||
            (call->tool->output_schema != NULL && output.n > 0 && output.p[0] != '{'));
}

static wb_rc write_result(struct wbi_call *call, const struct wbi_mcp_request *r,
                          struct wbi_buf *out)
{
    struct wbi_buf all;
    wb_rc rc;

    if (wbi_mcp_era(r) != WBI_ERA_LEGACY || !is_loose(call))
        return wbi_view_mcp(call, out);
    wbi_buf_init_arena(&all, call->arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_view_mcp(call, &all);
    return rc == WB_OK ? wbi_result_for_legacy(call->arena, wbi_buf_str(&all), out) : rc;
}

static void answer(struct wbi_call *call, struct wbi_mcp_request *r)
{
    bool failed = call->outcome.state == WBI_OUTCOME_ERROR;
    enum wbi_kind kind = failed ? call->outcome.fault.kind : WBI_KIND_NONE;
    struct wbi_buf out;

    call->mcp = NULL;
    if (kind == WBI_KIND_UNKNOWN_TOOL || kind == WBI_KIND_MALFORMED_CALL) {
        fail_params(call, r);
        return;
    }
    if (failed && call->complete != NULL && call->complete->lacks != NULL &&
        wbi_mcp_era(r) == WBI_ERA_MODERN) {
        wbi_mcp_fail_able(r, call->complete->lacks);
        return;
    }
    if (failed && pass_rpc_error(call, r))
        return;
    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_CALL_ARENA);
    if (write_result(call, r, &out) == WB_OK)
        wbi_mcp_reply(r, wbi_buf_str(&out));
    else
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
}

static void enter_gate(struct wbi_served *s)
{
    s->talk->running++;
    s->talk->exclusive += s->exclusive;
}

static void leave_gate(struct wbi_served *s)
{
    s->talk->running--;
    s->talk->exclusive -= s->exclusive;
}

/* Those behind it start from the loop: a server is in the middle of asking. A call that was
 * answered goes on at once, beside what has begun; it was under way before. */
void wbi_serve_waiting(void *arg, struct wbi_mcp_request *r, bool on)
{
    struct wbi_gateway *g = arg;
    struct wbi_served *s = wbi_mcp_user(r);

    if (s == NULL || s->kind != WBI_SERVED_CALL || s->asking == on)
        return;
    s->asking = on;
    if (on) {
        s->talk->asking++;
        leave_gate(s);
        wbi_loop_defer(g->rt->loop, &s->talk->pump);
    } else {
        s->talk->asking--;
        enter_gate(s);
    }
}

static void on_done(struct wbi_call *call, void *arg)
{
    struct wbi_served *s = arg;
    struct wbi_gateway *g = s->gateway;
    struct wbi_talk *talk = s->talk;

    wbi_metrics_call(g->metrics, call);
    answer(call, s->r);
    if (call->facts.artifacts.n > 2) /* "[]" */
        wbi_serve_new_artifacts(g);
    leave_gate(s);
    s->done = true;
    if (s->starting)
        return; /* start() goes on with it */
    drop_served(s);
    pump(g, talk);
}

/* ---- progress ---- */

/* The last line of what a frame shows of a command's output; false: it shows none. */
static bool newest_line(struct wbi_arena *arena, struct wbi_str frame, struct wbi_str *ret)
{
    const wbi_json *v;

    if (wbi_json_read(arena, frame, WBI_JSON_STRICT, &v, NULL) != WB_OK ||
        !wbi_str_eqz(wbi_json_get_str(v, "event"), "partial"))
        return false;
    *ret = wbi_str_trim(wbi_json_get_str(wbi_json_get(v, "data"), "text"));
    for (size_t i = ret->n; i > 0; i--) {
        if (ret->p[i - 1] == '\n') {
            *ret = wbi_str_from(*ret, i);
            break;
        }
    }
    ret->n = wbi_utf8_cut(*ret, WBI_MIN(ret->n, (size_t)200));
    return true;
}

/* Output of a command as a progress message. There is no end to frames: nothing of them stays
 * with the call. */
static void on_frame(struct wbi_call *call, struct wbi_str frame, void *arg)
{
    struct wbi_served *s = arg;
    struct wbi_arena *arena = NULL;
    struct wbi_str line = WBI_NONE;

    if (call->mcp == NULL || wbi_loop_arena(s->gateway->rt->loop, WBI_ARENA_MESSAGE,
                                            WBI_LIMIT_MESSAGE_ARENA, &arena) != WB_OK)
        return;
    if (newest_line(arena, frame, &line))
        wbi_mcp_progress(s->r, (double)++s->reports, -1, line.n > 0 ? line : WBI_NONE, WBI_NONE);
    wbi_arena_free(arena);
}

/* ---- starting ---- */

static wb_rc fill(struct wbi_call *call, struct wbi_served *s)
{
    const wbi_json *meta = wbi_mcp_meta(s->r);
    const wbi_json *more = invocation_of(s->r);
    bool named;
    struct wbi_str conversation = conversation_of(s->r, &named);
    struct wbi_invocation *inv = &call->inv;
    wb_rc rc = wbi_mcp_keep(s->r, call->arena);

    inv->tool_name = s->name;
    name_call(call, s->r, named);
    inv->conversation_id = wbi_arena_str(call->arena, conversation);
    inv->principal = wbi_mcp_principal(s->r);
    wbi_mcp_trace(s->r, &inv->traceparent, &inv->tracestate);
    inv->provider = WBI_LIT("mcp");
    inv->passing = !named; /* a session or a request of its own */
    inv->alone = !named && wbi_mcp_alone(s->r);
    inv->stream = wbi_mcp_wants_progress(s->r);
    inv->canonical = wbi_wire_mcp_asks_canonical(meta);
    if (inv->conversation_id.p == NULL || inv->call_id.p == NULL)
        return WB_ENOMEM;
    inv->input = s->arguments;
    if (rc == WB_OK && inv->input == NULL)
        rc = wbi_json_read(call->arena, WBI_LIT("{}"), WBI_JSON_STRICT, &inv->input, NULL);
    if (rc == WB_OK && more != NULL) {
        if (wbi_invocation_read(more, inv, &call->rejected) == WB_ENOMEM)
            rc = WB_ENOMEM; /* what is wrong with it, `rejected` tells */
    } else {
        call->found = s->found; /* nothing says that another version is meant */
    }
    if (s->malformed != NULL)
        (void)wbi_fail(&call->rejected, WB_EINPUT, "%s", s->malformed);
    return rc;
}

static void fail_start(struct wbi_served *s, wb_rc rc)
{
    wbi_mcp_fail(s->r, WBI_RPC_INTERNAL,
                 rc == WB_ECANCELLED ? WBI_LIT("the server is going down")
                                     : WBI_LIT("the call could not be started: out of memory"),
                 WBI_NONE);
}

/* The call ends in on_done, or was answered here; then s is gone. */
static void start(struct wbi_served *s)
{
    struct wbi_call *call = NULL;
    wb_rc rc = wbi_runtime_call_new(s->gateway->rt, &call);

    if (rc == WB_OK)
        rc = fill(call, s);
    if (rc != WB_OK) {
        if (call != NULL)
            wbi_runtime_call_drop(call);
        fail_start(s, rc);
        drop_served(s);
        return;
    }
    s->running = s->starting = true;
    enter_gate(s);
    call->mcp = s->r;
    if (call->inv.stream) {
        call->on_frame = on_frame;
        call->on_frame_arg = s;
    }
    rc = wbi_runtime_submit(call, on_done, s);
    s->starting = false;
    if (rc != WB_OK) {
        leave_gate(s);
        fail_start(s, rc);
        drop_served(s);
        return;
    }
    if (s->done)
        drop_served(s);
    else
        s->call_id = call->id; /* still there: it did not finish at once */
}

static bool gate_open(const struct wbi_talk *talk, bool exclusive)
{
    return exclusive ? talk->running == 0 : talk->exclusive == 0;
}

/* What cannot be found fails at once, unless it has yet to be asked for. A tool that was
 * found is looked for again by a call that has to wait: the catalog may be another then. */
static void find_tool(struct wbi_served *s)
{
    struct wbi_runtime *rt = s->gateway->rt;
    struct wbi_viewer viewer = wbi_guards_viewer(rt, wbi_mcp_principal(s->r));
    struct wbi_catalog *catalog;

    if (s->malformed != NULL)
        s->exclusive = false;
    else if (wbi_runtime_catalog(rt, &catalog, NULL) != WB_OK)
        s->exclusive = true;
    else if (wbi_catalog_resolve(catalog, NULL, &viewer, WBI_NONE, s->name, WBI_NONE, &s->found,
                                 NULL) != WB_OK)
        s->exclusive = rt->find_more != NULL;
    else
        s->exclusive = !s->found->parallel;
    if (s->talk->waiting != NULL || !gate_open(s->talk, s->exclusive))
        s->found = NULL;
}

/* Start what may start, in order; then forget a conversation without calls. What has waited may
 * be known by now, so that it need not be alone. */
static void pump(struct wbi_gateway *g, struct wbi_talk *talk)
{
    while (talk->waiting != NULL) {
        struct wbi_served *s = talk->waiting;

        if (s->found == NULL)
            find_tool(s);
        if (!gate_open(talk, s->exclusive))
            break;
        talk->waiting = s->next;
        if (talk->waiting == NULL)
            talk->waiting_end = &talk->waiting;
        start(s);
    }
    drop_talk(g, talk);
}

static void take_call(struct wbi_gateway *g, struct wbi_mcp_request *r, struct wbi_str tool,
                      const wbi_json *arguments, const char *malformed)
{
    struct wbi_served *s = wbi_spares_take(&g->spare_served, sizeof(*s));
    bool named;
    struct wbi_talk *talk = s != NULL ? find_talk(g, conversation_of(r, &named)) : NULL;

    if (talk == NULL) {
        wbi_spares_give(&g->spare_served, s, WBI_SPARES_MOST);
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
        return;
    }
    *s = (struct wbi_served){.kind = WBI_SERVED_CALL,
                             .gateway = g,
                             .talk = talk,
                             .r = r,
                             .name = tool,
                             .arguments = arguments,
                             .malformed = malformed};
    wbi_upstreams_meet(g->ups, r);
    find_tool(s);
    wbi_mcp_set_user(r, s);
    *talk->waiting_end = s;
    talk->waiting_end = &s->next;
    pump(g, talk);
}

void wbi_serve_call(void *arg, struct wbi_mcp_request *r, struct wbi_str tool,
                    const wbi_json *arguments)
{
    take_call(arg, r, tool, arguments, NULL);
}

/* It has its outcome and its row as any call has (C1.1). */
void wbi_serve_malformed(void *arg, struct wbi_mcp_request *r, struct wbi_str tool, const char *why)
{
    take_call(arg, r, tool, NULL, why);
}

void wbi_serve_cancel(void *arg, struct wbi_mcp_request *r)
{
    struct wbi_served *s = wbi_mcp_user(r), **at;
    struct wbi_gateway *g = arg;
    struct wbi_talk *talk;

    if (s == NULL)
        return;
    if (s->running) {
        if (!s->done && !s->starting)
            wbi_call_cancel(g->rt->calls, s->call_id, WBI_CANCEL_ASKED);
        return;
    }
    talk = s->talk;
    at = &talk->waiting;
    while (*at != NULL && *at != s)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    *at = s->next;
    if (*at == NULL)
        talk->waiting_end = at;
    wbi_mcp_fail(r, WBI_RPC_INTERNAL,
                 g->cancelled ? WBI_LIT("the server is going down") : WBI_LIT("cancelled"),
                 WBI_NONE);
    drop_served(s);
    if (talk->waiting != NULL) /* perhaps only for this one */
        wbi_loop_defer(g->rt->loop, &talk->pump);
    else
        drop_talk(g, talk);
}

static void cancel_one(void *arg, struct wbi_call *call)
{
    struct wbi_gateway *g = arg;

    if (call->mcp != NULL)
        wbi_call_cancel(g->rt->calls, call->id, WBI_CANCEL_SHUTDOWN);
}

void wbi_serve_cancel_all(struct wbi_gateway *g)
{
    wbi_calls_each(g->rt->calls, cancel_one, g);
}
