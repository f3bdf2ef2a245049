/* SPDX-License-Identifier: Apache-2.0
 * call/kept.c: facts wait for the disk, as their interface promises. Budgets do
 * not: their change is queued in front of the intent of the call they let in,
 * so it is on the disk before any effect. */
#include "call/kept.h"

#include "base/hash.h"
#include "base/limits.h"
#include "json/write.h"
#include "store/store.h"

/* ---- facts ---- */

static wb_rc check_key(struct wbi_str key, struct wbi_error *err)
{
    if (wbi_fact_key_ok(key))
        return WB_OK;
    return wbi_fail(err, WB_EINPUT, "bad key for a fact: %.*s", WBI_FMT(wbi_str_head(key, 80)));
}

static wb_rc put(void *arg, struct wbi_str key, struct wbi_str json, struct wbi_error *err)
{
    const struct wbi_kept *k = arg;
    wb_rc rc = check_key(key, err);

    if (rc == WB_OK)
        rc = wbi_store_put(k->store, k->table, key, json, WBI_ANY_GENERATION, NULL, err);
    return rc;
}

static wb_rc get(void *arg, struct wbi_str key, struct wbi_arena *arena, struct wbi_str *ret,
                 struct wbi_error *err)
{
    const struct wbi_kept *k = arg;
    struct wbi_entry entry;
    wb_rc rc = check_key(key, err);

    if (rc == WB_OK)
        rc = wbi_store_get(k->store, arena, k->table, key, &entry, err);
    if (rc == WB_OK)
        *ret = entry.value;
    return rc;
}

enum { LIST_AT_ONCE = 256 };

/* In chunks: nothing is held open while each() works. */
static wb_rc list(void *arg, bool (*each)(void *, struct wbi_str), void *each_arg,
                  struct wbi_error *err)
{
    const struct wbi_kept *k = arg;
    char last[WBI_FACT_KEY_MAX + 1];
    struct wbi_str after = WBI_NONE;
    struct wbi_entry *entries;
    struct wbi_arena *arena;
    bool go_on = true;
    size_t n = 1;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    while (rc == WB_OK && go_on && n > 0) {
        rc = wbi_store_list(k->store, arena, k->table, WBI_NONE, after, LIST_AT_ONCE, &entries, &n,
                            err);
        for (size_t i = 0; rc == WB_OK && go_on && i < n; i++)
            go_on = !wbi_fact_key_ok(entries[i].key) || each(each_arg, entries[i].key);
        if (rc == WB_OK && n > 0 && entries[n - 1].key.n <= WBI_FACT_KEY_MAX) {
            memcpy(last, entries[n - 1].key.p, entries[n - 1].key.n);
            after = wbi_str_make(last, entries[n - 1].key.n);
        } else {
            n = 0; /* the end, or a key that is none of ours */
        }
        wbi_arena_reset(arena);
    }
    wbi_arena_free(arena);
    return rc;
}

static wb_rc discard(void *arg, struct wbi_str key, struct wbi_error *err)
{
    const struct wbi_kept *k = arg;
    wb_rc rc = check_key(key, err);

    if (rc == WB_OK)
        rc = wbi_store_delete(k->store, k->table, key, WBI_ANY_GENERATION, err);
    return rc == WB_ENOTFOUND ? WB_OK : rc;
}

struct wbi_facts wbi_kept_facts(struct wbi_kept *k)
{
    return (struct wbi_facts){k, put, get, list, discard};
}

/* ---- budgets ---- */

#define BUDGETS WBI_LIT("budgets")

struct budgets {
    struct wbi_budget_store store;
    struct wbi_runtime *rt;
};

/* Ids come from configuration and may be long. */
static wb_rc budget_key(struct wbi_str id, char hex[WBI_SHA256_HEX])
{
    uint8_t sum[WBI_SHA256_SIZE];
    wb_rc rc = wbi_sha256(id.p, id.n, sum);

    if (rc == WB_OK)
        wbi_hex(sum, sizeof(sum), hex);
    return rc;
}

static wb_rc load(void *arg, struct wbi_str id, struct wbi_budget_record *ret)
{
    struct budgets *b = arg;
    struct wbi_budget_record r;
    char key[WBI_SHA256_HEX];
    struct wbi_entry entry;
    struct wbi_arena *arena;
    const wbi_json *v;
    wb_rc rc = wbi_runtime_open_ledger(b->rt, NULL);

    if (rc == WB_OK)
        rc = budget_key(id, key);
    if (rc != WB_OK || (rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena)) != WB_OK)
        return rc;
    rc = wbi_store_get(b->rt->store, arena, BUDGETS, wbi_str_z(key), &entry, NULL);
    if (rc == WB_OK)
        rc = wbi_json_read(arena, entry.value, WBI_JSON_STRICT, &v, NULL);
    if (rc == WB_OK && !(wbi_json_i64(wbi_json_get(v, "start"), &r.start_wall_ms) &&
                         wbi_json_i64(wbi_json_get(v, "calls"), &r.spent.calls) &&
                         wbi_json_i64(wbi_json_get(v, "timeNs"), &r.spent.time_ns) &&
                         wbi_json_i64(wbi_json_get(v, "cost"), &r.spent.cost)))
        rc = WB_ESTATE;
    if (rc == WB_OK)
        *ret = r;
    wbi_arena_free(arena);
    return rc;
}

static wb_rc save(void *arg, struct wbi_str id, const struct wbi_budget_record *record)
{
    struct budgets *b = arg;
    char key[WBI_SHA256_HEX];
    struct wbi_change change = {.table = BUDGETS, .expected = WBI_ANY_GENERATION};
    struct wbi_buf value;
    struct wbi_jw w = wbi_jw_to(&value);
    wb_rc rc = wbi_runtime_open_ledger(b->rt, NULL);

    if (rc == WB_OK)
        rc = budget_key(id, key);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&value, WBI_LIMIT_STORE_VALUE);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "id", id);
    wbi_jw_kint(&w, "start", record->start_wall_ms);
    wbi_jw_kint(&w, "calls", record->spent.calls);
    wbi_jw_kint(&w, "timeNs", record->spent.time_ns);
    wbi_jw_kint(&w, "cost", record->spent.cost);
    wbi_jw_obj_end(&w);
    change.key = wbi_str_z(key);
    change.value = wbi_buf_str(&value);
    rc = wbi_buf_rc(&value);
    if (rc == WB_OK)
        rc = wbi_store_change_later(b->rt->store, &change, 1, NULL, NULL, NULL);
    wbi_buf_fini(&value);
    return rc;
}

const struct wbi_budget_store *wbi_kept_budgets(struct wbi_runtime *rt)
{
    struct budgets *b = wbi_arena_zalloc(rt->arena, sizeof(*b));

    if (b == NULL)
        return NULL;
    b->rt = rt;
    b->store = (struct wbi_budget_store){load, save, b};
    return &b->store;
}
