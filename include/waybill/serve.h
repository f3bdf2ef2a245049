/* SPDX-License-Identifier: Apache-2.0
 * waybill/serve.h: a runtime as an MCP server (C10), the pins of other servers'
 * tools, and the configuration of clients. Any thread unless said otherwise; all block. */
#ifndef WAYBILL_SERVE_H
#define WAYBILL_SERVE_H

#include "waybill/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wb_serve_options {
    const char *http;  /* "ADDRESS:PORT", port 0 picks one; NULL: in and out */
    int in, out;       /* stay the caller's */
    const char *token; /* bearer token of HTTP; NULL: none, on loopback only */
    /* Names accepted in Host and Origin beside loopback, with any port; NULL-ended, at most 64. */
    const char *const *hosts;
    int access_log; /* descriptor for JSON Lines, or -1 */
    int stop;       /* becomes readable: drain; once more: cancel. -1: none */
    void (*on_ready)(const char *url, void *arg); /* HTTP only; may be NULL */
    void *arg;
    /* One line that a person should know of: a server that cannot be had, tools that
     * are left out and why; may be NULL. */
    void (*on_notice)(const char *text, void *arg);
} wb_serve_options;

/* Serve until the input ends or stop asks; drives the runtime's loop on this
 * thread. WB_EINPUT: an address or a host that is none, or no token beyond loopback. WB_EIO, at
 * the end: in could not be read, or answers not be written to out; that whoever
 * reads them has gone is no failure. */
WB_API WB_MUST_CHECK wb_rc wb_serve(wb_runtime *runtime, const wb_serve_options *options,
                                    wb_error **reterr);

/* The token of HTTP: from file, or (NULL) the user's own, which is made (0600)
 * when there is none; *ret_created says so. Free with wb_free. */
WB_API WB_MUST_CHECK wb_rc wb_serve_token(wb_runtime *runtime, const char *file, char **ret,
                                          int *ret_created, wb_error **reterr);

/* Another token for requests that come from now on to a runtime that wb_serve serves
 * by HTTP with a token; what is under way goes on. Loop thread. */
WB_API WB_MUST_CHECK wb_rc wb_serve_set_token(wb_runtime *runtime, const char *token,
                                              wb_error **reterr);

/* ---- pins: definitions of tools of MCP servers, by hash ---- */

/* Of the servers that the user configures, and of those of the runtime's workspace. JSON array
 * of {server, tool, state, hash, pendingHash?, since, workspace?}; state: "accepted", "new",
 * "changed", "refused"; workspace: which configures the server. */
WB_API WB_MUST_CHECK wb_rc wb_pins_list(wb_runtime *runtime, char **ret, size_t *ret_size,
                                        wb_error **reterr);
/* name: "server/tool". The difference between what is accepted and what waits, as
 * lines; empty when nothing waits. */
WB_API WB_MUST_CHECK wb_rc wb_pins_diff(wb_runtime *runtime, const char *name, char **ret,
                                        size_t *ret_size, wb_error **reterr);
/* name: "server/tool", or "server" for everything of it that waits. hash: of what was
 * looked at, or NULL for whatever waits. WB_ENOTFOUND, WB_EAGAIN. */
WB_API WB_MUST_CHECK wb_rc wb_pins_approve(wb_runtime *runtime, const char *name, const char *hash,
                                           wb_error **reterr);
/* Refuse what waits: it stays blocked, also when everything of its server is approved. A
 * definition that differs from it waits anew; approving it by its own name takes it back. */
WB_API WB_MUST_CHECK wb_rc wb_pins_reject(wb_runtime *runtime, const char *name, wb_error **reterr);

/* ---- clients ---- */

/* What to write so that a client starts `program serve`. client: "codex",
 * "claude", or another name, which gets a snippet and no path. *ret_path is the
 * file, or NULL; *ret_text its whole new text, or the snippet. current: the
 * file's text now, or NULL. WB_EEXISTS: the client knows Waybill already, by this
 * program and for this root; where it knows another (wb_connect_known), the text has
 * this one in its place and is otherwise the same. WB_EINPUT: only a hand can change
 * it. Free both with wb_free. */
WB_API WB_MUST_CHECK wb_rc wb_connect(wb_runtime *runtime, const char *client, const char *program,
                                      const char *current, char **ret_path, char **ret_text,
                                      wb_error **reterr);
/* How a client with this text starts Waybill now: program and arguments in one line, for
 * people. WB_ENOTFOUND: not at all. */
WB_API WB_MUST_CHECK wb_rc wb_connect_known(wb_runtime *runtime, const char *client,
                                            const char *current, char **ret, wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
