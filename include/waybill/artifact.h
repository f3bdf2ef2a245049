/* SPDX-License-Identifier: Apache-2.0
 * waybill/artifact.h: complete outputs that are kept, for people and programs.
 * Models read them with ReadArtifact: bounded, cleaned and redacted. Loop thread,
 * or while no loop runs; all functions block. */
#ifndef WAYBILL_ARTIFACT_H
#define WAYBILL_ARTIFACT_H

#include "waybill/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* JSON array, newest first: {path, tool, role, call_id, created_at, bytes, lines,
 * sha256, state, reason}. The caller frees *ret with wb_free. */
WB_API WB_MUST_CHECK wb_rc wb_artifact_list(wb_runtime *runtime, char **ret, size_t *ret_size,
                                            wb_error **reterr);

typedef enum wb_range {
    WB_RANGE_ALL = 0,
    WB_RANGE_LINES = 1, /* "A-B", from 1, both included */
    WB_RANGE_BYTES = 2, /* "A-B", from 0, B excluded */
    WB_RANGE_TAIL = 3,  /* "N": the last lines */
    WB_RANGE_GREP = 4,  /* a regular expression */
    WB_RANGE_JSON = 5   /* a path: "$.a[0]" or "/a/0" */
} wb_range;

typedef struct wb_artifact_query {
    const char *ref; /* path as given, 8 or more hex digits of its SHA-256, or a task id */
    wb_range range;
    const char *value; /* of the range; NULL for ALL */
    unsigned context;  /* lines around a match */
    int raw;           /* not 0: the bytes as they were printed */
} wb_artifact_query;

/* Hands out the text in pieces; what it returns but WB_OK ends the reading. */
typedef wb_rc (*wb_piece_cb)(const char *bytes, size_t size, void *arg);

/* WB_ENOTFOUND (kind artifact_not_found or artifact_expired), WB_EINPUT for a bad
 * range, and what on_piece returned. */
WB_API WB_MUST_CHECK wb_rc wb_artifact_read(wb_runtime *runtime, const wb_artifact_query *query,
                                            wb_piece_cb on_piece, void *arg, wb_error **reterr);

/* JSON object: {count, bytes, incomplete, writing, expired}. */
WB_API WB_MUST_CHECK wb_rc wb_artifact_stats(wb_runtime *runtime, char **ret, size_t *ret_size,
                                             wb_error **reterr);
/* Remove what is past its age and what does not fit the store any more, never what
 * a live task writes. older_than_ms: instead of the configured age; -1: that.
 * JSON object: {removed, removed_bytes, count, bytes}. */
WB_API WB_MUST_CHECK wb_rc wb_artifact_prune(wb_runtime *runtime, int64_t older_than_ms, char **ret,
                                             size_t *ret_size, wb_error **reterr);
/* Compare every finished file with what is known of it. JSON object: {count, bad:
 * [{path, what}]}; *ret_good (may be NULL) is 0 when anything is wrong. */
WB_API WB_MUST_CHECK wb_rc wb_artifact_verify(wb_runtime *runtime, int *ret_good, char **ret,
                                              size_t *ret_size, wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
