/* SPDX-License-Identifier: Apache-2.0
 * schema/equal.c: equality and duplicates, under a budget of work.
 * As json/equal.c, but every look-up that misses its place is paid for, so
 * that no pair of objects can keep a validation busy for long. */
#include "base/alloc.h"
#include "base/limits.h"
#include "schema/schema_int.h"

struct pair {
    const wbi_json *a, *b, *b_object;
    size_t left;
};

static bool scalars_equal(const wbi_json *a, const wbi_json *b)
{
    uint8_t types = wbi_type_bits(a);

    if (types != wbi_type_bits(b))
        return false;
    if (types & BIT_NUMBER)
        return wbi_number_compare(a, b) == 0;
    if (types == BIT_STRING)
        return wbi_str_eq(wbi_json_text(a), wbi_json_text(b));
    if (types == BIT_BOOL)
        return wbi_json_true(a) == wbi_json_true(b);
    return wbi_json_count(a) == wbi_json_count(b);
}

static bool next_pair(struct pair *p, const wbi_json **a, const wbi_json **b, struct wbi_work *work)
{
    bool object = p->b_object != NULL;

    p->left--;
    *a = p->a + object;
    *b = p->b + object;
    if (object && !wbi_str_eq(wbi_json_text(p->a), wbi_json_text(p->b))) {
        work->left -= (int64_t)wbi_json_count(p->b_object);
        *b = wbi_json_getn(p->b_object, wbi_json_text(p->a));
    }
    p->a = wbi_json_skip(p->a + object);
    p->b = wbi_json_skip(p->b + object);
    return *b != NULL;
}

static bool trees_equal(const wbi_json *a, const wbi_json *b, struct wbi_work *work)
{
    struct pair stack[WBI_LIMIT_JSON_DEPTH] __attribute__((uninitialized));
    size_t depth = 0;

    for (;;) {
        if (work->left-- <= 0) {
            work->rc = work->rc == WB_OK ? WB_ELIMIT : work->rc;
            return false;
        }
        if (!scalars_equal(a, b))
            return false;
        if (wbi_json_count(a) > 0) {
            if (depth == WBI_LIMIT_JSON_DEPTH)
                return false;
            stack[depth++] = (struct pair){a + 1, b + 1, wbi_json_is(b, WBI_JSON_OBJ) ? b : NULL,
                                           wbi_json_count(a)};
        }
        while (depth > 0 && stack[depth - 1].left == 0)
            depth--;
        if (depth == 0)
            return true;
        if (!next_pair(&stack[depth - 1], &a, &b, work))
            return false;
    }
}

bool wbi_schema_equal(const wbi_json *a, const wbi_json *b, struct wbi_work *work)
{
    if (!scalars_equal(a, b))
        return false;
    return wbi_json_count(a) == 0 || trees_equal(a, b, work);
}

static uint64_t scramble(uint64_t v)
{
    v ^= v >> 32;
    v *= UINT64_C(0xd6e8feb86659fd93);
    return v ^ v >> 29;
}

static uint64_t scalar_hash(const wbi_json *v, uint64_t seed)
{
    uint8_t types = wbi_type_bits(v);
    double d;

    if (types == BIT_STRING)
        return wbi_hash64(v->uni.str, wbi_json_text(v).n, seed);
    if (types & BIT_NUMBER) { /* equal numbers have equal doubles */
        d = wbi_number_double(v);
        d = d == 0 ? 0 : d;
        return wbi_hash64(&d, sizeof(d), seed ^ 1);
    }
    if (types == BIT_BOOL)
        return scramble(seed + 2 + wbi_json_true(v));
    return scramble(seed + types + 16 * wbi_json_count(v));
}

/* Order of members must not matter, so everything inside is summed up, each
 * with the hash of its name or nothing. Deeper structure is left to equality. */
static uint64_t value_hash(const wbi_json *v, uint64_t seed, struct wbi_work *work)
{
    const wbi_json *end = wbi_json_skip(v);
    uint64_t h = 0;

    work->left -= end - v;
    for (; v < end; v++)
        h += scramble(scalar_hash(v, seed));
    return h;
}

struct slot {
    const wbi_json *value;
    uint64_t hash;
};

static bool unique_hashed(const wbi_json *array, struct wbi_work *work)
{
    size_t slots = 64, n = wbi_json_count(array);
    struct slot *table;
    bool unique = true;
    uint64_t seed;

    while (slots < n * 2)
        slots *= 2;
    table = wbi_zalloc_array(slots, sizeof(*table));
    if (table == NULL) {
        work->rc = WB_ENOMEM;
        return false;
    }
    seed = (uint64_t)(uintptr_t)table * UINT64_C(0x9e3779b97f4a7c15);
    WBI_JSON_EACH (array, e) {
        uint64_t h = value_hash(e, seed, work);
        size_t at = h & (slots - 1);

        for (; unique && table[at].value != NULL; at = (at + 1) & (slots - 1))
            if (table[at].hash == h && wbi_schema_equal(table[at].value, e, work))
                unique = false;
        if (!unique || work->left < 0)
            break;
        table[at] = (struct slot){e, h};
    }
    wbi_free(table);
    if (unique && work->left < 0) {
        work->rc = WB_ELIMIT;
        return false;
    }
    return unique;
}

#define PAIRWISE_UP_TO 16

bool wbi_schema_unique(const wbi_json *array, struct wbi_work *work)
{
    size_t i = 0;

    if (wbi_json_count(array) > PAIRWISE_UP_TO)
        return unique_hashed(array, work);
    WBI_JSON_EACH (array, a) {
        size_t j = 0;
        WBI_JSON_EACH (array, b) {
            if (j++ >= i)
                break;
            if (wbi_schema_equal(a, b, work))
                return false;
        }
        i++;
    }
    return work->rc == WB_OK;
}
