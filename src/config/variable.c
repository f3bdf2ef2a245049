/* SPDX-License-Identifier: Apache-2.0
 * config/variable.c */
#include "config/variable.h"

bool wbi_variable_find(struct wbi_str text, struct wbi_variable *ret)
{
    size_t at = wbi_str_find(text, WBI_LIT("${")), end, n;
    struct wbi_str inside = wbi_str_from(text, at);

    end = wbi_str_index(inside, '}');
    if (end == inside.n)
        return false;
    ret->before = wbi_str_head(text, at);
    ret->after = wbi_str_from(inside, end + 1);
    inside = wbi_str_make(inside.p + 2, end - 2);
    n = wbi_str_find(inside, WBI_LIT(":-"));
    ret->name = wbi_str_head(inside, n);
    ret->otherwise = n < inside.n ? wbi_str_from(inside, n + 2) : WBI_NONE;
    return true;
}
