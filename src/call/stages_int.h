/* SPDX-License-Identifier: Apache-2.0
 * call/stages_int.h: the stages of the real journey, wired in journey.c. Each
 * one's contract is that of call/stage.h. */
#ifndef WBI_CALL_STAGES_INT_H
#define WBI_CALL_STAGES_INT_H

#include "call/call.h"

enum wbi_step wbi_stage_decode(struct wbi_call *call);
/* End the call with what its codec found wrong. */
enum wbi_step wbi_refuse_item(struct wbi_call *call);
enum wbi_step wbi_stage_resolve(struct wbi_call *call);
void wbi_cancel_resolve(struct wbi_call *call);
/* End the call as one of a tool that does not exist. */
enum wbi_step wbi_refuse_hidden(struct wbi_call *call);
enum wbi_step wbi_stage_validate(struct wbi_call *call);
enum wbi_step wbi_stage_authorize(struct wbi_call *call);
void wbi_cancel_authorize(struct wbi_call *call);
enum wbi_step wbi_stage_admit(struct wbi_call *call);
void wbi_cancel_admit(struct wbi_call *call);
void wbi_journey_settle(struct wbi_call *call);
void wbi_journey_late(struct wbi_call *call, const struct wbi_complete *complete);
/* Writes down that the call waits for an approval; nobody waits for that. */
void wbi_record_asked(struct wbi_call *call);
enum wbi_step wbi_stage_intent(struct wbi_call *call);
enum wbi_step wbi_stage_record(struct wbi_call *call);
enum wbi_step wbi_stage_execute(struct wbi_call *call);
void wbi_cancel_execute(struct wbi_call *call);
/* Complete output -> bounded result in call->outcome, not yet redacted. */
/* Tokens its result may have. */
uint32_t wbi_call_budget(const struct wbi_call *call);
WB_MUST_CHECK wb_rc wbi_project_outcome(struct wbi_call *call, struct wbi_error *err);
enum wbi_step wbi_stage_project(struct wbi_call *call);
enum wbi_step wbi_stage_render(struct wbi_call *call);
enum wbi_step wbi_stage_encode(struct wbi_call *call);

/* call->complete against the output schema: NEXT, or the call has failed. */
enum wbi_step wbi_check_output(struct wbi_call *call);
/* Whether output fits the tool's output schema; err says why not. A root that
 * carries a valid __envelope is checked without it (C4.3). */
bool wbi_output_valid(struct wbi_call *call, const wbi_json *output, struct wbi_error *err);

#endif
