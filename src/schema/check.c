/* SPDX-License-Identifier: Apache-2.0
 * schema/check.c: values alone, and shallow objects and arrays without a
 * frame. A node's level is one more than its deepest child's and fixed by the
 * compiler, so the recursion here is at most SHALLOW_LEVEL calls deep. */
#include "base/utf8.h"
#include "schema/schema_int.h"

#define FULL_EFFORT_COST 1000000u

bool wbi_check_matches(const struct wbi_regex *regex, struct wbi_str s, struct wbi_work *work)
{
    enum wbi_regex_verdict v;

    wbi_work_pay(work, 8 + s.n / 8);
    v = wbi_regex_test(regex, s, WBI_REGEX_QUICK);
    if (v == WBI_REGEX_LIMIT && work->rc == WB_OK) {
        wbi_work_pay(work, FULL_EFFORT_COST);
        if (work->rc == WB_OK)
            v = wbi_regex_test(regex, s, WBI_REGEX_FULL);
    }
    if (v == WBI_REGEX_LIMIT)
        wbi_work_stop(work, WB_ELIMIT);
    return v == WBI_REGEX_YES;
}

static enum wbi_keyword check_length(const struct wbi_string_checks *c, struct wbi_str s)
{
    size_t n;

    if (s.n <= c->max_length && s.n / 4 >= c->min_length)
        return KW_NONE; /* n bytes are n / 4 to n characters */
    n = wbi_utf8_count(s);
    if (n < c->min_length)
        return KW_MIN_LENGTH;
    return n > c->max_length ? KW_MAX_LENGTH : KW_NONE;
}

static enum wbi_keyword check_string(const struct wbi_string_checks *c, const wbi_json *v,
                                     struct wbi_work *work)
{
    struct wbi_str s = wbi_json_text(v);
    enum wbi_keyword bad = check_length(c, s);

    if (bad != KW_NONE)
        return bad;
    if (c->pattern != NULL && !wbi_check_matches(c->pattern, s, work))
        return KW_PATTERN;
    if (c->format != FORMAT_NONE) {
        wbi_work_pay(work, 8 + s.n / 8);
        if (!wbi_format_valid(c->format, s))
            return KW_FORMAT;
    }
    return KW_NONE;
}

static enum wbi_keyword check_number_slow(const struct wbi_number_checks *c, const wbi_json *v)
{
    if (c->minimum != NULL && wbi_number_compare(v, c->minimum) < 0)
        return KW_MINIMUM;
    if (c->maximum != NULL && wbi_number_compare(v, c->maximum) > 0)
        return KW_MAXIMUM;
    if (c->exclusive_minimum != NULL && wbi_number_compare(v, c->exclusive_minimum) <= 0)
        return KW_EXCLUSIVE_MINIMUM;
    if (c->exclusive_maximum != NULL && wbi_number_compare(v, c->exclusive_maximum) >= 0)
        return KW_EXCLUSIVE_MAXIMUM;
    if (c->multiple_of != NULL && !wbi_number_multiple(v, c->multiple_of))
        return KW_MULTIPLE_OF;
    return KW_NONE;
}

static enum wbi_keyword check_number(const struct wbi_number_checks *c, const wbi_json *v,
                                     struct wbi_work *work)
{
    uint8_t tag = v->tag & 0x1f;

    if (c->int_bounds &&
        (tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT) ||
         (tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT) && v->uni.u64 <= INT64_MAX)) &&
        v->uni.i64 >= c->low && v->uni.i64 <= c->high)
        return KW_NONE;
    if (wbi_json_is(v, WBI_JSON_BIG))
        wbi_work_pay(work, wbi_json_text(v).n);
    return check_number_slow(c, v);
}

static bool listed(const struct wbi_enum_checks *e, const wbi_json *v, struct wbi_work *work)
{
    if ((v->tag & 7) == YYJSON_TYPE_STR) {
        struct wbi_str s = wbi_json_text(v);
        return wbi_names_find(&e->strings, s.p, s.n) != NULL;
    }
    wbi_work_pay(work, e->n_others);
    for (uint32_t i = 0; i < e->n_others; i++)
        if (wbi_schema_equal(e->others[i], v, work))
            return true;
    return false;
}

enum wbi_keyword wbi_check_value(const struct wbi_node *n, const wbi_json *v, uint8_t bits,
                                 struct wbi_work *work)
{
    enum wbi_keyword bad = KW_NONE;

    if (n->enums != NULL && !listed(n->enums, v, work))
        return KW_ENUM;
    if (n->constant != NULL && !wbi_schema_equal(n->constant, v, work))
        return KW_CONST;
    if (n->string != NULL && bits == BIT_STRING)
        bad = check_string(n->string, v, work);
    else if (n->number != NULL && (bits & BIT_NUMBER) != 0)
        bad = check_number(n->number, v, work);
    return bad;
}

static bool check_shallow_value(const struct wbi_node *n, const wbi_json *v, uint8_t bits,
                                struct wbi_work *work)
{
    if ((n->flags & NODE_CHECKS) == 0)
        return true;
    return wbi_check_value(n, v, bits, work) == KW_NONE;
}

static bool shallow_object(const struct wbi_node *nodes, const struct wbi_object_checks *o,
                           const wbi_json *v, struct wbi_work *work)
{
    size_t left = (size_t)(v->tag >> YYJSON_TAG_BIT);
    const wbi_json *key = v + 1;
    uint64_t seen = 0;

    wbi_work_pay(work, left);
    if (left < o->min || left > o->max)
        return false;
    for (; left > 0; left--, key = wbi_json_skip(key + 1)) {
        const struct wbi_name *name =
            wbi_names_find(&o->names, key->uni.str, (size_t)(key->tag >> YYJSON_TAG_BIT));
        uint32_t node = o->additional;

        if (name != NULL) {
            seen |= name->bit;
            if ((name->flags & NAME_TYPE_ONLY) != 0) {
                if ((name->types & wbi_type_bits(key + 1)) == 0)
                    return false;
                continue;
            }
            if ((name->flags & NAME_DECLARED) != 0)
                node = name->value;
        }
        if (node != NO_NODE && !wbi_check_shallow(nodes, &nodes[node], key + 1, work))
            return false;
    }
    return (seen & o->required_mask) == o->required_mask;
}

static bool shallow_array(const struct wbi_node *nodes, const struct wbi_array_checks *a,
                          const wbi_json *v, struct wbi_work *work)
{
    size_t left = (size_t)(v->tag >> YYJSON_TAG_BIT);
    const wbi_json *item = v + 1;
    const struct wbi_node *n = a->rest == NO_NODE ? NULL : &nodes[a->rest];

    wbi_work_pay(work, left);
    if (left < a->min || left > a->max)
        return false;
    for (; n != NULL && left > 0; left--, item = wbi_json_skip(item)) {
        if ((n->flags & NODE_TYPE_ONLY) != 0 ? (n->types & wbi_type_bits(item)) == 0
                                             : !wbi_check_shallow(nodes, n, item, work))
            return false;
    }
    return true;
}

bool wbi_check_shallow(const struct wbi_node *nodes, const struct wbi_node *n, const wbi_json *v,
                       struct wbi_work *work)
{
    uint8_t bits = wbi_type_bits(v);

    if ((n->types & bits) == 0 || !check_shallow_value(n, v, bits, work))
        return false;
    if (bits == BIT_OBJECT && n->object != NULL)
        return shallow_object(nodes, n->object, v, work);
    if (bits == BIT_ARRAY && n->array != NULL)
        return shallow_array(nodes, n->array, v, work);
    return true;
}
