/* SPDX-License-Identifier: Apache-2.0
 * call/local_declare.c: a configured command read from its descriptor. Paths in
 * it are taken from the workspace's root, wherever Waybill is called. */
#include <stdlib.h>

#include "call/local_tool_int.h"
#include "family/generic/generic.h"
#include "run/process.h"

/* C7.8: of a configured tool that names none. */
#define DEFAULT_TIMEOUT_MS 300000

/* Beneath the root unless it is absolute. */
static struct wbi_str from_root(struct wbi_arena *arena, struct wbi_str root, struct wbi_str path)
{
    if (path.n > 0 && path.p[0] == '/')
        return wbi_arena_str(arena, path);
    if (wbi_str_starts(path, WBI_LIT("./")))
        path = wbi_str_from(path, 2);
    return wbi_arena_fmt(arena, "%.*s/%.*s", WBI_FMT(root), WBI_FMT(path));
}

static wb_rc read_command(struct wbi_arena *arena, struct wbi_str root, const wbi_json *command,
                          struct wbi_local_tool *t, struct wbi_error *err)
{
    if (!wbi_json_is(command, WBI_JSON_ARR) || wbi_json_count(command) == 0)
        return wbi_fail(err, WB_EINPUT,
                        "command must be an array of strings, the program first; got %s",
                        wbi_json_type_name(command));
    t->argv = wbi_arena_array(arena, wbi_json_count(command), sizeof(*t->argv));
    if (t->argv == NULL)
        return wbi_fail_nomem(err);
    WBI_JSON_EACH (command, word) {
        if (!wbi_json_is(word, WBI_JSON_STR))
            return wbi_fail(err, WB_EINPUT, "command must be an array of strings; word %zu is %s",
                            t->argc, wbi_json_type_name(word));
        /* A program with a slash is a file of the workspace; others are in PATH. */
        if (t->argc == 0 && wbi_str_index(wbi_json_str(word), '/') < wbi_json_str(word).n)
            t->argv[0] = from_root(arena, root, wbi_json_str(word));
        else
            t->argv[t->argc] = wbi_arena_str(arena, wbi_json_str(word));
        if (t->argv[t->argc++].p == NULL)
            return wbi_fail_nomem(err);
    }
    return WB_OK;
}

/* What every command gets (C: model calls get an allow list). */
static const char *const passed_on[] = {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "SHELL"};

static wb_rc add_env(struct wbi_arena *arena, struct wbi_local_tool *t, const char *name,
                     struct wbi_str value, struct wbi_error *err)
{
    struct wbi_str *entry = &t->env[t->env_count];

    *entry = wbi_arena_fmt(arena, "%s=%.*s", name, WBI_FMT(value));
    if (entry->p == NULL)
        return wbi_fail_nomem(err);
    t->env_count++;
    return WB_OK;
}

static wb_rc read_env(struct wbi_arena *arena, const wbi_json *env, struct wbi_local_tool *t,
                      struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    if (env != NULL && !wbi_json_is(env, WBI_JSON_OBJ))
        return wbi_fail(err, WB_EINPUT, "env must be an object of strings");
    t->env = wbi_arena_array(arena, wbi_json_count(env) + 16, sizeof(*t->env));
    if (t->env == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
        const char *value = getenv(passed_on[i]);
        if (value != NULL && wbi_json_get(env, passed_on[i]) == NULL)
            rc = add_env(arena, t, passed_on[i], wbi_str_z(value), err);
    }
    if (rc == WB_OK)
        rc = add_env(arena, t, "LC_ALL", WBI_LIT("C.UTF-8"), err);
    WBI_JSON_EACH_MEMBER (env, key) {
        char *name = wbi_arena_strz(arena, wbi_json_str(key));
        if (!wbi_json_is(key_val, WBI_JSON_STR) || wbi_json_str(key).n == 0)
            return wbi_fail(err, WB_EINPUT, "env must be an object of strings");
        if (rc == WB_OK)
            rc = name ? add_env(arena, t, name, wbi_json_str(key_val), err) : wbi_fail_nomem(err);
    }
    return rc;
}

static wb_rc read_output(const wbi_json *v, struct wbi_local_tool *t, struct wbi_error *err)
{
    struct wbi_str output = wbi_json_str(v);

    if (v == NULL || wbi_str_eqz(output, "auto"))
        t->output = WBI_LOCAL_AUTO;
    else if (wbi_str_eqz(output, "json"))
        t->output = WBI_LOCAL_JSON;
    else if (wbi_str_eqz(output, "text"))
        t->output = WBI_LOCAL_TEXT;
    else
        return wbi_fail(err, WB_EINPUT, "output must be \"json\", \"text\" or \"auto\"");
    return WB_OK;
}

static wb_rc read_rest(struct wbi_arena *arena, struct wbi_str root, const wbi_json *d,
                       struct wbi_local_tool *t, struct wbi_error *err)
{
    const wbi_json *workdir = wbi_json_get(d, "workdir");
    const wbi_json *family = wbi_json_get(d, "family");

    if (workdir != NULL && !wbi_json_is(workdir, WBI_JSON_STR))
        return wbi_fail(err, WB_EINPUT, "workdir must be a string");
    if (family != NULL && !wbi_str_eqz(wbi_json_str(family), wbi_generic_family.name))
        return wbi_fail(err, WB_EINPUT, "family must be \"%s\" for a tool that is a command",
                        wbi_generic_family.name);
    t->workdir = workdir ? from_root(arena, root, wbi_json_str(workdir)) : root;
    if (workdir != NULL && t->workdir.p == NULL)
        return wbi_fail_nomem(err);
    return read_output(wbi_json_get(d, "output"), t, err);
}

static wb_rc read_tool(struct wbi_arena *arena, struct wbi_str root, const wbi_json *descriptor,
                       struct wbi_local_tool **ret, struct wbi_error *err)
{
    struct wbi_local_tool *t = wbi_arena_zalloc(arena, sizeof(*t));
    wb_rc rc;

    if (t == NULL)
        return wbi_fail_nomem(err);
    rc = read_command(arena, root, wbi_json_get(descriptor, "command"), t, err);
    if (rc == WB_OK)
        rc = read_env(arena, wbi_json_get(descriptor, "env"), t, err);
    if (rc == WB_OK)
        rc = read_rest(arena, root, descriptor, t, err);
    if (rc == WB_OK)
        *ret = t;
    return rc;
}

static struct wbi_tool_binding bind_local(struct wbi_local_tool *t)
{
    return (struct wbi_tool_binding){.family = &wbi_generic_family,
                                     .ops = &wbi_local_ops,
                                     .ops_arg = t,
                                     .timeout_ms = DEFAULT_TIMEOUT_MS};
}

wb_rc wbi_local_tool_add(struct wbi_runtime *rt, const wbi_json *descriptor, struct wbi_error *err)
{
    struct wbi_tool_binding binding;
    struct wbi_local_tool *t;
    wb_rc rc = read_tool(rt->arena, rt->root, descriptor, &t, err);

    if (rc != WB_OK)
        return rc;
    binding = bind_local(t);
    return wbi_runtime_add_tool(rt, descriptor, &binding, err);
}

wb_rc wbi_local_tool_check(struct wbi_arena *arena, struct wbi_str root, const wbi_json *descriptor,
                           struct wbi_catalog_builder *builder, struct wbi_error *err)
{
    struct wbi_tool_binding binding;
    struct wbi_local_tool *t;
    wb_rc rc = read_tool(arena, root, descriptor, &t, err);

    if (rc == WB_OK)
        rc = wbi_tool_policies_check(descriptor, err);
    if (rc != WB_OK)
        return rc;
    binding = bind_local(t);
    return wbi_catalog_add(builder, descriptor, &binding, err);
}

wb_rc wbi_local_tool_look(struct wbi_arena *arena, struct wbi_str root, const wbi_json *descriptor,
                          struct wbi_error *err)
{
    struct wbi_process_spec spec = {.search_path = wbi_str_z(getenv("PATH"))};
    struct wbi_local_tool *t;
    wb_rc rc = read_tool(arena, root, descriptor, &t, err);

    if (rc != WB_OK)
        return rc;
    spec.argv = t->argv;
    spec.argc = t->argc;
    spec.workdir = t->workdir;
    return wbi_process_look(arena, &spec, err);
}
