/* SPDX-License-Identifier: Apache-2.0
 * family/task/list.c: TaskList, as many as fit the budget. */
#include "family/task/task_int.h"

#include "base/utf8.h"
#include "text/tokens.h"

#define COMMAND_SHOWN 160u

static struct wbi_str shown(struct wbi_str command)
{
    return wbi_str_head(command, wbi_utf8_cut(command, COMMAND_SHOWN));
}

static uint64_t cost_of(const struct wbi_task_view *t)
{
    return wbi_tokens(shown(t->command)) + 50;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_task_rows *list = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    uint64_t left = list->budget_tokens > 80 ? list->budget_tokens - 80 : 0;
    size_t n = 0, most = list->count;

    (void)arg;
    if (list->limit > 0 && list->limit < most)
        most = list->limit;
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "tasks");
    wbi_jw_arr(&w);
    while (n < most && (n == 0 || cost_of(&list->rows[n]) <= left)) {
        uint64_t cost = cost_of(&list->rows[n]);
        left -= cost < left ? cost : left;
        wbi_jw_obj(&w);
        wbi_task_write_state(&w, &list->rows[n]);
        wbi_task_write_facts(&w, &list->rows[n++]);
        wbi_jw_obj_end(&w);
    }
    wbi_jw_arr_end(&w);
    wbi_jw_kint(&w, "total", (int64_t)list->total);
    wbi_jw_kint(&w, "running", (int64_t)list->running);
    if (n < list->count) {
        const struct wbi_task_view *last = &list->rows[n - 1];
        struct wbi_str token =
            wbi_arena_fmt(p->arena, "%lld.%.*s", (long long)last->started_ms, WBI_FMT(last->id));
        if (token.p == NULL)
            return wbi_fail_nomem(err);
        wbi_jw_kstr(&w, "nextToken", token);
    }
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(p->arena, "%zu task%s, %zu running, %zu shown", list->total,
                                 list->total == 1 ? "" : "s", list->running, n);
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static void render_row(struct wbi_buf *out, const wbi_json *task)
{
    int64_t n;

    wbi_buf_addf(out, "%.*s %.*s", WBI_FMT(wbi_json_get_str(task, "task_id")),
                 WBI_FMT(wbi_json_get_str(task, "status")));
    if (wbi_json_i64(wbi_json_get(task, "exit_status"), &n))
        wbi_buf_addf(out, " (status %lld)", (long long)n);
    if (wbi_json_i64(wbi_json_get(task, "signal"), &n))
        wbi_buf_addf(out, " (signal %lld)", (long long)n);
    if (wbi_json_i64(wbi_json_get(task, "duration_ms"), &n))
        wbi_buf_addf(out, " %lld ms", (long long)n);
    wbi_receipt_line(out, "", shown(wbi_json_get_str(task, "command")));
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *tasks = wbi_json_get(c->result, "tasks");
    struct wbi_str token = wbi_json_get_str(c->result, "nextToken");

    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    if (token.p != NULL)
        wbi_receipt_line(out, "Next page: pageToken", token);
    if (wbi_json_count(tasks) > 0)
        wbi_buf_addf(out, "tasks: (%zu line%s)\n", wbi_json_count(tasks),
                     wbi_json_count(tasks) == 1 ? "" : "s");
    WBI_JSON_EACH (tasks, task) {
        render_row(out, task);
    }
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_task_list_family = {
    "task_list", NULL, project, render, {"/tasks", "/total"}};
