/* SPDX-License-Identifier: Apache-2.0
 * config/validate.c: files and tools against config/schema.json, the schema
 * that editors are given too. config/shape.c has looked at the outline before,
 * with words of its own; this is about everything inside. */
#include "base/limits.h"
#include "config/layers_int.h"
#include "json/pointer.h"
#include "schema/schema.h"

extern const char wbi_data_config_schema_json[];
extern const size_t wbi_data_config_schema_json_n;

#define SCHEMA_URI "urn:waybill:schema:config"

static const wbi_json *remote(void *arg, struct wbi_str uri)
{
    return wbi_str_eqz(uri, SCHEMA_URI) ? arg : NULL;
}

/* The schema of a whole file, or of one tool. */
static wb_rc compile(struct wbi_arena *arena, bool tool, struct wbi_schema **ret,
                     struct wbi_error *err)
{
    struct wbi_schema_options opt = {.remote = remote};
    const wbi_json *whole, *root;
    wb_rc rc = wbi_json_read(
        arena, wbi_str_make(wbi_data_config_schema_json, wbi_data_config_schema_json_n),
        WBI_JSON_STRICT, &whole, err);

    if (rc != WB_OK)
        return rc;
    root = whole;
    if (tool)
        rc = wbi_json_read(arena, WBI_LIT("{\"$ref\":\"" SCHEMA_URI "#/$defs/tool\"}"),
                           WBI_JSON_STRICT, &root, err);
    if (rc != WB_OK)
        return rc;
    opt.arg = (void *)(uintptr_t)whole;
    return wbi_schema_compile(root, &opt, ret, err);
}

static bool has_place(const wbi_json *v)
{
    return wbi_json_is(v, WBI_JSON_STR) || (wbi_json_is(v, WBI_JSON_OBJ) && wbi_json_count(v) > 0);
}

/* What to point at for a JSON Pointer: the member's name, else the element, else
 * the next thing around it that stands somewhere. */
static const wbi_json *at_pointer(const wbi_json *root, struct wbi_str path)
{
    while (path.n > 0) {
        struct wbi_str up = path;
        const wbi_json *v = NULL, *parent = NULL;

        while (up.n > 0 && up.p[up.n - 1] != '/')
            up.n--;
        up.n -= up.n > 0;
        if (wbi_json_pointer(root, path, &v, NULL) == WB_OK &&
            wbi_json_pointer(root, up, &parent, NULL) == WB_OK) {
            if (wbi_json_is(parent, WBI_JSON_OBJ))
                return v - 1;
            if (has_place(v))
                return v;
        }
        path = up;
    }
    return root;
}

static wb_rc judge(const struct wbi_schema *schema, const wbi_json *v, struct wbi_arena *arena,
                   const wbi_json **ret_where, struct wbi_error *err)
{
    struct wbi_schema_report report;
    wb_rc rc;

    if (wbi_schema_valid(schema, v))
        return WB_OK;
    rc = wbi_schema_check(schema, v, arena, &report, err);
    if (rc != WB_OK)
        return rc;
    *ret_where = at_pointer(v, report.errors[0].path);
    return wbi_fail(err, WB_EINPUT, "%.*s", WBI_FMT(report.errors[0].message));
}

wb_rc wbi_config_check_tool(const wbi_json *tool, struct wbi_arena *arena,
                            const wbi_json **ret_where, struct wbi_error *err)
{
    struct wbi_schema *schema;
    wb_rc rc = compile(arena, /* tool= */ true, &schema, err);

    if (rc != WB_OK)
        return rc;
    rc = judge(schema, tool, arena, ret_where, err);
    wbi_schema_free(schema);
    return rc;
}

static wb_rc validate_file(const struct wbi_config_file *file, const struct wbi_schema *schema,
                           struct wbi_arena *arena, struct wbi_error *err)
{
    struct wbi_error inner = WBI_ERROR_INIT;
    const wbi_json *where = NULL;
    wb_rc rc = WB_OK;

    if (!file->tool || !wbi_json_is(file->root, WBI_JSON_ARR))
        rc = judge(schema, file->root, arena, &where, &inner);
    else
        WBI_JSON_EACH (file->root, tool) {
            if (rc == WB_OK)
                rc = judge(schema, tool, arena, &where, &inner);
        }
    return rc == WB_OK ? WB_OK : wbi_config_fail(err, file, where, rc, "%s", inner.text);
}

wb_rc wbi_config_validate(const struct wbi_config *c, struct wbi_error *err)
{
    struct wbi_schema *schemas[2] = {NULL, NULL};
    struct wbi_arena *arena;
    wb_rc rc = WB_OK;

    if (c->files_n == 0)
        return WB_OK;
    if (wbi_arena_new(WBI_LIMIT_CONFIG_ARENA, &arena) != WB_OK)
        return wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && i < c->files_n; i++) {
        bool tool = c->files[i].tool;

        if (schemas[tool] == NULL)
            rc = compile(arena, tool, &schemas[tool], err);
        if (rc == WB_OK)
            rc = validate_file(&c->files[i], schemas[tool], arena, err);
    }
    wbi_schema_free(schemas[0]);
    wbi_schema_free(schemas[1]);
    wbi_arena_free(arena);
    return rc;
}
