/* SPDX-License-Identifier: Apache-2.0
 * family/canonical.h: the canonical result (C4.1, S0) read back. */
#ifndef WBI_FAMILY_CANONICAL_H
#define WBI_FAMILY_CANONICAL_H

#include "json/json.h"

/* Members of the canonical result, read back: what renderers see. */
struct wbi_canonical {
    struct wbi_str text; /* as it is written; absent where root was read */
    const wbi_json *root;
    struct wbi_str tool_name;
    bool success;
    struct wbi_str summary;
    const wbi_json *result;
    const wbi_json *error;
};
/* Refuses any combination C4.1 does not allow, naming the member. */
WB_MUST_CHECK wb_rc wbi_canonical_read(const wbi_json *v, struct wbi_canonical *ret,
                                       struct wbi_error *err);
/* The same from its text. */
WB_MUST_CHECK wb_rc wbi_canonical_parse(struct wbi_arena *arena, struct wbi_str text,
                                        struct wbi_canonical *ret, struct wbi_error *err);

#endif
