/* SPDX-License-Identifier: Apache-2.0
 * guard/deadline.h: how long an attempt may run (C8.1).
 * Everything is on the monotonic clock in nanoseconds; the absolute deadline
 * of an invocation is converted once, when the call comes in, so that a wall
 * clock that steps neither fires nor extends it. */
#ifndef WBI_GUARD_DEADLINE_H
#define WBI_GUARD_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#define WBI_NO_DEADLINE INT64_MAX
#define WBI_NO_LIMIT_MS INT64_C(-1)

struct wbi_attempt_limit {
    bool expired;     /* deadline <= now: nothing may run */
    int64_t ends_ns;  /* WBI_NO_DEADLINE when nothing limits the attempt */
    int64_t limit_ms; /* rounded up; 0 when expired; WBI_NO_LIMIT_MS: none */
    bool by_deadline; /* the deadline, not timeoutMs, is the shorter one */
};

/* Whole milliseconds that cover ns; 0 for ns <= 0. */
static inline int64_t wbi_ms_up(int64_t ns)
{
    return ns <= 0 ? 0 : ns / 1000000 + (ns % 1000000 != 0);
}
/* Saturates instead of overflowing. */
int64_t wbi_ms_to_ns(int64_t ms);
int64_t wbi_time_after(int64_t now_ns, int64_t ns);

/* Wall deadline to monotonic, with one reading of both clocks. */
int64_t wbi_deadline_from_wall(int64_t deadline_wall_ms, int64_t now_wall_ms, int64_t now_ns);

/* min(deadline - now, timeout). timeout_ms WBI_NO_LIMIT_MS: no timeout. */
struct wbi_attempt_limit wbi_deadline_limit(int64_t now_ns, int64_t deadline_ns,
                                            int64_t timeout_ms);

#endif
