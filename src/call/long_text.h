/* SPDX-License-Identifier: Apache-2.0
 * call/long_text.h: output too long to be a value that need not be one: text, kept whole
 * and shown by a preview (C5.2). Loop thread. */
#ifndef WBI_CALL_LONG_TEXT_H
#define WBI_CALL_LONG_TEXT_H

#include "artifact/shown.h"
#include "call/exec.h"

/* For a preview of what will be fed; freed with the call. NULL when memory is short. */
struct wbi_shown *wbi_long_shown(struct wbi_exec *x);
/* The attempt ended well: the preview, and path with all of it. audit may be absent. */
void wbi_long_done(struct wbi_exec *x, struct wbi_shown *shown, uint64_t bytes, struct wbi_str path,
                   struct wbi_str audit);
/* Text that is there already: it is written away, then the attempt ends, maybe from inside.
 * False: it has to be a value after all, or nothing can be kept; nothing was done. */
bool wbi_long_text(struct wbi_exec *x, struct wbi_str text);

#endif
