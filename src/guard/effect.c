/* SPDX-License-Identifier: Apache-2.0
 * guard/effect.c: names of effects. */
#include "guard/effect.h"

static const char *const names[WBI_GUARD_EFFECTS] = {"Pure", "IdempotentWrite",
                                                     "NonIdempotentWrite", "ExternalSideEffects"};

bool wbi_guard_effect_by_name(struct wbi_str name, enum wbi_guard_effect *ret)
{
    for (int i = 0; i < WBI_GUARD_EFFECTS; i++) {
        if (wbi_str_eqz(name, names[i])) {
            *ret = (enum wbi_guard_effect)i;
            return true;
        }
    }
    return false;
}
