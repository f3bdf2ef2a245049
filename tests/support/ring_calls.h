/* SPDX-License-Identifier: Apache-2.0
 * tests/support/ring_calls.h: io_uring that fails as a test says. Include it in exactly one
 * source of a test program: it defines syscall() and with it what the ring asks the
 * kernel for; all other calls go on as they are. */
#ifndef WAYBILL_TESTS_RING_CALLS_H
#define WAYBILL_TESTS_RING_CALLS_H

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    atomic_int setup_error;    /* of io_uring_setup; 0: it works */
    atomic_int enter_fails_at; /* the n-th io_uring_enter from now on; 0: none */
    atomic_long enter_takes;   /* of what io_uring_enter is given; 0: all */
    atomic_int interruptions;  /* so many come first */
} ring_calls;

static int ring_calls_error(long number)
{
    if (number == SYS_io_uring_setup)
        return ring_calls.setup_error;
    if (number != SYS_io_uring_enter)
        return 0;
    if (ring_calls.interruptions > 0) {
        ring_calls.interruptions--;
        return EINTR;
    }
    return ring_calls.enter_fails_at > 0 && --ring_calls.enter_fails_at == 0 ? ENXIO : 0;
}

long syscall(long number, ...)
{
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long a[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    errno = ring_calls_error(number);
    if (errno != 0)
        return -1;
    if (number == SYS_io_uring_enter && ring_calls.enter_takes > 0 && a[1] > ring_calls.enter_takes)
        a[1] = ring_calls.enter_takes;
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#endif
