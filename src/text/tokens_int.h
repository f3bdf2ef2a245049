/* SPDX-License-Identifier: Apache-2.0
 * text/tokens_int.h: what pieces cost, for both ways of counting them. */
#ifndef WBI_TEXT_TOKENS_INT_H
#define WBI_TEXT_TOKENS_INT_H

#include "text/tokens.h"

enum {
    COST_PIECE = 264, /* one token, and a little */
    COST_NEWLINE_PUNCT = 8,
    COST_PUNCT_SECOND = 16,
    COST_PUNCT_NEXT = 105,
    COST_PUNCT_SAME = 20,
    COST_CONTROL = 300,
    COST_LETTER_2 = 95, /* a letter of two bytes within a word */
    COST_HIGH_2 = 282,
    COST_HIGH_3 = 262,
    COST_IDEOGRAM = 215,
    COST_HIGH_4 = 564,
    COST_BOX = 290,
    COST_BOX_SAME = 30,
    COST_MARKED = 90, /* a mark, letters and digits without a blank */
    COST_COMMA = 130, /* a comma that joins a word: few tokens begin with one */
    /* a third consonant in a row: an unusual word; alone or beside digits even more so */
    COST_CLUSTER = 64,
    COST_CLUSTER_ALONE = 105,
    COST_CLUSTER_DIGITS = 115,
    COST_MIXED = 150 /* each letter of a word that begins with several capitals */
};
#define TABLE 16
/* Where a word stands: behind a blank, alone, behind one mark that joins it, beside
 * digits; then words of capitals only. */
enum place { BEHIND_BLANK, ALONE, BEHIND_MARK, BESIDE_DIGITS, UPPER_BEHIND_BLANK, UPPER_ELSE };
extern const uint16_t wbi_word_costs[6][TABLE];
extern const uint8_t wbi_word_more[6]; /* each letter beyond those */
extern const uint8_t wbi_cluster_cost[4];

static inline uint64_t wbi_word_cost(unsigned row, size_t n)
{
    return n <= TABLE ? wbi_word_costs[row][n - 1]
                      : wbi_word_costs[row][TABLE - 1] + (n - TABLE) * wbi_word_more[row];
}

/* Count the pieces at the start of p[0..n) that lie within the next 63 bytes, where no
 * mark or blank stands before p. Returns how many bytes those are: up to the end of the
 * text, or to a mark or blank with none before it; 0 when that cannot be told. So many
 * bytes as are readable may be looked at, with vectors of so many lanes, not 0. */
size_t wbi_tokens_wide(const uint8_t *p, size_t n, size_t readable, size_t lanes, uint64_t *units);
/* 64, 32 or 0: the widest vectors there are for that. */
size_t wbi_tokens_lanes(void);

/* As wbi_tokens_units, with vectors of that width or, for 0, piece by piece; for tests. */
uint64_t wbi_tokens_units_with(struct wbi_str text, size_t lanes);

#endif
