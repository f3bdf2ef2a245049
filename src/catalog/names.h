/* SPDX-License-Identifier: Apache-2.0
 * catalog/names.h: qualified names and the names models see (C2.5).
 * Qualified: `local::<tool>`, `mcp::<server>::<tool>`. Model names have 1 to 64
 * letters, digits, `_` and `-` and start with a letter or `_`, which every
 * provider takes. A table is immutable, and the same set of tools gives the same
 * names in whatever order it is registered. */
#ifndef WBI_CATALOG_NAMES_H
#define WBI_CATALOG_NAMES_H

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

enum wbi_name_origin { WBI_NAME_UNKNOWN, WBI_NAME_LOCAL, WBI_NAME_MCP };

struct wbi_name_parts {
    enum wbi_name_origin origin;
    struct wbi_str server; /* MCP only */
    struct wbi_str tool;
};

/* By syntax alone: qualified names and `mcp__<server>__<tool>`; anything else is
 * UNKNOWN with tool = name. Slices point into name. */
struct wbi_name_parts wbi_name_parts(struct wbi_str name);
/* True when a provider accepts the name as it is. */
bool wbi_name_is_model_name(struct wbi_str name);
/* Adds the name with one `_` for each character that some provider does not take; whether there
 * was none. Any bytes. */
bool wbi_name_put_clean(struct wbi_str name, struct wbi_buf *out);

struct wbi_name_in {
    struct wbi_str qualified;
    bool builtin;          /* keeps its tool part as model name, which must be one */
    struct wbi_str prefix; /* of an MCP tool, instead of its server's name; empty: none */
};

struct wbi_name {
    struct wbi_str qualified;
    struct wbi_str model;
    struct wbi_name_parts parts;
    size_t index; /* place in the list given to wbi_names_new */
    bool builtin;
    struct wbi_str prefix;
};

/* What names of MCP tools begin with, up to their "__": names and prefixes of the servers
 * there are, also of those that have not told their tools. */
struct wbi_name_servers {
    const struct wbi_str *list;
    size_t n;
};

struct wbi_names;

/* A tool that is no server's never has a name that reads as one of servers' (NULL: there
 * are none), whether that server has such a tool or not. Copies what it needs. WB_EINPUT for a name
 * that breaks the rules, WB_EEXISTS for the same qualified name twice, WB_ELIMIT, WB_ENOMEM. Any
 * thread. */
WB_MUST_CHECK wb_rc wbi_names_new(const struct wbi_name_in *in, size_t n,
                                  const struct wbi_name_servers *servers, struct wbi_names **ret,
                                  struct wbi_error *err);
/* NULL is fine. */
void wbi_names_free(struct wbi_names *names);

/* In the order of qualified names; NULL behind the last. */
const struct wbi_name *wbi_names_at(const struct wbi_names *names, size_t i);
/* Any accepted spelling: qualified, model name, `mcp__server__tool`,
 * `server__tool`, a local tool's own name. A name that can be read as an MCP tool is one; a
 * spelling that fits two tools fits none. name_space may be absent, `functions`, a server, or
 * `mcp__<server>`. NULL when nothing fits. */
const struct wbi_name *wbi_names_find(const struct wbi_names *names, struct wbi_str name_space,
                                      struct wbi_str name);

#endif
