/* SPDX-License-Identifier: Apache-2.0
 * call/budgets.h: budgets kept in the store: they survive, and all processes of
 * a state directory spend from the same. */
#ifndef WBI_CALL_BUDGETS_H
#define WBI_CALL_BUDGETS_H

#include "call/runtime.h"
#include "guard/budget.h"

/* In the runtime's arena; opens the store at its first use. NULL: no memory. */
const struct wbi_budget_store *wbi_budgets_store(struct wbi_runtime *rt);

#endif
