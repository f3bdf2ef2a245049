/* SPDX-License-Identifier: Apache-2.0
 * call/control.c: health, and the calls in flight. */
#include "call/control.h"

#include <unistd.h>

#include "base/limits.h"
#include "call/guards.h"
#include "call/stages.h"
#include "call/views.h"
#include "store/store.h"

struct wbi_runtime_method {
    struct wbi_runtime_method *next;
    const char *name;
    wbi_control_fn *fn;
    void *arg;
};

static void answer(struct wbi_control_request *request, struct wbi_buf *out)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_buf_rc(out) == WB_OK) {
        wbi_control_answer(request, wbi_buf_str(out));
    } else {
        (void)wbi_fail(&err, wbi_buf_rc(out), "the answer is too large");
        wbi_control_refuse(request, &err);
    }
    wbi_buf_fini(out);
}

static void write_health(struct wbi_jw *w, struct wbi_runtime *rt)
{
    struct wbi_store_health h;

    wbi_runtime_ledger_health(rt, &h);
    wbi_jw_obj(w);
    wbi_jw_kbool(w, "writable", h.writable);
    if (!h.writable) {
        wbi_jw_kstrz(w, "reason", h.reason);
        wbi_jw_kstrz(w, "kind", wbi_kind_row(h.kind)->kind);
    }
    wbi_jw_kint(w, "commits", (int64_t)h.commits);
    wbi_jw_kint(w, "operations", (int64_t)h.operations);
    wbi_jw_kint(w, "reopened", (int64_t)h.reopened);
    wbi_jw_kint(w, "waiting", (int64_t)h.waiting);
    wbi_jw_kint(w, "rowsLost", (int64_t)h.lost);
    wbi_jw_kint(w, "walPages", h.wal_pages);
    wbi_jw_kbool(w, "walAlarm", h.wal_alarm);
    wbi_jw_obj_end(w);
}

static void on_health(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_runtime *rt = arg;
    char started[WBI_RFC3339_SIZE];
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    (void)params;
    wbi_buf_init(&out, WBI_LIMIT_CONTROL_LINE);
    wbi_time_format(rt->opened_ms, started);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "instance", wbi_store_instance(rt->store));
    wbi_jw_kint(&w, "pid", getpid());
    wbi_jw_kstrz(&w, "version", WAYBILL_VERSION);
    wbi_jw_kstrz(&w, "openedAt", started);
    wbi_jw_kint(&w, "calls", (int64_t)wbi_calls_count(rt->calls));
    wbi_jw_kint(&w, "tools", (int64_t)rt->running);
    wbi_jw_kint(&w, "eventsLost", (int64_t)wbi_events_missed(rt->guards));
    wbi_jw_key(&w, "ledger");
    write_health(&w, rt);
    wbi_jw_obj_end(&w);
    answer(request, &out);
}

static void write_call(void *arg, struct wbi_call *call)
{
    struct wbi_jw *w = arg;
    char started[WBI_RFC3339_SIZE];

    wbi_time_format(call->started_wall_ms, started);
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "id", call->name);
    if (call->inv.call_id.p != NULL)
        wbi_jw_kstr(w, "callId", call->inv.call_id);
    wbi_jw_kstr(w, "tool", wbi_call_tool_name(call));
    wbi_jw_kstrz(w, "stage", wbi_stage_name(call->stage));
    wbi_jw_kstr(w, "conversation", call->inv.conversation_id);
    wbi_jw_kstr(w, "principal", call->inv.principal);
    wbi_jw_kstrz(w, "startedAt", started);
    wbi_jw_kint(w, "elapsedMs", (wbi_now_ns(&call->clock) - call->started_ns) / WBI_NS_PER_MS);
    wbi_jw_kbool(w, "cancelling", call->cancel != WBI_CANCEL_NONE);
    wbi_jw_obj_end(w);
}

static void on_list(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_runtime *rt = arg;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    (void)params;
    wbi_buf_init(&out, WBI_LIMIT_CONTROL_LINE);
    wbi_jw_arr(&w);
    wbi_calls_each(rt->calls, write_call, &w);
    wbi_jw_arr_end(&w);
    answer(request, &out);
}

struct search {
    struct wbi_str id;
    const struct wbi_call *own, *provider;
    size_t providers;
};

static void match(void *arg, struct wbi_call *call)
{
    struct search *s = arg;

    if (wbi_str_eqz(s->id, call->name))
        s->own = call;
    if (call->inv.call_id.p != NULL && wbi_str_eq(s->id, call->inv.call_id)) {
        s->provider = call;
        s->providers++;
    }
}

static void on_cancel(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_runtime *rt = arg;
    struct search s = {.id = wbi_json_get_str(params, "id")};
    struct wbi_error err = WBI_ERROR_INIT;
    const struct wbi_call *found;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    char name[WBI_ID_SIZE];

    if (s.id.n > 0)
        wbi_calls_each(rt->calls, match, &s);
    found = s.own ? s.own : s.provider;
    if (found == NULL || (s.own == NULL && s.providers > 1)) {
        if (s.id.n == 0)
            (void)wbi_fail(&err, WB_EINPUT, "params.id must name a call");
        else if (found == NULL)
            (void)wbi_fail(&err, WB_ENOTFOUND, "no call in flight has the id %.*s",
                           WBI_FMT(wbi_str_head(s.id, 80)));
        else
            (void)wbi_fail_kind(&err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                                "%zu calls in flight have the id %.*s; name one by its own, call_…",
                                s.providers, WBI_FMT(wbi_str_head(s.id, 80)));
        wbi_control_refuse(request, &err);
        return;
    }
    memcpy(name, found->name, sizeof(name)); /* the call may be over when cancel returns */
    wbi_call_cancel(rt->calls, found->id, WBI_CANCEL_ASKED);
    wbi_buf_init(&out, WBI_LIMIT_CONTROL_LINE);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "id", name);
    wbi_jw_obj_end(&w);
    answer(request, &out);
}

wb_rc wbi_runtime_control_method(struct wbi_runtime *rt, const char *name, wbi_control_fn *fn,
                                 void *arg, struct wbi_error *err)
{
    struct wbi_runtime_method *m = wbi_arena_alloc(rt->arena, sizeof(*m));

    if (m == NULL)
        return wbi_fail_nomem(err);
    *m = (struct wbi_runtime_method){rt->control_methods, name, fn, arg};
    rt->control_methods = m;
    if (rt->control == NULL)
        return WB_OK;
    if (wbi_control_method(rt->control, name, fn, arg) != WB_OK)
        return wbi_fail(err, WB_ELIMIT, "control: no place for the method %s", name);
    return WB_OK;
}

static wb_rc add_methods(struct wbi_runtime *rt, struct wbi_control *c)
{
    wb_rc rc = wbi_control_method(c, "health", on_health, rt);

    if (rc == WB_OK)
        rc = wbi_control_method(c, "calls.list", on_list, rt);
    if (rc == WB_OK)
        rc = wbi_control_method(c, "calls.cancel", on_cancel, rt);
    for (struct wbi_runtime_method *m = rt->control_methods; rc == WB_OK && m != NULL; m = m->next)
        rc = wbi_control_method(c, m->name, m->fn, m->arg);
    return rc;
}

void wbi_runtime_control_open(struct wbi_runtime *rt)
{
    struct wbi_control *c;

    if (rt->control != NULL || wbi_store_own(rt->store, NULL) != WB_OK)
        return;
    rt->opened_ms = wbi_wall_ms(&rt->clock);
    if (wbi_control_open(rt->loop, wbi_store_dir(rt->store)->run_fd, wbi_store_instance(rt->store),
                         &c, NULL) != WB_OK)
        return;
    wbi_control_background(c);
    if (add_methods(rt, c) == WB_OK)
        rt->control = c;
    else
        wbi_control_close(c);
}

void wbi_runtime_control_close(struct wbi_runtime *rt)
{
    wbi_control_close(rt->control);
    rt->control = NULL;
}
