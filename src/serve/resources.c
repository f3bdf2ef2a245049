/* SPDX-License-Identifier: Apache-2.0
 * serve/resources.c: artifacts as MCP resources (C10): waybill://artifact/NAME.
 * A read gives the cleaned, redacted text, cut at a page; ranges are the
 * ReadArtifact tool's. */
#include <unistd.h>

#include "artifact/store.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "call/guards.h"
#include "call/runtime.h"
#include "json/write.h"
#include "serve/pass.h"
#include "text/hygiene.h"
#include "text/secrets.h"

#define SCHEME WBI_LIT("waybill://artifact/")
#define LISTED 250u
#define READ_BYTES (1u * WBI_MIB)

bool wbi_serve_is_artifact(struct wbi_str uri)
{
    return wbi_str_starts(uri, SCHEME);
}

/* Whoever may not call ReadArtifact reads no artifacts this way either (C3.4). */
static bool may_read(struct wbi_gateway *g, struct wbi_mcp_request *r)
{
    struct wbi_viewer viewer = wbi_guards_viewer(g->rt, wbi_mcp_principal(r));
    struct wbi_catalog *catalog;
    const struct wbi_tool *tool;

    return wbi_runtime_catalog(g->rt, &catalog, NULL) == WB_OK &&
           wbi_catalog_resolve(catalog, NULL, &viewer, WBI_NONE, WBI_LIT("ReadArtifact"), WBI_NONE,
                               &tool, NULL) == WB_OK &&
           wbi_guards_lists(g->rt, wbi_mcp_principal(r), tool);
}

static void write_artifact(struct wbi_jw *w, const struct wbi_artifact *a)
{
    struct wbi_buf uri;

    wbi_buf_init(&uri, WBI_LIMIT_MCP_URI);
    wbi_buf_adds(&uri, SCHEME);
    wbi_buf_addz(&uri, a->name);
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "uri", wbi_buf_str(&uri));
    wbi_jw_kstrz(w, "name", a->name);
    wbi_jw_kstrz(w, "mimeType", "text/plain");
    wbi_jw_kint(w, "size", (int64_t)a->bytes);
    wbi_jw_obj_end(w);
    wbi_buf_fini(&uri);
}

void wbi_serve_artifacts(struct wbi_gateway *g, struct wbi_mcp_request *r, struct wbi_jw *w)
{
    struct wbi_artifact *list;
    struct wbi_arena *arena;
    size_t n = 0, shown = 0;

    if (!may_read(g, r))
        return;
    if (g->rt->artifacts == NULL &&
        (!wbi_runtime_ledger_exists(g->rt) || wbi_runtime_open_artifacts(g->rt, NULL) != WB_OK))
        return;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return;
    if (wbi_artifact_list(g->rt->artifacts, arena, &list, &n, NULL) == WB_OK)
        for (size_t i = 0; i < n && shown < LISTED; i++) {
            if (list[i].expired)
                continue;
            write_artifact(w, &list[i]);
            shown++;
        }
    wbi_arena_free(arena);
}

/* The first bytes, cleaned and without secrets. */
static wb_rc read_text(struct wbi_gateway *g, const struct wbi_artifact *a, struct wbi_buf *out)
{
    struct wbi_buf raw, clean;
    ssize_t n = 1;
    int fd;
    wb_rc rc = wbi_artifact_open(g->rt->artifacts, a, &fd, NULL);

    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&raw, READ_BYTES);
    wbi_buf_init(&clean, 8 * READ_BYTES);
    while (n > 0 && raw.n < READ_BYTES) {
        char *room = wbi_buf_room(&raw, 4096);

        n = room != NULL ? read(fd, room, 4096) : -1;
        raw.n += n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
    rc = wbi_hygiene_clean(wbi_buf_str(&raw), &clean, NULL);
    if (rc == WB_OK)
        rc = wbi_secrets_replace(g->rt->secrets, wbi_buf_str(&clean), out, NULL);
    if (rc == WB_OK && raw.n >= READ_BYTES && a->bytes > raw.n)
        wbi_buf_addf(out, "\n[%llu bytes in all; ReadArtifact reads the rest]",
                     (unsigned long long)a->bytes);
    wbi_buf_fini(&raw);
    wbi_buf_fini(&clean);
    return rc == WB_OK ? wbi_buf_rc(out) : rc;
}

static void reply_text(struct wbi_mcp_request *r, struct wbi_str uri, struct wbi_str text)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, wbi_mcp_arena(r), WBI_LIMIT_MCP_OUT);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "contents");
    wbi_jw_arr(&w);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "uri", uri);
    wbi_jw_kstrz(&w, "mimeType", "text/plain");
    wbi_jw_kstr(&w, "text", text);
    wbi_jw_obj_end(&w);
    wbi_jw_arr_end(&w);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&out) == WB_OK)
        wbi_mcp_reply(r, wbi_buf_str(&out));
    else
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
}

void wbi_serve_read(void *arg, struct wbi_mcp_request *r, struct wbi_str uri)
{
    struct wbi_gateway *g = arg;
    struct wbi_artifact a;
    struct wbi_buf text;

    if (!wbi_serve_is_artifact(uri)) {
        wbi_pass_read(g, r, uri);
        return;
    }
    wbi_buf_init_arena(&text, wbi_mcp_arena(r), 16 * READ_BYTES);
    if (!may_read(g, r) || wbi_runtime_open_artifacts(g->rt, NULL) != WB_OK ||
        wbi_artifact_find(g->rt->artifacts, wbi_str_from(uri, SCHEME.n), &a, NULL) != WB_OK ||
        read_text(g, &a, &text) != WB_OK)
        wbi_mcp_fail_resource(r, uri);
    else
        reply_text(r, uri, wbi_buf_str(&text));
}
