/* SPDX-License-Identifier: Apache-2.0
 * family/artifact/artifact.h: pages of complete outputs, and the list of them
 * (C5.5, C7.4). A page is bounded before it gets here and is never kept again. */
#ifndef WBI_FAMILY_ARTIFACT_ARTIFACT_H
#define WBI_FAMILY_ARTIFACT_ARTIFACT_H

#include "catalog/tool.h"
#include "family/paged.h"

enum wbi_page_kind {
    WBI_PAGE_LINES = 0,
    WBI_PAGE_BYTES,
    WBI_PAGE_TAIL,
    WBI_PAGE_GREP,
    WBI_PAGE_JSON
};

/* One page. Slices live as long as the call. */
struct wbi_page_view {
    enum wbi_page_kind kind;
    struct wbi_str path;
    struct wbi_str subject; /* JSON object: what is read, as the next call names it */
    struct wbi_str query;   /* JSON object: the range as it was asked for */
    struct wbi_str content;
    uint64_t first, last;        /* lines from 1 (bytes: offsets, last excluded); 0: nothing */
    uint64_t total;              /* lines in all, 0: not known; of a range past the end, bytes */
    uint64_t resume;             /* of bytes that are still written: where to read on */
    uint64_t matches, cut_lines; /* of GREP */
    bool cut_line;               /* its last line goes on in the next page */
    bool writing;                /* more may come */
    const char *reason;          /* why the artifact is not complete, NULL */
    struct wbi_str next_token;   /* absent at the end */
    struct wbi_allowance budget;
};

/* The members of a page into an open object. */
void wbi_page_write(struct wbi_jw *w, const struct wbi_page_view *page);
/* Header lines (range, path, next page) and the section of a page's result. */
void wbi_page_render_header(struct wbi_buf *out, struct wbi_str tool_name, const wbi_json *result);
void wbi_page_render_content(struct wbi_buf *out, const wbi_json *result);
/* Tokens of everything in the receipt but the content itself. */
uint32_t wbi_page_overhead(struct wbi_str path, struct wbi_str query);

struct wbi_artifact_row {
    struct wbi_str path, tool, role, call_id;
    const char *sha256, *reason; /* "" where there is none */
    uint64_t bytes, lines;
    int64_t created_ms;
    bool complete, writing, expired;
    bool uncounted; /* lines is not known */
};
/* The row as a JSON object. */
void wbi_artifact_row_write(struct wbi_jw *w, const struct wbi_artifact_row *row);
struct wbi_artifact_rows {
    const struct wbi_artifact_row *rows; /* those of this page and all after it */
    size_t count;
    size_t total; /* of all pages */
    size_t limit; /* at most so many on this page; 0: what fits */
    struct wbi_allowance budget;
};
wbi_paged_mark wbi_artifact_mark; /* of rows */

extern const struct wbi_family wbi_read_artifact_family;  /* typed: struct wbi_page_view */
extern const struct wbi_family wbi_list_artifacts_family; /* typed: struct wbi_artifact_rows */

#endif
