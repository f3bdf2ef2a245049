/* SPDX-License-Identifier: Apache-2.0
 * call/record.h: what is written down of a call (C4.6), as texts. The record
 * given to the caller and the one read back from the ledger are made of the same
 * texts by the same function, so they are the same bytes. */
#ifndef WBI_CALL_RECORD_H
#define WBI_CALL_RECORD_H

#include "call/call.h"

/* All JSON but id and receipt. */
struct wbi_record_texts {
    struct wbi_str id;
    struct wbi_str invocation;
    struct wbi_str canonical;
    struct wbi_str result;
    struct wbi_str receipt;
    struct wbi_str artifacts;
    struct wbi_str timings;
    struct wbi_str policy;
    struct wbi_str events;
    struct wbi_str trust; /* principal, tool, version, tags, schemaRef, audit */
};

/* The call's texts as the ledger keeps them (ledger/lean.h), redacted, in its arena;
 * made once. */
WB_MUST_CHECK wb_rc wbi_record_make(struct wbi_call *call, const struct wbi_record_texts **ret);
/* Who asks and what is to run, in the call's arena: what an intent holds besides
 * its invocation. */
WB_MUST_CHECK wb_rc wbi_record_trust(struct wbi_call *call, struct wbi_str *ret);
/* {id, invocation, canonical, result, receipt, artifacts, timings,
 * policySnapshot, events, trust} */
void wbi_record_write(struct wbi_jw *w, const struct wbi_record_texts *t);
/* The root with __envelope of a recorded call (C4.3). */
WB_MUST_CHECK wb_rc wbi_record_envelope(struct wbi_arena *arena, const struct wbi_record_texts *t,
                                        struct wbi_buf *out);

#endif
