/* SPDX-License-Identifier: Apache-2.0
 * family/file/hide.c: what text/secrets.h does with a text, told line by line. Lines never
 * become more or fewer, so the n-th is the n-th before and after. */
#include "family/file/hide.h"

#include "base/checked.h"
#include "base/limits.h"
#include "family/file/show_int.h"
#include "text/secrets.h"

wb_rc wbi_hide_begin(struct wbi_hide *h, const struct wbi_secrets *secrets, struct wbi_str text)
{
    struct wbi_secrets_report report = {.n = 0};
    struct wbi_buf out;
    wb_rc rc;

    *h = (struct wbi_hide){.secrets = secrets};
    if (text.n > WBI_HIDE_MOST || !wbi_secrets_suspected(secrets, text))
        return WB_OK;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &h->arena) != WB_OK)
        return WB_ENOMEM;
    h->clean = wbi_file_clean(h->arena, text);
    wbi_buf_init_arena(&out, h->arena, WBI_LIMIT_JSON_TEXT);
    rc = h->clean.p != NULL ? wbi_secrets_replace(secrets, h->clean, &out, &report) : WB_ENOMEM;
    h->shown = wbi_buf_str(&out);
    h->any = report.total > 0;
    return rc;
}

void wbi_hide_end(struct wbi_hide *h)
{
    wbi_arena_free(h->arena);
    h->arena = NULL;
}

static struct wbi_str take_line(struct wbi_str *text)
{
    size_t n = wbi_str_index(*text, '\n');
    struct wbi_str line = wbi_str_head(*text, n);

    *text = wbi_str_from(*text, WBI_MIN(n + 1, text->n));
    return line;
}

void wbi_hide_skip(struct wbi_hide *h, uint64_t lines)
{
    for (; lines > 0 && h->clean.n > 0; lines--) {
        (void)take_line(&h->clean);
        (void)take_line(&h->shown);
    }
}

wb_rc wbi_hide_line(struct wbi_hide *h, struct wbi_hidden *ret)
{
    struct wbi_buf alone;
    wb_rc rc;

    *ret = (struct wbi_hidden){take_line(&h->clean), take_line(&h->shown), false};
    if (wbi_str_eq(ret->clean, ret->shown))
        return WB_OK;
    wbi_buf_init_arena(&alone, h->arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_secrets_replace(h->secrets, ret->clean, &alone, NULL);
    ret->hides = rc == WB_OK && !wbi_str_eq(ret->shown, wbi_buf_str(&alone));
    if (!ret->hides || ret->shown.n > 0)
        return rc;
    wbi_buf_clear(&alone); /* a line of a block, which is replaced in its first one */
    rc = wbi_secrets_mask(h->secrets, "value", ret->clean, &alone);
    ret->shown = wbi_buf_str(&alone);
    return rc;
}
