/* SPDX-License-Identifier: Apache-2.0
 * text/regex_int.h: between the wrapper and the rewriter. */
#ifndef WBI_TEXT_REGEX_INT_H
#define WBI_TEXT_REGEX_INT_H

#include "base/buf.h"
#include "base/error.h"

/* Check pattern as ECMA-262 syntax and write the same expression in PCRE2's
 * syntax (for UTF, DOLLAR_ENDONLY, MATCH_UNSET_BACKREF). err->offset is the
 * place in pattern. WB_EINPUT, or what went wrong with out. */
WB_MUST_CHECK wb_rc wbi_regex_rewrite(struct wbi_str pattern, struct wbi_buf *out,
                                      struct wbi_error *err);

#endif
