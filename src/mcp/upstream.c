/* SPDX-License-Identifier: Apache-2.0
 * mcp/upstream.c: the life of a connection: start on demand, back off after a
 * failure, open again. WAITING refuses at once, with the time left. */
#include "mcp/upstream.h"

#include <stdio.h>

#include "base/alloc.h"
#include "mcp/upstream_int.h"

static void on_timer(void *arg);

static struct wbi_str keep(struct wbi_arena *arena, struct wbi_str s)
{
    return s.p != NULL ? wbi_str_z(wbi_arena_strz(arena, s)) : WBI_NONE;
}

static const struct wbi_str *keep_all(struct wbi_arena *arena, const struct wbi_str *from, size_t n)
{
    struct wbi_str *to = wbi_arena_array(arena, n > 0 ? n : 1, sizeof(*to));

    for (size_t i = 0; to != NULL && i < n; i++) {
        to[i] = keep(arena, from[i]);
        if (to[i].p == NULL)
            return NULL;
    }
    return to;
}

static wb_rc copy_spec(struct wbi_upstream *up, const struct wbi_upstream_spec *spec)
{
    struct wbi_upstream_spec *o = &up->spec;

    *o = *spec;
    o->name = wbi_arena_strz(up->arena, wbi_str_z(spec->name != NULL ? spec->name : ""));
    o->argv = keep_all(up->arena, spec->argv, spec->argc);
    o->env = keep_all(up->arena, spec->env, spec->env_count);
    o->headers = keep_all(up->arena, spec->headers, spec->header_count);
    o->workdir = keep(up->arena, spec->workdir);
    o->url = keep(up->arena, spec->url);
    if (o->name == NULL || o->argv == NULL || o->env == NULL || o->headers == NULL ||
        (spec->workdir.p != NULL && o->workdir.p == NULL) ||
        (spec->url.p != NULL && o->url.p == NULL))
        return WB_ENOMEM;
    if (o->start_ms <= 0)
        o->start_ms = WBI_UPSTREAM_START_MS;
    if (o->probe_ms <= 0)
        o->probe_ms = WBI_UPSTREAM_PROBE_MS;
    if (o->call_ms <= 0)
        o->call_ms = WBI_UPSTREAM_CALL_MS;
    if (o->message == 0)
        o->message = WBI_LIMIT_JSON_TEXT;
    if (o->in_flight == 0)
        o->in_flight = WBI_LIMIT_UPSTREAM_IN_FLIGHT;
    return WB_OK;
}

wb_rc wbi_upstream_new(struct wbi_loop *loop, struct wbi_runner *runner, struct wbi_curl *curl,
                       const struct wbi_upstream_spec *spec, const struct wbi_upstream_ops *ops,
                       void *arg, struct wbi_upstream **ret, struct wbi_error *err)
{
    struct wbi_upstream *up;

    if ((spec->argc == 0) == (spec->url.p == NULL))
        return wbi_fail(err, WB_EINPUT, "an MCP server needs either a command or a url");
    if (spec->argc > 0 ? runner == NULL : curl == NULL)
        return wbi_fail(err, WB_EMISUSE, "no means to reach this MCP server was given");
    up = wbi_zalloc(sizeof(*up));
    if (up == NULL)
        return wbi_fail_nomem(err);
    up->loop = loop;
    up->runner = runner;
    up->curl = curl;
    up->clock = wbi_clock_system();
    up->ids = wbi_ids_system();
    up->ops = *ops;
    up->arg = arg;
    up->link = spec->argc > 0 ? &wbi_link_stdio : &wbi_link_http;
    wbi_buf_init(&up->complaints, WBI_LIMIT_UPSTREAM_STDERR);
    wbi_buf_init(&up->scratch, WBI_LIMIT_JSON_TEXT);
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &up->arena) != WB_OK || copy_spec(up, spec) != WB_OK ||
        wbi_timer_new(loop, on_timer, up, &up->timer) != WB_OK) {
        wbi_arena_free(up->arena);
        wbi_free(up);
        return wbi_fail_nomem(err);
    }
    wbi_lines_init(&up->lines, up->spec.message);
    *ret = up;
    return WB_OK;
}

void wbi_upstream_free(struct wbi_upstream *up)
{
    if (up == NULL)
        return;
    up->state = WBI_UP_WAITING; /* nothing starts again */
    up->wait_until_ns = INT64_MAX;
    up->ending = up->silent_ns == 0;
    while (up->calls != NULL)
        wbi_upstream_call_fail(up->calls, WB_ECANCELLED, "the server is shut down");
    up->link->close(up);
    wbi_timer_free(up->timer);
    wbi_lines_fini(&up->lines);
    wbi_buf_fini(&up->complaints);
    wbi_buf_fini(&up->scratch);
    wbi_spares_free(&up->spare_calls);
    wbi_free(up->session);
    wbi_up_forget_watched(up);
    wbi_arena_free(up->arena);
    wbi_free(up);
}

void wbi_up_set_state(struct wbi_upstream *up, enum wbi_upstream_state state)
{
    up->state = state;
    if (up->ops.on_state != NULL)
        up->ops.on_state(up->arg, state);
}

void wbi_up_arm(struct wbi_upstream *up, int64_t at_ns)
{
    if (up->armed_ns != 0 && up->armed_ns <= at_ns)
        return;
    up->armed_ns = at_ns;
    wbi_timer_start(up->timer, (at_ns - wbi_now_ns(&up->clock)) / WBI_NS_PER_MS + 1);
}

/* Jitter of up to a quarter keeps many clients from coming back at once. */
static int64_t backoff_ms(struct wbi_upstream *up)
{
    unsigned n = up->failures < 12 ? up->failures : 12;
    int64_t ms = WBI_UPSTREAM_BACKOFF_MS;
    uint8_t random = 0;

    while (n-- > 1 && ms < WBI_UPSTREAM_BACKOFF_MAX_MS)
        ms *= 2;
    ms = ms < WBI_UPSTREAM_BACKOFF_MAX_MS ? ms : WBI_UPSTREAM_BACKOFF_MAX_MS;
    up->ids.fill(up->ids.arg, &random, 1);
    return ms + ms * random / 1024;
}

/* Calls of the caller that were never sent may wait for the next start. */
static void end_calls(struct wbi_upstream *up, const char *why, bool also_unsent)
{
    for (struct wbi_upstream_call *c = up->calls, *next; c != NULL; c = next) {
        next = c->next;
        if (c->own || c->sent || also_unsent) {
            wbi_upstream_call_fail(c, WB_EIO, why);
            next = up->calls; /* the callback may have changed the list */
            while (next != NULL && !(next->own || next->sent || also_unsent))
                next = next->next;
        }
    }
}

void wbi_up_died(struct wbi_upstream *up, const char *why)
{
    bool of_probe = up->state == WBI_UP_STARTING && up->probing && !up->skip_probe &&
                    up->spec.era == WBI_UP_AUTO;
    bool of_trial = up->state == WBI_UP_STARTING && up->discovered;
    bool was_ready = up->state == WBI_UP_READY;
    int64_t now = wbi_now_ns(&up->clock);

    if (up->state == WBI_UP_WAITING || up->state == WBI_UP_IDLE)
        return;
    up->counts.deaths++;
    up->missed |= was_ready;
    if (why != up->why)
        (void)snprintf(up->why, sizeof(up->why), "%s", why);
    why = up->why; /* the caller's may go with a call */
    up->link->close(up);
    wbi_free(up->session);
    up->session = NULL;
    if (of_probe || of_trial) {
        up->skip_probe = of_probe;
        up->modern_only |= of_trial;
        wbi_up_set_state(up, WBI_UP_IDLE);
        end_calls(up, why, false);
        wbi_up_open(up);
        return;
    }
    if (was_ready && now - up->ready_ns > WBI_UPSTREAM_BACKOFF_MAX_MS * WBI_NS_PER_MS)
        up->failures = 0; /* it held */
    up->failures++;
    up->wait_until_ns = now + backoff_ms(up) * WBI_NS_PER_MS;
    wbi_up_set_state(up, WBI_UP_WAITING);
    end_calls(up, why, true);
    wbi_up_wake(up);
}

/* Whether a refusal (status 400) may say that the server is of another era than the call was
 * sent in. One of 2026-07-28 names its version; an older one misses a session, or a version that
 * it knows, and says so in many ways, but with none of the codes that the newer ones have for
 * it. What a tool failed with can look the same: that is found out by asking the server. */
static bool of_other_era(const struct wbi_upstream_call *call, const wbi_json *error)
{
    int64_t code = 0;

    if (call->sent_era == WBI_ERA_LEGACY || wbi_up_names_modern(error))
        return call->sent_era == WBI_ERA_LEGACY && wbi_up_names_modern(error);
    (void)wbi_json_i64(wbi_json_get(error, "code"), &code);
    return code != WBI_RPC_HEADER && code != WBI_RPC_CAPABILITY && code != WBI_RPC_NO_METHOD &&
           code != WBI_RPC_PARAMS && code != WBI_RPC_INTERNAL;
}

/* Whether a request must not go out before the server was looked at. */
static bool waits(const struct wbi_upstream_call *c)
{
    return c->vetted && c->up->held;
}

/* It was not executed. */
static void take_back(struct wbi_upstream_call *call)
{
    call->resends++;
    call->sent = false;
    call->status = 0;
}

/* Sent again on the connection there is, or on that which is being opened. */
static void send_again(struct wbi_upstream_call *call)
{
    take_back(call);
    if (call->up->state == WBI_UP_READY && !waits(call))
        wbi_call_send(call);
}

void wbi_up_lost_session(struct wbi_upstream *up, struct wbi_upstream_call *call)
{
    if (call->resends > 0 || (up->state != WBI_UP_READY && up->state != WBI_UP_STARTING)) {
        call->sent = false; /* 404 says that it was not executed */
        wbi_upstream_call_fail(call, WB_EIO, "the server lost its session twice");
        return;
    }
    if (call->sent_start != up->counts.starts) {
        send_again(call); /* another call has found it out before */
        return;
    }
    take_back(call);
    up->missed = true;
    wbi_free(up->session);
    up->session = NULL;
    wbi_up_set_state(up, WBI_UP_IDLE);
    wbi_up_open(up);
}

static void look_for_era(struct wbi_upstream *up)
{
    struct wbi_upstream_call *listen = up->listen;

    up->missed = true;
    up->era_known = up->skip_probe = false;
    wbi_free(up->session);
    up->session = NULL;
    up->listen = NULL;
    up->listen_at_ns = 0;
    wbi_up_end_own(listen);
    wbi_up_set_state(up, WBI_UP_IDLE);
    wbi_up_open(up);
}

bool wbi_up_lost_era(struct wbi_upstream *up, struct wbi_upstream_call *call,
                     const struct wbi_upstream_answer *refusal, const wbi_json *error,
                     struct wbi_arena **arena)
{
    if (call->status != 400 || call->own || call->resends > 0 || call->rounds > 0 ||
        up->spec.era != WBI_UP_AUTO || !of_other_era(call, error) ||
        (up->state != WBI_UP_STARTING && up->state != WBI_UP_READY))
        return false;
    wbi_call_rename(call, 0); /* its exchange ends without it */
    if (up->state == WBI_UP_READY && up->era != call->sent_era) {
        send_again(call); /* another call has found it out before */
        return true;
    }
    call->refusal = *refusal;
    call->refusal.arena = &call->refusal_arena;
    call->refusal_arena = *arena;
    *arena = NULL;
    if (up->state == WBI_UP_READY)
        look_for_era(up);
    return true;
}

bool wbi_up_refused(struct wbi_upstream *up, struct wbi_upstream_call *call, struct wbi_str body,
                    const char *why)
{
    struct wbi_upstream_answer refusal = {.rc = WB_EIO, .sent = true, .status = 400};
    struct wbi_arena *arena = NULL;
    const wbi_json *v = NULL;
    bool lost;

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return false;
    if (wbi_json_read(arena, body, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        v = NULL;
    call->status = 400;
    refusal.why = wbi_arena_strz(arena, wbi_str_z(why));
    lost = refusal.why != NULL &&
           wbi_up_lost_era(up, call, &refusal, wbi_json_get(v, "error"), &arena);
    wbi_arena_free(arena);
    return lost;
}

static struct wbi_upstream_call *first_refused(struct wbi_upstream *up)
{
    struct wbi_upstream_call *c = up->calls;

    while (c != NULL && c->refusal_arena == NULL)
        c = c->next;
    return c;
}

/* The era is known again. Only a server of another one has refused them unread; from one of
 * the same era it was the answer. */
static void settle_refused(struct wbi_upstream *up)
{
    struct wbi_upstream_call *c;

    while (up->state == WBI_UP_READY && (c = first_refused(up)) != NULL) {
        if (c->sent_era == up->era) {
            wbi_call_end(c, &c->refusal);
            continue;
        }
        wbi_arena_free(c->refusal_arena);
        c->refusal_arena = NULL;
        send_again(c);
    }
}

void wbi_up_ready(struct wbi_upstream *up)
{
    up->era_known = true;
    up->ready_ns = wbi_now_ns(&up->clock);
    wbi_up_set_state(up, WBI_UP_READY);
    if (up->link->ready != NULL)
        up->link->ready(up);
    up->held = up->ops.on_ready != NULL;
    if (up->held)
        up->ops.on_ready(up->arg);
    settle_refused(up);
    if (up->state != WBI_UP_READY)
        return;
    wbi_up_renew(up);
    for (struct wbi_upstream_call *c = up->calls, *next; c != NULL; c = next) {
        next = c->next;
        if (!c->sent && !c->own && !waits(c))
            wbi_call_send(c);
        if (up->state != WBI_UP_READY)
            return;
    }
}

struct wbi_upstream_call *
wbi_up_start_own(struct wbi_upstream *up, const char *method, struct wbi_str params,
                 int64_t timeout_ms, void (*on_done)(void *, const struct wbi_upstream_answer *))
{
    struct wbi_upstream_request request = {
        .method = method, .params = params, .timeout_ms = timeout_ms};
    struct wbi_upstream_call_ops ops = {.on_done = on_done};
    struct wbi_upstream_call *call;

    if (wbi_call_new(up, &request, &ops, up, &call) != WB_OK)
        return NULL;
    call->own = true;
    wbi_call_send(call);
    return call;
}

/* For a time only; what it brings later is taken, too, while the start is under way. */
static bool waits_for_probe(const struct wbi_upstream *up)
{
    return up->state == WBI_UP_STARTING && up->probing && up->spec.era == WBI_UP_AUTO;
}

static void refuse_calls(struct wbi_upstream *up)
{
    char why[sizeof(up->why) + 32];

    (void)snprintf(why, sizeof(why), "it is not tried again yet: %s", up->why);
    while (up->calls != NULL)
        wbi_upstream_call_fail(up->calls, WB_EIO, why);
}

bool wbi_up_at_work(const struct wbi_upstream *up)
{
    const struct wbi_upstream_call *c = up->calls;

    while (c != NULL && !wbi_call_under_way(c))
        c = c->next;
    return c != NULL;
}

/* While others wait for it, it may be at work for them: their end asks again. */
static void on_doubt(void *arg, const struct wbi_upstream_answer *a)
{
    struct wbi_upstream *up = arg;

    up->doubting = false;
    if (a->rc == WB_EAGAIN && up->state == WBI_UP_READY && up->heard == up->doubted &&
        !wbi_up_at_work(up))
        wbi_up_died(up, "the server's process has stopped answering");
}

void wbi_up_doubt(struct wbi_upstream *up)
{
    if (up->process == NULL || up->state != WBI_UP_READY || up->doubting)
        return;
    up->doubting = true; /* also while it is sent */
    up->doubted = up->heard;
    if (wbi_up_start_own(up, up->era == WBI_ERA_MODERN ? "server/discover" : "ping", WBI_NONE,
                         up->spec.probe_ms * WBI_UPSTREAM_DOUBTS, on_doubt) == NULL)
        up->doubting = false;
}

static void on_timer(void *arg)
{
    struct wbi_upstream *up = arg;
    int64_t now = wbi_now_ns(&up->clock), next = INT64_MAX;
    struct wbi_upstream_call *c;

    up->armed_ns = 0;
    if (up->state == WBI_UP_WAITING && now >= up->wait_until_ns)
        wbi_up_set_state(up, WBI_UP_IDLE); /* since the call came the wait has ended */
    if (up->state == WBI_UP_IDLE && (up->calls != NULL || up->wake))
        wbi_up_open(up);
    if (up->state == WBI_UP_STARTING && now >= up->start_deadline_ns)
        wbi_up_died(up, "the server did not get ready in time");
    if (waits_for_probe(up) && now >= up->probe_until_ns)
        wbi_up_initialize(up);
    if (up->silent_ns != 0 && now >= up->silent_ns)
        wbi_up_died(up, up->deaf ? "the server has closed its input, though its process goes on"
                                 : "the server has closed its output, though its process goes on");
    if (up->state == WBI_UP_WAITING) /* what came since is refused from here */
        refuse_calls(up);
    for (c = up->calls; c != NULL;) {
        if (now < c->deadline_ns) {
            next = c->deadline_ns < next ? c->deadline_ns : next;
            c = c->next;
            continue;
        }
        wbi_upstream_call_fail(c, WB_EAGAIN, "no answer in time");
        c = up->calls; /* the callback may have changed the list */
        next = INT64_MAX;
    }
    if (up->state == WBI_UP_READY && up->listen_at_ns != 0 && now >= up->listen_at_ns)
        wbi_up_listen(up);
    if (up->state == WBI_UP_READY && up->listen_at_ns != 0 && up->listen_at_ns < next)
        next = up->listen_at_ns;
    if (up->state == WBI_UP_WAITING && up->wake && up->wait_until_ns < next)
        next = up->wait_until_ns;
    if (up->state == WBI_UP_STARTING && up->start_deadline_ns < next)
        next = up->start_deadline_ns;
    if (waits_for_probe(up) && up->probe_until_ns < next)
        next = up->probe_until_ns;
    if (up->silent_ns != 0 && up->silent_ns < next)
        next = up->silent_ns;
    if (next != INT64_MAX)
        wbi_up_arm(up, next);
}

wb_rc wbi_upstream_start(struct wbi_upstream *up, const struct wbi_upstream_request *request,
                         const struct wbi_upstream_call_ops *ops, void *arg,
                         struct wbi_upstream_call **ret, struct wbi_error *err)
{
    struct wbi_upstream_call *call;

    if (up->call_count >= up->spec.in_flight)
        return wbi_fail(err, WB_ELIMIT, "too many calls are open at this MCP server");
    if (wbi_call_new(up, request, ops, arg, &call) != WB_OK)
        return wbi_fail_nomem(err);
    if (up->state == WBI_UP_WAITING && wbi_now_ns(&up->clock) >= up->wait_until_ns)
        wbi_up_set_state(up, WBI_UP_IDLE);
    if (up->state == WBI_UP_READY && !waits(call))
        wbi_call_send(call);
    else if (up->state != WBI_UP_STARTING && up->state != WBI_UP_READY)
        wbi_up_arm(up, wbi_now_ns(&up->clock)); /* opened or refused from the loop */
    wbi_up_arm(up, call->deadline_ns);
    if (ret != NULL)
        *ret = call;
    return WB_OK;
}

static struct wbi_upstream_call *first_waiting(struct wbi_upstream *up)
{
    struct wbi_upstream_call *c = up->calls;

    while (c != NULL && (!c->vetted || c->sent || c->deadline_ns == 0))
        c = c->next;
    return c;
}

void wbi_upstream_vetted(struct wbi_upstream *up, const char *why_not)
{
    struct wbi_upstream_call *c;

    if (!up->held || up->state != WBI_UP_READY)
        return; /* a connection that was lost has ended what waited for it */
    up->held = why_not != NULL;
    while (up->state == WBI_UP_READY && !up->deaf && (c = first_waiting(up)) != NULL) {
        if (why_not != NULL)
            wbi_upstream_call_fail(c, WB_EIO, why_not);
        else if (c->ops.on_vetted == NULL || c->ops.on_vetted(c->arg))
            wbi_call_send(c);
        else
            wbi_upstream_call_fail(c, WB_EDENIED, "the server is another than before");
    }
}

void wbi_upstream_hold(struct wbi_upstream *up)
{
    up->held = up->held || up->state == WBI_UP_READY;
}

enum wbi_upstream_state wbi_upstream_state(const struct wbi_upstream *up)
{
    return up->state;
}

const char *wbi_upstream_server_version(const struct wbi_upstream *up)
{
    return up->server_version;
}

enum wbi_mcp_era wbi_upstream_era(const struct wbi_upstream *up)
{
    return up->era;
}

bool wbi_upstream_is_modern(const struct wbi_upstream *up)
{
    return up->era_known && up->era == WBI_ERA_MODERN;
}

bool wbi_upstream_modern_only(const struct wbi_upstream *up)
{
    return up->modern_only;
}

bool wbi_upstream_speaks_both(const struct wbi_upstream *up)
{
    return up->state == WBI_UP_READY && up->era == WBI_ERA_LEGACY && up->also_modern;
}

bool wbi_upstream_idle(const struct wbi_upstream *up)
{
    const struct wbi_upstream_call *c = up->calls;

    while (c != NULL && c->own)
        c = c->next;
    return c == NULL;
}

struct wbi_upstream_counts wbi_upstream_counts(const struct wbi_upstream *up)
{
    struct wbi_upstream_counts c = up->counts;

    c.too_long += up->lines.too_long;
    return c;
}
