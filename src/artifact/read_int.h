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

typedef wb_rc wbi_stream_fn(int fd, const struct wbi_read_query *q, struct wbi_sink *sink,
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

void wbi_line_sink_init(struct wbi_line_sink *s, struct wbi_buf *out, uint64_t first, uint64_t last,
                        uint64_t skip, const struct wbi_read_query *q);

wb_rc wbi_read_grep(int fd, const struct wbi_read_query *q, const struct wbi_page *from,
                    uint64_t check, struct wbi_buf *out, struct wbi_read_page *ret,
                    wbi_stream_fn *stream, struct wbi_error *err);

#endif
