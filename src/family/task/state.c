/* SPDX-License-Identifier: Apache-2.0
 * family/task/state.c: TaskStatus, TaskStop and TaskInput: short receipts. */
#include "family/task/task_int.h"

#include "base/clock.h"

void wbi_task_write_state(struct wbi_jw *w, const struct wbi_task_view *t)
{
    wbi_jw_kstr(w, "task_id", t->id);
    wbi_jw_kstrz(w, "kind", "command_task");
    wbi_jw_kstrz(w, "status", t->status);
    if (t->over && t->signal == 0 && t->exit_status >= 0)
        wbi_jw_kint(w, "exit_status", t->exit_status);
    if (t->signal != 0)
        wbi_jw_kint(w, "signal", t->signal);
    if (t->timed_out)
        wbi_jw_kbool(w, "timed_out", true);
    if (t->limit != NULL)
        wbi_jw_kstrz(w, "limit", t->limit);
    if (t->error.n > 0)
        wbi_jw_kstr(w, "error", t->error);
}

static void write_time(struct wbi_jw *w, const char *name, int64_t ms)
{
    char text[WBI_RFC3339_SIZE];

    wbi_time_format(ms, text);
    wbi_jw_kstrz(w, name, text);
}

void wbi_task_write_facts(struct wbi_jw *w, const struct wbi_task_view *t)
{
    int64_t until = t->ended_ms > 0 ? t->ended_ms : t->now_ms;

    wbi_jw_kstr(w, "command", t->command);
    wbi_jw_kstr(w, "workdir", t->workdir);
    write_time(w, "started_at", t->started_ms);
    if (t->ended_ms > 0)
        write_time(w, "ended_at", t->ended_ms);
    wbi_jw_kint(w, "duration_ms", until > t->started_ms ? until - t->started_ms : 0);
    if (!t->over)
        wbi_jw_kbool(w, "accepts_input", t->accepts_input);
}

struct wbi_str wbi_task_summary(const struct wbi_task_view *t, struct wbi_arena *arena)
{
    if (!t->over)
        return wbi_arena_fmt(arena, "%.*s is %s", WBI_FMT(t->id), t->status);
    if (t->timed_out)
        return wbi_arena_fmt(arena, "%.*s timed out", WBI_FMT(t->id));
    if (t->limit != NULL)
        return wbi_arena_fmt(arena, "%.*s was ended by the %s limit", WBI_FMT(t->id), t->limit);
    if (t->signal != 0)
        return wbi_arena_fmt(arena, "%.*s %s by signal %d", WBI_FMT(t->id), t->status, t->signal);
    if (t->exit_status < 0)
        return wbi_arena_fmt(arena, "%.*s is %s", WBI_FMT(t->id), t->status);
    return wbi_arena_fmt(arena, "%.*s %s with status %d", WBI_FMT(t->id), t->status,
                         t->exit_status);
}

void wbi_task_render_state(struct wbi_buf *out, const wbi_json *task)
{
    struct wbi_str limit = wbi_json_get_str(task, "limit");
    struct wbi_str error = wbi_json_get_str(task, "error");
    int64_t n;

    wbi_receipt_line(out, "Task", wbi_json_get_str(task, "task_id"));
    wbi_receipt_line(out, "Status", wbi_json_get_str(task, "status"));
    if (wbi_json_i64(wbi_json_get(task, "exit_status"), &n))
        wbi_buf_addf(out, "Exit status: %lld\n", (long long)n);
    if (wbi_json_i64(wbi_json_get(task, "signal"), &n)) {
        const char *name = sigabbrev_np((int)n);
        wbi_buf_addf(out, "Signal: %lld%s%s%s\n", (long long)n, name ? " (SIG" : "",
                     name ? name : "", name ? ")" : "");
    }
    if (wbi_json_true(wbi_json_get(task, "timed_out")))
        wbi_buf_addz(out, "It ran out of its time\n");
    if (limit.p != NULL)
        wbi_receipt_line(out, "Limit", limit);
    if (error.p != NULL)
        wbi_receipt_line(out, "Reason", error);
}

static wb_rc project_state(void *arg, const struct wbi_complete *full,
                           const struct wbi_projection *p, struct wbi_buf *ret_result,
                           struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_task_view *t = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);

    (void)arg;
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "task");
    wbi_jw_obj(&w);
    wbi_task_write_state(&w, t);
    wbi_task_write_facts(&w, t);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_task_summary(t, p->arena);
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

#define COMMAND_SHOWN 300u

static void render_facts(struct wbi_buf *out, const wbi_json *task)
{
    int64_t ms = 0;

    (void)wbi_json_i64(wbi_json_get(task, "duration_ms"), &ms); /* absent: 0 */
    wbi_receipt_line(out, "Command",
                     wbi_str_head(wbi_json_get_str(task, "command"), COMMAND_SHOWN));
    wbi_receipt_line(out, "Started", wbi_json_get_str(task, "started_at"));
    if (wbi_json_get_str(task, "ended_at").p != NULL)
        wbi_receipt_line(out, "Ended", wbi_json_get_str(task, "ended_at"));
    wbi_buf_addf(out, "Ran for: %lld ms\n", (long long)ms);
}

static wb_rc render_status(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                           struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *task = wbi_json_get(c->result, "task");

    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_addf(out, "Task is %.*s\n", WBI_FMT(wbi_json_get_str(task, "status")));
    wbi_task_render_state(out, task);
    render_facts(out, task);
    return wbi_buf_rc(out);
}

static wb_rc render_stop(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                         struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *task = wbi_json_get(c->result, "task");
    bool ending = wbi_str_eqz(wbi_json_get_str(task, "status"), "cancelling");

    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_addz(out, ending ? "Task was asked to stop and is still ending\n" : "Task stopped\n");
    wbi_task_render_state(out, task);
    if (ending)
        wbi_buf_addz(out, "Next: ask TaskStatus, or call TaskStop again to kill it at once\n");
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_task_status_family = {
    "task_status",
    NULL,
    project_state,
    render_status,
    {"/task/status", "/task/command", "/task/started_at"}};
const struct wbi_family wbi_task_stop_family = {
    "task_stop", NULL, project_state, render_stop, {"/task/status"}};

static wb_rc project_input(void *arg, const struct wbi_complete *full,
                           const struct wbi_projection *p, struct wbi_buf *ret_result,
                           struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_task_input *t = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);

    (void)arg;
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "task_id", t->task_id);
    wbi_jw_kbool(&w, "accepted_input", true);
    wbi_jw_kstrz(&w, "input_target", t->tty ? "tty" : "stdin");
    wbi_jw_kint(&w, "bytes_written", (int64_t)t->bytes);
    if (t->closed)
        wbi_jw_kbool(&w, "closed", true);
    wbi_jw_obj_end(&w);
    *ret_summary =
        wbi_arena_fmt(p->arena, "%llu byte%s written to %.*s", (unsigned long long)t->bytes,
                      t->bytes == 1 ? "" : "s", WBI_FMT(t->task_id));
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static wb_rc render_input(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                          struct wbi_buf *out, struct wbi_error *err)
{
    int64_t bytes = 0;

    (void)arg;
    (void)arena;
    (void)err;
    (void)wbi_json_i64(wbi_json_get(c->result, "bytes_written"), &bytes); /* absent: 0 */
    wbi_buf_addf(out, "Input written: %lld byte%s to %.*s%s\n", (long long)bytes,
                 bytes == 1 ? "" : "s", WBI_FMT(wbi_json_get_str(c->result, "input_target")),
                 wbi_json_true(wbi_json_get(c->result, "closed")) ? ", then closed" : "");
    wbi_receipt_line(out, "Task", wbi_json_get_str(c->result, "task_id"));
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_task_input_family = {"task_input",
                                                 NULL,
                                                 project_input,
                                                 render_input,
                                                 {"/task_id", "/bytes_written", "/input_target"}};
