/* SPDX-License-Identifier: Apache-2.0
 * schema/errors.c: the list of what failed, and which branch of a choice was
 * meant. A branch is the closer the less its errors speak against it: a wrong
 * type of the value itself, or a constant that tells branches apart, most. */
#include "base/limits.h"
#include "schema/schema_int.h"

void wbi_raw_add(struct wbi_raw_errors *list, const struct wbi_raw_error *e, struct wbi_work *work)
{
    struct wbi_raw_error *grown;
    size_t cap = list->cap == 0 ? 16 : list->cap * 2;

    if (list->n >= WBI_LIMIT_SCHEMA_RAW_ERRORS) {
        list->more = true;
        return;
    }
    if (list->n == list->cap) {
        grown = wbi_arena_grow(list->arena, list->list, list->cap * sizeof(*grown),
                               cap * sizeof(*grown));
        if (grown == NULL) {
            work->rc = WB_ENOMEM;
            return;
        }
        list->list = grown;
        list->cap = cap;
    }
    list->list[list->n++] = *e;
}

#define AGAINST_TYPE 1000u
#define AGAINST_CONSTANT 100u
#define AGAINST_NAMES 10u

/* How much an error speaks against its branch having been meant. */
static unsigned weight(const struct wbi_raw_error *e, const wbi_json *instance)
{
    bool itself = e->instance == instance;

    switch (e->keyword) {
    case KW_TYPE:
    case KW_FALSE:
        return itself ? AGAINST_TYPE : AGAINST_NAMES;
    case KW_CONST:
    case KW_ENUM:
        return AGAINST_CONSTANT;
    case KW_REQUIRED:
    case KW_ADDITIONAL_PROPERTIES:
    case KW_UNEVALUATED_PROPERTIES:
        return AGAINST_NAMES;
    default:
        return 1;
    }
}

static unsigned branch_weight(const struct wbi_raw_errors *list, size_t from, size_t to,
                              const wbi_json *instance)
{
    unsigned sum = from == to ? AGAINST_TYPE * 2 : 0;

    for (size_t i = from; i < to; i++)
        sum += weight(&list->list[i], instance);
    return sum;
}

/* Only the value itself was refused, not something inside it. */
static bool about_itself(const struct wbi_raw_errors *list, size_t from, size_t to,
                         const wbi_json *instance)
{
    for (size_t i = from; i < to; i++)
        if (list->list[i].instance != instance || list->list[i].keyword == KW_REQUIRED)
            return false;
    return true;
}

const struct wbi_node *wbi_member_node(const struct wbi_schema *schema, const struct wbi_node *node,
                                       struct wbi_str name)
{
    const struct wbi_name *known =
        node->object != NULL ? wbi_names_find(&node->object->names, name.p, name.n) : NULL;

    return known != NULL && (known->flags & NAME_DECLARED) != 0 ? &schema->nodes[known->value]
                                                                : NULL;
}

/* What all branches failed in a choice. */
struct choice {
    struct wbi_raw_errors *list;
    const struct wbi_schema *schema;
    const struct wbi_op *op;
    const wbi_json *instance;
    const size_t *starts;
    unsigned best; /* weight of the closest */
};

static bool is_constant(enum wbi_keyword keyword)
{
    return keyword == KW_CONST || keyword == KW_ENUM;
}

/* A member that says which branch is meant, wrong or missing. */
static bool tells_apart(const struct choice *c, const struct wbi_raw_error *e)
{
    const struct wbi_node *member;

    if (is_constant(e->keyword))
        return e->instance != c->instance;
    if (e->keyword != KW_REQUIRED || e->instance != c->instance)
        return false;
    member = wbi_member_node(c->schema, e->node, wbi_json_text(e->extra));
    return member != NULL && (member->constant != NULL || member->enums != NULL);
}

/* The error of a branch about the same member; NULL: there is none. */
static const struct wbi_raw_error *same_member(const struct choice *c, size_t branch,
                                               const struct wbi_raw_error *e)
{
    for (size_t i = c->starts[branch]; i < c->starts[branch + 1]; i++) {
        const struct wbi_raw_error *other = &c->list->list[i];

        if (other->instance != e->instance || !tells_apart(c, other) ||
            is_constant(other->keyword) != is_constant(e->keyword))
            continue;
        if (is_constant(e->keyword) ||
            wbi_str_eq(wbi_json_text(other->extra), wbi_json_text(e->extra)))
            return other;
    }
    return NULL;
}

/* The only error of a branch, if a member is missing; else NULL. */
static const struct wbi_raw_error *only_missing(const struct choice *c, size_t branch)
{
    const struct wbi_raw_error *e = &c->list->list[c->starts[branch]];

    return c->starts[branch + 1] == c->starts[branch] + 1 && e->keyword == KW_REQUIRED &&
                   e->instance == c->instance
               ? e
               : NULL;
}

/* One error for all branches that may be meant: e, with what the others say about the same
 * member, or about the one they miss. False when some say nothing of the kind. */
static bool told_as_one(const struct choice *c, size_t chosen, const struct wbi_raw_error *e,
                        struct wbi_work *work)
{
    bool apart = tells_apart(c, e);
    struct wbi_raw_error one = *e, *also;
    uint32_t n = 0;

    if (!apart && only_missing(c, chosen) == NULL)
        return false;
    also = wbi_arena_array(c->list->arena, c->op->n, sizeof(*also));
    if (also == NULL) {
        work->rc = WB_ENOMEM;
        return false;
    }
    for (size_t i = 0; i < c->op->n; i++) {
        unsigned w = branch_weight(c->list, c->starts[i], c->starts[i + 1], c->instance);
        const struct wbi_raw_error *other;

        if (i == chosen || w >= AGAINST_TYPE || w >= c->best + AGAINST_CONSTANT ||
            (!apart && w > c->best))
            continue;
        other = apart ? same_member(c, i, e) : only_missing(c, i);
        if (other == NULL)
            return false;
        also[n] = *other;
        also[n++].n_also = 0;
    }
    one.also = n > 0 ? also : e->also;
    one.n_also = n > 0 ? n : e->n_also;
    c->list->n = c->starts[0];
    wbi_raw_add(c->list, &one, work);
    return true;
}

void wbi_raw_choose(struct wbi_raw_errors *list, const struct wbi_schema *schema,
                    const struct wbi_node *node, const struct wbi_op *op, const wbi_json *instance,
                    const size_t *starts, struct wbi_work *work)
{
    struct wbi_raw_error whole = {node, instance, NULL, (enum wbi_keyword)op->keyword};
    struct choice all = {list, schema, op, instance, starts, 0};
    unsigned best = 0, ties = 0;
    size_t chosen = 0, n;

    for (size_t i = 0; i < op->n; i++) {
        unsigned w = branch_weight(list, starts[i], starts[i + 1], instance);
        if (i == 0 || w < best) {
            best = w;
            chosen = i;
            ties = 0;
        } else if (w == best) {
            ties++;
        }
    }
    n = starts[chosen + 1] - starts[chosen];
    if (n == 0 || best >= AGAINST_TYPE ||
        (ties > 0 && about_itself(list, starts[chosen], starts[chosen + 1], instance))) {
        list->n = starts[0];
        wbi_raw_add(list, &whole, work);
        return;
    }
    all.best = best;
    for (size_t i = starts[chosen]; i < starts[chosen + 1] && op->n > 1; i++)
        if (told_as_one(&all, chosen, &list->list[i], work))
            return;
    memmove(list->list + starts[0], list->list + starts[chosen], n * sizeof(*list->list));
    list->n = starts[0] + n;
}

#define TYPES_DEPTH 8
#define TYPES_VISITS 256

/* Union or intersection through what applies to the same value. The recursion
 * is at most TYPES_DEPTH deep and visits TYPES_VISITS nodes; past that a node
 * counts with its own types only. */
static uint8_t types_of(const struct wbi_schema *s, const struct wbi_node *n, unsigned depth,
                        unsigned *visits)
{
    uint8_t types = n->types;

    if (depth == 0 || *visits == 0)
        return types;
    for (uint32_t i = 0; i < n->n_ops; i++) {
        const struct wbi_op *op = &n->ops[i];
        uint8_t some = 0;

        if (*visits == 0)
            break;
        --*visits;
        if (op->kind == OP_REF)
            types &= types_of(s, &s->nodes[op->node], depth - 1, visits);
        if (op->kind != OP_ANY_OF && op->kind != OP_ONE_OF)
            continue;
        for (uint32_t k = 0; k < op->n; k++)
            some |= types_of(s, &s->nodes[op->list[k]], depth - 1, visits);
        types &= some;
    }
    return types;
}

uint8_t wbi_node_types(const struct wbi_schema *schema, const struct wbi_node *node)
{
    unsigned visits = TYPES_VISITS;

    return types_of(schema, node, TYPES_DEPTH, &visits);
}
