/* SPDX-License-Identifier: Apache-2.0
 * api/replay_int.h: the complete output of a recorded call, found again. */
#ifndef WBI_API_REPLAY_INT_H
#define WBI_API_REPLAY_INT_H

#include "call/runtime.h"
#include "family/command/command.h"

/* A completed command from its canonical result: what was cut is read from the
 * artifacts, what was not is all there. WB_ENOTFOUND when something is gone, or
 * the command had not ended. Memory of arena. */
WB_MUST_CHECK wb_rc wbi_replay_command(struct wbi_runtime *rt, struct wbi_arena *arena,
                                       const wbi_json *result, struct wbi_str cmd, uint32_t budget,
                                       struct wbi_command_output *ret);

#endif
