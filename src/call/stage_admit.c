/* SPDX-License-Identifier: Apache-2.0
 * call/stage_admit.c: AUTHORIZE and ADMIT (C3.4, C3.5). */
#include "base/limits.h"
#include "call/exec.h"
#include "call/guards.h"
#include "call/reach.h"
#include "call/redact.h"
#include "call/stages_int.h"
#include "call/stored.h"
#include "config/config.h"
#include "json/canonical.h"

/* ---- AUTHORIZE ---- */

/* How long somebody may take to answer. */
#define APPROVAL_WAIT_MS 600000

struct asking {
    struct wbi_call *call;
    struct wbi_call_ref ref;
    char id[WBI_ID_SIZE];
    enum wbi_approval_end end; /* 0 while it waits */
};

static void on_approval(void *arg, const struct wbi_approval *approval, enum wbi_approval_end end,
                        struct wbi_str who)
{
    struct asking *a = arg;
    struct wbi_call *call = a->call;

    (void)approval;
    a->end = end;
    call->facts.approved_by = wbi_arena_str(call->arena, who);
    (void)wbi_call_resume(call->calls, a->ref); /* gone if the call was overruled */
    wbi_call_release(call);
}

static int64_t approval_wait(const struct wbi_runtime *rt)
{
    int64_t ms = APPROVAL_WAIT_MS;

    if (rt->config != NULL)
        ms = wbi_config_number(rt->config, "/limits/approvalWaitMs", ms);
    return wbi_ms_to_ns(ms);
}

/* Whoever shows it to somebody learns of the newest. */
static void tell_asked(struct wbi_runtime *rt)
{
    struct wbi_approvals *pending = rt->guards->approvals;

    if (rt->on_asked != NULL)
        rt->on_asked(rt->on_asked_arg, wbi_approvals_at(pending, wbi_approvals_count(pending) - 1));
}

/* Wait for somebody's yes, at most until the deadline. */
static enum wbi_step ask(struct wbi_call *call)
{
    struct asking *a = wbi_arena_zalloc(call->arena, sizeof(*a));
    int64_t now = wbi_now_ns(&call->clock);
    struct wbi_approval like = {.tool = call->tool->qualified,
                                .principal = call->inv.principal,
                                .created_ns = now,
                                .deadline_ns = wbi_time_after(now, approval_wait(call->runtime))};
    int64_t deadline;

    if (a == NULL || wbi_redacted_invocation(call, &like.text) != WB_OK)
        return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "out of memory");
    deadline = wbi_deadline_from_wall(call->inv.deadline_ms, wbi_wall_ms(&call->clock), now);
    if (deadline < like.deadline_ns)
        like.deadline_ns = deadline;
    a->call = call;
    if (wbi_approvals_create(call->runtime->guards->approvals, &like, on_approval, a, a->id) !=
        WB_OK)
        return wbi_call_fail(call, WBI_KIND_APPROVAL_DENIED,
                             "too many calls wait for an approval already");
    a->ref = wbi_call_park(call);
    call->step_state = a;
    wbi_call_hold(call);
    wbi_guards_arm(call->runtime);
    wbi_record_asked(call);        /* it may wait for long */
    wbi_reach_open(call->runtime); /* so that another process may answer */
    if (like.deadline_ns > now)
        tell_asked(call->runtime); /* who may answer at once */
    return WBI_STEP_PARKED;
}

static enum wbi_step approved(struct wbi_call *call, const struct asking *a)
{
    call->step_state = NULL;
    if (a->end == WBI_APPROVAL_GRANTED)
        return WBI_STEP_NEXT;
    return wbi_call_fail(call, WBI_KIND_APPROVAL_DENIED, "%.*s was not approved%s",
                         WBI_FMT(call->tool->model_name),
                         a->end == WBI_APPROVAL_EXPIRED ? " in time" : "");
}

enum wbi_step wbi_stage_authorize(struct wbi_call *call)
{
    struct wbi_auth_tool tool = wbi_guards_tool(call->tool);
    struct wbi_auth_answer answer;

    if (call->step_state != NULL)
        return approved(call, call->step_state);
    wbi_authorize(call->runtime->guards->auth, call->inv.principal, &tool, &answer);
    switch (answer.verdict) {
    case WBI_AUTH_ALLOWED:
        return WBI_STEP_NEXT;
    case WBI_AUTH_ASK:
        return ask(call);
    case WBI_AUTH_HIDDEN:
        return wbi_refuse_hidden(call);
    case WBI_AUTH_DENIED:
        break;
    }
    return wbi_call_fail(call, answer.kind, "%s", answer.message);
}

void wbi_cancel_authorize(struct wbi_call *call)
{
    struct asking *a = call->step_state;

    if (a == NULL || a->end != 0)
        return;
    a->end = WBI_APPROVAL_REFUSED;
    wbi_approvals_withdraw(call->runtime->guards->approvals, wbi_str_z(a->id));
    (void)wbi_call_resume(call->calls, a->ref); /* parked, so it goes on */
    wbi_call_release(call);
}

/* ---- ADMIT ---- */

static enum wbi_step judge(struct wbi_call *call, struct wbi_admission *a)
{
    bool replayed = a->answer.verdict == WBI_GUARD_REPLAY;

    switch (a->answer.verdict) {
    case WBI_GUARD_ADMITTED:
        a->held = true;
        call->ticket = a;
        if (a->limit.ends_ns != WBI_NO_DEADLINE)
            wbi_call_limit(call, a->limit.ends_ns);
        return WBI_STEP_NEXT;
    case WBI_GUARD_REPLAY:
    case WBI_GUARD_CACHED:
        if (wbi_stored_restore(call, a->answer.bytes) != WB_OK)
            return wbi_call_fail(call, WBI_KIND_OUTCOME_UNKNOWN,
                                 "the stored outcome of this call cannot be read");
        call->facts.replayed = replayed;
        call->facts.cached = !replayed;
        return WBI_STEP_REFUSED; /* decided: nothing runs */
    case WBI_GUARD_QUEUED:
    case WBI_GUARD_WAIT:
        a->ref = wbi_call_park(call);
        a->waiting = true;
        wbi_guards_arm(call->runtime);
        return WBI_STEP_PARKED;
    case WBI_GUARD_REFUSED:
        break;
    }
    return wbi_call_fail_refusal(call, &a->answer.refusal);
}

static void on_ready(void *arg, struct wbi_guard_ticket *ticket,
                     const struct wbi_guard_answer *answer)
{
    struct wbi_call *call = arg;
    struct wbi_admission *a = call->admission;

    (void)ticket;
    a->answer = *answer;
    a->answer.bytes = wbi_arena_str(call->arena, answer->bytes);
    a->waiting = false;
    (void)wbi_call_resume(call->calls, a->ref); /* it is parked: see wbi_cancel_admit */
}

/* Keys and caches compare inputs by the hash of their canonical form. */
static wb_rc hash_input(struct wbi_call *call, struct wbi_admission *a)
{
    struct wbi_buf text;
    wb_rc rc;

    if (a->request.idempotency_key.p == NULL &&
        (a->values.cache_ttl_ns <= 0 || call->tool->effect != WBI_EFFECT_PURE))
        return WB_OK;
    call->took_time = true;
    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_json_canonical_any(call->inv.input, &text, NULL); /* ids may be huge integers */
    if (rc == WB_OK)
        rc = wbi_sha256(text.p, text.n, a->input_hash);
    if (rc == WB_OK)
        a->request.input_hash = a->input_hash;
    return rc;
}

/* C8.6: calls of a model get a key of their conversation and call id. */
static struct wbi_str key_of(struct wbi_call *call)
{
    struct wbi_str id = call->inv.call_id.n > 0 ? call->inv.call_id : wbi_str_z(call->name);

    if (call->inv.key_id.n > 0)
        id = call->inv.key_id;
    if (wbi_str_trim(call->inv.idempotency_key).n > 0 || call->inv.native || !call->tool->needs_key)
        return call->inv.idempotency_key;
    call->inv.idempotency_key =
        wbi_arena_fmt(call->arena, "%.*s/%.*s", WBI_FMT(call->inv.conversation_id), WBI_FMT(id));
    return call->inv.idempotency_key;
}

/* The call outlives the policy it was admitted with: its texts are copied.
 * Redaction has its own copy of the paths. */
static wb_rc own_values(struct wbi_call *call, struct wbi_policy_values *v)
{
    v->redact = NULL;
    v->redact_n = 0;
    if (v->budget.id.p == NULL)
        return WB_OK;
    v->budget.id = wbi_arena_str(call->arena, v->budget.id);
    return v->budget.id.p ? WB_OK : WB_ENOMEM;
}

/* People who run `waybill exec` wait as long as they like. */
static bool has_own_timeout(const struct wbi_call *call)
{
    return call->tool->timeout_ms > 0 && !call->runtime->inherit_env;
}

/* The budget of a receipt that max_tokens may lower. */
static int64_t budget_tokens(const struct wbi_call *call)
{
    const wbi_json *asked = wbi_json_get(call->inv.input, "max_output_tokens");
    int64_t tokens;

    return call->tool->builtin && wbi_json_i64(asked, &tokens) ? tokens
                                                               : wbi_call_usual_budget(call);
}

static wb_rc prepare(struct wbi_call *call, struct wbi_admission *a)
{
    const struct wbi_policy_effective *effective;
    struct wbi_policy_wishes wishes = {.timeout_ms = WBI_NO_LIMIT_MS};
    struct wbi_auth_tool tool = wbi_guards_tool(call->tool);
    int64_t now = call->stage_started_ns; /* just now */
    wb_rc rc = wbi_policy_effective(
        call->runtime->guards->policy, call->tool->qualified, call->inv.principal,
        has_own_timeout(call) ? call->tool->timeout_ms : WBI_NO_LIMIT_MS, &effective);

    if (rc != WB_OK)
        return rc;
    a->values = effective->values;
    if (effective->source[WBI_POLICY_TIMEOUT].pattern.p == NULL &&
        effective->source[WBI_POLICY_TIMEOUT].file.p == NULL && has_own_timeout(call))
        a->values.timeout_ms = call->tool->timeout_ms; /* of this version */
    if (call->tool->builtin)
        a->values.cache_ttl_ns = 0; /* all of them read outside state (C7.8) */
    rc = own_values(call, &a->values);
    if (rc != WB_OK)
        return rc;
    wishes.deadline_ns =
        call->inv.deadline_ms == INT64_MAX
            ? WBI_NO_DEADLINE
            : wbi_deadline_from_wall(call->inv.deadline_ms, wbi_wall_ms(&call->clock), now);
    if (call->inv.max_tokens > 0) {
        wishes.max_tokens = call->inv.max_tokens;
        wishes.budget_tokens = budget_tokens(call);
    }
    wbi_policy_tighten(&a->values, &wishes, now, &a->clamps);
    a->limit = wbi_deadline_limit(now, wishes.deadline_ns, a->values.timeout_ms);
    a->request = (struct wbi_guard_request){
        .tool = call->tool->qualified,
        .origin = call->tool->origin,
        .principal = call->inv.principal,
        .effect = tool.effect,
        .idempotency_key = key_of(call),
        .key_required = call->tool->needs_key,
        .version = call->tool->version,
        .content_hash = wbi_str_make((const char *)call->tool->content_hash, 32),
        .partition = call->inv.principal,
        .estimated_cost = a->values.cost,
        .deadline_ns = wishes.deadline_ns,
        .policy = &a->values,
        .on_ready = on_ready,
        .arg = call};
    return hash_input(call, a);
}

enum wbi_step wbi_stage_admit(struct wbi_call *call)
{
    struct wbi_admission *a = call->step_state;
    enum wbi_step step;

    if (a == NULL) {
        a = wbi_arena_zalloc(call->arena, sizeof(*a));
        if (a == NULL || prepare(call, a) != WB_OK)
            return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "the policies cannot be applied");
        call->step_state = a;
        call->admission = a;
        wbi_guard_admit(call->runtime->guards->chain, &a->request, call->stage_started_ns,
                        &a->ticket, &a->answer);
    } else if (a->answer.verdict == WBI_GUARD_ADMITTED) {
        /* What it waited counts for its deadline alone: the time of an attempt begins now. */
        a->limit = wbi_deadline_limit(wbi_now_ns(&call->clock), a->request.deadline_ns,
                                      a->values.timeout_ms);
    }
    wbi_admission_look(call, a);
    step = judge(call, a);
    if (step != WBI_STEP_PARKED)
        call->step_state = NULL;
    return step;
}

/* Leave the queue at once; nobody will call back. */
void wbi_cancel_admit(struct wbi_call *call)
{
    struct wbi_admission *a = call->step_state;

    if (a == NULL || !a->waiting)
        return;
    a->waiting = false;
    call->step_state = NULL;
    wbi_guard_cancel(&a->ticket, wbi_now_ns(&call->clock));
    (void)wbi_call_resume(call->calls, a->ref); /* parked, so it goes on, and ends as cancelled */
}
