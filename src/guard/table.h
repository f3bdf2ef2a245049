/* SPDX-License-Identifier: Apache-2.0
 * guard/table.h: small values under 128-bit keys, in one block of memory.
 * Keys are two seeded hashes of names from configuration or the catalog; guards
 * whose keys come from callers compare the whole text besides. Pointers to
 * values live until the next add or remove. */
#ifndef WBI_GUARD_TABLE_H
#define WBI_GUARD_TABLE_H

#include <stdint.h>

#include "base/slice.h"
#include "waybill/rc.h"

struct wbi_key {
    uint64_t a, b; /* both 0: no key */
};

struct wbi_table {
    unsigned char *slots;
    size_t stride;
    size_t cap; /* 0 or a power of two */
    size_t used;
};

/* Key of up to three parts; each part's length counts, so ("ab","c") and
 * ("a","bc") differ. `kind` keeps guards with equal names apart. */
struct wbi_key wbi_key_of(uint64_t seed, uint32_t kind, struct wbi_str a, struct wbi_str b,
                          struct wbi_str c);
static inline bool wbi_key_eq(struct wbi_key x, struct wbi_key y)
{
    return x.a == y.a && x.b == y.b;
}

/* value_size is rounded up to 8. Allocates nothing. */
void wbi_table_init(struct wbi_table *t, size_t value_size);
void wbi_table_fini(struct wbi_table *t);
/* NULL when absent. */
void *wbi_table_find(const struct wbi_table *t, struct wbi_key key);
/* The value under key, zeroed if it was not there. WB_ENOMEM, or WB_ELIMIT at
 * WBI_LIMIT_GUARD_KEYS. */
WB_MUST_CHECK wb_rc wbi_table_add(struct wbi_table *t, struct wbi_key key, void **ret);
void wbi_table_remove(struct wbi_table *t, struct wbi_key key);
/* True when the next add of a new key would have to grow. */
bool wbi_table_full(const struct wbi_table *t);
/* Double the room. After a sweep that freed little this keeps sweeps rare. */
WB_MUST_CHECK wb_rc wbi_table_grow(struct wbi_table *t);
/* Remove every value for which dead() says so. */
void wbi_table_sweep(struct wbi_table *t, bool (*dead)(const void *value, int64_t now),
                     int64_t now);
/* Values in turn: start with *at = 0; NULL at the end. */
void *wbi_table_next(const struct wbi_table *t, size_t *at);

#endif
