/* SPDX-License-Identifier: Apache-2.0
 * call/local_tool.c: running a configured command as a tool.
 * A non-zero exit, a signal and a failed start are errors of the call (I5); what
 * the command said on stderr goes into details. */
#include "call/local_tool_int.h"

#include <stdlib.h>

#include "artifact/shown.h"
#include "artifact/spool.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "call/exec.h"
#include "call/guards.h"
#include "call/known.h"
#include "call/long_text.h"
#include "call/partial.h"
#include "call/runtime.h"
#include "run/capture.h"

struct running {
    struct wbi_exec *exec;
    struct wbi_capture *capture;
    struct wbi_captured captured;           /* while the rest is made durable */
    struct wbi_spool *spool;                /* of streams that are longer than what is captured */
    unsigned spooled;                       /* bit i: stream i is in it */
    struct wbi_str path[WBI_SPOOL_STREAMS]; /* of what is spooled, once it is finished */
    struct wbi_shown *shown[WBI_SPOOL_STREAMS]; /* the same, for a preview */
    bool not_kept;
};

/* ---- outcome ---- */

#define TAIL_BYTES 2000
#define LINE_BYTES 200

/* The last part of a stream, for people and models; cut when it holds no secrets any more. */
static struct wbi_str tail(struct wbi_exec *x, const char *name, struct wbi_str text)
{
    text = wbi_partial_clean(x->call, name, text);
    if (text.n > TAIL_BYTES)
        text = wbi_str_from(text, text.n - TAIL_BYTES);
    while (text.n > 0 && ((unsigned char)text.p[0] & 0xc0) == 0x80)
        text = wbi_str_from(text, 1); /* not in the middle of a character */
    return wbi_str_trim(text);
}

static bool is_one_line(struct wbi_str text)
{
    text = wbi_str_trim(text);
    return text.n <= LINE_BYTES && wbi_str_index(text, '\n') == text.n;
}

static void write_partial(struct wbi_exec *x, struct wbi_jw *w, const struct wbi_captured *c)
{
    const struct running *r = x->state;
    struct wbi_partial_stream s[2] = {
        {"stdout", c->out, c->out_bytes, c->out_truncated, r->path[0], r->shown[0]},
        {"stderr", c->err, c->err_bytes, c->err_truncated, r->path[1], r->shown[1]}};

    wbi_partial_write(x->call, w, s, 2);
}

/* {"partial": {…}} with what was printed before it ended badly; single lines of a
 * plain failure stand in details themselves. */
static struct wbi_str describe_end(struct wbi_exec *x, const struct wbi_captured *c)
{
    bool small = is_one_line(c->out) && is_one_line(c->err);
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    if (c->end.signal != 0)
        wbi_jw_kint(&w, "signal", c->end.signal);
    else if (!c->end.status_lost)
        wbi_jw_kint(&w, "exit_status", c->end.exit_status);
    if (small && c->err.n > 0)
        wbi_jw_kstr(&w, "stderr", tail(x, "stderr", c->err));
    if (small && c->out.n > 0)
        wbi_jw_kstr(&w, "stdout", tail(x, "stdout", c->out));
    if (!small) {
        wbi_jw_key(&w, "partial");
        write_partial(x, &w, c);
    }
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

/* What a fault of the output itself needs: it ran, this is what it printed. */
static void fail_with_output(struct wbi_exec *x, const struct wbi_captured *c, enum wbi_kind kind,
                             struct wbi_str message)
{
    struct wbi_fault fault = {.kind = kind, .message = message};

    fault.details = describe_end(x, c);
    wbi_exec_fail_fault(x, &fault);
}

static void fail_with_end(struct wbi_exec *x, const struct wbi_captured *c)
{
    struct wbi_str message =
        c->end.signal != 0 ? wbi_arena_fmt(x->arena, "the command of %.*s was ended by signal %d",
                                           WBI_FMT(x->tool->model_name), c->end.signal)
                           : wbi_arena_fmt(x->arena, "the command of %.*s exited with status %d",
                                           WBI_FMT(x->tool->model_name), c->end.exit_status);

    fail_with_output(x, c, WBI_KIND_TOOL_EXECUTION_FAILED, message);
}

/* Nobody saw how it ended, or what it did until then. */
static void fail_unknown(struct wbi_exec *x, const struct wbi_captured *c)
{
    struct wbi_fault fault = {.kind = WBI_KIND_OUTCOME_UNKNOWN};

    fault.message =
        wbi_arena_fmt(x->arena,
                      "the process that watched the command of %.*s was killed, and the command "
                      "with it: how it ended is not known",
                      WBI_FMT(x->tool->model_name));
    if (c->out.n > 0 || c->err.n > 0)
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
    write_partial(x, &w, c);
    wbi_exec_stopped(x, wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE);
}

/* For the record: how it was contained, and what it said beside its output. */
static struct wbi_str write_audit(struct wbi_exec *x, const struct wbi_captured *c)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "containment", wbi_containment_name(c->end.containment));
    if (c->err_bytes > 0) {
        wbi_jw_kint(&w, "stderr_bytes", (int64_t)c->err_bytes);
        wbi_jw_kstr(&w, "stderr", tail(x, "stderr", c->err));
    }
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

/* JSON as it is written (compact), or the text as a JSON string. */
static bool convert(struct wbi_exec *x, enum wbi_local_output mode, struct wbi_str text,
                    struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *v;
    wb_rc rc = WB_EINPUT;

    if (mode != WBI_LOCAL_TEXT) {
        rc = wbi_json_read(x->arena, wbi_str_trim(text), WBI_JSON_STRICT, &v, err);
        if (rc == WB_OK)
            wbi_json_write(out, v);
        else if (mode == WBI_LOCAL_JSON)
            return false;
    }
    if (rc != WB_OK)
        wbi_json_quote(out, text);
    return true;
}

static bool may_be_text(const struct wbi_exec *x)
{
    const struct wbi_local_tool *t = x->tool->ops_arg;

    return t->output != WBI_LOCAL_JSON && x->tool->output_compiled == NULL;
}

/* Text that is kept whole, since it is too long to be a value or would lose bytes as one. */
static bool is_kept_text(const struct wbi_exec *x, const struct running *r)
{
    return may_be_text(x) && r->path[0].p != NULL && r->shown[0] != NULL;
}

static void fail_too_long(struct wbi_exec *x, const struct wbi_captured *c)
{
    struct wbi_str message = wbi_arena_fmt(
        x->arena, "the command of %.*s printed %llu bytes; at most %u can be read as a value",
        WBI_FMT(x->tool->model_name), (unsigned long long)c->out_bytes, WBI_LIMIT_CAPTURE);

    fail_with_output(x, c, WBI_KIND_INVALID_TOOL_OUTPUT, message);
}

static void succeed(struct wbi_exec *x, const struct wbi_captured *c)
{
    const struct wbi_local_tool *t = x->tool->ops_arg;
    const struct running *r = x->state;
    struct wbi_complete complete = {.ok = true};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;

    if (is_kept_text(x, r)) {
        wbi_long_done(x, r->shown[0], c->out_bytes, r->path[0], write_audit(x, c));
        return;
    }
    if (c->out_truncated) {
        if (c->out_of_memory) /* no matter how long it is */
            wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        else
            fail_too_long(x, c);
        return;
    }
    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    if (!convert(x, t->output, c->out, &out, &err)) {
        fail_with_output(x, c, WBI_KIND_INVALID_TOOL_OUTPUT,
                         wbi_arena_fmt(x->arena, "the command of %.*s printed no JSON: %s",
                                       WBI_FMT(x->tool->model_name), err.text));
        return;
    }
    if (wbi_buf_rc(&out) != WB_OK) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    complete.output = wbi_buf_str(&out);
    complete.audit = write_audit(x, c);
    wbi_exec_done(x, &complete);
}

static void conclude(struct wbi_exec *x, const struct wbi_captured *c)
{
    if (c->end.rc != WB_OK)
        wbi_exec_fail(x, WBI_KIND_COMMAND_SPAWN_FAILED, "%s", c->end.error.text);
    else if (x->cancel != WBI_CANCEL_NONE && (c->end.cancelled || c->end.signal != 0))
        stopped(x, c);
    else if (c->end.status_lost)
        fail_unknown(x, c);
    else if (c->end.signal != 0 || c->end.exit_status != 0)
        fail_with_end(x, c);
    else
        succeed(x, c);
}

/* ---- what is too long to be captured is kept whole (C5.2) ---- */

static void on_overflow(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    static const char *const roles[WBI_SPOOL_STREAMS] = {"stdout", "stderr"};
    struct running *r = arg;
    struct wbi_runtime *rt = r->exec->runtime;

    if (r->spool == NULL && !r->not_kept)
        r->not_kept = rt->no_ledger || wbi_runtime_open_artifacts(rt, NULL) != WB_OK ||
                      wbi_spool_open(rt->artifacts, wbi_str_z(r->exec->call->name), roles,
                                     &r->spool, NULL) != WB_OK;
    if (r->spool == NULL)
        return;
    wbi_spool_add(r->spool, (int)stream, bytes);
    if ((r->spooled & 1u << stream) == 0)
        r->shown[stream] = wbi_long_shown(r->exec); /* NULL: the beginning alone is shown */
    r->spooled |= 1u << stream;
    if (r->shown[stream] != NULL)
        wbi_shown_feed(r->shown[stream], bytes);
}

static void on_kept(void *arg, wb_rc rc, const struct wbi_artifact got[WBI_SPOOL_STREAMS],
                    const struct wbi_error *err)
{
    struct running *r = arg;
    struct wbi_exec *x = r->exec;

    (void)rc; /* what could not be kept has no name, or says in its facts what is missing */
    (void)err;
    r->spool = NULL;
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++) {
        if (got[i].name[0] != '\0')
            r->path[i] = wbi_artifact_path(x->runtime->artifacts, x->arena, got[i].name);
        if (r->path[i].p != NULL &&
            wbi_runtime_note_artifact(x->call, r->path[i], &got[i], NULL) != WB_OK)
            r->path[i] = WBI_NONE; /* what no record names is not promised */
        if (r->shown[i] != NULL && wbi_shown_end(r->shown[i]) != WB_OK)
            r->shown[i] = NULL;
    }
    conclude(x, &r->captured);
}

/* An image, or text in another encoding: a value has U+FFFD for what is no UTF-8. */
static bool loses_bytes(const struct wbi_exec *x, const struct wbi_captured *c)
{
    return may_be_text(x) && c->end.signal == 0 && c->end.exit_status == 0 && !c->out_truncated &&
           !wbi_utf8_valid(c->out);
}

static void on_done(void *arg, const struct wbi_captured *c)
{
    struct running *r = arg;
    struct wbi_exec *x = r->exec;
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    struct wbi_error err = WBI_ERROR_INIT;

    r->capture = NULL;
    if (loses_bytes(x, c))
        on_overflow(r, WBI_STDOUT, c->out);
    if (r->spool == NULL) {
        conclude(x, c);
        return;
    }
    r->captured = *c;
    r->captured.out = wbi_arena_str(x->arena, c->out);
    r->captured.err = wbi_arena_str(x->arena, c->err);
    if (wbi_spool_finish_later(r->spool, x->runtime->loop, r->spooled, on_kept, r) != WB_OK)
        on_kept(r, wbi_spool_finish(r->spool, r->spooled, got, &err), got, &err);
}

/* ---- running ---- */

static bool declares(const struct wbi_local_tool *t, struct wbi_str name)
{
    for (size_t i = 0; i < t->env_count; i++)
        if (wbi_str_starts(t->env[i], name))
            return true;
    return false;
}

/* One more, unless the tool says itself what it is. False without memory. */
static bool add_env(struct wbi_exec *x, const struct wbi_local_tool *t, struct wbi_str *env,
                    size_t *n, struct wbi_str name, struct wbi_str value)
{
    struct wbi_str entry = wbi_arena_fmt(x->arena, "%.*s=%.*s", WBI_FMT(name), WBI_FMT(value));

    if (entry.p == NULL)
        return false;
    if (value.n > 0 && !declares(t, wbi_str_head(entry, name.n + 1)))
        env[(*n)++] = entry;
    return true;
}

/* The tool's environment, what it should know of its call, and the credentials it names. A
 * repeat that means the same effect (a retry, a call with the same key) is one by its key. */
static bool set_env(struct wbi_exec *x, const struct wbi_local_tool *t,
                    struct wbi_process_spec *spec)
{
    const struct wbi_invocation *inv = &x->call->inv;
    int64_t left_ms = wbi_exec_left_ms(x);
    struct wbi_trace_texts trace = {0};
    bool ok = wbi_call_trace(x->call, &trace);
    const struct {
        struct wbi_str name, value;
    } told[] = {
        {WBI_LIT("TRACEPARENT"), trace.parent},
        {WBI_LIT("TRACESTATE"), trace.state},
        {WBI_LIT("WAYBILL_CALL_ID"), wbi_str_z(x->call->name)},
        {WBI_LIT("WAYBILL_CORRELATION_ID"), inv->correlation_id},
        {WBI_LIT("WAYBILL_PRINCIPAL"), inv->principal},
        {WBI_LIT("WAYBILL_IDEMPOTENCY_KEY"), inv->idempotency_key},
        {WBI_LIT("WAYBILL_TIMEOUT_MS"),
         left_ms < 0 ? WBI_NONE : wbi_arena_fmt(x->arena, "%lld", (long long)left_ms)},
    };
    size_t n = t->env_count, most = n + WBI_COUNT(told) + wbi_json_count(x->tool->credentials);
    struct wbi_str *env = wbi_arena_array(x->arena, most, sizeof(*env));

    ok = ok && env != NULL && (left_ms < 0 || told[WBI_COUNT(told) - 1].value.p != NULL);
    if (ok && n > 0)
        memcpy(env, t->env, n * sizeof(*env));
    for (size_t i = 0; ok && i < WBI_COUNT(told); i++)
        ok = add_env(x, t, env, &n, told[i].name, told[i].value);
    WBI_JSON_EACH (x->tool->credentials, name) {
        const char *value = wbi_credential(wbi_json_str(name));
        ok = ok && add_env(x, t, env, &n, wbi_json_str(name), wbi_str_z(value ? value : ""));
    }
    spec->env = env;
    spec->env_count = n;
    return ok;
}

static void start(struct wbi_exec *x)
{
    const struct wbi_local_tool *t = x->tool->ops_arg;
    struct running *r = wbi_arena_zalloc(x->arena, sizeof(*r));
    struct wbi_capture_spec spec = {.process = {.argv = t->argv,
                                                .argc = t->argc,
                                                .workdir = t->workdir,
                                                .stdin_kind = WBI_STDIN_BYTES},
                                    .on_overflow = on_overflow};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf input;

    if (r == NULL || !set_env(x, t, &spec.process)) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    wbi_buf_init_arena(&input, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&input, x->input);
    wbi_buf_addc(&input, '\n');
    spec.process.search_path = wbi_str_z(getenv("PATH")); /* the user's, as the tool gets it */
    spec.process.stdin_bytes = wbi_buf_str(&input);
    r->exec = x;
    x->state = r;
    if (wbi_buf_rc(&input) != WB_OK)
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
    else if (wbi_capture_start(x->runtime->runner, &spec, on_done, r, &r->capture, &err) != WB_OK)
        wbi_exec_fail(x, err.kind != WBI_KIND_NONE ? err.kind : WBI_KIND_COMMAND_SPAWN_FAILED, "%s",
                      err.text);
}

static void cancel(struct wbi_exec *x)
{
    struct running *r = x->state;

    if (r != NULL && r->capture != NULL)
        wbi_capture_cancel(r->capture);
}

const struct wbi_tool_ops wbi_local_ops = {start, cancel};
