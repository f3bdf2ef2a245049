/* SPDX-License-Identifier: Apache-2.0
 * base/arena.c: chunked bump allocation.
 * (1) Chunks are never moved. (2) `used` counts what was handed out, alignment
 * included, and never passes `cap`. (3) Clean-ups run newest first, once. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"

#define ALIGN ((size_t)16)
#define FIRST_CHUNK ((size_t)32 * 1024)
#define MESSAGE_CHUNK ((size_t)3 * 1024)
#define SMALL_CHUNK ((size_t)2 * 1024)
#define LARGEST_CHUNK ((size_t)1024 * 1024)

struct chunk {
    struct chunk *older;
    size_t size;
    size_t used;
};

struct cleanup {
    struct cleanup *older;
    void (*fn)(void *);
    void *arg;
};

struct wbi_arena {
    struct chunk *newest;
    struct chunk *first;
    struct cleanup *cleanups;
    size_t cap;
    size_t used;
    size_t next_size, second_size;
    struct wbi_arena_pool *home; /* NULL: none */
    enum wbi_arena_use use;
};

#define POOL_KEEPS 64u
#if defined(__SANITIZE_ADDRESS__) /* who uses an arena after its end is to be found out */
#define KEEPS false
#else
#define KEEPS true
#endif

struct wbi_arena_pool {
    struct {
        struct wbi_arena *idle[POOL_KEEPS];
        size_t n;
    } shelf[2];  /* by enum wbi_arena_use */
    size_t away; /* in use */
    bool closed; /* goes with the last of them */
};

#define HEADER ((sizeof(struct chunk) + ALIGN - 1) & ~(ALIGN - 1))

static struct chunk *chunk_new(size_t payload)
{
    struct chunk *c;
    size_t size;

    if (!wbi_add(payload, HEADER, &size))
        return NULL;
    c = wbi_alloc(size);
    if (c == NULL)
        return NULL;
    c->older = NULL;
    c->size = payload;
    c->used = 0;
    return c;
}

static wb_rc make(size_t cap, size_t first, size_t second, struct wbi_arena **ret)
{
    struct wbi_arena *a = wbi_zalloc(sizeof(*a));

    if (a == NULL)
        return WB_ENOMEM;
    a->first = chunk_new(first);
    if (a->first == NULL) {
        wbi_free(a);
        return WB_ENOMEM;
    }
    a->newest = a->first;
    a->cap = cap;
    a->next_size = a->second_size = second;
    *ret = a;
    return WB_OK;
}

wb_rc wbi_arena_new(size_t cap, struct wbi_arena **ret)
{
    return make(cap, FIRST_CHUNK, FIRST_CHUNK * 2, ret);
}

wb_rc wbi_arena_new_small(size_t cap, struct wbi_arena **ret)
{
    return make(cap, SMALL_CHUNK, SMALL_CHUNK, ret);
}

static void run_cleanups(struct wbi_arena *a)
{
    while (a->cleanups != NULL) {
        struct cleanup *c = a->cleanups;
        a->cleanups = c->older;
        c->fn(c->arg);
    }
}

static void free_later_chunks(struct wbi_arena *a)
{
    while (a->newest != a->first) {
        struct chunk *c = a->newest;
        a->newest = c->older;
        wbi_free(c);
    }
}

void wbi_arena_reset(struct wbi_arena *a)
{
    run_cleanups(a);
    free_later_chunks(a);
    a->first->used = 0;
    a->used = 0;
    a->next_size = a->second_size;
}

static void destroy(struct wbi_arena *a)
{
    wbi_free(a->first);
    wbi_free(a);
}

/* After its clean-ups, which may bring others home. */
static void bring_home(struct wbi_arena *a)
{
    struct wbi_arena_pool *pool = a->home;

    pool->away--;
    if (KEEPS && !pool->closed && pool->shelf[a->use].n < POOL_KEEPS)
        pool->shelf[a->use].idle[pool->shelf[a->use].n++] = a;
    else
        destroy(a);
    if (pool->closed && pool->away == 0)
        wbi_free(pool);
}

void wbi_arena_free(struct wbi_arena *a)
{
    if (a == NULL)
        return;
    wbi_arena_reset(a);
    if (a->home != NULL)
        bring_home(a);
    else
        destroy(a);
}

wb_rc wbi_arena_pool_new(struct wbi_arena_pool **ret)
{
    *ret = wbi_zalloc(sizeof(**ret));
    return *ret != NULL ? WB_OK : WB_ENOMEM;
}

void wbi_arena_pool_free(struct wbi_arena_pool *pool)
{
    if (pool == NULL)
        return;
    for (size_t use = 0; use < 2; use++)
        while (pool->shelf[use].n > 0)
            destroy(pool->shelf[use].idle[--pool->shelf[use].n]);
    pool->closed = true;
    if (pool->away == 0)
        wbi_free(pool);
}

wb_rc wbi_arena_pool_take(struct wbi_arena_pool *pool, enum wbi_arena_use use, size_t cap,
                          struct wbi_arena **ret)
{
    wb_rc rc = WB_OK;

    if (pool->shelf[use].n > 0)
        *ret = pool->shelf[use].idle[--pool->shelf[use].n];
    else
        rc =
            make(cap, use == WBI_ARENA_MESSAGE ? MESSAGE_CHUNK : FIRST_CHUNK, FIRST_CHUNK * 2, ret);
    if (rc != WB_OK)
        return rc;
    (*ret)->cap = cap;
    (*ret)->use = use;
    (*ret)->home = pool;
    pool->away++;
    return WB_OK;
}

static struct chunk *add_chunk(struct wbi_arena *a, size_t need)
{
    size_t size = WBI_MAX(need, a->next_size);
    struct chunk *c = chunk_new(size);

    if (c == NULL)
        return NULL;
    c->older = a->newest;
    a->newest = c;
    if (a->next_size < LARGEST_CHUNK)
        a->next_size *= 2;
    return c;
}

void *wbi_arena_alloc(struct wbi_arena *a, size_t n)
{
    struct chunk *c = a->newest;
    size_t need;
    char *p;

    if (!wbi_add(n ? n : 1, ALIGN - 1, &need))
        return NULL;
    need &= ~(ALIGN - 1);
    if (need > a->cap - a->used)
        return NULL;
    if (need > c->size - c->used) {
        c = add_chunk(a, need);
        if (c == NULL)
            return NULL;
    }
    p = (char *)c + HEADER + c->used;
    c->used += need;
    a->used += need;
    return p;
}

void *wbi_arena_zalloc(struct wbi_arena *a, size_t n)
{
    void *p = wbi_arena_alloc(a, n);

    if (p != NULL)
        memset(p, 0, n);
    return p;
}

void *wbi_arena_array(struct wbi_arena *a, size_t count, size_t size)
{
    size_t n;

    if (!wbi_mul(count, size, &n))
        return NULL;
    return wbi_arena_zalloc(a, n);
}

static bool grow_in_place(struct wbi_arena *a, const char *old, size_t old_n, size_t n)
{
    struct chunk *c = a->newest;
    const char *base = (char *)c + HEADER;
    size_t old_size = ((old_n ? old_n : 1) + ALIGN - 1) & ~(ALIGN - 1);
    size_t size, more;

    if (!wbi_add(n, ALIGN - 1, &size))
        return false;
    size &= ~(ALIGN - 1);
    if (c->used < old_size || old != base + c->used - old_size || size < old_size)
        return false;
    more = size - old_size;
    if (more > c->size - c->used || more > a->cap - a->used)
        return false;
    c->used += more;
    a->used += more;
    return true;
}

void *wbi_arena_grow(struct wbi_arena *a, void *old, size_t old_n, size_t n)
{
    void *p;

    if (old != NULL && n <= old_n)
        return old;
    if (old != NULL && grow_in_place(a, old, old_n, n))
        return old;
    p = wbi_arena_alloc(a, n);
    if (p != NULL && old_n > 0)
        memcpy(p, old, old_n);
    return p;
}

char *wbi_arena_strz(struct wbi_arena *a, struct wbi_str s)
{
    size_t size;
    char *p;

    if (!wbi_add(s.n, (size_t)1, &size))
        return NULL;
    p = wbi_arena_alloc(a, size);
    if (p == NULL)
        return NULL;
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

struct wbi_str wbi_arena_str(struct wbi_arena *a, struct wbi_str s)
{
    char *p;

    if (s.p == NULL)
        return WBI_NONE;
    p = wbi_arena_strz(a, s);
    return wbi_str_make(p, p ? s.n : 0);
}

struct wbi_str wbi_arena_fmt(struct wbi_arena *a, const char *fmt, ...)
{
    char small[256]; /* most fit and need no second look */
    va_list ap, again;
    char *p = NULL;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    if (n >= 0)
        p = wbi_arena_alloc(a, (size_t)n + 1);
    if (p != NULL && (size_t)n < sizeof(small))
        memcpy(p, small, (size_t)n + 1);
    else if (p != NULL)
        (void)vsnprintf(p, (size_t)n + 1, fmt, again); /* measured above */
    va_end(again);
    return wbi_str_make(p, p ? (size_t)n : 0);
}

wb_rc wbi_arena_defer(struct wbi_arena *a, void (*fn)(void *), void *arg)
{
    struct cleanup *c = wbi_arena_alloc(a, sizeof(*c));

    if (c == NULL)
        return WB_ENOMEM;
    c->older = a->cleanups;
    c->fn = fn;
    c->arg = arg;
    a->cleanups = c;
    return WB_OK;
}

size_t wbi_arena_used(const struct wbi_arena *a)
{
    return a->used;
}
