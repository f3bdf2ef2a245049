/* SPDX-License-Identifier: Apache-2.0
 * base/fd.c: writing without signals; what a lack of descriptors is. */
#include "base/fd.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* Goes on after EINTR; -errno on failure. */
static ssize_t write_some(int fd, const void *p, size_t n)
{
    ssize_t wrote;

    do
        wrote = write(fd, p, n);
    while (wrote < 0 && errno == EINTR);
    return wrote < 0 ? -errno : wrote;
}

static bool is_ignored(int signal)
{
    struct sigaction now;

    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* A program that ignores the signal, as ours does, needs one look; in any other it is
 * blocked meanwhile, and taken if we made it. */
ssize_t wbi_write_quiet(int fd, const void *p, size_t n)
{
    struct timespec at_once = {0, 0};
    sigset_t pipe_only, before, pending;
    bool was_pending;
    ssize_t wrote;

    if (is_ignored(SIGPIPE))
        return write_some(fd, p, n);
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    wrote = write_some(fd, p, n);
    if (wrote == -EPIPE && !was_pending)
        (void)sigtimedwait(&pipe_only, NULL, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return wrote;
}

int wbi_write_all(int fd, const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        ssize_t wrote = write(fd, at, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? errno : EIO;
        at += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

bool wbi_errno_is_shortage(int errno_value)
{
    return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOMEM;
}
