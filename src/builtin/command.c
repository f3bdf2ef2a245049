/* SPDX-License-Identifier: Apache-2.0
 * builtin/command.c: ExecCommand and ExecCommandBatch (C7.1). */
#include "builtin/command_int.h"

#include "base/limits.h"
#include "call/workspace.h"

/* ---- ExecCommand ---- */

struct exec_state {
    struct wbi_running_command running;
    struct wbi_command_output out;
    struct wbi_timer *yield;
};

/* What cleaning and redaction did, added up over all streams (C6.5). */
static void write_hygiene(struct wbi_jw *w, const struct wbi_command_output *outputs, size_t n)
{
    struct wbi_hygiene_counts sum = {.lines = 0};
    uint64_t secrets = 0;

    for (size_t i = 0; i < 2 * n; i++) {
        const struct wbi_shown *shown = outputs[i / 2].stream[i % 2].shown;
        const struct wbi_hygiene_counts *c;
        if (shown == NULL)
            continue;
        c = wbi_shown_counts(shown);
        sum.repaired += c->repaired;
        sum.sequences += c->sequences;
        sum.redraws += c->redraws;
        sum.invisible += c->invisible;
        sum.controls += c->controls;
        secrets += wbi_shown_secrets(shown);
    }
    wbi_jw_key(w, "hygiene");
    wbi_jw_obj(w);
    wbi_jw_kint(w, "repaired", (int64_t)sum.repaired);
    wbi_jw_kint(w, "sequences", (int64_t)sum.sequences);
    wbi_jw_kint(w, "redraws", (int64_t)sum.redraws);
    wbi_jw_kint(w, "invisible", (int64_t)sum.invisible);
    wbi_jw_kint(w, "controls", (int64_t)sum.controls);
    wbi_jw_kint(w, "secrets", (int64_t)secrets);
    wbi_jw_obj_end(w);
}

/* For the record: what contained it, what was done to its output (n of them in a batch). */
static struct wbi_str audit_of(struct wbi_exec *x, const struct wbi_process_end *end, bool over,
                               const struct wbi_command_output *outputs, size_t n)
{
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "containment", wbi_containment_name(end->containment));
    wbi_jw_kstrz(&w, "sandbox", "none");
    if (over) {
        wbi_jw_kint(&w, "pid", end->pid);
        wbi_jw_kint(&w, "swept", end->swept);
    }
    if (end->pipe_held)
        wbi_jw_kbool(&w, "pipe_held", true);
    write_hygiene(&w, outputs, n);
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&text) == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

static void finish(struct exec_state *s)
{
    struct wbi_exec *x = s->running.exec;
    struct wbi_complete complete = {
        .ok = true, .typed = &s->out, .artifacts = x->artifacts, .audit = x->audit};

    wbi_exec_done(x, &complete);
}

/* The name of a program may hold anything. */
static struct wbi_str one_line(struct wbi_arena *arena, struct wbi_str text)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_hygiene_one_line(text, &out);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static void fail_start(struct wbi_exec *x, wb_rc rc, const struct wbi_error *err)
{
    struct wbi_fault fault = {.kind = err->kind ? err->kind : WBI_KIND_COMMAND_SPAWN_FAILED};
    struct wbi_str workdir = wbi_json_get_str(x->input, "workdir");
    struct wbi_buf details;
    struct wbi_jw w = wbi_jw_to(&details);

    fault.message = one_line(x->arena, wbi_str_z(err->text));
    if (err->kind == WBI_KIND_NONE && rc == WB_EINPUT) /* no system was asked to start it */
        fault.kind = WBI_KIND_INVALID_TOOL_INPUT;
    if (fault.kind == WBI_KIND_FORBIDDEN)
        fault.hint = WBI_LIT("leave this variable out of env");
    if (fault.kind == WBI_KIND_COMMAND_SPAWN_FAILED && rc == WB_ELIMIT)
        fault.hint = WBI_LIT("make the command, or what env adds, shorter");
    if (fault.kind == WBI_KIND_WORKDIR_NOT_FOUND && workdir.p == NULL)
        fault.hint = WBI_LIT(WBI_HINT_WORKSPACE_GONE);
    wbi_buf_init_arena(&details, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    if (workdir.p != NULL && (fault.kind == WBI_KIND_EXECUTION_ROOT_VIOLATION ||
                              fault.kind == WBI_KIND_WORKDIR_NOT_FOUND))
        wbi_jw_kstr(&w, "workdir", workdir);
    if (fault.kind == WBI_KIND_COMMAND_SPAWN_FAILED)
        wbi_jw_kint(&w, "exit_code", wbi_spawn_exit_code(rc, err));
    wbi_jw_obj_end(&w);
    if (fault.kind == WBI_KIND_EXECUTION_ROOT_VIOLATION)
        fault.message =
            WBI_LIT("requested working directory is outside the current execution root");
    if (wbi_buf_rc(&details) == WB_OK && details.n > 2)
        fault.details = wbi_buf_str(&details);
    wbi_exec_fail_fault(x, &fault);
}

static void on_end(struct wbi_running_command *r)
{
    struct exec_state *s = r->arg;

    wbi_timer_free(s->yield);
    s->yield = NULL;
    if (r->end.rc != WB_OK) {
        fail_start(r->exec, r->end.rc, &r->end.error); /* the system refused it */
        return;
    }
    r->exec->artifacts = wbi_command_facts(r->exec, r->kept, WBI_SPOOL_STREAMS);
    r->exec->audit = audit_of(r->exec, &r->end, /* over= */ true, &s->out, 1);
    if (r->end.cancelled && r->exec->cancel != WBI_CANCEL_NONE)
        wbi_exec_stopped(r->exec,
                         wbi_running_partial(r)); /* an error, with what it printed (C5.6) */
    else if (r->end.status_lost)
        wbi_running_fail_unknown(r, "command");
    else if (wbi_running_lost(r))
        wbi_running_fail_lost(r, "command");
    else
        finish(s);
}

static void promote(void *arg)
{
    struct exec_state *s = arg;
    struct wbi_exec *x = s->running.exec;
    struct wbi_complete complete = {.ok = true, .typed = &s->out};
    struct wbi_process_end so_far = {.rc = WB_OK};
    struct wbi_error err = WBI_ERROR_INIT;

    if (s->running.command == NULL)
        return; /* it has just ended: on_end answers */
    so_far.containment = wbi_process_containment(wbi_command_process(s->running.command));
    if (wbi_running_promote(&s->running, &err) != WB_OK) {
        if (s->running.command != NULL)
            return; /* it goes on as a call and is answered at its end */
        wbi_timer_free(s->yield);
        s->yield = NULL;
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "%s", err.text);
        return;
    }
    wbi_timer_free(s->yield);
    s->yield = NULL;
    complete.audit = audit_of(x, &so_far, /* over= */ false, &s->out, 1);
    wbi_exec_done(x, &complete);
}

/* The same command already runs as a task. */
static bool answered_by_running(struct exec_state *s, const struct wbi_command_ask *ask)
{
    struct wbi_exec *x = s->running.exec;
    struct wbi_complete complete = {.ok = true, .typed = &s->out};
    struct wbi_str place = wbi_command_place(x, ask);
    struct wbi_task_info info;
    const char *id;

    if (wbi_str_eqz(wbi_json_get_str(x->input, "duplicate_policy"), "start_new") ||
        place.p == NULL || wbi_runtime_open_artifacts(x->runtime, NULL) != WB_OK)
        return false;
    id = wbi_tasks_duplicate(
        x->runtime->tasks, s->out.cmd, ask->workdir.p ? ask->workdir : WBI_LIT("."),
        wbi_command_shell(x->runtime, x->arena, ask->cmd), place, ask->tty, ask->accepts_input);
    if (id == NULL ||
        wbi_tasks_get(x->runtime->tasks, wbi_str_z(id), x->arena, &info, NULL) != WB_OK)
        return false;
    s->out.disposition = WBI_DISPOSITION_ALREADY_RUNNING;
    s->out.task_id = wbi_arena_str(x->arena, wbi_str_z(id));
    s->out.task_status = wbi_str_z(wbi_task_state_name(info.state));
    wbi_exec_done(x, &complete);
    return true;
}

#define YIELD_MS 10000

static void arm_yield(struct exec_state *s)
{
    struct wbi_exec *x = s->running.exec;
    int64_t yield = YIELD_MS;

    if (!wbi_json_i64(wbi_json_get(x->input, "yield_time_ms"), &yield) && x->runtime->direct)
        return; /* `waybill exec` waits for the end unless told otherwise */
    if (yield == 0)
        promote(s);
    else if (wbi_timer_new(x->runtime->loop, promote, s, &s->yield) == WB_OK)
        wbi_timer_start(s->yield, yield);
}

static void exec_start(struct wbi_exec *x)
{
    struct wbi_command_ask ask = {.cmd = wbi_json_get(x->input, "cmd"),
                                  .env = wbi_json_get_as(x->input, "env", WBI_JSON_OBJ),
                                  .workdir = wbi_json_get_str(x->input, "workdir"),
                                  .call_id = wbi_str_z(x->call->name),
                                  .tty = wbi_json_true(wbi_json_get(x->input, "tty"))};
    const wbi_json *accepts = wbi_json_get(x->input, "accepts_input");
    struct wbi_error err = WBI_ERROR_INIT;
    struct exec_state *s = wbi_exec_alloc(x, sizeof(*s));
    wb_rc rc;

    if (s == NULL)
        return;
    x->state = s;
    (void)wbi_json_i64(wbi_json_get(x->input, "timeout_ms"), &ask.timeout_ms); /* absent: none */
    ask.accepts_input = accepts ? wbi_json_true(accepts) : ask.tty;
    s->out.cmd = wbi_command_text(x->arena, ask.cmd);
    s->out.budget = wbi_exec_budget(x);
    s->out.budget_tokens = s->out.budget.tokens;
    s->running = (struct wbi_running_command){
        .exec = x, .out = &s->out, .live = x->call->on_frame != NULL, .on_end = on_end, .arg = s};
    if (answered_by_running(s, &ask))
        return;
    rc = wbi_running_start(&s->running, &ask, &err);
    if (rc != WB_OK)
        fail_start(x, rc, &err);
    else
        arm_yield(s);
}

static void exec_cancel(struct wbi_exec *x)
{
    struct exec_state *s = x->state;

    if (s == NULL)
        return;
    if (s->yield != NULL)
        wbi_timer_stop(s->yield); /* what is being ended becomes no task */
    wbi_running_stop(&s->running);
}

const struct wbi_tool_ops wbi_exec_command_ops = {exec_start, exec_cancel};

/* ---- ExecCommandBatch ---- */

struct batch_state {
    struct wbi_exec *exec;
    struct wbi_running_command running;
    struct wbi_command_batch batch;
    struct wbi_artifact *kept;
    struct wbi_process_end all; /* of those that ran: the weakest containment, the last pid */
    size_t ran;
    const wbi_json *next; /* command to run */
    size_t at;
    int64_t timeout_ms;
    bool stop_on_error;
};

static void run_next(struct batch_state *s);

static void add_end(struct batch_state *s, const struct wbi_process_end *end)
{
    if (s->ran++ == 0 || end->containment == WBI_CONTAIN_GROUP)
        s->all.containment = end->containment;
    s->all.pid = end->pid;
    s->all.swept += end->swept;
    s->all.pipe_held = s->all.pipe_held || end->pipe_held;
}

/* Absent when nothing could be started: then nothing contained it either. */
static struct wbi_str batch_audit(const struct batch_state *s)
{
    return s->ran > 0 ? audit_of(s->exec, &s->all, /* over= */ true, s->batch.items, s->at)
                      : WBI_NONE;
}

/* Cancelled or late: what was done until then (C5.6). */
static void batch_stopped(struct batch_state *s)
{
    struct wbi_exec *x = s->exec;
    struct wbi_command_output *last = &s->batch.items[s->at - 1];
    struct wbi_buf partial;
    struct wbi_jw w = wbi_jw_to(&partial);
    wb_rc rc;

    if (s->running.end.cancelled)
        last->disposition = WBI_DISPOSITION_STOPPED;
    s->batch.count = s->at;
    wbi_buf_init_arena(&partial, x->arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_batch_write_partial(&s->batch, x->arena, &w, NULL);
    x->artifacts = wbi_command_facts(x, s->kept, s->batch.count * WBI_SPOOL_STREAMS);
    x->audit = batch_audit(s);
    wbi_exec_stopped(x, rc == WB_OK && wbi_buf_rc(&partial) == WB_OK ? wbi_buf_str(&partial)
                                                                     : WBI_NONE);
}

static void batch_done(struct batch_state *s)
{
    struct wbi_exec *x = s->exec;
    struct wbi_complete complete = {.ok = true, .typed = &s->batch};

    complete.artifacts = wbi_command_facts(x, s->kept, s->batch.count * WBI_SPOOL_STREAMS);
    complete.audit = batch_audit(s);
    wbi_exec_done(x, &complete);
}

static void skip_rest(struct batch_state *s)
{
    for (; s->at < s->batch.count; s->at++) {
        s->batch.items[s->at].disposition = WBI_DISPOSITION_SKIPPED;
        s->batch.items[s->at].cmd = wbi_command_text(s->exec->arena, s->next);
        s->next = wbi_json_skip(s->next);
    }
}

static void on_item_end(struct wbi_running_command *r)
{
    struct batch_state *s = r->arg;
    struct wbi_command_output *o = &s->batch.items[s->at];

    memcpy(&s->kept[s->at * WBI_SPOOL_STREAMS], r->kept, sizeof(r->kept));
    s->at++;
    s->next = wbi_json_skip(s->next);
    if (r->end.rc == WB_OK)
        add_end(s, &r->end);
    if (r->end.rc != WB_OK) { /* the system refused it */
        o->disposition = WBI_DISPOSITION_FAILED;
        o->error = wbi_arena_strz(r->exec->arena, wbi_str_z(r->end.error.text));
    } else if (r->end.status_lost || wbi_running_lost(r)) {
        o->disposition = WBI_DISPOSITION_LOST;
    }
    if (r->exec->cancel != WBI_CANCEL_NONE) {
        batch_stopped(s);
        return;
    }
    if (s->stop_on_error && (o->disposition != WBI_DISPOSITION_COMPLETED || o->timed_out ||
                             o->signal != 0 || o->exit_status != 0))
        skip_rest(s);
    run_next(s);
}

static void run_next(struct batch_state *s)
{
    while (s->at < s->batch.count) {
        struct wbi_exec *x = s->exec;
        struct wbi_command_output *o = &s->batch.items[s->at];
        struct wbi_error err = WBI_ERROR_INIT;
        struct wbi_command_ask ask = {
            .cmd = s->next,
            .env = wbi_json_get_as(x->input, "env", WBI_JSON_OBJ),
            .workdir = wbi_json_get_str(x->input, "workdir"),
            .call_id = wbi_arena_fmt(x->arena, "%s_%zu", x->call->name, s->at + 1),
            .timeout_ms = s->timeout_ms};

        o->cmd = wbi_command_text(x->arena, s->next);
        s->running = (struct wbi_running_command){
            .exec = x, .out = o, .together = true, .on_end = on_item_end, .arg = s};
        o->budget_tokens = wbi_batch_sure(&s->batch, s->at, x->arena);
        if (wbi_running_start(&s->running, &ask, &err) == WB_OK)
            return;
        o->disposition = WBI_DISPOSITION_FAILED;
        o->error = wbi_arena_strz(x->arena, wbi_str_z(err.text));
        s->at++;
        s->next = wbi_json_skip(s->next);
        if (s->stop_on_error)
            skip_rest(s);
    }
    batch_done(s);
}

#define ITEM_TIMEOUT_MS 30000

static void batch_start(struct wbi_exec *x)
{
    const wbi_json *commands = wbi_json_get_as(x->input, "commands", WBI_JSON_ARR);
    struct batch_state *s = wbi_arena_zalloc(x->arena, sizeof(*s));
    size_t n = wbi_json_count(commands);

    if (n == 0) {
        wbi_exec_fail(x, WBI_KIND_INVALID_TOOL_INPUT, "commands must be an array of commands");
        return;
    }
    if (s != NULL) {
        s->batch.items = wbi_arena_array(x->arena, n, sizeof(*s->batch.items));
        s->kept = wbi_arena_array(x->arena, n * WBI_SPOOL_STREAMS, sizeof(*s->kept));
    }
    if (s == NULL || s->batch.items == NULL || s->kept == NULL) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    x->state = s;
    s->exec = x;
    s->batch.count = s->batch.planned = n;
    s->batch.budget = wbi_exec_budget(x);
    s->next = wbi_json_first(commands);
    s->timeout_ms = ITEM_TIMEOUT_MS;
    (void)wbi_json_i64(wbi_json_get(x->input, "timeout_ms"), &s->timeout_ms); /* absent: default */
    s->stop_on_error = wbi_json_true(wbi_json_get(x->input, "stop_on_error"));
    run_next(s);
}

static void batch_cancel(struct wbi_exec *x)
{
    struct batch_state *s = x->state;

    if (s != NULL)
        wbi_running_stop(&s->running);
}

const struct wbi_tool_ops wbi_exec_batch_ops = {batch_start, batch_cancel};
