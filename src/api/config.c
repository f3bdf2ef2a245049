/* SPDX-License-Identifier: Apache-2.0
 * api/config.c: what the files say, for people. */
#include "api/api_int.h"
#include "base/limits.h"
#include "builtin/builtin.h"
#include "call/guards.h"
#include "config/config.h"
#include "serve/upstreams.h"

extern const char wbi_data_config_schema_json[];
extern const size_t wbi_data_config_schema_json_n;

const char *wb_config_schema(size_t *ret_size)
{
    if (ret_size != NULL)
        *ret_size = wbi_data_config_schema_json_n;
    return wbi_data_config_schema_json;
}

static void write_tools(struct wbi_jw *w, const struct wbi_config *config)
{
    const struct wbi_config_tool *tools;
    const struct wbi_config_server *servers;
    size_t n = wbi_config_tools(config, &tools);

    wbi_jw_key(w, "tools");
    wbi_jw_arr(w);
    for (size_t i = 0; i < n; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "name", tools[i].name);
        wbi_jw_kstr(w, "file", tools[i].file);
        wbi_jw_kint(w, "line", tools[i].line);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    n = wbi_config_servers(config, &servers);
    wbi_jw_key(w, "servers");
    wbi_jw_arr(w);
    for (size_t i = 0; i < n; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "name", servers[i].name);
        wbi_jw_kstr(w, "file", servers[i].file);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

/* Each with the file it stands in; of policies a later one wins. */
static void write_parts(struct wbi_jw *w, const char *name, const struct wbi_config_part *parts,
                        size_t n)
{
    wbi_jw_key(w, name);
    wbi_jw_arr(w);
    for (size_t i = 0; i < n; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "file", parts[i].file);
        wbi_jw_kint(w, "line", parts[i].line);
        if (parts[i].tighten_only)
            wbi_jw_kbool(w, "tightensOnly", true);
        wbi_jw_kval(w, "value", parts[i].value);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

static void write_rules(struct wbi_jw *w, const struct wbi_config *config)
{
    const struct wbi_config_part *parts;
    size_t n = wbi_config_policies(config, &parts);

    write_parts(w, "policies", parts, n);
    n = wbi_config_bindings(config, &parts);
    write_parts(w, "bindings", parts, n);
    n = wbi_config_setting_parts(config, &parts);
    write_parts(w, "settings", parts, n);
}

/* ---- what of a workspace that is not trusted holds, and what does not ---- */

struct tight {
    struct wbi_jw *w;
    bool holds; /* those that are told */
    const char *reason;
    struct wbi_buf what;
};

static void write_tight(void *arg, const struct wbi_policy_tight *t)
{
    struct tight *told = arg;
    bool environment = t->glob.p == NULL;

    if (t->holds != told->holds)
        return;
    wbi_buf_clear(&told->what);
    wbi_buf_addf(&told->what, "policies.%s%s", t->layer, environment ? "." : "s.");
    if (!environment)
        wbi_buf_addf(&told->what, "%.*s.", WBI_FMT(t->glob));
    wbi_buf_addz(&told->what, t->item);
    wbi_jw_obj(told->w);
    wbi_jw_kstr(told->w, "file", t->file);
    wbi_jw_kstr(told->w, "what", wbi_buf_str(&told->what));
    if (told->reason != NULL)
        wbi_jw_kstrz(told->w, "reason", told->reason);
    wbi_jw_obj_end(told->w);
}

/* Which values hold is known once the tools are asked. */
static wb_rc ask_tools(struct wbi_runtime *rt)
{
    const struct wbi_policy_effective *unused;
    struct wbi_catalog *catalog;
    wb_rc rc = wbi_runtime_catalog(rt, &catalog, NULL);

    for (size_t i = 0; rc == WB_OK && i < wbi_catalog_count(catalog); i++) {
        const struct wbi_tool *tool = wbi_catalog_at(catalog, i);
        rc = wbi_policy_effective(rt->guards->policy, tool->qualified, rt->principal,
                                  tool->timeout_ms > 0 ? tool->timeout_ms : WBI_NO_LIMIT_MS,
                                  &unused);
    }
    return rc;
}

static wb_rc write_policies(struct wbi_jw *w, struct wbi_runtime *rt, bool holds,
                            const char *reason)
{
    struct tight told = {.w = w, .holds = holds, .reason = reason};
    wb_rc rc = ask_tools(rt);

    wbi_buf_init(&told.what, WBI_LIMIT_PATH);
    if (rc == WB_OK)
        rc = wbi_policy_each_tight(rt->guards->policy, write_tight, &told);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&told.what);
    wbi_buf_fini(&told.what);
    return rc;
}

/* Of policies only the values that do not hold. */
static wb_rc write_ignored(struct wbi_jw *w, struct wbi_runtime *rt)
{
    const struct wbi_config_ignored *list;
    size_t n = wbi_config_ignored(rt->config, &list);
    wb_rc rc = WB_OK;

    wbi_jw_key(w, "ignored");
    wbi_jw_arr(w);
    for (size_t i = 0; i < n && rc == WB_OK; i++) {
        if (!list[i].names_tools && wbi_str_eqz(list[i].what, "policies")) {
            rc = write_policies(w, rt, /* holds= */ false, list[i].reason);
            continue;
        }
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "file", list[i].file);
        wbi_jw_kstr(w, "what", list[i].what);
        wbi_jw_kstrz(w, "reason", list[i].reason);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    wbi_jw_key(w, "tightening");
    wbi_jw_arr(w);
    if (rc == WB_OK)
        rc = write_policies(w, rt, /* holds= */ true, NULL);
    wbi_jw_arr_end(w);
    return rc;
}

/* Budgets of tools that there are not: they have no effect. */
static void write_unused_budgets(struct wbi_jw *w, const struct wbi_config *config)
{
    const struct wbi_config_part *parts;
    size_t n = wbi_config_setting_parts(config, &parts);

    wbi_jw_key(w, "unusedBudgets");
    wbi_jw_arr(w);
    for (size_t i = 0; i < n; i++)
        WBI_JSON_EACH_MEMBER (wbi_json_get(parts[i].value, "budgets"), name) {
            if (wbi_builtin_family_of(wbi_json_str(name)) == NULL)
                wbi_jw_str(w, wbi_json_str(name));
            (void)name_val;
        }
    wbi_jw_arr_end(w);
}

/* ---- globs that name nothing ---- */

#define GLOBS_TOLD 20u /* enough to see what is wrong */

struct globs {
    const struct wbi_runtime *rt;
    size_t told;
    const struct wbi_catalog *catalog;
    struct wbi_buf scratch;
    struct wbi_jw *w;
};

static bool is_like(struct globs *g, struct wbi_str glob, struct wbi_str name)
{
    wbi_buf_clear(&g->scratch);
    wbi_buf_adds(&g->scratch, glob);
    wbi_buf_adds(&g->scratch, name);
    if (wbi_buf_rc(&g->scratch) != WB_OK)
        return true; /* too long to be told of */
    wbi_lower(g->scratch.p, g->scratch.n);
    return wbi_glob_match(wbi_str_head(wbi_buf_str(&g->scratch), glob.n),
                          wbi_str_from(wbi_buf_str(&g->scratch), glob.n));
}

/* Tools of MCP servers are not known before these are asked. */
static bool may_be_a_servers(const struct globs *g, struct wbi_str glob)
{
    const struct wbi_config_server *servers;

    return wbi_config_servers(g->rt->config, &servers) > 0 &&
           !wbi_str_starts(glob, WBI_LIT("local::"));
}

static void look_for(struct globs *g, struct wbi_str glob)
{
    if (g->told == GLOBS_TOLD || may_be_a_servers(g, glob))
        return;
    for (size_t i = 0; i < wbi_catalog_count(g->catalog); i++) {
        const struct wbi_tool *tool = wbi_catalog_at(g->catalog, i);
        if (is_like(g, glob, tool->qualified) || is_like(g, glob, tool->model_name) ||
            is_like(g, glob, wbi_name_parts(tool->qualified).tool))
            return;
    }
    wbi_jw_str(g->w, glob);
    g->told++;
}

static void look_for_all(struct globs *g, const wbi_json *list)
{
    WBI_JSON_EACH (list, glob)
        look_for(g, wbi_json_str(glob));
}

static void look_for_members(struct globs *g, const wbi_json *object)
{
    WBI_JSON_EACH_MEMBER (object, glob) {
        look_for(g, wbi_json_str(glob));
        (void)glob_val;
    }
}

/* Rules for tools that there are not: most likely a name was misspelt. Not those of files that
 * do not count yet, nor do the tools that they name. */
static void write_unused_globs(struct wbi_jw *w, struct wbi_runtime *rt)
{
    const struct wbi_config_part *parts;
    struct wbi_catalog *catalog = NULL;
    struct globs g = {.rt = rt, .w = w};
    size_t n;

    wbi_buf_init(&g.scratch, WBI_LIMIT_PATH);
    wbi_jw_key(w, "unusedGlobs");
    wbi_jw_arr(w);
    n = wbi_runtime_catalog(rt, &catalog, NULL) == WB_OK ? wbi_config_policies(rt->config, &parts)
                                                         : 0;
    g.catalog = catalog;
    for (size_t i = 0; i < n; i++)
        if (!parts[i].tighten_only)
            look_for_members(&g, wbi_json_get(parts[i].value, "tools"));
    n = catalog != NULL ? wbi_config_bindings(rt->config, &parts) : 0;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].tighten_only)
            continue;
        look_for_all(&g, wbi_json_get(parts[i].value, "allow"));
        look_for_all(&g, wbi_json_get(parts[i].value, "deny"));
        look_for_members(&g, wbi_json_get(parts[i].value, "approval"));
    }
    wbi_jw_arr_end(w);
    wbi_buf_fini(&g.scratch);
}

static wb_rc write_report(struct wbi_buf *out, struct wbi_runtime *rt)
{
    struct wbi_jw w = wbi_jw_to(out);
    wb_rc rc;

    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "root", rt->root);
    wbi_jw_kstr(&w, "state", rt->state);
    wbi_jw_key(&w, "files");
    wbi_jw_arr(&w);
    for (size_t i = 0; i < wbi_config_file_count(rt->config); i++)
        wbi_jw_str(&w, wbi_config_file_name(rt->config, i));
    wbi_jw_arr_end(&w);
    wbi_jw_kstrz(&w, "trust", wbi_config_trust_name(wbi_config_trust_state(rt->config)));
    write_tools(&w, rt->config);
    write_rules(&w, rt->config);
    rc = write_ignored(&w, rt);
    wbi_jw_key(&w, "unmasked");
    wbi_jw_arr(&w);
    for (size_t i = 0; i < rt->unmasked_n; i++)
        wbi_jw_str(&w, rt->unmasked[i]);
    wbi_jw_arr_end(&w);
    write_unused_budgets(&w, rt->config);
    write_unused_globs(&w, rt);
    wbi_jw_obj_end(&w);
    return rc;
}

/* Whether all files are right, also those that do not count yet: who has looked at them
 * and trusts them must not find out then. Nothing of them is run. */
static wb_rc check_as_trusted(const wb_options *options, wb_error **reterr)
{
    struct wbi_runtime_options o = wbi_api_options(options);
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_upstreams *ups = NULL;
    struct wbi_runtime *rt = NULL;
    wb_rc rc;

    o.as_trusted = true;
    o.events = WBI_NONE;
    rc = wbi_runtime_new(&o, &rt, &err);
    if (rc == WB_OK)
        rc = wbi_upstreams_new(rt, &ups, &err); /* which starts none */
    wbi_upstreams_stop(ups);
    wbi_runtime_free(rt);
    wbi_upstreams_free(ups);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}

wb_rc wb_config_check(const wb_options *options, char **ret, size_t *ret_size, wb_error **reterr)
{
    wb_runtime *runtime;
    struct wbi_buf out;
    wb_rc rc;

    if (ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_config_check: ret is NULL");
    rc = check_as_trusted(options, reterr);
    if (rc == WB_OK)
        rc = wb_runtime_new(options, &runtime, reterr);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    if (runtime->rt->config != NULL)
        rc = write_report(&out, runtime->rt);
    else
        wbi_buf_addz(&out, "{}");
    wb_runtime_free(runtime);
    if (rc != WB_OK) {
        wbi_buf_fini(&out);
        return wbi_api_fail_text(reterr, rc, "out of memory");
    }
    return wbi_api_give(&out, ret, ret_size, reterr);
}

wb_rc wb_config_root(const wb_options *options, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_runtime_options o = wbi_api_options(options);
    struct wbi_places_wish wish = {.root = o.root, .state = o.state, .config = o.config_file};
    struct wbi_env env = wbi_env_process();
    struct wbi_places places;
    struct wbi_arena *arena;
    struct wbi_buf out;
    wb_rc rc;

    if (ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_config_root: ret is NULL");
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_PATH);
    rc = wbi_places_find(arena, &wish, &env, &places, &err);
    if (rc == WB_OK)
        wbi_buf_adds(&out, places.root);
    wbi_arena_free(arena);
    return rc == WB_OK ? wbi_api_give(&out, ret, ret_size, reterr) : wbi_api_fail(reterr, &err);
}

wb_rc wb_config_trust(const wb_options *options, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_runtime_options o = wbi_api_options(options);
    struct wbi_places_wish wish = {.root = o.root, .state = o.state, .config = o.config_file};
    struct wbi_env env = wbi_env_process();
    struct wbi_clock clock = wbi_clock_system();
    struct wbi_config *config = NULL;
    struct wbi_places places;
    struct wbi_arena *arena;
    wb_rc rc = check_as_trusted(options, reterr);

    if (rc != WB_OK)
        return rc;
    rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);
    if (rc != WB_OK)
        return wbi_api_fail_text(reterr, rc, "out of memory");
    rc = wbi_places_find(arena, &wish, &env, &places, &err);
    if (rc == WB_OK)
        rc = wbi_config_load(&places, &config, &err);
    if (rc == WB_OK)
        rc = wbi_config_trust(config, &clock, &err);
    wbi_config_unref(config);
    wbi_arena_free(arena);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}
