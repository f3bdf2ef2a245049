/* SPDX-License-Identifier: Apache-2.0
 * mcp/line.h: newline-framed messages out of a byte stream, with a cap. */
#ifndef WBI_MCP_LINE_H
#define WBI_MCP_LINE_H

#include "base/buf.h"

struct wbi_lines {
    struct wbi_buf held; /* the part of a line that has come so far */
    size_t max;
    bool skipping; /* inside a line that was too long */
    uint64_t too_long;
};

void wbi_lines_init(struct wbi_lines *l, size_t max);
void wbi_lines_fini(struct wbi_lines *l);
/* Takes bytes off *bytes until one line is complete: true and *ret (without its
 * line end, good until the next call). False when more bytes are needed. Lines
 * over the cap are skipped whole and counted; empty ones are passed over. */
bool wbi_lines_next(struct wbi_lines *l, struct wbi_str *bytes, struct wbi_str *ret);

#endif
