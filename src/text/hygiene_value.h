/* SPDX-License-Identifier: Apache-2.0
 * text/hygiene_value.h: hygiene of all strings of a JSON value, names included. */
#ifndef WBI_TEXT_HYGIENE_VALUE_H
#define WBI_TEXT_HYGIENE_VALUE_H

#include "json/json.h"

/* True when cleaning would change none. */
bool wbi_hygiene_value_is_clean(const wbi_json *v);
/* The value with every string cleaned: v itself when all are, else a copy in arena.
 * WB_EINPUT: cleaned, two names of one object are the same. */
WB_MUST_CHECK wb_rc wbi_hygiene_value(struct wbi_arena *arena, const wbi_json *v,
                                      const wbi_json **ret);

#endif
