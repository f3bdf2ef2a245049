/* SPDX-License-Identifier: Apache-2.0
 * json/pointer.h: JSON Pointer (RFC 6901). */
#ifndef WBI_JSON_POINTER_H
#define WBI_JSON_POINTER_H

#include "json/json.h"

/* WB_EINPUT for a text that is no pointer, WB_ENOTFOUND when it leads nowhere. */
WB_MUST_CHECK wb_rc wbi_json_pointer(const wbi_json *root, struct wbi_str pointer,
                                     const wbi_json **ret, struct wbi_error *err);
/* Append "/" and the escaped reference token. */
void wbi_json_pointer_add(struct wbi_buf *path, struct wbi_str token);

#endif
