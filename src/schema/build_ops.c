/* SPDX-License-Identifier: Apache-2.0
 * schema/build_ops.c: keywords that apply schemas to the same value, and the
 * definitions, which apply nothing but may be referred to. */
#include "base/checked.h"
#include "schema/compile_int.h"

struct ops {
    struct wbi_build *b;
    uint32_t n;
};

static struct wbi_op *add_op(struct ops *o, enum wbi_op_kind kind, enum wbi_keyword keyword)
{
    struct wbi_op *op = &o->b->node.ops[o->n++];

    *op = (struct wbi_op){.kind = (uint8_t)kind,
                          .keyword = (uint8_t)keyword,
                          .node = NO_NODE,
                          .then_node = NO_NODE,
                          .else_node = NO_NODE,
                          .name = WBI_NONE};
    return op;
}

static wb_rc child(struct wbi_build *b, const wbi_json *value, uint32_t *ret)
{
    return wbi_compile_node(b->c, value, b->resource, ret);
}

static wb_rc add_ref(struct ops *o, enum wbi_keyword k)
{
    struct wbi_compiler *c = o->b->c;
    const wbi_json *v = wbi_build_get(o->b, k);
    wb_rc rc;

    if (v == NULL)
        return WB_OK;
    if (!wbi_json_is(v, WBI_JSON_STR))
        return wbi_compile_fail(c, v, WB_EINPUT, "\"%.*s\" must be a string",
                                WBI_FMT(wbi_keyword_row(k)->name));
    rc = wbi_compile_room(c, (void **)&c->pending, &c->cap_pending, c->n_pending,
                          sizeof(*c->pending));
    if (rc != WB_OK)
        return rc;
    c->pending[c->n_pending++] = (struct wbi_pending){
        add_op(o, k == KW_REF ? OP_REF : OP_DYNAMIC_REF, k), v, o->b->resource};
    return WB_OK;
}

static wb_rc want_list(struct wbi_build *b, enum wbi_keyword k)
{
    const wbi_json *v = wbi_build_get(b, k);

    if (v == NULL || (wbi_json_is(v, WBI_JSON_ARR) && wbi_json_count(v) > 0))
        return WB_OK;
    return wbi_compile_fail(b->c, v, WB_EINPUT, "\"%.*s\" must be a list of schemas, not empty",
                            WBI_FMT(wbi_keyword_row(k)->name));
}

static wb_rc add_all(struct ops *o)
{
    wb_rc rc = WB_OK;

    WBI_JSON_EACH (wbi_build_get(o->b, KW_ALL_OF), e) {
        if (rc == WB_OK)
            rc = child(o->b, e, &add_op(o, OP_REF, KW_ALL_OF)->node);
    }
    return rc;
}

static wb_rc add_choice(struct ops *o, enum wbi_keyword k, enum wbi_op_kind kind)
{
    const wbi_json *list = wbi_build_get(o->b, k);
    struct wbi_op *op;
    wb_rc rc = WB_OK;

    if (list == NULL)
        return WB_OK;
    op = add_op(o, kind, k);
    op->list = wbi_arena_array(o->b->c->arena, wbi_json_count(list), sizeof(*op->list));
    if (op->list == NULL)
        return wbi_fail_nomem(o->b->c->err);
    WBI_JSON_EACH (list, e) {
        if (rc == WB_OK)
            rc = child(o->b, e, &op->list[op->n++]);
    }
    return rc;
}

static wb_rc add_single(struct ops *o)
{
    const wbi_json *not = wbi_build_get(o->b, KW_NOT), *condition = wbi_build_get(o->b, KW_IF);
    const wbi_json *then = wbi_build_get(o->b, KW_THEN), *other = wbi_build_get(o->b, KW_ELSE);
    uint32_t unused;
    struct wbi_op *op;
    wb_rc rc = WB_OK;

    if (not != NULL)
        rc = child(o->b, not, &add_op(o, OP_NOT, KW_NOT)->node);
    op = condition != NULL ? add_op(o, OP_IF, KW_IF) : NULL;
    if (rc == WB_OK && condition != NULL)
        rc = child(o->b, condition, &op->node);
    if (rc == WB_OK && then != NULL)
        rc = child(o->b, then, op != NULL ? &op->then_node : &unused);
    if (rc == WB_OK && other != NULL)
        rc = child(o->b, other, op != NULL ? &op->else_node : &unused);
    return rc;
}

static wb_rc add_dependents(struct ops *o, enum wbi_keyword k)
{
    const wbi_json *list = wbi_build_get(o->b, k);
    wb_rc rc = WB_OK;

    if (list != NULL && !wbi_json_is(list, WBI_JSON_OBJ))
        return wbi_compile_fail(o->b->c, list, WB_EINPUT, "\"%.*s\" must be an object of schemas",
                                WBI_FMT(wbi_keyword_row(k)->name));
    WBI_JSON_EACH_MEMBER (list, name) {
        struct wbi_op *op;
        if (rc != WB_OK)
            break;
        if (k == KW_DEPENDENCIES && wbi_json_is(name_val, WBI_JSON_ARR))
            continue; /* a list of names: build_object.c */
        op = add_op(o, OP_DEPENDENT, k);
        op->name = wbi_json_text(name);
        rc = child(o->b, name_val, &op->node);
    }
    return rc;
}

static wb_rc build_definitions(struct wbi_build *b)
{
    static const enum wbi_keyword all[] = {KW_DEFS, KW_DEFINITIONS};
    uint32_t unused;
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < WBI_COUNT(all); i++) {
        const wbi_json *list = wbi_build_get(b, all[i]);
        if (list != NULL && !wbi_json_is(list, WBI_JSON_OBJ))
            return wbi_compile_fail(b->c, list, WB_EINPUT, "\"%.*s\" must be an object of schemas",
                                    WBI_FMT(wbi_keyword_row(all[i])->name));
        WBI_JSON_EACH_MEMBER (list, name) {
            if (rc == WB_OK)
                rc = child(b, name_val, &unused);
        }
    }
    return rc;
}

static size_t count_ops(const struct wbi_build *b)
{
    static const uint64_t single = UINT64_C(1) << KW_REF | UINT64_C(1) << KW_DYNAMIC_REF |
                                   UINT64_C(1) << KW_ANY_OF | UINT64_C(1) << KW_ONE_OF |
                                   UINT64_C(1) << KW_NOT | UINT64_C(1) << KW_IF;

    return (size_t)__builtin_popcountll(b->present & single) +
           wbi_json_count(wbi_build_get(b, KW_ALL_OF)) +
           wbi_json_count(wbi_build_get(b, KW_DEPENDENT_SCHEMAS)) +
           wbi_json_count(wbi_build_get(b, KW_DEPENDENCIES));
}

static const uint64_t op_keywords =
    UINT64_C(1) << KW_REF | UINT64_C(1) << KW_DYNAMIC_REF | UINT64_C(1) << KW_ANY_OF |
    UINT64_C(1) << KW_ONE_OF | UINT64_C(1) << KW_NOT | UINT64_C(1) << KW_IF |
    UINT64_C(1) << KW_THEN | UINT64_C(1) << KW_ELSE | UINT64_C(1) << KW_ALL_OF |
    UINT64_C(1) << KW_DEPENDENT_SCHEMAS | UINT64_C(1) << KW_DEPENDENCIES | UINT64_C(1) << KW_DEFS |
    UINT64_C(1) << KW_DEFINITIONS;

wb_rc wbi_build_ops(struct wbi_build *b)
{
    struct ops o = {b, 0};
    wb_rc rc;

    if ((b->present & op_keywords) == 0)
        return WB_OK;
    b->node.ops = wbi_arena_array(b->c->arena, count_ops(b), sizeof(*b->node.ops));
    if (b->node.ops == NULL)
        return wbi_fail_nomem(b->c->err);
    rc = build_definitions(b);
    if (rc == WB_OK)
        rc = want_list(b, KW_ALL_OF);
    if (rc == WB_OK)
        rc = want_list(b, KW_ANY_OF);
    if (rc == WB_OK)
        rc = want_list(b, KW_ONE_OF);
    if (rc == WB_OK)
        rc = add_ref(&o, KW_REF);
    if (rc == WB_OK)
        rc = add_ref(&o, KW_DYNAMIC_REF);
    if (rc == WB_OK)
        rc = add_all(&o);
    if (rc == WB_OK)
        rc = add_choice(&o, KW_ANY_OF, OP_ANY_OF);
    if (rc == WB_OK)
        rc = add_choice(&o, KW_ONE_OF, OP_ONE_OF);
    if (rc == WB_OK)
        rc = add_single(&o);
    if (rc == WB_OK)
        rc = add_dependents(&o, KW_DEPENDENT_SCHEMAS);
    if (rc == WB_OK)
        rc = add_dependents(&o, KW_DEPENDENCIES);
    b->node.n_ops = o.n;
    return rc;
}
