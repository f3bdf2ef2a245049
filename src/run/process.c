/* SPDX-License-Identifier: Apache-2.0
 * run/process.c: the life of a child on the loop.
 *   running   until the leader ends (its pidfd becomes readable);
 *   lingering while others hold its pipes, for the linger time at most;
 *   sweeping  what is left is killed; then on_end, exactly once.
 * (1) The leader stays a zombie until its group has been killed, so no process
 *     id or group id of it can belong to anybody else meanwhile.
 * (2) Output is read into one buffer of the runner and handed on at once; memory
 *     does not grow with what is printed. */
#include "run/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/limits.h"
#include "loop/loop.h"
#include "run/holder.h"
#include "run/holder_int.h"
#include "run/process_int.h"

#define READ_BYTES WBI_RUN_PIPE_BYTES
#define READS_PER_TURN 8 /* then others get their turn */
#define PLAN_ARENA (WBI_LIMIT_ARGUMENT_BYTES * 4)

/* A keeper that was told to end everything takes five seconds at most; one that does not
 * answer is killed, and has ended then. */
#define KEEPER_MS 10000
#define KEEPER_END_MS 1000

static void finish(struct wbi_process *p);
static void on_keeper_gone(struct wbi_process *p);

wb_rc wbi_runner_new(struct wbi_loop *loop, struct wbi_clock clock, struct wbi_runner **ret,
                     struct wbi_error *err)
{
    struct wbi_runner *r = wbi_zalloc(sizeof(*r));

    if (r == NULL)
        return wbi_fail_nomem(err);
    r->buffer = wbi_alloc(READ_BYTES);
    if (r->buffer == NULL) {
        wbi_free(r);
        return wbi_fail_nomem(err);
    }
    r->loop = loop;
    r->clock = clock;
    *ret = r;
    return WB_OK;
}

void wbi_runner_free(struct wbi_runner *runner)
{
    if (runner == NULL)
        return;
    wbi_holder_free(runner->holder);
    wbi_free(runner->buffer);
    wbi_free(runner);
}

size_t wbi_runner_busy(const struct wbi_runner *runner)
{
    return runner->busy;
}

const char *wbi_containment_name(enum wbi_containment c)
{
    return c == WBI_CONTAIN_HOLDER ? "holder" : "group";
}

const char *wbi_limit_name(enum wbi_limit_hit hit)
{
    static const char *const names[] = {NULL,        "time",      "output", "memory",
                                        "processes", "file_size", "cpu"};

    return (size_t)hit < sizeof(names) / sizeof(names[0]) ? names[hit] : NULL;
}

static void tell_keeper(struct wbi_process *p, enum wbi_keeper_type type, int number)
{
    struct wbi_keeper_msg m = {.type = (uint32_t)type, .a = number};

    if (p->keeper >= 0 && !p->keeper_gone)
        (void)send(p->keeper, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void signal_group(struct wbi_process *p, int number)
{
    if (p->phase >= WBI_SWEEPING)
        return;
    if (p->keeper >= 0)
        tell_keeper(p, WBI_KEEPER_SIGNAL, number);
    else if (p->pid > 0)
        (void)kill(-p->pid, number); /* gone already is fine */
}

/* Everything of it dies now; with a keeper also what left the group. */
static void kill_all(struct wbi_process *p)
{
    if (p->keeper < 0) {
        signal_group(p, SIGKILL);
        return;
    }
    tell_keeper(p, WBI_KEEPER_SWEEP, 0);
    if (p->keeper_gone || p->sweep_asked)
        return;
    p->sweep_asked = true;
    wbi_timer_start(p->grace, KEEPER_MS);
}

static void begin_stop(struct wbi_process *p)
{
    if (p->stopping || p->phase >= WBI_SWEEPING)
        return;
    p->stopping = true;
    signal_group(p, SIGTERM);
    signal_group(p, SIGCONT); /* a stopped process cannot take the first */
    wbi_timer_start(p->grace, p->grace_ms);
}

/* The command may have stopped its keeper, and the holder that would wake it. The leader is
 * nobody else's while the keeper has not said that it ended. */
static void kill_keeper(struct wbi_process *p)
{
    p->keeper_killed = true;
    if (p->runner->holder != NULL)
        (void)kill(wbi_holder_pid(p->runner->holder), SIGCONT); /* it has to end the rest */
    if (p->phase == WBI_RUNNING && p->pid > 0)
        (void)kill(-p->pid, SIGKILL);
    if (p->keeper_pid > 0)
        (void)kill(p->keeper_pid, SIGKILL);
    wbi_timer_start(p->grace, KEEPER_END_MS);
}

static void on_grace_over(void *arg)
{
    struct wbi_process *p = arg;

    if (!p->sweep_asked)
        kill_all(p);
    else if (!p->keeper_killed)
        kill_keeper(p);
    else
        on_keeper_gone(p); /* not even that helped; the end of its socket is the last word */
}

static void close_output(struct wbi_output *o)
{
    wbi_watch_free(o->watch);
    o->watch = NULL;
    wbi_fd_drop(&o->fd);
}

/* A program may close its terminal before it exits; to close ours then would hang
 * up on it. */
static void stop_watching(struct wbi_output *o)
{
    wbi_watch_free(o->watch);
    o->watch = NULL;
}

static void deliver(struct wbi_process *p, enum wbi_stream stream, size_t n)
{
    size_t keep = n;

    if (p->output_limited && keep > p->output_left) {
        uint64_t had = p->end.bytes[stream] - p->end.dropped[stream];
        uint64_t words = p->words > had ? p->words - had : 0;
        keep = (size_t)WBI_MIN((uint64_t)n, WBI_MAX(p->output_left, words));
        p->end.dropped[stream] += n - keep;
        if (p->end.limit == WBI_HIT_NONE)
            p->end.limit = WBI_HIT_OUTPUT;
    }
    p->end.bytes[stream] += n;
    p->output_left -= p->output_limited ? WBI_MIN((uint64_t)keep, p->output_left) : 0;
    if (keep > 0)
        p->ops.on_output(p->arg, stream, wbi_str_make(p->runner->buffer, keep));
    if (keep < n && p->ops.on_dropped != NULL)
        p->ops.on_dropped(p->arg, stream, wbi_str_make(p->runner->buffer + keep, n - keep));
    if (p->end.limit == WBI_HIT_OUTPUT)
        begin_stop(p);
}

/* Reads what is there, at most `times` full buffers. */
static void read_output(struct wbi_output *o, int times)
{
    struct wbi_process *p = o->process;
    enum wbi_stream stream = o == &p->out[1] ? WBI_STDERR : WBI_STDOUT;

    while (times-- > 0 && o->fd >= 0) {
        ssize_t n = read(o->fd, p->runner->buffer, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) { /* a terminal ends with EIO */
            if (p->in_tty && p->phase < WBI_LINGERING)
                stop_watching(o);
            else
                close_output(o);
            if (p->phase == WBI_RUNNING && p->ops.on_closed != NULL)
                p->ops.on_closed(p->arg, stream);
            return;
        }
        wbi_process_end_again(p);
        deliver(p, stream, (size_t)n);
        if ((size_t)n < READ_BYTES && p->phase == WBI_RUNNING)
            return; /* it was empty then; its end would be told */
    }
}

static bool outputs_open(const struct wbi_process *p)
{
    return p->out[0].fd >= 0 || p->out[1].fd >= 0;
}

static void on_output_ready(void *arg, int events)
{
    struct wbi_output *o = arg;
    struct wbi_process *p = o->process;

    (void)events;
    read_output(o, READS_PER_TURN);
    if (p->phase == WBI_LINGERING && !outputs_open(p))
        finish(p);
}

/* The kernel's own limits show as the signal they send. */
static void name_limit(struct wbi_process_end *e)
{
    if (e->limit == WBI_HIT_NONE && e->signal == SIGXCPU)
        e->limit = WBI_HIT_CPU;
    if (e->limit == WBI_HIT_NONE && e->signal == SIGXFSZ)
        e->limit = WBI_HIT_FILE_SIZE;
}

static void leader_ended(struct wbi_process *p)
{
    p->phase = WBI_LINGERING;
    read_output(&p->out[0], READS_PER_TURN);
    read_output(&p->out[1], READS_PER_TURN);
    if (outputs_open(p))
        wbi_timer_start(p->deadline, p->linger_ms);
    else
        finish(p);
}

static void on_exit_ready(void *arg, int events)
{
    struct wbi_process *p = arg;
    siginfo_t info = {0};

    (void)events;
    if (waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno == EINTR)
            return;
        p->end.status_lost = true;
    } else if (info.si_pid == 0) {
        return;
    } else {
        p->end.exit_status = info.si_code == CLD_EXITED ? info.si_status : -1;
        p->end.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
        name_limit(&p->end);
    }
    wbi_watch_free(p->exit_watch);
    p->exit_watch = NULL;
    leader_ended(p);
}

static void on_deadline(void *arg)
{
    struct wbi_process *p = arg;

    if (p->phase == WBI_LINGERING) {
        p->end.pipe_held = true;
        finish(p);
        return;
    }
    if (p->phase >= WBI_SWEEPING)
        return; /* it ended in time; only what it left behind is being killed */
    p->end.timed_out = true;
    if (p->end.limit == WBI_HIT_NONE)
        p->end.limit = WBI_HIT_TIME;
    begin_stop(p);
}

static void release(struct wbi_process *p)
{
    wbi_loop_undefer(p->runner->loop, &p->in_flush);
    wbi_watch_free(p->exit_watch);
    wbi_watch_free(p->in_watch);
    close_output(&p->out[0]);
    close_output(&p->out[1]);
    wbi_fd_drop(&p->in);
    wbi_fd_drop(&p->pidfd);
    wbi_fd_drop(&p->keeper);
    wbi_free(p->program);
    wbi_timer_free(p->deadline);
    wbi_timer_free(p->grace);
    wbi_buf_fini(&p->pending);
    wbi_free(p);
}

/* Nothing runs any more: read what the pipes still hold, tell the owner. */
static void complete(struct wbi_process *p)
{
    siginfo_t info = {0};

    read_output(&p->out[0], READS_PER_TURN);
    read_output(&p->out[1], READS_PER_TURN);
    p->phase = WBI_ENDED;
    while (p->pidfd >= 0 && waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED) != 0 && errno == EINTR)
        ;
    p->end.duration_ns = wbi_now_ns(&p->runner->clock) - p->started_ns;
    p->runner->busy--;
    p->ops.on_end(p->arg, &p->end);
    release(p);
}

/* The leader has ended and its pipes have had their time. */
static void finish(struct wbi_process *p)
{
    kill_all(p);
    if (p->keeper >= 0 && !p->keeper_gone)
        p->phase = WBI_SWEEPING; /* until the keeper says that all is gone */
    else
        complete(p);
}

static void on_keeper_gone(struct wbi_process *p)
{
    p->keeper_gone = true;
    wbi_watch_free(p->exit_watch);
    p->exit_watch = NULL;
    if (p->phase == WBI_RUNNING && p->end.rc == WB_OK && p->keeper_killed)
        p->end.signal = SIGKILL; /* by us, and the leader with it */
    else if (p->phase == WBI_RUNNING && p->end.rc == WB_OK)
        p->end.status_lost = true; /* somebody killed the keeper, maybe before it told of a start */
    if (p->phase == WBI_RUNNING && p->end.rc == WB_OK)
        leader_ended(p);
    else if (p->phase == WBI_LINGERING)
        finish(p); /* whoever held the pipes is dead */
    else
        complete(p);
}

/* True when the keeper has no more to say. */
static bool on_keeper_message(struct wbi_process *p, const struct wbi_keeper_msg *m)
{
    switch (m->type) {
    case WBI_KEEPER_STARTED:
        p->pid = p->end.pid = m->a;
        p->keeper_pid = m->b;
        if (p->ops.on_started != NULL)
            p->ops.on_started(p->arg);
        return false;
    case WBI_KEEPER_FAILED:
        p->end.rc = wbi_launch_error(&p->end.error, (enum wbi_launch_stage)m->a, m->b, p->program);
        return true;
    case WBI_KEEPER_EXITED:
        p->end.exit_status = m->a;
        p->end.signal = m->b;
        name_limit(&p->end);
        p->keeper_gone = m->c != 0;
        leader_ended(p);
        return false;
    case WBI_KEEPER_LIMIT:
        p->end.limit = (enum wbi_limit_hit)m->a;
        return false;
    default:
        p->end.swept = (uint32_t)m->a;
        p->end.unkillable = (uint32_t)m->b;
        return true;
    }
}

/* At most one message a turn: each may end the process. */
static void on_keeper_ready(void *arg, int events)
{
    struct wbi_process *p = arg;
    struct wbi_keeper_msg m;
    ssize_t n = recv(p->keeper, &m, sizeof(m), MSG_DONTWAIT);

    (void)events;
    if (n < 0 && errno == ECONNRESET)
        return; /* it ended with a word of ours unread; its own words come next */
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof(m) || on_keeper_message(p, &m))
        on_keeper_gone(p);
}

static wb_rc watch_output(struct wbi_process *p, int i, int fd, struct wbi_error *err)
{
    p->out[i].process = p;
    p->out[i].fd = fd;
    if (fd < 0)
        return WB_OK;
    return wbi_watch_new(p->runner->loop, fd, on_output_ready, &p->out[i], &p->out[i].watch, err);
}

static wb_rc set_watches(struct wbi_process *p)
{
    for (int i = 0; i < 2; i++)
        if (p->out[i].watch != NULL && wbi_watch_set(p->out[i].watch, WBI_WATCH_READ) != WB_OK)
            return WB_EIO;
    return WB_OK;
}

static void fill(struct wbi_process *p, const struct wbi_process_spec *spec)
{
    p->grace_ms = spec->grace_ms > 0 ? spec->grace_ms : WBI_RUN_GRACE_MS;
    p->linger_ms = spec->linger_ms > 0 ? spec->linger_ms : WBI_RUN_LINGER_MS;
    p->output_limited = spec->output_bytes > 0;
    p->output_left = spec->output_bytes;
    p->words = WBI_MIN(spec->output_bytes / 16, (uint64_t)WBI_RUN_LAST_WORDS);
    p->in_tty = spec->stdin_kind == WBI_STDIN_TTY;
    p->end.exit_status = -1;
    p->end.containment = WBI_CONTAIN_GROUP;
}

/* Everything that can fail before the child exists. */
static wb_rc prepare(struct wbi_runner *runner, const struct wbi_process_spec *spec,
                     struct wbi_stdio *io, struct wbi_process **ret, struct wbi_error *err)
{
    struct wbi_process *p = wbi_zalloc(sizeof(*p));
    wb_rc rc;

    if (p == NULL)
        return wbi_fail_nomem(err);
    p->runner = runner;
    p->pidfd = p->keeper = p->in = p->out[0].fd = p->out[1].fd = -1;
    wbi_buf_init(&p->pending, spec->input_bytes > 0 ? spec->input_bytes : WBI_LIMIT_PENDING_INPUT);
    fill(p, spec);
    rc = wbi_timer_new(runner->loop, on_deadline, p, &p->deadline);
    if (rc == WB_OK)
        rc = wbi_timer_new(runner->loop, on_grace_over, p, &p->grace);
    if (rc != WB_OK) {
        (void)wbi_fail_nomem(err);
        goto failed;
    }
    rc = watch_output(p, 0, io->out[0], err);
    io->out[0] = -1;
    if (rc == WB_OK) {
        rc = watch_output(p, 1, io->out[1], err);
        io->out[1] = -1;
    }
    p->in = io->in;
    io->in = -1;
    if (rc != WB_OK)
        goto failed;
    *ret = p;
    return WB_OK;
failed:
    release(p);
    return rc;
}

/* A holder that can take a command, or NULL: then the group has to do. */
static struct wbi_holder *holder_of(struct wbi_runner *r)
{
    if (r->holder == NULL && !r->holder_failed)
        r->holder_failed = wbi_holder_new(&r->holder, NULL) != WB_OK;
    return r->holder;
}

void wbi_runner_ready(struct wbi_runner *runner)
{
    (void)holder_of(runner); /* the command itself is told when there is none */
}

static wb_rc begin_held(struct wbi_process *p, struct wbi_launch *l, struct wbi_error *err)
{
    struct wbi_runner *r = p->runner;
    wb_rc rc = wbi_holder_launch(r->holder, l, &p->keeper, err);

    if (rc == WB_EAGAIN) { /* somebody killed it; commands it had are dead or ours */
        wbi_holder_free(r->holder);
        r->holder = NULL;
        if (holder_of(r) == NULL)
            return wbi_fail_kind(err, WB_EIO, WBI_KIND_COMMAND_SPAWN_FAILED,
                                 "the process that holds commands cannot be started");
        rc = wbi_holder_launch(r->holder, l, &p->keeper, err);
    }
    if (rc != WB_OK)
        return rc;
    p->end.containment = WBI_CONTAIN_HOLDER;
    p->program = wbi_strdup(wbi_str_z(l->argv[0]));
    if (p->program == NULL)
        return wbi_fail_nomem(err); /* closing the socket ends the command */
    rc = wbi_watch_new(r->loop, p->keeper, on_keeper_ready, p, &p->exit_watch, err);
    if (rc == WB_OK)
        rc = wbi_watch_set(p->exit_watch, WBI_WATCH_READ);
    return rc == WB_OK ? set_watches(p) : rc;
}

static wb_rc begin_alone(struct wbi_process *p, struct wbi_launch *l, struct wbi_error *err)
{
    wb_rc rc;

    if (!wbi_launch(l, &p->pid, &p->pidfd))
        return wbi_launch_error(err, l->stage, l->error, l->argv[0]);
    p->pidfd = wbi_fd_high(p->pidfd);
    p->end.pid = p->pid;
    rc = wbi_watch_new(p->runner->loop, p->pidfd, on_exit_ready, p, &p->exit_watch, err);
    if (rc == WB_OK)
        rc = wbi_watch_set(p->exit_watch, WBI_WATCH_READ);
    if (rc == WB_OK)
        rc = set_watches(p);
    if (rc != WB_OK) { /* it must not run on unwatched */
        (void)kill(-p->pid, SIGKILL);
        (void)waitpid(p->pid, NULL, 0);
        p->pid = 0;
        return wbi_fail(err, rc, "cannot watch the new process");
    }
    return WB_OK;
}

wb_rc wbi_process_start(struct wbi_runner *runner, const struct wbi_process_spec *spec,
                        const struct wbi_process_ops *ops, void *arg, struct wbi_process **ret,
                        struct wbi_error *err)
{
    struct wbi_stdio io = {{-1, -1, -1}, -1, {-1, -1}};
    struct wbi_launch l = {.workdir_fd = -1};
    struct wbi_arena *arena = NULL;
    struct wbi_process *p = NULL;
    wb_rc rc;

    rc = wbi_arena_new(PLAN_ARENA, &arena);
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_plan_launch(arena, spec, &l, err);
    if (rc == WB_OK)
        rc = wbi_stdio_open(spec, &io, err);
    if (rc == WB_OK)
        rc = prepare(runner, spec, &io, &p, err);
    if (rc != WB_OK)
        goto out;
    memcpy(l.stdio, io.child, sizeof(l.stdio));
    p->started_ns = wbi_now_ns(&runner->clock);
    if (!spec->uncontained && holder_of(runner) != NULL)
        rc = begin_held(p, &l, err);
    else
        rc = begin_alone(p, &l, err);
    if (rc != WB_OK)
        goto out;
    p->ops = *ops;
    p->arg = arg;
    if (spec->timeout_ms > 0)
        wbi_timer_start(p->deadline, spec->timeout_ms);
    runner->busy++;
    *ret = p;
    p = NULL;
out:
    if (p != NULL)
        release(p);
    wbi_stdio_close(&io);
    wbi_fd_drop(&l.workdir_fd);
    wbi_arena_free(arena);
    return rc;
}

void wbi_process_stop(struct wbi_process *p)
{
    if (p->phase < WBI_SWEEPING && !p->stopping) {
        p->end.cancelled = true;
        begin_stop(p);
    }
}

void wbi_process_kill(struct wbi_process *p)
{
    if (p->phase >= WBI_SWEEPING)
        return;
    if (!p->stopping)
        p->end.cancelled = true;
    p->stopping = true;
    kill_all(p);
}

void wbi_process_handover(struct wbi_process *p, const struct wbi_process_ops *ops, void *arg)
{
    p->ops = *ops;
    p->arg = arg;
}

pid_t wbi_process_pid(const struct wbi_process *p)
{
    return p->pid;
}

enum wbi_containment wbi_process_containment(const struct wbi_process *p)
{
    return p->end.containment;
}
