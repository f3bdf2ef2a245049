/* SPDX-License-Identifier: Apache-2.0
 * mcp/modern.c: what a request of 2026-07-28 must bring along: version and
 * capabilities in _meta, and over HTTP headers that say the same as the body. */
#include "json/write.h"
#include "mcp/server_int.h"

bool wbi_mcp_means_modern(const struct wbi_rpc *rpc, struct wbi_str header_version)
{
    const wbi_json *meta = wbi_json_get(rpc->params, "_meta");

    if (wbi_json_get(meta, WBI_META "protocolVersion") != NULL ||
        wbi_json_get(meta, WBI_META "clientCapabilities") != NULL)
        return true;
    if (wbi_str_eqz(rpc->method, "server/discover") ||
        wbi_str_eqz(rpc->method, "subscriptions/listen"))
        return true;
    return header_version.p != NULL && !wbi_era_legacy_version(header_version);
}

static bool refuse(struct wbi_mcp_request *r, int code, const char *why)
{
    wbi_request_fault(r, code, 400, why, WBI_NONE);
    return false;
}

static bool refuse_version(struct wbi_mcp_request *r, struct wbi_str asked)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, r->arena, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_addz(&b, "{\"supported\":");
    wbi_era_put_versions(&b);
    wbi_buf_addz(&b, ",\"requested\":");
    wbi_json_quote(&b, asked);
    wbi_buf_addc(&b, '}');
    wbi_request_fault(r, WBI_RPC_VERSION, 400, "Unsupported protocol version",
                      wbi_buf_rc(&b) == WB_OK ? wbi_buf_str(&b) : WBI_NONE);
    return false;
}

/* The body's value that Mcp-Name repeats; NULL where there is none. */
static const wbi_json *named_value(const struct wbi_mcp_request *r)
{
    if (wbi_str_eqz(r->rpc.method, "tools/call") || wbi_str_eqz(r->rpc.method, "prompts/get"))
        return wbi_json_get(r->rpc.params, "name");
    if (wbi_str_eqz(r->rpc.method, "resources/read"))
        return wbi_json_get(r->rpc.params, "uri");
    return NULL;
}

/* Value of Mcp-Param-NAME. */
static struct wbi_str param_header(const struct wbi_http_header *headers, size_t n,
                                   struct wbi_str name)
{
    for (size_t i = 0; i < n; i++) {
        struct wbi_str h = headers[i].name;

        if (wbi_str_starts(h, WBI_LIT("mcp-param-")) && wbi_str_ieq(wbi_str_from(h, 10), name))
            return headers[i].value;
    }
    return WBI_NONE;
}

/* Arguments whose schema has x-mcp-header are repeated in Mcp-Param-NAME. */
static bool repeats(const struct wbi_mcp_request *r, const struct wbi_http_header *headers,
                    size_t n, const wbi_json *schema)
{
    struct wbi_mcp_header_walk w =
        wbi_mcp_header_walk(schema, wbi_json_get(r->rpc.params, "arguments"));
    const wbi_json *property, *name, *value;

    while (wbi_mcp_header_next(&w, &property, &name, &value)) {
        struct wbi_str header = param_header(headers, n, wbi_json_str(name));

        if (value == NULL ? header.p != NULL
                          : header.p == NULL || !wbi_mcp_header_equals(header, value))
            return false;
    }
    return true;
}

/* The tool is not known yet: its headers are looked at when it is. */
static bool keep_params(struct wbi_mcp_request *r, const struct wbi_http_request *http)
{
    struct wbi_http_header *kept = wbi_arena_array(r->arena, http->header_count + 1, sizeof(*kept));

    for (size_t i = 0; kept != NULL && i < http->header_count; i++) {
        struct wbi_http_header h = http->headers[i];

        if (!wbi_str_starts(h.name, WBI_LIT("mcp-param-")))
            continue;
        h.name = wbi_arena_str(r->arena, h.name);
        h.value = wbi_arena_str(r->arena, h.value);
        if (h.name.p == NULL || h.value.p == NULL)
            return false;
        kept[r->param_count++] = h;
    }
    r->params = kept;
    return kept != NULL;
}

bool wbi_mcp_params_agree(const struct wbi_mcp_request *r, const wbi_json *schema)
{
    return r->params == NULL || repeats(r, r->params, r->param_count, schema);
}

static bool params_agree(struct wbi_mcp_request *r, const struct wbi_http_request *http)
{
    struct wbi_mcp_server *s = r->server;
    const wbi_json *schema;
    bool unknown = false;

    if (s->ops.schema == NULL || !wbi_str_eqz(r->rpc.method, "tools/call"))
        return true;
    schema = s->ops.schema(s->arg, r, wbi_json_get_str(r->rpc.params, "name"), &unknown);
    return unknown ? keep_params(r, http) : repeats(r, http->headers, http->header_count, schema);
}

static bool headers_agree(struct wbi_mcp_request *r, const struct wbi_http_request *http,
                          const wbi_json *version)
{
    struct wbi_str h = wbi_http_first(http, WBI_HTTP_MCP_PROTOCOL_VERSION);
    const wbi_json *name = named_value(r);

    if (h.p == NULL || !wbi_str_eq(h, wbi_json_str(version)))
        return refuse(r, WBI_RPC_HEADER, "MCP-Protocol-Version must repeat the version of _meta");
    h = wbi_http_header(http, "mcp-method");
    if (h.p == NULL || !wbi_str_eq(h, r->rpc.method))
        return refuse(r, WBI_RPC_HEADER, "Mcp-Method must repeat the method");
    h = wbi_http_header(http, "mcp-name");
    if (name != NULL && (h.p == NULL || !wbi_mcp_header_equals(h, name)))
        return refuse(r, WBI_RPC_HEADER, "Mcp-Name must repeat the name or uri");
    if (!params_agree(r, http))
        return refuse(r, WBI_RPC_HEADER, "Mcp-Param headers must repeat their arguments");
    return true;
}

/* Without one the request wants no messages. */
static bool take_level(struct wbi_mcp_request *r)
{
    const wbi_json *level = wbi_json_get(r->meta, WBI_META "logLevel");

    r->level = wbi_mcp_level(wbi_json_str(level));
    r->log_asked = r->level >= 0;
    return level == NULL || r->log_asked ||
           refuse(r, WBI_RPC_PARAMS,
                  WBI_META "logLevel must be one of debug, info, notice, warning, error, critical, "
                           "alert, emergency");
}

#define NEEDS                                                                 \
    "params._meta needs " WBI_META "protocolVersion (a string) and " WBI_META \
    "clientCapabilities (an object)"

bool wbi_modern_accept(struct wbi_mcp_request *r, const struct wbi_http_request *http)
{
    const wbi_json *version = wbi_json_get(r->meta, WBI_META "protocolVersion");
    const wbi_json *caps = wbi_json_get(r->meta, WBI_META "clientCapabilities");
    struct wbi_str header =
        http != NULL ? wbi_http_first(http, WBI_HTTP_MCP_PROTOCOL_VERSION) : WBI_NONE;

    r->era = WBI_ERA_MODERN;
    if (version == NULL && header.p != NULL && !wbi_era_modern_version(header))
        return refuse_version(r, header);
    if (!wbi_json_is(version, WBI_JSON_STR))
        return refuse(r, WBI_RPC_PARAMS, NEEDS);
    if (http != NULL && header.p != NULL && !wbi_str_eq(header, wbi_json_str(version)))
        return refuse(r, WBI_RPC_HEADER, "MCP-Protocol-Version must repeat the version of _meta");
    if (!wbi_era_modern_version(wbi_json_str(version))) /* which may want other things of _meta */
        return refuse_version(r, wbi_json_str(version));
    if (!wbi_json_is(caps, WBI_JSON_OBJ))
        return refuse(r, WBI_RPC_PARAMS, NEEDS);
    if (http != NULL && !headers_agree(r, http, version))
        return false;
    wbi_mcp_abilities_of(caps, /* parted= */ true, &r->abilities);
    return take_level(r);
}
