/* SPDX-License-Identifier: Apache-2.0
 * wire/wire.h: provider items in, provider items out (C9). Pure: JSON and
 * structs in, structs and bytes out; no tool is known here and nothing runs.
 * Decoding is lenient where a call can still be answered (its `problem` then
 * says what is wrong, and the answer is an ordinary output of the same kind)
 * and fails only where a line holds no call at all. */
#ifndef WBI_WIRE_WIRE_H
#define WBI_WIRE_WIRE_H

#include "base/error.h"
#include "json/json.h"

enum wbi_provider {
    WBI_PROVIDER_AUTO,
    WBI_PROVIDER_RESPONSES,
    WBI_PROVIDER_CHAT,
    WBI_PROVIDER_ANTHROPIC,
    WBI_PROVIDER_GEMINI,
    WBI_PROVIDER_MCP,
    WBI_PROVIDER_NATIVE,
    WBI_PROVIDER_COUNT
};

/* "auto", "responses", …; "?" for a value out of range. */
const char *wbi_provider_name(enum wbi_provider provider);
bool wbi_provider_parse(struct wbi_str name, enum wbi_provider *ret);

enum wbi_wire_kind {
    WBI_WIRE_FUNCTION = 1, /* Responses function_call, Chat "function" */
    WBI_WIRE_CUSTOM,       /* Responses custom_tool_call, Chat "custom": free text */
    WBI_WIRE_LOCAL_SHELL,  /* Responses local_shell_call */
    WBI_WIRE_SHELL,        /* Responses shell_call */
    WBI_WIRE_APPLY_PATCH,  /* Responses apply_patch_call */
    WBI_WIRE_TOOL_USE,     /* Anthropic tool_use */
    WBI_WIRE_GEMINI_CALL,  /* Gemini functionCall */
    WBI_WIRE_MCP_CALL,     /* MCP tools/call */
    WBI_WIRE_NATIVE        /* S1 invocation */
};
/* "function_call", "tool_use", …: the item's own word. */
const char *wbi_wire_kind_name(enum wbi_wire_kind kind);

/* Names of the tools that items without a name of their own are given. */
#define WBI_WIRE_TOOL_LOCAL_SHELL "local_shell"
#define WBI_WIRE_TOOL_SHELL "shell"
#define WBI_WIRE_TOOL_APPLY_PATCH "ApplyPatch"

/* One call. Slices point into the line's tree or the arena given to decode. */
struct wbi_wire_call {
    enum wbi_provider provider;
    enum wbi_wire_kind kind;
    struct wbi_str id;          /* as given; for MCP the JSON-RPC id as JSON text; may be absent */
    const wbi_json *id_value;   /* the same as JSON, for echoing; may be NULL */
    struct wbi_str name;        /* model-visible or qualified; absent when the item has none */
    struct wbi_str name_space;  /* Responses `namespace`; usually absent */
    const wbi_json *input;      /* NULL for free text and where the arguments did not parse */
    struct wbi_str text;        /* free text, or the arguments that did not parse */
    bool is_text;               /* text is the tool's input (custom calls) */
    bool answerable;            /* false: no id to answer to; encode gives an error line */
    bool truncated;             /* cut by the model's output limit (C3.6) */
    enum wbi_kind problem_kind; /* WBI_KIND_NONE, or why it must not run */
    struct wbi_str problem;     /* the sentence for it */
    struct wbi_str parse_error; /* the parser's own words, for details.parse_error */
    struct wbi_str model;       /* of the enclosing response, where named */
    struct wbi_str turn_id;     /* id of the enclosing response or message */
    size_t index;               /* place in the turn, from 0 */
    size_t line;                /* of the input, for error lines; set by the caller, 0: none */
    const wbi_json *item;       /* the item itself */
    const wbi_json *invocation; /* native: the item itself, S1 members; else NULL */
    const wbi_json *beside;     /* S1 members given beside the item; may be NULL */
    const wbi_json *meta;       /* MCP params._meta object, or NULL */
    const wbi_json *progress_token;
    struct wbi_str traceparent; /* from MCP _meta */
    struct wbi_str tracestate;
};

struct wbi_wire_turn {
    enum wbi_provider provider;
    struct wbi_wire_call *calls;
    size_t n; /* at least 1 after a successful decode */
    struct wbi_str id;
    struct wbi_str model;
};

/* line: an item, a whole response or message, an array of items, or
 * {"item": …, "invocation": {S1 members}}. The line's tree must outlive ret.
 * Calls of a stream that are still being written are left out.
 * WB_EINPUT when there is no call in it (err says what would be accepted),
 * WB_EAGAIN when none of them is whole yet, WB_ELIMIT for more than
 * WBI_LIMIT_TURN_CALLS, WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_wire_decode(struct wbi_arena *arena, enum wbi_provider provider,
                                    const wbi_json *line, struct wbi_wire_turn *ret,
                                    struct wbi_error *err);
/* Best guess at the id that a line without a usable call carries; NULL: none. */
const wbi_json *wbi_wire_find_id(const wbi_json *line);

enum wbi_wire_part_type {
    WBI_PART_TEXT = 1,
    WBI_PART_IMAGE,    /* data, mime */
    WBI_PART_AUDIO,    /* data, mime */
    WBI_PART_LINK,     /* uri, name, mime */
    WBI_PART_RESOURCE, /* uri, mime and text or data */
    WBI_PART_FILE,     /* data, mime, name */
    WBI_PART_OTHER     /* a block of a type unknown here: name is its type, raw is set */
};

struct wbi_wire_part {
    enum wbi_wire_part_type type;
    struct wbi_str text;
    struct wbi_str data; /* base64 */
    struct wbi_str mime;
    struct wbi_str uri;
    struct wbi_str name;
    /* MCP block as received, or cleaned: passed on to MCP with all its members, but the text
     * of a text is `text`. May be NULL. */
    const wbi_json *raw;
};

/* An MCP content block as a part; false for a value that is no block. */
bool wbi_wire_part_read(const wbi_json *block, struct wbi_wire_part *ret);
/* Hygiene of all that goes on of a part but its text, which whoever shows it cleans. A block of
 * an unknown type stays: it is only kept. */
WB_MUST_CHECK wb_rc wbi_wire_part_clean(struct wbi_arena *arena, struct wbi_wire_part *part);

/* What one command of a shell_call came to. */
struct wbi_wire_outcome {
    struct wbi_str receipt;
    bool timed_out;
    int64_t exit_code;
};

/* What a call came to, as far as providers are told. Absent slices and NULLs
 * leave the matching member out. */
struct wbi_wire_answer {
    struct wbi_str receipt;
    bool is_error;
    enum wbi_kind error_kind;
    struct wbi_str error;              /* canonical error as JSON */
    const struct wbi_wire_part *parts; /* NULL: the receipt is all the content */
    size_t parts_n;
    const struct wbi_wire_outcome *outcomes; /* shell_call, one a command */
    size_t outcomes_n;
    struct wbi_str structured; /* MCP structuredContent as JSON */
    struct wbi_str meta;       /* MCP _meta as JSON */
    struct wbi_str mcp_result; /* a whole MCP result, passed on as it is */
    struct wbi_str result;     /* S1 result as a JSON object, for native */
    struct wbi_str call_id;    /* native: used where the invocation named none */
};

/* One output item, compact, without a newline. A call that is not answerable
 * gives an error line. Adds to out; WB_ENOMEM or WB_ELIMIT when out is full. */
WB_MUST_CHECK wb_rc wbi_wire_encode(const struct wbi_wire_call *call,
                                    const struct wbi_wire_answer *answer, struct wbi_buf *out,
                                    struct wbi_error *err);
/* The answers of a turn as the provider's message: Anthropic one user message, Gemini one
 * content, the others an array. *items holds them separated by commas, without the calls that
 * are not answerable, and is wrapped in place. */
struct wbi_str wbi_wire_group(enum wbi_provider provider, struct wbi_buf *items);

/* The `_meta` of a tools/call (NULL is fine) asks for the canonical result, too. */
bool wbi_wire_mcp_asks_canonical(const wbi_json *meta);
/* The MCP result alone: content, structuredContent, isError, _meta. */
void wbi_wire_mcp_result(struct wbi_buf *out, const struct wbi_wire_answer *answer);
/* {"type":"waybill.error","line":N,"id":…,"error":{…}}; line 0 writes null. */
void wbi_wire_error_line(struct wbi_buf *out, size_t line, const wbi_json *id,
                         struct wbi_str canonical_error);
/* A canonical error of a kind with the table's hint, for lines no call was made of. */
void wbi_wire_error_json(struct wbi_buf *out, enum wbi_kind kind, struct wbi_str message);

#endif
