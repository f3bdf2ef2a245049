/* SPDX-License-Identifier: Apache-2.0
 * json/equal.c: equality of values, without recursion on the C stack. */
#include "base/limits.h"
#include "json/json.h"

static bool numbers_equal(const wbi_json *a, const wbi_json *b)
{
    enum wbi_json_type ta = wbi_json_type(a), tb = wbi_json_type(b);
    int64_t ia, ib;
    uint64_t ua, ub;

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

/* A pair of containers whose children are compared one by one; for objects
 * `next` walks the members of a and b's are looked up by name. */
struct pair {
    const wbi_json *next;
    const wbi_json *b;
    const wbi_json *b_next;
    size_t left;
};

static bool open_pair(struct pair *p, const wbi_json *a, const wbi_json *b)
{
    *p = (struct pair){a + 1, b, b + 1, wbi_json_count(a)};
    return p->left > 0;
}

/* The next two children to compare; false when b lacks the member. */
static bool step(struct pair *p, const wbi_json **a, const wbi_json **b)
{
    p->left--;
    if (wbi_json_is(p->b, WBI_JSON_OBJ)) {
        struct wbi_str name = wbi_json_str(p->next);
        const wbi_json *same_place = p->b_next; /* usually the same order */

        *a = p->next + 1;
        *b = wbi_str_eq(wbi_json_str(same_place), name) ? same_place + 1
                                                        : wbi_json_getn(p->b, name);
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

bool wbi_json_equal(const wbi_json *a, const wbi_json *b)
{
    struct pair stack[WBI_LIMIT_JSON_DEPTH];
    size_t depth = 0;

    if (a == NULL || b == NULL)
        return a == b;
    for (;;) {
        if (!heads_equal(a, b))
            return false;
        if (wbi_json_count(a) > 0 && wbi_json_type(a) == wbi_json_type(b)) {
            if (depth == WBI_LIMIT_JSON_DEPTH)
                return false;
            (void)open_pair(&stack[depth++], a, b); /* count is above 0 */
        }
        while (depth > 0 && stack[depth - 1].left == 0)
            depth--;
        if (depth == 0)
            return true;
        if (!step(&stack[depth - 1], &a, &b))
            return false;
    }
}
