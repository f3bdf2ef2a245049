/* SPDX-License-Identifier: Apache-2.0
 * call/stored.h: an outcome as bytes, for replays and the cache: redacted, as
 * the first caller got it (I5). */
#ifndef WBI_CALL_STORED_H
#define WBI_CALL_STORED_H

#include "call/call.h"

/* {"canonical": …, "output": …, "raw": …} in the call's arena; absent when out of memory.
 * Without whole only the canonical result, which is bounded and names what is kept: for
 * whoever cannot hold more. Restored, it is the output, too. */
struct wbi_str wbi_stored_write(struct wbi_call *call, bool whole);
/* Give the call that outcome. */
WB_MUST_CHECK wb_rc wbi_stored_restore(struct wbi_call *call, struct wbi_str bytes);

#endif
