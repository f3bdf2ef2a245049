/* SPDX-License-Identifier: Apache-2.0
 * base/belt.h: memory for what one thread makes and another one is done with a moment
 * later, in about the order in which it was made. Blocks of any size lie one behind the
 * other in slabs; a slab is used again, or freed, when its last block is given back. So a
 * queue takes what its entries need, and neither thread frees what the other allocated,
 * which is an allocator's slow case. Any thread. */
#ifndef WBI_BASE_BELT_H
#define WBI_BASE_BELT_H

#include <pthread.h>
#include <stddef.h>

struct wbi_slab;

struct wbi_belt {
    pthread_mutex_t mutex;    /* of all below */
    struct wbi_slab *filling; /* where the next block goes */
    struct wbi_slab *spare;
    unsigned spares;
};

void wbi_belt_init(struct wbi_belt *belt);
/* Everything has been given back. */
void wbi_belt_end(struct wbi_belt *belt);
/* Aligned for anything; its bytes are anything. NULL: no memory. */
void *wbi_belt_take(struct wbi_belt *belt, size_t size);
void wbi_belt_give(struct wbi_belt *belt, void *block);

#endif
