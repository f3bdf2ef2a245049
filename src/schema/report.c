/* SPDX-License-Identifier: Apache-2.0
 * schema/report.c: from the raw list of failures to errors a model can act on:
 * the most relevant first, each with place, expectation, finding and a sentence. */
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/write.h"
#include "schema/schema_int.h"

struct report {
    const struct wbi_schema *schema;
    const wbi_json *instance;
    struct wbi_arena *arena;
};

const char *wbi_schema_code_name(enum wbi_schema_code code)
{
    static const char *const names[] = {"SchemaInvalid", "RequiredMissing", "InvalidType",
                                        "InvalidFormat", "InvalidEnumValue"};

    return names[code < WBI_COUNT(names) ? code : 0];
}

/* A choice among types is a type: {"anyOf": [{"type": "string"}, {"type": "array"}]}. */
static bool has_wrong_type(const struct report *r, const struct wbi_raw_error *e)
{
    return e->node != NULL && e->instance != NULL &&
           (wbi_node_types(r->schema, e->node) & wbi_type_bits(e->instance)) == 0;
}

static enum wbi_schema_code code_of(const struct report *r, const struct wbi_raw_error *e)
{
    switch (e->keyword) {
    case KW_REQUIRED:
    case KW_DEPENDENT_REQUIRED:
        return WBI_SCHEMA_REQUIRED_MISSING;
    case KW_TYPE:
        return WBI_SCHEMA_INVALID_TYPE;
    case KW_FORMAT:
    case KW_PATTERN:
        return WBI_SCHEMA_INVALID_FORMAT;
    case KW_ENUM:
    case KW_CONST:
        return WBI_SCHEMA_INVALID_ENUM_VALUE;
    case KW_ANY_OF:
    case KW_ONE_OF:
        return has_wrong_type(r, e) ? WBI_SCHEMA_INVALID_TYPE : WBI_SCHEMA_INVALID;
    default:
        return WBI_SCHEMA_INVALID;
    }
}

/* Lower is told first. */
static unsigned rank(enum wbi_keyword keyword)
{
    switch (keyword) {
    case KW_TYPE:
        return 0;
    case KW_REQUIRED:
        return 1;
    case KW_ENUM:
    case KW_CONST:
    case KW_ANY_OF:
    case KW_ONE_OF:
        return 2;
    case KW_FALSE:
    case KW_ADDITIONAL_PROPERTIES:
    case KW_UNEVALUATED_PROPERTIES:
        return 4;
    case KW_NOT:
        return 5;
    default:
        return 3;
    }
}

static bool same_error(const struct wbi_raw_error *a, const struct wbi_raw_error *b)
{
    return a->instance == b->instance && a->keyword == b->keyword && a->node == b->node &&
           a->extra == b->extra;
}

/* The next error of that rank from *at on; duplicates are passed over. */
static const struct wbi_raw_error *next_of_rank(const struct wbi_raw_errors *list, unsigned r,
                                                size_t *at)
{
    for (; *at < list->n; ++*at) {
        const struct wbi_raw_error *e = &list->list[*at];
        size_t k = *at < 64 ? 0 : *at - 64;

        if (rank(e->keyword) != r)
            continue;
        while (k < *at && !same_error(&list->list[k], e))
            k++;
        if (k == *at) {
            ++*at;
            return e;
        }
    }
    return NULL;
}

static struct wbi_str done(struct wbi_buf *b)
{
    return wbi_buf_rc(b) == WB_OK ? wbi_buf_str(b) : WBI_NONE;
}

static struct wbi_str keyword_name(enum wbi_keyword keyword)
{
    return keyword == KW_FALSE ? WBI_LIT("false") : wbi_keyword_row(keyword)->name;
}

static struct wbi_str schema_place(const struct report *r, const struct wbi_raw_error *e)
{
    const struct wbi_resource *resource = &r->schema->resources[e->node->resource];
    struct wbi_buf b;

    wbi_buf_init_arena(&b, r->arena, WBI_MIB);
    wbi_buf_adds(&b, resource->uri);
    wbi_buf_addc(&b, '#');
    if (e->node->src != NULL)
        (void)wbi_json_place(resource->root, e->node->src, &b, NULL);
    if (e->keyword != KW_FALSE) {
        wbi_buf_addc(&b, '/');
        wbi_buf_adds(&b, keyword_name(e->keyword));
    }
    return done(&b);
}

static void add_expected_count(struct wbi_buf *b, const struct report *r,
                               const struct wbi_raw_error *e)
{
    const struct wbi_array_checks *a = e->node->array;

    if (e->keyword == KW_MAX_CONTAINS)
        wbi_buf_addf(b, "at most %llu items", (unsigned long long)a->max_contains);
    else
        wbi_buf_addf(b, "at least %llu item%s", (unsigned long long)a->min_contains,
                     a->min_contains == 1 ? "" : "s");
    wbi_buf_addz(b, " with ");
    wbi_describe_node(b, r->schema, &r->schema->nodes[a->contains]);
}

static bool is_missing(const struct wbi_raw_error *e)
{
    return e->keyword == KW_REQUIRED || e->keyword == KW_DEPENDENT_REQUIRED;
}

/* known: the member was named already. */
static void add_missing(struct wbi_buf *b, const struct report *r, const struct wbi_raw_error *e,
                        bool known)
{
    const struct wbi_node *member = wbi_member_node(r->schema, e->node, wbi_json_text(e->extra));

    if (!known) {
        wbi_buf_addz(b, "the member ");
        wbi_describe_scalar(b, e->extra, 64);
        wbi_buf_addz(b, member != NULL ? ", " : "");
    }
    if (member != NULL)
        wbi_describe_node(b, r->schema, member);
}

static void add_expected(struct wbi_buf *b, const struct report *r, const struct wbi_raw_error *e)
{
    switch (e->keyword) {
    case KW_REQUIRED:
    case KW_DEPENDENT_REQUIRED:
        add_missing(b, r, e, false);
        break;
    case KW_FALSE:
    case KW_ADDITIONAL_PROPERTIES:
    case KW_UNEVALUATED_PROPERTIES:
        wbi_buf_addz(b, "no such member");
        break;
    case KW_UNEVALUATED_ITEMS:
    case KW_ADDITIONAL_ITEMS:
    case KW_ITEMS:
        wbi_buf_addz(b, "no further items");
        break;
    case KW_UNIQUE_ITEMS:
        wbi_buf_addz(b, "items that differ");
        break;
    case KW_NOT:
        wbi_buf_addz(b, "a value that the schema under \"not\" refuses");
        break;
    case KW_ONE_OF:
        if (e->count > 1)
            wbi_buf_addf(b, "exactly one of the alternatives to fit, not %u", e->count);
        else
            wbi_describe_node(b, r->schema, e->node);
        break;
    case KW_CONTAINS:
    case KW_MIN_CONTAINS:
    case KW_MAX_CONTAINS:
        add_expected_count(b, r, e);
        break;
    default:
        wbi_describe_node(b, r->schema, e->node);
    }
}

/* Branches are told of up to here. */
#define ALTERNATIVES 16

typedef void add_fn(struct wbi_buf *b, const struct report *r, const struct wbi_raw_error *e,
                    bool known);

/* What the branches of a choice say about one member, each thing once. */
static void add_alternatives(struct wbi_buf *b, const struct report *r,
                             const struct wbi_raw_error *e, const char *separator, add_fn *add)
{
    struct wbi_str said[ALTERNATIVES];
    size_t n = 0, same;

    for (uint32_t i = 0; i <= e->n_also; i++) {
        const struct wbi_raw_error *one = i == 0 ? e : &e->also[i - 1];
        bool known = i > 0 && is_missing(one) &&
                     wbi_str_eq(wbi_json_text(one->extra), wbi_json_text(e->extra));
        struct wbi_buf text;

        if (n == ALTERNATIVES) {
            wbi_buf_addf(b, "%sothers", separator);
            return;
        }
        wbi_buf_init_arena(&text, r->arena, 64 * WBI_KIB);
        add(&text, r, one, known);
        said[n] = wbi_buf_str(&text);
        for (same = 0; same < n && !wbi_str_eq(said[same], said[n]); same++)
            ;
        if (same < n)
            continue;
        if (n++ > 0)
            wbi_buf_addz(b, is_missing(one) && !known ? ", or " : separator);
        wbi_buf_adds(b, wbi_buf_str(&text));
    }
}

static void add_one_expected(struct wbi_buf *b, const struct report *r,
                             const struct wbi_raw_error *e, bool known)
{
    if (known)
        add_missing(b, r, e, true);
    else
        add_expected(b, r, e);
}

static struct wbi_str expected(const struct report *r, const struct wbi_raw_error *e)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, r->arena, 64 * WBI_KIB);
    add_alternatives(&b, r, e, " or ", add_one_expected);
    return done(&b);
}

static struct wbi_str found(const struct report *r, const struct wbi_raw_error *e)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, r->arena, 4 * WBI_KIB);
    if (is_missing(e))
        wbi_buf_addz(&b, "nothing");
    else
        wbi_describe_value(&b, e->instance);
    if (wbi_buf_rc(&b) == WB_OK && b.n > WBI_LIMIT_SCHEMA_FOUND)
        b.n = wbi_utf8_cut(wbi_buf_str(&b), WBI_LIMIT_SCHEMA_FOUND);
    return done(&b);
}

static void add_accepted(struct wbi_buf *b, const struct report *r, const struct wbi_raw_error *e,
                         bool known)
{
    (void)r;
    (void)known;
    if (e->keyword == KW_CONST)
        wbi_describe_scalar(b, e->node->constant, 64);
    else if (e->keyword == KW_ENUM)
        wbi_describe_list(b, wbi_json_get(e->node->src, "enum"));
    else if (e->keyword == KW_ADDITIONAL_PROPERTIES || e->keyword == KW_UNEVALUATED_PROPERTIES)
        wbi_describe_list(b, wbi_json_get(e->node->src, "properties"));
}

/* Names or values that can be listed; absent otherwise. */
static struct wbi_str accepted(const struct report *r, const struct wbi_raw_error *e)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, r->arena, 64 * WBI_KIB);
    add_alternatives(&b, r, e, ", ", add_accepted);
    return b.n > 0 ? done(&b) : WBI_NONE;
}

static void add_subject(struct wbi_buf *b, const struct wbi_schema_error *out,
                        const struct wbi_raw_error *e, bool key)
{
    struct wbi_str path = out->path;

    if (key) {
        wbi_buf_addz(b, "the member name ");
        wbi_describe_scalar(b, e->instance, 48);
        wbi_buf_addz(b, path.n > 0 ? " in " : "");
        if (path.n == 0)
            return;
    }
    if (path.n == 0) {
        wbi_buf_addz(b, "the value");
        return;
    }
    wbi_json_quote(b, wbi_str_head(path, wbi_utf8_cut(path, 200)));
}

static void add_verdict(struct wbi_buf *b, const struct wbi_schema_error *out,
                        enum wbi_keyword keyword)
{
    switch (keyword) {
    case KW_REQUIRED:
    case KW_DEPENDENT_REQUIRED:
        wbi_buf_addf(b, " must have %.*s; it is missing", WBI_FMT(out->expected));
        return;
    case KW_FALSE:
    case KW_ADDITIONAL_PROPERTIES:
    case KW_UNEVALUATED_PROPERTIES:
        wbi_buf_addz(b, " is not accepted");
        if (out->accepted.p != NULL)
            wbi_buf_addf(b, "; members are %.*s", WBI_FMT(out->accepted));
        return;
    case KW_UNEVALUATED_ITEMS:
    case KW_ADDITIONAL_ITEMS:
    case KW_ITEMS:
        wbi_buf_addz(b, " is one item too many");
        return;
    case KW_UNIQUE_ITEMS:
        wbi_buf_addz(b, " must not have two equal items");
        return;
    case KW_CONTAINS:
    case KW_MIN_CONTAINS:
    case KW_MAX_CONTAINS:
        wbi_buf_addf(b, " must have %.*s", WBI_FMT(out->expected));
        return;
    default:
        wbi_buf_addf(b, " must be %.*s; got %.*s", WBI_FMT(out->expected), WBI_FMT(out->found));
    }
}

/* Not any of several. */
static bool misses_one(const struct wbi_raw_error *e)
{
    for (uint32_t i = 0; i < e->n_also; i++)
        if (!wbi_str_eq(wbi_json_text(e->also[i].extra), wbi_json_text(e->extra)))
            return false;
    return true;
}

static wb_rc put_into_words(const struct report *r, const struct wbi_raw_error *e,
                            struct wbi_schema_error *out)
{
    struct wbi_buf path, message;
    bool key;

    wbi_buf_init_arena(&path, r->arena, WBI_MIB);
    (void)wbi_json_place(r->instance, e->instance, &path, &key);
    *out = (struct wbi_schema_error){.code = code_of(r, e),
                                     .path = done(&path),
                                     .keyword = keyword_name(e->keyword),
                                     .schema_path = schema_place(r, e),
                                     .expected = expected(r, e),
                                     .found = found(r, e),
                                     .accepted = accepted(r, e)};
    if (is_missing(e) && misses_one(e))
        out->missing = wbi_arena_str(r->arena, wbi_json_text(e->extra));
    wbi_buf_init_arena(&message, r->arena, 128 * WBI_KIB);
    add_subject(&message, out, e, key);
    if (e->keyword == KW_ONE_OF && e->count > 1)
        wbi_buf_addf(&message, " fits %u of the alternatives; exactly one is allowed", e->count);
    else if (e->keyword == KW_NOT)
        wbi_buf_addf(&message, " must not be %.*s", WBI_FMT(out->found));
    else
        add_verdict(&message, out, e->keyword);
    out->message = done(&message);
    if (out->path.p == NULL || out->schema_path.p == NULL || out->expected.p == NULL ||
        out->found.p == NULL || out->message.p == NULL)
        return WB_ENOMEM;
    return WB_OK;
}

static wb_rc fill(const struct report *r, const struct wbi_raw_errors *raw,
                  struct wbi_schema_report *out)
{
    size_t most = WBI_MIN(raw->n, (size_t)WBI_LIMIT_SCHEMA_ERRORS);
    wb_rc rc = WB_OK;

    out->errors = wbi_arena_array(r->arena, most, sizeof(*out->errors));
    if (out->errors == NULL)
        return WB_ENOMEM;
    out->more = raw->more;
    for (unsigned k = 0; rc == WB_OK && k <= 5; k++) {
        const struct wbi_raw_error *e;
        size_t at = 0;
        while (rc == WB_OK && (e = next_of_rank(raw, k, &at)) != NULL) {
            if (out->n_errors == most)
                out->more = true;
            else
                rc = put_into_words(r, e, &out->errors[out->n_errors++]);
        }
    }
    return rc;
}

wb_rc wbi_schema_check(const struct wbi_schema *schema, const wbi_json *instance,
                       struct wbi_arena *arena, struct wbi_schema_report *ret,
                       struct wbi_error *err)
{
    struct wbi_schema_report out = {.valid = false};
    struct wbi_raw_errors raw = {.arena = arena};
    struct report r = {schema, instance, arena};
    struct wbi_work work = wbi_schema_work(instance);
    wb_rc rc = WB_OK;

    out.valid = wbi_schema_run(schema, instance, NULL, &work);
    if (!out.valid && work.rc == WB_OK) {
        work = wbi_schema_work(instance);
        (void)wbi_schema_run(schema, instance, &raw, &work);
    }
    if (work.rc == WB_ENOMEM)
        return wbi_fail_nomem(err);
    if (work.rc != WB_OK && raw.n == 0)
        return wbi_fail(err, work.rc,
                        "validation was given up: the value and its schema need too much work");
    if (!out.valid)
        rc = fill(&r, &raw, &out);
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    *ret = out;
    return WB_OK;
}
