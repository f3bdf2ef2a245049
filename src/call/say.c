/* SPDX-License-Identifier: Apache-2.0
 * call/say.c: what is told about calls while they run (C8.10): events as JSON
 * Lines where somebody asked for them, and a short list of them in the record. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "call/guards.h"
#include "call/views.h"
#include "store/dir.h"

/* ---- where they go ---- */

/* write() that never raises SIGPIPE: the process belongs to the caller. */
static ssize_t write_quietly(int fd, const char *p, size_t n)
{
    struct timespec at_once = {0, 0};
    sigset_t pipe_only, before, pending;
    bool was_pending;
    ssize_t wrote;
    int failed;

    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    do {
        wrote = write(fd, p, n);
        failed = errno;
    } while (wrote < 0 && failed == EINTR);
    if (wrote < 0 && failed == EPIPE && !was_pending)
        (void)sigtimedwait(&pipe_only, NULL, &at_once); /* take the signal we made */
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return wrote;
}

/* One line in one write where the kernel takes it, so that several processes may
 * append to one file. */
static wb_rc write_line(struct wbi_guards *g, struct wbi_str line)
{
    size_t at = 0;

    wbi_buf_clear(&g->event_line);
    wbi_buf_adds(&g->event_line, line);
    wbi_buf_addc(&g->event_line, '\n');
    if (wbi_buf_rc(&g->event_line) != WB_OK)
        return wbi_buf_rc(&g->event_line);
    while (at < g->event_line.n) {
        ssize_t n = write_quietly(g->events_fd, g->event_line.p + at, g->event_line.n - at);
        if (n <= 0)
            return WB_EIO;
        at += (size_t)n;
    }
    return WB_OK;
}

static void add_brief(struct wbi_call *call, const struct wbi_event_brief *brief)
{
    struct wbi_buf *b = &call->event_lines;
    struct wbi_jw w = wbi_jw_to(b);

    if (b->n > 0)
        wbi_buf_addc(b, ',');
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "type", brief->type);
    wbi_jw_kstrz(&w, "time", brief->time);
    wbi_jw_key(&w, "sequence");
    wbi_jw_uint(&w, brief->sequence);
    wbi_jw_obj_end(&w);
}

/* To the descriptor asked for, and in short into the record of the call. */
static wb_rc write_event(void *arg, struct wbi_str line, const struct wbi_event_brief *brief)
{
    struct wbi_guards *g = arg;

    if (g->speaking != NULL)
        add_brief(g->speaking, brief);
    return g->events_fd < 0 ? WB_OK : write_line(g, line);
}

static bool is_number(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

static wb_rc open_target(struct wbi_guards *g, struct wbi_str target, struct wbi_error *err)
{
    char path[WBI_LIMIT_PATH + 1];
    uint64_t number;

    if (target.p == NULL)
        return WB_OK;
    if (is_number(target)) {
        if (wbi_parse_u64(target, &number) && number <= INT32_MAX)
            g->events_fd = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
    } else if (target.n < sizeof(path)) {
        memcpy(path, target.p, target.n);
        path[target.n] = '\0';
        g->events_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
        if (g->events_fd >= 0 && g->events_fd < 3)
            g->events_fd = wbi_fd_above_std(g->events_fd);
    }
    if (g->events_fd >= 0)
        return WB_OK;
    return wbi_fail(err, WB_ESTATE,
                    "events cannot be written to \"%.*s\": %s; give a file or the "
                    "number of an open descriptor",
                    WBI_FMT(wbi_str_head(target, 200)),
                    strerrordesc_np(errno ? errno : ENAMETOOLONG));
}

wb_rc wbi_events_open(struct wbi_runtime *rt, struct wbi_guards *g, struct wbi_str target,
                      struct wbi_error *err)
{
    struct wbi_events_parts parts = {{write_event, g}, WBI_LIT("/waybill"), rt->clock, rt->ids};
    wb_rc rc;

    wbi_buf_init(&g->event_line, WBI_LIMIT_EVENT_LINE + 1);
    errno = 0;
    rc = open_target(g, target, err);
    if (rc == WB_OK && wbi_events_new(&parts, &g->events) != WB_OK)
        rc = wbi_fail_nomem(err);
    return rc;
}

/* ---- what is said about a call ---- */

/* A span of the call's own, in the caller's trace where there is one. */
static void begin_span(const struct wbi_call *call, struct wbi_trace *ret)
{
    struct wbi_trace parent;

    if (wbi_trace_begin(call->inv.traceparent, call->inv.tracestate, &call->runtime->ids, &parent))
        wbi_trace_child(&parent, &call->runtime->ids, ret);
    else
        *ret = parent;
}

static struct wbi_event_call *event_call(struct wbi_call *call)
{
    struct wbi_event_call *e = &call->event;

    e->tool = call->tool ? call->tool->qualified : call->inv.tool_name;
    e->origin = wbi_call_origin(call);
    e->version = call->tool ? call->tool->version : WBI_NONE;
    e->principal = call->inv.principal;
    e->call_id = wbi_str_z(call->name);
    e->correlation_id = call->inv.correlation_id;
    e->causation_id = call->inv.causation_id;
    e->conversation_id = call->inv.conversation_id;
    e->effect = call->tool ? wbi_effect_name(call->tool->effect) : NULL;
    e->redactions = call->facts.redactions;
    e->redactions_n = call->facts.redaction_count;
    if (e->trace == NULL) {
        struct wbi_trace *trace = wbi_arena_zalloc(call->arena, sizeof(*trace));
        if (trace != NULL) {
            begin_span(call, trace);
            e->trace = trace;
        }
    }
    call->runtime->guards->speaking = call;
    return e;
}

static void spoken(struct wbi_call *call, wb_rc rc)
{
    (void)rc; /* said before, or lost and counted */
    call->runtime->guards->speaking = NULL;
}

void wbi_say_invoked(struct wbi_call *call)
{
    spoken(call, wbi_event_invoked(call->runtime->guards->events, event_call(call)));
}

void wbi_say_policy(struct wbi_call *call)
{
    if (call->facts.policy_snapshot.p != NULL)
        spoken(call, wbi_event_policy(call->runtime->guards->events, event_call(call),
                                      call->facts.policy_snapshot));
}

/* C8.7: cache metadata only where policy allows it. */
static int cache_told(const struct wbi_call *call)
{
    if (call->admission == NULL || !call->admission->values.cache_log)
        return -1;
    return call->facts.cached ? 1 : 0;
}

void wbi_say_end(struct wbi_call *call)
{
    struct wbi_events *events = call->runtime->guards->events;
    const struct wbi_outcome *o = &call->outcome;
    struct wbi_event_end end = {.duration_ms = (call->ended_ns - call->started_ns) / WBI_NS_PER_MS,
                                .attempts =
                                    call->facts.attempts ? (int32_t)call->facts.attempts : 1,
                                .output_bytes = -1,
                                .cache_hit = cache_told(call),
                                .replayed = call->facts.replayed};

    if (o->state == WBI_OUTCOME_SUCCESS) {
        end.output_bytes = (int64_t)(o->output.p ? o->output.n : o->result.n);
        spoken(call, wbi_event_succeeded(events, event_call(call), &end));
        return;
    }
    end.kind = o->fault.kind;
    end.retryable = wbi_fault_retryable(&o->fault);
    spoken(call, wbi_event_failed(events, event_call(call), &end));
}

/* ---- what the guards tell ---- */

void wbi_say_guard_event(void *arg, const struct wbi_guard_event *event)
{
    static const enum wbi_event_type types[] = {
        [WBI_GUARD_EVENT_CIRCUIT_OPEN] = WBI_EVENT_CIRCUIT_OPEN,
        [WBI_GUARD_EVENT_CIRCUIT_HALF_OPEN] = WBI_EVENT_CIRCUIT_HALF_OPEN,
        [WBI_GUARD_EVENT_CIRCUIT_CLOSED] = WBI_EVENT_CIRCUIT_CLOSED,
    };
    struct wbi_guards *g = arg;
    struct wbi_call *call = event->request->arg, *before = g->speaking;
    struct wbi_event_call *e = event_call(call);

    if (event->type == WBI_GUARD_EVENT_RATE_LIMITED)
        wbi_event_rate_limited(g->events, e, event->limiter, event->tokens, event->retry_after_ms);
    else
        wbi_event_circuit(g->events, e, types[event->type], event->retry_after_ms);
    g->speaking = before;
}
