/* SPDX-License-Identifier: Apache-2.0
 * call/stage_project.c: PROJECT and RENDER. The family bounds its own output
 * and writes its own receipt; errors have one receipt for all families. */
#include <stdio.h>

#include "base/limits.h"
#include "call/exec.h"
#include "call/guards.h"
#include "call/partial.h"
#include "call/redact.h"
#include "call/runtime.h"
#include "call/stages_int.h"
#include "call/views.h"
#include "config/config.h"
#include "family/generic/generic.h"
#include "family/receipt.h"

/* Nothing may be shown that could not be checked. */
static enum wbi_step redact(struct wbi_call *call)
{
    if (wbi_redact_outcome(call) == WB_OK && wbi_guards_snapshot(call) == WB_OK)
        return WBI_STEP_NEXT;
    return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "the outcome could not be redacted");
}

uint32_t wbi_call_usual_budget(const struct wbi_call *call)
{
    const struct wbi_config *config = call->runtime->config;
    char pointer[WBI_LIMIT_MODEL_NAME + 16];
    int64_t budget = call->tool->budget_tokens;

    if (!call->tool->builtin || config == NULL)
        return call->tool->budget_tokens;
    (void)snprintf(pointer, sizeof(pointer), "/budgets/%.*s", WBI_FMT(call->tool->model_name));
    budget = wbi_config_number(config, pointer, budget);
    return budget > (int64_t)WBI_BUDGET_MOST ? WBI_BUDGET_MOST : (uint32_t)budget;
}

uint32_t wbi_call_budget(const struct wbi_call *call)
{
    uint32_t tokens = wbi_call_usual_budget(call);

    return call->inv.max_tokens > 0 && call->inv.max_tokens < tokens ? call->inv.max_tokens
                                                                     : tokens;
}

wb_rc wbi_project_outcome(struct wbi_call *call, struct wbi_error *err)
{
    struct wbi_projection p = {.arena = call->arena, .ret_value = &call->result_value};
    struct wbi_str summary = WBI_NONE;
    struct wbi_buf result;
    wb_rc rc;

    call->result_value = NULL;
    p.budget_tokens = wbi_call_budget(call);
    p.sink = wbi_runtime_sink(call);
    p.tool_name = call->tool->model_name;
    wbi_buf_init_arena(&result, call->arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_redact_complete(call) != WB_OK)
        return wbi_fail(err, WB_EIO, "the output could not be redacted");
    if (call->tool->family == &wbi_generic_family &&
        wbi_generic_take_parts(call->arena, call->complete) != WB_OK)
        return wbi_fail_nomem(err);
    rc = call->tool->family->project(call->tool->family->arg, call->complete, &p, &result, &summary,
                                     err);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&result);
    if (call->complete->summary.p != NULL)
        summary = call->complete->summary;
    if (rc == WB_OK && summary.n > WBI_LIMIT_SUMMARY_CHARS) /* it will be cut */
        rc = wbi_redact_text(call, "summary_text", &summary);
    if (rc != WB_OK)
        return rc;
    return wbi_outcome_succeed(&call->outcome, call->arena, summary, wbi_buf_str(&result),
                               call->complete->output);
}

enum wbi_step wbi_stage_project(struct wbi_call *call)
{
    WBI_ERROR_HERE(err);

    if (call->outcome.state == WBI_OUTCOME_NONE && /* else an error, or a replay */
        wbi_project_outcome(call, &err) != WB_OK) {
        (void)wbi_call_fail_error(call, WBI_KIND_INTERNAL_ERROR, &err);
        call->outcome.fault.details = /* it ran */
            wbi_partial_of_output(call, err.kind == WBI_KIND_OUTPUT_PERSISTENCE_FAILED);
    }
    return redact(call);
}

/* What reading the canonical text would give; a success is made of four members, and
 * only the result has to be read. */
static wb_rc read_back(struct wbi_call *call, struct wbi_str name, struct wbi_str text,
                       struct wbi_canonical *ret, struct wbi_error *err)
{
    if (call->outcome.state != WBI_OUTCOME_SUCCESS)
        return wbi_canonical_parse(call->arena, text, ret, err);
    *ret = (struct wbi_canonical){.text = text,
                                  .tool_name = name,
                                  .success = true,
                                  .summary = call->outcome.summary,
                                  .result = call->result_value};
    if (ret->result != NULL)
        return WB_OK;
    return wbi_json_read(call->arena, call->outcome.result, WBI_JSON_STRICT, &ret->result, err);
}

/* The renderer sees what a later reader of the ledger sees: the canonical text. */
static wb_rc render(struct wbi_call *call, struct wbi_buf *receipt, struct wbi_error *err)
{
    struct wbi_str name = wbi_call_tool_name(call);
    struct wbi_canonical c;
    struct wbi_buf text;
    wb_rc rc;

    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_view_canonical(&call->outcome, name, &text);
    if (rc == WB_OK)
        rc = read_back(call, name, wbi_buf_str(&text), &c, err);
    if (rc == WB_OK)
        rc = wbi_receipt_render(call->tool ? call->tool->family : NULL, &c, call->arena, receipt,
                                err);
    call->canonical = wbi_buf_str(&text);
    return rc;
}

enum wbi_step wbi_stage_render(struct wbi_call *call)
{
    struct wbi_buf receipt;
    wb_rc rc;
    WBI_ERROR_HERE(err);

    wbi_buf_init_arena(&receipt, call->arena, WBI_LIMIT_RECEIPT);
    rc = render(call, &receipt, &err);
    if (rc == WB_OK && call->facts.coercion.p != NULL) {
        wbi_buf_addz(&receipt, "\ninput_coercion: ");
        wbi_buf_adds(&receipt, call->facts.coercion);
    }
    if (rc == WB_OK)
        rc = wbi_buf_rc(&receipt);
    if (rc != WB_OK) {
        /* Nothing could be shown: say at least that, without memory. */
        call->outcome.receipt = WBI_LIT("Error: internal_error (not retryable)\n"
                                        "the receipt could not be made");
        call->canonical = WBI_NONE;
        return WBI_STEP_REFUSED;
    }
    call->outcome.receipt = wbi_buf_str(&receipt);
    return WBI_STEP_NEXT;
}
