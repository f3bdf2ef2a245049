/* SPDX-License-Identifier: Apache-2.0
 * text/preview_json.c: JSON shown by its structure. */
#include "text/preview_int.h"
wb_rc wbi_preview_json(struct wbi_arena *arena, struct wbi_str text, uint64_t lines,
                       const struct wbi_preview_policy *policy, struct wbi_preview *ret)
{
    (void)arena; (void)text; (void)lines; (void)policy; (void)ret;
    return WB_EINPUT;
}
