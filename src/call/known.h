/* SPDX-License-Identifier: Apache-2.0
 * call/known.h: secrets known by their value. */
#ifndef WBI_CALL_KNOWN_H
#define WBI_CALL_KNOWN_H

#include "call/runtime.h"

/* Make rt->secrets anew with the values that the configuration names: secrets.env,
 * credentials of tools, and what servers get in env, headers and url, tools and agents in env,
 * and commands by settings.env.allow under a telling name. */
WB_MUST_CHECK wb_rc wbi_known_load(struct wbi_runtime *rt, struct wbi_error *err);

/* Value of an environment variable that is a credential; NULL: not there or empty. */
const char *wbi_credential(struct wbi_str name);

#endif
