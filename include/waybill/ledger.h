/* SPDX-License-Identifier: Apache-2.0
 * waybill/ledger.h: what was written down of calls, and the runtimes that are at
 * work in a state directory. `*ret` is NUL-terminated JSON unless said otherwise
 * and freed by the caller with wb_free. Any thread, one at a time per object; all
 * block. */
#ifndef WAYBILL_LEDGER_H
#define WAYBILL_LEDGER_H

#include "waybill/call.h"
#include "waybill/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wb_ledger wb_ledger;

typedef enum wb_ledger_mode {
    WB_LEDGER_READ = 0,   /* calls that a dead process left open are closed first */
    WB_LEDGER_EXAMINE = 1 /* open even one that is refused for use; change nothing */
} wb_ledger_mode;

/* options as for wb_runtime_new; configuration files are not read. WB_ESTATE
 * with a next step when the state directory cannot be used. Where there is none yet, the
 * ledger is empty and none is made, but by wb_ledger_checkpoint and to verify a witness. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_open(const wb_options *options, wb_ledger_mode mode,
                                          wb_ledger **ret, wb_error **reterr);
WB_API void wb_ledger_free(wb_ledger *ledger); /* NULL is fine */

/* Which calls; all members may be NULL or 0. */
typedef struct wb_ledger_filter {
    const char *tool, *status, *error_kind, *conversation;
    const char *since, *until; /* RFC 3339, or so long ago: "90s", "15m", "2h", "7d" */
    size_t limit;              /* the newest that many; 0: all */
} wb_ledger_filter;

/* Newest first: [{id, time, tool, status, error_kind, duration_ms, effect, principal,
 * conversation, call_id, summary}]. A call without an outcome has status "open".
 * filter may be NULL. WB_EINPUT: a time that is none. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_list(wb_ledger *ledger, const wb_ledger_filter *filter,
                                          char **ret, size_t *ret_size, wb_error **reterr);
/* One surface of one call, byte for byte what its caller got. id: "call_…", or a
 * provider's id if only one call has it. WB_ENOTFOUND; WB_EAGAIN while it has no
 * outcome. WB_VIEW_RECEIPT is text; WB_VIEW_ITEM is not kept. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_show(wb_ledger *ledger, const char *id, wb_view view,
                                          char **ret, size_t *ret_size, wb_error **reterr);

/* Rows as JSON, oldest first, one on_line each: {seq, kind, call_id, time, …, hash}.
 * *after (may be NULL) is the sequence number to go on behind, and then that of the
 * last row seen, so that a later call gives what came since. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_rows(wb_ledger *ledger, const wb_ledger_filter *filter,
                                          int64_t *after, wb_line_cb on_line, void *arg,
                                          wb_error **reterr);
/* Sequence number of the newest row; of the n-th newest with back = n - 1. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_newest(wb_ledger *ledger, size_t back, int64_t *ret,
                                            wb_error **reterr);

/* Every row, the database file and the witnesses outside. witness: a file of
 * checkpoints kept elsewhere, or NULL. {good, rows, first_bad?, what?, head, witness:
 * {…}}; *ret_good (may be NULL) is 1 when all is well. Slow. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_verify(wb_ledger *ledger, const char *witness, int *ret_good,
                                            char **ret, size_t *ret_size, wb_error **reterr);

/* Calls, errors by kind, latency percentiles, tokens shown and kept away, the
 * largest results (docs/ledger.md). filter->limit is not used. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_stats(wb_ledger *ledger, const wb_ledger_filter *filter,
                                           char **ret, size_t *ret_size, wb_error **reterr);

/* ---- checkpoints, retention ---- */

typedef enum wb_checkpoint_op {
    WB_CHECKPOINT_WRITE = 0,  /* sign the newest row */
    WB_CHECKPOINT_ROTATE = 1, /* and go on with a new key */
    WB_CHECKPOINT_RESTART = 2 /* put the witness aside, begin a new one */
} wb_checkpoint_op;
/* {head: {seq, hash}, witness: {state, checkpoints, keys, last, public_key}}.
 * WB_ENOTFOUND when the witness is missing: only RESTART makes one again. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_checkpoint(wb_ledger *ledger, wb_checkpoint_op op, char **ret,
                                                size_t *ret_size, wb_error **reterr);

typedef struct wb_ledger_retention {
    const char *older_than; /* as wb_ledger_filter.until; NULL: of any age */
    size_t keep;            /* the newest so many rows stay */
    int dry_run;            /* only say what would go */
} wb_ledger_retention;
/* Remove the oldest rows. The chain stays verifiable, rows of calls and tasks that
 * still run stay. {removed, first_kept, held_by?}. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_prune(wb_ledger *ledger, const wb_ledger_retention *retention,
                                           char **ret, size_t *ret_size, wb_error **reterr);

/* What the model would have seen with a budget of so many tokens per result, and
 * with the tools and bindings of runtime (whose configuration may be another): one
 * on_line per call, oldest first: {id, tool, how, allowed, tokens, tokens_then,
 * receipt}. how: "exact" the complete output was projected again, "same" it fits as
 * it is, "recorded" the complete output was not kept, so this is what was shown. On the
 * loop thread of runtime, or while no loop runs. */
WB_API WB_MUST_CHECK wb_rc wb_ledger_replay(wb_ledger *ledger, wb_runtime *runtime,
                                            const wb_ledger_filter *filter, unsigned budget,
                                            wb_line_cb on_line, void *arg, wb_error **reterr);

/* ---- runtimes at work ---- */

/* Calls in flight in every process that uses the state directory: [{instance, id,
 * callId, tool, stage, startedAt, elapsedMs, …}]. */
WB_API WB_MUST_CHECK wb_rc wb_live_calls(wb_ledger *ledger, char **ret, size_t *ret_size,
                                         wb_error **reterr);
/* The processes themselves: [{instance, pid, version, calls, ledger, …}]. */
WB_API WB_MUST_CHECK wb_rc wb_live_health(wb_ledger *ledger, char **ret, size_t *ret_size,
                                          wb_error **reterr);
/* Ask the call to end, whichever process runs it. WB_ENOTFOUND. */
WB_API WB_MUST_CHECK wb_rc wb_live_cancel(wb_ledger *ledger, const char *id, wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
