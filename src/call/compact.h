/* SPDX-License-Identifier: Apache-2.0
 * call/compact.h: a conversation within a token budget (C11). Pure: what is
 * known of results comes through a look-up, how they read through a renderer.
 *
 * The newest whole rounds stay exact. Older results step down rung by rung,
 * oldest first, failures and mutations last. A form once chosen is frozen: a
 * history that fits comes back as it is, and one that does not is brought well
 * below the budget, so that the next turns change nothing. */
#ifndef WBI_CALL_COMPACT_H
#define WBI_CALL_COMPACT_H

#include "family/compact.h"
#include "wire/wire.h"

/* What is recorded under an id. It counts only where the history shows that very
 * receipt, or a form made of that result: ids are used again elsewhere. */
struct wbi_compact_known {
    struct wbi_str canonical; /* its canonical result, as JSON */
    struct wbi_str receipt;   /* as the model got it */
    bool mutates;             /* by its effect: a write */
    bool external;            /* nobody can say what it did outside */
};

struct wbi_compact_source {
    /* By call id, with memory of arena; false when nothing is recorded: then the
     * output is generic text. */
    bool (*known)(void *arg, struct wbi_arena *arena, struct wbi_str call_id,
                  struct wbi_compact_known *ret);
    /* The receipt of a canonical result. May be NULL. */
    wb_rc (*render)(void *arg, struct wbi_arena *arena, struct wbi_str canonical,
                    struct wbi_buf *out, struct wbi_error *err);
    void *arg;
};

struct wbi_compact_report {
    uint64_t tokens_before, tokens_after;
    uint64_t minimum; /* a budget that always works; 0 when it was not needed */
    size_t results, compacted, folded;
};

/* Results are worked through as the conversation grew: wherever the model was to
 * speak next and the budget was passed, a batch was due. So the whole history and
 * one whose start was compacted earlier come to the same bytes.
 * history: the bare array or the request object. Adds the same form to out; the
 * bytes of the history itself when it fits and is legal. Repairs it first.
 * WB_ELIMIT when budget is below the minimum: report->minimum says it. */
WB_MUST_CHECK wb_rc wbi_compact_history(struct wbi_arena *arena, enum wbi_provider provider,
                                        struct wbi_str history, uint64_t budget,
                                        const struct wbi_compact_source *source,
                                        struct wbi_buf *out, struct wbi_compact_report *report,
                                        struct wbi_error *err);

#endif
