/* SPDX-License-Identifier: Apache-2.0
 * builtin/task_reach.c: finding, watching and asking for tasks, wherever they run. */
#include "builtin/task_int.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "call/control.h"
#include "store/store.h"

bool wbi_task_is_ours(const struct wbi_exec *x, const struct wbi_task_info *info)
{
    return strcmp(info->owner, wbi_store_instance(x->runtime->store)) == 0;
}

static wb_rc close_orphans(struct wbi_exec *x, struct wbi_error *err)
{
    uint64_t closed;

    return wbi_tasks_recover(x->runtime->tasks, &closed, err);
}

/* What another runtime writes has grown since it stored the fact. */
static void look_at_output(struct wbi_exec *x, struct wbi_task_info *info)
{
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++) {
        struct wbi_artifact now;
        if (info->output[i].name[0] != '\0' &&
            wbi_artifact_find(x->runtime->artifacts, wbi_str_z(info->output[i].name), &now, NULL) ==
                WB_OK)
            info->output[i] = now;
    }
}

static wb_rc fetch(struct wbi_exec *x, struct wbi_str id, struct wbi_arena *arena,
                   struct wbi_task_info *ret, struct wbi_error *err)
{
    wb_rc rc = wbi_tasks_get(x->runtime->tasks, id, arena, ret, err);

    if (rc != WB_OK || wbi_task_over(ret->state) || wbi_task_is_ours(x, ret))
        return rc;
    if (!wbi_store_owner_alive(x->runtime->store, wbi_str_z(ret->owner))) {
        rc = close_orphans(x, err);
        if (rc == WB_OK)
            rc = wbi_tasks_get(x->runtime->tasks, id, arena, ret, err);
        return rc;
    }
    look_at_output(x, ret);
    return WB_OK;
}

wb_rc wbi_task_fetch(struct wbi_exec *x, struct wbi_str id, struct wbi_task_info *ret,
                     struct wbi_error *err)
{
    wb_rc rc = wbi_runtime_open_artifacts(x->runtime, err);

    return rc == WB_OK ? fetch(x, id, x->arena, ret, err) : rc;
}

#define COMMAND_SHOWN 1000u

struct wbi_task_view wbi_task_view_of(const struct wbi_exec *x, const struct wbi_task_info *info)
{
    struct wbi_task_view v = {
        .status = wbi_task_state_name(info->state),
        .over = wbi_task_over(info->state),
        .command = wbi_str_head(info->cmd, wbi_utf8_cut_words(info->cmd, COMMAND_SHOWN)),
        .workdir = info->workdir,
        .error = info->error,
        .exit_status = info->exit_status,
        .signal = info->signal,
        .timed_out = info->timed_out,
        .tty = info->tty,
        .accepts_input = info->accepts_input,
        .containment = wbi_containment_name(info->containment),
        .started_ms = info->started_ms,
        .ended_ms = info->ended_ms,
        .now_ms = wbi_wall_ms(&x->runtime->clock)};

    if (info->limit != WBI_HIT_NONE && info->limit != WBI_HIT_TIME)
        v.limit = wbi_limit_name(info->limit);
    v.id = wbi_arena_str(x->arena, wbi_str_z(info->id));
    return v;
}

/* ---- waiting ---- */

#define LOOK_MS 50

static void end_watch(struct wbi_task_watch *w, enum wbi_retrieval r)
{
    w->wait = NULL;
    wbi_timer_free(w->timer);
    w->timer = NULL;
    w->on_ready(w->arg, r);
}

static void on_ours(void *arg, enum wbi_retrieval r)
{
    end_watch(arg, r);
}

/* Memory of its own: a long wait looks often. */
static bool is_over(struct wbi_task_watch *w)
{
    struct wbi_task_info info;
    struct wbi_arena *arena;
    bool over;

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return false;
    over =
        fetch(w->exec, wbi_str_z(w->id), arena, &info, NULL) != WB_OK || wbi_task_over(info.state);
    wbi_arena_free(arena);
    return over;
}

static void look(void *arg)
{
    struct wbi_task_watch *w = arg;
    int64_t left = (w->until_ns - wbi_now_ns(&w->exec->runtime->clock)) / WBI_NS_PER_MS;

    if (is_over(w))
        end_watch(w, WBI_RETRIEVAL_SUCCESS);
    else if (left <= 0)
        end_watch(w, WBI_RETRIEVAL_TIMEOUT);
    else
        wbi_timer_start(w->timer, left < LOOK_MS ? left : LOOK_MS);
}

wb_rc wbi_task_watch_start(struct wbi_task_watch *w, const struct wbi_task_info *info,
                           int64_t wait_ms, struct wbi_error *err)
{
    struct wbi_exec *x = w->exec;

    memcpy(w->id, info->id, sizeof(w->id));
    if (wait_ms <= 0 || wbi_task_over(info->state)) {
        w->on_ready(w->arg,
                    wbi_task_over(info->state) ? WBI_RETRIEVAL_SUCCESS : WBI_RETRIEVAL_NOT_READY);
        return WB_OK;
    }
    if (wbi_task_is_ours(x, info))
        return wbi_tasks_wait(x->runtime->tasks, wbi_str_z(w->id), wait_ms, on_ours, w, &w->wait,
                              err);
    if (wbi_timer_new(x->runtime->loop, look, w, &w->timer) != WB_OK)
        return wbi_fail_nomem(err);
    w->until_ns = wbi_now_ns(&x->runtime->clock) + wait_ms * WBI_NS_PER_MS;
    wbi_timer_start(w->timer, WBI_MIN(wait_ms, (int64_t)LOOK_MS));
    return WB_OK;
}

void wbi_task_watch_stop(struct wbi_task_watch *w)
{
    wbi_tasks_unwait(w->wait);
    w->wait = NULL;
    wbi_timer_free(w->timer);
    w->timer = NULL;
}

/* ---- asking another runtime ---- */

#define ASK_MS 5000

struct asking {
    char owner[64];
    const char *method;
    char *params;
    int run_fd;
    wbi_read_done *on_done;
    void *arg;
    wb_rc rc;
    struct wbi_error err;
};

static bool take_answer(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                        const struct wbi_error *err)
{
    struct asking *a = arg;

    (void)instance;
    (void)result;
    a->rc = rc;
    if (rc != WB_OK && err != NULL)
        a->err = *err;
    return true;
}

static void ask_work(void *arg)
{
    struct asking *a = arg;
    wb_rc rc = wbi_control_call(a->run_fd, a->owner, a->method, wbi_str_z(a->params), ASK_MS,
                                take_answer, a, &a->err);

    if (rc != WB_OK)
        a->rc = rc;
    if (a->rc == WB_EAGAIN && a->err.kind == WBI_KIND_OUTCOME_UNKNOWN)
        (void)wbi_fail_kind(&a->err, a->rc, WBI_KIND_OUTCOME_UNKNOWN,
                            "the runtime that runs the task did not answer in time; it may still "
                            "do what it was asked to");
    else if (a->rc != WB_OK && a->err.kind == WBI_KIND_OUTCOME_UNKNOWN)
        (void)wbi_fail_kind(&a->err, a->rc,
                            strcmp(a->method, "tasks.stop") == 0 ? WBI_KIND_TASK_NOT_RUNNING
                                                                 : WBI_KIND_OUTCOME_UNKNOWN,
                            "the runtime that ran the task ended without an answer");
    if (a->rc != WB_OK && a->err.kind == WBI_KIND_NONE)
        (void)wbi_fail_kind(&a->err, a->rc, WBI_KIND_TASK_NOT_RUNNING,
                            "the runtime that runs the task does not answer");
}

static void ask_done(void *arg)
{
    struct asking a = *(struct asking *)arg;

    wbi_free(a.params);
    wbi_free(arg);
    a.on_done(a.arg, a.rc, &a.err);
}

wb_rc wbi_task_ask(struct wbi_exec *x, const char *owner, const char *method, struct wbi_str params,
                   wbi_read_done *on_done, void *arg, struct wbi_error *err)
{
    struct asking *a = wbi_zalloc(sizeof(*a));
    wb_rc rc;

    if (a == NULL)
        return wbi_fail_nomem(err);
    memcpy(a->owner, owner, strnlen(owner, sizeof(a->owner) - 1));
    a->method = method;
    a->params = wbi_strdup(params);
    a->run_fd = wbi_store_dir(x->runtime->store)->run_fd;
    a->on_done = on_done;
    a->arg = arg;
    rc = a->params != NULL ? wbi_loop_work(x->runtime->loop, ask_work, ask_done, a, err)
                           : wbi_fail_nomem(err);
    if (rc == WB_OK)
        return WB_OK;
    wbi_free(a->params);
    wbi_free(a);
    return rc;
}

/* ---- answering ---- */

static void reply(struct wbi_control_request *request, wb_rc rc, const struct wbi_error *err)
{
    if (rc == WB_OK)
        wbi_control_answer(request, WBI_LIT("{\"ok\":true}"));
    else
        wbi_control_refuse(request, err);
}

static void serve_input(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_runtime *rt = arg;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_runtime_open_artifacts(rt, &err);

    if (rc == WB_OK)
        rc = wbi_tasks_input(rt->tasks, wbi_json_get_str(params, "task_id"),
                             wbi_json_get_str(params, "input"),
                             wbi_json_true(wbi_json_get(params, "end_of_input")), &err);
    reply(request, rc, &err);
}

static void serve_stop(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_runtime *rt = arg;
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_runtime_open_artifacts(rt, &err);

    if (rc == WB_OK)
        rc = wbi_tasks_stop(rt->tasks, wbi_json_get_str(params, "task_id"), &err);
    reply(request, rc, &err);
}

wb_rc wbi_task_serve(struct wbi_runtime *rt, struct wbi_error *err)
{
    wb_rc rc = wbi_runtime_control_method(rt, "tasks.input", serve_input, rt, err);

    if (rc == WB_OK)
        rc = wbi_runtime_control_method(rt, "tasks.stop", serve_stop, rt, err);
    return rc;
}
