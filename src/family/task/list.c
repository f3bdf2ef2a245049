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

static uint64_t cost_of(const void *rows, size_t i)
{
    return wbi_tokens(shown(((const struct wbi_task_view *)rows)[i].command)) + 50;
}

static void write_row(struct wbi_jw *w, const void *rows, size_t i)
{
    const struct wbi_task_view *t = (const struct wbi_task_view *)rows + i;

    wbi_jw_obj(w);
    wbi_task_write_state(w, t);
    wbi_task_write_facts(w, t);
    wbi_jw_obj_end(w);
}

void wbi_task_mark(const void *rows, size_t i, int64_t *ret_ms, struct wbi_str *ret_name)
{
    const struct wbi_task_view *t = (const struct wbi_task_view *)rows + i;

    *ret_ms = t->started_ms;
    *ret_name = t->id;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_task_rows *list = full->typed;
    struct wbi_paged paged = {.member = "tasks",
                              .noun = "task",
                              .rows = list->rows,
                              .count = list->count,
                              .total = list->total,
                              .running = &list->running,
                              .limit = list->limit,
                              .budget = list->budget,
                              .cost = cost_of,
                              .write = write_row,
                              .mark = wbi_task_mark};

    (void)arg;
    return wbi_paged_project(&paged, p->arena, ret_result, ret_summary, err);
}

static void render_row(struct wbi_buf *out, const wbi_json *task)
{
    struct wbi_str limit = wbi_json_get_str(task, "limit");
    int64_t n;

    wbi_buf_addf(out, "%.*s %.*s", WBI_FMT(wbi_json_get_str(task, "task_id")),
                 WBI_FMT(wbi_json_get_str(task, "status")));
    if (wbi_json_i64(wbi_json_get(task, "exit_status"), &n))
        wbi_buf_addf(out, " (status %lld)", (long long)n);
    if (wbi_json_true(wbi_json_get(task, "timed_out")))
        wbi_buf_addz(out, " (timed out)");
    else if (limit.p != NULL)
        wbi_buf_addf(out, " (%.*s limit)", WBI_FMT(limit));
    else if (wbi_json_i64(wbi_json_get(task, "signal"), &n))
        wbi_buf_addf(out, " (signal %lld)", (long long)n);
    if (wbi_json_i64(wbi_json_get(task, "duration_ms"), &n))
        wbi_buf_addf(out, " %lld ms", (long long)n);
    wbi_receipt_line(out, "", shown(wbi_json_get_str(task, "command")));
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    (void)arg;
    (void)arena;
    (void)err;
    wbi_paged_render(out, c, "tasks", "tasks", render_row);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_task_list_family = {
    "task_list", NULL, project, render, {"/tasks", "/total"}};
