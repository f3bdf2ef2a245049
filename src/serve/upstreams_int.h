/* SPDX-License-Identifier: Apache-2.0
 * serve/upstreams_int.h: one configured server, as the files about upstreams
 * share it. */
#ifndef WBI_SERVE_UPSTREAMS_INT_H
#define WBI_SERVE_UPSTREAMS_INT_H

#include "base/hash.h"
#include "config/config.h"
#include "serve/elicited.h"
#include "serve/pin_files.h"
#include "serve/shelf.h"
#include "serve/upstreams.h"

enum wbi_server_state {
    WBI_SERVER_UNLISTED = 0,
    WBI_SERVER_LISTING,
    WBI_SERVER_LISTED,
    WBI_SERVER_FAILED
};

/* One connection to a server. What is not the main one is listed for itself: only a tool that
 * is in the catalog as it is there is called over it. */
struct wbi_side {
    struct wbi_server *server;
    struct wbi_upstream *up; /* NULL: not made */
    bool was_ready;          /* since it was made */
    bool agrees;             /* what the catalog has is of its own list */
    bool known;              /* else: its list was looked at, these are the same */
    struct wbi_arena *arena; /* of them */
    struct wbi_str *same;
    size_t same_count;
};

/* Tools of a server that people should know of. */
struct wbi_server_notes {
    size_t count;
    char text[700]; /* the first of them, and why */
    char told[700]; /* what was told last */
};

struct wbi_server {
    struct wbi_upstreams *set;
    struct wbi_str name;   /* with the strings below in the set's arena */
    struct wbi_str origin; /* "mcp::NAME" */
    const wbi_json *value; /* of the configuration */
    struct wbi_upstream_spec spec;
    /* What it lists, and most else, is of the main one. A server of both eras has another one
     * beside it, of the older era, when there are clients of both (server_link.c). */
    struct wbi_side sides[2], *main, *beside;
    bool alone;             /* another connection is of no use, or cannot be had */
    struct wbi_side *asked; /* for the list of tools */
    enum wbi_server_state state;
    enum wbi_pin_policy pin_policy;
    struct wbi_str prefix; /* of the names shown; empty: none */
    bool trusted;
    bool absent;     /* it cannot be had at all; why says it */
    bool again;      /* its tools changed since it was asked */
    bool announced;  /* it said so after a time of silence: clients hear of it in any case */
    bool hurried;    /* it was asked again at once, or as soon as it may be */
    bool refreshing; /* nobody waits for what is listed now */
    bool recheck;    /* pins changed: also the same list is looked at */
    bool missed;     /* clients were given a list before its first one was there */
    int64_t gap_ms, listed_ns, next_list_ns;
    uint64_t opens, list_opens;      /* connections so far; which one was asked */
    uint8_t listed[WBI_SHA256_SIZE]; /* of the list the catalog has */
    bool has_listed, has_blocked;
    char version[WBI_SERVER_VERSION_SIZE]; /* of its tools, as the server said it; "" unknown */
    struct wbi_pin_stamp pins;             /* that the list was checked against */
    struct wbi_server_notes left_out;      /* tools of the list that the catalog does not have */
    struct wbi_server_notes waiting;       /* those that nobody can call before it is approved */
    struct wbi_shelf shelves[4];           /* but for tools */
    struct wbi_elicited elicited;
    char why[320];              /* it FAILED */
    char told_why[320];         /* what was told of that last */
    bool told_banner;           /* that it says what is no message */
    int64_t retry_ms, retry_ns; /* a first list that failed is asked for again then; 0: not */
};

/* upstreams.c: false when nobody hears. */
bool wbi_upstreams_notice(const struct wbi_upstreams *ups, const char *text);

/* Makes the connection to s that is meant for `side`. */
WB_MUST_CHECK wb_rc wbi_server_connect(struct wbi_side *side, const struct wbi_upstream_spec *spec,
                                       struct wbi_error *err);
/* Another connection is the main one now: what s listed was of the one before. */
void wbi_server_turned(struct wbi_server *s);
/* wbi_server_tidy soon, not from inside a callback of a connection. */
void wbi_server_tidy_later(struct wbi_server *s);

/* server_link.c */
/* Ends a connection that was made for nothing, once nobody uses it. */
void wbi_server_tidy(struct wbi_server *s);
void wbi_side_free(struct wbi_side *side);
/* It is open: a new one, or again. Not for the main one. */
void wbi_side_ready(struct wbi_side *side);
/* It could not be opened. */
void wbi_side_failed(struct wbi_side *side);
/* The catalog has another list now. */
void wbi_server_compare(struct wbi_server *s);

/* server_tell.c: what people should know of a server. Its tools are not there: once, until it is
 * for another reason. Some are left out, or wait for approval: once, until it is others. It says
 * what is no message: once (arg is the server). */
void wbi_server_tell_failure(struct wbi_server *s);
/* Somebody gets a list without its tools, for which it is still asked. */
void wbi_server_tell_late(struct wbi_server *s);
void wbi_server_tell_notes(struct wbi_server *s);
void wbi_server_tell_banner(void *arg);

/* server_spec.c: the members of one server; err names what is wrong. WB_ESTATE: it is
 * declared well, but cannot be had here and now. */
WB_MUST_CHECK wb_rc wbi_server_read(struct wbi_arena *arena, struct wbi_str root,
                                    struct wbi_server *s, struct wbi_error *err);

/* server_name.c: bytes of a name that stand for the server: "server__tool", "mcp__server__tool",
 * "mcp::server::tool", also by its prefix; 0: it is not named. */
size_t wbi_server_names(const struct wbi_server *s, struct wbi_str name);
/* The server that a name is of, and its own name for the tool; NULL: of none. */
struct wbi_server *wbi_server_named(const struct wbi_upstreams *ups, struct wbi_str name,
                                    struct wbi_str *ret_tool);
/* struct wbi_runtime's qualify; arg: struct wbi_upstreams. */
bool wbi_server_qualify(void *arg, struct wbi_str tool, struct wbi_arena *arena,
                        struct wbi_str *ret_origin, struct wbi_str *ret_qualified);
/* No other tool has a name that could be one of their tools' (C2.5), told or not. */
WB_MUST_CHECK wb_rc wbi_upstreams_claim_names(const struct wbi_upstreams *ups,
                                              struct wbi_runtime *rt, struct wbi_error *err);

/* server_tools.c: the server's tools in place of those the catalog has of it. */
WB_MUST_CHECK wb_rc wbi_server_declare(struct wbi_runtime *rt, struct wbi_server *s,
                                       const wbi_json *tools, struct wbi_error *err);
/* Names of the tools of this list that the catalog has as they are here; in arena. */
WB_MUST_CHECK wb_rc wbi_server_same_tools(struct wbi_runtime *rt, struct wbi_server *s,
                                          const wbi_json *tools, struct wbi_arena *arena,
                                          struct wbi_str **ret, size_t *ret_count);
struct wbi_runtime *wbi_server_runtime(const struct wbi_server *s); /* upstreams.c */
/* Whether pins are others than those the server's tools were checked against. */
bool wbi_server_pins_changed(const struct wbi_server *s, const struct wbi_runtime *rt);

#endif
