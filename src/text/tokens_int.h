/* SPDX-License-Identifier: Apache-2.0
 * text/tokens_int.h: what pieces cost, for both ways of counting them. */
#ifndef WBI_TEXT_TOKENS_INT_H
#define WBI_TEXT_TOKENS_INT_H

#include "text/tokens.h"

enum {
    COST_PIECE = 264, /* one token, and a little */
    COST_NEWLINE_PUNCT = 8,
    COST_PUNCT_SECOND = 30,
    COST_PUNCT_NEXT = 130,
    COST_PUNCT_LATER = 200, /* from the fifth mark on */
    COST_PUNCT_SAME = 20,
    COST_CONTROL = 300,
    COST_LETTER_2 = 170, /* a letter of two bytes within a word */
    COST_LATIN_2 = 390,  /* one of Central European and the like */
    COST_JOINED = 72,    /* a letter of another script that joins the one before it */
    COST_HIGH_2 = 282,
    COST_HIGH_3 = 262,
    COST_KANA = 255,
    COST_IDEOGRAM = 215,
    COST_BOX = 290,
    COST_BOX_SAME = 30,
    COST_MARKED = 110, /* a mark, letters and digits without a blank */
    COST_COMMA = 130,  /* a comma or @ that joins a word: few tokens begin with one */
    /* a third consonant in a row: an unusual word; alone or beside digits even more so */
    COST_CLUSTER = 80,
    COST_CLUSTER_ALONE = 115,
    COST_CLUSTER_DIGITS = 125,
    COST_CLUSTER_CAPITALS = 140, /* more for a third consonant in a row, all capitals */
    COST_TAB = 250,              /* a word behind a tab: few begin with one of these, either */
    COST_CAPITAL = 30,           /* a word that begins with one capital */
    COST_MIXED = 165             /* each letter of a word that begins with several capitals */
};
#define TABLE 16
/* Where a word stands: behind a blank, alone, behind one mark that joins it, beside
 * digits; then words of capitals only. */
enum place { BEHIND_BLANK, ALONE, BEHIND_MARK, BESIDE_DIGITS, UPPER_BEHIND_BLANK, UPPER_ELSE };
/* Tokens that the character c below U+10000, but no ASCII, is by itself: 1 to 3. */
unsigned wbi_char_tokens(uint32_t c);
/* Both are mostly part of one token where they stand side by side. */
bool wbi_chars_join(uint32_t before, uint32_t c);

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
