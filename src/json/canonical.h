/* SPDX-License-Identifier: Apache-2.0
 * json/canonical.h: RFC 8785, for hashing. */
#ifndef WBI_JSON_CANONICAL_H
#define WBI_JSON_CANONICAL_H

#include "json/json.h"

/* WB_EINPUT for integers beyond +-(2^53 - 1), which have no canonical form. */
WB_MUST_CHECK wb_rc wbi_json_canonical(const wbi_json *v, struct wbi_buf *out,
                                       struct wbi_error *err);

#endif
