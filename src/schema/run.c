/* SPDX-License-Identifier: Apache-2.0
 * schema/run.c: the validator.
 * Nodes that check a single value, and objects and arrays that stay shallow,
 * are answered on the spot (check.c); every other node gets a frame on an
 * explicit stack (32 frames in place, then one block of WBI_LIMIT_SCHEMA_FRAMES),
 * so that neither schema nor instance can exhaust the C stack. Without a list
 * of errors the first failure ends a frame; with one, frames go on and
 * collect. Every visit is paid for from the budget of work. */
#include "base/alloc.h"
#include "base/limits.h"
#include "schema/run_int.h"

#define FRAMES_IN_PLACE 32
#define WORDS_IN_PLACE 32

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

enum answer wbi_run_push(struct run *r, const struct wbi_node *node, const wbi_json *instance,
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
    enum wbi_keyword bad = wbi_check_value(n, f->instance, bits, r->work);

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
            a = wbi_run_members(r, f);
            break;
        case ITEMS:
            a = wbi_run_items(r, f);
            break;
        case CONTAINS:
            a = wbi_run_contains(r, f);
            break;
        case OPS:
            a = wbi_run_ops(r, f);
            break;
        case UNEVALUATED:
            a = wbi_run_unevaluated(r, f);
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

    return (struct wbi_work){WBI_LIMIT_SCHEMA_STEPS + WBI_LIMIT_SCHEMA_STEPS_PER_VALUE * values,
                             WB_OK};
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
    const struct wbi_node *root = &schema->nodes[schema->root];

    if (root->level <= SHALLOW_LEVEL)
        return wbi_check_shallow(schema->nodes, root, instance, &work) && work.rc == WB_OK;
    return wbi_schema_run(schema, instance, NULL, &work);
}
