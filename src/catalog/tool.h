/* SPDX-License-Identifier: Apache-2.0
 * catalog/tool.h: what a tool is. Descriptors are immutable parts of a catalog
 * snapshot; how a tool runs and how its output is shown are tables of functions
 * given with it. */
#ifndef WBI_CATALOG_TOOL_H
#define WBI_CATALOG_TOOL_H

#include "base/error.h"
#include "json/json.h"
#include "json/write.h"

enum wbi_effect {
    WBI_EFFECT_PURE = 1,
    WBI_EFFECT_IDEMPOTENT_WRITE,
    WBI_EFFECT_NON_IDEMPOTENT_WRITE,
    WBI_EFFECT_EXTERNAL
};
const char *wbi_effect_name(enum wbi_effect effect);
/* 0 for an unknown name. */
enum wbi_effect wbi_effect_by_name(struct wbi_str name);

enum wbi_input_kind { WBI_INPUT_JSON = 0, WBI_INPUT_TEXT };
/* How a text tool's grammar is written. */
enum wbi_grammar_syntax { WBI_GRAMMAR_LARK = 0, WBI_GRAMMAR_REGEX };

struct wbi_exec;
struct wbi_schema;
struct wbi_tool_body;

/* How a tool runs; see call/exec.h for the contract of wbi_exec. */
struct wbi_tool_ops {
    /* Loop thread. Ends in exactly one wbi_exec_done(), now or later. */
    void (*start)(struct wbi_exec *x);
    /* May come more than once, only while running; wbi_exec_done must follow
     * soon. NULL: cannot be stopped. */
    void (*cancel)(struct wbi_exec *x);
};

/* The complete output of a tool (C5.1): a success with either a family's typed
 * value or the tool's own JSON, or an error. */
struct wbi_wire_part; /* content parts: see wire/wire.h */
struct wbi_complete {
    bool ok;
    struct wbi_str summary; /* absent: the projector's */
    const void *typed;      /* for the family's projector; or */
    struct wbi_str output;  /* JSON text of the tool's own output */
    const wbi_json *value;  /* the same, read; NULL: nobody has read it as it is now */
    bool flat;              /* output is only the text of the parts once more */
    bool bounded;           /* output is a result already: it was too large for a value */
    bool looked;            /* output is of a text that was found to hold nothing to redact */
    const struct wbi_wire_part *parts; /* content besides it: text, images, … */
    size_t part_count;
    struct wbi_str artifacts; /* JSON array of facts, for the record */
    struct wbi_str audit;     /* JSON object, for the record */
    struct wbi_str raw;       /* an MCP result that may be passed on as it is, or absent */
    struct wbi_str meta;      /* of an MCP result that is not, an object; or absent */
    const wbi_json *members;  /* of such a one's texts, for the receipt; NULL: none */
    bool loose;               /* an MCP result whose structuredContent is no object */
    struct wbi_str rpc_error; /* a JSON-RPC error that its MCP client must see, or absent */
    const char *lacks;        /* an ability its MCP client would have needed, or NULL */
    const void *fault;        /* struct wbi_fault of an error */
};

/* What a projector may spend and where large values go. */
struct wbi_sink {
    /* Keep bytes as an artifact; its absolute path goes to *ret_path (arena of
     * the call). */
    wb_rc (*put)(void *arg, const char *role, struct wbi_str bytes, struct wbi_str *ret_path,
                 struct wbi_error *err);
    void *arg;
};
struct wbi_projection {
    struct wbi_arena *arena;
    uint32_t budget_tokens;
    const struct wbi_sink *sink; /* NULL: nothing can be kept; previews say so */
    struct wbi_str tool_name;
    const wbi_json **ret_value; /* the result as read, where the projector has it; or left alone */
};

struct wbi_canonical;

/* A family: how complete output becomes a bounded result, and a result a
 * receipt (C5.1, C6). render sees only the canonical result. */
struct wbi_family {
    const char *name;
    void *arg;
    /* Write the result (one JSON value) and the summary. */
    wb_rc (*project)(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary,
                     struct wbi_error *err);
    wb_rc (*render)(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *ret_receipt, struct wbi_error *err);
    /* JSON Pointers, up to the first NULL: what a result must hold for render to tell
     * the truth. One that lacks some was made smaller (C11) or made elsewhere, and
     * is shown by what is left of it. */
    const char *needs[3];
};

struct wbi_tool {
    struct wbi_str qualified;  /* "local::fs.write", "mcp::github::search" */
    struct wbi_str model_name; /* what a provider allows */
    struct wbi_str origin;     /* "local" or "mcp::<server>" */
    struct wbi_str title;
    struct wbi_str description;
    struct wbi_str version;
    const wbi_json *input_schema;
    const wbi_json *output_schema;     /* NULL: none */
    struct wbi_schema *input_compiled; /* never NULL in a catalog */
    struct wbi_schema *output_compiled;
    const wbi_json *tags;
    const wbi_json *scopes;      /* array of strings that its callers need, or NULL */
    const wbi_json *credentials; /* array of names of the environment it needs, or NULL */
    const wbi_json *descriptor;  /* as declared */
    uint8_t content_hash[32];
    enum wbi_effect effect;
    enum wbi_input_kind input_kind;
    struct wbi_str grammar; /* of a text tool; absent: any text */
    enum wbi_grammar_syntax grammar_syntax;
    int64_t timeout_ms; /* 0: the policy's */
    uint32_t budget_tokens;
    bool parallel;
    bool needs_key; /* a native call must bring an idempotency key (C8.6) */
    bool builtin;
    bool mcp_headers;          /* the schema of its input may have x-mcp-header */
    bool hidden;               /* callable, not listed (local_shell, shell) */
    struct wbi_str deprecated; /* absent, or why and what instead */
    struct wbi_str prefix;     /* of an MCP tool, instead of its server's name; empty: none */
    struct wbi_str blocked;    /* absent, or why it must not be called */
    const struct wbi_family *family;
    const struct wbi_tool_ops *ops;
    void *ops_arg;
    struct wbi_tool_body *body; /* counted: what the texts and trees above are part of */
};

#endif
