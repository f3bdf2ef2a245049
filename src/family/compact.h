/* SPDX-License-Identifier: Apache-2.0
 * family/compact.h: one canonical result made smaller (C11, S0 "Compaction
 * Contract"). Pure; never reads artifacts, never parses receipts. */
#ifndef WBI_FAMILY_COMPACT_H
#define WBI_FAMILY_COMPACT_H

#include "family/canonical.h"

enum wbi_rung {
    WBI_RUNG_FULL = 0,
    WBI_RUNG_TRIMMED, /* long texts cut in the middle */
    WBI_RUNG_SUMMARY, /* no texts: status, ids, handles, references, counts, error */
    WBI_RUNG_LINE     /* what is protected, and nothing else */
};
#define WBI_RUNGS 4

/* A legal canonical result (C4.1) of at most the size of the rung before, as
 * JSON. Kept on every rung: tool_name, status, summary_text, error.kind,
 * error.message, error.recovery_hint, error.retryable, ids and handles, artifact
 * references. WB_EINPUT when text is no canonical result. */
WB_MUST_CHECK wb_rc wbi_compact_result(struct wbi_arena *arena, struct wbi_str canonical,
                                       enum wbi_rung rung, struct wbi_str *ret,
                                       struct wbi_error *err);

/* What a model reads of a result on the SUMMARY or LINE rung: the outcome first,
 * then every leaf that is left by its name; on LINE all on one line. canonical
 * comes from wbi_compact_result. Adds to out, without a line end. */
WB_MUST_CHECK wb_rc wbi_compact_receipt(struct wbi_arena *arena, struct wbi_str canonical,
                                        enum wbi_rung rung, struct wbi_buf *out,
                                        struct wbi_error *err);
/* The same of a canonical result that was read. */
WB_MUST_CHECK wb_rc wbi_compact_show(struct wbi_arena *arena, const struct wbi_canonical *can,
                                     enum wbi_rung rung, struct wbi_buf *out);

#endif
