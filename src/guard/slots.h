/* SPDX-License-Identifier: Apache-2.0
 * guard/slots.h: how many calls run at once (C8.4), per tool and per provider,
 * with a bounded queue that is fair among principals: each principal's calls
 * keep their order, principals take turns. A waiting call holds its place and
 * nothing else. Loop thread only. */
#ifndef WBI_GUARD_SLOTS_H
#define WBI_GUARD_SLOTS_H

#include "guard/table.h"

enum { WBI_SLOT_TOOL, WBI_SLOT_PROVIDER, WBI_SLOT_SCOPES };
#define WBI_SLOTS_UNLIMITED INT64_C(-1)

struct wbi_slot_ask {
    struct wbi_key key[WBI_SLOT_SCOPES];
    int64_t limit[WBI_SLOT_SCOPES]; /* WBI_SLOTS_UNLIMITED; 0 lets nothing in */
    int64_t queue_max;              /* calls that may wait where this one waits */
};

/* Part of the caller's own object; untouched by others while it waits. */
struct wbi_slot_waiter {
    struct wbi_slot_waiter *next, *prev;
    struct wbi_slot_ask ask;
    struct wbi_key principal;
    uint64_t turn;
    bool waiting;
};

struct wbi_slots {
    struct wbi_table scopes;              /* struct scope of slots.c */
    struct wbi_slot_waiter *first, *last; /* by turn, then arrival */
    uint64_t turn;                        /* of the call served last */
    size_t waiting;
};

void wbi_slots_init(struct wbi_slots *s);
/* Waiters must be gone. */
void wbi_slots_fini(struct wbi_slots *s);

/* WB_OK: a slot of every scope is free (none is taken yet; wbi_slots_take then
 * cannot fail). WB_EAGAIN: *ret_scope is full. WB_ENOMEM, WB_ELIMIT. With
 * `queue_first` a call also counts as refused while others wait for the same: for
 * a slot of its tool, or for one of its provider while their tools have room. */
WB_MUST_CHECK wb_rc wbi_slots_admit(struct wbi_slots *s, const struct wbi_slot_ask *ask,
                                    bool queue_first, size_t *ret_scope);
void wbi_slots_take(struct wbi_slots *s, const struct wbi_slot_ask *ask);
/* Exactly once per take. */
void wbi_slots_settle(struct wbi_slots *s, const struct wbi_slot_ask *ask);

/* Join the queue. WB_EAGAIN when it is full or a limit is 0 (which no waiting
 * can change). */
WB_MUST_CHECK wb_rc wbi_slots_wait(struct wbi_slots *s, struct wbi_slot_waiter *w,
                                   const struct wbi_slot_ask *ask, struct wbi_key principal);
/* Leave it; nothing happens to a waiter that is not in it. */
void wbi_slots_cancel(struct wbi_slots *s, struct wbi_slot_waiter *w);
/* The next call in fair order whose slots are all free, taken out of the
 * queue; NULL when none. The slots are not taken. */
struct wbi_slot_waiter *wbi_slots_next(struct wbi_slots *s);
/* The one without room, of both the tool's; the tool's when there is room. */
size_t wbi_slots_scope(const struct wbi_slots *s, const struct wbi_slot_ask *ask);
int64_t wbi_slots_in_use(const struct wbi_slots *s, struct wbi_key key);

#endif
