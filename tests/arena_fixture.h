/* SPDX-License-Identifier: Apache-2.0
 * tests/arena_fixture.h: one arena for all tests of a program, as the set-up and tear-down of
 * their group. */
#ifndef WAYBILL_TESTS_ARENA_FIXTURE_H
#define WAYBILL_TESTS_ARENA_FIXTURE_H

#include "base/arena.h"
#include "base/limits.h"

static struct wbi_arena *arena;

static inline int set_up(void **state)
{
    (void)state;
    return wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK ? 0 : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    wbi_arena_free(arena);
    return 0;
}

#endif
