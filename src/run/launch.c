/* SPDX-License-Identifier: Apache-2.0
 * run/launch.c: clone, set up, exec.
 * The child shares the parent's memory until exec (no page table is copied, so
 * the cost does not grow with the parent) while the launching thread waits.
 * (1) All signals are blocked around the clone: no handler of the parent can run
 *     in the child on shared memory.
 * (2) The child reports a failed step by writing into the shared struct. */
#include "run/launch.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/signals.h"

#define CHILD_STACK 16384

WBI_ON_CHILD_STACK static bool limit_to(int resource, uint64_t value)
{
    struct rlimit r = {.rlim_cur = (rlim_t)value, .rlim_max = (rlim_t)value};
    struct rlimit old;

    if (getrlimit((__rlimit_resource_t)resource, &old) != 0)
        return false;
    if (old.rlim_max != RLIM_INFINITY && r.rlim_max > old.rlim_max)
        r.rlim_cur = r.rlim_max = old.rlim_max; /* a limit is never widened */
    return setrlimit((__rlimit_resource_t)resource, &r) == 0;
}

/* A second between the limits: SIGXCPU comes first and names the cause. */
WBI_ON_CHILD_STACK static bool limit_cpu(uint64_t seconds)
{
    struct rlimit r = {.rlim_cur = (rlim_t)seconds, .rlim_max = (rlim_t)seconds + 1};

    return setrlimit(RLIMIT_CPU, &r) == 0;
}

WBI_ON_CHILD_STACK static bool set_limits(const struct wbi_rlimits *l)
{
    if (!limit_to(RLIMIT_CORE, 0))
        return false;
    if (l->memory_bytes != 0 && !limit_to(RLIMIT_AS, l->memory_bytes))
        return false;
    if (l->files != 0 && !limit_to(RLIMIT_NOFILE, l->files))
        return false;
    if (l->processes != 0 && !limit_to(RLIMIT_NPROC, l->processes))
        return false;
    if (l->file_bytes != 0 && !limit_to(RLIMIT_FSIZE, l->file_bytes))
        return false;
    return l->cpu_seconds == 0 || limit_cpu(l->cpu_seconds);
}

WBI_ON_CHILD_STACK static void close_above(unsigned int first)
{
    struct rlimit r;

#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur > 65536)
        r.rlim_cur = 65536;
    for (unsigned int fd = first; fd < r.rlim_cur; fd++)
        (void)close((int)fd);
}

WBI_ON_CHILD_STACK static bool set_stdio(const struct wbi_launch *l)
{
    for (int i = 0; i < 3; i++)
        if (dup2(l->stdio[i], i) < 0)
            return false;
    return true;
}

WBI_ON_CHILD_STACK static void give_up(struct wbi_launch *l, enum wbi_launch_stage stage)
{
    l->stage = stage;
    l->error = errno;
    _exit(127);
}

WBI_ON_CHILD_STACK static int child_main(void *arg)
{
    struct wbi_launch *l = arg;
    sigset_t none;

    if (setsid() < 0)
        give_up(l, WBI_STAGE_SESSION);
    wbi_signals_by_default();
    if (l->tty && ioctl(l->stdio[0], TIOCSCTTY, 0) != 0)
        give_up(l, WBI_STAGE_TTY);
    if (l->workdir_fd >= 0 && fchdir(l->workdir_fd) != 0)
        give_up(l, WBI_STAGE_WORKDIR);
    if (!set_stdio(l))
        give_up(l, WBI_STAGE_STDIO);
    close_above(3);
    if (!set_limits(&l->limits))
        give_up(l, WBI_STAGE_LIMITS);
    if (!l->allow_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        give_up(l, WBI_STAGE_LIMITS);
    if (l->die_with_parent && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        give_up(l, WBI_STAGE_LIMITS);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    /* the bare call: a compiler that counts coverage puts more around execve than this
     * stack holds */
    (void)syscall(SYS_execve, l->path, l->argv, l->envp);
    give_up(l, WBI_STAGE_EXEC);
    return 0;
}

/* clone by the name that a ThreadSanitizer in the host does not replace: it takes every clone
 * for a fork and would do its work for one twice on the shared memory. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

bool wbi_launch(struct wbi_launch *l, pid_t *ret_pid, int *ret_pidfd)
{
    _Alignas(16) char stack[CHILD_STACK];
    sigset_t all, before;
    int pidfd = -1, flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
    pid_t pid;

    l->stage = WBI_STAGE_NONE;
    l->error = 0;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    pid = __clone(child_main, stack + sizeof(stack), flags, l, &pidfd);
    if (pid < 0) {
        l->stage = WBI_STAGE_CLONE;
        l->error = errno;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return false;
    if (l->stage != WBI_STAGE_NONE) {
        (void)waitpid(pid, NULL, 0);
        (void)close(pidfd);
        return false;
    }
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    return true;
}
