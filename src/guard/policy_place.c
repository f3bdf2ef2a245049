/* SPDX-License-Identifier: Apache-2.0
 * guard/policy_place.c: telling people exactly where their file is wrong; used
 * for policies and bindings alike. */
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "guard/policy_int.h"

size_t wbi_policy_enter(struct wbi_policy_place *at, struct wbi_str token)
{
    size_t before = at->n;

    if (at->n + 1 < sizeof(at->path))
        at->path[at->n++] = '/';
    for (size_t i = 0; i < token.n && at->n + 2 < sizeof(at->path); i++) {
        char c = token.p[i];
        if (c == '~' || c == '/') {
            at->path[at->n++] = '~';
            c = c == '~' ? '0' : '1';
        }
        at->path[at->n++] = c;
    }
    at->path[at->n] = '\0';
    return before;
}

void wbi_policy_leave(struct wbi_policy_place *at, size_t n)
{
    at->n = n;
    at->path[n] = '\0';
}

wb_rc wbi_policy_bad(struct wbi_policy_place *at, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    wb_rc rc;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap); /* cut is fine */
    va_end(ap);
    rc = wbi_fail(at->err, WB_EINPUT, "%s", text);
    if (at->err != NULL)
        (void)snprintf(at->err->at, sizeof(at->err->at), "%s", at->path);
    return rc;
}

wb_rc wbi_policy_known(struct wbi_policy_place *at, const wbi_json *o, const char *const *known)
{
    if (!wbi_json_is(o, WBI_JSON_OBJ))
        return wbi_policy_bad(at, "must be an object, not %s", wbi_json_type_name(o));
    WBI_JSON_EACH_MEMBER (o, key) {
        const char *const *name = known;
        while (*name != NULL && !wbi_str_eqz(wbi_json_str(key), *name))
            name++;
        if (*name == NULL) {
            (void)wbi_policy_enter(at, wbi_json_str(key));
            return wbi_policy_bad(at, "is not a known setting; known here: %s and so on",
                                  known[0] ? known[0] : "none");
        }
    }
    return WB_OK;
}

struct wbi_str wbi_policy_lower(struct wbi_arena *arena, struct wbi_str s)
{
    char *copy = wbi_arena_strz(arena, s);

    for (size_t i = 0; copy != NULL && i < s.n; i++) {
        if (copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] + ('a' - 'A'));
    }
    return wbi_str_make(copy, copy ? s.n : 0);
}

bool wbi_policy_matches(struct wbi_str pattern, struct wbi_str name)
{
    char lower[WBI_LIMIT_TOOL_NAME];

    name = wbi_str_head(name, sizeof(lower)); /* what is too long to be a name matches "*", too */
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    return wbi_glob_match(pattern, wbi_str_make(lower, name.n));
}

wb_rc wbi_policy_strings(struct wbi_policy_place *at, struct wbi_arena *arena, const wbi_json *v,
                         bool lower, struct wbi_str **ret, size_t *ret_n)
{
    struct wbi_str *list;
    size_t n = 0;

    if (!wbi_json_is(v, WBI_JSON_ARR))
        return wbi_policy_bad(at, "must be an array of strings, not %s", wbi_json_type_name(v));
    if (wbi_json_count(v) > WBI_LIMIT_POLICY_RULES)
        return wbi_policy_bad(at, "has more than %u entries", WBI_LIMIT_POLICY_RULES);
    list = wbi_arena_array(arena, wbi_json_count(v) + 1, sizeof(*list));
    if (list == NULL)
        return wbi_fail_nomem(at->err);
    WBI_JSON_EACH (v, e) {
        struct wbi_str s = wbi_json_is(e, WBI_JSON_STR) ? wbi_json_str(e) : WBI_NONE;
        if (s.n == 0 || s.n > WBI_LIMIT_TOOL_NAME)
            return wbi_policy_bad(at, "entry %zu must be a text of 1 to %u bytes", n,
                                  WBI_LIMIT_TOOL_NAME);
        list[n] = lower ? wbi_policy_lower(arena, s) : wbi_arena_str(arena, s);
        if (list[n].p == NULL)
            return wbi_fail_nomem(at->err);
        n++;
    }
    *ret = list;
    *ret_n = n;
    return WB_OK;
}
