/* SPDX-License-Identifier: Apache-2.0
 * text/preview_json.c: JSON shown by its structure. Small values are
 * pretty-printed whole; in large ones long arrays and objects keep their first
 * and last members and those that tell a failure or differ from their many
 * siblings, long strings their start. Text that is itself JSON is unfolded, and
 * what was shown once is not shown again. Limits tighten until it fits. */
#include "text/preview_json_int.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/write.h"
#include "text/hygiene.h"
#include "text/tokens.h"

#define DEPTH 64u /* deeper parts are shown as their size */
#define UNFOLDED_MAX 8u
#define NARROW 3u
#define NAME_BYTES 48u
#define HEAD_BYTES 40u
#define WHY_BYTES 120u
#define NAMES_MAX 64u
#define NAMES_MIN 4u

/* One way of showing: how much of long things, and how deep. */
struct fold {
    size_t items; /* 0: of arrays that hold what is noted only that */
    size_t bytes;
    size_t notes;
    size_t depth; /* of containers with more than NARROW members in each other */
};
static const struct fold folds[] = {
    {1024, 800, 64, 64}, {512, 800, 64, 64}, {256, 800, 64, 64}, {128, 800, 64, 64},
    {64, 800, 64, 64},   {40, 400, 40, 9},   {24, 300, 24, 7},   {16, 200, 18, 6},
    {12, 160, 14, 5},    {9, 120, 12, 4},    {7, 100, 11, 4},    {5, 80, 10, 3},
    {4, 70, 9, 3},       {3, 60, 8, 3},      {3, 40, 7, 2},      {2, 40, 6, 2},
    {2, 24, 5, 2},       {1, 24, 4, 2},      {1, 16, 3, 2},      {1, 16, 2, 2},
    {1, 16, 1, 2},       {0, 40, 1, 2},      {0, 16, 1, 2},
};
/* Where there is hardly any room: the way to what tells of a failure, or nothing noted. */
static const struct fold ways[] = {{0, 40, 1, 1}, {0, 24, 1, 1}, {0, 16, 1, 1}};
static const struct fold least = {1, 16, 0, 2};

struct level {
    const wbi_json *next; /* next element, or key of the next member */
    size_t left;
    size_t count;
    size_t skipped; /* members left out since the last one shown */
    const wbi_json *first_skipped;
    size_t items; /* usual members */
    size_t wide;  /* containers around its members that are not narrow */
    bool object;
    bool any;
    bool striking;
};

struct shower {
    struct wbi_arena *arena;
    struct notes *notes;
    const wbi_json *unfolded[UNFOLDED_MAX];
    size_t n_unfolded;
    struct wbi_str shown_strings[64];
    size_t n_strings;
    struct wbi_buf out;
    struct wbi_buf counts; /* of values that are one of few kinds */
    struct fold fold;
    size_t names;      /* of members left out in one place that are told */
    size_t names_wide; /* in containers that are not deeper than this */
    struct level level[DEPTH];
    size_t depth;
    size_t stop; /* bytes from which this fold is hopeless */
    bool cut;
    bool spaced; /* the text has blanks behind its colons */
};

/* ---- showing ---- */

static void newline(struct shower *s)
{
    wbi_buf_addc(&s->out, '\n');
    for (size_t i = 0; i < s->depth; i++)
        wbi_buf_addc(&s->out, ' ');
}

static bool repeated(struct shower *s, struct wbi_str text)
{
    for (size_t i = 0; i < s->n_strings; i++)
        if (wbi_str_eq(s->shown_strings[i], text))
            return true;
    if (s->n_strings < sizeof s->shown_strings / sizeof *s->shown_strings)
        s->shown_strings[s->n_strings++] = text;
    return false;
}

/* One of several is told by its start; where others begin so too, only the whole text tells. */
static void refer_to(struct shower *s, struct wbi_str text)
{
    struct wbi_str head = wbi_str_head(text, wbi_utf8_cut(text, HEAD_BYTES));
    size_t alike = 0;

    if (s->n_strings == 1) {
        wbi_buf_addz(&s->out, "(same text as above)");
        return;
    }
    for (size_t i = 0; i < s->n_strings; i++)
        alike += wbi_str_starts(s->shown_strings[i], head);
    wbi_buf_addz(&s->out, "(same text as above: ");
    wbi_json_quote(&s->out, head);
    wbi_buf_addz(&s->out, "\xe2\x80\xa6)");
    s->cut |= alike > 1;
}

/* Text that is JSON itself: its value, or NULL. */
static const wbi_json *unfold(struct shower *s, struct wbi_str text)
{
    const wbi_json *v = NULL;
    struct wbi_str t = wbi_str_trim(text);

    if (t.n < 40 || s->n_unfolded == UNFOLDED_MAX || (t.p[0] != '{' && t.p[0] != '[') ||
        wbi_hygiene_json(s->arena, t, &t) != WB_OK ||
        wbi_json_read(s->arena, t, WBI_JSON_AS_WRITTEN, &v, NULL) != WB_OK)
        return NULL;
    return v;
}

/* The text v, or as much of it as this fold shows; of what tells of the failure a sentence. */
static void show_string(struct shower *s, const wbi_json *v, bool important)
{
    struct wbi_str text = wbi_json_str(v);
    size_t most = important ? s->fold.bytes * 4 : s->fold.bytes, n;

    if (most < WHY_BYTES && wbi_notes_why(s->notes, v, s->fold.notes))
        most = WHY_BYTES;
    if (text.n > 200 && repeated(s, text)) {
        refer_to(s, text);
        return;
    }
    if (text.n <= most + most / 4) {
        wbi_json_quote(&s->out, text);
        return;
    }
    n = most;
    while (n > 0 && ((uint8_t)text.p[n] & 0xc0) == 0x80)
        n--;
    wbi_json_quote(&s->out, wbi_str_head(text, n));
    wbi_buf_addf(&s->out, "\xe2\x80\xa6(+%zu bytes)", text.n - n);
    s->cut = true;
}

/* With a blank behind each colon and comma that is part of no string. */
static void add_spaced(struct wbi_buf *out, struct wbi_str text)
{
    bool quoted = false;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        wbi_buf_addc(out, c);
        if (quoted && c == '\\' && i + 1 < text.n)
            wbi_buf_addc(out, text.p[++i]);
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == ':' || c == ','))
            wbi_buf_addc(out, ' ');
    }
}

/* Short containers of scalars go on one line. */
static bool show_compact(struct shower *s, const wbi_json *v)
{
    struct wbi_buf b;

    if (wbi_json_count(v) > 12 || (size_t)(wbi_json_skip(v) - v) > 40)
        return false;
    wbi_buf_init_arena(&b, s->arena, 160);
    wbi_json_write(&b, v);
    if (wbi_buf_rc(&b) != WB_OK || b.n > 150)
        return false;
    if (wbi_str_find(wbi_buf_str(&b), WBI_LIT("\\\"")) < b.n) /* may be JSON inside text */
        return false;
    if (s->spaced)
        add_spaced(&s->out, wbi_buf_str(&b));
    else
        wbi_buf_adds(&s->out, wbi_buf_str(&b));
    return true;
}

static bool shown_before(const struct shower *s, const wbi_json *v)
{
    for (size_t i = 0; i < s->n_unfolded; i++)
        if (wbi_json_equal(s->unfolded[i], v))
            return true;
    return false;
}

/* Where telling elements are shown few others are needed. */
static size_t usual_items(const struct shower *s, const wbi_json *v, bool object)
{
    size_t one = s->fold.items > 0 ? s->fold.items : 1, items = one * (object ? 3 : 1);

    if (s->fold.depth == 1) /* hardly any room */
        return object && wbi_notes_has(s->notes, v, s->fold.notes) ? 3 : 1;
    if (object && wbi_notes_has(s->notes, v, s->fold.notes))
        return items + 6; /* it is shown because of what it says */

    if (object || items >= wbi_json_count(v) || !wbi_notes_within(s->notes, v, s->fold.notes))
        return items;
    return s->fold.items == 1 ? 1 : s->fold.items / 2;
}

static void enter(struct shower *s, const wbi_json *v, bool important)
{
    bool object = wbi_json_is(v, WBI_JSON_OBJ);
    size_t wide;

    if (s->depth == DEPTH) {
        wbi_buf_addf(&s->out, "%s%zu%s", object ? "{\xe2\x80\xa6 " : "[\xe2\x80\xa6 ",
                     wbi_json_count(v), object ? " members}" : " items]");
        s->cut = true;
        return;
    }
    wbi_buf_addc(&s->out, object ? '{' : '[');
    wide = (s->depth > 0 ? s->level[s->depth - 1].wide : 0) + (wbi_json_count(v) > NARROW);
    s->level[s->depth++] = (struct level){.next = v + 1,
                                          .left = wbi_json_count(v),
                                          .count = wbi_json_count(v),
                                          .items = usual_items(s, v, object),
                                          .wide = wide,
                                          .object = object,
                                          .striking = important};
}

/* What an element is called: itself, or the first of its members that is a short text. */
static struct wbi_str name_of(const wbi_json *v)
{
    struct wbi_str s = wbi_text_of(v);

    if (wbi_json_is(v, WBI_JSON_OBJ) && wbi_json_count(v) > 0)
        s = wbi_text_of(v + 2);
    for (size_t i = 0; i < s.n && i < NAME_BYTES; i++)
        if ((uint8_t)s.p[i] < ' ')
            return wbi_str_make(NULL, 0);
    return s.n <= NAME_BYTES ? s : wbi_str_make(NULL, 0);
}

/* The names of the members left out, those that follow each other and are equal once. */
static void tell_names(struct shower *s, const struct level *l)
{
    const wbi_json *at = l->first_skipped;
    struct wbi_str before = {NULL, 0};
    size_t told = 0, i;

    if (l->wide > s->names_wide)
        return;
    for (i = 0; i < l->skipped && told < s->names; i++) {
        struct wbi_str name = name_of(at);

        at = wbi_json_skip(l->object ? at + 1 : at);
        if (name.n == 0 || (name.n == before.n && memcmp(name.p, before.p, name.n) == 0))
            continue;
        wbi_buf_addz(&s->out, told++ == 0 ? ": " : ", ");
        wbi_buf_adds(&s->out, name);
        before = name;
    }
    if (told > 0 && i < l->skipped)
        wbi_buf_addz(&s->out, ", \xe2\x80\xa6");
}

/* A container that is too deep: what it holds, by name. */
static void show_closed(struct shower *s, const wbi_json *v)
{
    struct level l = {.first_skipped = v + 1,
                      .skipped = wbi_json_count(v),
                      .wide = s->level[s->depth - 1].wide + 1,
                      .object = wbi_json_is(v, WBI_JSON_OBJ)};

    wbi_buf_addf(&s->out, l.object ? "{\xe2\x80\xa6 %zu members" : "[\xe2\x80\xa6 %zu items",
                 l.skipped);
    tell_names(s, &l);
    wbi_buf_addc(&s->out, l.object ? '}' : ']');
    s->cut = true;
}

static bool too_deep(const struct shower *s, const wbi_json *v)
{
    return s->depth > 0 && s->level[s->depth - 1].wide >= s->fold.depth &&
           !wbi_notes_within(s->notes, v, s->fold.notes) &&
           !wbi_notes_why(s->notes, v, s->fold.notes);
}

static void show_value(struct shower *s, const wbi_json *v, bool important)
{
    struct wbi_str text = wbi_json_str(v);
    const wbi_json *inner;

    if (wbi_json_is(v, WBI_JSON_STR)) {
        inner = unfold(s, text);
        if (inner == NULL) {
            show_string(s, v, important);
        } else if (shown_before(s, inner)) {
            wbi_buf_addz(&s->out, "(JSON text, same as above)");
            s->cut |= s->n_unfolded > 1; /* which of them is not said */
        } else {
            s->unfolded[s->n_unfolded++] = inner;
            repeated(s, text);
            wbi_buf_addz(&s->out, "(JSON text) ");
            enter(s, inner, important);
        }
    } else if (wbi_json_count(v) == 0) {
        wbi_json_write(&s->out, v);
    } else if (wbi_json_count(v) > 0 && s->n_unfolded > 0 && shown_before(s, v)) {
        wbi_buf_addz(&s->out, "(same as above)");
        s->cut |= s->n_unfolded > 1;
    } else if (!show_compact(s, v)) {
        if (too_deep(s, v))
            show_closed(s, v);
        else
            enter(s, v, important);
    }
}

/* One short member says no less than that it is left out. */
static bool show_single(struct shower *s, const struct level *l)
{
    const wbi_json *v = l->first_skipped + l->object;

    if (l->skipped != 1 || wbi_json_count(v) > 0 || wbi_json_str(v).n > NAME_BYTES)
        return false;
    if (l->object) {
        wbi_json_quote(&s->out, wbi_json_str(l->first_skipped));
        wbi_buf_addz(&s->out, ": ");
    }
    wbi_json_write(&s->out, v);
    return true;
}

static void tell_skipped(struct shower *s, struct level *l)
{
    if (l->skipped == 0)
        return;
    if (l->any)
        wbi_buf_addc(&s->out, ',');
    newline(s);
    if (!show_single(s, l)) {
        wbi_buf_addf(&s->out, "\xe2\x80\xa6 %zu %s%s left out", l->skipped,
                     l->object ? "member" : "item", l->skipped == 1 ? "" : "s");
        tell_names(s, l);
        s->cut = true;
    }
    l->skipped = 0;
    l->any = true;
}

/* Usual members: the first ones and the last; beyond them what was noted. */
static bool worth(const struct shower *s, const struct level *l, const wbi_json *key,
                  const wbi_json *v)
{
    size_t index = l->count - l->left - 1, tail = l->items / 4;

    if (l->count <= l->items || index < l->items - tail || index + tail >= l->count)
        return true;
    return wbi_notes_within(s->notes, v, s->fold.notes) ||
           wbi_notes_why(s->notes, v, s->fold.notes) ||
           (key != NULL && wbi_notes_failure(s->notes, key, v));
}

/* One member of the innermost open container, or its end. */
static void step(struct shower *s)
{
    struct level *l = &s->level[s->depth - 1];
    const wbi_json *key = NULL, *v;
    bool important;

    if (l->left == 0) {
        tell_skipped(s, l);
        s->depth--;
        newline(s);
        wbi_buf_addc(&s->out, l->object ? '}' : ']');
        return;
    }
    if (l->object)
        key = l->next++;
    v = l->next;
    l->next = wbi_json_skip(v);
    l->left--;
    if (!worth(s, l, key, v)) {
        if (l->skipped++ == 0)
            l->first_skipped = key != NULL ? key : v;
        return;
    }
    tell_skipped(s, l);
    if (l->any)
        wbi_buf_addc(&s->out, ',');
    l->any = true;
    newline(s);
    if (key != NULL) {
        wbi_json_quote(&s->out, wbi_json_str(key));
        wbi_buf_addz(&s->out, ": ");
    }
    important = l->striking || wbi_notes_failure(s->notes, key, v) ||
                wbi_notes_has(s->notes, v, s->fold.notes);
    show_value(s, v, important);
}

static void show_folded(struct shower *s, const wbi_json *root)
{
    wbi_buf_clear(&s->out);
    s->depth = 0;
    s->n_unfolded = 0;
    s->n_strings = 0;
    s->cut = false;
    enter(s, root, false);
    while (s->depth > 0 && s->out.n < s->stop && wbi_buf_rc(&s->out) == WB_OK)
        step(s);
}

static wb_rc finish(struct shower *s, uint64_t lines, const struct wbi_preview_policy *policy,
                    struct wbi_preview *ret)
{
    struct wbi_segment *seg = wbi_arena_array(s->arena, 1, sizeof *seg);

    if (seg == NULL)
        return WB_ENOMEM;
    if (s->cut) {
        wbi_buf_adds(&s->out, wbi_buf_str(&s->counts));
        wbi_buf_addf(&s->out,
                     "\n[output truncated: showing JSON by structure; whole text in lines "
                     "1-%llu",
                     (unsigned long long)lines);
        wbi_preview_read_hint(&s->out, policy, 1, lines);
        wbi_buf_addc(&s->out, ']');
    }
    if (wbi_buf_rc(&s->out) != WB_OK)
        return wbi_buf_rc(&s->out);
    *seg = (struct wbi_segment){WBI_SEGMENT_SUMMARY, 1, lines};
    ret->text = wbi_buf_str(&s->out);
    ret->tokens = wbi_tokens(ret->text);
    ret->truncated = s->cut;
    ret->lines_shown = s->cut ? 0 : lines;
    ret->first_lines = ret->lines_shown;
    ret->segments = seg;
    ret->n_segments = 1;
    return WB_OK;
}

static bool fits(struct shower *s, const wbi_json *root, uint64_t units)
{
    show_folded(s, root);
    return s->depth == 0 && wbi_buf_rc(&s->out) == WB_OK &&
           wbi_tokens_units(wbi_buf_str(&s->out)) <= units;
}

/* What the fold leaves of the budget goes to names of what is left out; those at the top
 * tell most. */
static void add_names(struct shower *s, const wbi_json *root, uint64_t units)
{
    for (s->names = NAMES_MAX; s->names >= NAMES_MIN; s->names /= 4)
        for (s->names_wide = 4; s->names_wide > 0; s->names_wide--)
            if (fits(s, root, units))
                return;
    s->names = 0;
    show_folded(s, root);
}

/* The widest of n folds that fits. */
static bool fold_to_fit(struct shower *s, const wbi_json *root, const struct fold *fold, size_t n,
                        uint64_t units)
{
    for (size_t i = 0; i < n && wbi_buf_rc(&s->out) == WB_OK; i++) {
        s->fold = fold[i];
        if (fits(s, root, units - units / 12))
            return true;
    }
    return false;
}

/* What is tried first to last. The reason of a failure goes before the counts of values. */
static bool fit_some(struct shower *s, const wbi_json *root, uint64_t *units)
{
    uint64_t counts = wbi_tokens_units(wbi_buf_str(&s->counts));

    if (fold_to_fit(s, root, folds, sizeof folds / sizeof *folds, *units))
        return true;
    if (!wbi_notes_sure(s->notes))
        return fold_to_fit(s, root, &least, 1, *units);
    if (counts > 0) {
        wbi_buf_clear(&s->counts);
        *units += counts;
        if (fold_to_fit(s, root, folds, sizeof folds / sizeof *folds, *units))
            return true;
    }
    return fold_to_fit(s, root, ways, sizeof ways / sizeof *ways, *units) ||
           fold_to_fit(s, root, &least, 1, *units);
}

/* Nothing fits better than the tightest fold, without blanks; lines then do the rest. */
static wb_rc fit(struct shower *s, const wbi_json *root, uint64_t units)
{
    bool fitting;

    s->stop = (size_t)(units / WBI_TOKEN_UNIT) * 8;
    fitting = fit_some(s, root, &units);
    if (!fitting && s->spaced) {
        s->spaced = false;
        fitting = fit_some(s, root, &units);
    }
    if (fitting)
        add_names(s, root, units);
    if (wbi_buf_rc(&s->out) != WB_OK)
        return wbi_buf_rc(&s->out);
    return fitting ? WB_OK : WB_EINPUT;
}

wb_rc wbi_preview_json(struct wbi_arena *arena, struct wbi_str text, uint64_t lines, bool whole,
                       const struct wbi_preview_policy *policy, struct wbi_preview *ret)
{
    struct shower *s = wbi_arena_zalloc(arena, sizeof *s);
    uint64_t units = wbi_preview_usable(policy->budget), notice;
    const wbi_json *root = NULL;
    wb_rc rc;

    if (s == NULL)
        return WB_ENOMEM;
    rc = wbi_hygiene_json(arena, text, &text);
    if (rc == WB_OK)
        rc = wbi_json_read(arena, text, WBI_JSON_AS_WRITTEN, &root, NULL);
    if (rc != WB_OK)
        return rc == WB_ENOMEM ? rc : WB_EINPUT;
    s->arena = arena;
    s->spaced = wbi_str_find(text, WBI_LIT("\": ")) < text.n;
    wbi_buf_init_arena(&s->out, arena, WBI_LIMIT_RECEIPT);
    if (text.n / 12 < policy->budget) {
        wbi_json_pretty(&s->out, root);
        if (wbi_tokens_units(wbi_buf_str(&s->out)) <= units)
            return finish(s, lines, policy, ret);
    }
    if (whole)
        return WB_EINPUT;
    rc = wbi_notes_take(arena, root, policy->command, &s->notes);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&s->counts, arena, WBI_LIMIT_RECEIPT);
    wbi_notes_tell(s->notes, units / 5, &s->counts);
    notice = 34 * WBI_TOKEN_UNIT + wbi_tokens_units(policy->read_call) +
             wbi_tokens_units(wbi_buf_str(&s->counts));
    rc = fit(s, root, units > notice ? units - notice : units / 2);
    return rc != WB_OK ? rc : finish(s, lines, policy, ret);
}
