/* SPDX-License-Identifier: Apache-2.0
 * json/json_int.h: for this room only. */
#ifndef WBI_JSON_JSON_INT_H
#define WBI_JSON_JSON_INT_H

#include "base/local.h"
#include "json/json.h"

/* Why yyjson stopped at pos of text (not empty), in words of our own; static. */
const char *wbi_json_explain(yyjson_read_code code, struct wbi_str text, size_t *pos);

/* Offset of the bracket that opens one level too many; the text is well-formed. */
size_t wbi_json_place_of_depth(struct wbi_str text);

#endif
