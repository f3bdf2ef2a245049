/* SPDX-License-Identifier: Apache-2.0
 * family/artifact/list.c: the list of kept outputs, as many as fit the budget. */
#include "family/artifact/artifact.h"

#include "base/clock.h"
#include "family/receipt.h"
#include "text/hygiene.h"
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
    if (!r->uncounted)
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
static uint64_t cost_of(const void *rows, size_t i)
{
    const struct wbi_artifact_row *r = (const struct wbi_artifact_row *)rows + i;

    return wbi_tokens(r->path) + wbi_tokens(r->tool) + 40;
}

static void write_row(struct wbi_jw *w, const void *rows, size_t i)
{
    wbi_artifact_row_write(w, (const struct wbi_artifact_row *)rows + i);
}

void wbi_artifact_mark(const void *rows, size_t i, int64_t *ret_ms, struct wbi_str *ret_name)
{
    const struct wbi_artifact_row *r = (const struct wbi_artifact_row *)rows + i;

    *ret_ms = r->created_ms;
    *ret_name = r->path;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_artifact_rows *list = full->typed;
    struct wbi_paged paged = {.member = "items",
                              .noun = "artifact",
                              .rows = list->rows,
                              .count = list->count,
                              .total = list->total,

                              .limit = list->limit,
                              .budget = list->budget,
                              .cost = cost_of,
                              .write = write_row,
                              .mark = wbi_artifact_mark};

    (void)arg;
    return wbi_paged_project(&paged, p->arena, ret_result, ret_summary, err);
}

static void render_row(struct wbi_buf *out, const wbi_json *item)
{
    struct wbi_str state = wbi_json_get_str(item, "state");
    int64_t bytes = 0, lines = 0;

    (void)wbi_json_i64(wbi_json_get(item, "bytes"), &bytes); /* absent: 0 */
    wbi_buf_addf(out, "%.*s %.*s ", WBI_FMT(wbi_json_get_str(item, "created_at")),
                 WBI_FMT(wbi_json_get_str(item, "tool")));
    wbi_hygiene_one_line(wbi_json_get_str(item, "role"), out); /* who keeps it names it */
    if (wbi_json_i64(wbi_json_get(item, "lines"), &lines))
        wbi_buf_addf(out, ", %lld line%s", (long long)lines, lines == 1 ? "" : "s");
    wbi_buf_addf(out, ", %lld byte%s", (long long)bytes, bytes == 1 ? "" : "s");
    if (!wbi_str_eqz(state, "complete"))
        wbi_buf_addf(out, ", %.*s", WBI_FMT(state));
    wbi_receipt_line(out, "", wbi_json_get_str(item, "path"));
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    (void)arg;
    (void)arena;
    (void)err;
    wbi_paged_render(out, c, "items", "artifacts", render_row);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_list_artifacts_family = {
    "artifacts", NULL, project, render, {"/items", "/total"}};
