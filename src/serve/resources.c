/* SPDX-License-Identifier: Apache-2.0
 * serve/resources.c: artifacts as MCP resources (C10): waybill://artifact/NAME.
 * (1) A read gives the cleaned, redacted text, cut at a page; ranges are the
 * ReadArtifact tool's. (2) Images and other parts of results that are no text are given
 * as they are. (3) That there are new ones is told, but not of each. */
#include <unistd.h>

#include "artifact/cleaner.h"
#include "artifact/store.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "call/guards.h"
#include "call/runtime.h"
#include "json/write.h"
#include "serve/pass.h"
#include "text/secrets.h"

#define SCHEME WBI_LIT("waybill://artifact/")
#define LISTED 1000u
#define READ_BYTES (1u * WBI_MIB)
#define BLOB_BYTES (16u * WBI_MIB)
#define NEWS_SOON_MS 1000
#define NEWS_GAP_MS 30000 /* clients may ask all servers for their lists each time */

/* What the bytes begin with, and at which place. */
static const struct {
    struct wbi_str magic;
    size_t at;
    const char *type;
} types[] = {
    {WBI_LIT_INIT("\x89PNG"), 0, "image/png"},   {WBI_LIT_INIT("\xff\xd8\xff"), 0, "image/jpeg"},
    {WBI_LIT_INIT("GIF8"), 0, "image/gif"},      {WBI_LIT_INIT("WEBP"), 8, "image/webp"},
    {WBI_LIT_INIT("WAVE"), 8, "audio/wav"},      {WBI_LIT_INIT("OggS"), 0, "audio/ogg"},
    {WBI_LIT_INIT("fLaC"), 0, "audio/flac"},     {WBI_LIT_INIT("ID3"), 0, "audio/mpeg"},
    {WBI_LIT_INIT("\xff\xfb"), 0, "audio/mpeg"}, {WBI_LIT_INIT("%PDF-"), 0, "application/pdf"},
};

/* UTF-8 without a NUL; the last character may be cut. */
static bool is_text(struct wbi_str head)
{
    return memchr(head.p, '\0', head.n) == NULL && wbi_utf8_valid_prefix(head) + 3 >= head.n;
}

/* Of what is kept of a result's part; NULL: it is text. */
static const char *type_of(struct wbi_str head)
{
    for (size_t i = 0; i < WBI_COUNT(types); i++)
        if (wbi_str_starts(wbi_str_from(head, types[i].at), types[i].magic))
            return types[i].type;
    return is_text(head) ? NULL : "application/octet-stream";
}

/* Whether the artifact is a part of a result that may be no text; outputs of commands are
 * text, whatever they hold. */
static bool is_part(const struct wbi_artifact *a)
{
    static const char *const roles[] = {"image", "audio", "resource", "file", "other"};
    struct wbi_str role = wbi_str_z(a->role);

    for (size_t i = 0; i < WBI_COUNT(roles); i++)
        if (wbi_str_starts(role, wbi_str_z(roles[i])) && role.n > strlen(roles[i]) &&
            role.p[strlen(roles[i])] >= '0' && role.p[strlen(roles[i])] <= '9')
            return true;
    return false;
}

/* The first bytes, at most as many as the buffer takes. */
static wb_rc read_bytes(struct wbi_gateway *g, const struct wbi_artifact *a, size_t max,
                        struct wbi_buf *out)
{
    ssize_t n = 1;
    int fd;
    wb_rc rc = wbi_artifact_open(g->rt->artifacts, a, &fd, NULL);

    while (rc == WB_OK && n > 0 && out->n < max) {
        size_t want = WBI_MIN(max - out->n, (size_t)65536);
        char *room = wbi_buf_room(out, want);

        n = room != NULL ? read(fd, room, want) : -1;
        out->n += n > 0 ? (size_t)n : 0;
    }
    if (rc == WB_OK)
        (void)close(fd);
    return rc == WB_OK && n < 0 ? WB_EIO : rc;
}

static const char *media_type(struct wbi_gateway *g, const struct wbi_artifact *a)
{
    const char *type = NULL;
    struct wbi_buf head;

    if (!is_part(a))
        return NULL;
    wbi_buf_init(&head, 4096);
    if (read_bytes(g, a, 512, &head) == WB_OK && head.n > 0)
        type = type_of(wbi_buf_str(&head));
    wbi_buf_fini(&head);
    return type;
}

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

static void write_artifact(struct wbi_gateway *g, struct wbi_jw *w, const struct wbi_artifact *a)
{
    const char *type = media_type(g, a);
    struct wbi_buf uri;

    wbi_buf_init(&uri, WBI_LIMIT_MCP_URI);
    wbi_buf_adds(&uri, SCHEME);
    wbi_buf_addz(&uri, a->name);
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "uri", wbi_buf_str(&uri));
    wbi_jw_kstrz(w, "name", a->name);
    wbi_jw_kstrz(w, "mimeType", type != NULL ? type : "text/plain");
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
            write_artifact(g, w, &list[i]);
            shown++;
        }
    wbi_arena_free(arena);
}

/* The first bytes of the text that is cleaned and without secrets: cut only then, for half a
 * secret is known to nobody. */
static wb_rc read_text(struct wbi_gateway *g, const struct wbi_artifact *a, struct wbi_arena *arena,
                       struct wbi_buf *out)
{
    struct wbi_cleaner cleaner = wbi_cleaner_text(g->rt->secrets);
    struct wbi_read_query q = {.kind = WBI_READ_BYTES,
                               .last = WBI_RANGE_END,
                               .max_bytes = READ_BYTES,
                               .cleaner = &cleaner};
    struct wbi_read_page page;
    wb_rc rc = wbi_artifact_read(g->rt->artifacts, a, &q, arena, &page, NULL);

    if (rc != WB_OK)
        return rc;
    wbi_buf_adds(out, page.text);
    if (page.next_token[0] != '\0')
        wbi_buf_addf(out, "\n[%llu bytes in all; ReadArtifact reads the rest]",
                     (unsigned long long)a->bytes);
    return wbi_buf_rc(out);
}

/* Whole, or not at all; with a secret in it, which cannot be taken out, neither. */
static wb_rc read_blob(struct wbi_gateway *g, const struct wbi_artifact *a, struct wbi_buf *out)
{
    struct wbi_buf raw;
    wb_rc rc = a->bytes > BLOB_BYTES ? WB_ELIMIT : WB_OK;

    wbi_buf_init(&raw, 2 * BLOB_BYTES);
    if (rc == WB_OK)
        rc = read_bytes(g, a, BLOB_BYTES, &raw);
    if (rc == WB_OK && wbi_secrets_found(g->rt->secrets, wbi_buf_str(&raw)))
        rc = WB_EDENIED;
    if (rc == WB_OK) {
        wbi_buf_add64(out, wbi_buf_str(&raw));
        rc = wbi_buf_rc(out);
    }
    wbi_buf_fini(&raw);
    return rc;
}

static void reply(struct wbi_mcp_request *r, struct wbi_str uri, const char *type,
                  struct wbi_str content)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, wbi_mcp_arena(r), WBI_LIMIT_MCP_OUT);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "contents");
    wbi_jw_arr(&w);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "uri", uri);
    wbi_jw_kstrz(&w, "mimeType", type != NULL ? type : "text/plain");
    wbi_jw_kstr(&w, type != NULL ? "blob" : "text", content);
    wbi_jw_obj_end(&w);
    wbi_jw_arr_end(&w);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&out) == WB_OK)
        wbi_mcp_reply(r, wbi_buf_str(&out));
    else
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
}

static bool find(struct wbi_gateway *g, struct wbi_str uri, struct wbi_artifact *ret)
{
    return wbi_serve_is_artifact(uri) && wbi_runtime_open_artifacts(g->rt, NULL) == WB_OK &&
           wbi_artifact_find(g->rt->artifacts, wbi_str_from(uri, SCHEME.n), ret, NULL) == WB_OK;
}

void wbi_serve_read(void *arg, struct wbi_mcp_request *r, struct wbi_str uri)
{
    struct wbi_gateway *g = arg;
    struct wbi_artifact a;
    struct wbi_buf content;
    const char *type;
    bool own = find(g, uri, &a);
    wb_rc rc;

    /* A server that is such a gateway, too, lists artifacts of its own. */
    if (!own && (!wbi_serve_is_artifact(uri) || wbi_pass_owner(g, uri) != NULL)) {
        wbi_pass_read(g, r, uri);
        return;
    }
    if (!own || !may_read(g, r)) {
        wbi_mcp_fail_resource(r, uri);
        return;
    }
    wbi_buf_init_arena(&content, wbi_mcp_arena(r), 2 * BLOB_BYTES);
    type = media_type(g, &a);
    rc = type != NULL ? read_blob(g, &a, &content) : read_text(g, &a, wbi_mcp_arena(r), &content);
    if (rc == WB_OK)
        reply(r, uri, type, wbi_buf_str(&content));
    else if (rc == WB_ELIMIT || rc == WB_EDENIED)
        wbi_mcp_fail(r, WBI_RPC_INTERNAL,
                     rc == WB_ELIMIT ? WBI_LIT("the artifact is too large for one message")
                                     : WBI_LIT("the artifact holds a secret"),
                     WBI_NONE);
    else
        wbi_mcp_fail_resource(r, uri);
}

static void on_news(void *arg)
{
    struct wbi_gateway *g = arg;

    g->news_due = false;
    g->news_ns = wbi_now_ns(&g->rt->clock);
    wbi_mcp_list_changed(g->server, WBI_MCP_RESOURCES);
}

void wbi_serve_new_artifacts(struct wbi_gateway *g)
{
    int64_t since = (wbi_now_ns(&g->rt->clock) - g->news_ns) / WBI_NS_PER_MS;
    bool lately = g->news_ns != 0 && since < NEWS_GAP_MS;

    if (g->news_due ||
        (g->news == NULL && wbi_timer_new(g->rt->loop, on_news, g, &g->news) != WB_OK))
        return;
    g->news_due = true;
    wbi_timer_start(g->news, WBI_MAX(lately ? NEWS_GAP_MS - since : 0, (int64_t)NEWS_SOON_MS));
}
