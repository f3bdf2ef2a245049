/* SPDX-License-Identifier: Apache-2.0
 * call/journey.h: the real stages, put in their places. */
#ifndef WBI_CALL_JOURNEY_H
#define WBI_CALL_JOURNEY_H

#include "call/stage.h"

void wbi_journey_wire(struct wbi_journey *j);

/* Of the runtime (runtime.c). */
void wbi_journey_finish(struct wbi_call *call);
void wbi_journey_release(struct wbi_call *call);

#endif
