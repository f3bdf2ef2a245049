/* SPDX-License-Identifier: Apache-2.0
 * call/keys.h: idempotency keys kept in the store, so that they survive. */
#ifndef WBI_CALL_KEYS_H
#define WBI_CALL_KEYS_H

#include "call/runtime.h"
#include "guard/idempotency.h"

/* In the runtime's arena; opens the store at its first use. NULL: no memory. */
const struct wbi_idem_store *wbi_keys_store(struct wbi_runtime *rt);
/* Whether the outcome of a key may be as large as that. */
bool wbi_keys_hold(struct wbi_str outcome);
/* Before the store is closed: what it did not take once more. NULL is fine. */
void wbi_keys_settle(struct wbi_keys *keys);

#endif
