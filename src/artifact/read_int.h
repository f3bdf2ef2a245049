/* SPDX-License-Identifier: Apache-2.0
 * artifact/read_int.h: sinks of cleaned text. */
#ifndef WBI_ARTIFACT_READ_INT_H
#define WBI_ARTIFACT_READ_INT_H

#include "artifact/read.h"
#include "base/checked.h"

struct wbi_sink {
    bool (*take)(struct wbi_sink *sink, struct wbi_str text); /* false: no more wanted */
    void (*end)(struct wbi_sink *sink);                       /* the text is over */
};

/* The first q->there bytes of fd through q's cleaner to sink, until it wants no more.
 * WB_ECANCELLED when the query was stopped meanwhile. */
WB_MUST_CHECK wb_rc wbi_pass(int fd, const struct wbi_read_query *q, struct wbi_sink *sink,
                             struct wbi_error *err);

struct wbi_line_sink {
    struct wbi_sink sink;
    struct wbi_buf *out;
    uint64_t line, offset; /* the place of the next byte; lines from 1 */
    uint64_t first, last, skip;
    size_t max_bytes, line_start; /* where the current line begins in out */
    uint64_t max_lines, shown;
    uint64_t first_shown, last_shown, total;
    bool any; /* the current line has bytes */
    bool cut, stopped;
    struct wbi_page next;
};

wb_rc wbi_read_grep(int fd, const struct wbi_read_query *q, const struct wbi_page *from,
                    uint64_t check, struct wbi_buf *out, struct wbi_read_page *ret,
                    struct wbi_error *err);

#endif
