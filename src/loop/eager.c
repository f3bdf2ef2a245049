/* SPDX-License-Identifier: Apache-2.0
 * loop/eager.c: see eager.h. */
#include "loop/eager.h"

#include <poll.h>
#include <sched.h>

#include "base/clock.h"
#include "base/limits.h"

/* After so many misses in a row one chance of so many is still taken: times change. */
#define MISSES_MAX 8u
#define SELDOM 32u

void wbi_eager_init(struct wbi_eager *e, int fd)
{
    cpu_set_t cores;

    *e = (struct wbi_eager){.fd = fd};
    e->may = sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 1;
}

static bool worth_it(struct wbi_eager *e)
{
    if (e->misses < MISSES_MAX)
        return true;
    return e->misses++ % SELDOM == 0;
}

static bool look(int fd)
{
    const struct wbi_clock clock = wbi_clock_system();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t until = wbi_now_ns(&clock) + WBI_LOOP_EAGER_NS;

    while (poll(&p, 1, 0) == 0)
        if (wbi_now_ns(&clock) >= until)
            return false;
    return true;
}

void wbi_eager_turn(struct wbi_eager *e)
{
    bool single = e->events == 1;

    e->events = 0;
    if (!single || !e->may || !worth_it(e))
        return;
    e->looks++;
    if (look(e->fd)) {
        e->hits++;
        e->misses = 0;
    } else {
        e->misses++;
    }
}
