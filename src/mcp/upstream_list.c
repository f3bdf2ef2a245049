/* SPDX-License-Identifier: Apache-2.0
 * mcp/upstream_list.c: a whole list, page by page, with an end: pages, items and
 * cursors are capped, and a cursor seen before ends it. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "json/write.h"
#include "mcp/upstream_int.h"

struct listing {
    struct wbi_upstream *up;
    enum wbi_mcp_list what;
    void (*on_done)(void *arg, const struct wbi_upstream_answer *a);
    void *arg;
    struct wbi_buf items; /* "[" and items so far */
    bool by_empty;        /* the page under way was asked for with an empty cursor */
    size_t count, pages;
    uint64_t seen[WBI_LIMIT_UPSTREAM_PAGES]; /* hashes of cursors */
};

static const struct {
    const char *method, *member;
} rows[] = {[WBI_MCP_TOOLS] = {"tools/list", "tools"},
            [WBI_MCP_RESOURCES] = {"resources/list", "resources"},
            [WBI_MCP_TEMPLATES] = {"resources/templates/list", "resourceTemplates"},
            [WBI_MCP_PROMPTS] = {"prompts/list", "prompts"}};

static wb_rc ask_page(struct listing *l, struct wbi_str cursor, struct wbi_error *err);

static void finish(struct listing *l, const struct wbi_upstream_answer *a)
{
    l->on_done(l->arg, a);
    wbi_buf_fini(&l->items);
    wbi_free(l);
}

static void give_up(struct listing *l, wb_rc rc, const char *why)
{
    struct wbi_upstream_answer a = {.rc = rc, .why = why};

    finish(l, &a);
}

static bool seen_before(const struct listing *l, struct wbi_str cursor)
{
    uint64_t h = wbi_hash64(cursor.p, cursor.n, 0);

    for (size_t i = 0; i < l->pages; i++) {
        if (l->seen[i] == h)
            return true;
    }
    return false;
}

static void end(struct listing *l)
{
    struct wbi_upstream_answer all = {.rc = WB_OK};

    wbi_buf_addc(&l->items, ']');
    all.rc = wbi_buf_rc(&l->items);
    all.text = wbi_buf_str(&l->items);
    all.why = all.rc != WB_OK ? "the list is too large" : NULL;
    finish(l, &all);
}

/* An empty cursor is one like others in 2026-07-28; before, many servers meant that there are no
 * more pages. Those refuse it, or take it for none and begin anew. */
static bool was_the_end(const struct listing *l, const struct wbi_upstream_answer *a,
                        const wbi_json *next)
{
    return l->by_empty && a->rc == WB_OK &&
           (a->error != NULL || (next != NULL && seen_before(l, wbi_json_str(next))));
}

static void on_page(void *arg, const struct wbi_upstream_answer *a)
{
    struct listing *l = arg;
    const wbi_json *page = wbi_json_get_as(a->result, rows[l->what].member, WBI_JSON_ARR);
    const wbi_json *next = wbi_json_get_as(a->result, "nextCursor", WBI_JSON_STR);
    char why[80];

    if (was_the_end(l, a, next)) {
        end(l);
        return;
    }
    if (a->rc != WB_OK || a->error != NULL) {
        finish(l, a);
        return;
    }
    if (page == NULL) { /* which is not the same as an empty one */
        (void)snprintf(why, sizeof(why), "the server's list has no array \"%s\"",
                       rows[l->what].member);
        give_up(l, WB_EINPUT, why);
        return;
    }
    l->count += wbi_json_count(page);
    if (l->count > WBI_LIMIT_UPSTREAM_ITEMS) {
        give_up(l, WB_ELIMIT, "the server lists too many items");
        return;
    }
    WBI_JSON_EACH (page, e) {
        if (l->items.n > 1)
            wbi_buf_addc(&l->items, ',');
        wbi_json_write(&l->items, e);
    }
    if (next == NULL) {
        end(l);
        return;
    }
    if (wbi_json_str(next).n > WBI_LIMIT_UPSTREAM_CURSOR ||
        l->pages + 1 >= WBI_LIMIT_UPSTREAM_PAGES || seen_before(l, wbi_json_str(next))) {
        give_up(l, WB_ELIMIT, "the server's cursors come to no end");
        return;
    }
    l->seen[l->pages++] = wbi_hash64(wbi_json_str(next).p, wbi_json_str(next).n, 0);
    if (ask_page(l, wbi_json_str(next), NULL) != WB_OK)
        give_up(l, WB_ELIMIT, "too many calls are open at this MCP server");
}

static wb_rc ask_page(struct listing *l, struct wbi_str cursor, struct wbi_error *err)
{
    struct wbi_upstream_request request = {.method = rows[l->what].method, .lists = true};
    struct wbi_upstream_call_ops ops = {.on_done = on_page};
    struct wbi_buf params;
    wb_rc rc;

    l->by_empty = cursor.p != NULL && cursor.n == 0;
    wbi_buf_init(&params, 8 * WBI_LIMIT_UPSTREAM_CURSOR);
    if (cursor.p != NULL) {
        wbi_buf_addz(&params, "{\"cursor\":");
        wbi_json_quote(&params, cursor);
        wbi_buf_addc(&params, '}');
        request.params = wbi_buf_str(&params);
    }
    rc = wbi_buf_rc(&params);
    if (rc == WB_OK)
        rc = wbi_upstream_start(l->up, &request, &ops, l, NULL, err);
    wbi_buf_fini(&params);
    return rc;
}

wb_rc wbi_upstream_list(struct wbi_upstream *up, enum wbi_mcp_list what,
                        void (*on_done)(void *, const struct wbi_upstream_answer *), void *arg,
                        struct wbi_error *err)
{
    struct listing *l = wbi_zalloc(sizeof(*l));
    wb_rc rc;

    if (l == NULL)
        return wbi_fail_nomem(err);
    l->up = up;
    l->what = what;
    l->on_done = on_done;
    l->arg = arg;
    wbi_buf_init(&l->items, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addc(&l->items, '[');
    rc = ask_page(l, WBI_NONE, err);
    if (rc != WB_OK) {
        wbi_buf_fini(&l->items);
        wbi_free(l);
    }
    return rc;
}
