/* SPDX-License-Identifier: Apache-2.0
 * builtin/command_env.c: the environment of a command. Calls of models get an
 * allow list and settings that make output readable; `waybill exec` inherits. */
#include "builtin/command_int.h"

#include <unistd.h>

#include "call/guards.h"
#include "config/config.h"

static const char *const allowed[] = {"PATH",   "HOME", "USER",          "LOGNAME",        "SHELL",
                                      "TMPDIR", "TZ",   "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"};

/* No colours, no pagers, UTF-8. */
static const char *const fixed[] = {"NO_COLOR=1",    "TERM=dumb",      "PAGER=cat",
                                    "GIT_PAGER=cat", "GH_PAGER=cat",   "MANPAGER=cat",
                                    "LANG=C.UTF-8",  "LC_ALL=C.UTF-8", "GIT_TERMINAL_PROMPT=0"};

/* Names that make a harmless program run something else. */
static bool dangerous(struct wbi_str name)
{
    return wbi_str_starts(name, WBI_LIT("LD_")) || wbi_str_eqz(name, "BASH_ENV") ||
           wbi_str_eqz(name, "ENV");
}

static wb_rc check_variable(struct wbi_str name, struct wbi_str value, struct wbi_error *err)
{
    struct wbi_str shown = wbi_str_head(name, 80);

    if (name.n == 0 || wbi_str_index(name, '=') < name.n || wbi_str_index(name, '\0') < name.n)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "env may not set \"%.*s\": a name has at least one character, and "
                             "neither \"=\" nor a NUL byte",
                             WBI_FMT(shown));
    if (dangerous(name))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_FORBIDDEN,
                             "env may not set \"%.*s\": it makes other programs run",
                             WBI_FMT(shown));
    if (wbi_str_index(value, '\0') < value.n)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the value of \"%.*s\" in env holds a NUL byte, which no program "
                             "can get",
                             WBI_FMT(shown));
    return WB_OK;
}

struct list {
    struct wbi_arena *arena;
    struct wbi_str *items;
    size_t n, cap;
};

static size_t name_length(struct wbi_str entry)
{
    return wbi_str_index(entry, '=');
}

/* Later entries replace earlier ones of the same name. */
static wb_rc put(struct list *l, struct wbi_str entry)
{
    size_t length = name_length(entry);

    for (size_t i = 0; i < l->n; i++) {
        if (name_length(l->items[i]) == length && memcmp(l->items[i].p, entry.p, length) == 0) {
            l->items[i] = entry;
            return WB_OK;
        }
    }
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 32;
        struct wbi_str *items =
            wbi_arena_grow(l->arena, l->items, l->cap * sizeof(*items), cap * sizeof(*items));
        if (items == NULL)
            return WB_ENOMEM;
        l->items = items;
        l->cap = cap;
    }
    l->items[l->n++] = entry;
    return WB_OK;
}

static bool is_allowed(const struct wbi_runtime *rt, struct wbi_str name)
{
    const wbi_json *more = rt->config ? wbi_config_setting(rt->config, "/env/allow") : NULL;

    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (wbi_str_eqz(name, allowed[i]))
            return true;
    WBI_JSON_EACH (more, pattern) {
        if (wbi_glob_match(wbi_json_str(pattern), name))
            return true;
    }
    return false;
}

static wb_rc inherit(const struct wbi_runtime *rt, struct list *l)
{
    wb_rc rc = WB_OK;

    for (char **e = environ; rc == WB_OK && e != NULL && *e != NULL; e++) {
        struct wbi_str entry = wbi_str_z(*e);
        if (rt->inherit_env || is_allowed(rt, wbi_str_head(entry, name_length(entry))))
            rc = put(l, entry);
    }
    for (size_t i = 0; rc == WB_OK && !rt->inherit_env && i < sizeof(fixed) / sizeof(fixed[0]); i++)
        rc = put(l, wbi_str_z(fixed[i]));
    return rc;
}

/* W3C trace context by environment, so that what the command calls can go on with it. */
static wb_rc add_trace(const struct wbi_exec *x, struct list *l)
{
    struct wbi_trace_texts trace;
    struct wbi_str entry;
    wb_rc rc;

    if (!wbi_call_trace(x->call, &trace))
        return WB_ENOMEM;
    entry = wbi_arena_fmt(x->arena, "TRACEPARENT=%.*s", WBI_FMT(trace.parent));
    rc = entry.p ? put(l, entry) : WB_ENOMEM;
    if (rc != WB_OK || trace.state.n == 0)
        return rc;
    entry = wbi_arena_fmt(x->arena, "TRACESTATE=%.*s", WBI_FMT(trace.state));
    return entry.p ? put(l, entry) : WB_ENOMEM;
}

wb_rc wbi_command_env(const struct wbi_exec *x, const wbi_json *add, struct wbi_str **ret,
                      size_t *ret_n, struct wbi_error *err)
{
    struct list l = {.arena = x->arena};
    wb_rc rc = inherit(x->runtime, &l);

    if (rc == WB_OK && !x->runtime->inherit_env)
        rc = add_trace(x, &l);
    WBI_JSON_EACH_MEMBER (add, key) {
        struct wbi_str name = wbi_json_str(key), value = wbi_json_str(key_val), entry;
        wb_rc checked = check_variable(name, value, err);

        if (checked)
            return checked;
        entry = wbi_arena_fmt(x->arena, "%.*s=%.*s", WBI_FMT(name), WBI_FMT(value));
        if (rc == WB_OK)
            rc = entry.p ? put(&l, entry) : WB_ENOMEM;
    }
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    *ret = l.items;
    *ret_n = l.n;
    return WB_OK;
}
