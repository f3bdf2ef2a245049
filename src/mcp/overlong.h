/* SPDX-License-Identifier: Apache-2.0
 * mcp/overlong.h: what a message that cannot be read, too long or no strict JSON, was
 * about. Somebody waits for an answer by its id; that is found in its bytes as they
 * pass, and nothing is kept. */
#ifndef WBI_MCP_OVERLONG_H
#define WBI_MCP_OVERLONG_H

#include "base/buf.h"

#define WBI_OVERLONG_ID 256u /* longer ids are not taken */

/* Zero is a good beginning. */
struct wbi_overlong {
    unsigned depth;
    bool is_object, in_text, escaped;
    bool in_key, in_id;          /* of the message itself, not of what it holds */
    bool has_method, has_answer; /* it asks; it has a result or an error */
    unsigned key_n, id_n;
    char key[8];
    char id[WBI_OVERLONG_ID]; /* as it was written */
};

void wbi_overlong_feed(struct wbi_overlong *o, struct wbi_str bytes);
/* A string or an integer, as JSON; absent when the message has none that can be used. */
struct wbi_str wbi_overlong_id(const struct wbi_overlong *o);

#endif
