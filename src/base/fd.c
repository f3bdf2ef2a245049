/* SPDX-License-Identifier: Apache-2.0
 * base/fd.c: writing without signals. */
#include "base/fd.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

ssize_t wbi_write_quiet(int fd, const void *p, size_t n)
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
    return wrote < 0 ? -failed : wrote;
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
