/* SPDX-License-Identifier: Apache-2.0
 * schema/describe.c: schemas and values in words, short enough for a model.
 * Values may be secrets: of a long string only the beginning is shown. */
#include "base/checked.h"
#include "base/utf8.h"
#include "json/write.h"
#include "schema/schema_int.h"

#define LISTED 16
#define LIST_BYTES 400
#define SHOWN_WHOLE 12
#define SHOWN_CUT 8
#define SHOWN_NAME 48

static void add_cut(struct wbi_buf *out, struct wbi_str s, size_t most)
{
    size_t n = wbi_utf8_cut_chars(s, most);

    wbi_json_quote(out, wbi_str_head(s, n));
    if (n < s.n) {
        out->n -= out->n > 0;
        wbi_buf_addz(out, "…\"");
    }
}

void wbi_describe_scalar(struct wbi_buf *out, const wbi_json *v, size_t most)
{
    struct wbi_str s = wbi_json_str(v);

    if (wbi_json_is(v, WBI_JSON_STR)) {
        add_cut(out, s, most);
    } else if (wbi_json_is(v, WBI_JSON_BIG)) {
        wbi_buf_adds(out, wbi_str_head(s, 40));
        wbi_buf_addz(out, s.n > 40 ? "…" : "");
    } else if (wbi_json_count(v) == 0) {
        wbi_json_write(out, v);
    } else {
        wbi_buf_addz(out, wbi_json_is(v, WBI_JSON_ARR) ? "[…]" : "{…}");
    }
}

void wbi_describe_value(struct wbi_buf *out, const wbi_json *v)
{
    size_t n;

    switch (wbi_json_type(v)) {
    case WBI_JSON_STR:
        n = wbi_utf8_count(wbi_json_text(v));
        wbi_buf_addz(out, n == 0 ? "an empty string" : "a string (");
        if (n > 0) {
            wbi_describe_scalar(out, v, n <= SHOWN_WHOLE ? SHOWN_WHOLE : SHOWN_CUT);
            if (n > SHOWN_WHOLE)
                wbi_buf_addf(out, " of %zu characters", n);
            wbi_buf_addc(out, ')');
        }
        return;
    case WBI_JSON_ARR:
        n = wbi_json_count(v);
        wbi_buf_addf(out, "an array of %zu item%s", n, n == 1 ? "" : "s");
        return;
    case WBI_JSON_OBJ:
        n = wbi_json_count(v);
        wbi_buf_addf(out, "an object of %zu member%s", n, n == 1 ? "" : "s");
        return;
    case WBI_JSON_NULL:
        wbi_buf_addz(out, "null");
        return;
    default:
        wbi_buf_addf(out, "%s %s (", wbi_json_is(v, WBI_JSON_INT) ? "an" : "a",
                     wbi_json_is(v, WBI_JSON_BIG) ? "large integer" : wbi_json_type_name(v));
        wbi_describe_scalar(out, v, SHOWN_WHOLE);
        wbi_buf_addc(out, ')');
    }
}

void wbi_describe_list(struct wbi_buf *out, const wbi_json *list)
{
    size_t i = 0, start = out->n;

    if (wbi_json_is(list, WBI_JSON_OBJ)) {
        WBI_JSON_EACH_MEMBER (list, k) {
            if (i == LISTED || out->n - start > LIST_BYTES)
                break;
            wbi_buf_addz(out, i++ > 0 ? ", " : "");
            wbi_describe_scalar(out, k, SHOWN_NAME);
        }
    }
    WBI_JSON_EACH (list, e) {
        if (i == LISTED || out->n - start > LIST_BYTES)
            break;
        wbi_buf_addz(out, i++ > 0 ? ", " : "");
        wbi_describe_scalar(out, e, SHOWN_NAME);
    }
    if (i < wbi_json_count(list))
        wbi_buf_addf(out, " and %zu more", wbi_json_count(list) - i);
}

static void add_types(struct wbi_buf *out, uint8_t types)
{
    static const struct {
        uint8_t bits;
        const char *words;
    } table[] = {{BIT_NUMBER, "a number"},
                 {BIT_INTEGER, "an integer"},
                 {BIT_FRACTION, "a number that is no integer"},
                 {BIT_STRING, "a string"},
                 {BIT_BOOL, "a boolean"},
                 {BIT_ARRAY, "an array"},
                 {BIT_OBJECT, "an object"},
                 {BIT_NULL, "null"}};
    bool any = false;

    if (types == BIT_ANY) {
        wbi_buf_addz(out, "a value");
        return;
    }
    for (size_t i = 0; i < WBI_COUNT(table); i++) {
        if ((types & table[i].bits) != table[i].bits)
            continue;
        wbi_buf_addf(out, "%s%s", any ? " or " : "", table[i].words);
        types = (uint8_t)(types & ~table[i].bits);
        any = true;
    }
    if (!any)
        wbi_buf_addz(out, "absent");
}

static void add_bound(struct wbi_buf *out, const char *words, const wbi_json *bound)
{
    if (bound == NULL)
        return;
    wbi_buf_addz(out, words);
    wbi_describe_scalar(out, bound, SHOWN_WHOLE);
}

static void add_number(struct wbi_buf *out, const struct wbi_number_checks *c)
{
    bool both = c->minimum != NULL && c->maximum != NULL;

    add_bound(out, both ? " from " : " of at least ", c->minimum);
    add_bound(out, both ? " to " : " of at most ", c->maximum);
    add_bound(out, " more than ", c->exclusive_minimum);
    add_bound(out, " less than ", c->exclusive_maximum);
    add_bound(out, " that is a multiple of ", c->multiple_of);
}

/* " of 1 to 5 items" */
static void add_range(struct wbi_buf *out, uint64_t min, uint64_t max, const char *unit)
{
    uint64_t last = max == UINT64_MAX ? min : max;

    if (min == 0 && max == UINT64_MAX)
        return;
    wbi_buf_addz(out, " of ");
    if (max == UINT64_MAX)
        wbi_buf_addz(out, "at least ");
    else if (min == 0)
        wbi_buf_addz(out, "at most ");
    if (min > 0 && max != UINT64_MAX && min != max) {
        wbi_buf_addu(out, min);
        wbi_buf_addz(out, " to ");
    }
    wbi_buf_addu(out, last);
    wbi_buf_addf(out, " %s%s", unit, last == 1 ? "" : "s");
}

static void add_string(struct wbi_buf *out, const struct wbi_node *n)
{
    add_range(out, n->string->min_length, n->string->max_length, "character");
    if (n->string->pattern != NULL) {
        wbi_buf_addz(out, " matching ");
        add_cut(out, wbi_json_get_str(n->src, "pattern"), 80);
    }
    if (n->string->format != FORMAT_NONE)
        wbi_buf_addf(out, " in %.*s format",
                     WBI_FMT(wbi_str_head(wbi_json_get_str(n->src, "format"), 40)));
}

static void add_own(struct wbi_buf *out, const struct wbi_node *n)
{
    const wbi_json *values = wbi_json_get_as(n->src, "enum", WBI_JSON_ARR);

    if (n->constant != NULL) {
        wbi_describe_scalar(out, n->constant, SHOWN_NAME);
        return;
    }
    if (n->enums != NULL && values != NULL) {
        wbi_buf_addz(out, wbi_json_count(values) == 1 ? "" : "one of ");
        wbi_describe_list(out, values);
        return;
    }
    add_types(out, n->types);
    if (n->number != NULL)
        add_number(out, n->number);
    if (n->string != NULL)
        add_string(out, n);
    if (n->array != NULL)
        add_range(out, n->array->min, n->array->max, "item");
    if (n->object != NULL)
        add_range(out, n->object->min, n->object->max, "member");
}

#define CHOICES 6

/* The node itself, or what its only reference or choice leads to. The depth is
 * fixed, so this recursion is too. */
static void add_node(struct wbi_buf *out, const struct wbi_schema *s, const struct wbi_node *n,
                     unsigned depth)
{
    const struct wbi_op *op = n->n_ops == 1 ? &n->ops[0] : NULL;

    if (op == NULL || depth == 0 || n->types != BIT_ANY || n->object != NULL || n->enums != NULL) {
        add_own(out, n);
    } else if (op->kind == OP_REF) {
        add_node(out, s, &s->nodes[op->node], depth - 1);
    } else if (op->kind == OP_ANY_OF || op->kind == OP_ONE_OF) {
        for (uint32_t i = 0; i < op->n && i < CHOICES; i++) {
            wbi_buf_addz(out, i > 0 ? " or " : "");
            add_node(out, s, &s->nodes[op->list[i]], depth - 1);
        }
        wbi_buf_addz(out, op->n > CHOICES ? " or other things" : "");
    } else {
        add_own(out, n);
    }
}

void wbi_describe_node(struct wbi_buf *out, const struct wbi_schema *schema,
                       const struct wbi_node *node)
{
    add_node(out, schema, node, 3);
}
