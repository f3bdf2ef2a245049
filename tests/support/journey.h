/* SPDX-License-Identifier: Apache-2.0
 * tests/support/journey.h: one whole call as data (tests/journeys/NAME.json), run through
 * the public library with a clock that stands still and counted ids.
 * Members of a journey:
 *   proves    clauses and sentences it stands for
 *   tools     [{descriptor, does, family?}]: C functions. does: "echo" (its input),
 *             {"json": …}, {"text": …}, {"raw": "text given as JSON"}, {"fail": {kind,
 *             message, details}}, "later" (echo from another thread), "until cancelled",
 *             "late" (finishes well, but only once cancelled)
 *   files     {path: JSON or text}: a trusted workspace
 *   call      S1 members, and inputText (raw), maxTokens, lenient, principal
 *   cancel    true: cancel once it runs
 *   lines     instead of call: items for dispatch; with provider, group
 *   views     of the result to compare besides canonical, receipt, exitCode, kind
 *   expect    what came of it; WAYBILL_UPDATE=1 rewrites it */
#ifndef WAYBILL_TESTS_JOURNEY_H
#define WAYBILL_TESTS_JOURNEY_H

#include "json/write.h"
#include "waybill/waybill.h"

struct journey {
    const wbi_json *data;
    struct wbi_arena *arena;
    wb_runtime *runtime;
    char root[64];      /* of the workspace, "" without files */
    int done;           /* callbacks that came */
    wb_rc submit;       /* of the submission */
    struct wbi_buf got; /* the `expect` object that came of it, heap */
    bool failed;        /* out of memory on the way: clean, but nothing to compare */
};

/* Parse text (kept in j->arena). False: it is no journey. */
bool journey_read(struct journey *j, struct wbi_str text);
/* Make the workspace and runtime, call, write j->got, tear down. True when
 * there is a result; false when memory ran out cleanly. */
bool journey_run(struct journey *j);
/* Forget the state a run left in its workspace: ids are counted, and a ledger
 * takes none twice. Call it between runs. */
void journey_fresh(struct journey *j);
void journey_end(struct journey *j);

#endif
