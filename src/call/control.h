/* SPDX-License-Identifier: Apache-2.0
 * call/control.h: what other processes may ask of a live runtime. The socket is
 * there from the moment the runtime first opens its state directory.
 * Own methods:
 *   health        {instance, pid, version, startedAt, calls, tools, ledger: {writable, …}}
 *   calls.list    [{id, callId, tool, stage, conversation, principal, startedAt, …}]
 *   calls.cancel  {"id": …} → {"id": …}; call_… or the provider's id
 * Rooms above add theirs with wbi_runtime_control_method. */
#ifndef WBI_CALL_CONTROL_H
#define WBI_CALL_CONTROL_H

#include "call/runtime.h"
#include "control/control.h"

/* Before or after the socket is there. name: static storage, "room.verb". */
WB_MUST_CHECK wb_rc wbi_runtime_control_method(struct wbi_runtime *rt, const char *name,
                                               wbi_control_fn *fn, void *arg,
                                               struct wbi_error *err);

/* Both by the runtime itself. A socket that cannot be made is no reason to refuse
 * calls: the runtime is then not reachable, and that is all. */
void wbi_runtime_control_open(struct wbi_runtime *rt);
void wbi_runtime_control_close(struct wbi_runtime *rt);

#endif
