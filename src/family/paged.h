/* SPDX-License-Identifier: Apache-2.0
 * family/paged.h: lists whose rows are shown as far as the budget goes, newest
 * first, with a token that names the last row shown (C7.7). */
#ifndef WBI_FAMILY_PAGED_H
#define WBI_FAMILY_PAGED_H

#include "family/receipt.h"

/* What orders the rows and names one in a token. */
typedef void wbi_paged_mark(const void *rows, size_t i, int64_t *ret_ms, struct wbi_str *ret_name);

struct wbi_paged {
    const char *member, *noun; /* of the result that holds the rows; what one row is */
    const void *rows;          /* those of this page and all after it */
    size_t count;
    size_t total;          /* of all pages */
    const size_t *running; /* how many of them run; NULL: rows that never do */
    size_t limit;          /* at most so many on this page; 0: what fits */
    struct wbi_allowance budget;
    uint64_t (*cost)(const void *rows, size_t i); /* tokens of a row in the receipt */
    void (*write)(struct wbi_jw *w, const void *rows, size_t i);
    wbi_paged_mark *mark;
};

/* How many rows a token of an earlier page leaves behind it; an absent one none. */
WB_MUST_CHECK wb_rc wbi_paged_skip(const void *rows, size_t count, wbi_paged_mark *mark,
                                   struct wbi_str token, const char *tool, size_t *ret_n,
                                   struct wbi_error *err);
/* The result: the rows that fit, at least one, counts, and "nextToken" when rows are left. */
WB_MUST_CHECK wb_rc wbi_paged_project(const struct wbi_paged *list, struct wbi_arena *arena,
                                      struct wbi_buf *ret_result, struct wbi_str *ret_summary,
                                      struct wbi_error *err);
/* The receipt: the summary, the next page, one line a row. */
void wbi_paged_render(struct wbi_buf *out, const struct wbi_canonical *c, const char *member,
                      const char *section, void (*row)(struct wbi_buf *out, const wbi_json *item));

#endif
