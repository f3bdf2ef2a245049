/* SPDX-License-Identifier: Apache-2.0
 * serve/lists.c: tools/list and the other lists. A caller sees the tools it may
 * call (C3.4), each in the version that a call of it gets. */
#include "base/alloc.h"
#include "base/limits.h"
#include "call/definition.h"
#include "call/guards.h"
#include "json/write.h"
#include "serve/definition.h"
#include "serve/pass.h"
#include "serve/upstreams.h"

/* Of one's own. A list with one that takes no object would be refused. */
static void write_tool(struct wbi_jw *w, const struct wbi_tool *t, bool legacy)
{
    struct wbi_definition d = wbi_definition_of(t, !legacy);

    if (wbi_definition_takes_object(t->input_schema))
        wbi_definition_mcp(w, &d);
}

/* Definitions of servers are told as they came but for the name, as far as the client's
 * revision knows them. */
static void write_tools(struct wbi_gateway *g, const struct wbi_mcp_request *r,
                        struct wbi_catalog *c, struct wbi_jw *w)
{
    bool legacy = wbi_mcp_era(r) == WBI_ERA_LEGACY;

    wbi_jw_arr(w);
    for (size_t i = 0; i < wbi_catalog_count(c); i++) {
        const struct wbi_tool *t = wbi_catalog_at(c, i);
        const wbi_json *definition = wbi_json_get(t->descriptor, "definition");

        if (!wbi_guards_tells(g->rt, wbi_mcp_principal(r), c, t))
            continue;
        if (definition != NULL)
            wbi_definition_write(w, t->model_name, definition, legacy);
        else
            write_tool(w, t, legacy);
    }
    wbi_jw_arr_end(w);
}

struct wbi_listing {
    enum wbi_served_kind kind;
    struct wbi_gateway *gateway;
    struct wbi_mcp_request *r; /* NULL: cancelled, and the gateway may be gone */
};

static void list_tools(void *arg)
{
    struct wbi_listing l = *(struct wbi_listing *)arg;
    struct wbi_catalog *catalog;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = wbi_runtime_catalog(l.gateway->rt, &catalog, NULL);

    wbi_free(arg);
    wbi_buf_init(&out, WBI_LIMIT_MCP_OUT);
    if (rc == WB_OK)
        write_tools(l.gateway, l.r, catalog, &w);
    if (rc == WB_OK && wbi_buf_rc(&out) == WB_OK)
        wbi_mcp_reply_list(l.r, wbi_buf_str(&out));
    else
        wbi_mcp_fail(l.r, WBI_RPC_INTERNAL, WBI_LIT("the list could not be made"), WBI_NONE);
    wbi_buf_fini(&out);
}

static void on_ready(void *arg)
{
    if (((struct wbi_listing *)arg)->r != NULL)
        list_tools(arg);
    else
        wbi_free(arg);
}

static void serve_tools(struct wbi_gateway *g, struct wbi_mcp_request *r)
{
    struct wbi_listing *l = wbi_alloc(sizeof(*l));

    if (l == NULL) {
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
        return;
    }
    *l = (struct wbi_listing){WBI_SERVED_TOOLS, g, r};
    wbi_mcp_set_user(r, l);
    wbi_upstreams_meet(g->ups, r);
    if (g->ups == NULL || wbi_upstreams_ready(g->ups, on_ready, l) != WB_OK)
        list_tools(l);
}

void wbi_serve_tools_cancel(struct wbi_listing *l)
{
    wbi_mcp_fail(l->r, WBI_RPC_INTERNAL, WBI_LIT("cancelled"), WBI_NONE); /* dropped */
    l->r = NULL;
}

void wbi_serve_list(void *arg, struct wbi_mcp_request *r, enum wbi_mcp_list what)
{
    struct wbi_gateway *g = arg;
    struct wbi_buf own;
    struct wbi_jw w = wbi_jw_to(&own);

    if (what == WBI_MCP_TOOLS) {
        serve_tools(g, r);
        return;
    }
    wbi_buf_init_arena(&own, wbi_mcp_arena(r), WBI_LIMIT_MCP_OUT);
    if (what == WBI_MCP_RESOURCES)
        wbi_serve_artifacts(g, r, &w);
    wbi_gather(g, r, what, wbi_buf_str(&own));
}

const wbi_json *wbi_serve_schema(void *arg, struct wbi_mcp_request *r, struct wbi_str name,
                                 bool *ret_unknown)
{
    struct wbi_gateway *g = arg;
    struct wbi_viewer viewer = wbi_guards_viewer(g->rt, wbi_mcp_principal(r));
    struct wbi_catalog *catalog;
    const struct wbi_tool *tool;

    if (wbi_runtime_catalog(g->rt, &catalog, NULL) != WB_OK ||
        wbi_catalog_resolve(catalog, NULL, &viewer, WBI_NONE, name, WBI_NONE, &tool, NULL) !=
            WB_OK) {
        *ret_unknown = g->rt->find_more != NULL;
        return NULL;
    }
    return tool->mcp_headers ? tool->input_schema : NULL;
}
