/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_nibbles.c: the tables of the scan by nibbles. A bucket takes every byte whose
 * low nibble and whose high nibble are those of some byte it wants, so literals that share
 * nibbles belong together (secrets_buckets.c). Only for machines that scan so. */
#include "text/secrets_scan_int.h"

static void put(struct prefilter *f, unsigned bucket, const struct rule *r)
{
    uint8_t bit = (uint8_t)(1u << bucket % 8);

    for (size_t i = 0; i < DEEP; i++) {
        struct chars c = wbi_chars_of(r, i);
        bool any = (c.bits[0] & c.bits[1]) == UINT64_MAX; /* also what is not ASCII */

        for (unsigned half = 0; half < 2; half++)
            for (uint64_t left = c.bits[half]; left != 0; left &= left - 1) {
                unsigned byte = half * 64 + (unsigned)__builtin_ctzll(left);

                f->low[bucket / 8][i][byte & 15] |= bit;
                f->high[bucket / 8][i][byte >> 4] |= bit;
            }
        for (unsigned high = 8; any && high < 16; high++)
            f->high[bucket / 8][i][high] |= bit;
    }
}

void wbi_nibble_tables(struct prefilter *f)
{
    for (size_t r = 0; r < wbi_secret_rules_n; r++)
        put(f, wbi_bucket_of(wbi_nibble_buckets, r), &wbi_secret_rules[r]);
}
