/* SPDX-License-Identifier: Apache-2.0
 * guard/deadline.c: arithmetic of limits; holds no state. */
#include "guard/deadline.h"

#include "base/checked.h"
#include "base/clock.h"

int64_t wbi_ms_to_ns(int64_t ms)
{
    int64_t ns;

    if (wbi_mul(ms, WBI_NS_PER_MS, &ns))
        return ns;
    return ms < 0 ? INT64_MIN : INT64_MAX;
}

int64_t wbi_time_after(int64_t now_ns, int64_t ns)
{
    int64_t at;

    if (wbi_add(now_ns, ns, &at))
        return at;
    return ns < 0 ? INT64_MIN : INT64_MAX;
}

int64_t wbi_deadline_from_wall(int64_t deadline_wall_ms, int64_t now_wall_ms, int64_t now_ns)
{
    int64_t left, at;

    if (!wbi_sub(deadline_wall_ms, now_wall_ms, &left))
        left = deadline_wall_ms < now_wall_ms ? INT64_MIN : INT64_MAX;
    at = wbi_time_after(now_ns, wbi_ms_to_ns(left));
    return at == WBI_NO_DEADLINE ? WBI_NO_DEADLINE - 1 : at; /* however far, it is one */
}

struct wbi_attempt_limit wbi_deadline_limit(int64_t now_ns, int64_t deadline_ns, int64_t timeout_ms)
{
    struct wbi_attempt_limit limit = {.ends_ns = deadline_ns, .by_deadline = true};
    int64_t by_timeout = WBI_NO_DEADLINE;

    if (timeout_ms != WBI_NO_LIMIT_MS)
        by_timeout = wbi_time_after(now_ns, wbi_ms_to_ns(timeout_ms));
    if (by_timeout < deadline_ns) {
        limit.ends_ns = by_timeout;
        limit.by_deadline = false;
    }
    if (limit.ends_ns == WBI_NO_DEADLINE) {
        limit.by_deadline = false;
        limit.limit_ms = WBI_NO_LIMIT_MS;
        return limit;
    }
    limit.expired = limit.ends_ns <= now_ns;
    limit.limit_ms = limit.expired ? 0 : wbi_ms_up(limit.ends_ns - now_ns);
    return limit;
}
