/* SPDX-License-Identifier: Apache-2.0
 * catalog/catalog.h: the tools there are, as one immutable counted snapshot.
 * Several versions of one tool stand side by side; the one resolved is the one
 * that runs (C3.2). */
#ifndef WBI_CATALOG_CATALOG_H
#define WBI_CATALOG_CATALOG_H

#include "catalog/names.h"
#include "catalog/tool.h"

struct wbi_catalog;
struct wbi_catalog_builder;

WB_MUST_CHECK wb_rc wbi_catalog_builder_new(struct wbi_catalog_builder **ret);
void wbi_catalog_builder_free(struct wbi_catalog_builder *b); /* NULL is fine */

/* How a declared tool runs and is shown. */
struct wbi_tool_binding {
    const struct wbi_family *family;
    const struct wbi_tool_ops *ops;
    void *ops_arg;
    bool builtin;
    bool hidden;
    struct wbi_str origin;  /* absent: "local" */
    int64_t timeout_ms;     /* of a descriptor that says none; 0: the policy's */
    struct wbi_str prefix;  /* of an MCP tool, instead of its server's name; empty: none */
    struct wbi_str blocked; /* absent, or why it must not be called */
};

/* Add one descriptor (parsed, copied): name, title?, description?, version?,
 * inputSchema?, outputSchema?, effect?, parallel?, idempotencyKey?, timeoutMs?,
 * budgetTokens?, inputKind?, grammar?, tags?, deprecated? (docs/tools.md). err names the member.
 * The same name and version twice: WB_EEXISTS. */
WB_MUST_CHECK wb_rc wbi_catalog_add(struct wbi_catalog_builder *b, const wbi_json *descriptor,
                                    const struct wbi_tool_binding *binding, struct wbi_error *err);
/* All tools of an earlier snapshot. */
WB_MUST_CHECK wb_rc wbi_catalog_add_all(struct wbi_catalog_builder *b,
                                        const struct wbi_catalog *from, struct wbi_error *err);
/* The same without those of one origin. */
WB_MUST_CHECK wb_rc wbi_catalog_add_others(struct wbi_catalog_builder *b,
                                           const struct wbi_catalog *from, struct wbi_str origin,
                                           struct wbi_error *err);
/* The servers whose tools are or will be in it; what servers points to lives until the
 * catalog is built. */
void wbi_catalog_servers(struct wbi_catalog_builder *b, const struct wbi_name_servers *servers);
/* Names are settled, the builder is used up. */
WB_MUST_CHECK wb_rc wbi_catalog_build(struct wbi_catalog_builder *b, struct wbi_catalog **ret,
                                      struct wbi_error *err);

struct wbi_catalog *wbi_catalog_ref(struct wbi_catalog *c);
void wbi_catalog_unref(struct wbi_catalog *c); /* NULL is fine */

/* In the order of model names, highest version first. */
size_t wbi_catalog_count(const struct wbi_catalog *c);
const struct wbi_tool *wbi_catalog_at(const struct wbi_catalog *c, size_t i);

/* Who looks, and what they see of a tool (C3.4). */
enum wbi_sight {
    WBI_SIGHT_HIDDEN = 0, /* it does not exist */
    WBI_SIGHT_BARRED,     /* it is there, calls of it are refused */
    WBI_SIGHT_CLEAR       /* it may be called */
};
struct wbi_viewer {
    enum wbi_sight (*sees)(const struct wbi_viewer *viewer, const struct wbi_tool *tool);
    const void *arg;
    struct wbi_str principal;
};

/* name: model name, qualified name or mcp__server__tool; name_space as a
 * provider gives it, usually absent. range absent: the highest version; without
 * one nothing is allocated. Only versions that viewer (NULL: sees all) may call
 * count; those it sees barred only where none of the others fits, for the caller to
 * say why. WB_ENOTFOUND with kind unknown_tool (near names are told) or
 * unsupported_version (available ones are told), both of what is seen alone. */
WB_MUST_CHECK wb_rc wbi_catalog_resolve(const struct wbi_catalog *c, struct wbi_arena *arena,
                                        const struct wbi_viewer *viewer, struct wbi_str name_space,
                                        struct wbi_str name, struct wbi_str range,
                                        const struct wbi_tool **ret, struct wbi_error *err);

#endif
