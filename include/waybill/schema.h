/* SPDX-License-Identifier: Apache-2.0
 * waybill/schema.h: JSON Schema 2020-12 and draft-07: compile once, ask often
 * (docs/schema.md). Any thread. `*ret` is NUL-terminated, set only on WB_OK and
 * freed by the caller with wb_free. */
#ifndef WAYBILL_SCHEMA_H
#define WAYBILL_SCHEMA_H

#include "waybill/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The document behind an absolute URI without fragment: not 0 and the text,
 * good until the function it was given to returns; 0: there is none. Nothing is
 * ever fetched from the network. */
typedef int (*wb_schema_remote_cb)(const char *uri, const char **ret_text, size_t *ret_size,
                                   void *arg);

/* All members may be 0. */
typedef struct wb_schema_options {
    const char *draft; /* "2020-12" or "7"; NULL: what "$schema" says, else 2020-12 */
    int format;        /* not 0: "format" asserts; otherwise it only describes */
    wb_schema_remote_cb remote;
    void *arg;
} wb_schema_options;

/* Immutable: any number of threads may ask at once. */
typedef struct wb_schema wb_schema;

/* options may be NULL. WB_EINPUT: no schema (the error has the place),
 * WB_EUNSUPPORTED: another dialect, or a reference that would need the network,
 * WB_ELIMIT, WB_ENOMEM. */
WB_API WB_MUST_CHECK wb_rc wb_schema_compile(const char *schema, size_t size,
                                             const wb_schema_options *options, wb_schema **ret,
                                             wb_error **reterr);
WB_API void wb_schema_free(wb_schema *schema); /* NULL is fine */

/* Judge an instance. *ret_valid is 1 or 0. *ret (may be NULL) is a JSON object
 * {valid, errors}; each error has code, path, keyword, schemaPath, message and
 * where they apply expected, found, accepted, missingField; the most relevant
 * first. WB_EINPUT: the instance is no JSON, WB_ELIMIT: no verdict, WB_ENOMEM. */
WB_API WB_MUST_CHECK wb_rc wb_schema_check(const wb_schema *schema, const char *instance,
                                           size_t size, int *ret_valid, char **ret,
                                           size_t *ret_size, wb_error **reterr);

/* One line of `waybill schema run`: {id, draft?, format?, schema, instance} to
 * {id, valid, errors}; draft and format of the line win over those of options,
 * which may be NULL. valid is null, and *ret_judged 0, where there was no
 * verdict: a line that is none, a bad schema, a limit. Fails only for WB_ENOMEM
 * and WB_EMISUSE. */
WB_API WB_MUST_CHECK wb_rc wb_schema_run(const char *line, size_t size,
                                         const wb_schema_options *options, int *ret_judged,
                                         char **ret, size_t *ret_size, wb_error **reterr);

/* What providers refuse or do not enforce in tool definitions. text: a schema,
 * a tool (inputSchema, input_schema or parameters beside a name), an array of
 * them, or an object with `tools`. providers: names with commas between, NULL
 * for all. *ret is a JSON array of {tool?, path, keyword, refused, providers,
 * text}; *ret_refused the number of those that are refused. WB_EINPUT. */
WB_API WB_MUST_CHECK wb_rc wb_schema_lint(const char *text, size_t size, const char *providers,
                                          size_t *ret_refused, char **ret, size_t *ret_size,
                                          wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
