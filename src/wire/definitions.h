/* SPDX-License-Identifier: Apache-2.0
 * wire/definitions.h: tools as providers want them declared (issue 5). Pure:
 * a description in, JSON out, ready to be sent as the request's `tools`. */
#ifndef WBI_WIRE_DEFINITIONS_H
#define WBI_WIRE_DEFINITIONS_H

#include "json/write.h"
#include "wire/wire.h"

/* What a provider is told about one tool; slices and trees are the caller's. */
struct wbi_definition {
    struct wbi_str name;           /* a model name */
    struct wbi_str title;          /* MCP only; may be absent */
    struct wbi_str description;    /* may be absent */
    struct wbi_str deprecated;     /* may be absent; told in the description */
    const wbi_json *input_schema;  /* never NULL */
    const wbi_json *output_schema; /* MCP only; may be NULL */
    bool text;                     /* takes free text: a custom tool where there are such */
    struct wbi_str grammar;        /* of the text; may be absent */
    bool grammar_regex;            /* it is a regular expression, else Lark */
    bool read_only, idempotent, open_world; /* MCP annotations; what writes may destroy */
};

/* Whether an object, which arguments always are, may fit as far as the top of the schema tells. */
bool wbi_definition_takes_object(const wbi_json *schema);
/* "properties" without booleans, which not all take there: true is {}, false is {"not":{}}. */
void wbi_definition_properties(struct wbi_jw *w, const wbi_json *properties);

/* One definition each. Schemas get the "type": "object" and "properties" at
 * their top that providers insist on. Where there are no custom tools, a text
 * tool is a function and its grammar stands in the description. */
void wbi_definition_responses(struct wbi_jw *w, const struct wbi_definition *d);
void wbi_definition_chat(struct wbi_jw *w, const struct wbi_definition *d);
void wbi_definition_anthropic(struct wbi_jw *w, const struct wbi_definition *d);
void wbi_definition_gemini(struct wbi_jw *w, const struct wbi_definition *d);
void wbi_definition_mcp(struct wbi_jw *w, const struct wbi_definition *d);

/* The value of `tools`: an array, for Gemini with all declarations in one tool.
 * provider: one of the five above, else WB_EINPUT. */
WB_MUST_CHECK wb_rc wbi_definitions_write(enum wbi_provider provider,
                                          const struct wbi_definition *list, size_t n,
                                          struct wbi_buf *out, struct wbi_error *err);

#endif
