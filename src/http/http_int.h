/* SPDX-License-Identifier: Apache-2.0
 * http/http_int.h: what the files of this room share. */
#ifndef WBI_HTTP_HTTP_INT_H
#define WBI_HTTP_HTTP_INT_H

#include <llhttp.h>
#include <sys/types.h>

#include "base/limits.h"
#include "base/local.h"
#include "http/http.h"
#include "loop/loop.h"

enum wbi_conn_state {
    WBI_CONN_READING = 0, /* head or body of a request, or idle */
    WBI_CONN_PENDING,     /* the handler owes an answer */
    WBI_CONN_STREAMING,   /* part of the answer is out */
    WBI_CONN_CLOSING,     /* flush, then say goodbye */
    WBI_CONN_LINGER       /* our side is shut; wait for theirs */
};

struct wbi_field {
    uint32_t name, name_n, value, value_n; /* places in conn->head */
    enum wbi_http_field field;
};

/* The head of the last request, as it came (again.c). */
struct wbi_again {
    struct wbi_buf raw;     /* empty: none is remembered */
    struct wbi_field value; /* its length, in conn->head */
    size_t digits;          /* where that stands in raw */
    size_t digits_in;       /* and in conn->in, while it is read */
    unsigned rules;         /* by which it was judged */
};

struct wbi_conn {
    struct wbi_http *http;
    uint32_t slot;
    int fd;
    struct wbi_watch *watch;
    int mask; /* what the watch waits for */
    enum wbi_conn_state state;
    bool inside;  /* its events are being handled; reaped afterwards */
    bool broken;  /* to be reaped */
    bool eof;     /* the client has said all, or left */
    bool begun;   /* bytes of a request have come */
    bool in_body; /* its headers are complete */
    bool keep_alive;
    llhttp_t parser;
    struct wbi_buf in;
    size_t in_at; /* parsed of `in` */
    struct wbi_buf head, body, out;
    struct wbi_again again;
    size_t sent;   /* of `out` */
    size_t behind; /* added to a stream while the client was over its limit */
    bool away;     /* `out` waits for the end of the turn or is with the sender: hands off */
    bool full;     /* the socket took no more; it says when it does */
    ssize_t flown; /* what the sender got rid of, or -errno */
    struct wbi_conn *next_out;
    struct wbi_field fields[WBI_LIMIT_HTTP_FIELDS];
    size_t field_count;
    uint8_t places[WBI_HTTP_FIELD_COUNT]; /* as in wbi_http_request; that of OTHER is any */
    uint32_t url_n;
    size_t value_in; /* the last value's place in `in` */
    bool field_open; /* a name without its value yet */
    int refuse;      /* status of a request refused while it is read */
    const char *why;
    uint64_t request; /* id while PENDING or STREAMING, else 0 */
    void *user;
    const char *filler;       /* of the stream, may be NULL */
    unsigned ticks_since_eof; /* while an answer is owed */
    char extra[128];          /* header lines for the answer */
    int64_t deadline_ns;
    int64_t begun_ns;
    uint64_t bytes_in, bytes_out;
    int status;
    char peer[64];
};

struct wbi_http {
    struct wbi_loop *loop;
    struct wbi_http_ops ops;
    void *arg;
    struct wbi_http_options o; /* slices point into the members below */
    char *token, *health;
    char head_why[56], body_why[56]; /* said of one that is too large */
    unsigned rules;                  /* counts changes of what is accepted */
    char **hosts;
    size_t host_count;
    int fd;
    int reserve_fd; /* given up for a moment when descriptors run out */
    uint16_t port;
    struct wbi_watch *watch;
    struct wbi_timer *timer;
    bool ticking;
    bool draining;
    int64_t drain_end_ns;
    void (*on_drained)(void *arg);
    void *drained_arg;
    struct wbi_conn **conns; /* by slot */
    size_t conn_count;
    uint64_t serial;
    llhttp_settings_t settings;
    struct wbi_defer flush;
    struct wbi_conn *waiting, **waiting_end; /* with an answer to send */
    size_t waiting_count;
    struct wbi_sender *sender; /* NULL until there is much to send */
    bool alone;                /* no thread could be had */
    int64_t date_until_ns;     /* the second it tells is over then */
    char date[40];
};

/* check.c: verdicts on one request. 0 or the status to refuse it with. */
int wbi_http_check(const struct wbi_http *http, const struct wbi_http_request *r,
                   const llhttp_t *parser, const char **ret_why);
/* Of a name in lower case. */
enum wbi_http_field wbi_http_field_of(struct wbi_str name);
/* "name", "name:port", "[v6]:port" whose name is loopback or listed. */
bool wbi_http_host_ok(const struct wbi_http *http, struct wbi_str host);
/* A name or an address (IPv6 in brackets) and nothing else: Host and Origin may have any port
 * beside it. */
bool wbi_http_is_host(struct wbi_str host);
bool wbi_http_origin_ok(const struct wbi_http *http, struct wbi_str origin);
/* Time depends on the length of what was presented only. */
bool wbi_http_same_secret(struct wbi_str presented, struct wbi_str secret);

/* conn.c */
void wbi_conn_settings(llhttp_settings_t *settings);
struct wbi_conn *wbi_conn_new(struct wbi_http *http, int fd, const char *peer);
/* Parse and handle what has come, write what is ready; may free c. */
void wbi_conn_go(struct wbi_conn *c);
void wbi_conn_drop(struct wbi_conn *c);
/* Nothing came, nothing is owed, nothing has to go. */
bool wbi_conn_idle(const struct wbi_conn *c);
/* Close it if its time is over; may free c. */
void wbi_conn_tick(struct wbi_conn *c, int64_t now_ns);
struct wbi_conn *wbi_conn_find(struct wbi_http *http, uint64_t id);
void wbi_conn_request_of(struct wbi_conn *c, struct wbi_http_header *headers,
                         struct wbi_http_request *ret);
void wbi_conn_push(struct wbi_conn *c);
/* n bytes of `out` are with the system, or it said -errno. */
void wbi_conn_pushed(struct wbi_conn *c, ssize_t n);

/* again.c: a head that comes again */
/* After a request that the parser took from one piece, `used` bytes from `from` on. */
void wbi_again_keep(struct wbi_conn *c, const char *from, size_t used);
/* Whether the next request in `in` has the head of the last one; then it is as if parsed. */
bool wbi_again_take(struct wbi_conn *c);
void wbi_again_forget(struct wbi_again *a);

/* flush.c: answers of a turn go out together */
void wbi_flush_init(struct wbi_http *http);
void wbi_flush_add(struct wbi_conn *c);
/* Nothing is away any more. */
void wbi_flush_end(struct wbi_http *http);

/* sender.c: a thread that sends */
struct wbi_sender;
/* on_sent runs on the loop thread for each connection given, with `flown` set; it may
 * free the connection. NULL when no thread can be had. */
struct wbi_sender *wbi_sender_new(struct wbi_loop *loop, void (*on_sent)(struct wbi_conn *c));
/* A list linked by next_out; nothing of a connection is touched until on_sent. */
void wbi_sender_give(struct wbi_sender *s, struct wbi_conn *first, struct wbi_conn **end);
/* Ends the thread; returns what was given and not yet reported. NULL is fine. */
struct wbi_conn *wbi_sender_free(struct wbi_sender *s);

/* ring.c: many sends by one system call */
struct wbi_ring;
/* NULL where the kernel has or allows none. */
struct wbi_ring *wbi_ring_new(void);
void wbi_ring_free(struct wbi_ring *r);
/* Sends for a list linked by next_out and sets `flown` of each. Returns those that it did
 * not begin with, because the ring failed: theirs is not set. */
struct wbi_conn *wbi_ring_send(struct wbi_ring *r, struct wbi_conn *first);

/* answer.c */
void wbi_conn_refuse(struct wbi_conn *c, int status, const char *why, int64_t now_ns);
void wbi_conn_answered(struct wbi_conn *c, int64_t now_ns);
void wbi_conn_log(const struct wbi_conn *c, const char *refused, int64_t now_ns);
void wbi_conn_head(struct wbi_conn *c, const struct wbi_http_response *r, bool chunked,
                   int64_t now_ns);
/* Not empty: that would end the body. */
void wbi_conn_chunk(struct wbi_conn *c, struct wbi_str bytes);

/* listen.c */
void wbi_http_tick_on(struct wbi_http *http);
void wbi_http_conn_ended(struct wbi_http *http);

#endif
