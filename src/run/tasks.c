/* SPDX-License-Identifier: Apache-2.0
 * run/tasks.c: live commands and tasks.
 * (1) Memory holds what runs; what has ended lives in its fact.
 * (2) A task is over for everybody else only when its fact says so: output is
 *     finished first, then the fact is stored, then waiters hear of it. A fact that the
 *     disk does not take is stored again until it does. */
#include "run/tasks.h"

#include "base/alloc.h"
#include "loop/loop.h"
#include "run/tasks_int.h"

static const char *const two_roles[] = {"stdout", "stderr"};
static const char *const one_role[] = {"combined", NULL};

wb_rc wbi_tasks_new(const struct wbi_tasks_config *config, struct wbi_tasks **ret,
                    struct wbi_error *err)
{
    struct wbi_tasks *t = wbi_zalloc(sizeof(*t));

    if (t == NULL)
        return wbi_fail_nomem(err);
    t->config = *config;
    *ret = t;
    return WB_OK;
}

static void release(struct wbi_command *c)
{
    struct wbi_command **at = &c->tasks->commands;

    while (*at != NULL && *at != c)
        at = &(*at)->next;
    if (*at == c)
        *at = c->next;
    wbi_arena_free(c->arena);
    wbi_free(c);
}

void wbi_tasks_settle(struct wbi_tasks *t)
{
    struct wbi_command *c, *next;
    wb_rc rc = WB_OK;

    for (c = t->commands; c != NULL && rc == WB_OK; c = next) {
        next = c->next;
        if (!c->unstored)
            continue;
        rc = wbi_task_store(t, &c->info, NULL, NULL);
        if (rc == WB_OK)
            release(c);
        else if (rc == WB_ELIMIT) /* it never fits; the others may */
            rc = WB_OK;
    }
}

void wbi_tasks_free(struct wbi_tasks *t)
{
    if (t == NULL)
        return;
    wbi_tasks_settle(t);
    while (t->commands != NULL) /* the next process calls them interrupted */
        release(t->commands);
    wbi_free(t);
}

size_t wbi_tasks_busy(const struct wbi_tasks *t)
{
    return t->busy;
}

void wbi_tasks_stop_all(struct wbi_tasks *t)
{
    for (struct wbi_command *c = t->commands; c != NULL; c = c->next) {
        if (c->process == NULL)
            continue; /* it has ended by itself */
        c->stop_asked = true;
        wbi_process_stop(c->process);
    }
}

const char *wbi_retrieval_name(enum wbi_retrieval r)
{
    return r == WBI_RETRIEVAL_SUCCESS   ? "success"
           : r == WBI_RETRIEVAL_TIMEOUT ? "timeout"
                                        : "not_ready";
}

/* Waiting */

static void end_wait(struct wbi_task_wait *w)
{
    struct wbi_task_wait **at = &w->command->waits;

    while (*at != NULL && *at != w)
        at = &(*at)->next;
    if (*at == w)
        *at = w->next;
    wbi_timer_free(w->timer);
    wbi_free(w);
}

static void answer(struct wbi_task_wait *w, enum wbi_retrieval r)
{
    void (*on_ready)(void *, enum wbi_retrieval) = w->on_ready;
    void *arg = w->arg;

    end_wait(w);
    on_ready(arg, r);
}

static void on_wait_over(void *arg)
{
    answer(arg, WBI_RETRIEVAL_TIMEOUT);
}

void wbi_tasks_unwait(struct wbi_task_wait *w)
{
    if (w != NULL)
        end_wait(w);
}

/* The life of a command */

/* Output may overtake the keeper's word that it runs. */
static bool has_printed(const struct wbi_command *c)
{
    for (int s = 0; s < WBI_SPOOL_STREAMS && c->spool != NULL; s++)
        if (wbi_spool_counts(c->spool, s).bytes > 0)
            return true;
    return false;
}

void wbi_task_refresh(struct wbi_command *c)
{
    struct wbi_task_info *i = &c->info;

    if (wbi_task_over(i->state))
        return;
    if (c->stop_asked)
        i->state = WBI_TASK_CANCELLING;
    else if (c->process == NULL || wbi_process_pid(c->process) > 0 || has_printed(c))
        i->state = WBI_TASK_RUNNING;
    for (int s = 0; s < WBI_SPOOL_STREAMS && c->spool != NULL; s++)
        if (wbi_spool_counts(c->spool, s).bytes > 0 || i->output[s].name[0] != '\0')
            wbi_spool_describe(c->spool, s, &i->output[s]);
}

static enum wbi_task_state final_state(const struct wbi_command *c)
{
    const struct wbi_process_end *e = &c->end;

    if (c->stop_asked)
        return WBI_TASK_CANCELLED;
    if (e->status_lost)
        return WBI_TASK_INTERRUPTED;
    if (e->rc != WB_OK || e->signal != 0 || e->timed_out || e->limit != WBI_HIT_NONE)
        return WBI_TASK_FAILED;
    return WBI_TASK_COMPLETED;
}

/* Output is finished: the task is over. */
static void conclude(struct wbi_command *c, wb_rc rc, const struct wbi_artifact *got,
                     const struct wbi_error *err)
{
    struct wbi_tasks *t = c->tasks;
    struct wbi_task_info *i = &c->info;
    const char *why = c->end.rc != WB_OK ? c->end.error.text : rc != WB_OK ? err->text : NULL;

    c->spool = NULL;
    memcpy(i->output, got, sizeof(i->output));
    for (int s = 0; s < WBI_SPOOL_STREAMS; s++)
        if (got[s].dropped > 0) /* the file has less */
            i->output[s].lines = c->lines[s];
    i->state = final_state(c);
    i->exit_status = c->end.exit_status;
    i->signal = c->end.signal;
    i->timed_out = c->end.timed_out;
    i->limit = c->end.limit;
    i->containment = c->end.containment;
    i->ended_ms = wbi_wall_ms(&t->config.clock);
    if (why != NULL)
        i->error = wbi_arena_str(c->arena, wbi_str_z(why));
    rc = wbi_task_store(t, i, NULL, NULL);
    t->busy--;
    if (t->config.on_finished != NULL)
        t->config.on_finished(t->config.arg, i);
    while (c->waits != NULL)
        answer(c->waits, WBI_RETRIEVAL_SUCCESS);
    if (rc == WB_OK)
        release(c);
    else
        c->unstored = true;
}

static void on_output_kept(void *arg, wb_rc rc, const struct wbi_artifact *got,
                           const struct wbi_error *err)
{
    conclude(arg, rc, got, err);
}

static void on_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct wbi_command *c = arg;

    wbi_spool_add(c->spool, (int)stream, bytes);
    if (!c->promoted && c->ops.on_output != NULL)
        c->ops.on_output(c->arg, stream, bytes);
}

static void on_dropped(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct wbi_command *c = arg;

    wbi_spool_drop(c->spool, (int)stream, bytes, "output_limit");
}

/* One that was promoted at once stands as queued where other processes look. */
static void on_started(void *arg)
{
    struct wbi_command *c = arg;

    if (!c->promoted || c->info.state != WBI_TASK_QUEUED)
        return;
    wbi_task_refresh(c);
    if (wbi_task_store(c->tasks, &c->info, NULL, NULL) != WB_OK)
        return; /* its end is stored again */
}

static void on_end(void *arg, const struct wbi_process_end *end)
{
    struct wbi_command *c = arg;
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc;

    c->process = NULL;
    c->end = *end;
    if (!c->promoted) {
        struct wbi_command_ops ops = c->ops;
        struct wbi_spool *spool = c->spool;
        void *owner = c->arg;
        c->tasks->busy--;
        release(c);
        ops.on_end(owner, end, spool);
        return;
    }
    for (int s = 0; s < WBI_SPOOL_STREAMS; s++)
        c->lines[s] = wbi_spool_counts(c->spool, s).lines;
    if (wbi_spool_finish_later(c->spool, c->tasks->config.loop, 3, on_output_kept, c) == WB_OK)
        return;
    rc = wbi_spool_finish(c->spool, 3, got, &err);
    conclude(c, rc, got, &err);
}

static wb_rc describe(struct wbi_command *c, const struct wbi_command_spec *spec,
                      struct wbi_error *err)
{
    struct wbi_task_info *i = &c->info;

    i->call_id = wbi_arena_str(c->arena, spec->call_id);
    i->cmd = wbi_arena_str(c->arena, spec->cmd);
    i->workdir = wbi_arena_str(c->arena, spec->workdir);
    i->shell = wbi_arena_str(c->arena, spec->shell);
    c->place = wbi_arena_str(c->arena, spec->place);
    if ((spec->call_id.p != NULL && i->call_id.p == NULL) ||
        (spec->cmd.p != NULL && i->cmd.p == NULL) ||
        (spec->workdir.p != NULL && i->workdir.p == NULL) ||
        (spec->shell.p != NULL && i->shell.p == NULL) ||
        (spec->place.p != NULL && c->place.p == NULL))
        return wbi_fail_nomem(err);
    i->tty = spec->process.stdin_kind == WBI_STDIN_TTY;
    i->accepts_input = spec->accepts_input;
    i->exit_status = -1;
    i->started_ms = wbi_wall_ms(&c->tasks->config.clock);
    memcpy(i->owner, c->tasks->config.owner, sizeof(i->owner));
    wbi_id_make(&c->tasks->config.ids, "task_", i->id);
    return WB_OK;
}

wb_rc wbi_command_start(struct wbi_tasks *t, const struct wbi_command_spec *spec,
                        const struct wbi_command_ops *ops, void *arg, struct wbi_command **ret,
                        struct wbi_error *err)
{
    static const struct wbi_process_ops process_ops = {on_output, on_end, on_dropped, on_started};
    bool tty = spec->process.stdin_kind == WBI_STDIN_TTY;
    struct wbi_command *c = wbi_zalloc(sizeof(*c));
    wb_rc rc;

    if (c == NULL)
        return wbi_fail_nomem(err);
    c->tasks = t;
    c->ops = *ops;
    c->arg = arg;
    rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &c->arena);
    if (rc != WB_OK)
        (void)wbi_fail_nomem(err);
    if (rc == WB_OK)
        rc = describe(c, spec, err);
    if (rc == WB_OK)
        rc = wbi_spool_open(t->config.store, spec->call_id, tty ? one_role : two_roles, &c->spool,
                            err);
    if (rc == WB_OK)
        rc = wbi_process_start(t->config.runner, &spec->process, &process_ops, c, &c->process, err);
    if (rc != WB_OK) {
        wbi_spool_discard(c->spool);
        release(c);
        return rc;
    }
    c->next = t->commands;
    t->commands = c;
    t->busy++;
    *ret = c;
    return WB_OK;
}

struct wbi_process *wbi_command_process(struct wbi_command *c)
{
    return c->process;
}

struct wbi_spool *wbi_command_spool(struct wbi_command *c)
{
    return c->spool;
}

wb_rc wbi_command_promote(struct wbi_command *c, const char **ret_id, struct wbi_error *err)
{
    wb_rc rc;

    for (int s = 0; s < WBI_SPOOL_STREAMS; s++) /* the paths exist from now on */
        if (wbi_spool_name(c->spool, s) != NULL)
            wbi_spool_describe(c->spool, s, &c->info.output[s]);
    wbi_task_refresh(c);
    rc = wbi_task_store(c->tasks, &c->info, NULL, err);
    if (rc != WB_OK)
        return rc;
    c->promoted = true;
    *ret_id = c->info.id;
    return WB_OK;
}

/* Tasks */

struct wbi_command *wbi_task_live(const struct wbi_tasks *t, struct wbi_str id)
{
    for (struct wbi_command *c = t->commands; c != NULL; c = c->next)
        if (c->promoted && wbi_str_eqz(id, c->info.id))
            return c;
    return NULL;
}

static bool same(struct wbi_str a, struct wbi_str b)
{
    return (a.p == NULL) == (b.p == NULL) && wbi_str_eq(a, b);
}

static bool takes_input(const struct wbi_command *c)
{
    return c->info.accepts_input && wbi_process_reads(c->process);
}

const char *wbi_tasks_duplicate(const struct wbi_tasks *t, struct wbi_str cmd,
                                struct wbi_str workdir, struct wbi_str shell, struct wbi_str place,
                                bool tty, bool wants_input)
{
    for (const struct wbi_command *c = t->commands; c != NULL; c = c->next)
        if (c->promoted && c->process != NULL && !c->stop_asked && c->info.tty == tty &&
            same(c->info.cmd, cmd) && same(c->info.workdir, workdir) &&
            same(c->info.shell, shell) && same(c->place, place) && (!wants_input || takes_input(c)))
            return c->info.id;
    return NULL;
}

static wb_rc not_found(struct wbi_str id, struct wbi_error *err)
{
    return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_TASK_NOT_FOUND, "no task %.*s",
                         WBI_FMT(wbi_str_head(id, 100)));
}

wb_rc wbi_tasks_get(struct wbi_tasks *t, struct wbi_str id, struct wbi_arena *arena,
                    struct wbi_task_info *ret, struct wbi_error *err)
{
    struct wbi_command *c;
    wb_rc rc;

    wbi_tasks_settle(t);
    c = wbi_task_live(t, id);
    if (c != NULL) {
        wbi_task_refresh(c);
        *ret = c->info;
        ret->call_id = wbi_arena_str(arena, c->info.call_id);
        ret->cmd = wbi_arena_str(arena, c->info.cmd);
        ret->workdir = wbi_arena_str(arena, c->info.workdir);
        ret->shell = wbi_arena_str(arena, c->info.shell);
        ret->error = wbi_arena_str(arena, c->info.error);
        return WB_OK;
    }
    if (!wbi_fact_key_ok(id) || !wbi_str_starts(id, WBI_LIT("task_")))
        return not_found(id, err);
    rc = wbi_task_load(t, id, arena, ret, err);
    return rc == WB_ENOTFOUND ? not_found(id, err) : rc;
}

/* Its process has ended by itself; its output is not yet on the disk, nor its end told. */
static bool is_ending(const struct wbi_command *c)
{
    return c != NULL && c->process == NULL && !wbi_task_over(c->info.state);
}

/* The running task, or why there is none. */
static wb_rc running(struct wbi_tasks *t, struct wbi_str id, struct wbi_command **ret,
                     struct wbi_error *err)
{
    struct wbi_command *c = wbi_task_live(t, id);
    struct wbi_task_info info;
    struct wbi_arena *arena;
    wb_rc rc;

    if (c != NULL && c->process != NULL) {
        *ret = c;
        return WB_OK;
    }
    if (is_ending(c))
        return wbi_fail_kind(err, WB_EMISUSE, WBI_KIND_TASK_NOT_RUNNING,
                             "the command of the task %s has ended", c->info.id);
    rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_tasks_get(t, id, arena, &info, err);
    if (rc == WB_OK)
        rc = wbi_fail_kind(err, WB_EMISUSE, WBI_KIND_TASK_NOT_RUNNING, "the task %s is %s", info.id,
                           wbi_task_over(info.state) ? wbi_task_state_name(info.state)
                                                     : "run by another process");
    wbi_arena_free(arena);
    return rc;
}

wb_rc wbi_tasks_input(struct wbi_tasks *t, struct wbi_str id, struct wbi_str bytes,
                      bool end_of_input, struct wbi_error *err)
{
    struct wbi_command *c = NULL;
    wb_rc rc = running(t, id, &c, err);

    if (rc == WB_OK && bytes.n > 0 && !wbi_process_reads(c->process))
        return wbi_fail_kind(err, WB_EMISUSE, WBI_KIND_TOOL_EXECUTION_FAILED,
                             "the input of the task %s is closed, nothing was written; start its "
                             "command again to send it more",
                             c->info.id);
    if (rc == WB_OK && bytes.n > 0)
        rc = wbi_process_input(c->process, bytes, err);
    if (rc == WB_OK && end_of_input)
        wbi_process_close_input(c->process);
    return rc;
}

wb_rc wbi_tasks_stop(struct wbi_tasks *t, struct wbi_str id, struct wbi_error *err)
{
    struct wbi_command *c = NULL;
    wb_rc rc;

    if (is_ending(wbi_task_live(t, id)))
        return WB_OK; /* nothing is left to stop: its end is as good */
    rc = running(t, id, &c, err);
    if (rc != WB_OK)
        return rc;
    if (c->stop_asked)
        wbi_process_kill(c->process);
    else
        wbi_process_stop(c->process);
    c->stop_asked = true;
    wbi_task_refresh(c);
    return wbi_task_store(t, &c->info, NULL, err);
}

wb_rc wbi_tasks_wait(struct wbi_tasks *t, struct wbi_str id, int64_t wait_ms,
                     void (*on_ready)(void *, enum wbi_retrieval), void *arg,
                     struct wbi_task_wait **ret, struct wbi_error *err)
{
    struct wbi_command *c = wbi_task_live(t, id);
    struct wbi_task_info info = {.state = WBI_TASK_RUNNING};
    struct wbi_task_wait *w;
    struct wbi_arena *arena;
    wb_rc rc = WB_OK;

    *ret = NULL;
    if (c == NULL || wbi_task_over(c->info.state) || wait_ms <= 0) {
        rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);
        if (rc != WB_OK)
            return wbi_fail_nomem(err);
        rc = wbi_tasks_get(t, id, arena, &info, err);
        wbi_arena_free(arena);
        if (rc == WB_OK)
            on_ready(arg,
                     wbi_task_over(info.state) ? WBI_RETRIEVAL_SUCCESS : WBI_RETRIEVAL_NOT_READY);
        return rc;
    }
    w = wbi_zalloc(sizeof(*w));
    if (w == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_timer_new(t->config.loop, on_wait_over, w, &w->timer);
    if (rc != WB_OK) {
        wbi_free(w);
        return wbi_fail_nomem(err);
    }
    w->command = c;
    w->on_ready = on_ready;
    w->arg = arg;
    w->next = c->waits;
    c->waits = w;
    wbi_timer_start(w->timer, wait_ms);
    *ret = w;
    return WB_OK;
}
