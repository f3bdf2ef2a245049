/* SPDX-License-Identifier: Apache-2.0
 * catalog/descriptor.c: one row per member, so that adding one is adding a row. */
#include "catalog/descriptor.h"

#include "base/limits.h"
#include "catalog/names.h"

const char *wbi_effect_name(enum wbi_effect effect)
{
    switch (effect) {
    case WBI_EFFECT_PURE:
        return "Pure";
    case WBI_EFFECT_IDEMPOTENT_WRITE:
        return "IdempotentWrite";
    case WBI_EFFECT_NON_IDEMPOTENT_WRITE:
        return "NonIdempotentWrite";
    case WBI_EFFECT_EXTERNAL:
        break;
    }
    return "ExternalSideEffects";
}

enum wbi_effect wbi_effect_by_name(struct wbi_str name)
{
    for (int e = WBI_EFFECT_PURE; e <= WBI_EFFECT_EXTERNAL; e++)
        if (wbi_str_eqz(name, wbi_effect_name((enum wbi_effect)e)))
            return (enum wbi_effect)e;
    return (enum wbi_effect)0;
}

typedef wb_rc read_fn(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err);

static wb_rc wrong(struct wbi_error *err, const char *want, const wbi_json *got)
{
    return wbi_fail(err, WB_EINPUT, "must be %s; got %s", want, wbi_json_type_name(got));
}

static wb_rc read_text(struct wbi_str *ret, const wbi_json *v, struct wbi_error *err)
{
    if (!wbi_json_is(v, WBI_JSON_STR))
        return wrong(err, "a string", v);
    *ret = wbi_json_str(v);
    return WB_OK;
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || c == '/';
}

static wb_rc read_name(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    wb_rc rc = read_text(&t->qualified, v, err);
    size_t n;

    if (rc != WB_OK)
        return rc;
    n = wbi_name_parts(t->qualified).tool.n; /* of a server's, what the server calls it */
    if (n == 0 || n > WBI_LIMIT_OWN_NAME || t->qualified.n > WBI_LIMIT_TOOL_NAME)
        return wbi_fail(err, WB_EINPUT, "must have 1 to %u bytes", WBI_LIMIT_OWN_NAME);
    for (size_t i = 0; i < t->qualified.n; i++)
        if (!name_char(t->qualified.p[i]))
            return wbi_fail(err, WB_EINPUT,
                            "may have letters, digits, '_', '-', '.', '/' and ':' only");
    return WB_OK;
}

static wb_rc read_title(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    return read_text(&t->title, v, err);
}

static wb_rc read_description(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    return read_text(&t->description, v, err);
}

static wb_rc read_version(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    wb_rc rc = read_text(&t->version, v, err);

    if (rc == WB_OK && (t->version.n == 0 || t->version.n > WBI_LIMIT_SEMVER_TEXT))
        return wbi_fail(err, WB_EINPUT, "must have 1 to %u bytes", WBI_LIMIT_SEMVER_TEXT);
    return rc;
}

static wb_rc read_schema(const wbi_json **ret, const wbi_json *v, struct wbi_error *err)
{
    if (!wbi_json_is(v, WBI_JSON_OBJ) && !wbi_json_is(v, WBI_JSON_BOOL))
        return wrong(err, "a JSON Schema (an object)", v);
    *ret = v;
    return WB_OK;
}

static wb_rc read_input_schema(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    return read_schema(&t->input_schema, v, err);
}

static wb_rc read_output_schema(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    return read_schema(&t->output_schema, v, err);
}

static wb_rc read_effect(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    t->effect = wbi_effect_by_name(wbi_json_str(v));
    if (t->effect == 0)
        return wbi_fail(err, WB_EINPUT,
                        "must be one of Pure, IdempotentWrite, NonIdempotentWrite and "
                        "ExternalSideEffects");
    return WB_OK;
}

static wb_rc read_parallel(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    if (!wbi_json_is(v, WBI_JSON_BOOL))
        return wrong(err, "true or false", v);
    t->parallel = wbi_json_true(v);
    return WB_OK;
}

static wb_rc read_timeout(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    if (!wbi_json_i64(v, &t->timeout_ms) || t->timeout_ms < 1 || t->timeout_ms > 86400000)
        return wbi_fail(err, WB_EINPUT, "must be an integer from 1 to 86400000 (milliseconds)");
    return WB_OK;
}

static wb_rc read_budget(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    int64_t n;

    if (!wbi_json_i64(v, &n) || n < 200 || n > 64000)
        return wbi_fail(err, WB_EINPUT, "must be an integer from 200 to 64000 (tokens)");
    t->budget_tokens = (uint32_t)n;
    return WB_OK;
}

static wb_rc read_input_kind(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    if (wbi_str_eqz(wbi_json_str(v), "text"))
        t->input_kind = WBI_INPUT_TEXT;
    else if (!wbi_str_eqz(wbi_json_str(v), "json"))
        return wbi_fail(err, WB_EINPUT, "must be \"json\" or \"text\"");
    return WB_OK;
}

/* A Lark grammar as it is, or {syntax: lark|regex, definition}. */
static wb_rc read_grammar(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    struct wbi_str syntax = wbi_json_get_str(v, "syntax");

    if (wbi_json_is(v, WBI_JSON_STR))
        return read_text(&t->grammar, v, err);
    t->grammar = wbi_json_get_str(v, "definition");
    if (wbi_str_eqz(syntax, "regex"))
        t->grammar_syntax = WBI_GRAMMAR_REGEX;
    else if (!wbi_str_eqz(syntax, "lark") || t->grammar.p == NULL)
        t->grammar = WBI_NONE;
    if (t->grammar.n == 0 || wbi_json_count(v) != 2)
        return wbi_fail(err, WB_EINPUT,
                        "must be a Lark grammar or an object with syntax (\"lark\" or \"regex\") "
                        "and definition");
    return WB_OK;
}

static wb_rc read_strings(const wbi_json **out, const wbi_json *v, struct wbi_error *err)
{
    if (!wbi_json_is(v, WBI_JSON_ARR))
        return wrong(err, "an array of strings", v);
    WBI_JSON_EACH (v, item) {
        if (!wbi_json_is(item, WBI_JSON_STR))
            return wrong(err, "an array of strings", item);
    }
    *out = v;
    return WB_OK;
}

static wb_rc read_tags(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    return read_strings(&t->tags, v, err);
}

static wb_rc read_scopes(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    return read_strings(&t->scopes, v, err);
}

static wb_rc read_credentials(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    return read_strings(&t->credentials, v, err);
}

static wb_rc read_deprecated(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    if (wbi_json_is(v, WBI_JSON_BOOL)) {
        t->deprecated = wbi_json_true(v) ? WBI_LIT("deprecated") : WBI_NONE;
        return WB_OK;
    }
    if (!wbi_json_is(v, WBI_JSON_STR))
        return wrong(err, "a string (why, and what to use instead) or a boolean", v);
    return read_text(&t->deprecated, v, err);
}

static wb_rc read_needs_key(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    t->needs_key = wbi_str_eqz(wbi_json_str(v), "required");
    if (!t->needs_key && !wbi_str_eqz(wbi_json_str(v), "optional"))
        return wbi_fail(err, WB_EINPUT, "must be \"required\" or \"optional\"");
    return WB_OK;
}

/* Read by whoever runs the tool, not here. */
static wb_rc read_elsewhere(struct wbi_tool *t, const wbi_json *v, struct wbi_error *err)
{
    (void)t;
    (void)v;
    (void)err;
    return WB_OK;
}

static const struct {
    const char *name;
    read_fn *read;
} members[] = {
    {"$schema", read_elsewhere},
    {"name", read_name},
    {"title", read_title},
    {"description", read_description},
    {"version", read_version},
    {"inputSchema", read_input_schema},
    {"outputSchema", read_output_schema},
    {"effect", read_effect},
    {"parallel", read_parallel},
    {"idempotencyKey", read_needs_key},
    {"timeoutMs", read_timeout},
    {"budgetTokens", read_budget},
    {"inputKind", read_input_kind},
    {"grammar", read_grammar},
    {"tags", read_tags},
    {"scopes", read_scopes},
    {"credentials", read_credentials},
    {"deprecated", read_deprecated},
    {"family", read_elsewhere},
    {"policies", read_elsewhere},
    {"command", read_elsewhere},
    {"env", read_elsewhere},
    {"workdir", read_elsewhere},
    {"output", read_elsewhere},
    {"annotations", read_elsewhere},
    {"definition", read_elsewhere},
};

static wb_rc unknown_member(struct wbi_str name, struct wbi_error *err)
{
    char list[600] = "";
    size_t n = 0;

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        size_t len = strlen(members[i].name);
        memcpy(list + n, members[i].name, len);
        memcpy(list + n + len, ", ", 3);
        n += len + 2;
    }
    list[n - 2] = '\0';
    return wbi_fail(err, WB_EINPUT, "a tool has no member \"%.*s\"; it has %s",
                    WBI_FMT(wbi_str_head(name, 60)), list);
}

static wb_rc read_member(struct wbi_tool *t, struct wbi_str name, const wbi_json *v,
                         struct wbi_error *err)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        struct wbi_error inner = WBI_ERROR_INIT;
        wb_rc rc;

        if (!wbi_str_eqz(name, members[i].name))
            continue;
        rc = members[i].read(t, v, &inner);
        if (rc != WB_OK)
            return wbi_fail(err, rc, "%s %s", members[i].name, inner.text);
        return WB_OK;
    }
    return unknown_member(name, err);
}

/* What members say about each other. */
static wb_rc check_together(struct wbi_tool *t, struct wbi_error *err)
{
    if (t->grammar.p != NULL && t->input_kind != WBI_INPUT_TEXT)
        return wbi_fail(err, WB_EINPUT, "grammar is for tools with \"inputKind\": \"text\"");
    if (t->effect == WBI_EFFECT_IDEMPOTENT_WRITE) {
        if (wbi_json_get(t->descriptor, "idempotencyKey") != NULL && !t->needs_key)
            return wbi_fail(err, WB_EINPUT,
                            "idempotencyKey must be \"required\" for the effect IdempotentWrite");
        t->needs_key = true;
    }
    if (t->effect == WBI_EFFECT_PURE && t->needs_key)
        return wbi_fail(err, WB_EINPUT, "idempotencyKey is not for the effect Pure");
    return WB_OK;
}

wb_rc wbi_descriptor_read(const wbi_json *obj, struct wbi_tool *ret, struct wbi_error *err)
{
    struct wbi_tool t = {.effect = WBI_EFFECT_EXTERNAL,
                         .version = WBI_LIT_INIT(WBI_TOOL_VERSION),
                         .budget_tokens = 8000,
                         .descriptor = obj};

    if (!wbi_json_is(obj, WBI_JSON_OBJ))
        return wbi_fail(err, WB_EINPUT, "a tool must be an object; got %s",
                        wbi_json_type_name(obj));
    WBI_JSON_EACH_MEMBER (obj, key) {
        wb_rc rc = read_member(&t, wbi_json_str(key), key_val, err);
        if (rc != WB_OK)
            return rc;
    }
    if (t.qualified.p == NULL)
        return wbi_fail(err, WB_EINPUT, "name is missing");
    *ret = t;
    return check_together(ret, err);
}
