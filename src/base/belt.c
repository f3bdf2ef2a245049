/* SPDX-License-Identifier: Apache-2.0
 * base/belt.c */
#include "base/belt.h"

#include <stdalign.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/limits.h"

/* As many are kept as a queue of rows at its limit fills: given back to the C library they
 * would be torn up by small blocks, and the next rows would need fresh memory. */
enum { SLAB = 64 * WBI_KIB, LARGE = SLAB / 4, SPARES_MOST = WBI_LIMIT_STORE_BEHIND / SLAB + 4 };

struct wbi_slab {
    struct wbi_slab *next;
    size_t used;
    unsigned out; /* blocks that were not given back yet */
    alignas(max_align_t) char bytes[];
};

/* In front of each block. */
struct head {
    alignas(max_align_t) struct wbi_slab *slab; /* NULL: the block has its own memory */
};

#if defined(__SANITIZE_ADDRESS__) /* who uses a block after its end is to be found out */
static const bool gathers = false;
#else
static const bool gathers = true;
#endif

void wbi_belt_init(struct wbi_belt *belt)
{
    *belt = (struct wbi_belt){.filling = NULL};
    (void)pthread_mutex_init(&belt->mutex, NULL); /* cannot fail on Linux */
}

void wbi_belt_end(struct wbi_belt *belt)
{
    wbi_free(belt->filling);
    while (belt->spare != NULL) {
        struct wbi_slab *next = belt->spare->next;

        wbi_free(belt->spare);
        belt->spare = next;
    }
    (void)pthread_mutex_destroy(&belt->mutex);
}

/* With the mutex: an empty slab to fill; the one so far goes when its blocks have gone. */
static struct wbi_slab *begin_slab(struct wbi_belt *belt)
{
    struct wbi_slab *slab = belt->spare;

    if (slab != NULL) {
        belt->spare = slab->next;
        belt->spares--;
    } else if ((slab = wbi_alloc(SLAB)) == NULL) {
        return NULL;
    }
    slab->used = 0;
    slab->out = 0;
    belt->filling = slab;
    return slab;
}

static void *take_alone(size_t size)
{
    struct head *head = wbi_alloc(size);

    if (head == NULL)
        return NULL;
    head->slab = NULL;
    return head + 1;
}

void *wbi_belt_take(struct wbi_belt *belt, size_t size)
{
    struct wbi_slab *slab;
    struct head *head = NULL;

    if (size > SIZE_MAX - 2 * sizeof(*head))
        return NULL;
    size = sizeof(*head) + (size + sizeof(*head) - 1) / sizeof(*head) * sizeof(*head);
    if (!gathers || size > LARGE)
        return take_alone(size);
    pthread_mutex_lock(&belt->mutex);
    slab = belt->filling;
    if (slab == NULL || SLAB - sizeof(*slab) - slab->used < size)
        slab = begin_slab(belt);
    if (slab != NULL) {
        head = (struct head *)(void *)(slab->bytes + slab->used);
        head->slab = slab;
        slab->used += size;
        slab->out++;
    }
    pthread_mutex_unlock(&belt->mutex);
    return head != NULL ? head + 1 : NULL;
}

/* With the mutex: nobody has a block of it any more. */
static void end_slab(struct wbi_belt *belt, struct wbi_slab *slab)
{
    if (slab == belt->filling) {
        slab->used = 0;
    } else if (belt->spares < SPARES_MOST) {
        slab->next = belt->spare;
        belt->spare = slab;
        belt->spares++;
    } else {
        wbi_free(slab);
    }
}

void wbi_belt_give(struct wbi_belt *belt, void *block)
{
    struct head *head = (struct head *)block - 1;

    if (head->slab == NULL) {
        wbi_free(head);
        return;
    }
    pthread_mutex_lock(&belt->mutex);
    if (--head->slab->out == 0)
        end_slab(belt, head->slab);
    pthread_mutex_unlock(&belt->mutex);
}
