/* SPDX-License-Identifier: Apache-2.0
 * guard/rate.h: rate limits by the generic cell rate algorithm (C8.2).
 * One timestamp a key, integer nanoseconds, no drift. A call asks several
 * limiters (its tool's and its provider's) and gets tokens of all or of none.
 * Loop thread only. */
#ifndef WBI_GUARD_RATE_H
#define WBI_GUARD_RATE_H

#include "guard/table.h"

struct wbi_rate_limit {
    int64_t interval_ns; /* between two calls at the steady rate */
    int64_t capacity;    /* calls that may come at once, >= 1; 0: no limit set */
};

/* count calls each period_ns, `capacity` of them at once. WB_EINPUT when a
 * number is below 1 or the interval falls below 1 ns or overflows. */
WB_MUST_CHECK wb_rc wbi_rate_limit_make(int64_t count, int64_t period_ns, int64_t capacity,
                                        struct wbi_rate_limit *ret);

struct wbi_rate_answer {
    bool admitted;
    bool never;        /* asks more than the bucket can ever hold: no retry hint */
    int64_t remaining; /* tokens left after the answer */
    int64_t reset_ns;  /* until the bucket is full again */
    int64_t retry_ns;  /* exact wait; 0 when admitted or never */
};

/* One limiter's arithmetic on its timestamp; *ret_tat is the timestamp if the
 * call is admitted (unchanged otherwise). quantity 0 only looks. */
struct wbi_rate_answer wbi_rate_check(const struct wbi_rate_limit *limit, int64_t tat,
                                      int64_t quantity, int64_t now_ns, int64_t *ret_tat);

/* A clock that went back counts as one that stood still: no token is minted
 * or lost. */
struct wbi_rate {
    struct wbi_table tats;
    int64_t last_ns;
    int64_t back_ns;
};

struct wbi_rate_ask {
    struct wbi_key key;
    struct wbi_rate_limit limit;
    int64_t quantity;
};

struct wbi_rate_refusal {
    size_t which; /* the ask with the longest wait */
    bool never;
    int64_t retry_after_ms; /* rounded up: 1 ms less would be refused */
};

void wbi_rate_init(struct wbi_rate *r);
void wbi_rate_fini(struct wbi_rate *r);
/* WB_OK: all may be taken, nothing was. WB_EAGAIN: refused, *ret says why.
 * WB_ENOMEM, WB_ELIMIT. After WB_OK wbi_rate_take with the same asks and time
 * cannot fail. */
WB_MUST_CHECK wb_rc wbi_rate_admit(struct wbi_rate *r, const struct wbi_rate_ask *asks, size_t n,
                                   int64_t now_ns, struct wbi_rate_refusal *ret);
void wbi_rate_take(struct wbi_rate *r, const struct wbi_rate_ask *asks, size_t n, int64_t now_ns);
/* Give tokens back of a call that never started. Never mints: the timestamp
 * returns at most to where it would have been. */
void wbi_rate_cancel(struct wbi_rate *r, const struct wbi_rate_ask *asks, size_t n);
/* How the key stands; changes nothing. */
struct wbi_rate_answer wbi_rate_peek(struct wbi_rate *r, const struct wbi_rate_ask *ask,
                                     int64_t now_ns);

#endif
