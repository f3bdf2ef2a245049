/* SPDX-License-Identifier: Apache-2.0
 * call/stage_admit.c: ADMIT, the time a call may take (C8.1): the earlier of its
 * deadline and its tool's timeout. A deadline that has passed runs nothing. */
#include "base/checked.h"
#include "call/runtime.h"
#include "call/stages_int.h"

static int64_t in_ms(int64_t now_ns, int64_t ms)
{
    int64_t ns, at;

    if (!wbi_mul(ms, WBI_NS_PER_MS, &ns) || !wbi_add(now_ns, ns, &at))
        return INT64_MAX;
    return at;
}

enum wbi_step wbi_stage_admit(struct wbi_call *call)
{
    int64_t now_ns = wbi_now_ns(&call->clock), wall_ms = wbi_wall_ms(&call->clock);
    int64_t limit_ns = INT64_MAX;

    if (call->inv.deadline_ms <= wall_ms)
        return wbi_call_fail(call, WBI_KIND_TIMED_OUT,
                             "the deadline passed before the call was started; nothing was run");
    if (call->inv.deadline_ms != INT64_MAX)
        limit_ns = in_ms(now_ns, call->inv.deadline_ms - wall_ms);
    if (call->tool->timeout_ms > 0)
        limit_ns = WBI_MIN(limit_ns, in_ms(now_ns, call->tool->timeout_ms));
    wbi_call_limit(call, limit_ns);
    return WBI_STEP_NEXT;
}
