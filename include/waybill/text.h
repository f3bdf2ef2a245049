/* SPDX-License-Identifier: Apache-2.0
 * waybill/text.h: pure functions, text in and text out. Any thread. `*ret` is
 * NUL-terminated and freed by the caller with wb_free; it is set only on WB_OK. */
#ifndef WAYBILL_TEXT_H
#define WAYBILL_TEXT_H

#include "waybill/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- JSON ---- */

/* WB_OK when text is one JSON value by the rules of Waybill (docs/json.md);
 * otherwise the error has line and column. */
WB_API WB_MUST_CHECK wb_rc wb_json_check(const char *text, size_t size, wb_error **reterr);
/* RFC 8785. */
WB_API WB_MUST_CHECK wb_rc wb_json_canonical(const char *text, size_t size, char **ret,
                                             size_t *ret_size, wb_error **reterr);
/* Two spaces a level. */
WB_API WB_MUST_CHECK wb_rc wb_json_pretty(const char *text, size_t size, char **ret,
                                          size_t *ret_size, wb_error **reterr);

/* The value a JSON Pointer leads to: strings as their text, others as JSON.
 * WB_ENOTFOUND. */
WB_API WB_MUST_CHECK wb_rc wb_json_pointer(const char *text, size_t size, const char *pointer,
                                           char **ret, size_t *ret_size, wb_error **reterr);
/* A JSON array of objects as a table for people. columns: "member=HEADER" each,
 * member a JSON Pointer or a name; width: of the terminal, 0 for no cutting. */
WB_API WB_MUST_CHECK wb_rc wb_json_table(const char *text, size_t size, const char *const *columns,
                                         size_t column_count, size_t width, char **ret,
                                         size_t *ret_size, wb_error **reterr);

/* ---- times ---- */

/* WB_EINPUT: text is no RFC 3339 time. */
WB_API WB_MUST_CHECK wb_rc wb_time_check(const char *text);

/* ---- SemVer, npm's semantics ---- */

/* *ret_match is 1 when version fits range. WB_EINPUT for bad syntax of either. */
WB_API WB_MUST_CHECK wb_rc wb_semver_match(const char *range, const char *version, int *ret_match,
                                           wb_error **reterr);
/* Index of the highest fitting version. WB_ENOTFOUND when none fits. */
WB_API WB_MUST_CHECK wb_rc wb_semver_pick(const char *range, const char *const *versions,
                                          size_t count, size_t *ret_index, wb_error **reterr);
/* -1, 0 or 1. */
WB_API WB_MUST_CHECK wb_rc wb_semver_compare(const char *a, const char *b, int *ret_order,
                                             wb_error **reterr);

/* ---- __envelope (C4.3) ---- */

/* All members may be NULL; lists have their count. */
typedef struct wb_envelope {
    const char *tool, *provider, *model, *tool_call_id;
    const char *content_type; /* Unknown, Text, List, Object, Image, Binary */
    const char *payload_path;
    const char *schema_ref;
    const char *created_at;    /* RFC 3339; NULL: now */
    const char *const *compat; /* "key=value" each */
    size_t compat_count;
    const char *const *tags;
    size_t tag_count;
    const char *payload_key; /* wrap only; default "result" */
} wb_envelope;

typedef enum wb_envelope_op {
    WB_ENVELOPE_CREATE = 1, /* the envelope alone; root is not used */
    WB_ENVELOPE_ATTACH = 2, /* root with the envelope, replacing one it has */
    WB_ENVELOPE_ENSURE = 3, /* root with its own envelope, or with this one */
    WB_ENVELOPE_GET = 4,    /* the envelope of root; WB_ENOTFOUND without one */
    WB_ENVELOPE_PAYLOAD = 5,
    WB_ENVELOPE_WRAP = 6 /* a new root around any value */
} wb_envelope_op;

WB_API WB_MUST_CHECK wb_rc wb_envelope_apply(wb_envelope_op op, const wb_envelope *envelope,
                                             const char *root, size_t size, char **ret,
                                             size_t *ret_size, wb_error **reterr);
/* 0 when the contentType of root's envelope is Text, List or Object and its payload is no
 * string, array or object, else 1: worth a warning, never a failure. */
WB_API int wb_envelope_fits(const char *root, size_t size);

#ifdef __cplusplus
}
#endif
#endif
