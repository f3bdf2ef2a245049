/* SPDX-License-Identifier: Apache-2.0
 * schema/run.c: the validator.
 * Nodes that check a single value are answered on the spot; every other node
 * gets a frame on an explicit stack (32 frames in place, then one block of
 * WBI_LIMIT_SCHEMA_FRAMES), so that neither schema nor instance can exhaust the C
 * stack. Without a list of errors the first failure ends a frame; with one,
 * frames go on and collect. Every visit is paid for from the budget of work. */
#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "schema/schema_int.h"

enum phase { ENTER, MEMBERS, ITEMS, CONTAINS, OPS, UNEVALUATED, LEAVE };

enum answer { FAIL = 0, PASS = 1, WAIT = 2 };

struct frame {
    const struct wbi_node *node;
    const wbi_json *instance;
    const wbi_json *cursor; /* key of the next member, or next element */
    size_t left;            /* members or elements from cursor on */
    size_t index;           /* place of cursor */
    uint64_t seen;          /* required names met */
    size_t error_mark;
    size_t *starts;  /* first error of each branch, when errors are collected */
    uint32_t op;     /* which of node->ops */
    uint32_t sub;    /* branch of the op, or schema for the present member */
    uint32_t matches;
    uint32_t marks;  /* first word of what was evaluated, when tracked */
    uint8_t phase;
    bool ok;
    bool track;
    bool merge;      /* what it evaluated counts for the frame below */
    bool waiting;    /* for the frame above */
    bool member_taken;
};

#define FRAMES_IN_PLACE 32
#define WORDS_IN_PLACE 32

struct run {
    const struct wbi_schema *schema;
    const struct wbi_node *nodes;
    struct wbi_raw_errors *errors;
    struct wbi_work *work;
    struct frame *frames;
    size_t depth, cap;
    uint64_t *words;
    size_t n_words, cap_words;
    bool child_ok;
};

static void stop(struct run *r, wb_rc rc)
{
    if (r->work->rc == WB_OK)
        r->work->rc = rc;
}

static bool stopped(const struct run *r)
{
    return r->work->rc != WB_OK;
}

static void pay(struct run *r, size_t n)
{
    r->work->left -= (int64_t)n;
    if (r->work->left < 0)
        stop(r, WB_ELIMIT);
}

static void complain(struct run *r, const struct wbi_node *node, enum wbi_keyword keyword,
                     const wbi_json *instance, const wbi_json *extra, uint32_t count)
{
    struct wbi_raw_error e = {node, instance, extra, keyword, count};

    if (r->errors != NULL)
        wbi_raw_add(r->errors, &e, r->work);
}

/* The frame's own keyword failed. True: go on and collect. */
static bool failed(struct run *r, struct frame *f, enum wbi_keyword keyword)
{
    f->ok = false;
    complain(r, f->node, keyword, f->instance, NULL, 0);
    return r->errors != NULL;
}

/* ---- single values ---- */

#define FULL_EFFORT_COST 1000000u

static bool matches(struct run *r, const struct wbi_regex *regex, struct wbi_str s)
{
    enum wbi_regex_verdict v;

    pay(r, 8 + s.n / 8);
    v = wbi_regex_test(regex, s, WBI_REGEX_QUICK);
    if (v == WBI_REGEX_LIMIT && !stopped(r)) {
        pay(r, FULL_EFFORT_COST);
        if (!stopped(r))
            v = wbi_regex_test(regex, s, WBI_REGEX_FULL);
    }
    if (v == WBI_REGEX_LIMIT)
        stop(r, WB_ELIMIT);
    return v == WBI_REGEX_YES;
}

static enum wbi_keyword check_length(const struct wbi_string_checks *c, struct wbi_str s)
{
    size_t n;

    if (s.n <= c->max_length && s.n / 4 >= c->min_length)
        return KW_NONE; /* n bytes are n / 4 to n characters */
    n = wbi_utf8_count(s);
    if (n < c->min_length)
        return KW_MIN_LENGTH;
    return n > c->max_length ? KW_MAX_LENGTH : KW_NONE;
}

static enum wbi_keyword check_string(struct run *r, const struct wbi_string_checks *c,
                                     const wbi_json *v)
{
    struct wbi_str s = wbi_json_text(v);
    enum wbi_keyword bad = check_length(c, s);

    if (bad != KW_NONE)
        return bad;
    if (c->pattern != NULL && !matches(r, c->pattern, s))
        return KW_PATTERN;
    if (c->format != FORMAT_NONE) {
        pay(r, 8 + s.n / 8);
        if (!wbi_format_valid(c->format, s))
            return KW_FORMAT;
    }
    return KW_NONE;
}

static enum wbi_keyword check_number_slow(const struct wbi_number_checks *c, const wbi_json *v)
{
    if (c->minimum != NULL && wbi_number_compare(v, c->minimum) < 0)
        return KW_MINIMUM;
    if (c->maximum != NULL && wbi_number_compare(v, c->maximum) > 0)
        return KW_MAXIMUM;
    if (c->exclusive_minimum != NULL && wbi_number_compare(v, c->exclusive_minimum) <= 0)
        return KW_EXCLUSIVE_MINIMUM;
    if (c->exclusive_maximum != NULL && wbi_number_compare(v, c->exclusive_maximum) >= 0)
        return KW_EXCLUSIVE_MAXIMUM;
    if (c->multiple_of != NULL && !wbi_number_multiple(v, c->multiple_of))
        return KW_MULTIPLE_OF;
    return KW_NONE;
}

static enum wbi_keyword check_number(struct run *r, const struct wbi_number_checks *c,
                                     const wbi_json *v)
{
    uint8_t tag = v->tag & 0x1f;

    if (c->int_bounds && (tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT) ||
                          (tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT) &&
                           v->uni.u64 <= INT64_MAX)) &&
        v->uni.i64 >= c->low && v->uni.i64 <= c->high)
        return KW_NONE;
    if (wbi_json_is(v, WBI_JSON_BIG))
        pay(r, wbi_json_text(v).n);
    return check_number_slow(c, v);
}

static bool listed(struct run *r, const struct wbi_enum_checks *e, const wbi_json *v)
{
    if ((v->tag & 7) == YYJSON_TYPE_STR) {
        struct wbi_str s = wbi_json_text(v);
        return wbi_names_find(&e->strings, s.p, s.n) != NULL;
    }
    pay(r, e->n_others);
    for (uint32_t i = 0; i < e->n_others; i++)
        if (wbi_schema_equal(e->others[i], v, r->work))
            return true;
    return false;
}

/* What a value alone can fail, the type checked already. */
static enum wbi_keyword check_value(struct run *r, const struct wbi_node *n, const wbi_json *v,
                                    uint8_t bits)
{
    enum wbi_keyword bad = KW_NONE;

    if (n->enums != NULL && !listed(r, n->enums, v))
        return KW_ENUM;
    if (n->constant != NULL && !wbi_schema_equal(n->constant, v, r->work))
        return KW_CONST;
    if (n->string != NULL && bits == BIT_STRING)
        bad = check_string(r, n->string, v);
    else if (n->number != NULL && (bits & BIT_NUMBER) != 0)
        bad = check_number(r, n->number, v);
    return bad;
}

/* ---- frames ---- */

static bool more_frames(struct run *r)
{
    struct frame *all;

    if (r->cap == WBI_LIMIT_SCHEMA_FRAMES) {
        stop(r, WB_ELIMIT);
        return false;
    }
    all = wbi_alloc(WBI_LIMIT_SCHEMA_FRAMES * sizeof(*all));
    if (all == NULL) {
        stop(r, WB_ENOMEM);
        return false;
    }
    memcpy(all, r->frames, r->depth * sizeof(*all));
    r->frames = all;
    r->cap = WBI_LIMIT_SCHEMA_FRAMES;
    return true;
}

static bool more_words(struct run *r, size_t n)
{
    size_t cap = (r->n_words + n) * 2;
    uint64_t *words;

    words = wbi_alloc(cap * sizeof(*words));
    if (words == NULL) {
        stop(r, WB_ENOMEM);
        return false;
    }
    memcpy(words, r->words, r->n_words * sizeof(*words));
    if (r->cap_words != WORDS_IN_PLACE)
        wbi_free(r->words);
    r->words = words;
    r->cap_words = cap;
    return true;
}

static size_t words_for(const wbi_json *instance)
{
    return (wbi_json_count(instance) + 63) / 64;
}

static void start_tracking(struct run *r, struct frame *f)
{
    size_t n = words_for(f->instance);

    f->track = true;
    f->marks = (uint32_t)r->n_words;
    pay(r, n);
    if (r->n_words + n > r->cap_words && !more_words(r, n)) {
        f->track = false;
        return;
    }
    memset(r->words + r->n_words, 0, n * sizeof(*r->words));
    r->n_words += n;
}

static void mark(struct run *r, const struct frame *f, size_t index)
{
    if (f->track)
        r->words[f->marks + index / 64] |= UINT64_C(1) << (index % 64);
}

/* A frame for node over instance; `below` (not yet for the root) waits for it. */
static enum answer push(struct run *r, const struct wbi_node *node, const wbi_json *instance,
                        bool merge)
{
    bool tracked = false;
    struct frame *f;

    pay(r, 1);
    if (r->depth > 0) {
        r->frames[r->depth - 1].waiting = true;
        tracked = merge && r->frames[r->depth - 1].track;
    }
    if (r->depth == r->cap && !more_frames(r))
        return WAIT;
    f = &r->frames[r->depth++];
    f->node = node;
    f->instance = instance;
    f->op = f->sub = f->matches = 0;
    f->index = 0;
    f->seen = 0;
    f->starts = NULL;
    f->phase = ENTER;
    f->ok = true;
    f->track = f->waiting = f->member_taken = false;
    f->merge = merge;
    if ((tracked || (node->flags & NODE_TRACKS) != 0) && wbi_json_count(instance) > 0)
        start_tracking(r, f);
    return WAIT;
}

static inline enum answer evaluate(struct run *r, uint32_t index, const wbi_json *instance,
                                   bool merge)
{
    const struct wbi_node *n = &r->nodes[index];
    uint8_t bits = wbi_type_bits(instance);
    enum wbi_keyword bad;

    if ((n->types & bits) == 0)
        bad = n->types == 0 ? KW_FALSE : KW_TYPE;
    else if ((n->flags & NODE_LEAF) == 0)
        return push(r, n, instance, merge);
    else if ((n->flags & NODE_TYPE_ONLY) != 0)
        return PASS;
    else
        bad = check_value(r, n, instance, bits);
    if (bad == KW_NONE)
        return PASS;
    complain(r, n, bad, instance, NULL, 0);
    return FAIL;
}

/* As evaluate, but `false` is told as the frame's keyword, which says more. */
static enum answer evaluate_rest(struct run *r, struct frame *f, uint32_t index,
                                 const wbi_json *instance, enum wbi_keyword keyword)
{
    if (r->nodes[index].types != 0)
        return evaluate(r, index, instance, false);
    complain(r, f->node, keyword, instance, NULL, 0);
    return FAIL;
}

/* The answer of the frame that was above f. */
static enum answer take(struct run *r, struct frame *f)
{
    f->waiting = false;
    return r->child_ok ? PASS : FAIL;
}

/* ---- objects ---- */

static bool missing_names(struct run *r, struct frame *f, const wbi_json *names,
                          enum wbi_keyword keyword)
{
    bool any = false;

    WBI_JSON_EACH(names, e)
    {
        pay(r, wbi_json_count(f->instance));
        if (stopped(r))
            return true;
        if (wbi_json_getn(f->instance, wbi_json_text(e)) != NULL)
            continue;
        any = true;
        if (r->errors == NULL)
            return true;
        complain(r, f->node, keyword, f->instance, e, 0);
    }
    return any;
}

static void check_dependencies(struct run *r, struct frame *f)
{
    const struct wbi_object_checks *o = f->node->object;

    pay(r, o->n_dependencies * (1 + wbi_json_count(f->instance)));
    for (uint32_t i = 0; i < o->n_dependencies && !stopped(r); i++)
        if (wbi_json_getn(f->instance, o->dependencies[i].name) != NULL &&
            missing_names(r, f, o->dependencies[i].required, KW_DEPENDENT_REQUIRED))
            f->ok = false;
}

/* All members were met: what is missing? */
static void end_members(struct run *r, struct frame *f)
{
    const struct wbi_object_checks *o = f->node->object;

    if ((f->seen & o->required_mask) != o->required_mask) {
        f->ok = false;
        if (r->errors != NULL)
            (void)missing_names(r, f, wbi_json_get(f->node->src, "required"), KW_REQUIRED);
    }
    if (o->required_rest != NULL && missing_names(r, f, o->required_rest, KW_REQUIRED))
        f->ok = false;
    if (o->n_dependencies > 0)
        check_dependencies(r, f);
}

static inline void next_member(struct frame *f)
{
    f->cursor = wbi_json_skip(f->cursor + 1);
    f->left--;
    f->index++;
    f->sub = 0;
    f->member_taken = false;
}

/* One schema at most for each member: no patterns, no propertyNames. */
static enum answer simple_members(struct run *r, struct frame *f)
{
    const struct wbi_object_checks *o = f->node->object;
    const bool collect = r->errors != NULL;

    for (; f->left > 0; next_member(f)) {
        const wbi_json *key = f->cursor;
        const struct wbi_name *name;
        enum answer a;

        if (f->waiting) {
            a = take(r, f);
        } else {
            name = wbi_names_find(&o->names, key->uni.str, (size_t)(key->tag >> YYJSON_TAG_BIT));
            if (name != NULL)
                f->seen |= name->bit;
            if (name != NULL && (name->flags & NAME_TYPE_ONLY) != 0 &&
                (name->types & wbi_type_bits(key + 1)) != 0)
                a = PASS;
            else if (name != NULL && (name->flags & NAME_DECLARED) != 0)
                a = evaluate(r, name->value, key + 1, false);
            else if (o->additional == NO_NODE)
                continue;
            else
                a = evaluate_rest(r, f, o->additional, key + 1, o->additional_keyword);
            if (a == WAIT)
                return WAIT;
        }
        if (a == PASS) {
            mark(r, f, f->index);
        } else {
            f->ok = false;
            if (!collect)
                return FAIL;
        }
    }
    return PASS;
}

/* The next schema that applies to the present member. sub: 0 propertyNames,
 * 1 properties, 2… patterns, then the rest. PASS when none is left. */
static enum answer next_for_member(struct run *r, struct frame *f)
{
    const struct wbi_object_checks *o = f->node->object;
    const wbi_json *key = f->cursor;
    struct wbi_str text = wbi_json_text(key);

    for (;;) {
        uint32_t sub = f->sub++;
        if (sub == 0) {
            if (o->names_node != NO_NODE)
                return evaluate(r, o->names_node, key, false);
        } else if (sub == 1) {
            const struct wbi_name *name = wbi_names_find(&o->names, text.p, text.n);
            if (name != NULL)
                f->seen |= name->bit;
            if (name == NULL || (name->flags & NAME_DECLARED) == 0)
                continue;
            f->member_taken = true;
            return evaluate(r, name->value, key + 1, false);
        } else if (sub - 2 < o->n_patterns) {
            if (!matches(r, o->patterns[sub - 2].regex, text))
                continue;
            f->member_taken = true;
            return evaluate(r, o->patterns[sub - 2].node, key + 1, false);
        } else {
            if (sub - 2 > o->n_patterns || f->member_taken || o->additional == NO_NODE)
                return PASS;
            f->member_taken = true;
            return evaluate_rest(r, f, o->additional, key + 1, o->additional_keyword);
        }
    }
}

static enum answer all_members(struct run *r, struct frame *f)
{
    const uint32_t end = f->node->object->n_patterns + 3;

    for (; f->left > 0 && !stopped(r); next_member(f)) {
        while (f->waiting || f->sub < end) {
            enum answer a = f->waiting ? take(r, f) : next_for_member(r, f);

            if (a == WAIT)
                return WAIT;
            if (a == FAIL) {
                f->ok = false;
                if (r->errors == NULL)
                    return FAIL;
            }
        }
        if (f->member_taken)
            mark(r, f, f->index);
    }
    return PASS;
}

static enum answer members(struct run *r, struct frame *f)
{
    enum answer a = f->node->object->simple ? simple_members(r, f) : all_members(r, f);

    if (a == PASS)
        end_members(r, f);
    return a;
}

/* ---- arrays ---- */

static enum answer items(struct run *r, struct frame *f)
{
    const struct wbi_array_checks *a = f->node->array;

    for (; f->left > 0; f->left--, f->index++, f->cursor = wbi_json_skip(f->cursor)) {
        enum answer answer;

        if (f->waiting) {
            answer = take(r, f);
        } else if (f->index < a->n_prefix) {
            answer = evaluate(r, a->prefix[f->index], f->cursor, false);
        } else if (a->rest == NO_NODE) {
            return PASS;
        } else {
            answer = evaluate_rest(r, f, a->rest, f->cursor, a->rest_keyword);
        }
        if (answer == WAIT)
            return WAIT;
        if (answer == PASS)
            mark(r, f, f->index);
        else
            f->ok = false;
        if (!f->ok && r->errors == NULL)
            return FAIL;
    }
    return PASS;
}

static void end_contains(struct run *r, struct frame *f)
{
    const struct wbi_array_checks *a = f->node->array;
    enum wbi_keyword bad = KW_NONE;

    if (r->errors != NULL && r->errors->n > f->error_mark)
        r->errors->n = f->error_mark;
    if (f->matches < a->min_contains)
        bad = a->min_contains == 1 ? KW_CONTAINS : KW_MIN_CONTAINS;
    else if (f->matches > a->max_contains)
        bad = KW_MAX_CONTAINS;
    if (bad == KW_NONE)
        return;
    f->ok = false;
    complain(r, f->node, bad, f->instance, NULL, f->matches);
}

static enum answer contains(struct run *r, struct frame *f)
{
    const struct wbi_array_checks *a = f->node->array;

    for (; f->left > 0; f->left--, f->index++, f->cursor = wbi_json_skip(f->cursor)) {
        enum answer answer =
            f->waiting ? take(r, f) : evaluate(r, a->contains, f->cursor, false);

        if (answer == WAIT)
            return WAIT;
        if (answer == FAIL)
            continue;
        f->matches++;
        if (a->contains_marks)
            mark(r, f, f->index);
        if (!f->track && f->matches >= a->min_contains && a->max_contains == UINT64_MAX)
            break;
    }
    end_contains(r, f);
    f->matches = 0;
    return PASS;
}

/* ---- schemas for the same value ---- */

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
        wbi_raw_choose(r->errors, f->node, op, f->instance, f->starts, r->work);
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

static enum answer operations(struct run *r, struct frame *f)
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

static enum answer unevaluated(struct run *r, struct frame *f)
{
    bool object = wbi_json_is(f->instance, WBI_JSON_OBJ);
    uint32_t node = object ? f->node->object->unevaluated : f->node->array->unevaluated;
    enum wbi_keyword keyword = object ? KW_UNEVALUATED_PROPERTIES : KW_UNEVALUATED_ITEMS;

    for (; f->left > 0;
         f->left--, f->index++, f->cursor = wbi_json_skip(f->cursor + object)) {
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

/* ---- the machine ---- */

static void walk_from_start(struct frame *f)
{
    f->left = wbi_json_count(f->instance);
    f->cursor = f->instance + 1;
    f->index = 0;
}

static void check_size(struct run *r, struct frame *f, uint64_t min, uint64_t max,
                       enum wbi_keyword too_few, enum wbi_keyword too_many)
{
    if (f->left < min)
        (void)failed(r, f, too_few);
    else if (f->left > max)
        (void)failed(r, f, too_many);
}

static void enter(struct run *r, struct frame *f)
{
    const struct wbi_node *n = f->node;
    uint8_t bits = wbi_type_bits(f->instance);
    enum wbi_keyword bad = check_value(r, n, f->instance, bits);

    if (bad != KW_NONE && !failed(r, f, bad))
        return;
    f->phase = OPS;
    walk_from_start(f);
    pay(r, f->left);
    if (bits == BIT_OBJECT && n->object != NULL) {
        f->phase = MEMBERS;
        check_size(r, f, n->object->min, n->object->max, KW_MIN_PROPERTIES, KW_MAX_PROPERTIES);
    } else if (bits == BIT_ARRAY && n->array != NULL) {
        f->phase = ITEMS;
        check_size(r, f, n->array->min, n->array->max, KW_MIN_ITEMS, KW_MAX_ITEMS);
        if (n->array->unique && f->left > 1 && !wbi_schema_unique(f->instance, r->work))
            (void)failed(r, f, KW_UNIQUE_ITEMS);
    }
}

static bool has_unevaluated(const struct frame *f)
{
    if ((f->node->flags & NODE_TRACKS) == 0)
        return false;
    if (wbi_json_is(f->instance, WBI_JSON_OBJ))
        return f->node->object != NULL && f->node->object->unevaluated != NO_NODE;
    return wbi_json_is(f->instance, WBI_JSON_ARR) && f->node->array != NULL &&
           f->node->array->unevaluated != NO_NODE;
}

/* The phase after the present one is through. */
static void next_phase(struct run *r, struct frame *f)
{
    switch ((enum phase)f->phase) {
    case ITEMS:
        if (f->node->array->contains != NO_NODE) {
            f->phase = CONTAINS;
            f->error_mark = r->errors != NULL ? r->errors->n : 0;
            walk_from_start(f);
            pay(r, f->left);
            return;
        }
        f->phase = OPS;
        return;
    case OPS:
        f->phase = has_unevaluated(f) ? UNEVALUATED : LEAVE;
        walk_from_start(f);
        return;
    case UNEVALUATED:
        f->phase = LEAVE;
        return;
    default:
        f->phase = f->node->n_ops > 0 || (f->node->flags & NODE_TRACKS) != 0 ? OPS : LEAVE;
        return;
    }
}

/* Run the top frame until it is through (not WAIT) or another one is on top. */
static enum answer advance(struct run *r, struct frame *f)
{
    while (f->phase != LEAVE) {
        enum answer a = PASS;

        switch ((enum phase)f->phase) {
        case ENTER:
            enter(r, f);
            if (!f->ok && r->errors == NULL)
                return FAIL;
            continue;
        case MEMBERS:
            a = members(r, f);
            break;
        case ITEMS:
            a = items(r, f);
            break;
        case CONTAINS:
            a = contains(r, f);
            break;
        case OPS:
            a = operations(r, f);
            break;
        case UNEVALUATED:
            a = unevaluated(r, f);
            break;
        case LEAVE:
            break;
        }
        if (a == WAIT)
            return WAIT;
        if ((!f->ok && r->errors == NULL) || stopped(r))
            return FAIL;
        next_phase(r, f);
    }
    return f->ok ? PASS : FAIL;
}

static void pop(struct run *r, bool ok)
{
    const struct frame *f = &r->frames[--r->depth];

    r->child_ok = ok;
    if (!f->track)
        return;
    if (ok && f->merge && r->depth > 0 && r->frames[r->depth - 1].track) {
        uint64_t *to = r->words + r->frames[r->depth - 1].marks;
        size_t n = words_for(f->instance);
        for (size_t i = 0; i < n; i++)
            to[i] |= r->words[f->marks + i];
    }
    r->n_words = f->marks;
}

static bool run_frames(struct run *r)
{
    while (r->depth > 0) {
        enum answer a = advance(r, &r->frames[r->depth - 1]);

        if (stopped(r))
            return false;
        if (a != WAIT)
            pop(r, a == PASS);
    }
    return r->child_ok;
}

struct wbi_work wbi_schema_work(const wbi_json *instance)
{
    int64_t values = wbi_json_skip(instance) - instance;

    return (struct wbi_work){
        WBI_LIMIT_SCHEMA_STEPS + WBI_LIMIT_SCHEMA_STEPS_PER_VALUE * values, WB_OK};
}

bool wbi_schema_run(const struct wbi_schema *schema, const wbi_json *instance,
                    struct wbi_raw_errors *errors, struct wbi_work *work)
{
    struct frame frames[FRAMES_IN_PLACE] __attribute__((uninitialized));
    uint64_t words[WORDS_IN_PLACE] __attribute__((uninitialized));
    struct run r = {.schema = schema,
                    .nodes = schema->nodes,
                    .errors = errors,
                    .work = work,
                    .frames = frames,
                    .cap = FRAMES_IN_PLACE,
                    .words = words,
                    .cap_words = WORDS_IN_PLACE};
    enum answer a = evaluate(&r, schema->root, instance, false);
    bool ok = a == PASS;

    if (a == WAIT)
        ok = run_frames(&r);
    if (r.frames != frames)
        wbi_free(r.frames);
    if (r.words != words)
        wbi_free(r.words);
    return ok && !stopped(&r);
}

bool wbi_schema_valid(const struct wbi_schema *schema, const wbi_json *instance)
{
    struct wbi_work work = wbi_schema_work(instance);

    return wbi_schema_run(schema, instance, NULL, &work);
}
