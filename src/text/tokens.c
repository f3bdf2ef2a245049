/* SPDX-License-Identifier: Apache-2.0
 * text/tokens.c: the estimator of text/tokens.h. The costs below were fitted to
 * exact o200k_base counts over pieces of real program output (see
 * docs/receipts.md), too low weighing more than too high, and raised by 6 %; lengths beyond a table
 * grow linearly. */
#include "text/tokens.h"

#include <stdbool.h>

enum { SPACE, NEWLINE, LOWER, UPPER, DIGIT, PUNCT, CONTROL, HIGH };

#define X4(c) c, c, c, c
#define X8(c) X4(c), X4(c)
#define X16(c) X8(c), X8(c)
static const uint8_t class_of[256] = {
    X8(CONTROL), CONTROL,    SPACE,     NEWLINE,   X4(CONTROL), CONTROL,   X16(CONTROL), /* 0x00 */
    SPACE,       X4(PUNCT),  X8(PUNCT), PUNCT,     PUNCT,       PUNCT,                   /* 0x20 */
    X8(DIGIT),   DIGIT,      DIGIT,     X4(PUNCT), PUNCT,       PUNCT,                   /* 0x30 */
    PUNCT,       X16(UPPER), X8(UPPER), UPPER,     UPPER,       X4(PUNCT), PUNCT,        /* 0x40 */
    PUNCT,       X16(LOWER), X8(LOWER), LOWER,     LOWER,       X4(PUNCT), CONTROL,      /* 0x60 */
    X16(HIGH),   X16(HIGH),  X16(HIGH), X16(HIGH), X16(HIGH),   X16(HIGH), X16(HIGH),    X16(HIGH),
};

enum {
    COST_DIGITS = 207, /* three of them */
    COST_DIGITS_REST = 331,
    COST_SPACE_DIGIT = 270,
    COST_SPACES = 326,
    COST_NEWLINE = 312,
    COST_NEWLINE_PUNCT = 32,
    COST_PUNCT = 222,
    COST_PUNCT_NEXT = 48,
    COST_PUNCT_SAME = 25,
    COST_CONTROL = 403,
    COST_HIGH = 282,
    COST_HIGH_3 = 262,
    COST_BOX = 290,
    COST_BOX_SAME = 30,
    COST_CLUSTER = 224, /* a third consonant in a row: an unusual word */
    COST_UPPER_MORE = 122
};
#define TABLE 16
/* Where a word stands: behind a blank, alone, behind one mark that joins it. */
enum place { BEHIND_BLANK, ALONE, BEHIND_MARK };
static const uint16_t word_cost[3][TABLE] = {
    {187, 279, 258, 212, 155, 431, 240, 431, 588, 396, 550, 566, 620, 318, 565, 563},
    {267, 124, 352, 211, 38, 155, 284, 434, 346, 737, 477, 509, 488, 464, 563, 620},
    {284, 299, 350, 396, 431, 535, 316, 559, 286, 607, 564, 657, 550, 586, 607, 659},
};
static const uint16_t word_more[3] = {54, 145, 84};
static const uint16_t upper_cost[TABLE] = {593, 277, 467, 496,  657,  602,  818,  792,
                                           829, 990, 989, 1080, 1128, 1233, 1304, 1382};
static const uint16_t hexish_cost[5] = {0, 272, 211, 148, 576};

struct scan {
    const uint8_t *p;
    size_t n;
    size_t at;
    uint8_t before; /* class of the piece before */
};

static size_t run_of(struct scan *s, uint8_t cls)
{
    size_t from = s->at;

    while (s->at < s->n && class_of[s->p[s->at]] == cls)
        s->at++;
    return s->at - from;
}

/* Letters of a word: capitals first, then others; counts unusual clusters. */
struct letters {
    size_t n;
    size_t lower;
    size_t clusters;
};

static struct letters letters(struct scan *s)
{
    static const uint32_t vowels = 1u << 1 | 1u << 5 | 1u << 9 | 1u << 15 | 1u << 21 | 1u << 25;
    struct letters l = {0, 0, 0};
    size_t at = s->at, end = s->n, upper = run_of(s, UPPER);
    uint32_t run = 0; /* a bit for every letter, set for consonants */

    for (; at < s->at; at++) {
        run = run << 1 | !(vowels >> (s->p[at] & 31) & 1);
        l.clusters += (run & 7) == 7;
    }
    for (; at < end && class_of[s->p[at]] == LOWER; at++) {
        run = run << 1 | !(vowels >> (s->p[at] & 31) & 1);
        l.clusters += (run & 7) == 7;
    }
    l.lower = at - s->at;
    l.n = upper + l.lower;
    s->at = at;
    return l;
}

static uint64_t word(struct scan *s, enum place place)
{
    struct letters l = letters(s);
    bool hexish = s->before == DIGIT || (s->at < s->n && class_of[s->p[s->at]] == DIGIT);
    uint64_t cost;

    s->before = LOWER;
    if (l.lower == 0 && !(hexish && l.n <= 4))
        return l.n <= TABLE ? upper_cost[l.n - 1]
                            : upper_cost[TABLE - 1] + (l.n - TABLE) * COST_UPPER_MORE;
    if (hexish && l.n <= 4)
        cost = hexish_cost[l.n];
    else if (l.n <= TABLE)
        cost = word_cost[place][l.n - 1];
    else
        cost = word_cost[place][TABLE - 1] + (l.n - TABLE) * word_more[place];
    return l.lower > 0 ? cost + l.clusters * COST_CLUSTER : cost;
}

/* One mark right before a word, with nothing that holds it on the other side. */
static bool joins_word(const struct scan *s)
{
    uint8_t next = s->at + 1 < s->n ? class_of[s->p[s->at + 1]] : NEWLINE;

    return (next == LOWER || next == UPPER) && s->before != SPACE && s->before != PUNCT;
}

static uint64_t punctuation(struct scan *s)
{
    uint64_t cost = COST_PUNCT;

    for (s->at++; s->at < s->n && class_of[s->p[s->at]] == PUNCT; s->at++)
        cost += s->p[s->at] == s->p[s->at - 1] ? COST_PUNCT_SAME : COST_PUNCT_NEXT;
    s->before = PUNCT;
    return cost;
}

static uint64_t high(struct scan *s)
{
    const uint8_t *c = s->p + s->at;
    size_t n = *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : 2;
    bool box, same;

    if (n > s->n - s->at)
        n = s->n - s->at;
    box = n == 3 && c[0] == 0xe2 && (c[1] == 0x94 || c[1] == 0x95);
    same = box && s->at >= 3 && memcmp(c - 3, c, 3) == 0;
    s->at += n;
    s->before = HIGH;
    if (box)
        return same ? COST_BOX_SAME : COST_BOX;
    return n == 3 ? COST_HIGH_3 : n == 4 ? 2 * COST_HIGH : COST_HIGH;
}

static uint64_t spaces(struct scan *s)
{
    bool many = run_of(s, SPACE) > 1;
    bool digit = s->at < s->n && class_of[s->p[s->at]] == DIGIT;

    s->before = SPACE;
    return (many ? COST_SPACES : 0) + (digit ? COST_SPACE_DIGIT : 0);
}

static uint64_t piece(struct scan *s)
{
    uint8_t before = s->before;
    size_t digits;

    switch (class_of[s->p[s->at]]) {
    case LOWER:
    case UPPER:
        return word(s, before == SPACE ? BEHIND_BLANK : ALONE);
    case DIGIT:
        digits = run_of(s, DIGIT);
        s->before = DIGIT;
        return digits / 3 * COST_DIGITS + (digits % 3 != 0 ? COST_DIGITS_REST : 0);
    case SPACE:
        return spaces(s);
    case NEWLINE:
        run_of(s, NEWLINE);
        s->before = NEWLINE;
        return before == PUNCT ? COST_NEWLINE_PUNCT : COST_NEWLINE;
    case PUNCT:
        if (!joins_word(s))
            return punctuation(s);
        s->at++;
        return word(s, BEHIND_MARK);
    case CONTROL:
        s->at++;
        s->before = CONTROL;
        return COST_CONTROL;
    default:
        return high(s);
    }
}

uint64_t wbi_tokens_units(struct wbi_str text)
{
    struct scan s = {(const uint8_t *)text.p, text.n, 0, NEWLINE};
    uint64_t units = 0;

    while (s.at < s.n)
        units += piece(&s);
    return units;
}

size_t wbi_tokens_prefix(struct wbi_str text, uint64_t units)
{
    struct scan s = {(const uint8_t *)text.p, text.n, 0, NEWLINE};
    uint64_t spent = 0, cost;
    size_t from = 0;

    while (s.at < s.n) {
        from = s.at;
        cost = piece(&s);
        if (spent + cost > units)
            break;
        spent += cost;
        from = s.at;
    }
    while (from > 0 && from < text.n && ((uint8_t)text.p[from] & 0xc0) == 0x80)
        from--;
    return from;
}
