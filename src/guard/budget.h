/* SPDX-License-Identifier: Apache-2.0
 * guard/budget.h: so many calls, so much time or cost per window (C8.4).
 * A call reserves an estimate, settles what it really took, or gets all of it
 * back. Windows are fixed and begin with the first call in them. A remainder
 * that is exactly enough is enough. Reservations of running calls outlive the
 * turn of a window. Loop thread only. */
#ifndef WBI_GUARD_BUDGET_H
#define WBI_GUARD_BUDGET_H

#include "guard/table.h"

#define WBI_BUDGET_UNLIMITED INT64_C(-1)
/* Costs are counted in millionths of the unit configured. */
#define WBI_COST_SCALE 1000000

struct wbi_budget_amount {
    int64_t calls;
    int64_t time_ns;
    int64_t cost;
};

struct wbi_budget_settings {
    bool set;
    struct wbi_str id; /* calls with equal ids share one budget */
    int64_t window_ns;
    struct wbi_budget_amount limit; /* each may be WBI_BUDGET_UNLIMITED */
};

/* What survives a restart. Reservations are saved as spent: a crash may charge
 * a call that never ran, never forget one that did. */
struct wbi_budget_record {
    int64_t start_wall_ms;
    struct wbi_budget_amount spent;
};

/* Where budgets are kept; any member may be NULL. load: WB_OK or WB_ENOTFOUND;
 * any other code of either refuses the call. Loop thread, must not block long. */
struct wbi_budget_store {
    wb_rc (*load)(void *arg, struct wbi_str id, struct wbi_budget_record *ret);
    wb_rc (*save)(void *arg, struct wbi_str id, const struct wbi_budget_record *record);
    void *arg;
};

struct wbi_budget {
    struct wbi_table states;
    struct wbi_budget_store store;
    uint64_t seed;
};

struct wbi_budget_time {
    int64_t now_ns;
    int64_t wall_ms; /* only compared with records of an earlier process */
};

struct wbi_budget_refusal {
    const char *what;       /* "calls", "time" or "cost" */
    int64_t reset_after_ms; /* -1: the estimate is larger than the whole budget */
};

void wbi_budget_init(struct wbi_budget *b, const struct wbi_budget_store *store, uint64_t seed);
void wbi_budget_fini(struct wbi_budget *b);
/* WB_OK: the estimate fits (nothing is reserved yet). WB_EAGAIN: it does not.
 * Others: memory, limits, the store. */
WB_MUST_CHECK wb_rc wbi_budget_admit(struct wbi_budget *b, const struct wbi_budget_settings *s,
                                     const struct wbi_budget_amount *estimate,
                                     struct wbi_budget_time t, struct wbi_budget_refusal *ret);
/* After an admit that said WB_OK. Fails only in the store, with nothing
 * reserved. */
WB_MUST_CHECK wb_rc wbi_budget_reserve(struct wbi_budget *b, const struct wbi_budget_settings *s,
                                       const struct wbi_budget_amount *estimate,
                                       struct wbi_budget_time t);
/* Exactly one of the two per reservation. */
void wbi_budget_settle(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_amount *estimate,
                       const struct wbi_budget_amount *actual, struct wbi_budget_time t);
void wbi_budget_refund(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_amount *estimate, struct wbi_budget_time t);
/* Spent in this window, and reserved by calls that run. */
void wbi_budget_peek(struct wbi_budget *b, const struct wbi_budget_settings *s, int64_t now_ns,
                     struct wbi_budget_amount *ret_spent, struct wbi_budget_amount *ret_reserved);

#endif
