/* SPDX-License-Identifier: Apache-2.0
 * call/recover.h: the outcome of a call whose process died before it had one
 * (C1.1, C12.2): outcome_unknown, with every surface a live call has, made by the
 * same functions. */
#ifndef WBI_CALL_RECOVER_H
#define WBI_CALL_RECOVER_H

#include "ledger/ledger.h"

/* For wbi_ledger_options.close_call; arg: a struct wbi_str, the path of the state
 * directory, where what the call had printed is found and named; or NULL. Any thread. */
wb_rc wbi_recover_call(void *arg, const struct wbi_row *intent, struct wbi_arena *arena,
                       struct wbi_row *out);

#endif
