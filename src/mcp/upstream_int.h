/* SPDX-License-Identifier: Apache-2.0
 * mcp/upstream_int.h: what the files of the client share. */
#ifndef WBI_MCP_UPSTREAM_INT_H
#define WBI_MCP_UPSTREAM_INT_H

#include "base/limits.h"
#include "base/spares.h"
#include "loop/loop.h"
#include "mcp/line.h"
#include "mcp/upstream.h"
#include "run/process.h"

struct wbi_exchange;

#define WBI_UPSTREAM_BUCKETS 1024u /* ids follow each other: few share one */

struct wbi_upstream_ask {
    struct wbi_upstream_ask *next;
    struct wbi_upstream *up;
    struct wbi_upstream_call *call; /* NULL: the call has ended */
    char *key;                      /* of an input request, JSON; NULL: a request with an id */
    char *id;                       /* JSON */
    char *method, *params;          /* of a request that may be another call's; else NULL */
    char *answer;                   /* JSON, of an answered input request */
    bool held;                      /* the caller has it and will answer */
    bool elicits;                   /* it can be answered by "cancel" */
    bool withdrawn;                 /* the server wants no answer any more */
};

struct wbi_upstream_call {
    struct wbi_upstream_call *next, **prev;
    struct wbi_upstream *up;
    struct wbi_upstream_call_ops ops;
    void *arg;
    uint64_t id; /* ours, new for every message sent; 0: none */
    struct wbi_upstream_call *next_by_id, **prev_by_id;
    char *method, *params, *meta, *conversation;
    struct wbi_mcp_abilities abilities;
    bool progress, log_asked, sent, own; /* own: the client's, not a caller's */
    bool vetted;                         /* waits while the connection is held */
    bool lists;                          /* says nothing about whether the server works */
    bool large;                          /* its texts are: a block of its own */
    bool refused;                        /* the caller has refused a question it depends on */
    bool note;                           /* a notification, whose end over HTTP is waited for */
    char log_level[12];                  /* "": none wanted */
    unsigned rounds;
    char *state;         /* requestState to echo, JSON */
    char *responses;     /* members of inputResponses */
    char *param_headers; /* whole header lines, "": too long to be sent, NULL: none */
    struct wbi_upstream_ask *asks;
    size_t open_asks;
    int64_t deadline_ns;
    struct wbi_exchange *exchange; /* HTTP only */
    long status;                   /* of HTTP, where there was no result; 0: none */
    int64_t retry_after_ms;        /* that came with it */
    unsigned resends;
    struct wbi_str reason;              /* why it is cancelled, good until it ends */
    enum wbi_mcp_era sent_era;          /* of the connection that it was sent on */
    uint64_t sent_start;                /* and which one that was */
    struct wbi_upstream_answer refusal; /* while it is found out whether that was another era's */
    struct wbi_arena *refusal_arena;    /* NULL: none, or it was handed on */
};

/* The server may be at it: sent for a caller, and not waiting for that one's answers. */
static inline bool wbi_call_under_way(const struct wbi_upstream_call *c)
{
    return c->sent && c->id != 0 && !c->own;
}

struct wbi_upstream_link {
    wb_rc (*open)(struct wbi_upstream *up, struct wbi_error *err);
    /* call NULL: an answer or a notification. WB_ENOTFOUND: not sent, the connection is about
     * to be ended. */
    wb_rc (*send)(struct wbi_upstream *up, struct wbi_upstream_call *call, struct wbi_str message);
    /* Nothing more is expected for this call. */
    void (*forget)(struct wbi_upstream *up, struct wbi_upstream_call *call);
    void (*close)(struct wbi_upstream *up);
    /* It is open for calls. May be NULL. */
    void (*ready)(struct wbi_upstream *up);
};

struct wbi_upstream {
    struct wbi_loop *loop;
    struct wbi_runner *runner;
    struct wbi_curl *curl;
    struct wbi_clock clock;
    struct wbi_ids ids;
    struct wbi_arena *arena; /* holds the copy of the spec */
    struct wbi_upstream_spec spec;
    struct wbi_upstream_ops ops;
    void *arg;
    const struct wbi_upstream_link *link;
    enum wbi_upstream_state state;
    enum wbi_mcp_era era;
    bool era_known, skip_probe, probing, probed_again;
    bool discovered;  /* while it is opened: it speaks 2026-07-28, and is tried as an older one */
    bool also_modern; /* it was, and took it */
    bool modern_only; /* it was, and did not: not again */
    bool modern_watchable; /* what it said of resources when it was discovered */
    struct wbi_upstream_call *probe, *opening; /* server/discover, initialize; NULL: none open */
    int64_t probe_until_ns;                    /* then the older way is tried beside it */
    bool ending;                               /* it is wanted no more */
    bool held;                                 /* nobody has looked at this connection yet */
    uint64_t serial;
    struct wbi_upstream_call *calls;                       /* newest first */
    struct wbi_upstream_call *by_id[WBI_UPSTREAM_BUCKETS]; /* those with an id, by its rest */
    size_t call_count;
    struct wbi_spares spare_calls;
    struct wbi_buf scratch; /* for the message being made */
    struct wbi_timer *timer;
    int64_t armed_ns; /* 0: not armed */
    int64_t start_deadline_ns, wait_until_ns;
    unsigned failures; /* one after the other */
    int64_t ready_ns;  /* since when it is open */
    char why[256];     /* of the last failure */
    struct wbi_upstream_counts counts;
    /* news */
    char **watched; /* URIs */
    size_t watched_count, watched_cap;
    bool watchable;                   /* it says that resources can be watched */
    bool loggable;                    /* and that it has levels of messages */
    int told_level;                   /* the least one it was told */
    bool wake;                        /* open it for what is watched */
    bool missed;                      /* it could not be heard for a time */
    struct wbi_upstream_call *listen; /* subscriptions/listen */
    int64_t listen_since_ns, listen_at_ns;
    unsigned listen_breaks;
    /* stdio */
    struct wbi_process *process;
    uint64_t heard;    /* how often it said something */
    uint64_t doubted;  /* that, when it was last asked whether it is there */
    bool doubting;     /* it was asked, and has not answered */
    int64_t silent_ns; /* it has closed its stdout or stdin: when that is its end; 0: neither */
    bool deaf;         /* it was the stdin: what is sent waits for that end */
    struct wbi_timer *ears; /* looks for that while calls are open */
    bool watching_ears;
    struct wbi_lines lines;
    struct wbi_buf complaints; /* newest of stderr */
    /* HTTP */
    char *session;
    char version[16];
    char server_version[WBI_SERVER_VERSION_SIZE];
    struct wbi_exchange *exchanges;
};

extern const struct wbi_upstream_link wbi_link_stdio, wbi_link_http;

/* upstream.c */
void wbi_up_set_state(struct wbi_upstream *up, enum wbi_upstream_state state);
/* The connection is lost (or never came up). */
void wbi_up_died(struct wbi_upstream *up, const char *why);
/* The server no longer knows our session: open a new one, send again. */
void wbi_up_lost_session(struct wbi_upstream *up, struct wbi_upstream_call *call);
/* The call was refused with status 400, and ends with `refusal`: true where that may say that
 * the server is of another era than before. Then it is opened anew: if it is, the call is sent
 * again, else it ends with what it was refused with. error is its JSON-RPC error, or NULL; the
 * arena holds all of it and is taken over then. */
bool wbi_up_lost_era(struct wbi_upstream *up, struct wbi_upstream_call *call,
                     const struct wbi_upstream_answer *refusal, const wbi_json *error,
                     struct wbi_arena **arena);
/* The same for a body that is no answer to the call, which would fail with `why`. */
bool wbi_up_refused(struct wbi_upstream *up, struct wbi_upstream_call *call, struct wbi_str body,
                    const char *why);
/* A call was given up on. A program that hangs would hang for ever: it is asked whether it
 * is there, and anything that it says will do. */
void wbi_up_doubt(struct wbi_upstream *up);
/* Whether any caller waits for it. */
bool wbi_up_at_work(const struct wbi_upstream *up);
void wbi_up_arm(struct wbi_upstream *up, int64_t at_ns);
void wbi_up_ready(struct wbi_upstream *up);
/* A request of the client's own, sent at once; NULL: out of memory. */
struct wbi_upstream_call *
wbi_up_start_own(struct wbi_upstream *up, const char *method, struct wbi_str params,
                 int64_t timeout_ms, void (*on_done)(void *, const struct wbi_upstream_answer *));

/* upstream_open.c */
void wbi_up_open(struct wbi_upstream *up);
/* In the older way. */
void wbi_up_initialize(struct wbi_upstream *up);
/* An error of the server names 2026-07-28 among what it speaks. */
bool wbi_up_names_modern(const wbi_json *error);
/* NULL is fine. */
void wbi_up_end_own(struct wbi_upstream_call *call);

/* upstream_watch.c */
/* A new connection: what is watched is asked for again. */
void wbi_up_renew(struct wbi_upstream *up);
/* Opens the stream for news in place of the one that is open. */
void wbi_up_listen(struct wbi_upstream *up);
/* The server has begun to tell news. */
void wbi_up_listened(struct wbi_upstream *up);
/* A server of an older revision has one level for all: the least that anybody wants. */
void wbi_up_tell_level(struct wbi_upstream *up, const char *level);
/* Opens a connection that is closed, when it may be, if something is watched. */
void wbi_up_wake(struct wbi_upstream *up);
void wbi_up_forget_watched(struct wbi_upstream *up);

/* upstream_call.c */
void wbi_call_send(struct wbi_upstream_call *call);
/* Its id from now on, by which answers find it; 0: none. */
void wbi_call_rename(struct wbi_upstream_call *call, uint64_t id);
void wbi_call_end(struct wbi_upstream_call *call, const struct wbi_upstream_answer *a);
void wbi_upstream_call_fail(struct wbi_upstream_call *call, wb_rc rc, const char *why);
wb_rc wbi_call_new(struct wbi_upstream *up, const struct wbi_upstream_request *request,
                   const struct wbi_upstream_call_ops *ops, void *arg,
                   struct wbi_upstream_call **ret);

/* upstream_in.c: one message came; call: on whose stream, NULL if unknown. */
void wbi_up_message(struct wbi_upstream *up, struct wbi_upstream_call *call, struct wbi_str text);
/* A message over the cap: whoever waits for it is told. */
void wbi_up_lost(struct wbi_upstream *up, const struct wbi_overlong *about);
void wbi_up_too_large(struct wbi_upstream_call *call);
/* The call is over: its questions are another's, or answered with an error. */
void wbi_call_leave_asks(struct wbi_upstream_call *call, bool cancelled);

#endif
