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
