/* SPDX-License-Identifier: Apache-2.0
 * call/router.h: lines of provider items in, output items out, in call order
 * (C9, I3 `dispatch`). One router is one stream of lines; it keeps, per
 * conversation, the gate for parallel calls and the answers already given. */
#ifndef WBI_CALL_ROUTER_H
#define WBI_CALL_ROUTER_H

#include "call/runtime.h"
#include "wire/wire.h"

struct wbi_router;

struct wbi_router_options {
    enum wbi_provider provider; /* AUTO: by the line's shape */
    size_t parallel;            /* most calls that run at once; 0: no limit */
    bool group;                 /* one message per turn instead of one line per call */
    bool frames;                /* partial output as frame lines */
};

struct wbi_router_sink {
    /* One line without its line end, in call order; frames come in between. */
    void (*line)(void *arg, struct wbi_str text);
    /* Everything submitted so far is answered. May come more than once. NULL is fine. */
    void (*idle)(void *arg);
    /* Whether the reader is behind, so that frames wait or are left out. NULL: never. */
    bool (*behind)(void *arg);
    void *arg;
};

WB_MUST_CHECK wb_rc wbi_router_new(struct wbi_runtime *rt, const struct wbi_router_options *o,
                                   const struct wbi_router_sink *sink, struct wbi_router **ret);
/* All calls must be answered. NULL is fine. */
void wbi_router_free(struct wbi_router *r);

/* One input line (copied). Ends in one output line per call, or one error line.
 * Only misuse and a runtime without memory fail (C9.3: fatal); then what this
 * line asked for was not started. */
WB_MUST_CHECK wb_rc wbi_router_line(struct wbi_router *r, struct wbi_str text,
                                    struct wbi_error *err);
/* Calls accepted and not yet answered. */
size_t wbi_router_pending(const struct wbi_router *r);
/* Ask all of them to end. */
void wbi_router_cancel(struct wbi_router *r);

#endif
