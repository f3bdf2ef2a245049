/* SPDX-License-Identifier: Apache-2.0
 * schema/run_int.h: the validator's stack, shared by run.c (the machine),
 * run_members.c (objects, arrays) and run_ops.c (schemas for the same value).
 * An answer of WAIT means: a frame was pushed, return to the machine at once
 * (frames may have moved) and take() its answer when called again. */
#ifndef WBI_SCHEMA_RUN_INT_H
#define WBI_SCHEMA_RUN_INT_H

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
    size_t *starts; /* first error of each branch, when errors are collected */
    uint32_t op;    /* which of node->ops */
    uint32_t sub;   /* branch of the op, or schema for the present member */
    uint32_t matches;
    uint32_t marks; /* first word of what was evaluated, when tracked */
    uint8_t phase;
    bool ok;
    bool track;
    bool merge;   /* what it evaluated counts for the frame below */
    bool waiting; /* for the frame above */
    bool member_taken;
};

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

static inline void stop(struct run *r, wb_rc rc)
{
    wbi_work_stop(r->work, rc);
}

static inline bool stopped(const struct run *r)
{
    return r->work->rc != WB_OK;
}

static inline void pay(struct run *r, size_t n)
{
    wbi_work_pay(r->work, n);
}

static inline void complain(struct run *r, const struct wbi_node *node, enum wbi_keyword keyword,
                            const wbi_json *instance, const wbi_json *extra, uint32_t count)
{
    struct wbi_raw_error e = {node, instance, extra, keyword, count};

    if (r->errors != NULL)
        wbi_raw_add(r->errors, &e, r->work);
}

/* The frame's own keyword failed. True: go on and collect. */
static inline bool failed(struct run *r, struct frame *f, enum wbi_keyword keyword)
{
    f->ok = false;
    complain(r, f->node, keyword, f->instance, NULL, 0);
    return r->errors != NULL;
}

static inline void mark(struct run *r, const struct frame *f, size_t index)
{
    if (f->track)
        r->words[f->marks + index / 64] |= UINT64_C(1) << (index % 64);
}

/* run.c: a frame for node over instance; the frame below waits for it. */
enum answer wbi_run_push(struct run *r, const struct wbi_node *node, const wbi_json *instance,
                         bool merge);

static inline enum answer evaluate(struct run *r, uint32_t index, const wbi_json *instance,
                                   bool merge)
{
    const struct wbi_node *n = &r->nodes[index];
    uint8_t bits = wbi_type_bits(instance);
    enum wbi_keyword bad;

    if ((n->types & bits) == 0)
        bad = n->types == 0 ? KW_FALSE : KW_TYPE;
    else if (n->level <= SHALLOW_LEVEL && r->errors == NULL &&
             !(merge && r->depth > 0 && r->frames[r->depth - 1].track))
        return wbi_check_shallow(r->nodes, n, instance, r->work) ? PASS : FAIL;
    else if ((n->flags & NODE_LEAF) == 0)
        return wbi_run_push(r, n, instance, merge);
    else if ((n->flags & NODE_TYPE_ONLY) != 0)
        return PASS;
    else
        bad = wbi_check_value(n, instance, bits, r->work);
    if (bad == KW_NONE)
        return PASS;
    complain(r, n, bad, instance, NULL, 0);
    return FAIL;
}

/* As evaluate, but `false` is told as the frame's keyword, which says more. */
static inline enum answer evaluate_rest(struct run *r, struct frame *f, uint32_t index,
                                        const wbi_json *instance, enum wbi_keyword keyword)
{
    if (r->nodes[index].types != 0)
        return evaluate(r, index, instance, false);
    complain(r, f->node, keyword, instance, NULL, 0);
    return FAIL;
}

/* The answer of the frame that was above f. */
static inline enum answer take(struct run *r, struct frame *f)
{
    f->waiting = false;
    return r->child_ok ? PASS : FAIL;
}

/* Each runs until its part of the frame is through: PASS, FAIL or WAIT. */
enum answer wbi_run_members(struct run *r, struct frame *f);
enum answer wbi_run_items(struct run *r, struct frame *f);
enum answer wbi_run_contains(struct run *r, struct frame *f);
enum answer wbi_run_ops(struct run *r, struct frame *f);
enum answer wbi_run_unevaluated(struct run *r, struct frame *f);

#endif
