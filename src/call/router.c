/* SPDX-License-Identifier: Apache-2.0
 * call/router.c: order, gates and repeats.
 * (1) Output lines come in the order of their calls; a finished call waits for
 * the ones before it. (2) In a conversation an exclusive call runs alone;
 * parallel ones run beside each other; nobody overtakes. (3) A call id that was
 * seen before in its conversation is answered with the same bytes and not run
 * again, if name, input and shape are the same (C9.4), and refused else. */
#include "call/router.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "call/answers.h"
#include "call/frames.h"
#include "call/guards.h"
#include "call/line.h"
#include "call/redact.h"
#include "json/canonical.h"

enum state { WAITING, RUNNING, ANSWERED };

struct entry {
    struct entry *next; /* in call order */
    struct router_conversation *conversation;
    struct wbi_router *router;
    struct wbi_call_line *line;
    struct wbi_wire_call *wire; /* NULL: an error line */
    struct wbi_call *call;      /* while it runs */
    struct entry *same_as;      /* a repeat of that one */
    struct entry *memory_next;  /* of the conversation's memory of ids */
    uint8_t fingerprint[WBI_SHA256_SIZE];
    enum wbi_provider provider; /* with kind the shape of its answer */
    enum wbi_wire_kind kind;
    struct wbi_str call_id;
    char *owned_id;
    enum state state;
    bool exclusive;
    bool last_of_turn;
    bool error_line; /* its output is one */
    bool remembered;
    bool aside;         /* its output is among the answers, at aside_at */
    const char *output; /* owned, or the text that needs no memory */
    char *owned;
    size_t output_n;
    int64_t aside_at;
};

struct router_conversation {
    struct router_conversation *next;
    char *id;
    struct entry **memory; /* by call id, chained */
    size_t memory_slots;
    size_t memory_count;
    size_t running;
    bool exclusive; /* the one that runs wants to be alone */
    uint64_t held;  /* scan in which one of its calls had to wait */
};

struct wbi_router {
    struct wbi_runtime *rt;
    struct wbi_router_options options;
    struct wbi_router_sink sink;
    struct router_conversation *conversations;
    struct entry *first, *last; /* not yet written */
    struct wbi_answers answers; /* written */
    struct wbi_buf group;       /* items of the turn being written */
    struct wbi_buf scratch;     /* what a fingerprint is taken of */
    size_t group_items;
    size_t pending;
    size_t running;
    size_t line_number;
    uint64_t scans;
    bool cancelled;
    bool pumping;
    bool pump_again;
};

wb_rc wbi_router_new(struct wbi_runtime *rt, const struct wbi_router_options *o,
                     const struct wbi_router_sink *sink, struct wbi_router **ret)
{
    struct wbi_router *r = wbi_zalloc(sizeof(*r));

    if (r == NULL)
        return WB_ENOMEM;
    r->rt = rt;
    r->options = *o;
    r->sink = *sink;
    wbi_buf_init(&r->group, WBI_LIMIT_CALL_ARENA);
    wbi_buf_init(&r->scratch, WBI_LIMIT_CALL_ARENA);
    wbi_answers_init(&r->answers, rt->state);
    *ret = r;
    return WB_OK;
}

static void free_entry(struct entry *e)
{
    wbi_free(e->owned);
    wbi_free(e->owned_id);
    wbi_free(e);
}

static void forget(struct router_conversation *c)
{
    for (size_t i = 0; i < c->memory_slots; i++) {
        while (c->memory[i] != NULL) {
            struct entry *e = c->memory[i];
            c->memory[i] = e->memory_next;
            free_entry(e);
        }
    }
    wbi_free(c->memory);
}

void wbi_router_free(struct wbi_router *r)
{
    if (r == NULL)
        return;
    while (r->conversations != NULL) {
        struct router_conversation *c = r->conversations;
        r->conversations = c->next;
        forget(c);
        wbi_free(c->id);
        wbi_free(c);
    }
    wbi_buf_fini(&r->group);
    wbi_buf_fini(&r->scratch);
    wbi_answers_fini(&r->answers);
    wbi_free(r);
}

size_t wbi_router_pending(const struct wbi_router *r)
{
    return r->pending;
}

static struct router_conversation *conversation(struct wbi_router *r, struct wbi_str id)
{
    struct router_conversation *c = r->conversations;

    while (c != NULL && !wbi_str_eqz(id, c->id))
        c = c->next;
    if (c != NULL)
        return c;
    c = wbi_zalloc(sizeof(*c));
    if (c != NULL)
        c->id = wbi_strdup(id);
    if (c == NULL || c->id == NULL) {
        wbi_free(c);
        return NULL;
    }
    c->next = r->conversations;
    r->conversations = c;
    return c;
}

/* ---- writing ---- */

/* An error line is no item of the provider, who would refuse the message for it. */
static void add_to_group(struct wbi_router *r, const struct entry *e)
{
    if (e->error_line) {
        r->sink.line(r->sink.arg, wbi_str_make(e->output, e->output_n));
    } else {
        if (r->group_items++ > 0)
            wbi_buf_addc(&r->group, ',');
        wbi_buf_add(&r->group, e->output, e->output_n);
    }
    if (!e->last_of_turn || r->group_items == 0)
        return;
    r->sink.line(r->sink.arg, wbi_wire_group(e->wire->provider, &r->group));
    wbi_buf_clear(&r->group);
    r->group_items = 0;
}

/* Nobody needs it now, but a repeat may come. */
static void set_aside(struct wbi_router *r, struct entry *e)
{
    if (e->owned == NULL ||
        !wbi_answers_put(&r->answers, wbi_str_make(e->output, e->output_n), &e->aside_at))
        return;
    wbi_free(e->owned);
    e->owned = NULL;
    e->output = NULL;
    e->aside = true;
}

/* Answered entries at the head of the queue go out. */
static void flush(struct wbi_router *r)
{
    while (r->first != NULL && r->first->state == ANSWERED) {
        struct entry *e = r->first;

        r->first = e->next;
        if (r->first == NULL)
            r->last = NULL;
        if (r->options.group && e->wire != NULL)
            add_to_group(r, e);
        else
            r->sink.line(r->sink.arg, wbi_str_make(e->output, e->output_n));
        r->pending--;
        if (e->line != NULL)
            wbi_call_line_release(e->line);
        e->line = NULL;
        e->wire = NULL;
        if (e->remembered)
            set_aside(r, e);
        else
            free_entry(e);
    }
    if (r->pending == 0 && r->sink.idle != NULL)
        r->sink.idle(r->sink.arg);
}

/* With output of its own; NULL: no memory. */
static void answer_with(struct entry *e, char *owned, size_t n)
{
    static const char no_memory[] =
        "{\"type\":\"waybill.error\",\"line\":null,\"id\":null,\"error\":{\"kind\":"
        "\"internal_error\",\"message\":\"out of memory\",\"retryable\":false}}";

    e->owned = owned;
    e->output = e->owned ? e->owned : no_memory;
    e->output_n = e->owned ? n : sizeof(no_memory) - 1;
    e->error_line |= e->owned == NULL;
    e->state = ANSWERED;
}

static void answer(struct entry *e, struct wbi_str output)
{
    answer_with(e, output.n > 0 ? wbi_strdup(output) : NULL, output.n);
}

/* By the line of an error that belongs to no provider; line 0, id NULL: none is known. */
static void answer_error(struct entry *e, size_t line_number, const wbi_json *id,
                         enum wbi_kind kind, const char *message)
{
    struct wbi_buf error, line;

    wbi_buf_init(&error, WBI_LIMIT_RECEIPT);
    wbi_buf_init(&line, WBI_LIMIT_RECEIPT);
    wbi_wire_error_json(&error, kind, wbi_str_z(message));
    wbi_wire_error_line(&line, line_number, id, wbi_buf_str(&error));
    answer(e, wbi_buf_rc(&line) == WB_OK ? wbi_buf_str(&line) : WBI_NONE);
    wbi_buf_fini(&error);
    wbi_buf_fini(&line);
}

static void fail_entry(struct entry *e, const char *what, wb_rc rc)
{
    struct wbi_error text;

    (void)wbi_fail(&text, rc, "%s (%s)", what, wb_rc_name(rc));
    e->error_line = true;
    answer_error(e, e->wire ? e->wire->line : 0, e->wire ? e->wire->id_value : NULL,
                 WBI_KIND_INTERNAL_ERROR, text.text);
}

static void answer_from_aside(struct entry *e, const struct entry *earlier)
{
    char *text;
    wb_rc rc = wbi_answers_get(&e->router->answers, earlier->aside_at, earlier->output_n, &text);

    if (rc == WB_OK)
        answer_with(e, text, earlier->output_n);
    else
        fail_entry(e, "the answer given to this call id before cannot be read", rc);
}

static void answer_like(struct entry *e, const struct entry *earlier)
{
    if (earlier->aside)
        answer_from_aside(e, earlier);
    else
        answer(e, wbi_str_make(earlier->output, earlier->output_n));
    e->error_line |= earlier->error_line;
}

/* Repeats of an entry get its bytes. */
static void answer_repeats(struct wbi_router *r, const struct entry *of)
{
    for (struct entry *e = r->first; e != NULL; e = e->next)
        if (e->same_as == of && e->state != ANSWERED)
            answer_like(e, of);
}

/* ---- running ---- */

static void pump(struct wbi_router *r);

static void on_done(struct wbi_call *call, void *arg)
{
    struct entry *e = arg;
    struct wbi_router *r = e->router;

    e->conversation->running--;
    if (e->exclusive)
        e->conversation->exclusive = false;
    r->running--;
    answer(e, call->facts.item);
    answer_repeats(r, e);
    pump(r);
}

/* {"type": "waybill.frame", …, "id": the provider's} between the answers. */
static void on_frame(struct wbi_call *call, struct wbi_str frame, void *arg)
{
    struct entry *e = arg;
    struct wbi_buf line;

    (void)call;
    wbi_buf_init(&line, WBI_LIMIT_CALL_ARENA);
    wbi_buf_addz(&line, "{\"type\":\"waybill.frame\",");
    wbi_buf_add(&line, frame.p + 1, frame.n - 2); /* without its braces */
    wbi_buf_addz(&line, ",\"id\":");
    if (e->wire->id_value != NULL)
        wbi_json_write(&line, e->wire->id_value);
    else
        wbi_buf_addz(&line, "null");
    wbi_buf_addc(&line, '}');
    if (wbi_buf_rc(&line) == WB_OK)
        e->router->sink.line(e->router->sink.arg, wbi_buf_str(&line));
    wbi_buf_fini(&line);
}

static bool hold_frames(void *arg)
{
    const struct entry *e = arg;
    const struct wbi_router_sink *sink = &e->router->sink;

    return sink->behind != NULL && sink->behind(sink->arg);
}

static wb_rc start(struct entry *e)
{
    struct wbi_call *call;
    wb_rc rc = wbi_runtime_call_new(e->router->rt, &call);

    if (rc != WB_OK)
        return rc;
    e->line->refs++;
    rc = wbi_arena_defer(call->arena, wbi_call_line_release, e->line);
    if (rc != WB_OK)
        wbi_call_line_release(e->line);
    else
        rc = wbi_call_line_fill(e->line, e->wire, call);
    if (rc != WB_OK) {
        wbi_runtime_call_drop(call);
        return rc;
    }
    if (e->router->options.frames) {
        call->on_frame = on_frame;
        call->hold_frames = hold_frames;
        call->on_frame_arg = e;
        call->heartbeat_ms = WBI_FRAMES_HEARTBEAT_MS;
    }
    if (e->router->cancelled)
        call->cancel = WBI_CANCEL_ASKED; /* ends before it does anything */
    e->state = RUNNING;
    e->call = call;
    e->conversation->running++;
    e->conversation->exclusive |= e->exclusive;
    e->router->running++;
    rc = wbi_runtime_submit(call, on_done, e);
    if (rc != WB_OK) {
        e->conversation->running--;
        e->conversation->exclusive &= !e->exclusive;
        e->router->running--;
        e->state = WAITING;
    }
    return rc;
}

static bool gate_open(const struct entry *e)
{
    const struct router_conversation *c = e->conversation;

    return e->exclusive ? c->running == 0 : !c->exclusive;
}

/* Start what may start, in order; an entry that has to wait holds back all later
 * ones of its conversation. */
static void start_ready(struct wbi_router *r)
{
    uint64_t scan = ++r->scans;

    for (struct entry *e = r->first; e != NULL; e = e->next) {
        wb_rc rc;

        if (e->state != WAITING || e->same_as != NULL || e->conversation->held == scan)
            continue;
        if (r->options.parallel > 0 && r->running >= r->options.parallel)
            return;
        if (!gate_open(e)) {
            e->conversation->held = scan;
            if (r->conversations->next == NULL)
                return; /* the only conversation */
            continue;
        }
        rc = start(e);
        if (rc != WB_OK) {
            fail_entry(e, "the call could not be started", rc);
            answer_repeats(r, e);
        }
    }
}

/* Calls may finish inside start(), and where a reader of lines cancels: one pump at a time,
 * again until quiet. */
static void pump(struct wbi_router *r)
{
    r->pump_again = true;
    if (r->pumping)
        return;
    r->pumping = true;
    while (r->pump_again) {
        r->pump_again = false;
        start_ready(r);
        if (!r->pump_again)
            flush(r);
    }
    r->pumping = false;
}

/* Many calls end as soon as they are asked to: none is written and freed while the list is
 * walked. */
void wbi_router_cancel(struct wbi_router *r)
{
    bool pumping = r->pumping;

    r->cancelled = true;
    r->pumping = true;
    for (struct entry *e = r->first; e != NULL; e = e->next)
        if (e->state == RUNNING)
            wbi_call_cancel(r->rt->calls, e->call->id, WBI_CANCEL_ASKED);
    r->pumping = pumping;
    pump(r);
}

/* ---- reading ---- */

static void append(struct wbi_router *r, struct entry *e)
{
    if (r->last != NULL)
        r->last->next = e;
    else
        r->first = e;
    r->last = e;
    r->pending++;
}

static wb_rc refuse_line(struct wbi_router *r, const wbi_json *tree, struct wbi_error *why)
{
    struct entry *e = wbi_zalloc(sizeof(*e));

    if (e == NULL)
        return WB_ENOMEM;
    e->router = r;
    wbi_redact_error(r->rt, why);
    answer_error(e, r->line_number, tree ? wbi_wire_find_id(tree) : NULL,
                 why->kind != WBI_KIND_NONE ? why->kind : WBI_KIND_MALFORMED_CALL, why->text);
    append(r, e);
    return WB_OK;
}

/* Name and input decide whether a repeated id is the same call. */
static wb_rc fingerprint(struct entry *e)
{
    struct wbi_buf *text = &e->router->scratch;
    struct wbi_error err;
    wb_rc rc = WB_OK;

    wbi_buf_clear(text);
    wbi_buf_adds(text, e->wire->name_space);
    wbi_buf_addc(text, '\0');
    wbi_buf_adds(text, e->wire->name);
    wbi_buf_addc(text, '\0');
    if (e->wire->input == NULL)
        wbi_buf_adds(text, e->wire->text);
    else
        rc = wbi_json_canonical_any(e->wire->input, text, &err);
    if (rc == WB_OK)
        rc = wbi_buf_rc(text);
    if (rc == WB_OK)
        rc = wbi_sha256(text->p, text->n, e->fingerprint);
    if (rc != WB_OK || text->cap > WBI_LIMIT_HTTP_KEPT)
        wbi_buf_fini(text);
    return rc;
}

static size_t slot_of(const struct router_conversation *c, struct wbi_str id)
{
    return wbi_hash64(id.p, id.n, (uintptr_t)c) & (c->memory_slots - 1);
}

static struct entry *recall(const struct router_conversation *c, struct wbi_str id)
{
    struct entry *e = c->memory_slots ? c->memory[slot_of(c, id)] : NULL;

    while (e != NULL && !wbi_str_eq(e->call_id, id))
        e = e->memory_next;
    return e;
}

static wb_rc grow_memory(struct router_conversation *c)
{
    struct entry **old = c->memory;
    size_t old_slots = c->memory_slots;

    if (c->memory_count < old_slots)
        return WB_OK;
    c->memory = wbi_zalloc_array(old_slots ? old_slots * 2 : 64, sizeof(struct entry *));
    if (c->memory == NULL) {
        c->memory = old;
        return WB_ENOMEM;
    }
    c->memory_slots = old_slots ? old_slots * 2 : 64;
    for (size_t i = 0; i < old_slots; i++) {
        while (old[i] != NULL) {
            struct entry *e = old[i];
            size_t at = slot_of(c, e->call_id);
            old[i] = e->memory_next;
            e->memory_next = c->memory[at];
            c->memory[at] = e;
        }
    }
    wbi_free(old);
    return WB_OK;
}

static void refuse(struct entry *e, struct wbi_str why)
{
    e->wire->problem_kind = WBI_KIND_MALFORMED_CALL;
    e->wire->problem = why;
}

/* The same id again: the same call, or a mistake that must not run. */
static void join_earlier(struct entry *e, struct entry *earlier)
{
    if (memcmp(e->fingerprint, earlier->fingerprint, sizeof(e->fingerprint)) != 0) {
        refuse(e, WBI_LIT("this call id was used before with another name or input; "
                          "give every call an id of its own"));
        return;
    }
    if (e->provider != earlier->provider || e->kind != earlier->kind) {
        refuse(e, WBI_LIT("this call id was used before by a call of another shape, which has "
                          "the answer; give every call an id of its own"));
        return;
    }
    e->same_as = earlier;
    if (earlier->state == ANSWERED)
        answer_like(e, earlier);
}

static wb_rc remember(struct entry *e)
{
    struct router_conversation *c = e->conversation;
    char *id = wbi_strdup(e->wire->id);
    size_t at;

    if (id == NULL || grow_memory(c) != WB_OK) {
        wbi_free(id);
        return WB_ENOMEM;
    }
    e->owned_id = id;
    e->call_id = wbi_str_make(id, e->wire->id.n);
    e->remembered = true;
    at = slot_of(c, e->call_id);
    e->memory_next = c->memory[at];
    c->memory[at] = e;
    c->memory_count++;
    return WB_OK;
}

static struct wbi_str given(const struct wbi_wire_call *w, const char *name)
{
    struct wbi_str own = wbi_json_get_str(w->invocation, name);

    return own.n > 0 ? own : wbi_json_get_str(w->beside, name);
}

/* Whether it may run beside others; what cannot be found fails at once anyway. */
static bool is_exclusive(struct wbi_router *r, struct wbi_arena *arena,
                         const struct wbi_wire_call *w)
{
    struct wbi_viewer viewer = wbi_guards_viewer(r->rt, given(w, "principal"));
    const struct wbi_tool *tool;
    struct wbi_catalog *catalog;

    if (wbi_runtime_catalog(r->rt, &catalog, NULL) != WB_OK)
        return true;
    if (wbi_catalog_resolve(catalog, arena, &viewer, w->name_space, w->name,
                            given(w, "versionRange"), &tool, NULL) == WB_OK)
        return !tool->parallel;
    return r->rt->find_more != NULL; /* it may turn out to be there */
}

static struct wbi_str conversation_of(const struct wbi_router *r, const struct wbi_wire_call *w)
{
    struct wbi_str id = given(w, "conversationId");

    return id.n > 0 ? id : r->rt->conversation;
}

static wb_rc add_call(struct wbi_router *r, struct wbi_call_line *line, struct wbi_wire_call *w,
                      bool last)
{
    struct entry *e = wbi_zalloc(sizeof(*e)), *earlier = NULL;
    wb_rc rc = e ? WB_OK : WB_ENOMEM;

    if (rc != WB_OK)
        return rc;
    w->line = r->line_number;
    e->router = r;
    e->wire = w;
    e->provider = w->provider;
    e->kind = w->kind;
    e->error_line = !w->answerable;
    e->last_of_turn = last;
    e->conversation = conversation(r, conversation_of(r, w));
    rc = e->conversation ? WB_OK : WB_ENOMEM;
    if (rc == WB_OK && w->id.n > 0 && !line->refused) {
        rc = fingerprint(e);
        earlier = rc == WB_OK ? recall(e->conversation, w->id) : NULL;
        if (rc == WB_OK && earlier == NULL)
            rc = remember(e);
    }
    if (rc != WB_OK) {
        free_entry(e);
        return rc;
    }
    e->line = line;
    line->refs++;
    e->exclusive = is_exclusive(r, line->arena, w);
    if (earlier != NULL)
        join_earlier(e, earlier);
    append(r, e);
    return WB_OK;
}

wb_rc wbi_router_line(struct wbi_router *r, struct wbi_str text, struct wbi_error *err)
{
    struct wbi_error why = WBI_ERROR_INIT;
    const wbi_json *tree = NULL;
    struct wbi_call_line *line;
    wb_rc rc;

    r->line_number++;
    if (wbi_str_trim(text).n == 0)
        return WB_OK;
    line = wbi_call_line_new(r->rt->loop);
    if (line == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_call_line_read(line, r->options.provider, text, &tree, &why);
    for (size_t i = 0; rc == WB_OK && i < line->turn.n; i++)
        rc = add_call(r, line, &line->turn.calls[i], i + 1 == line->turn.n);
    if (rc == WB_ENOMEM) {
        why.kind = WBI_KIND_INTERNAL_ERROR;
        (void)snprintf(why.text, sizeof(why.text), "no memory for this line of %zu bytes", text.n);
    }
    if (rc == WB_EAGAIN)
        tree = NULL; /* the id stays for the answer to the whole call */
    if (rc == WB_EAGAIN || rc == WB_EINPUT || rc == WB_ELIMIT || rc == WB_ENOMEM)
        rc = refuse_line(r, tree, &why);
    wbi_call_line_release(line);
    pump(r);
    return rc == WB_OK ? WB_OK : wbi_fail(err, rc, "line %zu could not be taken", r->line_number);
}
