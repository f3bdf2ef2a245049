/* SPDX-License-Identifier: Apache-2.0
 * json/canonical.h: RFC 8785, for hashing. */
#ifndef WBI_JSON_CANONICAL_H
#define WBI_JSON_CANONICAL_H

#include "json/json.h"

/* Appends the canonical bytes of v to out; what out held before stays.
 * WB_EINPUT for a number written as an integer beyond +-(2^53 - 1), which has
 * no canonical form (err->at is its JSON Pointer); WB_ELIMIT and WB_ENOMEM from
 * out or for want of working memory. out holds a part of the text on failure. */
WB_MUST_CHECK wb_rc wbi_json_canonical(const wbi_json *v, struct wbi_buf *out,
                                       struct wbi_error *err);
/* The same with such integers as they were written: for what only we compare. */
WB_MUST_CHECK wb_rc wbi_json_canonical_any(const wbi_json *v, struct wbi_buf *out,
                                           struct wbi_error *err);

#endif
