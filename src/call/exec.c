/* SPDX-License-Identifier: Apache-2.0
 * call/exec.c: the EXECUTE stage: start the tool, take what it produced. */
#include "call/exec.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "call/attempts.h"
#include "call/frames.h"
#include "call/partial.h"
#include "call/runtime.h"
#include "call/stages_int.h"
#include "text/hygiene.h"

void wbi_exec_done(struct wbi_exec *x, const struct wbi_complete *complete)
{
    struct wbi_call *call = x->call;
    struct wbi_complete *copy;

    if (x->done)
        return;
    x->done = true;
    if (call->overruled) {
        if (call->journey->late != NULL)
            call->journey->late(call, complete);
    } else {
        copy = wbi_arena_alloc(x->arena, sizeof(*copy));
        if (copy != NULL)
            *copy = *complete;
        call->complete = copy;
        (void)wbi_call_resume(call->calls, x->ref); /* stale refs are late results: dropped */
    }
    call->runtime->running--;
    wbi_loop_unhold(call->runtime->loop);
    wbi_call_release(call);
}

void wbi_exec_fail_fault(struct wbi_exec *x, const struct wbi_fault *fault)
{
    struct wbi_fault *copy = wbi_arena_alloc(x->arena, sizeof(*copy));
    struct wbi_complete complete = {
        .ok = false, .fault = copy, .artifacts = x->artifacts, .audit = x->audit};

    if (copy != NULL)
        *copy = *fault;
    wbi_exec_done(x, &complete);
}

void wbi_exec_fail(struct wbi_exec *x, enum wbi_kind kind, const char *fmt, ...)
{
    struct wbi_fault fault = {.kind = kind};
    char text[1024];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n > 0) {
        fault.message = wbi_str_make(text, WBI_MIN((size_t)n, sizeof(text) - 1));
        fault.message.n = wbi_utf8_cut(fault.message, fault.message.n);
        fault.message = wbi_arena_str(x->arena, fault.message);
    }
    wbi_exec_fail_fault(x, &fault);
}

void *wbi_exec_alloc(struct wbi_exec *x, size_t n)
{
    void *p = wbi_arena_zalloc(x->arena, n);

    if (p == NULL)
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
    return p;
}

void wbi_exec_stopped(struct wbi_exec *x, struct wbi_str partial)
{
    bool late = x->cancel == WBI_CANCEL_DEADLINE;
    struct wbi_fault fault = {.kind = late ? WBI_KIND_TIMED_OUT : WBI_KIND_CANCELLED};
    int64_t ms = (wbi_now_ns(&x->call->clock) - x->call->started_ns) / WBI_NS_PER_MS;

    fault.message = wbi_arena_fmt(x->arena, "%.*s %s after %lld ms", WBI_FMT(x->tool->model_name),
                                  late ? "ran out of time" : "was cancelled", (long long)ms);
    if (partial.p != NULL)
        fault.details = wbi_arena_fmt(x->arena, "{\"partial\":%.*s}", WBI_FMT(partial));
    wbi_exec_fail_fault(x, &fault);
}

int64_t wbi_exec_left_ms(const struct wbi_exec *x)
{
    if (x->limit_ns == INT64_MAX)
        return -1;
    return WBI_MAX((x->limit_ns - wbi_now_ns(&x->call->clock)) / WBI_NS_PER_MS, 0);
}

void wbi_exec_partial(struct wbi_exec *x, struct wbi_str data)
{
    struct wbi_call *call = x->call;

    if (!x->done && !call->overruled)
        wbi_frames_partial(call, data);
}

void wbi_exec_output(struct wbi_exec *x, const char *stream, struct wbi_str bytes)
{
    struct wbi_buf clean, data;
    struct wbi_jw w = wbi_jw_to(&data);

    if (x->done || x->call->overruled || x->call->on_frame == NULL)
        return;
    wbi_buf_init(&clean, WBI_LIMIT_CALL_ARENA);
    wbi_buf_init(&data, WBI_LIMIT_CALL_ARENA);
    if (wbi_hygiene_clean(bytes, &clean, NULL) == WB_OK) {
        wbi_jw_obj(&w);
        wbi_jw_kstrz(&w, "stream", stream);
        wbi_jw_kstr(&w, "text", wbi_buf_str(&clean));
        wbi_jw_obj_end(&w);
        if (wbi_buf_rc(&data) == WB_OK)
            wbi_exec_partial(x, wbi_buf_str(&data));
    }
    wbi_buf_fini(&clean);
    wbi_buf_fini(&data);
}

void wbi_call_narrow_retry(const struct wbi_call *call, struct wbi_fault *fault)
{
    bool keyed;

    if (call->facts.attempts == 0)
        return;
    keyed =
        call->tool->effect == WBI_EFFECT_IDEMPOTENT_WRITE && call->inv.idempotency_key.p != NULL;
    if (call->tool->effect != WBI_EFFECT_PURE && !keyed && fault->retryable != WBI_RETRYABLE_YES)
        fault->retryable = WBI_RETRYABLE_NO;
    if (fault->kind == WBI_KIND_STATE_UNAVAILABLE && call->runtime->state_refused)
        fault->retryable = WBI_RETRYABLE_NO;
}

/* The complete output against outputSchema, before projection (C4.2). */
enum wbi_step wbi_check_output(struct wbi_call *call)
{
    struct wbi_complete *full = call->complete;
    wb_rc rc = WB_OK;
    WBI_ERROR_HERE(err);

    if (call->tool->output_compiled == NULL || full->output.p == NULL)
        return WBI_STEP_NEXT;
    if (full->value == NULL)
        rc = wbi_json_read(call->arena, full->output, WBI_JSON_STRICT, &full->value, &err);
    if (rc == WB_OK && !wbi_output_valid(call, full->value, &err))
        rc = WB_EINPUT;
    if (rc == WB_OK)
        return WBI_STEP_NEXT;
    (void)wbi_call_fail(call, WBI_KIND_INVALID_TOOL_OUTPUT,
                        "%.*s ran, but its output does not match its schema: %s",
                        WBI_FMT(call->tool->model_name), err.text);
    call->outcome.fault.details = wbi_partial_of_output(call, /* not_kept= */ false);
    return WBI_STEP_REFUSED;
}

/* C8.1: a result after its deadline is dropped for the caller. */
static enum wbi_step fail_late(struct wbi_call *call)
{
    struct wbi_fault fault = {.kind = WBI_KIND_TIMED_OUT,
                              .message =
                                  WBI_LIT("the tool finished after the deadline of its call")};

    return wbi_call_fail_fault(call, &fault);
}

static enum wbi_step take_result(struct wbi_call *call)
{
    struct wbi_complete *full = call->complete;
    struct wbi_fault fault;

    if (full->artifacts.p != NULL) /* else those that were noted on the way */
        call->facts.artifacts = full->artifacts;
    call->facts.audit = full->audit.p ? full->audit : call->facts.audit;
    if (full->ok && call->late)
        return fail_late(call);
    if (full->ok)
        return wbi_check_output(call);
    if (full->fault == NULL)
        return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "out of memory");
    fault = *(const struct wbi_fault *)full->fault;
    if (fault.kind == WBI_KIND_CANCELLED && call->cancel == WBI_CANCEL_DEADLINE)
        fault.kind = WBI_KIND_TIMED_OUT; /* the tool knows only that it was asked to end */
    wbi_call_narrow_retry(call, &fault);
    if (wbi_attempt_again(call, &fault))
        return WBI_STEP_PARKED;
    wbi_attempt_causes(call, &fault);
    return wbi_call_fail_fault(call, &fault);
}

static enum wbi_step start_attempt(struct wbi_call *call)
{
    struct wbi_exec *x = wbi_arena_zalloc(call->arena, sizeof(*x));

    if (x == NULL)
        return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "out of memory");
    wbi_attempt_begin(call);
    *x = (struct wbi_exec){.arena = call->arena,
                           .tool = call->tool,
                           .input = call->inv.input,
                           .call = call,
                           .runtime = call->runtime,
                           .limit_ns = call->limit_ns,
                           .cost = -1};
    call->exec = x;
    call->complete = NULL;
    call->facts.attempts++;
    wbi_call_hold(call); /* until wbi_exec_done, even if the call is over before */
    wbi_loop_hold(call->runtime->loop);
    call->runtime->running++;
    x->ref = wbi_call_park(call);
    call->tool->ops->start(x);
    return WBI_STEP_PARKED;
}

enum wbi_step wbi_stage_execute(struct wbi_call *call)
{
    const struct wbi_exec *x = call->exec;
    enum wbi_step step;

    if (x == NULL)
        return start_attempt(call);
    if (!wbi_attempt_between(call)) {
        if (call->complete == NULL)
            return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return take_result(call);
    }
    step = wbi_attempt_next(call);
    return step == WBI_STEP_NEXT ? start_attempt(call) : step;
}

void wbi_cancel_execute(struct wbi_call *call)
{
    struct wbi_exec *x = call->exec;

    if (wbi_attempt_between(call)) {
        wbi_attempt_cancel(call);
        return;
    }
    if (x == NULL || x->done)
        return;
    x->cancel = call->cancel;
    if (call->tool->ops->cancel != NULL)
        call->tool->ops->cancel(x);
}
