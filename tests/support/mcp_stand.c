/* SPDX-License-Identifier: Apache-2.0
 * tests/support/mcp_stand.c */
#include "support/mcp_stand.h"

#include <signal.h>
#include <stdio.h>

static void on_request(void *arg, const struct wbi_http_request *r)
{
    struct wbi_http_response none = {.status = 404};
    struct mcp_stand *s = arg;

    if (wbi_str_eqz(r->path, "/mcp"))
        wbi_mcp_http(s->server, s->http, r, wbi_str_z(s->name));
    else
        wbi_http_respond(s->http, r->id, &none);
}

static void on_gone(void *arg, uint64_t id, void *user)
{
    wbi_mcp_http_gone(((struct mcp_stand *)arg)->server, id, user);
}

static void on_end(void *arg)
{
    ((struct mcp_stand *)arg)->done = true;
}

static wb_rc listen_at(struct mcp_stand *s, const char *address, struct wbi_error *err)
{
    static const struct wbi_http_ops ops = {on_request, on_gone, NULL};
    struct wbi_http_options o = {.address = wbi_str_z(address), .health = WBI_LIT_INIT("/healthz")};
    wb_rc rc = wbi_http_listen(s->loop, &o, &ops, s, &s->http, err);

    if (rc == WB_OK)
        fprintf(stderr, "listening on http://localhost:%u/mcp\n", wbi_http_port(s->http));
    return rc;
}

wb_rc mcp_stand_open(struct mcp_stand *s, const char *address,
                     const struct wbi_mcp_options *options, const struct wbi_mcp_ops *ops,
                     struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    (void)signal(SIGPIPE, SIG_IGN);
    if (s->loop == NULL)
        rc = wbi_loop_new(NULL, &s->loop, err);
    if (rc == WB_OK)
        rc = wbi_mcp_server_new(s->loop, options, ops, NULL, &s->server, err);
    if (rc != WB_OK)
        return rc;
    if (address != NULL)
        return listen_at(s, address, err);
    return wbi_mcp_stdio_new(s->server, 0, 1, wbi_str_z(s->name), on_end, s, &s->stdio, err);
}

void mcp_stand_run(struct mcp_stand *s)
{
    wbi_loop_run(s->loop, &s->done);
    wbi_mcp_stdio_free(s->stdio);
    s->stdio = NULL;
}

void mcp_stand_free(struct mcp_stand *s)
{
    wbi_http_free(s->http);
    wbi_mcp_server_free(s->server);
    wbi_loop_free(s->loop);
}
