/* SPDX-License-Identifier: Apache-2.0
 * builtin/task.c: TaskOutput, TaskStatus, TaskList, TaskInput, TaskStop (C7.2). */
#include "builtin/task_int.h"

#include "base/checked.h"
#include "base/limits.h"

static struct wbi_str asked_id(const struct wbi_exec *x)
{
    return wbi_json_get_str(x->input, "task_id");
}

/* ---- TaskOutput ---- */

struct output_state {
    struct wbi_exec *exec;
    struct wbi_task_watch watch;
    struct wbi_task_output typed;
    struct wbi_reading reading;
    bool waiting;
};

static void output_done(void *arg, wb_rc rc, const struct wbi_error *err)
{
    struct output_state *s = arg;

    wbi_exec_end(s->exec, &s->typed, rc, WBI_KIND_TOOL_EXECUTION_FAILED, err);
}

/* The stream a range is read from. */
static wb_rc pick_stream(struct output_state *s, const struct wbi_task_info *info,
                         struct wbi_error *err)
{
    struct wbi_str wish = wbi_json_get_str(s->exec->input, "stream");
    struct wbi_artifact *ret = &s->reading.artifact;
    int i = info->output[0].bytes == 0 && info->output[1].bytes > 0;

    if (wbi_str_eqz(wish, "combined") && !info->tty)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the task %s has no terminal, so its streams are apart: stdout or "
                             "stderr",
                             info->id);
    if (wish.p != NULL)
        i = wbi_str_eqz(wish, "stderr");
    *ret = info->output[i];
    if (wish.p == NULL && !info->tty)
        s->reading.other = info->output[!i];
    if (ret->name[0] != '\0')
        return WB_OK;
    return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_ARTIFACT_NOT_FOUND,
                         "the task %s has printed nothing there", info->id);
}

/* Where the call names no stream, the answer says which it is of, so that the next read is of
 * the same one whatever the other prints meanwhile. */
static void tell_stream(struct output_state *s, const struct wbi_task_info *info)
{
    int i = strcmp(s->reading.artifact.name, info->output[1].name) == 0;

    if (wbi_json_get(s->exec->input, "stream") != NULL || info->tty)
        return;
    s->typed.stream = i == 0 ? "stdout" : "stderr";
    s->typed.other_bytes = info->output[!i].bytes;
}

static struct wbi_str subject_of(const struct output_state *s)
{
    struct wbi_exec *x = s->exec;
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "task_id", asked_id(x));
    if (wbi_json_get(x->input, "stream") != NULL)
        wbi_jw_kval(&w, "stream", wbi_json_get(x->input, "stream"));
    else if (s->typed.stream != NULL && strcmp(s->typed.stream, "stderr") == 0)
        wbi_jw_kstrz(&w, "stream", "stderr"); /* stdout may have printed by then */
    wbi_jw_obj_end(&w);
    return wbi_buf_str(&text);
}

static wb_rc read_output(struct output_state *s, const struct wbi_task_info *info,
                         struct wbi_error *err)
{
    struct wbi_exec *x = s->exec;
    struct wbi_str wish = wbi_json_get_str(x->input, "stream");
    struct wbi_command_output *o = &s->typed.output;
    wb_rc rc;

    if (wbi_reading_asked(x->input)) {
        s->reading.exec = x;
        s->reading.on_done = output_done;
        s->reading.arg = s;
        s->typed.page = &s->reading.view;
        rc = pick_stream(s, info, err);
        if (rc == WB_OK)
            rc = wbi_reading_start(&s->reading, err);
        if (rc != WB_OK)
            return rc;
        tell_stream(s, info);
        s->reading.view.subject = subject_of(s);
        return WB_OK;
    }
    o->disposition = WBI_DISPOSITION_COMPLETED;
    if (wbi_task_over(info->state)) { /* which stream tells more depends on it */
        o->exit_status = info->exit_status;
        o->signal = info->signal;
    }
    o->cmd = info->cmd;
    o->combined = info->tty;
    if (!info->tty) { /* combined: both */
        o->unasked[0] = wbi_str_eqz(wish, "stderr");
        o->unasked[1] = wbi_str_eqz(wish, "stdout");
    }
    o->budget = wbi_exec_budget(x);
    o->budget_tokens = o->budget.tokens;
    return wbi_streams_start(x, info->output, o, &s->reading.stop, output_done, s, err);
}

static void on_ready(void *arg, enum wbi_retrieval r)
{
    struct output_state *s = arg;
    struct wbi_exec *x = s->exec;
    struct wbi_task_info info;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_task_fetch(x, asked_id(x), &info, &err);

    s->waiting = false;
    if (rc == WB_OK) {
        if (wbi_task_over(info.state))
            r = WBI_RETRIEVAL_SUCCESS;
        s->typed.task = wbi_task_view_of(x, &info);
        s->typed.retrieval = wbi_retrieval_name(r);
        if (r != WBI_RETRIEVAL_TIMEOUT)
            s->typed.waited_ms = 0;
        rc = read_output(s, &info, &err);
    }
    if (rc != WB_OK)
        wbi_exec_fail_error(x, WBI_KIND_TOOL_EXECUTION_FAILED, &err);
}

/* A wait ends before the call's own limit does: an answer beats an error. */
#define ANSWER_MS 1000

static int64_t wait_of(const struct wbi_exec *x, int64_t otherwise)
{
    int64_t wait = otherwise, left = wbi_exec_left_ms(x);

    (void)wbi_json_i64(wbi_json_get(x->input, "wait_ms"), &wait); /* absent: the default */
    return left < 0 ? wait : WBI_MAX(WBI_MIN(wait, left - ANSWER_MS), (int64_t)0);
}

static void output_start(struct wbi_exec *x)
{
    struct output_state *s = wbi_exec_alloc(x, sizeof(*s));
    struct wbi_task_info info;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc;

    if (s == NULL)
        return;
    x->state = s;
    s->exec = x;
    s->watch = (struct wbi_task_watch){.exec = x, .on_ready = on_ready, .arg = s};
    s->waiting = true;
    rc = wbi_task_fetch(x, asked_id(x), &info, &err);
    if (rc == WB_OK) {
        int64_t asked = 0, wait = wait_of(x, 0);
        if (wbi_json_i64(wbi_json_get(x->input, "wait_ms"), &asked) && asked > wait)
            s->typed.waited_ms = wait;
        rc = wbi_task_watch_start(&s->watch, &info, wait, &err);
    }
    if (rc != WB_OK)
        wbi_exec_fail_error(x, WBI_KIND_TOOL_EXECUTION_FAILED, &err);
}

static void output_cancel(struct wbi_exec *x)
{
    struct output_state *s = x->state;

    if (s == NULL)
        return;
    if (!s->waiting) {
        atomic_store(&s->reading.stop, true);
        return;
    }
    s->waiting = false;
    wbi_task_watch_stop(&s->watch);
    wbi_exec_stopped(x, WBI_NONE);
}

const struct wbi_tool_ops wbi_task_output_ops = {output_start, output_cancel};

/* ---- TaskStatus ---- */

static void status_start(struct wbi_exec *x)
{
    struct wbi_task_view *view = wbi_exec_alloc(x, sizeof(*view));
    struct wbi_task_info info;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc;

    if (view == NULL)
        return;
    rc = wbi_task_fetch(x, asked_id(x), &info, &err);
    if (rc == WB_OK)
        *view = wbi_task_view_of(x, &info);
    wbi_exec_end(x, view, rc, WBI_KIND_TOOL_EXECUTION_FAILED, &err);
}

const struct wbi_tool_ops wbi_task_status_ops = {status_start, NULL};

/* ---- TaskList ---- */

static bool wanted(enum wbi_task_state state, struct wbi_str wish)
{
    if (wish.p == NULL || wbi_str_eqz(wish, "all"))
        return true;
    if (wbi_str_eqz(wish, "running"))
        return !wbi_task_over(state);
    if (wbi_str_eqz(wish, "ended"))
        return wbi_task_over(state);
    return wbi_str_eqz(wish, wbi_task_state_name(state));
}

static wb_rc gather(struct wbi_exec *x, struct wbi_task_rows *list, struct wbi_error *err)
{
    struct wbi_str wish = wbi_json_get_str(x->input, "status");
    struct wbi_task_info *all;
    struct wbi_task_view *rows;
    uint64_t closed;
    size_t n, skipped;
    wb_rc rc = wbi_runtime_open_artifacts(x->runtime, err);

    if (rc == WB_OK)
        rc = wbi_tasks_recover(x->runtime->tasks, &closed, err);
    if (rc == WB_OK)
        rc = wbi_tasks_list(x->runtime->tasks, x->arena, &all, &n, err);
    if (rc != WB_OK)
        return rc;
    rows = wbi_arena_array(x->arena, n > 0 ? n : 1, sizeof(*rows));
    if (rows == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        list->running += !wbi_task_over(all[i].state);
        if (wanted(all[i].state, wish))
            rows[list->total++] = wbi_task_view_of(x, &all[i]);
    }
    rc = wbi_paged_skip(rows, list->total, wbi_task_mark, wbi_json_get_str(x->input, "pageToken"),
                        "TaskList", &skipped, err);
    list->rows = rows + skipped;
    list->count = list->total - skipped;
    return rc;
}

static void list_start(struct wbi_exec *x)
{
    struct wbi_task_rows *list = wbi_exec_alloc(x, sizeof(*list));
    struct wbi_error err = WBI_ERROR_INIT;
    int64_t limit = 0;
    wb_rc rc;

    if (list == NULL)
        return;
    list->budget = wbi_exec_budget(x);
    if (wbi_json_i64(wbi_json_get(x->input, "limit"), &limit) && limit > 0)
        list->limit = (size_t)limit;
    rc = gather(x, list, &err);
    wbi_exec_end(x, list, rc, WBI_KIND_TOOL_EXECUTION_FAILED, &err);
}

const struct wbi_tool_ops wbi_task_list_ops = {list_start, NULL};

/* ---- TaskInput ---- */

struct input_state {
    struct wbi_exec *exec;
    struct wbi_task_input typed;
};

static void input_done(void *arg, wb_rc rc, const struct wbi_error *err)
{
    struct input_state *s = arg;

    wbi_exec_end(s->exec, &s->typed, rc, WBI_KIND_TASK_NOT_RUNNING, err);
}

static wb_rc check_input(const struct wbi_task_info *info, struct wbi_str text,
                         struct wbi_error *err)
{
    if (wbi_task_over(info->state))
        return wbi_fail_kind(err, WB_EMISUSE, WBI_KIND_TASK_NOT_RUNNING, "the task %s is %s",
                             info->id, wbi_task_state_name(info->state));
    if (!info->accepts_input)
        return wbi_fail_kind(err, WB_EMISUSE, WBI_KIND_INVALID_TOOL_INPUT,
                             "the task %s has no input; start its command with accepts_input or "
                             "tty",
                             info->id);
    if (text.n > WBI_LIMIT_PENDING_INPUT) /* before another runtime is asked, which may not even
                                           * take a question of that size */
        return wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the input has %zu bytes, at most %u may wait to be read; nothing "
                             "was written: send it in smaller pieces",
                             text.n, WBI_LIMIT_PENDING_INPUT);
    return WB_OK;
}

static void input_start(struct wbi_exec *x)
{
    struct wbi_str text = wbi_json_get_str(x->input, "input");
    bool close = wbi_json_true(wbi_json_get(x->input, "end_of_input"));
    struct wbi_task_info info;
    struct wbi_error err = WBI_ERROR_INIT;
    struct input_state *s = wbi_exec_alloc(x, sizeof(*s));
    wb_rc rc;

    if (s == NULL)
        return;
    s->exec = x;
    rc = wbi_task_fetch(x, asked_id(x), &info, &err);
    if (rc == WB_OK)
        rc = check_input(&info, text, &err);
    if (rc == WB_OK) {
        s->typed = (struct wbi_task_input){asked_id(x), info.tty, text.n, close};
        if (!wbi_task_is_ours(x, &info)) {
            struct wbi_buf params;
            wbi_buf_init_arena(&params, x->arena, WBI_LIMIT_JSON_TEXT);
            wbi_json_write(&params, x->input);
            rc = wbi_task_ask(x, info.owner, "tasks.input", wbi_buf_str(&params), input_done, s,
                              &err);
            if (rc == WB_OK)
                return;
        } else {
            rc = wbi_tasks_input(x->runtime->tasks, asked_id(x), text, close, &err);
        }
    }
    input_done(s, rc, &err);
}

const struct wbi_tool_ops wbi_task_input_ops = {input_start, NULL};

/* ---- TaskStop ---- */

#define STOP_WAIT_MS 5000

struct stop_state {
    struct wbi_exec *exec;
    struct wbi_task_watch watch;
    struct wbi_task_view view;
    struct wbi_task_info info;
    bool waiting;
};

static void stop_ready(void *arg, enum wbi_retrieval r)
{
    struct stop_state *s = arg;
    struct wbi_exec *x = s->exec;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_task_fetch(x, asked_id(x), &s->info, &err);

    (void)r;
    s->waiting = false;
    if (rc == WB_OK)
        s->view = wbi_task_view_of(x, &s->info);
    wbi_exec_end(x, &s->view, rc, WBI_KIND_TOOL_EXECUTION_FAILED, &err);
}

static void stop_asked(void *arg, wb_rc rc, const struct wbi_error *err)
{
    struct stop_state *s = arg;
    struct wbi_error inner = WBI_ERROR_INIT;

    if (rc != WB_OK) {
        wbi_exec_fail_error(s->exec, WBI_KIND_TASK_NOT_RUNNING, err);
        return;
    }
    s->waiting = true;
    if (wbi_task_watch_start(&s->watch, &s->info, wait_of(s->exec, STOP_WAIT_MS), &inner) != WB_OK)
        wbi_exec_fail_error(s->exec, WBI_KIND_TOOL_EXECUTION_FAILED, &inner);
}

static void stop_start(struct wbi_exec *x)
{
    struct stop_state *s = wbi_exec_alloc(x, sizeof(*s));
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc;

    if (s == NULL)
        return;
    x->state = s;
    s->exec = x;
    s->watch = (struct wbi_task_watch){.exec = x, .on_ready = stop_ready, .arg = s};
    rc = wbi_task_fetch(x, asked_id(x), &s->info, &err);
    if (rc == WB_OK && !wbi_task_over(s->info.state) && !wbi_task_is_ours(x, &s->info)) {
        struct wbi_str params = wbi_arena_fmt(x->arena, "{\"task_id\":\"%s\"}", s->info.id);
        rc = wbi_task_ask(x, s->info.owner, "tasks.stop", params, stop_asked, s, &err);
        if (rc == WB_OK)
            return;
    } else if (rc == WB_OK) {
        rc = wbi_tasks_stop(x->runtime->tasks, asked_id(x), &err);
    }
    stop_asked(s, rc, &err);
}

/* The request was made; only the waiting ends. */
static void stop_cancel(struct wbi_exec *x)
{
    struct stop_state *s = x->state;

    if (s == NULL || !s->waiting)
        return;
    wbi_task_watch_stop(&s->watch);
    stop_ready(s, WBI_RETRIEVAL_TIMEOUT);
}

const struct wbi_tool_ops wbi_task_stop_ops = {stop_start, stop_cancel};
