/* SPDX-License-Identifier: Apache-2.0
 * text/preview_queue.c: the best of the lines that may be chosen, in order. */
#include "text/preview_queue_int.h"

/* True when a comes before b. */
static bool better(struct candidate a, struct candidate b)
{
    return a.score != b.score ? a.score > b.score : a.at < b.at;
}

/* Heap with the best on top, or the worst; what is below `at` is one already. */
static void sink(struct queue *q, size_t at, bool worst)
{
    struct candidate moved = q->items[at];

    for (size_t child = 2 * at + 1; child < q->n; child = 2 * at + 1) {
        if (child + 1 < q->n && better(q->items[child + 1], q->items[child]) != worst)
            child++;
        if (better(moved, q->items[child]) != worst)
            break;
        q->items[at] = q->items[child];
        at = child;
    }
    q->items[at] = moved;
}

static void make_heap(struct queue *q, bool worst)
{
    for (size_t i = q->n / 2; i-- > 0;)
        sink(q, i, worst);
}

/* When there are many, each takes the place of the worst one so far or is left out. */
void wbi_queue_by_score(const struct chooser *c, struct queue *q)
{
    bool full = false;

    q->n = 0;
    q->taken = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct candidate next = {c->picks[i].score, (uint32_t)i};

        if (!(next.score > 0) || wbi_shown(c, i))
            continue;
        if (!full) {
            q->items[q->n++] = next;
            full = q->n == QUEUE_MAX;
            if (full)
                make_heap(q, /* worst= */ true);
        } else if (better(next, q->items[0])) {
            q->items[0] = next;
            sink(q, 0, /* worst= */ true);
        }
    }
    make_heap(q, /* worst= */ false);
}

bool wbi_queue_at(struct queue *q, size_t i, uint32_t *ret)
{
    while (q->taken <= i) {
        struct candidate best;

        if (q->n == 0)
            return false;
        best = q->items[0];
        q->items[0] = q->items[--q->n];
        sink(q, 0, /* worst= */ false);
        q->items[q->n] = best;
        q->taken++;
    }
    *ret = q->items[q->n + q->taken - 1 - i].at;
    return true;
}
