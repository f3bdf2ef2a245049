/* SPDX-License-Identifier: Apache-2.0
 * family/command/command_int.h: what the files of the family share. */
#ifndef WBI_FAMILY_COMMAND_COMMAND_INT_H
#define WBI_FAMILY_COMMAND_COMMAND_INT_H

#include "family/canonical.h"
#include "family/command/command.h"
#include "family/receipt.h"

/* How it ended, and the streams. */
WB_MUST_CHECK wb_rc wbi_command_write_completed(const struct wbi_command_output *o,
                                                struct wbi_arena *arena, struct wbi_jw *w,
                                                struct wbi_error *err);
/* What the preview of a stream costs when nothing is cut, with a little slack. */
uint64_t wbi_command_need(const struct wbi_command_stream *s);
/* What stands about a stream beside its preview. */
uint64_t wbi_command_frame(const struct wbi_command_stream *s);
#define WBI_COMMAND_HEADER_TOKENS 24u /* how it ended */

/* Give each item of a batch its telling and its budget, so that the receipt costs at most
 * `tokens`. WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_batch_share(struct wbi_command_batch *batch, uint64_t tokens,
                                    struct wbi_arena *arena);

/* A command line as far as results repeat it: the record has all of it. */
struct wbi_str wbi_command_shown(struct wbi_str cmd);
/* Of a command that ran: the batch goes on, so its item tells what an ExecCommand would end in. */
#define WBI_BATCH_LOST                                                                         \
    "output_persistence_failed: its output could not all be written to the disk of the state " \
    "directory; what was saved is kept"
#define WBI_BATCH_UNKNOWN                                                                       \
    "outcome_unknown: the process that watched it was killed, and it with it; see what it did " \
    "before running it again"
const char *wbi_disposition_name(enum wbi_disposition d);

WB_MUST_CHECK wb_rc wbi_command_project(void *arg, const struct wbi_complete *full,
                                        const struct wbi_projection *p, struct wbi_buf *ret_result,
                                        struct wbi_str *ret_summary, struct wbi_error *err);
/* The receipt of a completed command: first line, header, sections. */
void wbi_command_render_completed(const wbi_json *result, struct wbi_buf *out);

#endif
