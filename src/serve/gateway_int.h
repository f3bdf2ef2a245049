/* SPDX-License-Identifier: Apache-2.0
 * serve/gateway_int.h: what the files of the gateway share. */
#ifndef WBI_SERVE_GATEWAY_INT_H
#define WBI_SERVE_GATEWAY_INT_H

#include "base/spares.h"
#include "http/http.h"
#include "mcp/server.h"
#include "serve/gateway.h"
#include "serve/metrics.h"

/* A conversation with calls under way: its gate (C9.4). A call that waits for its caller
 * is outside: what the caller does first may be what the call waits for. */
struct wbi_talk {
    struct wbi_talk *next;
    struct wbi_gateway *gateway;
    struct wbi_talk **like; /* the list it is in */
    size_t running, asking; /* inside; outside until their caller answers */
    size_t exclusive;       /* of those inside: they want to be alone */
    bool over;              /* its session has ended */
    struct wbi_served *waiting, **waiting_end;
    struct wbi_defer pump;
    size_t id_n;
    char id[WBI_LIMIT_ID + 1]; /* the last member: a new one is zero up to here */
};

/* What a request's user pointer points to begins with its kind. */
enum wbi_served_kind {
    WBI_SERVED_CALL = 1,
    WBI_SERVED_PASS,
    WBI_SERVED_LIST,
    WBI_SERVED_TOOLS /* tools/list */
};

/* One tools/call. */
struct wbi_served {
    enum wbi_served_kind kind;
    struct wbi_served *next; /* of those that wait in a conversation */
    struct wbi_gateway *gateway;
    struct wbi_talk *talk;
    struct wbi_mcp_request *r;
    struct wbi_str name;          /* of the tool; it and its arguments live with r */
    const wbi_json *arguments;    /* NULL: none */
    const char *malformed;        /* why it is refused, or NULL */
    const struct wbi_tool *found; /* of that name, if the call starts at once; else NULL */
    uint64_t call_id;
    uint64_t reports; /* of progress */
    bool exclusive;
    bool running;
    bool asking;   /* outside the gate, until its caller answers */
    bool starting; /* inside submit: on_done must not free it */
    bool done;
};

struct wbi_gateway {
    struct wbi_runtime *rt;
    struct wbi_upstreams *ups; /* NULL: none */
    struct wbi_mcp_server *server;
    struct wbi_http *http;
    struct wbi_mcp_stdio *stdio;
    struct wbi_metrics *metrics;
    struct wbi_event_out *access; /* the access log; NULL: none */
    uint64_t access_lost;         /* lines of it that found no room */
    struct wbi_talk *talks[64];   /* by a hash of the id */
    struct wbi_spares spare_talks, spare_served;
    struct wbi_watched *watched[64]; /* by a hash of the URI */
    struct wbi_timer *grace;
    struct wbi_timer *news; /* of artifacts; NULL: there was none yet */
    int64_t news_ns;        /* when clients were told last; 0: never */
    bool news_due;
    struct wbi_gateway_options o;
    bool draining, cancelled, ended;
};

/* calls.c */
void wbi_serve_call(void *arg, struct wbi_mcp_request *r, struct wbi_str tool,
                    const wbi_json *arguments);
void wbi_serve_malformed(void *arg, struct wbi_mcp_request *r, struct wbi_str tool,
                         const char *why);
void wbi_serve_cancel(void *arg, struct wbi_mcp_request *r);
void wbi_serve_waiting(void *arg, struct wbi_mcp_request *r, bool on);
/* Of the conversation of a session nothing is kept any more. */
void wbi_serve_ended(void *arg, struct wbi_str conversation);
/* Every call under way is asked to end. */
void wbi_serve_cancel_all(struct wbi_gateway *g);

/* lists.c */
void wbi_serve_list(void *arg, struct wbi_mcp_request *r, enum wbi_mcp_list what);
/* A tools/list that nobody waits for any more. */
struct wbi_listing;
void wbi_serve_tools_cancel(struct wbi_listing *l);
const wbi_json *wbi_serve_schema(void *arg, struct wbi_mcp_request *r, struct wbi_str tool,
                                 bool *ret_unknown);

/* resources.c */
/* Artifacts as items of a list, newest first; w is inside the array. None for a principal
 * who may not call ReadArtifact. */
void wbi_serve_artifacts(struct wbi_gateway *g, struct wbi_mcp_request *r, struct wbi_jw *w);
bool wbi_serve_is_artifact(struct wbi_str uri);
/* A call has left artifacts: clients are told soon. */
void wbi_serve_new_artifacts(struct wbi_gateway *g);
void wbi_serve_read(void *arg, struct wbi_mcp_request *r, struct wbi_str uri);

#endif
