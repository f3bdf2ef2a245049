/* SPDX-License-Identifier: Apache-2.0
 * call/stage_record.c: INTENT and RECORD (C12.1). A call with an effect is
 * written down before it starts and its outcome before the reply; a Pure call
 * and one that was refused are written behind the reply, unless so many rows wait
 * for the disk already that memory would grow with every one. */
#include "call/record.h"
#include "call/redact.h"
#include "call/runtime.h"
#include "call/stages_int.h"
#include "call/views.h"
#include "ledger/ledger.h"

/* A row on its way; the call is held meanwhile. */
struct waiting {
    struct wbi_call *call;
    struct wbi_call_ref ref;
    bool done;
    struct wbi_error err;
};

static void on_durable(void *arg, const struct wbi_ledger_ack *ack)
{
    struct waiting *w = arg;
    struct wbi_call *call = w->call;

    w->done = true;
    if (ack->rc != WB_OK && ack->err != NULL)
        w->err = *ack->err;
    w->err.rc = ack->rc;
    (void)wbi_call_resume(call->calls, w->ref); /* gone if it was overruled */
    wbi_call_release(call);
}

static void fill_row(const struct wbi_call *call, const char *kind, struct wbi_row *row)
{
    *row = (struct wbi_row){.duration_us = -1,
                            .call_id = wbi_str_z(call->name),
                            .kind = wbi_str_z(kind),
                            .tool = wbi_call_tool_name(call),
                            .conversation = call->inv.conversation_id,
                            .provider_call_id = call->inv.call_id,
                            .principal = call->inv.principal};
    if (call->tool != NULL)
        row->effect = wbi_str_z(wbi_effect_name(call->tool->effect));
}

/* Append and park until the row is on the disk. */
static enum wbi_step append_and_wait(struct wbi_call *call, const struct wbi_row *row)
{
    struct waiting *w = wbi_arena_zalloc(call->arena, sizeof(*w));
    struct wbi_ledger_append append = {.row = row, .done = on_durable, .arg = w};
    wb_rc rc;

    if (w == NULL)
        return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "out of memory");
    w->call = call;
    w->ref = wbi_call_park(call);
    call->step_state = w;
    wbi_call_hold(call);
    rc = wbi_ledger_append(call->runtime->ledger, &append, &w->err);
    if (rc == WB_OK)
        return WBI_STEP_PARKED;
    wbi_call_release(call);
    w->done = true;
    w->err.rc = rc;
    (void)wbi_call_resume(call->calls, w->ref); /* comes back at once */
    return WBI_STEP_PARKED;
}

/* ---- before an approval ---- */

static void on_asked(void *arg, const struct wbi_ledger_ack *ack)
{
    (void)arg;
    (void)ack; /* without it a kill leaves no trace; with an effect there will be an intent */
}

void wbi_record_asked(struct wbi_call *call)
{
    struct wbi_row row;
    struct wbi_ledger_append append = {.row = &row, .done = on_asked};

    if (!wbi_runtime_keeps_ledger(call->runtime) ||
        wbi_runtime_open_ledger(call->runtime, NULL) != WB_OK)
        return;
    fill_row(call, WBI_KIND_ASKED, &row);
    call->asked = wbi_redacted_invocation(call, &row.invocation) == WB_OK &&
                  wbi_record_trust(call, &row.trust) == WB_OK &&
                  wbi_ledger_append(call->runtime->ledger, &append, NULL) == WB_OK;
}

/* ---- before the effect ---- */

enum wbi_step wbi_stage_intent(struct wbi_call *call)
{
    struct waiting *w = call->step_state;
    WBI_LARGE_LOCAL struct wbi_row row;
    enum wbi_step step;
    wb_rc rc;
    WBI_ERROR_HERE(err);

    if (w != NULL && w->done) {
        call->step_state = NULL;
        call->intended = w->err.rc == WB_OK;
        if (!call->intended)
            return wbi_call_fail_error(call, WBI_KIND_STATE_UNAVAILABLE, &w->err);
        return WBI_STEP_NEXT;
    }
    if (call->tool->effect == WBI_EFFECT_PURE || !wbi_runtime_keeps_ledger(call->runtime))
        return WBI_STEP_NEXT;
    rc = wbi_runtime_open_ledger(call->runtime, &err);
    if (rc != WB_OK)
        return wbi_call_fail_error(call, WBI_KIND_STATE_UNAVAILABLE, &err);
    fill_row(call, WBI_KIND_INTENT, &row);
    rc = wbi_redacted_invocation(call, &row.invocation);
    if (rc == WB_OK)
        rc = wbi_record_trust(call, &row.trust);
    if (rc != WB_OK)
        return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "out of memory");
    step = append_and_wait(call, &row);
    /* from here on: a call that is cancelled while it waits does not come back here */
    call->intended = step == WBI_STEP_PARKED;
    return step;
}

/* ---- before the reply ---- */

/* The outcome stands, but it could not be written down: the reader must know, once, and by
 * the item too, which is made already. */
static void say_unrecorded(struct wbi_call *call, const char *how, const struct wbi_error *err)
{
    struct wbi_str receipt = call->outcome.receipt;

    call->unrecorded = wbi_arena_fmt(call->arena, "%s: %s", how, err->text);
    if (call->unrecorded.p == NULL)
        call->unrecorded = WBI_LIT("Not recorded: out of memory");
    if (wbi_str_find(receipt, wbi_str_z(err->text)) < receipt.n)
        return; /* that is what the outcome says */
    receipt = wbi_arena_fmt(call->arena, "%.*s\n%.*s", WBI_FMT(receipt), WBI_FMT(call->unrecorded));
    if (receipt.p == NULL)
        return;
    call->outcome.receipt = receipt;
    (void)wbi_stage_encode(call); /* without memory the first item stays */
}

static void mark_unrecorded(struct wbi_call *call, const struct wbi_error *err)
{
    wbi_runtime_unrecorded(call->runtime, err);
    say_unrecorded(call, "Not recorded", err);
}

static void outcome_row(struct wbi_call *call, const struct wbi_record_texts *t,
                        struct wbi_row *row)
{
    bool ok = call->outcome.state == WBI_OUTCOME_SUCCESS;

    fill_row(call, WBI_KIND_OUTCOME, row);
    row->time_ms = wbi_call_wall_ms(call, call->stage_started_ns);
    row->duration_us = (call->ended_ns - call->started_ns) / 1000;
    row->status = ok ? WBI_LIT("success") : WBI_LIT("error");
    if (!ok)
        row->error_kind = wbi_str_z(wbi_kind_row(call->outcome.fault.kind)->kind);
    row->invocation = t->invocation;
    row->canonical = t->canonical;
    row->result = t->result;
    row->receipt = t->receipt;
    row->artifacts = t->artifacts;
    row->timings = t->timings;
    row->policy = t->policy;
    row->trust = t->trust;
    row->events = t->events;
}

static wb_rc append_behind(struct wbi_call *call, const struct wbi_row *row, struct wbi_error *err)
{
    bool pure = call->tool == NULL || call->tool->effect == WBI_EFFECT_PURE;
    struct wbi_ledger_append append = {.row = row, .never_opened = pure && !call->asked};

    return wbi_ledger_append(call->runtime->ledger, &append, err);
}

/* The disk did not take the row. The outcome is known all the same: it waits for room like a
 * row nobody waits for, so that nothing else is said of the call. */
static void record_later(struct wbi_call *call, const struct wbi_error *why)
{
    const struct wbi_record_texts *texts;
    WBI_LARGE_LOCAL struct wbi_row row;
    bool absent = why->kind == WBI_KIND_LOW_DISK_SPACE || why->kind == WBI_KIND_STATE_UNAVAILABLE;

    if (absent && !wbi_ledger_behind(call->runtime->ledger) &&
        wbi_record_make(call, &texts) == WB_OK) {
        outcome_row(call, texts, &row);
        if (append_behind(call, &row, NULL) == WB_OK) {
            wbi_runtime_recorded(call->runtime);
            say_unrecorded(call, "Not recorded yet", why);
            return;
        }
    }
    mark_unrecorded(call, why);
}

enum wbi_step wbi_stage_record(struct wbi_call *call)
{
    const struct wbi_record_texts *texts;
    struct waiting *w = call->step_state;
    WBI_LARGE_LOCAL struct wbi_row row;
    wb_rc rc;
    WBI_ERROR_HERE(err);

    if (w != NULL && w->done) {
        call->step_state = NULL;
        if (w->err.rc != WB_OK)
            record_later(call, &w->err);
        else
            wbi_runtime_recorded(call->runtime);
        return WBI_STEP_NEXT;
    }
    if (!wbi_runtime_keeps_ledger(call->runtime))
        return WBI_STEP_NEXT;
    rc = wbi_runtime_open_ledger(call->runtime, &err);
    if (rc == WB_OK) {
        rc = wbi_record_make(call, &texts);
        if (rc != WB_OK)
            (void)wbi_fail(&err, rc, "out of memory");
    }
    if (rc == WB_OK) {
        outcome_row(call, texts, &row);
        if (call->intended || wbi_ledger_behind(call->runtime->ledger))
            return append_and_wait(call, &row);
        rc = append_behind(call, &row, &err);
    }
    if (rc != WB_OK)
        mark_unrecorded(call, &err);
    else
        wbi_runtime_recorded(call->runtime);
    return WBI_STEP_NEXT;
}
