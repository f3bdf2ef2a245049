/* SPDX-License-Identifier: Apache-2.0
 * guard/budget.c: windows of calls, time and cost. For each budget,
 * spent <= limit right after every reservation; only a call that takes more than
 * its estimate can pass the limit, by that difference. */
#include "guard/budget.h"

#include "base/checked.h"
#include "guard/deadline.h"

/* What this process holds of a budget. */
struct state {
    struct wbi_budget_record record; /* in memory: the budget itself; else as last seen */
    int64_t window;                  /* that `reserved` belongs to */
    struct wbi_budget_amount reserved;
    struct wbi_budget_amount carried; /* reserved in earlier windows */
};

/* ---- amounts ---- */

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;

    return wbi_add(a, b, &sum) ? sum : INT64_MAX;
}

static struct wbi_budget_amount amount_plus(struct wbi_budget_amount a, struct wbi_budget_amount b)
{
    return (struct wbi_budget_amount){plus(a.calls, b.calls), plus(a.time_ns, b.time_ns),
                                      plus(a.cost, b.cost)};
}

/* Never below nothing: a record may have been begun anew meanwhile. */
static struct wbi_budget_amount amount_minus(struct wbi_budget_amount a, struct wbi_budget_amount b)
{
    return (struct wbi_budget_amount){WBI_MAX(a.calls - b.calls, 0),
                                      WBI_MAX(a.time_ns - b.time_ns, 0),
                                      WBI_MAX(a.cost - b.cost, 0)};
}

/* ---- one record ---- */

static void turn_window(struct wbi_budget_record *r, int64_t window_ns, int64_t now)
{
    if (r->window > 0 && now - r->start_ns < window_ns)
        return;
    r->start_ns = now;
    r->window++;
    r->spent = (struct wbi_budget_amount){0};
}

static bool fits(int64_t limit, int64_t used, int64_t estimate, bool *ret_never)
{
    if (limit == WBI_BUDGET_UNLIMITED)
        return true;
    if (estimate > limit || limit == 0) {
        *ret_never = true;
        return false;
    }
    return estimate == 0 ? used < limit : plus(used, estimate) <= limit;
}

/* What a call asks for, and what it has to fit into beside the record. */
struct demand {
    const struct wbi_budget_amount *limit, *estimate, *carried;
    int64_t window_ns, now_ns;
};

static wb_rc check(const struct demand *d, const struct wbi_budget_record *r,
                   struct wbi_budget_refusal *ret)
{
    const struct wbi_budget_amount *limit = d->limit, *estimate = d->estimate, *more = d->carried;
    const char *what = NULL;
    bool never = false;

    if (!fits(limit->calls, plus(r->spent.calls, more->calls), estimate->calls, &never))
        what = "calls";
    else if (!fits(limit->time_ns, plus(r->spent.time_ns, more->time_ns), estimate->time_ns,
                   &never))
        what = "time";
    else if (!fits(limit->cost, plus(r->spent.cost, more->cost), estimate->cost, &never))
        what = "cost";
    if (what == NULL)
        return WB_OK;
    if (ret != NULL) {
        ret->what = what;
        ret->reset_after_ms = never ? -1 : wbi_ms_up(d->window_ns - (d->now_ns - r->start_ns));
    }
    return WB_EAGAIN;
}

static wb_rc apply_reserve(const struct demand *d, struct wbi_budget_record *r,
                           struct wbi_budget_refusal *refusal)
{
    wb_rc rc;

    turn_window(r, d->window_ns, d->now_ns);
    rc = check(d, r, refusal);
    if (rc == WB_OK)
        r->spent = amount_plus(r->spent, *d->estimate);
    return rc;
}

/* Never refused. */
static void apply_settle(struct wbi_budget_record *r, const struct wbi_budget_hold *hold,
                         const struct wbi_budget_amount *actual, int64_t window_ns, int64_t now)
{
    turn_window(r, window_ns, now);
    if (r->window == hold->window)
        r->spent = amount_minus(r->spent, hold->estimate);
    r->spent = amount_plus(r->spent, *actual);
}

wb_rc wbi_budget_apply(const struct wbi_budget_step *step, struct wbi_budget_record *r,
                       struct wbi_budget_refusal *refusal)
{
    struct demand d = {&step->limit, &step->hold.estimate, &step->carried, step->window_ns,
                       step->time.now_ns};

    if (!step->settles)
        return apply_reserve(&d, r, refusal);
    apply_settle(r, &step->hold, &step->actual, step->window_ns, step->time.now_ns);
    return WB_OK;
}

/* ---- budgets of this process ---- */

void wbi_budget_init(struct wbi_budget *b, const struct wbi_budget_store *store, uint64_t seed)
{
    *b = (struct wbi_budget){.seed = seed};
    if (store != NULL)
        b->store = *store;
    wbi_table_init(&b->states, sizeof(struct state));
}

void wbi_budget_fini(struct wbi_budget *b)
{
    wbi_table_fini(&b->states);
}

static struct wbi_key key_of(const struct wbi_budget *b, const struct wbi_budget_settings *s)
{
    struct wbi_key key = wbi_key_of(b->seed, 'B', s->id, WBI_NONE, WBI_NONE);

    key.a ^= (uint64_t)s->window_ns * UINT64_C(0x9e3779b97f4a7c15);
    return key;
}

/* Whatever is held from windows before the one that counts now. */
static void follow_window(struct state *st)
{
    if (st->window == st->record.window)
        return;
    st->window = st->record.window;
    st->carried = amount_plus(st->carried, st->reserved);
    st->reserved = (struct wbi_budget_amount){0};
}

static wb_rc look(struct wbi_budget *b, const struct wbi_budget_settings *s,
                  const struct wbi_budget_amount *estimate, struct wbi_budget_time t, bool exact,
                  struct state *st, struct wbi_budget_refusal *ret)
{
    struct demand d = {&s->limit, estimate, &st->carried, s->window_ns, t.now_ns};
    wb_rc rc = WB_OK;

    if (b->store.load != NULL)
        rc = b->store.load(b->store.arg, s, t, exact, &st->record);
    if (rc == WB_ENOTFOUND)
        st->record = (struct wbi_budget_record){0};
    else if (rc != WB_OK)
        return rc;
    turn_window(&st->record, s->window_ns, t.now_ns);
    follow_window(st);
    return check(&d, &st->record, ret);
}

wb_rc wbi_budget_admit(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_amount *estimate, struct wbi_budget_time t,
                       struct wbi_budget_refusal *ret)
{
    void *state;
    wb_rc rc = wbi_table_add(&b->states, key_of(b, s), &state);

    if (rc == WB_OK)
        rc = look(b, s, estimate, t, false, state, ret);
    if (rc == WB_EAGAIN && b->store.load != NULL) /* a refund may be on its way to the disk */
        rc = look(b, s, estimate, t, true, state, ret);
    return rc;
}

static wb_rc reserve_in_store(struct wbi_budget *b, const struct wbi_budget_settings *s,
                              const struct wbi_budget_hold *hold, struct wbi_budget_time t,
                              struct state *st, struct wbi_budget_refusal *ret)
{
    struct wbi_budget_step step = {.time = t,
                                   .window_ns = s->window_ns,
                                   .limit = s->limit,
                                   .hold = *hold,
                                   .carried = st->carried};

    return b->store.reserve(b->store.arg, s, &step, &st->record, ret);
}

wb_rc wbi_budget_take(struct wbi_budget *b, const struct wbi_budget_settings *s,
                      struct wbi_budget_hold *hold, struct wbi_budget_time t,
                      struct wbi_budget_refusal *ret)
{
    struct state *st = wbi_table_find(&b->states, key_of(b, s));
    struct demand d = {&s->limit, &hold->estimate, NULL, s->window_ns, t.now_ns};
    wb_rc rc;

    if (st == NULL)
        return WB_EMISUSE;
    d.carried = &st->carried;
    rc = b->store.reserve != NULL ? reserve_in_store(b, s, hold, t, st, ret)
                                  : apply_reserve(&d, &st->record, ret);
    if (rc != WB_OK)
        return rc;
    follow_window(st);
    hold->window = st->window;
    st->reserved = amount_plus(st->reserved, hold->estimate);
    return WB_OK;
}

/* On failure the reservation stays on record. */
static void settle_in_store(struct wbi_budget *b, const struct wbi_budget_settings *s,
                            const struct wbi_budget_hold *hold,
                            const struct wbi_budget_amount *actual, struct wbi_budget_time t)
{
    struct wbi_budget_step step = {.time = t,
                                   .window_ns = s->window_ns,
                                   .limit = s->limit,
                                   .hold = *hold,
                                   .settles = true,
                                   .actual = *actual};

    (void)b->store.settle(b->store.arg, s, &step);
}

void wbi_budget_settle(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_hold *hold, const struct wbi_budget_amount *actual,
                       struct wbi_budget_time t)
{
    struct state *st = wbi_table_find(&b->states, key_of(b, s));
    struct wbi_budget_amount *held;

    if (st == NULL)
        return;
    held = hold->window == st->window ? &st->reserved : &st->carried;
    *held = amount_minus(*held, hold->estimate);
    apply_settle(&st->record, hold, actual, s->window_ns, t.now_ns);
    follow_window(st);
    if (b->store.settle != NULL)
        settle_in_store(b, s, hold, actual, t);
}

void wbi_budget_cancel(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_hold *hold, struct wbi_budget_time t)
{
    static const struct wbi_budget_amount nothing;

    wbi_budget_settle(b, s, hold, &nothing, t);
}

void wbi_budget_peek(struct wbi_budget *b, const struct wbi_budget_settings *s, int64_t now_ns,
                     struct wbi_budget_amount *ret_spent, struct wbi_budget_amount *ret_reserved)
{
    struct state *st = wbi_table_find(&b->states, key_of(b, s));

    *ret_spent = *ret_reserved = (struct wbi_budget_amount){0};
    if (st == NULL)
        return;
    turn_window(&st->record, s->window_ns, now_ns);
    follow_window(st);
    *ret_spent = amount_minus(st->record.spent, st->reserved);
    *ret_reserved = amount_plus(st->reserved, st->carried);
}
