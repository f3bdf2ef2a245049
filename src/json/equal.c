/* SPDX-License-Identifier: Apache-2.0
 * json/equal.c: equality of values, without recursion on the C stack. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/json_int.h"

/* A whole double in plain digits, all of them exact, against kept digits. */
static bool big_equals_real(const wbi_json *big, const wbi_json *real)
{
    char digits[320];
    int n = snprintf(digits, sizeof(digits), "%.0f", wbi_json_num(real));

    return n > 0 && wbi_json_num(big) == wbi_json_num(real) &&
           wbi_str_eq(wbi_json_str(big), wbi_str_make(digits, (size_t)n));
}

static bool numbers_equal(const wbi_json *a, const wbi_json *b)
{
    enum wbi_json_type ta = wbi_json_type(a), tb = wbi_json_type(b);
    int64_t ia, ib;
    uint64_t ua, ub;

    if (ta == WBI_JSON_BIG && tb == WBI_JSON_REAL)
        return big_equals_real(a, b);
    if (ta == WBI_JSON_REAL && tb == WBI_JSON_BIG)
        return big_equals_real(b, a);
    if (ta == WBI_JSON_BIG || tb == WBI_JSON_BIG)
        return ta == tb && wbi_str_eq(wbi_json_str(a), wbi_json_str(b));
    if (ta == WBI_JSON_REAL && tb == WBI_JSON_REAL)
        return wbi_json_num(a) == wbi_json_num(b);
    if (wbi_json_i64(a, &ia) && wbi_json_i64(b, &ib))
        return ia == ib;
    return wbi_json_u64(a, &ua) && wbi_json_u64(b, &ub) && ua == ub;
}

static bool is_number(enum wbi_json_type t)
{
    return t == WBI_JSON_INT || t == WBI_JSON_REAL || t == WBI_JSON_BIG;
}

/* Equal apart from children. */
static bool heads_equal(const wbi_json *a, const wbi_json *b)
{
    enum wbi_json_type ta = wbi_json_type(a), tb = wbi_json_type(b);

    if (is_number(ta) && is_number(tb))
        return numbers_equal(a, b);
    if (ta != tb)
        return false;
    if (ta == WBI_JSON_STR)
        return wbi_str_eq(wbi_json_str(a), wbi_json_str(b));
    if (ta == WBI_JSON_BOOL)
        return wbi_json_true(a) == wbi_json_true(b);
    return wbi_json_count(a) == wbi_json_count(b);
}

/* Members of a large object by name, so that comparing two of them in another
 * order is not quadratic. Open addressing; slots is a power of two. */
struct index {
    size_t slots;
    const wbi_json *keys[];
};

#define INDEX_FROM 64

static uint64_t seed_of(const struct index *x)
{
    return (uint64_t)(uintptr_t)x * UINT64_C(0x9e3779b97f4a7c15);
}

/* NULL for want of memory: the plain search gives the same answer, only later. */
static struct index *index_new(const wbi_json *o)
{
    size_t slots = INDEX_FROM;
    struct index *x;

    while (slots < wbi_json_count(o) * 2)
        slots *= 2;
    x = wbi_zalloc(sizeof(*x) + slots * sizeof(const wbi_json *));
    if (x == NULL)
        return NULL;
    x->slots = slots;
    WBI_JSON_EACH_MEMBER (o, k) {
        struct wbi_str name = wbi_json_str(k);
        size_t at = wbi_hash64(name.p, name.n, seed_of(x)) & (slots - 1);
        while (x->keys[at] != NULL)
            at = (at + 1) & (slots - 1);
        x->keys[at] = k;
    }
    return x;
}

static const wbi_json *index_get(const struct index *x, struct wbi_str name)
{
    size_t at = wbi_hash64(name.p, name.n, seed_of(x)) & (x->slots - 1);

    for (; x->keys[at] != NULL; at = (at + 1) & (x->slots - 1))
        if (wbi_str_eq(wbi_json_str(x->keys[at]), name))
            return x->keys[at] + 1;
    return NULL;
}

/* A pair of containers whose children are compared one by one; for objects
 * `next` walks the members of a and b's are looked up by name. */
struct pair {
    const wbi_json *next;
    const wbi_json *b;
    const wbi_json *b_next;
    size_t left;
    struct index *index; /* of b, once a large object's order differs */
};

static const wbi_json *member_of_b(struct pair *p, struct wbi_str name)
{
    if (wbi_str_eq(wbi_json_str(p->b_next), name)) /* usually the same order */
        return p->b_next + 1;
    if (p->index == NULL && wbi_json_count(p->b) >= INDEX_FROM)
        p->index = index_new(p->b);
    return p->index ? index_get(p->index, name) : wbi_json_getn(p->b, name);
}

/* The next two children to compare; false when b lacks the member. */
static bool step(struct pair *p, const wbi_json **a, const wbi_json **b)
{
    p->left--;
    if (wbi_json_is(p->b, WBI_JSON_OBJ)) {
        *a = p->next + 1;
        *b = member_of_b(p, wbi_json_str(p->next));
        p->next = wbi_json_skip(*a);
        if (p->left > 0)
            p->b_next = wbi_json_skip(p->b_next + 1);
        return *b != NULL;
    }
    *a = p->next;
    *b = p->b_next;
    p->next = wbi_json_skip(*a);
    p->b_next = wbi_json_skip(*b);
    return true;
}

static void close_pairs(struct pair *stack, size_t *depth, size_t keep)
{
    while (*depth > keep)
        wbi_free(stack[--*depth].index);
}

static void drop_finished(struct pair *stack, size_t *depth)
{
    while (*depth > 0 && stack[*depth - 1].left == 0)
        close_pairs(stack, depth, *depth - 1);
}

bool wbi_json_equal(const wbi_json *a, const wbi_json *b)
{
    WBI_LARGE_LOCAL struct pair stack[WBI_LIMIT_JSON_DEPTH];
    size_t depth = 0;
    bool equal = false;

    if (a == NULL || b == NULL)
        return a == b;
    while (heads_equal(a, b)) {
        if (wbi_json_count(a) > 0) {
            if (depth == WBI_LIMIT_JSON_DEPTH)
                break;
            stack[depth++] = (struct pair){a + 1, b, b + 1, wbi_json_count(a), NULL};
        }
        drop_finished(stack, &depth);
        equal = depth == 0;
        if (equal || !step(&stack[depth - 1], &a, &b))
            break;
    }
    close_pairs(stack, &depth, 0);
    return equal;
}
