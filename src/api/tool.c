/* SPDX-License-Identifier: Apache-2.0
 * api/tool.c: tools that are C functions.
 * A wb_tool_call lives in its call's arena. Finishing from another thread copies
 * the bytes and hands them to the loop; the first finish wins. */
#include "api/api_int.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "call/exec.h"
#include "call/guards.h"
#include "call/long_text.h"
#include "family/generic/generic.h"
#include "guard/budget.h"
#include "json/pointer.h"

struct wbi_api_tool {
    struct wbi_api_tool *next;
    wb_runtime *runtime;
    wb_tool_run_cb run;
    wb_tool_cancel_cb cancel;
    void *arg;
};

struct wb_tool_call {
    struct wbi_exec *exec;
    struct wbi_api_tool *tool;
    struct wbi_loop *loop;
    struct wbi_str input;
    void *data;
    bool asking; /* its cancel callback is on the stack */
    atomic_bool finished;
    _Atomic int64_t cost; /* millionths; -1: not told */
    atomic_int partials;  /* on their way to the loop */
    struct wbi_post lost; /* ends the call when there is no memory to finish it with */
};

/* How a call ended, on its way to the loop thread. */
enum finish_kind { FINISH_JSON, FINISH_TEXT, FINISH_FAIL };

struct finish {
    struct wbi_post post;
    struct wb_tool_call *call;
    enum finish_kind kind;
    char *text;
    size_t size;
    char *details;
    enum wbi_kind error;
};

static void free_finish(struct finish *f)
{
    wbi_free(f->text);
    wbi_free(f->details);
    wbi_free(f);
}

static void finish_fail(struct wbi_exec *x, const struct finish *f)
{
    struct wbi_fault fault = {.kind = f->error};
    const wbi_json *details = NULL;
    struct wbi_buf text;

    fault.message = wbi_arena_str(x->arena, wbi_str_make(f->text ? f->text : "", f->size));
    if (f->details != NULL &&
        wbi_json_read(x->arena, wbi_str_z(f->details), WBI_JSON_STRICT, &details, NULL) == WB_OK &&
        wbi_json_is(details, WBI_JSON_OBJ)) {
        wbi_buf_init_arena(&text, x->arena, WBI_LIMIT_JSON_TEXT);
        wbi_json_write(&text, details); /* compact, so that it reads back to the same bytes */
        if (wbi_buf_rc(&text) == WB_OK)
            fault.details = wbi_buf_str(&text);
    }
    wbi_exec_fail_fault(x, &fault);
}

/* Text that must be JSON is read once here, so that later stages can trust it. */
static void finish_output(struct wbi_exec *x, const struct finish *f)
{
    struct wbi_complete complete = {.ok = true};
    struct wbi_str text = wbi_str_make(f->text ? f->text : "", f->size);
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v;
    struct wbi_buf out;

    if (f->kind == FINISH_TEXT && wbi_long_text(x, text))
        return;
    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    if (f->kind == FINISH_TEXT) {
        wbi_json_quote(&out, text);
    } else if (wbi_json_read(x->arena, text, WBI_JSON_STRICT, &v, &err) == WB_OK) {
        wbi_json_write(&out, v);
    } else {
        wbi_exec_fail(x, WBI_KIND_INVALID_TOOL_OUTPUT, "the tool returned no JSON: %s", err.text);
        return;
    }
    if (wbi_buf_rc(&out) == WB_ENOMEM) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    if (wbi_buf_rc(&out) != WB_OK) {
        wbi_exec_fail(
            x, WBI_KIND_INVALID_TOOL_OUTPUT,
            "%.*s ran, but its output of %zu bytes is too large: as JSON at most %u bytes "
            "are read",
            WBI_FMT(x->tool->model_name), text.n, WBI_LIMIT_JSON_TEXT);
        return;
    }
    complete.output = wbi_buf_str(&out);
    wbi_exec_done(x, &complete);
}

static void finish_here(void *arg)
{
    struct finish *f = arg;
    struct wbi_exec *x = f->call->exec;

    x->cost = atomic_load(&f->call->cost);
    if (f->kind == FINISH_FAIL)
        finish_fail(x, f);
    else
        finish_output(x, f);
    free_finish(f);
}

static void finish_lost(void *arg)
{
    struct wb_tool_call *call = arg;

    wbi_exec_fail(call->exec, WBI_KIND_INTERNAL_ERROR, "out of memory");
}

/* details and text are copied; without memory the call ends in an error made of
 * nothing. */
static void finish(struct wb_tool_call *call, enum finish_kind kind, const char *text, size_t size,
                   const char *details, enum wbi_kind error)
{
    struct finish *f;

    if (call == NULL || atomic_exchange(&call->finished, true))
        return;
    f = wbi_zalloc(sizeof(*f));
    if (f != NULL) {
        f->text = wbi_strdup(wbi_str_make(text ? text : "", text ? size : 0));
        f->details = details ? wbi_strdup(wbi_str_z(details)) : NULL;
    }
    if (f == NULL || f->text == NULL) {
        if (f != NULL)
            free_finish(f);
        call->lost.fn = finish_lost;
        call->lost.arg = call;
        wbi_loop_post(call->loop, &call->lost);
        return;
    }
    f->call = call;
    f->kind = kind;
    f->size = text ? size : 0;
    f->error = error;
    if (wbi_loop_here(call->loop) && atomic_load(&call->partials) == 0) {
        finish_here(f);
        return;
    }
    f->post = (struct wbi_post){NULL, finish_here, f};
    wbi_loop_post(call->loop, &f->post);
}

void wb_tool_finish_json(wb_tool_call *call, const char *json, size_t size)
{
    finish(call, FINISH_JSON, json, size, NULL, WBI_KIND_NONE);
}

void wb_tool_finish_text(wb_tool_call *call, const char *text, size_t size)
{
    finish(call, FINISH_TEXT, text, size, NULL, WBI_KIND_NONE);
}

void wb_tool_fail(wb_tool_call *call, const char *kind, const char *message, const char *details)
{
    enum wbi_kind k = kind ? wbi_kind_by_name(wbi_str_z(kind)) : WBI_KIND_TOOL_EXECUTION_FAILED;

    if (k == WBI_KIND_NONE)
        k = WBI_KIND_TOOL_EXECUTION_FAILED;
    finish(call, FINISH_FAIL, message, message ? strlen(message) : 0, details, k);
}

void wb_tool_cost(wb_tool_call *call, double cost)
{
    if (call != NULL && cost >= 0 && cost <= (double)(INT64_MAX / 2 / WBI_COST_SCALE))
        atomic_store(&call->cost, wbi_cost_of(cost));
}

/* Partial output on its way to the loop thread, in front of the finish. */
struct partial {
    struct wbi_post post;
    struct wb_tool_call *call;
    size_t size;
    char text[];
};

static void partial_here(void *arg)
{
    struct partial *p = arg;
    struct wbi_call *call = p->call->exec->call;

    wbi_call_hold(call); /* who gets the frame may end it */
    wbi_exec_partial(p->call->exec, wbi_str_make(p->text, p->size));
    atomic_fetch_sub(&p->call->partials, 1);
    wbi_call_release(call);
    wbi_free(p);
}

void wb_tool_partial(wb_tool_call *call, const char *json, size_t size)
{
    struct partial *p;

    if (call == NULL || json == NULL || atomic_load(&call->finished))
        return;
    if (wbi_loop_here(call->loop)) {
        wbi_exec_partial(call->exec, wbi_str_make(json, size));
        return;
    }
    p = size <= WBI_LIMIT_FRAME ? wbi_alloc(sizeof(*p) + size) : NULL;
    if (p == NULL)
        return; /* partials may be left out */
    *p = (struct partial){.post = {NULL, partial_here, p}, .call = call, .size = size};
    memcpy(p->text, json, size);
    atomic_fetch_add(&call->partials, 1);
    wbi_loop_post(call->loop, &p->post);
}

static void start(struct wbi_exec *x)
{
    struct wbi_api_tool *tool = x->tool->ops_arg;
    struct wb_tool_call *call = wbi_arena_zalloc(x->arena, sizeof(*call));

    if (call == NULL) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    call->exec = x;
    call->tool = tool;
    call->loop = tool->runtime->rt->loop;
    atomic_init(&call->finished, false);
    atomic_init(&call->cost, -1);
    atomic_init(&call->partials, 0);
    x->state = call;
    wbi_api_enter(tool->runtime);
    tool->run(call, tool->arg);
    wbi_api_leave(tool->runtime);
}

/* Whoever is asked to end may ask the same of all it knows, this call among them. */
static void cancel(struct wbi_exec *x)
{
    struct wb_tool_call *call = x->state;
    struct wbi_call *held = x->call; /* it may be over before the callback returns */

    if (call == NULL || call->tool->cancel == NULL || call->asking || atomic_load(&call->finished))
        return;
    wbi_call_hold(held);
    call->asking = true;
    wbi_api_enter(call->tool->runtime);
    call->tool->cancel(call, call->tool->arg);
    wbi_api_leave(call->tool->runtime);
    call->asking = false;
    wbi_call_release(held);
}

static const struct wbi_tool_ops ops = {start, cancel};

/* Members of descriptors in files, which would be without effect here: a limit among policies,
 * say, that nobody keeps. */
static wb_rc check_members(const wbi_json *descriptor, struct wbi_error *err)
{
    static const char *const of_files[] = {"family", "policies", "command",
                                           "env",    "workdir",  "output"};

    for (size_t i = 0; i < WBI_COUNT(of_files); i++)
        if (wbi_json_get(descriptor, of_files[i]) != NULL)
            return wbi_fail(err, WB_EINPUT,
                            "%s is for tools that are declared in files, not for a C function%s",
                            of_files[i],
                            strcmp(of_files[i], "policies") == 0
                                ? "; its guards stand in a configuration, under policies.tools"
                                : "");
    return WB_OK;
}

static wb_rc declare(struct wbi_api_tool *tool, const char *descriptor, const char *family,
                     struct wbi_error *err)
{
    struct wbi_tool_binding binding = {.family = &wbi_generic_family, .ops = &ops, .ops_arg = tool};
    struct wbi_arena *arena;
    const wbi_json *v;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    if (family != NULL) {
        binding.family = wbi_api_family_find(tool->runtime, family);
        if (binding.family == NULL)
            rc =
                wbi_fail(err, WB_ENOTFOUND, "there is no family \"%s\"; register it first", family);
    }
    if (rc == WB_OK)
        rc = wbi_json_read(arena, wbi_str_z(descriptor), WBI_JSON_STRICT, &v, err);
    if (rc == WB_OK)
        rc = check_members(v, err);
    if (rc == WB_OK)
        rc = wbi_runtime_add_tool(tool->runtime->rt, v, &binding, err);
    wbi_arena_free(arena);
    return rc;
}

wb_rc wb_tool_register(wb_runtime *runtime, const char *descriptor, const char *family,
                       wb_tool_run_cb run, wb_tool_cancel_cb cancel_cb, void *arg,
                       wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_api_tool *tool;
    wb_rc rc;

    if (runtime == NULL || descriptor == NULL || run == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE,
                                 "wb_tool_register needs a runtime, a descriptor and a function");
    tool = wbi_zalloc(sizeof(*tool));
    if (tool == NULL)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    *tool = (struct wbi_api_tool){.runtime = runtime, .run = run, .cancel = cancel_cb, .arg = arg};
    rc = declare(tool, descriptor, family, &err);
    if (rc != WB_OK) {
        wbi_free(tool);
        return wbi_api_fail(reterr, &err);
    }
    tool->next = runtime->tools;
    runtime->tools = tool;
    return WB_OK;
}

void wbi_api_tools_free(wb_runtime *runtime)
{
    while (runtime->tools != NULL) {
        struct wbi_api_tool *tool = runtime->tools;
        runtime->tools = tool->next;
        wbi_free(tool);
    }
}

const char *wb_tool_call_input(wb_tool_call *call, size_t *ret_size)
{
    struct wbi_buf out;

    if (call == NULL)
        return NULL;
    if (call->input.p == NULL) {
        wbi_buf_init_arena(&out, call->exec->arena, WBI_LIMIT_JSON_TEXT);
        wbi_json_write(&out, call->exec->input);
        if (wbi_buf_rc(&out) != WB_OK)
            return NULL;
        call->input = wbi_buf_str(&out);
    }
    if (ret_size != NULL)
        *ret_size = call->input.n;
    return call->input.p;
}

const char *wb_tool_call_string(wb_tool_call *call, const char *pointer, size_t *ret_size)
{
    const wbi_json *v = NULL;

    if (call == NULL || pointer == NULL ||
        wbi_json_pointer(call->exec->input, wbi_str_z(pointer), &v, NULL) != WB_OK ||
        !wbi_json_is(v, WBI_JSON_STR))
        return NULL;
    if (ret_size != NULL)
        *ret_size = wbi_json_str(v).n;
    return wbi_json_str(v).p;
}

const char *wb_tool_call_correlation_id(wb_tool_call *call)
{
    return call ? call->exec->call->inv.correlation_id.p : "";
}

const char *wb_tool_call_id(const wb_tool_call *call)
{
    return call ? call->exec->call->name : "";
}

int64_t wb_tool_call_left_ms(const wb_tool_call *call)
{
    return call ? wbi_exec_left_ms(call->exec) : -1;
}

const char *wb_tool_call_field(wb_tool_call *call, wb_field field)
{
    const struct wbi_invocation *inv;
    const wbi_json *object = NULL;
    struct wbi_str value;
    struct wbi_buf out;

    if (call == NULL)
        return "";
    if (field == WB_FIELD_INPUT)
        return wb_tool_call_input(call, NULL);
    if (field == WB_FIELD_TRACEPARENT)
        return wb_tool_call_traceparent(call);
    inv = &call->exec->call->inv;
    if (field == WB_FIELD_HEADERS)
        object = inv->headers;
    else if (field == WB_FIELD_METADATA)
        object = inv->metadata;
    if (object == NULL) {
        value = wbi_api_field_of(inv, field);
        return value.n > 0 ? wbi_arena_strz(call->exec->arena, value) : "";
    }
    wbi_buf_init_arena(&out, call->exec->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&out, object);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out).p : NULL;
}

const char *wb_tool_call_traceparent(wb_tool_call *call)
{
    struct wbi_trace_texts trace;

    return call != NULL && wbi_call_trace(call->exec->call, &trace) ? trace.parent.p : "";
}

const char *wb_tool_call_tracestate(wb_tool_call *call)
{
    struct wbi_trace_texts trace;

    return call != NULL && wbi_call_trace(call->exec->call, &trace) ? trace.state.p : "";
}

wb_rc wb_request_set_parent(wb_request *request, wb_tool_call *parent)
{
    const struct wbi_call *call = parent ? parent->exec->call : NULL;
    const struct {
        wb_field field;
        struct wbi_str value;
    } fields[] = {
        {WB_FIELD_CORRELATION_ID, call ? call->inv.correlation_id : WBI_NONE},
        {WB_FIELD_CAUSATION_ID, call ? wbi_str_z(call->name) : WBI_NONE},
        {WB_FIELD_PRINCIPAL, call ? call->inv.principal : WBI_NONE},
        {WB_FIELD_CONVERSATION_ID, call ? call->inv.conversation_id : WBI_NONE},
    };
    const char *trace = wb_tool_call_traceparent(parent);
    wb_rc rc = call ? WB_OK : WB_EMISUSE;

    for (size_t i = 0; rc == WB_OK && i < sizeof(fields) / sizeof(fields[0]); i++) {
        char *value =
            fields[i].value.n ? wbi_arena_strz(parent->exec->arena, fields[i].value) : NULL;
        rc = fields[i].value.n && !value ? WB_ENOMEM
                                         : wb_request_set(request, fields[i].field, value);
    }
    return rc == WB_OK && trace[0] ? wb_request_set(request, WB_FIELD_TRACEPARENT, trace) : rc;
}

int wb_tool_call_cancelled(const wb_tool_call *call)
{
    return call != NULL && call->exec->cancel != WBI_CANCEL_NONE;
}

void wb_tool_call_set_data(wb_tool_call *call, void *data)
{
    if (call != NULL)
        call->data = data;
}

void *wb_tool_call_data(const wb_tool_call *call)
{
    return call ? call->data : NULL;
}
