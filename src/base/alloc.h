/* SPDX-License-Identifier: Apache-2.0
 * base/alloc.h: heap memory for what outlives a call. Everything inside a call
 * comes from its arena. All return NULL when out of memory. */
#ifndef WBI_BASE_ALLOC_H
#define WBI_BASE_ALLOC_H

#include <stddef.h>

#include "base/slice.h"

void *wbi_alloc(size_t n);
void *wbi_zalloc(size_t n);
/* As calloc: checked multiplication, zeroed. */
void *wbi_zalloc_array(size_t count, size_t size);
void *wbi_realloc(void *p, size_t n);
void wbi_free(void *p);
/* NUL-terminated copy. */
char *wbi_strdup(struct wbi_str s);

#endif
