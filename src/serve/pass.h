/* SPDX-License-Identifier: Apache-2.0
 * serve/pass.h: what upstreams offer besides tools: prompts, resources and
 * completions, passed on. Prompts are named as tools are; resources keep their
 * URIs. */
#ifndef WBI_SERVE_PASS_H
#define WBI_SERVE_PASS_H

#include "serve/gateway_int.h"

struct wbi_server;

/* The server that lists the URI, else the one whose template it fits best; NULL: not
 * known. */
struct wbi_server *wbi_pass_owner(const struct wbi_gateway *g, struct wbi_str uri);
void wbi_pass_read(struct wbi_gateway *g, struct wbi_mcp_request *r, struct wbi_str uri);
void wbi_serve_prompt(void *arg, struct wbi_mcp_request *r, struct wbi_str prompt,
                      const wbi_json *arguments);
void wbi_serve_complete(void *arg, struct wbi_mcp_request *r, const wbi_json *params);
/* A request of any kind is not wanted any more. */
void wbi_serve_cancelled(void *arg, struct wbi_mcp_request *r);

/* gather.c: the lists of that kind of all upstreams, after our own items (JSON, separated
 * by commas, maybe empty). */
struct wbi_gathering;
void wbi_gather(struct wbi_gateway *g, struct wbi_mcp_request *r, enum wbi_mcp_list what,
                struct wbi_str own);
void wbi_gather_cancel(struct wbi_gathering *all);

/* watch.c: who watches resources; servers are told of the first and the last. */
bool wbi_serve_subscribed(void *arg, struct wbi_str uri, bool on);
void wbi_watch_forget(struct wbi_gateway *g);

#endif
