/* SPDX-License-Identifier: Apache-2.0
 * wire/repair.h: make a conversation legal again (C9.5). */
#ifndef WBI_WIRE_REPAIR_H
#define WBI_WIRE_REPAIR_H

#include "wire/wire.h"

/* What a call is told for which no output was recorded: a receipt like any other. */
#define WBI_REPAIR_TEXT                                                           \
    "Error: outcome_unknown (not retryable)\n"                                    \
    "no output of this call was recorded; it may have run, in part or in whole\n" \
    "Next: check whether the effect happened before calling again"

/* What is left of a user's message that held nothing but outputs of other turns or of no call,
 * where the conversation needs one: a turn of the user comes first, last and between those of
 * the model. */
#define WBI_REPAIR_NOTE "[the tool results that stood here were not of the turn before]"

struct wbi_repair_report {
    enum wbi_provider provider; /* as given, or as seen */
    size_t calls;               /* in the repaired history */
    size_t outputs_added;       /* synthetic ones */
    size_t orphans_dropped;     /* outputs of no call */
    size_t duplicates_dropped;  /* second outputs and repeated calls */
    size_t outputs_moved;       /* to where the provider wants them */
    size_t outputs_retyped;     /* made to fit their call: its type, id or name */
    size_t ids_given;           /* calls that had none */
    bool changed;
};

/* text: the bare array or the request object. Every call gets exactly one
 * output, in a legal place; a history that is legal already comes back byte
 * for byte. Adds to out. WB_EINPUT, WB_ELIMIT, WB_ENOMEM. report may be NULL. */
WB_MUST_CHECK wb_rc wbi_wire_repair(struct wbi_arena *arena, enum wbi_provider provider,
                                    struct wbi_str text, struct wbi_buf *out,
                                    struct wbi_repair_report *report, struct wbi_error *err);

#endif
