/* SPDX-License-Identifier: Apache-2.0
 * api/tools_export.c: the tools there are, for providers. */
#include "api/api_int.h"
#include "base/limits.h"
#include "call/guards.h"
#include "schema/schema.h"
#include "wire/definitions.h"
#include "wire/flat.h"

static struct wbi_definition define(const struct wbi_tool *t)
{
    return (struct wbi_definition){.name = t->model_name,
                                   .title = t->title,
                                   .description = t->description,
                                   .deprecated = t->deprecated,
                                   .input_schema = t->input_schema,
                                   .output_schema = t->builtin ? NULL : t->output_schema, /* I4 */
                                   .text = t->input_kind == WBI_INPUT_TEXT,
                                   .grammar = t->grammar,
                                   .grammar_regex = t->grammar_syntax == WBI_GRAMMAR_REGEX,
                                   .read_only = t->effect == WBI_EFFECT_PURE,
                                   .idempotent = t->effect == WBI_EFFECT_IDEMPOTENT_WRITE,
                                   .destructive = t->effect == WBI_EFFECT_NON_IDEMPOTENT_WRITE ||
                                                  t->effect == WBI_EFFECT_EXTERNAL,
                                   .open_world = t->effect == WBI_EFFECT_EXTERNAL};
}

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

    *ret_taken = true;
    if (strict == 0 || (d->text && provider != WBI_PROVIDER_ANTHROPIC))
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

static wb_rc export(struct wb_runtime *runtime, struct wbi_str principal,
                    enum wbi_provider provider, struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_catalog *catalog;
    struct wbi_definition *list;
    struct wbi_arena *arena;
    bool taken = true;
    size_t n = 0;
    wb_rc rc = wbi_runtime_catalog(runtime->rt, &catalog, err);

    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_fail_nomem(err);
    list = wbi_arena_array(arena, wbi_catalog_count(catalog) + 1, sizeof(*list));
    if (list == NULL)
        rc = wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && i < wbi_catalog_count(catalog); i++) {
        const struct wbi_tool *t = wbi_catalog_at(catalog, i);
        if (!wbi_guards_tells(runtime->rt, principal, catalog, t))
            continue;
        list[n] = define(t);
        rc = fit(runtime, provider, arena, &list[n], &taken, err);
        n += taken;
    }
    if (rc == WB_OK)
        rc = wbi_definitions_write(provider, list, n, out, err);
    wbi_arena_free(arena);
    return rc;
}

wb_rc wb_tools_export(wb_runtime *runtime, const char *principal, const char *provider, char **ret,
                      size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    enum wbi_provider which;
    struct wbi_buf out;
    wb_rc rc;

    if (runtime == NULL || provider == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_tools_export: NULL");
    if (!wbi_provider_parse(wbi_str_z(provider), &which))
        which = WBI_PROVIDER_AUTO;
    wbi_api_fetch_upstreams(runtime);
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = export(runtime, wbi_str_z(principal), which, &out, &err);
    if (rc == WB_OK)
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    return wbi_api_fail(reterr, &err);
}

wb_rc wb_tool_parallel(wb_runtime *runtime, const char *principal, const char *name, int *ret,
                       wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_catalog *catalog;
    struct wbi_viewer viewer;
    const struct wbi_tool *tool;
    wb_rc rc;

    if (runtime == NULL || name == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_tool_parallel: NULL");
    viewer = wbi_guards_viewer(runtime->rt, wbi_str_z(principal));
    rc = wbi_runtime_catalog(runtime->rt, &catalog, &err);
    if (rc == WB_OK)
        rc = wbi_catalog_resolve(catalog, NULL, &viewer, WBI_NONE, wbi_str_z(name), WBI_NONE, &tool,
                                 &err);
    if (rc == WB_OK && !wbi_guards_lists(runtime->rt, wbi_str_z(principal), tool))
        rc = wbi_fail_kind(&err, WB_ENOTFOUND, WBI_KIND_UNKNOWN_TOOL, "there is no tool \"%.128s\"",
                           name);
    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    *ret = tool->parallel;
    return WB_OK;
}
