/* SPDX-License-Identifier: Apache-2.0
 * text/preview_pieces.c: a report on one line is made of many elements (tags, objects), and the
 * first that says "failed" is mostly the whole of it. Its pieces are weighed as lines are: by how
 * much they sound like a failure and how rare they are among the others, and where several such
 * stand close together the reason is. */
#include "text/preview_int.h"

#include <math.h>

#define PIECE_MAX 512u /* bytes of a piece that has no end */
#define PIECES 1024u   /* beyond, pieces are not told apart any more */
#define SHAPES 256u
#define NEAR 400u        /* bytes in which pieces count together */
#define APART 500u       /* bytes between two places */
#define START 256u       /* what is shown anyway */
#define PLACE_MORE 25.0f /* a piece that names a line of a file */

struct piece {
    uint64_t kind;
    uint32_t at;
    uint32_t hit;
    float weight;
};

struct pieces {
    struct piece piece[PIECES];
    size_t n;
    uint64_t kind[SHAPES];
    uint32_t count[SHAPES];
};

/* Where the piece at i ends: before the next tag or object. */
static size_t piece_end(struct wbi_str s, size_t i)
{
    size_t most = s.n - i < PIECE_MAX ? s.n : i + PIECE_MAX, end = i + 1;

    for (; end < most; end++)
        if ((s.p[end] == '<' && s.p[end - 1] == '>') ||
            (s.p[end] == '{' && strchr(",[: ", s.p[end - 1]) != NULL))
            return end;
    while (most < s.n && end > i + PIECE_MAX / 2 && s.p[end - 1] != ' ')
        end--;
    return end;
}

static uint32_t *count_of(struct pieces *ps, uint64_t kind)
{
    size_t i = (size_t)(kind >> 40) & (SHAPES - 1);

    for (size_t step = 0; step < 8; step++, i = (i + 1) & (SHAPES - 1))
        if (ps->count[i] == 0 || ps->kind[i] == kind)
            break;
    ps->kind[i] = kind;
    return &ps->count[i];
}

static void add_piece(struct pieces *ps, const struct line_facts *f, size_t at)
{
    uint64_t kind = f->shape ^ (uint64_t)(f->severity / 16u) * 0x9e3779b97f4a7c15u;

    ++*count_of(ps, kind);
    if (ps->n < PIECES && (f->severity >= FAILURE || f->flags & LINE_PLACE))
        ps->piece[ps->n++] = (struct piece){.kind = kind,
                                            .at = (uint32_t)at,
                                            .hit = (uint32_t)at + f->hit,
                                            .weight = (f->severity >= FAILURE ? f->severity : 0) +
                                                      (f->flags & LINE_PLACE ? PLACE_MORE : 0)};
}

/* Pieces close behind piece i count with it; *ret is where the last of those that tell much
 * says it: what an element holds comes behind what it says of itself. */
static float weigh_from(const struct pieces *ps, size_t i, uint32_t *ret)
{
    float sum = 0, most = 0;

    for (size_t k = i; k < ps->n && ps->piece[k].at < ps->piece[i].at + NEAR; k++) {
        sum += ps->piece[k].weight;
        if (ps->piece[k].weight > most / 2)
            *ret = ps->piece[k].hit;
        most = fmaxf(most, ps->piece[k].weight);
    }
    return sum;
}

static bool is_apart(const uint32_t *place, size_t n, uint32_t at)
{
    for (size_t i = 0; i < n; i++)
        if (at < place[i] + APART && place[i] < at + APART)
            return false;
    return true;
}

/* The best place that is apart from those before it; false when there is none. */
static bool next_place(const struct pieces *ps, uint32_t *place, size_t n)
{
    float best = 0;

    for (size_t i = 0; i < ps->n; i++) {
        uint32_t at = 0;
        float sum = weigh_from(ps, i, &at);

        if (at >= START && sum > best && is_apart(place, n, at)) {
            best = sum;
            place[n] = at;
        }
    }
    return best >= FAILURE;
}

wb_rc wbi_find_places(struct chooser *c, struct wbi_str text, uint32_t *place, size_t *ret_n)
{
    struct pieces *ps = wbi_arena_zalloc(c->arena, sizeof *ps);
    struct line_facts f;

    *ret_n = 0;
    if (ps == NULL)
        return WB_ENOMEM;
    for (size_t i = 0, end; i < text.n; i = end) {
        end = piece_end(text, i);
        wbi_line_look(&c->index->words, wbi_str_from(text, i), end - i, &f);
        add_piece(ps, &f, i);
    }
    for (size_t i = 0; i < ps->n; i++)
        ps->piece[i].weight /= 1.0f + 0.7f * log2f((float)*count_of(ps, ps->piece[i].kind));
    while (*ret_n < PLACES_IN_LINE && next_place(ps, place, *ret_n))
        ++*ret_n;
    return WB_OK;
}
