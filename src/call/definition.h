/* SPDX-License-Identifier: Apache-2.0
 * call/definition.h: a tool of the catalog as whoever lists it is told. */
#ifndef WBI_CALL_DEFINITION_H
#define WBI_CALL_DEFINITION_H

#include "catalog/tool.h"
#include "wire/definitions.h"

/* any_output: outputs need not be objects (MCP from 2026-07-28 on). Its slices are the tool's. */
struct wbi_definition wbi_definition_of(const struct wbi_tool *t, bool any_output);

#endif
