/* SPDX-License-Identifier: Apache-2.0
 * control/control.h: how other processes reach a live runtime.
 * One socket per runtime, run/<instance>.sock (0600, and the peer's user is
 * checked), JSON-RPC 2.0, one message a line. The server lives on the loop; the
 * client blocks, with a limit. */
#ifndef WBI_CONTROL_CONTROL_H
#define WBI_CONTROL_CONTROL_H

#include "json/json.h"
#include "loop/loop.h"

struct wbi_control;
struct wbi_control_request;

/* Must lead to exactly one wbi_control_answer or wbi_control_refuse, now or
 * later, on the loop thread. params lives until the function returns; NULL when
 * the caller sent none. */
typedef void wbi_control_fn(void *arg, struct wbi_control_request *request, const wbi_json *params);

/* run_fd: the directory run/ (wbi_dir.run_fd), which stays the caller's and open;
 * instance: wbi_store_instance() after wbi_store_own(). */
WB_MUST_CHECK wb_rc wbi_control_open(struct wbi_loop *loop, int run_fd, const char *instance,
                                     struct wbi_control **ret, struct wbi_error *err);
/* Ends all connections and removes the socket. Requests not yet answered may
 * still be, to no effect. NULL is fine. */
void wbi_control_close(struct wbi_control *control);
/* Serve while the loop runs for other reasons; waiting for callers keeps no loop alive. */
void wbi_control_background(struct wbi_control *control);
/* name: static storage. WB_EEXISTS, WB_ELIMIT. */
WB_MUST_CHECK wb_rc wbi_control_method(struct wbi_control *control, const char *name,
                                       wbi_control_fn *fn, void *arg);

/* Both end the request. result: one JSON value. */
void wbi_control_answer(struct wbi_control_request *request, struct wbi_str result);
/* err's kind chooses the code; its text is the message. */
void wbi_control_refuse(struct wbi_control_request *request, const struct wbi_error *err);

/* What one runtime answered. rc is WB_OK with result, or what went wrong: WB_EAGAIN
 * it did not answer in time, WB_ENOTFOUND it is gone, otherwise its own refusal
 * (err->kind where it named one). err->kind is outcome_unknown where the request was sent and
 * no answer came. false ends early. */
typedef bool wbi_control_each_fn(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                                 const struct wbi_error *err);
/* Ask one instance, or (NULL) every live one in turn, timeout_ms each. Sockets
 * of dead processes are removed on the way. params: JSON, or absent. WB_ENOTFOUND
 * when the named instance, or any, is not there; WB_EINPUT for no instance id. */
WB_MUST_CHECK wb_rc wbi_control_call(int run_fd, const char *instance, const char *method,
                                     struct wbi_str params, int timeout_ms,
                                     wbi_control_each_fn *each, void *arg, struct wbi_error *err);

#endif
