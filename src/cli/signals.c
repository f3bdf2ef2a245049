/* SPDX-License-Identifier: Apache-2.0
 * cli/signals.c: signals and descriptors of commands that run for long. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"

/* Nothing of the caller's is kept open by a task. */
void let_go(bool input)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return;
    if (input)
        (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
    if (null > STDERR_FILENO)
        (void)close(null);
}

int signal_descriptor(int one, int other)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, one);
    sigaddset(&set, other);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signals_as_usual(void)
{
    sigset_t none;

    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void say_reloaded(const struct args *a, const wb_error *error)
{
    char place[PLACE_SIZE];

    if (error == NULL)
        note(a, "policies and bindings were read again; tools and servers are those of the start");
    else
        warn(a, "the old policies stay in force: %s%s", error_place(error, place, sizeof(place)),
             wb_error_text(error));
}

static void on_reload(const wb_error *error, void *arg)
{
    say_reloaded(arg, error);
}

void reload_on_hangup(const struct args *a, wb_runtime *runtime, int fd)
{
    wb_error *error = NULL;

    if (fd >= 0 &&
        wb_runtime_reload_on(runtime, fd, on_reload, (void *)(uintptr_t)a, &error) != WB_OK)
        (void)fail(a, "SIGHUP", error);
}
