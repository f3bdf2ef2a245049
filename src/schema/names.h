/* SPDX-License-Identifier: Apache-2.0
 * schema/names.h: a table of strings known in advance, asked with one probe.
 * A string is keyed by its first and last eight bytes and its length, which
 * decide equality alone up to 16 bytes. The builder looks for a multiplier
 * without collisions; where there is none, whole strings are hashed with a
 * seed, so that nobody can choose names that collide. */
#ifndef WBI_SCHEMA_NAMES_H
#define WBI_SCHEMA_NAMES_H

#include "base/arena.h"
#include "base/hash.h"

struct wbi_name {
    uint64_t head;
    uint64_t tail;
    const char *p;
    uint32_t n;
    uint32_t value; /* the caller's: node or index */
    uint64_t bit;   /* the caller's: place in the mask of required names */
    uint8_t types;  /* the caller's: allowed types */
    uint8_t flags;  /* the caller's */
};

struct wbi_names {
    struct wbi_name *list;
    uint32_t *slots; /* index + 1, 0 is empty */
    uint64_t multiplier;
    uint32_t count;
    uint32_t mask;
    uint8_t shift;
    bool whole; /* hash whole strings */
};

static inline uint64_t wbi_load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t wbi_load4(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* Never reads past p[n - 1]. */
static inline void wbi_name_words(const char *p, size_t n, uint64_t *head, uint64_t *tail)
{
    if (n >= 8) {
        *head = wbi_load8(p);
        *tail = wbi_load8(p + n - 8);
    } else if (n >= 4) {
        *head = wbi_load4(p);
        *tail = wbi_load4(p + n - 4);
    } else if (n > 0) {
        *head = (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8;
        *tail = (unsigned char)p[n - 1];
    } else {
        *head = *tail = 0;
    }
}

static inline uint32_t wbi_names_slot(const struct wbi_names *t, uint64_t head, uint64_t tail,
                                      const char *p, size_t n)
{
    if (t->whole)
        return (uint32_t)(wbi_hash64(p, n, t->multiplier) >> t->shift);
    return (uint32_t)(((head ^ (tail << 29 | tail >> 35) ^ n * UINT64_C(0x9e3779b97f4a7c15)) *
                       t->multiplier) >>
                      t->shift);
}

/* NULL when the table does not have it. */
static inline struct wbi_name *wbi_names_find(const struct wbi_names *t, const char *p, size_t n)
{
    uint64_t head, tail;
    uint32_t at;

    if (t->count == 0)
        return NULL;
    wbi_name_words(p, n, &head, &tail);
    for (at = wbi_names_slot(t, head, tail, p, n); t->slots[at] != 0; at = (at + 1) & t->mask) {
        struct wbi_name *e = &t->list[t->slots[at] - 1];
        if (e->head == head && e->tail == tail && e->n == n && (n <= 16 || memcmp(e->p, p, n) == 0))
            return e;
    }
    return NULL;
}

/* Fill the words and build the slots over list[0..count), whose p, n and the
 * caller's fields are set. Of equal names the first is found. */
WB_MUST_CHECK wb_rc wbi_names_build(struct wbi_names *t, struct wbi_arena *arena);

#endif
