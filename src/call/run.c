/* SPDX-License-Identifier: Apache-2.0
 * call/run.c: drives calls through the journey. Knows the order, not the stages.
 * (1) finish() comes exactly once per started call, whatever a stage does.
 * (2) A parked stage resumes at most once per park; stale refs do nothing.
 * (3) A cancelled call ends at the latest after the grace time, even if its
 *     stage never comes back; what comes later is dropped.
 * (4) Memory of a call stays while anything holds it, also after its end.
 * (5) A refusal or a failure leads through PROJECT, RENDER, ENCODE and RECORD
 *     like a success, so every outcome has every surface. */
#include "call/run.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

#define CALLS_MAX (UINT32_C(1) << 20)

struct slot {
    struct wbi_call *call;
    uint32_t generation;
    uint32_t next_free;
};

struct wbi_calls {
    struct wbi_loop *loop;
    struct slot *slots;
    uint32_t size;
    uint32_t free; /* index + 1 of the first free slot, 0 for none */
    size_t count;
};

const char *wbi_stage_name(enum wbi_stage stage)
{
    static const char *const names[] = {
#define X(id, name, text) #name,
        WBI_STAGE_MAP(X)
#undef X
    };

    return stage < WBI_STAGE_COUNT ? names[stage] : "done";
}

wb_rc wbi_calls_new(struct wbi_loop *loop, struct wbi_calls **ret)
{
    struct wbi_calls *calls = wbi_zalloc(sizeof(*calls));

    if (calls == NULL)
        return WB_ENOMEM;
    calls->loop = loop;
    *ret = calls;
    return WB_OK;
}

void wbi_calls_free(struct wbi_calls *calls)
{
    if (calls == NULL)
        return;
    wbi_free(calls->slots);
    wbi_free(calls);
}

size_t wbi_calls_count(const struct wbi_calls *calls)
{
    return calls->count;
}

void wbi_calls_each(struct wbi_calls *calls, void (*fn)(void *, struct wbi_call *), void *arg)
{
    for (uint32_t i = 0; i < calls->size; i++)
        if (calls->slots[i].call != NULL)
            fn(arg, calls->slots[i].call);
}

static wb_rc grow_slots(struct wbi_calls *calls)
{
    uint32_t size = calls->size ? calls->size * 2 : 64;
    struct slot *slots;

    if (size > CALLS_MAX)
        return WB_ELIMIT;
    slots = wbi_realloc(calls->slots, size * sizeof(*slots));
    if (slots == NULL)
        return WB_ENOMEM;
    for (uint32_t i = size; i > calls->size; i--) {
        slots[i - 1] = (struct slot){NULL, 1, calls->free};
        calls->free = i;
    }
    calls->slots = slots;
    calls->size = size;
    return WB_OK;
}

/* id = generation in the high half, slot in the low: reuse makes a new id. */
static wb_rc enter(struct wbi_calls *calls, struct wbi_call *call)
{
    struct slot *slot;
    uint32_t index;

    if (calls->free == 0) {
        wb_rc rc = grow_slots(calls);
        if (rc != WB_OK)
            return rc;
    }
    index = calls->free - 1;
    slot = &calls->slots[index];
    calls->free = slot->next_free;
    slot->call = call;
    call->id = (uint64_t)slot->generation << 32 | index;
    call->calls = calls;
    if (calls->count++ == 0)
        wbi_loop_hold(calls->loop); /* work of other threads may be on its way */
    return WB_OK;
}

static void leave(struct wbi_call *call)
{
    struct wbi_calls *calls = call->calls;
    uint32_t index = (uint32_t)call->id;
    struct slot *slot = &calls->slots[index];

    slot->call = NULL;
    slot->generation++;
    slot->next_free = calls->free;
    calls->free = index + 1;
    if (--calls->count == 0)
        wbi_loop_unhold(calls->loop);
}

struct wbi_call *wbi_calls_get(struct wbi_calls *calls, uint64_t id)
{
    uint32_t index = (uint32_t)id;

    if (index >= calls->size || calls->slots[index].generation != (uint32_t)(id >> 32))
        return NULL;
    return calls->slots[index].call;
}

struct wbi_call *wbi_call_find(struct wbi_calls *calls, struct wbi_call_ref ref)
{
    struct wbi_call *call = wbi_calls_get(calls, ref.id);

    if (call == NULL || !call->parked || call->park != ref.park)
        return NULL;
    return call;
}

struct wbi_call_ref wbi_call_park(struct wbi_call *call)
{
    call->parked = true;
    call->resumed = false;
    call->park++;
    return (struct wbi_call_ref){call->id, call->park};
}

/* ---- failing ---- */

enum wbi_step wbi_call_fail_fault(struct wbi_call *call, const struct wbi_fault *fault)
{
    struct wbi_fault narrowed = *fault;
    struct wbi_fault plain = {.kind = WBI_KIND_INTERNAL_ERROR,
                              .message = WBI_LIT("the error itself could not be kept whole")};

    wbi_call_narrow_retry(call, &narrowed);
    if (call->outcome.state != WBI_OUTCOME_NONE)
        call->outcome = (struct wbi_outcome){.state = WBI_OUTCOME_NONE};
    if (wbi_outcome_fail(&call->outcome, call->arena, &narrowed) == WB_OK)
        return WBI_STEP_REFUSED;
    /* Out of memory: an error made of static text only. */
    plain.kind = fault->kind > WBI_KIND_NONE && fault->kind < WBI_KIND_COUNT
                     ? fault->kind
                     : WBI_KIND_INTERNAL_ERROR;
    plain.retryable = narrowed.retryable;
    call->outcome =
        (struct wbi_outcome){.state = WBI_OUTCOME_ERROR, .summary = plain.message, .fault = plain};
    return WBI_STEP_REFUSED;
}

enum wbi_step wbi_call_fail(struct wbi_call *call, enum wbi_kind kind, const char *fmt, ...)
{
    struct wbi_error err = {.kind = kind};
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(err.text, sizeof(err.text), fmt, ap); /* cut is fine */
    va_end(ap);
    return wbi_call_fail_error(call, kind, &err);
}

void wbi_fault_of_error(struct wbi_fault *fault, const struct wbi_error *err)
{
    if (err->kind != WBI_KIND_NONE)
        fault->kind = err->kind;
    else if (err->rc == WB_ENOMEM)
        fault->kind = WBI_KIND_INTERNAL_ERROR;
    if (fault->kind == WBI_KIND_STATE_UNAVAILABLE && err->rc == WB_ESTATE)
        fault->retryable = WBI_RETRYABLE_NO; /* refused until somebody has done something */
}

enum wbi_step wbi_call_fail_error(struct wbi_call *call, enum wbi_kind kind,
                                  const struct wbi_error *err)
{
    struct wbi_fault fault = {.kind = kind};

    wbi_fault_of_error(&fault, err);
    fault.message = wbi_arena_str(call->arena, wbi_str_z(err->text));
    if (fault.message.p != NULL)
        fault.message.n = wbi_utf8_cut(fault.message, fault.message.n);
    return wbi_call_fail_fault(call, &fault);
}

/* ---- driving ---- */

static void note_time(struct wbi_call *call)
{
    int64_t now = wbi_now_ns(&call->clock);

    call->stage_ns[call->stage] += now - call->stage_started_ns;
    call->stage_started_ns = now;
    if (call->stage < WBI_STAGE_PROJECT)
        call->ended_ns = now;
    call->took_time = false;
}

static void finish(struct wbi_call *call)
{
    wbi_alarm_stop(wbi_loop_alarms(call->calls->loop), &call->alarm);
    leave(call);
    call->journey->finish(call);
    wbi_call_release(call);
}

void wbi_call_hold(struct wbi_call *call)
{
    call->holds++;
}

void wbi_call_release(struct wbi_call *call)
{
    if (--call->holds == 0)
        call->journey->release(call);
}

static void settle(struct wbi_call *call)
{
    if (call->settled)
        return;
    call->settled = true;
    if (call->journey->settle != NULL)
        call->journey->settle(call);
}

/* A stage after EXECUTE failed: the outcome it was working on cannot be shown.
 * Static text needs no memory, so the second try cannot fail the same way. */
static void refuse_late(struct wbi_call *call)
{
    struct wbi_str receipt = call->outcome.receipt; /* of a render that failed */

    if (call->outcome.state == WBI_OUTCOME_ERROR)
        return;
    (void)wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "stage %s failed",
                        wbi_stage_name(call->stage));
    call->outcome.receipt = receipt;
}

static bool is_cancelled(const struct wbi_call *call)
{
    return call->cancel != WBI_CANCEL_NONE && call->stage < WBI_STAGE_EXECUTE;
}

static void fail_cancelled(struct wbi_call *call)
{
    bool late = call->cancel == WBI_CANCEL_DEADLINE;

    (void)wbi_call_fail(call, late ? WBI_KIND_TIMED_OUT : WBI_KIND_CANCELLED, "the call %s%s",
                        late ? "ran out of time" : "was cancelled",
                        call->stage < WBI_STAGE_EXECUTE
                            ? " before it could start; nothing was executed"
                            : "; its tool did not end when it was told to and may still run");
}

static enum wbi_step run_stage(struct wbi_call *call)
{
    const struct wbi_stage_ops *ops = &call->journey->stages[call->stage];
    enum wbi_step step = WBI_STEP_NEXT;

    do {
        if (is_cancelled(call)) {
            fail_cancelled(call);
            return WBI_STEP_REFUSED;
        }
        if (ops->run == NULL)
            return WBI_STEP_NEXT;
        call->resumed = false;
        step = ops->run(call);
    } while (step == WBI_STEP_PARKED && call->resumed); /* came back at once */
    if (step != WBI_STEP_PARKED)
        call->parked = false;
    return step;
}

/* The next stage after step; the end is WBI_STAGE_COUNT. */
static enum wbi_stage next_stage(struct wbi_call *call, enum wbi_step step)
{
    if (step == WBI_STEP_NEXT)
        return call->stage + 1;
    if (call->stage < WBI_STAGE_PROJECT)
        return WBI_STAGE_PROJECT;
    refuse_late(call);
    return call->stage + 1;
}

static void drive(struct wbi_call *call)
{
    call->driving = true;
    while (call->stage < WBI_STAGE_COUNT) {
        enum wbi_step step = run_stage(call);

        if (step == WBI_STEP_PARKED) {
            call->driving = false;
            call->took_time = true;
            return;
        }
        if (call->took_time || step != WBI_STEP_NEXT || call->journey->stages[call->stage].timed)
            note_time(call);
        call->step_state = NULL; /* a stage's own: it ends with it */
        call->stage = next_stage(call, step);
        if (call->stage == WBI_STAGE_RECORD)
            settle(call);
    }
    call->driving = false;
    finish(call);
}

bool wbi_call_resume(struct wbi_calls *calls, struct wbi_call_ref ref)
{
    struct wbi_call *call = wbi_call_find(calls, ref);

    if (call == NULL)
        return false;
    call->parked = false;
    if (call->driving) { /* its stage is still on the stack: drive() goes on */
        call->resumed = true;
        return true;
    }
    drive(call);
    return true;
}

/* ---- time and cancelling ---- */

/* The stage did not come back: end the call without it. */
static void overrule(struct wbi_call *call)
{
    note_time(call);
    call->overruled = true;
    call->step_state = NULL;
    call->parked = false;
    call->park++; /* late resumes find another park */
    fail_cancelled(call);
    call->stage = call->stage < WBI_STAGE_PROJECT ? WBI_STAGE_PROJECT : call->stage + 1;
    drive(call);
}

void wbi_call_grace_over(struct wbi_call *call)
{
    if (call->parked && call->stage <= WBI_STAGE_EXECUTE)
        overrule(call);
}

static void on_due(void *arg)
{
    struct wbi_call *call = arg;

    if (call->cancel == WBI_CANCEL_NONE)
        wbi_call_cancel(call->calls, call->id, WBI_CANCEL_DEADLINE);
    else
        wbi_call_grace_over(call);
}

void wbi_call_limit(struct wbi_call *call, int64_t limit_ns)
{
    if (limit_ns >= call->limit_ns)
        return;
    call->limit_ns = limit_ns;
    wbi_alarm_at(wbi_loop_alarms(call->calls->loop), &call->alarm, &call->clock, limit_ns);
}

void wbi_call_relimit(struct wbi_call *call, int64_t limit_ns)
{
    if (call->cancel != WBI_CANCEL_NONE && call->cancel != WBI_CANCEL_DEADLINE)
        return;
    call->cancel = WBI_CANCEL_NONE;
    call->late = false;
    call->limit_ns = INT64_MAX;
    wbi_alarm_stop(wbi_loop_alarms(call->calls->loop), &call->alarm);
    wbi_call_limit(call, limit_ns);
}

void wbi_call_cancel(struct wbi_calls *calls, uint64_t id, enum wbi_cancel_reason reason)
{
    struct wbi_call *call = wbi_calls_get(calls, id);

    if (call == NULL || call->stage > WBI_STAGE_EXECUTE)
        return; /* gone, or its outcome is decided: that one is kept */
    if (call->cancel == WBI_CANCEL_NONE) {
        call->cancel = reason;
        call->late = reason == WBI_CANCEL_DEADLINE;
        wbi_alarm_start(wbi_loop_alarms(calls->loop), &call->alarm, WBI_CANCEL_GRACE_MS);
    } else if (call->cancel == WBI_CANCEL_DEADLINE) {
        call->cancel = reason; /* there may have been another attempt: not any more */
    }
    if (call->parked && call->journey->stages[call->stage].cancel != NULL)
        call->journey->stages[call->stage].cancel(call);
}

/* ---- starting ---- */

/* Nothing ends it before: it is not parked, so one that is cancelled meanwhile ends here. */
static void begin(void *arg)
{
    drive(arg);
}

static void begin_later(struct wbi_call *call)
{
    call->begin = (struct wbi_post){NULL, begin, call};
    wbi_loop_post(call->calls->loop, &call->begin);
}

wb_rc wbi_call_start(struct wbi_calls *calls, struct wbi_call *call,
                     const struct wbi_journey *journey)
{
    wb_rc rc = enter(calls, call);

    if (rc != WB_OK)
        return rc;
    call->journey = journey;
    call->holds = 1;
    call->stage = WBI_STAGE_DECODE;
    call->limit_ns = INT64_MAX;
    call->alarm.on_due = on_due;
    call->alarm.arg = call;
    call->started_ns = wbi_now_ns(&call->clock);
    if (call->started_wall_ms == 0)
        call->started_wall_ms = wbi_wall_ms(&call->clock);
    call->stage_started_ns = call->started_ns;
    if (call->starts_later)
        begin_later(call);
    else
        drive(call);
    return WB_OK;
}
