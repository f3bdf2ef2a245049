/* SPDX-License-Identifier: Apache-2.0
 * schema/compile.c: from a schema value to a struct wbi_schema.
 * The order: copy the document, build nodes until no job is left, resolve the
 * references (which may bring in documents and jobs), refuse loops, freeze. */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "schema/compile_int.h"

wb_rc wbi_compile_room(struct wbi_compiler *c, void **list, size_t *cap, size_t n, size_t size)
{
    size_t more = *cap == 0 ? 8 : *cap * 2;
    void *p;

    if (n < *cap)
        return WB_OK;
    p = wbi_arena_grow(c->scratch, *list, *cap * size, more * size);
    if (p == NULL)
        return wbi_fail_nomem(c->err);
    *list = p;
    *cap = more;
    return WB_OK;
}

static void say_place(struct wbi_compiler *c, const wbi_json *value)
{
    struct wbi_buf path;

    wbi_buf_init(&path, WBI_MIB);
    for (size_t i = 0; i < c->n_documents; i++)
        if (wbi_json_place(c->documents[i].root, value, &path, NULL))
            break;
    if (wbi_buf_rc(&path) == WB_OK)
        (void)snprintf(c->err->at, sizeof(c->err->at), "%.*s", (int)path.n, path.p ? path.p : "");
    wbi_buf_fini(&path);
}

wb_rc wbi_compile_fail(struct wbi_compiler *c, const wbi_json *value, wb_rc rc, const char *fmt,
                       ...)
{
    char text[400];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)wbi_fail(c->err, rc, "%s", text);
    if (c->err != NULL)
        say_place(c, value);
    return rc;
}

wb_rc wbi_compile_node(struct wbi_compiler *c, const wbi_json *value, uint32_t resource,
                       uint32_t *ret)
{
    const struct wbi_document *d = &c->documents[c->origins[resource].document];
    uint32_t *known = &d->node_of[value - d->root];
    wb_rc rc;

    if (*known != 0) {
        *ret = *known;
        return WB_OK;
    }
    if (c->n_nodes > WBI_LIMIT_SCHEMA_SUBSCHEMAS)
        return wbi_compile_fail(c, value, WB_ELIMIT, "more than %u subschemas",
                                WBI_LIMIT_SCHEMA_SUBSCHEMAS);
    rc = wbi_compile_room(c, (void **)&c->nodes, &c->cap_nodes, c->n_nodes, sizeof(*c->nodes));
    if (rc == WB_OK)
        rc = wbi_compile_room(c, (void **)&c->jobs, &c->cap_jobs, c->n_jobs, sizeof(*c->jobs));
    if (rc != WB_OK)
        return rc;
    *known = (uint32_t)c->n_nodes;
    c->nodes[c->n_nodes] = (struct wbi_node){.types = BIT_ANY, .resource = resource, .src = value};
    c->jobs[c->n_jobs++] = (struct wbi_job){value, (uint32_t)c->n_nodes, resource};
    *ret = (uint32_t)c->n_nodes++;
    return WB_OK;
}

wb_rc wbi_compile_jobs(struct wbi_compiler *c)
{
    wb_rc rc = WB_OK;

    while (rc == WB_OK && c->n_jobs > 0) {
        struct wbi_job job = c->jobs[--c->n_jobs];
        rc = wbi_build_node(c, &job);
    }
    return rc;
}

/* Names of members whose schema asks for a type only are marked, so that the
 * validator need not look at the schema. */
static void mark_simple_members(struct wbi_compiler *c)
{
    for (size_t i = 0; i < c->n_nodes; i++) {
        struct wbi_object_checks *o = c->nodes[i].object;
        for (uint32_t k = 0; o != NULL && k < o->names.count; k++) {
            struct wbi_name *name = &o->names.list[k];
            const struct wbi_node *n;
            if ((name->flags & NAME_DECLARED) == 0)
                continue;
            n = &c->nodes[name->value];
            name->types = n->types;
            name->flags |= n->flags & NODE_TYPE_ONLY ? NAME_TYPE_ONLY : 0;
        }
    }
}

/* Children come after their parents, but for what references brought in early:
 * those just get no level. */
static void raise_level(const struct wbi_compiler *c, size_t parent, uint32_t child, uint8_t *level)
{
    if (child == NO_NODE || *level == NO_LEVEL)
        return;
    if (child != TRUE_NODE && child <= parent)
        *level = NO_LEVEL;
    else if (c->nodes[child].level >= SHALLOW_LEVEL)
        *level = NO_LEVEL;
    else if (c->nodes[child].level >= *level)
        *level = (uint8_t)(c->nodes[child].level + 1);
}

static uint8_t level_of(const struct wbi_compiler *c, size_t index)
{
    const struct wbi_node *n = &c->nodes[index];
    const struct wbi_object_checks *o = n->object;
    const struct wbi_array_checks *a = n->array;
    uint8_t level = o != NULL || a != NULL;

    if (n->n_ops > 0 || (n->flags & NODE_TRACKS) != 0 ||
        (o != NULL && (!o->simple || o->n_dependencies > 0 || o->required_rest != NULL)) ||
        (a != NULL && (a->n_prefix > 0 || a->contains != NO_NODE || a->unique)))
        return NO_LEVEL;
    for (uint32_t i = 0; o != NULL && i < o->names.count; i++)
        raise_level(c, index, o->names.list[i].value, &level);
    if (o != NULL)
        raise_level(c, index, o->additional, &level);
    if (a != NULL)
        raise_level(c, index, a->rest, &level);
    return level;
}

static wb_rc freeze(struct wbi_compiler *c)
{
    struct wbi_schema *s = c->schema;
    struct wbi_node *nodes;
    struct wbi_resource *resources;

    mark_simple_members(c);
    for (size_t i = c->n_nodes; i-- > 0;)
        c->nodes[i].level = level_of(c, i);
    nodes = wbi_arena_alloc(c->arena, c->n_nodes * sizeof(*nodes));
    resources = wbi_arena_alloc(c->arena, c->n_resources * sizeof(*resources));
    if (nodes == NULL || resources == NULL)
        return wbi_fail_nomem(c->err);
    memcpy(nodes, c->nodes, c->n_nodes * sizeof(*nodes));
    memcpy(resources, c->resources, c->n_resources * sizeof(*resources));
    s->nodes = nodes;
    s->n_nodes = (uint32_t)c->n_nodes;
    s->resources = resources;
    s->n_resources = (uint32_t)c->n_resources;
    return WB_OK;
}

static wb_rc compile(struct wbi_compiler *c, const wbi_json *schema)
{
    uint32_t resource;
    wb_rc rc = wbi_compile_room(c, (void **)&c->nodes, &c->cap_nodes, 0, sizeof(*c->nodes));

    if (rc != WB_OK)
        return rc;
    c->nodes[c->n_nodes++] =
        (struct wbi_node){.types = BIT_ANY, .flags = NODE_LEAF | NODE_TYPE_ONLY};
    rc = wbi_load_document(c, schema, c->opt->base_uri, c->opt->draft, &resource);
    if (rc == WB_OK)
        rc = wbi_compile_node(c, c->resources[resource].root, resource, &c->schema->root);
    if (rc == WB_OK)
        rc = wbi_resolve_refs(c);
    if (rc == WB_OK)
        rc = wbi_refuse_loops(c);
    return rc == WB_OK ? freeze(c) : rc;
}

wb_rc wbi_schema_compile(const wbi_json *schema, const struct wbi_schema_options *opt,
                         struct wbi_schema **ret, struct wbi_error *err)
{
    static const struct wbi_schema_options none = {.draft = WBI_SCHEMA_AUTO};
    struct wbi_compiler c = {.opt = opt != NULL ? opt : &none, .err = err};
    wb_rc rc = WB_ENOMEM;

    if (schema == NULL)
        return wbi_fail(err, WB_EMISUSE, "no schema given");
    c.schema = wbi_zalloc(sizeof(*c.schema));
    if (c.schema == NULL)
        return wbi_fail_nomem(err);
    if (wbi_arena_new_small(WBI_LIMIT_SCHEMA_ARENA, &c.schema->arena) != WB_OK ||
        wbi_arena_new_small(WBI_LIMIT_SCHEMA_ARENA, &c.scratch) != WB_OK) {
        (void)wbi_fail_nomem(err);
        goto out;
    }
    c.arena = c.schema->arena;
    rc = compile(&c, schema);
out:
    wbi_arena_free(c.scratch);
    if (rc == WB_OK)
        *ret = c.schema;
    else
        wbi_schema_free(c.schema);
    return rc;
}

void wbi_schema_free(struct wbi_schema *schema)
{
    if (schema == NULL)
        return;
    wbi_arena_free(schema->arena);
    wbi_free(schema);
}
