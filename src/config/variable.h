/* SPDX-License-Identifier: Apache-2.0
 * config/variable.h: variables of the environment that the text of a setting names, as
 * ${NAME}, or ${NAME:-text} for a text where it is not set. */
#ifndef WBI_CONFIG_VARIABLE_H
#define WBI_CONFIG_VARIABLE_H

#include "base/slice.h"

struct wbi_variable {
    struct wbi_str before, name;
    struct wbi_str otherwise; /* absent: nothing stands for it */
    struct wbi_str after;
};

/* The first of the text; false: it names none. */
bool wbi_variable_find(struct wbi_str text, struct wbi_variable *ret);

#endif
