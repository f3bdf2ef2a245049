/* SPDX-License-Identifier: Apache-2.0
 * A reader that is gone is an error of the write, whatever the program does with SIGPIPE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

static volatile sig_atomic_t taken;

static void take(int signal)
{
    (void)signal;
    taken++;
}

static ssize_t write_to_nobody(void)
{
    int fd[2];
    ssize_t n;

    assert_int_equal(pipe(fd), 0);
    (void)close(fd[0]);
    n = wbi_write_quiet(fd[1], "x", 1);
    (void)close(fd[1]);
    return n;
}

static bool is_pending(void)
{
    sigset_t pending;

    (void)sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}

static bool is_blocked(void)
{
    sigset_t mask;

    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&mask, SIGPIPE) == 1;
}

static void no_signal_comes_of_it(void **state)
{
    void (*const ways[])(int) = {SIG_DFL, SIG_IGN, take};

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        (void)signal(SIGPIPE, ways[i]);
        assert_int_equal(write_to_nobody(), -EPIPE);
        assert_int_equal(taken, 0);
        assert_false(is_pending());
        assert_false(is_blocked());
    }
    (void)signal(SIGPIPE, SIG_DFL);
}

static void a_signal_of_somebody_else_stays(void **state)
{
    struct timespec at_once = {0, 0};
    sigset_t only, before;

    (void)state;
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigemptyset(&only);
    (void)sigaddset(&only, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &only, &before);
    (void)raise(SIGPIPE);
    assert_int_equal(write_to_nobody(), -EPIPE);
    assert_true(is_pending());
    assert_true(is_blocked());
    assert_int_equal(sigtimedwait(&only, NULL, &at_once), SIGPIPE);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void what_fits_is_written(void **state)
{
    char got[4] = "";
    int fd[2];

    (void)state;
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(wbi_write_quiet(fd[1], "abc", 3), 3);
    assert_int_equal(read(fd[0], got, sizeof(got)), 3);
    assert_string_equal(got, "abc");
    (void)close(fd[0]);
    (void)close(fd[1]);
    assert_int_equal(wbi_write_quiet(-1, "abc", 3), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_signal_comes_of_it),
        cmocka_unit_test(a_signal_of_somebody_else_stays),
        cmocka_unit_test(what_fits_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
