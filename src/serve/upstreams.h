/* SPDX-License-Identifier: Apache-2.0
 * serve/upstreams.h: the MCP servers of the configuration and their tools in the
 * catalog (C10, C3.7). A server starts when one of its tools, or a list, is asked
 * for. What one server does wrong costs its own tools only. Loop thread only. */
#ifndef WBI_SERVE_UPSTREAMS_H
#define WBI_SERVE_UPSTREAMS_H

#include "call/runtime.h"
#include "mcp/upstream.h"

struct wbi_upstreams;
struct wbi_server;
struct wbi_shelf;

/* Reads mcpServers; *ret is NULL when there are none. WB_EINPUT with the file and
 * line of a server that is declared wrongly; one that cannot be had here (a variable
 * is not set) costs its own tools. The runtime must outlive it, but for
 * wbi_upstreams_free. */
WB_MUST_CHECK wb_rc wbi_upstreams_new(struct wbi_runtime *rt, struct wbi_upstreams **ret,
                                      struct wbi_error *err);
/* Ends the servers; their open calls end. Before the runtime is freed. NULL is fine. */
void wbi_upstreams_stop(struct wbi_upstreams *ups);
/* After the runtime was freed: calls still name its memory. NULL is fine. */
void wbi_upstreams_free(struct wbi_upstreams *ups);

/* Who hears of what servers tell: all functions, or none. */
struct wbi_upstreams_ears {
    void (*on_changed)(void *arg, enum wbi_mcp_list what);
    void (*on_updated)(void *arg, struct wbi_str uri);
    void (*on_elicited)(void *arg, struct wbi_str conversation, struct wbi_str id);
    void *arg;
};
void wbi_upstreams_watch(struct wbi_upstreams *ups, struct wbi_upstreams_ears ears);

/* Who hears what a person should know: servers that cannot be had, at once, and tools
 * that were left out; NULL ends it. */
void wbi_upstreams_notices(struct wbi_upstreams *ups,
                           void (*on_notice)(void *arg, const char *text), void *arg);

/* Brings the tools of all servers into the catalog, all at once; on_done runs once,
 * maybe from inside, when every server has answered, failed, or had its time. */
WB_MUST_CHECK wb_rc wbi_upstreams_ready(struct wbi_upstreams *ups, void (*on_done)(void *arg),
                                        void *arg);

size_t wbi_upstreams_count(const struct wbi_upstreams *ups);
struct wbi_server *wbi_upstreams_at(const struct wbi_upstreams *ups, size_t i);

struct wbi_str wbi_server_name(const struct wbi_server *s);
/* Why it has not told its tools, though it was asked; NULL: it has. */
const char *wbi_server_failure(const struct wbi_server *s);
/* How many of its tools cannot be offered; the first of them, and why. */
const char *wbi_server_left_out(const struct wbi_server *s, size_t *ret_count);
/* How many of them nobody can call before a person approves it; the first, and why. */
const char *wbi_server_waiting(const struct wbi_server *s, size_t *ret_count);
/* Stands before "__" and the names of its tools and prompts; empty: own names. */
struct wbi_str wbi_server_prefix(const struct wbi_server *s);
const struct wbi_secrets *wbi_server_secrets(const struct wbi_server *s);
/* The connection for what is asked for nobody in particular, made at the first use; NULL when
 * it cannot be had. */
struct wbi_upstream *wbi_server_link(struct wbi_server *s, struct wbi_error *err);
/* That for a request of this client, who may be of another era than others; r NULL: of none.
 * tool: its own name there; absent: it is no call. */
struct wbi_upstream *wbi_server_link_for(struct wbi_server *s, const struct wbi_mcp_request *r,
                                         struct wbi_str tool, struct wbi_error *err);
/* Another one that is open, for what `up` could not take; NULL: none. */
struct wbi_upstream *wbi_server_link_instead(struct wbi_server *s, const struct wbi_upstream *up,
                                             struct wbi_str tool);
/* Whether the tool may be called over it: it is as the catalog has it. */
bool wbi_server_agrees(const struct wbi_server *s, const struct wbi_upstream *up,
                       struct wbi_str tool);
/* This client asks for lists, or for what may be in one. r NULL: none. */
void wbi_upstreams_meet(struct wbi_upstreams *ups, const struct wbi_mcp_request *r);
/* Its updates are told, or no more. False: on, and it says that it tells of none. */
bool wbi_server_watch(struct wbi_server *s, struct wbi_str uri, bool on);
/* What it listed last of a kind that is not tools; to be filled by who asked for it. */
struct wbi_shelf *wbi_server_shelf(struct wbi_server *s, enum wbi_mcp_list what);
/* A client of this conversation was asked for something by it; params of the question. */
void wbi_server_elicits(struct wbi_server *s, struct wbi_str conversation, const wbi_json *params);
/* Tells who watches that this list is another one. */
void wbi_server_changed(struct wbi_server *s, enum wbi_mcp_list what);
/* Asks for its tools where that is due: a call is about to use one. */
void wbi_server_need(struct wbi_server *s);

/* How tools of a server run: ops_arg is the struct wbi_server. */
extern const struct wbi_tool_ops wbi_upstream_tool_ops;

#endif
