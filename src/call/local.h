/* SPDX-License-Identifier: Apache-2.0
 * call/local.h: what a runtime loads from files: configuration and the local
 * tools declared in it. */
#ifndef WBI_CALL_LOCAL_H
#define WBI_CALL_LOCAL_H

#include "call/runtime.h"

/* Find the places (I1), read the configuration. */
WB_MUST_CHECK wb_rc wbi_runtime_load(struct wbi_runtime *rt, const struct wbi_runtime_options *o,
                                     struct wbi_error *err);
/* Declare the configuration's tools, after the built-in ones: whoever takes the name of
 * one of those is refused with file and line, as is any tool that is wrong. */
WB_MUST_CHECK wb_rc wbi_runtime_declare(struct wbi_runtime *rt, struct wbi_error *err);
void wbi_runtime_unload(struct wbi_runtime *rt);

#endif
