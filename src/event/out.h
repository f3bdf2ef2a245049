/* SPDX-License-Identifier: Apache-2.0
 * event/out.h: where lines of events go. No line ever waits for its reader: what
 * a reader does not take at once waits in bounded memory, and what does not fit
 * there is lost and counted. A reader that went away loses everything from then
 * on. Lines are written whole, up to PIPE_BUF bytes in one write, so that several
 * processes may write to one file or pipe. Loop thread only. */
#ifndef WBI_EVENT_OUT_H
#define WBI_EVENT_OUT_H

#include "base/slice.h"
#include "loop/loop.h"

struct wbi_event_out;

/* target: the number of an open descriptor, or a file, which is appended to. A
 * named pipe nobody reads yet is opened all the same. WB_ESTATE. */
WB_MUST_CHECK wb_rc wbi_event_out_open(struct wbi_loop *loop, struct wbi_str target,
                                       struct wbi_event_out **ret, struct wbi_error *err);
/* Flushes. NULL is fine. */
void wbi_event_out_free(struct wbi_event_out *out);

/* Take one line, without its newline. WB_EAGAIN: no room; WB_EIO: no reader. */
WB_MUST_CHECK wb_rc wbi_event_out_put(struct wbi_event_out *out, struct wbi_str line);
/* Wait for a slow reader, at most WBI_EVENTS_FLUSH_MS. */
void wbi_event_out_flush(struct wbi_event_out *out);
/* Lines that were taken and that no reader has taken from here: lost for good, or
 * still waiting. */
uint64_t wbi_event_out_untaken(const struct wbi_event_out *out);

#endif
