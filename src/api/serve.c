/* SPDX-License-Identifier: Apache-2.0
 * api/serve.c: a runtime as an MCP server. */
#include <stdio.h>
#include <unistd.h>

#include "api/api_int.h"
#include "serve/gateway.h"
#include "serve/token.h"
#include "serve/upstreams.h"

struct serving {
    wb_runtime *runtime;
    wb_serve_options options;
    struct wbi_gateway *gateway;
    struct wbi_error lost;
    struct wbi_watch *stop;
    int stop_fd;
    bool done;
};

static void on_end(void *arg)
{
    ((struct serving *)arg)->done = true;
}

static void on_stop(void *arg, int events)
{
    struct serving *s = arg;
    char eaten[512];

    (void)events;
    if (read(s->stop_fd, eaten, sizeof(eaten)) >= 0) /* so that a second one is seen */
        wbi_gateway_drain(s->gateway);
}

static bool is_loopback(struct wbi_str address)
{
    return wbi_str_starts(address, WBI_LIT("127.")) || wbi_str_starts(address, WBI_LIT("[::1]:")) ||
           wbi_str_starts(address, WBI_LIT("localhost:"));
}

#define HOSTS_MAX 64

static wb_rc read_serve_options(const wb_serve_options *o, struct serving *s, struct wbi_str *hosts,
                                struct wbi_gateway_options *ret, struct wbi_error *err)
{
    *ret = (struct wbi_gateway_options){.http = wbi_str_z(o->http),
                                        .token = wbi_str_z(o->token),
                                        .hosts = hosts,
                                        .in_fd = o->in,
                                        .out_fd = o->out,
                                        .access_fd = o->access_log,
                                        .lost = &s->lost,
                                        .on_end = on_end,
                                        .arg = s};
    if (o->http != NULL && o->token == NULL && !is_loopback(ret->http))
        return wbi_fail(err, WB_EINPUT, "without a token only loopback is served; \"%.80s\" is not",
                        o->http);
    while (o->hosts != NULL && o->hosts[ret->host_count] != NULL) {
        if (ret->host_count == HOSTS_MAX)
            return wbi_fail(err, WB_ELIMIT, "at most %d hosts are accepted", HOSTS_MAX);
        hosts[ret->host_count] = wbi_str_z(o->hosts[ret->host_count]);
        ret->host_count++;
    }
    return WB_OK;
}

static void tell_ready(const struct serving *s)
{
    const wb_serve_options *o = &s->options;
    struct wbi_str address = wbi_str_z(o->http);
    size_t host = address.n;
    char url[300];

    if (o->http == NULL || o->on_ready == NULL)
        return;
    while (host > 0 && address.p[host - 1] != ':')
        host--;
    (void)snprintf(url, sizeof(url), "http://%.*s:%u/mcp", (int)(host > 0 ? host - 1 : 0),
                   address.p, wbi_gateway_port(s->gateway));
    wbi_api_enter(s->runtime);
    o->on_ready(url, o->arg);
    wbi_api_leave(s->runtime);
}

static void on_notice(void *arg, const char *text)
{
    const struct serving *s = arg;

    wbi_api_enter(s->runtime);
    s->options.on_notice(text, s->options.arg);
    wbi_api_leave(s->runtime);
}

static void tell_notices(struct serving *s)
{
    const char *distrust = wbi_api_trust_notice(s->runtime);

    if (s->options.on_notice == NULL)
        return;
    if (distrust != NULL)
        on_notice(s, distrust);
    if (s->runtime->ups != NULL)
        wbi_upstreams_notices(s->runtime->ups, on_notice, s);
}

wb_rc wb_serve(wb_runtime *runtime, const wb_serve_options *options, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_str hosts[HOSTS_MAX];
    struct wbi_gateway_options go;
    struct serving s = {.runtime = runtime, .lost = WBI_ERROR_INIT, .stop_fd = -1};
    wb_rc rc;

    if (wbi_api_check(runtime, "wb_serve", reterr) != WB_OK)
        return WB_EMISUSE;
    if (options == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_serve: options are NULL");
    if (runtime->threaded || wbi_api_showing(runtime))
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_serve drives the loop itself");
    s.options = *options;
    rc = read_serve_options(options, &s, hosts, &go, &err);
    if (rc == WB_OK)
        rc = wbi_gateway_new(runtime->rt, runtime->ups, &go, &s.gateway, &err);
    s.stop_fd = options->stop;
    if (rc == WB_OK && options->stop >= 0) {
        rc = wbi_watch_new(runtime->rt->loop, options->stop, on_stop, &s, &s.stop, &err);
        if (rc == WB_OK)
            rc = wbi_watch_set(s.stop, WBI_WATCH_READ);
    }
    if (rc == WB_OK) {
        tell_notices(&s);
        tell_ready(&s);
        runtime->gateway = s.gateway;
        wbi_loop_run(runtime->rt->loop, &s.done);
        runtime->gateway = NULL;
    }
    if (runtime->ups != NULL)
        wbi_upstreams_notices(runtime->ups, NULL, NULL);
    wbi_watch_free(s.stop);
    wbi_gateway_free(s.gateway);
    if (rc == WB_OK && s.lost.rc != WB_OK)
        return wbi_api_fail(reterr, &s.lost);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}

/* ---- the token ---- */

wb_rc wb_serve_token(wb_runtime *runtime, const char *file, char **ret, int *ret_created,
                     wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    int created = 0;
    wb_rc rc;

    if (runtime == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_serve_token: NULL");
    wbi_buf_init(&out, WBI_TOKEN_MAX + 1);
    if (file != NULL)
        rc = wbi_token_read(file, &out, &err);
    else
        rc = wbi_token_own(runtime->rt->places.user_state, &out, &created, &err);
    if (rc != WB_OK) {
        wbi_buf_fini(&out);
        return wbi_api_fail(reterr, &err);
    }
    if (ret_created != NULL)
        *ret_created = created;
    return wbi_api_give(&out, ret, NULL, reterr);
}

wb_rc wb_serve_set_token(wb_runtime *runtime, const char *token, wb_error **reterr)
{
    wb_rc rc;

    if (runtime == NULL || token == NULL || runtime->gateway == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_serve_set_token: nothing is served");
    rc = wbi_gateway_set_token(runtime->gateway, wbi_str_z(token));
    if (rc == WB_OK)
        return WB_OK;
    return wbi_api_fail_text(
        reterr, rc, rc == WB_ENOMEM ? "out of memory" : "the gateway began without a token");
}
