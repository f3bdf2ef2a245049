/* SPDX-License-Identifier: Apache-2.0
 * call/stage_decode.c: DECODE, the checks of C2 on what the codecs made. */
#include "base/limits.h"
#include "call/runtime.h"
#include "call/stages_int.h"
#include "wire/wire.h"

/* What the codec found wrong with an item, told like any other error. */
enum wbi_step wbi_refuse_item(struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    struct wbi_fault fault = {.kind = wire->problem_kind, .message = wire->problem};
    struct wbi_buf details;
    struct wbi_jw w = wbi_jw_to(&details);

    if (wire->parse_error.p != NULL) {
        wbi_buf_init_arena(&details, call->arena, WBI_LIMIT_JSON_TEXT);
        wbi_jw_obj(&w);
        wbi_jw_kstr(&w, "parse_error", wire->parse_error);
        wbi_jw_obj_end(&w);
        if (wbi_buf_rc(&details) == WB_OK)
            fault.details = wbi_buf_str(&details);
    }
    return wbi_call_fail_fault(call, &fault);
}

/* Trace context may come in headers, too. */
static void take_trace(struct wbi_invocation *inv)
{
    if (inv->traceparent.p != NULL || inv->headers == NULL)
        return;
    inv->traceparent = wbi_json_get_str(inv->headers, "traceparent");
    inv->tracestate = wbi_json_get_str(inv->headers, "tracestate");
}

enum wbi_step wbi_stage_decode(struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    bool bad_item = wire != NULL && wire->problem_kind != WBI_KIND_NONE;
    wb_rc rc;
    WBI_ERROR_HERE(err);

    rc = wbi_invocation_check(&call->inv, call->arena, &call->runtime->ids, call->runtime->secrets,
                              &err);
    if (rc != WB_OK && bad_item) /* the codec knows better what is wrong */
        return wbi_refuse_item(call);
    if (rc != WB_OK && call->rejected.rc == WB_OK) /* so does who read the call */
        return wbi_call_fail_error(call, WBI_KIND_MALFORMED_CALL, &err);
    if (rc == WB_OK)
        take_trace(&call->inv);
    if (call->rejected.rc != WB_OK)
        return wbi_call_fail_error(call, WBI_KIND_MALFORMED_CALL, &call->rejected);
    if (bad_item && !wire->truncated)
        return wbi_refuse_item(call); /* a cut one waits until its tool is known (C3.6) */
    return WBI_STEP_NEXT;
}
