/* SPDX-License-Identifier: Apache-2.0
 * family/generic/generic.h: any JSON or text a tool returns (C7.6): configured
 * local tools, C functions, MCP tools. */
#ifndef WBI_FAMILY_GENERIC_GENERIC_H
#define WBI_FAMILY_GENERIC_GENERIC_H

#include "catalog/tool.h"

extern const struct wbi_family wbi_generic_family;

#endif
