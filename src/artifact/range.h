/* SPDX-License-Identifier: Apache-2.0
 * artifact/range.h: what part of an artifact is wanted, in the words of users
 * (I3), and the opaque tokens that lead from page to page (C7.7). */
#ifndef WBI_ARTIFACT_RANGE_H
#define WBI_ARTIFACT_RANGE_H

#include "base/error.h"
#include "base/slice.h"

#define WBI_RANGE_END UINT64_MAX

/* "A-B", "A-", "-B" or "A": lines from 1, both ends included. */
WB_MUST_CHECK wb_rc wbi_range_lines(struct wbi_str text, uint64_t *ret_first, uint64_t *ret_last,
                                    struct wbi_error *err);
/* "A-B", "A-" or "-B": bytes from 0, B excluded. */
WB_MUST_CHECK wb_rc wbi_range_bytes(struct wbi_str text, uint64_t *ret_first, uint64_t *ret_end,
                                    struct wbi_error *err);

/* Where the next page begins. check ties it to one artifact and one question. */
struct wbi_page {
    uint64_t line;   /* or byte */
    uint64_t offset; /* within a line too long for one page */
    uint64_t check;
};
#define WBI_PAGE_TOKEN 53
void wbi_page_encode(const struct wbi_page *page, char out[WBI_PAGE_TOKEN]);
WB_MUST_CHECK wb_rc wbi_page_decode(struct wbi_str token, struct wbi_page *ret,
                                    struct wbi_error *err);

#endif
