/* SPDX-License-Identifier: Apache-2.0
 * serve/server.c: what is asked about one server. */
#include "serve/upstreams_int.h"

struct wbi_str wbi_server_name(const struct wbi_server *s)
{
    return s->name;
}

const char *wbi_server_failure(const struct wbi_server *s)
{
    if (s->state == WBI_SERVER_LISTED)
        return NULL;
    return s->state == WBI_SERVER_FAILED ? s->why : "it does not answer in time";
}

const char *wbi_server_left_out(const struct wbi_server *s, size_t *ret_count)
{
    *ret_count = s->left_out.count;
    return s->left_out.text;
}

const char *wbi_server_waiting(const struct wbi_server *s, size_t *ret_count)
{
    *ret_count = s->waiting.count;
    return s->waiting.text;
}

struct wbi_str wbi_server_prefix(const struct wbi_server *s)
{
    return s->prefix;
}

struct wbi_shelf *wbi_server_shelf(struct wbi_server *s, enum wbi_mcp_list what)
{
    return &s->shelves[what];
}
