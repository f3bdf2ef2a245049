/* SPDX-License-Identifier: Apache-2.0
 * guard/idempotency_memory.c: key records in memory. Keys come from callers,
 * so the table's hash only finds the chain of a record; its identity is
 * compared in full. One block of memory a record; expired ones go when the
 * table would have to grow. */
#include "guard/idempotency.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "guard/table.h"

struct entry {
    struct entry *next; /* same hash, other identity */
    int64_t expires_ms;
    int64_t in_flight_ms;
    uint32_t outcome_n;
    uint16_t principal_n, tool_n, key_n;
    uint8_t state;
    bool has_outcome;
    uint8_t fingerprint[WBI_SHA256_SIZE];
    char bytes[]; /* principal, tool, key, outcome */
};

struct wbi_idem_memory {
    struct wbi_table table; /* struct entry * */
    uint64_t seed;
    size_t count;
};

wb_rc wbi_idem_memory_new(uint64_t seed, struct wbi_idem_memory **ret)
{
    struct wbi_idem_memory *m = wbi_zalloc(sizeof(*m));

    if (m == NULL)
        return WB_ENOMEM;
    m->seed = seed;
    wbi_table_init(&m->table, sizeof(struct entry *));
    *ret = m;
    return WB_OK;
}

void wbi_idem_memory_free(struct wbi_idem_memory *m)
{
    struct entry **head;
    size_t at = 0;

    if (m == NULL)
        return;
    while ((head = wbi_table_next(&m->table, &at)) != NULL) {
        while (*head != NULL) {
            struct entry *e = *head;
            *head = e->next;
            wbi_free(e);
        }
    }
    wbi_table_fini(&m->table);
    wbi_free(m);
}

static struct wbi_key key_of(const struct wbi_idem_memory *m, const struct wbi_idem_id *id)
{
    return wbi_key_of(m->seed, 'I', id->principal, id->tool, id->key);
}

static bool is_entry(const struct entry *e, const struct wbi_idem_id *id)
{
    const char *p = e->bytes;

    return wbi_str_eq(wbi_str_make(p, e->principal_n), id->principal) &&
           wbi_str_eq(wbi_str_make(p + e->principal_n, e->tool_n), id->tool) &&
           wbi_str_eq(wbi_str_make(p + e->principal_n + e->tool_n, e->key_n), id->key);
}

/* The link that leads to the entry of id, or the one at the chain's end. */
static struct entry **link_of(struct entry **head, const struct wbi_idem_id *id)
{
    while (*head != NULL && !is_entry(*head, id))
        head = &(*head)->next;
    return head;
}

static wb_rc memory_get(void *arg, const struct wbi_idem_id *id, int64_t now_ms,
                        struct wbi_idem_record *ret)
{
    struct wbi_idem_memory *m = arg;
    struct entry **head = wbi_table_find(&m->table, key_of(m, id));
    struct entry *e = head ? *link_of(head, id) : NULL;

    (void)now_ms; /* one process, one clock */
    if (e == NULL)
        return WB_ENOTFOUND;
    *ret = (struct wbi_idem_record){.state = (enum wbi_idem_state)e->state,
                                    .expires_ms = e->expires_ms,
                                    .in_flight_ms = e->in_flight_ms};
    memcpy(ret->fingerprint, e->fingerprint, sizeof(ret->fingerprint));
    if (e->has_outcome)
        ret->outcome = wbi_str_make(e->bytes + e->principal_n + e->tool_n + e->key_n, e->outcome_n);
    return WB_OK;
}

static char *append(char *at, struct wbi_str s)
{
    if (s.n > 0)
        memcpy(at, s.p, s.n);
    return at + s.n;
}

/* Write a record into a new block, or into `old` grown to its size: the names
 * are the same then. On failure old is as it was. */
static wb_rc make_entry(struct entry *old, const struct wbi_idem_id *id,
                        const struct wbi_idem_record *record, struct entry **ret)
{
    size_t names = id->principal.n + id->tool.n + id->key.n;
    struct entry *e;
    char *at;

    if (id->principal.n > UINT16_MAX || id->tool.n > UINT16_MAX || id->key.n > UINT16_MAX ||
        record->outcome.n > WBI_LIMIT_STORED_OUTCOME)
        return WB_ELIMIT;
    e = wbi_realloc(old, sizeof(*e) + names + record->outcome.n);
    if (e == NULL)
        return WB_ENOMEM;
    if (old == NULL) {
        e->next = NULL;
        e->principal_n = (uint16_t)id->principal.n;
        e->tool_n = (uint16_t)id->tool.n;
        e->key_n = (uint16_t)id->key.n;
        at = append(append(append(e->bytes, id->principal), id->tool), id->key);
    } else {
        at = e->bytes + names;
    }
    e->expires_ms = record->expires_ms;
    e->in_flight_ms = record->in_flight_ms;
    e->outcome_n = (uint32_t)record->outcome.n;
    e->state = (uint8_t)record->state;
    e->has_outcome = record->outcome.p != NULL;
    memcpy(e->fingerprint, record->fingerprint, sizeof(e->fingerprint));
    (void)append(at, record->outcome);
    *ret = e;
    return WB_OK;
}

static void free_expired(struct wbi_idem_memory *m, int64_t now_ms)
{
    struct entry **head;
    size_t at = 0;

    while ((head = wbi_table_next(&m->table, &at)) != NULL) {
        for (struct entry **link = head; *link != NULL;) {
            struct entry *e = *link;
            if (now_ms < e->expires_ms) {
                link = &e->next;
                continue;
            }
            *link = e->next;
            wbi_free(e);
            m->count--;
        }
    }
}

static bool is_empty(const void *value, int64_t now)
{
    (void)now;
    return *(struct entry *const *)value == NULL;
}

static wb_rc chain_for(struct wbi_idem_memory *m, struct wbi_key key, int64_t now_ms,
                       struct entry ***ret)
{
    void *value;
    wb_rc rc;

    if (wbi_table_full(&m->table) && wbi_table_find(&m->table, key) == NULL) {
        free_expired(m, now_ms);
        wbi_table_sweep(&m->table, is_empty, 0);
        if (m->table.used > m->table.cap / 4 * 3) {
            rc = wbi_table_grow(&m->table);
            if (rc != WB_OK)
                return rc;
        }
    }
    rc = wbi_table_add(&m->table, key, &value);
    if (rc == WB_OK)
        *ret = value;
    return rc;
}

static wb_rc memory_put(void *arg, const struct wbi_idem_id *id,
                        const struct wbi_idem_record *record, bool only_if_absent, int64_t now_ms)
{
    struct wbi_idem_memory *m = arg;
    struct entry **head, **link, *fresh, *old;
    wb_rc rc = chain_for(m, key_of(m, id), now_ms, &head);

    if (rc != WB_OK)
        return rc;
    link = link_of(head, id);
    old = *link;
    if (old != NULL && only_if_absent && now_ms < old->expires_ms)
        return WB_EEXISTS;
    rc = make_entry(old, id, record, &fresh);
    if (rc != WB_OK)
        return rc;
    *link = fresh;
    m->count += old == NULL;
    return WB_OK;
}

static wb_rc memory_drop(void *arg, const struct wbi_idem_id *id)
{
    struct wbi_idem_memory *m = arg;
    struct entry **head = wbi_table_find(&m->table, key_of(m, id));
    struct entry **link = head ? link_of(head, id) : NULL;
    struct entry *e = link ? *link : NULL;

    if (e == NULL)
        return WB_ENOTFOUND;
    *link = e->next;
    wbi_free(e);
    m->count--;
    if (*head == NULL)
        wbi_table_remove(&m->table, key_of(m, id));
    return WB_OK;
}

struct wbi_idem_store wbi_idem_memory_store(struct wbi_idem_memory *m)
{
    return (struct wbi_idem_store){memory_get, memory_put, memory_drop, m};
}

size_t wbi_idem_memory_count(const struct wbi_idem_memory *m)
{
    return m->count;
}
