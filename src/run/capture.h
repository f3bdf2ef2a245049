/* SPDX-License-Identifier: Apache-2.0
 * run/capture.h: run a program once and get everything in one answer, for
 * small outputs kept in memory (configured local tools). */
#ifndef WBI_RUN_CAPTURE_H
#define WBI_RUN_CAPTURE_H

#include "run/process.h"

struct wbi_capture;

struct wbi_captured {
    struct wbi_process_end end;
    struct wbi_str out, err; /* the first bytes of each, at most the cap */
    uint64_t out_bytes, err_bytes;
    bool out_truncated, err_truncated;
    bool out_of_memory; /* truncated because memory ran out, not by the cap */
};

struct wbi_capture_spec {
    struct wbi_process_spec process;
    size_t out_cap, err_cap; /* 0: WBI_LIMIT_CAPTURE */
    /* May be NULL. A stream went over its cap: first what was captured of it, then each piece
     * that is not captured any more. arg is the one of on_done. */
    void (*on_overflow)(void *arg, enum wbi_stream stream, struct wbi_str bytes);
};

/* on_done runs exactly once on the loop thread, never from inside this call; the
 * answer is good during the callback only. On failure it never runs. */
WB_MUST_CHECK wb_rc wbi_capture_start(struct wbi_runner *runner,
                                      const struct wbi_capture_spec *spec,
                                      void (*on_done)(void *arg, const struct wbi_captured *c),
                                      void *arg, struct wbi_capture **ret, struct wbi_error *err);
/* TERM, grace, KILL; on_done then says cancelled. */
void wbi_capture_cancel(struct wbi_capture *c);

#endif
