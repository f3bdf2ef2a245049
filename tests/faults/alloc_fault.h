/* SPDX-License-Identifier: Apache-2.0
 * tests/faults/alloc_fault.h: count every allocation of the program, libraries
 * included, and make the n-th one fail. Include it in exactly one source of a
 * test program: it defines malloc and its kin over glibc's own. Under a sanitizer,
 * which owns malloc, nothing is defined and ALLOC_FAULTS is 0. */
#ifndef WAYBILL_TESTS_ALLOC_FAULT_H
#define WAYBILL_TESTS_ALLOC_FAULT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define ALLOC_FAULTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ALLOC_FAULTS 0
#endif
#endif
#ifndef ALLOC_FAULTS
#define ALLOC_FAULTS 1
#endif

static struct {
    atomic_bool on;     /* counting and failing */
    atomic_long until;  /* allocations that still succeed; < 0: all */
    atomic_bool sticky; /* all after the n-th fail too */
    atomic_long made;   /* allocations asked for since alloc_fault_start */
    atomic_long bytes;  /* asked for since then */
    atomic_long live;   /* made and not freed, of those asked for while on */
    atomic_long hits;   /* that failed */
} alloc_faults = {.until = -1};

/* From now on allocation n (from 0) fails; with sticky all later ones too.
 * n < 0: only count. */
static inline void alloc_fault_start(long n, bool sticky)
{
    atomic_store(&alloc_faults.until, n);
    atomic_store(&alloc_faults.sticky, sticky);
    atomic_store(&alloc_faults.made, 0);
    atomic_store(&alloc_faults.bytes, 0);
    atomic_store(&alloc_faults.live, 0);
    atomic_store(&alloc_faults.hits, 0);
    atomic_store(&alloc_faults.on, true);
}

/* Stop; returns how many allocations failed. */
static inline long alloc_fault_stop(void)
{
    atomic_store(&alloc_faults.on, false);
    return atomic_load(&alloc_faults.hits);
}

#if ALLOC_FAULTS

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t count, size_t n);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);

static bool alloc_fault_now(size_t n)
{
    long left;

    if (!atomic_load(&alloc_faults.on))
        return false;
    atomic_fetch_add(&alloc_faults.made, 1);
    atomic_fetch_add(&alloc_faults.bytes, (long)n);
    left = atomic_load(&alloc_faults.until);
    if (left < 0)
        return false;
    if (left > 0) {
        atomic_store(&alloc_faults.until, left - 1);
        return false;
    }
    if (!atomic_load(&alloc_faults.sticky))
        atomic_store(&alloc_faults.until, -1);
    atomic_fetch_add(&alloc_faults.hits, 1);
    errno = ENOMEM;
    return true;
}

static void *alloc_fault_count(void *p)
{
    if (p != NULL && atomic_load(&alloc_faults.on))
        atomic_fetch_add(&alloc_faults.live, 1);
    return p;
}

void *malloc(size_t n);
void *calloc(size_t count, size_t n);
void *realloc(void *p, size_t n);
void free(void *p);

void *malloc(size_t n)
{
    return alloc_fault_now(n) ? NULL : alloc_fault_count(__libc_malloc(n));
}

void *calloc(size_t count, size_t n)
{
    return alloc_fault_now(count * n) ? NULL : alloc_fault_count(__libc_calloc(count, n));
}

void *realloc(void *p, size_t n)
{
    void *q;

    if (alloc_fault_now(n))
        return NULL;
    q = __libc_realloc(p, n);
    return p == NULL ? alloc_fault_count(q) : q;
}

void free(void *p)
{
    if (p != NULL && atomic_load(&alloc_faults.on))
        atomic_fetch_sub(&alloc_faults.live, 1);
    __libc_free(p);
}

#endif
#endif
