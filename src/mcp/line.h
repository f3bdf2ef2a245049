/* SPDX-License-Identifier: Apache-2.0
 * mcp/line.h: newline-framed messages out of a byte stream, with a cap. */
#ifndef WBI_MCP_LINE_H
#define WBI_MCP_LINE_H

#include "mcp/overlong.h"

struct wbi_lines {
    struct wbi_buf held; /* the part of a line that has come so far */
    size_t max;
    bool given;    /* it is the line given out last */
    bool skipping; /* inside a line that was too long */
    uint64_t too_long;
    bool lost; /* the line given out last was: `about` is what is left of it */
    struct wbi_overlong about;
};

void wbi_lines_init(struct wbi_lines *l, size_t max);
void wbi_lines_fini(struct wbi_lines *l);
/* Takes bytes off *bytes until one line is complete: true and *ret (without its
 * line end, good until the next call). False when more bytes are needed. Of a line
 * over the cap nothing is kept but what `about` says: `lost` is set, *ret is absent.
 * Empty ones are passed over. */
bool wbi_lines_next(struct wbi_lines *l, struct wbi_str *bytes, struct wbi_str *ret);

#endif
