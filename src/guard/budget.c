/* SPDX-License-Identifier: Apache-2.0
 * guard/budget.c: windows of calls, time and cost. For each budget,
 * spent + reserved <= limit right after every reservation; only a call that
 * takes more than its estimate can pass the limit, by that difference. */
#include "guard/budget.h"

#include "base/checked.h"
#include "guard/deadline.h"

struct state {
    int64_t start_ns;
    struct wbi_budget_amount spent;
    struct wbi_budget_amount reserved;
    bool loaded;
};

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;

    return wbi_add(a, b, &sum) ? sum : INT64_MAX;
}

static void amount_add(struct wbi_budget_amount *a, const struct wbi_budget_amount *b)
{
    a->calls = plus(a->calls, b->calls);
    a->time_ns = plus(a->time_ns, b->time_ns);
    a->cost = plus(a->cost, b->cost);
}

static void amount_sub(struct wbi_budget_amount *a, const struct wbi_budget_amount *b)
{
    a->calls -= b->calls;
    a->time_ns -= b->time_ns;
    a->cost -= b->cost;
}

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

static struct wbi_key key_of(const struct wbi_budget *b, struct wbi_str id)
{
    return wbi_key_of(b->seed, 'B', id, WBI_NONE, WBI_NONE);
}

static void turn_window(struct state *st, const struct wbi_budget_settings *s, int64_t now)
{
    if (now - st->start_ns < s->window_ns)
        return;
    st->start_ns = now;
    st->spent = (struct wbi_budget_amount){0};
}

static wb_rc load(struct wbi_budget *b, const struct wbi_budget_settings *s, struct state *st,
                  struct wbi_budget_time t)
{
    struct wbi_budget_record record;
    int64_t age_ms;
    wb_rc rc = WB_ENOTFOUND;

    if (b->store.load != NULL)
        rc = b->store.load(b->store.arg, s->id, &record);
    if (rc != WB_OK && rc != WB_ENOTFOUND)
        return rc;
    st->start_ns = t.now_ns;
    if (rc == WB_OK) {
        /* a record from the future (the wall clock stepped) starts now */
        age_ms = WBI_MAX(t.wall_ms - record.start_wall_ms, 0);
        st->start_ns = wbi_time_after(t.now_ns, -wbi_ms_to_ns(age_ms));
        st->spent = record.spent;
    }
    st->loaded = true;
    return WB_OK;
}

static wb_rc find_state(struct wbi_budget *b, const struct wbi_budget_settings *s,
                        struct wbi_budget_time t, struct state **ret)
{
    void *value;
    wb_rc rc = wbi_table_add(&b->states, key_of(b, s->id), &value);

    if (rc != WB_OK)
        return rc;
    *ret = value;
    if (!(*ret)->loaded) {
        rc = load(b, s, *ret, t);
        if (rc != WB_OK) {
            wbi_table_remove(&b->states, key_of(b, s->id));
            return rc;
        }
    }
    turn_window(*ret, s, t.now_ns);
    return WB_OK;
}

static bool fits(int64_t limit, int64_t spent, int64_t reserved, int64_t estimate, bool *ret_never)
{
    int64_t used = plus(spent, reserved);

    if (limit == WBI_BUDGET_UNLIMITED)
        return true;
    if (estimate > limit || limit == 0) {
        *ret_never = true;
        return false;
    }
    return estimate == 0 ? used < limit : plus(used, estimate) <= limit;
}

wb_rc wbi_budget_admit(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_amount *estimate, struct wbi_budget_time t,
                       struct wbi_budget_refusal *ret)
{
    const struct wbi_budget_amount *limit = &s->limit;
    const char *what = NULL;
    struct state *st;
    bool never = false;
    wb_rc rc = find_state(b, s, t, &st);

    if (rc != WB_OK)
        return rc;
    if (!fits(limit->calls, st->spent.calls, st->reserved.calls, estimate->calls, &never))
        what = "calls";
    else if (!fits(limit->time_ns, st->spent.time_ns, st->reserved.time_ns, estimate->time_ns,
                   &never))
        what = "time";
    else if (!fits(limit->cost, st->spent.cost, st->reserved.cost, estimate->cost, &never))
        what = "cost";
    if (what == NULL)
        return WB_OK;
    ret->what = what;
    ret->reset_after_ms = never ? -1 : wbi_ms_up(st->start_ns + s->window_ns - t.now_ns);
    return WB_EAGAIN;
}

static wb_rc save(struct wbi_budget *b, const struct wbi_budget_settings *s, const struct state *st,
                  struct wbi_budget_time t)
{
    struct wbi_budget_record record = {.spent = st->spent};

    if (b->store.save == NULL)
        return WB_OK;
    record.start_wall_ms = t.wall_ms - (t.now_ns - st->start_ns) / 1000000;
    amount_add(&record.spent, &st->reserved);
    return b->store.save(b->store.arg, s->id, &record);
}

wb_rc wbi_budget_reserve(struct wbi_budget *b, const struct wbi_budget_settings *s,
                         const struct wbi_budget_amount *estimate, struct wbi_budget_time t)
{
    struct state *st = wbi_table_find(&b->states, key_of(b, s->id));
    wb_rc rc;

    if (st == NULL)
        return WB_EMISUSE;
    amount_add(&st->reserved, estimate);
    rc = save(b, s, st, t);
    if (rc != WB_OK)
        amount_sub(&st->reserved, estimate);
    return rc;
}

void wbi_budget_settle(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_amount *estimate,
                       const struct wbi_budget_amount *actual, struct wbi_budget_time t)
{
    struct state *st = wbi_table_find(&b->states, key_of(b, s->id));

    if (st == NULL)
        return;
    turn_window(st, s, t.now_ns);
    amount_sub(&st->reserved, estimate);
    amount_add(&st->spent, actual);
    /* a failed save leaves the estimate of the reservation on record */
    (void)save(b, s, st, t);
}

void wbi_budget_refund(struct wbi_budget *b, const struct wbi_budget_settings *s,
                       const struct wbi_budget_amount *estimate, struct wbi_budget_time t)
{
    static const struct wbi_budget_amount nothing;

    wbi_budget_settle(b, s, estimate, &nothing, t);
}

void wbi_budget_peek(struct wbi_budget *b, const struct wbi_budget_settings *s, int64_t now_ns,
                     struct wbi_budget_amount *ret_spent, struct wbi_budget_amount *ret_reserved)
{
    struct state *st = wbi_table_find(&b->states, key_of(b, s->id));

    *ret_spent = *ret_reserved = (struct wbi_budget_amount){0};
    if (st == NULL)
        return;
    turn_window(st, s, now_ns);
    *ret_spent = st->spent;
    *ret_reserved = st->reserved;
}
