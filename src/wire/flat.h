/* SPDX-License-Identifier: Apache-2.0
 * wire/flat.h: input schemas without choices at their top, for providers that take none
 * there. */
#ifndef WBI_WIRE_FLAT_H
#define WBI_WIRE_FLAT_H

#include "base/arena.h"
#include "base/error.h"
#include "json/json.h"

/* The same schema when there is nothing to change. Else anyOf, oneOf, allOf, enum and not
 * are gone from its top, the members of their branches stand among `properties`, the type
 * is object where it may be one, and `description` says what was taken away. It accepts
 * whatever the schema accepts; calls are checked against that one. In arena. */
WB_MUST_CHECK wb_rc wbi_schema_flat(struct wbi_arena *arena, const wbi_json *schema,
                                    const wbi_json **ret, struct wbi_error *err);

#endif
