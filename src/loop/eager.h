/* SPDX-License-Identifier: Apache-2.0
 * loop/eager.h: looks for the next event for a moment before the loop sleeps.
 * One client and one server speak in turns; being woken costs more than either
 * takes to answer, and the processor spends that time on waking anyway. So a turn
 * with a single event looks again, where another core is there for the others and
 * while it pays. Turns with more events have plenty to do and sleep at once. */
#ifndef WBI_LOOP_EAGER_H
#define WBI_LOOP_EAGER_H

#include <stdbool.h>
#include <stdint.h>

struct wbi_eager {
    int fd;          /* readable when the loop has an event */
    bool may;        /* another core is there */
    unsigned events; /* of this turn */
    unsigned misses; /* looks in a row that found nothing */
    uint64_t looks, hits;
};

void wbi_eager_init(struct wbi_eager *e, int fd);
/* One event of this turn. */
static inline void wbi_eager_event(struct wbi_eager *e)
{
    e->events++;
}
/* The turn is over and the loop has nothing left to do. */
void wbi_eager_turn(struct wbi_eager *e);

#endif
