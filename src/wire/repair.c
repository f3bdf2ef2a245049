/* SPDX-License-Identifier: Apache-2.0
 * wire/repair.c: plan, then write. Responses is a flat list in which an output
 * only has to follow its call; Chat wants the tool messages of a message right
 * behind it; Anthropic and Gemini (repair_blocks.c) want them inside the next
 * message. */
#include "wire/repair_int.h"

#include <stdlib.h>

#include "base/checked.h"

/* --- writing entries --- */

static bool is_plain(enum wbi_wire_kind kind)
{
    return kind == WBI_WIRE_FUNCTION || kind == WBI_WIRE_CUSTOM;
}

/* A string member that is written instead of the one that is there. */
struct change {
    const char *name;
    struct wbi_str value;
};

/* Object v with changes, each of which is added where the member is missing. */
static void write_with(struct wbi_jw *w, const wbi_json *v, const struct change *changes, size_t n)
{
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (v, key) {
        size_t i = 0;

        while (i < n && !wbi_str_eqz(wbi_json_str(key), changes[i].name))
            i++;
        wbi_jw_keyn(w, wbi_json_str(key));
        if (i < n)
            wbi_jw_str(w, changes[i].value);
        else
            wbi_jw_val(w, key_val);
    }
    for (size_t i = 0; i < n; i++)
        if (wbi_json_get(v, changes[i].name) == NULL)
            wbi_jw_kstr(w, changes[i].name, changes[i].value);
    wbi_jw_obj_end(w);
}

static bool needs_id(const struct wbi_repair *r, size_t entry)
{
    const struct wbi_history_entry *e = &r->h.entries[entry];

    return e->is_call && e->id.p == NULL && r->h.provider != WBI_PROVIDER_GEMINI;
}

#define MADE_ID "call_repaired_"
#define MADE_MOST 1000000000000u /* beyond it the number was given by somebody else */

/* Ids made before may stand at other places now: a host keeps what was repaired and cuts its
 * beginning away. */
static uint64_t behind_made_ids(const struct wbi_history *h)
{
    uint64_t made = 0, number;

    for (size_t i = 0; i < h->n; i++)
        if (wbi_str_starts(h->entries[i].id, WBI_LIT(MADE_ID)) &&
            wbi_parse_u64(wbi_str_from(h->entries[i].id, sizeof(MADE_ID) - 1), &number) &&
            number < MADE_MOST)
            made = WBI_MAX(made, number + 1);
    return made;
}

/* Made of the entry's place, so that repairing again gives the same. */
static struct wbi_str made_id(const struct wbi_repair *r, size_t entry, char out[40])
{
    struct wbi_buf b = {.p = out, .end = 40, .cap = 40, .max = 39};

    wbi_buf_addz(&b, MADE_ID);
    wbi_buf_addu(&b, r->made + entry);
    return wbi_buf_str(&b);
}

static struct wbi_str id_of(const struct wbi_repair *r, size_t call, char out[40])
{
    return needs_id(r, call) ? made_id(r, call, out) : r->h.entries[call].id;
}

void wbi_repair_write_call(struct wbi_repair *r, size_t entry)
{
    bool flat = r->h.provider == WBI_PROVIDER_RESPONSES;
    struct change change = {.name = flat ? "call_id" : "id"};
    char id[40];

    r->report.calls++;
    if (!needs_id(r, entry)) {
        wbi_jw_val(&r->w, r->h.entries[entry].value);
        return;
    }
    change.value = made_id(r, entry, id);
    write_with(&r->w, r->h.entries[entry].value, &change, 1);
}

static bool is_retyped(const struct wbi_history *h, const struct wbi_history_entry *output)
{
    enum wbi_wire_kind kind;

    if (h->provider != WBI_PROVIDER_RESPONSES || output->partner == WBI_HISTORY_NONE)
        return false;
    kind = h->entries[output->partner].kind;
    return is_plain(kind) && kind != output->kind;
}

/* It names its call by another id, by none or, for Gemini, by another name. Outputs of the
 * old shell item may name the item. */
static bool is_readdressed(const struct wbi_repair *r, const struct wbi_history_entry *output)
{
    const struct wbi_history_entry *call;

    if (output->partner == WBI_HISTORY_NONE ||
        (output->kind == WBI_WIRE_LOCAL_SHELL && output->id.p != NULL))
        return false;
    call = &r->h.entries[output->partner];
    if (r->h.provider == WBI_PROVIDER_GEMINI)
        return call->name.p != NULL && !wbi_str_eq(call->name, output->name);
    return needs_id(r, output->partner) || !wbi_str_eq(call->id, output->id);
}

bool wbi_repair_is_rewritten(const struct wbi_repair *r, size_t entry)
{
    const struct wbi_history_entry *e = &r->h.entries[entry];

    return e->is_call ? needs_id(r, entry) : is_retyped(&r->h, e) || is_readdressed(r, e);
}

/* The response under the name of its call. */
static void write_renamed(struct wbi_repair *r, const struct wbi_history_entry *e)
{
    const struct change change = {"name", r->h.entries[e->partner].name};

    wbi_jw_obj(&r->w);
    WBI_JSON_EACH_MEMBER (e->value, key) {
        struct wbi_str name = wbi_json_str(key);

        wbi_jw_keyn(&r->w, name);
        if (wbi_str_eqz(name, "functionResponse") || wbi_str_eqz(name, "function_response"))
            write_with(&r->w, key_val, &change, 1);
        else
            wbi_jw_val(&r->w, key_val);
    }
    wbi_jw_obj_end(&r->w);
}

static const char *id_member(const struct wbi_repair *r, const struct wbi_history_entry *output)
{
    if (r->h.provider == WBI_PROVIDER_CHAT)
        return "tool_call_id";
    if (r->h.provider == WBI_PROVIDER_ANTHROPIC)
        return "tool_use_id";
    return output->kind == WBI_WIRE_LOCAL_SHELL ? "id" : "call_id";
}

void wbi_repair_write_output(struct wbi_repair *r, size_t entry)
{
    const struct wbi_history_entry *e = &r->h.entries[entry];
    struct change changes[2];
    char id[40];
    size_t n = 0;

    if (!wbi_repair_is_rewritten(r, entry)) {
        wbi_jw_val(&r->w, e->value);
        return;
    }
    if (r->h.provider == WBI_PROVIDER_GEMINI) {
        write_renamed(r, e);
        return;
    }
    if (is_retyped(&r->h, e))
        changes[n++] = (struct change){"type", r->h.entries[e->partner].kind == WBI_WIRE_CUSTOM
                                                   ? WBI_LIT("custom_tool_call_output")
                                                   : WBI_LIT("function_call_output")};
    if (is_readdressed(r, e))
        changes[n++] = (struct change){id_member(r, e), id_of(r, e->partner, id)};
    write_with(&r->w, e->value, changes, n);
}

static void write_synthetic(struct wbi_repair *r, size_t entry)
{
    const struct wbi_history_entry *e = &r->h.entries[entry];
    char id[40];
    struct wbi_wire_call call = {.provider = r->h.provider,
                                 .kind = e->kind,
                                 .id = id_of(r, entry, id),
                                 .name = e->name.p ? e->name : WBI_LIT(""),
                                 .item = e->value,
                                 .answerable = true};
    const struct wbi_wire_answer answer = {.receipt = WBI_LIT(WBI_REPAIR_TEXT),
                                           .is_error = true,
                                           .error_kind = WBI_KIND_OUTCOME_UNKNOWN};

    wbi_codec_of(r->h.provider)->encode(&r->w, &call, &answer);
}

static bool is_unanswered(const struct wbi_repair *r, size_t entry)
{
    const struct wbi_history_entry *e = &r->h.entries[entry];

    return e->is_call && r->fates[entry] != WBI_FATE_DROP && e->partner == WBI_HISTORY_NONE;
}

/* The moved output of a call among the entries, or NONE. */
static size_t moved_output(const struct wbi_repair *r, size_t entry)
{
    const struct wbi_history_entry *e = &r->h.entries[entry];

    if (!e->is_call || e->partner == WBI_HISTORY_NONE || r->fates[e->partner] != WBI_FATE_MOVE)
        return WBI_HISTORY_NONE;
    return e->partner;
}

bool wbi_repair_has_outputs(const struct wbi_repair *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (is_unanswered(r, i) || moved_output(r, i) != WBI_HISTORY_NONE)
            return true;
    return false;
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

void wbi_repair_write_outputs(struct wbi_repair *r, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        if (moved_output(r, i) != WBI_HISTORY_NONE)
            r->sorted[n++] = moved_output(r, i);
    if (n > 1)
        qsort(r->sorted, n, sizeof(*r->sorted), by_place);
    for (size_t i = 0; i < n; i++)
        wbi_repair_write_output(r, r->sorted[i]);
    for (size_t i = from; i < to; i++)
        if (is_unanswered(r, i))
            write_synthetic(r, i);
}

/* --- Responses --- */

/* Only an output that stands before its call has to move. */
static void plan_flat(struct wbi_repair *r)
{
    for (size_t i = 0; i < r->h.n; i++) {
        const struct wbi_history_entry *e = &r->h.entries[i];
        if (!e->is_call && e->partner != WBI_HISTORY_NONE && e->partner > i)
            r->fates[i] = WBI_FATE_MOVE;
    }
}

/* Outputs that are added stand behind the run of calls theirs belongs to. */
static void write_flat(struct wbi_repair *r)
{
    size_t i = 0, m = 0, run = 0;

    WBI_JSON_EACH (r->h.messages, item) {
        bool entry = i < r->h.n && r->h.entries[i].message == m;
        bool call = entry && r->h.entries[i].is_call;

        if (!call) {
            wbi_repair_write_outputs(r, run, i);
            run = i + entry;
        }
        if (!entry)
            wbi_jw_val(&r->w, item);
        else if (r->fates[i] == WBI_FATE_STAY && call)
            wbi_repair_write_call(r, i);
        else if (r->fates[i] == WBI_FATE_STAY)
            wbi_repair_write_output(r, i);
        i += entry;
        m++;
    }
    wbi_repair_write_outputs(r, run, i);
}

/* --- Chat --- */

/* A message with k calls is followed by exactly its k outputs, in any order. */
static void plan_chat(struct wbi_repair *r)
{
    for (size_t from = 0, to; from < r->h.n; from = to) {
        size_t m = r->h.entries[from].message, calls = 0;
        bool legal = true;

        to = wbi_history_seek(&r->h, from, m + 1);
        for (size_t i = from; i < to; i++)
            calls += r->h.entries[i].is_call && r->fates[i] != WBI_FATE_DROP;
        for (size_t i = from; i < to; i++) {
            size_t at = r->h.entries[i].partner;
            if (!r->h.entries[i].is_call || r->fates[i] == WBI_FATE_DROP)
                continue;
            legal = legal && at != WBI_HISTORY_NONE && r->h.entries[at].message > m &&
                    r->h.entries[at].message <= m + calls;
        }
        for (size_t i = from; i < to && !legal; i++)
            if (r->h.entries[i].is_call && r->h.entries[i].partner != WBI_HISTORY_NONE)
                r->fates[r->h.entries[i].partner] = WBI_FATE_MOVE;
    }
}

static void write_tool_calls(struct wbi_repair *r, const wbi_json *calls, size_t from, size_t to)
{
    size_t i = from;

    wbi_jw_arr(&r->w);
    WBI_JSON_EACH (calls, v) {
        if (i < to && r->h.entries[i].value == v) {
            if (r->fates[i] != WBI_FATE_DROP)
                wbi_repair_write_call(r, i);
            i++;
        } else {
            wbi_jw_val(&r->w, v);
        }
    }
    wbi_jw_arr_end(&r->w);
}

static void write_asking_message(struct wbi_repair *r, const wbi_json *message, size_t from,
                                 size_t to)
{
    wbi_jw_obj(&r->w);
    WBI_JSON_EACH_MEMBER (message, key) {
        wbi_jw_keyn(&r->w, wbi_json_str(key));
        if (wbi_str_eqz(wbi_json_str(key), "tool_calls"))
            write_tool_calls(r, key_val, from, to);
        else
            wbi_jw_val(&r->w, key_val);
    }
    wbi_jw_obj_end(&r->w);
}

static void write_chat(struct wbi_repair *r)
{
    size_t from = 0, m = 0;

    WBI_JSON_EACH (r->h.messages, message) {
        size_t to = wbi_history_seek(&r->h, from, m + 1);

        if (from == to) {
            wbi_jw_val(&r->w, message);
        } else if (r->h.entries[from].is_call) {
            write_asking_message(r, message, from, to);
            wbi_repair_write_outputs(r, from, to);
        } else if (r->fates[from] == WBI_FATE_STAY) {
            wbi_repair_write_output(r, from);
        }
        from = to;
        m++;
    }
}

/* --- all --- */

/* A Responses request may go on from items that only the server holds; then an
 * output without a call in sight is no orphan. */
static bool goes_on_elsewhere(const struct wbi_history *h)
{
    const wbi_json *conversation = wbi_json_get(h->root, "conversation");

    if (h->provider != WBI_PROVIDER_RESPONSES)
        return false;
    if (wbi_json_get_str(h->root, "previous_response_id").n > 0 ||
        (conversation != NULL && !wbi_json_is(conversation, WBI_JSON_NULL)))
        return true;
    WBI_JSON_EACH (h->messages, item) {
        if (wbi_str_eqz(wbi_json_get_str(item, "type"), "item_reference"))
            return true;
    }
    return false;
}

/* What no provider accepts: repetitions and outputs of nothing. */
static void plan_drops(struct wbi_repair *r)
{
    bool elsewhere = goes_on_elsewhere(&r->h);

    for (size_t i = 0; i < r->h.n; i++) {
        const struct wbi_history_entry *e = &r->h.entries[i];
        bool drop = e->is_call ? e->duplicate : e->partner == WBI_HISTORY_NONE;

        if (!drop || (elsewhere && !e->duplicate))
            continue;
        r->fates[i] = WBI_FATE_DROP;
        r->report.duplicates_dropped += e->duplicate;
        r->report.orphans_dropped += !e->duplicate;
    }
}

static void count_changes(struct wbi_repair *r)
{
    struct wbi_repair_report *report = &r->report;

    for (size_t i = 0; i < r->h.n; i++) {
        const struct wbi_history_entry *e = &r->h.entries[i];
        report->outputs_added += is_unanswered(r, i);
        report->ids_given += r->fates[i] != WBI_FATE_DROP && needs_id(r, i);
        report->outputs_moved += r->fates[i] == WBI_FATE_MOVE;
        report->outputs_retyped += !e->is_call && wbi_repair_is_rewritten(r, i);
    }
    report->changed = report->outputs_added + report->ids_given + report->outputs_moved +
                          report->outputs_retyped + report->duplicates_dropped +
                          report->orphans_dropped >
                      0;
}

static void plan(struct wbi_repair *r)
{
    plan_drops(r);
    if (r->h.provider == WBI_PROVIDER_RESPONSES)
        plan_flat(r);
    else if (r->h.provider == WBI_PROVIDER_CHAT)
        plan_chat(r);
    else
        wbi_repair_plan_blocks(r);
    count_changes(r);
}

static void write_messages(struct wbi_repair *r)
{
    wbi_jw_arr(&r->w);
    if (r->h.provider == WBI_PROVIDER_RESPONSES)
        write_flat(r);
    else if (r->h.provider == WBI_PROVIDER_CHAT)
        write_chat(r);
    else
        wbi_repair_write_blocks(r);
    wbi_jw_arr_end(&r->w);
}

static void write_root(struct wbi_repair *r)
{
    if (r->h.key == NULL) {
        write_messages(r);
        return;
    }
    wbi_jw_obj(&r->w);
    WBI_JSON_EACH_MEMBER (r->h.root, key) {
        wbi_jw_keyn(&r->w, wbi_json_str(key));
        if (key_val == r->h.messages)
            write_messages(r);
        else
            wbi_jw_val(&r->w, key_val);
    }
    wbi_jw_obj_end(&r->w);
}

static size_t count_calls(const struct wbi_history *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++)
        n += h->entries[i].is_call;
    return n;
}

wb_rc wbi_wire_repair(struct wbi_arena *arena, enum wbi_provider provider, struct wbi_str text,
                      struct wbi_buf *out, struct wbi_repair_report *report, struct wbi_error *err)
{
    struct wbi_repair r = {.arena = arena, .w = wbi_jw_to(out)};
    const wbi_json *root;
    wb_rc rc = wbi_json_read(arena, text, WBI_JSON_PASSED_ON, &root, err);

    if (rc == WB_OK)
        rc = wbi_history_read(arena, provider, root, &r.h, err);
    if (rc != WB_OK)
        return rc;
    r.report.provider = r.h.provider;
    r.made = behind_made_ids(&r.h);
    r.fates = wbi_arena_array(arena, r.h.n, sizeof(*r.fates));
    r.sorted = wbi_arena_array(arena, r.h.n, sizeof(*r.sorted));
    if (r.fates == NULL || r.sorted == NULL)
        return wbi_fail_nomem(err);
    plan(&r);
    if (r.report.changed) {
        write_root(&r);
    } else {
        r.report.calls = count_calls(&r.h);
        wbi_buf_adds(out, text);
    }
    if (wbi_buf_rc(out) != WB_OK)
        return wbi_fail(err, wbi_buf_rc(out), "the repaired history does not fit");
    if (report != NULL)
        *report = r.report;
    return WB_OK;
}
