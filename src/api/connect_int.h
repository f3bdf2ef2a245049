/* SPDX-License-Identifier: Apache-2.0
 * api/connect_int.h: what the two formats of client configurations share. */
#ifndef WBI_API_CONNECT_INT_H
#define WBI_API_CONNECT_INT_H

#include "api/api_int.h"

/* How a client starts Waybill: the program, then its arguments. */
struct wbi_start {
    struct wbi_str words[64];
    size_t n; /* as many as there are, also beyond those kept */
};
void wbi_start_add(struct wbi_start *start, struct wbi_str word);

/* [mcp_servers.waybill] of a text of TOML, as byte offsets in it. */
struct wbi_toml_entry {
    bool found; /* the table is there */
    bool loose; /* it is named in another form: as a value, or by dotted names */
    bool by_url;
    size_t body;                                 /* behind the line of its name */
    size_t command, command_end, args, args_end; /* of their values; 0: absent */
    struct wbi_start start;
};
/* WB_EINPUT where a table of ours at the end would contradict the text, or be a part of what
 * has no end there. Words are in text or in arena. */
WB_MUST_CHECK wb_rc wbi_toml_find(struct wbi_arena *arena, struct wbi_str text,
                                  struct wbi_toml_entry *ret, struct wbi_error *err);
/* The text with such a table: an entry's command and args are replaced, all else stays. */
void wbi_toml_put(struct wbi_str text, const struct wbi_toml_entry *entry, struct wbi_str program,
                  struct wbi_str root, struct wbi_buf *out);

#endif
