/* SPDX-License-Identifier: Apache-2.0
 * tests/faults/arena_fault.h: arenas that take every piece from malloc, so that
 * each single piece can fail (alloc_fault.h) and a sanitizer sees each end.
 * Include it in exactly one source of a test program, which then uses this
 * instead of base/arena.c. */
#ifndef WAYBILL_TESTS_ARENA_FAULT_H
#define WAYBILL_TESTS_ARENA_FAULT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"

struct arena_piece {
    struct arena_piece *next;
    void (*fn)(void *);
    void *arg;
    size_t n;
    _Alignas(16) char bytes[];
};

struct wbi_arena {
    struct arena_piece *pieces; /* newest first */
    size_t cap, used;
};

wb_rc wbi_arena_new(size_t cap, struct wbi_arena **ret)
{
    struct wbi_arena *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return WB_ENOMEM;
    a->cap = cap;
    *ret = a;
    return WB_OK;
}

wb_rc wbi_arena_new_small(size_t cap, struct wbi_arena **ret)
{
    return wbi_arena_new(cap, ret);
}

void wbi_arena_reset(struct wbi_arena *a)
{
    for (struct arena_piece *p = a->pieces; p != NULL; p = p->next)
        if (p->fn != NULL)
            p->fn(p->arg);
    while (a->pieces != NULL) {
        struct arena_piece *p = a->pieces;
        a->pieces = p->next;
        free(p);
    }
    a->used = 0;
}

void wbi_arena_free(struct wbi_arena *a)
{
    if (a == NULL)
        return;
    wbi_arena_reset(a);
    free(a);
}

/* Nothing is kept: every arena is a new one. */
struct wbi_arena_pool {
    char unused;
};

wb_rc wbi_arena_pool_new(struct wbi_arena_pool **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret != NULL ? WB_OK : WB_ENOMEM;
}

void wbi_arena_pool_free(struct wbi_arena_pool *pool)
{
    free(pool);
}

wb_rc wbi_arena_pool_take(struct wbi_arena_pool *pool, enum wbi_arena_use use, size_t cap,
                          struct wbi_arena **ret)
{
    (void)pool;
    (void)use;
    return wbi_arena_new(cap, ret);
}

void *wbi_arena_alloc(struct wbi_arena *a, size_t n)
{
    struct arena_piece *p;

    if (n > a->cap - a->used)
        return NULL;
    p = malloc(sizeof(*p) + n);
    if (p == NULL)
        return NULL;
    *p = (struct arena_piece){a->pieces, NULL, NULL, n};
    a->pieces = p;
    a->used += n;
    return p->bytes;
}

void *wbi_arena_zalloc(struct wbi_arena *a, size_t n)
{
    void *p = wbi_arena_alloc(a, n);

    return p ? memset(p, 0, n) : NULL;
}

void *wbi_arena_array(struct wbi_arena *a, size_t count, size_t size)
{
    size_t n;

    return __builtin_mul_overflow(count, size, &n) ? NULL : wbi_arena_zalloc(a, n);
}

void *wbi_arena_grow(struct wbi_arena *a, void *old, size_t old_n, size_t n)
{
    void *p = wbi_arena_alloc(a, n);

    if (p != NULL && old != NULL)
        memcpy(p, old, old_n < n ? old_n : n);
    return p;
}

char *wbi_arena_strz(struct wbi_arena *a, struct wbi_str s)
{
    char *p = wbi_arena_alloc(a, s.n + 1);

    if (p == NULL)
        return NULL;
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

struct wbi_str wbi_arena_str(struct wbi_arena *a, struct wbi_str s)
{
    char *p = s.p ? wbi_arena_strz(a, s) : NULL;

    return p ? wbi_str_make(p, s.n) : WBI_NONE;
}

struct wbi_str wbi_arena_fmt(struct wbi_arena *a, const char *fmt, ...)
{
    va_list ap;
    char *p;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    p = n < 0 ? NULL : wbi_arena_alloc(a, (size_t)n + 1);
    if (p == NULL)
        return WBI_NONE;
    va_start(ap, fmt);
    (void)vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return wbi_str_make(p, (size_t)n);
}

wb_rc wbi_arena_defer(struct wbi_arena *a, void (*fn)(void *), void *arg)
{
    struct arena_piece *p;

    if (wbi_arena_alloc(a, 0) == NULL)
        return WB_ENOMEM;
    p = a->pieces;
    p->fn = fn;
    p->arg = arg;
    return WB_OK;
}

size_t wbi_arena_used(const struct wbi_arena *a)
{
    return a->used;
}

#endif
