/* SPDX-License-Identifier: Apache-2.0
 * base/error.c: filling an error, and the error table. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *wb_rc_name(wb_rc rc)
{
    static const char *const names[] = {
        "WB_OK",        "WB_EMISUSE",      "WB_ENOMEM", "WB_ELIMIT",    "WB_EINPUT",
        "WB_ENOTFOUND", "WB_EEXISTS",      "WB_ESTATE", "WB_EIO",       "WB_ECANCELLED",
        "WB_EDENIED",   "WB_EUNSUPPORTED", "WB_EAGAIN", "WB_EINTERNAL",
    };
    unsigned at = (unsigned)rc;

    return at < sizeof(names) / sizeof(names[0]) ? names[at] : "WB_?";
}

/* Values are shown up to some byte; the part of a character that is left there goes. */
static void drop_halves(char *text)
{
    size_t n = strlen(text), out = 0, skip;

    for (size_t at = 0; at < n;) {
        size_t len = wbi_utf8_step((const uint8_t *)text + at, n - at, &skip);
        bool half = len == 0 && (uint8_t)text[at] >= 0xc2 && (uint8_t)text[at] < 0xf5;

        if (len == 0)
            len = skip;
        if (!half)
            memmove(text + out, text + at, len);
        out += half ? 0 : len;
        at += len;
    }
    text[out] = '\0';
}

__attribute__((format(printf, 2, 0))) static void put_text(struct wbi_error *err, const char *fmt,
                                                           va_list ap)
{
    if (vsnprintf(err->text, sizeof(err->text), fmt, ap) < 0)
        err->text[0] = '\0';
    if (!wbi_utf8_valid(wbi_str_z(err->text)))
        drop_halves(err->text);
}

wb_rc wbi_fail(struct wbi_error *err, wb_rc rc, const char *fmt, ...)
{
    va_list ap;

    if (err == NULL)
        return rc;
    *err = (struct wbi_error){.rc = rc};
    va_start(ap, fmt);
    put_text(err, fmt, ap);
    va_end(ap);
    return rc;
}

wb_rc wbi_fail_kind(struct wbi_error *err, wb_rc rc, enum wbi_kind kind, const char *fmt, ...)
{
    va_list ap;

    if (err == NULL)
        return rc;
    *err = (struct wbi_error){.rc = rc, .kind = kind};
    va_start(ap, fmt);
    put_text(err, fmt, ap);
    va_end(ap);
    return rc;
}

wb_rc wbi_fail_nomem(struct wbi_error *err)
{
    return wbi_fail(err, WB_ENOMEM, "out of memory");
}

wb_rc wbi_fail_errno(struct wbi_error *err, int errno_value, const char *what)
{
    char text[128];

    /* The GNU form, which may return a static string instead of filling text. */
    return wbi_fail(err, WB_EIO, "%s: %s", what, strerror_r(errno_value, text, sizeof(text)));
}

void wbi_error_at(struct wbi_error *err, struct wbi_str at)
{
    size_t n;

    if (err == NULL)
        return;
    n = wbi_utf8_cut(at, sizeof(err->at) - 1);
    if (n > 0)
        memcpy(err->at, at.p, n);
    err->at[n] = '\0';
}

void wbi_error_locate(struct wbi_error *err, const char *text, size_t n, size_t offset)
{
    uint32_t line = 1, column = 1;

    if (err == NULL)
        return;
    for (size_t i = 0; i < offset && i < n; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else {
            column++;
        }
    }
    err->line = line;
    err->column = column;
    err->offset = offset;
}

static const struct wbi_kind_row rows[] = {{"", WBI_CATEGORY_SYSTEM, "", false, 0, 0, 0, ""},
#define X(id, kind, category, code, retryable, rpc, http, exit, hint) \
    {kind, WBI_CATEGORY_##category, code, retryable, rpc, http, exit, hint},
                                           WBI_ERROR_TABLE(X)
#undef X
};

const struct wbi_kind_row *wbi_kind_row(enum wbi_kind kind)
{
    if (kind <= WBI_KIND_NONE || kind >= WBI_KIND_COUNT)
        kind = WBI_KIND_INTERNAL_ERROR;
    return &rows[kind];
}

enum wbi_kind wbi_kind_by_name(struct wbi_str name)
{
    for (int k = WBI_KIND_NONE + 1; k < WBI_KIND_COUNT; k++)
        if (wbi_str_eqz(name, rows[k].kind))
            return (enum wbi_kind)k;
    return WBI_KIND_NONE;
}

const char *wbi_category_name(enum wbi_category category)
{
    switch (category) {
    case WBI_CATEGORY_CONTRACT:
        return "ContractError";
    case WBI_CATEGORY_POLICY:
        return "PolicyError";
    case WBI_CATEGORY_AUTH:
        return "AuthError";
    case WBI_CATEGORY_EXECUTION:
        return "ExecutionError";
    case WBI_CATEGORY_SYSTEM:
        break;
    }
    return "SystemError";
}
