/* SPDX-License-Identifier: Apache-2.0
 * mcp/curl.h: HTTP requests to others, by libcurl on the loop. The library is
 * loaded when the first client is made: short commands never pay for it. */
#ifndef WBI_MCP_CURL_H
#define WBI_MCP_CURL_H

#include "base/buf.h"
#include "base/error.h"

struct wbi_loop;
struct wbi_curl;
struct wbi_transfer;

/* WB_EUNSUPPORTED when libcurl cannot be loaded. */
WB_MUST_CHECK wb_rc wbi_curl_new(struct wbi_loop *loop, struct wbi_curl **ret,
                                 struct wbi_error *err);
/* No transfer may be open any more. NULL is fine. */
void wbi_curl_free(struct wbi_curl *curl);

/* Whether transfers are under way. */
bool wbi_curl_busy(const struct wbi_curl *curl);

/* What has come so far. `done` is set once, with the last event. */
struct wbi_transfer_view {
    long status;            /* 0 until the head has come */
    bool event_stream;      /* Content-Type: text/event-stream */
    struct wbi_str session; /* Mcp-Session-Id of the answer, or absent */
    int64_t retry_after_ms; /* Retry-After, at most a day; 0: none */
    struct wbi_str bytes;   /* of the body, since the last event */
    bool done;
    bool unsent;         /* with failure: no byte of the request has left */
    bool too_large;      /* with failure: more came than is taken */
    const char *failure; /* with done: why there is no (whole) answer, else NULL */
};

struct wbi_transfer_spec {
    const char *url;
    const char *method;            /* "POST", "GET", "DELETE" */
    const struct wbi_str *headers; /* whole lines, without line ends */
    size_t header_count;
    struct wbi_str body; /* copied */
    size_t max;          /* most bytes of the body held at a time */
    long most_ms;        /* it fails when it takes longer; 0: it may take any time */
};

/* on_event runs on the loop thread, never from inside this. Redirects are not
 * followed; only http and https are spoken. */
WB_MUST_CHECK wb_rc wbi_transfer_start(struct wbi_curl *curl, const struct wbi_transfer_spec *spec,
                                       void (*on_event)(void *arg, struct wbi_transfer *t,
                                                        const struct wbi_transfer_view *view),
                                       void *arg, struct wbi_transfer **ret);
/* Ends it at once, also from inside on_event; needed after `done` too. */
void wbi_transfer_free(struct wbi_transfer *t);

#endif
