/* SPDX-License-Identifier: Apache-2.0
 * base/spares.h: blocks of one size that every call needs for a while. Those that are given
 * back are kept for the next ones: with many calls under way the C library's own cache is
 * too small for them. One thread at a time. */
#ifndef WBI_BASE_SPARES_H
#define WBI_BASE_SPARES_H

#include <stddef.h>

#define WBI_SPARES_MOST 64u /* as many as most keep */

struct wbi_spare {
    struct wbi_spare *next;
};

/* All zero: none are kept. */
struct wbi_spares {
    struct wbi_spare *first;
    unsigned n;
};

/* A block of that size, always the same for these; its bytes are anything. NULL: no memory. */
void *wbi_spares_take(struct wbi_spares *s, size_t size);
/* Keeps `most` of them, and frees more. NULL is fine. */
void wbi_spares_give(struct wbi_spares *s, void *block, unsigned most);
/* Frees what is kept. */
void wbi_spares_free(struct wbi_spares *s);

#endif
