/* SPDX-License-Identifier: Apache-2.0
 * schema/names.c: building the table of names.h. */
#include "schema/names.h"

#define TRIES 32

static bool same(const struct wbi_name *a, const struct wbi_name *b)
{
    return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

/* Put all names in, the first of equal ones; false at the first collision when
 * none is allowed. */
static bool fill(struct wbi_names *t, bool may_collide)
{
    memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof(*t->slots));
    for (uint32_t i = 0; i < t->count; i++) {
        struct wbi_name *e = &t->list[i];
        uint32_t at = wbi_names_slot(t, e->head, e->tail, e->p, e->n);

        while (t->slots[at] != 0 && !same(&t->list[t->slots[at] - 1], e)) {
            if (!may_collide)
                return false;
            at = (at + 1) & t->mask;
        }
        if (t->slots[at] == 0)
            t->slots[at] = i + 1;
    }
    return true;
}

wb_rc wbi_names_build(struct wbi_names *t, struct wbi_arena *arena)
{
    uint32_t bits = 2;

    if (t->count == 0)
        return WB_OK;
    while (((uint32_t)1 << bits) < t->count * 2)
        bits++;
    t->mask = ((uint32_t)1 << bits) - 1;
    t->shift = (uint8_t)(64 - bits);
    t->slots = wbi_arena_alloc(arena, ((size_t)t->mask + 1) * sizeof(*t->slots));
    if (t->slots == NULL)
        return WB_ENOMEM;
    for (uint32_t i = 0; i < t->count; i++)
        wbi_name_words(t->list[i].p, t->list[i].n, &t->list[i].head, &t->list[i].tail);
    t->multiplier = UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < TRIES && t->count <= 256; i++) {
        if (fill(t, false))
            return WB_OK;
        t->multiplier = t->multiplier * UINT64_C(0xd1342543de82ef95) + 2;
        t->multiplier |= 1;
    }
    t->whole = true;
    t->multiplier ^= (uint64_t)(uintptr_t)t->slots;
    (void)fill(t, true);
    return WB_OK;
}
