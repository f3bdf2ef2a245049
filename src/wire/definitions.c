/* SPDX-License-Identifier: Apache-2.0
 * wire/definitions.c: one function per provider; shapes as in the providers' own
 * SDK types, which tests/wire/definitions_test.sh checks. */
#include "wire/definitions.h"

/* ---- what they share ---- */

/* A piece of a string that is being written. */
static void add_text(struct wbi_jw *w, struct wbi_str s)
{
    size_t at = w->out->n;

    wbi_json_quote(w->out, s);
    if (wbi_buf_rc(w->out) != WB_OK)
        return;
    /* without its own quotes */
    memmove(w->out->p + at, w->out->p + at + 1, w->out->n - at - 2);
    w->out->n -= 2;
}

static void new_paragraph(struct wbi_jw *w, size_t start)
{
    if (w->out->n > start)
        add_text(w, WBI_LIT("\n\n"));
}

/* Description, deprecation, and where there is no better place the grammar. */
static void write_description(struct wbi_jw *w, const struct wbi_definition *d, bool with_grammar)
{
    bool grammar = with_grammar && d->text && d->grammar.p != NULL;
    size_t start;

    if (d->description.n == 0 && d->deprecated.p == NULL && !grammar)
        return;
    wbi_jw_key(w, "description");
    wbi_buf_addc(w->out, '"');
    start = w->out->n;
    add_text(w, d->description);
    if (d->deprecated.p != NULL) {
        new_paragraph(w, start);
        add_text(w, WBI_LIT("Deprecated: "));
        add_text(w, d->deprecated);
    }
    if (grammar) {
        new_paragraph(w, start);
        add_text(w, d->grammar_regex ? WBI_LIT("`input` must match this regular expression:\n")
                                     : WBI_LIT("`input` must follow this Lark grammar:\n"));
        add_text(w, d->grammar);
    }
    wbi_buf_addc(w->out, '"');
    w->comma = true;
}

bool wbi_definition_takes_object(const wbi_json *schema)
{
    const wbi_json *type = wbi_json_get(schema, "type");

    if (type == NULL)
        return wbi_json_is(schema, WBI_JSON_OBJ) || wbi_json_true(schema);
    WBI_JSON_EACH (type, t)
        if (wbi_str_eqz(wbi_json_str(t), "object"))
            return true;
    return wbi_str_eqz(wbi_json_str(type), "object");
}

void wbi_definition_properties(struct wbi_jw *w, const wbi_json *properties)
{
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (properties, k) {
        wbi_jw_keyn(w, wbi_json_str(k));
        if (wbi_json_is(k_val, WBI_JSON_BOOL))
            wbi_jw_raw(w, wbi_json_true(k_val) ? WBI_LIT("{}") : WBI_LIT("{\"not\":{}}"));
        else
            wbi_jw_val(w, k_val);
    }
    wbi_jw_obj_end(w);
}

static void write_schema(struct wbi_jw *w, const wbi_json *schema, bool object)
{
    wbi_jw_obj(w);
    if (object && wbi_json_get(schema, "type") == NULL)
        wbi_jw_kstrz(w, "type", "object");
    WBI_JSON_EACH_MEMBER (schema, key) {
        struct wbi_str name = wbi_json_str(key);

        wbi_jw_keyn(w, name);
        if (object && wbi_str_eqz(name, "type"))
            wbi_jw_strz(w, "object");
        else if (wbi_str_eqz(name, "properties"))
            wbi_definition_properties(w, key_val);
        else
            wbi_jw_val(w, key_val);
    }
    if (object && wbi_json_get(schema, "properties") == NULL) {
        wbi_jw_key(w, "properties");
        wbi_jw_obj(w);
        wbi_jw_obj_end(w);
    }
    wbi_jw_obj_end(w);
}

/* As an object's, which arguments always are. */
static void write_input(struct wbi_jw *w, const char *name, const wbi_json *schema)
{
    wbi_jw_key(w, name);
    write_schema(w, schema, true);
}

static const char *syntax_of(const struct wbi_definition *d)
{
    return d->grammar_regex ? "regex" : "lark";
}

/* ---- providers ---- */

void wbi_definition_responses(struct wbi_jw *w, const struct wbi_definition *d)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", d->text ? "custom" : "function");
    wbi_jw_kstr(w, "name", d->name);
    write_description(w, d, false);
    if (!d->text) {
        write_input(w, "parameters", d->input_schema);
        wbi_jw_kbool(w, "strict", false); /* inputs are checked here */
    } else if (d->grammar.p != NULL) {
        wbi_jw_key(w, "format");
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "type", "grammar");
        wbi_jw_kstrz(w, "syntax", syntax_of(d));
        wbi_jw_kstr(w, "definition", d->grammar);
        wbi_jw_obj_end(w);
    }
    wbi_jw_obj_end(w);
}

static void chat_custom(struct wbi_jw *w, const struct wbi_definition *d)
{
    wbi_jw_kstrz(w, "type", "custom");
    wbi_jw_key(w, "custom");
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "name", d->name);
    write_description(w, d, false);
    if (d->grammar.p != NULL) {
        wbi_jw_key(w, "format");
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "type", "grammar");
        wbi_jw_key(w, "grammar");
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "syntax", syntax_of(d));
        wbi_jw_kstr(w, "definition", d->grammar);
        wbi_jw_obj_end(w);
        wbi_jw_obj_end(w);
    }
    wbi_jw_obj_end(w);
}

void wbi_definition_chat(struct wbi_jw *w, const struct wbi_definition *d)
{
    wbi_jw_obj(w);
    if (d->text) {
        chat_custom(w, d);
    } else {
        wbi_jw_kstrz(w, "type", "function");
        wbi_jw_key(w, "function");
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "name", d->name);
        write_description(w, d, false);
        write_input(w, "parameters", d->input_schema);
        wbi_jw_obj_end(w);
    }
    wbi_jw_obj_end(w);
}

void wbi_definition_anthropic(struct wbi_jw *w, const struct wbi_definition *d)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "name", d->name);
    write_description(w, d, true);
    write_input(w, "input_schema", d->input_schema);
    wbi_jw_obj_end(w);
}

/* parametersJsonSchema takes JSON Schema; `parameters` only a part of OpenAPI's. */
void wbi_definition_gemini(struct wbi_jw *w, const struct wbi_definition *d)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "name", d->name);
    write_description(w, d, true);
    write_input(w, "parametersJsonSchema", d->input_schema);
    wbi_jw_obj_end(w);
}

static void mcp_annotations(struct wbi_jw *w, const struct wbi_definition *d)
{
    wbi_jw_key(w, "annotations");
    wbi_jw_obj(w);
    wbi_jw_kbool(w, "readOnlyHint", d->read_only);
    if (!d->read_only) {
        wbi_jw_kbool(w, "destructiveHint", true);
        wbi_jw_kbool(w, "idempotentHint", d->idempotent);
    }
    wbi_jw_kbool(w, "openWorldHint", d->open_world);
    wbi_jw_obj_end(w);
}

void wbi_definition_mcp(struct wbi_jw *w, const struct wbi_definition *d)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "name", d->name);
    if (d->title.p != NULL)
        wbi_jw_kstr(w, "title", d->title);
    write_description(w, d, true);
    write_input(w, "inputSchema", d->input_schema);
    if (d->output_schema != NULL) {
        wbi_jw_key(w, "outputSchema");
        write_schema(w, d->output_schema, false);
    }
    mcp_annotations(w, d);
    wbi_jw_obj_end(w);
}

typedef void write_fn(struct wbi_jw *w, const struct wbi_definition *d);

static write_fn *writer_of(enum wbi_provider provider)
{
    switch (provider) {
    case WBI_PROVIDER_RESPONSES:
        return wbi_definition_responses;
    case WBI_PROVIDER_CHAT:
        return wbi_definition_chat;
    case WBI_PROVIDER_ANTHROPIC:
        return wbi_definition_anthropic;
    case WBI_PROVIDER_GEMINI:
        return wbi_definition_gemini;
    case WBI_PROVIDER_MCP:
        return wbi_definition_mcp;
    default:
        return NULL;
    }
}

wb_rc wbi_definitions_write(enum wbi_provider provider, const struct wbi_definition *list, size_t n,
                            struct wbi_buf *out, struct wbi_error *err)
{
    write_fn *write = writer_of(provider);
    struct wbi_jw w = wbi_jw_to(out);
    bool wrapped = provider == WBI_PROVIDER_GEMINI && n > 0;

    if (write == NULL)
        return wbi_fail(err, WB_EINPUT,
                        "definitions are written for responses, chat, anthropic, gemini and mcp");
    wbi_jw_arr(&w);
    if (wrapped) {
        wbi_jw_obj(&w);
        wbi_jw_key(&w, "functionDeclarations");
        wbi_jw_arr(&w);
    }
    for (size_t i = 0; i < n; i++)
        write(&w, &list[i]);
    if (wrapped) {
        wbi_jw_arr_end(&w);
        wbi_jw_obj_end(&w);
    }
    wbi_jw_arr_end(&w);
    return wbi_buf_rc(out) == WB_OK ? WB_OK : wbi_fail(err, wbi_buf_rc(out), "too large to write");
}
