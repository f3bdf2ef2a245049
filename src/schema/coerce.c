/* SPDX-License-Identifier: Apache-2.0
 * schema/coerce.c: repair by schema, only where one reading is possible (C3.3).
 * (1) Only after the strict check failed, only at values the check refused.
 * (2) A string is touched only when no schema that can apply to its place
 * accepts strings. (3) The result validates, or there is no result. */
#include <math.h>

#include "base/checked.h"
#include "base/limits.h"
#include "json/write.h"
#include "schema/schema_int.h"

/* Every node that may apply to one value: a set closed over references,
 * choices and conditions; or those alone that do in any case. Full means: too many to
 * know all. */
#define MOST_NODES 256

struct node_set {
    uint32_t list[MOST_NODES];
    size_t n;
    bool sure; /* only what applies in any case */
    bool full;
};

static void add_node(struct node_set *set, uint32_t node)
{
    if (node == NO_NODE)
        return;
    for (size_t i = 0; i < set->n; i++)
        if (set->list[i] == node)
            return;
    if (set->n == MOST_NODES)
        set->full = true;
    else
        set->list[set->n++] = node;
}

static void close_set(const struct wbi_schema *s, struct node_set *set)
{
    for (size_t i = 0; i < set->n; i++) { /* grows while it runs */
        const struct wbi_node *n = &s->nodes[set->list[i]];
        for (uint32_t k = 0; k < n->n_ops && !set->full; k++) {
            const struct wbi_op *op = &n->ops[k];
            if (set->sure && op->kind != OP_REF)
                continue;
            for (uint32_t j = 0; j < op->n; j++)
                add_node(set, op->list[j]);
            if (op->kind != OP_NOT)
                add_node(set, op->node);
            add_node(set, op->then_node);
            add_node(set, op->else_node);
        }
    }
}

static void add_for_member(const struct wbi_object_checks *o, struct wbi_str name,
                           struct node_set *to)
{
    const struct wbi_name *known = wbi_names_find(&o->names, name.p, name.n);

    if (known != NULL && (known->flags & NAME_DECLARED) != 0)
        add_node(to, known->value);
    else if (!to->sure || o->n_patterns == 0)
        add_node(to, o->additional);
    if (to->sure)
        return;
    add_node(to, o->unevaluated);
    for (uint32_t i = 0; i < o->n_patterns; i++)
        if (wbi_regex_test(o->patterns[i].regex, name, WBI_REGEX_QUICK) != WBI_REGEX_NO)
            add_node(to, o->patterns[i].node);
}

static void add_for_item(const struct wbi_array_checks *a, size_t index, struct node_set *to)
{
    add_node(to, index < a->n_prefix ? a->prefix[index] : a->rest);
    if (to->sure)
        return;
    add_node(to, a->unevaluated);
    add_node(to, a->contains);
}

/* From the nodes of a container to those of the child that holds target. */
static const wbi_json *descend(const struct wbi_schema *s, const struct node_set *from,
                               const wbi_json *container, const wbi_json *target,
                               struct node_set *to)
{
    bool object = wbi_json_is(container, WBI_JSON_OBJ);
    const wbi_json *cursor = container + 1;
    size_t index = 0;

    while (target >= wbi_json_skip(cursor + object)) {
        cursor = wbi_json_skip(cursor + object);
        index++;
    }
    to->n = 0;
    to->sure = from->sure;
    to->full = from->full;
    for (size_t i = 0; i < from->n; i++) {
        const struct wbi_node *n = &s->nodes[from->list[i]];
        if (object && n->object != NULL)
            add_for_member(n->object, wbi_json_text(cursor), to);
        else if (!object && n->array != NULL)
            add_for_item(n->array, index, to);
    }
    close_set(s, to);
    return cursor + object;
}

/* The types of what const and enum list; all where the node has neither. */
static uint8_t listed_types(const struct wbi_node *n)
{
    uint8_t types = n->constant != NULL ? wbi_type_bits(n->constant) : BIT_ANY, some = 0;

    if (n->enums == NULL)
        return types;
    if (n->enums->strings.count > 0)
        some |= BIT_STRING;
    for (uint32_t i = 0; i < n->enums->n_others; i++)
        some |= wbi_type_bits(n->enums->others[i]);
    return types & some;
}

/* The nodes of the value target, in one of sets. */
static const struct node_set *nodes_at(const struct wbi_schema *s, const wbi_json *root,
                                       const wbi_json *target, bool sure, struct node_set sets[2])
{
    size_t now = 0;

    sets[0].n = 0;
    sets[0].sure = sure;
    sets[0].full = false;
    add_node(&sets[0], s->root);
    close_set(s, &sets[0]);
    while (root != target) {
        root = descend(s, &sets[now], root, target, &sets[1 - now]);
        now = 1 - now;
    }
    return &sets[now];
}

/* Because one node that applies in any case takes none, or because none takes one. */
static bool no_string_accepted(const struct wbi_schema *s, const wbi_json *root,
                               const wbi_json *target)
{
    struct node_set sets[2];
    const struct node_set *set = nodes_at(s, root, target, true, sets);

    for (size_t i = 0; i < set->n; i++) {
        const struct wbi_node *n = &s->nodes[set->list[i]];
        if ((n->types & listed_types(n) & BIT_STRING) == 0)
            return true;
    }
    set = nodes_at(s, root, target, false, sets);
    for (size_t i = 0; i < set->n; i++) {
        const struct wbi_node *n = &s->nodes[set->list[i]];
        uint8_t types = n->types & listed_types(n);
        if (types != BIT_ANY ? (types & BIT_STRING) != 0 : n->string != NULL || n->n_ops == 0)
            return false;
    }
    return !set->full;
}

/* Text as a number or boolean of one of these types; false when it is none. */
static bool read_scalar(struct wbi_arena *arena, struct wbi_str text, uint8_t types, wbi_json *ret,
                        const char **ret_what)
{
    const wbi_json *v;
    double d;

    if (text.n == 0 || text.n > 64)
        return false;
    if ((types & BIT_BOOL) != 0 && (wbi_str_eqz(text, "true") || wbi_str_eqz(text, "false"))) {
        ret->tag =
            YYJSON_TYPE_BOOL | (text.p[0] == 't' ? YYJSON_SUBTYPE_TRUE : YYJSON_SUBTYPE_FALSE);
        *ret_what = "string read as boolean";
        return true;
    }
    if ((text.p[0] != '-' && (text.p[0] < '0' || text.p[0] > '9')) || text.p[text.n - 1] < '0' ||
        text.p[text.n - 1] > '9' ||
        wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL) != WB_OK ||
        (wbi_type_bits(v) & types & BIT_NUMBER) == 0)
        return false;
    *ret = *v;
    *ret_what = (types & BIT_FRACTION) != 0 ? "string read as number" : "string read as integer";
    if (wbi_json_is(v, WBI_JSON_REAL) && (wbi_type_bits(v) & BIT_INTEGER) != 0) {
        d = v->uni.f64;
        if (fabs(d) > 9007199254740992.0)
            return (types & BIT_FRACTION) != 0;
        ret->tag = YYJSON_TYPE_NUM | (d < 0 ? YYJSON_SUBTYPE_SINT : YYJSON_SUBTYPE_UINT);
        ret->uni.i64 = (int64_t)d;
    }
    return true;
}

struct repair {
    const struct wbi_schema *schema;
    const wbi_json *instance;
    struct wbi_arena *arena;
    wbi_json *copy;
    struct wbi_schema_repair out;
};

static wb_rc add_note(struct repair *r, const wbi_json *place, const char *text)
{
    struct wbi_schema_note *note = &r->out.notes[r->out.n_notes];
    struct wbi_buf path;

    wbi_buf_init_arena(&path, r->arena, WBI_MIB);
    (void)wbi_json_place(r->instance, place, &path, NULL);
    if (wbi_buf_rc(&path) != WB_OK)
        return WB_ENOMEM;
    *note = (struct wbi_schema_note){wbi_buf_str(&path), wbi_str_z(text)};
    r->out.n_notes++;
    return WB_OK;
}

/* Member names stay as they are, even where propertyNames refuses them. */
static bool is_member_name(const struct repair *r, const wbi_json *v)
{
    struct wbi_buf path;
    bool key;

    wbi_buf_init_arena(&path, r->arena, WBI_MIB);
    return !wbi_json_place(r->instance, v, &path, &key) || key;
}

static wb_rc repair_one(struct repair *r, const struct wbi_raw_error *e)
{
    bool listed = e->keyword == KW_CONST || e->keyword == KW_ENUM;
    bool refused =
        listed || e->keyword == KW_TYPE || e->keyword == KW_ANY_OF || e->keyword == KW_ONE_OF;
    uint8_t types = wbi_node_types(r->schema, e->node) & listed_types(e->node);
    const char *what;
    wbi_json v;

    if (!refused || !wbi_json_is(e->instance, WBI_JSON_STR) || (types & BIT_STRING) != 0 ||
        !wbi_json_is(&r->copy[e->instance - r->instance], WBI_JSON_STR))
        return WB_OK;
    if (!read_scalar(r->arena, wbi_json_text(e->instance), types, &v, &what) ||
        is_member_name(r, e->instance) || !no_string_accepted(r->schema, r->instance, e->instance))
        return WB_OK;
    r->copy[e->instance - r->instance] = v;
    return add_note(r, e->instance, what);
}

static wb_rc finish(struct repair *r, const wbi_json *value)
{
    struct wbi_buf text;

    wbi_buf_init_arena(&text, r->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, value);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_buf_rc(&text);
    r->out.json = wbi_buf_str(&text);
    r->out.value = value;
    r->out.repaired = true;
    return WB_OK;
}

/* One member too much around everything, unless the schema knows that member. */
static const wbi_json *inner_of_wrapper(const struct wbi_schema *s, const wbi_json *v)
{
    static const char *const names[] = {"arguments", "parameters", "params", "input"};
    struct node_set set = {.n = 0};
    struct wbi_str name;
    size_t i = 0;

    if (!wbi_json_is(v, WBI_JSON_OBJ) || wbi_json_count(v) != 1 ||
        !wbi_json_is(v + 2, WBI_JSON_OBJ))
        return NULL;
    name = wbi_json_text(v + 1);
    while (i < WBI_COUNT(names) && !wbi_str_eqz(name, names[i]))
        i++;
    add_node(&set, s->root);
    close_set(s, &set);
    if (i == WBI_COUNT(names) || set.full)
        return NULL;
    for (i = 0; i < set.n; i++) {
        const struct wbi_object_checks *o = s->nodes[set.list[i]].object;
        if (o != NULL && wbi_names_find(&o->names, name.p, name.n) != NULL)
            return NULL;
    }
    return wbi_schema_valid(s, v + 2) ? v + 2 : NULL;
}

static wb_rc unwrap(struct repair *r, const wbi_json *inner)
{
    struct wbi_str text = wbi_arena_fmt(r->arena, "taken out of the wrapper \"%.*s\"",
                                        WBI_FMT(wbi_json_text(r->instance + 1)));

    r->out.notes = wbi_arena_array(r->arena, 1, sizeof(*r->out.notes));
    if (text.p == NULL || r->out.notes == NULL)
        return WB_ENOMEM;
    r->out.notes[r->out.n_notes++] = (struct wbi_schema_note){WBI_LIT(""), text};
    return finish(r, inner);
}

static wb_rc repair_scalars(struct repair *r, const struct wbi_raw_errors *raw)
{
    size_t n = (size_t)(wbi_json_skip(r->instance) - r->instance);
    wb_rc rc = WB_OK;

    if (n > WBI_LIMIT_SCHEMA_REPAIR_VALUES)
        return WB_OK;
    r->copy = wbi_arena_array(r->arena, n, sizeof(*r->copy));
    r->out.notes = wbi_arena_array(r->arena, raw->n, sizeof(*r->out.notes));
    if (r->copy == NULL || r->out.notes == NULL)
        return WB_ENOMEM;
    memcpy(r->copy, r->instance, n * sizeof(*r->copy));
    for (size_t i = 0; rc == WB_OK && i < raw->n; i++)
        rc = repair_one(r, &raw->list[i]);
    if (rc != WB_OK || r->out.n_notes == 0 || !wbi_schema_valid(r->schema, r->copy))
        return rc;
    return finish(r, r->copy);
}

wb_rc wbi_schema_coerce(const struct wbi_schema *schema, const wbi_json *instance,
                        struct wbi_arena *arena, struct wbi_schema_repair *ret,
                        struct wbi_error *err)
{
    struct repair r = {.schema = schema, .instance = instance, .arena = arena};
    struct wbi_raw_errors raw = {.arena = arena};
    struct wbi_work work = wbi_schema_work(instance);
    const wbi_json *inner;
    wb_rc rc = WB_OK;

    if (!wbi_schema_run(schema, instance, &raw, &work)) {
        if (work.rc != WB_OK)
            return work.rc == WB_ENOMEM ? wbi_fail_nomem(err)
                                        : wbi_fail(err, work.rc, "validation was given up");
        inner = inner_of_wrapper(schema, instance);
        rc = inner != NULL ? unwrap(&r, inner) : repair_scalars(&r, &raw);
    }
    if (rc != WB_OK)
        return rc == WB_ENOMEM ? wbi_fail_nomem(err) : wbi_fail(err, rc, "repaired value too long");
    if (!r.out.repaired)
        r.out = (struct wbi_schema_repair){.repaired = false};
    *ret = r.out;
    return WB_OK;
}
