/* SPDX-License-Identifier: Apache-2.0
 * guard/effect.h: what a call may do to the world (C3.7), as guards see it. */
#ifndef WBI_GUARD_EFFECT_H
#define WBI_GUARD_EFFECT_H

#include "base/slice.h"

enum wbi_guard_effect {
    WBI_GUARD_PURE = 0,
    WBI_GUARD_IDEMPOTENT_WRITE,
    WBI_GUARD_NON_IDEMPOTENT_WRITE,
    WBI_GUARD_EXTERNAL_SIDE_EFFECTS
};

#define WBI_GUARD_EFFECTS 4

/* "Pure", "IdempotentWrite", … */
bool wbi_guard_effect_by_name(struct wbi_str name, enum wbi_guard_effect *ret);

#endif
