/* SPDX-License-Identifier: Apache-2.0
 * waybill/compact.h: results and conversations made smaller (C11). Any thread, with
 * a runtime after wb_runtime_start; with one that another thread drives only there.
 * `*ret` is freed by the caller with wb_free. */
#ifndef WAYBILL_COMPACT_H
#define WAYBILL_COMPACT_H

#include <stdint.h>

#include "waybill/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One canonical result on a rung: 0 full, 1 trimmed, 2 summary, 3 one line. A
 * legal canonical result, never larger than the rung before. */
WB_API WB_MUST_CHECK wb_rc wb_compact_result(const char *canonical, size_t size, int rung,
                                             char **ret, size_t *ret_size, wb_error **reterr);

typedef struct wb_compact_report {
    uint64_t tokens_before, tokens_after; /* estimates, on the safe side */
    uint64_t minimum;                     /* a budget that always works; 0: not needed */
    uint64_t results, compacted, folded;
} wb_compact_report;

/* A conversation (bare array or request object) within budget tokens, in the
 * same form; as it is when it fits. runtime: its ledger is asked for the
 * canonical results of the calls; NULL: results are generic text. report may be
 * NULL. WB_ELIMIT: budget is below the minimum, which the report says. */
WB_API WB_MUST_CHECK wb_rc wb_compact_history(wb_runtime *runtime, const char *provider,
                                              const char *history, size_t size, uint64_t budget,
                                              wb_compact_report *report, char **ret,
                                              size_t *ret_size, wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
