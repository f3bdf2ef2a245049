/* SPDX-License-Identifier: Apache-2.0
 * mcp/server_int.h: what the files of the server share. */
#ifndef WBI_MCP_SERVER_INT_H
#define WBI_MCP_SERVER_INT_H

#include "base/limits.h"
#include "http/http.h"
#include "loop/loop.h"
#include "mcp/overlong.h"
#include "mcp/server.h"

#define WBI_SESSION_ID_SIZE 40

/* A question to the client. A call may ask any number, one after another: each is freed with
 * its answer. */
struct wbi_ask {
    struct wbi_ask *next;
    struct wbi_mcp_request *r;
    uint64_t serial;     /* of r's questions */
    struct wbi_str key;  /* id of our request, or name of the input request */
    struct wbi_buf text; /* our request, or the member of `inputRequests` */
    uint64_t stream;     /* HTTP id of what it went out on last; 0: none, or stdio */
    bool taken_back;
    wbi_mcp_answer_fn *on_answer;
    void *arg;
};

/* A legacy HTTP session or a stdio connection. */
struct wbi_mcp_session {
    struct wbi_mcp_session *next, *next_by_id;
    struct wbi_mcp_server *server;
    char id[WBI_SESSION_ID_SIZE]; /* Mcp-Session-Id; a name for stdio */
    size_t id_n;
    char *principal;
    struct wbi_mcp_stdio *stdio; /* NULL: HTTP */
    bool open;                   /* initialize was answered */
    char version[16];
    struct wbi_mcp_abilities abilities;
    int level;      /* least level of log messages */
    bool log_asked; /* the client has named it */
    uint64_t streams[WBI_LIMIT_MCP_STREAMS];
    struct wbi_mcp_trail *trails;
    uint64_t trail_serial;
    char *uris[WBI_LIMIT_MCP_SUBSCRIPTIONS];
    size_t uri_count;
    struct wbi_mcp_request *requests;
    struct wbi_mcp_request *by_id[64];
    size_t request_count;
    int64_t used_ns;
};

enum wbi_mcp_phase {
    WBI_REQ_RUNNING = 0,
    WBI_REQ_PARKED,    /* its answer so far was input_required; waits for a retry */
    WBI_REQ_LISTENING, /* subscriptions/listen: open until either side ends it */
    WBI_REQ_DONE
};

struct wbi_mcp_request {
    struct wbi_mcp_request *next, **prev; /* in the server's list */
    struct wbi_mcp_request *session_next, **session_prev;
    struct wbi_mcp_request *next_by_id, **prev_by_id; /* of the session */
    struct wbi_mcp_server *server;
    struct wbi_mcp_session *session; /* NULL: 2026-07-28 over HTTP, or it ended */
    struct wbi_http *http;           /* NULL: stdio */
    uint64_t http_id;                /* 0: nobody is listening */
    int64_t begun_ns;                /* over HTTP */
    struct wbi_mcp_trail *trail;     /* NULL: its stream cannot be taken up again */
    struct wbi_arena *arena;
    struct wbi_kept *kept; /* who else uses the arena, NULL: nobody */
    struct wbi_rpc rpc;
    struct wbi_str id;
    const wbi_json *meta;
    struct wbi_str trace_parent, trace_state; /* of HTTP */
    enum wbi_mcp_era era;
    enum wbi_mcp_phase phase;
    struct wbi_mcp_abilities abilities;
    int level;      /* -1: no log messages */
    int64_t ttl_ms; /* most of the caching hint */
    struct wbi_str principal;
    char conversation[WBI_SESSION_ID_SIZE];
    bool alone; /* in it */
    const wbi_json *progress_token;
    double progress;
    int64_t progress_ns;
    bool has_progress, log_asked;
    bool streaming; /* the HTTP answer is a stream by now */
    bool cancelled;
    struct wbi_str cancel_reason;
    bool stopped; /* asked to end; its answer is still given */
    bool handed;  /* the table owes an answer */
    bool is_list;
    unsigned refs;
    void *user;
    struct wbi_ask *asks;
    size_t ask_count;
    uint64_t ask_serial;
    uint32_t given_used;                 /* of the answers it brought along: a bit each */
    struct wbi_defer ask_together;       /* waits while new questions are yet to go out */
    char state[WBI_SESSION_ID_SIZE + 8]; /* requestState of a parked one */
    int64_t expires_ns;
    char *kept_answer; /* of a parked one that is over: what follows the id; for the retry */
    int kept_status;
    bool wants[4]; /* listening: list_changed by enum wbi_mcp_list */
    const wbi_json *wants_uris;
    const struct wbi_http_header *params; /* Mcp-Param of a tool yet unknown; NULL: none kept */
    size_t param_count;
};

struct wbi_mcp_server {
    struct wbi_loop *loop;
    struct wbi_mcp_options o;
    struct wbi_mcp_ops ops;
    void *arg;
    struct wbi_http *http;
    struct wbi_mcp_session *sessions;
    struct wbi_mcp_session *sessions_by_id[64];
    size_t session_count;
    struct wbi_mcp_request *requests;
    struct wbi_buf spare; /* of the answer before, for the next one */
    size_t busy, parked, listening;
    size_t trail_bytes;
    uint64_t ask_serial;
    struct wbi_timer *timer;
    bool ticking, ending; /* ending: sessions end as soon as they have no request */
    int64_t keep_alive_ns;
};

/* session.c */
struct wbi_mcp_session *wbi_session_new(struct wbi_mcp_server *s, struct wbi_str principal,
                                        struct wbi_mcp_stdio *stdio);
/* Notes that it is used now. */
struct wbi_mcp_session *wbi_session_find(struct wbi_mcp_server *s, struct wbi_str id,
                                         struct wbi_str principal, int64_t now_ns);
void wbi_session_end(struct wbi_mcp_session *session);
/* The stream that belongs to no request on which its client is told, 0: it reads none. */
uint64_t wbi_session_stream(const struct wbi_mcp_session *session);
bool wbi_session_listens(const struct wbi_mcp_session *session);
void wbi_session_notify(struct wbi_mcp_session *session, struct wbi_str message);
/* NULL, or why it cannot be watched. */
const char *wbi_session_watch(struct wbi_mcp_session *session, struct wbi_str uri);
void wbi_session_unwatch(struct wbi_mcp_session *session, struct wbi_str uri);
/* Tells the table; false: nobody can tell of that resource. */
bool wbi_mcp_tell_watch(struct wbi_mcp_server *s, struct wbi_str uri, bool on);
void wbi_mcp_tick_on(struct wbi_mcp_server *s);
void wbi_mcp_on_tick(void *arg);

/* request.c: life and answers of one request */
struct wbi_mcp_request *wbi_request_new(struct wbi_mcp_server *s, struct wbi_mcp_session *session,
                                        struct wbi_arena *arena, const struct wbi_rpc *rpc);
void wbi_request_unref(struct wbi_mcp_request *r);
/* It is none of its session's any more. */
void wbi_request_leave(struct wbi_mcp_request *r);
void wbi_request_rename(struct wbi_mcp_request *r, struct wbi_str id);
/* Whether its id is that of another one that is under way. */
bool wbi_request_has_twin(const struct wbi_mcp_request *r);
/* The protocol itself refuses: status is for HTTP. */
void wbi_request_fault(struct wbi_mcp_request *r, int code, int status, const char *message,
                       struct wbi_str data);
/* A message that belongs to r, before its answer. */
void wbi_request_emit(struct wbi_mcp_request *r, struct wbi_str message);
/* The same of one that means nothing to a client that comes back later: a question, which
 * finds its way itself. */
void wbi_request_emit_once(struct wbi_mcp_request *r, struct wbi_str message);
/* A call that takes its time is answered by a stream, which says now that it is alive and can
 * be taken up again. */
void wbi_request_open_stream(struct wbi_mcp_request *r);
/* The answer of a parked request that ended before its retry, to the retry. */
void wbi_request_give_kept(struct wbi_mcp_request *r);
void wbi_request_cancel(struct wbi_mcp_request *r);
#define WBI_SSE_COMMENT ": keep-alive\n\n" /* every client passes over it */
extern const struct wbi_http_response wbi_sse_head;
void wbi_request_sse(struct wbi_http *http, uint64_t id, struct wbi_str message);
void wbi_request_sse_end(struct wbi_http *http, uint64_t id, struct wbi_str message);

/* trail.c: all do nothing for a request without one */
void wbi_trail_begin(struct wbi_mcp_request *r);
/* The line with the id of the newest event; of the next one. */
void wbi_trail_put_id(const struct wbi_mcp_request *r, struct wbi_buf *out);
void wbi_trail_put_next_id(struct wbi_mcp_request *r, struct wbi_buf *out);
void wbi_trail_keep(struct wbi_mcp_request *r, struct wbi_str event);
/* Keeps the answer, for longer if nobody was there to read it. */
void wbi_trail_end(struct wbi_mcp_request *r, struct wbi_str event, bool sent);
void wbi_trail_drop(struct wbi_mcp_request *r);
void wbi_trails_drop(struct wbi_mcp_session *session);
void wbi_trails_expire(struct wbi_mcp_session *session, int64_t now_ns);
/* Answers a GET by what came after that event, and by what is yet to come. False: nothing is
 * known of it (any more), and nothing was answered. */
bool wbi_trail_resume(struct wbi_mcp_session *session, uint64_t http_id, struct wbi_str last);

/* dispatch.c */
void wbi_mcp_dispatch(struct wbi_mcp_request *r);
/* Notifications and answers; session may be NULL. */
void wbi_mcp_note(struct wbi_mcp_server *s, struct wbi_mcp_session *session,
                  const struct wbi_rpc *rpc);

/* modern.c */
bool wbi_mcp_means_modern(const struct wbi_rpc *rpc, struct wbi_str header_version);
/* Fills r from its _meta; false when it has been refused. http may be NULL. */
bool wbi_modern_accept(struct wbi_mcp_request *r, const struct wbi_http_request *http);

/* ask.c */
void wbi_asks_answer(struct wbi_mcp_session *session, const struct wbi_rpc *rpc);
/* A message that cannot be read: if it is about a question, that has an error for its answer.
 * False: it is about something else. */
bool wbi_asks_spoil(struct wbi_mcp_session *session, const struct wbi_overlong *about);
/* Tells the client that no answer is needed any more, where a question is a request. */
void wbi_asks_take_back(struct wbi_mcp_request *r);
void wbi_asks_drop(struct wbi_mcp_request *r);
/* A stream has ended: questions of r that went out on it go out again by another, or nobody
 * can answer them any more. */
void wbi_asks_unheard(struct wbi_mcp_request *r, uint64_t stream);
/* Whether r continues a parked one, or wants to and cannot: then r itself is over. */
bool wbi_asks_resume(struct wbi_mcp_request *r);

/* serve_stdio.c */
/* Whether there is room for a message of n bytes behind what the client has yet to read;
 * one that finds none ends the connection. */
bool wbi_stdio_takes(const struct wbi_mcp_stdio *c, size_t n);
void wbi_stdio_write(struct wbi_mcp_stdio *c, struct wbi_str message);
void wbi_stdio_idle(struct wbi_mcp_stdio *c);

#endif
