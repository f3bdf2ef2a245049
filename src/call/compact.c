/* SPDX-License-Identifier: Apache-2.0
 * call/compact.c
 * (1) A text that ends in our mark is frozen: it is shown as it is until a batch
 * takes it to a lower rung, and never back. (2) Sizes only go down. (3) Nothing
 * is done while the history fits; when something must be done, it is brought to
 * TARGET_PERCENT of the budget, so the next batch is some turns away. */
#include "call/compact.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "text/preview.h"
#include "text/tokens.h"
#include "wire/repair.h"
#include "wire/rewrite.h"

#define TARGET_PERCENT 75
/* The estimate may be up to 10 % under the exact count. */
#define SAFETY_PERCENT 112
#define EXACT_ROUNDS 2
#define TRIM_TOKENS 300
#define MARK "[compacted to rung "

struct item {
    size_t entry;
    struct wbi_str id;
    struct wbi_str name;
    struct wbi_str text;      /* as it stands in the history */
    struct wbi_str canonical; /* absent: generic text */
    struct wbi_str forms[WBI_RUNGS];
    uint64_t cost[WBI_RUNGS]; /* tokens of each form; never rising */
    int rung;                 /* chosen */
    int frozen;               /* rung it came in with */
    size_t round;
    bool important; /* a failure or a mutation */
    bool folded;
    uint64_t hash;
};

struct job {
    struct wbi_arena *arena;
    struct wbi_history h;
    const struct wbi_compact_source *source;
    struct item *items;
    size_t n;
    uint64_t fixed; /* tokens of everything but results */
    uint64_t total;
};

static uint64_t safe_tokens(struct wbi_str s)
{
    return wbi_tokens(s) * SAFETY_PERCENT / 100;
}

/* The rung a text was brought to before; 0 for one that is as it was. */
static int frozen_rung(struct wbi_str text)
{
    size_t at = text.n;
    struct wbi_str last;

    while (at > 0 && text.p[at - 1] != '\n')
        at--;
    last = wbi_str_from(text, at);
    if (!wbi_str_starts(last, WBI_LIT(MARK)) || last.n <= sizeof(MARK) - 1)
        return 0;
    return last.p[sizeof(MARK) - 1] >= '1' && last.p[sizeof(MARK) - 1] <= '3'
               ? last.p[sizeof(MARK) - 1] - '0'
               : 0;
}

/* What the model is told at the end of a compacted result. */
static void add_mark(struct wbi_buf *out, const struct item *it, int rung)
{
    if (out->n > 0 && out->p[out->n - 1] != '\n')
        wbi_buf_addc(out, '\n');
    wbi_buf_addf(out, MARK "%d of 3: call %.*s", rung, WBI_FMT(it->id.p ? it->id : WBI_LIT("?")));
    wbi_buf_addz(out, it->canonical.p ? "; its artifacts hold the rest]"
                                      : "; repeat the call for the rest]");
}

static struct wbi_str first_line(struct wbi_str text, size_t most)
{
    text = wbi_str_head(text, wbi_str_index(text, '\n'));
    return wbi_str_head(text, wbi_utf8_cut(text, most));
}

static wb_rc generic_form(struct job *j, const struct item *it, int rung, struct wbi_buf *out,
                          struct wbi_error *err)
{
    struct wbi_preview_policy policy = {.budget = TRIM_TOKENS, .plain = true};
    struct wbi_preview preview;
    wb_rc rc;

    if (rung == WBI_RUNG_TRIMMED) {
        rc = wbi_preview_text(j->arena, it->text, &policy, &preview, err);
        if (rc != WB_OK)
            return rc;
        if (!wbi_str_starts(preview.text, first_line(it->text, 400))) {
            wbi_buf_adds(out, first_line(it->text, 400));
            wbi_buf_addc(out, '\n');
        }
        wbi_buf_adds(out, preview.text);
    } else {
        wbi_buf_adds(out, first_line(it->text, rung == WBI_RUNG_SUMMARY ? 400 : 160));
    }
    add_mark(out, it, rung);
    return wbi_buf_rc(out);
}

static wb_rc known_form(struct job *j, const struct item *it, int rung, struct wbi_buf *out,
                        struct wbi_error *err)
{
    struct wbi_str canonical;
    wb_rc rc = wbi_compact_result(j->arena, it->canonical, (enum wbi_rung)rung, &canonical, err);

    if (rc == WB_OK)
        rc = j->source->render(j->source->arg, j->arena, canonical, out, err);
    if (rc == WB_OK)
        add_mark(out, it, rung);
    return rc == WB_OK ? wbi_buf_rc(out) : rc;
}

/* Every form of a result; one that would not be smaller is the one before it. */
static wb_rc make_forms(struct job *j, struct item *it, struct wbi_error *err)
{
    struct wbi_str form = it->text;
    uint64_t cost = safe_tokens(form);

    for (int r = 0; r < WBI_RUNGS; r++) {
        if (r > it->frozen) {
            struct wbi_buf out;
            wb_rc rc;

            wbi_buf_init_arena(&out, j->arena, WBI_LIMIT_CALL_ARENA);
            rc = it->canonical.p ? known_form(j, it, r, &out, err)
                                 : generic_form(j, it, r, &out, err);
            if (rc != WB_OK)
                return rc;
            if (safe_tokens(wbi_buf_str(&out)) < cost) {
                form = wbi_buf_str(&out);
                cost = safe_tokens(form);
            }
        }
        it->forms[r] = form;
        it->cost[r] = cost;
    }
    return WB_OK;
}

static bool mutates(struct wbi_str name)
{
    static const char *const names[] = {"ApplyPatch", "WriteFile", "CreateWorkItem",
                                        "UpdateWorkItem", "CompleteWorkItem", "apply_patch"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (wbi_str_eqz(name, names[i]))
            return true;
    return false;
}

static wb_rc add_item(struct job *j, size_t entry, struct wbi_error *err)
{
    const struct wbi_history_entry *e = &j->h.entries[entry];
    struct wbi_str text = wbi_history_text(j->arena, &j->h, e);
    struct item *it = &j->items[j->n];

    if (text.p == NULL)
        return WB_OK; /* only media: left alone */
    *it = (struct item){.entry = entry, .id = e->id, .text = text, .round = e->round};
    if (e->partner != WBI_HISTORY_NONE)
        it->name = j->h.entries[e->partner].name;
    it->important = wbi_history_failed(&j->h, e) || mutates(it->name);
    it->frozen = it->rung = frozen_rung(text);
    it->hash = wbi_hash64(text.p, text.n, 1);
    if (j->source != NULL && j->source->canonical != NULL && e->id.p != NULL)
        it->canonical = j->source->canonical(j->source->arg, j->arena, e->id);
    j->n++;
    return make_forms(j, it, err);
}

/* An equal call with an equal result further on makes the older one needless. */
static bool same_call(const struct job *j, const struct item *a, const struct item *b)
{
    size_t ca = j->h.entries[a->entry].partner, cb = j->h.entries[b->entry].partner;
    const char *const members[] = {"arguments", "input", "args", "action"};
    const wbi_json *va, *vb;

    if (ca == WBI_HISTORY_NONE || cb == WBI_HISTORY_NONE || a->hash != b->hash ||
        !wbi_str_eq(a->name, b->name) || !wbi_str_eq(a->text, b->text))
        return false;
    va = j->h.entries[ca].value;
    vb = j->h.entries[cb].value;
    if (j->h.provider == WBI_PROVIDER_CHAT) {
        va = wbi_json_get(va, "function");
        vb = wbi_json_get(vb, "function");
    } else if (j->h.provider == WBI_PROVIDER_GEMINI) {
        va = wbi_json_get(va, "functionCall");
        vb = wbi_json_get(vb, "functionCall");
    }
    for (size_t i = 0; i < 4; i++)
        if (!wbi_json_equal(wbi_json_get(va, members[i]), wbi_json_get(vb, members[i])))
            return false;
    return true;
}

static void fold(struct job *j, struct item *it)
{
    struct wbi_str text;

    for (struct item *later = it + 1; later < j->items + j->n; later++) {
        if (!same_call(j, it, later))
            continue;
        text = wbi_arena_fmt(j->arena, "same result as the later call %.*s\n" MARK "3 of 3: call %.*s]",
                             WBI_FMT(later->id.p ? later->id : WBI_LIT("?")),
                             WBI_FMT(it->id.p ? it->id : WBI_LIT("?")));
        if (text.p == NULL || safe_tokens(text) >= it->cost[it->rung])
            return;
        j->total -= it->cost[it->rung];
        it->forms[WBI_RUNG_LINE] = text;
        it->cost[WBI_RUNG_LINE] = safe_tokens(text);
        it->rung = WBI_RUNG_LINE;
        it->folded = true;
        j->total += it->cost[it->rung];
        return;
    }
}

static void lower(struct job *j, struct item *it, int rung)
{
    if (it->rung >= rung)
        return;
    j->total -= it->cost[it->rung];
    it->rung = rung;
    j->total += it->cost[rung];
}

/* Oldest first, whole rungs at a time; what matters goes last. */
static void step_down(struct job *j, size_t exact_from, uint64_t target)
{
    for (size_t i = 0; i < j->n && j->total > target; i++)
        if (j->items[i].round < exact_from && j->items[i].rung == 0)
            fold(j, &j->items[i]);
    for (int important = 0; important < 2; important++)
        for (int rung = WBI_RUNG_TRIMMED; rung < WBI_RUNGS; rung++)
            for (size_t i = 0; i < j->n && j->total > target; i++)
                if (j->items[i].round < exact_from && j->items[i].important == (important != 0))
                    lower(j, &j->items[i], rung);
}

static uint64_t minimum_of(const struct job *j)
{
    uint64_t sum = j->fixed;

    for (size_t i = 0; i < j->n; i++)
        sum += j->items[i].cost[WBI_RUNG_LINE];
    return sum;
}

static wb_rc read_job(struct job *j, enum wbi_provider provider, struct wbi_str text,
                      struct wbi_error *err)
{
    struct wbi_str *blank;
    struct wbi_buf rest;
    const wbi_json *root;
    wb_rc rc = wbi_json_read(j->arena, text, WBI_JSON_STRICT, &root, err);

    if (rc == WB_OK)
        rc = wbi_history_read(j->arena, provider, root, &j->h, err);
    if (rc != WB_OK)
        return rc;
    j->items = wbi_arena_array(j->arena, j->h.n, sizeof(*j->items));
    blank = wbi_arena_array(j->arena, j->h.n, sizeof(*blank));
    if (j->items == NULL || blank == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && i < j->h.n; i++)
        if (!j->h.entries[i].is_call)
            rc = add_item(j, i, err);
    for (size_t i = 0; i < j->n; i++)
        blank[j->items[i].entry] = WBI_LIT("");
    wbi_buf_init_arena(&rest, j->arena, WBI_LIMIT_CALL_ARENA);
    if (rc == WB_OK)
        rc = wbi_history_rewrite(&j->h, blank, &rest);
    j->fixed = safe_tokens(wbi_buf_str(&rest));
    j->total = j->fixed;
    for (size_t i = 0; i < j->n; i++)
        j->total += j->items[i].cost[j->items[i].rung];
    return rc;
}

static wb_rc write_job(struct job *j, struct wbi_buf *out, struct wbi_compact_report *report)
{
    struct wbi_str *texts = wbi_arena_array(j->arena, j->h.n, sizeof(*texts));

    if (texts == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; i < j->n; i++) {
        const struct item *it = &j->items[i];
        if (it->rung == it->frozen && !it->folded)
            continue;
        texts[it->entry] = it->forms[it->rung];
        report->compacted++;
        report->folded += it->folded;
    }
    return wbi_history_rewrite(&j->h, texts, out);
}

wb_rc wbi_compact_history(struct wbi_arena *arena, enum wbi_provider provider,
                          struct wbi_str history, uint64_t budget,
                          const struct wbi_compact_source *source, struct wbi_buf *out,
                          struct wbi_compact_report *report, struct wbi_error *err)
{
    struct job j = {.arena = arena, .source = source};
    struct wbi_buf legal;
    uint64_t target = budget * TARGET_PERCENT / 100;
    size_t exact = EXACT_ROUNDS;
    wb_rc rc;

    *report = (struct wbi_compact_report){.results = 0};
    wbi_buf_init_arena(&legal, arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_wire_repair(arena, provider, history, &legal, NULL, err);
    if (rc == WB_OK)
        rc = read_job(&j, provider, wbi_buf_str(&legal), err);
    if (rc != WB_OK)
        return rc;
    report->results = j.n;
    report->tokens_before = report->tokens_after = j.total;
    report->minimum = minimum_of(&j);
    if (j.total <= budget) {
        wbi_buf_adds(out, wbi_buf_str(&legal));
        return wbi_buf_rc(out);
    }
    if (budget < report->minimum)
        return wbi_fail(err, WB_ELIMIT, "minimum: %llu", (unsigned long long)report->minimum);
    for (;; exact--) { /* give up exact rounds only when nothing else helps */
        size_t from = j.h.rounds > exact ? j.h.rounds - exact : 0;
        step_down(&j, from, exact ? target : budget);
        if (j.total <= budget || exact == 0)
            break;
    }
    report->tokens_after = j.total;
    return write_job(&j, out, report);
}
