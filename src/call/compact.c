/* SPDX-License-Identifier: Apache-2.0
 * call/compact.c
 * (1) A text that ends in our mark is frozen: it is shown as it is until a batch
 * takes it to a lower rung, and never back. (2) Sizes only go down. (3) Nothing
 * is done while the history fits; when something must be done, it is brought to
 * TARGET_PERCENT of the budget, so the next batch is some turns away. */
#include "call/compact.h"

#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "call/compact_int.h"
#include "json/write.h"
#include "text/tokens.h"
#include "wire/repair.h"
#include "wire/rewrite.h"

#define TARGET_PERCENT 75
/* The estimate may be up to 10 % under the exact count. */
#define SAFETY_PERCENT 112
#define EXACT_ROUNDS 2
/* Most tokens that counting piece by piece can add for a result or a message. */
#define PIECE_TOKENS 6

static uint64_t tokens_of(uint64_t units)
{
    return wbi_tokens_of_units((units * SAFETY_PERCENT + 99) / 100);
}

/* ---- the same call made again ---- */

static const wbi_json *arguments_of(const struct wbi_compact_job *j,
                                    const struct wbi_compact_item *it)
{
    static const char *const members[] = {"arguments", "input", "args", "action", "operation"};
    static const char *const around[] = {"function", "custom", "functionCall", "function_call"};
    size_t call = j->h.entries[it->entry].partner;
    const wbi_json *v, *inner;

    if (call == WBI_HISTORY_NONE)
        return NULL;
    v = j->h.entries[call].value;
    for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
        inner = wbi_json_get_as(v, around[i], WBI_JSON_OBJ);
        v = inner != NULL ? inner : v;
    }
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (wbi_json_get(v, members[i]) != NULL)
            return wbi_json_get(v, members[i]);
    return NULL;
}

/* Each item gets the next one of the same call, by hash: last to first. */
static wb_rc link_same(struct wbi_compact_job *j, struct wbi_error *err)
{
    size_t room = 16, *slots;
    uint64_t *keys;

    while (room < j->n * 2)
        room *= 2;
    slots = wbi_arena_array(j->arena, room, sizeof(*slots));
    keys = wbi_arena_array(j->arena, room, sizeof(*keys));
    if (slots == NULL || keys == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = j->n; i-- > 0;) {
        const wbi_json *arguments = arguments_of(j, &j->items[i]);
        struct wbi_str name = j->items[i].name;
        uint64_t key;
        size_t at;

        if (arguments == NULL || name.p == NULL)
            continue;
        wbi_buf_clear(&j->scratch);
        wbi_json_write(&j->scratch, arguments);
        key = wbi_hash64(j->scratch.p, j->scratch.n, wbi_hash64(name.p, name.n, 1));
        for (at = key & (room - 1); slots[at] != 0 && keys[at] != key; at = (at + 1) & (room - 1))
            ;
        if (slots[at] != 0)
            j->items[i].same = slots[at] - 1;
        slots[at] = i + 1;
        keys[at] = key;
    }
    return wbi_buf_rc(&j->scratch) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

static void choose(struct wbi_compact_job *j, struct wbi_compact_item *it, struct wbi_str text,
                   uint64_t cost, int rung)
{
    j->total = j->total - it->cost + cost;
    it->now = text;
    it->cost = cost;
    it->rung = rung;
}

/* Never compacted, neither now nor before. */
static bool untouched(const struct wbi_compact_item *it)
{
    return it->frozen == 0 && it->now.p == it->text.p;
}

/* An equal call further on (among the first n) makes the older result needless:
 * folded when the results are equal, else a note of what changed. */
static wb_rc fold(struct wbi_compact_job *j, struct wbi_compact_item *it, size_t n,
                  struct wbi_error *err)
{
    const struct wbi_compact_item *later;
    struct wbi_str text;
    uint64_t cost;
    bool equal;
    wb_rc rc;

    if (it->same >= n || it->refused)
        return WB_OK;
    later = &j->items[it->same];
    equal = wbi_history_equal(&j->h, &j->h.entries[it->entry], &j->h.entries[later->entry]);
    if (!equal && wbi_str_eq(it->text, later->text))
        return WB_OK; /* other pictures, of which a note could say nothing */
    if (!untouched(later) || (!equal && it->important) || !wbi_str_eq(it->name, later->name) ||
        !wbi_json_equal(arguments_of(j, it), arguments_of(j, later)))
        return WB_OK;
    rc = wbi_compact_again(j, it, later, equal, &text, err);
    if (rc != WB_OK)
        return rc;
    cost = wbi_compact_cost(j, text);
    it->refused = cost >= it->cost;
    if (it->refused)
        return WB_OK;
    choose(j, it, text, cost, WBI_RUNG_LINE);
    it->folded = equal;
    it->special = j->noted = true;
    return WB_OK;
}

/* ---- one batch ---- */

static wb_rc lower(struct wbi_compact_job *j, struct wbi_compact_item *it, int rung,
                   struct wbi_error *err)
{
    struct wbi_str text;
    uint64_t cost;
    wb_rc rc;

    if (it->rung >= rung)
        return WB_OK;
    rc = wbi_compact_form(j, it, rung, &text, err);
    if (rc != WB_OK)
        return rc;
    cost = wbi_compact_cost(j, text);
    if (cost < it->cost)
        choose(j, it, text, cost, rung);
    else
        it->rung = rung; /* what is shown is smaller already */
    return WB_OK;
}

/* Notes are worth their tokens only as long as there are any. */
static wb_rc drop_notes(struct wbi_compact_job *j, size_t n, uint64_t budget, struct wbi_error *err)
{
    for (size_t i = 0; i < n && tokens_of(j->total) > budget; i++) {
        struct wbi_compact_item *it = &j->items[i];
        struct wbi_str text;
        uint64_t cost;
        wb_rc rc;

        if (!it->special)
            continue;
        rc = wbi_compact_form(j, it, WBI_RUNG_LINE, &text, err);
        if (rc != WB_OK)
            return rc;
        cost = wbi_compact_cost(j, text);
        it->special = false;
        if (cost < it->cost) {
            choose(j, it, text, cost, WBI_RUNG_LINE);
            it->folded = false;
        }
    }
    return WB_OK;
}

/* Oldest first, whole rungs at a time; what matters goes last. */
static wb_rc step_down(struct wbi_compact_job *j, size_t n, size_t exact_from, uint64_t target,
                       struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < n && tokens_of(j->total) > target; i++)
        if (j->items[i].round < exact_from && untouched(&j->items[i]))
            rc = fold(j, &j->items[i], n, err);
    for (int pass = 0; pass < 2 * (WBI_RUNGS - 1); pass++) {
        bool important = pass >= WBI_RUNGS - 1;
        int rung = pass % (WBI_RUNGS - 1) + 1;
        for (size_t i = 0; rc == WB_OK && i < n && tokens_of(j->total) > target; i++)
            if (j->items[i].round < exact_from && j->items[i].important == important)
                rc = lower(j, &j->items[i], rung, err);
    }
    return rc;
}

/* The first n items, of `rounds` rounds, are what there is. */
static wb_rc batch(struct wbi_compact_job *j, size_t n, size_t rounds, uint64_t budget,
                   struct wbi_error *err)
{
    uint64_t target = budget / 100 * TARGET_PERCENT + budget % 100 * TARGET_PERCENT / 100;
    wb_rc rc = WB_OK;

    for (size_t exact = EXACT_ROUNDS + 1; rc == WB_OK && exact-- > 0;) {
        /* exact rounds are given up only when nothing else helps */
        rc = step_down(j, n, rounds > exact ? rounds - exact : 0, exact ? target : budget, err);
        if (tokens_of(j->total) <= budget)
            break;
    }
    return rc == WB_OK ? drop_notes(j, n, budget, err) : rc;
}

/* ---- the whole ---- */

static wb_rc read_items(struct wbi_compact_job *j, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    j->items = wbi_arena_array(j->arena, j->h.n, sizeof(*j->items));
    if (j->items == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && i < j->h.n; i++) {
        struct wbi_compact_item *it = &j->items[j->n];
        if (j->h.entries[i].is_call)
            continue;
        it->entry = i;
        it->text = wbi_history_text(j->arena, &j->h, &j->h.entries[i]);
        if (it->text.p == NULL)
            it->text = WBI_LIT(""); /* only media */
        rc = wbi_compact_item_read(j, it, err);
        j->n++;
    }
    return rc;
}

/* Units of every message without its results; [messages] is all around them. */
static wb_rc fixed_costs(struct wbi_compact_job *j, uint64_t *fixed, struct wbi_error *err)
{
    size_t count = wbi_json_count(j->h.messages), start, *ends;
    struct wbi_str *blank = wbi_arena_array(j->arena, j->h.n + 1, sizeof(*blank)), all;
    struct wbi_buf rest;
    wb_rc rc;

    ends = wbi_arena_array(j->arena, count + 1, sizeof(*ends));
    if (blank == NULL || ends == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < j->n; i++)
        blank[j->items[i].entry] = WBI_LIT("");
    wbi_buf_init_arena(&rest, j->arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_history_rewrite(&j->h, blank, &rest, ends);
    if (rc != WB_OK)
        return wbi_fail(err, rc, "out of memory");
    all = wbi_buf_str(&rest);
    start = 0;
    for (size_t m = 0; m < count; m++) {
        fixed[m] = wbi_tokens_units(wbi_str_head(wbi_str_from(all, start), ends[m] - start));
        start = ends[m];
    }
    fixed[count] = wbi_tokens_units(wbi_str_from(all, start));
    return WB_OK;
}

static bool by_model(const struct wbi_compact_job *j, const wbi_json *message)
{
    struct wbi_str type = wbi_json_get_str(message, "type");

    if (wbi_history_by_model(j->h.provider, message))
        return true;
    return j->h.provider == WBI_PROVIDER_RESPONSES &&
           (wbi_str_ends(type, WBI_LIT("_call")) || wbi_str_eqz(type, "reasoning"));
}

/* Message by message, a batch wherever one was due, until one could not reach the budget:
 * then none can. */
static wb_rc replay(struct wbi_compact_job *j, const uint64_t *fixed, uint64_t budget,
                    struct wbi_error *err)
{
    size_t count = wbi_json_count(j->h.messages), m = 0, n = 0, rounds = 0;
    bool lost = false;
    wb_rc rc = WB_OK;

    j->total = fixed[count];
    WBI_JSON_EACH (j->h.messages, message) {
        bool turn =
            m + 1 == count || (!by_model(j, message) && by_model(j, wbi_json_skip(message)));
        j->total += fixed[m++];
        for (; n < j->n && j->items[n].message < m; n++) {
            j->total += j->items[n].cost;
            if (j->items[n].round >= rounds)
                rounds = j->items[n].round + 1;
        }
        if (rc == WB_OK && turn && !lost && tokens_of(j->total) > budget) {
            rc = batch(j, n, rounds, budget, err);
            lost = tokens_of(j->total) > budget;
        }
    }
    return rc;
}

/* Units of a result as it came or on a rung below the first, whichever is smallest: by a token or
 * two that need not be the last. */
static wb_rc least_cost(struct wbi_compact_job *j, const struct wbi_compact_item *it, uint64_t *ret,
                        struct wbi_error *err)
{
    *ret = it->first;
    for (int rung = WBI_MAX(WBI_RUNG_SUMMARY, it->frozen + 1); rung <= WBI_RUNG_LINE; rung++) {
        struct wbi_str text;
        wb_rc rc = wbi_compact_form(j, it, rung, &text, err);

        if (rc != WB_OK)
            return rc;
        *ret = WBI_MIN(*ret, wbi_compact_cost(j, text));
    }
    return WB_OK;
}

/* What any order of batches comes to when nothing else is left to do. */
static wb_rc find_minimum(struct wbi_compact_job *j, const uint64_t *fixed, uint64_t *ret,
                          struct wbi_error *err)
{
    uint64_t sum = 0, cost;

    for (size_t m = 0; m <= wbi_json_count(j->h.messages); m++)
        sum += fixed[m];
    for (size_t i = 0; i < j->n; i++) {
        wb_rc rc = least_cost(j, &j->items[i], &cost, err);
        if (rc != WB_OK)
            return rc;
        sum += cost;
    }
    *ret = tokens_of(sum);
    return WB_OK;
}

/* WB_ELIMIT where the budget is below the minimum, which then is told: also where it was met by
 * notes that are shorter than any rung. Which there are hangs on where batches fell. */
static wb_rc check_budget(struct wbi_compact_job *j, const uint64_t *fixed, uint64_t budget,
                          struct wbi_compact_report *report, struct wbi_error *err)
{
    bool met = report->tokens_after <= budget;
    uint64_t minimum;
    wb_rc rc;

    if (met && !j->noted)
        return WB_OK;
    rc = find_minimum(j, fixed, &minimum, err);
    if (rc != WB_OK || (met && minimum <= budget))
        return rc;
    report->minimum = minimum;
    return wbi_fail(err, WB_ELIMIT, "minimum: %llu", (unsigned long long)minimum);
}

static wb_rc write_job(struct wbi_compact_job *j, struct wbi_buf *out,
                       struct wbi_compact_report *report)
{
    struct wbi_str *texts = wbi_arena_array(j->arena, j->h.n, sizeof(*texts));

    if (texts == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; i < j->n; i++) {
        const struct wbi_compact_item *it = &j->items[i];
        if (it->now.p == it->text.p)
            continue;
        texts[it->entry] = it->now;
        report->compacted++;
        report->folded += it->folded;
    }
    return wbi_history_rewrite(&j->h, texts, out, NULL);
}

static wb_rc compact(struct wbi_compact_job *j, uint64_t budget, struct wbi_buf *out,
                     struct wbi_compact_report *report, struct wbi_error *err)
{
    uint64_t *fixed = wbi_arena_array(j->arena, wbi_json_count(j->h.messages) + 1, sizeof(*fixed));
    wb_rc rc;

    if (fixed == NULL)
        return wbi_fail_nomem(err);
    rc = read_items(j, err);
    if (rc == WB_OK)
        rc = link_same(j, err);
    if (rc == WB_OK)
        rc = fixed_costs(j, fixed, err);
    if (rc == WB_OK)
        rc = replay(j, fixed, budget, err);
    if (rc != WB_OK)
        return rc;
    report->results = j->n;
    report->tokens_after = tokens_of(j->total);
    rc = check_budget(j, fixed, budget, report, err);
    if (rc != WB_OK)
        return rc;
    rc = write_job(j, out, report);
    return rc == WB_OK ? WB_OK : wbi_fail(err, rc, "out of memory");
}

wb_rc wbi_compact_history(struct wbi_arena *arena, enum wbi_provider provider,
                          struct wbi_str history, uint64_t budget,
                          const struct wbi_compact_source *source, struct wbi_buf *out,
                          struct wbi_compact_report *report, struct wbi_error *err)
{
    struct wbi_compact_job j = {.arena = arena, .source = source};
    const wbi_json *root;
    struct wbi_buf legal;
    uint64_t seams;
    wb_rc rc;

    *report = (struct wbi_compact_report){.results = 0};
    wbi_buf_init_arena(&legal, arena, WBI_LIMIT_CALL_ARENA);
    wbi_buf_init_arena(&j.scratch, arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_wire_repair(arena, provider, history, &legal, NULL, err);
    if (rc == WB_OK)
        rc = wbi_json_read(arena, wbi_buf_str(&legal), WBI_JSON_PASSED_ON, &root, err);
    if (rc == WB_OK)
        rc = wbi_history_read(arena, provider, root, &j.h, err);
    if (rc != WB_OK)
        return rc;
    for (size_t i = 0; i < j.h.n; i++)
        report->results += !j.h.entries[i].is_call;
    report->tokens_before = tokens_of(wbi_tokens_units(wbi_buf_str(&legal)));
    report->tokens_after = report->tokens_before;
    seams = (j.h.n + wbi_json_count(j.h.messages) + 1) * (uint64_t)PIECE_TOKENS;
    if (report->tokens_before + seams > budget) { /* near it or over it: counted by pieces */
        size_t start = out->n;
        rc = compact(&j, budget, out, report, err);
        if (rc != WB_OK || report->compacted > 0 || report->tokens_before > budget)
            return rc;
        out->n = start; /* nothing to do: as it came */
    }
    wbi_buf_adds(out, wbi_buf_str(&legal));
    return wbi_buf_rc(out) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}
