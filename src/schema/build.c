/* SPDX-License-Identifier: Apache-2.0
 * schema/build.c: one schema object becomes one node; keywords about single
 * values. Shapes are checked here, so that a wrong schema is refused by name
 * and place before anything is validated with it. */

#include "base/checked.h"
#include "base/limits.h"
#include "schema/compile_int.h"

static uint8_t type_named(struct wbi_str name)
{
    static const struct {
        const char *name;
        uint8_t bits;
    } table[] = {{"string", BIT_STRING}, {"object", BIT_OBJECT}, {"integer", BIT_INTEGER},
                 {"number", BIT_NUMBER}, {"boolean", BIT_BOOL},  {"array", BIT_ARRAY},
                 {"null", BIT_NULL}};

    for (size_t i = 0; i < WBI_COUNT(table); i++)
        if (wbi_str_eqz(name, table[i].name))
            return table[i].bits;
    return 0;
}

static wb_rc build_type(struct wbi_build *b)
{
    const wbi_json *type = wbi_build_get(b, KW_TYPE);

    if (type == NULL)
        return WB_OK;
    if (wbi_json_is(type, WBI_JSON_STR)) {
        b->node.types = type_named(wbi_json_text(type));
        if (b->node.types == 0)
            return wbi_compile_fail(b->c, type, WB_EINPUT, "there is no type \"%.*s\"",
                                    WBI_FMT(wbi_json_text(type)));
        return WB_OK;
    }
    if (wbi_json_count(type) == 0 || !wbi_json_is(type, WBI_JSON_ARR))
        return wbi_compile_fail(b->c, type, WB_EINPUT,
                                "\"type\" must be a type name or a list of type names");
    b->node.types = 0;
    WBI_JSON_EACH (type, e) {
        uint8_t bits = wbi_json_is(e, WBI_JSON_STR) ? type_named(wbi_json_text(e)) : 0;
        if (bits == 0)
            return wbi_compile_fail(b->c, e, WB_EINPUT, "\"type\" lists something that is no type");
        b->node.types |= bits;
    }
    return WB_OK;
}

static bool is_number(const wbi_json *v)
{
    return v != NULL && (wbi_type_bits(v) & BIT_NUMBER) != 0;
}

/* Integer bounds for the fast path; false when they are not all small integers. */
static bool int_bounds(struct wbi_number_checks *n)
{
    int64_t v;

    n->low = INT64_MIN;
    n->high = INT64_MAX;
    if (n->minimum != NULL) {
        if (!wbi_json_i64(n->minimum, &v))
            return false;
        n->low = v;
    }
    if (n->exclusive_minimum != NULL) {
        if (!wbi_json_i64(n->exclusive_minimum, &v) || v == INT64_MAX)
            return false;
        n->low = WBI_MAX(n->low, v + 1);
    }
    if (n->maximum != NULL) {
        if (!wbi_json_i64(n->maximum, &v))
            return false;
        n->high = v;
    }
    if (n->exclusive_maximum != NULL) {
        if (!wbi_json_i64(n->exclusive_maximum, &v) || v == INT64_MIN)
            return false;
        n->high = WBI_MIN(n->high, v - 1);
    }
    return n->multiple_of == NULL;
}

static wb_rc build_number(struct wbi_build *b)
{
    static const enum wbi_keyword all[] = {KW_MINIMUM, KW_MAXIMUM, KW_EXCLUSIVE_MINIMUM,
                                           KW_EXCLUSIVE_MAXIMUM, KW_MULTIPLE_OF};
    struct wbi_number_checks *n;
    bool any = false;

    for (size_t i = 0; i < WBI_COUNT(all); i++) {
        const wbi_json *v = wbi_build_get(b, all[i]);
        if (v == NULL)
            continue;
        any = true;
        if (!is_number(v))
            return wbi_compile_fail(b->c, v, WB_EINPUT, "\"%.*s\" must be a number",
                                    WBI_FMT(wbi_keyword_row(all[i])->name));
    }
    if (!any)
        return WB_OK;
    n = wbi_arena_zalloc(b->c->arena, sizeof(*n));
    if (n == NULL)
        return wbi_fail_nomem(b->c->err);
    n->minimum = wbi_build_get(b, KW_MINIMUM);
    n->maximum = wbi_build_get(b, KW_MAXIMUM);
    n->exclusive_minimum = wbi_build_get(b, KW_EXCLUSIVE_MINIMUM);
    n->exclusive_maximum = wbi_build_get(b, KW_EXCLUSIVE_MAXIMUM);
    n->multiple_of = wbi_build_get(b, KW_MULTIPLE_OF);
    if (n->multiple_of != NULL && wbi_number_double(n->multiple_of) <= 0)
        return wbi_compile_fail(b->c, n->multiple_of, WB_EINPUT,
                                "\"multipleOf\" must be more than 0");
    n->int_bounds = int_bounds(n);
    b->node.number = n;
    return WB_OK;
}

wb_rc wbi_build_count(struct wbi_build *b, enum wbi_keyword k, uint64_t *ret)
{
    const wbi_json *v = wbi_build_get(b, k);

    if (v == NULL)
        return WB_OK;
    if (is_number(v) && (wbi_type_bits(v) & BIT_INTEGER) != 0 && wbi_number_double(v) >= 0) {
        if (!wbi_json_u64(v, ret))
            *ret = UINT64_MAX;
        return WB_OK;
    }
    return wbi_compile_fail(b->c, v, WB_EINPUT, "\"%.*s\" must be an integer of at least 0",
                            WBI_FMT(wbi_keyword_row(k)->name));
}

static void free_regex(void *regex)
{
    wbi_regex_free(regex);
}

wb_rc wbi_build_regex(struct wbi_build *b, const wbi_json *key, struct wbi_regex **ret)
{
    struct wbi_compiler *c = b->c;
    struct wbi_error why = WBI_ERROR_INIT;
    struct wbi_regex *regex;
    wb_rc rc;

    if (++c->n_patterns > WBI_LIMIT_SCHEMA_PATTERNS)
        return wbi_compile_fail(c, key, WB_ELIMIT, "more than %u regular expressions",
                                WBI_LIMIT_SCHEMA_PATTERNS);
    rc = wbi_regex_compile(wbi_json_text(key), WBI_REGEX_ECMA, &regex, &why);
    if (rc == WB_ENOMEM)
        return wbi_fail_nomem(c->err);
    if (rc != WB_OK)
        return wbi_compile_fail(c, key, rc, "%s", why.text);
    rc = wbi_arena_defer(c->arena, free_regex, regex);
    if (rc != WB_OK) {
        wbi_regex_free(regex);
        return wbi_fail_nomem(c->err);
    }
    *ret = regex;
    return WB_OK;
}

static wb_rc build_string_names(struct wbi_build *b, struct wbi_string_checks *s)
{
    const wbi_json *pattern = wbi_build_get(b, KW_PATTERN), *format = wbi_build_get(b, KW_FORMAT);
    bool assert = b->c->opt->format_assert || (b->dialect.vocabulary & VOCAB_FORMAT_ASSERT) != 0;

    if (format != NULL && !wbi_json_is(format, WBI_JSON_STR))
        return wbi_compile_fail(b->c, format, WB_EINPUT, "\"format\" must be a string");
    if (format != NULL && assert)
        s->format = wbi_format_find(wbi_json_text(format));
    if (pattern == NULL)
        return WB_OK;
    if (!wbi_json_is(pattern, WBI_JSON_STR))
        return wbi_compile_fail(b->c, pattern, WB_EINPUT, "\"pattern\" must be a string");
    return wbi_build_regex(b, pattern, &s->pattern);
}

static wb_rc build_string(struct wbi_build *b)
{
    struct wbi_string_checks s = {.max_length = UINT64_MAX};
    wb_rc rc = wbi_build_count(b, KW_MIN_LENGTH, &s.min_length);

    if (rc == WB_OK)
        rc = wbi_build_count(b, KW_MAX_LENGTH, &s.max_length);
    if (rc == WB_OK)
        rc = build_string_names(b, &s);
    if (rc != WB_OK)
        return rc;
    if (s.min_length == 0 && s.max_length == UINT64_MAX && s.pattern == NULL &&
        s.format == FORMAT_NONE)
        return WB_OK;
    b->node.string = wbi_arena_zalloc(b->c->arena, sizeof(s));
    if (b->node.string == NULL)
        return wbi_fail_nomem(b->c->err);
    *b->node.string = s;
    return WB_OK;
}

static wb_rc build_enum(struct wbi_build *b)
{
    const wbi_json *list = wbi_build_get(b, KW_ENUM);
    struct wbi_arena *arena = b->c->arena;
    struct wbi_enum_checks *e;
    size_t n = wbi_json_count(list);

    b->node.constant = wbi_build_get(b, KW_CONST);
    if (list == NULL)
        return WB_OK;
    if (!wbi_json_is(list, WBI_JSON_ARR))
        return wbi_compile_fail(b->c, list, WB_EINPUT, "\"enum\" must be a list of values");
    e = wbi_arena_zalloc(arena, sizeof(*e));
    if (e != NULL) {
        e->strings.list = wbi_arena_array(arena, n, sizeof(*e->strings.list));
        e->others = wbi_arena_array(arena, n, sizeof(*e->others));
    }
    if (e == NULL || e->strings.list == NULL || e->others == NULL)
        return wbi_fail_nomem(b->c->err);
    WBI_JSON_EACH (list, v) {
        struct wbi_str s = wbi_json_is(v, WBI_JSON_STR) ? wbi_json_text(v) : WBI_NONE;
        if (s.p == NULL)
            e->others[e->n_others++] = v;
        else
            e->strings.list[e->strings.count++] = (struct wbi_name){.p = s.p, .n = (uint32_t)s.n};
    }
    b->node.enums = e;
    return wbi_names_build(&e->strings, arena) == WB_OK ? WB_OK : wbi_fail_nomem(b->c->err);
}

static void collect_keywords(struct wbi_build *b, uint64_t *ret_raw)
{
    uint64_t raw = 0;

    WBI_JSON_EACH_MEMBER (b->value, k) {
        enum wbi_keyword id = wbi_keyword_find(wbi_json_text(k));
        b->keyword[id] = k_val;
        raw |= UINT64_C(1) << id;
    }
    *ret_raw = raw & ~(uint64_t)1;
}

static void set_flags(struct wbi_node *n)
{
    bool checks = n->number != NULL || n->string != NULL || n->enums != NULL || n->constant != NULL;

    n->flags |= checks ? NODE_CHECKS : 0;
    if (n->object != NULL || n->array != NULL || n->n_ops > 0)
        return;
    n->flags |= NODE_LEAF | (checks ? 0 : NODE_TYPE_ONLY);
}

static wb_rc build_groups(struct wbi_build *b)
{
    static wb_rc (*const groups[])(struct wbi_build *) = {
        build_type,    build_number,     build_string,   build_enum,
        wbi_build_ops, wbi_build_object, wbi_build_array};
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < WBI_COUNT(groups); i++)
        rc = groups[i](b);
    return rc;
}

/* In draft-07 a "$ref" hides everything beside it. */
static bool ref_alone(const struct wbi_build *b)
{
    return b->dialect.draft == IN_07 && (b->present >> KW_REF & 1) != 0;
}

wb_rc wbi_build_node(struct wbi_compiler *c, const struct wbi_job *job)
{
    struct wbi_build b __attribute__((uninitialized));
    uint64_t raw;
    wb_rc rc = WB_OK;

    b.c = c;
    b.value = job->value;
    b.resource = job->resource;
    b.dialect = c->origins[job->resource].dialect;
    b.node = c->nodes[job->node];
    if (wbi_json_is(job->value, WBI_JSON_BOOL)) {
        c->nodes[job->node].types = wbi_json_true(job->value) ? BIT_ANY : 0;
        c->nodes[job->node].flags = NODE_LEAF | NODE_TYPE_ONLY;
        return WB_OK;
    }
    if (!wbi_json_is(job->value, WBI_JSON_OBJ))
        return wbi_compile_fail(c, job->value, WB_EINPUT,
                                "a schema must be an object or a boolean, not %s",
                                wbi_json_type_name(job->value));
    collect_keywords(&b, &raw);
    b.present = raw & b.dialect.keywords;
    if (!ref_alone(&b))
        rc = wbi_load_names(&b, job->node);
    b.present = raw & b.dialect.keywords;
    if (ref_alone(&b))
        b.present = UINT64_C(1) << KW_REF;
    b.node.resource = b.resource;
    if (rc == WB_OK)
        rc = build_groups(&b);
    set_flags(&b.node);
    c->nodes[job->node] = b.node;
    return rc;
}
