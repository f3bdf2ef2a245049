/* SPDX-License-Identifier: Apache-2.0
 * call/journey.c: the one file that wires stages into the table. */
#include "call/journey.h"

#include "call/stages_int.h"

void wbi_journey_wire(struct wbi_journey *j)
{
    *j = (struct wbi_journey){
        .stages =
            {
                [WBI_STAGE_DECODE] = {wbi_stage_decode, NULL, false},
                [WBI_STAGE_RESOLVE] = {wbi_stage_resolve, wbi_cancel_resolve, false},
                [WBI_STAGE_VALIDATE] = {wbi_stage_validate, NULL, true},
                [WBI_STAGE_AUTHORIZE] = {wbi_stage_authorize, wbi_cancel_authorize, false},
                [WBI_STAGE_ADMIT] = {wbi_stage_admit, wbi_cancel_admit, false},
                [WBI_STAGE_INTENT] = {wbi_stage_intent, NULL, false},
                [WBI_STAGE_EXECUTE] = {wbi_stage_execute, wbi_cancel_execute, true},
                [WBI_STAGE_PROJECT] = {wbi_stage_project, NULL, true},
                [WBI_STAGE_RENDER] = {wbi_stage_render, NULL, true},
                [WBI_STAGE_ENCODE] = {wbi_stage_encode, NULL, false},
                [WBI_STAGE_RECORD] = {wbi_stage_record, NULL, false},
            },
        .settle = wbi_journey_settle,
        .late = wbi_journey_late,
        .finish = wbi_journey_finish,
        .release = wbi_journey_release,
    };
}
