/* SPDX-License-Identifier: Apache-2.0
 * base/spares.c */
#include "base/spares.h"

#include "base/alloc.h"
#include "base/checked.h"

#if defined(__SANITIZE_ADDRESS__) /* who uses a block after its end is to be found out */
#define KEEPS false
#else
#define KEEPS true
#endif

void *wbi_spares_take(struct wbi_spares *s, size_t size)
{
    struct wbi_spare *block = s->first;

    if (block == NULL)
        return wbi_alloc(WBI_MAX(size, sizeof(*block)));
    s->first = block->next;
    s->n--;
    return block;
}

void wbi_spares_give(struct wbi_spares *s, void *block, unsigned most)
{
    struct wbi_spare *spare = block;

    if (block == NULL || !KEEPS || s->n >= most) {
        wbi_free(block);
        return;
    }
    spare->next = s->first;
    s->first = spare;
    s->n++;
}

void wbi_spares_free(struct wbi_spares *s)
{
    while (s->first != NULL) {
        struct wbi_spare *next = s->first->next;

        wbi_free(s->first);
        s->first = next;
    }
    s->n = 0;
}
