/* SPDX-License-Identifier: Apache-2.0
 * serve/server_name.c: how much of a tool's name stands for its server; the names that
 * are kept for servers. */
#include "base/checked.h"
#include "serve/upstreams_int.h"

/* Bytes of "first__" or "first::" at the start of a longer name, else 0. */
static size_t begins_with(struct wbi_str name, struct wbi_str first)
{
    bool is = first.n > 0 && name.n > first.n + 2 && wbi_str_starts(name, first) &&
              (memcmp(name.p + first.n, "__", 2) == 0 || memcmp(name.p + first.n, "::", 2) == 0);

    return is ? first.n + 2 : 0;
}

size_t wbi_server_names(const struct wbi_server *s, struct wbi_str name)
{
    struct wbi_str rest = wbi_str_from(name, 5);
    size_t best = WBI_MAX(begins_with(name, s->name), begins_with(name, s->prefix)), behind;

    if (!wbi_str_starts(name, WBI_LIT("mcp__")) && !wbi_str_starts(name, WBI_LIT("mcp::")))
        return best;
    behind = WBI_MAX(begins_with(rest, s->name), begins_with(rest, s->prefix));
    return behind > 0 ? behind + 5 : best;
}

/* The server that most of the name stands for, and what follows; NULL: none. */
struct wbi_server *wbi_server_named(const struct wbi_upstreams *ups, struct wbi_str name,
                                    struct wbi_str *ret_tool)
{
    struct wbi_server *found = NULL;
    size_t most = 0;

    for (size_t i = 0; i < wbi_upstreams_count(ups); i++) {
        size_t n = wbi_server_names(wbi_upstreams_at(ups, i), name);

        if (n <= most)
            continue;
        most = n;
        found = wbi_upstreams_at(ups, i);
        *ret_tool = wbi_str_from(name, n);
    }
    return found;
}

bool wbi_server_qualify(void *arg, struct wbi_str tool, struct wbi_arena *arena,
                        struct wbi_str *ret_origin, struct wbi_str *ret_qualified)
{
    struct wbi_str own = WBI_NONE;
    struct wbi_server *s = wbi_server_named(arg, tool, &own);

    if (s == NULL)
        return false;
    *ret_origin = wbi_arena_str(arena, s->origin);
    *ret_qualified = wbi_arena_fmt(arena, "%.*s::%.*s", WBI_FMT(s->origin),
                                   WBI_FMT(wbi_str_head(own, WBI_LIMIT_OWN_NAME)));
    return ret_origin->p != NULL && ret_qualified->p != NULL;
}

wb_rc wbi_upstreams_claim_names(const struct wbi_upstreams *ups, struct wbi_runtime *rt,
                                struct wbi_error *err)
{
    size_t n = wbi_upstreams_count(ups);
    struct wbi_str *list = wbi_arena_array(rt->arena, 2 * n, sizeof(*list));

    if (list == NULL)
        return wbi_fail_nomem(err);
    rt->servers = (struct wbi_name_servers){list, 2 * n};
    for (size_t i = 0; i < n; i++) {
        const struct wbi_server *s = wbi_upstreams_at(ups, i);

        *list++ = wbi_arena_str(rt->arena, s->name);
        *list++ = wbi_arena_str(rt->arena, s->prefix);
        if (list[-2].p == NULL || list[-1].p == NULL)
            return wbi_fail_nomem(err);
    }
    /* Those that are there already are named anew. */
    return rt->additions == NULL ? wbi_runtime_drop_tools(rt, WBI_NONE, err) : WB_OK;
}
