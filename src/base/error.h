/* SPDX-License-Identifier: Apache-2.0
 * base/error.h: what went wrong inside, for whoever called.
 * One struct for all rooms; a call's own error (for the model) is built from
 * it by call/ with a kind of the table in base/error_table.h. */
#ifndef WBI_BASE_ERROR_H
#define WBI_BASE_ERROR_H

#include <stdarg.h>
#include <stdint.h>

#include "base/error_table.h"
#include "base/local.h"
#include "waybill/rc.h"

struct wbi_error {
    wb_rc rc;
    enum wbi_kind kind; /* WBI_KIND_NONE unless the room knows better */
    uint32_t line;      /* 1-based place in a text, 0 where it has none */
    uint32_t column;
    size_t offset;  /* byte offset of the same place */
    char at[160];   /* JSON Pointer or file name, "" where it has none */
    char text[480]; /* one sentence: what was wrong, what would be accepted */
};

#define WBI_ERROR_INIT \
    {                  \
        .rc = WB_OK    \
    }

/* The same where every call passes and mostly does not fail: all the bytes of its texts are
 * not written for nothing. */
static inline void wbi_error_clear(struct wbi_error *err)
{
    err->rc = WB_OK;
    err->kind = WBI_KIND_NONE;
    err->line = err->column = 0;
    err->offset = 0;
    err->at[0] = err->text[0] = '\0';
}

/* A local one that is cleared so. The last of the declarations. */
#define WBI_ERROR_HERE(name)               \
    struct wbi_error name WBI_LARGE_LOCAL; \
    wbi_error_clear(&name)

/* Fill err (which may be NULL) and return rc, so that a failing function can
 * end with `return wbi_fail(err, WB_EINPUT, "…")`. Cuts at UTF-8 boundaries. */
__attribute__((format(printf, 3, 4))) wb_rc wbi_fail(struct wbi_error *err, wb_rc rc,
                                                     const char *fmt, ...);
/* The same with a kind of the error table. */
__attribute__((format(printf, 4, 5))) wb_rc wbi_fail_kind(struct wbi_error *err, wb_rc rc,
                                                          enum wbi_kind kind, const char *fmt, ...);
/* "Out of memory", WB_ENOMEM. */
wb_rc wbi_fail_nomem(struct wbi_error *err);
/* WB_EIO with strerror(errno_value) after what. */
wb_rc wbi_fail_errno(struct wbi_error *err, int errno_value, const char *what);

/* Set err->at (err may be NULL), cut where it is too long. */
void wbi_error_at(struct wbi_error *err, struct wbi_str at);

/* Line and column (1-based, columns in bytes) of offset within text. */
void wbi_error_locate(struct wbi_error *err, const char *text, size_t n, size_t offset);

#endif
