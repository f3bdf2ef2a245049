/* SPDX-License-Identifier: Apache-2.0
 * api/tools_export.c: the tools there are, for providers. */
#include "api/api_int.h"
#include "base/limits.h"
#include "call/definition.h"
#include "call/guards.h"
#include "schema/schema.h"
#include "wire/flat.h"

/* Those that refuse every request with a definition they do not take. */
static unsigned strict_ones(enum wbi_provider provider)
{
    switch (provider) {
    case WBI_PROVIDER_RESPONSES:
        return WBI_LINT_RESPONSES;
    case WBI_PROVIDER_CHAT:
        return WBI_LINT_CHAT;
    case WBI_PROVIDER_ANTHROPIC:
        return WBI_LINT_ANTHROPIC;
    default:
        return 0;
    }
}

/* What lacks a type or properties at its top gets them when it is written. */
static bool is_refused(const struct wbi_schema_finding *f, const wbi_json *schema)
{
    bool added = f->path.n == 0 && wbi_json_getn(schema, f->keyword) == NULL;

    return f->refused && !added;
}

/* With a schema the provider takes; *ret_taken false when it takes none, which is told. */
static wb_rc fit(wb_runtime *runtime, enum wbi_provider provider, struct wbi_arena *arena,
                 struct wbi_definition *d, bool *ret_taken, struct wbi_error *err)
{
    unsigned strict = strict_ones(provider);
    struct wbi_schema_findings found;
    wb_rc rc;

    *ret_taken = wbi_definition_takes_object(d->input_schema);
    if (!*ret_taken)
        wbi_api_notice(runtime, "tool %.*s is left out: its input is never an object",
                       WBI_FMT(d->name));
    if (!*ret_taken || strict == 0 || (d->text && provider != WBI_PROVIDER_ANTHROPIC))
        return WB_OK;
    rc = wbi_schema_flat(arena, d->input_schema, &d->input_schema, err);
    if (rc == WB_OK && wbi_schema_lint(d->input_schema, strict, arena, &found) != WB_OK)
        rc = wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && *ret_taken && i < found.n; i++) {
        const struct wbi_schema_finding *f = &found.list[i];

        if (!is_refused(f, d->input_schema))
            continue;
        *ret_taken = false;
        wbi_api_notice(runtime,
                       "tool %.*s is left out, its definition would be refused: %.*s: %.*s",
                       WBI_FMT(d->name), WBI_FMT(f->path.n > 0 ? f->path : WBI_LIT("its input")),
                       WBI_FMT(f->text));
    }
    return rc;
}

struct export
{
    wb_runtime *runtime;
    struct wbi_str principal;
    enum wbi_provider provider;
    struct wbi_buf out;
    wb_rc rc;
    struct wbi_error err;
};

static wb_rc export_all(struct export *x, struct wbi_catalog *catalog, struct wbi_arena *arena)
{
    struct wbi_definition *list =
        wbi_arena_array(arena, wbi_catalog_count(catalog) + 1, sizeof(*list));
    bool taken = true;
    size_t n = 0;
    wb_rc rc = list != NULL ? WB_OK : wbi_fail_nomem(&x->err);

    for (size_t i = 0; rc == WB_OK && i < wbi_catalog_count(catalog); i++) {
        const struct wbi_tool *t = wbi_catalog_at(catalog, i);

        if (!wbi_guards_tells(x->runtime->rt, x->principal, catalog, t))
            continue;
        list[n] = wbi_definition_of(t, false);
        rc = fit(x->runtime, x->provider, arena, &list[n], &taken, &x->err);
        n += taken;
    }
    return rc == WB_OK ? wbi_definitions_write(x->provider, list, n, &x->out, &x->err) : rc;
}

static void export(void *arg)
{
    struct export *x = arg;
    struct wbi_catalog *catalog;
    struct wbi_arena *arena;

    x->rc = wbi_runtime_catalog(x->runtime->rt, &catalog, &x->err);
    if (x->rc == WB_OK && wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        x->rc = wbi_fail_nomem(&x->err);
    if (x->rc != WB_OK)
        return;
    x->rc = export_all(x, catalog, arena);
    wbi_arena_free(arena);
}

wb_rc wb_tools_export(wb_runtime *runtime, const char *principal, const char *provider, char **ret,
                      size_t *ret_size, wb_error **reterr)
{
    struct export x = {.principal = wbi_str_z(principal), .err = WBI_ERROR_INIT};

    if (wbi_api_check(runtime, "wb_tools_export", reterr) != WB_OK)
        return WB_EMISUSE;
    if (provider == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_tools_export: NULL");
    x.runtime = runtime;
    if (!wbi_provider_parse(wbi_str_z(provider), &x.provider))
        x.provider = WBI_PROVIDER_AUTO;
    wbi_buf_init(&x.out, WBI_LIMIT_CALL_ARENA);
    wbi_api_fetch_upstreams(runtime);
    wbi_api_with_loop(runtime, export, &x);
    return wbi_api_end(&x.out, x.rc, &x.err, ret, ret_size, reterr);
}

struct question {
    struct wbi_runtime *rt;
    const char *principal, *name;
    int parallel;
    wb_rc rc;
    struct wbi_error err;
};

static void ask_parallel(void *arg)
{
    struct question *q = arg;
    struct wbi_str principal = wbi_str_z(q->principal);
    struct wbi_viewer viewer = wbi_guards_viewer(q->rt, principal);
    struct wbi_catalog *catalog;
    const struct wbi_tool *tool;

    q->rc = wbi_runtime_catalog(q->rt, &catalog, &q->err);
    if (q->rc == WB_OK)
        q->rc = wbi_catalog_resolve(catalog, NULL, &viewer, WBI_NONE, wbi_str_z(q->name), WBI_NONE,
                                    &tool, &q->err);
    if (q->rc == WB_OK && !wbi_guards_lists(q->rt, principal, tool))
        q->rc = wbi_fail_kind(&q->err, WB_ENOTFOUND, WBI_KIND_UNKNOWN_TOOL,
                              "there is no tool \"%.128s\"", q->name);
    if (q->rc == WB_OK)
        q->parallel = tool->parallel;
}

wb_rc wb_tool_parallel(wb_runtime *runtime, const char *principal, const char *name, int *ret,
                       wb_error **reterr)
{
    struct question q = {.principal = principal, .name = name, .err = WBI_ERROR_INIT};

    if (wbi_api_check(runtime, "wb_tool_parallel", reterr) != WB_OK)
        return WB_EMISUSE;
    if (name == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_tool_parallel: NULL");
    q.rt = runtime->rt;
    wbi_api_with_loop(runtime, ask_parallel, &q);
    if (q.rc != WB_OK)
        return wbi_api_fail(reterr, &q.err);
    *ret = q.parallel;
    return WB_OK;
}
