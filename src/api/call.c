/* SPDX-License-Identifier: Apache-2.0
 * api/call.c: requests, results and the way between them. */
#include "api/api_int.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "call/frames.h"
#include "call/views.h"

/* ---- requests ---- */

wb_request *wb_request_new(const char *tool_name)
{
    wb_request *r = wbi_zalloc(sizeof(*r));

    if (r == NULL)
        return NULL;
    r->tool_name = wbi_strdup(wbi_str_z(tool_name ? tool_name : ""));
    if (r->tool_name == NULL) {
        wbi_free(r);
        return NULL;
    }
    return r;
}

void wb_request_free(wb_request *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < WBI_FIELD_COUNT; i++)
        wbi_free(r->values[i]);
    wbi_free(r->tool_name);
    wbi_free(r);
}

wb_rc wb_request_set(wb_request *r, wb_field field, const char *value)
{
    char *copy = NULL;

    if (r == NULL || field < WB_FIELD_INPUT || (unsigned)field >= WBI_FIELD_COUNT)
        return WB_EMISUSE;
    if (value != NULL) {
        copy = wbi_strdup(wbi_str_z(value));
        if (copy == NULL)
            return WB_ENOMEM;
    }
    wbi_free(r->values[field]);
    r->values[field] = copy;
    return WB_OK;
}

wb_rc wb_request_set_frames(wb_request *r, wb_frame_cb on_frame, void *arg)
{
    if (r == NULL)
        return WB_EMISUSE;
    r->on_frame = on_frame;
    r->frame_arg = arg;
    return WB_OK;
}

wb_rc wb_request_on_output(wb_request *r, wb_output_cb on_output, void *arg)
{
    if (r == NULL)
        return WB_EMISUSE;
    r->on_output = on_output;
    r->on_output_arg = arg;
    return WB_OK;
}

static struct wbi_str field(const wb_request *r, wb_field f)
{
    return wbi_str_z(r->values[f]);
}

/* A bad value gives the call its error before it starts. The first is told; NULL takes none. */
static struct wbi_error *rejection(struct wbi_call *call)
{
    return call->rejected.kind == WBI_KIND_NONE ? &call->rejected : NULL;
}

static const wbi_json *json_field(struct wbi_call *call, const wb_request *r, wb_field f,
                                  const char *name)
{
    struct wbi_str text = field(r, f);
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;
    enum wbi_kind kind;
    wb_rc rc;

    if (text.p == NULL)
        return NULL;
    rc = wbi_json_read(call->arena, text, WBI_JSON_STRICT, &v, &err);
    if (rc == WB_OK)
        return v;
    kind = f == WB_FIELD_INPUT ? WBI_KIND_INVALID_TOOL_INPUT : WBI_KIND_MALFORMED_CALL;
    if (err.line == 0)
        (void)wbi_fail_kind(rejection(call), rc, kind, "%s cannot be read: %s", name, err.text);
    else
        (void)wbi_fail_kind(rejection(call), rc, kind, "%s is not JSON: %s at line %u, column %u",
                            name, err.text, err.line, err.column);
    return NULL;
}

static const wbi_json *object_field(struct wbi_call *call, const wb_request *r, wb_field f,
                                    const char *name)
{
    const wbi_json *v = json_field(call, r, f, name);

    if (v == NULL || wbi_json_is(v, WBI_JSON_OBJ))
        return v;
    if (!wbi_json_is(v, WBI_JSON_NULL))
        (void)wbi_fail_kind(rejection(call), WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                            "%s must be an object; got %s", name, wbi_json_type_name(v));
    return NULL;
}

static uint64_t number_field(struct wbi_call *call, const wb_request *r, wb_field f,
                             const char *name, uint64_t most, uint64_t absent)
{
    struct wbi_str text = field(r, f);
    uint64_t n = absent;

    if (text.p != NULL && (!wbi_parse_u64(text, &n) || n > most)) {
        (void)wbi_fail_kind(rejection(call), WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                            "%s must be a number from 0 to %llu", name, (unsigned long long)most);
        return absent;
    }
    return n;
}

/* Members of the invocation that are text as it was given. */
static const struct {
    wb_field field;
    const char *name;
    size_t offset;
} texts[] = {
#define TEXT(field, name, member)                            \
    {                                                        \
        field, name, offsetof(struct wbi_invocation, member) \
    }
    TEXT(WB_FIELD_VERSION_RANGE, "versionRange", version_range),
    TEXT(WB_FIELD_CORRELATION_ID, "correlationId", correlation_id),
    TEXT(WB_FIELD_CAUSATION_ID, "causationId", causation_id),
    TEXT(WB_FIELD_IDEMPOTENCY_KEY, "idempotencyKey", idempotency_key),
    TEXT(WB_FIELD_DEADLINE, "deadline", deadline),
    TEXT(WB_FIELD_CALL_ID, "callId", call_id),
    TEXT(WB_FIELD_CONVERSATION_ID, "conversationId", conversation_id),
    TEXT(WB_FIELD_TURN_ID, "turnId", turn_id),
    TEXT(WB_FIELD_PRINCIPAL, "principal", principal),
    TEXT(WB_FIELD_PROVIDER, "provider", provider),
    TEXT(WB_FIELD_MODEL, "model", model),
    TEXT(WB_FIELD_TRACEPARENT, NULL, traceparent), /* a wrong one is left out, whatever it is */
#undef TEXT
};

struct wbi_str wbi_api_field_of(const struct wbi_invocation *inv, wb_field f)
{
    for (size_t i = 0; i < WBI_COUNT(texts); i++) {
        if (texts[i].field == f)
            return *(const struct wbi_str *)(const void *)((const char *)inv + texts[i].offset);
    }
    return WBI_NONE;
}

/* What is no text goes no further than the error about it. False without memory. */
static bool fill_texts(struct wbi_call *call, const wb_request *r)
{
    for (size_t i = 0; i < WBI_COUNT(texts); i++) {
        struct wbi_str given = field(r, texts[i].field);
        struct wbi_str *to = (struct wbi_str *)(void *)((char *)&call->inv + texts[i].offset);

        if (given.p == NULL)
            continue;
        if (texts[i].name != NULL && !wbi_utf8_valid(given)) {
            (void)wbi_fail_kind(rejection(call), WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                                "%s is not UTF-8", texts[i].name);
            continue;
        }
        *to = wbi_arena_str(call->arena, given);
        if (to->p == NULL)
            return false;
    }
    return true;
}

static wb_rc fill(struct wbi_call *call, const wb_request *r)
{
    struct wbi_invocation *inv = &call->inv;
    bool ok = fill_texts(call, r);

    inv->tool_name = wbi_arena_str(call->arena, wbi_str_z(r->tool_name));
    inv->headers = object_field(call, r, WB_FIELD_HEADERS, "headers");
    inv->metadata = object_field(call, r, WB_FIELD_METADATA, "metadata");
    inv->input = json_field(call, r, WB_FIELD_INPUT, "input");
    if (r->values[WB_FIELD_INPUT] == NULL &&
        wbi_json_read(call->arena, WBI_LIT("{}"), WBI_JSON_STRICT, &inv->input, NULL) != WB_OK)
        ok = false;
    inv->max_tokens =
        (uint32_t)number_field(call, r, WB_FIELD_MAX_TOKENS, "maxTokens", UINT32_MAX, 0);
    inv->native = number_field(call, r, WB_FIELD_LENIENT, "lenient", 1, 0) == 0;
    return ok && inv->tool_name.p != NULL ? WB_OK : WB_ENOMEM;
}

/* ---- results ---- */

static wb_rc make_view(struct wbi_call *call, wb_view view, struct wbi_buf *out)
{
    struct wbi_str name = wbi_call_tool_name(call);

    switch (view) {
    case WB_VIEW_CANONICAL:
        return wbi_view_canonical(&call->outcome, name, out);
    case WB_VIEW_RESULT:
        return wbi_view_result(call, out);
    case WB_VIEW_ENVELOPE:
        return wbi_view_envelope(call, out);
    case WB_VIEW_RECORD:
        return wbi_view_record(call, out);
    case WB_VIEW_RECEIPT:
        wbi_buf_adds(out, call->outcome.receipt);
        return wbi_buf_rc(out);
    case WB_VIEW_ITEM:
        if (call->facts.item.p == NULL)
            return WB_ENOTFOUND;
        wbi_buf_adds(out, call->facts.item);
        return wbi_buf_rc(out);
    }
    return WB_EMISUSE;
}

const char *wb_result_view(wb_result *result, wb_view view, size_t *ret_size)
{
    struct wbi_str *made;
    struct wbi_buf out;

    if (result == NULL || result->shown == NULL || view < WB_VIEW_RECEIPT || view > WB_VIEW_ITEM)
        return NULL;
    made = &result->views[view];
    if (made->p == NULL) {
        wbi_buf_init_arena(&out, result->shown->arena, WBI_LIMIT_CALL_ARENA);
        if (make_view(result->shown, view, &out) != WB_OK)
            return NULL;
        *made = wbi_buf_str(&out);
    }
    if (ret_size != NULL)
        *ret_size = made->n;
    return made->p;
}

int wb_result_ok(const wb_result *result)
{
    return result != NULL && result->call->outcome.state == WBI_OUTCOME_SUCCESS;
}

const char *wb_result_kind(const wb_result *result)
{
    if (result == NULL || wb_result_ok(result))
        return "";
    return wbi_kind_row(result->call->outcome.fault.kind)->kind;
}

int wb_result_exit_code(const wb_result *result)
{
    if (result == NULL || wb_result_ok(result))
        return 0;
    return wbi_kind_row(result->call->outcome.fault.kind)->exit_code;
}

const char *wb_result_call(const wb_result *result)
{
    return result ? result->call->name : "";
}

wb_result *wb_result_ref(wb_result *result)
{
    if (result != NULL)
        atomic_fetch_add(&result->refs, 1);
    return result;
}

static void release(void *arg)
{
    wb_result *result = arg;

    if (result->shown != NULL && result->shown != result->call)
        wbi_arena_free(result->shown->arena);
    wbi_call_release(result->call); /* the result lives in the call's arena */
}

/* A call and its arena belong to the loop thread. */
void wb_result_free(wb_result *result)
{
    struct wbi_loop *loop;

    if (result == NULL || atomic_fetch_sub(&result->refs, 1) > 1)
        return;
    loop = result->call->runtime->loop;
    if (wbi_loop_here(loop)) {
        release(result);
        return;
    }
    result->last = (struct wbi_post){NULL, release, result};
    wbi_loop_post(loop, &result->last);
}

/* ---- submitting ---- */

struct submission {
    struct wbi_post post;
    wb_runtime *runtime;
    wb_request *request; /* a copy, when handed over from another thread */
    wb_done_cb on_done;
    void *arg;
    wb_frame_cb on_frame;
    void *frame_arg;
    wb_output_cb on_output;
    void *on_output_arg;
    uint64_t number;  /* what the caller knows the call by */
    wb_result result; /* here, so that handing out needs no memory */
};

/* What views are made of. A tool that was given up on goes on in its call's arena, on the loop
 * thread: views, which may be asked for on another, have one of their own. NULL: no memory. */
static struct wbi_call *shown_of(struct wbi_call *call)
{
    struct wbi_call *shown;
    struct wbi_arena *arena;

    if (!call->overruled)
        return call;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return NULL;
    shown = wbi_arena_alloc(arena, sizeof(*shown));
    if (shown == NULL) {
        wbi_arena_free(arena);
        return NULL;
    }
    *shown = *call;
    shown->arena = arena;
    return shown;
}

static void hand_out(struct wbi_call *call, void *arg)
{
    struct submission *s = arg;

    s->result.call = call;
    s->result.shown = shown_of(call);
    atomic_store(&s->result.refs, 1);
    wbi_call_hold(call);
    wbi_api_enter(s->runtime);
    s->on_done(&s->result, s->arg);
    wbi_api_leave(s->runtime);
    wb_result_free(&s->result);
}

static void hand_frame(struct wbi_call *call, struct wbi_str frame, void *arg)
{
    const struct submission *s = arg;
    wb_runtime *runtime = s->runtime;

    (void)call;
    wbi_api_enter(runtime);
    runtime->showing++;
    s->on_frame(frame.p, frame.n, s->frame_arg);
    runtime->showing--;
    wbi_api_leave(runtime);
}

static void hand_output(const char *stream, const char *bytes, size_t size, void *arg)
{
    const struct submission *s = arg;
    wb_runtime *runtime = s->runtime;

    wbi_api_enter(runtime);
    runtime->showing++;
    s->on_output(stream, bytes, size, s->on_output_arg);
    runtime->showing--;
    wbi_api_leave(runtime);
}

static void ask_for_output(struct wbi_call *call, struct submission *kept, const wb_request *r)
{
    if (r->on_output == NULL)
        return;
    kept->on_output = r->on_output;
    kept->on_output_arg = r->on_output_arg;
    call->on_output = hand_output;
    call->on_output_arg = kept;
}

static void ask_for_frames(struct wbi_call *call, struct submission *kept, const wb_request *r)
{
    uint64_t ms = number_field(call, r, WB_FIELD_HEARTBEAT_MS, "heartbeatMs", INT32_MAX,
                               WBI_FRAMES_HEARTBEAT_MS);

    if (r->on_frame == NULL)
        return;
    kept->on_frame = r->on_frame;
    kept->frame_arg = r->frame_arg;
    call->on_frame = hand_frame;
    call->on_frame_arg = kept;
    call->heartbeat_ms = (int64_t)ms;
}

static wb_rc start(struct submission *s, const wb_request *request)
{
    struct wbi_call *call;
    struct submission *kept;
    wb_rc rc = wbi_runtime_call_new(s->runtime->rt, &call);

    if (rc != WB_OK)
        return rc;
    kept = wbi_arena_alloc(call->arena, sizeof(*kept));
    rc = kept ? fill(call, request) : WB_ENOMEM;
    if (rc != WB_OK) {
        wbi_runtime_call_drop(call);
        return rc;
    }
    *kept = *s;
    ask_for_frames(call, kept, request);
    ask_for_output(call, kept, request);
    call->ticket_number = s->number;
    call->starts_later = s->runtime->inside >= WBI_API_NESTED;
    return wbi_runtime_submit(call, hand_out, kept);
}

static wb_request *copy_request(const wb_request *r)
{
    wb_request *copy = wb_request_new(r->tool_name);
    wb_rc rc = copy ? WB_OK : WB_ENOMEM;

    for (int f = WB_FIELD_INPUT; rc == WB_OK && f < WBI_FIELD_COUNT; f++)
        if (r->values[f] != NULL)
            rc = wb_request_set(copy, (wb_field)f, r->values[f]);
    if (rc == WB_OK)
        rc = wb_request_set_frames(copy, r->on_frame, r->frame_arg);
    if (rc == WB_OK)
        rc = wb_request_on_output(copy, r->on_output, r->on_output_arg);
    if (rc == WB_OK)
        return copy;
    wb_request_free(copy);
    return NULL;
}

/* On the loop thread after a hand-over: the call was accepted, so even a runtime
 * without memory has to answer it. */
static void start_posted(void *arg)
{
    struct submission *s = arg;

    if (start(s, s->request) != WB_OK) {
        wbi_api_enter(s->runtime);
        s->on_done(NULL, s->arg);
        wbi_api_leave(s->runtime);
    }
    wb_request_free(s->request);
    wbi_free(s);
}

static wb_rc post(const struct submission *from, const wb_request *request)
{
    struct submission *s = wbi_zalloc(sizeof(*s));

    if (s == NULL)
        return WB_ENOMEM;
    *s = *from;
    s->request = copy_request(request);
    if (s->request == NULL) {
        wbi_free(s);
        return WB_ENOMEM;
    }
    s->post.fn = start_posted;
    s->post.arg = s;
    wbi_loop_post(s->runtime->rt->loop, &s->post);
    return WB_OK;
}

wb_rc wb_call_submit(wb_runtime *runtime, const wb_request *request, wb_done_cb on_done, void *arg,
                     wb_call_id *ret_id)
{
    struct submission s = {.runtime = runtime, .on_done = on_done, .arg = arg};

    if (!wbi_api_ours(runtime) || request == NULL || on_done == NULL)
        return WB_EMISUSE;
    s.number = atomic_fetch_add(&runtime->numbers, 1) + 1;
    if (ret_id != NULL)
        ret_id->v = s.number;
    if (wbi_loop_here(runtime->rt->loop))
        return start(&s, request);
    return post(&s, request);
}

/* ---- cancelling ---- */

struct cancellation {
    struct wbi_post post;
    wb_runtime *runtime;
    uint64_t number;
    uint64_t found;
};

static void match_number(void *arg, struct wbi_call *call)
{
    struct cancellation *c = arg;

    if (call->ticket_number == c->number)
        c->found = call->id;
}

static void cancel_here(struct cancellation *c)
{
    struct wbi_calls *calls = c->runtime->rt->calls;

    wbi_calls_each(calls, match_number, c);
    if (c->found != 0)
        wbi_call_cancel(calls, c->found, WBI_CANCEL_ASKED);
}

static void cancel_posted(void *arg)
{
    cancel_here(arg);
    wbi_free(arg);
}

void wb_call_cancel(wb_runtime *runtime, wb_call_id id)
{
    struct cancellation here = {.runtime = runtime, .number = id.v}, *posted;

    if (!wbi_api_ours(runtime))
        return;
    if (wbi_loop_here(runtime->rt->loop)) {
        cancel_here(&here);
        return;
    }
    posted = wbi_zalloc(sizeof(*posted));
    if (posted == NULL)
        return; /* cannot be asked for now; the call ends by itself or is asked again */
    *posted = here;
    posted->post = (struct wbi_post){NULL, cancel_posted, posted};
    wbi_loop_post(runtime->rt->loop, &posted->post);
}

/* ---- in one go ---- */

struct wait {
    bool done;
    wb_result *result;
};

static void keep(wb_result *result, void *arg)
{
    struct wait *w = arg;

    w->result = wb_result_ref(result);
    w->done = true;
}

wb_rc wb_call_run(wb_runtime *runtime, const wb_request *request, wb_result **ret)
{
    struct wait w = {false, NULL};
    wb_rc rc;

    if (!wbi_api_ours(runtime) || ret == NULL || runtime->threaded || wbi_api_showing(runtime))
        return WB_EMISUSE;
    rc = wb_call_submit(runtime, request, keep, &w, NULL);
    if (rc != WB_OK)
        return rc;
    if (!w.done)
        wbi_loop_run(runtime->rt->loop, &w.done);
    if (w.result == NULL)
        return WB_ENOMEM;
    *ret = w.result;
    return WB_OK;
}
