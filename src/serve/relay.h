/* SPDX-License-Identifier: Apache-2.0
 * serve/relay.h: what passes between an upstream's request and the client whose
 * request it serves: questions, log messages, abilities. */
#ifndef WBI_SERVE_RELAY_H
#define WBI_SERVE_RELAY_H

#include "mcp/upstream.h"

/* Fill what an upstream may ask of or tell this client; r NULL: nobody. */
void wbi_relay_client(struct wbi_upstream_request *q, struct wbi_mcp_request *r);
/* A question for the client; refused when it cannot be asked (r may be NULL). */
void wbi_relay_ask(struct wbi_mcp_request *r, struct wbi_upstream_ask *ask, struct wbi_str key,
                   struct wbi_str method, struct wbi_str params);
void wbi_relay_log(struct wbi_mcp_request *r, struct wbi_str level, struct wbi_str logger,
                   const wbi_json *data);

#endif
