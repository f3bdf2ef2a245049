/* SPDX-License-Identifier: Apache-2.0
 * guard/table.c: open addressing with linear probing and backward-shift
 * removal. (1) No slot holds the key 0,0 but free ones. (2) At most 7/8 of the
 * slots are used. (3) Every key is reachable from its home slot without
 * crossing a free one. */
#include "guard/table.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"

#define FIRST_CAP ((size_t)16)

struct wbi_key wbi_key_of(uint64_t seed, uint32_t kind, struct wbi_str a, struct wbi_str b,
                          struct wbi_str c)
{
    uint64_t lane[2] = {seed + kind, ~seed - kind};

    /* most keys have one part; the place of each counts */
    if (a.p != NULL)
        wbi_hash64_twice(a.p, a.n, lane);
    if (b.p != NULL) {
        lane[0] += 1;
        lane[1] -= 1;
        wbi_hash64_twice(b.p, b.n, lane);
    }
    if (c.p != NULL) {
        lane[0] += 2;
        lane[1] -= 2;
        wbi_hash64_twice(c.p, c.n, lane);
    }
    return (struct wbi_key){lane[0], lane[1] | 1}; /* never the free key */
}

void wbi_table_init(struct wbi_table *t, size_t value_size)
{
    *t = (struct wbi_table){.stride = sizeof(struct wbi_key) + ((value_size + 7) & ~(size_t)7)};
}

void wbi_table_fini(struct wbi_table *t)
{
    wbi_free(t->slots);
    t->slots = NULL;
    t->cap = 0;
    t->used = 0;
}

static struct wbi_key *slot_at(const struct wbi_table *t, size_t i)
{
    return (struct wbi_key *)(void *)(t->slots + i * t->stride);
}

static bool is_free(const struct wbi_key *slot)
{
    return slot->a == 0 && slot->b == 0;
}

/* The slot that holds key, or the free one where it belongs. */
static size_t locate(const struct wbi_table *t, struct wbi_key key)
{
    size_t i = (size_t)key.a & (t->cap - 1);

    while (!is_free(slot_at(t, i)) && !wbi_key_eq(*slot_at(t, i), key))
        i = (i + 1) & (t->cap - 1);
    return i;
}

void *wbi_table_find(const struct wbi_table *t, struct wbi_key key)
{
    struct wbi_key *slot;

    if (t->cap == 0)
        return NULL;
    slot = slot_at(t, locate(t, key));
    return is_free(slot) ? NULL : slot + 1;
}

bool wbi_table_full(const struct wbi_table *t)
{
    return t->used + 1 > t->cap / 8 * 7;
}

wb_rc wbi_table_grow(struct wbi_table *t)
{
    struct wbi_table bigger = *t;

    if (t->used >= WBI_LIMIT_GUARD_KEYS)
        return WB_ELIMIT;
    bigger.cap = t->cap ? t->cap * 2 : FIRST_CAP;
    bigger.slots = wbi_zalloc_array(bigger.cap, t->stride);
    if (bigger.slots == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; i < t->cap; i++) {
        struct wbi_key *old = slot_at(t, i);
        if (!is_free(old))
            memcpy(slot_at(&bigger, locate(&bigger, *old)), old, t->stride);
    }
    wbi_free(t->slots);
    *t = bigger;
    return WB_OK;
}

wb_rc wbi_table_add(struct wbi_table *t, struct wbi_key key, void **ret)
{
    void *value = wbi_table_find(t, key);
    struct wbi_key *slot;
    wb_rc rc;

    if (value != NULL) {
        *ret = value;
        return WB_OK;
    }
    if (wbi_table_full(t)) {
        rc = wbi_table_grow(t);
        if (rc != WB_OK)
            return rc;
    }
    slot = slot_at(t, locate(t, key));
    memset(slot, 0, t->stride);
    *slot = key;
    t->used++;
    *ret = slot + 1;
    return WB_OK;
}

static void remove_at(struct wbi_table *t, size_t hole)
{
    size_t mask = t->cap - 1;

    for (size_t i = (hole + 1) & mask; !is_free(slot_at(t, i)); i = (i + 1) & mask) {
        size_t home = (size_t)slot_at(t, i)->a & mask;
        /* may slot i move to the hole without passing its home? */
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            memcpy(slot_at(t, hole), slot_at(t, i), t->stride);
            hole = i;
        }
    }
    memset(slot_at(t, hole), 0, t->stride);
    t->used--;
}

void wbi_table_remove(struct wbi_table *t, struct wbi_key key)
{
    size_t i;

    if (t->cap == 0)
        return;
    i = locate(t, key);
    if (!is_free(slot_at(t, i)))
        remove_at(t, i);
}

void wbi_table_sweep(struct wbi_table *t, bool (*dead)(const void *value, int64_t now), int64_t now)
{
    /* Removal pulls later entries forward into slot i, so i is looked at again;
     * entries pulled over the end of the array are met or missed once: a missed
     * one only stays until the next sweep. */
    for (size_t i = 0; i < t->cap;) {
        struct wbi_key *slot = slot_at(t, i);
        if (!is_free(slot) && dead(slot + 1, now))
            remove_at(t, i);
        else
            i++;
    }
}

void *wbi_table_next(const struct wbi_table *t, size_t *at)
{
    while (*at < t->cap) {
        struct wbi_key *slot = slot_at(t, (*at)++);
        if (!is_free(slot))
            return slot + 1;
    }
    return NULL;
}
