/* SPDX-License-Identifier: Apache-2.0
 * api/runtime.c: options, the loop that a runtime runs on, and what it owes at its end. */
#include <fcntl.h>
#include <unistd.h>

#include "api/api_int.h"
#include "base/alloc.h"
#include "builtin/builtin.h"
#include "call/guards.h"
#include "ledger/ledger.h"
#include "run/tasks.h"
#include "serve/upstreams.h"
#include "store/store.h"

wb_options *wb_options_new(void)
{
    return wbi_zalloc(sizeof(wb_options));
}

void wb_options_free(wb_options *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < WBI_OPTION_COUNT; i++)
        wbi_free(o->values[i]);
    wbi_free(o);
}

wb_rc wb_options_set(wb_options *o, wb_option option, const char *value)
{
    char *copy = NULL;

    if (o == NULL || option < WB_OPT_ROOT || (unsigned)option >= WBI_OPTION_COUNT)
        return WB_EMISUSE;
    if (value != NULL) {
        copy = wbi_strdup(wbi_str_z(value));
        if (copy == NULL)
            return WB_ENOMEM;
    }
    wbi_free(o->values[option]);
    o->values[option] = copy;
    return WB_OK;
}

wb_rc wb_options_set_uv_loop(wb_options *o, void *uv_loop)
{
    if (o == NULL)
        return WB_EMISUSE;
    o->uv_loop = uv_loop;
    return WB_OK;
}

wb_rc wb_options_set_clock(wb_options *o, int64_t (*mono_ns)(void *), int64_t (*wall_ms)(void *),
                           void *arg)
{
    if (o == NULL || mono_ns == NULL || wall_ms == NULL)
        return WB_EMISUSE;
    o->clock = (struct wbi_clock){mono_ns, wall_ms, arg};
    o->has_clock = true;
    return WB_OK;
}

wb_rc wb_options_set_ids(wb_options *o, void (*fill)(void *, uint8_t *, size_t), void *arg)
{
    if (o == NULL || fill == NULL)
        return WB_EMISUSE;
    o->ids = (struct wbi_ids){fill, arg};
    o->has_ids = true;
    return WB_OK;
}

static bool is_on(const char *value)
{
    return value != NULL && wbi_str_eqz(WBI_LIT("1"), value);
}

struct wbi_runtime_options wbi_api_options(const wb_options *o)
{
    struct wbi_runtime_options r = {.load_builtins = wbi_builtin_load};

    if (o == NULL)
        return r;
    r.root = wbi_str_z(o->values[WB_OPT_ROOT]);
    r.state = wbi_str_z(o->values[WB_OPT_STATE]);
    r.config_file = wbi_str_z(o->values[WB_OPT_CONFIG]);
    r.principal = wbi_str_z(o->values[WB_OPT_PRINCIPAL]);
    r.conversation = wbi_str_z(o->values[WB_OPT_CONVERSATION]);
    r.events = wbi_str_z(o->values[WB_OPT_EVENTS]);
    r.bare = is_on(o->values[WB_OPT_BARE]);
    r.no_ledger = o->values[WB_OPT_LEDGER] != NULL && !is_on(o->values[WB_OPT_LEDGER]);
    r.inherit_env = is_on(o->values[WB_OPT_INHERIT_ENV]);
    r.direct = is_on(o->values[WB_OPT_DIRECT]);
    r.inherit_stdin = is_on(o->values[WB_OPT_INHERIT_STDIN]);
    r.uv_loop = o->uv_loop;
    r.clock = o->has_clock ? &o->clock : NULL;
    r.ids = o->has_ids ? &o->ids : NULL;
    return r;
}

bool wbi_api_ours(const wb_runtime *runtime)
{
    return runtime != NULL && runtime->process == getpid();
}

wb_rc wbi_api_check(const wb_runtime *runtime, const char *function, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_api_ours(runtime))
        return WB_OK;
    (void)wbi_fail(&err, WB_EMISUSE, "%s: %s", function,
                   runtime ? "the runtime is that of the process this one was forked from"
                           : "the runtime is NULL");
    return wbi_api_fail(reterr, &err);
}

void wbi_api_enter(wb_runtime *runtime)
{
    runtime->inside++;
}

void wbi_api_leave(wb_runtime *runtime)
{
    runtime->inside--;
}

bool wbi_api_inside(const wb_runtime *runtime)
{
    return wbi_loop_here(runtime->rt->loop) && runtime->inside > 0;
}

bool wbi_api_showing(const wb_runtime *runtime)
{
    return wbi_loop_here(runtime->rt->loop) && runtime->showing > 0;
}

/* libuv ends the process that closes one of these, and output would go into our files. */
static bool has_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            return false;
    return true;
}

wb_rc wb_runtime_new(const wb_options *options, wb_runtime **ret, wb_error **reterr)
{
    struct wbi_runtime_options o = wbi_api_options(options);
    struct wbi_error err = WBI_ERROR_INIT;
    wb_runtime *runtime;
    wb_rc rc;

    if (ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_runtime_new: ret is NULL");
    if (!has_standard_descriptors())
        return wbi_api_fail_text(reterr, WB_EMISUSE,
                                 "descriptor 0, 1 or 2 is closed, and what is opened next would "
                                 "take its place: open /dev/null there first");
    runtime = wbi_zalloc(sizeof(*runtime));
    if (runtime == NULL)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    runtime->process = getpid();
    runtime->callers_loop = o.uv_loop != NULL;
    rc = wbi_runtime_new(&o, &runtime->rt, &err);
    if (rc == WB_OK)
        rc = wbi_upstreams_new(runtime->rt, &runtime->ups, &err);
    if (rc != WB_OK) {
        wbi_runtime_free(runtime->rt);
        wbi_free(runtime);
        return wbi_api_fail(reterr, &err);
    }
    *ret = runtime;
    return WB_OK;
}

static void *run_loop(void *arg)
{
    wb_runtime *runtime = arg;

    wbi_loop_run(runtime->rt->loop, &runtime->stop);
    return NULL;
}

wb_rc wb_runtime_start(wb_runtime *runtime, wb_error **reterr)
{
    if (wbi_api_check(runtime, "wb_runtime_start", reterr) != WB_OK)
        return WB_EMISUSE;
    if (runtime->threaded)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "the runtime's thread runs already");
    if (wbi_api_inside(runtime))
        return wbi_api_fail_text(reterr, WB_EMISUSE,
                                 "this thread is driving the loop: a callback of it is running");
    if (runtime->callers_loop)
        return wbi_api_fail_text(reterr, WB_EMISUSE,
                                 "the runtime is on a loop of the caller's, who runs it");
    runtime->stop = false;
    wbi_loop_hand_over(runtime->rt->loop); /* calls submitted from now on are handed over */
    if (pthread_create(&runtime->thread, NULL, run_loop, runtime) != 0) {
        (void)wbi_loop_turn(runtime->rt->loop, /* wait= */ false); /* this thread's again */
        return wbi_api_fail_text(reterr, WB_EIO, "cannot create a thread");
    }
    runtime->threaded = true;
    return WB_OK;
}

static void stop_loop(void *arg)
{
    ((wb_runtime *)arg)->stop = true;
}

void wbi_api_join(wb_runtime *runtime)
{
    if (!runtime->threaded)
        return;
    runtime->stop_post = (struct wbi_post){NULL, stop_loop, runtime};
    wbi_loop_post(runtime->rt->loop, &runtime->stop_post);
    (void)pthread_join(runtime->thread, NULL); /* fails only on misuse */
    runtime->threaded = false;
}

void wb_runtime_free(wb_runtime *runtime)
{
    if (!wbi_api_ours(runtime))
        return; /* a fork's memory ends with it; the rest is its parent's */
    if (wbi_api_inside(runtime))
        return;
    wbi_api_join(runtime);
    wbi_watch_free(runtime->reload_watch);
    wbi_upstreams_stop(runtime->ups);
    wbi_runtime_free(runtime->rt);
    wbi_upstreams_free(runtime->ups);
    wbi_api_tools_free(runtime);
    wbi_api_families_free(runtime);
    wbi_free(runtime);
}

/* An idle MCP server, say, keeps the loop alive, but nobody waits for it. */
static bool is_under_way(const struct wbi_runtime *rt)
{
    return wbi_calls_count(rt->calls) > 0 || rt->running > 0 ||
           (rt->tasks != NULL && wbi_tasks_busy(rt->tasks) > 0);
}

size_t wb_runtime_turn(wb_runtime *runtime, int wait)
{
    if (!wbi_api_ours(runtime) || runtime->threaded)
        return 0;
    if (!wbi_api_showing(runtime))
        (void)wbi_loop_turn(runtime->rt->loop, wait != 0 && is_under_way(runtime->rt));
    return wbi_calls_count(runtime->rt->calls);
}

void wb_runtime_run(wb_runtime *runtime)
{
    if (!wbi_api_ours(runtime) || runtime->threaded || wbi_api_inside(runtime))
        return;
    while (wbi_loop_is_posted(runtime->rt->loop) || wbi_calls_count(runtime->rt->calls) > 0)
        (void)wbi_loop_turn(runtime->rt->loop, /* wait= */ true);
}

struct lost {
    struct wbi_guards *guards;
    uint64_t n;
};

static void count_lost(void *arg)
{
    struct lost *l = arg;

    wbi_events_flush(l->guards);
    l->n = wbi_events_missed(l->guards);
}

uint64_t wb_runtime_events_lost(wb_runtime *runtime)
{
    struct lost l = {.guards = runtime ? runtime->rt->guards : NULL};

    if (wbi_api_ours(runtime))
        wbi_api_on_loop(runtime, count_lost, &l);
    return l.n;
}

struct flush {
    struct wbi_runtime *rt;
    struct wbi_error err;
};

static void flush_here(void *arg)
{
    struct flush *f = arg;
    struct wbi_error why = WBI_ERROR_INIT;
    struct wbi_store_health h;
    unsigned long long missing;
    wb_rc rc = WB_OK;

    if (f->rt->recorded > 0)
        rc = wbi_ledger_flush(f->rt->ledger, &why);
    wbi_runtime_ledger_health(f->rt, &h);
    missing = h.waiting + h.lost;
    if (missing == 0)
        return;
    if (rc == WB_OK && f->rt->unrecorded > 0)
        why = f->rt->why_unrecorded;
    else if (rc == WB_OK)
        (void)wbi_fail_kind(&why, WB_EIO, WBI_KIND_STATE_UNAVAILABLE, "writing failed before");
    (void)wbi_fail_kind(&f->err, why.rc, why.kind, "%llu call%s not in the ledger: %.400s", missing,
                        missing == 1 ? " is" : "s are", why.text);
}

wb_rc wb_runtime_flush(wb_runtime *runtime, wb_error **reterr)
{
    struct flush f = {.rt = runtime ? runtime->rt : NULL, .err = WBI_ERROR_INIT};

    if (wbi_api_check(runtime, "wb_runtime_flush", reterr) != WB_OK)
        return WB_EMISUSE;
    wbi_api_on_loop(runtime, flush_here, &f);
    return f.err.rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &f.err);
}
