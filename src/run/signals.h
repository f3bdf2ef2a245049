/* SPDX-License-Identifier: Apache-2.0
 * run/signals.h: every signal back to its default, for a child before exec.
 * By the system call: the C library refuses to name the two signals it keeps for
 * itself, yet a parent may hand them down ignored like any other. */
#ifndef WBI_RUN_SIGNALS_H
#define WBI_RUN_SIGNALS_H

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__has_feature)
#define WBI_ON_CHILD_STACK __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define WBI_ON_CHILD_STACK
#endif

/* Async-signal-safe. The caller must not share its handlers with another process. */
WBI_ON_CHILD_STACK static inline void wbi_signals_by_default(void)
{
    static const unsigned long by_default[8]; /* the kernel's struct sigaction, all zero */

    for (int n = 1; n < NSIG; n++)
        if (n != SIGKILL && n != SIGSTOP)
            (void)syscall(SYS_rt_sigaction, n, by_default, NULL, (NSIG - 1) / 8);
}

#endif
