/* SPDX-License-Identifier: Apache-2.0
 * call/runtime.c: making, feeding and ending a runtime. */
#include "call/runtime.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "call/frames.h"
#include "call/guards.h"
#include "call/journey.h"
#include "call/local.h"
#include "call/reach.h"
#include "run/process.h"
#include "run/tasks.h"
#include "text/redact.h"
#include "text/secrets.h"

wb_rc wbi_runtime_call_new(struct wbi_runtime *rt, struct wbi_call **ret)
{
    struct wbi_arena *arena;
    struct wbi_call *call;

    if (wbi_loop_arena(rt->loop, WBI_ARENA_CALL, WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return WB_ENOMEM;
    call = wbi_arena_alloc(arena, sizeof(*call));
    if (call == NULL) {
        wbi_arena_free(arena);
        return WB_ENOMEM;
    }
    memset(call, 0, offsetof(struct wbi_call, rejected));
    wbi_error_clear(&call->rejected);
    call->arena = arena;
    wbi_buf_init_arena(&call->event_briefs, arena, WBI_LIMIT_JSON_TEXT);
    call->runtime = rt;
    call->clock = rt->clock;
    call->inv.principal = rt->principal;
    *ret = call;
    return WB_OK;
}

void wbi_runtime_call_drop(struct wbi_call *call)
{
    wbi_frames_drop(call);
    wbi_catalog_unref(call->catalog);
    wbi_arena_free(call->arena);
}

wb_rc wbi_runtime_catalog(struct wbi_runtime *rt, struct wbi_catalog **ret, struct wbi_error *err)
{
    struct wbi_catalog *fresh;
    wb_rc rc;

    if (rt->additions != NULL) {
        wbi_catalog_servers(rt->additions, &rt->servers);
        rc = wbi_catalog_build(rt->additions, &fresh, err);
        if (rc != WB_OK)
            return rc;
        rt->additions = NULL;
        wbi_catalog_unref(rt->catalog);
        rt->catalog = fresh;
    }
    *ret = rt->catalog;
    return WB_OK;
}

wb_rc wbi_runtime_additions(struct wbi_runtime *rt, struct wbi_catalog_builder **ret,
                            struct wbi_error *err)
{
    struct wbi_catalog_builder *b = rt->additions;
    wb_rc rc = WB_OK;

    if (b == NULL) {
        if (wbi_catalog_builder_new(&b) != WB_OK)
            return wbi_fail_nomem(err);
        if (rt->catalog != NULL)
            rc = wbi_catalog_add_all(b, rt->catalog, err);
    }
    if (rc != WB_OK) {
        wbi_catalog_builder_free(b);
        return rc;
    }
    *ret = rt->additions = b;
    return WB_OK;
}

wb_rc wbi_runtime_add_tool(struct wbi_runtime *rt, const wbi_json *descriptor,
                           const struct wbi_tool_binding *binding, struct wbi_error *err)
{
    struct wbi_catalog_builder *b;
    wb_rc rc = wbi_runtime_additions(rt, &b, err);

    return rc == WB_OK ? wbi_catalog_add(b, descriptor, binding, err) : rc;
}

wb_rc wbi_runtime_drop_tools(struct wbi_runtime *rt, struct wbi_str origin, struct wbi_error *err)
{
    struct wbi_catalog_builder *b;
    struct wbi_catalog *now;
    wb_rc rc = wbi_runtime_catalog(rt, &now, err);

    if (rc != WB_OK)
        return rc;
    if (wbi_catalog_builder_new(&b) != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_catalog_add_others(b, now, origin, err);
    if (rc != WB_OK)
        wbi_catalog_builder_free(b);
    else
        rt->additions = b;
    return rc;
}

wb_rc wbi_runtime_submit(struct wbi_call *call, void (*on_done)(struct wbi_call *, void *),
                         void *arg)
{
    struct wbi_runtime *rt = call->runtime;
    struct wbi_catalog *catalog;
    wb_rc rc = rt->stopping ? WB_ECANCELLED : wbi_runtime_catalog(rt, &catalog, NULL);

    if (rc == WB_OK) {
        call->catalog = wbi_catalog_ref(catalog);
        call->on_done = on_done;
        call->on_done_arg = arg;
        call->started_wall_ms = wbi_wall_ms(&rt->clock);
        wbi_id_ordered(&rt->ids, call->started_wall_ms, "call_", call->name);
        if (call->inv.conversation_id.p == NULL) {
            call->inv.conversation_id = rt->conversation;
            call->inv.passing = rt->passing;
        }
        rc = wbi_frames_begin(call);
    }
    if (rc == WB_OK)
        rc = wbi_call_start(rt->calls, call, &rt->journey);
    if (rc != WB_OK)
        wbi_runtime_call_drop(call);
    return rc;
}

void wbi_journey_finish(struct wbi_call *call)
{
    wbi_frames_end(call);
    if (call->on_done != NULL)
        call->on_done(call, call->on_done_arg);
}

void wbi_journey_release(struct wbi_call *call)
{
    wbi_runtime_call_drop(call);
}

static wb_rc copy_options(struct wbi_runtime *rt, const struct wbi_runtime_options *o)
{
    char id[WBI_ID_SIZE];

    wbi_id_make(&rt->ids, "conv_", id);
    rt->passing = o->conversation.p == NULL;
    rt->principal = wbi_arena_str(rt->arena, o->principal.p ? o->principal : WBI_LIT("local"));
    rt->conversation =
        wbi_arena_str(rt->arena, o->conversation.p ? o->conversation : wbi_str_z(id));
    rt->root = wbi_arena_str(rt->arena, o->root);
    rt->state = wbi_arena_str(rt->arena, o->state);
    if (rt->principal.p == NULL || rt->conversation.p == NULL ||
        (o->root.p != NULL && rt->root.p == NULL) || (o->state.p != NULL && rt->state.p == NULL))
        return WB_ENOMEM;
    return WB_OK;
}

static wb_rc set_up(struct wbi_runtime *rt, const struct wbi_runtime_options *o,
                    struct wbi_error *err)
{
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &rt->arena);

    if (rc == WB_OK)
        rc = copy_options(rt, o);
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_loop_new(o->uv_loop, &rt->loop, err);
    if (rc == WB_OK && !o->bare)
        rc = wbi_runner_new(rt->loop, rt->clock, &rt->runner, err);
    if (rc == WB_OK && !o->bare && o->direct)
        wbi_runner_ready(rt->runner);
    if (rc == WB_OK && wbi_calls_new(rt->loop, &rt->calls) != WB_OK)
        rc = wbi_fail_nomem(err);
    if (rc == WB_OK)
        rc = wbi_redact_rules_new(NULL, 0, /* by_name= */ true, &rt->redact_rules, err);
    if (rc == WB_OK)
        rc = wbi_secrets_new(&(struct wbi_secrets_options){.key = rt->conversation}, &rt->secrets,
                             NULL, err);
    if (rc == WB_OK) {
        struct wbi_catalog_builder *empty;
        rc = wbi_catalog_builder_new(&empty);
        if (rc != WB_OK)
            return wbi_fail_nomem(err);
        rc = wbi_catalog_build(empty, &rt->catalog, err);
        if (rc != WB_OK)
            wbi_catalog_builder_free(empty);
    }
    if (rc == WB_OK && !o->bare)
        rc = wbi_runtime_load(rt, o, err);
    if (rc == WB_OK && !o->bare && o->load_builtins != NULL)
        rc = o->load_builtins(rt, err);
    if (rc == WB_OK && !o->bare)
        rc = wbi_runtime_declare(rt, err);
    if (rc == WB_OK)
        rc = wbi_guards_new(rt, o->events, &rt->guards, err);
    if (rc == WB_OK)
        rc = wbi_reach_offer(rt, err);
    return rc;
}

wb_rc wbi_runtime_new(const struct wbi_runtime_options *o, struct wbi_runtime **ret,
                      struct wbi_error *err)
{
    struct wbi_runtime *rt = wbi_zalloc(sizeof(*rt));
    wb_rc rc;

    if (rt == NULL)
        return wbi_fail_nomem(err);
    rt->no_ledger = true; /* until the state directory is known */
    rt->clock = o->clock ? *o->clock : wbi_clock_system();
    rt->ids = o->ids ? *o->ids : wbi_ids_pooled(&rt->ids_pool);
    wbi_journey_wire(&rt->journey);
    rc = set_up(rt, o, err);
    if (rc != WB_OK) {
        wbi_runtime_free(rt);
        return rc;
    }
    *ret = rt;
    return WB_OK;
}

static void cancel_one(void *arg, struct wbi_call *call)
{
    (void)arg;
    wbi_call_cancel(call->calls, call->id, WBI_CANCEL_SHUTDOWN);
}

void wbi_runtime_free(struct wbi_runtime *rt)
{
    if (rt == NULL)
        return;
    rt->stopping = true;
    if (rt->calls != NULL) {
        wbi_calls_each(rt->calls, cancel_one, NULL);
        while (wbi_calls_count(rt->calls) > 0 || rt->running > 0)
            (void)wbi_loop_turn(rt->loop, /* wait= */ true);
    }
    if (rt->tasks != NULL) {
        wbi_tasks_stop_all(rt->tasks);
        while (wbi_tasks_busy(rt->tasks) > 0)
            (void)wbi_loop_turn(rt->loop, /* wait= */ true);
    }
    while (rt->runner != NULL && wbi_runner_busy(rt->runner) > 0)
        (void)wbi_loop_turn(rt->loop, /* wait= */ true); /* servers that were told to end */
    wbi_guards_free(rt->guards);
    wbi_runtime_unload(rt);
    wbi_catalog_builder_free(rt->additions);
    wbi_catalog_unref(rt->catalog);
    wbi_secrets_free(rt->secrets);
    wbi_redact_rules_free(rt->redact_rules);
    wbi_loop_free(rt->loop); /* runs posts that were under way: they see `stopping` */
    wbi_calls_free(rt->calls);
    wbi_arena_free(rt->arena);
    wbi_free(rt);
}
