/* SPDX-License-Identifier: Apache-2.0
 * mcp/server.h: the server side of MCP, all revisions on one endpoint, without
 * knowing what a tool is: the runtime gives it a table of functions. Requests
 * come by stdio lines or HTTP; each is handed to one function of the table and
 * answered exactly once, now or later. Loop thread only. */
#ifndef WBI_MCP_SERVER_H
#define WBI_MCP_SERVER_H

#include "base/clock.h"
#include "base/id.h"
#include "mcp/era.h"
#include "mcp/rpc.h"

struct wbi_loop;
struct wbi_http;
struct wbi_http_request;
struct wbi_mcp_server;
struct wbi_mcp_request;
struct wbi_mcp_stdio;

enum wbi_mcp_list { WBI_MCP_TOOLS = 0, WBI_MCP_RESOURCES, WBI_MCP_TEMPLATES, WBI_MCP_PROMPTS };

/* Each of the first six ends in exactly one wbi_mcp_reply*, wbi_mcp_fail or
 * wbi_mcp_fail_able for its request, from inside or later; also after `cancel`
 * (the answer is then dropped, unless it is the server that stops). NULL means the method is not
 * offered. */
struct wbi_mcp_ops {
    void (*list)(void *arg, struct wbi_mcp_request *r, enum wbi_mcp_list what);
    /* arguments: object or NULL. */
    void (*call)(void *arg, struct wbi_mcp_request *r, struct wbi_str tool,
                 const wbi_json *arguments);
    /* A call that names no tool, or whose arguments are no object: why is static. NULL: such a
     * request is refused at once. */
    void (*malformed)(void *arg, struct wbi_mcp_request *r, struct wbi_str tool, const char *why);
    void (*read)(void *arg, struct wbi_mcp_request *r, struct wbi_str uri);
    void (*prompt)(void *arg, struct wbi_mcp_request *r, struct wbi_str prompt,
                   const wbi_json *arguments);
    void (*complete)(void *arg, struct wbi_mcp_request *r, const wbi_json *params);
    /* Whether the request has questions open that its caller must answer. Balanced
     * before its answer. May be NULL. */
    void (*waiting)(void *arg, struct wbi_mcp_request *r, bool on);
    /* The caller wants no answer any more, or the server stops. */
    void (*cancel)(void *arg, struct wbi_mcp_request *r);
    /* A session has ended, and with it its conversation; calls of it that were cancelled may
     * still wind up. May be NULL. */
    void (*ended)(void *arg, struct wbi_str conversation);
    /* Somebody begins or ends to watch a resource: each beginning has one end, but one that
     * nobody can tell of (false). May be NULL. */
    bool (*subscribed)(void *arg, struct wbi_str uri, bool on);
    /* The input schema of a tool, for headers that repeat arguments; NULL when no header
     * does. *ret_unknown: the tool may be found later, then wbi_mcp_params_agree is asked.
     * Good until the next turn of the loop. May be NULL. */
    const wbi_json *(*schema)(void *arg, struct wbi_mcp_request *r, struct wbi_str tool,
                              bool *ret_unknown);
};

/* Zero is a good default for every number. Strings must outlive the server. */
struct wbi_mcp_options {
    const char *name, *title, *version; /* of serverInfo */
    const char *instructions;           /* may be NULL */
    size_t page;                        /* items of a list */
    int64_t ttl_ms;                     /* of lists and reads, 2026-07-28 */
    bool shared_lists;                  /* the same for all callers: cacheScope public */
    size_t sessions;
    struct wbi_clock clock; /* mono_ns NULL: the system's */
    struct wbi_ids ids;     /* fill NULL: the system's */
};

WB_MUST_CHECK wb_rc wbi_mcp_server_new(struct wbi_loop *loop, const struct wbi_mcp_options *options,
                                       const struct wbi_mcp_ops *ops, void *arg,
                                       struct wbi_mcp_server **ret, struct wbi_error *err);
/* Every request must have been answered (after wbi_mcp_server_stop). */
void wbi_mcp_server_free(struct wbi_mcp_server *s);
/* Ends listening streams, with a result, and sessions when they have no requests; what runs
 * goes on. */
void wbi_mcp_server_quiet(struct wbi_mcp_server *s);
/* The same, and what runs is asked to end (`cancel`); it is still answered. */
void wbi_mcp_server_stop(struct wbi_mcp_server *s);
/* Requests handed out and not answered yet. */
size_t wbi_mcp_server_busy(const struct wbi_mcp_server *s);

/* A request for the endpoint came by HTTP; principal names who sent it. The
 * HTTP server's on_gone for the same ids goes to wbi_mcp_http_gone; it goes by the
 * same clock. */
void wbi_mcp_http(struct wbi_mcp_server *s, struct wbi_http *http, const struct wbi_http_request *r,
                  struct wbi_str principal);
void wbi_mcp_http_gone(struct wbi_mcp_server *s, uint64_t id, void *user);

/* One connection of newline-framed messages over two different descriptors, which
 * stay the caller's (duplicate a socket). on_end runs once: the input has ended and
 * every request has been answered and written, or the output is broken. */
WB_MUST_CHECK wb_rc wbi_mcp_stdio_new(struct wbi_mcp_server *s, int in_fd, int out_fd,
                                      struct wbi_str principal, void (*on_end)(void *arg),
                                      void *arg, struct wbi_mcp_stdio **ret, struct wbi_error *err);
/* *lost gets the first reason for which messages could not be read or written, up to
 * and with wbi_mcp_stdio_free; a client that has gone is none. */
void wbi_mcp_stdio_watch(struct wbi_mcp_stdio *c, struct wbi_error *lost);
/* Takes no new requests: they are answered with an error. on_end runs when all others are
 * answered and the client has read it; hurry: it need not have. */
void wbi_mcp_stdio_drain(struct wbi_mcp_stdio *c, bool hurry);
void wbi_mcp_stdio_free(struct wbi_mcp_stdio *c);

/* What was read of r (params, meta, id) lives as long as `with` does, too. */
WB_MUST_CHECK wb_rc wbi_mcp_keep(struct wbi_mcp_request *r, struct wbi_arena *with);

/* About a request; good until its answer. */
struct wbi_arena *wbi_mcp_arena(struct wbi_mcp_request *r);
const wbi_json *wbi_mcp_params(const struct wbi_mcp_request *r); /* NULL or object */
const wbi_json *wbi_mcp_meta(const struct wbi_mcp_request *r);   /* NULL or object */
/* Its W3C trace context: of _meta, else of the HTTP request that it came by. */
void wbi_mcp_trace(const struct wbi_mcp_request *r, struct wbi_str *ret_parent,
                   struct wbi_str *ret_state);
enum wbi_mcp_era wbi_mcp_era(const struct wbi_mcp_request *r);
const struct wbi_mcp_abilities *wbi_mcp_abilities(const struct wbi_mcp_request *r);
/* The JSON-RPC id as JSON text: unique in its conversation only. */
struct wbi_str wbi_mcp_id(const struct wbi_mcp_request *r);
const wbi_json *wbi_mcp_id_value(const struct wbi_mcp_request *r);
/* Names the session or connection: one conversation (C2.1). For a request of
 * 2026-07-28 over HTTP, which has none, a name of its own. */
struct wbi_str wbi_mcp_conversation(const struct wbi_mcp_request *r);
bool wbi_mcp_alone(const struct wbi_mcp_request *r); /* that is: no other request has its name */
struct wbi_str wbi_mcp_principal(const struct wbi_mcp_request *r);
bool wbi_mcp_cancelled(const struct wbi_mcp_request *r);
/* What the client said why it cancels; absent: nothing. */
struct wbi_str wbi_mcp_cancel_reason(const struct wbi_mcp_request *r);
bool wbi_mcp_parked(const struct wbi_mcp_request *r); /* it waits for its client to come back */
bool wbi_mcp_wants_progress(const struct wbi_mcp_request *r);
/* Least level of log messages the client wants, NULL: none. */
const char *wbi_mcp_log_level(const struct wbi_mcp_request *r);
bool wbi_mcp_log_asked(const struct wbi_mcp_request *r); /* the client itself has named it */
void *wbi_mcp_user(const struct wbi_mcp_request *r);
void wbi_mcp_set_user(struct wbi_mcp_request *r, void *user);

/* Whether headers repeat the arguments of a tool that was not known when r came; else
 * the answer is WBI_RPC_HEADER. True for every other request. */
bool wbi_mcp_params_agree(const struct wbi_mcp_request *r, const wbi_json *schema);

/* Answers. json texts are copied. After one of them r is gone. */
void wbi_mcp_reply(struct wbi_mcp_request *r, struct wbi_str result);
/* All items of the list as a JSON array, in a stable order; pages are cut here. */
void wbi_mcp_reply_list(struct wbi_mcp_request *r, struct wbi_str items);
/* The same of several arrays, at least one, always in the same order: what changes in one
 * moves nothing in the others from page to page. */
void wbi_mcp_reply_parts(struct wbi_mcp_request *r, const struct wbi_str *parts, size_t n);
/* Before the answer to a list or read: it may be kept that long, or as long as options say
 * if that is less. */
void wbi_mcp_set_ttl(struct wbi_mcp_request *r, int64_t ttl_ms);
void wbi_mcp_fail(struct wbi_mcp_request *r, int code, struct wbi_str message,
                  struct wbi_str data_or_none);
/* The resource does not exist: the code depends on the revision. */
void wbi_mcp_fail_resource(struct wbi_mcp_request *r, struct wbi_str uri);
/* The client would have had to declare this: see wbi_mcp_required. */
void wbi_mcp_fail_able(struct wbi_mcp_request *r, const char *required);

/* Before the answer. Progress reaches the client only if it asked, and rises
 * strictly; total < 0 and message.p == NULL are left out. more: further members of params, the
 * inside of a JSON object, or absent. */
void wbi_mcp_progress(struct wbi_mcp_request *r, double progress, double total,
                      struct wbi_str message, struct wbi_str more);
/* data: JSON text. Sent if the client's level allows. */
void wbi_mcp_log(struct wbi_mcp_request *r, struct wbi_str level, struct wbi_str logger,
                 struct wbi_str data, struct wbi_str more);
/* Ask the client (sampling/createMessage, elicitation/create, roots/list): as a
 * request of ours up to 2025-11-25, as an `input_required` result later; either
 * way on_answer runs once with the result, or with is_error and an error object,
 * or, where r is answered first or the question cannot go out, with is_error and NULL; from
 * inside, where r has brought the answer along. key names the question (absent: a number);
 * params may be absent.
 * WB_EDENIED when the client cannot be asked this, WB_ELIMIT for too many or too long ones. */
typedef void wbi_mcp_answer_fn(void *arg, const wbi_json *answer, bool is_error);
WB_MUST_CHECK wb_rc wbi_mcp_ask(struct wbi_mcp_request *r, struct wbi_str key,
                                struct wbi_str method, struct wbi_str params,
                                wbi_mcp_answer_fn *on_answer, void *arg);

/* The question whose arg this is needs no answer any more; the client is told where it can be.
 * on_answer runs as for an r that is answered first. Nothing where there is none. */
void wbi_mcp_withdraw(struct wbi_mcp_request *r, const void *arg);

/* To the client of a conversation before 2026-07-28: what it was asked to do elsewhere is done. */
void wbi_mcp_elicited(struct wbi_mcp_server *s, struct wbi_str conversation, struct wbi_str id);

/* To everybody who wants to know. */
void wbi_mcp_list_changed(struct wbi_mcp_server *s, enum wbi_mcp_list what);
void wbi_mcp_resource_updated(struct wbi_mcp_server *s, struct wbi_str uri);

#endif
