/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_scan_int.h: what the makers of the scan's tables share. */
#ifndef WBI_TEXT_SECRETS_SCAN_INT_H
#define WBI_TEXT_SECRETS_SCAN_INT_H

#include "text/secrets_int.h"

/* Characters that may stand in one place. */
struct chars {
    uint64_t bits[2];
};

/* What byte i of what a rule looks for may be: the alphabet follows the literal. */
struct chars wbi_chars_of(const struct rule *r, size_t i);

/* secrets_buckets.c: which rules share a bucket, in their order. */
extern const uint8_t wbi_exact_buckets[];
extern const uint8_t wbi_nibble_buckets[];
extern const size_t wbi_buckets_n;
static inline unsigned wbi_bucket_of(const uint8_t *buckets, size_t rule)
{
    return rule < wbi_buckets_n ? buckets[rule] % BUCKETS : (unsigned)(rule % BUCKETS);
}

/* secrets_nibbles.c: fill low and high, once. */
void wbi_nibble_tables(struct prefilter *f);

#endif
