/* SPDX-License-Identifier: Apache-2.0
 * schema/run_members.c: what the members of an object and the items of an
 * array have to satisfy. */
#include "schema/run_int.h"

static bool missing_names(struct run *r, struct frame *f, const wbi_json *names,
                          enum wbi_keyword keyword)
{
    bool any = false;

    WBI_JSON_EACH (names, e) {
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
            if (!wbi_check_matches(o->patterns[sub - 2].regex, text, r->work))
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

enum answer wbi_run_members(struct run *r, struct frame *f)
{
    enum answer a = f->node->object->simple ? simple_members(r, f) : all_members(r, f);

    if (a == PASS)
        end_members(r, f);
    return a;
}

/* ---- arrays ---- */

enum answer wbi_run_items(struct run *r, struct frame *f)
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

enum answer wbi_run_contains(struct run *r, struct frame *f)
{
    const struct wbi_array_checks *a = f->node->array;

    for (; f->left > 0; f->left--, f->index++, f->cursor = wbi_json_skip(f->cursor)) {
        enum answer answer = f->waiting ? take(r, f) : evaluate(r, a->contains, f->cursor, false);

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
