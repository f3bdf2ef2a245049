/* SPDX-License-Identifier: Apache-2.0
 * guard/cache.c: kept outcomes and flights. (1) An entry is in the table; it
 * is in the age list exactly when it has bytes, else it is a flight. (2)
 * `bytes` is the sum over the age list and never stays above max_bytes. (3)
 * Flights are never evicted. */
#include "guard/cache.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "guard/deadline.h"

struct wbi_cache_entry {
    struct wbi_cache_entry *newer, *older;
    struct wbi_cache_waiter *first_waiter, *last_waiter;
    struct wbi_key key;
    char *bytes; /* NULL: in flight */
    size_t bytes_n;
    int64_t expires_ns;
    size_t part_n[4];
    uint8_t input_hash[WBI_SHA256_SIZE];
    char parts[]; /* tool, version, content hash, partition */
};

void wbi_cache_init(struct wbi_cache *c, size_t max_bytes, uint64_t seed)
{
    *c = (struct wbi_cache){.max_bytes = max_bytes, .seed = seed};
    wbi_table_init(&c->table, sizeof(struct wbi_cache_entry *));
}

void wbi_cache_fini(struct wbi_cache *c)
{
    struct wbi_cache_entry **slot;
    size_t at = 0;

    while ((slot = wbi_table_next(&c->table, &at)) != NULL) {
        wbi_free((*slot)->bytes);
        wbi_free(*slot);
    }
    wbi_table_fini(&c->table);
}

static struct wbi_key key_of(const struct wbi_cache *c, const struct wbi_cache_id *id)
{
    struct wbi_key where = wbi_key_of(c->seed, 'C', id->tool, id->version, id->content_hash);

    return wbi_key_of(where.a, 'c', id->partition,
                      wbi_str_make((const char *)id->input_hash, WBI_SHA256_SIZE), WBI_NONE);
}

static bool is_entry(const struct wbi_cache_entry *e, const struct wbi_cache_id *id)
{
    const struct wbi_str parts[4] = {id->tool, id->version, id->content_hash, id->partition};
    const char *at = e->parts;

    for (size_t i = 0; i < 4; i++) {
        if (!wbi_str_eq(wbi_str_make(at, e->part_n[i]), parts[i]))
            return false;
        at += e->part_n[i];
    }
    return memcmp(e->input_hash, id->input_hash, WBI_SHA256_SIZE) == 0;
}

static size_t size_of(const struct wbi_cache_entry *e)
{
    return sizeof(*e) + e->part_n[0] + e->part_n[1] + e->part_n[2] + e->part_n[3] + e->bytes_n;
}

static void list_remove(struct wbi_cache *c, struct wbi_cache_entry *e)
{
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void list_put_newest(struct wbi_cache *c, struct wbi_cache_entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void discard(struct wbi_cache *c, struct wbi_cache_entry *e)
{
    if (e->bytes != NULL) {
        list_remove(c, e);
        c->bytes -= size_of(e);
    }
    wbi_table_remove(&c->table, e->key);
    wbi_free(e->bytes);
    wbi_free(e);
}

static struct wbi_cache_entry *find(const struct wbi_cache *c, struct wbi_key key)
{
    struct wbi_cache_entry **slot = wbi_table_find(&c->table, key);

    return slot ? *slot : NULL;
}

enum wbi_cache_answer wbi_cache_admit(struct wbi_cache *c, const struct wbi_cache_id *id,
                                      int64_t now_ns, struct wbi_str *ret_bytes)
{
    struct wbi_cache_entry *e = find(c, key_of(c, id));

    if (e == NULL || !is_entry(e, id))
        return WBI_CACHE_MISS;
    if (e->bytes == NULL)
        return WBI_CACHE_FLYING;
    if (now_ns >= e->expires_ns) {
        discard(c, e);
        return WBI_CACHE_MISS;
    }
    list_remove(c, e);
    list_put_newest(c, e);
    *ret_bytes = wbi_str_make(e->bytes, e->bytes_n);
    return WBI_CACHE_HIT;
}

static struct wbi_cache_entry *make_entry(struct wbi_key key, const struct wbi_cache_id *id)
{
    const struct wbi_str parts[4] = {id->tool, id->version, id->content_hash, id->partition};
    struct wbi_cache_entry *e;
    size_t n = 0;
    char *at;

    for (size_t i = 0; i < 4; i++)
        n += parts[i].n;
    e = wbi_zalloc(sizeof(*e) + n);
    if (e == NULL)
        return NULL;
    e->key = key;
    memcpy(e->input_hash, id->input_hash, WBI_SHA256_SIZE);
    at = e->parts;
    for (size_t i = 0; i < 4; i++) {
        e->part_n[i] = parts[i].n;
        if (parts[i].n > 0)
            memcpy(at, parts[i].p, parts[i].n);
        at += parts[i].n;
    }
    return e;
}

wb_rc wbi_cache_lead(struct wbi_cache *c, const struct wbi_cache_id *id,
                     struct wbi_cache_entry **ret)
{
    struct wbi_key key = key_of(c, id);
    struct wbi_cache_entry *e;
    void *slot;
    wb_rc rc;

    if (find(c, key) != NULL) {
        *ret = NULL; /* another identity with the same hash */
        return WB_OK;
    }
    e = make_entry(key, id);
    if (e == NULL)
        return WB_ENOMEM;
    rc = wbi_table_add(&c->table, key, &slot);
    if (rc != WB_OK) {
        wbi_free(e);
        return rc;
    }
    *(struct wbi_cache_entry **)slot = e;
    *ret = e;
    return WB_OK;
}

void wbi_cache_wait(struct wbi_cache *c, const struct wbi_cache_id *id, struct wbi_cache_waiter *w)
{
    struct wbi_cache_entry *e = find(c, key_of(c, id));

    w->entry = e;
    if (e == NULL)
        return;
    w->next = NULL;
    w->prev = e->last_waiter;
    *(e->last_waiter ? &e->last_waiter->next : &e->first_waiter) = w;
    e->last_waiter = w;
}

void wbi_cache_leave(struct wbi_cache_waiter *w)
{
    struct wbi_cache_entry *e = w->entry;

    if (e == NULL)
        return;
    *(w->prev ? &w->prev->next : &e->first_waiter) = w->next;
    *(w->next ? &w->next->prev : &e->last_waiter) = w->prev;
    w->next = w->prev = NULL;
    w->entry = NULL;
}

static struct wbi_cache_waiter *take_waiters(struct wbi_cache_entry *e)
{
    struct wbi_cache_waiter *first = e->first_waiter;

    for (struct wbi_cache_waiter *w = first; w != NULL; w = w->next)
        w->entry = NULL;
    e->first_waiter = e->last_waiter = NULL;
    return first;
}

struct wbi_cache_waiter *wbi_cache_cancel(struct wbi_cache *c, struct wbi_cache_entry *flight)
{
    struct wbi_cache_waiter *waiters = take_waiters(flight);

    discard(c, flight);
    return waiters;
}

struct wbi_cache_waiter *wbi_cache_settle(struct wbi_cache *c, struct wbi_cache_entry *flight,
                                          struct wbi_str bytes, int64_t now_ns, int64_t ttl_ns)
{
    struct wbi_cache_waiter *waiters;

    if (ttl_ns <= 0 || bytes.p == NULL || bytes.n > WBI_LIMIT_CACHE_ENTRY ||
        bytes.n > c->max_bytes / 2)
        return wbi_cache_cancel(c, flight);
    flight->bytes = wbi_strdup(bytes);
    if (flight->bytes == NULL)
        return wbi_cache_cancel(c, flight);
    waiters = take_waiters(flight);
    flight->bytes_n = bytes.n;
    flight->expires_ns = wbi_time_after(now_ns, ttl_ns);
    list_put_newest(c, flight);
    c->bytes += size_of(flight);
    while (c->bytes > c->max_bytes && c->oldest != flight)
        discard(c, c->oldest);
    return waiters;
}
