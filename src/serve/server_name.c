/* SPDX-License-Identifier: Apache-2.0
 * serve/server_name.c: how much of a tool's name stands for its server. */
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
