/* SPDX-License-Identifier: Apache-2.0
 * serve/pass.h: what upstreams offer besides tools: prompts, resources and
 * completions, passed on. Prompts are named as tools are; resources keep their
 * URIs. */
#ifndef WBI_SERVE_PASS_H
#define WBI_SERVE_PASS_H

#include "serve/gateway_int.h"

/* The lists of that kind of all upstreams, after our own items (JSON, separated by
 * commas, maybe empty). */
void wbi_pass_list(struct wbi_gateway *g, struct wbi_mcp_request *r, enum wbi_mcp_list what,
                   struct wbi_str own);
void wbi_pass_read(struct wbi_gateway *g, struct wbi_mcp_request *r, struct wbi_str uri);
void wbi_serve_prompt(void *arg, struct wbi_mcp_request *r, struct wbi_str prompt,
                      const wbi_json *arguments);
void wbi_serve_complete(void *arg, struct wbi_mcp_request *r, const wbi_json *params);
void wbi_serve_subscribed(void *arg, struct wbi_str uri, bool on);
/* A request of any kind is not wanted any more. */
void wbi_serve_cancelled(void *arg, struct wbi_mcp_request *r);

#endif
