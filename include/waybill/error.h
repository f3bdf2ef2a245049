/* SPDX-License-Identifier: Apache-2.0
 * waybill/error.h: why a function of the library failed.
 * Functions that take `wb_error **reterr` set it only when they fail; reterr may
 * be NULL. The caller frees the error with wb_error_free. */
#ifndef WAYBILL_ERROR_H
#define WAYBILL_ERROR_H

#include <stddef.h>

#include "waybill/rc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wb_error wb_error;

/* All accept NULL and any thread; strings live as long as the error. Since 0.1. */
WB_API wb_rc wb_error_rc(const wb_error *error); /* WB_ENOMEM for NULL */
/* One sentence: what was wrong and what would be accepted. Never NULL. */
WB_API const char *wb_error_text(const wb_error *error);
/* Kind of the error table ("invalid_tool_input"), or "" where it has none. */
WB_API const char *wb_error_kind(const wb_error *error);
/* Where: a JSON Pointer or a file name, "" where it has no place. */
WB_API const char *wb_error_at(const wb_error *error);
/* Place in a text, 1-based; 0 where it has none. */
WB_API unsigned wb_error_line(const wb_error *error);
WB_API unsigned wb_error_column(const wb_error *error);
WB_API void wb_error_free(wb_error *error);

/* Free what a function of the library gave out as `char **ret`. NULL is fine. Any thread. */
WB_API void wb_free(void *p);

/* The error table (C4.7): row by index, NULL past the end. Static storage. Any thread. */
typedef struct wb_error_row {
    const char *kind;
    const char *category;
    const char *code;
    int retryable;
    int jsonrpc;
    int http;
    int exit_code;
    const char *hint;
} wb_error_row;
WB_API const wb_error_row *wb_error_table(size_t index, wb_error_row *ret);

#ifdef __cplusplus
}
#endif
#endif
