/* SPDX-License-Identifier: Apache-2.0
 * call/local_tool.c: running a configured command as a tool.
 * A non-zero exit, a signal and a failed start are errors of the call (I5); what
 * the command said on stderr goes into details. */
#include "call/local_tool.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "call/exec.h"
#include "family/generic/generic.h"
#include "run/capture.h"
#include "text/hygiene.h"

enum output_mode { OUTPUT_AUTO, OUTPUT_JSON, OUTPUT_TEXT };

/* Lives in the runtime's arena. */
struct local_tool {
    struct wbi_str *argv;
    size_t argc;
    struct wbi_str *env;
    size_t env_count;
    struct wbi_str workdir;
    enum output_mode output;
};

struct running {
    struct wbi_exec *exec;
    struct wbi_capture *capture;
};

/* ---- outcome ---- */

/* The last part of stderr, cleaned, for details. */
static struct wbi_str stderr_tail(struct wbi_exec *x, struct wbi_str err)
{
    struct wbi_buf out;

    if (err.n > 2000)
        err = wbi_str_from(err, err.n - 2000);
    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_CAPTURE);
    if (wbi_hygiene_clean(err, &out, NULL) != WB_OK)
        return WBI_NONE;
    return wbi_str_trim(wbi_buf_str(&out));
}

static struct wbi_str describe_end(struct wbi_exec *x, const struct wbi_captured *c)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    if (c->end.signal != 0)
        wbi_jw_kint(&w, "signal", c->end.signal);
    else
        wbi_jw_kint(&w, "exit_status", c->end.exit_status);
    if (c->err.n > 0)
        wbi_jw_kstr(&w, "stderr", stderr_tail(x, c->err));
    if (c->out.n > 0)
        wbi_jw_kstr(&w, "stdout", stderr_tail(x, c->out));
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static void fail_with_end(struct wbi_exec *x, const struct wbi_captured *c)
{
    struct wbi_fault fault = {.kind = WBI_KIND_TOOL_EXECUTION_FAILED};

    if (c->end.signal != 0)
        fault.message = wbi_arena_fmt(x->arena, "the command of %.*s was ended by signal %d",
                                      WBI_FMT(x->tool->model_name), c->end.signal);
    else
        fault.message = wbi_arena_fmt(x->arena, "the command of %.*s exited with status %d",
                                      WBI_FMT(x->tool->model_name), c->end.exit_status);
    fault.details = describe_end(x, c);
    wbi_exec_fail_fault(x, &fault);
}

static void stopped(struct wbi_exec *x, const struct wbi_captured *c)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    if (c->out.n == 0 && c->err.n == 0) {
        wbi_exec_stopped(x, WBI_NONE);
        return;
    }
    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    if (c->out.n > 0)
        wbi_jw_kstr(&w, "stdout_preview", stderr_tail(x, c->out));
    if (c->err.n > 0)
        wbi_jw_kstr(&w, "stderr_preview", stderr_tail(x, c->err));
    wbi_jw_obj_end(&w);
    wbi_exec_stopped(x, wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE);
}

/* JSON as it is written (compact), or the text as a JSON string. */
static bool convert(struct wbi_exec *x, enum output_mode mode, struct wbi_str text,
                    struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *v;
    wb_rc rc = WB_EINPUT;

    if (mode != OUTPUT_TEXT) {
        rc = wbi_json_read(x->arena, wbi_str_trim(text), WBI_JSON_STRICT, &v, err);
        if (rc == WB_OK)
            wbi_json_write(out, v);
        else if (mode == OUTPUT_JSON)
            return false;
    }
    if (rc != WB_OK)
        wbi_json_quote(out, text);
    return true;
}

static void succeed(struct wbi_exec *x, const struct wbi_captured *c)
{
    const struct local_tool *t = x->tool->ops_arg;
    struct wbi_complete complete = {.ok = true};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;

    if (c->out_truncated) {
        wbi_exec_fail(x, WBI_KIND_TOOL_EXECUTION_FAILED,
                      "the command of %.*s printed more than %u bytes",
                      WBI_FMT(x->tool->model_name), WBI_LIMIT_CAPTURE);
        return;
    }
    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    if (!convert(x, t->output, c->out, &out, &err)) {
        wbi_exec_fail(x, WBI_KIND_INVALID_TOOL_OUTPUT, "the command of %.*s printed no JSON: %s",
                      WBI_FMT(x->tool->model_name), err.text);
        return;
    }
    if (wbi_buf_rc(&out) != WB_OK) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    complete.output = wbi_buf_str(&out);
    complete.audit = wbi_arena_fmt(x->arena, "{\"containment\":\"%s\"}",
                                   wbi_containment_name(c->end.containment));
    wbi_exec_done(x, &complete);
}

static void on_done(void *arg, const struct wbi_captured *c)
{
    struct running *r = arg;
    struct wbi_exec *x = r->exec;

    r->capture = NULL;
    if (c->end.rc != WB_OK)
        wbi_exec_fail(x, WBI_KIND_COMMAND_SPAWN_FAILED, "%s", c->end.error.text);
    else if (x->cancel != WBI_CANCEL_NONE && (c->end.cancelled || c->end.signal != 0))
        stopped(x, c);
    else if (c->end.signal != 0 || c->end.exit_status != 0)
        fail_with_end(x, c);
    else
        succeed(x, c);
}

/* ---- running ---- */

static void start(struct wbi_exec *x)
{
    const struct local_tool *t = x->tool->ops_arg;
    struct running *r = wbi_arena_zalloc(x->arena, sizeof(*r));
    struct wbi_capture_spec spec = {.process = {.argv = t->argv,
                                                .argc = t->argc,
                                                .env = t->env,
                                                .env_count = t->env_count,
                                                .workdir = t->workdir,
                                                .stdin_kind = WBI_STDIN_BYTES}};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf input;

    if (r == NULL) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    wbi_buf_init_arena(&input, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&input, x->input);
    wbi_buf_addc(&input, '\n');
    spec.process.stdin_bytes = wbi_buf_str(&input);
    r->exec = x;
    x->state = r;
    if (wbi_buf_rc(&input) != WB_OK)
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
    else if (wbi_capture_start(x->runtime->runner, &spec, on_done, r, &r->capture, &err) != WB_OK)
        wbi_exec_fail(x, err.kind != WBI_KIND_NONE ? err.kind : WBI_KIND_COMMAND_SPAWN_FAILED,
                      "%s", err.text);
}

static void cancel(struct wbi_exec *x)
{
    struct running *r = x->state;

    if (r != NULL && r->capture != NULL)
        wbi_capture_cancel(r->capture);
}

static const struct wbi_tool_ops local_ops = {start, cancel};

/* ---- declaring ---- */

static wb_rc read_command(struct wbi_arena *arena, const wbi_json *command, struct local_tool *t,
                          struct wbi_error *err)
{
    if (!wbi_json_is(command, WBI_JSON_ARR) || wbi_json_count(command) == 0)
        return wbi_fail(err, WB_EINPUT,
                        "command must be an array of strings, the program first; got %s",
                        wbi_json_type_name(command));
    t->argv = wbi_arena_array(arena, wbi_json_count(command), sizeof(*t->argv));
    if (t->argv == NULL)
        return wbi_fail_nomem(err);
    WBI_JSON_EACH(command, word)
    {
        if (!wbi_json_is(word, WBI_JSON_STR))
            return wbi_fail(err, WB_EINPUT, "command must be an array of strings; word %zu is %s",
                            t->argc, wbi_json_type_name(word));
        t->argv[t->argc] = wbi_arena_str(arena, wbi_json_str(word));
        if (t->argv[t->argc++].p == NULL)
            return wbi_fail_nomem(err);
    }
    return WB_OK;
}

/* What every command gets (C: model calls get an allow list). */
static const char *const passed_on[] = {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "SHELL"};

static wb_rc add_env(struct wbi_arena *arena, struct local_tool *t, const char *name,
                     struct wbi_str value, struct wbi_error *err)
{
    struct wbi_str *entry = &t->env[t->env_count];

    *entry = wbi_arena_fmt(arena, "%s=%.*s", name, WBI_FMT(value));
    if (entry->p == NULL)
        return wbi_fail_nomem(err);
    t->env_count++;
    return WB_OK;
}

static wb_rc read_env(struct wbi_arena *arena, const wbi_json *env, struct local_tool *t,
                      struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    if (env != NULL && !wbi_json_is(env, WBI_JSON_OBJ))
        return wbi_fail(err, WB_EINPUT, "env must be an object of strings");
    t->env = wbi_arena_array(arena, wbi_json_count(env) + 16, sizeof(*t->env));
    if (t->env == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
        const char *value = getenv(passed_on[i]);
        if (value != NULL && wbi_json_get(env, passed_on[i]) == NULL)
            rc = add_env(arena, t, passed_on[i], wbi_str_z(value), err);
    }
    if (rc == WB_OK)
        rc = add_env(arena, t, "LC_ALL", WBI_LIT("C.UTF-8"), err);
    WBI_JSON_EACH_MEMBER(env, key)
    {
        char *name = wbi_arena_strz(arena, wbi_json_str(key));
        if (!wbi_json_is(key_val, WBI_JSON_STR) || wbi_json_str(key).n == 0)
            return wbi_fail(err, WB_EINPUT, "env must be an object of strings");
        if (rc == WB_OK)
            rc = name ? add_env(arena, t, name, wbi_json_str(key_val), err) : wbi_fail_nomem(err);
    }
    return rc;
}

static wb_rc read_rest(struct wbi_runtime *rt, const wbi_json *d, struct local_tool *t,
                       struct wbi_error *err)
{
    struct wbi_str output = wbi_json_get_str(d, "output");
    const wbi_json *workdir = wbi_json_get(d, "workdir");

    if (workdir != NULL && !wbi_json_is(workdir, WBI_JSON_STR))
        return wbi_fail(err, WB_EINPUT, "workdir must be a string");
    t->workdir = workdir ? wbi_arena_str(rt->arena, wbi_json_str(workdir)) : rt->root;
    if (workdir != NULL && t->workdir.p == NULL)
        return wbi_fail_nomem(err);
    if (output.p == NULL && wbi_json_get(d, "output") == NULL)
        return WB_OK;
    if (wbi_str_eqz(output, "json"))
        t->output = OUTPUT_JSON;
    else if (wbi_str_eqz(output, "text"))
        t->output = OUTPUT_TEXT;
    else if (!wbi_str_eqz(output, "auto"))
        return wbi_fail(err, WB_EINPUT, "output must be \"json\", \"text\" or \"auto\"");
    return WB_OK;
}

wb_rc wbi_local_tool_add(struct wbi_runtime *rt, const wbi_json *descriptor, struct wbi_error *err)
{
    struct local_tool *t = wbi_arena_zalloc(rt->arena, sizeof(*t));
    struct wbi_tool_binding binding = {
        .family = &wbi_generic_family, .ops = &local_ops, .ops_arg = t};
    wb_rc rc;

    if (t == NULL)
        return wbi_fail_nomem(err);
    rc = read_command(rt->arena, wbi_json_get(descriptor, "command"), t, err);
    if (rc == WB_OK)
        rc = read_env(rt->arena, wbi_json_get(descriptor, "env"), t, err);
    if (rc == WB_OK)
        rc = read_rest(rt, descriptor, t, err);
    if (rc == WB_OK)
        rc = wbi_runtime_add_tool(rt, descriptor, &binding, err);
    return rc;
}
