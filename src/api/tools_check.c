/* SPDX-License-Identifier: Apache-2.0
 * api/tools_check.c: a file of descriptors, checked as a runtime would check it,
 * every tool of it and not only the first that is wrong. */
#include "api/api_int.h"
#include "base/limits.h"
#include "builtin/builtin.h"
#include "call/local_tool.h"
#include "catalog/catalog.h"
#include "catalog/semver.h"
#include "config/config.h"
#include "schema/schema.h"

struct check_job {
    struct wbi_arena *arena;
    struct wbi_catalog_builder *builder;
    struct wbi_str text;
    const char *copy;
    struct wbi_str root;
    struct wbi_jw *w;
    size_t errors;
};

/* 1-based place of v; of an object the brace before its first name. */
static void place(const struct check_job *j, const wbi_json *v, struct wbi_error *ret)
{
    size_t offset = v ? wbi_json_offset(j->copy, v) : SIZE_MAX;

    if (offset == SIZE_MAX)
        offset = 0;
    else if (wbi_json_is(v, WBI_JSON_OBJ))
        while (offset > 0 && j->text.p[offset] != '{')
            offset--;
    wbi_error_locate(ret, j->text.p, j->text.n, offset);
}

static void begin(struct check_job *j, const struct wbi_error *at, struct wbi_str tool,
                  const char *severity)
{
    wbi_jw_obj(j->w);
    wbi_jw_kint(j->w, "line", at->line);
    wbi_jw_kint(j->w, "column", at->column);
    if (tool.p != NULL)
        wbi_jw_kstr(j->w, "tool", tool);
    wbi_jw_kstrz(j->w, "severity", severity);
}

static void tell_error(struct check_job *j, const struct wbi_error *at, struct wbi_str tool,
                       const char *text)
{
    begin(j, at, tool, "error");
    wbi_jw_kstrz(j->w, "message", text);
    wbi_jw_obj_end(j->w);
    j->errors++;
}

static void tell_finding(struct check_job *j, const wbi_json *schema, struct wbi_str tool,
                         const struct wbi_schema_finding *f)
{
    struct wbi_error at = WBI_ERROR_INIT;

    place(j, schema, &at);
    begin(j, &at, tool, f->refused ? "warning" : "note");
    wbi_jw_key(j->w, "providers");
    wbi_jw_arr(j->w);
    for (unsigned p = WBI_LINT_RESPONSES; p <= WBI_LINT_MCP; p *= 2)
        if (f->providers & p)
            wbi_jw_strz(j->w, wbi_lint_provider_name((enum wbi_lint_provider)p));
    wbi_jw_arr_end(j->w);
    wbi_jw_kstr(j->w, "message",
                wbi_arena_fmt(j->arena, "inputSchema%.*s%s%.*s: %.*s", WBI_FMT(f->path),
                              f->keyword.n > 0 ? "/" : "", WBI_FMT(f->keyword), WBI_FMT(f->text)));
    wbi_jw_obj_end(j->w);
}

/* It may be built later: a warning. */
static wb_rc look_for_program(struct check_job *j, const wbi_json *tool, struct wbi_str name)
{
    struct wbi_error err = WBI_ERROR_INIT, at = WBI_ERROR_INIT;
    wb_rc rc = wbi_local_tool_look(j->arena, j->root, tool, &err);

    if (rc == WB_OK || rc == WB_ENOMEM)
        return rc;
    place(j, wbi_json_get(tool, "command"), &at);
    begin(j, &at, name, "warning");
    wbi_jw_kstrz(j->w, "message", err.text);
    wbi_jw_obj_end(j->w);
    return WB_OK;
}

static wb_rc lint(struct check_job *j, const wbi_json *tool, struct wbi_str name)
{
    const wbi_json *schema = wbi_json_get(tool, "inputSchema");
    struct wbi_schema_findings found = {.n = 0};
    wb_rc rc = WB_OK;

    if (wbi_json_get_str(tool, "description").n == 0) {
        struct wbi_error at = WBI_ERROR_INIT;
        place(j, tool, &at);
        begin(j, &at, name, "note");
        wbi_jw_kstrz(j->w, "message", "a tool without a description is hard to choose");
        wbi_jw_obj_end(j->w);
    }
    if (schema != NULL)
        rc = wbi_schema_lint(schema, WBI_LINT_ALL, j->arena, &found);
    for (size_t i = 0; rc == WB_OK && i < found.n; i++)
        tell_finding(j, schema, name, &found.list[i]);
    return rc;
}

/* Another one works, but no range ever means it. */
static wb_rc check_version(const wbi_json *version, struct wbi_error *err)
{
    struct wbi_semver parsed;
    struct wbi_str text = wbi_json_str(version);

    if (!wbi_json_is(version, WBI_JSON_STR) || wbi_semver_parse(text, &parsed, NULL) == WB_OK)
        return WB_OK; /* what is no text is refused with the rest */
    return wbi_fail(err, WB_EINPUT, "version must be SemVer, as 1.2.0 is; got \"%.*s\"",
                    WBI_FMT(wbi_str_head(text, 60)));
}

static wb_rc check_tool(struct check_job *j, const wbi_json *tool)
{
    struct wbi_error err = WBI_ERROR_INIT, at = WBI_ERROR_INIT;
    struct wbi_str name = wbi_json_get_str(tool, "name");
    const wbi_json *where = tool;
    wb_rc rc = wbi_config_check_tool(tool, j->arena, &where, &err);

    if (rc == WB_OK)
        rc = check_version(wbi_json_get(tool, "version"), &err);
    if (rc == WB_OK)
        rc = wbi_local_tool_check(j->arena, j->root, tool, j->builder, &err);
    if (rc == WB_ENOMEM)
        return rc;
    if (rc == WB_OK) {
        rc = look_for_program(j, tool, name);
        return rc == WB_OK ? lint(j, tool, name) : rc;
    }
    place(j, where, &at);
    tell_error(j, &at, name, err.text);
    return WB_OK;
}

static wb_rc check_all(struct check_job *j)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *root;
    wb_rc rc = wbi_json_read_placed(j->arena, j->text, WBI_JSON_CONFIG, &root, &j->copy, &err);

    if (rc == WB_ENOMEM)
        return rc;
    if (rc != WB_OK) {
        tell_error(j, &err, WBI_NONE, err.text);
        return WB_OK;
    }
    if (!wbi_json_is(root, WBI_JSON_ARR))
        return check_tool(j, root);
    WBI_JSON_EACH (root, tool) {
        if (rc == WB_OK)
            rc = check_tool(j, tool);
    }
    return rc;
}

wb_rc wb_tools_check(const char *text, size_t size, const char *root, size_t *ret_errors,
                     char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    struct check_job j = {
        .text = wbi_str_make(text, size), .root = wbi_str_z(root ? root : "."), .w = &w};
    wb_rc rc;

    if (text == NULL || ret_errors == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_tools_check: NULL");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &j.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    wbi_jw_arr(&w);
    rc = wbi_catalog_builder_new(&j.builder);
    if (rc == WB_OK)
        rc = wbi_builtin_declare(j.builder, NULL); /* their names are taken */
    if (rc == WB_OK)
        rc = check_all(&j);
    wbi_jw_arr_end(&w);
    wbi_catalog_builder_free(j.builder);
    wbi_arena_free(j.arena);
    if (rc == WB_OK) {
        *ret_errors = j.errors;
        return wbi_api_give(&out, ret, ret_size, reterr);
    }
    wbi_buf_fini(&out);
    return wbi_api_fail_text(reterr, rc, "out of memory");
}
