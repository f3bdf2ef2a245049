/* SPDX-License-Identifier: Apache-2.0
 * text/tokens.c: the estimator of text/tokens.h. The costs below were fitted to
 * exact o200k_base counts over pieces of real program output (see
 * docs/receipts.md) and raised by 11 %; lengths beyond a table grow linearly. */
#include "text/tokens.h"

#include <stdbool.h>

enum { SPACE, NEWLINE, LOWER, UPPER, DIGIT, PUNCT, CONTROL, HIGH };

#define X4(c) c, c, c, c
#define X8(c) X4(c), X4(c)
#define X16(c) X8(c), X8(c)
static const uint8_t class_of[256] = {
    X8(CONTROL), CONTROL, SPACE, NEWLINE, X4(CONTROL), CONTROL, X16(CONTROL), /* 0x00 */
    SPACE, X4(PUNCT), X8(PUNCT), PUNCT, PUNCT, PUNCT,                         /* 0x20 */
    X8(DIGIT), DIGIT, DIGIT, X4(PUNCT), PUNCT, PUNCT,                         /* 0x30 */
    PUNCT, X16(UPPER), X8(UPPER), UPPER, UPPER, X4(PUNCT), PUNCT,             /* 0x40 */
    PUNCT, X16(LOWER), X8(LOWER), LOWER, LOWER, X4(PUNCT), CONTROL,           /* 0x60 */
    X16(HIGH), X16(HIGH), X16(HIGH), X16(HIGH), X16(HIGH), X16(HIGH), X16(HIGH), X16(HIGH),
};

enum {
    COST_DIGITS = 368, /* per group of three: more than one token for hashes' sake */
    COST_SPACE_DIGIT = 281,
    COST_SPACES = 279,
    COST_NEWLINE = 176,
    COST_NEWLINE_PUNCT = 97,
    COST_PUNCT = 190,
    COST_PUNCT_NEXT = 101,
    COST_PUNCT_SAME = 39,
    COST_CONTROL = 403,
    COST_HIGH = 282,
    COST_HIGH_3 = 262,
    COST_BOX = 142,
    COST_BOX_SAME = 30,
    COST_WORD_MORE = 59,
    COST_UPPER_MORE = 114
};
#define TABLE 16
static const uint16_t word_cost[TABLE] = {183, 251, 251, 251, 251, 414, 424, 468,
                                          468, 468, 483, 502, 502, 502, 502, 515};
static const uint16_t upper_cost[TABLE] = {256, 256, 428, 428,  517,  530,  708,  737,
                                           807, 877, 924, 1026, 1093, 1166, 1236, 1308};
static const uint16_t hexish_cost[5] = {0, 282, 240, 263, 303};

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

static uint64_t word(struct scan *s)
{
    size_t upper = run_of(s, UPPER), lower = run_of(s, LOWER), n = upper + lower;
    bool hexish = s->before == DIGIT || (s->at < s->n && class_of[s->p[s->at]] == DIGIT);
    const uint16_t *table = lower == 0 ? upper_cost : word_cost;

    s->before = LOWER;
    if (hexish && n <= 4)
        return hexish_cost[n];
    if (n <= TABLE)
        return table[n - 1];
    return table[TABLE - 1] + (n - TABLE) * (lower == 0 ? COST_UPPER_MORE : COST_WORD_MORE);
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

    switch (class_of[s->p[s->at]]) {
    case LOWER:
    case UPPER:
        return word(s);
    case DIGIT:
        s->before = DIGIT;
        return (run_of(s, DIGIT) + 2) / 3 * COST_DIGITS;
    case SPACE:
        return spaces(s);
    case NEWLINE:
        run_of(s, NEWLINE);
        s->before = NEWLINE;
        return before == PUNCT ? COST_NEWLINE_PUNCT : COST_NEWLINE;
    case PUNCT:
        return punctuation(s);
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
