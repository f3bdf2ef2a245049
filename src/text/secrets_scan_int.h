/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_scan_int.h: what the makers of the scan's tables share. */
#ifndef WBI_TEXT_SECRETS_SCAN_INT_H
#define WBI_TEXT_SECRETS_SCAN_INT_H

#include "text/secrets_int.h"

/* Characters that may stand in one place; weight is the sum of how often. */
struct chars {
    uint64_t bits[2];
    unsigned weight;
};

/* How often characters stand in program output, of 2,000. */
extern const uint16_t wbi_secret_often[128];

/* What byte i of what a rule looks for may be: the alphabet follows the literal. */
struct chars wbi_chars_of(const struct rule *r, size_t i);

/* secrets_nibbles.c: fill low and high, once. */
void wbi_nibble_tables(struct prefilter *f);

#endif
