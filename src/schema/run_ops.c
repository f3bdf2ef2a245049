/* SPDX-License-Identifier: Apache-2.0
 * schema/run_ops.c: schemas for the same value: references, choices,
 * conditions; and what none of them looked at (unevaluated*). */
#include "schema/run_int.h"

static const struct wbi_node *dynamic_target(const struct run *r, const struct wbi_op *op)
{
    uint32_t last = NO_NODE;

    for (size_t i = 0; i < r->depth; i++) {
        uint32_t resource = r->frames[i].node->resource;
        const struct wbi_dynamic_anchor *d = r->schema->resources[resource].dynamic;

        if (resource == last)
            continue;
        last = resource;
        for (; d != NULL; d = d->next)
            if (wbi_str_eq(d->name, op->name))
                return &r->nodes[d->node];
    }
    return &r->nodes[op->node];
}

static enum answer follow(struct run *r, struct frame *f, const struct wbi_op *op)
{
    uint32_t node = op->node;

    if (f->waiting)
        return take(r, f);
    if (op->kind == OP_DYNAMIC_REF) {
        pay(r, r->depth);
        node = (uint32_t)(dynamic_target(r, op) - r->nodes);
    }
    return evaluate(r, node, f->instance, true);
}

static bool begin_branch(struct run *r, struct frame *f, const struct wbi_op *op)
{
    if (r->errors == NULL)
        return true;
    if (f->sub == 0)
        f->starts = wbi_arena_array(r->errors->arena, (size_t)op->n + 1, sizeof(*f->starts));
    if (f->starts == NULL) {
        stop(r, WB_ENOMEM);
        return false;
    }
    f->starts[f->sub] = r->errors->n;
    f->starts[f->sub + 1] = r->errors->n;
    return true;
}

static enum answer end_choice(struct run *r, struct frame *f, const struct wbi_op *op)
{
    bool ok = op->kind == OP_ANY_OF ? f->matches > 0 : f->matches == 1;

    if (r->errors == NULL || stopped(r))
        return ok ? PASS : FAIL;
    f->starts[f->sub] = r->errors->n;
    if (f->matches > 0)
        r->errors->n = f->starts[0];
    if (ok)
        return PASS;
    if (f->matches > 0)
        complain(r, f->node, KW_ONE_OF, f->instance, NULL, f->matches);
    else
        wbi_raw_choose(r->errors, r->schema, f->node, op, f->instance, f->starts, r->work);
    return FAIL;
}

static enum answer choose(struct run *r, struct frame *f, const struct wbi_op *op)
{
    while (f->waiting || f->sub < op->n) {
        enum answer a;

        if (f->waiting) {
            a = take(r, f);
        } else {
            if (!begin_branch(r, f, op))
                return FAIL;
            a = evaluate(r, op->list[f->sub], f->instance, true);
            if (a == WAIT)
                return WAIT;
        }
        f->sub++;
        f->matches += a == PASS;
        if (a == PASS && !f->track && (op->kind == OP_ANY_OF || f->matches > 1))
            break;
    }
    return end_choice(r, f, op);
}

static void forget_errors(struct run *r, const struct frame *f)
{
    if (r->errors != NULL && r->errors->n > f->error_mark)
        r->errors->n = f->error_mark;
}

static enum answer negate(struct run *r, struct frame *f, const struct wbi_op *op)
{
    enum answer a;

    if (f->waiting) {
        a = take(r, f);
    } else {
        f->error_mark = r->errors != NULL ? r->errors->n : 0;
        a = evaluate(r, op->node, f->instance, false);
    }
    if (a == WAIT)
        return WAIT;
    forget_errors(r, f);
    if (a == FAIL)
        return PASS;
    complain(r, f->node, KW_NOT, f->instance, NULL, 0);
    return FAIL;
}

/* sub: 0 the condition, 1 then, 2 else, 3 waiting for one of them. */
static enum answer decide(struct run *r, struct frame *f, const struct wbi_op *op)
{
    uint32_t next;
    enum answer a;

    if (f->sub == 3)
        return take(r, f);
    if (f->waiting) {
        a = take(r, f);
    } else {
        if (op->then_node == NO_NODE && op->else_node == NO_NODE && !f->track)
            return PASS;
        f->error_mark = r->errors != NULL ? r->errors->n : 0;
        a = evaluate(r, op->node, f->instance, true);
    }
    if (a == WAIT)
        return WAIT;
    forget_errors(r, f);
    next = a == PASS ? op->then_node : op->else_node;
    f->sub = 3;
    return next == NO_NODE ? PASS : evaluate(r, next, f->instance, true);
}

static enum answer depend(struct run *r, struct frame *f, const struct wbi_op *op)
{
    if (f->waiting)
        return take(r, f);
    pay(r, wbi_json_count(f->instance));
    if (wbi_json_getn(f->instance, op->name) == NULL)
        return PASS;
    return evaluate(r, op->node, f->instance, true);
}

static enum answer apply(struct run *r, struct frame *f, const struct wbi_op *op)
{
    switch ((enum wbi_op_kind)op->kind) {
    case OP_REF:
    case OP_DYNAMIC_REF:
        return follow(r, f, op);
    case OP_ANY_OF:
    case OP_ONE_OF:
        return choose(r, f, op);
    case OP_NOT:
        return negate(r, f, op);
    case OP_IF:
        return decide(r, f, op);
    case OP_DEPENDENT:
        return depend(r, f, op);
    }
    return FAIL;
}

enum answer wbi_run_ops(struct run *r, struct frame *f)
{
    while (f->op < f->node->n_ops) {
        enum answer a = apply(r, f, &f->node->ops[f->op]);

        if (a == WAIT)
            return WAIT;
        if (a == FAIL) {
            f->ok = false;
            if (r->errors == NULL)
                return FAIL;
        }
        if (stopped(r))
            return FAIL;
        f->op++;
        f->sub = f->matches = 0;
    }
    return PASS;
}

/* ---- what nobody looked at ---- */

static bool is_marked(const struct run *r, const struct frame *f, size_t index)
{
    return (r->words[f->marks + index / 64] >> (index % 64) & 1) != 0;
}

enum answer wbi_run_unevaluated(struct run *r, struct frame *f)
{
    bool object = wbi_json_is(f->instance, WBI_JSON_OBJ);
    uint32_t node = object ? f->node->object->unevaluated : f->node->array->unevaluated;
    enum wbi_keyword keyword = object ? KW_UNEVALUATED_PROPERTIES : KW_UNEVALUATED_ITEMS;

    for (; f->left > 0; f->left--, f->index++, f->cursor = wbi_json_skip(f->cursor + object)) {
        enum answer a = PASS;

        if (f->waiting)
            a = take(r, f);
        else if (f->track && !is_marked(r, f, f->index))
            a = evaluate_rest(r, f, node, f->cursor + object, keyword);
        if (a == WAIT)
            return WAIT;
        mark(r, f, f->index);
        if (a == FAIL) {
            f->ok = false;
            if (r->errors == NULL)
                return FAIL;
        }
    }
    return PASS;
}
