/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_match.c: where a hunk belongs. Five ways to compare lines,
 * strictest first; the first one under which a place matches decides. Line
 * numbers, anchors and the end of the file choose between several places; where
 * they cannot, the hunk is ambiguous and nothing is guessed. */
#include "family/file/patch_int.h"

#include "base/checked.h"
#include "base/utf8.h"
#include "path/path.h"

/* How far from its line number a place may be and still win over others that
 * are farther. */
#define HINT_WINDOW 20u
/* Line comparisons spent on the best explanation of a miss. */
#define DIVERGENCE_WORK 4000000u

struct wbi_str wbi_patch_bare(struct wbi_str line)
{
    if (line.n > 0 && line.p[line.n - 1] == '\n')
        line.n--;
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

wb_rc wbi_patch_split(struct wbi_str data, struct wbi_arena *arena, struct wbi_patch_text *ret)
{
    struct wbi_patch_text t = {.data = data, .final_newline = true};
    size_t n = 0, crlf = 0;
    struct wbi_str rest;

    if (wbi_str_starts(data, WBI_LIT("\xef\xbb\xbf")))
        t.bom = 3;
    rest = wbi_str_from(data, t.bom);
    for (size_t i = 0; i < rest.n; i++)
        n += rest.p[i] == '\n';
    if (rest.n > 0 && rest.p[rest.n - 1] != '\n') {
        n++;
        t.final_newline = false;
    }
    t.lines = wbi_arena_array(arena, n ? n : 1, sizeof(*t.lines));
    if (t.lines == NULL)
        return WB_ENOMEM;
    while (rest.n > 0) {
        size_t len = wbi_str_index(rest, '\n');

        len = len < rest.n ? len + 1 : len;
        t.lines[t.n] = wbi_str_head(rest, len);
        crlf += len > 1 && rest.p[len - 1] == '\n' && rest.p[len - 2] == '\r';
        t.n++;
        rest = wbi_str_from(rest, len);
    }
    t.crlf = crlf * 2 > t.n;
    *ret = t;
    return WB_OK;
}

/* ---- comparing ---- */

static struct wbi_str rtrim(struct wbi_str s)
{
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r' ||
                       s.p[s.n - 1] == '\f' || s.p[s.n - 1] == '\v'))
        s.n--;
    return s;
}

static uint32_t fold_punct(uint32_t cp)
{
    if ((cp >= 0x2010 && cp <= 0x2015) || cp == 0x2212)
        return '-';
    if (cp >= 0x2018 && cp <= 0x201B)
        return '\'';
    if (cp >= 0x201C && cp <= 0x201F)
        return '"';
    if (cp == 0xA0 || (cp >= 0x2002 && cp <= 0x200A) || cp == 0x202F || cp == 0x205F ||
        cp == 0x3000)
        return ' ';
    return cp;
}

static uint32_t next_folded(struct wbi_str s, size_t *at)
{
    size_t skip, len = wbi_utf8_step((const uint8_t *)s.p + *at, s.n - *at, &skip);

    if (len == 0)
        return 0x110000u + (unsigned char)s.p[(*at)++];
    return fold_punct(wbi_utf8_next(s, at));
}

static bool eq_punct(struct wbi_str a, struct wbi_str b)
{
    size_t i = 0, k = 0;

    while (i < a.n && k < b.n)
        if (next_folded(a, &i) != next_folded(b, &k))
            return false;
    return i == a.n && k == b.n;
}

static bool line_eq(struct wbi_str file_line, const struct wbi_patch_line *l,
                    enum wbi_patch_tier tier)
{
    struct wbi_str a, b;

    if (tier == WBI_TIER_RAW) {
        size_t n = l->text.n + !l->no_newline;

        return file_line.n == n && (l->no_newline || file_line.p[n - 1] == '\n') &&
               (l->text.n == 0 || memcmp(file_line.p, l->text.p, l->text.n) == 0);
    }
    a = wbi_patch_bare(file_line);
    b = wbi_patch_bare(l->text);
    if (tier == WBI_TIER_TEXT)
        return wbi_str_eq(a, b);
    if (tier == WBI_TIER_TRAILING)
        return wbi_str_eq(rtrim(a), rtrim(b));
    a = wbi_str_trim(a);
    b = wbi_str_trim(b);
    return tier == WBI_TIER_SPACE ? wbi_str_eq(a, b) : eq_punct(a, b);
}

struct search {
    const struct wbi_patch_text *text;
    const struct wbi_patch_hunk *hunk;
    const struct wbi_patch_line **old; /* the hunk's context and removed lines */
    size_t from;                       /* first line allowed */
    size_t hint;                       /* line index of the number given */
    bool first_wins;                   /* an anchor has already chosen the place */
    bool end_first;                    /* the place at the end of the file goes first */
};

static bool matches(const struct search *s, size_t at, enum wbi_patch_tier tier)
{
    if (at > s->text->n || s->hunk->n_old > s->text->n - at)
        return false;
    for (size_t i = 0; i < s->hunk->n_old; i++)
        if (!line_eq(s->text->lines[at + i], s->old[i], tier))
            return false;
    return true;
}

/* ---- telling ---- */

static struct wbi_str bounded(struct wbi_str line)
{
    line = wbi_patch_bare(line);
    return wbi_str_head(line, wbi_utf8_cut(line, WBI_LIMIT_PATCH_PREVIEW_LINE));
}

static void note_candidate(const struct search *s, size_t at, struct wbi_arena *arena,
                           struct wbi_patch_fault *fault)
{
    struct wbi_patch_candidate *c;
    struct wbi_buf b;

    fault->candidates_total++;
    if (fault->n_candidates == WBI_LIMIT_PATCH_CANDIDATES)
        return;
    c = &fault->candidates[fault->n_candidates];
    wbi_buf_init_arena(&b, arena, 8 * WBI_LIMIT_PATCH_PREVIEW_LINE);
    for (size_t i = at > 2 ? at - 2 : 0; i < s->text->n && i <= at + 2; i++) {
        wbi_buf_adds(&b, bounded(s->text->lines[i]));
        wbi_buf_addc(&b, '\n');
    }
    if (wbi_buf_rc(&b) != WB_OK)
        return;
    c->line = (uint32_t)(at + 1);
    c->text = wbi_buf_str(&b);
    fault->n_candidates++;
}

static size_t prefix_at(const struct search *s, size_t at)
{
    size_t n = 0;

    while (n < s->hunk->n_old && at + n < s->text->n &&
           line_eq(s->text->lines[at + n], s->old[n], WBI_TIER_SPACE))
        n++;
    return n;
}

static size_t total_at(const struct search *s, size_t at)
{
    size_t n = 0;

    for (size_t i = 0; i < s->hunk->n_old && at + i < s->text->n; i++)
        n += line_eq(s->text->lines[at + i], s->old[i], WBI_TIER_SPACE);
    return n;
}

/* The place that agrees longest from its first line on; where no first line
 * agrees, the one that agrees in most lines. */
static bool best_place(const struct search *s, size_t *ret_at, size_t *ret_prefix)
{
    size_t best = 0, at = s->from, work = 0;
    bool found = false;

    for (size_t i = s->from; i < s->text->n && work < DIVERGENCE_WORK; i++) {
        size_t n = prefix_at(s, i);

        work += n + 1;
        if (n > best) {
            best = n;
            at = i;
            found = true;
        }
    }
    *ret_prefix = best;
    for (size_t i = s->from; !found && i < s->text->n && work < DIVERGENCE_WORK; i++) {
        size_t n = total_at(s, i);

        work += s->hunk->n_old;
        if (n > best) {
            best = n;
            at = i;
        }
    }
    *ret_at = at;
    return best > 0;
}

static void note_divergence(const struct search *s, struct wbi_patch_fault *fault)
{
    size_t at, prefix;

    if (!best_place(s, &at, &prefix)) {
        if (!s->hunk->has_numbers || s->hint >= s->text->n)
            return;
        at = s->hint;
    }
    fault->has_divergence = true;
    fault->candidate_line = (uint32_t)(at + 1);
    fault->matched_prefix_lines = (uint32_t)prefix;
    fault->file_line = (uint32_t)(at + prefix + 1);
    for (size_t i = prefix; i < s->hunk->n_old && fault->n_expected < 3; i++)
        fault->expected[fault->n_expected++] = bounded(s->old[i]->text);
    for (size_t i = at + prefix; i < s->text->n && fault->n_actual < 3; i++)
        fault->actual[fault->n_actual++] = bounded(s->text->lines[i]);
}

/* A place that would match but for the order: it begins before s->from. */
static bool earlier_place(const struct search *s, size_t *ret_at)
{
    for (enum wbi_patch_tier tier = WBI_TIER_TEXT; tier < WBI_TIER_COUNT; tier++)
        for (size_t at = 0; at < s->from; at++)
            if (matches(s, at, tier)) {
                *ret_at = at;
                return true;
            }
    return false;
}

static wb_rc fail_order(const struct search *s, size_t at, struct wbi_arena *arena,
                        struct wbi_error *err, struct wbi_patch_fault *fault)
{
    char shown[WBI_PATH_SHOWN];

    note_candidate(s, at, arena, fault);
    if (s->hunk->n_anchors > 0)
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_CONTEXT_NOT_FOUND,
                             "hunk %u of `%s` matches at line %zu, but not behind its anchor and "
                             "the hunks before it (from line %zu on)",
                             fault->hunk, wbi_path_show(fault->path, shown), at + 1, s->from + 1);
    return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_CONTEXT_NOT_FOUND,
                         "hunk %u of `%s` matches at line %zu, but the hunk before it reaches to "
                         "line %zu; hunks stand in the order of the file and share no line",
                         fault->hunk, wbi_path_show(fault->path, shown), at + 1, s->from);
}

static wb_rc fail_missing(const struct search *s, struct wbi_arena *arena, struct wbi_error *err,
                          struct wbi_patch_fault *fault)
{
    char shown[WBI_PATH_SHOWN], want[WBI_PATH_SHOWN], have[WBI_PATH_SHOWN];
    size_t at;

    if (earlier_place(s, &at))
        return fail_order(s, at, arena, err, fault);
    note_divergence(s, fault);
    if (!fault->has_divergence)
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_CONTEXT_NOT_FOUND,
                             "hunk %u of `%s`: none of its context lines occur in the file%s",
                             fault->hunk, wbi_path_show(fault->path, shown),
                             s->from > 0 ? " behind its anchor or the hunk before it" : "");
    return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_CONTEXT_NOT_FOUND,
                         "hunk %u of `%s` does not match; nearest at line %u, %u line%s agree%s, "
                         "then line %u is `%s` "
                         "where the patch has `%s`",
                         fault->hunk, wbi_path_show(fault->path, shown), fault->candidate_line,
                         fault->matched_prefix_lines, fault->matched_prefix_lines == 1 ? "" : "s",
                         fault->matched_prefix_lines == 1 ? "s" : "", fault->file_line,
                         fault->n_actual ? wbi_path_show(fault->actual[0], have)
                                         : "the end of the file",
                         fault->n_expected ? wbi_path_show(fault->expected[0], want) : "");
}

static wb_rc fail_ambiguous(struct wbi_error *err, const struct wbi_patch_fault *fault)
{
    char shown[WBI_PATH_SHOWN];

    return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_AMBIGUOUS_CONTEXT,
                         "hunk %u of `%s` matches %zu places (first at lines %u and %u); more "
                         "context lines would make it one",
                         fault->hunk, wbi_path_show(fault->path, shown), fault->candidates_total,
                         fault->n_candidates > 0 ? fault->candidates[0].line : 0,
                         fault->n_candidates > 1 ? fault->candidates[1].line : 0);
}

/* ---- choosing ---- */

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* All places under one tier. Returns how many; *ret_at is the one to take, or
 * SIZE_MAX when they cannot be told apart. */
static size_t places(const struct search *s, enum wbi_patch_tier tier, size_t *ret_at)
{
    size_t count = 0, near = SIZE_MAX, nearest = 0, first = 0, within = 0;
    size_t end = s->text->n - s->hunk->n_old;

    if (s->end_first && end >= s->from && matches(s, end, tier)) {
        *ret_at = end;
        return 1;
    }
    if (s->hunk->has_numbers && s->hint >= s->from && matches(s, s->hint, tier)) {
        *ret_at = s->hint;
        return 1;
    }
    for (size_t at = s->from; at <= end; at++) {
        if (!matches(s, at, tier))
            continue;
        if (count++ == 0)
            first = at;
        if (s->first_wins)
            break;
        within += distance(at, s->hint) <= HINT_WINDOW;
        if (distance(at, s->hint) < near) {
            near = distance(at, s->hint);
            nearest = at;
        }
    }
    *ret_at = count == 1 ? first : s->hunk->has_numbers && within == 1 ? nearest : SIZE_MAX;
    return count;
}

static wb_rc choose(const struct search *s, enum wbi_patch_tier first, struct wbi_arena *arena,
                    struct wbi_error *err, struct wbi_patch_fault *fault,
                    struct wbi_patch_place *ret)
{
    if (s->hunk->n_old > s->text->n)
        return fail_missing(s, arena, err, fault);
    for (enum wbi_patch_tier tier = first; tier < WBI_TIER_COUNT; tier++) {
        size_t at, count = places(s, tier, &at);

        if (count == 0)
            continue;
        if (at != SIZE_MAX) {
            ret->at = at;
            ret->tier = tier;
            return WB_OK;
        }
        for (size_t i = s->from; i + s->hunk->n_old <= s->text->n; i++)
            if (matches(s, i, tier))
                note_candidate(s, i, arena, fault);
        return fail_ambiguous(err, fault);
    }
    return fail_missing(s, arena, err, fault);
}

/* First line at or after from that is anchor, and how many are. */
static size_t find_line(const struct wbi_patch_text *t, struct wbi_str anchor, size_t from,
                        size_t *ret_count)
{
    static const enum wbi_patch_tier tiers[] = {WBI_TIER_TEXT, WBI_TIER_SPACE, WBI_TIER_PUNCT};
    struct wbi_patch_line l = {.text = anchor};

    for (size_t k = 0; k < WBI_COUNT(tiers); k++) {
        size_t first = SIZE_MAX;

        *ret_count = 0;
        for (size_t i = from; i < t->n; i++)
            if (line_eq(t->lines[i], &l, tiers[k]) && (*ret_count)++ == 0)
                first = i;
        if (first != SIZE_MAX)
            return first;
    }
    return SIZE_MAX;
}

/* The same for an anchor, which may end in "@@" as the head of a unified hunk does. */
static size_t find_anchor(const struct wbi_patch_text *t, struct wbi_str anchor, size_t from,
                          size_t *ret_count)
{
    size_t at = find_line(t, anchor, from, ret_count);

    anchor = rtrim(anchor);
    if (at != SIZE_MAX || anchor.n < 3 || memcmp(anchor.p + anchor.n - 3, " @@", 3) != 0)
        return at;
    return find_line(t, wbi_str_head(anchor, anchor.n - 3), from, ret_count);
}

/* Moves s->from behind the anchors. */
static wb_rc follow_anchors(struct search *s, size_t *ret_after, struct wbi_error *err,
                            struct wbi_patch_fault *fault)
{
    char shown[WBI_PATH_SHOWN], name[WBI_PATH_SHOWN];
    size_t from = s->from, count;

    for (size_t i = 0; i < s->hunk->n_anchors; i++) {
        size_t at = find_anchor(s->text, s->hunk->anchors[i], from, &count);

        /* A second hunk in the same function names its head again. */
        if (at == SIZE_MAX && i == 0)
            at = find_anchor(s->text, s->hunk->anchors[i], 0, &count);
        if (at == SIZE_MAX)
            return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_CONTEXT_NOT_FOUND,
                                 "hunk %u of `%s`: its anchor line `%s` is not in the file",
                                 fault->hunk, wbi_path_show(fault->path, shown),
                                 wbi_path_show(s->hunk->anchors[i], name));
        if (i == 0)
            s->first_wins = count == 1;
        from = WBI_MAX(from, at + 1);
    }
    s->from = from;
    *ret_after = from;
    return WB_OK;
}

/* A hunk of added lines only: behind its anchor, else at the end (Codex). A
 * unified hunk without context fits nothing but an empty file. */
static wb_rc place_addition(const struct search *s, enum wbi_patch_form form, size_t after,
                            struct wbi_error *err, struct wbi_patch_fault *fault,
                            struct wbi_patch_place *ret)
{
    char shown[WBI_PATH_SHOWN];

    ret->tier = form == WBI_PATCH_UNIFIED ? WBI_TIER_RAW : WBI_TIER_TEXT;
    ret->at = s->text->n;
    if (form == WBI_PATCH_UNIFIED && s->text->n > 0)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_AMBIGUOUS_CONTEXT,
                             "hunk %u of `%s` only adds lines and has no context; line numbers "
                             "alone do not place it",
                             fault->hunk, wbi_path_show(fault->path, shown));
    if (s->hunk->n_anchors > 0 && !s->hunk->at_end) {
        if (!s->first_wins) {
            fault->candidates_total = 2;
            return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_AMBIGUOUS_CONTEXT,
                                 "hunk %u of `%s` only adds lines and its anchor occurs more than "
                                 "once; context lines would place it",
                                 fault->hunk, wbi_path_show(fault->path, shown));
        }
        ret->at = after;
    }
    return WB_OK;
}

static size_t trailing_context(const struct wbi_patch_hunk *h)
{
    size_t n = 0;

    while (n < h->n_lines && h->lines[h->n_lines - 1 - n].op == ' ')
        n++;
    return n;
}

wb_rc wbi_patch_find(const struct wbi_patch_text *text, const struct wbi_patch_hunk *hunk,
                     enum wbi_patch_form form, size_t from, struct wbi_arena *arena,
                     struct wbi_error *err, struct wbi_patch_fault *fault,
                     struct wbi_patch_place *ret)
{
    struct search s = {.text = text, .hunk = hunk, .from = from};
    size_t n = 0, after = from;
    wb_rc rc = follow_anchors(&s, &after, err, fault);

    if (rc)
        return rc;
    if (hunk->n_old == 0)
        return place_addition(&s, form, after, err, fault, ret);
    s.old = wbi_arena_array(arena, hunk->n_old, sizeof(*s.old));
    if (s.old == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < hunk->n_lines; i++)
        if (hunk->lines[i].op != '+')
            s.old[n++] = &hunk->lines[i];
    s.hint = hunk->has_numbers && hunk->old_start > 0 ? hunk->old_start - 1 : 0;
    /* As git: a hunk that ends without context was cut at the end of its file. */
    s.end_first = hunk->at_end || (form == WBI_PATCH_UNIFIED && hunk->has_numbers &&
                                   trailing_context(hunk) == 0 && hunk->lines[0].op == ' ');
    return choose(&s, form == WBI_PATCH_UNIFIED ? WBI_TIER_RAW : WBI_TIER_TEXT, arena, err, fault,
                  ret);
}
