/* SPDX-License-Identifier: Apache-2.0
 * family/command/batch_share.c: how much of a batch's receipt each command gets.
 * (1) Every command is told, in one line at least or by its number; that is reserved first.
 * (2) What was not kept is shown whole: wbi_batch_sure made sure that it fits.
 * (3) The rest goes to the others: small ones whole, large ones cut to shares. Where a share
 *     would hold little but notices, the largest that went well stay a line; where it does not,
 *     they have less than those that failed. */
#include "family/command/command_int.h"

#include "base/checked.h"
#include "base/limits.h"
#include "text/tokens.h"

#define TOP_TOKENS 16   /* what stands before a line of numbers */
#define KEPT_TOKENS 36  /* how to read what was left out, but for the path */
#define PATH_TOKENS 60  /* of one that is not known yet */
#define LINE_TOKENS 26  /* how it ended and what is left out, on one line */
#define NUMBER_TOKENS 7 /* of a command that is one number among others */
/* Below this a cut preview is little but its notice; of a command that failed the one line that
 * tells why is worth that. */
#define PREVIEW_LEAST 180
#define FAILURE_LEAST 110

struct want {
    uint64_t head;  /* its command line, and why it did not run */
    uint64_t whole; /* everything shown */
    uint64_t least; /* cut as far as it makes sense */
    uint64_t line;  /* one line */
    bool settled;
};

/* Kept nowhere: it is in the receipt or lost. */
static bool only_here(const struct wbi_command_output *o)
{
    bool any = false;

    for (int i = 0; i < 2; i++) {
        const struct wbi_command_stream *s = &o->stream[i];
        if (s->artifact.p != NULL || s->dropped > 0 || s->drop_reason != NULL)
            return false;
        any = any || s->bytes > 0;
    }
    return any;
}

static bool went_well(const struct wbi_command_output *o)
{
    return o->disposition == WBI_DISPOSITION_SKIPPED ||
           (o->disposition == WBI_DISPOSITION_COMPLETED && !o->timed_out && o->signal == 0 &&
            o->exit_status == 0 && o->stream[0].dropped + o->stream[1].dropped == 0);
}

/* Shown whole it needs no artifact. */
static bool as_printed(const struct wbi_command_stream *s)
{
    return s->dropped == 0 && s->drop_reason == NULL &&
           (s->shown == NULL || s->bytes == 0 || !wbi_shown_changed(s->shown));
}

static struct want want_of(const struct wbi_command_output *o, struct wbi_arena *arena)
{
    struct want w = {.line = LINE_TOKENS};
    struct wbi_buf line;

    wbi_buf_init_arena(&line, arena, WBI_LIMIT_JSON_TEXT);
    wbi_receipt_line(&line, "Command 12", wbi_command_shown(o->cmd));
    w.head = wbi_tokens(wbi_buf_str(&line)) + 2;
    w.line += w.head;
    if (o->error != NULL)
        w.head += wbi_tokens(wbi_str_z(o->error)) + 2;
    if (o->disposition == WBI_DISPOSITION_LOST)
        w.head +=
            wbi_tokens(o->status_lost ? WBI_LIT(WBI_BATCH_UNKNOWN) : WBI_LIT(WBI_BATCH_LOST)) + 2;
    w.whole = w.least = w.head + WBI_COMMAND_HEADER_TOKENS;
    for (int i = 0; i < 2; i++) {
        struct wbi_command_stream s = o->stream[i];
        s.needless = false;
        w.least += wbi_command_frame(&s);
        s.needless = as_printed(&s);
        w.whole += wbi_command_need(&s) + wbi_command_frame(&s);
    }
    w.least = WBI_MIN(w.least + (went_well(o) ? PREVIEW_LEAST : FAILURE_LEAST), w.whole);
    return w;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t kept_cost(const struct wbi_command_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        for (int k = 0; k < 2; k++)
            if (b->items[i].stream[k].artifact.p != NULL)
                return KEPT_TOKENS + wbi_tokens(b->items[i].stream[k].artifact);
    return 0;
}

uint32_t wbi_batch_sure(const struct wbi_command_batch *b, size_t at, struct wbi_arena *arena)
{
    uint64_t kept = kept_cost(b);
    uint64_t left =
        less(b->budget.tokens, b->budget.tokens / 16 + WBI_ERROR_FRAME_TOKENS + TOP_TOKENS +
                                   (kept > 0 ? kept : KEPT_TOKENS + PATH_TOKENS));

    for (size_t i = 0; i < at; i++) {
        struct want w = want_of(&b->items[i], arena);
        left = less(left, only_here(&b->items[i]) ? w.whole : w.line);
    }
    left /= b->planned - at;
    return (uint32_t)less(left, want_of(&b->items[at], arena).head);
}

struct sharing {
    struct wbi_command_batch *batch;
    struct want *wants;
    enum wbi_telling rest; /* of those that get no more */
    uint64_t left;
    size_t open;
};

static uint64_t reserved(const struct sharing *s, size_t i)
{
    return s->rest == WBI_TELL_LINE ? WBI_MIN(s->wants[i].line, s->wants[i].whole) : NUMBER_TOKENS;
}

static void grant(struct sharing *s, size_t i, uint64_t tokens)
{
    struct wbi_command_output *o = &s->batch->items[i];
    uint64_t had = reserved(s, i);

    o->telling = WBI_TELL_ALL;
    for (int k = 0; k < 2; k++)
        o->stream[k].needless = tokens >= s->wants[i].whole && as_printed(&o->stream[k]);
    o->budget_tokens = (uint32_t)less(tokens, s->wants[i].head);
    s->left = tokens > had ? less(s->left, tokens - had) : s->left + had - tokens;
}

/* Tokens 0: it stays a line or a number. */
static void settle(struct sharing *s, size_t i, uint64_t tokens)
{
    s->wants[i].settled = true;
    s->open--;
    if (tokens > 0)
        grant(s, i, tokens);
}

/* The open one that needs least. */
static size_t smallest(const struct sharing *s)
{
    size_t found = s->batch->count;

    for (size_t i = 0; i < s->batch->count; i++)
        if (!s->wants[i].settled &&
            (found == s->batch->count || s->wants[i].whole < s->wants[found].whole))
            found = i;
    return found;
}

/* The open one to be told in a line: it went well, if any did; then the one that needs most, the
 * last of several. */
static size_t dullest(const struct sharing *s)
{
    const struct wbi_command_output *items = s->batch->items;
    size_t found = s->batch->count;

    for (size_t i = 0; i < s->batch->count; i++) {
        if (s->wants[i].settled)
            continue;
        if (found == s->batch->count || went_well(&items[i]) > went_well(&items[found]) ||
            (went_well(&items[i]) == went_well(&items[found]) &&
             s->wants[i].whole >= s->wants[found].whole))
            found = i;
    }
    return found;
}

/* Beside those that failed, the open ones that went well have half of a fair share. */
static bool settle_duller(struct sharing *s, uint64_t fair)
{
    const struct wbi_command_output *items = s->batch->items;
    size_t well = 0;

    for (size_t i = 0; i < s->batch->count; i++)
        well += !s->wants[i].settled && went_well(&items[i]);
    if (well == 0 || well == s->open)
        return false;
    for (size_t i = 0; i < s->batch->count; i++)
        if (!s->wants[i].settled && went_well(&items[i]))
            settle(s, i, WBI_MAX(fair / 2 + reserved(s, i), s->wants[i].least));
    return true;
}

static void share_rest(struct sharing *s)
{
    while (s->open > 0) {
        size_t i = smallest(s);
        uint64_t fair = s->left / s->open;
        bool whole = s->wants[i].whole <= fair + reserved(s, i);
        if (whole) {
            settle(s, i, s->wants[i].whole);
            continue;
        }
        for (i = 0; i < s->batch->count; i++) /* can each of them be cut to its share? */
            if (!s->wants[i].settled && s->wants[i].least > fair + reserved(s, i))
                break;
        if (i < s->batch->count) {
            settle(s, dullest(s), 0);
            continue;
        }
        if (settle_duller(s, fair))
            continue;
        for (i = 0; i < s->batch->count; i++)
            if (!s->wants[i].settled)
                settle(s, i, fair + reserved(s, i));
    }
}

/* What shares left over may do for small ones that were passed by. */
static void share_remains(struct sharing *s)
{
    for (size_t n = 0; n < s->batch->count; n++) {
        size_t found = s->batch->count;
        for (size_t i = 0; i < s->batch->count; i++)
            if (s->batch->items[i].telling != WBI_TELL_ALL &&
                (found == s->batch->count || s->wants[i].whole < s->wants[found].whole))
                found = i;
        if (found == s->batch->count || s->wants[found].whole > s->left + reserved(s, found))
            return;
        grant(s, found, s->wants[found].whole);
    }
}

wb_rc wbi_batch_share(struct wbi_command_batch *b, uint64_t tokens, struct wbi_arena *arena)
{
    struct sharing s = {.batch = b, .rest = WBI_TELL_LINE, .open = b->count};
    uint64_t lines = 0;

    s.wants = wbi_arena_array(arena, b->count, sizeof(*s.wants));
    if (s.wants == NULL)
        return WB_ENOMEM;
    s.left = less(tokens, tokens / 16 + TOP_TOKENS + kept_cost(b));
    for (size_t i = 0; i < b->count; i++) {
        s.wants[i] = want_of(&b->items[i], arena);
        lines += only_here(&b->items[i]) ? s.wants[i].whole : reserved(&s, i);
    }
    if (lines > s.left)
        s.rest = WBI_TELL_COUNT;
    for (size_t i = 0; i < b->count; i++) {
        b->items[i].telling = s.rest;
        b->items[i].budget_tokens = 0;
        b->items[i].stream[0].needless = b->items[i].stream[1].needless = false;
        s.left = less(s.left, reserved(&s, i));
    }
    for (size_t i = 0; i < b->count; i++)
        if (only_here(&b->items[i]))
            settle(&s, i, s.wants[i].whole);
    share_rest(&s);
    share_remains(&s);
    return WB_OK;
}
