/* SPDX-License-Identifier: Apache-2.0
 * config/config.c: layering. Files are read first (config/load.c), then taken in
 * the order of precedence: the user's, then the workspace's as far as trust
 * goes. Nothing is merged into new JSON: parts keep their file and place. */
#include "config/config.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "config/layers_int.h"
#include "json/pointer.h"
#include "json/write.h"

static const char *const not_trusted = "the workspace is not trusted (waybill config trust)";
static const char *const tightens_only =
    "values that loosen are not taken until the workspace is trusted (waybill config trust)";

/* Taking */

static void ignore(struct wbi_config *c, const struct wbi_config_file *file, struct wbi_str what,
                   const char *reason)
{
    c->ignored[c->ignored_n++] = (struct wbi_config_ignored){file->name, what, reason, false};
}

static void ignore_tools(struct wbi_config *c, const struct wbi_config_file *file,
                         struct wbi_str name, const char *reason)
{
    ignore(c, file, name, reason);
    c->ignored[c->ignored_n - 1].names_tools = true;
}

static const struct wbi_config_tool *tool_named(const struct wbi_config *c, struct wbi_str name)
{
    for (size_t i = 0; i < c->tools_n; i++)
        if (wbi_str_eq(c->tools[i].name, name))
            return &c->tools[i];
    return NULL;
}

/* What a tool that declares no version has (docs/tools.md). */
static struct wbi_str version_of(const wbi_json *tool)
{
    struct wbi_str version = wbi_json_get_str(tool, "version");

    return version.p ? version : WBI_LIT("1.0.0");
}

/* Several versions of a tool stand side by side; one of them twice is a slip. */
static const struct wbi_config_tool *same_version(const struct wbi_config *c, struct wbi_str name,
                                                  struct wbi_str version)
{
    for (size_t i = 0; i < c->tools_n; i++)
        if (wbi_str_eq(c->tools[i].name, name) &&
            wbi_str_eq(version_of(c->tools[i].descriptor), version))
            return &c->tools[i];
    return NULL;
}

static wb_rc take_tool(struct wbi_config *c, const struct wbi_config_file *file,
                       const wbi_json *tool, struct wbi_error *err)
{
    struct wbi_str name = wbi_json_get_str(tool, "name");
    const struct wbi_config_tool *same = tool_named(c, name);

    if (file->workspace && c->trust != WBI_CONFIG_TRUSTED) {
        ignore_tools(c, file, name, not_trusted);
        return WB_OK;
    }
    if (same != NULL && file->workspace && !same->workspace) {
        ignore_tools(c, file, name, "the user's configuration has a tool of this name");
        return WB_OK;
    }
    same = same_version(c, name, version_of(tool));
    if (same != NULL)
        return wbi_config_fail(err, file, tool, WB_EINPUT,
                               "a second tool is named \"%.*s\" with version %.*s; the first is in "
                               "%.*s, line %u",
                               WBI_FMT(wbi_str_head(name, 100)),
                               WBI_FMT(wbi_str_head(version_of(tool), 40)), WBI_FMT(same->file),
                               same->line);
    c->tools[c->tools_n++] = (struct wbi_config_tool){name, tool, file->name,
                                                      wbi_config_line(file, tool), file->workspace};
    return WB_OK;
}

static wb_rc take_tools(struct wbi_config *c, const struct wbi_config_file *file,
                        struct wbi_error *err)
{
    const wbi_json *list = file->tool ? file->root : wbi_json_get(file->root, "tools");
    wb_rc rc = WB_OK;

    if (file->tool && wbi_json_is(file->root, WBI_JSON_OBJ))
        return take_tool(c, file, file->root, err);
    WBI_JSON_EACH (list, tool) {
        if (rc == WB_OK)
            rc = take_tool(c, file, tool, err);
    }
    return rc;
}

static bool has_server(const struct wbi_config *c, struct wbi_str name)
{
    for (size_t i = 0; i < c->servers_n; i++)
        if (wbi_str_eq(c->servers[i].name, name))
            return true;
    return false;
}

static void take_servers(struct wbi_config *c, const struct wbi_config_file *file)
{
    const wbi_json *servers = wbi_json_get(file->root, "mcpServers");

    WBI_JSON_EACH_MEMBER (servers, k) {
        struct wbi_str name = wbi_json_str(k);

        if (file->workspace && c->trust != WBI_CONFIG_TRUSTED)
            ignore_tools(c, file, name, not_trusted);
        else if (has_server(c, name))
            ignore_tools(c, file, name, "the user's configuration has a server of this name");
        else
            c->servers[c->servers_n++] = (struct wbi_config_server){
                name, k_val, file->name, wbi_config_line(file, k), file->workspace};
    }
}

static struct wbi_config_part part_of(const struct wbi_config *c,
                                      const struct wbi_config_file *file, const wbi_json *value,
                                      const wbi_json *place)
{
    return (struct wbi_config_part){value, file->name, wbi_config_line(file, place),
                                    file->workspace,
                                    file->workspace && c->trust != WBI_CONFIG_TRUSTED};
}

/* What of a binding only tightens: whom it is for, what it denies, and when it asks. What it
 * allows, and the gates of that, would mean something else without the other bindings. NULL in
 * *ret where nothing is left. */
static wb_rc tight_binding(struct wbi_config *c, const wbi_json *binding, const wbi_json **ret,
                           bool *ret_whole)
{
    static const char *const names[] = {"principal", "deny", "approval"};
    struct wbi_buf text;
    struct wbi_jw w;
    size_t kept = 0;

    *ret = NULL;
    wbi_buf_init_arena(&text, c->arena, WBI_LIMIT_JSON_TEXT);
    w = wbi_jw_to(&text);
    wbi_jw_obj(&w);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const wbi_json *value = wbi_json_get(binding, names[i]);

        if (value != NULL)
            wbi_jw_kval(&w, names[i], value);
        kept += value != NULL;
    }
    wbi_jw_obj_end(&w);
    *ret_whole = kept == wbi_json_count(binding);
    if (kept == (wbi_json_get(binding, "principal") != NULL))
        return WB_OK;
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_buf_rc(&text);
    return wbi_json_read(c->arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, NULL);
}

static wb_rc take_bindings(struct wbi_config *c, const struct wbi_config_file *file)
{
    bool tighten_only = file->workspace && c->trust != WBI_CONFIG_TRUSTED, left_out = false;
    const wbi_json *bindings = wbi_json_get(file->root, "bindings");
    wb_rc rc = WB_OK;

    WBI_JSON_EACH (bindings, b) {
        const wbi_json *value = b;
        bool whole = true;

        if (rc == WB_OK && tighten_only)
            rc = tight_binding(c, b, &value, &whole);
        if (rc == WB_OK && value != NULL)
            c->bindings[c->bindings_n++] = part_of(c, file, value, b);
        left_out |= !whole || value == NULL;
    }
    if (left_out)
        ignore(c, file, WBI_LIT("bindings"), tightens_only);
    return rc;
}

static void take_settings(struct wbi_config *c, const struct wbi_config_file *file)
{
    const wbi_json *settings = wbi_json_get(file->root, "settings");

    if (settings == NULL)
        return;
    c->settings[c->settings_n++] = part_of(c, file, settings, settings - 1);
    if (!c->settings[c->settings_n - 1].tighten_only)
        return;
    WBI_JSON_EACH_MEMBER (settings, k) {
        struct wbi_str name = wbi_json_str(k);
        bool numbers = wbi_str_eqz(name, "budgets") || wbi_str_eqz(name, "limits");

        ignore(c, file, name, numbers ? tightens_only : not_trusted);
    }
}

/* Order for later-wins: the trusted workspace's, the user's, a tightening one. */
static void take_policies(struct wbi_config *c, const struct wbi_config_file *file)
{
    const wbi_json *policies = wbi_json_get(file->root, "policies");
    struct wbi_config_part part;

    if (policies == NULL)
        return;
    part = part_of(c, file, policies, policies - 1);
    if (part.tighten_only)
        ignore(c, file, WBI_LIT("policies"), tightens_only);
    if (c->policies_n > 0 && part.workspace && !part.tighten_only) {
        c->policies[1] = c->policies[0];
        c->policies[0] = part;
        c->policies_n++;
        return;
    }
    c->policies[c->policies_n++] = part;
}

static wb_rc take_file(struct wbi_config *c, const struct wbi_config_file *file,
                       struct wbi_error *err)
{
    wb_rc rc = take_tools(c, file, err);

    if (rc != WB_OK || file->tool)
        return rc;
    take_servers(c, file);
    take_settings(c, file);
    take_policies(c, file);
    rc = take_bindings(c, file);
    return rc == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

/* How many of each there can be at most, so that lists need not grow. */
static wb_rc make_lists(struct wbi_config *c)
{
    size_t tools = 0, servers = 0, bindings = 0, settings = 0;

    for (size_t i = 0; i < c->files_n; i++) {
        const wbi_json *root = c->files[i].root;

        tools += c->files[i].tool ? 1 + wbi_json_count(root)
                                  : wbi_json_count(wbi_json_get(root, "tools"));
        servers += wbi_json_count(wbi_json_get(root, "mcpServers"));
        bindings += wbi_json_count(wbi_json_get(root, "bindings"));
        settings += 2 + wbi_json_count(wbi_json_get(root, "settings"));
    }
    c->tools = wbi_arena_array(c->arena, tools, sizeof(*c->tools));
    c->servers = wbi_arena_array(c->arena, servers, sizeof(*c->servers));
    c->bindings = wbi_arena_array(c->arena, bindings, sizeof(*c->bindings));
    c->ignored =
        wbi_arena_array(c->arena, tools + servers + bindings + settings, sizeof(*c->ignored));
    return c->tools && c->servers && c->bindings && c->ignored ? WB_OK : WB_ENOMEM;
}

static wb_rc find_trust(struct wbi_config *c, bool as_trusted, struct wbi_error *err)
{
    char hex[WBI_SHA256_HEX];
    struct wbi_str recorded;
    wb_rc rc;

    c->trust = WBI_CONFIG_TRUSTED;
    if (as_trusted || c->files_n == 0 || !c->files[c->files_n - 1].workspace)
        return WB_OK;
    rc = wbi_trust_lookup(c->arena, c->user_state, c->root, &recorded, err);
    if (rc != WB_OK)
        return rc;
    c->trust = WBI_CONFIG_UNTRUSTED;
    if (recorded.p == NULL)
        return WB_OK;
    rc = wbi_trust_hash(c->files, c->files_n, hex, err);
    if (rc == WB_OK)
        c->trust = wbi_str_eqz(recorded, hex) ? WBI_CONFIG_TRUSTED : WBI_CONFIG_CHANGED;
    return rc;
}

static wb_rc fill(struct wbi_config *c, const struct wbi_places *places, struct wbi_error *err)
{
    wb_rc rc;

    c->root = wbi_arena_str(c->arena, places->root);
    c->user_state = wbi_arena_str(c->arena, places->user_state);
    if (c->root.p == NULL || (c->user_state.p == NULL && places->user_state.p != NULL))
        return wbi_fail_nomem(err);
    rc = wbi_config_read_files(c, places, err);
    if (rc == WB_OK)
        rc = find_trust(c, places->as_trusted, err);
    if (rc == WB_OK && make_lists(c) != WB_OK)
        rc = wbi_fail_nomem(err);
    for (size_t i = 0; i < c->files_n && rc == WB_OK; i++)
        rc = take_file(c, &c->files[i], err);
    return rc;
}

wb_rc wbi_config_load(const struct wbi_places *places, struct wbi_config **ret,
                      struct wbi_error *err)
{
    struct wbi_config *c = wbi_zalloc(sizeof(*c));
    wb_rc rc;

    if (c == NULL)
        return wbi_fail_nomem(err);
    atomic_init(&c->refs, 1);
    rc = wbi_arena_new(WBI_LIMIT_CONFIG_ARENA, &c->arena) == WB_OK ? fill(c, places, err)
                                                                   : wbi_fail_nomem(err);
    if (rc == WB_OK)
        *ret = c;
    else
        wbi_config_unref(c);
    return rc;
}

struct wbi_config *wbi_config_ref(struct wbi_config *c)
{
    (void)atomic_fetch_add(&c->refs, 1);
    return c;
}

void wbi_config_unref(struct wbi_config *c)
{
    if (c == NULL || atomic_fetch_sub(&c->refs, 1) > 1)
        return;
    wbi_arena_free(c->arena);
    wbi_free(c);
}

/* Trust */

enum wbi_config_trust wbi_config_trust_state(const struct wbi_config *c)
{
    return c->trust;
}

const char *wbi_config_trust_name(enum wbi_config_trust state)
{
    static const char *const names[] = {"trusted", "untrusted", "changed"};

    return names[state];
}

wb_rc wbi_config_trust(const struct wbi_config *c, const struct wbi_clock *clock,
                       struct wbi_error *err)
{
    char hex[WBI_SHA256_HEX];
    wb_rc rc;

    if (c->user_state.p == NULL)
        return wbi_fail(err, WB_ESTATE,
                        "there is no user's state folder to record trust in; set HOME or "
                        "XDG_STATE_HOME");
    rc = wbi_trust_hash(c->files, c->files_n, hex, err);
    if (rc != WB_OK)
        return rc;
    return wbi_trust_record(c->user_state, c->root, hex, wbi_wall_ms(clock), err);
}

/* Looking */

size_t wbi_config_tools(const struct wbi_config *c, const struct wbi_config_tool **ret)
{
    *ret = c->tools;
    return c->tools_n;
}

size_t wbi_config_servers(const struct wbi_config *c, const struct wbi_config_server **ret)
{
    *ret = c->servers;
    return c->servers_n;
}

size_t wbi_config_policies(const struct wbi_config *c, const struct wbi_config_part **ret)
{
    *ret = c->policies;
    return c->policies_n;
}

size_t wbi_config_setting_parts(const struct wbi_config *c, const struct wbi_config_part **ret)
{
    *ret = c->settings;
    return c->settings_n;
}

size_t wbi_config_bindings(const struct wbi_config *c, const struct wbi_config_part **ret)
{
    *ret = c->bindings;
    return c->bindings_n;
}

size_t wbi_config_ignored(const struct wbi_config *c, const struct wbi_config_ignored **ret)
{
    *ret = c->ignored;
    return c->ignored_n;
}

size_t wbi_config_file_count(const struct wbi_config *c)
{
    return c->files_n;
}

struct wbi_str wbi_config_file_name(const struct wbi_config *c, size_t i)
{
    return i < c->files_n ? c->files[i].name : WBI_NONE;
}

static const wbi_json *setting_at(const struct wbi_config_part *part, const char *pointer)
{
    const wbi_json *v = NULL;

    return wbi_json_pointer(part->value, wbi_str_z(pointer), &v, NULL) == WB_OK ? v : NULL;
}

const wbi_json *wbi_config_setting(const struct wbi_config *c, const char *pointer)
{
    const wbi_json *v = NULL;

    for (size_t i = 0; i < c->settings_n && v == NULL; i++)
        if (!c->settings[i].tighten_only)
            v = setting_at(&c->settings[i], pointer);
    return v;
}

/* A wish of a file that may only tighten: 0 would be no limit at all, and of the disk's free
 * space less is looser. */
static bool tightens(const char *pointer, int64_t wish, int64_t value)
{
    return wish > 0 && wish < value && strcmp(pointer, "/limits/freeDiskBytes") != 0;
}

int64_t wbi_config_number(const struct wbi_config *c, const char *pointer, int64_t otherwise)
{
    int64_t value = otherwise, wish;

    if (!wbi_json_i64(wbi_config_setting(c, pointer), &value))
        value = otherwise;
    for (size_t i = 0; i < c->settings_n; i++)
        if (c->settings[i].tighten_only &&
            wbi_json_i64(setting_at(&c->settings[i], pointer), &wish) &&
            tightens(pointer, wish, value))
            value = wish;
    return value;
}

void wbi_config_locate(const struct wbi_config *config, const struct wbi_config_part *part,
                       const wbi_json *v, struct wbi_error *err)
{
    if (err == NULL)
        return;
    wbi_error_at(err, part->file);
    err->line = part->line;
    err->column = 1;
    for (size_t i = 0; v != NULL && i < config->files_n; i++) {
        const struct wbi_config_file *file = &config->files[i];
        size_t offset = wbi_json_offset(file->copy, v);

        if (offset == SIZE_MAX) /* a number has no place of its own: its name has */
            offset = wbi_json_offset(file->copy, v - 1);
        if (wbi_str_eq(file->name, part->file) && offset != SIZE_MAX)
            wbi_error_locate(err, file->text.p, file->text.n, offset);
    }
}
