/* SPDX-License-Identifier: Apache-2.0
 * api/api_int.h: what stands behind the opaque types of include/waybill/. */
#ifndef WBI_API_API_INT_H
#define WBI_API_API_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/error.h"
#include "call/runtime.h"
#include "wire/wire.h"
#include "waybill/waybill.h"

struct wb_error {
    struct wbi_error e;
};

/* Give err out through reterr (which may be NULL); returns its rc. */
wb_rc wbi_api_fail(wb_error **reterr, const struct wbi_error *err);
/* The same for a plain code and text. */
wb_rc wbi_api_fail_text(wb_error **reterr, wb_rc rc, const char *text);

#define WBI_OPTION_COUNT (WB_OPT_INHERIT_STDIN + 1)

struct wb_options {
    char *values[WBI_OPTION_COUNT];
    void *uv_loop;
    struct wbi_clock clock;
    struct wbi_ids ids;
    bool has_clock, has_ids;
};

struct wbi_api_family;
struct wbi_upstreams;

struct wb_runtime {
    struct wbi_runtime *rt;
    struct wbi_upstreams *ups;   /* NULL: none configured */
    struct wbi_gateway *gateway; /* while wb_serve runs */
    struct wbi_api_family *families;
    struct wbi_api_tool *tools;
    pid_t process; /* that made it */
    pthread_t thread;
    bool threaded;
    bool callers_loop;
    bool stop;
    struct wbi_post stop_post;
    struct wbi_watch *reload_watch; /* of wb_runtime_reload_on */
    int reload_fd;
    wb_reload_cb on_reload;
    void *reload_arg;
    void (*on_notice)(const char *text, void *arg);
    void *notice_arg;
    wb_approval_cb on_approval;
    void *approval_arg;
    _Atomic uint64_t numbers; /* of calls, as callers know them */
    unsigned inside;          /* callbacks that are on the stack of the loop thread */
    unsigned showing;         /* of them those that get frames or output */
};

/* notice.c: why files of the workspace do not count, for people; NULL: they do, or there is
 * nothing in them. */
const char *wbi_api_trust_notice(const wb_runtime *runtime);
/* For on_notice of the runtime, if there is somebody. */
__attribute__((format(printf, 2, 3))) void wbi_api_notice(wb_runtime *runtime, const char *fmt,
                                                          ...);

/* tools_list.c: servers start when somebody wants to see their tools; waits for them, but
 * on the thread that the loop has of its own. */
void wbi_api_fetch_upstreams(wb_runtime *runtime);

#define WBI_FIELD_COUNT (WB_FIELD_HEARTBEAT_MS + 1)

struct wb_request {
    char *tool_name;
    char *values[WBI_FIELD_COUNT];
    wb_frame_cb on_frame;
    void *frame_arg;
    wb_output_cb on_output;
    void *on_output_arg;
};

/* call.c: the text of an invocation that stands behind a field; absent for others. */
struct wbi_str wbi_api_field_of(const struct wbi_invocation *inv, wb_field field);

/* A result is the finished call itself; views are made when asked for. */
struct wb_result {
    struct wbi_call *call;  /* held once, by all refs together */
    struct wbi_call *shown; /* what its views are made of */
    _Atomic uint32_t refs;
    struct wbi_post last; /* frees it on the loop thread */
    struct wbi_str views[8];
};

struct wb_text {
    struct wbi_buf *buf;
};

struct wb_sink {
    const struct wbi_sink *sink;
    struct wbi_arena *arena;
};

/* False for none and for one of the process that this one was forked from: what its threads
 * would do is never done here. For functions that drive the loop or wait for it. */
bool wbi_api_ours(const struct wb_runtime *runtime);
/* The same, told as WB_EMISUSE of that function. */
WB_MUST_CHECK wb_rc wbi_api_check(const struct wb_runtime *runtime, const char *function,
                                  wb_error **reterr);

/* Around each callback of the caller's, on the loop thread. */
void wbi_api_enter(struct wb_runtime *runtime);
void wbi_api_leave(struct wb_runtime *runtime);
/* So many of them may stand on the stack, one inside the other, before what they submit begins
 * in the loop's next turn: whoever submits the next call when one is done would else need a
 * stack as deep as there are calls. */
#define WBI_API_NESTED 16
/* True inside one of them: its call is on the stack, so it cannot be freed nor waited for. */
bool wbi_api_inside(const struct wb_runtime *runtime);

/* True where whoever produces frames or output is on the stack, in the middle of it: what would
 * run the loop must not. */
bool wbi_api_showing(const struct wb_runtime *runtime);

/* End the runtime's thread, if it has one; the caller's thread has the loop then. */
void wbi_api_join(struct wb_runtime *runtime);
/* fn(arg) on the loop thread, from any while the loop runs; returns when it is done. */
void wbi_api_on_loop(struct wb_runtime *runtime, void (*fn)(void *), void *arg);
/* The same where the runtime has a thread of its own; elsewhere here and at once. */
void wbi_api_with_loop(struct wb_runtime *runtime, void (*fn)(void *), void *arg);
/* begin(arg, errand) on the loop thread, from any other; returns after wbi_errand_done. */
struct wbi_errand;
void wbi_api_wait_for_loop(struct wb_runtime *runtime,
                           void (*begin)(void *arg, struct wbi_errand *errand), void *arg);
void wbi_errand_done(void *errand);

struct wbi_runtime_options wbi_api_options(const wb_options *options);

/* Hand a buffer's bytes out as malloc'd text. */
wb_rc wbi_api_give(struct wbi_buf *buf, char **ret, size_t *ret_size, wb_error **reterr);
/* The same when rc is WB_OK; else what buf holds is given up, and err handed out. */
wb_rc wbi_api_end(struct wbi_buf *buf, wb_rc rc, const struct wbi_error *err, char **ret,
                  size_t *ret_size, wb_error **reterr);

/* The form of a history; NULL: by its shape. */
WB_MUST_CHECK wb_rc wbi_api_history_provider(const char *name, enum wbi_provider *ret,
                                             struct wbi_error *err);

/* The family of that name, or NULL. */
const struct wbi_family *wbi_api_family_find(const struct wb_runtime *runtime, const char *name);
void wbi_api_families_free(struct wb_runtime *runtime);
void wbi_api_tools_free(struct wb_runtime *runtime);

#endif
