/* SPDX-License-Identifier: Apache-2.0
 * family/generic/generic_int.h: results of several parts, within the family. */
#ifndef WBI_FAMILY_GENERIC_GENERIC_INT_H
#define WBI_FAMILY_GENERIC_GENERIC_INT_H

#include "family/generic/generic.h"

/* Fit to be shown (C6.5). Absent: out of memory. */
struct wbi_str wbi_generic_clean(struct wbi_arena *arena, struct wbi_str raw);
/* Tokens for what is shown of an output that does not fit. */
uint64_t wbi_generic_room(const struct wbi_projection *p);
/* Shown by a preview of so many tokens, kept whole as an artifact; members of an open
 * object. media: already kept, named in "artifacts" behind it. */
WB_MUST_CHECK wb_rc wbi_generic_put_large(const struct wbi_projection *p, struct wbi_str raw,
                                          uint64_t tokens, const struct wbi_str *media,
                                          size_t media_n, struct wbi_jw *w, struct wbi_error *err);
void wbi_generic_render_cut(const wbi_json *result, struct wbi_buf *out);

/* A result of several parts; *ret_value (a JSON value of output) instead when
 * one value says it all. */
WB_MUST_CHECK wb_rc wbi_generic_put_parts(const struct wbi_complete *full, const wbi_json *output,
                                          const struct wbi_projection *p, struct wbi_jw *w,
                                          const wbi_json **ret_value, struct wbi_error *err);
bool wbi_generic_has_parts(const wbi_json *result);
WB_MUST_CHECK wb_rc wbi_generic_render_parts(const wbi_json *result, struct wbi_arena *arena,
                                             struct wbi_buf *out);

#endif
