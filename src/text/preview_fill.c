/* SPDX-License-Identifier: Apache-2.0
 * text/preview_fill.c: what is left of the budget is spent from both ends towards
 * the middle. Runs of lines like several that are shown already are passed by first,
 * so that what differs from them is reached; their last line says how far they went. */
#include "text/preview_int.h"

#include "text/tokens.h"

#define ALIKE_MAX 3u /* lines of one shape that are shown before more are passed by */
#define BEGUN_MAX 6u /* lines that begin alike */
#define BEGUN_RUN 8u /* lines of a run that is passed by because of that */

struct filler {
    struct chooser *c;
    uint8_t *seen;  /* by shape: lines shown, up to ALIKE_MAX; NULL passes nothing by */
    uint8_t *begun; /* by opening: lines shown, up to BEGUN_MAX */
    size_t head;
    size_t tail;
    uint64_t top; /* spent on each end */
    uint64_t bottom;
};

/* The next hidden line from one end, or c->n. */
static size_t next_hidden(const struct chooser *c, size_t i, bool down)
{
    while (i < c->n && wbi_shown(c, i))
        i = down ? i + 1 : i - 1; /* below 0 wraps to above n */
    return i < c->n ? i : c->n;
}

static void count_shown(struct filler *f, const struct record *r)
{
    uint8_t *seen = &f->seen[r->shape], *begun = &f->begun[r->opening & (OPENINGS - 1)];

    *seen += *seen < ALIKE_MAX;
    *begun += *begun < BEGUN_MAX;
}

static wb_rc show_one(struct filler *f, size_t i, bool down, bool *ret_taken)
{
    uint64_t before = f->c->spent, spent;
    wb_rc rc = wbi_offer(f->c, i, i, f->c->units, ret_taken);

    spent = f->c->spent > before ? f->c->spent - before : 1;
    if (f->seen != NULL && *ret_taken)
        count_shown(f, f->c->picks[i].rec);
    *(down ? &f->top : &f->bottom) += spent;
    return rc;
}

/* Tells nothing that several shown lines do not tell. */
static bool alike(const struct filler *f, const struct record *r)
{
    return f->seen[r->shape] == ALIKE_MAX && !(r->flags & LINE_ODD);
}

static bool begins_alike(const struct filler *f, const struct record *r)
{
    return f->begun[r->opening & (OPENINGS - 1)] == BEGUN_MAX && r->severity < FAILURE &&
           !(r->flags & LINE_ODD);
}

/* From i on, the first line behind a run that is worth passing by, or i. */
static size_t pass_run(const struct filler *f, size_t i, bool down)
{
    uint64_t units = 0;
    size_t k = i, n = 0, begun = 0;

    for (; k < f->c->n && !wbi_shown(f->c, k); k = down ? k + 1 : k - 1) {
        const struct record *r = f->c->picks[k].rec;

        if (!alike(f, r)) {
            if (!begins_alike(f, r))
                break;
            begun++;
        }
        n++;
        units += r->units > 0 ? r->units : (uint64_t)r->bytes * WBI_TOKEN_UNIT / 4;
    }
    return units > 3 * GAP_UNITS && (begun == 0 || n >= BEGUN_RUN) ? k : i;
}

/* The lower end of a run that was passed by, when something else stands below it. */
static wb_rc show_run_end(struct filler *f, size_t end, bool down)
{
    const struct pick *p = f->c->picks;
    bool taken;

    if (end + 1 >= f->c->n || wbi_shown(f->c, end) ||
        p[end].rec->flags & (LINE_BLANK | LINE_ATTACHED) ||
        p[end + 1].rec->shape == p[end].rec->shape)
        return WB_OK;
    return show_one(f, end, down, &taken);
}

/* One step from one end; *ret_more is false when a line was too much. */
static wb_rc step(struct filler *f, bool down, bool *ret_more)
{
    size_t *at = down ? &f->head : &f->tail, i = next_hidden(f->c, *at, down);

    *at = i;
    if (i == f->c->n)
        return WB_OK;
    if (f->seen != NULL)
        *at = pass_run(f, i, down);
    if (*at == i)
        return show_one(f, i, down, ret_more);
    return show_run_end(f, down ? *at - 1 : i, down);
}

/* Both ends towards the middle; the end is worth a little more. */
static wb_rc fill(struct filler *f)
{
    size_t n = f->c->n;
    bool more = true;
    wb_rc rc = WB_OK;

    f->head = 0;
    f->tail = n - 1;
    while (rc == WB_OK && more && (f->head < n || f->tail < n))
        rc = step(f, f->head < n && (f->tail >= n || f->top * 5 <= f->bottom * 4), &more);
    return rc;
}

wb_rc wbi_fill(struct chooser *c)
{
    struct filler f = {.c = c};
    wb_rc rc;

    f.seen = wbi_arena_array(c->arena, c->index->cap_shapes + OPENINGS, sizeof *f.seen);
    if (f.seen == NULL)
        return WB_ENOMEM;
    f.begun = f.seen + c->index->cap_shapes;
    for (size_t i = 0; i < c->n; i++)
        if (wbi_shown(c, i))
            count_shown(&f, c->picks[i].rec);
    rc = fill(&f);
    f = (struct filler){.c = c};
    return rc == WB_OK ? fill(&f) : rc;
}

/* Nothing is forgotten between a and b. */
static bool all_there(const struct chooser *c, size_t a, size_t b)
{
    while (a < b && wbi_neighbours(c, a, a + 1))
        a++;
    return a == b;
}

/* A short gap that costs little more than its notice is shown instead. */
wb_rc wbi_close_small_gaps(struct chooser *c)
{
    uint64_t limit;
    size_t from = 0;
    bool taken;
    wb_rc rc = WB_OK;

    for (size_t i = 1; i < c->n && rc == WB_OK; i++) {
        if (!wbi_shown(c, i))
            continue;
        if (i > from + 1 && i - from <= 4 && all_there(c, from, i)) {
            limit = c->spent + 2 * GAP_UNITS;
            rc = wbi_offer(c, from + 1, i - 1, limit < c->units ? limit : c->units, &taken);
        }
        from = i;
    }
    return rc;
}
