/* SPDX-License-Identifier: Apache-2.0
 * mcp/overlong.h: what a message that cannot be read, too long or no strict JSON, was
 * about. Somebody waits for an answer by its id; that is found in its bytes as they
 * pass, and nothing is kept. */
#ifndef WBI_MCP_OVERLONG_H
#define WBI_MCP_OVERLONG_H

#include "base/buf.h"
#include "base/limits.h"

#define WBI_OVERLONG_ID (6 * WBI_LIMIT_MCP_ID + 3) /* of text, each byte escaped, and quotes */

/* Zero is a good beginning. */
struct wbi_overlong {
    unsigned depth;
    bool is_object, in_text, escaped;
    bool in_key, in_id;          /* of the message itself, not of what it holds */
    bool ended, loose;           /* its object is whole; there is more than that */
    unsigned ids;                /* members of that name */
    bool has_method, has_answer; /* it asks; it has a result or an error */
    unsigned key_n, id_n;
    char key[8];
    char id[WBI_OVERLONG_ID]; /* as it was written */
};

void wbi_overlong_feed(struct wbi_overlong *o, struct wbi_str bytes);
/* A string or an integer, as JSON; absent when the message has none that can be used. */
struct wbi_str wbi_overlong_id(const struct wbi_overlong *o);
/* The one `id` of a whole object as it was written, whatever that is; else absent. */
struct wbi_str wbi_overlong_raw(const struct wbi_overlong *o);

#endif
