/* SPDX-License-Identifier: Apache-2.0
 * artifact/grep.c: matching lines with context, numbered as grep does: "12:hit",
 * "11-around", "--" between groups. A long line is looked at in parts of WBI_LIMIT_GREP_LINE
 * bytes that overlap, and shown by its start or by what surrounds its first match. */
#include "artifact/read_int.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

#define SHOWN_LINE 4096u /* of a line of context, and of a match */
#define BEFORE_MATCH 1024u
#define OVERLAP 4096u /* matches up to this length are found wherever they stand */

/* In the offset of a page, which else says how many lines of context follow
 * (WBI_LIMIT_GREP_CONTEXT at most). */
#define PARTED 256u

struct kept_line {
    uint64_t number;
    size_t n;
    bool cut;
    char text[SHOWN_LINE];
};

struct grep_sink {
    struct wbi_sink sink;
    const struct wbi_read_query *q;
    struct wbi_buf *out;
    struct wbi_buf part; /* of the current line, that was not looked at yet, with an overlap */
    struct wbi_buf shown_part; /* of the current line: its start, or what is around its match */
    size_t shown_match;        /* where in that the match begins */
    bool shown_cut;            /* it is not the whole line */
    uint64_t skipped;          /* bytes of the current line before the part */
    bool matched;              /* an earlier part of the current line */
    bool at_its_end;           /* so late in it that what follows the match came with the next */
    uint64_t number, from;
    struct kept_line *before; /* a ring of `context` lines */
    uint32_t context, kept, next_kept;
    uint32_t after; /* lines still to show behind a match */
    uint64_t last_printed, first_printed, shown, matches, cut_lines, total;
    bool any, stopped;
    bool parted;  /* the next line shown begins a group of its own */
    bool gave_up; /* whether the line at `number` matches cannot be told */
    uint64_t next;
};

enum wbi_regex_verdict wbi_grep_regex(void *regex, struct wbi_str part, size_t from, bool goes_on,
                                      size_t *ret_at)
{
    struct wbi_regex_span span;
    enum wbi_regex_verdict verdict = wbi_regex_find_part(regex, part, from, goes_on, &span);

    *ret_at = verdict == WBI_REGEX_YES ? span.from : 0;
    return verdict;
}

/* What is shown of a line too long for room: a window around the match at `from`. */
static struct wbi_str window(struct wbi_str text, size_t from, size_t room)
{
    size_t skip = from > room / 4 ? WBI_MIN(from - room / 4, text.n - room) : 0;

    while (skip < text.n && ((unsigned char)text.p[skip] & 0xC0) == 0x80)
        skip++;
    text = wbi_str_from(text, skip);
    return wbi_str_head(text, wbi_utf8_cut(text, room));
}

#define AROUND_LINE 35u /* bytes of "--", its number and of what says that it is cut */
#define LEAST_LINE 16u  /* bytes of a line that is alone on its page */

/* The first line of a page is shown whatever the page may have, if need be cut to it. */
static size_t room_for_line(const struct grep_sink *s)
{
    size_t page = s->q->max_bytes;

    if (s->out->n > 0 || page >= SHOWN_LINE + AROUND_LINE)
        return SHOWN_LINE;
    return page > AROUND_LINE + LEAST_LINE ? page - AROUND_LINE : LEAST_LINE;
}

/* from: where the match begins. False when the page is full: the line at `number`
 * starts the next one. */
static bool print(struct grep_sink *s, uint64_t number, char mark, struct wbi_str text, size_t from,
                  bool cut)
{
    size_t was = s->out->n, room = room_for_line(s);

    cut = cut || text.n > room;
    if (text.n > room)
        text = window(text, from, room);
    if (s->context > 0 && s->last_printed != 0 && number > s->last_printed + 1)
        s->parted = true;
    if (s->parted)
        wbi_buf_addz(s->out, "--\n");
    wbi_buf_addu(s->out, number);
    wbi_buf_addc(s->out, mark);
    wbi_buf_adds(s->out, text);
    wbi_buf_addz(s->out, cut ? "[line cut]\n" : "\n");
    if (was > 0 &&
        (s->out->n > s->q->max_bytes || (s->q->max_lines != 0 && s->shown >= s->q->max_lines))) {
        s->out->n = was;
        s->stopped = true;
        s->next = number;
        return false;
    }
    s->parted = false;
    s->shown++;
    s->cut_lines += cut;
    s->last_printed = number;
    if (s->first_printed == 0)
        s->first_printed = number;
    return wbi_buf_rc(s->out) == WB_OK;
}

static bool print_before(struct grep_sink *s)
{
    for (; s->kept > 0; s->kept--) {
        uint32_t at = (s->next_kept + s->context - s->kept) % s->context;
        const struct kept_line *k = &s->before[at];
        if (!print(s, k->number, '-', wbi_str_make(k->text, k->n), 0, k->cut))
            return false;
    }
    return true;
}

static void keep(struct grep_sink *s, struct wbi_str text)
{
    struct kept_line *k;

    if (s->context == 0)
        return;
    k = &s->before[s->next_kept];
    k->number = s->number;
    k->n = text.n;
    k->cut = s->shown_cut;
    if (k->n > 0)
        memcpy(k->text, text.p, k->n);
    s->next_kept = (s->next_kept + 1) % s->context;
    s->kept += s->kept < s->context;
}

/* SHOWN_LINE bytes of the part from `from` on, with the match at `at`. */
static void show_part(struct grep_sink *s, size_t from, size_t at, bool goes_on)
{
    struct wbi_str text = wbi_str_from(wbi_buf_str(&s->part), from);
    size_t n = text.n > SHOWN_LINE ? wbi_utf8_cut(text, SHOWN_LINE) : text.n;

    wbi_buf_clear(&s->shown_part);
    wbi_buf_add(&s->shown_part, text.p, n);
    s->shown_match = at - from;
    s->shown_cut = s->skipped > 0 || from > 0 || n < text.n || goes_on;
}

/* Where what is shown of a match at that place begins: at the start of the line if it is near. */
static size_t shown_from(const struct grep_sink *s, size_t at)
{
    struct wbi_str text = wbi_buf_str(&s->part);

    if (at < BEFORE_MATCH || (s->skipped == 0 && at < SHOWN_LINE - BEFORE_MATCH))
        return 0;
    return wbi_utf8_cut(text, at - BEFORE_MATCH);
}

/* Looks for a match in the part, the end of its line if that does not go on. */
static enum wbi_regex_verdict look(struct grep_sink *s, bool goes_on)
{
    struct wbi_str text = wbi_buf_str(&s->part);
    enum wbi_regex_verdict verdict = WBI_REGEX_NO;
    size_t from = 0, at = 0;

    if (goes_on)
        text = wbi_str_head(text, wbi_utf8_cut(text, text.n - 1));
    if (s->skipped > 0) /* the line does not begin here */
        (void)wbi_utf8_next(text, &from);
    if (s->number >= s->from && (!s->matched || s->at_its_end))
        verdict = s->q->matcher->match(s->q->matcher->arg, text, from, goes_on, &at);
    if (verdict == WBI_REGEX_YES)
        show_part(s, shown_from(s, at), at, goes_on);
    else if (s->skipped == 0 && s->context > 0)
        show_part(s, 0, 0, goes_on);
    s->matched |= verdict == WBI_REGEX_YES;
    s->at_its_end = verdict == WBI_REGEX_YES && goes_on && at > text.n - OVERLAP / 2;
    return verdict;
}

/* The part is full and its line goes on: all but its end was looked at. */
static bool next_part(struct grep_sink *s)
{
    struct wbi_str text = wbi_buf_str(&s->part), end;
    enum wbi_regex_verdict verdict = look(s, /* goes_on= */ true);

    s->gave_up = verdict == WBI_REGEX_LIMIT;
    end = wbi_str_from(text, wbi_utf8_cut(text, text.n - OVERLAP));
    memmove(s->part.p, end.p, end.n);
    s->part.n = end.n;
    s->skipped += text.n - end.n;
    return !s->gave_up && wbi_buf_rc(&s->shown_part) == WB_OK;
}

static bool on_line(struct grep_sink *s)
{
    bool go = true;

    s->gave_up = look(s, /* goes_on= */ false) == WBI_REGEX_LIMIT;
    if (s->gave_up || wbi_buf_rc(&s->shown_part) != WB_OK)
        return false;
    if (s->number < s->from) {
        /* the page before had it */
    } else if (s->matched) {
        go = print_before(s) &&
             print(s, s->number, ':', wbi_buf_str(&s->shown_part), s->shown_match, s->shown_cut);
        s->matches += go;
        s->after = go ? s->context : s->after;
    } else if (s->after > 0) {
        go = print(s, s->number, '-', wbi_buf_str(&s->shown_part), 0, s->shown_cut);
        s->after -= go;
    } else {
        keep(s, wbi_buf_str(&s->shown_part));
    }
    s->number++;
    wbi_buf_clear(&s->part);
    s->skipped = 0;
    s->matched = false;
    s->at_its_end = false;
    s->any = false;
    return go;
}

/* More of the current line. */
static bool add(struct grep_sink *s, struct wbi_str piece)
{
    while (piece.n > 0) {
        size_t n;

        if (s->part.n == s->part.max && !next_part(s))
            return false;
        n = WBI_MIN(piece.n, s->part.max - s->part.n);
        wbi_buf_add(&s->part, piece.p, n);
        if (wbi_buf_rc(&s->part) != WB_OK)
            return false;
        piece = wbi_str_from(piece, n);
    }
    return true;
}

static bool take(struct wbi_sink *sink, struct wbi_str text)
{
    struct grep_sink *s = (struct grep_sink *)sink;

    while (text.n > 0) {
        size_t feed = wbi_str_index(text, '\n');

        s->any = true;
        if (!add(s, wbi_str_head(text, feed)))
            return false;
        if (feed == text.n)
            return true;
        text = wbi_str_from(text, feed + 1);
        if (!on_line(s))
            return false;
    }
    return true;
}

static void at_end(struct wbi_sink *sink)
{
    struct grep_sink *s = (struct grep_sink *)sink;

    if (s->any)
        (void)on_line(s);
    s->total = s->number - 1;
}

wb_rc wbi_read_grep(int fd, const struct wbi_read_query *q, const struct wbi_page *from,
                    uint64_t check, struct wbi_buf *out, struct wbi_read_page *ret,
                    struct wbi_error *err)
{
    struct grep_sink s = {.sink = {take, at_end},
                          .q = q,
                          .out = out,
                          .number = 1,
                          .from = from != NULL ? from->line : 1,
                          .after = from != NULL ? (uint32_t)(from->offset % PARTED) : 0,
                          .parted = from != NULL && from->offset >= PARTED,
                          .context = WBI_MIN(q->context, WBI_LIMIT_GREP_CONTEXT)};
    wb_rc rc = WB_OK;

    if (q->matcher == NULL)
        return wbi_fail(err, WB_EMISUSE, "no pattern to look for");
    s.after = WBI_MIN(s.after, s.context);
    wbi_buf_init(&s.part, WBI_LIMIT_GREP_LINE);
    wbi_buf_init(&s.shown_part, SHOWN_LINE);
    if (s.context > 0) {
        s.before = wbi_zalloc_array(s.context, sizeof(*s.before));
        rc = s.before != NULL ? WB_OK : wbi_fail_nomem(err);
    }
    if (rc == WB_OK)
        rc = wbi_pass(fd, q, &s.sink, err);
    if (rc == WB_OK && (wbi_buf_rc(&s.part) != WB_OK || wbi_buf_rc(&s.shown_part) != WB_OK))
        rc = wbi_fail_nomem(err);
    if (rc == WB_OK && s.gave_up) /* never "no match" where nobody knows */
        rc = wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                           "the expression takes too much work on line %llu; write it without "
                           "repeated repetitions such as (a+)+",
                           (unsigned long long)s.number);
    if (rc == WB_OK) {
        ret->first_line = s.first_printed;
        ret->last_line = s.last_printed;
        ret->matches = s.matches;
        ret->cut_lines = s.cut_lines;
        ret->total_lines = s.stopped ? 0 : s.total;
        if (s.stopped) {
            struct wbi_page next = {
                .line = s.next, .offset = s.after + (s.parted ? PARTED : 0), .check = check};
            wbi_page_encode(&next, ret->next_token);
        }
    }
    wbi_free(s.before);
    wbi_buf_fini(&s.part);
    wbi_buf_fini(&s.shown_part);
    return rc;
}
