/* SPDX-License-Identifier: Apache-2.0
 * artifact/grep.c: matching lines with context, numbered as grep does: "12:hit",
 * "11-around", "--" between groups. A line counts by its first WBI_LIMIT_GREP_LINE
 * bytes and shows SHOWN_LINE of them, around its match; memory is that times the context. */
#include "artifact/read_int.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

#define SHOWN_LINE 4096u /* of a line of context, and of a match */

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
    struct wbi_buf line; /* the current one so far */
    uint64_t number, from;
    struct kept_line *before; /* a ring of `context` lines */
    uint32_t context, kept, next_kept;
    uint32_t after; /* lines still to show behind a match */
    uint64_t last_printed, first_printed, shown, matches, cut_lines, total;
    bool any, stopped;
    bool gave_up; /* whether the line at `number` matches cannot be told */
    uint64_t next;
};

/* What is shown of a line too long for room: a window around the match at `from`. */
static struct wbi_str window(struct wbi_str text, size_t from, size_t room)
{
    size_t skip = from > room / 4 ? WBI_MIN(from - room / 4, text.n - room) : 0;

    while (skip < text.n && ((unsigned char)text.p[skip] & 0xC0) == 0x80)
        skip++;
    text = wbi_str_from(text, skip);
    return wbi_str_head(text, wbi_utf8_cut(text, room));
}

#define AROUND_LINE 32u /* bytes of its number and of what says that it is cut */
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
    k->n = wbi_utf8_cut(text, SHOWN_LINE);
    k->cut = k->n < text.n;
    memcpy(k->text, text.p, k->n);
    s->next_kept = (s->next_kept + 1) % s->context;
    s->kept += s->kept < s->context;
}

static bool on_line(struct grep_sink *s)
{
    struct wbi_str text = wbi_buf_str(&s->line);
    enum wbi_regex_verdict verdict = WBI_REGEX_NO;
    size_t from = 0;
    bool go = true;

    if (s->number >= s->from)
        verdict = s->q->matcher->match(s->q->matcher->arg, text, &from);
    s->gave_up = verdict == WBI_REGEX_LIMIT;
    if (s->gave_up)
        return false;
    if (s->number < s->from) {
        /* the page before had it */
    } else if (verdict == WBI_REGEX_YES) {
        go = print_before(s) && print(s, s->number, ':', text, from, false);
        s->matches += go;
        s->after = go ? s->context : s->after;
    } else if (s->after > 0) {
        go = print(s, s->number, '-', text, 0, false);
        s->after -= go;
    } else {
        keep(s, text);
    }
    s->number++;
    wbi_buf_clear(&s->line);
    s->any = false;
    return go;
}

static bool take(struct wbi_sink *sink, struct wbi_str text)
{
    struct grep_sink *s = (struct grep_sink *)sink;

    while (text.n > 0) {
        size_t feed = wbi_str_index(text, '\n');
        struct wbi_str piece = wbi_str_head(text, feed);

        s->any = true;
        wbi_buf_adds(&s->line, wbi_str_head(piece, s->line.max - s->line.n));
        if (wbi_buf_rc(&s->line) != WB_OK)
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
                    wbi_stream_fn *stream, struct wbi_error *err)
{
    struct grep_sink s = {.sink = {take, at_end},
                          .q = q,
                          .out = out,
                          .number = 1,
                          .from = from != NULL ? from->line : 1,
                          .after = from != NULL ? (uint32_t)from->offset : 0,
                          .context = WBI_MIN(q->context, WBI_LIMIT_GREP_CONTEXT)};
    wb_rc rc = WB_OK;

    if (q->matcher == NULL)
        return wbi_fail(err, WB_EMISUSE, "no pattern to look for");
    s.after = WBI_MIN(s.after, s.context);
    wbi_buf_init(&s.line, WBI_LIMIT_GREP_LINE);
    if (s.context > 0) {
        s.before = wbi_zalloc_array(s.context, sizeof(*s.before));
        rc = s.before != NULL ? WB_OK : wbi_fail_nomem(err);
    }
    if (rc == WB_OK)
        rc = stream(fd, q->cleaner, &s.sink, err);
    if (rc == WB_OK && wbi_buf_rc(&s.line) != WB_OK)
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
            struct wbi_page next = {.line = s.next, .offset = s.after, .check = check};
            wbi_page_encode(&next, ret->next_token);
        }
    }
    wbi_free(s.before);
    wbi_buf_fini(&s.line);
    return rc;
}
