/* SPDX-License-Identifier: Apache-2.0
 * schema/schema_int.h: the compiled form, shared by the room's files.
 * Nodes lie in one array and refer to each other by index; node 0 is `true`.
 * Everything hangs on the schema's own arena, the copied schema texts too, so
 * that messages can be made from the source of a node (`src`). */
#ifndef WBI_SCHEMA_SCHEMA_INT_H
#define WBI_SCHEMA_SCHEMA_INT_H

#include "schema/keywords.h"
#include "schema/names.h"
#include "schema/schema.h"
#include "text/regex.h"

/* Types as bits: a number with an integral value is an INTEGER, whatever its
 * spelling; "number" allows both bits. */
enum {
    BIT_NULL = 1,
    BIT_BOOL = 2,
    BIT_INTEGER = 4,
    BIT_FRACTION = 8,
    BIT_STRING = 16,
    BIT_ARRAY = 32,
    BIT_OBJECT = 64,
    BIT_NUMBER = BIT_INTEGER | BIT_FRACTION,
    BIT_ANY = 127
};

#define NO_NODE UINT32_MAX
#define TRUE_NODE 0u

enum wbi_format {
    FORMAT_NONE = 0,
    FORMAT_DATE_TIME,
    FORMAT_DATE,
    FORMAT_TIME,
    FORMAT_DURATION,
    FORMAT_EMAIL,
    FORMAT_HOSTNAME,
    FORMAT_IPV4,
    FORMAT_IPV6,
    FORMAT_URI,
    FORMAT_URI_REFERENCE,
    FORMAT_URI_TEMPLATE,
    FORMAT_UUID,
    FORMAT_JSON_POINTER,
    FORMAT_RELATIVE_JSON_POINTER,
    FORMAT_REGEX,
    FORMAT_IDN_EMAIL,
    FORMAT_IDN_HOSTNAME,
    FORMAT_IRI,
    FORMAT_IRI_REFERENCE
};
/* FORMAT_NONE for names that are not checked. */
enum wbi_format wbi_format_find(struct wbi_str name);
bool wbi_format_valid(enum wbi_format format, struct wbi_str s);
/* format_net.c */
bool wbi_format_ipv4(struct wbi_str s);
bool wbi_format_ipv6(struct wbi_str s);
bool wbi_format_hostname(struct wbi_str s);
bool wbi_format_idn_hostname(struct wbi_str s);
/* wide: characters beyond ASCII are accepted where the international form has them. */
bool wbi_format_email(struct wbi_str s, bool wide);
bool wbi_format_uri(struct wbi_str s, bool absolute, bool wide);
bool wbi_format_uri_template(struct wbi_str s);
/* format_label.c: an "xn--" label by RFC 5891 and 5892, ASCII part checked. */
bool wbi_format_a_label(struct wbi_str label);
/* One in Unicode: its length as such a label, 0 when it is none. */
size_t wbi_format_u_label(struct wbi_str label);
/* Of a good label of either kind: has it characters that run to the left, and may it stand in
 * a name that has some. */
void wbi_format_directions(struct wbi_str label, bool *ret_right, bool *ret_fits);

struct wbi_number_checks {
    const wbi_json *minimum, *maximum, *exclusive_minimum, *exclusive_maximum;
    const wbi_json *multiple_of;
    /* The usual case, integer bounds: inclusive, for int64 instances. */
    int64_t low, high;
    bool int_bounds; /* low and high say all there is to say about an int64 */
};

struct wbi_string_checks {
    uint64_t min_length, max_length; /* max: UINT64_MAX for none */
    struct wbi_regex *pattern;
    enum wbi_format format;
};

struct wbi_enum_checks {
    struct wbi_names strings;
    const wbi_json **others; /* everything that is no string */
    uint32_t n_others;
};

struct wbi_pattern_property {
    struct wbi_regex *regex;
    uint32_t node;
};

struct wbi_dependency {
    struct wbi_str name;
    const wbi_json *required; /* array of names */
};

/* Flags of a name in the table of properties. */
enum {
    NAME_DECLARED = 1, /* by "properties"; otherwise only by "required" */
    NAME_TYPE_ONLY = 2 /* its schema asks for nothing but a type */
};

struct wbi_object_checks {
    struct wbi_names names; /* value: node */
    uint64_t required_mask;
    const wbi_json *required_rest; /* "required" when it has more than 64 names */
    struct wbi_pattern_property *patterns;
    uint32_t n_patterns;
    uint32_t additional;  /* NO_NODE: anything */
    uint32_t names_node;  /* propertyNames, or NO_NODE */
    uint32_t unevaluated; /* NO_NODE: none, or not needed */
    uint64_t min, max;
    struct wbi_dependency *dependencies;
    uint32_t n_dependencies;
    enum wbi_keyword additional_keyword; /* what `additional` was written as */
    bool simple;                         /* no patterns, no propertyNames */
};

struct wbi_array_checks {
    uint32_t *prefix;
    uint32_t n_prefix;
    uint32_t rest;     /* items after the prefix, NO_NODE: anything */
    uint32_t contains; /* NO_NODE: none */
    uint32_t unevaluated;
    uint64_t min_contains, max_contains;
    uint64_t min, max;
    enum wbi_keyword rest_keyword;
    bool unique;
    bool contains_marks; /* 2020-12: matches count as evaluated */
};

enum wbi_op_kind { OP_REF, OP_DYNAMIC_REF, OP_ANY_OF, OP_ONE_OF, OP_NOT, OP_IF, OP_DEPENDENT };

/* A keyword that applies schemas to the same value. */
struct wbi_op {
    uint8_t kind;
    uint8_t keyword; /* for messages: $ref, allOf, … */
    uint32_t node;   /* REF, NOT, IF, DEPENDENT; DYNAMIC_REF: where it leads statically */
    uint32_t then_node, else_node;
    uint32_t n; /* ANY_OF, ONE_OF */
    uint32_t *list;
    struct wbi_str name; /* DEPENDENT: member; DYNAMIC_REF: anchor, absent if static */
};

enum {
    NODE_LEAF = 1,      /* nothing but checks of a single value: no frame needed */
    NODE_TYPE_ONLY = 2, /* leaf, and only the type is asked for */
    NODE_TRACKS = 4,    /* unevaluated* must know what the others took */
    NODE_CHECKS = 8     /* asks something of the value beside its type */
};

/* Nodes up to this level are checked without a frame. */
#define SHALLOW_LEVEL 6
#define NO_LEVEL 255

struct wbi_node {
    uint8_t types; /* 0: false */
    uint8_t flags;
    uint8_t level; /* 0: a leaf; NO_LEVEL: needs a frame */
    uint32_t n_ops;
    uint32_t resource;
    struct wbi_number_checks *number;
    struct wbi_string_checks *string;
    struct wbi_enum_checks *enums;
    const wbi_json *constant;
    struct wbi_object_checks *object;
    struct wbi_array_checks *array;
    struct wbi_op *ops;
    const wbi_json *src;
};

struct wbi_dynamic_anchor {
    struct wbi_str name;
    uint32_t node;
    struct wbi_dynamic_anchor *next;
};

struct wbi_resource {
    struct wbi_str uri; /* without fragment; empty when it has none */
    const wbi_json *root;
    struct wbi_dynamic_anchor *dynamic;
};

struct wbi_schema {
    struct wbi_arena *arena;
    const struct wbi_node *nodes;
    const struct wbi_resource *resources;
    uint32_t n_nodes;
    uint32_t n_resources;
    uint32_t root;
};

static inline uint8_t wbi_type_bits(const wbi_json *v)
{
    static const uint8_t bits[8] = {0,           BIT_INTEGER, BIT_NULL,  BIT_BOOL,
                                    BIT_INTEGER, BIT_STRING,  BIT_ARRAY, BIT_OBJECT};

    if ((v->tag & 0x1f) == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL)) {
        double d = v->uni.f64;
        return __builtin_floor(d) == d ? BIT_INTEGER : BIT_FRACTION;
    }
    return bits[v->tag & 7];
}

static inline struct wbi_str wbi_json_text(const wbi_json *string)
{
    return wbi_str_make(string->uni.str, (size_t)(string->tag >> YYJSON_TAG_BIT));
}

/* number.c: numbers by value. */
int wbi_number_compare(const wbi_json *a, const wbi_json *b);
/* The nearest double. */
double wbi_number_double(const wbi_json *v);
bool wbi_number_multiple(const wbi_json *v, const wbi_json *of);

/* Work a validation may still do; `left` is signed so that it may go under 0. */
struct wbi_work {
    int64_t left;
    wb_rc rc; /* WB_OK until something stopped it: WB_ELIMIT, WB_ENOMEM */
};

static inline void wbi_work_stop(struct wbi_work *work, wb_rc rc)
{
    if (work->rc == WB_OK)
        work->rc = rc;
}

static inline void wbi_work_pay(struct wbi_work *work, size_t n)
{
    work->left -= (int64_t)n;
    if (work->left < 0)
        wbi_work_stop(work, WB_ELIMIT);
}

/* check.c */
/* What a value alone fails, its type checked already; KW_NONE for nothing. */
enum wbi_keyword wbi_check_value(const struct wbi_node *n, const wbi_json *v, uint8_t bits,
                                 struct wbi_work *work);
bool wbi_check_matches(const struct wbi_regex *regex, struct wbi_str s, struct wbi_work *work);
/* All of a node whose level is at most SHALLOW_LEVEL, type included. */
bool wbi_check_shallow(const struct wbi_node *nodes, const struct wbi_node *n, const wbi_json *v,
                       struct wbi_work *work);

/* equal.c: equality and duplicates under a budget of work. */
bool wbi_schema_equal(const wbi_json *a, const wbi_json *b, struct wbi_work *work);
bool wbi_schema_unique(const wbi_json *array, struct wbi_work *work);

/* What failed, before it is put into words. */
struct wbi_raw_error {
    const struct wbi_node *node;
    const wbi_json *instance;
    const wbi_json *extra; /* REQUIRED, dependencies: the missing name; names: the key */
    enum wbi_keyword keyword;
    uint32_t count; /* ONE_OF, CONTAINS: how many matched */
    uint32_t n_also;
    const struct wbi_raw_error *also; /* what other branches say instead; have none themselves */
};

struct wbi_raw_errors {
    struct wbi_arena *arena;
    struct wbi_raw_error *list;
    size_t n, cap;
    bool more;
};

/* run.c: errors NULL asks for the verdict alone. False with work->rc set when stopped. */
bool wbi_schema_run(const struct wbi_schema *schema, const wbi_json *instance,
                    struct wbi_raw_errors *errors, struct wbi_work *work);
struct wbi_work wbi_schema_work(const wbi_json *instance);

/* errors.c: the raw list. */
void wbi_raw_add(struct wbi_raw_errors *list, const struct wbi_raw_error *e, struct wbi_work *work);
/* All branches of node's op failed; their errors begin at starts[i]. Keeps the
 * closest branch's, or one error for all where none is closer. */
void wbi_raw_choose(struct wbi_raw_errors *list, const struct wbi_schema *schema,
                    const struct wbi_node *node, const struct wbi_op *op, const wbi_json *instance,
                    const size_t *starts, struct wbi_work *work);
/* What a declared member has to be; NULL: nothing is said of it. */
const struct wbi_node *wbi_member_node(const struct wbi_schema *schema, const struct wbi_node *node,
                                       struct wbi_str name);
/* Types a node allows, seen through references and choices. */
uint8_t wbi_node_types(const struct wbi_schema *schema, const struct wbi_node *node);

/* place.c: where a value stands in a tree; false when it is not in it. A key
 * leads to its object's place and sets *ret_key (which may be NULL). Tokens of
 * more than 256 bytes are cut. */
bool wbi_json_place(const wbi_json *root, const wbi_json *value, struct wbi_buf *path,
                    bool *ret_key);

/* describe.c: words for what a node accepts and what a value is. */
void wbi_describe_node(struct wbi_buf *out, const struct wbi_schema *schema,
                       const struct wbi_node *node);
void wbi_describe_value(struct wbi_buf *out, const wbi_json *value);
/* A short form of a scalar; strings quoted, cut after `most` characters. */
void wbi_describe_scalar(struct wbi_buf *out, const wbi_json *value, size_t most);
/* The values of an array, or the names of an object's members, with commas. */
void wbi_describe_list(struct wbi_buf *out, const wbi_json *list);

/* uri.c: RFC 3986 reference resolution, result in arena; p NULL: out of memory. */
struct wbi_str wbi_uri_resolve(struct wbi_arena *arena, struct wbi_str base, struct wbi_str ref);

#endif
