/* SPDX-License-Identifier: Apache-2.0
 * call/kept.c: facts wait for the disk, as their interface promises. */
#include "call/kept.h"

#include "base/limits.h"
#include "store/store.h"

static wb_rc check_key(struct wbi_str key, struct wbi_error *err)
{
    if (wbi_fact_key_ok(key))
        return WB_OK;
    return wbi_fail(err, WB_EINPUT, "bad key for a fact: %.*s", WBI_FMT(wbi_str_head(key, 80)));
}

static wb_rc changed_meanwhile(struct wbi_error *err)
{
    return wbi_fail(err, WB_EAGAIN, "the fact was changed meanwhile");
}

/* The generation under which the key has that text. */
static wb_rc generation_of(const struct wbi_kept *k, struct wbi_str key, struct wbi_str had,
                           int64_t *ret, struct wbi_error *err)
{
    struct wbi_arena *arena;
    struct wbi_entry entry;
    bool same;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_store_get(k->store, arena, k->table, key, &entry, err);
    same = rc == WB_OK ? had.p != NULL && wbi_str_eq(entry.value, had) : had.p == NULL;
    *ret = rc == WB_OK ? entry.generation : WBI_MUST_BE_NEW;
    wbi_arena_free(arena);
    if (rc != WB_OK && rc != WB_ENOTFOUND)
        return rc;
    return same ? WB_OK : changed_meanwhile(err);
}

static wb_rc put(void *arg, struct wbi_str key, const struct wbi_str *had, struct wbi_str json,
                 struct wbi_error *err)
{
    const struct wbi_kept *k = arg;
    int64_t generation = WBI_ANY_GENERATION;
    wb_rc rc = check_key(key, err);

    if (rc == WB_OK && had != NULL)
        rc = generation_of(k, key, *had, &generation, err);
    if (rc == WB_OK)
        rc = wbi_store_put(k->store, k->table, key, json, generation, NULL, err);
    return rc == WB_EEXISTS || rc == WB_ENOTFOUND ? changed_meanwhile(err) : rc;
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
