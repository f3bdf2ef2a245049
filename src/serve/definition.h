/* SPDX-License-Identifier: Apache-2.0
 * serve/definition.h: what a server says about a tool, before a model reads it, and what it
 * asks, before a person does. */
#ifndef WBI_SERVE_DEFINITION_H
#define WBI_SERVE_DEFINITION_H

#include "base/error.h"
#include "json/write.h"
#include "mcp/server.h"

struct wbi_secrets;

/* True when a person may see something else than a model reads: escape sequences,
 * invisible characters or text drawn over in any string. Line ends of any kind are
 * fine. Out of memory counts as hiding. */
bool wbi_definition_hides(const wbi_json *tool);

/* Whether any string of it holds a secret. */
bool wbi_definition_tells(const struct wbi_secrets *secrets, const wbi_json *v);

/* A copy whose titles and descriptions, at any depth, are cleaned and lose their secrets,
 * as defaults and examples do; names, patterns and other values stay, for calls depend on
 * them. Of a tool, or a list of items. In arena. */
WB_MUST_CHECK wb_rc wbi_definition_clean(struct wbi_arena *arena, const struct wbi_secrets *secrets,
                                         const wbi_json *v, const wbi_json **ret,
                                         struct wbi_error *err);

/* The same of what a server asks a client, compact JSON: also its message and texts. URLs, ids
 * and what may be chosen stay, for answers depend on them. */
WB_MUST_CHECK wb_rc wbi_question_clean(struct wbi_arena *arena, const struct wbi_secrets *secrets,
                                       struct wbi_str *params);

/* The definition of a tool as every revision of the protocol allows it: members of a
 * wrong form that it need not have are left out. WB_EINPUT when what remains is no
 * definition; err says why. In arena, or the tool itself. */
WB_MUST_CHECK wb_rc wbi_definition_take(struct wbi_arena *arena, const wbi_json *tool,
                                        const wbi_json **ret, struct wbi_error *err);

/* Whether the protocol allows an item of a list of prompts, resources or templates. */
bool wbi_item_allowed(enum wbi_mcp_list what, const wbi_json *item);

/* Whether a member of such an item is told: none that is null, for strict clients take that for
 * a value of the wrong form, nor annotations of one, and lose the whole list. */
bool wbi_item_tells(struct wbi_str name, const wbi_json *v);

/* An object without its members that are null. */
void wbi_definition_members(struct wbi_jw *w, const wbi_json *v);

/* A definition under another name. Up to 2025-11-25 (legacy) an outputSchema is one of
 * an object, and every property has an object for a schema: what says more is left out
 * or said in that way. */
void wbi_definition_write(struct wbi_jw *w, struct wbi_str name, const wbi_json *tool, bool legacy);

#endif
