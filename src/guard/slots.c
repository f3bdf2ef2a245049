/* SPDX-License-Identifier: Apache-2.0
 * guard/slots.c: counting what runs and choosing who is next.
 * A waiter's turn is one more than the last turn of its principal in the
 * queue, or than the turn served last: so a principal with many waiting calls
 * gets one per round, whoever else waits. in_use of a scope is the number of
 * takes minus settles, never negative. Who waits for a slot of its tool is not
 * in the queue of its provider: it holds up nobody whose tool has room. */
#include "guard/slots.h"

#include "base/checked.h"
#include "base/limits.h"

struct scope {
    int64_t in_use;
    int64_t waiting;
};

void wbi_slots_init(struct wbi_slots *s)
{
    *s = (struct wbi_slots){0};
    wbi_table_init(&s->scopes, sizeof(struct scope));
}

void wbi_slots_fini(struct wbi_slots *s)
{
    wbi_table_fini(&s->scopes);
}

static bool is_limited(const struct wbi_slot_ask *ask, size_t i)
{
    return ask->limit[i] != WBI_SLOTS_UNLIMITED;
}

static bool has_room(const struct wbi_slots *s, const struct wbi_slot_ask *ask, size_t i)
{
    const struct scope *scope;

    if (!is_limited(ask, i))
        return true;
    scope = wbi_table_find(&s->scopes, ask->key[i]);
    return (scope ? scope->in_use : 0) < ask->limit[i];
}

static bool idle(const void *value, int64_t now)
{
    const struct scope *scope = value;

    (void)now;
    return scope->in_use == 0 && scope->waiting == 0;
}

static wb_rc make_scopes(struct wbi_slots *s, const struct wbi_slot_ask *ask)
{
    void *scope;
    wb_rc rc;

    if (wbi_table_full(&s->scopes)) {
        wbi_table_sweep(&s->scopes, idle, 0);
        if (s->scopes.used > s->scopes.cap / 4 * 3) {
            rc = wbi_table_grow(&s->scopes);
            if (rc != WB_OK)
                return rc;
        }
    }
    for (size_t i = 0; i < WBI_SLOT_SCOPES; i++) {
        if (!is_limited(ask, i))
            continue;
        rc = wbi_table_add(&s->scopes, ask->key[i], &scope);
        if (rc != WB_OK)
            return rc;
    }
    return WB_OK;
}

/* In the queue of its tool, if that is limited; in that of its provider while its tool has room. */
static bool is_queued_for(const struct wbi_slots *s, const struct wbi_slot_ask *ask, size_t i)
{
    return is_limited(ask, i) && (i == WBI_SLOT_TOOL || has_room(s, ask, WBI_SLOT_TOOL));
}

/* Whether `most` or more wait for the same. */
static bool as_many_wait(const struct wbi_slots *s, const struct wbi_slot_ask *ask, size_t i,
                         int64_t most)
{
    const struct scope *scope = wbi_table_find(&s->scopes, ask->key[i]);
    int64_t n = scope ? scope->waiting : 0;

    if (i == WBI_SLOT_TOOL || n < most)
        return n >= most;
    n = 0;
    for (const struct wbi_slot_waiter *w = s->first; w != NULL && n < most; w = w->next)
        n += is_queued_for(s, &w->ask, i) && wbi_key_eq(w->ask.key[i], ask->key[i]);
    return n >= most;
}

wb_rc wbi_slots_admit(struct wbi_slots *s, const struct wbi_slot_ask *ask, bool queue_first,
                      size_t *ret_scope)
{
    for (size_t i = 0; i < WBI_SLOT_SCOPES; i++) {
        *ret_scope = i;
        if (!has_room(s, ask, i))
            return WB_EAGAIN;
    }
    for (size_t i = 0; i < WBI_SLOT_SCOPES && queue_first; i++) {
        *ret_scope = i;
        if (is_limited(ask, i) && as_many_wait(s, ask, i, 1))
            return WB_EAGAIN;
    }
    return make_scopes(s, ask);
}

static void add_to(struct wbi_slots *s, const struct wbi_slot_ask *ask, int64_t in_use,
                   int64_t waiting)
{
    for (size_t i = 0; i < WBI_SLOT_SCOPES; i++) {
        struct scope *scope;
        if (!is_limited(ask, i))
            continue;
        scope = wbi_table_find(&s->scopes, ask->key[i]);
        if (scope == NULL)
            continue;
        scope->in_use += in_use;
        scope->waiting += waiting;
    }
}

void wbi_slots_take(struct wbi_slots *s, const struct wbi_slot_ask *ask)
{
    add_to(s, ask, 1, 0);
}

void wbi_slots_settle(struct wbi_slots *s, const struct wbi_slot_ask *ask)
{
    add_to(s, ask, -1, 0);
}

static uint64_t turn_for(const struct wbi_slots *s, struct wbi_key principal)
{
    for (const struct wbi_slot_waiter *w = s->last; w != NULL; w = w->prev) {
        if (wbi_key_eq(w->principal, principal))
            return w->turn + 1;
    }
    return s->turn + 1;
}

static void insert(struct wbi_slots *s, struct wbi_slot_waiter *w)
{
    struct wbi_slot_waiter *after = s->last;

    while (after != NULL && after->turn > w->turn)
        after = after->prev;
    w->prev = after;
    w->next = after ? after->next : s->first;
    if (w->next != NULL)
        w->next->prev = w;
    else
        s->last = w;
    if (after != NULL)
        after->next = w;
    else
        s->first = w;
}

wb_rc wbi_slots_wait(struct wbi_slots *s, struct wbi_slot_waiter *w, const struct wbi_slot_ask *ask,
                     struct wbi_key principal)
{
    wb_rc rc;

    if (s->waiting >= WBI_LIMIT_GUARD_QUEUE)
        return WB_EAGAIN;
    for (size_t i = 0; i < WBI_SLOT_SCOPES; i++) {
        if (ask->limit[i] == 0)
            return WB_EAGAIN;
        if (is_queued_for(s, ask, i) && as_many_wait(s, ask, i, ask->queue_max))
            return WB_EAGAIN;
    }
    rc = make_scopes(s, ask);
    if (rc != WB_OK)
        return rc;
    w->ask = *ask;
    w->principal = principal;
    w->turn = turn_for(s, principal);
    w->waiting = true;
    insert(s, w);
    add_to(s, ask, 0, 1);
    s->waiting++;
    return WB_OK;
}

void wbi_slots_cancel(struct wbi_slots *s, struct wbi_slot_waiter *w)
{
    if (!w->waiting)
        return;
    *(w->prev ? &w->prev->next : &s->first) = w->next;
    *(w->next ? &w->next->prev : &s->last) = w->prev;
    w->next = w->prev = NULL;
    w->waiting = false;
    add_to(s, &w->ask, 0, -1);
    s->waiting--;
}

struct wbi_slot_waiter *wbi_slots_next(struct wbi_slots *s)
{
    for (struct wbi_slot_waiter *w = s->first; w != NULL; w = w->next) {
        bool free_all = true;
        for (size_t i = 0; i < WBI_SLOT_SCOPES; i++)
            free_all = free_all && has_room(s, &w->ask, i);
        if (!free_all)
            continue;
        wbi_slots_cancel(s, w);
        s->turn = WBI_MAX(s->turn, w->turn);
        return w;
    }
    return NULL;
}

size_t wbi_slots_scope(const struct wbi_slots *s, const struct wbi_slot_ask *ask)
{
    return has_room(s, ask, WBI_SLOT_TOOL) && !has_room(s, ask, WBI_SLOT_PROVIDER)
               ? WBI_SLOT_PROVIDER
               : WBI_SLOT_TOOL;
}

int64_t wbi_slots_in_use(const struct wbi_slots *s, struct wbi_key key)
{
    const struct scope *scope = wbi_table_find(&s->scopes, key);

    return scope ? scope->in_use : 0;
}
