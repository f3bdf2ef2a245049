/* SPDX-License-Identifier: Apache-2.0
 * wire/history.c: walk the messages once, then pair. Ids may be used again in a
 * later round (some models count from zero every turn), so an output answers
 * the newest call of its id that waits. Gemini calls are told by id and name, then
 * by id where both sides have one, what is left by name; elsewhere an output without an id is of
 * the next call that waits. Both look at the newest round first: a call that was
 * interrupted is not answered by what a later one gave. */
#include "wire/history.h"

#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"

struct reader {
    struct wbi_arena *arena;
    struct wbi_history *h;
    size_t room;
    size_t run; /* number of the message, or of the model's turn */
    struct wbi_error *err;
};

static wb_rc add(struct reader *r, struct wbi_history_entry entry)
{
    struct wbi_history *h = r->h;

    if (h->n == WBI_LIMIT_HISTORY_CALLS)
        return wbi_fail(r->err, WB_ELIMIT, "a history holds at most %u calls and outputs",
                        WBI_LIMIT_HISTORY_CALLS);
    if (h->n == r->room) {
        size_t room = r->room ? r->room * 2 : 16;
        struct wbi_history_entry *entries = wbi_arena_grow(
            r->arena, h->entries, r->room * sizeof(*entries), room * sizeof(*entries));
        if (entries == NULL)
            return wbi_fail_nomem(r->err);
        h->entries = entries;
        r->room = room;
    }
    entry.partner = entry.next = WBI_HISTORY_NONE;
    entry.round = r->run; /* until rounds are numbered */
    h->entries[h->n++] = entry;
    return WB_OK;
}

/* --- one message of each provider --- */

struct item_type {
    const char *type;
    bool is_call;
    enum wbi_wire_kind kind;
};

static const struct item_type item_types[] = {
    {"function_call", true, WBI_WIRE_FUNCTION},
    {"custom_tool_call", true, WBI_WIRE_CUSTOM},
    {"local_shell_call", true, WBI_WIRE_LOCAL_SHELL},
    {"shell_call", true, WBI_WIRE_SHELL},
    {"apply_patch_call", true, WBI_WIRE_APPLY_PATCH},
    {"function_call_output", false, WBI_WIRE_FUNCTION},
    {"custom_tool_call_output", false, WBI_WIRE_CUSTOM},
    {"local_shell_call_output", false, WBI_WIRE_LOCAL_SHELL},
    {"shell_call_output", false, WBI_WIRE_SHELL},
    {"apply_patch_call_output", false, WBI_WIRE_APPLY_PATCH},
};

static struct wbi_str some(struct wbi_str s)
{
    return s.n > 0 ? s : WBI_NONE;
}

static wb_rc read_item(struct reader *r, const wbi_json *v, size_t m)
{
    struct wbi_str type = wbi_json_get_str(v, "type");

    for (size_t i = 0; i < WBI_COUNT(item_types); i++) {
        const struct item_type *t = &item_types[i];
        struct wbi_history_entry e = {
            .is_call = t->is_call, .kind = t->kind, .message = m, .value = v};
        if (!wbi_str_eqz(type, t->type))
            continue;
        e.id = some(wbi_json_get_str(v, "call_id"));
        if (e.id.p == NULL && t->kind == WBI_WIRE_LOCAL_SHELL)
            e.id = some(wbi_json_get_str(v, "id"));
        e.name = wbi_json_get_str(v, "name");
        return add(r, e);
    }
    return WB_OK;
}

static wb_rc read_chat(struct reader *r, const wbi_json *v, size_t m)
{
    struct wbi_str role = wbi_json_get_str(v, "role");
    wb_rc rc = WB_OK;

    if (wbi_str_eqz(role, "tool"))
        return add(r, (struct wbi_history_entry){.kind = WBI_WIRE_FUNCTION,
                                                 .message = m,
                                                 .value = v,
                                                 .id = some(wbi_json_get_str(v, "tool_call_id"))});
    if (!wbi_str_eqz(role, "assistant"))
        return WB_OK;
    WBI_JSON_EACH (wbi_json_get(v, "tool_calls"), call) {
        const wbi_json *custom = wbi_json_get(call, "custom");
        const wbi_json *body = custom != NULL ? custom : wbi_json_get(call, "function");
        if (!wbi_json_is(call, WBI_JSON_OBJ))
            continue;
        rc = add(r, (struct wbi_history_entry){.is_call = true,
                                               .kind = custom != NULL ? WBI_WIRE_CUSTOM
                                                                      : WBI_WIRE_FUNCTION,
                                               .message = m,
                                               .value = call,
                                               .id = some(wbi_json_get_str(call, "id")),
                                               .name = wbi_json_get_str(body, "name")});
        if (rc != WB_OK)
            return rc;
    }
    return WB_OK;
}

static wb_rc read_anthropic(struct reader *r, const wbi_json *v, size_t m)
{
    bool model = wbi_history_by_model(WBI_PROVIDER_ANTHROPIC, v);

    WBI_JSON_EACH (wbi_json_get(v, "content"), block) {
        struct wbi_history_entry e = {
            .is_call = model, .kind = WBI_WIRE_TOOL_USE, .message = m, .value = block};
        wb_rc rc;
        if (!wbi_str_eqz(wbi_json_get_str(block, "type"), model ? "tool_use" : "tool_result"))
            continue;
        e.id = some(wbi_json_get_str(block, model ? "id" : "tool_use_id"));
        e.name = wbi_json_get_str(block, "name");
        rc = add(r, e);
        if (rc != WB_OK)
            return rc;
    }
    return WB_OK;
}

static wb_rc read_gemini(struct reader *r, const wbi_json *v, size_t m)
{
    bool model = wbi_history_by_model(WBI_PROVIDER_GEMINI, v);

    WBI_JSON_EACH (wbi_json_get(v, "parts"), part) {
        const wbi_json *f =
            wbi_json_get_as(part, model ? "functionCall" : "functionResponse", WBI_JSON_OBJ);
        wb_rc rc;
        if (f == NULL)
            f = wbi_json_get_as(part, model ? "function_call" : "function_response", WBI_JSON_OBJ);
        if (f == NULL)
            continue;
        rc = add(r, (struct wbi_history_entry){.is_call = model,
                                               .kind = WBI_WIRE_GEMINI_CALL,
                                               .message = m,
                                               .value = part,
                                               .id = some(wbi_json_get_str(f, "id")),
                                               .name = some(wbi_json_get_str(f, "name"))});
        if (rc != WB_OK)
            return rc;
    }
    return WB_OK;
}

bool wbi_history_by_model(enum wbi_provider provider, const wbi_json *message)
{
    return wbi_str_eqz(wbi_json_get_str(message, "role"),
                       provider == WBI_PROVIDER_GEMINI ? "model" : "assistant");
}

const wbi_json *wbi_history_blocks(enum wbi_provider provider, const wbi_json *message)
{
    static const char *const names[WBI_PROVIDER_COUNT] = {
        [WBI_PROVIDER_CHAT] = "tool_calls",
        [WBI_PROVIDER_ANTHROPIC] = "content",
        [WBI_PROVIDER_GEMINI] = "parts",
    };

    if (names[provider] == NULL)
        return NULL;
    return wbi_json_get_as(message, names[provider], WBI_JSON_ARR);
}

size_t wbi_history_seek(const struct wbi_history *h, size_t from, size_t m)
{
    while (from < h->n && h->entries[from].message < m)
        from++;
    return from;
}

/* --- pairing --- */

struct key {
    struct wbi_str id; /* or what takes its place; absent: not of this look */
    struct wbi_str name;
};

struct waiting {
    struct key key;
    size_t first; /* entry that waits, chained by next in order of waiting */
    size_t last;
    bool used;
};

/* What tells the call of an output. */
enum tie {
    BY_ID = 1,
    BY_ID_AND_NAME,
    BY_ITEM,      /* the id of the call's item, where its call_id was meant */
    BY_NAME,      /* outputs without an id */
    BY_BARE_NAME, /* calls without one, to which the output gives one */
    BY_PLACE,     /* outputs without an id */
};

/* One walk over the entries. */
struct look {
    enum tie tie;
    bool any_round; /* a later call does not take the place of those that wait */
    bool last;      /* of its tie: what finds no call now repeats an earlier output */
};

struct pairing {
    struct wbi_history *h;
    struct waiting *table;
    size_t mask;
    struct look by;
};

/* Of outputs by place: they do not take the turn of a call that they cannot be of. */
static struct wbi_str family_of(enum wbi_wire_kind kind)
{
    if (kind == WBI_WIRE_SHELL)
        return WBI_LIT("shell");
    return kind == WBI_WIRE_APPLY_PATCH ? WBI_LIT("patch") : WBI_LIT("");
}

static struct key key_of(const struct pairing *p, const struct wbi_history_entry *e)
{
    struct wbi_str name = e->name.p ? e->name : WBI_LIT("");
    bool bare = e->id.p == NULL;

    switch (p->by.tie) {
    case BY_ID_AND_NAME:
        return (struct key){e->id, name};
    case BY_ITEM:
        return (struct key){e->is_call ? some(wbi_json_get_str(e->value, "id")) : e->id, WBI_NONE};
    case BY_NAME:
        return (struct key){e->is_call || bare ? name : WBI_NONE, WBI_NONE};
    case BY_BARE_NAME:
        return (struct key){e->is_call == bare ? name : WBI_NONE, WBI_NONE};
    case BY_PLACE:
        return (struct key){e->is_call || bare ? family_of(e->kind) : WBI_NONE, WBI_NONE};
    default:
        return (struct key){e->id, WBI_NONE};
    }
}

static struct waiting *slot_of(const struct pairing *p, struct key key)
{
    uint64_t hash = wbi_hash64(key.name.p, key.name.n, p->mask);
    size_t at = wbi_hash64(key.id.p, key.id.n, hash) & p->mask;

    while (p->table[at].used && !(wbi_str_eq(p->table[at].key.id, key.id) &&
                                  wbi_str_eq(p->table[at].key.name, key.name)))
        at = (at + 1) & p->mask;
    if (!p->table[at].used)
        p->table[at] = (struct waiting){key, WBI_HISTORY_NONE, WBI_HISTORY_NONE, false};
    return &p->table[at];
}

/* May this output, perhaps under another type, stand for that call's? */
static bool fits(const struct wbi_history_entry *call, const struct wbi_history_entry *output)
{
    bool plain_call = call->kind == WBI_WIRE_FUNCTION || call->kind == WBI_WIRE_CUSTOM;
    bool plain = output->kind == WBI_WIRE_FUNCTION || output->kind == WBI_WIRE_CUSTOM;

    if (call->kind == WBI_WIRE_LOCAL_SHELL)
        return output->kind == WBI_WIRE_LOCAL_SHELL || output->kind == WBI_WIRE_FUNCTION;
    return call->kind == output->kind || (plain_call && plain);
}

static void wait_in(struct pairing *p, struct waiting *w, size_t i)
{
    struct wbi_history_entry *entries = p->h->entries;

    w->used = true;
    if (w->first == WBI_HISTORY_NONE)
        w->first = i;
    else
        entries[w->last].next = i;
    w->last = i;
    entries[i].next = WBI_HISTORY_NONE;
}

/* The call that waits longest leaves the queue; NONE when the output does not fit it. Those
 * behind it are not looked at: calls of one key fit alike (but for an old shell call between
 * custom ones without ids), and a walk of the queue for each output would take the square of
 * their number. */
static size_t take(struct pairing *p, struct waiting *w, const struct wbi_history_entry *output)
{
    const struct wbi_history_entry *entries = p->h->entries;
    size_t first = w->first;

    if (first == WBI_HISTORY_NONE || !fits(&entries[first], output))
        return WBI_HISTORY_NONE;
    w->first = entries[first].next;
    return first;
}

static bool waits_from_elsewhere(const struct pairing *p, const struct waiting *w,
                                 const struct wbi_history_entry *e)
{
    return w->first != WBI_HISTORY_NONE && p->h->entries[w->first].round != e->round;
}

/* The same id again before there was an output. */
static bool is_repetition(const struct pairing *p, const struct waiting *w,
                          const struct wbi_history_entry *e)
{
    if (p->by.tie != BY_ID || p->h->provider == WBI_PROVIDER_GEMINI || w->first == WBI_HISTORY_NONE)
        return false;
    return p->h->provider == WBI_PROVIDER_RESPONSES || !waits_from_elsewhere(p, w, e);
}

/* Calls with an id wait alone: a second one is a repetition within its round,
 * a new call (and the older one stays unanswered) elsewhere. */
static void pair_call(struct pairing *p, size_t i)
{
    struct wbi_history_entry *e = &p->h->entries[i];
    struct key key = key_of(p, e);
    struct waiting *w;

    if (key.id.p == NULL || e->duplicate)
        return;
    w = slot_of(p, key);
    if (e->partner != WBI_HISTORY_NONE) { /* told before */
        w->used = true;
        return;
    }
    e->duplicate = is_repetition(p, w, e);
    if (e->duplicate)
        return;
    if (!p->by.any_round && waits_from_elsewhere(p, w, e))
        w->first = WBI_HISTORY_NONE;
    wait_in(p, w, i);
}

static bool is_lonely_call(const struct wbi_history_entry *e)
{
    return e->is_call && !e->duplicate && e->partner == WBI_HISTORY_NONE;
}

static void pair_output(struct pairing *p, size_t i)
{
    struct wbi_history *h = p->h;
    struct wbi_history_entry *e = &h->entries[i];
    struct key key = key_of(p, e);
    struct waiting *w;
    size_t call;

    if (key.id.p == NULL || e->partner != WBI_HISTORY_NONE || e->duplicate)
        return;
    w = slot_of(p, key);
    call = take(p, w, e);
    if (call == WBI_HISTORY_NONE) {
        e->duplicate = p->by.last && w->used;
        return;
    }
    e->partner = call;
    h->entries[call].partner = i;
}

/* Outputs that stand before their call: the same walk backwards over what is left, so that
 * the nearest round is theirs. Only an id tells so much: one without may be of a call that
 * was cut away with the beginning of the history. */
static void pair_early_outputs(struct pairing *p)
{
    struct wbi_history *h = p->h;

    memset(p->table, 0, (p->mask + 1) * sizeof(*p->table));
    for (size_t i = h->n; i-- > 0;) {
        struct wbi_history_entry *e = &h->entries[i];
        struct key key = key_of(p, e);
        size_t call;

        if (key.id.p == NULL)
            continue;
        if (is_lonely_call(e)) {
            struct waiting *w = slot_of(p, key);
            if (waits_from_elsewhere(p, w, e))
                w->first = WBI_HISTORY_NONE;
            wait_in(p, w, i);
        }
        if (e->is_call || e->partner != WBI_HISTORY_NONE || e->duplicate)
            continue;
        call = take(p, slot_of(p, key), e);
        if (call != WBI_HISTORY_NONE) {
            e->partner = call;
            h->entries[call].partner = i;
        }
    }
}

/* A round is what the model asked for at once: the calls of one run, or for Responses the
 * calls up to the next output. Outputs whose calls are not in sight have rounds, too:
 * neighbours one. */
static void number_rounds(struct wbi_history *h)
{
    bool after_call = false, after_lone = false;
    size_t run = 0;

    for (size_t i = 0; i < h->n; i++) {
        struct wbi_history_entry *e = &h->entries[i];
        bool lone = !e->is_call && e->partner == WBI_HISTORY_NONE;
        size_t own = e->round;

        if (e->is_call)
            h->rounds += !(after_call && (h->provider == WBI_PROVIDER_RESPONSES || run == own));
        else if (lone)
            h->rounds += !(after_lone && h->entries[i - 1].message + 1 == e->message);
        if (e->is_call || lone)
            e->round = h->rounds - 1;
        after_call = e->is_call;
        after_lone = lone;
        run = own;
    }
    for (size_t i = 0; i < h->n; i++) {
        struct wbi_history_entry *e = &h->entries[i];
        if (!e->is_call && e->partner != WBI_HISTORY_NONE)
            e->round = h->entries[e->partner].round;
    }
}

static void walk(struct pairing *p)
{
    memset(p->table, 0, (p->mask + 1) * sizeof(*p->table));
    for (size_t i = 0; i < p->h->n; i++) {
        if (p->h->entries[i].is_call)
            pair_call(p, i);
        else
            pair_output(p, i);
    }
}

/* Whether anything is left for another look. */
static bool has_lonely_output(const struct wbi_history *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (!h->entries[i].is_call && h->entries[i].partner == WBI_HISTORY_NONE)
            return true;
    return false;
}

#define LOOKS_MOST 6

/* From what tells most to what tells least. */
static const struct look looks[WBI_PROVIDER_COUNT][LOOKS_MOST] = {
    /* By place none is the last: what is left may be of a call that only the server holds. */
    [WBI_PROVIDER_RESPONSES] = {{BY_ID, .last = true},
                                {BY_ITEM, .last = true},
                                {BY_PLACE},
                                {BY_PLACE, .any_round = true}},
    [WBI_PROVIDER_CHAT] = {{BY_ID, .last = true},
                           {BY_PLACE},
                           {BY_PLACE, .any_round = true, .last = true}},
    [WBI_PROVIDER_ANTHROPIC] = {{BY_ID, .last = true},
                                {BY_PLACE},
                                {BY_PLACE, .any_round = true, .last = true}},
    [WBI_PROVIDER_GEMINI] = {{BY_ID_AND_NAME},
                             {BY_ID, .last = true},
                             {BY_NAME},
                             {BY_BARE_NAME},
                             {BY_NAME, .any_round = true, .last = true},
                             {BY_BARE_NAME, .any_round = true, .last = true}},
};

static void pair_all(struct pairing *p)
{
    const struct look *l = looks[p->h->provider];
    bool gemini = p->h->provider == WBI_PROVIDER_GEMINI;

    for (size_t i = 0; i < LOOKS_MOST && l[i].tie != 0; i++) {
        if (i > 0 && !has_lonely_output(p->h))
            break;
        p->by = l[i];
        walk(p);
    }
    p->by = (struct look){gemini ? BY_ID_AND_NAME : BY_ID};
    pair_early_outputs(p);
}

static wb_rc pair(struct reader *r)
{
    struct wbi_history *h = r->h;
    struct pairing p = {.h = h};
    size_t slots = 16;

    while (slots < h->n * 2)
        slots *= 2;
    p.mask = slots - 1;
    p.table = wbi_arena_array(r->arena, slots, sizeof(*p.table));
    if (p.table == NULL)
        return wbi_fail_nomem(r->err);
    pair_all(&p);
    number_rounds(h);
    return WB_OK;
}

/* --- finding the history --- */

static bool has_anthropic_block(const wbi_json *message)
{
    WBI_JSON_EACH (wbi_json_get(message, "content"), block) {
        struct wbi_str type = wbi_json_get_str(block, "type");
        if (wbi_str_eqz(type, "tool_use") || wbi_str_eqz(type, "tool_result"))
            return true;
    }
    return false;
}

/* Messages without tools look alike for Chat and Anthropic, and need no repair. */
static enum wbi_provider guess(const char *key, const wbi_json *messages)
{
    if (key != NULL && key[0] == 'i')
        return WBI_PROVIDER_RESPONSES;
    if (key != NULL && key[0] == 'c')
        return WBI_PROVIDER_GEMINI;
    WBI_JSON_EACH (messages, m) {
        if (wbi_json_get(m, "tool_calls") != NULL || wbi_json_get(m, "tool_call_id") != NULL)
            return WBI_PROVIDER_CHAT;
        if (wbi_json_get(m, "parts") != NULL)
            return WBI_PROVIDER_GEMINI;
        if (has_anthropic_block(m))
            return WBI_PROVIDER_ANTHROPIC;
        for (size_t i = 0; i < WBI_COUNT(item_types); i++)
            if (wbi_str_eqz(wbi_json_get_str(m, "type"), item_types[i].type))
                return WBI_PROVIDER_RESPONSES;
    }
    return WBI_PROVIDER_CHAT;
}

static wb_rc locate(enum wbi_provider provider, const wbi_json *root, struct wbi_history *h,
                    struct wbi_error *err)
{
    static const char *const keys[] = {"input", "messages", "contents"};

    h->root = root;
    if (wbi_json_is(root, WBI_JSON_ARR))
        h->messages = root;
    for (size_t i = 0; i < WBI_COUNT(keys) && h->messages == NULL; i++) {
        h->messages = wbi_json_get_as(root, keys[i], WBI_JSON_ARR);
        h->key = h->messages ? keys[i] : NULL;
    }
    if (h->messages == NULL && wbi_json_get_as(root, "input", WBI_JSON_STR) != NULL) {
        h->messages = wbi_json_get(root, "input"); /* Responses: a text alone is a history, too */
        h->key = "input";
    }
    if (h->messages == NULL)
        return wbi_fail(err, WB_EINPUT,
                        "no history: an array, or an object with the array input, messages or "
                        "contents is accepted");
    h->provider = provider == WBI_PROVIDER_AUTO ? guess(h->key, h->messages) : provider;
    return WB_OK;
}

/* Does the model's turn go on with this message? Chat has one message a turn. The items of
 * a Responses turn have no role or the model's; outputs end it. */
static bool is_of_turn(enum wbi_provider provider, const wbi_json *message)
{
    struct wbi_str role = wbi_json_get_str(message, "role");

    if (provider == WBI_PROVIDER_CHAT)
        return false;
    if (provider == WBI_PROVIDER_RESPONSES && role.n == 0)
        return !wbi_str_ends(wbi_json_get_str(message, "type"), WBI_LIT("_output"));
    return wbi_history_by_model(provider, message);
}

wb_rc wbi_history_read(struct wbi_arena *arena, enum wbi_provider provider, const wbi_json *root,
                       struct wbi_history *ret, struct wbi_error *err)
{
    static wb_rc (*const readers[WBI_PROVIDER_COUNT])(struct reader *, const wbi_json *, size_t) = {
        [WBI_PROVIDER_RESPONSES] = read_item,
        [WBI_PROVIDER_CHAT] = read_chat,
        [WBI_PROVIDER_ANTHROPIC] = read_anthropic,
        [WBI_PROVIDER_GEMINI] = read_gemini,
    };
    struct wbi_history h = {.rounds = 0};
    struct reader r = {.arena = arena, .h = &h, .err = err};
    bool model = false;
    size_t m = 0;
    wb_rc rc;

    if (provider == WBI_PROVIDER_MCP || provider == WBI_PROVIDER_NATIVE ||
        (unsigned)provider >= WBI_PROVIDER_COUNT)
        return wbi_fail(err, WB_EINPUT,
                        "histories have the form responses, chat, anthropic or gemini");
    rc = locate(provider, root, &h, err);
    if (rc != WB_OK)
        return rc;
    WBI_JSON_EACH (h.messages, message) {
        bool again = is_of_turn(h.provider, message);
        r.run += !(model && again);
        model = again;
        rc = readers[h.provider](&r, message, m++);
        if (rc != WB_OK)
            return rc;
    }
    rc = pair(&r);
    if (rc == WB_OK)
        *ret = h;
    return rc;
}
