/* SPDX-License-Identifier: Apache-2.0
 * guard/retry.c: back-off arithmetic and the quota of each provider. The table
 * holds tokens spent, so that an unknown provider has a full quota; spent is
 * never negative: a quota never rises above its maximum. */
#include "guard/retry.h"

#include "base/checked.h"
#include "base/clock.h"
#include "guard/deadline.h"

struct wbi_retry_settings wbi_retry_defaults(void)
{
    return (struct wbi_retry_settings){.set = true,
                                       .max_attempts = 1,
                                       .base_ns = 200 * WBI_NS_PER_MS,
                                       .cap_ns = 20 * WBI_NS_PER_S,
                                       .multiplier_percent = 200,
                                       .jitter = WBI_JITTER_SPREAD,
                                       .jitter_percent = 20,
                                       .quota = WBI_RETRY_QUOTA};
}

void wbi_retry_init(struct wbi_retry *r, const struct wbi_ids *random)
{
    wbi_table_init(&r->quotas, sizeof(int64_t));
    r->random = *random;
}

void wbi_retry_fini(struct wbi_retry *r)
{
    wbi_table_fini(&r->quotas);
}

bool wbi_retry_may(enum wbi_guard_effect effect, struct wbi_str idempotency_key)
{
    return effect == WBI_GUARD_IDEMPOTENT_WRITE && wbi_str_trim(idempotency_key).n > 0;
}

int64_t wbi_retry_nominal(const struct wbi_retry_settings *s, int32_t step)
{
    int64_t delay = WBI_MIN(s->base_ns, s->cap_ns);

    if (step < 0)
        return 0;
    for (int32_t i = 0; i < step && delay < s->cap_ns; i++) {
        int64_t grown;
        if (!wbi_mul(delay, (int64_t)s->multiplier_percent, &grown))
            return s->cap_ns;
        grown /= 100;
        if (grown <= delay) /* a multiplier of 100 % never grows */
            return delay;
        delay = WBI_MIN(grown, s->cap_ns);
    }
    return delay;
}

/* Uniform in 0..span inclusive. */
static int64_t random_up_to(const struct wbi_retry *r, int64_t span)
{
    uint64_t bits;
    uint8_t bytes[8];

    r->random.fill(r->random.arg, bytes, sizeof(bytes));
    memcpy(&bits, bytes, sizeof(bits));
    __extension__ unsigned __int128 scaled = (unsigned __int128)bits * ((uint64_t)span + 1);
    return (int64_t)(scaled >> 64);
}

static int64_t with_jitter(const struct wbi_retry *r, const struct wbi_retry_settings *s,
                           int64_t nominal)
{
    int64_t spread;

    if (s->jitter == WBI_JITTER_NONE || nominal == 0)
        return nominal;
    if (s->jitter == WBI_JITTER_FULL)
        return random_up_to(r, nominal);
    spread = nominal / 100 * s->jitter_percent;
    return WBI_MIN(nominal - spread + random_up_to(r, 2 * spread), s->cap_ns);
}

static bool take_quota(struct wbi_retry *r, const struct wbi_retry_settings *s,
                       struct wbi_key provider, int64_t cost)
{
    void *value;
    int64_t *spent;

    if (wbi_table_add(&r->quotas, provider, &value) != WB_OK)
        return false;
    spent = value;
    if (*spent + cost > s->quota)
        return false;
    *spent += cost;
    return true;
}

bool wbi_retry_in_time(const struct wbi_retry_settings *s, const struct wbi_retry_state *st,
                       int64_t now_ns, int64_t deadline_ns, int64_t delay_ns)
{
    int64_t at = wbi_time_after(now_ns, delay_ns);

    return at < deadline_ns && (s->total_ns <= 0 || at - st->first_ns <= s->total_ns);
}

enum wbi_retry_verdict wbi_retry_admit(struct wbi_retry *r, const struct wbi_retry_settings *s,
                                       struct wbi_retry_state *st, struct wbi_key provider,
                                       enum wbi_retry_failure failure, int64_t hint_ms,
                                       int64_t now_ns, int64_t deadline_ns, int64_t *ret_delay_ns)
{
    int64_t cost = failure == WBI_RETRY_TIMEOUT ? WBI_RETRY_COST_TIMEOUT : WBI_RETRY_COST;
    bool hinted = hint_ms >= 0;
    int64_t delay;

    if (failure == WBI_RETRY_FINAL)
        return WBI_RETRY_STOP_FINAL;
    if (hint_ms == WBI_HINT_STOP)
        return WBI_RETRY_STOP_HINT;
    if (st->attempts >= s->max_attempts)
        return WBI_RETRY_STOP_ATTEMPTS;
    delay = hinted ? wbi_ms_to_ns(hint_ms) : with_jitter(r, s, wbi_retry_nominal(s, st->step));
    if (!wbi_retry_in_time(s, st, now_ns, deadline_ns, delay))
        return WBI_RETRY_STOP_DEADLINE;
    if (!take_quota(r, s, provider, cost))
        return WBI_RETRY_STOP_QUOTA;
    st->step = hinted ? 0 : st->step + 1;
    st->attempts++;
    st->last_cost = cost;
    *ret_delay_ns = delay;
    return WBI_RETRY_GO;
}

void wbi_retry_settle(struct wbi_retry *r, struct wbi_retry_state *st, struct wbi_key provider)
{
    int64_t *spent = wbi_table_find(&r->quotas, provider);

    if (spent != NULL)
        *spent = WBI_MAX(*spent - (st->last_cost > 0 ? st->last_cost : 1), 0);
    st->last_cost = 0;
}

int64_t wbi_retry_quota(const struct wbi_retry *r, const struct wbi_retry_settings *s,
                        struct wbi_key provider)
{
    const int64_t *spent = wbi_table_find(&r->quotas, provider);

    return s->quota - (spent ? *spent : 0);
}
