/* SPDX-License-Identifier: Apache-2.0
 * serve/token.h: the bearer token of HTTP. */
#ifndef WBI_SERVE_TOKEN_H
#define WBI_SERVE_TOKEN_H

#include "base/buf.h"
#include "base/error.h"

#define WBI_TOKEN_MAX 4096

/* The token in a file, added to out. WB_ENOTFOUND, WB_EDENIED when others can read
 * the file, WB_EINPUT when it holds none. */
WB_MUST_CHECK wb_rc wbi_token_read(const char *path, struct wbi_buf *out, struct wbi_error *err);
/* The user's own, made when there is none (then *created is set). */
WB_MUST_CHECK wb_rc wbi_token_own(struct wbi_str user_state, struct wbi_buf *out, int *created,
                                  struct wbi_error *err);

/* The folders above path (changed meanwhile, then as before), 0700, as far as they
 * are missing; whether that worked, opening tells. */
void wbi_make_parents(char *path);

#endif
