/* SPDX-License-Identifier: Apache-2.0
 * call/attempts.c: retries. Between two attempts the call waits on a timer (the
 * delay, or the hint of a guard that refused) or in a queue of the guards. */
#include "call/attempts.h"

#include "base/checked.h"
#include "call/frames.h"

bool wbi_attempt_between(const struct wbi_call *call)
{
    return call->ticket != NULL && call->ticket->between != WBI_BETWEEN_NONE;
}

void wbi_attempt_causes(const struct wbi_call *call, struct wbi_fault *fault)
{
    const struct wbi_admission *a = call->ticket;

    for (size_t i = 0; a != NULL && i < a->failed_n; i++)
        wbi_fault_cause(fault, a->failed[i].kind, wbi_fault_code(&a->failed[i]),
                        a->failed[i].message);
}

/* Without memory for it the call goes on and tells of fewer causes. */
static void remember(struct wbi_call *call, struct wbi_admission *a, const struct wbi_fault *fault)
{
    if (a->failed == NULL)
        a->failed = wbi_arena_array(call->arena, WBI_LIMIT_CAUSED_BY_COUNT, sizeof(*a->failed));
    if (a->failed == NULL)
        return;
    a->failed_n = WBI_MIN(a->failed_n + 1, (size_t)WBI_LIMIT_CAUSED_BY_COUNT);
    memmove(&a->failed[1], &a->failed[0], (a->failed_n - 1) * sizeof(a->failed[0]));
    a->failed[0] = *fault;
}

static void on_timer(void *arg)
{
    struct wbi_call *call = arg;

    (void)wbi_call_resume(call->calls, call->ticket->ref); /* parked, or cancelled before */
}

/* Park until the delay is over; false without memory for a timer. */
static bool wait_for(struct wbi_call *call, int64_t delay_ns)
{
    struct wbi_admission *a = call->ticket;

    if (a->timer == NULL && wbi_timer_new(call->runtime->loop, on_timer, call, &a->timer) != WB_OK)
        return false;
    a->between = WBI_BETWEEN_TIMER;
    a->ref = wbi_call_park(call);
    wbi_call_relimit(call, a->request.deadline_ns);
    wbi_timer_start(a->timer, wbi_ms_up(delay_ns));
    return true;
}

/* What a provider said about trying again. */
static int64_t hint_of(struct wbi_call *call, const struct wbi_fault *fault)
{
    const wbi_json *details, *hint;
    int64_t ms;

    if (fault->details.p == NULL ||
        wbi_json_read(call->arena, fault->details, WBI_JSON_STRICT, &details, NULL) != WB_OK)
        return WBI_HINT_NONE;
    hint = wbi_json_get(details, "retryAfterMs");
    if (hint == NULL)
        return WBI_HINT_NONE;
    return wbi_json_i64(hint, &ms) && ms >= 0 ? ms : WBI_HINT_STOP;
}

static bool may_retry(const struct wbi_call *call, const struct wbi_fault *fault)
{
    const struct wbi_admission *a = call->ticket;

    return a != NULL && a->held && a->values.retry.set &&
           wbi_retry_may(a->request.effect, a->request.idempotency_key) &&
           wbi_fault_retryable(fault) && !wbi_frames_committed(call) &&
           (call->cancel == WBI_CANCEL_NONE || call->cancel == WBI_CANCEL_DEADLINE);
}

bool wbi_attempt_again(struct wbi_call *call, const struct wbi_fault *fault)
{
    struct wbi_admission *a = call->ticket;
    int64_t now = wbi_now_ns(&call->clock), delay;
    struct wbi_guard_outcome failed = {.retryable = true};
    bool timed_out = fault->kind == WBI_KIND_TIMED_OUT;

    if (!may_retry(call, fault))
        return false;
    failed.class = wbi_guard_class_of(fault);
    failed.refused = wbi_fault_refuses(fault);
    failed.duration_ns = now - a->attempt_ns;
    failed.cost = wbi_attempt_cost(call);
    if (wbi_guard_retry(&a->ticket, &failed, timed_out ? WBI_RETRY_TIMEOUT : WBI_RETRY_TRANSIENT,
                        hint_of(call, fault), now, &delay) != WBI_RETRY_GO)
        return false;
    if (!wait_for(call, delay))
        return false;
    remember(call, a, fault);
    return true;
}

void wbi_attempt_begin(struct wbi_call *call)
{
    struct wbi_admission *a = call->ticket;
    struct wbi_attempt_limit limit;

    if (a == NULL)
        return;
    if (a->between == WBI_BETWEEN_NONE) { /* the first one: ADMIT has set its limit */
        a->attempt_ns = call->stage_started_ns;
        return;
    }
    a->attempt_ns = wbi_now_ns(&call->clock);
    a->between = WBI_BETWEEN_NONE;
    limit = wbi_deadline_limit(a->attempt_ns, a->request.deadline_ns, a->values.timeout_ms);
    wbi_call_relimit(call, limit.ends_ns);
}

static enum wbi_step give_up(struct wbi_call *call, struct wbi_fault *fault)
{
    struct wbi_admission *a = call->ticket;

    a->between = WBI_BETWEEN_NONE;
    a->refused_again = true;
    wbi_attempt_causes(call, fault);
    return wbi_call_fail_fault(call, fault);
}

static enum wbi_step give_up_cancelled(struct wbi_call *call)
{
    struct wbi_admission *a = call->ticket;
    bool late = call->cancel == WBI_CANCEL_DEADLINE;
    struct wbi_fault fault = {.kind = late ? WBI_KIND_TIMED_OUT : WBI_KIND_CANCELLED};

    if (a->waiting)
        wbi_guard_cancel(&a->ticket, wbi_now_ns(&call->clock));
    a->waiting = false;
    if (a->timer != NULL)
        wbi_timer_stop(a->timer);
    fault.message = wbi_arena_fmt(call->arena, "the call %s while it waited for its next attempt",
                                  late ? "ran out of time" : "was cancelled");
    return give_up(call, &fault);
}

/* A guard that says when to come back is waited for, if there is time (S1:
 * "respect backoff hints and policy"). */
static bool worth_waiting(const struct wbi_admission *a, int64_t now, int64_t wait_ms)
{
    int64_t wait_ns = wbi_ms_to_ns(wait_ms);

    if (wait_ms < 0 ||
        (a->request.deadline_ns == WBI_NO_DEADLINE && wait_ns > a->values.retry.cap_ns))
        return false;
    return wbi_retry_in_time(&a->values.retry, &a->ticket.retry, now, a->request.deadline_ns,
                             wait_ns);
}

static enum wbi_step refused(struct wbi_call *call)
{
    struct wbi_admission *a = call->ticket;
    struct wbi_guard_refusal *r = &a->answer.refusal;
    struct wbi_fault fault;

    if (worth_waiting(a, wbi_now_ns(&call->clock), r->retry_after_ms) &&
        wait_for(call, wbi_ms_to_ns(WBI_MAX(r->retry_after_ms, INT64_C(1)))))
        return WBI_STEP_PARKED;
    fault = wbi_refusal_fault(call, r);
    return give_up(call, &fault);
}

enum wbi_step wbi_attempt_next(struct wbi_call *call)
{
    struct wbi_admission *a = call->ticket;

    if (call->cancel != WBI_CANCEL_NONE)
        return give_up_cancelled(call);
    if (a->between == WBI_BETWEEN_TIMER)
        wbi_guard_again(&a->ticket, wbi_now_ns(&call->clock), &a->answer);
    wbi_admission_look(call, a);
    switch (a->answer.verdict) {
    case WBI_GUARD_ADMITTED:
        return WBI_STEP_NEXT;
    case WBI_GUARD_QUEUED:
    case WBI_GUARD_WAIT:
        a->between = WBI_BETWEEN_QUEUE;
        a->waiting = true;
        a->ref = wbi_call_park(call);
        wbi_guards_arm(call->runtime);
        return WBI_STEP_PARKED;
    case WBI_GUARD_REPLAY: /* the key is this call's own */
    case WBI_GUARD_CACHED:
    case WBI_GUARD_REFUSED:
        break;
    }
    return refused(call);
}

void wbi_attempt_cancel(struct wbi_call *call)
{
    (void)wbi_call_resume(call->calls, call->ticket->ref); /* parked, so it goes on */
}
