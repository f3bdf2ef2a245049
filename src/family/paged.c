/* SPDX-License-Identifier: Apache-2.0
 * family/paged.c */
#include "family/paged.h"

#include "base/arena.h"

#define HEADER_TOKENS 80u

size_t wbi_paged_write(struct wbi_jw *w, const struct wbi_paged *list)
{
    uint64_t left = list->budget_tokens > HEADER_TOKENS ? list->budget_tokens - HEADER_TOKENS : 0;
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

wb_rc wbi_paged_token(struct wbi_jw *w, const struct wbi_paged *list, size_t shown,
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

void wbi_paged_render(struct wbi_buf *out, const struct wbi_canonical *c, const char *member,
                      const char *section, void (*row)(struct wbi_buf *out, const wbi_json *item))
{
    const wbi_json *items = wbi_json_get(c->result, member);
    struct wbi_str token = wbi_json_get_str(c->result, "nextToken");

    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    if (token.p != NULL)
        wbi_receipt_line(out, "Next page: pageToken", token);
    if (wbi_json_count(items) > 0)
        wbi_buf_addf(out, "%s: (%zu line%s)\n", section, wbi_json_count(items),
                     wbi_json_count(items) == 1 ? "" : "s");
    WBI_JSON_EACH (items, item) {
        row(out, item);
    }
}
