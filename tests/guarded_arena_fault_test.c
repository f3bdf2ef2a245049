/* SPDX-License-Identifier: Apache-2.0
 * tests/guarded_arena_fault_test.c: guarded_fault_test.c with arenas that take every piece
 * from malloc, so that each allocation inside a call fails once as well. */
#include "faults/arena_fault.h"

#include "guarded_fault_test.c" /* NOLINT: the same tests over another arena */
