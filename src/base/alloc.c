/* SPDX-License-Identifier: Apache-2.0
 * base/alloc.c: the only place that calls the C library's allocator. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { SMALL = 1024 };

void *wbi_alloc(size_t n)
{
    return malloc(n ? n : 1);
}

/* glibc's calloc passes the thread's own cache of small blocks by. */
void *wbi_zalloc(size_t n)
{
    void *p;

    if (n > SMALL)
        return calloc(1, n);
    p = malloc(n ? n : 1);
    return p != NULL ? memset(p, 0, n) : NULL;
}

void *wbi_zalloc_array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *wbi_realloc(void *p, size_t n)
{
    return realloc(p, n ? n : 1);
}

void wbi_free(void *p)
{
    free(p);
}

char *wbi_strdup(struct wbi_str s)
{
    char *copy;
    size_t size;

    if (!wbi_add(s.n, (size_t)1, &size))
        return NULL;
    copy = wbi_alloc(size);
    if (copy == NULL)
        return NULL;
    if (s.n > 0)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}
