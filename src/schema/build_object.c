/* SPDX-License-Identifier: Apache-2.0
 * schema/build_object.c: keywords about objects and arrays.
 * "unevaluated*" without anything beside it that could evaluate is the same as
 * "additionalProperties"/"items" and is built as such; what is fully covered
 * by those is dropped. Only the rest has to be tracked while validating. */
#include "schema/compile_int.h"

static wb_rc child(struct wbi_build *b, const wbi_json *value, uint32_t *ret)
{
    return wbi_compile_node(b->c, value, b->resource, ret);
}

static wb_rc optional_child(struct wbi_build *b, enum wbi_keyword k, uint32_t *ret)
{
    const wbi_json *v = wbi_build_get(b, k);

    *ret = NO_NODE;
    return v == NULL ? WB_OK : child(b, v, ret);
}

static wb_rc want(struct wbi_build *b, enum wbi_keyword k, enum wbi_json_type type,
                  const char *what)
{
    const wbi_json *v = wbi_build_get(b, k);

    if (v == NULL || wbi_json_is(v, type))
        return WB_OK;
    return wbi_compile_fail(b->c, v, WB_EINPUT, "\"%.*s\" must be %s",
                            WBI_FMT(wbi_keyword_row(k)->name), what);
}

static wb_rc want_names(struct wbi_build *b, const wbi_json *list)
{
    if (!wbi_json_is(list, WBI_JSON_ARR))
        return wbi_compile_fail(b->c, list, WB_EINPUT, "a list of member names is needed here");
    WBI_JSON_EACH (list, e) {
        if (!wbi_json_is(e, WBI_JSON_STR))
            return wbi_compile_fail(b->c, e, WB_EINPUT, "a member name must be a string");
    }
    return WB_OK;
}

static wb_rc build_names(struct wbi_build *b, struct wbi_object_checks *o, size_t extra)
{
    const wbi_json *properties = wbi_build_get(b, KW_PROPERTIES);
    size_t n = wbi_json_count(properties);
    wb_rc rc = WB_OK;

    o->names.list = wbi_arena_array(b->c->arena, n + extra, sizeof(*o->names.list));
    if (o->names.list == NULL)
        return wbi_fail_nomem(b->c->err);
    WBI_JSON_EACH_MEMBER (properties, k) {
        struct wbi_name *name = &o->names.list[o->names.count];
        if (rc != WB_OK)
            break;
        *name = (struct wbi_name){
            .p = wbi_json_text(k).p, .n = (uint32_t)wbi_json_text(k).n, .flags = NAME_DECLARED};
        rc = child(b, k_val, &name->value);
        o->names.count++;
    }
    return rc;
}

/* Required names that are no properties join the table, without a schema. */
static void add_required(struct wbi_object_checks *o, const wbi_json *required)
{
    uint64_t bit = 1;

    WBI_JSON_EACH (required, e) {
        struct wbi_str s = wbi_json_text(e);
        uint32_t i = 0;
        while (i < o->names.count &&
               !wbi_str_eq(wbi_str_make(o->names.list[i].p, o->names.list[i].n), s))
            i++;
        if (i == o->names.count)
            o->names.list[o->names.count++] =
                (struct wbi_name){.p = s.p, .n = (uint32_t)s.n, .value = NO_NODE};
        o->names.list[i].bit |= bit;
        o->required_mask |= bit;
        bit <<= 1;
    }
}

#define BITS_FOR_REQUIRED 64

static wb_rc build_members(struct wbi_build *b, struct wbi_object_checks *o)
{
    const wbi_json *required = wbi_build_get(b, KW_REQUIRED);
    size_t n = wbi_json_count(required);
    bool masked;
    wb_rc rc = required != NULL ? want_names(b, required) : WB_OK;

    if (rc == WB_OK)
        rc = want(b, KW_PROPERTIES, WBI_JSON_OBJ, "an object of schemas");
    if (rc != WB_OK)
        return rc;
    /* A look-up by linear search: only where both lists are short. */
    masked = n <= BITS_FOR_REQUIRED && wbi_json_count(wbi_build_get(b, KW_PROPERTIES)) <= 1024;
    rc = build_names(b, o, masked ? n : 0);
    if (rc != WB_OK)
        return rc;
    if (masked)
        add_required(o, required);
    else if (n > 0)
        o->required_rest = required;
    if (wbi_names_build(&o->names, b->c->arena) != WB_OK)
        return wbi_fail_nomem(b->c->err);
    return WB_OK;
}

static wb_rc build_patterns(struct wbi_build *b, struct wbi_object_checks *o)
{
    const wbi_json *patterns = wbi_build_get(b, KW_PATTERN_PROPERTIES);
    wb_rc rc = want(b, KW_PATTERN_PROPERTIES, WBI_JSON_OBJ, "an object of schemas");

    if (rc != WB_OK || patterns == NULL)
        return rc;
    o->patterns = wbi_arena_array(b->c->arena, wbi_json_count(patterns), sizeof(*o->patterns));
    if (o->patterns == NULL)
        return wbi_fail_nomem(b->c->err);
    WBI_JSON_EACH_MEMBER (patterns, k) {
        struct wbi_pattern_property *p = &o->patterns[o->n_patterns];
        rc = wbi_build_regex(b, k, &p->regex);
        if (rc == WB_OK)
            rc = child(b, k_val, &p->node);
        if (rc != WB_OK)
            return rc;
        o->n_patterns++;
    }
    return WB_OK;
}

static wb_rc add_dependencies(struct wbi_build *b, struct wbi_object_checks *o, enum wbi_keyword k)
{
    wb_rc rc = WB_OK;

    WBI_JSON_EACH_MEMBER (wbi_build_get(b, k), name) {
        if (rc != WB_OK)
            break;
        if (k == KW_DEPENDENCIES && !wbi_json_is(name_val, WBI_JSON_ARR))
            continue; /* a schema: build_ops.c */
        rc = want_names(b, name_val);
        o->dependencies[o->n_dependencies++] =
            (struct wbi_dependency){wbi_json_text(name), name_val};
    }
    return rc;
}

static wb_rc build_dependencies(struct wbi_build *b, struct wbi_object_checks *o)
{
    const wbi_json *new_style = wbi_build_get(b, KW_DEPENDENT_REQUIRED);
    const wbi_json *old_style = wbi_build_get(b, KW_DEPENDENCIES);
    wb_rc rc = want(b, KW_DEPENDENT_REQUIRED, WBI_JSON_OBJ, "an object of name lists");

    if (rc == WB_OK)
        rc = want(b, KW_DEPENDENCIES, WBI_JSON_OBJ, "an object");
    if (rc != WB_OK || (new_style == NULL && old_style == NULL))
        return rc;
    o->dependencies =
        wbi_arena_array(b->c->arena, wbi_json_count(new_style) + wbi_json_count(old_style),
                        sizeof(*o->dependencies));
    if (o->dependencies == NULL)
        return wbi_fail_nomem(b->c->err);
    rc = add_dependencies(b, o, KW_DEPENDENT_REQUIRED);
    return rc == WB_OK ? add_dependencies(b, o, KW_DEPENDENCIES) : rc;
}

static wb_rc build_additional(struct wbi_build *b, struct wbi_object_checks *o)
{
    wb_rc rc = optional_child(b, KW_ADDITIONAL_PROPERTIES, &o->additional);

    o->additional_keyword = KW_ADDITIONAL_PROPERTIES;
    if (rc == WB_OK)
        rc = optional_child(b, KW_UNEVALUATED_PROPERTIES, &o->unevaluated);
    if (rc != WB_OK || o->unevaluated == NO_NODE)
        return rc;
    if (o->additional == NO_NODE && b->node.n_ops == 0) {
        o->additional = o->unevaluated;
        o->additional_keyword = KW_UNEVALUATED_PROPERTIES;
    }
    if (o->additional != NO_NODE)
        o->unevaluated = NO_NODE;
    else
        b->node.flags |= NODE_TRACKS;
    return WB_OK;
}

static const uint64_t object_keywords =
    UINT64_C(1) << KW_PROPERTIES | UINT64_C(1) << KW_PATTERN_PROPERTIES |
    UINT64_C(1) << KW_ADDITIONAL_PROPERTIES | UINT64_C(1) << KW_PROPERTY_NAMES |
    UINT64_C(1) << KW_REQUIRED | UINT64_C(1) << KW_MIN_PROPERTIES |
    UINT64_C(1) << KW_MAX_PROPERTIES | UINT64_C(1) << KW_DEPENDENT_REQUIRED |
    UINT64_C(1) << KW_DEPENDENCIES | UINT64_C(1) << KW_UNEVALUATED_PROPERTIES;

wb_rc wbi_build_object(struct wbi_build *b)
{
    struct wbi_object_checks *o;
    wb_rc rc;

    if ((b->present & object_keywords) == 0)
        return WB_OK;
    o = wbi_arena_zalloc(b->c->arena, sizeof(*o));
    if (o == NULL)
        return wbi_fail_nomem(b->c->err);
    o->max = UINT64_MAX;
    rc = wbi_build_count(b, KW_MIN_PROPERTIES, &o->min);
    if (rc == WB_OK)
        rc = wbi_build_count(b, KW_MAX_PROPERTIES, &o->max);
    if (rc == WB_OK)
        rc = build_members(b, o);
    if (rc == WB_OK)
        rc = build_patterns(b, o);
    if (rc == WB_OK)
        rc = build_additional(b, o);
    if (rc == WB_OK)
        rc = optional_child(b, KW_PROPERTY_NAMES, &o->names_node);
    if (rc == WB_OK)
        rc = build_dependencies(b, o);
    o->simple = o->n_patterns == 0 && o->names_node == NO_NODE;
    b->node.object = o;
    return rc;
}

static wb_rc build_prefix(struct wbi_build *b, struct wbi_array_checks *a, const wbi_json *list)
{
    wb_rc rc = WB_OK;

    if (!wbi_json_is(list, WBI_JSON_ARR))
        return wbi_compile_fail(b->c, list, WB_EINPUT, "\"prefixItems\" must be a list of schemas");
    a->prefix = wbi_arena_array(b->c->arena, wbi_json_count(list), sizeof(*a->prefix));
    if (a->prefix == NULL)
        return wbi_fail_nomem(b->c->err);
    WBI_JSON_EACH (list, e) {
        if (rc == WB_OK)
            rc = child(b, e, &a->prefix[a->n_prefix++]);
    }
    return rc;
}

static wb_rc build_items(struct wbi_build *b, struct wbi_array_checks *a)
{
    const wbi_json *items = wbi_build_get(b, KW_ITEMS);
    const wbi_json *prefix = wbi_build_get(b, KW_PREFIX_ITEMS);
    wb_rc rc = WB_OK;

    a->rest = NO_NODE;
    a->rest_keyword = KW_ITEMS;
    if (b->dialect.draft == IN_07 && wbi_json_is(items, WBI_JSON_ARR)) {
        a->rest_keyword = KW_ADDITIONAL_ITEMS;
        prefix = items;
        items = wbi_build_get(b, KW_ADDITIONAL_ITEMS);
    }
    if (prefix != NULL)
        rc = build_prefix(b, a, prefix);
    if (rc == WB_OK && items != NULL)
        rc = child(b, items, &a->rest);
    if (rc == WB_OK)
        rc = optional_child(b, KW_UNEVALUATED_ITEMS, &a->unevaluated);
    if (rc != WB_OK || a->unevaluated == NO_NODE)
        return rc;
    if (a->rest == NO_NODE && b->node.n_ops == 0 && a->contains == NO_NODE) {
        a->rest = a->unevaluated;
        a->rest_keyword = KW_UNEVALUATED_ITEMS;
    }
    if (a->rest != NO_NODE)
        a->unevaluated = NO_NODE;
    else
        b->node.flags |= NODE_TRACKS;
    return WB_OK;
}

static wb_rc build_contains(struct wbi_build *b, struct wbi_array_checks *a)
{
    wb_rc rc = optional_child(b, KW_CONTAINS, &a->contains);

    a->min_contains = 1;
    a->max_contains = UINT64_MAX;
    a->contains_marks = b->dialect.draft == IN_2020;
    if (rc == WB_OK)
        rc = wbi_build_count(b, KW_MIN_CONTAINS, &a->min_contains);
    if (rc == WB_OK)
        rc = wbi_build_count(b, KW_MAX_CONTAINS, &a->max_contains);
    return rc;
}

static const uint64_t array_keywords =
    UINT64_C(1) << KW_ITEMS | UINT64_C(1) << KW_PREFIX_ITEMS | UINT64_C(1) << KW_CONTAINS |
    UINT64_C(1) << KW_MIN_ITEMS | UINT64_C(1) << KW_MAX_ITEMS | UINT64_C(1) << KW_UNIQUE_ITEMS |
    UINT64_C(1) << KW_UNEVALUATED_ITEMS;

wb_rc wbi_build_array(struct wbi_build *b)
{
    struct wbi_array_checks *a;
    wb_rc rc;

    if ((b->present & array_keywords) == 0)
        return WB_OK;
    a = wbi_arena_zalloc(b->c->arena, sizeof(*a));
    if (a == NULL)
        return wbi_fail_nomem(b->c->err);
    a->max = UINT64_MAX;
    rc = wbi_build_count(b, KW_MIN_ITEMS, &a->min);
    if (rc == WB_OK)
        rc = wbi_build_count(b, KW_MAX_ITEMS, &a->max);
    if (rc == WB_OK)
        rc = want(b, KW_UNIQUE_ITEMS, WBI_JSON_BOOL, "a boolean");
    if (rc == WB_OK)
        rc = build_contains(b, a);
    if (rc == WB_OK)
        rc = build_items(b, a);
    a->unique = wbi_json_true(wbi_build_get(b, KW_UNIQUE_ITEMS));
    b->node.array = a;
    return rc;
}
