/* SPDX-License-Identifier: Apache-2.0
 * catalog/descriptor.h: the JSON form of a tool, read into struct wbi_tool. */
#ifndef WBI_CATALOG_DESCRIPTOR_H
#define WBI_CATALOG_DESCRIPTOR_H

#include "catalog/tool.h"

/* The version of a tool that declares none. */
#define WBI_TOOL_VERSION "1.0.0"
/* The schema of a tool that declares none: any object, or one text. */
#define WBI_TOOL_ANY_OBJECT "{\"type\":\"object\"}"
#define WBI_TOOL_ANY_TEXT                                                                  \
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\"required\":[" \
    "\"input\"]}"

/* Fill all declared members of *ret from obj, which must outlive it. Members it
 * does not know are refused by name with the accepted ones. Schemas are not
 * compiled yet; names are not settled yet (qualified is the declared name). */
WB_MUST_CHECK wb_rc wbi_descriptor_read(const wbi_json *obj, struct wbi_tool *ret,
                                        struct wbi_error *err);

#endif
