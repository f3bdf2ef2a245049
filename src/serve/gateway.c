/* SPDX-License-Identifier: Apache-2.0
 * serve/gateway.c: making, draining and ending the gateway. */
#include "serve/gateway.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "call/guards.h"
#include "event/out.h"
#include "serve/gateway_int.h"
#include "serve/pass.h"
#include "serve/upstreams.h"

#define GRACE_MS 5000

static void end(void *arg)
{
    struct wbi_gateway *g = arg;

    if (g->ended)
        return;
    g->ended = true;
    if (g->o.on_end != NULL)
        g->o.on_end(g->o.arg);
}

/* ---- HTTP ---- */

static uint64_t lost_access(const struct wbi_gateway *g)
{
    return g->access_lost + (g->access != NULL ? wbi_event_out_untaken(g->access) : 0);
}

static void give_metrics(struct wbi_gateway *g, const struct wbi_http_request *r)
{
    struct wbi_http_response answer = {.status = 200,
                                       .type = "text/plain; version=0.0.4; charset=utf-8"};
    struct wbi_store_health ledger;
    struct wbi_buf out;

    if (!wbi_str_eqz(r->method, "GET") && !wbi_str_eqz(r->method, "HEAD")) {
        answer = (struct wbi_http_response){.status = 405, .extra = "Allow: GET, HEAD\r\n"};
        wbi_http_respond(g->http, r->id, &answer);
        return;
    }
    wbi_runtime_ledger_health(g->rt, &ledger);
    wbi_buf_init(&out, WBI_LIMIT_MCP_MESSAGE);
    wbi_metrics_write(g->metrics, g->rt->calls, wbi_events_missed(g->rt->guards), lost_access(g),
                      &ledger, &out);
    answer.body = wbi_buf_str(&out);
    wbi_http_respond(g->http, r->id, &answer);
    wbi_buf_fini(&out);
}

static void on_request(void *arg, const struct wbi_http_request *r)
{
    struct wbi_http_response none = {
        .status = 404, .type = "text/plain", .body = WBI_LIT("the endpoint is /mcp\n")};
    struct wbi_gateway *g = arg;

    if (wbi_str_eqz(r->path, "/mcp"))
        wbi_mcp_http(g->server, g->http, r, g->rt->principal);
    else if (wbi_str_eqz(r->path, "/metrics"))
        give_metrics(g, r);
    else
        wbi_http_respond(g->http, r->id, &none);
}

static void on_gone(void *arg, uint64_t id, void *user)
{
    wbi_mcp_http_gone(((struct wbi_gateway *)arg)->server, id, user);
}

static void on_access(void *arg, const struct wbi_http_access *a)
{
    struct wbi_gateway *g = arg;
    struct wbi_buf line;

    wbi_buf_init(&line, WBI_LIMIT_EVENT_LINE);
    wbi_http_access_json(a, &line);
    if (wbi_buf_rc(&line) != WB_OK || wbi_event_out_put(g->access, wbi_buf_str(&line)) != WB_OK)
        g->access_lost++;
    wbi_buf_fini(&line);
}

/* As for events: whoever reads the log slowly or no more must not hold up the gateway. */
static wb_rc open_access(struct wbi_gateway *g, struct wbi_error *err)
{
    char target[16];

    if (g->o.access_fd < 0)
        return WB_OK;
    (void)snprintf(target, sizeof(target), "%d", g->o.access_fd);
    return wbi_event_out_open(g->rt->loop, wbi_str_z(target), &g->access, err);
}

static wb_rc listen_http(struct wbi_gateway *g, struct wbi_error *err)
{
    struct wbi_http_ops ops = {on_request, on_gone, g->o.access_fd >= 0 ? on_access : NULL};
    struct wbi_http_options o = {.address = g->o.http,
                                 .token = g->o.token,
                                 .hosts = g->o.hosts,
                                 .host_count = g->o.host_count,
                                 .health = WBI_LIT("/healthz"),
                                 .clock = g->rt->clock};
    wb_rc rc = open_access(g, err);

    return rc == WB_OK ? wbi_http_listen(g->rt->loop, &o, &ops, g, &g->http, err) : rc;
}

/* ---- life ---- */

static void on_changed(void *arg, enum wbi_mcp_list what)
{
    wbi_mcp_list_changed(((struct wbi_gateway *)arg)->server, what);
}

/* Other bindings: other tools for the clients, and artifacts or none. */
static void on_reload(void *arg)
{
    on_changed(arg, WBI_MCP_TOOLS);
    on_changed(arg, WBI_MCP_RESOURCES);
}

static void on_updated(void *arg, struct wbi_str uri)
{
    wbi_mcp_resource_updated(((struct wbi_gateway *)arg)->server, uri);
}

static void on_elicited(void *arg, struct wbi_str conversation, struct wbi_str id)
{
    wbi_mcp_elicited(((struct wbi_gateway *)arg)->server, conversation, id);
}

static void cancel_rest(void *arg)
{
    struct wbi_gateway *g = arg;

    g->cancelled = true;
    wbi_serve_cancel_all(g);
    wbi_mcp_server_stop(g->server);
    if (g->http != NULL)
        wbi_http_drain_now(g->http);
    else
        wbi_mcp_stdio_drain(g->stdio, /* hurry= */ true);
}

static const struct wbi_mcp_ops server_ops = {.list = wbi_serve_list,
                                              .call = wbi_serve_call,
                                              .malformed = wbi_serve_malformed,
                                              .read = wbi_serve_read,
                                              .prompt = wbi_serve_prompt,
                                              .complete = wbi_serve_complete,
                                              .cancel = wbi_serve_cancelled,
                                              .ended = wbi_serve_ended,
                                              .waiting = wbi_serve_waiting,
                                              .subscribed = wbi_serve_subscribed,
                                              .schema = wbi_serve_schema};

static const char instructions[] =
    "Tools answer with a receipt: status first, then a bounded preview. Complete output is kept as "
    "artifacts, which are also resources of this server.";

wb_rc wbi_gateway_new(struct wbi_runtime *rt, struct wbi_upstreams *ups,
                      const struct wbi_gateway_options *options, struct wbi_gateway **ret,
                      struct wbi_error *err)
{
    struct wbi_mcp_options mo = {.name = "waybill",
                                 .title = "Waybill",
                                 .version = WAYBILL_VERSION,
                                 .instructions = instructions,
                                 .clock = rt->clock,
                                 .ids = rt->ids};
    struct wbi_gateway *g = wbi_zalloc(sizeof(*g));
    wb_rc rc;

    if (g == NULL)
        return wbi_fail_nomem(err);
    g->rt = rt;
    g->ups = ups;
    g->o = *options;
    if (wbi_metrics_new(&g->metrics) != WB_OK ||
        wbi_timer_new(rt->loop, cancel_rest, g, &g->grace) != WB_OK)
        rc = wbi_fail_nomem(err);
    else
        rc = wbi_mcp_server_new(rt->loop, &mo, &server_ops, g, &g->server, err);
    if (rc == WB_OK && options->http.p != NULL)
        rc = listen_http(g, err);
    else if (rc == WB_OK)
        rc = wbi_mcp_stdio_new(g->server, options->in_fd, options->out_fd, rt->principal, end, g,
                               &g->stdio, err);
    if (rc != WB_OK) {
        wbi_gateway_free(g);
        return rc;
    }
    if (g->stdio != NULL)
        wbi_mcp_stdio_watch(g->stdio, options->lost);
    if (ups != NULL)
        wbi_upstreams_watch(ups,
                            (struct wbi_upstreams_ears){on_changed, on_updated, on_elicited, g});
    rt->guards->on_reload = on_reload;
    rt->guards->on_reload_arg = g;
    *ret = g;
    return WB_OK;
}

void wbi_gateway_free(struct wbi_gateway *g)
{
    if (g == NULL)
        return;
    g->rt->guards->on_reload = NULL;
    if (g->ups != NULL)
        wbi_upstreams_watch(g->ups, (struct wbi_upstreams_ears){0});
    wbi_timer_free(g->grace);
    if (g->server != NULL) {
        wbi_serve_cancel_all(g);
        wbi_mcp_server_stop(g->server);
        while (wbi_mcp_server_busy(g->server) > 0)
            (void)wbi_loop_turn(g->rt->loop, /* wait= */ true);
    }
    wbi_timer_free(g->news); /* calls that end above may start it */
    wbi_http_free(g->http);
    wbi_mcp_stdio_free(g->stdio);
    wbi_mcp_server_free(g->server);
    wbi_watch_forget(g);
    wbi_spares_free(&g->spare_talks);
    wbi_spares_free(&g->spare_served);
    wbi_metrics_free(g->metrics);
    wbi_event_out_free(g->access);
    wbi_free(g);
}

uint16_t wbi_gateway_port(const struct wbi_gateway *g)
{
    return g->http != NULL ? wbi_http_port(g->http) : 0;
}

wb_rc wbi_gateway_set_token(struct wbi_gateway *g, struct wbi_str token)
{
    return g->http != NULL ? wbi_http_set_token(g->http, token) : WB_EMISUSE;
}

void wbi_gateway_drain(struct wbi_gateway *g)
{
    int64_t grace = g->o.grace_ms > 0 ? g->o.grace_ms : GRACE_MS;

    if (g->draining) {
        cancel_rest(g);
        return;
    }
    g->draining = true;
    wbi_timer_start(g->grace, grace);
    wbi_mcp_server_quiet(g->server);
    if (g->http != NULL)
        wbi_http_drain(g->http, grace + WBI_CANCEL_GRACE_MS, end, g);
    else
        wbi_mcp_stdio_drain(g->stdio, /* hurry= */ false);
}
