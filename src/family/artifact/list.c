/* SPDX-License-Identifier: Apache-2.0
 * family/artifact/list.c: the list of kept outputs, as many as fit the budget. */
#include "family/artifact/artifact.h"

#include "base/clock.h"
#include "text/tokens.h"

void wbi_artifact_row_write(struct wbi_jw *w, const struct wbi_artifact_row *r)
{
    char created[WBI_RFC3339_SIZE];

    wbi_time_format(r->created_ms, created);
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "path", r->path);
    wbi_jw_kstr(w, "tool", r->tool);
    wbi_jw_kstr(w, "role", r->role);
    wbi_jw_kstr(w, "call_id", r->call_id);
    wbi_jw_kstrz(w, "created_at", created);
    wbi_jw_kint(w, "bytes", (int64_t)r->bytes);
    wbi_jw_kint(w, "lines", (int64_t)r->lines);
    if (r->sha256[0] != '\0')
        wbi_jw_kstrz(w, "sha256", r->sha256);
    wbi_jw_kstrz(w, "state",
                 r->expired    ? "expired"
                 : r->writing  ? "writing"
                 : r->complete ? "complete"
                               : "incomplete");
    if (r->reason[0] != '\0')
        wbi_jw_kstrz(w, "reason", r->reason);
    wbi_jw_obj_end(w);
}

/* What a row costs in the receipt: the path and some small words. */
static uint64_t cost_of(const struct wbi_artifact_row *r)
{
    return wbi_tokens(r->path) + wbi_tokens(r->tool) + 40;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_artifact_rows *list = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    uint64_t left = list->budget_tokens > 80 ? list->budget_tokens - 80 : 0;
    size_t n = 0, most = list->count;

    (void)arg;
    if (list->limit > 0 && list->limit < most)
        most = list->limit;
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "items");
    wbi_jw_arr(&w);
    while (n < most && (n == 0 || cost_of(&list->rows[n]) <= left)) {
        uint64_t cost = cost_of(&list->rows[n]);
        left -= cost < left ? cost : left;
        wbi_artifact_row_write(&w, &list->rows[n++]);
    }
    wbi_jw_arr_end(&w);
    wbi_jw_kint(&w, "total", (int64_t)list->total);
    if (n < list->count) {
        const struct wbi_artifact_row *last = &list->rows[n - 1];
        struct wbi_str token =
            wbi_arena_fmt(p->arena, "%lld.%.*s", (long long)last->created_ms, WBI_FMT(last->path));
        if (token.p == NULL)
            return wbi_fail_nomem(err);
        wbi_jw_kstr(&w, "nextToken", token);
    }
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(p->arena, "%zu artifact%s, %zu shown", list->total,
                                 list->total == 1 ? "" : "s", n);
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static void render_row(struct wbi_buf *out, const wbi_json *item)
{
    struct wbi_str state = wbi_json_get_str(item, "state");
    int64_t bytes = 0, lines = 0;

    (void)wbi_json_i64(wbi_json_get(item, "bytes"), &bytes); /* absent: 0 */
    (void)wbi_json_i64(wbi_json_get(item, "lines"), &lines);
    wbi_buf_addf(out, "%.*s %.*s %.*s, %lld lines, %lld bytes",
                 WBI_FMT(wbi_json_get_str(item, "created_at")),
                 WBI_FMT(wbi_json_get_str(item, "tool")), WBI_FMT(wbi_json_get_str(item, "role")),
                 (long long)lines, (long long)bytes);
    if (!wbi_str_eqz(state, "complete"))
        wbi_buf_addf(out, ", %.*s", WBI_FMT(state));
    wbi_buf_addf(out, ": %.*s\n", WBI_FMT(wbi_json_get_str(item, "path")));
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *items = wbi_json_get(c->result, "items");
    struct wbi_str token = wbi_json_get_str(c->result, "nextToken");

    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    if (token.p != NULL)
        wbi_receipt_line(out, "Next page: pageToken", token);
    if (wbi_json_count(items) > 0)
        wbi_buf_addf(out, "artifacts: (%zu line%s)\n", wbi_json_count(items),
                     wbi_json_count(items) == 1 ? "" : "s");
    WBI_JSON_EACH (items, item) {
        render_row(out, item);
    }
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_list_artifacts_family = {
    "artifacts", NULL, project, render, {"/items", "/total"}};
