/* SPDX-License-Identifier: Apache-2.0
 * mcp/upstream_call.c: one call to a server: its message, its answer.
 * (1) on_done runs exactly once, and is the last thing. (2) Every message sent
 * has an id of its own, so that a late answer finds nothing. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "event/trace.h"
#include "json/write.h"
#include "mcp/upstream_int.h"

/* Of a call and its texts; for larger ones a block of their own is made. */
#define CALL_SIZE ((size_t)1024)

/* What these tell has no answer: they have no id, and end with their exchange. */
#define NOTES "notifications/"

static void put_member(struct wbi_buf *b, const char *name, struct wbi_str value)
{
    wbi_buf_addz(b, b->n > 0 ? ",\"" : "\"");
    wbi_buf_addz(b, name);
    wbi_buf_addz(b, "\":");
    wbi_json_quote(b, value);
}

static bool good_state(struct wbi_str s)
{
    return s.n > 0 && s.n <= WBI_LIMIT_TRACESTATE && wbi_trace_state_valid(s);
}

/* Members of the caller's _meta that pass on: all but the protocol's own. Where it has no
 * trace context that is valid the call's own is sent, as in the events, and a tracestate
 * belongs to no trace. */
static void write_meta(struct wbi_buf *b, const struct wbi_upstream_request *q)
{
    struct wbi_trace ignored;
    bool theirs = wbi_trace_parse(wbi_json_get_str(q->meta, "traceparent"), &ignored);
    bool state = theirs && good_state(wbi_json_get_str(q->meta, "tracestate"));

    WBI_JSON_EACH_MEMBER (q->meta, k) {
        struct wbi_str name = wbi_json_str(k);

        if (wbi_str_eqz(name, "progressToken") || wbi_str_starts(name, WBI_LIT(WBI_META)) ||
            (!theirs && wbi_str_eqz(name, "traceparent")) ||
            (!state && wbi_str_eqz(name, "tracestate")))
            continue;
        if (b->n > 0)
            wbi_buf_addc(b, ',');
        wbi_json_quote(b, name);
        wbi_buf_addc(b, ':');
        wbi_json_write(b, k_val);
    }
    if (!theirs && q->trace_parent.n > 0) {
        put_member(b, "traceparent", q->trace_parent);
        if (q->trace_state.n > 0)
            put_member(b, "tracestate", q->trace_state);
    }
}

/* The inside of an object, without its braces. */
static struct wbi_str inside(struct wbi_str object)
{
    object = wbi_str_trim(object);
    return object.n < 2 ? WBI_LIT("") : wbi_str_trim(wbi_str_make(object.p + 1, object.n - 2));
}

/* Name and argument headers of a call, for 2026-07-28 over HTTP. Whether they are needed is
 * known when it is sent: until then nothing is said about those that are too long. */
static wb_rc copy_headers(struct wbi_upstream_call *c, const struct wbi_upstream_request *q)
{
    struct wbi_arena *arena = NULL;
    const wbi_json *params = NULL, *arguments, *property, *header, *v;
    struct wbi_mcp_header_walk walk;
    struct wbi_str name;
    struct wbi_buf b;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&b, WBI_LIMIT_HTTP_HEAD);
    rc = wbi_json_read(arena, q->params, WBI_JSON_STRICT, &params, NULL);
    if (rc != WB_OK)
        goto out;
    name = wbi_json_get_str(params, strcmp(q->method, "resources/read") == 0 ? "uri" : "name");
    arguments = wbi_json_get(params, "arguments");
    if (name.p != NULL) {
        wbi_buf_addz(&b, "Mcp-Name: ");
        wbi_mcp_header_put(&b, name);
        wbi_buf_addz(&b, "\n");
    }
    walk = wbi_mcp_header_walk(q->schema, arguments);
    while (wbi_mcp_header_next(&walk, &property, &header, &v)) {
        if (v == NULL || !wbi_json_is(header, WBI_JSON_STR))
            continue;
        wbi_buf_addf(&b, "Mcp-Param-%.*s: ", WBI_FMT(wbi_json_str(header)));
        if (wbi_json_is(v, WBI_JSON_STR))
            wbi_mcp_header_put(&b, wbi_json_str(v));
        else
            wbi_json_write(&b, v);
        wbi_buf_addz(&b, "\n");
    }
    if (wbi_buf_rc(&b) == WB_ELIMIT) {
        c->param_headers = wbi_strdup(WBI_LIT(""));
        rc = c->param_headers == NULL ? WB_ENOMEM : WB_OK;
    } else if (b.n > 0) {
        c->param_headers = wbi_buf_take(&b, NULL);
        rc = c->param_headers == NULL ? WB_ENOMEM : WB_OK;
    }
out:
    wbi_buf_fini(&b);
    wbi_arena_free(arena);
    return rc;
}

static bool headers_fit(const struct wbi_upstream_call *c)
{
    return c->up->era != WBI_ERA_MODERN || c->param_headers == NULL || c->param_headers[0] != '\0';
}

static void free_call(struct wbi_upstream_call *c)
{
    wbi_free(c->state);
    wbi_free(c->responses);
    wbi_free(c->param_headers);
    wbi_arena_free(c->refusal_arena);
    if (c->large)
        wbi_free(c);
    else
        wbi_spares_give(&c->up->spare_calls, c, WBI_SPARES_MOST);
}

static char *put_text(char **at, struct wbi_str s)
{
    char *text = *at;

    if (s.n > 0)
        memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    *at += s.n + 1;
    return text;
}

/* The call and the texts it sends, in one block. */
static struct wbi_upstream_call *make_call(struct wbi_upstream *up,
                                           const struct wbi_upstream_request *q)
{
    struct wbi_str method = wbi_str_z(q->method), params = inside(q->params);
    struct wbi_buf *meta = &up->scratch;
    struct wbi_upstream_call *c;
    size_t size;
    char *at;

    wbi_buf_clear(meta);
    write_meta(meta, q);
    if (wbi_buf_rc(meta) != WB_OK)
        return NULL;
    size = sizeof(*c) + method.n + params.n + meta->n + q->conversation.n + 4;
    c = size > CALL_SIZE ? wbi_alloc(size) : wbi_spares_take(&up->spare_calls, CALL_SIZE);
    if (c == NULL)
        return NULL;
    memset(c, 0, sizeof(*c));
    c->up = up;
    c->large = size > CALL_SIZE;
    at = (char *)(c + 1);
    c->method = put_text(&at, method);
    c->params = put_text(&at, params);
    c->meta = put_text(&at, wbi_buf_str(meta));
    c->conversation = put_text(&at, q->conversation);
    return c;
}

wb_rc wbi_call_new(struct wbi_upstream *up, const struct wbi_upstream_request *q,
                   const struct wbi_upstream_call_ops *ops, void *arg,
                   struct wbi_upstream_call **ret)
{
    struct wbi_upstream_call *c = make_call(up, q);
    int64_t ms = q->timeout_ms > 0 ? q->timeout_ms : up->spec.call_ms;

    if (c == NULL)
        return WB_ENOMEM;
    c->ops = *ops;
    c->arg = arg;
    if (q->abilities != NULL)
        c->abilities = *q->abilities;
    c->progress = q->progress && ops->on_progress != NULL;
    c->vetted = q->vetted;
    c->lists = q->lists;
    c->note = strncmp(q->method, NOTES, sizeof(NOTES) - 1) == 0;
    if (q->log_level != NULL)
        (void)put_text(&(char *){c->log_level},
                       wbi_str_head(wbi_str_z(q->log_level), sizeof(c->log_level) - 1));
    c->log_asked = q->log_asked;
    c->deadline_ns = wbi_now_ns(&up->clock) + ms * WBI_NS_PER_MS;
    if (up->spec.url.p != NULL && q->params.p != NULL && copy_headers(c, q) != WB_OK) {
        free_call(c);
        return WB_ENOMEM;
    }
    c->next = up->calls;
    c->prev = &up->calls;
    if (c->next != NULL)
        c->next->prev = &c->next;
    up->calls = c;
    up->call_count++;
    *ret = c;
    return WB_OK;
}

static void put_abilities(struct wbi_buf *b, const struct wbi_mcp_abilities *a)
{
    struct wbi_jw w = wbi_jw_to(b);

    wbi_jw_obj(&w);
    if (a->elicitation_form || a->elicitation_url)
        wbi_jw_kraw(&w, "elicitation",
                    !a->elicitation_url   ? WBI_LIT("{\"form\":{}}")
                    : a->elicitation_form ? WBI_LIT("{\"form\":{},\"url\":{}}")
                                          : WBI_LIT("{\"url\":{}}"));
    if (a->sampling)
        wbi_jw_kraw(&w, "sampling", a->sampling_tools ? WBI_LIT("{\"tools\":{}}") : WBI_LIT("{}"));
    if (a->roots)
        wbi_jw_kraw(&w, "roots", WBI_LIT("{}"));
    wbi_jw_obj_end(&w);
}

/* `"_meta":{…}` with what the revision and the caller want in it. */
static void put_meta(struct wbi_buf *b, const struct wbi_upstream_call *c)
{
    bool modern = c->up->era == WBI_ERA_MODERN;

    wbi_buf_addz(b, "\"_meta\":{");
    wbi_buf_addz(b, c->meta);
    if (c->progress)
        wbi_buf_addf(b, "%s\"progressToken\":%" PRIu64, c->meta[0] != '\0' ? "," : "", c->id);
    if (modern) {
        wbi_buf_addz(b, c->meta[0] != '\0' || c->progress ? "," : "");
        wbi_buf_addz(b, "\"" WBI_META "protocolVersion\":\"" WBI_MCP_MODERN "\",\"" WBI_META
                        "clientInfo\":{\"name\":\"waybill\",\"version\":\"" WAYBILL_VERSION
                        "\"},\"" WBI_META "clientCapabilities\":");
        put_abilities(b, &c->abilities);
        if (c->log_level[0] != '\0')
            wbi_buf_addf(b, ",\"" WBI_META "logLevel\":\"%s\"", c->log_level);
    }
    wbi_buf_addc(b, '}');
}

static void put_params(struct wbi_buf *b, const struct wbi_upstream_call *c)
{
    bool meta = c->up->era == WBI_ERA_MODERN || c->meta[0] != '\0' || c->progress;

    wbi_buf_addc(b, '{');
    wbi_buf_addz(b, c->params);
    if (c->responses != NULL)
        wbi_buf_addf(b, "%s\"inputResponses\":{", c->params[0] != '\0' ? "," : "");
    if (c->responses != NULL) {
        wbi_buf_addz(b, c->responses);
        wbi_buf_addc(b, '}');
    }
    if (c->state != NULL) {
        wbi_buf_addz(b, b->p[b->n - 1] != '{' ? ",\"requestState\":" : "\"requestState\":");
        wbi_buf_addz(b, c->state);
    }
    if (meta) {
        if (b->n > 0 && b->p[b->n - 1] != '{')
            wbi_buf_addc(b, ',');
        put_meta(b, c);
    }
    wbi_buf_addc(b, '}');
}

void wbi_call_rename(struct wbi_upstream_call *c, uint64_t id)
{
    struct wbi_upstream_call **head = &c->up->by_id[id % WBI_UPSTREAM_BUCKETS];

    if (c->id != 0) {
        *c->prev_by_id = c->next_by_id;
        if (c->next_by_id != NULL)
            c->next_by_id->prev_by_id = c->prev_by_id;
    }
    c->id = id;
    if (id == 0)
        return;
    c->next_by_id = *head;
    c->prev_by_id = head;
    if (*head != NULL)
        (*head)->prev_by_id = &c->next_by_id;
    *head = c;
}

void wbi_call_send(struct wbi_upstream_call *c)
{
    struct wbi_upstream *up = c->up;
    struct wbi_buf *b = &up->scratch;
    size_t from;
    wb_rc rc;

    if (c->log_asked)
        wbi_up_tell_level(up, c->log_level);
    wbi_call_rename(c, ++up->serial);
    wbi_buf_clear(b);
    wbi_buf_addz(b, "{\"jsonrpc\":\"2.0\",");
    if (!c->note) {
        wbi_buf_addz(b, "\"id\":");
        wbi_buf_addu(b, c->id);
        wbi_buf_addc(b, ',');
    }
    wbi_buf_addz(b, "\"method\":\""); /* one of the protocol's words: nothing to escape */
    wbi_buf_addz(b, c->method);
    wbi_buf_addz(b, "\",\"params\":");
    from = b->n;
    put_params(b, c);
    wbi_rpc_one_line(b, from);
    wbi_buf_addc(b, '}');
    rc = headers_fit(c) ? wbi_buf_rc(b) : WB_ELIMIT;
    if (rc == WB_OK)
        rc = up->link->send(up, c, wbi_buf_str(b));
    if (b->cap > WBI_LIMIT_HTTP_KEPT)
        wbi_buf_fini(b);
    if (rc == WB_OK) {
        c->sent = true;
        c->sent_era = up->era;
        c->sent_start = up->counts.starts;
        wbi_up_arm(up, c->deadline_ns);
        return;
    }
    if (rc == WB_ENOTFOUND)
        return;         /* it ends with the connection */
    c->deadline_ns = 0; /* ended from the loop: callers do not expect it here */
    wbi_up_arm(up, wbi_now_ns(&up->clock));
}

void wbi_call_end(struct wbi_upstream_call *c, const struct wbi_upstream_answer *a)
{
    struct wbi_upstream *up = c->up;

    *c->prev = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    up->call_count--;
    wbi_call_rename(c, 0);
    if (up->link->forget != NULL)
        up->link->forget(up, c);
    if (c->asks != NULL)
        wbi_call_leave_asks(c, a->rc == WB_ECANCELLED);
    c->ops.on_done(c->arg, a);
    free_call(c);
}

/* A wish only. Over HTTP one of 2026-07-28 hears it by the end of the exchange. */
static void tell_cancelled(const struct wbi_upstream_call *c)
{
    struct wbi_upstream *up = c->up;
    bool told = !c->own || strcmp(c->method, "subscriptions/listen") == 0;
    struct wbi_buf params, note;
    struct wbi_jw w = wbi_jw_to(&params);

    if (!c->sent || c->id == 0 || !told || up->state != WBI_UP_READY ||
        (up->era == WBI_ERA_MODERN && up->spec.url.p != NULL))
        return;
    wbi_buf_init(&params, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init(&note, WBI_LIMIT_MCP_MESSAGE);
    wbi_jw_obj(&w);
    wbi_jw_kint(&w, "requestId", (int64_t)c->id);
    if (c->reason.n > 0)
        wbi_jw_kstr(&w, "reason", c->reason);
    wbi_jw_obj_end(&w);
    wbi_rpc_put_call(&note, WBI_NONE, "notifications/cancelled", wbi_buf_str(&params));
    if (wbi_buf_rc(&params) == WB_OK && wbi_buf_rc(&note) == WB_OK)
        (void)!up->link->send(up, NULL, wbi_buf_str(&note));
    wbi_buf_fini(&params);
    wbi_buf_fini(&note);
}

void wbi_upstream_call_fail(struct wbi_upstream_call *c, wb_rc rc, const char *why)
{
    struct wbi_upstream *up = c->up;
    int64_t left = up->wait_until_ns - wbi_now_ns(&up->clock);
    struct wbi_upstream_answer a = {.rc = rc,
                                    .sent = c->sent,
                                    .why = why,
                                    .status = c->status,
                                    .retry_after_ms = c->retry_after_ms};

    if (c->refusal_arena != NULL && rc != WB_ECANCELLED) { /* it has its answer */
        wbi_call_end(c, &c->refusal);
        return;
    }
    if (rc == WB_EAGAIN && c->refused) {
        a.rc = WB_EDENIED;
        a.why = "the caller refused what the server asked, and it cannot go on without";
    } else if (rc == WB_EAGAIN && c->deadline_ns == 0 && !headers_fit(c))
        a = (struct wbi_upstream_answer){.rc = WB_EDENIED,
                                         .why = "the call does not fit: the headers that repeat "
                                                "its arguments would be longer than 32 KiB"};
    else if (rc == WB_EAGAIN && c->deadline_ns == 0)
        a = (struct wbi_upstream_answer){.rc = WB_ELIMIT,
                                         .why = "the call does not fit: more than "
                                                "32 MiB would wait for the server to read"};
    if (rc == WB_EIO && up->state == WBI_UP_WAITING) /* its time may have come meanwhile */
        a.retry_after_ms = left > 0 ? left / WBI_NS_PER_MS + 1 : 1;
    if (a.rc == WB_EAGAIN || a.rc == WB_ECANCELLED) {
        tell_cancelled(c);
        if (wbi_call_under_way(c))
            wbi_up_doubt(up);
    }
    wbi_call_end(c, &a);
}

void wbi_upstream_cancel(struct wbi_upstream_call *call, struct wbi_str reason)
{
    call->reason = reason;
    wbi_upstream_call_fail(call, WB_ECANCELLED, "the call was cancelled");
}
