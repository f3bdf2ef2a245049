/* SPDX-License-Identifier: Apache-2.0
 * serve/server_tools.c: a server's tool definitions as tools of the catalog.
 * Effects come from the configuration; what a server says about its own tools
 * counts only when it is trusted (C3.7). A tool that cannot be declared is left
 * out; one whose definition changed is there, but blocked. */
#include "base/limits.h"
#include "family/generic/generic.h"
#include "json/write.h"
#include "serve/definition.h"
#include "serve/pin_files.h"
#include "serve/upstreams_int.h"

/* What the configuration says about one tool by its name; NULL: nothing. */
static const wbi_json *setting(const struct wbi_server *s, struct wbi_str tool, const char *name)
{
    return wbi_json_get(wbi_json_getn(wbi_json_get(s->value, "tools"), tool), name);
}

/* By name, else by the last pattern that fits. */
static const wbi_json *said_effect(const struct wbi_server *s, struct wbi_str tool)
{
    const wbi_json *found = setting(s, tool, "effect"), *by_glob = NULL;

    WBI_JSON_EACH_MEMBER (wbi_json_get(s->value, "effects"), k) {
        if (wbi_glob_match(wbi_json_str(k), tool))
            by_glob = k_val;
    }
    return found != NULL ? found : by_glob;
}

static enum wbi_effect effect_of(const struct wbi_server *s, const wbi_json *tool)
{
    const wbi_json *said = said_effect(s, wbi_json_get_str(tool, "name"));
    const wbi_json *hints = wbi_json_get(tool, "annotations");

    if (said != NULL)
        return wbi_effect_by_name(wbi_json_str(said));
    if (s->trusted && wbi_json_true(wbi_json_get(hints, "readOnlyHint")))
        return WBI_EFFECT_PURE;
    if (s->trusted && wbi_json_true(wbi_json_get(hints, "idempotentHint")))
        return WBI_EFFECT_IDEMPOTENT_WRITE;
    return WBI_EFFECT_EXTERNAL;
}

static void write_descriptor(struct wbi_jw *w, const struct wbi_server *s, const wbi_json *tool)
{
    static const char *const passed[] = {"title", "description", "inputSchema", "outputSchema"};
    static const char *const set[] = {"timeoutMs", "budgetTokens", "scopes", "credentials"};
    struct wbi_str name = wbi_json_get_str(tool, "name");
    enum wbi_effect effect = effect_of(s, tool);
    const wbi_json *parallel = setting(s, name, "parallel");

    wbi_jw_obj(w);
    wbi_jw_key(w, "name");
    wbi_buf_addc(w->out, '"'); /* both parts are plain characters */
    wbi_buf_adds(w->out, s->origin);
    wbi_buf_addz(w->out, "::");
    wbi_buf_adds(w->out, name);
    wbi_buf_addc(w->out, '"');
    w->comma = true;
    for (size_t i = 0; i < 4; i++)
        if (wbi_json_get(tool, passed[i]) != NULL)
            wbi_jw_kval(w, passed[i], wbi_json_get(tool, passed[i]));
    for (size_t i = 0; i < 2; i++)
        if (setting(s, name, set[i]) != NULL)
            wbi_jw_kval(w, set[i], setting(s, name, set[i]));
    if (setting(s, name, "timeoutMs") == NULL)
        wbi_jw_kint(w, "timeoutMs", s->spec.call_ms > 0 ? s->spec.call_ms : WBI_UPSTREAM_CALL_MS);
    wbi_jw_kstrz(w, "effect", wbi_effect_name(effect));
    wbi_jw_kbool(w, "parallel",
                 parallel != NULL ? wbi_json_true(parallel) : effect == WBI_EFFECT_PURE);
    wbi_jw_kval(w, "definition", tool);
    wbi_jw_obj_end(w);
}

static bool plain_name(struct wbi_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-' || c == '.' || c == '/'))
            return false;
    }
    return name.n > 0;
}

/* Absent when the definition may be used, else why not. One that shows a person
 * something else than a model reads is not accepted unseen (plain false). */
static struct wbi_str check_pin(struct wbi_runtime *rt, const struct wbi_server *s,
                                const wbi_json *tool, bool plain, struct wbi_arena *arena)
{
    struct wbi_str name = wbi_json_get_str(tool, "name");
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_pin_files files;
    struct wbi_pin_store store = wbi_pin_files_store(&files);
    enum wbi_pin_state state = WBI_PIN_NEW;
    enum wbi_pin_policy policy = plain ? s->pin_policy : WBI_PIN_APPROVAL;
    wb_rc rc = wbi_pin_files_open(arena, rt->places.user_state, &files, &err);

    if (rc == WB_OK)
        rc = wbi_pin_check(&store, policy, s->name, tool, wbi_wall_ms(&rt->clock), arena, &state,
                           &err);
    if (rc != WB_OK)
        return wbi_arena_fmt(arena, "the definition of %.*s of server %.*s cannot be checked: %s",
                             WBI_FMT(name), WBI_FMT(s->name), err.text);
    if (state == WBI_PIN_ACCEPTED)
        return WBI_NONE;
    return wbi_arena_fmt(arena,
                         "the definition of %.*s of server %.*s %s; a person can look at it with "
                         "`waybill pins show %.*s/%.*s` and accept it with `waybill pins approve`",
                         WBI_FMT(name), WBI_FMT(s->name),
                         state == WBI_PIN_CHANGED ? "has changed since it was accepted"
                         : plain                  ? "was not approved yet"
                                                  : "holds hidden characters",
                         WBI_FMT(s->name), WBI_FMT(name));
}

static wb_rc declare(struct wbi_runtime *rt, struct wbi_server *s, const wbi_json *tool,
                     struct wbi_arena *arena, struct wbi_error *err)
{
    struct wbi_tool_binding binding = {.family = &wbi_generic_family,
                                       .ops = &wbi_upstream_tool_ops,
                                       .ops_arg = s,
                                       .origin = s->origin,
                                       .prefix = s->prefix};
    const wbi_json *descriptor;
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);
    bool plain;
    wb_rc rc;

    if (!plain_name(wbi_json_get_str(tool, "name")) ||
        !wbi_mcp_headers_usable(wbi_json_get(tool, "inputSchema")) ||
        wbi_json_true(setting(s, wbi_json_get_str(tool, "name"), "disabled")))
        return WB_EINPUT;
    plain = !wbi_definition_hides(tool);
    binding.blocked = check_pin(rt, s, tool, plain, arena);
    binding.hidden = binding.blocked.p != NULL;
    if (!plain && wbi_definition_clean(arena, tool, &tool, err) != WB_OK)
        return WB_ENOMEM;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    write_descriptor(&w, s, tool);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &descriptor, err);
    return rc == WB_OK ? wbi_runtime_add_tool(rt, descriptor, &binding, err) : rc;
}

wb_rc wbi_server_declare(struct wbi_runtime *rt, struct wbi_server *s, const wbi_json *tools,
                         struct wbi_error *err)
{
    struct wbi_catalog *now;
    struct wbi_arena *arena;
    wb_rc rc = wbi_runtime_drop_tools(rt, s->origin, err);

    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_fail_nomem(err);
    WBI_JSON_EACH (tools, tool) {
        if (rc == WB_OK && declare(rt, s, tool, arena, err) == WB_ENOMEM)
            rc = WB_ENOMEM; /* others are left out: a tool's own fault */
    }
    wbi_arena_free(arena);
    return rc == WB_OK ? wbi_runtime_catalog(rt, &now, err) : rc;
}
