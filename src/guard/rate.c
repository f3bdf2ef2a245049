/* SPDX-License-Identifier: Apache-2.0
 * guard/rate.c: GCRA. A key's timestamp (theoretical arrival time) says when
 * its bucket is full again; one in the past means the same as no key at all,
 * which is why full buckets may be swept away. */
#include "guard/rate.h"

#include "base/checked.h"
#include "guard/deadline.h"

wb_rc wbi_rate_limit_make(int64_t count, int64_t period_ns, int64_t capacity,
                          struct wbi_rate_limit *ret)
{
    int64_t interval, whole;

    if (count < 1 || period_ns < 1 || capacity < 1)
        return WB_EINPUT;
    interval = period_ns / count;
    if (interval < 1 || !wbi_mul(interval, capacity, &whole) || whole > INT64_MAX / 4)
        return WB_EINPUT;
    *ret = (struct wbi_rate_limit){.interval_ns = interval, .capacity = capacity};
    return WB_OK;
}

struct wbi_rate_answer wbi_rate_check(const struct wbi_rate_limit *limit, int64_t tat,
                                      int64_t quantity, int64_t now_ns, int64_t *ret_tat)
{
    int64_t tolerance = limit->interval_ns * limit->capacity;
    int64_t start = WBI_MAX(tat, now_ns), next, allowed_at;
    struct wbi_rate_answer a = {.admitted = true};

    *ret_tat = tat;
    if (quantity > limit->capacity) {
        a.admitted = false;
        a.never = true;
        next = start;
    } else {
        next = start + quantity * limit->interval_ns;
        allowed_at = next - tolerance;
        if (now_ns < allowed_at) {
            a.admitted = false;
            a.retry_ns = allowed_at - now_ns;
            next = start;
        } else if (quantity > 0) {
            *ret_tat = next;
        }
    }
    a.remaining = (tolerance - (next - now_ns)) / limit->interval_ns;
    a.reset_ns = next - now_ns;
    return a;
}

void wbi_rate_init(struct wbi_rate *r)
{
    *r = (struct wbi_rate){.last_ns = INT64_MIN};
    wbi_table_init(&r->tats, sizeof(int64_t));
}

void wbi_rate_fini(struct wbi_rate *r)
{
    wbi_table_fini(&r->tats);
}

static int64_t steady(struct wbi_rate *r, int64_t now_ns)
{
    if (now_ns < r->last_ns)
        r->back_ns += r->last_ns - now_ns;
    r->last_ns = now_ns;
    return now_ns + r->back_ns;
}

static bool is_full_again(const void *value, int64_t now)
{
    return *(const int64_t *)value <= now;
}

static int64_t tat_of(const struct wbi_rate *r, struct wbi_key key)
{
    const int64_t *tat = wbi_table_find(&r->tats, key);

    return tat ? *tat : 0;
}

/* Sweep when full; grow as well unless that freed an eighth, so that the cost
 * of sweeping stays constant per new key. */
static void sweep(struct wbi_rate *r, int64_t now)
{
    if (!wbi_table_full(&r->tats))
        return;
    wbi_table_sweep(&r->tats, is_full_again, now);
    if (r->tats.used > r->tats.cap / 4 * 3 && wbi_table_grow(&r->tats) != WB_OK)
        return; /* the add that follows reports it */
}

static wb_rc make_room(struct wbi_rate *r, const struct wbi_rate_ask *asks, size_t n, int64_t now)
{
    void *unused;
    wb_rc rc;

    for (size_t i = 0; i < n; i++) {
        if (wbi_table_find(&r->tats, asks[i].key) != NULL)
            continue;
        if (i == 0)
            sweep(r, now);
        rc = wbi_table_add(&r->tats, asks[i].key, &unused);
        if (rc != WB_OK)
            return rc;
    }
    return WB_OK;
}

wb_rc wbi_rate_admit(struct wbi_rate *r, const struct wbi_rate_ask *asks, size_t n, int64_t now_ns,
                     struct wbi_rate_refusal *ret)
{
    int64_t now = steady(r, now_ns), longest = 0, unused;
    bool refused = false;

    for (size_t i = 0; i < n; i++) {
        struct wbi_rate_answer a =
            wbi_rate_check(&asks[i].limit, tat_of(r, asks[i].key), asks[i].quantity, now, &unused);
        if (a.admitted)
            continue;
        if (!refused || (!ret->never && (a.never || a.retry_ns > longest))) {
            *ret = (struct wbi_rate_refusal){i, a.never, wbi_ms_up(a.retry_ns)};
            longest = a.retry_ns;
        }
        refused = true;
    }
    if (refused)
        return WB_EAGAIN;
    return make_room(r, asks, n, now);
}

void wbi_rate_take(struct wbi_rate *r, const struct wbi_rate_ask *asks, size_t n, int64_t now_ns)
{
    int64_t now = steady(r, now_ns);

    for (size_t i = 0; i < n; i++) {
        int64_t *tat = wbi_table_find(&r->tats, asks[i].key);
        if (tat != NULL)
            (void)wbi_rate_check(&asks[i].limit, *tat, asks[i].quantity, now, tat);
    }
}

void wbi_rate_cancel(struct wbi_rate *r, const struct wbi_rate_ask *asks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t *tat = wbi_table_find(&r->tats, asks[i].key);
        if (tat != NULL)
            *tat -= asks[i].quantity * asks[i].limit.interval_ns;
    }
}

struct wbi_rate_answer wbi_rate_peek(struct wbi_rate *r, const struct wbi_rate_ask *ask,
                                     int64_t now_ns)
{
    int64_t unused;

    return wbi_rate_check(&ask->limit, tat_of(r, ask->key), 0, steady(r, now_ns), &unused);
}
