/* SPDX-License-Identifier: Apache-2.0
 * waybill/policy.h: who may call what within which limits, and whom to ask.
 * `*ret` is JSON text, freed by the caller with wb_free. */
#ifndef WAYBILL_POLICY_H
#define WAYBILL_POLICY_H

#include "waybill/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What holds for a tool (model or qualified name) and a principal (NULL: the
 * runtime's): {tool, principal, access: allowed|ask|hidden|denied, reason?,
 * values: {NAME: {value, from: {layer, file?, pattern?}}}}. A name that is no
 * tool is explained, too: globs may match it. Loop thread. */
WB_API WB_MUST_CHECK wb_rc wb_policy_explain(wb_runtime *runtime, const char *tool,
                                             const char *principal, char **ret, size_t *ret_size,
                                             wb_error **reterr);

/* Read policies and bindings of the configuration files again. On failure the
 * old ones stay in force and the error says why. Calls under way keep what they
 * were admitted with; tools stay as they are. Any thread while the loop runs. */
WB_API WB_MUST_CHECK wb_rc wb_runtime_reload(wb_runtime *runtime, wb_error **reterr);

/* error: why the old policies stay in force, NULL when the new ones hold. */
typedef void (*wb_reload_cb)(const wb_error *error, void *arg);
/* Reload whenever fd (a pipe, a signalfd: read until empty) becomes readable, and
 * tell on_reload (may be NULL), on the loop thread. fd stays the caller's and
 * open until the runtime is freed. Loop thread; once. */
WB_API WB_MUST_CHECK wb_rc wb_runtime_reload_on(wb_runtime *runtime, int fd, wb_reload_cb on_reload,
                                                void *arg, wb_error **reterr);

/* ---- calls that wait for a yes ---- */

/* A call begins to wait: one element of what wb_approvals_list gives, NUL-terminated, good during
 * the call. On the loop thread. It may be answered (or the call cancelled) from inside; the loop
 * may not be run. */
typedef void (*wb_approval_cb)(const char *approval, size_t size, void *arg);
/* Tell of every call that begins to wait; NULL: nobody any longer. Loop thread (or before it
 * runs). */
WB_API void wb_runtime_on_approval(wb_runtime *runtime, wb_approval_cb on_approval, void *arg);
/* Pending approvals of this runtime: [{id, tool, principal, invocation, ageMs,
 * expiresInMs}]. invocation is an object, of a long one {bytes, preview}. Any thread
 * while the loop runs. */
WB_API WB_MUST_CHECK wb_rc wb_approvals_list(wb_runtime *runtime, char **ret, size_t *ret_size,
                                             wb_error **reterr);
/* Answer one; who (may be NULL) is written down. WB_ENOTFOUND: it does not wait
 * (any more). Any thread while the loop runs. */
WB_API WB_MUST_CHECK wb_rc wb_approval_resolve(wb_runtime *runtime, const char *id, int granted,
                                               const char *who, wb_error **reterr);

/* The same for all live runtimes of a state directory, in whatever process. Any thread;
 * both block. */
WB_API WB_MUST_CHECK wb_rc wb_approvals_list_all(const wb_options *options, char **ret,
                                                 size_t *ret_size, wb_error **reterr);
WB_API WB_MUST_CHECK wb_rc wb_approval_resolve_any(const wb_options *options, const char *id,
                                                   int granted, const char *who, wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
