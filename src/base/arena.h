/* SPDX-License-Identifier: Apache-2.0
 * base/arena.h: memory that goes away together.
 * One arena per call. Nothing is freed singly; deferred clean-ups (for
 * descriptors and the like) run newest first when the arena is reset or freed. */
#ifndef WBI_BASE_ARENA_H
#define WBI_BASE_ARENA_H

#include <stddef.h>

#include "base/slice.h"
#include "waybill/rc.h"

struct wbi_arena;

/* cap: most bytes it may hand out before allocations fail. */
WB_MUST_CHECK wb_rc wbi_arena_new(size_t cap, struct wbi_arena **ret);
/* For little, but kept for long and thousands of times. */
WB_MUST_CHECK wb_rc wbi_arena_new_small(size_t cap, struct wbi_arena **ret);
/* NULL is fine. */
void wbi_arena_free(struct wbi_arena *arena);
/* Runs the clean-ups, keeps the first chunk for reuse. */
void wbi_arena_reset(struct wbi_arena *arena);

/* 16-byte aligned; NULL when out of memory or over the cap. n == 0 is fine. */
void *wbi_arena_alloc(struct wbi_arena *arena, size_t n);
void *wbi_arena_zalloc(struct wbi_arena *arena, size_t n);
/* Zeroed array with checked size. */
void *wbi_arena_array(struct wbi_arena *arena, size_t count, size_t size);
/* Grow the newest allocation in place if possible, else copy. */
void *wbi_arena_grow(struct wbi_arena *arena, void *old, size_t old_n, size_t n);
/* NUL-terminated copy. */
char *wbi_arena_strz(struct wbi_arena *arena, struct wbi_str s);
/* Copy as a slice; the absent slice stays absent; p == NULL with n > 0 never
 * happens: on failure p is NULL and n is 0 (check s.p when s was present). */
struct wbi_str wbi_arena_str(struct wbi_arena *arena, struct wbi_str s);
/* printf into the arena; absent slice on failure. */
__attribute__((format(printf, 2, 3))) struct wbi_str wbi_arena_fmt(struct wbi_arena *arena,
                                                                   const char *fmt, ...);

WB_MUST_CHECK wb_rc wbi_arena_defer(struct wbi_arena *arena, void (*fn)(void *), void *arg);

/* Arenas between two uses, for one thread: making one from nothing costs more than a
 * small call needs it for. */
struct wbi_arena_pool;
enum wbi_arena_use {
    WBI_ARENA_CALL = 0,
    WBI_ARENA_MESSAGE, /* most are small, and many wait at once */
};
WB_MUST_CHECK wb_rc wbi_arena_pool_new(struct wbi_arena_pool **ret);
/* NULL is fine. Arenas still in use are freed for good by their users. */
void wbi_arena_pool_free(struct wbi_arena_pool *pool);
/* wbi_arena_free gives it back. */
WB_MUST_CHECK wb_rc wbi_arena_pool_take(struct wbi_arena_pool *pool, enum wbi_arena_use use,
                                        size_t cap, struct wbi_arena **ret);

size_t wbi_arena_used(const struct wbi_arena *arena);

#endif
