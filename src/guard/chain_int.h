/* SPDX-License-Identifier: Apache-2.0
 * guard/chain_int.h: what chain.c (admission) and chain_settle.c (the end of
 * calls, waiting, time) share. */
#ifndef WBI_GUARD_CHAIN_INT_H
#define WBI_GUARD_CHAIN_INT_H

#include "guard/chain.h"

enum ticket_state {
    TICKET_IDLE = 0,
    TICKET_QUEUED,  /* in the slots' queue and the waiting list */
    TICKET_WAITING, /* behind a flight of the cache and in the waiting list */
    TICKET_READY,   /* its flight ended: in the ready list */
    TICKET_HELD,    /* admitted; attempt_open says whether an attempt runs */
    TICKET_DONE
};

struct ticket_list {
    struct wbi_guard_ticket *first, *last;
    size_t n;
};

struct wbi_guard_chain {
    struct wbi_rate rate;
    struct wbi_table circuits; /* struct wbi_circuit * */
    struct wbi_slots slots;
    struct wbi_budget budget;
    struct wbi_retry retry;
    struct wbi_cache cache;
    struct wbi_idem_store keys;
    struct wbi_idem_memory *own_keys; /* NULL when a store was given */
    uint64_t seed;
    int64_t now_ns; /* latest time seen: the chain's time never goes back */
    int64_t start_ns, start_wall_ms;
    struct ticket_list waiting, ready;
    bool pumping;
    void (*on_event)(void *arg, const struct wbi_guard_event *event);
    void *arg;
};

void wbi_chain_list_add(struct ticket_list *list, struct wbi_guard_ticket *t);
void wbi_chain_list_remove(struct ticket_list *list, struct wbi_guard_ticket *t);

int64_t wbi_chain_now(struct wbi_guard_chain *chain, int64_t now_ns);
/* Milliseconds since 1970 that do not step while the process runs. */
int64_t wbi_chain_dated(const struct wbi_guard_chain *chain, int64_t now_ns);
struct wbi_budget_time wbi_chain_budget_time(const struct wbi_guard_chain *chain, int64_t now_ns);
struct wbi_idem_id wbi_chain_key_id(const struct wbi_guard_request *r);
struct wbi_key wbi_chain_provider(const struct wbi_guard_chain *chain, struct wbi_str origin);

/* Ask all guards for a ticket that holds its request. in_turn: the slots' queue
 * let it go. Leaves the ticket queued, waiting, held or done. */
void wbi_chain_try(struct wbi_guard_ticket *t, bool in_turn, struct wbi_guard_answer *ret);
void wbi_chain_circuit_event(struct wbi_guard_ticket *t, enum wbi_circuit_change change);
__attribute__((format(printf, 3, 4))) void
wbi_chain_refuse(struct wbi_guard_answer *ret, enum wbi_kind kind, const char *fmt, ...);
/* What a refusal says of what was done: an attempt before it may have had its effect. */
const char *wbi_chain_untouched(const struct wbi_guard_ticket *t);
/* Let whoever may go on go on. */
void wbi_chain_pump(struct wbi_guard_chain *chain);

#endif
