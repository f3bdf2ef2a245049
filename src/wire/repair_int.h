/* SPDX-License-Identifier: Apache-2.0
 * wire/repair_int.h: one repair under way. A plan decides what happens to each
 * entry before a byte is written, so that "changed" is known first. */
#ifndef WBI_WIRE_REPAIR_INT_H
#define WBI_WIRE_REPAIR_INT_H

#include "wire/history.h"
#include "wire/repair.h"
#include "wire/wire_int.h"

enum wbi_fate {
    WBI_FATE_STAY = 0, /* written where it stands */
    WBI_FATE_DROP,
    WBI_FATE_MOVE /* an output written with its call's round instead */
};

struct wbi_repair {
    struct wbi_arena *arena;
    struct wbi_history h;
    uint8_t *fates; /* enum wbi_fate, one an entry */
    size_t *sorted; /* scratch for the outputs of one round, one an entry */
    uint64_t made;  /* the number of the first id that may be made */
    struct wbi_jw w;
    bool begun;    /* a message is written; */
    bool by_model; /* the last one is the model's (repair_blocks.c) */
    struct wbi_repair_report report;
};

/* The outputs of the calls among entries [from, to) that were moved, in
 * document order, then a synthetic one for each call that has none. */
void wbi_repair_write_outputs(struct wbi_repair *r, size_t from, size_t to);
/* True when wbi_repair_write_outputs would write anything. */
bool wbi_repair_has_outputs(const struct wbi_repair *r, size_t from, size_t to);
/* A call, with the id it was given if it had none. */
void wbi_repair_write_call(struct wbi_repair *r, size_t entry);
/* An output, made to name its call as that is named. */
void wbi_repair_write_output(struct wbi_repair *r, size_t entry);
/* True when one of these two writes it other than it came. */
bool wbi_repair_is_rewritten(const struct wbi_repair *r, size_t entry);

/* Mark outputs to move; then write the messages (repair_blocks.c). */
void wbi_repair_plan_blocks(struct wbi_repair *r);
void wbi_repair_write_blocks(struct wbi_repair *r);

#endif
