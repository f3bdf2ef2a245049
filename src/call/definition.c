/* SPDX-License-Identifier: Apache-2.0
 * call/definition.c */
#include "call/definition.h"

/* Built-ins announce none: clients would show the model the structured value instead of the
 * receipt (I4). */
static const wbi_json *announced_output(const struct wbi_tool *t, bool any_output)
{
    bool object = wbi_str_eqz(wbi_json_get_str(t->output_schema, "type"), "object");

    if (t->builtin || !wbi_json_is(t->output_schema, WBI_JSON_OBJ))
        return NULL;
    return object || any_output ? t->output_schema : NULL;
}

struct wbi_definition wbi_definition_of(const struct wbi_tool *t, bool any_output)
{
    return (struct wbi_definition){.name = t->model_name,
                                   .title = t->title,
                                   .description = t->description,
                                   .deprecated = t->deprecated,
                                   .input_schema = t->input_schema,
                                   .output_schema = announced_output(t, any_output),
                                   .text = t->input_kind == WBI_INPUT_TEXT,
                                   .grammar = t->grammar,
                                   .grammar_regex = t->grammar_syntax == WBI_GRAMMAR_REGEX,
                                   .read_only = t->effect == WBI_EFFECT_PURE,
                                   .idempotent = t->effect == WBI_EFFECT_IDEMPOTENT_WRITE,
                                   .open_world = t->effect == WBI_EFFECT_EXTERNAL};
}
