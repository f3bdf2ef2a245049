/* SPDX-License-Identifier: Apache-2.0
 * call/upkeep.h: the artifact store is kept in order while there is a runtime: files of
 * dead writers are finished, what is too old or too much goes (C5.4). */
#ifndef WBI_CALL_UPKEEP_H
#define WBI_CALL_UPKEEP_H

#include "artifact/store.h"
#include "call/runtime.h"

/* The store is open: see to it soon, in small steps, and again every hour. */
void wbi_upkeep_begin(struct wbi_runtime *rt);
/* Before store and tasks are closed. A runtime too short-lived for a step makes one now if
 * nobody did for an hour. Fine when it was never begun. */
void wbi_upkeep_end(struct wbi_runtime *rt);

/* The call an artifact is of: its call_id, without the number of a batch's command. */
struct wbi_str wbi_artifact_call(const char *call_id);

/* Prune by hand; age_ms < 0: the policy's. */
WB_MUST_CHECK wb_rc wbi_upkeep_prune(struct wbi_runtime *rt, int64_t age_ms,
                                     struct wbi_artifact_stats *ret, struct wbi_error *err);

#endif
