/* SPDX-License-Identifier: Apache-2.0
 * serve/gateway.h: the MCP server over a runtime (C10, I3 `serve`, I4). Tools of
 * the catalog, artifacts as resources, and what upstreams offer besides tools,
 * by stdio or HTTP. Every tools/call is a whole call of the runtime. Loop thread
 * only. */
#ifndef WBI_SERVE_GATEWAY_H
#define WBI_SERVE_GATEWAY_H

#include "call/runtime.h"

struct wbi_gateway;
struct wbi_upstreams;

struct wbi_gateway_options {
    struct wbi_str http;         /* "127.0.0.1:7717"; absent: in_fd and out_fd */
    struct wbi_str token;        /* absent: none is asked for */
    const struct wbi_str *hosts; /* accepted in Host and Origin beside loopback */
    size_t host_count;
    int in_fd, out_fd; /* stay the caller's */
    int access_fd;     /* access log as JSON Lines; -1: none */
    int64_t grace_ms;  /* of a drain; 0: 5,000 */
    /* Gets the reason why messages on in_fd or out_fd were lost, until the gateway is
     * freed; NULL: nobody asks. */
    struct wbi_error *lost;
    /* Runs once: the input has ended or the drain is done, and every call has
     * been answered. */
    void (*on_end)(void *arg);
    void *arg;
};

/* ups may be NULL. The runtime and ups must outlive it. */
WB_MUST_CHECK wb_rc wbi_gateway_new(struct wbi_runtime *rt, struct wbi_upstreams *ups,
                                    const struct wbi_gateway_options *options,
                                    struct wbi_gateway **ret, struct wbi_error *err);
/* Only after on_end, or after a failed start of its owner. NULL is fine. */
void wbi_gateway_free(struct wbi_gateway *g);
/* 0 without HTTP. */
uint16_t wbi_gateway_port(const struct wbi_gateway *g);
/* Another bearer token for what is asked by HTTP from now on. WB_EMISUSE where there
 * was none. */
WB_MUST_CHECK wb_rc wbi_gateway_set_token(struct wbi_gateway *g, struct wbi_str token);
/* Take nothing new, answer what is owed, cancel what outlasts the grace time;
 * a second time cancels at once. */
void wbi_gateway_drain(struct wbi_gateway *g);

#endif
