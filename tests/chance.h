/* SPDX-License-Identifier: Apache-2.0
 * tests/chance.h: chance that can be repeated (WAYBILL_SEED), and how long a test that could
 * go on for ever does (WAYBILL_SOAK). Include after cmocka.h. */
#ifndef WAYBILL_TESTS_CHANCE_H
#define WAYBILL_TESTS_CHANCE_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t chance_state = 1;

/* From WAYBILL_SEED, else from the time; says which, so that a failure can be repeated. */
static inline void chance_start(void)
{
    const char *text = getenv("WAYBILL_SEED");

    chance_state = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    print_message("WAYBILL_SEED=%llu\n", (unsigned long long)chance_state);
}

/* One of 0 … below - 1. */
static inline unsigned long chance(unsigned long below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned long)(chance_state >> 33) % below;
}

/* A twentieth of the whole; all of it with WAYBILL_SOAK=1, another number is taken as it is. */
static inline unsigned long soak(unsigned long whole)
{
    const char *text = getenv("WAYBILL_SOAK");
    unsigned long n = text != NULL ? strtoul(text, NULL, 10) : 0;

    return text == NULL ? whole / 20 : n > 1 ? n : whole;
}

#endif
