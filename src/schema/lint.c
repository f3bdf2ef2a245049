/* SPDX-License-Identifier: Apache-2.0
 * schema/lint.c: what providers refuse or ignore in a tool's input schema.
 * One walk over the schema with an explicit stack; what each provider takes is
 * a table. Rules: docs/schema.md. */
#include "base/checked.h"
#include "base/limits.h"
#include "schema/schema_int.h"

#define OPENAI (WBI_LINT_RESPONSES | WBI_LINT_CHAT)

struct rule {
    const char *keyword;
    unsigned refused; /* providers that refuse the definition */
    unsigned ignored; /* providers that take it but do not hold the model to it */
};

/* Keywords anywhere in the schema. Gemini's function declarations take the
 * subset of OpenAPI 3.0 that its Schema object has. */
static const struct rule rules[] = {
    {"$ref", WBI_LINT_GEMINI, 0},
    {"$defs", WBI_LINT_GEMINI, 0},
    {"definitions", WBI_LINT_GEMINI, 0},
    {"$id", WBI_LINT_GEMINI, 0},
    {"$anchor", WBI_LINT_GEMINI, OPENAI | WBI_LINT_ANTHROPIC},
    {"$dynamicRef", WBI_LINT_GEMINI, OPENAI | WBI_LINT_ANTHROPIC},
    {"$dynamicAnchor", WBI_LINT_GEMINI, OPENAI | WBI_LINT_ANTHROPIC},
    {"$schema", WBI_LINT_GEMINI, 0},
    {"additionalProperties", WBI_LINT_GEMINI, 0},
    {"patternProperties", WBI_LINT_GEMINI, OPENAI},
    {"unevaluatedProperties", WBI_LINT_GEMINI, OPENAI},
    {"unevaluatedItems", WBI_LINT_GEMINI, OPENAI},
    {"propertyNames", WBI_LINT_GEMINI, OPENAI},
    {"dependentRequired", WBI_LINT_GEMINI, OPENAI},
    {"dependentSchemas", WBI_LINT_GEMINI, OPENAI},
    {"dependencies", WBI_LINT_GEMINI, OPENAI},
    {"allOf", WBI_LINT_GEMINI, OPENAI},
    {"oneOf", WBI_LINT_GEMINI, OPENAI},
    {"not", WBI_LINT_GEMINI, OPENAI},
    {"if", WBI_LINT_GEMINI, OPENAI},
    {"then", WBI_LINT_GEMINI, OPENAI},
    {"else", WBI_LINT_GEMINI, OPENAI},
    {"const", WBI_LINT_GEMINI, 0},
    {"exclusiveMinimum", WBI_LINT_GEMINI, 0},
    {"exclusiveMaximum", WBI_LINT_GEMINI, 0},
    {"multipleOf", WBI_LINT_GEMINI, 0},
    {"uniqueItems", WBI_LINT_GEMINI, OPENAI},
    {"contains", WBI_LINT_GEMINI, OPENAI},
    {"minContains", WBI_LINT_GEMINI, OPENAI},
    {"maxContains", WBI_LINT_GEMINI, OPENAI},
    {"prefixItems", WBI_LINT_GEMINI, OPENAI},
    {"additionalItems", WBI_LINT_GEMINI, OPENAI},
    {"contentEncoding", WBI_LINT_GEMINI, OPENAI},
    {"contentMediaType", WBI_LINT_GEMINI, OPENAI},
};

const char *wbi_lint_provider_name(enum wbi_lint_provider provider)
{
    switch (provider) {
    case WBI_LINT_RESPONSES:
        return "responses";
    case WBI_LINT_CHAT:
        return "chat";
    case WBI_LINT_ANTHROPIC:
        return "anthropic";
    case WBI_LINT_GEMINI:
        return "gemini";
    case WBI_LINT_MCP:
        return "mcp";
    default:
        return NULL;
    }
}

struct lint {
    const wbi_json *root;
    unsigned providers;
    struct wbi_arena *arena;
    struct wbi_schema_findings out;
    size_t cap;
    wb_rc rc;
    const wbi_json **todo; /* schemas still to look at */
    size_t n_todo, cap_todo;
};

static bool room(struct lint *l, void **list, size_t *cap, size_t n, size_t size)
{
    size_t more = *cap == 0 ? 16 : *cap * 2;
    void *p;

    if (n < *cap)
        return true;
    p = wbi_arena_grow(l->arena, *list, *cap * size, more * size);
    if (p == NULL) {
        l->rc = WB_ENOMEM;
        return false;
    }
    *list = p;
    *cap = more;
    return true;
}

static void find(struct lint *l, unsigned providers, bool refused, const wbi_json *place,
                 struct wbi_str keyword, const char *text)
{
    struct wbi_buf path;

    providers &= l->providers;
    if (providers == 0 || l->rc != WB_OK)
        return;
    if (l->out.n == WBI_LIMIT_SCHEMA_FINDINGS) {
        l->out.more = true;
        return;
    }
    wbi_buf_init_arena(&path, l->arena, WBI_MIB);
    (void)wbi_json_place(l->root, place, &path, NULL);
    if (wbi_buf_rc(&path) != WB_OK) {
        l->rc = WB_ENOMEM;
        return;
    }
    if (room(l, (void **)&l->out.list, &l->cap, l->out.n, sizeof(*l->out.list)))
        l->out.list[l->out.n++] = (struct wbi_schema_finding){
            providers, refused, wbi_buf_str(&path), keyword, wbi_str_z(text)};
}

static void later(struct lint *l, const wbi_json *schema)
{
    if (!wbi_json_is(schema, WBI_JSON_OBJ))
        return;
    if (room(l, (void **)&l->todo, &l->cap_todo, l->n_todo, sizeof(*l->todo)))
        l->todo[l->n_todo++] = schema;
}

static bool type_is(const wbi_json *schema, const char *name)
{
    const wbi_json *type = wbi_json_get(schema, "type");

    if (wbi_json_is(type, WBI_JSON_STR))
        return wbi_str_eqz(wbi_json_text(type), name);
    WBI_JSON_EACH (type, e) {
        if (wbi_json_is(e, WBI_JSON_STR) && wbi_str_eqz(wbi_json_text(e), name))
            return true;
    }
    return false;
}

static void lint_root(struct lint *l)
{
    static const char *const choices[] = {"anyOf", "oneOf", "allOf", "enum", "not"};
    const wbi_json *type = wbi_json_get(l->root, "type");

    if (!wbi_json_is(type, WBI_JSON_STR) || !wbi_str_eqz(wbi_json_text(type), "object"))
        find(l, WBI_LINT_ALL, true, l->root, WBI_LIT("type"),
             "the schema of a tool's input must say \"type\": \"object\" at its top");
    for (size_t i = 0; i < WBI_COUNT(choices); i++)
        if (wbi_json_get(l->root, choices[i]) != NULL)
            find(l, OPENAI | WBI_LINT_ANTHROPIC, true, l->root, wbi_str_z(choices[i]),
                 "choices are not allowed at the top of an input schema; move them into a member");
    if (wbi_json_get(l->root, "properties") == NULL)
        find(l, OPENAI, true, l->root, WBI_LIT("properties"),
             "an object schema needs \"properties\", if only {}");
}

static void lint_keywords(struct lint *l, const wbi_json *schema)
{
    for (size_t i = 0; i < WBI_COUNT(rules); i++) {
        if (wbi_json_get(schema, rules[i].keyword) == NULL)
            continue;
        find(l, rules[i].refused, true, schema, wbi_str_z(rules[i].keyword),
             "this keyword is refused");
        find(l, rules[i].ignored, false, schema, wbi_str_z(rules[i].keyword),
             "this keyword is not enforced while the model writes; calls are still checked here");
    }
}

static void lint_values(struct lint *l, const wbi_json *schema)
{
    const wbi_json *type = wbi_json_get(schema, "type");
    const wbi_json *format = wbi_json_get_as(schema, "format", WBI_JSON_STR);

    if (wbi_json_is(type, WBI_JSON_ARR))
        find(l, WBI_LINT_GEMINI, true, schema, WBI_LIT("type"),
             "one type only; use \"nullable\" or \"anyOf\"");
    if (type_is(schema, "array") && wbi_json_get(schema, "items") == NULL)
        find(l, OPENAI | WBI_LINT_GEMINI, true, schema, WBI_LIT("items"),
             "an array schema needs \"items\"");
    if (format != NULL && type_is(schema, "string") &&
        !wbi_str_eqz(wbi_json_text(format), "date-time") &&
        !wbi_str_eqz(wbi_json_text(format), "enum"))
        find(l, WBI_LINT_GEMINI, true, schema, WBI_LIT("format"),
             "strings take the formats \"date-time\" and \"enum\" only");
    WBI_JSON_EACH (wbi_json_get(schema, "enum"), e) {
        if (!wbi_json_is(e, WBI_JSON_STR)) {
            find(l, WBI_LINT_GEMINI, true, schema, WBI_LIT("enum"),
                 "values of an enum must be strings");
            break;
        }
    }
}

static bool name_allowed(struct wbi_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && c != '_' &&
            c != '.' && c != '-')
            return false;
    }
    return name.n >= 1 && name.n <= 64;
}

static void lint_members(struct lint *l, const wbi_json *schema)
{
    const wbi_json *properties = wbi_json_get(schema, "properties");

    WBI_JSON_EACH_MEMBER (properties, k) {
        if (!name_allowed(wbi_json_text(k)))
            find(l, WBI_LINT_ANTHROPIC, true, k_val, WBI_LIT("properties"),
                 "member names are 1 to 64 letters, digits, '_', '.' or '-'");
        later(l, k_val);
    }
    if (wbi_json_count(properties) > 1024)
        return; /* the look-up below is a linear search */
    WBI_JSON_EACH (wbi_json_get(schema, "required"), e) {
        if (wbi_json_is(e, WBI_JSON_STR) && wbi_json_getn(properties, wbi_json_text(e)) == NULL)
            find(l, WBI_LINT_GEMINI, true, schema, WBI_LIT("required"),
                 "a required member must be one of \"properties\"");
    }
}

static void descend(struct lint *l, const wbi_json *schema)
{
    static const char *const single[] = {"items",
                                         "additionalProperties",
                                         "not",
                                         "if",
                                         "then",
                                         "else",
                                         "contains",
                                         "propertyNames",
                                         "unevaluatedProperties",
                                         "unevaluatedItems",
                                         "additionalItems"};
    static const char *const lists[] = {"allOf", "anyOf", "oneOf", "prefixItems", "items"};
    static const char *const maps[] = {"$defs", "definitions", "patternProperties",
                                       "dependentSchemas"};

    for (size_t i = 0; i < WBI_COUNT(single); i++)
        later(l, wbi_json_get(schema, single[i]));
    for (size_t i = 0; i < WBI_COUNT(lists); i++) {
        WBI_JSON_EACH (wbi_json_get(schema, lists[i]), e) {
            later(l, e);
        }
    }
    for (size_t i = 0; i < WBI_COUNT(maps); i++) {
        WBI_JSON_EACH_MEMBER (wbi_json_get(schema, maps[i]), k) {
            later(l, k_val);
        }
    }
}

static void lint_compile(struct lint *l)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema *schema;
    struct wbi_str text;
    wb_rc rc = wbi_schema_compile(l->root, NULL, &schema, &err);

    if (rc == WB_OK) {
        wbi_schema_free(schema);
        return;
    }
    text = wbi_arena_fmt(l->arena, "%s%s%s", err.text, err.at[0] != '\0' ? " at " : "", err.at);
    if (rc == WB_ENOMEM || text.p == NULL)
        l->rc = WB_ENOMEM;
    else
        find(l, WBI_LINT_ALL, true, l->root, WBI_LIT(""), text.p);
}

wb_rc wbi_schema_lint(const wbi_json *schema, unsigned providers, struct wbi_arena *arena,
                      struct wbi_schema_findings *ret)
{
    struct lint l = {.root = schema, .providers = providers, .arena = arena};

    lint_compile(&l);
    if (wbi_json_is(schema, WBI_JSON_OBJ)) {
        lint_root(&l);
        later(&l, schema);
    } else {
        find(&l, WBI_LINT_ALL, true, schema, WBI_LIT("type"),
             "the schema of a tool's input must be an object with \"type\": \"object\"");
    }
    while (l.rc == WB_OK && l.n_todo > 0 && !l.out.more) {
        const wbi_json *s = l.todo[--l.n_todo];
        lint_keywords(&l, s);
        lint_values(&l, s);
        lint_members(&l, s);
        descend(&l, s);
    }
    if (l.rc == WB_OK)
        *ret = l.out;
    return l.rc;
}
