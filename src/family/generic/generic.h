/* SPDX-License-Identifier: Apache-2.0
 * family/generic/generic.h: anything a tool returns (C7.6): configured local
 * tools, C functions, MCP tools. One JSON value or text, or several parts: text,
 * images, audio, files, resources, links, with structured output beside them. */
#ifndef WBI_FAMILY_GENERIC_GENERIC_H
#define WBI_FAMILY_GENERIC_GENERIC_H

#include "catalog/tool.h"
#include "family/envelope.h"
#include "wire/wire.h"

extern const struct wbi_family wbi_generic_family;

/* Output in the shape {"content": [blocks], "structuredContent"?: …} is read
 * into full->parts; anything else is left alone. */
WB_MUST_CHECK wb_rc wbi_generic_take_parts(struct wbi_arena *arena, struct wbi_complete *full);
/* The result of a text that is too large to be a value, kept at path (as bytes): all
 * members, within the tokens of p. */
struct wbi_shown;
WB_MUST_CHECK wb_rc wbi_generic_put_shown(const struct wbi_projection *p, struct wbi_shown *text,
                                          uint64_t bytes, struct wbi_str path, struct wbi_jw *w,
                                          struct wbi_error *err);
/* What a person would look at: strings as they are, other values pretty; absent without
 * memory. */
struct wbi_str wbi_generic_display(struct wbi_arena *arena, const wbi_json *v);
/* Whether a part is no text: it goes to providers beside the receipt. */
bool wbi_generic_is_media(const struct wbi_wire_part *part);
/* What a generic result holds when that is one image or one other file;
 * WBI_CONTENT_INFER for everything else. */
enum wbi_content_type wbi_generic_content_type(const wbi_json *result);

#endif
