/* SPDX-License-Identifier: Apache-2.0
 * guard/authorize.h: who may call what (C3.4). Bindings give principals tools
 * by globs (ASCII case does not matter; qualified and model names count, and a local
 * tool's own, as in policies):
 *   [{"principal": "ci-*", "allow": ["local::*"], "deny": ["*delete*"],
 *     "scopes": ["repo:read"], "effects": ["Pure"], "network": false,
 *     "approval": {"local::ExecCommand": "ask"}}]
 * A tool no binding allows is hidden; a deny of any binding wins. Without any
 * binding the principal "local" may call everything and nobody else anything.
 * The same answer decides what is listed and what may be called. Immutable
 * after building; any thread may ask. */
#ifndef WBI_GUARD_AUTHORIZE_H
#define WBI_GUARD_AUTHORIZE_H

#include "guard/effect.h"
#include "guard/policy.h"

#define WBI_LOCAL_PRINCIPAL "local"

struct wbi_auth;
WB_MUST_CHECK wb_rc wbi_auth_new(struct wbi_auth **ret);
void wbi_auth_free(struct wbi_auth *a); /* NULL is fine */
/* Add the `bindings` member of a configuration file (copied); NULL adds
 * nothing. From a file that may only tighten, a binding never gives: its allow
 * list, effects, network, deny and approval rules restrict what others gave.
 * WB_EINPUT with err->at: nothing was taken. */
WB_MUST_CHECK wb_rc wbi_auth_add(struct wbi_auth *a, const wbi_json *bindings,
                                 enum wbi_policy_trust trust, struct wbi_error *err);

struct wbi_auth_tool {
    struct wbi_str qualified, model_name; /* model_name may be absent */
    enum wbi_guard_effect effect;
    bool network;                      /* reaches beyond this machine */
    const wbi_json *scopes;            /* array of strings, all are needed; NULL: none */
    struct wbi_str missing_credential; /* name of a secret it needs and has not; absent: none */
};

enum wbi_auth_verdict {
    WBI_AUTH_ALLOWED = 1,
    WBI_AUTH_ASK,    /* park the call until somebody approves (approvals.h) */
    WBI_AUTH_HIDDEN, /* answer unknown_tool, do not list */
    WBI_AUTH_DENIED  /* kind and message; never retryable */
};

struct wbi_auth_answer {
    enum wbi_auth_verdict verdict;
    enum wbi_kind kind; /* HIDDEN, DENIED */
    char message[240];
};

void wbi_authorize(const struct wbi_auth *a, struct wbi_str principal,
                   const struct wbi_auth_tool *tool, struct wbi_auth_answer *ret);
/* May it be listed? Exactly when it may be called, now or after approval. */
bool wbi_auth_lists(const struct wbi_auth *a, struct wbi_str principal,
                    const struct wbi_auth_tool *tool);

#endif
