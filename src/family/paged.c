/* SPDX-License-Identifier: Apache-2.0
 * family/paged.c */
#include "family/paged.h"

#include <stdio.h>

#include "base/arena.h"

#define HEADER_TOKENS 80u

/* "<time>.<name>" of the last row shown: everything after it in the list. */
wb_rc wbi_paged_skip(const void *rows, size_t count, wbi_paged_mark *mark, struct wbi_str token,
                     const char *tool, size_t *ret_n, struct wbi_error *err)
{
    size_t dot = wbi_str_index(token, '.');
    int64_t last, ms;

    *ret_n = 0;
    if (token.p == NULL)
        return WB_OK;
    if (!wbi_parse_i64(wbi_str_head(token, dot), &last))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "this pageToken was not given by %s", tool);
    for (size_t i = 0; i < count; i++) {
        struct wbi_str name;

        mark(rows, i, &ms, &name);
        if (ms < last)
            break;
        *ret_n = i + 1;
        if (wbi_str_eq(name, wbi_str_from(token, dot + 1)))
            break;
    }
    return WB_OK;
}

static size_t write_rows(struct wbi_jw *w, const struct wbi_paged *list)
{
    uint64_t left = list->budget.tokens > HEADER_TOKENS ? list->budget.tokens - HEADER_TOKENS : 0;
    size_t n = 0, most = list->count;

    if (list->limit > 0 && list->limit < most)
        most = list->limit;
    wbi_jw_key(w, list->member);
    wbi_jw_arr(w);
    for (; n < most; n++) {
        uint64_t cost = list->cost(list->rows, n);

        if (cost > left && n > 0)
            break;
        left -= cost < left ? cost : left;
        list->write(w, list->rows, n);
    }
    wbi_jw_arr_end(w);
    wbi_jw_kint(w, "total", (int64_t)list->total);
    return n;
}

static wb_rc write_token(struct wbi_jw *w, const struct wbi_paged *list, size_t shown,
                         struct wbi_arena *arena, struct wbi_error *err)
{
    struct wbi_str name, token;
    int64_t ms;

    if (shown == list->count)
        return WB_OK;
    list->mark(list->rows, shown - 1, &ms, &name);
    token = wbi_arena_fmt(arena, "%lld.%.*s", (long long)ms, WBI_FMT(name));
    if (token.p == NULL)
        return wbi_fail_nomem(err);
    wbi_jw_kstr(w, "nextToken", token);
    return WB_OK;
}

wb_rc wbi_paged_project(const struct wbi_paged *list, struct wbi_arena *arena,
                        struct wbi_buf *ret_result, struct wbi_str *ret_summary,
                        struct wbi_error *err)
{
    struct wbi_jw w = wbi_jw_to(ret_result);
    char running[48] = "";
    size_t n;
    wb_rc rc;

    wbi_jw_obj(&w);
    n = write_rows(&w, list);
    if (list->running != NULL) {
        wbi_jw_kint(&w, "running", (int64_t)*list->running);
        (void)snprintf(running, sizeof(running), ", %zu running", *list->running);
    }
    rc = write_token(&w, list, n, arena, err);
    wbi_receipt_write_budget(&w, &list->budget);
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(arena, "%zu %s%s%s, %zu shown", list->total, list->noun,
                                 list->total == 1 ? "" : "s", running, n);
    if (rc == WB_OK && ret_summary->p == NULL)
        return wbi_fail_nomem(err);
    return rc == WB_OK ? wbi_buf_rc(ret_result) : rc;
}

void wbi_paged_render(struct wbi_buf *out, const struct wbi_canonical *c, const char *member,
                      const char *section, void (*row)(struct wbi_buf *out, const wbi_json *item))
{
    const wbi_json *items = wbi_json_get(c->result, member);
    struct wbi_str token = wbi_json_get_str(c->result, "nextToken");

    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    wbi_receipt_budget(out, c->result);
    if (token.p != NULL)
        wbi_receipt_line(out, "Next page: pageToken", token);
    if (wbi_json_count(items) > 0)
        wbi_buf_addf(out, "%s: (%zu line%s)\n", section, wbi_json_count(items),
                     wbi_json_count(items) == 1 ? "" : "s");
    WBI_JSON_EACH (items, item) {
        row(out, item);
    }
}
