/* SPDX-License-Identifier: Apache-2.0
 * guard/budget.h: so many calls, so much time or cost per window (C8.4).
 * A call reserves an estimate, settles what it really took, or gets all of it
 * back. Windows are fixed and begin with the first call in them. A remainder
 * that is exactly enough is enough. Reservations of running calls outlive the
 * turn of a window, and are settled in the new one. Kept in a store, a budget is
 * one for all processes that share it: each change is an addition made in one
 * transaction. Loop thread only. */
#ifndef WBI_GUARD_BUDGET_H
#define WBI_GUARD_BUDGET_H

#include "guard/table.h"

#define WBI_BUDGET_UNLIMITED INT64_C(-1)
/* Costs are counted in millionths of the unit configured. */
#define WBI_COST_SCALE 1000000

/* The nearest number of millionths; what costs anything is not free. */
static inline int64_t wbi_cost_of(double cost)
{
    int64_t millionths = (int64_t)(cost * WBI_COST_SCALE + 0.5);

    return cost > 0 && millionths == 0 ? 1 : millionths;
}

struct wbi_budget_amount {
    int64_t calls;
    int64_t time_ns;
    int64_t cost;
};

struct wbi_budget_settings {
    bool set;
    struct wbi_str id; /* calls with equal ids and windows share one budget */
    int64_t window_ns;
    struct wbi_budget_amount limit; /* each may be WBI_BUDGET_UNLIMITED */
};

/* One budget, as all processes that share it see it. Reservations count as
 * spent: a crash may charge a call that never ran, never forget one that did. */
struct wbi_budget_record {
    int64_t start_ns; /* of the window, on this process's monotonic clock */
    int64_t window;   /* 1, 2, ...; 0: no call yet */
    struct wbi_budget_amount spent;
};

struct wbi_budget_time {
    int64_t now_ns;
    int64_t wall_ms; /* for records of another boot */
};

struct wbi_budget_refusal {
    const char *what;       /* "calls", "time" or "cost" */
    int64_t reset_after_ms; /* -1: the estimate is larger than the whole budget */
};

/* What one call has reserved; estimate is the caller's, window this room's. */
struct wbi_budget_hold {
    struct wbi_budget_amount estimate;
    int64_t window;
};

/* One change of a record; plain data, so that it may be made later. */
struct wbi_budget_step {
    struct wbi_budget_time time;
    int64_t window_ns;
    struct wbi_budget_amount limit;
    struct wbi_budget_hold hold;      /* what is reserved or settled */
    struct wbi_budget_amount carried; /* reserves: held by calls of earlier windows */
    bool settles;                     /* else it reserves */
    struct wbi_budget_amount actual;  /* settles */
};
/* Pure. WB_EAGAIN with *refusal (may be NULL): the estimate does not fit, only
 * the window may have turned. */
WB_MUST_CHECK wb_rc wbi_budget_apply(const struct wbi_budget_step *step,
                                     struct wbi_budget_record *record,
                                     struct wbi_budget_refusal *refusal);

/* Where budgets are kept that outlive the process and are shared with others.
 * Loop thread. */
struct wbi_budget_store {
    /* The record now, or WB_ENOTFOUND. `exact`: also with what this process has
     * settled and is not durable yet. */
    wb_rc (*load)(void *arg, const struct wbi_budget_settings *s, struct wbi_budget_time t,
                  bool exact, struct wbi_budget_record *ret);
    /* wbi_budget_apply on the record, nobody in between, and durable: what it
     * said, with *ret the record afterwards. */
    wb_rc (*reserve)(void *arg, const struct wbi_budget_settings *s,
                     const struct wbi_budget_step *step, struct wbi_budget_record *ret,
                     struct wbi_budget_refusal *refusal);
    /* The same without waiting, in the order given. A failure leaves the
     * reservation charged. */
    wb_rc (*settle)(void *arg, const struct wbi_budget_settings *s,
                    const struct wbi_budget_step *step);
    void *arg;
};

struct wbi_budget {
    struct wbi_table states;
    struct wbi_budget_store store; /* load NULL: in memory */
    uint64_t seed;
};

/* store NULL: in memory, for this process alone. */
void wbi_budget_init(struct wbi_budget *b, const struct wbi_budget_store *store, uint64_t seed);
void wbi_budget_fini(struct wbi_budget *b);
/* WB_OK: the estimate fits (nothing is reserved yet). WB_EAGAIN: it does not.
 * Others: memory, limits, the store. */
WB_MUST_CHECK wb_rc wbi_budget_admit(struct wbi_budget *b, const struct wbi_budget_settings *s,
                                     const struct wbi_budget_amount *estimate,
                                     struct wbi_budget_time t, struct wbi_budget_refusal *ret);
/* After an admit that said WB_OK. WB_EAGAIN: another process was faster. On any
 * failure nothing is reserved. */
WB_MUST_CHECK wb_rc wbi_budget_take(struct wbi_budget *b, const struct wbi_budget_settings *s,
                                    struct wbi_budget_hold *hold, struct wbi_budget_time t,
                                    struct wbi_budget_refusal *ret);
/* Exactly one of the two per reservation. */
void wbi_budget_settle(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_hold *hold, const struct wbi_budget_amount *actual,
                       struct wbi_budget_time t);
void wbi_budget_cancel(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_hold *hold, struct wbi_budget_time t);
/* Spent in this window, and reserved by calls of this process that run. */
void wbi_budget_peek(struct wbi_budget *b, const struct wbi_budget_settings *s, int64_t now_ns,
                     struct wbi_budget_amount *ret_spent, struct wbi_budget_amount *ret_reserved);

#endif
