/* SPDX-License-Identifier: Apache-2.0
 * schema/refs.c: what references mean, once everything has a name. */
#include "base/limits.h"
#include "schema/compile_int.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %XX decoded, in scratch. */
static struct wbi_str decode_fragment(struct wbi_compiler *c, struct wbi_str s)
{
    char *out = wbi_arena_alloc(c->scratch, s.n + 1);
    size_t n = 0;

    if (out == NULL)
        return WBI_NONE;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0) {
            out[n++] = (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2]));
            i += 2;
        } else {
            out[n++] = s.p[i];
        }
    }
    return wbi_str_make(out, n);
}

/* ~0 and ~1 of one token, in place. */
static struct wbi_str unescape_token(char *p, size_t n)
{
    size_t to = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] == '~' && i + 1 < n && (p[i + 1] == '0' || p[i + 1] == '1'))
            p[to++] = p[++i] == '0' ? '~' : '/';
        else
            p[to++] = p[i];
    }
    return wbi_str_make(p, to);
}

static const wbi_json *step(const wbi_json *v, struct wbi_str token)
{
    uint64_t index;

    if (wbi_json_is(v, WBI_JSON_OBJ))
        return wbi_json_getn(v, token);
    if (wbi_json_is(v, WBI_JSON_ARR) && wbi_parse_u64(token, &index))
        return wbi_json_at(v, index);
    return NULL;
}

/* Walk a JSON Pointer; *resource follows the "$id"s on the way. */
static wb_rc walk(struct wbi_compiler *c, const struct wbi_pending *p, struct wbi_str pointer,
                  uint32_t *resource, const wbi_json **ret)
{
    const struct wbi_document *d = &c->documents[c->origins[*resource].document];
    const wbi_json *v = c->resources[*resource].root;
    char *text = wbi_arena_strz(c->scratch, pointer);
    size_t at = 0;

    if (text == NULL)
        return wbi_fail_nomem(c->err);
    while (at < pointer.n && v != NULL) {
        size_t from = ++at;
        while (at < pointer.n && text[at] != '/')
            at++;
        v = step(v, unescape_token(text + from, at - from));
        if (v != NULL && d->node_of[v - d->root] != 0)
            *resource = c->nodes[d->node_of[v - d->root]].resource;
    }
    if (v == NULL)
        return wbi_compile_fail(c, p->value, WB_EINPUT, "\"%.*s\" leads nowhere",
                                WBI_FMT(wbi_json_text(p->value)));
    *ret = v;
    return WB_OK;
}

static wb_rc find_target(struct wbi_compiler *c, const struct wbi_pending *p,
                         struct wbi_str fragment, uint32_t *resource, const wbi_json **ret)
{
    const struct wbi_named_place *place;

    if (fragment.n == 0) {
        *ret = c->resources[*resource].root;
        return WB_OK;
    }
    if (fragment.p[0] == '/')
        return walk(c, p, fragment, resource, ret);
    place = wbi_find_anchor(c, *resource, fragment);
    if (place == NULL)
        return wbi_compile_fail(c, p->value, WB_EINPUT,
                                "\"%.*s\" names an anchor that is not there",
                                WBI_FMT(wbi_json_text(p->value)));
    if (place->dynamic && p->op->kind == OP_DYNAMIC_REF)
        p->op->name = place->name;
    *ret = place->value;
    return WB_OK;
}

static wb_rc resolve(struct wbi_compiler *c, const struct wbi_pending *p)
{
    struct wbi_str ref = wbi_json_text(p->value), uri, fragment;
    size_t hash = wbi_str_index(ref, '#');
    uint32_t resource = p->resource;
    const wbi_json *target = NULL;
    wb_rc rc = WB_OK;

    if (ref.n > WBI_LIMIT_SCHEMA_URI)
        return wbi_compile_fail(c, p->value, WB_ELIMIT, "a reference is longer than %u bytes",
                                WBI_LIMIT_SCHEMA_URI);
    fragment = decode_fragment(c, wbi_str_from(ref, hash + 1));
    if (fragment.p == NULL)
        return wbi_fail_nomem(c->err);
    if (hash > 0 && ref.n > 0) {
        uri = wbi_uri_resolve(c->scratch, c->resources[resource].uri, wbi_str_head(ref, hash));
        if (uri.p == NULL)
            return wbi_fail(c->err, WB_ELIMIT, "a reference is too long");
        rc = wbi_load_uri(c, uri, p->value, &resource);
    }
    if (rc == WB_OK)
        rc = find_target(c, p, fragment, &resource, &target);
    if (rc == WB_OK)
        rc = wbi_compile_node(c, target, resource, &p->op->node);
    if (p->op->kind == OP_DYNAMIC_REF && p->op->name.p == NULL)
        p->op->kind = OP_REF;
    return rc;
}

wb_rc wbi_resolve_refs(struct wbi_compiler *c)
{
    wb_rc rc = wbi_compile_jobs(c);

    for (size_t i = 0; rc == WB_OK && i < c->n_pending; i++) {
        struct wbi_pending p = c->pending[i]; /* the list may move */
        rc = resolve(c, &p);
        if (rc == WB_OK)
            rc = wbi_compile_jobs(c);
    }
    return rc;
}

/* Depth-first over the edges that stay at the same value. */
struct visit {
    uint32_t node;
    uint32_t op;
    uint32_t sub;
};

static uint32_t next_edge(const struct wbi_compiler *c, struct visit *v)
{
    const struct wbi_node *n = &c->nodes[v->node];

    while (v->op < n->n_ops) {
        const struct wbi_op *op = &n->ops[v->op];
        uint32_t sub = v->sub++, to = NO_NODE;

        if (op->kind == OP_ANY_OF || op->kind == OP_ONE_OF)
            to = sub < op->n ? op->list[sub] : NO_NODE;
        else if (sub < 3)
            to = sub == 0 ? op->node : sub == 1 ? op->then_node : op->else_node;
        if (to != NO_NODE)
            return to;
        if (sub >= 2 && sub >= op->n) {
            v->op++;
            v->sub = 0;
        }
    }
    return NO_NODE;
}

enum { UNSEEN, OPEN, CLOSED };

static wb_rc search_loop(struct wbi_compiler *c, uint32_t from, uint8_t *state, struct visit *stack)
{
    size_t depth = 0;

    stack[depth++] = (struct visit){from, 0, 0};
    state[from] = OPEN;
    while (depth > 0) {
        uint32_t to = next_edge(c, &stack[depth - 1]);
        if (to == NO_NODE) {
            state[stack[--depth].node] = CLOSED;
        } else if (state[to] == OPEN) {
            return wbi_compile_fail(c, c->nodes[to].src, WB_EINPUT,
                                    "this schema refers to itself without going deeper into the "
                                    "value, which would never end");
        } else if (state[to] == UNSEEN) {
            state[to] = OPEN;
            stack[depth++] = (struct visit){to, 0, 0};
        }
    }
    return WB_OK;
}

wb_rc wbi_refuse_loops(struct wbi_compiler *c)
{
    struct visit *stack;
    uint8_t *state;
    wb_rc rc = WB_OK;

    if (c->n_pending == 0)
        return WB_OK;
    stack = wbi_arena_array(c->scratch, c->n_nodes, sizeof(*stack));
    state = wbi_arena_zalloc(c->scratch, c->n_nodes);
    if (stack == NULL || state == NULL)
        return wbi_fail_nomem(c->err);
    for (uint32_t i = 0; rc == WB_OK && i < c->n_nodes; i++)
        if (state[i] == UNSEEN && c->nodes[i].n_ops > 0)
            rc = search_loop(c, i, state, stack);
    return rc;
}
