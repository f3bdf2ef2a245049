/* SPDX-License-Identifier: Apache-2.0
 * builtin/running.c: one command from its start to its end or its promotion. */
#include "builtin/command_int.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "call/workspace.h"
#include "config/config.h"
#include "path/path.h"

struct wbi_str wbi_command_text(struct wbi_arena *arena, const wbi_json *cmd)
{
    struct wbi_buf text;

    if (wbi_json_is(cmd, WBI_JSON_STR))
        return wbi_json_str(cmd);
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_ARGUMENT_BYTES);
    WBI_JSON_EACH (cmd, word) {
        if (text.n > 0)
            wbi_buf_addc(&text, ' ');
        wbi_buf_adds(&text, wbi_json_str(word));
    }
    return wbi_buf_rc(&text) == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

/* ---- output ---- */

#define FRAME_TEXT (16u * WBI_KIB) /* of a partial frame: escaped, it still fits */

/* Cleaned and redacted text becomes partial frames (C8.9). */
static void put_frames(struct wbi_running_command *r, const char *stream, struct wbi_str text)
{
    while (text.n > 0) {
        size_t n = wbi_utf8_cut(text, FRAME_TEXT);
        wbi_exec_output(r->exec, stream, wbi_str_head(text, n));
        text = wbi_str_from(text, n);
    }
}

static void on_stdout_text(void *arg, struct wbi_str text)
{
    put_frames(arg, "stdout", text);
}

static void on_stderr_text(void *arg, struct wbi_str text)
{
    put_frames(arg, "stderr", text);
}

static void on_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct wbi_running_command *r = arg;
    struct wbi_call *call = r->exec->call;
    const char *name = stream == WBI_STDERR ? "stderr" : "stdout";

    wbi_shown_feed(r->out->stream[stream].shown, bytes);
    if (call->on_output != NULL)
        call->on_output(name, bytes.p, bytes.n, call->on_output_arg);
}

static void take_counts(struct wbi_running_command *r, const struct wbi_spool *spool)
{
    for (int i = 0; i < 2; i++) {
        struct wbi_spool_counts c = wbi_spool_counts(spool, i);
        r->out->stream[i].bytes = c.bytes;
        r->out->stream[i].lines = c.lines;
        r->out->stream[i].dropped = c.dropped;
        r->out->stream[i].drop_reason = c.reason;
    }
}

/* Streams whose complete text is worth keeping: what will not be shown whole, or
 * not as it was printed. */
static unsigned streams_to_keep(const struct wbi_running_command *r)
{
    const struct wbi_command_output *o = r->out;
    bool whole[2], all = r->keep_all;
    unsigned mask = 0;

    wbi_command_shows_whole(o, whole);
    if (r->together && !(whole[0] && whole[1]))
        all = true;
    for (int i = 0; i < 2; i++)
        if (o->stream[i].bytes > 0 && (all || !whole[i]))
            mask |= 1u << i;
    return mask;
}

struct wbi_str wbi_command_facts(struct wbi_exec *x, const struct wbi_artifact *list, size_t n)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    bool any = false;

    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_arr(&w);
    for (size_t i = 0; i < n; i++) {
        const struct wbi_artifact *a = &list[i];
        if (a->name[0] == '\0')
            continue;
        any = true;
        wbi_artifact_record(&w, wbi_artifact_path(x->runtime->artifacts, x->arena, a->name), a);
    }
    wbi_jw_arr_end(&w);
    return any && wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

struct wbi_str wbi_running_partial(const struct wbi_running_command *r)
{
    struct wbi_arena *arena = r->exec->arena;
    struct wbi_buf partial;
    struct wbi_jw w = wbi_jw_to(&partial);
    wb_rc rc;

    wbi_buf_init_arena(&partial, arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    rc = wbi_command_write_partial(r->out, arena, &w, NULL);
    wbi_jw_obj_end(&w);
    return rc == WB_OK && wbi_buf_rc(&partial) == WB_OK ? wbi_buf_str(&partial) : WBI_NONE;
}

bool wbi_running_lost(const struct wbi_running_command *r)
{
    for (int i = 0; i < 2; i++) {
        const char *why = r->out->stream[i].drop_reason;
        if (why != NULL && (strcmp(why, "no_space") == 0 || strcmp(why, "io_error") == 0))
            return true;
    }
    return false;
}

void wbi_running_fail_lost(const struct wbi_running_command *r, const char *who)
{
    struct wbi_arena *arena = r->exec->arena;
    const struct wbi_command_output *o = r->out;
    struct wbi_fault fault = {.kind = WBI_KIND_OUTPUT_PERSISTENCE_FAILED};
    struct wbi_str partial = wbi_running_partial(r);

    fault.message = wbi_arena_fmt(arena,
                                  "the %s ended with %s %d, but its output could not all be "
                                  "written to the disk of the state directory; what was saved "
                                  "is kept",
                                  who, o->signal != 0 ? "signal" : "status",
                                  o->signal != 0 ? o->signal : o->exit_status);
    fault.hint = wbi_arena_fmt(
        arena, "free disk space; the %s ran: see what it did before running it again", who);
    if (partial.p != NULL)
        fault.details = wbi_arena_fmt(arena, "{\"partial\":%.*s}", WBI_FMT(partial));
    wbi_exec_fail_fault(r->exec, &fault);
}

void wbi_running_fail_unknown(const struct wbi_running_command *r, const char *who)
{
    struct wbi_arena *arena = r->exec->arena;
    struct wbi_fault fault = {.kind = WBI_KIND_OUTCOME_UNKNOWN};
    struct wbi_str partial = wbi_running_partial(r);

    fault.message = wbi_arena_fmt(arena,
                                  "the process that watched the %s was killed, and the %s with it: "
                                  "how it ended is not known",
                                  who, who);
    if (partial.p != NULL)
        fault.details = wbi_arena_fmt(arena, "{\"partial\":%.*s}", WBI_FMT(partial));
    wbi_exec_fail_fault(r->exec, &fault);
}

static void on_kept(void *arg, wb_rc rc, const struct wbi_artifact got[WBI_SPOOL_STREAMS],
                    const struct wbi_error *err)
{
    struct wbi_running_command *r = arg;

    (void)rc; /* what could not be kept is told by the facts and counts */
    (void)err;
    for (int i = 0; i < 2; i++) {
        r->kept[i] = got[i];
        if (got[i].name[0] != '\0')
            r->out->stream[i].artifact =
                wbi_artifact_path(r->exec->runtime->artifacts, r->exec->arena, got[i].name);
        if (!got[i].complete && got[i].reason[0] != '\0' && r->out->stream[i].drop_reason == NULL)
            r->out->stream[i].drop_reason = r->kept[i].reason;
    }
    r->on_end(r);
}

static void keep(struct wbi_running_command *r, struct wbi_spool *spool)
{
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    struct wbi_error err = WBI_ERROR_INIT;
    unsigned mask = streams_to_keep(r);
    wb_rc rc;

    if (mask == 0) {
        wbi_spool_discard(spool);
        r->on_end(r);
        return;
    }
    if (wbi_spool_finish_later(spool, r->exec->runtime->loop, mask, on_kept, r) == WB_OK)
        return;
    rc = wbi_spool_finish(spool, mask, got, &err);
    on_kept(r, rc, got, &err);
}

static void on_end(void *arg, const struct wbi_process_end *end, struct wbi_spool *spool)
{
    struct wbi_running_command *r = arg;
    struct wbi_command_output *o = r->out;

    r->command = NULL;
    r->end = *end;
    o->disposition = WBI_DISPOSITION_COMPLETED;
    o->exit_status = end->exit_status;
    o->signal = end->signal;
    o->status_lost = end->status_lost;
    o->timed_out = end->timed_out;
    o->limit = end->limit == WBI_HIT_TIME ? NULL : wbi_limit_name(end->limit);
    if (end->exit_status >= 0 && end->limit == WBI_HIT_NONE) /* not where all of it was ended */
        o->killed = end->swept;
    take_counts(r, spool);
    for (int i = 0; i < 2; i++)
        if (wbi_shown_end(o->stream[i].shown) != WB_OK)
            o->stream[i].drop_reason = "no_space";
    keep(r, spool);
}

static const struct wbi_command_ops ops = {on_output, on_end};

/* ---- starting ---- */

static void free_shown(void *shown)
{
    wbi_shown_free(shown);
}

static wb_rc make_shown(struct wbi_running_command *r, struct wbi_error *err)
{
    struct wbi_exec *x = r->exec;

    for (int i = 0; i < 2; i++) {
        struct wbi_shown *shown;
        wb_rc rc = wbi_shown_new(wbi_artifact_dir(x->runtime->artifacts), x->runtime->secrets,
                                 r->out->cmd, &shown);
        if (rc == WB_OK && wbi_arena_defer(x->arena, free_shown, shown) != WB_OK) {
            wbi_shown_free(shown);
            rc = WB_ENOMEM;
        }
        if (rc != WB_OK)
            return wbi_fail_nomem(err);
        r->out->stream[i].shown = shown;
        if (r->live)
            wbi_shown_tap(shown, i == 0 ? on_stdout_text : on_stderr_text, r);
    }
    return WB_OK;
}

static void close_fd(void *arg)
{
    int *fd = arg;

    (void)close(*fd); /* a directory: nothing can be lost */
}

/* The directory beneath the execution root; people who run `waybill exec` may
 * name any. */
static wb_rc find_workdir(struct wbi_exec *x, struct wbi_str workdir, struct wbi_process_spec *spec,
                          struct wbi_error *err)
{
    struct wbi_root *root;
    int *fd = wbi_arena_alloc(x->arena, sizeof(*fd));
    wb_rc rc;

    if (x->runtime->direct) {
        spec->workdir = workdir;
        return WB_OK;
    }
    if (fd == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_workspace_root(x->call, &root, err);
    if (rc == WB_OK)
        rc = wbi_path_open_workdir(root, workdir.p ? workdir : WBI_LIT("."), err, fd);
    if (rc != WB_OK)
        return rc;
    if (wbi_arena_defer(x->arena, close_fd, fd) != WB_OK) {
        (void)close(*fd); /* not used */
        return wbi_fail_nomem(err);
    }
    spec->workdir_fd = *fd;
    return WB_OK;
}

static uint64_t limit(const struct wbi_runtime *rt, const char *pointer)
{
    int64_t n = rt->config ? wbi_config_number(rt->config, pointer, INT64_MAX) : INT64_MAX;

    return n == INT64_MAX ? 0 : (uint64_t)n;
}

/* What the configuration allows every command; absent: no limit. */
static void fill_limits(const struct wbi_runtime *rt, struct wbi_process_spec *spec)
{
    spec->limits.memory_bytes = limit(rt, "/limits/memoryBytes");
    spec->limits.processes = limit(rt, "/limits/processes");
    spec->limits.files = limit(rt, "/limits/openFiles");
    spec->limits.file_bytes = limit(rt, "/limits/fileBytes");
    spec->limits.cpu_seconds = limit(rt, "/limits/cpuSeconds");
    spec->output_bytes = limit(rt, "/limits/outputBytes");
}

struct wbi_str wbi_command_shell(const struct wbi_runtime *rt, struct wbi_arena *arena,
                                 const wbi_json *cmd)
{
    const wbi_json *shell = rt->config ? wbi_config_setting(rt->config, "/shell") : NULL;

    if (!wbi_json_is(cmd, WBI_JSON_STR))
        return WBI_NONE;
    return shell != NULL ? wbi_command_text(arena, shell) : WBI_LIT("/bin/sh");
}

struct wbi_str wbi_command_place(const struct wbi_exec *x, const struct wbi_command_ask *ask)
{
    struct wbi_str root = WBI_NONE;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    if (!x->runtime->direct && wbi_workspace_path(x->call, &root, NULL) == WB_OK)
        wbi_buf_adds(&out, root);
    wbi_buf_addc(&out, '\n');
    if (wbi_json_count(ask->env) > 0)
        wbi_json_write(&out, ask->env);
    wbi_buf_addc(&out, '\n');
    if (wbi_json_is(ask->cmd, WBI_JSON_ARR))
        wbi_json_write(&out, ask->cmd);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static wb_rc add_words(const wbi_json *list, struct wbi_str *argv, size_t *n, struct wbi_error *err)
{
    WBI_JSON_EACH (list, word) {
        if (!wbi_json_is(word, WBI_JSON_STR))
            return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                                 "a command must be a shell line or an array of strings");
        argv[(*n)++] = wbi_json_str(word);
    }
    return WB_OK;
}

/* A line goes to `shell -c`; a shell given as words gets it as the last one. */
static wb_rc fill_command(struct wbi_exec *x, const struct wbi_command_ask *ask,
                          struct wbi_command_spec *spec, struct wbi_error *err)
{
    const wbi_json *shell =
        x->runtime->config ? wbi_config_setting(x->runtime->config, "/shell") : NULL;
    bool line = wbi_json_is(ask->cmd, WBI_JSON_STR);
    struct wbi_str *argv;
    size_t n = 0;
    wb_rc rc;

    spec->shell = wbi_command_shell(x->runtime, x->arena, ask->cmd);
    if (line && !wbi_json_is(shell, WBI_JSON_ARR)) {
        spec->process.shell_line = wbi_json_str(ask->cmd);
        spec->process.shell = wbi_json_str(shell);
        return WB_OK;
    }
    argv = wbi_arena_array(x->arena, wbi_json_count(line ? shell : ask->cmd) + 1, sizeof(*argv));
    if (argv == NULL)
        return wbi_fail_nomem(err);
    rc = add_words(line ? shell : ask->cmd, argv, &n, err);
    if (line)
        argv[n++] = wbi_json_str(ask->cmd);
    spec->process.argv = argv;
    spec->process.argc = n;
    return rc;
}

wb_rc wbi_running_start(struct wbi_running_command *r, const struct wbi_command_ask *ask,
                        struct wbi_error *err)
{
    struct wbi_exec *x = r->exec;
    struct wbi_command_spec spec = {.call_id = ask->call_id,
                                    .cmd = r->out->cmd,
                                    .workdir = ask->workdir.p ? ask->workdir : WBI_LIT("."),
                                    .place = wbi_command_place(x, ask),
                                    .accepts_input = ask->accepts_input};
    wb_rc rc;

    if (r->out->cmd.p == NULL || r->out->cmd.n > WBI_LIMIT_ARGUMENT_BYTES)
        return wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_COMMAND_SPAWN_FAILED,
                             "the command has more than %u bytes; write long text to a file and "
                             "name that",
                             WBI_LIMIT_ARGUMENT_BYTES);
    rc = wbi_runtime_open_artifacts(x->runtime, err);
    r->out->combined = ask->tty;
    r->out->timeout_ms = ask->timeout_ms;
    spec.process.timeout_ms = ask->timeout_ms;
    spec.process.stdin_kind = ask->tty                    ? WBI_STDIN_TTY
                              : ask->accepts_input        ? WBI_STDIN_PIPE
                              : ask->stdin_bytes.p        ? WBI_STDIN_BYTES
                              : x->runtime->inherit_stdin ? WBI_STDIN_FD
                                                          : WBI_STDIN_NULL;
    spec.process.stdin_bytes = ask->stdin_bytes;
    spec.process.stdin_fd = STDIN_FILENO;
    if (x->runtime->inherit_env)
        spec.process.search_path = wbi_str_z(getenv("PATH"));
    fill_limits(x->runtime, &spec.process);
    if (rc == WB_OK)
        rc = fill_command(x, ask, &spec, err);
    if (rc == WB_OK)
        rc = find_workdir(x, ask->workdir, &spec.process, err);
    if (rc == WB_OK) {
        struct wbi_str *env;
        rc = wbi_command_env(x, ask->env, &env, &spec.process.env_count, err);
        spec.process.env = env;
    }
    if (rc == WB_OK)
        rc = make_shown(r, err);
    if (rc == WB_OK)
        rc = wbi_command_start(x->runtime->tasks, &spec, &ops, r, &r->command, err);
    if (rc == WB_OK && ask->tty && !ask->accepts_input) /* nobody can type */
        wbi_process_close_input(wbi_command_process(r->command));
    return rc;
}

void wbi_running_stop(struct wbi_running_command *r)
{
    if (r->command != NULL)
        wbi_process_stop(wbi_command_process(r->command));
}

wb_rc wbi_running_promote(struct wbi_running_command *r, struct wbi_error *err)
{
    struct wbi_command_output *o = r->out;
    struct wbi_spool *spool = wbi_command_spool(r->command);
    const char *id;
    wb_rc rc;

    rc = wbi_command_promote(r->command, &id, err);
    if (rc != WB_OK) /* its end tells what is kept */
        return rc;
    r->command = NULL;
    take_counts(r, spool);
    for (int i = 0; i < 2; i++) {
        const char *name = o->stream[i].bytes > 0 ? wbi_spool_name(spool, i) : NULL;
        if (name != NULL)
            o->stream[i].artifact =
                wbi_artifact_path(r->exec->runtime->artifacts, r->exec->arena, name);
    }
    o->disposition = WBI_DISPOSITION_PROMOTED;
    o->task_id = wbi_arena_str(r->exec->arena, wbi_str_z(id));
    for (int i = 0; i < 2; i++)
        if (wbi_shown_end_so_far(o->stream[i].shown) != WB_OK)
            o->stream[i].drop_reason = "io_error";
    return o->task_id.p ? WB_OK : wbi_fail_nomem(err);
}
