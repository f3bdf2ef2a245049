/* SPDX-License-Identifier: Apache-2.0
 * api/error.c: errors and memory given out. */
#include "api/api_int.h"
#include "base/alloc.h"

wb_rc wbi_api_fail(wb_error **reterr, const struct wbi_error *err)
{
    if (reterr == NULL)
        return err->rc;
    *reterr = wbi_alloc(sizeof(**reterr)); /* NULL reads as "out of memory" */
    if (*reterr == NULL)
        return err->rc;
    (*reterr)->e = *err;
    if (err->text[0] == '\0') /* a lower room had no memory, or no more to say */
        (void)wbi_fail(&(*reterr)->e, err->rc, "%s",
                       err->rc == WB_ENOMEM ? "out of memory" : wb_rc_name(err->rc));
    return err->rc;
}

wb_rc wbi_api_fail_text(wb_error **reterr, wb_rc rc, const char *text)
{
    struct wbi_error err;

    (void)wbi_fail(&err, rc, "%s", text);
    return wbi_api_fail(reterr, &err);
}

wb_rc wb_error_rc(const wb_error *error)
{
    return error ? error->e.rc : WB_ENOMEM;
}

const char *wb_error_text(const wb_error *error)
{
    return error ? error->e.text : "out of memory";
}

const char *wb_error_kind(const wb_error *error)
{
    if (error == NULL || error->e.kind == WBI_KIND_NONE)
        return "";
    return wbi_kind_row(error->e.kind)->kind;
}

const char *wb_error_at(const wb_error *error)
{
    return error ? error->e.at : "";
}

unsigned wb_error_line(const wb_error *error)
{
    return error ? error->e.line : 0;
}

unsigned wb_error_column(const wb_error *error)
{
    return error ? error->e.column : 0;
}

void wb_error_free(wb_error *error)
{
    wbi_free(error);
}

void wb_free(void *p)
{
    wbi_free(p);
}

const wb_error_row *wb_error_table(size_t index, wb_error_row *ret)
{
    const struct wbi_kind_row *row;

    if (ret == NULL || index >= WBI_KIND_COUNT - 1)
        return NULL;
    row = wbi_kind_row((enum wbi_kind)(index + 1));
    *ret = (wb_error_row){row->kind,      wbi_category_name(row->category),
                          row->code,      row->retryable,
                          row->jsonrpc,   row->http,
                          row->exit_code, row->hint};
    return ret;
}

wb_rc wbi_api_give(struct wbi_buf *buf, char **ret, size_t *ret_size, wb_error **reterr)
{
    wb_rc rc = wbi_buf_rc(buf);
    char *text = wbi_buf_take(buf, ret_size);

    if (text == NULL)
        return wbi_api_fail_text(reterr, rc == WB_OK ? WB_ENOMEM : rc,
                                 rc == WB_ELIMIT ? "the answer is too large" : "out of memory");
    *ret = text;
    return WB_OK;
}

wb_rc wbi_api_end(struct wbi_buf *buf, wb_rc rc, const struct wbi_error *err, char **ret,
                  size_t *ret_size, wb_error **reterr)
{
    if (rc == WB_OK)
        return wbi_api_give(buf, ret, ret_size, reterr);
    wbi_buf_fini(buf);
    return wbi_api_fail(reterr, err);
}

const char *wb_version(void)
{
    return WAYBILL_VERSION;
}
