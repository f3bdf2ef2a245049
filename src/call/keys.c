/* SPDX-License-Identifier: Apache-2.0
 * call/keys.c: one entry per (principal, tool, key) in the store's table "keys":
 * {"state", "fingerprint", "expires", "inFlight", "expiresMono", "inFlightMono",
 * "owner", "outcome"?}. The key itself is kept as its hash. A claim whose process
 * is dead is unknown at once, whatever time it had left.
 *
 * Times stand twice: on the wall clock, and on the monotonic one, which all
 * processes of a boot share. The latter counts within one boot, so that a wall
 * clock that steps between two processes neither forgets a key nor loses a claim.
 *
 * How a call ended is known here even if the disk does not take it: such entries stay in
 * memory, are what this process goes by, and are tried again with the next key and at the
 * end. */
#include "call/keys.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "store/lock.h"
#include "store/store.h"

struct unsettled {
    struct unsettled *next;
    char key[WBI_SHA256_HEX];
    struct wbi_str value; /* absent: the key is as new */
    char text[];
};

struct wbi_keys {
    struct wbi_idem_store store;
    struct wbi_runtime *rt;
    struct wbi_arena *arena; /* holds the outcome last looked up */
    struct unsettled *unsettled;
    size_t unsettled_bytes;
};

#define TABLE WBI_LIT("keys")
#define UNSETTLED_BYTES (4u * WBI_MIB) /* beyond it a key is unknown once its process ended */

static wb_rc entry_key(const struct wbi_idem_id *id, char hex[WBI_SHA256_HEX])
{
    const struct wbi_str parts[] = {id->principal, id->tool, id->key};
    uint8_t sum[WBI_SHA256_SIZE];
    struct wbi_sha256 *h = NULL;
    wb_rc rc = wbi_sha256_new(&h);

    for (size_t i = 0; rc == WB_OK && i < 3; i++) {
        uint64_t n = parts[i].n; /* lengths keep neighbours apart */
        rc = wbi_sha256_add(h, &n, sizeof(n));
        if (rc == WB_OK)
            rc = wbi_sha256_add(h, parts[i].p, parts[i].n);
    }
    if (rc == WB_OK)
        rc = wbi_sha256_end(h, sum);
    wbi_sha256_free(h);
    if (rc == WB_OK)
        wbi_hex(sum, sizeof(sum), hex);
    return rc;
}

/* The time `at` of one clock on another, when both show the times given. */
static int64_t on_other_clock(int64_t at, int64_t here, int64_t there)
{
    int64_t left, ret;

    if (at == INT64_MAX || !wbi_sub(at, here, &left) || !wbi_add(there, left, &ret))
        return INT64_MAX; /* never */
    return ret;
}

static int64_t mono_ms(const struct wbi_keys *k)
{
    return wbi_now_ns(&k->rt->clock) / WBI_NS_PER_MS;
}

/* Times of a process of this boot, as this process dates them. */
static void read_times(const struct wbi_keys *k, const wbi_json *v, int64_t now_ms,
                       struct wbi_idem_record *ret)
{
    struct wbi_str boot = wbi_owner_boot(wbi_str_z(wbi_store_owner(k->rt->store)));
    int64_t expires, in_flight;

    if (boot.n == 0 || !wbi_str_eq(boot, wbi_owner_boot(wbi_json_get_str(v, "owner"))) ||
        !wbi_json_i64(wbi_json_get(v, "expiresMono"), &expires) ||
        !wbi_json_i64(wbi_json_get(v, "inFlightMono"), &in_flight))
        return;
    ret->expires_ms = on_other_clock(expires, mono_ms(k), now_ms);
    ret->in_flight_ms = on_other_clock(in_flight, mono_ms(k), now_ms);
}

static wb_rc read_record(const wbi_json *v, struct wbi_idem_record *ret)
{
    int64_t state;

    if (!wbi_json_i64(wbi_json_get(v, "state"), &state) ||
        !wbi_json_i64(wbi_json_get(v, "expires"), &ret->expires_ms) ||
        !wbi_json_i64(wbi_json_get(v, "inFlight"), &ret->in_flight_ms) ||
        wbi_json_get_str(v, "fingerprint").n != 2 * WBI_SHA256_SIZE ||
        !wbi_unhex(wbi_json_get_str(v, "fingerprint"), ret->fingerprint))
        return WB_ESTATE;
    ret->state = (enum wbi_idem_state)state;
    ret->outcome = wbi_json_get_str(v, "outcome");
    return WB_OK;
}

static wb_rc open_store(struct wbi_keys *k)
{
    struct wbi_error *why = &k->rt->why_unchecked;
    wb_rc rc;

    wbi_error_clear(why);
    rc = wbi_runtime_open_ledger(k->rt, why);
    if (rc == WB_OK && wbi_store_own(k->rt->store, why) != WB_OK)
        rc = WB_ESTATE; /* nobody could tell later that a claim is ours */
    return rc;
}

/* To tell what was done no claim is needed, so also where nothing can be written. */
static wb_rc open_to_read(struct wbi_keys *k)
{
    wb_rc rc;

    wbi_error_clear(&k->rt->why_unchecked);
    rc = wbi_runtime_open_ledger(k->rt, &k->rt->why_unchecked);
    if (rc == WB_OK && wbi_store_own(k->rt->store, NULL) != WB_OK)
        return WB_OK; /* without a boot to compare, times on the wall clock count */
    return rc;
}

static void forget(struct wbi_keys *k, struct unsettled **at)
{
    struct unsettled *u = *at;

    *at = u->next;
    k->unsettled_bytes -= u->value.n;
    wbi_free(u);
}

static struct unsettled **find_unsettled(struct wbi_keys *k, const char *key)
{
    struct unsettled **at = &k->unsettled;

    while (*at != NULL && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

/* What the disk did not take, if it does now; ends at the first that it does not. */
static void settle_again(struct wbi_keys *k)
{
    struct unsettled *u;
    wb_rc rc = WB_OK;

    while ((u = k->unsettled) != NULL && rc == WB_OK) {
        rc = u->value.p != NULL ? wbi_store_put(k->rt->store, TABLE, wbi_str_z(u->key), u->value,
                                                WBI_ANY_GENERATION, NULL, NULL)
                                : wbi_store_delete(k->rt->store, TABLE, wbi_str_z(u->key),
                                                   WBI_ANY_GENERATION, NULL);
        if (rc == WB_ENOTFOUND)
            rc = WB_OK;
        if (rc == WB_OK)
            forget(k, &k->unsettled);
    }
}

void wbi_keys_settle(struct wbi_keys *k)
{
    if (k != NULL && k->rt->store != NULL)
        settle_again(k);
}

/* rc is what the store said. */
static wb_rc remember(struct wbi_keys *k, wb_rc rc, const char *key, struct wbi_str value)
{
    struct unsettled *u, **known = find_unsettled(k, key);

    if (*known != NULL)
        forget(k, known);
    if (value.n > UNSETTLED_BYTES - WBI_MIN(k->unsettled_bytes, UNSETTLED_BYTES))
        return rc;
    u = wbi_zalloc(sizeof(*u) + value.n);
    if (u == NULL)
        return rc;
    memcpy(u->key, key, sizeof(u->key));
    if (value.n > 0)
        memcpy(u->text, value.p, value.n);
    if (value.p != NULL)
        u->value = wbi_str_make(u->text, value.n);
    u->next = k->unsettled;
    k->unsettled = u;
    k->unsettled_bytes += value.n;
    return rc;
}

/* The entry as this process knows it. */
static wb_rc get_entry(struct wbi_keys *k, const char *key, struct wbi_entry *ret)
{
    const struct unsettled *u;

    settle_again(k);
    u = *find_unsettled(k, key);
    if (u == NULL)
        return wbi_store_get(k->rt->store, k->arena, TABLE, wbi_str_z(key), ret,
                             &k->rt->why_unchecked);
    *ret = (struct wbi_entry){.value = u->value, .generation = WBI_ANY_GENERATION};
    return u->value.p != NULL ? WB_OK : WB_ENOTFOUND;
}

static wb_rc look_up(struct wbi_keys *k, const struct wbi_idem_id *id, int64_t now_ms,
                     struct wbi_idem_record *ret, int64_t *ret_generation)
{
    struct wbi_entry entry;
    char key[WBI_SHA256_HEX];
    const wbi_json *v;
    wb_rc rc = open_to_read(k);

    if (rc == WB_OK)
        rc = entry_key(id, key);
    if (rc != WB_OK)
        return rc;
    wbi_arena_reset(k->arena);
    rc = get_entry(k, key, &entry);
    if (rc == WB_OK)
        rc = wbi_json_read(k->arena, entry.value, WBI_JSON_STRICT, &v, NULL);
    if (rc == WB_OK)
        rc = read_record(v, ret);
    if (rc == WB_OK)
        read_times(k, v, now_ms, ret);
    if (rc == WB_OK && ret->state == WBI_IDEM_IN_FLIGHT &&
        !wbi_store_owner_alive(k->rt->store, wbi_json_get_str(v, "owner")))
        ret->state = WBI_IDEM_UNKNOWN;
    if (rc == WB_OK)
        *ret_generation = entry.generation;
    return rc;
}

static wb_rc get(void *arg, const struct wbi_idem_id *id, int64_t now_ms,
                 struct wbi_idem_record *ret)
{
    int64_t generation;

    return look_up(arg, id, now_ms, ret, &generation);
}

#define RECORD_BYTES 1024u /* of an entry, without its outcome; an owner has some 200 */

bool wbi_keys_hold(struct wbi_str outcome)
{
    size_t most = WBI_LIMIT_STORE_VALUE - RECORD_BYTES, size = outcome.n;

    for (size_t i = 0; i < outcome.n && size <= most; i++) { /* as it is quoted */
        unsigned char c = (unsigned char)outcome.p[i];
        size += c < 0x20 ? 5 : c == '"' || c == '\\';
    }
    return size <= most;
}

static void write_record(const struct wbi_keys *k, const struct wbi_idem_record *record,
                         int64_t now_ms, struct wbi_buf *value)
{
    struct wbi_jw w = wbi_jw_to(value);
    char hex[2 * WBI_SHA256_SIZE + 1];

    wbi_hex(record->fingerprint, WBI_SHA256_SIZE, hex);
    wbi_jw_obj(&w);
    wbi_jw_kint(&w, "state", record->state);
    wbi_jw_kstrz(&w, "fingerprint", hex);
    wbi_jw_kint(&w, "expires", record->expires_ms);
    wbi_jw_kint(&w, "inFlight", record->in_flight_ms);
    wbi_jw_kint(&w, "expiresMono", on_other_clock(record->expires_ms, now_ms, mono_ms(k)));
    wbi_jw_kint(&w, "inFlightMono", on_other_clock(record->in_flight_ms, now_ms, mono_ms(k)));
    wbi_jw_kstrz(&w, "owner", wbi_store_owner(k->rt->store));
    if (record->outcome.p != NULL)
        wbi_jw_kstr(&w, "outcome", record->outcome);
    wbi_jw_obj_end(&w);
}

#define SPARE_MS (INT64_C(24) * 3600 * 1000) /* a wall clock may be wrong for a while */
enum { NEIGHBOURS = 4 };

static bool long_expired(const struct wbi_keys *k, struct wbi_arena *arena, struct wbi_str value,
                         int64_t now_ms)
{
    struct wbi_idem_record record;
    const wbi_json *v;

    if (wbi_json_read(arena, value, WBI_JSON_STRICT, &v, NULL) != WB_OK ||
        read_record(v, &record) != WB_OK)
        return false;
    read_times(k, v, now_ms, &record);
    return record.expires_ms < now_ms - SPARE_MS;
}

/* Whoever enters a key looks at a few behind it and removes those that expired long ago, unless
 * somebody claims them meanwhile. Keys are hashes, so every place is looked at as often, and the
 * table is hardly larger than what counts of it, however short processes live. */
static void forget_neighbours(struct wbi_keys *k, const char *key, int64_t now_ms)
{
    struct wbi_change gone[NEIGHBOURS];
    struct wbi_arena *arena;
    struct wbi_entry *e;
    size_t found = 0, n = 0;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return;
    if (wbi_store_list(k->rt->store, arena, TABLE, WBI_NONE, wbi_str_z(key), NEIGHBOURS, &e, &found,
                       NULL) != WB_OK)
        found = 0;
    for (size_t i = 0; i < found; i++)
        if (long_expired(k, arena, e[i].value, now_ms))
            gone[n++] = (struct wbi_change){TABLE, e[i].key, WBI_NONE, e[i].generation, 0};
    if (n > 0 && wbi_store_change_later(k->rt->store, gone, n, NULL, NULL, NULL) != WB_OK)
        n = 0; /* another time */
    wbi_arena_free(arena);
}

static wb_rc put(void *arg, const struct wbi_idem_id *id, const struct wbi_idem_record *record,
                 bool only_if_absent, int64_t now_ms)
{
    struct wbi_keys *k = arg;
    struct wbi_idem_record old;
    char key[WBI_SHA256_HEX];
    struct wbi_buf value;
    int64_t expected = only_if_absent ? WBI_MUST_BE_NEW : WBI_ANY_GENERATION, generation;
    wb_rc rc = open_store(k);

    if (rc == WB_OK)
        rc = entry_key(id, key);
    if (rc != WB_OK)
        return rc;
    /* An expired record counts as absent: the key is new again, for the first of
     * those who see it so. */
    if (only_if_absent && look_up(k, id, now_ms, &old, &generation) == WB_OK &&
        old.expires_ms <= now_ms)
        expected = generation;
    wbi_buf_init(&value, WBI_LIMIT_STORE_VALUE);
    write_record(k, record, now_ms, &value);
    rc = wbi_buf_rc(&value);
    if (rc == WB_OK) {
        rc = wbi_store_put(k->rt->store, TABLE, wbi_str_z(key), wbi_buf_str(&value), expected, NULL,
                           &k->rt->why_unchecked);
        if (rc != WB_OK && !only_if_absent)
            rc = remember(k, rc, key, wbi_buf_str(&value));
        if (rc == WB_OK && expected == WBI_MUST_BE_NEW)
            forget_neighbours(k, key, now_ms);
    }
    wbi_buf_fini(&value);
    return rc;
}

static wb_rc drop(void *arg, const struct wbi_idem_id *id)
{
    struct wbi_keys *k = arg;
    char key[WBI_SHA256_HEX];
    wb_rc rc = entry_key(id, key);

    if (rc != WB_OK)
        return rc;
    rc = open_store(k);
    if (rc == WB_OK)
        rc = wbi_store_delete(k->rt->store, TABLE, wbi_str_z(key), WBI_ANY_GENERATION, NULL);
    if (rc == WB_OK || rc == WB_ENOTFOUND)
        return WB_OK;
    return k->rt->store != NULL ? remember(k, rc, key, WBI_NONE) : rc;
}

static void free_keys(void *arg)
{
    struct wbi_keys *k = arg;
    while (k->unsettled != NULL)
        forget(k, &k->unsettled);
    wbi_arena_free(k->arena);
}

const struct wbi_idem_store *wbi_keys_store(struct wbi_runtime *rt)
{
    struct wbi_keys *k = wbi_arena_zalloc(rt->arena, sizeof(*k));

    if (k == NULL || wbi_arena_new(WBI_LIMIT_CALL_ARENA, &k->arena) != WB_OK)
        return NULL;
    if (wbi_arena_defer(rt->arena, free_keys, k) != WB_OK) {
        wbi_arena_free(k->arena);
        return NULL;
    }
    rt->keys = k;
    k->rt = rt;
    k->store = (struct wbi_idem_store){get, put, drop, k};
    return &k->store;
}
