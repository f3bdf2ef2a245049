/* SPDX-License-Identifier: Apache-2.0
 * serve/shelf.h: what one server listed last of one kind besides tools: its
 * resources, templates or prompts, as clients are shown them, and found by name. */
#ifndef WBI_SERVE_SHELF_H
#define WBI_SERVE_SHELF_H

#include "base/arena.h"
#include "mcp/server.h"

struct wbi_shelf_item {
    struct wbi_str key;  /* uri, uriTemplate, or name with the prefix */
    struct wbi_str json; /* the whole item */
};

/* Zero is an empty one. */
struct wbi_shelf {
    struct wbi_arena *arena;
    struct wbi_shelf_item *items; /* in the server's order */
    const struct wbi_shelf_item **by_key;
    size_t count;
    bool told;     /* it has listed */
    unsigned late; /* lists that it owes for longer than anybody waits */
};

/* A JSON array of a server in place of what is there; items without the members they
 * need are left out. Names of prompts get the prefix and "__" in front (empty: nothing).
 * False when nothing changed by it, also for want of memory. */
bool wbi_shelf_put(struct wbi_shelf *s, enum wbi_mcp_list what, struct wbi_str prefix,
                   struct wbi_str text);
bool wbi_shelf_has(const struct wbi_shelf *s, struct wbi_str key);
/* Of the templates that the URI fits, plain characters of the one with most, and one;
 * 0: it fits none. */
size_t wbi_shelf_fits(const struct wbi_shelf *s, struct wbi_str uri);
void wbi_shelf_empty(struct wbi_shelf *s);

#endif
