/* SPDX-License-Identifier: Apache-2.0
 * run/keeper.c: the subreaper of one command. It has no usable heap (it is a copy
 * of a process that may have had threads): system calls and its area only.
 * (1) It ends only when nothing of its command is left.
 * (2) The leader's group is signalled by its id only while the leader is unreaped:
 *     the id cannot belong to anybody else then. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/holder_int.h"
#include "run/process.h"

#define POLL_MS 20
#define POLL_MAX_MS 1000
#define SWEEP_ROUND_MS 10
#define LAST_MOMENT_MS 20   /* for those that are about to end by themselves */
#define LAST_MOMENT_FEW 16u /* more are no last moments */
#define SWEEP_ROUNDS 500    /* what cannot be killed in five seconds is reported */

struct keeper {
    struct wbi_holder_area *area;
    struct wbi_rlimits limits;
    int socket, pidfd, children;
    pid_t leader;
    bool exited, reaped, runtime_gone;
    int poll_ms;
};

static void tell(struct keeper *k, enum wbi_keeper_type type, int a, int b, int c)
{
    struct wbi_keeper_msg m = {.type = (uint32_t)type, .a = a, .b = b, .c = c};

    while (send(k->socket, &m, sizeof(m), MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void tell_exit(struct keeper *k, const siginfo_t *info, bool alone)
{
    bool normal = info->si_code == CLD_EXITED;

    k->exited = true;
    tell(k, WBI_KEEPER_EXITED, normal ? info->si_status : -1, normal ? 0 : info->si_status, alone);
}

static void drain_child_signals(struct keeper *k)
{
    struct signalfd_siginfo s;

    while (read(k->children, &s, sizeof(s)) == (ssize_t)sizeof(s))
        ;
}

/* Reap what has ended; the leader only when `leader_too`. Returns how many others were killed. */
static int reap(struct keeper *k, bool leader_too)
{
    int count = 0;

    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return count;
        if (info.si_pid == k->leader) {
            if (!leader_too)
                return count;
            if (!k->exited)
                tell_exit(k, &info, false);
            k->reaped = true;
        } else {
            count += info.si_code == CLD_KILLED && info.si_status == SIGKILL;
        }
        (void)waitpid(info.si_pid, NULL, 0);
    }
}

/* Ahead of what it watches, where the system allows: a fork bomb must not starve
 * the one that ends it. Nothing is started from here any more. */
static void come_first(void)
{
    (void)setpriority(PRIO_PROCESS, 0, -20);
}

/* Programs close their output as the last thing they do: whoever is about to end is no
 * straggler. */
static void let_end(struct keeper *k)
{
    struct pollfd wake = {.fd = k->children, .events = POLLIN};
    int64_t until = now_ms() + LAST_MOMENT_MS, left = LAST_MOMENT_MS;
    uint32_t alive = wbi_scan_children(k->area);

    while (alive > 0 && alive <= LAST_MOMENT_FEW && left > 0) {
        (void)poll(&wake, 1, (int)left);
        drain_child_signals(k);
        (void)reap(k, false);
        alive = wbi_scan_children(k->area);
        left = until - now_ms();
    }
}

_Noreturn static void sweep_and_go(struct keeper *k)
{
    struct pollfd wake = {.fd = k->children, .events = POLLIN};
    int swept = 0;
    uint32_t left = 1;

    come_first();
    (void)reap(k, false); /* what ended by itself does not count */
    if (k->reaped && !k->runtime_gone)
        let_end(k);
    for (int round = 0; round < SWEEP_ROUNDS; round++) {
        if (!k->reaped)
            (void)kill(-k->leader, SIGKILL);
        left = wbi_scan_children(k->area);
        if (left == 0)
            break;
        wbi_kill_children(k->area, left);
        swept += reap(k, true);
        if (wbi_scan_children(k->area) == 0) {
            left = 0;
            break;
        }
        (void)poll(&wake, 1, SWEEP_ROUND_MS);
        drain_child_signals(k);
        swept += reap(k, true);
    }
    tell(k, WBI_KEEPER_GONE, swept, (int)left, 0);
    _exit(0);
}

/* The leader has ended: if nothing else is there, that was all. Otherwise its own
 * group is from now on reached through the members that are still ours. */
static void on_leader_exit(struct keeper *k)
{
    siginfo_t info = {0};
    bool alone;

    if (waitid(P_PIDFD, (id_t)k->pidfd, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
        return;
    k->reaped = true;
    (void)reap(k, false);
    alone = waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
    tell_exit(k, &info, alone);
    if (alone)
        _exit(0);
}

/* Looks whether a limit over the tree is passed, and says which. */
static bool tell_limit(struct keeper *k)
{
    const struct wbi_rlimits *l = &k->limits;
    enum wbi_limit_hit hit = WBI_HIT_NONE;
    uint64_t pages;
    uint32_t count;

    if (l->processes == 0 && l->memory_bytes == 0)
        return false;
    count = wbi_scan_tree(k->area, &pages);
    if (l->processes != 0 && count > l->processes)
        hit = WBI_HIT_PROCESSES;
    else if (l->memory_bytes != 0 && pages * (uint64_t)sysconf(_SC_PAGESIZE) > l->memory_bytes)
        hit = WBI_HIT_MEMORY;
    if (hit != WBI_HIT_NONE)
        tell(k, WBI_KEEPER_LIMIT, (int)hit, 0, 0);
    return hit != WBI_HIT_NONE;
}

static void on_message(struct keeper *k)
{
    struct wbi_keeper_msg m;
    ssize_t n = recv(k->socket, &m, sizeof(m), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof(m) || m.type == WBI_KEEPER_SWEEP) { /* or the runtime is gone */
        (void)tell_limit(k); /* it may have been passed since the last look */
        sweep_and_go(k);
    }
    if (m.type == WBI_KEEPER_SIGNAL && !k->reaped)
        (void)kill(-k->leader, m.a);
}

static void check_limits(struct keeper *k)
{
    int64_t began = now_ms(), cost;

    if (tell_limit(k))
        sweep_and_go(k);
    cost = (now_ms() - began) * 20; /* looking takes 5 % of a core at most */
    k->poll_ms = cost < POLL_MS ? POLL_MS : cost > POLL_MAX_MS ? POLL_MAX_MS : (int)cost;
}

_Noreturn static void keep(struct keeper *k)
{
    bool watched = k->limits.processes != 0 || k->limits.memory_bytes != 0;
    int64_t due = now_ms() + POLL_MS;

    k->poll_ms = POLL_MS;
    if (watched)
        come_first();
    for (;;) {
        struct pollfd fds[3] = {{.fd = k->socket, .events = POLLIN},
                                {.fd = k->children, .events = POLLIN},
                                {.fd = k->exited ? -1 : k->pidfd, .events = POLLIN}};
        int64_t wait = watched ? due - now_ms() : -1;

        (void)poll(fds, 3, watched && wait < 0 ? 0 : (int)wait);
        if (fds[2].revents != 0)
            on_leader_exit(k);
        if (fds[1].revents != 0) {
            drain_child_signals(k);
            (void)reap(k, false);
        }
        if (fds[0].revents != 0)
            on_message(k);
        if (watched && now_ms() >= due) {
            check_limits(k);
            due = now_ms() + k->poll_ms;
        }
    }
}

/* NULL-terminated pointers into strings; *at moves past them. NULL on nonsense. */
static char **pointers(char **places, uint32_t count, char *strings, size_t bytes, size_t *at)
{
    for (uint32_t i = 0; i < count; i++) {
        char *end = *at < bytes ? memchr(strings + *at, '\0', bytes - *at) : NULL;
        if (end == NULL)
            return NULL;
        places[i] = strings + *at;
        *at = (size_t)(end - strings) + 1;
    }
    places[count] = NULL;
    return places;
}

static bool unpack(struct wbi_holder_area *area, char *strings, const int *fds,
                   struct wbi_launch *l)
{
    const struct wbi_request *rq = &area->request;
    size_t at, places = (size_t)rq->argc + rq->envc + 2;
    char **memory = places <= WBI_POINTERS
                        ? area->pointers
                        : mmap(NULL, places * sizeof(*memory), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *end = memchr(strings, '\0', rq->bytes);

    if (memory == MAP_FAILED || end == NULL)
        return false;
    l->path = strings;
    at = (size_t)(end - strings) + 1;
    l->argv = pointers(memory, rq->argc, strings, rq->bytes, &at);
    l->envp = pointers(memory + rq->argc + 1, rq->envc, strings, rq->bytes, &at);
    memcpy(l->stdio, fds, sizeof(l->stdio));
    l->workdir_fd = rq->flags & WBI_REQUEST_WORKDIR ? fds[4] : -1;
    l->tty = rq->flags & WBI_REQUEST_TTY;
    l->allow_new_privs = rq->flags & WBI_REQUEST_NEW_PRIVS;
    l->die_with_parent = true;
    l->limits = rq->limits;
    l->limits.memory_bytes = l->limits.processes = 0; /* counted over the tree instead */
    return l->argv != NULL && l->envp != NULL;
}

int wbi_keeper_prepare(struct wbi_holder_area *area)
{
    sigset_t child_ended;

    area->keeper_count = 0;
    (void)prctl(PR_SET_NAME, "waybill-keep", 0, 0, 0);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return -1;
    (void)sigemptyset(&child_ended);
    (void)sigaddset(&child_ended, SIGCHLD);
    return signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
}

_Noreturn void wbi_keeper_main(struct wbi_holder_area *area, int children, char *strings,
                               const int *fds)
{
    struct keeper k = {
        .area = area, .limits = area->request.limits, .socket = fds[3], .children = children};
    struct wbi_launch l = {0};

    if (!unpack(area, strings, fds, &l)) {
        tell(&k, WBI_KEEPER_FAILED, WBI_STAGE_CLONE, EINVAL, 0);
        _exit(1);
    }
    if (!wbi_launch(&l, &k.leader, &k.pidfd)) {
        tell(&k, WBI_KEEPER_FAILED, (int)l.stage, l.error, 0);
        _exit(1);
    }
    for (int i = 0; i < 3; i++)
        (void)close(fds[i]); /* else their other ends never end */
    if (l.workdir_fd >= 0)
        (void)close(l.workdir_fd);
    tell(&k, WBI_KEEPER_STARTED, k.leader, getpid(), 0);
    keep(&k);
}
