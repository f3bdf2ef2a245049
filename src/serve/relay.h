/* SPDX-License-Identifier: Apache-2.0
 * serve/relay.h: what passes between an upstream's request and the client whose
 * request it serves: questions, log messages, progress, abilities. */
#ifndef WBI_SERVE_RELAY_H
#define WBI_SERVE_RELAY_H

#include "call/runtime.h"
#include "mcp/upstream.h"
#include "serve/upstreams.h"

/* Fill what an upstream may ask of or tell this client; r NULL: nobody. A conversation that
 * q names already stays. */
void wbi_relay_client(struct wbi_upstream_request *q, struct wbi_mcp_request *r);
/* A question of the server for the client; refused when it cannot be asked (r may be NULL). */
void wbi_relay_ask(struct wbi_server *s, struct wbi_mcp_request *r, struct wbi_upstream_ask *ask,
                   struct wbi_str key, struct wbi_str method, struct wbi_str params);
/* The server needs no answer any more. r may be NULL. */
void wbi_relay_withdrawn(struct wbi_mcp_request *r, struct wbi_upstream_ask *ask);
/* The server's error tells the client to go elsewhere first. r may be NULL. */
void wbi_relay_elicits(struct wbi_server *s, const struct wbi_mcp_request *r,
                       const wbi_json *error);
/* What an upstream tells, without secrets (C8.8), with all else that params say. r may be NULL. */
void wbi_relay_log(const struct wbi_runtime *rt, struct wbi_mcp_request *r, struct wbi_str level,
                   struct wbi_str logger, const wbi_json *data, const wbi_json *params);
void wbi_relay_progress(const struct wbi_runtime *rt, struct wbi_mcp_request *r, double progress,
                        double total, struct wbi_str message, const wbi_json *params);
/* Why a server did not answer, which may hold its own words, without secrets; scratch is
 * an empty buffer for it. */
struct wbi_str wbi_relay_why(const struct wbi_runtime *rt, const char *why,
                             struct wbi_buf *scratch);

#endif
