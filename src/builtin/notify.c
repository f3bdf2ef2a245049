/* SPDX-License-Identifier: Apache-2.0
 * builtin/notify.c: Notify (C7.5): the configured command gets the notification
 * as JSON on its standard input. Without one the call's own record and events
 * are all there is. */
#include "builtin/work.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "builtin/command_int.h"
#include "config/config.h"
#include "family/notify/notify.h"
#include "run/capture.h"

#define STDERR_SHOWN 400u

struct notifying {
    struct wbi_exec *exec;
    struct wbi_capture *capture;
    struct wbi_notify_output out;
};

static void finish(struct notifying *n, bool delivered)
{
    struct wbi_complete complete = {.ok = true, .typed = &n->out};

    n->out.delivered = delivered;
    wbi_exec_done(n->exec, &complete);
}

static void fail_end(struct wbi_exec *x, const struct wbi_captured *c)
{
    struct wbi_str said = wbi_str_trim(c->err);

    said.n = wbi_utf8_cut_words(said, STDERR_SHOWN);
    if (c->end.signal != 0)
        wbi_exec_fail(x, WBI_KIND_TOOL_EXECUTION_FAILED,
                      "the notify command was ended by signal %d", c->end.signal);
    else
        wbi_exec_fail(x, WBI_KIND_TOOL_EXECUTION_FAILED,
                      "the notify command exited with status %d%s%.*s", c->end.exit_status,
                      said.n ? ": " : "", WBI_FMT(said));
}

static void on_done(void *arg, const struct wbi_captured *c)
{
    struct notifying *n = arg;
    struct wbi_exec *x = n->exec;

    n->capture = NULL;
    if (c->end.rc != WB_OK)
        wbi_exec_fail(x, WBI_KIND_COMMAND_SPAWN_FAILED, "the notify command: %s",
                      c->end.error.text);
    else if (x->cancel != WBI_CANCEL_NONE && (c->end.cancelled || c->end.signal != 0))
        wbi_exec_stopped(x, WBI_NONE);
    else if (c->end.status_lost)
        wbi_exec_fail(x, WBI_KIND_OUTCOME_UNKNOWN,
                      "the process that watched the notify command was killed, and the command "
                      "with it: how it ended is not known");
    else if (c->end.signal != 0 || c->end.exit_status != 0)
        fail_end(x, c);
    else
        finish(n, true);
}

static wb_rc fill(struct wbi_exec *x, const wbi_json *command, struct wbi_process_spec *spec,
                  struct wbi_error *err)
{
    struct wbi_str *argv = wbi_arena_array(x->arena, wbi_json_count(command), sizeof(*argv));
    struct wbi_str *env;
    struct wbi_buf input;
    wb_rc rc;

    wbi_buf_init_arena(&input, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&input, x->input);
    wbi_buf_addc(&input, '\n');
    if (argv == NULL || wbi_buf_rc(&input) != WB_OK)
        return wbi_fail_nomem(err);
    WBI_JSON_EACH (command, word) {
        argv[spec->argc++] = wbi_json_str(word);
    }
    rc = wbi_command_env(x, NULL, &env, &spec->env_count, err);
    spec->argv = argv;
    spec->env = env;
    spec->workdir = x->runtime->root;
    spec->stdin_kind = WBI_STDIN_BYTES;
    spec->stdin_bytes = wbi_buf_str(&input);
    return rc;
}

static void start(struct wbi_exec *x)
{
    const wbi_json *command =
        x->runtime->config ? wbi_config_setting(x->runtime->config, "/notify/command") : NULL;
    struct notifying *n = wbi_exec_alloc(x, sizeof(*n));
    struct wbi_capture_spec spec = {.out_cap = 0};
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc;

    if (n == NULL)
        return;
    n->exec = x;
    n->out.level = wbi_json_get_str(x->input, "level");
    x->state = n;
    if (command == NULL) {
        finish(n, false);
        return;
    }
    rc = fill(x, command, &spec.process, &err);
    if (rc == WB_OK)
        rc = wbi_capture_start(x->runtime->runner, &spec, on_done, n, &n->capture, &err);
    if (rc != WB_OK)
        wbi_exec_fail(x, err.kind != WBI_KIND_NONE ? err.kind : WBI_KIND_COMMAND_SPAWN_FAILED,
                      "the notify command: %s", err.text);
}

static void cancel(struct wbi_exec *x)
{
    struct notifying *n = x->state;

    if (n != NULL && n->capture != NULL)
        wbi_capture_cancel(n->capture);
}

const struct wbi_tool_ops wbi_notify_ops = {start, cancel};
