/* SPDX-License-Identifier: Apache-2.0
 * text/preview_score.c: how much a line tells: of a failure, by the words of the command, by
 * being unlike all others. */
#include "text/preview_int.h"

#include <math.h>

#define CERTAIN 100u /* severity of a line that is a complaint and nothing else */
#define APART 100u   /* lines between two of a shape */
#define APART_MAX 2u /* of one shape that count as news */
#define MANY_LINES 200u
#define LISTS 1024u
#define LISTED_LESS 0.15f
#define DEAR_MAX 4.0f /* of two long lines that are as rare the shorter one is shown */
#define DEAR_FROM 80u /* bytes */

/* What is told often may be what caused the others: its first lines count all the same. */
static float rarity_least(uint8_t severity, uint32_t nth)
{
    if (severity < 60 || nth >= 3)
        return 0;
    if (severity < CERTAIN)
        return 0.4f;
    return nth == 0 ? 0.9f : 0.7f;
}

static float failure_score(const struct chooser *c, const struct pick *p, uint32_t nth)
{
    const struct record *r = p->rec;
    uint64_t count = wbi_alike(c, r);
    float rarity, score = r->severity;

    if (c->index->shapes[r->shape].hash == 0) { /* of one of many shapes that were not counted */
        count = GROUP_FROM;
        nth = 0;
    }
    if (r->severity < FAILURE || (count > GROUP_FROM && nth >= 3))
        return 0; /* further lines of a large group are told by the group */
    rarity = 1.0f / (1.0f + 0.7f * log2f((float)count));
    rarity = fmaxf(rarity, rarity_least(r->severity, nth));
    if (p->elsewhere && rarity < 0.7f)
        rarity = 0.7f;
    score *= rarity;
    return score / (1.0f + 0.08f * (float)nth);
}

bool wbi_rare_word(const struct chooser *c, unsigned word)
{
    uint64_t n = c->index->query_lines[word];

    return n <= 8 || n * 50 <= c->index->lines;
}

float wbi_command_score(const struct chooser *c, const struct record *r)
{
    float score = 0;

    for (uint32_t bits = r->query; bits != 0; bits &= bits - 1) {
        unsigned word = (unsigned)__builtin_ctz(bits);

        if (wbi_rare_word(c, word))
            score += 8 + 60 / (float)(c->index->query_lines[word] + 1);
    }
    return score < 40 ? score : 40;
}

/* What makes a line of a text unlike the others: their shapes, or where most of these are
 * different what they begin with, or the marks of their row. */
struct unlike {
    bool mostly_alike;
    bool two_are_few; /* lines of one shape, as well as one */
    uint16_t *opened; /* lines by opening */
    bool *row;        /* by pick, NULL when no row stands out */
};

static bool is_unlike(const struct unlike *u, size_t i, const struct record *r)
{
    return u->mostly_alike || u->opened[r->opening & (OPENINGS - 1)] <= 2 ||
           (u->row != NULL && u->row[i]);
}

/* Headings, summaries, the command's own words, lines unlike all others. */
static float rare_score(const struct chooser *c, size_t i, const struct unlike *u)
{
    const struct record *r = c->picks[i].rec;
    uint64_t count = wbi_alike(c, r);
    unsigned peak = 0;
    float score = 0;

    if (r->flags & (LINE_BLANK | LINE_PASSED | LINE_FILE))
        return 0;
    if (r->flags & LINE_HEADING)
        score += 24;
    if (r->severity >= 20)
        score += r->severity * 0.5f;
    if ((r->flags & LINE_PLACE) && (r->flags & LINE_ATTACHED))
        score += 6; /* a frame of a trace that no failure stands close to */
    else if (r->indent == 0 && i + 1 < c->n && c->picks[i + 1].rec->indent > 0 && u->mostly_alike)
        score += 6;
    if (count <= 2 && is_unlike(u, i, r))
        score += 12;
    if (score > 0 && count > 1 && !(count == 2 && u->two_are_few))
        score /= 1.0f + 0.7f * log2f((float)count);
    if (score > DEAR_MAX && r->bytes > DEAR_FROM)
        score -= fminf((float)(r->bytes - DEAR_FROM) / 100.0f, DEAR_MAX);
    if (r->flags & LINE_PEAK && !(r->flags & LINE_ODD))
        peak = wbi_columns_peak(c->index, r);
    if (r->flags & LINE_ODD || peak == 3)
        score += 26;
    else if (peak == 2)
        score += 16;
    else if (peak == 1)
        score += 9;
    return score + wbi_command_score(c, r);
}

/* What was seen of the lines of one shape so far. */
struct seen_shape {
    uint64_t last; /* line */
    uint32_t n;
    uint32_t apart; /* far from the one before it */
};

/* How many alike came before, as far as that makes a line less telling: one by
 * itself, long after a flood of its kind, is news. */
static uint32_t count_before(struct seen_shape *s, uint64_t line)
{
    uint32_t n = s->n++;
    bool apart = n > 0 && line > s->last + APART && s->apart < APART_MAX;

    s->last = line;
    s->apart += apart;
    return apart ? 0 : n;
}

/* Complaints that begin alike and weigh about the same are a list: each says less than the
 * one before. */
static float less_each_time(uint8_t *listed, const struct pick *p)
{
    size_t kind = p->rec->severity / 16u * 2 + p->elsewhere;
    uint8_t *n = &listed[(p->rec->opening ^ kind * 257u) & (LISTS - 1)];

    *n += *n < UINT8_MAX;
    return 1.0f + LISTED_LESS * (float)(*n - 1);
}

wb_rc wbi_score_failures(struct chooser *c)
{
    struct seen_shape *seen = wbi_arena_array(c->arena, c->index->cap_shapes, sizeof *seen);
    uint8_t *listed = wbi_arena_array(c->arena, LISTS, sizeof *listed);
    bool any = false;
    wb_rc rc;

    if (seen == NULL || listed == NULL)
        return WB_ENOMEM;
    rc = wbi_mark_elsewhere(c);
    if (rc != WB_OK)
        return rc;
    for (size_t i = 0; i < c->n; i++) {
        const struct record *r = c->picks[i].rec;
        uint32_t before = count_before(&seen[r->shape], r->line);
        float score = failure_score(c, &c->picks[i], c->picks[i].elsewhere ? 0 : before);

        if (r->severity >= SURE && !any) { /* the first complaint is often the cause */
            any = true;
            score = r->severity * 1.3f;
        }
        if (score > 0 && !(r->flags & LINE_PLACE))
            score /= less_each_time(listed, &c->picks[i]);
        c->picks[i].score = score;
    }
    wbi_prefer_reasons(c);
    return WB_OK;
}

/* How many lines have each opening; where most lines begin in ways of their own, none
 * stands out by that. */
static void count_openings(const struct chooser *c, uint16_t *opened)
{
    size_t kinds = 0;

    for (size_t i = 0; i < c->n; i++) {
        uint16_t *n = &opened[c->picks[i].rec->opening & (OPENINGS - 1)];

        kinds += *n == 0;
        *n += *n < UINT16_MAX;
    }
    if (kinds * 4 > c->n)
        memset(opened, 0xff, OPENINGS * sizeof *opened);
}

static wb_rc find_unlike(struct chooser *c, struct unlike *u)
{
    *u = (struct unlike){.mostly_alike = c->index->n_shapes * 2 < c->index->lines};
    u->two_are_few = u->mostly_alike && c->index->lines >= MANY_LINES;
    u->opened = wbi_arena_array(c->arena, OPENINGS, sizeof *u->opened);
    if (u->opened == NULL)
        return WB_ENOMEM;
    if (u->mostly_alike)
        return WB_OK;
    count_openings(c, u->opened);
    return wbi_rows_rare(c, &u->row);
}

wb_rc wbi_score_rare(struct chooser *c)
{
    struct unlike u;
    wb_rc rc = find_unlike(c, &u);

    for (size_t i = 0; rc == WB_OK && i < c->n; i++)
        c->picks[i].score = rare_score(c, i, &u);
    return rc;
}
