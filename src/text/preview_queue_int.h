/* SPDX-License-Identifier: Apache-2.0
 * text/preview_queue_int.h: candidates for the preview, the best first. */
#ifndef WBI_TEXT_PREVIEW_QUEUE_INT_H
#define WBI_TEXT_PREVIEW_QUEUE_INT_H

#include "text/preview_int.h"

#define QUEUE_MAX 256u /* candidates of one step */

/* A pick that may be chosen. */
struct candidate {
    float score;
    uint32_t at;
};

/* The best of them: a heap of n, behind it those taken so far, the best last. */
struct queue {
    struct candidate items[QUEUE_MAX];
    size_t n;
    size_t taken;
};

/* Of the hidden lines that have a score the best. */
void wbi_queue_by_score(const struct chooser *c, struct queue *q);
/* The i-th best into *ret: they are put in order only as far as they are asked for,
 * since few can be shown. False when there are no more. */
bool wbi_queue_at(struct queue *q, size_t i, uint32_t *ret);

#endif
