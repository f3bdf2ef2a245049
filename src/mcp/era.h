/* SPDX-License-Identifier: Apache-2.0
 * mcp/era.h: the revisions of MCP that are spoken, and how a message shows
 * which one it means. Up to 2025-11-25 a connection opens with `initialize`;
 * from 2026-07-28 on every request carries its version and capabilities. */
#ifndef WBI_MCP_ERA_H
#define WBI_MCP_ERA_H

#include "base/limits.h"
#include "json/json.h"

#define WBI_MCP_MODERN "2026-07-28"
#define WBI_MCP_LEGACY "2025-11-25" /* the newest of the older ones */
#define WBI_META "io.modelcontextprotocol/"

enum wbi_mcp_era { WBI_ERA_LEGACY = 0, WBI_ERA_MODERN };

/* Of the versions with `initialize`: 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05. */
bool wbi_era_legacy_version(struct wbi_str version);
bool wbi_era_modern_version(struct wbi_str version);
/* `["2026-07-28", …]` */
void wbi_era_put_versions(struct wbi_buf *out);

/* What a client says it can be asked. */
struct wbi_mcp_abilities {
    bool sampling, sampling_tools, elicitation_form, elicitation_url, roots;
};
/* parted: the revision has modes of elicitation and tools in sampling (2025-11-25 and later);
 * before, elicitation is by form alone. */
void wbi_mcp_abilities_of(const wbi_json *capabilities, bool parted, struct wbi_mcp_abilities *ret);
/* "sampling/createMessage" → "sampling"; NULL for what no client can be asked. */
const char *wbi_mcp_ability_for(struct wbi_str method);
/* What a client would have to declare to be asked this: a JSON object; NULL as above. */
const char *wbi_mcp_required(struct wbi_str method, const wbi_json *params);
bool wbi_mcp_able(const struct wbi_mcp_abilities *a, struct wbi_str method);
/* The same for one question: its mode, or its tools, may be more than the client can. */
bool wbi_mcp_able_with(const struct wbi_mcp_abilities *a, struct wbi_str method,
                       const wbi_json *params);

/* 0 (debug) to 7 (emergency); -1 for no level. */
int wbi_mcp_level(struct wbi_str name);
/* The name of a level, NULL for -1. */
const char *wbi_mcp_level_name(int level);

/* Whether an HTTP header says the same as a value of the body. Headers may be
 * written `=?base64?…?=`; integers compare as numbers. */
bool wbi_mcp_header_equals(struct wbi_str header, const wbi_json *value);
/* Write a value so that a header can carry it. */
void wbi_mcp_header_put(struct wbi_buf *out, struct wbi_str value);
/* Arguments that headers repeat: those whose schema has x-mcp-header, at any depth
 * beneath `properties` alone. */
struct wbi_mcp_header_walk {
    struct {
        const wbi_json *key; /* of a property to come */
        size_t left;
        const wbi_json *values;
    } at[WBI_LIMIT_MCP_HEADER_DEPTH];
    size_t depth;
};
/* schema and arguments may be NULL. */
struct wbi_mcp_header_walk wbi_mcp_header_walk(const wbi_json *schema, const wbi_json *arguments);
/* The next one: its property, the annotation, and the argument (NULL: absent or null). */
bool wbi_mcp_header_next(struct wbi_mcp_header_walk *w, const wbi_json **ret_property,
                         const wbi_json **ret_name, const wbi_json **ret_value);
/* Whether the x-mcp-header of an input schema can be obeyed: on texts, integers and
 * booleans only, names that are header names, no name twice, none elsewhere than where
 * the walk comes. NULL is fine. */
bool wbi_mcp_headers_usable(const wbi_json *input_schema);

#endif
