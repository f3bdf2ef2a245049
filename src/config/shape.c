/* SPDX-License-Identifier: Apache-2.0
 * config/shape.c: which members a file may have and of what type they are.
 * What stands inside a descriptor, a server or a policy is checked by the room
 * that uses it. config/schema.json says the same to editors; a test holds the
 * two together. */
#include "config/config_int.h"

const char *const wbi_config_members[] = {"$schema",  "tools",    "mcpServers", "policies",
                                          "bindings", "settings", NULL};
const char *const wbi_config_settings[] = {"budgets", "shell",  "env",    "limits", "secrets",
                                           "files",   "notify", "agents", NULL};

static bool is_one_of(struct wbi_str name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (wbi_str_eqz(name, *names))
            return true;
    return false;
}

/* "a, b, c" into out. */
static void list_names(const char *const *names, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (; *names != NULL && n < size; names++) {
        size_t len = strlen(*names);

        if (n + len + 3 > size)
            break;
        if (n > 0) {
            memcpy(out + n, ", ", 2);
            n += 2;
        }
        memcpy(out + n, *names, len + 1);
        n += len;
    }
}

static wb_rc check_names(const struct wbi_config_file *file, const wbi_json *o, const char *where,
                         const char *const *names, struct wbi_error *err)
{
    WBI_JSON_EACH_MEMBER (o, k) {
        char accepted[256];

        if (is_one_of(wbi_json_str(k), names))
            continue;
        list_names(names, accepted, sizeof(accepted));
        return wbi_config_fail(err, file, k, WB_EINPUT,
                               "unknown member \"%.*s\"%s; accepted are %s",
                               WBI_FMT(wbi_str_head(wbi_json_str(k), 100)), where, accepted);
    }
    return WB_OK;
}

/* The member's key, for the place of an error. */
static const wbi_json *key_of(const wbi_json *o, const char *name)
{
    const wbi_json *v = wbi_json_get(o, name);

    return v ? v - 1 : NULL;
}

static wb_rc wrong_type(const struct wbi_config_file *file, const wbi_json *key, const char *wanted,
                        struct wbi_error *err)
{
    return wbi_config_fail(err, file, key, WB_EINPUT, "\"%.*s\" is of type %s; it must be %s",
                           WBI_FMT(wbi_str_head(wbi_json_str(key), 100)),
                           wbi_json_type_name(key + 1), wanted);
}

static wb_rc check_type(const struct wbi_config_file *file, const wbi_json *o, const char *name,
                        enum wbi_json_type type, const char *wanted, struct wbi_error *err)
{
    const wbi_json *key = key_of(o, name);

    if (key == NULL || wbi_json_is(key + 1, type))
        return WB_OK;
    return wrong_type(file, key, wanted, err);
}

static wb_rc check_tool(const struct wbi_config_file *file, const wbi_json *tool,
                        const wbi_json *near, struct wbi_error *err)
{
    struct wbi_str name = wbi_json_get_str(tool, "name");

    if (!wbi_json_is(tool, WBI_JSON_OBJ))
        return wbi_config_fail(err, file, near, WB_EINPUT,
                               "a tool is of type %s; it must be an object with a \"name\"",
                               wbi_json_type_name(tool));
    if (name.n == 0)
        return wbi_config_fail(err, file, wbi_json_count(tool) > 0 ? tool : near, WB_EINPUT,
                               "a tool has no name; it must have a \"name\" that is a string");
    return WB_OK;
}

/* An array of tools; near is what the place is taken from when one has none. */
static wb_rc check_tools(const struct wbi_config_file *file, const wbi_json *tools,
                         const wbi_json *near, struct wbi_error *err)
{
    WBI_JSON_EACH (tools, tool) {
        wb_rc rc = check_tool(file, tool, near, err);

        if (rc != WB_OK)
            return rc;
    }
    return WB_OK;
}

/* Every member of o, or element of it, is an object. */
static wb_rc check_all_objects(const struct wbi_config_file *file, const wbi_json *key,
                               const char *what, struct wbi_error *err)
{
    const wbi_json *v = key ? key + 1 : NULL;

    WBI_JSON_EACH_MEMBER (v, k) {
        if (!wbi_json_is(k_val, WBI_JSON_OBJ))
            return wrong_type(file, k, what, err);
    }
    WBI_JSON_EACH (v, e) {
        if (!wbi_json_is(e, WBI_JSON_OBJ))
            return wbi_config_fail(err, file, key, WB_EINPUT,
                                   "an element of \"%.*s\" is of type %s; it must be %s",
                                   WBI_FMT(wbi_json_str(key)), wbi_json_type_name(e), what);
    }
    return WB_OK;
}

/* Whole numbers from 0 on. */
static wb_rc check_numbers(const struct wbi_config_file *file, const wbi_json *o,
                           struct wbi_error *err)
{
    WBI_JSON_EACH_MEMBER (o, k) {
        int64_t n;

        if (!wbi_json_i64(k_val, &n) || n < 0)
            return wrong_type(file, k, "a whole number from 0 on", err);
    }
    return WB_OK;
}

static wb_rc check_shell(const struct wbi_config_file *file, const wbi_json *settings,
                         struct wbi_error *err)
{
    const wbi_json *key = key_of(settings, "shell");
    bool fine = true;

    if (key == NULL || wbi_json_is(key + 1, WBI_JSON_STR))
        return WB_OK;
    fine = wbi_json_is(key + 1, WBI_JSON_ARR) && wbi_json_count(key + 1) > 0;
    WBI_JSON_EACH (key + 1, e) {
        fine = fine && wbi_json_is(e, WBI_JSON_STR);
    }
    return fine ? WB_OK : wrong_type(file, key, "a path or an array of strings", err);
}

/* An object whose one member is an array of names of variables. */
static wb_rc check_variables(const struct wbi_config_file *file, const wbi_json *settings,
                             const char *name, const char *member, struct wbi_error *err)
{
    const char *const names[] = {member, NULL};
    const wbi_json *o = wbi_json_get(settings, name), *key = key_of(o, member);
    bool fine = true;
    wb_rc rc = check_type(file, settings, name, WBI_JSON_OBJ, "an object", err);

    if (rc == WB_OK)
        rc = check_names(file, o, " there", names, err);
    if (rc != WB_OK || key == NULL)
        return rc;
    fine = wbi_json_is(key + 1, WBI_JSON_ARR);
    WBI_JSON_EACH (key + 1, e) {
        fine = fine && wbi_json_is(e, WBI_JSON_STR) && wbi_json_str(e).n > 0;
    }
    return fine ? WB_OK : wrong_type(file, key, "an array of names of variables", err);
}

/* A limit that nobody reads would be no limit. */
static wb_rc check_limits(const struct wbi_config_file *file, const wbi_json *settings,
                          struct wbi_error *err)
{
    static const char *const names[] = {"approvalWaitMs",
                                        "artifactAgeDays",
                                        "artifactCallBytes",
                                        "artifactStoreBytes",
                                        "artifactStreamBytes",
                                        "cpuSeconds",
                                        "fileBytes",
                                        "freeDiskBytes",
                                        "memoryBytes",
                                        "openFiles",
                                        "outputBytes",
                                        "processes",
                                        NULL};
    const wbi_json *limits = wbi_json_get(settings, "limits");
    wb_rc rc = check_type(file, settings, "limits", WBI_JSON_OBJ, "an object of numbers", err);

    if (rc == WB_OK)
        rc = check_names(file, limits, " in \"limits\"", names, err);
    return rc == WB_OK ? check_numbers(file, limits, err) : rc;
}

/* "command" of o: a program and its arguments. */
static wb_rc check_command(const struct wbi_config_file *file, const wbi_json *o,
                           const wbi_json *near, struct wbi_error *err)
{
    const wbi_json *key = key_of(o, "command");
    bool fine = key != NULL && wbi_json_is(key + 1, WBI_JSON_ARR) && wbi_json_count(key + 1) > 0;

    WBI_JSON_EACH (fine ? key + 1 : NULL, e) {
        fine = fine && wbi_json_is(e, WBI_JSON_STR);
    }
    if (fine)
        return WB_OK;
    if (key == NULL)
        return wbi_config_fail(err, file, near, WB_EINPUT,
                               "\"command\" is missing: an array of "
                               "strings, the program first");
    return wrong_type(file, key, "an array of strings, the program first", err);
}

/* What the small families run. */
static wb_rc check_programs(const struct wbi_config_file *file, const wbi_json *settings,
                            struct wbi_error *err)
{
    static const char *const of_notify[] = {"command", NULL};
    static const char *const of_agent[] = {"command", "description", "env", "timeoutMs", NULL};
    const wbi_json *notify = key_of(settings, "notify"), *agents = key_of(settings, "agents");
    wb_rc rc = WB_OK;

    if (notify != NULL) {
        rc = check_names(file, notify + 1, " in \"notify\"", of_notify, err);
        if (rc == WB_OK)
            rc = check_command(file, notify + 1, notify, err);
    }
    if (rc == WB_OK)
        rc = check_all_objects(file, agents, "an object with a command", err);
    WBI_JSON_EACH_MEMBER (agents ? agents + 1 : NULL, k) {
        if (rc == WB_OK)
            rc = check_names(file, k_val, " in an agent", of_agent, err);
        if (rc == WB_OK)
            rc = check_command(file, k_val, k, err);
    }
    return rc;
}

static wb_rc check_files(const struct wbi_config_file *file, const wbi_json *settings,
                         struct wbi_error *err)
{
    static const char *const names[] = {"allowGuarded", NULL};
    const wbi_json *files = wbi_json_get(settings, "files");
    wb_rc rc = check_type(file, settings, "files", WBI_JSON_OBJ, "an object", err);

    if (rc == WB_OK && files != NULL)
        rc = check_names(file, files, " in \"files\"", names, err);
    if (rc == WB_OK)
        rc = check_type(file, files, "allowGuarded", WBI_JSON_BOOL, "true or false", err);
    return rc;
}

static wb_rc check_settings(const struct wbi_config_file *file, const wbi_json *settings,
                            struct wbi_error *err)
{
    wb_rc rc = check_names(file, settings, " in \"settings\"", wbi_config_settings, err);

    if (rc == WB_OK)
        rc = check_type(file, settings, "budgets", WBI_JSON_OBJ, "an object of numbers", err);
    if (rc == WB_OK)
        rc = check_numbers(file, wbi_json_get(settings, "budgets"), err);
    if (rc == WB_OK)
        rc = check_limits(file, settings, err);
    if (rc == WB_OK)
        rc = check_variables(file, settings, "env", "allow", err);
    if (rc == WB_OK)
        rc = check_variables(file, settings, "secrets", "env", err);
    if (rc == WB_OK)
        rc = check_shell(file, settings, err);
    if (rc == WB_OK)
        rc = check_type(file, settings, "notify", WBI_JSON_OBJ, "an object", err);
    if (rc == WB_OK)
        rc = check_type(file, settings, "agents", WBI_JSON_OBJ, "an object", err);
    if (rc == WB_OK)
        rc = check_programs(file, settings, err);
    if (rc == WB_OK)
        rc = check_files(file, settings, err);
    return rc;
}

/* A file of tools.d: one descriptor, or an array of them. */
static wb_rc check_tool_file(const struct wbi_config_file *file, struct wbi_error *err)
{
    if (wbi_json_is(file->root, WBI_JSON_ARR))
        return check_tools(file, file->root, NULL, err);
    return check_tool(file, file->root, NULL, err);
}

wb_rc wbi_config_check(const struct wbi_config_file *file, struct wbi_error *err)
{
    const wbi_json *root = file->root;
    wb_rc rc;

    if (file->tool)
        return check_tool_file(file, err);
    if (!wbi_json_is(root, WBI_JSON_OBJ))
        return wbi_config_fail(err, file, NULL, WB_EINPUT,
                               "the file holds a value of type %s; it must hold an object",
                               wbi_json_type_name(root));
    rc = check_names(file, root, "", wbi_config_members, err);
    if (rc == WB_OK)
        rc = check_type(file, root, "$schema", WBI_JSON_STR, "a string", err);
    if (rc == WB_OK)
        rc = check_type(file, root, "tools", WBI_JSON_ARR, "an array of tools", err);
    if (rc == WB_OK)
        rc = check_tools(file, wbi_json_get(root, "tools"), key_of(root, "tools"), err);
    if (rc == WB_OK)
        rc = check_type(file, root, "mcpServers", WBI_JSON_OBJ, "an object of servers", err);
    if (rc == WB_OK)
        rc = check_all_objects(file, key_of(root, "mcpServers"), "an object", err);
    if (rc == WB_OK)
        rc = check_type(file, root, "policies", WBI_JSON_OBJ, "an object", err);
    if (rc == WB_OK)
        rc = check_type(file, root, "bindings", WBI_JSON_ARR, "an array of bindings", err);
    if (rc == WB_OK)
        rc = check_all_objects(file, key_of(root, "bindings"), "an object", err);
    if (rc == WB_OK)
        rc = check_type(file, root, "settings", WBI_JSON_OBJ, "an object", err);
    if (rc == WB_OK)
        rc = check_settings(file, wbi_json_get(root, "settings"), err);
    return rc;
}
