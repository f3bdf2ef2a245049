/* SPDX-License-Identifier: Apache-2.0
 * wire/repair_blocks.c: Anthropic and Gemini, whose outputs are blocks of the
 * user message behind the calls. Anthropic joins neighbouring messages of one
 * role and wants results before anything else; Gemini wants all responses of a
 * content in the very next one. */
#include "wire/repair_int.h"

/* One turn of the model: entries [from, to). */
struct turn {
    size_t from, to;
};

/* Messages in document order with the entries each holds. */
struct cursor {
    const wbi_json *message;
    size_t left; /* messages from this one on */
    size_t m;
    size_t from, to;
};

static void enter(const struct wbi_repair *r, struct cursor *c)
{
    c->to = wbi_history_seek(&r->h, c->from, c->m + 1);
}

static struct cursor start(const struct wbi_repair *r)
{
    struct cursor c = {.message = wbi_json_first(r->h.messages),
                       .left = wbi_json_count(r->h.messages)};

    enter(r, &c);
    return c;
}

static void next(const struct wbi_repair *r, struct cursor *c)
{
    c->message = wbi_json_skip(c->message);
    c->left--;
    c->m++;
    c->from = c->to;
    enter(r, c);
}

static bool by_model(const struct wbi_repair *r, const struct cursor *c)
{
    return wbi_history_by_model(r->h.provider, c->message);
}

static bool by_user(const struct wbi_repair *r, const struct cursor *c)
{
    struct wbi_str role = wbi_json_get_str(c->message, "role");

    if (r->h.provider == WBI_PROVIDER_GEMINI)
        return role.n == 0 || wbi_str_eqz(role, "user") || wbi_str_eqz(role, "function");
    return wbi_str_eqz(role, "user");
}

/* The user's messages that count as the next one, [first, end) by index. */
struct answers {
    size_t first;
    size_t end;
    bool results_first;
};

/* True when block is the message's next entry, which *at then moves past. */
static bool is_entry(const struct wbi_repair *r, const struct cursor *c, size_t *at,
                     const wbi_json *block)
{
    if (*at < c->to && r->h.entries[*at].value == block) {
        (*at)++;
        return true;
    }
    return false;
}

/* Walk the user's run behind a turn: where it ends, and whether any result
 * stands behind something else. */
static struct answers look_behind(const struct wbi_repair *r, struct cursor c)
{
    struct answers a = {.first = c.m, .end = c.m, .results_first = true};
    bool other = false;

    while (c.left > 0 && by_user(r, &c)) {
        const wbi_json *blocks = wbi_history_blocks(r->h.provider, c.message);
        size_t at = c.from;

        other = other || blocks == NULL;
        WBI_JSON_EACH (blocks, block) {
            size_t entry = at;
            if (!is_entry(r, &c, &at, block))
                other = true;
            else if (other && r->fates[entry] != WBI_FATE_DROP)
                a.results_first = false;
        }
        next(r, &c);
        a.end = c.m;
        if (r->h.provider == WBI_PROVIDER_GEMINI)
            break;
    }
    return a;
}

static bool is_legal(const struct wbi_repair *r, const struct turn *t, const struct answers *a)
{
    for (size_t i = t->from; i < t->to; i++) {
        const struct wbi_history_entry *e = &r->h.entries[i];
        size_t m;

        if (!e->is_call || r->fates[i] == WBI_FATE_DROP)
            continue;
        if (e->partner == WBI_HISTORY_NONE)
            return false;
        m = r->h.entries[e->partner].message;
        if (m < a->first || m >= a->end)
            return false;
    }
    return a->results_first || r->h.provider == WBI_PROVIDER_GEMINI;
}

static void move_outputs(struct wbi_repair *r, const struct turn *t)
{
    for (size_t i = t->from; i < t->to; i++) {
        const struct wbi_history_entry *e = &r->h.entries[i];
        if (e->is_call && e->partner != WBI_HISTORY_NONE)
            r->fates[e->partner] = WBI_FATE_MOVE;
    }
}

/* The model's turn at c, which is left at the first message behind it. */
static struct turn take_turn(const struct wbi_repair *r, struct cursor *c)
{
    struct turn t = {.from = c->from, .to = c->to};

    next(r, c);
    while (r->h.provider == WBI_PROVIDER_ANTHROPIC && c->left > 0 && by_model(r, c)) {
        t.to = c->to;
        next(r, c);
    }
    return t;
}

void wbi_repair_plan_blocks(struct wbi_repair *r)
{
    struct cursor c;

    if (wbi_json_count(r->h.messages) == 0)
        return;
    for (c = start(r); c.left > 0;) {
        struct answers a;
        struct turn t;

        if (!by_model(r, &c)) {
            next(r, &c);
            continue;
        }
        t = take_turn(r, &c);
        if (t.from == t.to)
            continue;
        a = look_behind(r, c);
        if (!is_legal(r, &t, &a))
            move_outputs(r, &t);
    }
}

/* --- writing --- */

static const char *blocks_name(const struct wbi_repair *r)
{
    return r->h.provider == WBI_PROVIDER_GEMINI ? "parts" : "content";
}

static void write_text_block(struct wbi_repair *r, struct wbi_str text)
{
    wbi_jw_obj(&r->w);
    if (r->h.provider == WBI_PROVIDER_ANTHROPIC)
        wbi_jw_kstrz(&r->w, "type", "text");
    wbi_jw_kstr(&r->w, "text", text);
    wbi_jw_obj_end(&r->w);
}

/* The blocks of a message that stay; plain text becomes a block. */
static void write_own_blocks(struct wbi_repair *r, const struct cursor *c, const wbi_json *content)
{
    size_t at = c->from;

    if (wbi_json_is(content, WBI_JSON_STR)) {
        write_text_block(r, wbi_json_str(content));
        return;
    }
    WBI_JSON_EACH (content, block) {
        size_t entry = at;
        if (!is_entry(r, c, &at, block))
            wbi_jw_val(&r->w, block);
        else if (r->fates[entry] == WBI_FATE_STAY && r->h.entries[entry].is_call)
            wbi_repair_write_call(r, entry);
        else if (r->fates[entry] == WBI_FATE_STAY)
            wbi_repair_write_output(r, entry);
    }
}

/* A message with the outputs of turn t (which may be empty) in front. */
static void write_message(struct wbi_repair *r, const struct cursor *c, const struct turn *t)
{
    const char *name = blocks_name(r);
    bool written = false;

    wbi_jw_obj(&r->w);
    WBI_JSON_EACH_MEMBER (c->message, key) {
        wbi_jw_keyn(&r->w, wbi_json_str(key));
        if (!wbi_str_eqz(wbi_json_str(key), name)) {
            wbi_jw_val(&r->w, key_val);
            continue;
        }
        wbi_jw_arr(&r->w);
        wbi_repair_write_outputs(r, t->from, t->to);
        write_own_blocks(r, c, key_val);
        wbi_jw_arr_end(&r->w);
        written = true;
    }
    if (!written) {
        wbi_jw_key(&r->w, name);
        wbi_jw_arr(&r->w);
        wbi_repair_write_outputs(r, t->from, t->to);
        wbi_jw_arr_end(&r->w);
    }
    wbi_jw_obj_end(&r->w);
}

/* A message of the user with the outputs of turn t; NULL: with a note. */
static void write_new_message(struct wbi_repair *r, const struct turn *t)
{
    wbi_jw_obj(&r->w);
    wbi_jw_kstrz(&r->w, "role", "user");
    wbi_jw_key(&r->w, blocks_name(r));
    wbi_jw_arr(&r->w);
    if (t != NULL)
        wbi_repair_write_outputs(r, t->from, t->to);
    else
        write_text_block(r, WBI_LIT(WBI_REPAIR_NOTE));
    wbi_jw_arr_end(&r->w);
    wbi_jw_obj_end(&r->w);
}

static bool is_touched(const struct wbi_repair *r, const struct cursor *c)
{
    for (size_t i = c->from; i < c->to; i++)
        if (r->fates[i] != WBI_FATE_STAY || wbi_repair_is_rewritten(r, i))
            return true;
    return false;
}

static bool is_emptied(const struct wbi_repair *r, const struct cursor *c)
{
    for (size_t i = c->from; i < c->to; i++)
        if (r->fates[i] == WBI_FATE_STAY)
            return false;
    return c->to > c->from &&
           c->to - c->from == wbi_json_count(wbi_history_blocks(r->h.provider, c->message));
}

static void count_calls(struct wbi_repair *r, const struct cursor *c)
{
    for (size_t i = c->from; i < c->to; i++)
        r->report.calls += r->h.entries[i].is_call;
}

/* Whether the conversation would not be one without the user's turn at c: the first and the
 * last turn are the user's, and Gemini does not join turns of the model. */
static bool holds_a_turn(const struct wbi_repair *r, const struct cursor *c)
{
    struct cursor ahead = *c;
    bool last;

    if (!by_user(r, c))
        return false;
    next(r, &ahead);
    last = ahead.left == 0;
    if (!last && !by_model(r, &ahead))
        return false;
    return !r->begun || (r->by_model && (last || r->h.provider == WBI_PROVIDER_GEMINI));
}

/* One message at its own place, without what was moved or dropped. */
static void write_plain(struct wbi_repair *r, const struct cursor *c)
{
    static const struct turn none = {0, 0};

    if (!is_touched(r, c)) {
        count_calls(r, c);
        wbi_jw_val(&r->w, c->message);
    } else if (!is_emptied(r, c)) {
        write_message(r, c, &none);
    } else if (holds_a_turn(r, c)) {
        write_new_message(r, NULL);
    } else {
        return;
    }
    r->begun = true;
    r->by_model = by_model(r, c);
}

static void write_turn(struct wbi_repair *r, struct cursor *c)
{
    struct cursor ahead = *c;
    struct turn t = take_turn(r, &ahead);

    for (; c->left > ahead.left; next(r, c))
        write_plain(r, c);
    if (!wbi_repair_has_outputs(r, t.from, t.to))
        return;
    if (c->left > 0 && by_user(r, c)) {
        write_message(r, c, &t);
        next(r, c);
    } else {
        write_new_message(r, &t);
    }
    r->by_model = false;
}

void wbi_repair_write_blocks(struct wbi_repair *r)
{
    struct cursor c;

    if (wbi_json_count(r->h.messages) == 0)
        return;
    for (c = start(r); c.left > 0;) {
        if (by_model(r, &c)) {
            write_turn(r, &c);
        } else {
            write_plain(r, &c);
            next(r, &c);
        }
    }
}
