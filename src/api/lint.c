/* SPDX-License-Identifier: Apache-2.0
 * api/lint.c: what providers refuse in tool definitions, whatever form they come
 * in. */
#include "api/api_int.h"
#include "base/limits.h"
#include "schema/schema.h"

struct lint_job {
    struct wbi_arena *arena;
    unsigned providers;
    struct wbi_jw *w;
    size_t refused;
};

static void write_finding(struct lint_job *j, struct wbi_str tool,
                          const struct wbi_schema_finding *f)
{
    wbi_jw_obj(j->w);
    if (tool.p != NULL)
        wbi_jw_kstr(j->w, "tool", tool);
    wbi_jw_kstr(j->w, "path", f->path);
    wbi_jw_kstr(j->w, "keyword", f->keyword);
    wbi_jw_kbool(j->w, "refused", f->refused);
    wbi_jw_key(j->w, "providers");
    wbi_jw_arr(j->w);
    for (unsigned p = WBI_LINT_RESPONSES; p <= WBI_LINT_MCP; p *= 2)
        if (f->providers & p)
            wbi_jw_strz(j->w, wbi_lint_provider_name((enum wbi_lint_provider)p));
    wbi_jw_arr_end(j->w);
    wbi_jw_kstr(j->w, "text", f->text);
    wbi_jw_obj_end(j->w);
    j->refused += f->refused;
}

static wb_rc lint_schema(struct lint_job *j, struct wbi_str tool, const wbi_json *schema,
                         struct wbi_error *err)
{
    struct wbi_schema_findings found;

    if (wbi_schema_lint(schema, j->providers, j->arena, &found) != WB_OK)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < found.n; i++)
        write_finding(j, tool, &found.list[i]);
    return WB_OK;
}

/* The input schema of a tool in any of the forms in use; NULL: v is no tool. */
static const wbi_json *schema_of(const wbi_json *v, struct wbi_str *ret_name)
{
    static const char *const members[] = {"inputSchema", "input_schema", "parameters",
                                          "parametersJsonSchema"};
    const wbi_json *tool = wbi_json_get_as(v, "function", WBI_JSON_OBJ);

    tool = tool ? tool : v;
    *ret_name = wbi_json_get_str(tool, "name");
    if (ret_name->p == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (wbi_json_get(tool, members[i]) != NULL)
            return wbi_json_get(tool, members[i]);
    return NULL;
}

/* Names a member that says nothing about itself: models choose by it. */
static void lint_description(struct lint_job *j, struct wbi_str name, const wbi_json *v)
{
    const wbi_json *tool = wbi_json_get_as(v, "function", WBI_JSON_OBJ);
    struct wbi_schema_finding f = {.providers = j->providers,
                                   .path = WBI_LIT_INIT(""),
                                   .keyword = WBI_LIT_INIT("description"),
                                   .text = WBI_LIT_INIT("a tool without a description is hard to "
                                                        "choose; say what it does and when")};

    if (wbi_json_get_str(tool ? tool : v, "description").n == 0)
        write_finding(j, name, &f);
}

static wb_rc lint_one(struct lint_job *j, const wbi_json *v, struct wbi_error *err)
{
    struct wbi_str name;
    const wbi_json *schema = schema_of(v, &name);

    if (schema != NULL) {
        lint_description(j, name, v);
        return lint_schema(j, name, schema, err);
    }
    if (name.p != NULL) { /* a tool that takes any object, or text */
        lint_description(j, name, v);
        return WB_OK;
    }
    return lint_schema(j, WBI_NONE, v, err);
}

static wb_rc lint_all(struct lint_job *j, const wbi_json *root, struct wbi_error *err)
{
    const wbi_json *list = wbi_json_get_as(root, "tools", WBI_JSON_ARR);
    wb_rc rc = WB_OK;

    if (list == NULL && wbi_json_is(root, WBI_JSON_ARR))
        list = root;
    if (list == NULL)
        return lint_one(j, root, err);
    WBI_JSON_EACH (list, tool) {
        const wbi_json *inner = wbi_json_get_as(tool, "functionDeclarations", WBI_JSON_ARR);

        if (inner == NULL)
            rc = lint_one(j, tool, err);
        WBI_JSON_EACH (inner, declared) {
            if (rc == WB_OK)
                rc = lint_one(j, declared, err);
        }
        if (rc != WB_OK)
            return rc;
    }
    return WB_OK;
}

static bool add_provider(struct wbi_str name, unsigned *providers)
{
    if (wbi_str_eqz(name, "all"))
        *providers |= WBI_LINT_ALL;
    for (unsigned p = WBI_LINT_RESPONSES; p <= WBI_LINT_MCP; p *= 2)
        if (wbi_str_eqz(name, wbi_lint_provider_name((enum wbi_lint_provider)p)))
            *providers |= p;
    return *providers != 0;
}

/* "responses,gemini" as bits. */
static wb_rc read_providers(struct wbi_str list, unsigned *ret, struct wbi_error *err)
{
    unsigned all = 0;

    if (list.p == NULL) {
        *ret = WBI_LINT_ALL;
        return WB_OK;
    }
    for (size_t at = 0; at <= list.n;) {
        struct wbi_str rest = wbi_str_from(list, at);
        struct wbi_str name = wbi_str_head(rest, wbi_str_index(rest, ','));
        unsigned one = 0;

        if (!add_provider(name, &one))
            return wbi_fail(err, WB_EINPUT,
                            "there is no provider \"%.*s\"; there are responses, chat, anthropic, "
                            "gemini and mcp",
                            WBI_FMT(wbi_str_head(name, 40)));
        all |= one;
        at += name.n + 1;
    }
    *ret = all;
    return WB_OK;
}

wb_rc wb_schema_lint(const char *text, size_t size, const char *providers, size_t *ret_refused,
                     char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    struct lint_job job = {.w = &w};
    const wbi_json *root;
    wb_rc rc;

    if (text == NULL || ret_refused == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_schema_lint: NULL");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &job.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    wbi_jw_arr(&w);
    rc = read_providers(wbi_str_z(providers), &job.providers, &err);
    if (rc == WB_OK)
        rc = wbi_json_read(job.arena, wbi_str_make(text, size), WBI_JSON_CONFIG, &root, &err);
    if (rc == WB_OK)
        rc = lint_all(&job, root, &err);
    wbi_jw_arr_end(&w);
    wbi_arena_free(job.arena);
    if (rc == WB_OK)
        *ret_refused = job.refused;
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}
