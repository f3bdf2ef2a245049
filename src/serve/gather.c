/* SPDX-License-Identifier: Apache-2.0
 * serve/gather.c: one list of all servers' lists.
 * (1) They are waited for together and not for long. A server that has not answered by
 * then is shown as it listed last and not asked again, nor waited for, before it has.
 * (2) The order is the configuration's, whoever answers first. (3) What two servers
 * name alike is the first one's, as it is when it is asked for. */
#include "base/alloc.h"
#include "base/limits.h"
#include "serve/definition.h"
#include "serve/pass.h"
#include "serve/shelf.h"
#include "serve/upstreams.h"

enum part_state { OLD = 0, ASKED, TOLD, FAILED };

struct part {
    struct wbi_gathering *all;
    struct wbi_server *server;
    enum part_state state;
    bool late; /* it had its time */
};

struct wbi_gathering {
    enum wbi_served_kind kind;
    struct wbi_mcp_request *r; /* NULL: answered */
    enum wbi_mcp_list what;
    struct wbi_timer *timer;
    struct wbi_buf own;
    size_t open; /* parts that are asked, and one for who holds it */
    size_t count;
    struct part parts[];
};

static void let_go(struct wbi_gathering *all)
{
    if (--all->open > 0)
        return;
    wbi_timer_free(all->timer);
    wbi_buf_fini(&all->own);
    wbi_free(all);
}

static bool shown_before(const struct wbi_gathering *all, size_t part, struct wbi_str key)
{
    for (size_t i = 0; i < part; i++)
        if (all->parts[i].state != FAILED &&
            wbi_shelf_has(wbi_server_shelf(all->parts[i].server, all->what), key))
            return true;
    return false;
}

static struct wbi_str write_part(struct wbi_gathering *all, size_t part)
{
    const struct wbi_shelf *s = wbi_server_shelf(all->parts[part].server, all->what);
    size_t n = all->parts[part].state != FAILED ? s->count : 0;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, wbi_mcp_arena(all->r), WBI_LIMIT_MCP_OUT);
    wbi_buf_addc(&out, '[');
    for (size_t i = 0; i < n; i++) {
        if (shown_before(all, part, s->items[i].key))
            continue;
        if (out.n > 1)
            wbi_buf_addc(&out, ',');
        wbi_buf_adds(&out, s->items[i].json);
    }
    wbi_buf_addc(&out, ']');
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static void reply(struct wbi_gathering *all)
{
    struct wbi_str *parts = wbi_arena_array(wbi_mcp_arena(all->r), all->count + 1, sizeof(*parts));

    wbi_buf_addc(&all->own, ']');
    if (parts == NULL || wbi_buf_rc(&all->own) != WB_OK) {
        wbi_mcp_fail(all->r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
        return;
    }
    parts[0] = wbi_buf_str(&all->own);
    for (size_t i = 0; i < all->count; i++)
        parts[i + 1] = write_part(all, i);
    wbi_mcp_reply_parts(all->r, parts, all->count + 1);
}

/* The client has its answer now, whoever is still asked. */
static void finish(struct wbi_gathering *all)
{
    reply(all);
    all->r = NULL;
    wbi_timer_stop(all->timer);
}

/* What a server tells of its items, as a model may read it. */
static bool put(struct part *part, struct wbi_str text)
{
    enum wbi_mcp_list what = part->all->what;
    const struct wbi_secrets *secrets = wbi_server_secrets(part->server);
    struct wbi_arena *arena = NULL;
    const wbi_json *items;
    struct wbi_buf out;
    bool changed = false;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return false;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_json_read(arena, text, WBI_JSON_STRICT, &items, NULL) == WB_OK &&
        (wbi_definition_hides(items) || wbi_definition_tells(secrets, items))) {
        if (wbi_definition_clean(arena, secrets, items, &items, NULL) == WB_OK)
            wbi_json_write(&out, items);
        text = wbi_buf_str(&out); /* empty, and so none, where that failed */
    }
    changed = wbi_shelf_put(wbi_server_shelf(part->server, what), what,
                            wbi_server_prefix(part->server), text);
    wbi_arena_free(arena);
    return changed;
}

static void on_listed(void *arg, const struct wbi_upstream_answer *a)
{
    struct part *part = arg;
    struct wbi_gathering *all = part->all;
    struct wbi_shelf *shelf = wbi_server_shelf(part->server, all->what);
    bool changed = false;

    part->state = FAILED;
    if (a->rc == WB_OK && a->error == NULL) {
        part->state = TOLD;
        changed = put(part, a->text);
    }
    shelf->late -= part->late;
    if (part->late && changed) /* whoever was shown the list did not see this one's */
        wbi_server_changed(part->server, all->what);
    if (all->r != NULL && all->open == 1)
        finish(all);
    let_go(all);
}

static void ask_server(struct part *part)
{
    struct wbi_upstream *up = NULL;

    if (wbi_server_shelf(part->server, part->all->what)->late > 0)
        return;
    part->state = FAILED;
    up = wbi_server_link(part->server, NULL);
    if (up == NULL || wbi_upstream_list(up, part->all->what, on_listed, part, NULL) != WB_OK)
        return;
    part->state = ASKED;
    part->all->open++;
}

static void on_time(void *arg)
{
    struct wbi_gathering *all = arg;

    for (size_t i = 0; i < all->count; i++) {
        struct part *part = &all->parts[i];

        part->late = part->state == ASKED;
        wbi_server_shelf(part->server, all->what)->late += part->late;
    }
    finish(all);
}

void wbi_gather(struct wbi_gateway *g, struct wbi_mcp_request *r, enum wbi_mcp_list what,
                struct wbi_str own)
{
    size_t n = wbi_upstreams_count(g->ups);
    struct wbi_gathering *all = wbi_zalloc(sizeof(*all) + n * sizeof(all->parts[0]));

    if (all == NULL || wbi_timer_new(g->rt->loop, on_time, all, &all->timer) != WB_OK) {
        wbi_free(all);
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
        return;
    }
    all->kind = WBI_SERVED_LIST;
    all->r = r;
    all->what = what;
    all->count = n;
    all->open = 1;
    wbi_buf_init(&all->own, WBI_LIMIT_MCP_OUT);
    wbi_buf_addc(&all->own, '[');
    wbi_buf_adds(&all->own, own);
    wbi_mcp_set_user(r, all);
    wbi_upstreams_meet(g->ups, r);
    for (size_t i = 0; i < n; i++) {
        all->parts[i] = (struct part){.all = all, .server = wbi_upstreams_at(g->ups, i)};
        ask_server(&all->parts[i]);
    }
    if (all->open == 1)
        finish(all);
    else
        wbi_timer_start(all->timer, WBI_UPSTREAM_LISTS_MS);
    let_go(all);
}

void wbi_gather_cancel(struct wbi_gathering *all)
{
    finish(all);
}
