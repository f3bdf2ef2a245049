/* SPDX-License-Identifier: Apache-2.0
 * base/clock.h: time as something given, so that tests can drive it.
 * Durations and deadlines use the monotonic clock in nanoseconds; the wall
 * clock (milliseconds since 1970, UTC) only dates records. */
#ifndef WBI_BASE_CLOCK_H
#define WBI_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define WBI_NS_PER_MS INT64_C(1000000)
#define WBI_NS_PER_S INT64_C(1000000000)

struct wbi_clock {
    int64_t (*mono_ns)(void *arg);
    int64_t (*wall_ms)(void *arg);
    void *arg;
};

struct wbi_clock wbi_clock_system(void);

/* A clock that stands still until told otherwise. */
struct wbi_clock_manual {
    int64_t mono_ns;
    int64_t wall_ms;
};
struct wbi_clock wbi_clock_by_hand(struct wbi_clock_manual *m);

static inline int64_t wbi_now_ns(const struct wbi_clock *c)
{
    return c->mono_ns(c->arg);
}
static inline int64_t wbi_wall_ms(const struct wbi_clock *c)
{
    return c->wall_ms(c->arg);
}

/* "2026-11-15T06:18:00.000Z", always 24 bytes and a NUL. Years 0000 to 9999,
 * others are clamped. */
#define WBI_RFC3339_SIZE 25
void wbi_time_format(int64_t wall_ms, char out[WBI_RFC3339_SIZE]);
/* RFC 3339 date-time with any offset; fractions below 1 ms are cut. */
bool wbi_time_parse(struct wbi_str s, int64_t *ret_wall_ms);

#endif
