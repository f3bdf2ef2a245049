/* SPDX-License-Identifier: Apache-2.0
 * mcp/question.h: what a question to a client must hold at least. One that no client can read
 * would be waited for until its time is up. */
#ifndef WBI_MCP_QUESTION_H
#define WBI_MCP_QUESTION_H

#include "json/json.h"

/* NULL, or what is wrong with it, as "params.message must be a string". params may be NULL;
 * what else stands in it is for the client to judge. */
const char *wbi_mcp_question_fault(struct wbi_str method, const wbi_json *params);

#endif
