/* SPDX-License-Identifier: Apache-2.0
 * text/preview_select.c: which lines are shown. In this order, each within its
 * share of the budget: a few lines of both ends; blocks around failures, most
 * telling and rarest first; wider context of those; headings, summaries and
 * lines unlike all others; then both ends grow towards each other. Only the
 * order depends on scores; what is shown is always verbatim and in place. */
#include "text/preview_int.h"
#include "text/preview_queue_int.h"

#include "base/hash.h"
#include "text/tokens.h"

#define BLOCK_MAX 14u /* lines of one block after its first */
#define SEEN_SLOTS 1024u
#define RARE_SLOTS 256u
#define PLACE_NEAR 12u /* lines in which the place of a failure is looked for */
#define PLACE_ABOVE 4u /* so many above it */
#define PLACES_MAX 16u
#define OWNER_NEAR 64u /* lines above in which a failure's owner is looked for */
#define TRACES_MAX 4u
#define LITTLE (1500u * WBI_TOKEN_UNIT)
#define HARDLY_ANY (220u * WBI_TOKEN_UNIT)
#define LISTED_MAX 4u      /* lines that are only rare and begin alike */
#define WORTH_SEEING 24.0f /* a heading, a number unlike the others */
#define NAME_SLOTS 256u
#define SAID_MIN 8u /* bytes of a message that is not told twice */
#define LATER_MAX 32u
#define AGAIN_FROM 2u  /* lines of one shape of which some may be equal */
#define MISSES_MAX 24u /* candidates in a row that did not fit: enough */

/* ---- adding lines ---- */

/* Units that showing [from, to] would add, gap notices included. */
static wb_rc price(struct chooser *c, size_t from, size_t to, uint64_t *ret)
{
    int64_t sum = 0;
    bool before = from > 0 && wbi_shown(c, from - 1) && wbi_neighbours(c, from - 1, from);
    bool after = to + 1 < c->n && wbi_shown(c, to + 1) && wbi_neighbours(c, to, to + 1);
    wb_rc rc;

    for (size_t i = from; i <= to; i++) {
        if (wbi_shown(c, i))
            continue;
        rc = wbi_pick_price(c, &c->picks[i]);
        if (rc != WB_OK)
            return rc;
        sum += (int64_t)wbi_pick_cost(&c->picks[i]);
    }
    if (!before && !after)
        sum += GAP_UNITS;
    if (before && after)
        sum -= GAP_UNITS;
    *ret = sum > 0 ? (uint64_t)sum : 0;
    return WB_OK;
}

static void show(struct chooser *c, size_t from, size_t to, uint64_t units)
{
    c->wave++;
    for (size_t i = from; i <= to; i++)
        if (!wbi_shown(c, i))
            c->picks[i].wave = c->wave;
    c->spent += units;
}

wb_rc wbi_offer(struct chooser *c, size_t from, size_t to, uint64_t limit, bool *ret_taken)
{
    uint64_t units;
    wb_rc rc = price(c, from, to, &units);

    *ret_taken = false;
    if (rc != WB_OK || c->spent + units > limit)
        return rc;
    show(c, from, to, units);
    *ret_taken = true;
    return WB_OK;
}

/* ---- blocks ---- */

static bool goes_on(const struct chooser *c, size_t first, size_t i)
{
    const struct record *r = c->picks[i].rec, *head = c->picks[first].rec;

    if (r->flags & LINE_BLANK)
        return i + 1 < c->n && wbi_neighbours(c, i, i + 1) &&
               (c->picks[i + 1].rec->flags & LINE_TRACE ||
                (c->picks[i + 1].rec->indent > head->indent && c->picks[first].rec->severity > 60));
    return r->indent > head->indent || (r->flags & (LINE_ATTACHED | LINE_TRACE));
}

/* Last line of the block that begins at i. A trace goes on to its message. */
static size_t block_end(const struct chooser *c, size_t i)
{
    size_t end = i;
    bool trace = (c->picks[i].rec->flags & LINE_TRACE) != 0;
    size_t most = trace ? 3 * BLOCK_MAX : BLOCK_MAX;

    while (end + 1 < c->n && end - i < most && wbi_neighbours(c, end, end + 1) &&
           goes_on(c, i, end + 1))
        end++;
    if (trace && end + 1 < c->n && wbi_neighbours(c, end, end + 1))
        end++;
    while (end > i && c->picks[end].rec->flags & LINE_BLANK)
        end--;
    return end;
}

/* A success beside a failure says nothing of it. */
static bool passed(const struct chooser *c, size_t i)
{
    return (c->picks[i].rec->flags & LINE_PASSED) != 0;
}

/* First line of the block that i belongs to: quoted source and frames above a
 * message that comes last, or the line that says where. */
static size_t block_start(const struct chooser *c, size_t i)
{
    size_t from = i;
    const struct record *r = c->picks[i].rec;

    while (from > 0 && i - from < 6 && wbi_neighbours(c, from - 1, from) &&
           c->picks[from - 1].rec->indent > r->indent &&
           !(c->picks[from - 1].rec->flags & LINE_BLANK))
        from--;
    if (from > 0 && wbi_neighbours(c, from - 1, from) && (from < i || i - from == 0) &&
        !(c->picks[from - 1].rec->flags & LINE_BLANK) && !passed(c, from - 1) &&
        c->picks[from - 1].rec->bytes < 200)
        from--;
    return from;
}

/* A block over its share loses lines in the middle of what follows the first. */
static wb_rc offer_block(struct chooser *c, size_t i, uint64_t share, uint64_t limit)
{
    size_t from = block_start(c, i), to = block_end(c, i), keep;
    uint64_t units;
    bool taken;
    wb_rc rc = price(c, from, to, &units);

    if (rc != WB_OK)
        return rc;
    if (units <= share && c->spent + units <= limit) {
        show(c, from, to, units);
        return WB_OK;
    }
    rc = wbi_offer(c, i, i, limit, &taken); /* the line itself before its surroundings */
    if (rc != WB_OK || !taken)
        return rc;
    keep = c->spent;
    for (size_t k = i + 1; k <= to && c->spent - keep < share / 2; k++) {
        rc = wbi_offer(c, k, k, limit, &taken);
        if (rc != WB_OK || !taken)
            break;
    }
    if (rc == WB_OK && to > i && !wbi_shown(c, to))
        rc = wbi_offer(c, to, to, limit, &taken);
    for (size_t k = i; rc == WB_OK && k-- > from && c->spent - keep < share;) {
        rc = wbi_offer(c, k, k, limit, &taken);
        if (!taken)
            break;
    }
    return rc;
}

/* ---- the steps ---- */

/* The text was noted before; it is now. */
static bool noted(uint64_t *seen, size_t slots, struct wbi_str t)
{
    uint64_t h = wbi_hash64(t.p, t.n, 0) | 1;
    size_t i = (size_t)(h >> 32) & (slots - 1);

    for (size_t step = 0; step < 8; step++, i = (i + 1) & (slots - 1)) {
        if (seen[i] == h)
            return true;
        if (seen[i] == 0) {
            seen[i] = h;
            return false;
        }
    }
    return false;
}

/* A line equal to one already chosen tells nothing new. */
static bool seen_before(uint64_t *seen, size_t slots, const struct pick *p)
{
    return noted(seen, slots, wbi_str_trim(wbi_str_from(p->text, p->rec->start)));
}

/* The line that tells most of a failure. */
static wb_rc worst_line(struct chooser *c)
{
    struct queue q NOT_CLEARED;
    uint32_t at;
    bool taken;
    wb_rc rc = wbi_score_failures(c);

    if (rc != WB_OK)
        return rc;
    wbi_queue_by_score(c, &q);
    if (!wbi_queue_at(&q, 0, &at) || c->picks[at].rec->severity < FAILURE || wbi_shown(c, at))
        return WB_OK;
    return wbi_offer(c, at, at, c->units * 7 / 8, &taken);
}

/* What is chosen last is dropped first: with room for hardly more than two lines, or where the
 * first are dear, the one that tells what went wrong goes before the end. */
static wb_rc both_ends(struct chooser *c)
{
    bool taken;
    size_t i;
    wb_rc rc = WB_OK;

    for (i = 0; i < c->n && i < 3 && rc == WB_OK; i++) {
        rc = wbi_offer(c, i, i, i == 0 ? c->units / 2 : c->units / 14, &taken);
        if (!taken)
            break;
    }
    if (rc == WB_OK && (c->units < HARDLY_ANY || c->spent > c->units / 5))
        rc = worst_line(c);
    for (i = 0; rc == WB_OK && i < c->n && i < 6; i++) {
        rc = wbi_offer(c, c->n - 1 - i, c->n - 1 - i, i == 0 ? c->units * 3 / 4 : c->units / 5,
                       &taken);
        if (!taken)
            break;
    }
    return rc;
}

/* Percent of the budget: where there is little, the lines that tell what went wrong
 * come before what stands around them. */
static uint64_t share(const struct chooser *c, unsigned little, unsigned plenty)
{
    return c->units * (c->units < LITTLE ? little : plenty) / 100;
}

/* What the lines chosen so far told. */
struct told {
    uint64_t line[SEEN_SLOTS];
    uint64_t message[NAME_SLOTS]; /* that stand behind a name */
    uint64_t name[NAME_SLOTS];
    uint32_t later[LATER_MAX]; /* lines that tell of something told already */
    size_t n_later;
};

/* What it complains of was named by another line, and nothing belongs to it. */
static bool named_before(struct told *t, const struct chooser *c, size_t i)
{
    bool place = (c->picks[i].rec->flags & LINE_PLACE) != 0;
    uint64_t name = place ? 0 : wbi_longest_name(c->picks[i].text);
    uint64_t *slot = &t->name[name >> 32 & (NAME_SLOTS - 1)];

    if (name == 0)
        return false;
    if (*slot == name)
        return block_end(c, i) == i;
    *slot = name;
    return false;
}

/* A marked line says what stands behind the name of a test in its summary. */
static bool said_before(struct told *t, const struct pick *p)
{
    struct wbi_str s = wbi_marked_text(p->text);

    return p->rec->flags & LINE_MARKED && s.n >= SAID_MIN && noted(t->message, NAME_SLOTS, s);
}

static void note_message(struct told *t, const struct pick *p)
{
    struct wbi_str s = p->text;
    size_t at = wbi_str_find(s, WBI_LIT(" - "));

    if (at < s.n && !p->clipped)
        (void)noted(t->message, NAME_SLOTS, wbi_str_trim(wbi_str_from(s, at + 3)));
}

static wb_rc note_names(struct chooser *c, struct told *t)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < c->n; i++)
        if (wbi_shown(c, i) && c->picks[i].rec->severity >= FAILURE) {
            rc = wbi_pick_load(c, &c->picks[i]);
            (void)named_before(t, c, i);
            (void)seen_before(t->line, SEEN_SLOTS, &c->picks[i]);
            note_message(t, &c->picks[i]);
        }
    return rc;
}

/* How far each kind of line may go into the budget. */
struct limits {
    uint64_t any;
    uint64_t sure;
    uint64_t reason;
};

/* The telling lines themselves, most telling first; what names a thing once more comes last:
 * a test that failed is often named three times. The first may have all that is left. */
static wb_rc failure_lines(struct chooser *c, struct queue *q, const struct limits *limit)
{
    struct told *t = wbi_arena_zalloc(c->arena, sizeof *t);
    size_t misses = 0;
    uint32_t at;
    bool taken, again;
    wb_rc rc = t != NULL ? note_names(c, t) : WB_ENOMEM;

    for (size_t i = 0; rc == WB_OK && misses < MISSES_MAX && wbi_queue_at(q, i, &at); i++) {
        struct pick *p = &c->picks[at];
        bool sure = p->rec->severity >= SURE && !(p->rec->flags & LINE_VERDICT);
        uint64_t most = sure ? limit->sure : limit->any;

        if (p->wave != 0)
            continue;
        if (wbi_is_reason(c, at))
            most = limit->reason;
        rc = wbi_pick_load(c, p);
        if (rc != WB_OK)
            return rc;
        again = seen_before(t->line, SEEN_SLOTS, p);
        if (again && !wbi_has_values(c, at)) {
            p->score = 0;
            continue;
        }
        if (!again && t->n_later < LATER_MAX && (named_before(t, c, at) || said_before(t, p))) {
            t->later[t->n_later++] = at;
            continue;
        }
        rc = wbi_offer_reason(c, at, again, i == 0 ? c->units * 7 / 8 : most, &taken);
        if (taken)
            note_message(t, p);
        misses = taken ? 0 : misses + 1;
    }
    for (size_t i = 0; rc == WB_OK && i < t->n_later; i++)
        rc = wbi_offer(c, t->later[i], t->later[i], limit->any, &taken);
    return rc;
}

/* The nearest line above that names a line of a file; *ret_found tells that there is one. */
static wb_rc place_above(struct chooser *c, size_t i, uint64_t limit, bool *ret_found)
{
    bool taken;

    *ret_found = false;
    for (size_t k = i; k > 0 && k + PLACE_ABOVE > i && wbi_neighbours(c, k - 1, k); k--)
        if (c->picks[k - 1].rec->flags & LINE_PLACE) {
            *ret_found = true;
            return wbi_shown(c, k - 1) ? WB_OK : wbi_offer(c, k - 1, k - 1, limit, &taken);
        }
    return WB_OK;
}

/* Where it happened: the nearest lines behind a failure that name a line of a
 * file, or else one before it; what a message comes last of stands before it. */
static wb_rc place_of(struct chooser *c, size_t i, uint64_t limit)
{
    bool last = i > 0 && wbi_neighbours(c, i - 1, i) &&
                c->picks[i - 1].rec->indent > c->picks[i].rec->indent;
    size_t found = 0;
    bool taken, above = false, own = false;
    wb_rc rc = WB_OK;

    if (c->picks[i].rec->flags & LINE_PLACE)
        return WB_OK;
    if (last)
        rc = place_above(c, i, limit, &above);
    if (rc == WB_OK && !above)
        rc = wbi_choose_own_frame(c, i, limit, &own);
    for (size_t k = i + 1;
         rc == WB_OK && !above && !own && k < c->n && k <= i + PLACE_NEAR && found < 2; k++) {
        if (!wbi_neighbours(c, k - 1, k))
            break;
        if (!(c->picks[k].rec->flags & LINE_PLACE)) {
            if (!wbi_shown(c, k) && c->picks[k].rec->severity >= FAILURE)
                break; /* what follows is where that one happened, which is not told */
            continue;
        }
        found++;
        if (!wbi_shown(c, k))
            rc = wbi_offer(c, k, k, limit, &taken);
    }
    if (rc == WB_OK && found == 0 && !above && !own)
        rc = place_above(c, i, limit, &above);
    return rc;
}

/* Whose it is: the line that a failure is indented under, or the first of its paragraph,
 * when it says nothing of where it happened itself. */
static wb_rc owner_of(struct chooser *c, size_t i, uint64_t limit)
{
    const struct record *r = c->picks[i].rec;
    bool taken;

    if (r->flags & (LINE_PLACE | LINE_ATTACHED))
        return WB_OK;
    for (size_t k = i; k > 0 && i - k < OWNER_NEAR && wbi_neighbours(c, k - 1, k); k--) {
        const struct record *above = c->picks[k - 1].rec;
        bool first = (above->flags & LINE_BLANK) != 0;

        if (first && r->indent > 0 && wbi_is_reason(c, i))
            continue; /* blank lines stand around values */
        if (first && (r->indent > 0 || k == i))
            return WB_OK;
        if (first || above->indent < r->indent) {
            k -= !first;
            return wbi_shown(c, k) ? WB_OK : wbi_offer(c, k, k, limit, &taken);
        }
    }
    return WB_OK;
}

static wb_rc failure_places(struct chooser *c, struct queue *q)
{
    uint64_t limit = share(c, 80, 72);
    uint32_t at;
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < PLACES_MAX && wbi_queue_at(q, i, &at); i++)
        if (wbi_shown(c, at)) {
            rc = place_of(c, at, limit);
            if (rc == WB_OK)
                rc = owner_of(c, at, limit);
        }
    for (size_t i = 0; rc == WB_OK && i < TRACES_MAX && wbi_queue_at(q, i, &at); i++)
        if (wbi_shown(c, at))
            rc = wbi_choose_frames(c, at, share(c, 88, 80));
    return rc;
}

/* What belongs to each of them. */
static wb_rc failure_blocks(struct chooser *c, struct queue *q)
{
    uint64_t limit = share(c, 88, 85), most = c->units * 22 / 100;
    size_t misses = 0;
    uint32_t at;
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && misses < MISSES_MAX && wbi_queue_at(q, i, &at); i++) {
        uint64_t before = c->spent;

        if (c->picks[at].score <= 0)
            continue;
        rc = offer_block(c, at, most, limit);
        misses = c->spent != before ? 0 : misses + 1;
    }
    return rc;
}

static wb_rc failures(struct chooser *c)
{
    struct limits limit = {share(c, 60, 60), share(c, 70, 60), share(c, 84, 60)};
    struct queue q NOT_CLEARED;
    wb_rc rc = wbi_score_failures(c);

    if (rc != WB_OK)
        return rc;
    wbi_queue_by_score(c, &q);
    rc = failure_lines(c, &q, &limit);
    if (rc == WB_OK)
        rc = failure_places(c, &q);
    if (rc == WB_OK)
        rc = wbi_choose_groups(c);
    if (rc == WB_OK)
        rc = failure_blocks(c, &q);
    return rc;
}

/* Two more lines around what was found so far, while there is plenty. */
static wb_rc widen(struct chooser *c)
{
    uint64_t limit = c->units * 72 / 100;
    uint32_t last = c->wave;
    bool taken;
    wb_rc rc = WB_OK;

    for (size_t i = 1; i + 1 < c->n && rc == WB_OK && c->spent < limit; i++) {
        if (c->picks[i].wave == 0 || c->picks[i].wave > last || c->picks[i].score <= 0)
            continue;
        if (!wbi_shown(c, i - 1) && wbi_neighbours(c, i - 1, i) && !passed(c, i - 1))
            rc = wbi_offer(c, i - 1, i - 1, limit, &taken);
        for (size_t k = i + 1; rc == WB_OK && k < c->n && k <= i + 2 && wbi_neighbours(c, k - 1, k);
             k++)
            if (!wbi_shown(c, k) && !passed(c, k))
                rc = wbi_offer(c, k, k, limit, &taken);
    }
    return rc;
}

/* One line for each rarer word of the command that no shown line holds: of those that
 * hold most such words the shortest. */
static wb_rc command_words(struct chooser *c)
{
    uint64_t limit = c->spent + c->units / 8;
    size_t best[QUERY_WORDS] = {0};
    uint32_t covered = 0, found = 0;
    bool taken;
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < c->n; i++) {
        const struct record *r = c->picks[i].rec;
        float score = r->query != 0 ? wbi_command_score(c, r) : 0;

        covered |= wbi_shown(c, i) ? r->query : 0;
        c->picks[i].score = score;
        for (uint32_t bits = score > 0 ? r->query : 0; bits != 0; bits &= bits - 1) {
            unsigned w = (unsigned)__builtin_ctz(bits);
            const struct pick *b = found >> w & 1 ? &c->picks[best[w]] : NULL;

            if (b == NULL || score > b->score || (score == b->score && r->bytes < b->rec->bytes))
                best[w] = i;
            found |= 1u << w;
        }
    }
    for (uint32_t bits = found & ~covered; rc == WB_OK && bits != 0; bits &= bits - 1) {
        size_t i = best[__builtin_ctz(bits)];

        if (!wbi_shown(c, i) && wbi_rare_word(c, (unsigned)__builtin_ctz(bits)))
            rc = wbi_offer(c, i, i, limit, &taken);
    }
    return rc;
}

/* Rare by its shape only, and several that begin like it were chosen: a list. */
static bool one_of_many(const struct pick *p, uint8_t *begun)
{
    uint8_t *n = &begun[p->rec->opening & (OPENINGS - 1)];

    if (p->score >= WORTH_SEEING)
        return false;
    if (*n == LISTED_MAX)
        return true;
    ++*n;
    return false;
}

/* An equal line may be shown already. Headings come again on purpose: what stands under them
 * is another thing each time. */
static bool may_be_shown(const struct chooser *c, const struct record *r)
{
    return wbi_alike(c, r) >= AGAIN_FROM && !(r->flags & LINE_HEADING);
}

/* The lines that are shown and might come again, so that they do not; once for a text. */
static wb_rc note_shown(struct chooser *c)
{
    wb_rc rc = WB_OK;

    if (c->seen != NULL)
        return WB_OK;
    c->seen = wbi_arena_array(c->arena, RARE_SLOTS, sizeof *c->seen);
    if (c->seen == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; rc == WB_OK && i < c->n; i++)
        if (wbi_shown(c, i) && may_be_shown(c, c->picks[i].rec)) {
            rc = wbi_pick_load(c, &c->picks[i]);
            (void)seen_before(c->seen, RARE_SLOTS, &c->picks[i]);
        }
    return rc;
}

static wb_rc rare_lines(struct chooser *c)
{
    struct queue q NOT_CLEARED;
    uint8_t *begun = wbi_arena_array(c->arena, OPENINGS, sizeof *begun);
    uint64_t limit = c->spent + (c->units - c->spent) * 60 / 100;
    size_t misses = 0;
    uint32_t at;
    bool taken;
    wb_rc rc = begun != NULL ? wbi_score_rare(c) : WB_ENOMEM;

    if (rc == WB_OK)
        rc = note_shown(c);
    if (rc != WB_OK)
        return rc;
    wbi_queue_by_score(c, &q);
    for (size_t i = 0; rc == WB_OK && misses < MISSES_MAX && wbi_queue_at(&q, i, &at); i++) {
        struct pick *p = &c->picks[at];

        if (p->wave != 0 || one_of_many(p, begun))
            continue;
        if (may_be_shown(c, p->rec)) {
            rc = wbi_pick_load(c, p);
            if (rc == WB_OK && seen_before(c->seen, RARE_SLOTS, p))
                continue;
        }
        if (rc == WB_OK)
            rc = wbi_offer(c, at, at, limit, &taken);
        misses = taken ? 0 : misses + 1;
    }
    return rc;
}

/* Where there is little, what is left tells of more failures first. */
static wb_rc more_failures(struct chooser *c)
{
    uint64_t most = c->spent + (c->units - c->spent) * 60 / 100;
    struct limits limit = {c->spent, most, c->units};
    struct queue q NOT_CLEARED;
    wb_rc rc;

    if (c->units >= LITTLE || !c->reasons)
        return WB_OK;
    rc = wbi_score_failures(c);
    if (rc != WB_OK)
        return rc;
    wbi_queue_by_score(c, &q);
    rc = failure_lines(c, &q, &limit);
    for (size_t i = 0; rc == WB_OK && i < c->n; i++)
        if (wbi_shown(c, i) && wbi_has_values(c, i))
            rc = owner_of(c, i, most);
    return rc;
}

wb_rc wbi_choose_more(struct chooser *c)
{
    wb_rc rc = more_failures(c);

    if (rc == WB_OK)
        rc = rare_lines(c);
    if (rc == WB_OK)
        rc = wbi_fill(c);
    return rc == WB_OK ? wbi_close_small_gaps(c) : rc;
}

wb_rc wbi_choose(struct chooser *c)
{
    wb_rc rc;

    if (c->n == 0)
        return WB_OK;
    rc = both_ends(c);
    if (rc == WB_OK && c->units >= HARDLY_ANY)
        rc = wbi_choose_kinds(c);
    if (rc == WB_OK)
        rc = failures(c);
    if (rc == WB_OK)
        rc = wbi_choose_outline(c);
    if (rc == WB_OK)
        rc = widen(c);
    if (rc == WB_OK && c->index->words.n_query > 0)
        rc = command_words(c);
    if (rc == WB_OK)
        rc = rare_lines(c);
    if (rc == WB_OK)
        rc = wbi_close_small_gaps(c);
    if (rc == WB_OK)
        rc = wbi_fill(c);
    if (rc == WB_OK)
        rc = wbi_close_small_gaps(c);
    return rc;
}
