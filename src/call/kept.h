/* SPDX-License-Identifier: Apache-2.0
 * call/kept.h: small durable tables of lower rooms, in the one store: facts of
 * artifacts and tasks, and what budgets have spent. */
#ifndef WBI_CALL_KEPT_H
#define WBI_CALL_KEPT_H

#include "artifact/facts.h"
#include "call/runtime.h"
#include "guard/budget.h"

struct wbi_store;

/* A table of the store as facts. */
struct wbi_kept {
    struct wbi_store *store;
    struct wbi_str table;
};
/* k must outlive the facts; k->store must be open. */
struct wbi_facts wbi_kept_facts(struct wbi_kept *k);

/* In the runtime's arena; opens the store at its first use. NULL: no memory. */
const struct wbi_budget_store *wbi_kept_budgets(struct wbi_runtime *rt);

#endif
