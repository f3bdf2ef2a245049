/* SPDX-License-Identifier: Apache-2.0
 * text/tokens.c: the estimator of text/tokens.h. Text is taken apart as o200k_base
 * takes it apart (a word with the one mark or blank before it, up to three digits, a
 * run of marks, white space): every such piece is one token at least. How many more a
 * word costs by its length, capitals and surroundings is the mean over real program
 * output (see docs/receipts.md), raised by 3 %. */
#include "text/tokens_int.h"

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

const uint16_t wbi_word_costs[6][TABLE] = {
    {264, 269, 274, 277, 285, 301, 306, 322, 335, 396, 409, 435, 488, 514, 593, 633},
    {264, 293, 290, 298, 316, 348, 374, 396, 409, 514, 514, 567, 593, 686, 738, 791},
    {269, 422, 348, 388, 414, 506, 501, 554, 580, 593, 699, 725, 751, 778, 804, 857},
    {277, 295, 374, 401, 475, 546, 599, 638, 704, 738, 791, 844, 910, 976, 1042, 1107},
    {264, 285, 310, 325, 405, 450, 540, 740, 810, 962, 1042, 1160, 1292, 1398, 1529, 1635},
    {272, 360, 450, 422, 554, 686, 712, 844, 923, 1002, 1107, 1213, 1318, 1424, 1556, 1688},
};
const uint8_t wbi_word_more[6] = {40, 60, 60, 70, 100, 100};
const uint8_t wbi_cluster_cost[4] = {COST_CLUSTER, COST_CLUSTER_ALONE, COST_CLUSTER,
                                     COST_CLUSTER_DIGITS};

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
    size_t upper;
    size_t lower;
    size_t clusters;
    size_t capital_clusters; /* among them */
    size_t wide;             /* of two bytes, among the lower ones */
    size_t script;           /* of two bytes in other scripts, not among them */
    uint64_t wide_units;
};

#define OTHER_SCRIPTS 0xcd /* the first byte from Greek on */

static bool wide_letter(const struct scan *s, size_t at)
{
    return at + 1 < s->n && s->p[at] >= 0xc3 && s->p[at] < 0xe0;
}

static uint32_t char_2(const uint8_t *p)
{
    return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
}

static uint32_t char_3(const uint8_t *p)
{
    return (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
}

/* A letter of two bytes; common ones are often part of a token. before: the one before it
 * in its word, or 0. */
static uint64_t wide_letter_cost(const uint8_t *p, uint32_t before)
{
    uint32_t c = char_2(p);
    unsigned tokens;

    if (wbi_chars_join(before, c))
        return COST_JOINED;
    tokens = wbi_char_tokens(c);
    if (tokens == 1 && p[0] < 0xc6)
        return p[0] == 0xc3 ? COST_LETTER_2 : COST_LATIN_2;
    return tokens * COST_PIECE;
}

#define CONSONANT(c) (0x5df7ddcu >> ((c)&31) & 1) /* all letters but a e i o u y */

static inline struct letters letters(struct scan *s)
{
    struct letters l = {.upper = 0};
    const uint8_t *p = s->p;
    size_t at = s->at, end = s->n, wide_end = 0;
    uint32_t run = 0;    /* a bit for every letter, set for consonants */
    uint32_t before = 0; /* the last letter of two bytes */

    for (; at < end && (uint8_t)(p[at] - 'A') < 26; at++) {
        run = run << 1 | CONSONANT(p[at]);
        l.clusters += (run & 7) == 7;
    }
    l.upper = at - s->at;
    l.capital_clusters = l.clusters;
    for (;;) {
        for (; at < end && (uint8_t)(p[at] - 'a') < 26; at++) {
            run = run << 1 | CONSONANT(p[at]);
            l.clusters += (run & 7) == 7;
        }
        if (!wide_letter(s, at))
            break;
        if (at > wide_end)
            before = 0;
        l.wide += p[at] < OTHER_SCRIPTS;
        l.script += p[at] >= OTHER_SCRIPTS;
        l.wide_units += wide_letter_cost(p + at, before);
        before = char_2(p + at);
        wide_end = at += 2;
        run = 0;
    }
    l.lower = at - s->at - l.upper - l.wide - 2 * l.script;
    s->at = at;
    return l;
}

static uint64_t word(struct scan *s, enum place place)
{
    bool digit_before = s->before == DIGIT && place == ALONE;
    bool tab = place == BEHIND_BLANK && s->p[s->at - 1] == '\t';
    struct letters l = letters(s);
    size_t n = l.upper + l.lower;
    uint64_t cost, marked = 0;

    if (digit_before || (s->at < s->n && class_of[s->p[s->at]] == DIGIT)) {
        marked = place == BEHIND_MARK ? COST_MARKED : 0;
        marked += place == BEHIND_MARK && n == 1 ? COST_MARKED : 0;
        place = BESIDE_DIGITS;
    }
    s->before = LOWER;
    if (n == 0) /* of another script: its first letter is the piece */
        cost = 0;
    else if (l.lower == 0)
        cost = wbi_word_cost(place == BEHIND_BLANK ? UPPER_BEHIND_BLANK : UPPER_ELSE, n);
    else if (l.upper > 1)
        cost = COST_MIXED * (n + 1);
    else
        cost = wbi_word_cost(place, n);
    cost += l.capital_clusters * COST_CLUSTER_CAPITALS;
    cost += (l.upper == 1 && l.lower > 0 ? COST_CAPITAL : 0) + (tab ? COST_TAB : 0);
    return cost + marked + l.clusters * wbi_cluster_cost[place] + l.wide_units;
}

/* One mark right before a word, with nothing that holds it on the other side. */
static bool joins_word(const struct scan *s)
{
    uint8_t next = s->at + 1 < s->n ? class_of[s->p[s->at + 1]] : NEWLINE;

    return (next == LOWER || next == UPPER) && s->before != SPACE && s->before != PUNCT;
}

static uint64_t punctuation(struct scan *s)
{
    uint64_t cost = COST_PIECE;
    size_t from = s->at, n;

    for (s->at++; s->at < s->n && class_of[s->p[s->at]] == PUNCT; s->at++) {
        n = s->at - from;
        if (s->p[s->at] == s->p[s->at - 1])
            cost += COST_PUNCT_SAME;
        else
            cost += n == 1 ? COST_PUNCT_SECOND : n < 4 ? COST_PUNCT_NEXT : COST_PUNCT_LATER;
    }
    s->before = PUNCT;
    return cost;
}

/* Emoji that are in use are two tokens, few others of these are as cheap. */
static uint64_t high_4(const uint8_t *c)
{
    if (c[1] == 0x9f)
        return ((c[2] >= 0x8c && c[2] < 0x95) || (c[2] >= 0x98 && c[2] < 0x9b) || c[2] == 0xa4
                    ? 2
                    : 3) *
               COST_HIGH_2;
    return (c[1] == 0x9d ? 3 : 4) * COST_PIECE;
}

static uint64_t high_3(const struct scan *s, const uint8_t *c)
{
    unsigned tokens = wbi_char_tokens(char_3(c));
    bool box = c[0] == 0xe2 && (c[1] == 0x94 || c[1] == 0x95);

    if (box && s->at >= 3 && memcmp(c - 3, c, 3) == 0)
        return COST_BOX_SAME;
    if (s->before == HIGH && s->at >= 3 && c[-3] == c[0] &&
        wbi_chars_join(char_3(c - 3), char_3(c)))
        return COST_JOINED;
    if (tokens > 1) /* no token that begins with a blank goes on with it */
        return (tokens + (s->before == SPACE)) * COST_PIECE;
    if (box)
        return COST_BOX;
    return c[0] >= 0xe3 && c[0] <= 0xed ? (c[0] == 0xe3 ? COST_KANA : COST_IDEOGRAM) : COST_HIGH_3;
}

static uint64_t high(struct scan *s)
{
    const uint8_t *c = s->p + s->at;
    size_t n = *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : 2;
    uint64_t cost = COST_HIGH_2;

    if (n > s->n - s->at) /* cut off */
        n = s->n - s->at;
    else if (n > 2)
        cost = n == 4 ? high_4(c) : high_3(s, c);
    s->at += n;
    s->before = HIGH;
    return cost;
}

/* No token is a run of more blanks or line breaks than this. */
#define RUN_MAX 64u

/* What of a run goes beyond its first token. */
static uint64_t beyond(size_t run)
{
    return (run - 1) / RUN_MAX * COST_PIECE;
}

/* A mark that no word behind it takes. */
static bool free_mark(const struct scan *s)
{
    uint8_t after = s->at + 1 < s->n ? class_of[s->p[s->at + 1]] : NEWLINE;

    return class_of[s->p[s->at]] == PUNCT && after != LOWER && after != UPPER;
}

/* The last blank belongs to a word behind it, or to a mark unless it is a tab; all to a line
 * break, none to digits. */
static uint64_t spaces(struct scan *s)
{
    size_t n = run_of(s, SPACE);
    uint8_t next = s->at < s->n ? class_of[s->p[s->at]] : NEWLINE;

    s->before = SPACE;
    if (next == NEWLINE)
        return beyond(n);
    if (next == DIGIT || (s->p[s->at - 1] == '\t' && free_mark(s)))
        return beyond(n) + (n > 1 ? COST_PIECE : 0) + COST_PIECE;
    return beyond(n) + (n > 1 ? COST_PIECE : 0);
}

static uint64_t piece(struct scan *s)
{
    uint8_t before = s->before;
    size_t mark = s->at;

    switch (class_of[s->p[s->at]]) {
    case LOWER:
    case UPPER:
        return word(s, before == SPACE ? BEHIND_BLANK : ALONE);
    case DIGIT: /* every three are one token */
        s->before = DIGIT;
        return (run_of(s, DIGIT) + 2) / 3 * COST_PIECE;
    case SPACE:
        return spaces(s);
    case NEWLINE:
        s->before = NEWLINE;
        return beyond(run_of(s, NEWLINE)) + (before == PUNCT ? COST_NEWLINE_PUNCT : COST_PIECE);
    case PUNCT:
        if (!joins_word(s))
            return punctuation(s);
        s->at++;
        return word(s, BEHIND_MARK) + (s->p[mark] == ',' || s->p[mark] == '@' ? COST_COMMA : 0);
    case CONTROL:
        s->at++;
        s->before = CONTROL;
        return COST_CONTROL;
    default:
        if (wide_letter(s, s->at))
            return word(s, before == SPACE ? BEHIND_BLANK : ALONE);
        return high(s);
    }
}

/* A mark or blank comes, and none stands before it. */
static bool begins_mark_or_blank(const struct scan *s)
{
    uint8_t next = s->at < s->n ? class_of[s->p[s->at]] : NEWLINE;

    return (next == SPACE || next == PUNCT) && s->before != SPACE && s->before != PUNCT;
}

static uint64_t units_of(struct wbi_str text, size_t readable, size_t lanes)
{
    struct scan s = {(const uint8_t *)text.p, text.n, 0, NEWLINE};
    bool fresh = true;
    uint64_t units = 0;
    size_t n;

    while (s.at < s.n) {
        n = lanes > 0 && fresh
                ? wbi_tokens_wide(s.p + s.at, s.n - s.at, readable - s.at, lanes, &units)
                : 0;
        s.at += n;
        s.before = n > 0 ? LOWER : s.before; /* what is neither mark nor blank */
        if (n == 0)
            units += piece(&s);
        fresh = n > 0 || begins_mark_or_blank(&s);
    }
    return units;
}

uint64_t wbi_tokens_units(struct wbi_str text)
{
    return units_of(text, text.n, wbi_tokens_lanes());
}

uint64_t wbi_tokens_units_of(struct wbi_str all, size_t n)
{
    return units_of(wbi_str_head(all, n), all.n, wbi_tokens_lanes());
}

uint64_t wbi_tokens_units_with(struct wbi_str text, size_t lanes)
{
    return units_of(text, text.n, lanes);
}

uint64_t wbi_tokens_newline(struct wbi_str line, uint64_t run)
{
    if (run > 1)
        return (run - 1) % RUN_MAX == 0 ? COST_PIECE : 0;
    if (line.n == 0)
        return COST_PIECE;
    return class_of[(uint8_t)line.p[line.n - 1]] == PUNCT ? COST_NEWLINE_PUNCT : COST_PIECE;
}

#define LONG_PIECE 48u /* bytes; what is longer is no word and may be cut within */

/* How much of the long piece at s->at fits. No less than a 64th of a token a byte is
 * tried: runs of blanks are the cheapest that cost by length. */
static size_t within_piece(const struct scan *s, size_t n, uint64_t units)
{
    size_t fits = 0, most = n < units / 4 ? n : (size_t)(units / 4);

    while (fits < most) {
        struct scan head = *s;
        size_t middle = fits + (most - fits + 1) / 2;

        head.n = s->at + middle;
        if (piece(&head) <= units)
            fits = middle;
        else
            most = middle - 1;
    }
    return fits;
}

size_t wbi_tokens_prefix(struct wbi_str text, uint64_t units)
{
    struct scan s = {(const uint8_t *)text.p, text.n, 0, NEWLINE}, before;
    uint64_t spent = 0, cost;
    size_t from = 0;

    while (s.at < s.n) {
        before = s;
        from = s.at;
        cost = piece(&s);
        if (spent + cost > units && s.at - from > LONG_PIECE)
            from += within_piece(&before, s.at - from, units - spent);
        if (spent + cost > units)
            break;
        spent += cost;
        from = s.at;
    }
    while (from > 0 && from < text.n && ((uint8_t)text.p[from] & 0xc0) == 0x80)
        from--;
    return from;
}
