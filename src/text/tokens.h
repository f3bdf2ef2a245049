/* SPDX-License-Identifier: Apache-2.0
 * text/tokens.h: how many tokens a text will cost, estimated in one pass.
 * The text is split as o200k_base splits it (words, groups of three digits,
 * runs of punctuation, spaces, newlines) and every piece costs what pieces of
 * its class and length cost on average in program output, plus a margin. Kept
 * on the safe side: never more than 10 % under the exact count for a whole
 * file, on average at most 15 % over. */
#ifndef WBI_TEXT_TOKENS_H
#define WBI_TEXT_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* Units of one token; sums of lines are kept in units. */
#define WBI_TOKEN_UNIT 256u

/* Estimate in units. Costs of lines (each with its newline) may be added up;
 * the sum is at least the estimate of the whole. */
uint64_t wbi_tokens_units(struct wbi_str text);
/* The same, a little faster, for the first n bytes of all: what stands behind them may be
 * looked at, but does not count. */
uint64_t wbi_tokens_units_of(struct wbi_str all, size_t n);
/* What the newline behind a line adds to its units, so that the sum over lines is
 * exactly the estimate of the whole. run: newlines in a row, with this one. */
uint64_t wbi_tokens_newline(struct wbi_str line, uint64_t run);

static inline uint64_t wbi_tokens_of_units(uint64_t units)
{
    return (units + WBI_TOKEN_UNIT - 1) / WBI_TOKEN_UNIT;
}
/* Estimate in whole tokens, rounded up. */
static inline uint64_t wbi_tokens(struct wbi_str text)
{
    return wbi_tokens_of_units(wbi_tokens_units(text));
}
/* Longest prefix of whole UTF-8 characters that costs at most units; it ends between words,
 * but for runs too long to be one. */
size_t wbi_tokens_prefix(struct wbi_str text, uint64_t units);

#endif
