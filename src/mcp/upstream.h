/* SPDX-License-Identifier: Apache-2.0
 * mcp/upstream.h: the client side of MCP: one configured server each, started
 * on demand, opened again with back-off when it dies. The revision it speaks is
 * found out; callers do not see the difference: a question of the server in the
 * middle of a call is on_ask in every revision. What one server does wrong ends
 * its own calls, each exactly once, and nothing else. Loop thread only. */
#ifndef WBI_MCP_UPSTREAM_H
#define WBI_MCP_UPSTREAM_H

#include "base/clock.h"
#include "mcp/server.h"

struct wbi_runner;
struct wbi_curl;
struct wbi_upstream;
struct wbi_upstream_call;

enum wbi_upstream_state {
    WBI_UP_IDLE = 0, /* starts with the next request */
    WBI_UP_STARTING,
    WBI_UP_READY,
    WBI_UP_WAITING /* failed; requests are refused until the back-off ends */
};

enum wbi_upstream_era { WBI_UP_AUTO = 0, WBI_UP_LEGACY, WBI_UP_MODERN };

/* Zero is a good default for every number; everything is copied. */
struct wbi_upstream_spec {
    const char *name;
    const struct wbi_str *argv; /* a program to start, or: */
    size_t argc;
    const struct wbi_str *env; /* its whole environment, "NAME=value" */
    size_t env_count;
    struct wbi_str workdir;
    struct wbi_str url;            /* http(s)://… of a Streamable HTTP endpoint */
    const struct wbi_str *headers; /* "Name: value" each */
    size_t header_count;
    enum wbi_upstream_era era;
    bool older_first; /* of WBI_UP_AUTO: a server that speaks both is spoken to as an older one */
    int64_t start_ms, probe_ms, call_ms;
    size_t message;   /* largest message taken from it */
    size_t in_flight; /* most calls at once */
};

struct wbi_upstream_ops {
    /* The server says that a list changed, or a resource. May be NULL. */
    void (*on_changed)(void *arg, enum wbi_mcp_list what);
    void (*on_updated)(void *arg, struct wbi_str uri);
    /* What was asked for by this elicitationId has been done elsewhere. */
    void (*on_elicited)(void *arg, struct wbi_str id);
    void (*on_state)(void *arg, enum wbi_upstream_state state);
    /* It was opened (again) and may be another than before: `vetted` requests wait
     * until wbi_upstream_vetted. NULL: nobody looks, nothing waits. */
    void (*on_ready)(void *arg);
    /* It has said something that is no message. May be NULL. */
    void (*on_banner)(void *arg);
};

struct wbi_upstream_answer {
    wb_rc rc;                 /* WB_OK: there is a result or error; WB_ECANCELLED; WB_EAGAIN:
                               * timed out; WB_EIO: not reached or died; WB_ELIMIT */
    const wbi_json *result;   /* good during the callback */
    const wbi_json *error;    /* JSON-RPC error object, with rc WB_OK */
    struct wbi_str text;      /* the result (or error) as it came, compact JSON */
    bool sent;                /* it may have had an effect */
    int64_t retry_after_ms;   /* of WB_EIO while waiting, or as the server says; else 0 */
    long status;              /* of HTTP, with WB_EIO; 0: none */
    const char *why;          /* one sentence where rc is not WB_OK */
    const char *lacks;        /* WB_EDENIED: the abilities it would have needed, as JSON */
    struct wbi_arena **arena; /* holds result, error and text: who sets *arena to NULL has it */
};

struct wbi_upstream_ask;

/* All but on_done may be NULL. */
struct wbi_upstream_call_ops {
    void (*on_done)(void *arg, const struct wbi_upstream_answer *a); /* exactly once */
    /* params: the whole notification, good during the callback. */
    void (*on_progress)(void *arg, double progress, double total, struct wbi_str message,
                        const wbi_json *params);
    void (*on_log)(void *arg, struct wbi_str level, struct wbi_str logger, const wbi_json *data,
                   const wbi_json *params);
    /* Answer by wbi_upstream_answer, now or later, in any case once (also after
     * the call has ended); params is JSON text or absent, key absent where the
     * question has none. Not the place to cancel. */
    void (*on_ask)(void *arg, struct wbi_upstream_ask *ask, struct wbi_str key,
                   struct wbi_str method, struct wbi_str params);
    /* The server needs no answer to this question any more. It is still to be answered, which
     * only frees it then. */
    void (*on_withdrawn)(void *arg, struct wbi_upstream_ask *ask);
    /* The server was vetted while the request waited; false ends it, unsent, with
     * WB_EDENIED. */
    bool (*on_vetted)(void *arg);
    /* Whether the caller can be asked only when it comes back by itself, which may be never.
     * NULL: it is there. */
    bool (*is_away)(void *arg);
};

struct wbi_upstream_request {
    const char *method;
    struct wbi_str params; /* JSON object without _meta; absent: {} */
    const wbi_json *meta;  /* of the caller; its own protocol members are left out */
    struct wbi_str trace_parent, trace_state;  /* of the call, where meta has no valid one */
    const struct wbi_mcp_abilities *abilities; /* what the caller can be asked; NULL: nothing */
    struct wbi_str conversation;               /* questions never cross from one to another */
    int64_t timeout_ms;                        /* 0: the server's */
    bool progress;                             /* ask for progress */
    const char *log_level;                     /* least level of log messages; NULL: none wanted */
    bool log_asked;         /* it is the caller's wish: older servers are told, too */
    const wbi_json *schema; /* input schema of the tool, for Mcp-Param headers */
    bool vetted;            /* not before somebody has looked at the server (on_ready) */
    bool lists;             /* of what it has: an answer does not show that it works */
};

/* runner for programs, curl for URLs (may be NULL for the other kind). */
WB_MUST_CHECK wb_rc wbi_upstream_new(struct wbi_loop *loop, struct wbi_runner *runner,
                                     struct wbi_curl *curl, const struct wbi_upstream_spec *spec,
                                     const struct wbi_upstream_ops *ops, void *arg,
                                     struct wbi_upstream **ret, struct wbi_error *err);
/* Ends the program or session; open calls get WB_ECANCELLED. Not from inside a
 * callback. NULL is fine. */
void wbi_upstream_free(struct wbi_upstream *up);

/* on_done never runs from inside this. Fails only for want of memory or room. */
WB_MUST_CHECK wb_rc wbi_upstream_start(struct wbi_upstream *up,
                                       const struct wbi_upstream_request *request,
                                       const struct wbi_upstream_call_ops *ops, void *arg,
                                       struct wbi_upstream_call **ret, struct wbi_error *err);
/* Tells the server, with the caller's reason (may be absent); on_done runs with WB_ECANCELLED,
 * from inside. */
void wbi_upstream_cancel(struct wbi_upstream_call *call, struct wbi_str reason);
/* Who was told on_ready has looked: what waited for it is sent, or with a reason fails
 * with WB_EIO; then the next `vetted` request waits again. */
void wbi_upstream_vetted(struct wbi_upstream *up, const char *why_not);
/* `vetted` requests wait again, until wbi_upstream_vetted. */
void wbi_upstream_hold(struct wbi_upstream *up);
/* The answer to a question: a result, or an error object. Frees the question;
 * after the call has ended it does nothing else. */
void wbi_upstream_answer(struct wbi_upstream_ask *ask, struct wbi_str json, bool is_error);

/* A whole list, all pages, as one JSON array: on_done gets it in text. Capped;
 * cursors that turn in a circle end it with WB_ELIMIT. */
WB_MUST_CHECK wb_rc wbi_upstream_list(struct wbi_upstream *up, enum wbi_mcp_list what,
                                      void (*on_done)(void *arg,
                                                      const struct wbi_upstream_answer *a),
                                      void *arg, struct wbi_error *err);

/* on_updated for this resource, or no more: each beginning has one end. Opens the server,
 * and again after it died; what it may have told meanwhile is told as updated. */
void wbi_upstream_watch(struct wbi_upstream *up, struct wbi_str uri, bool on);
/* Everything that is watched at `from` is at `up`, too. */
void wbi_upstream_watch_like(struct wbi_upstream *up, const struct wbi_upstream *from);
/* False: it has said that it tells nothing of resources. */
bool wbi_upstream_watchable(const struct wbi_upstream *up);

/* What the server calls its own version, once READY; "" when it says none, or none that can be
 * shown as it is (64 printable characters at most, no spaces). */
#define WBI_SERVER_VERSION_SIZE 65
const char *wbi_upstream_server_version(const struct wbi_upstream *up);

enum wbi_upstream_state wbi_upstream_state(const struct wbi_upstream *up);
enum wbi_mcp_era wbi_upstream_era(const struct wbi_upstream *up); /* once READY */
/* It has been opened as one of 2026-07-28, and would be again. */
bool wbi_upstream_is_modern(const struct wbi_upstream *up);
/* It was tried as an older one, and is none. */
bool wbi_upstream_modern_only(const struct wbi_upstream *up);
/* It is open as an older one, and has said that it speaks 2026-07-28, too. */
bool wbi_upstream_speaks_both(const struct wbi_upstream *up);
/* No call of a caller is open. */
bool wbi_upstream_idle(const struct wbi_upstream *up);
struct wbi_upstream_counts {
    uint64_t starts, deaths, banners, unknown_ids, too_long;
};
struct wbi_upstream_counts wbi_upstream_counts(const struct wbi_upstream *up);

#endif
