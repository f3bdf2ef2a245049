/* SPDX-License-Identifier: Apache-2.0
 * schema/schema.h: JSON Schema 2020-12 and draft-07: compile once, ask often.
 * A compiled schema is immutable: any thread may use it, and it
 * keeps nothing of the values it was made from. Limits: docs/schema.md. */
#ifndef WBI_SCHEMA_SCHEMA_H
#define WBI_SCHEMA_SCHEMA_H

#include "json/json.h"

struct wbi_schema;

enum wbi_schema_draft {
    WBI_SCHEMA_AUTO = 0, /* what "$schema" says, else 2020-12 */
    WBI_SCHEMA_2020_12,
    WBI_SCHEMA_DRAFT_07
};

struct wbi_schema_options {
    enum wbi_schema_draft draft; /* other than AUTO overrules the root's "$schema",
                                    unless that is a dialect on this draft that was given */
    bool format_assert;          /* "format" checks; otherwise it only describes */
    /* The document behind an absolute URI without fragment, NULL when there is
     * none; needed until wbi_schema_compile returns. NULL: no documents. */
    const wbi_json *(*remote)(void *arg, struct wbi_str uri);
    void *arg;
    struct wbi_str base_uri; /* of the root document; absent is fine */
};

/* WB_EINPUT: not a schema (err->at is the place), WB_EUNSUPPORTED: another
 * dialect, an unknown vocabulary, a reference that would need the network, a
 * regular expression the engine lacks, WB_ELIMIT, WB_ENOMEM. opt may be NULL. */
WB_MUST_CHECK wb_rc wbi_schema_compile(const wbi_json *schema, const struct wbi_schema_options *opt,
                                       struct wbi_schema **ret, struct wbi_error *err);
/* NULL is fine. */
void wbi_schema_free(struct wbi_schema *schema);

/* The verdict alone. Allocates nothing for usual instances. False also when a
 * limit was reached: wbi_schema_check tells which. */
bool wbi_schema_valid(const struct wbi_schema *schema, const wbi_json *instance);

/* Codes of C3.3. */
enum wbi_schema_code {
    WBI_SCHEMA_INVALID = 0,
    WBI_SCHEMA_REQUIRED_MISSING,
    WBI_SCHEMA_INVALID_TYPE,
    WBI_SCHEMA_INVALID_FORMAT,
    WBI_SCHEMA_INVALID_ENUM_VALUE
};
/* "SchemaInvalid", "RequiredMissing", … */
const char *wbi_schema_code_name(enum wbi_schema_code code);

struct wbi_schema_error {
    enum wbi_schema_code code;
    struct wbi_str path;        /* JSON Pointer into the instance, "" for the whole */
    struct wbi_str keyword;     /* "minimum", … */
    struct wbi_str schema_path; /* URI reference of the keyword, "#/properties/limit/minimum" */
    struct wbi_str expected;    /* "an integer from 1 to 500" */
    struct wbi_str found;       /* "a string ("many")", at most WBI_LIMIT_SCHEMA_FOUND bytes */
    struct wbi_str accepted;    /* names or values that would be accepted; absent if not listable */
    struct wbi_str missing;     /* the member that is missing; absent otherwise */
    struct wbi_str message;     /* one sentence for the model */
};

struct wbi_schema_report {
    bool valid;
    bool more; /* there were more than the errors listed */
    size_t n_errors;
    struct wbi_schema_error *errors; /* the most relevant first */
};

/* Verdict with reasons, everything in arena. WB_ELIMIT: a limit of work was
 * reached before a verdict (err says which), WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_schema_check(const struct wbi_schema *schema, const wbi_json *instance,
                                     struct wbi_arena *arena, struct wbi_schema_report *ret,
                                     struct wbi_error *err);

struct wbi_schema_note {
    struct wbi_str path; /* in the repaired value */
    struct wbi_str text; /* "string read as integer" */
};

struct wbi_schema_repair {
    bool repaired;
    const wbi_json *value; /* valid against the schema; in arena */
    struct wbi_str json;   /* the same as text */
    size_t n_notes;
    struct wbi_schema_note *notes;
};

/* Repair an instance that failed the strict check, where one reading is
 * possible (C3.3): numbers and booleans written as strings, one stray wrapper
 * object. repaired is false when there is nothing that makes it valid; the
 * instance is never changed. */
WB_MUST_CHECK wb_rc wbi_schema_coerce(const struct wbi_schema *schema, const wbi_json *instance,
                                      struct wbi_arena *arena, struct wbi_schema_repair *ret,
                                      struct wbi_error *err);

enum wbi_lint_provider {
    WBI_LINT_RESPONSES = 1,
    WBI_LINT_CHAT = 2,
    WBI_LINT_ANTHROPIC = 4,
    WBI_LINT_GEMINI = 8,
    WBI_LINT_MCP = 16,
    WBI_LINT_ALL = 31
};
/* "responses", …; NULL for anything but one provider. */
const char *wbi_lint_provider_name(enum wbi_lint_provider provider);

struct wbi_schema_finding {
    unsigned providers;     /* which refuse or ignore it, enum wbi_lint_provider bits */
    bool refused;           /* true: the definition is refused; false: it is weakened */
    struct wbi_str path;    /* JSON Pointer into the schema */
    struct wbi_str keyword; /* "" when it is about the place itself */
    struct wbi_str text;
};

struct wbi_schema_findings {
    size_t n;
    struct wbi_schema_finding *list;
    bool more;
};

/* What providers refuse in the input schema of a tool. providers: the ones to
 * ask for. A schema that does not compile is one finding. */
WB_MUST_CHECK wb_rc wbi_schema_lint(const wbi_json *schema, unsigned providers,
                                    struct wbi_arena *arena, struct wbi_schema_findings *ret);

#endif
