/* SPDX-License-Identifier: Apache-2.0
 * call/settle.c: what the guards of a call are told when an attempt or the call
 * ends, and what the result says of them. (1) What was admitted is settled
 * exactly once. (2) A key whose tool still runs stays in flight until the tool
 * reports; then it is settled by what came of it. */
#include "base/limits.h"
#include "call/exec.h"
#include "call/guards.h"
#include "call/keys.h"
#include "call/redact.h"
#include "call/stages_int.h"
#include "call/stored.h"

static void number_detail(struct wbi_jw *w, const char *name, int64_t v)
{
    if (v >= 0)
        wbi_jw_kint(w, name, v);
}

void wbi_admission_look(const struct wbi_call *call, struct wbi_admission *a)
{
    a->circuit_state = wbi_guard_circuit_state(call->runtime->guards->chain, &a->request);
}

struct wbi_fault wbi_refusal_fault(struct wbi_call *call, const struct wbi_guard_refusal *r)
{
    const struct wbi_error *why = &call->runtime->why_unchecked;
    struct wbi_fault fault = {.kind = r->kind};
    struct wbi_buf details;
    struct wbi_jw w = wbi_jw_to(&details);

    fault.retryable = r->retryable ? WBI_RETRYABLE_YES : WBI_RETRYABLE_NO;
    fault.message = wbi_arena_str(call->arena, wbi_str_z(r->message));
    if (r->kind == WBI_KIND_STATE_UNAVAILABLE && why->rc != WB_OK) { /* the store knows why */
        wbi_fault_of_error(&fault, why);
        fault.message = wbi_arena_fmt(call->arena, "%s: %s", r->message, why->text);
    }
    if (r->code != NULL)
        fault.code = wbi_str_z(r->code);
    if (r->hint != NULL)
        fault.hint = wbi_str_z(r->hint);
    wbi_buf_init_arena(&details, call->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    number_detail(&w, "retryAfterMs", r->retry_after_ms);
    number_detail(&w, "resetAfterMs", r->reset_after_ms);
    if (r->throttling_scope.p != NULL)
        wbi_jw_kstr(&w, "throttlingScope", r->throttling_scope);
    if (r->circuit_state != NULL)
        wbi_jw_kstrz(&w, "circuitState", r->circuit_state);
    if (r->missing_field != NULL)
        wbi_jw_kstrz(&w, "missingField", r->missing_field);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&details) == WB_OK && details.n > 2)
        fault.details = wbi_buf_str(&details);
    return fault;
}

enum wbi_step wbi_call_fail_refusal(struct wbi_call *call, const struct wbi_guard_refusal *r)
{
    struct wbi_fault fault = wbi_refusal_fault(call, r);

    return wbi_call_fail_fault(call, &fault);
}

enum wbi_guard_class wbi_guard_class_of(const struct wbi_fault *fault)
{
    if (fault->kind == WBI_KIND_TIMED_OUT)
        return WBI_GUARD_TIMED_OUT;
    if (fault->kind == WBI_KIND_CANCELLED)
        return WBI_GUARD_CANCELLED;
    if (wbi_kind_row(fault->kind)->category == WBI_CATEGORY_CONTRACT)
        return WBI_GUARD_CONTRACT;
    return WBI_GUARD_FAILED;
}

bool wbi_fault_refuses(const struct wbi_fault *fault)
{
    enum wbi_category category = wbi_kind_row(fault->kind)->category;

    return category == WBI_CATEGORY_AUTH ||
           (category == WBI_CATEGORY_POLICY && fault->kind != WBI_KIND_TIMED_OUT);
}

int64_t wbi_attempt_cost(const struct wbi_call *call)
{
    const struct wbi_exec *x = call->exec;
    const struct wbi_admission *a = call->ticket;

    return x != NULL && x->cost >= 0 ? x->cost : a->values.cost;
}

static enum wbi_guard_class class_of(const struct wbi_call *call)
{
    if (call->outcome.state == WBI_OUTCOME_SUCCESS)
        return WBI_GUARD_OK;
    if (call->facts.attempts == 0)
        return WBI_GUARD_NOT_STARTED;
    return wbi_guard_class_of(&call->outcome.fault);
}

/* The tool did its work, only too late for the caller. */
static bool finished_late(const struct wbi_call *call)
{
    return call->complete != NULL && call->complete->ok &&
           call->outcome.state == WBI_OUTCOME_ERROR &&
           call->outcome.fault.kind == WBI_KIND_TIMED_OUT;
}

/* The bytes a later call gets. A key must be settled whatever its outcome is: of one that is
 * too large the bounded part is kept. What a cache cannot hold it does not hold. */
static struct wbi_str stored(struct wbi_call *call)
{
    const struct wbi_admission *a = call->ticket;
    struct wbi_str text = wbi_stored_write(call, /* whole= */ true);

    if (a->request.effect != WBI_GUARD_PURE && !wbi_keys_hold(text))
        text = wbi_stored_write(call, /* whole= */ false);
    return text;
}

void wbi_journey_settle(struct wbi_call *call)
{
    struct wbi_admission *a = call->ticket;
    struct wbi_guard_outcome outcome = {.class = class_of(call)};
    int64_t now = call->stage_started_ns; /* taken when PROJECT ended */
    wb_rc rc;

    wbi_say_invoked(call); /* refused calls are told of, too */
    wbi_say_end(call);
    if (call->admission != NULL && call->admission->waiting) { /* overruled in a queue */
        call->admission->waiting = false;
        wbi_guard_cancel(&call->admission->ticket, now);
    }
    if (a == NULL || !a->held)
        return;
    a->held = false;
    wbi_timer_free(a->timer);
    a->timer = NULL;
    outcome.still_running = call->overruled || finished_late(call);
    outcome.duration_ns = call->ended_ns - (a->attempt_ns ? a->attempt_ns : call->started_ns);
    outcome.cost = wbi_attempt_cost(call);
    outcome.refused =
        call->outcome.state == WBI_OUTCOME_ERROR && wbi_fault_refuses(&call->outcome.fault);
    /* Attempts that failed before invite a retry, whatever refused the last one. */
    outcome.retryable = a->refused_again || (call->outcome.state == WBI_OUTCOME_ERROR &&
                                             wbi_fault_retryable(&call->outcome.fault));
    if (a->request.input_hash != NULL)
        outcome.stored = stored(call);
    rc = wbi_guard_settle(&a->ticket, &outcome, now);
    (void)rc; /* the outcome is right; its key may be unknown later */
    if (finished_late(call))
        wbi_journey_late(call, call->complete);
    wbi_guards_arm(call->runtime);
}

/* The bytes a later call with the same key gets: made like an outcome in time. */
static struct wbi_str store_late(const struct wbi_call *call, struct wbi_complete *complete,
                                 enum wbi_guard_class *ret_class)
{
    struct wbi_call shadow = *call; /* the call itself has its outcome */
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = WB_OK;

    shadow.outcome = (struct wbi_outcome){.state = WBI_OUTCOME_NONE};
    shadow.complete = complete;
    *ret_class = WBI_GUARD_OK;
    if (!complete->ok) {
        (void)wbi_call_fail_fault(&shadow, complete->fault);
        *ret_class = wbi_guard_class_of(complete->fault);
    } else if (wbi_check_output(&shadow) != WBI_STEP_NEXT) {
        *ret_class = WBI_GUARD_CONTRACT;
    } else {
        rc = wbi_project_outcome(&shadow, &err);
    }
    if (rc == WB_OK)
        rc = wbi_redact_outcome(&shadow);
    return rc == WB_OK ? stored(&shadow) : WBI_NONE;
}

void wbi_journey_late(struct wbi_call *call, const struct wbi_complete *complete)
{
    struct wbi_admission *a = call->ticket;
    struct wbi_complete copy = *complete;
    struct wbi_guard_outcome outcome = {.class = WBI_GUARD_OK};
    wb_rc rc;

    if (a == NULL || a->request.input_hash == NULL || (!complete->ok && complete->fault == NULL))
        return;
    outcome.stored = store_late(call, &copy, &outcome.class);
    if (outcome.stored.p == NULL)
        return; /* stays in flight, and is unknown in time */
    /* What the caller was told counts: a retry that was offered must not replay a failure. */
    outcome.retryable = wbi_fault_retryable(&call->outcome.fault);
    rc = wbi_guard_late(call->runtime->guards->chain, &a->request, &outcome,
                        wbi_now_ns(&call->clock));
    (void)rc; /* its key is unknown in time, as above */
}

wb_rc wbi_guards_snapshot(struct wbi_call *call)
{
    struct wbi_str invocation;
    /* What the record will leave out is noted now, since the snapshot tells it. */
    wb_rc rc = wbi_runtime_keeps_ledger(call->runtime) ? wbi_redacted_invocation(call, &invocation)
                                                       : WB_OK;
    struct wbi_admission *a = call->admission;
    struct wbi_policy_values none = wbi_policy_builtin();
    struct wbi_policy_snapshot s = {.values = a ? &a->values : &none,
                                    .tool = call->tool ? call->tool->qualified : WBI_LIT(""),
                                    .origin = call->tool ? call->tool->origin : WBI_LIT(""),
                                    .limit_ms = a ? a->limit.limit_ms : WBI_NO_LIMIT_MS,
                                    .circuit_state = a ? a->circuit_state : NULL,
                                    .clamps = a ? &a->clamps : NULL,
                                    .redactions = call->facts.redactions,
                                    .redactions_n = call->facts.redaction_count};
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_JSON_TEXT);
    wbi_policy_write_snapshot(&w, &s);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_buf_rc(&text);
    call->facts.policy_snapshot = wbi_buf_str(&text);
    wbi_say_policy(call);
    return WB_OK;
}
