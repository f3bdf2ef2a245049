/* SPDX-License-Identifier: Apache-2.0
 * guard/cache.h: outcomes of Pure calls, kept for a while (C8.7).
 * Key: tool, resolved version, content hash of its definition, hash of the
 * canonical input, authorization partition; all compared in full. Identical
 * calls meanwhile wait for the one that runs (single flight). Least recently
 * used entries go first when the size cap is reached. Fresh while
 * now < stored + ttl. Loop thread only. */
#ifndef WBI_GUARD_CACHE_H
#define WBI_GUARD_CACHE_H

#include "base/hash.h"
#include "guard/table.h"

struct wbi_cache_id {
    struct wbi_str tool;
    struct wbi_str version;
    struct wbi_str content_hash;
    struct wbi_str partition;
    const uint8_t *input_hash; /* WBI_SHA256_SIZE bytes */
};

struct wbi_cache_entry; /* as a handle: the flight a leader holds */

struct wbi_cache_waiter {
    struct wbi_cache_waiter *next, *prev;
    struct wbi_cache_entry *entry; /* NULL: not waiting */
};

struct wbi_cache {
    struct wbi_table table; /* struct wbi_cache_entry * */
    struct wbi_cache_entry *newest, *oldest;
    size_t bytes, max_bytes;
    uint64_t seed;
};

enum wbi_cache_answer { WBI_CACHE_MISS = 0, WBI_CACHE_HIT, WBI_CACHE_FLYING };

void wbi_cache_init(struct wbi_cache *c, size_t max_bytes, uint64_t seed);
/* No waiter may be left. */
void wbi_cache_fini(struct wbi_cache *c);
/* HIT: *ret_bytes live until the cache is next changed. */
enum wbi_cache_answer wbi_cache_admit(struct wbi_cache *c, const struct wbi_cache_id *id,
                                      int64_t now_ns, struct wbi_str *ret_bytes);
/* After a MISS: this call runs for all. *ret is NULL (and rc WB_OK) when the
 * call has to go without a cache because its hash met another one's. */
WB_MUST_CHECK wb_rc wbi_cache_lead(struct wbi_cache *c, const struct wbi_cache_id *id,
                                   struct wbi_cache_entry **ret);
/* After FLYING: wait for the leader. */
void wbi_cache_wait(struct wbi_cache *c, const struct wbi_cache_id *id, struct wbi_cache_waiter *w);
/* Nothing happens to a waiter that does not wait. */
void wbi_cache_leave(struct wbi_cache_waiter *w);
/* The leader's Ok outcome, kept for ttl_ns (not at all when that is <= 0, when
 * it is larger than an entry may be, or out of memory). Both return the former
 * waiters as a list by next, oldest first: they ask again. flight is gone. */
struct wbi_cache_waiter *wbi_cache_settle(struct wbi_cache *c, struct wbi_cache_entry *flight,
                                          struct wbi_str bytes, int64_t now_ns, int64_t ttl_ns);
struct wbi_cache_waiter *wbi_cache_cancel(struct wbi_cache *c, struct wbi_cache_entry *flight);

#endif
