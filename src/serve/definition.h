/* SPDX-License-Identifier: Apache-2.0
 * serve/definition.h: what a server says about a tool, before a model reads it. */
#ifndef WBI_SERVE_DEFINITION_H
#define WBI_SERVE_DEFINITION_H

#include "json/json.h"

/* True when hygiene would change no string of the value, names included. */
bool wbi_strings_clean(const wbi_json *v);

/* True when a person may see something else than a model reads: escape sequences,
 * invisible characters or text drawn over in any string. Line ends of any kind are
 * fine. Out of memory counts as hiding. */
bool wbi_definition_hides(const wbi_json *tool);

/* A copy whose titles and descriptions, at any depth, are cleaned; names, patterns
 * and values stay, for calls depend on them. In arena. */
WB_MUST_CHECK wb_rc wbi_definition_clean(struct wbi_arena *arena, const wbi_json *tool,
                                         const wbi_json **ret, struct wbi_error *err);

#endif
