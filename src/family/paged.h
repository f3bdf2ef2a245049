/* SPDX-License-Identifier: Apache-2.0
 * family/paged.h: lists whose rows are shown as far as the budget goes, newest
 * first, with a token that names the last row shown (C7.7). */
#ifndef WBI_FAMILY_PAGED_H
#define WBI_FAMILY_PAGED_H

#include "family/receipt.h"

struct wbi_paged {
    const char *member; /* of the result that holds the rows */
    const void *rows;   /* those of this page and all after it */
    size_t count;
    size_t total; /* of all pages */
    size_t limit; /* at most so many on this page; 0: what fits */
    uint32_t budget_tokens;
    uint64_t (*cost)(const void *rows, size_t i); /* tokens of a row in the receipt */
    void (*write)(struct wbi_jw *w, const void *rows, size_t i);
    void (*mark)(const void *rows, size_t i, int64_t *ret_ms, struct wbi_str *ret_name);
};

/* The rows that fit, at least one, and "total", into an open object; how many. */
size_t wbi_paged_write(struct wbi_jw *w, const struct wbi_paged *list);
/* "nextToken" when rows are left behind the first `shown`. */
WB_MUST_CHECK wb_rc wbi_paged_token(struct wbi_jw *w, const struct wbi_paged *list, size_t shown,
                                    struct wbi_arena *arena, struct wbi_error *err);
/* The receipt: the summary, the next page, one line a row. */
void wbi_paged_render(struct wbi_buf *out, const struct wbi_canonical *c, const char *member,
                      const char *section, void (*row)(struct wbi_buf *out, const wbi_json *item));

#endif
