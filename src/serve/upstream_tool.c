/* SPDX-License-Identifier: Apache-2.0
 * serve/upstream_tool.c: running a tool of an MCP server. Its output is the
 * structuredContent where there is one (checked against its own schema by the
 * journey), else the text of its content. A result that neither hygiene nor
 * redaction would change is kept as it came, for clients who speak MCP (I4). */
#include "base/limits.h"
#include "call/exec.h"
#include "call/partial.h"
#include "call/guards.h"
#include "serve/definition.h"
#include "serve/relay.h"
#include "serve/result.h"
#include "serve/upstreams.h"
#include "text/hygiene.h"
#include "call/redact.h"
#include "text/tokens.h"

struct running {
    struct wbi_exec *x;
    struct wbi_upstream_call *call;
    struct wbi_upstream *up; /* that it goes over */
    struct wbi_upstream_request q;
    bool moved;            /* from another one */
    struct wbi_str barred; /* absent, or why the server's tool must not be called any more */
};

/* Bytes of a failure that still read as a message. */
#define SHORT_FAILURE 1000u

static void fail_with(struct wbi_exec *x, const struct wbi_fault *fault,
                      const struct wbi_complete *like)
{
    struct wbi_fault *copy = wbi_arena_alloc(x->arena, sizeof(*copy));
    struct wbi_complete complete = *like;

    if (copy != NULL)
        *copy = *fault;
    complete.ok = false;
    complete.fault = copy;
    wbi_exec_done(x, &complete);
}

/* An error that the client itself is to act upon, as a person may read it; absent without
 * memory, and then the call has failed as any other. */
static struct wbi_str for_client(struct wbi_exec *x, const wbi_json *error)
{
    struct wbi_buf text;
    struct wbi_str clean;

    wbi_buf_init_arena(&text, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, error);
    clean = wbi_buf_str(&text);
    if (wbi_buf_rc(&text) != WB_OK ||
        wbi_question_clean(x->arena, x->runtime->secrets, &clean) != WB_OK)
        return WBI_NONE;
    return clean;
}

/* The server answered with a JSON-RPC error. */
static void fail_rpc(struct wbi_exec *x, const struct wbi_upstream_answer *a)
{
    struct wbi_str message = wbi_str_trim(wbi_json_get_str(a->error, "message"));
    const wbi_json *said = wbi_json_get(a->error, "code");
    struct wbi_fault fault = {.kind = WBI_KIND_TOOL_EXECUTION_FAILED};
    struct wbi_complete complete = {.ok = false};
    struct wbi_buf details;
    struct wbi_jw w = wbi_jw_to(&details);
    int64_t code = 0;

    (void)wbi_json_i64(said, &code);
    fault.message =
        wbi_arena_fmt(x->arena, "the server refused %.*s%s%.*s", WBI_FMT(x->tool->model_name),
                      message.n > 0 ? ": " : " and did not say why", WBI_FMT(message));
    wbi_buf_init_arena(&details, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    if (wbi_json_is(said, WBI_JSON_INT) || wbi_json_is(said, WBI_JSON_STR))
        wbi_jw_kval(&w, "providerCode", said);
    if (wbi_json_get(a->error, "data") != NULL)
        wbi_jw_kval(&w, "data", wbi_json_get(a->error, "data"));
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&details) == WB_OK)
        fault.details = wbi_buf_str(&details);
    if (code == WBI_RPC_PARAMS)
        fault.kind = WBI_KIND_INVALID_TOOL_INPUT;
    if (code == WBI_RPC_URL_ELICITATION)
        wbi_relay_elicits(x->tool->ops_arg, x->call->mcp, a->error);
    if (code == WBI_RPC_URL_ELICITATION || code == WBI_RPC_CAPABILITY) /* for the client alone */
        complete.rpc_error = for_client(x, a->error);
    fail_with(x, &fault, &complete);
}

/* A status that says the call was turned away, and so did nothing. */
static enum wbi_kind refusal_of(const struct wbi_upstream_answer *a)
{
    long status = a->rc == WB_EIO ? a->status : 0;

    switch (status) {
    case 401:
        return WBI_KIND_UNAUTHORIZED;
    case 403:
        return WBI_KIND_FORBIDDEN;
    case 404:
        return WBI_KIND_UPSTREAM_UNAVAILABLE;
    case 408: /* it may have begun */
        return WBI_KIND_NONE;
    case 429:
        return WBI_KIND_RATE_LIMITED;
    default:
        return status >= 300 && status < 500 ? WBI_KIND_TOOL_EXECUTION_FAILED : WBI_KIND_NONE;
    }
}

/* No answer: what may be said about its effect depends on whether it was sent. */
static void fail_unanswered(struct wbi_exec *x, const struct wbi_upstream_answer *a)
{
    bool harmless = !a->sent || x->tool->effect == WBI_EFFECT_PURE;
    struct wbi_fault fault = {.kind = harmless ? WBI_KIND_UPSTREAM_UNAVAILABLE
                                               : WBI_KIND_OUTCOME_UNKNOWN};
    struct wbi_complete complete = {.ok = false, .lacks = a->lacks};

    if (refusal_of(a) != WBI_KIND_NONE)
        fault.kind = refusal_of(a);
    if (a->rc == WB_EAGAIN)
        fault.kind = WBI_KIND_TIMED_OUT;
    if (a->rc == WB_EDENIED)
        fault.kind = WBI_KIND_TOOL_EXECUTION_FAILED;
    if (a->rc == WB_EINPUT)
        fault.kind = WBI_KIND_INVALID_TOOL_OUTPUT;
    if (fault.kind == WBI_KIND_UPSTREAM_UNAVAILABLE || fault.kind == WBI_KIND_RATE_LIMITED)
        fault.retryable = WBI_RETRYABLE_YES; /* nothing was done */
    fault.message = wbi_arena_fmt(x->arena, "%.*s: %s", WBI_FMT(x->tool->model_name),
                                  a->why != NULL ? a->why : "the server did not answer");
    if (a->retry_after_ms > 0)
        fault.details =
            wbi_arena_fmt(x->arena, "{\"retryAfterMs\":%lld}", (long long)a->retry_after_ms);
    fail_with(x, &fault, &complete);
}

static bool is_short(struct wbi_str text)
{
    return text.n <= SHORT_FAILURE && wbi_tokens(text) <= WBI_MESSAGE_TOKENS;
}

/* The tool's own failure: its text is the message, what it says beside that a detail; where
 * they are long, they are shown as the output of a command that failed. structured: absent
 * where the text says the same. */
static void fail_tool(struct wbi_exec *x, struct wbi_complete *complete, struct wbi_str text,
                      struct wbi_str structured)
{
    struct wbi_fault fault = {.kind = WBI_KIND_TOOL_EXECUTION_FAILED};
    struct wbi_partial_stream said[WBI_PARTIAL_STREAMS];
    struct wbi_buf details;
    struct wbi_jw w = wbi_jw_to(&details);
    size_t n = 0;

    if (wbi_redact_json_text(x->call, "error.message", &text) != WB_OK)
        text = WBI_NONE;
    if (wbi_redact_json_text(x->call, "error.details.structured", &structured) != WB_OK)
        structured = WBI_NONE;
    if (wbi_redact_beside(x->call, complete) != WB_OK) {
        complete->part_count = 0;
        complete->members = NULL;
    }
    fault.message = wbi_str_trim(text);
    if (!is_short(fault.message)) {
        fault.message = wbi_arena_fmt(x->arena, "%.*s failed", WBI_FMT(x->tool->model_name));
        said[n++] = (struct wbi_partial_stream){.name = "output", .raw = text, .bytes = text.n};
    }
    if (!is_short(structured))
        said[n++] = (struct wbi_partial_stream){
            .name = "structured", .raw = structured, .bytes = structured.n};
    wbi_buf_init_arena(&details, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    if (n > 0) {
        wbi_jw_key(&w, "partial");
        wbi_partial_write(x->call, &w, said, n);
    }
    if (structured.n > 0 && is_short(structured))
        wbi_jw_kraw(&w, "structured", structured);
    wbi_jw_obj_end(&w);
    if (fault.message.n == 0)
        fault.message = structured.n > 0 ? WBI_LIT("the tool failed")
                                         : WBI_LIT("the tool failed without saying why");
    if (details.n > 2 && wbi_buf_rc(&details) == WB_OK)
        fault.details = wbi_buf_str(&details);
    fail_with(x, &fault, complete);
}

/* It ran: what it gave is kept, though it is not what it had to be. */
static void fail_output(struct wbi_exec *x, const char *why, struct wbi_str text)
{
    struct wbi_partial_stream said = {.name = "output", .raw = text, .bytes = text.n};
    struct wbi_fault fault = {.kind = WBI_KIND_INVALID_TOOL_OUTPUT};

    fault.message = wbi_arena_fmt(x->arena, "%.*s %s", WBI_FMT(x->tool->model_name), why);
    if (text.n > 0)
        fault.details = wbi_partial_details(x->call, &said, 1);
    wbi_exec_fail_fault(x, &fault);
}

static void free_arena(void *arg)
{
    wbi_arena_free(arg);
}

static void take_result(struct wbi_exec *x, const struct wbi_upstream_answer *a)
{
    struct wbi_complete complete = {.ok = true};
    struct wbi_tool_text got = {0};
    wb_rc rc = wbi_arena_defer(x->arena, free_arena, *a->arena);

    if (rc == WB_OK) { /* what was read lives with the call */
        *a->arena = NULL;
        rc = wbi_tool_result_read(x, a->result, a->text, &complete, &got);
    }
    if (rc == WB_EINPUT) {
        fail_output(x, "answered with no result of a tool", a->text);
        return;
    }
    if (got.untouched)
        complete.raw = a->text;
    if (rc != WB_OK)
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
    else if (wbi_json_true(wbi_json_get(a->result, "isError")))
        fail_tool(x, &complete, got.text, got.structured && !got.twin ? complete.output : WBI_NONE);
    else if (x->tool->output_compiled != NULL && !got.structured)
        fail_output(x, "ran, but gave no structuredContent, which its outputSchema promises",
                    got.text);
    else
        wbi_exec_done(x, &complete);
}

static const struct wbi_upstream_call_ops call_ops;

/* The name the server itself gave the tool: what follows "mcp::server::". */
static struct wbi_str own_name(const struct wbi_tool *tool)
{
    return wbi_str_from(tool->qualified, tool->origin.n + 2);
}

/* What one connection to the server could not take, and did not send, goes over another. */
static bool move(struct running *r, const struct wbi_upstream_answer *a)
{
    struct wbi_exec *x = r->x;
    bool refused = a->rc == WB_EIO || (a->rc == WB_EDENIED && a->lacks == NULL);

    if (r->moved || r->barred.p != NULL || a->sent || !refused || x->cancel != WBI_CANCEL_NONE)
        return false;
    r->up = wbi_server_link_instead(x->tool->ops_arg, r->up, own_name(x->tool));
    r->moved = true;
    return r->up != NULL && wbi_upstream_start(r->up, &r->q, &call_ops, r, &r->call, NULL) == WB_OK;
}

static void on_done(void *arg, const struct wbi_upstream_answer *a)
{
    struct running *r = arg;
    struct wbi_exec *x = r->x;

    r->call = NULL;
    if (move(r, a))
        return;
    if (r->barred.p != NULL)
        wbi_exec_fail(x, WBI_KIND_FORBIDDEN, "%.*s", WBI_FMT(r->barred));
    else if (a->rc == WB_ECANCELLED || (a->rc == WB_EAGAIN && x->cancel != WBI_CANCEL_NONE))
        wbi_exec_stopped(x, WBI_NONE);
    else if (a->rc != WB_OK)
        fail_unanswered(x, a);
    else if (a->error != NULL)
        fail_rpc(x, a);
    else
        take_result(x, a);
}

/* {"progress", "total"?, "message"?}, as the server told it. */
static void give_frame(struct wbi_exec *x, double progress, double total, struct wbi_str message)
{
    struct wbi_buf clean, data;
    struct wbi_jw w = wbi_jw_to(&data);

    if (x->call->on_frame == NULL)
        return;
    wbi_buf_init(&clean, WBI_LIMIT_FRAME);
    wbi_buf_init(&data, WBI_LIMIT_FRAME);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "progress");
    wbi_jw_real(&w, progress);
    if (total > 0) {
        wbi_jw_key(&w, "total");
        wbi_jw_real(&w, total);
    }
    if (message.p != NULL && wbi_hygiene_clean(message, &clean, NULL) == WB_OK)
        wbi_jw_kstr(&w, "message", wbi_buf_str(&clean));
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&data) == WB_OK)
        wbi_exec_partial(x, wbi_buf_str(&data));
    wbi_buf_fini(&clean);
    wbi_buf_fini(&data);
}

static void on_progress(void *arg, double progress, double total, struct wbi_str message,
                        const wbi_json *params)
{
    struct wbi_exec *x = ((struct running *)arg)->x;

    if (x->call->mcp != NULL)
        wbi_relay_progress(x->runtime, x->call->mcp, progress, total, message, params);
    else
        give_frame(x, progress, total, message);
}

static void on_log(void *arg, struct wbi_str level, struct wbi_str logger, const wbi_json *data,
                   const wbi_json *params)
{
    struct wbi_exec *x = ((struct running *)arg)->x;

    wbi_relay_log(x->runtime, x->call->mcp, level, logger, data, params);
}

static void on_ask(void *arg, struct wbi_upstream_ask *ask, struct wbi_str key,
                   struct wbi_str method, struct wbi_str params)
{
    struct wbi_exec *x = ((struct running *)arg)->x;

    wbi_relay_ask(x->tool->ops_arg, x->call->mcp, ask, key, method, params);
}

static void on_withdrawn(void *arg, struct wbi_upstream_ask *ask)
{
    wbi_relay_withdrawn(((struct running *)arg)->x->call->mcp, ask);
}

static bool is_away(void *arg)
{
    const struct wbi_mcp_request *r = ((struct running *)arg)->x->call->mcp;

    return r != NULL && wbi_mcp_parked(r);
}

/* Since the call found its tool the server has told its tools again: this one may be
 * gone or changed. */
static bool is_offered(struct running *r)
{
    struct wbi_exec *x = r->x;
    const struct wbi_tool *now = NULL;
    struct wbi_catalog *catalog;

    if (wbi_runtime_catalog(x->runtime, &catalog, NULL) == WB_OK &&
        wbi_catalog_resolve(catalog, NULL, NULL, WBI_NONE, x->tool->qualified, WBI_NONE, &now,
                            NULL) == WB_OK &&
        now->blocked.p == NULL)
        return true;
    r->barred = now != NULL ? wbi_arena_str(x->arena, now->blocked)
                            : wbi_arena_fmt(x->arena, "%.*s no longer offers %.*s",
                                            WBI_FMT(x->tool->origin), WBI_FMT(x->tool->model_name));
    if (r->barred.p == NULL)
        r->barred = WBI_LIT("out of memory");
    return false;
}

/* A connection whose own list is not known to say the same takes no call: it moves. */
static bool on_vetted(void *arg)
{
    struct running *r = arg;

    return wbi_server_agrees(r->x->tool->ops_arg, r->up, own_name(r->x->tool)) && is_offered(r);
}

static void fail_unsent(struct wbi_exec *x, const char *why)
{
    struct wbi_upstream_answer a = {.rc = WB_EIO, .why = why};

    fail_unanswered(x, &a);
}

/* Headers of a call that came before the tool was known. */
static bool refuse_headers(struct wbi_exec *x)
{
    static const struct wbi_str error = WBI_LIT_INIT(
        "{\"code\":-32020,\"message\":\"Mcp-Param headers must repeat their arguments\"}");
    struct wbi_fault fault = {.kind = WBI_KIND_INVALID_TOOL_INPUT,
                              .message = WBI_LIT("Mcp-Param headers must repeat their arguments")};
    struct wbi_complete complete = {.rpc_error = error};

    if (!x->tool->mcp_headers || x->call->mcp == NULL ||
        wbi_mcp_params_agree(x->call->mcp, x->tool->input_schema))
        return false;
    fail_with(x, &fault, &complete);
    return true;
}

static const struct wbi_upstream_call_ops call_ops = {on_done,      on_progress, on_log, on_ask,
                                                      on_withdrawn, on_vetted,   is_away};

static void start(struct wbi_exec *x)
{
    struct wbi_upstream_request q = {.vetted = true,
                                     .method = "tools/call",
                                     .conversation = x->call->inv.conversation_id,
                                     .timeout_ms = x->tool->timeout_ms,
                                     .schema = x->tool->mcp_headers ? x->tool->input_schema : NULL};
    struct running *r = wbi_arena_zalloc(x->arena, sizeof(*r));
    struct wbi_trace_texts trace;
    struct wbi_upstream *up;
    struct wbi_buf params;
    struct wbi_jw w = wbi_jw_to(&params);
    WBI_ERROR_HERE(err);

    if (refuse_headers(x))
        return;
    up = wbi_server_link_for(x->tool->ops_arg, x->call->mcp, own_name(x->tool), &err);
    if (up == NULL || r == NULL) {
        fail_unsent(x, r == NULL ? "out of memory" : err.text);
        return;
    }
    wbi_server_need(x->tool->ops_arg);
    q.progress = x->call->on_frame != NULL;
    wbi_relay_client(&q, x->call->mcp);
    if (wbi_call_trace(x->call, &trace)) {
        q.trace_parent = trace.parent;
        q.trace_state = trace.state;
    }
    wbi_buf_init_arena(&params, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "name", own_name(x->tool));
    wbi_jw_kval(&w, "arguments", x->input);
    wbi_jw_obj_end(&w);
    q.params = wbi_buf_str(&params);
    r->x = x;
    r->up = up;
    r->q = q;
    x->state = r;
    if (wbi_buf_rc(&params) != WB_OK)
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
    else if (x->call->catalog != x->runtime->catalog && !is_offered(r))
        wbi_exec_fail(x, WBI_KIND_FORBIDDEN, "%.*s", WBI_FMT(r->barred));
    else if (wbi_upstream_start(up, &q, &call_ops, r, &r->call, &err) != WB_OK)
        fail_unsent(x, err.text[0] != '\0' ? err.text : "the server is busy");
}

static void cancel(struct wbi_exec *x)
{
    struct running *r = x->state;

    if (r != NULL && r->call != NULL)
        wbi_upstream_cancel(r->call,
                            x->call->mcp != NULL ? wbi_mcp_cancel_reason(x->call->mcp) : WBI_NONE);
}

const struct wbi_tool_ops wbi_upstream_tool_ops = {start, cancel};
