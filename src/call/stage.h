/* SPDX-License-Identifier: Apache-2.0
 * call/stage.h: the contract of a stage. */
#ifndef WBI_CALL_STAGE_H
#define WBI_CALL_STAGE_H

#include <stdbool.h>

#include "call/stages.h"

struct wbi_call;
struct wbi_complete;

enum wbi_step {
    WBI_STEP_NEXT,   /* go on with the next stage */
    WBI_STEP_PARKED, /* wbi_call_resume() will come, now or later, once */
    WBI_STEP_REFUSED /* the outcome is decided (wbi_call_fail, a replay): go to PROJECT */
};

struct wbi_stage_ops {
    /* On the loop thread. Must not block, must not call another stage. After a
     * park the stage is run again on resume; it tells by its own state in the
     * call what is left to do. */
    enum wbi_step (*run)(struct wbi_call *call);
    /* Only for a parked call. May come more than once and frees nothing; the
     * parked work still has to resume the call exactly once. May be NULL. */
    void (*cancel)(struct wbi_call *call);
    /* Its time depends on what it is given, so it is taken. What the others need is too
     * little to look at the clock for, unless they wait, refuse or say took_time. */
    bool timed;
};

/* The stages in the order of stages.h. A NULL run means: nothing to do. */
struct wbi_journey {
    struct wbi_stage_ops stages[WBI_STAGE_COUNT];
    /* Called once per call that got past ADMIT, when its fate is known and
     * before RECORD: gives back slots, budgets and the like. May be NULL. */
    void (*settle)(struct wbi_call *call);
    /* A tool finished after its call had ended without it: nobody is told, but
     * what must be known later (idempotency keys) is. May be NULL. */
    void (*late)(struct wbi_call *call, const struct wbi_complete *complete);
    /* The call is over: hand the outcome out. */
    void (*finish)(struct wbi_call *call);
    /* Nobody holds the call any more: free it. */
    void (*release)(struct wbi_call *call);
};

#endif
