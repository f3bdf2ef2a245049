/* SPDX-License-Identifier: Apache-2.0
 * tests/faults/base_fault.h: the allocator of base/ replaced by one that counts what lives and
 * can fail. Only our own allocations are seen, but under sanitizers too, where alloc_fault.h
 * cannot work. Include it in exactly one source of a test program. */
#ifndef WAYBILL_TESTS_BASE_FAULT_H
#define WAYBILL_TESTS_BASE_FAULT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Atomic: what waits for a disk allocates on threads of a pool. */
static _Atomic long until_failure = -1; /* -1: never */
static _Atomic long live;

static bool fails(void)
{
    return until_failure >= 0 && until_failure-- == 0;
}

static void *count(void *p)
{
    live += p != NULL;
    return p;
}

void *wbi_alloc(size_t n)
{
    return fails() ? NULL : count(malloc(n ? n : 1));
}

void *wbi_zalloc(size_t n)
{
    return fails() ? NULL : count(calloc(1, n ? n : 1));
}

void *wbi_zalloc_array(size_t number, size_t size)
{
    return fails() ? NULL : count(calloc(number ? number : 1, size ? size : 1));
}

void *wbi_realloc(void *p, size_t n)
{
    if (fails())
        return NULL;
    return p == NULL ? count(malloc(n ? n : 1)) : realloc(p, n ? n : 1);
}

void wbi_free(void *p)
{
    live -= p != NULL;
    free(p);
}

char *wbi_strdup(struct wbi_str s)
{
    char *copy = wbi_alloc(s.n + 1);

    if (copy != NULL) {
        memcpy(copy, s.p, s.n);
        copy[s.n] = '\0';
    }
    return copy;
}

#endif
