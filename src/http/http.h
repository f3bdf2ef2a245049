/* SPDX-License-Identifier: Apache-2.0
 * http/http.h: an HTTP/1.1 server on the loop, strict: what two parties could
 * read in two ways is refused. Every accepted request gets an id; it is answered
 * by that id now or any time later, at once or as a stream. Requests of one
 * connection are handled one after the other, so answers keep their order.
 * Everything here is for the loop thread only. */
#ifndef WBI_HTTP_HTTP_H
#define WBI_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/slice.h"

struct wbi_loop;
struct wbi_http;

/* Fields that are asked for often, so that each is looked for once. */
enum wbi_http_field {
    WBI_HTTP_OTHER = 0,
    WBI_HTTP_ACCEPT,
    WBI_HTTP_AUTHORIZATION,
    WBI_HTTP_CONTENT_ENCODING,
    WBI_HTTP_CONTENT_LENGTH,
    WBI_HTTP_CONTENT_TYPE,
    WBI_HTTP_EXPECT,
    WBI_HTTP_HOST,
    WBI_HTTP_LAST_EVENT_ID,
    WBI_HTTP_MCP_PROTOCOL_VERSION,
    WBI_HTTP_MCP_SESSION_ID,
    WBI_HTTP_ORIGIN,
    WBI_HTTP_TRANSFER_ENCODING,
    WBI_HTTP_UPGRADE,
    WBI_HTTP_FIELD_COUNT
};

struct wbi_http_header {
    struct wbi_str name; /* lower case */
    struct wbi_str value;
    enum wbi_http_field field;
};

/* Good during on_request only. */
struct wbi_http_request {
    uint64_t id;
    struct wbi_str method;
    struct wbi_str path;  /* as sent, without the query */
    struct wbi_str query; /* absent when there is none */
    struct wbi_str body;
    struct wbi_str peer; /* "127.0.0.1:5000" */
    int64_t now_ns;      /* by the server's clock */
    const struct wbi_http_header *headers;
    size_t header_count;
    const uint8_t *places; /* by enum wbi_http_field: 1 is the first of headers, 0 none */
};

/* The first value of that field, or the absent slice. Fields that must be unique were
 * refused when repeated. */
static inline struct wbi_str wbi_http_first(const struct wbi_http_request *r,
                                            enum wbi_http_field field)
{
    return r->places[field] > 0 ? r->headers[r->places[field] - 1].value : WBI_NONE;
}

/* The same by a (lower case) name; for those that are no enum wbi_http_field. */
struct wbi_str wbi_http_header(const struct wbi_http_request *r, const char *name);
/* Whether the Accept fields list this media type (or a range that holds it, with wildcards),
 * and not to say that it is unwanted (q=0): of several the one that names it most closely counts.
 */
bool wbi_http_accepts(const struct wbi_http_request *r, const char *type, bool wildcards);
/* Whether Content-Type is this media type, parameters aside. */
bool wbi_http_is_type(const struct wbi_http_request *r, const char *type);

/* One line of the access log. */
struct wbi_http_access {
    struct wbi_str peer, method, path;
    int status; /* 0: the client left before there was one */
    uint64_t bytes_in, bytes_out;
    int64_t duration_ns;
    int64_t wall_ms;
    const char *refused; /* why it never reached the handler, NULL if it did */
};
/* The entry as one JSON object, without a line end. */
void wbi_http_access_json(const struct wbi_http_access *a, struct wbi_buf *out);

struct wbi_http_ops {
    void (*on_request)(void *arg, const struct wbi_http_request *r);
    /* The client of an unanswered or streaming request is gone; its id is no
     * longer good. user is what wbi_http_set_user gave. May be NULL. */
    void (*on_gone)(void *arg, uint64_t id, void *user);
    void (*on_access)(void *arg, const struct wbi_http_access *a); /* may be NULL */
};

/* Zero is a good default for every number. Slices and arrays are copied. */
struct wbi_http_options {
    struct wbi_str address;      /* "127.0.0.1:7717", "[::1]:0", "localhost:80" */
    const struct wbi_str *hosts; /* accepted in Host and Origin beside loopback and the address */
    size_t host_count;
    bool any_host;         /* only for servers behind a proxy that checks */
    struct wbi_str token;  /* absent: no token is asked for */
    struct wbi_str health; /* path answered here, without a token; absent: none */
    size_t header_bytes, body_bytes, connections, stream_bytes;
    int64_t header_ms;      /* from the first byte to the end of the headers */
    int64_t body_ms;        /* from there to the end of the body */
    int64_t idle_ms;        /* between requests */
    int64_t write_ms;       /* a client that reads nothing */
    struct wbi_clock clock; /* mono_ns NULL: the system's */
};

/* Listens. WB_EINPUT for an address that is none, WB_EIO when it is taken. */
WB_MUST_CHECK wb_rc wbi_http_listen(struct wbi_loop *loop, const struct wbi_http_options *options,
                                    const struct wbi_http_ops *ops, void *arg,
                                    struct wbi_http **ret, struct wbi_error *err);
/* Closes everything at once; on_gone runs for what is unanswered. NULL is fine. */
void wbi_http_free(struct wbi_http *http);
/* No new connections; each open one ends after the answer it waits for. on_done
 * runs once, when none is left or the grace time has passed. */
void wbi_http_drain(struct wbi_http *http, int64_t grace_ms, void (*on_done)(void *arg), void *arg);
/* While draining: who has not sent a whole request yet is not waited for any more. */
void wbi_http_drain_now(struct wbi_http *http);
/* Another token for all requests whose headers come from now on; those before it and
 * their streams go on. WB_EMISUSE where none was asked for from the start. */
WB_MUST_CHECK wb_rc wbi_http_set_token(struct wbi_http *http, struct wbi_str token);
uint16_t wbi_http_port(const struct wbi_http *http);
size_t wbi_http_connections(const struct wbi_http *http);

struct wbi_http_response {
    int status;
    const char *type; /* NULL: no content type */
    struct wbi_str body;
    const char *extra;  /* whole header lines, each with CRLF; may be NULL */
    const char *filler; /* for streams, static: what means nothing in this one (a comment) */
};

/* All return WB_ENOTFOUND when the id is not (or no longer) good, and WB_ELIMIT
 * or WB_ENOMEM when the connection had to be dropped. The code may be ignored:
 * on_gone tells the same for what was not yet answered. */
wb_rc wbi_http_respond(struct wbi_http *http, uint64_t id,
                       const struct wbi_http_response *response);
/* Head of an answer whose body comes by wbi_http_send, ended by wbi_http_end. The
 * filler is sent to a client that has shut its side, to find out whether it is there;
 * without one it counts as gone. */
wb_rc wbi_http_stream(struct wbi_http *http, uint64_t id, const struct wbi_http_response *head);
/* A client is over its limit when more than stream_bytes wait for it; one that lets as much
 * again pile up then is dropped. */
wb_rc wbi_http_send(struct wbi_http *http, uint64_t id, struct wbi_str bytes);
/* The last bytes, which may be absent, are owed whatever waits before them. */
wb_rc wbi_http_end(struct wbi_http *http, uint64_t id, struct wbi_str last);
/* Header lines (each with CRLF, at most 127 bytes) for the answer to come. */
wb_rc wbi_http_set_extra(struct wbi_http *http, uint64_t id, const char *extra);
/* A pointer that on_gone gets back. */
wb_rc wbi_http_set_user(struct wbi_http *http, uint64_t id, void *user);

#endif
