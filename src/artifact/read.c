/* SPDX-License-Identifier: Apache-2.0
 * artifact/read.c: one pass of raw bytes through the cleaner into a sink that
 * picks what was asked for. A page ends at a line end where it can; a line longer
 * than a page is cut at a character and goes on in the next. */
#include "artifact/read.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/read_int.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/write.h"
#include "text/hygiene.h"

#define CHECK_SEED UINT64_C(0x77617962696c6c31)

/* Lines */

static void lines_stop(struct wbi_line_sink *s, uint64_t line, uint64_t offset)
{
    s->next.line = line;
    s->next.offset = offset;
    s->stopped = true;
}

/* No room for more of this line: the page ends before it, or within it when it is
 * the first one. */
static void lines_full(struct wbi_line_sink *s)
{
    if (s->line_start > 0) {
        s->out->n = s->line_start;
        lines_stop(s, s->line, 0);
        return;
    }
    s->last_shown = s->line;
    s->cut = true;
    lines_stop(s, s->line, s->offset);
}

/* How much of piece goes into room: all, else up to a character's end, but in raw
 * bytes without any such end as much as there is room. */
static size_t fitting(struct wbi_str piece, size_t room)
{
    size_t n;

    if (piece.n <= room)
        return piece.n;
    n = wbi_utf8_cut(piece, room);
    return room - n < 4 ? n : room;
}

/* A piece of the current line that is wanted. */
static bool lines_show(struct wbi_line_sink *s, struct wbi_str piece)
{
    size_t fits = fitting(piece, s->max_bytes - s->out->n);

    if (s->first_shown == 0)
        s->first_shown = s->line;
    wbi_buf_adds(s->out, wbi_str_head(piece, fits));
    s->offset += fits;
    if (fits < piece.n)
        lines_full(s);
    return !s->stopped && wbi_buf_rc(s->out) == WB_OK;
}

static bool lines_take(struct wbi_sink *sink, struct wbi_str text)
{
    struct wbi_line_sink *s = (struct wbi_line_sink *)sink;

    while (text.n > 0) {
        size_t feed = wbi_str_index(text, '\n');
        bool ends = feed < text.n;
        struct wbi_str piece = wbi_str_head(text, ends ? feed + 1 : text.n);

        text = wbi_str_from(text, piece.n);
        s->any = true;
        if (s->line >= s->first && s->line <= s->last) {
            struct wbi_str shown = piece;
            if (s->line == s->first && s->offset < s->skip) { /* shown by the page before */
                size_t drop = (size_t)WBI_MIN((uint64_t)piece.n, s->skip - s->offset);
                shown = wbi_str_from(piece, drop);
                s->offset += drop;
            }
            if (shown.n > 0 && !lines_show(s, shown))
                return false;
        }
        if (!ends)
            continue;
        if (s->line >= s->first && s->line <= s->last) {
            s->last_shown = s->line;
            s->shown++;
        }
        s->line++;
        s->offset = 0;
        s->line_start = s->out->n;
        s->any = false;
        if (s->line > s->last)
            return false;
        if (s->shown >= s->max_lines) {
            lines_stop(s, s->line, 0);
            return false;
        }
    }
    return true;
}

static void lines_end(struct wbi_sink *sink)
{
    struct wbi_line_sink *s = (struct wbi_line_sink *)sink;

    s->total = s->line - (s->any ? 0 : 1);
    if (s->any && s->first_shown != 0 && s->line >= s->first && s->line <= s->last)
        s->last_shown = s->line;
}

static void line_sink_init(struct wbi_line_sink *s, struct wbi_buf *out, uint64_t first,
                           uint64_t last, uint64_t skip, const struct wbi_read_query *q)
{
    *s = (struct wbi_line_sink){.sink = {lines_take, lines_end},
                                .out = out,
                                .line = 1,
                                .first = first,
                                .last = last,
                                .skip = skip,
                                .max_bytes = q->max_bytes,
                                .max_lines = q->max_lines ? q->max_lines : UINT64_MAX};
}

/* Bytes */

struct byte_sink {
    struct wbi_sink sink;
    struct wbi_buf *out;
    uint64_t at, first, end;
    uint64_t line; /* where the last one starts */
    size_t max_bytes;
    bool characters, full; /* cut between lines or characters; more is there */
    bool ended;
};

/* Behind its last line end, if there is one: a line that is not finished may be another when
 * the next page is read. */
static void end_at_line(struct wbi_buf *out)
{
    const char *feed = memrchr(out->p, '\n', out->n);

    if (feed != NULL)
        out->n = (size_t)(feed - out->p) + 1;
}

static bool bytes_take(struct wbi_sink *sink, struct wbi_str text)
{
    struct byte_sink *s = (struct byte_sink *)sink;
    uint64_t skip = s->first > s->at ? WBI_MIN(s->first - s->at, (uint64_t)text.n) : 0;
    uint64_t left = s->end > s->at + skip ? s->end - s->at - skip : 0;
    struct wbi_str part = wbi_str_from(text, (size_t)skip);
    const char *feed = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;

    if (feed != NULL)
        s->line = s->at + (uint64_t)(feed - text.p) + 1;
    part = wbi_str_head(part, (size_t)WBI_MIN(left, (uint64_t)part.n));
    if (part.n > s->max_bytes - s->out->n) {
        size_t room = s->max_bytes - s->out->n;
        part.n = s->characters ? fitting(part, room) : room;
        s->full = true;
    }
    wbi_buf_adds(s->out, part);
    if (s->full && s->characters && wbi_buf_rc(s->out) == WB_OK)
        end_at_line(s->out);
    s->at += text.n;
    return !s->full && s->at < s->end && wbi_buf_rc(s->out) == WB_OK;
}

static void bytes_end(struct wbi_sink *sink)
{
    ((struct byte_sink *)sink)->ended = true;
}

static void nothing_at_end(struct wbi_sink *sink)
{
    (void)sink;
}

/* Everything, for JSON. */
struct whole_sink {
    struct wbi_sink sink;
    struct wbi_buf *out;
};

static bool whole_take(struct wbi_sink *sink, struct wbi_str text)
{
    struct whole_sink *s = (struct whole_sink *)sink;

    wbi_buf_adds(s->out, text);
    return wbi_buf_rc(s->out) == WB_OK;
}

/* The kinds */

static uint64_t check_of(struct wbi_str name, const struct wbi_read_query *q)
{
    uint64_t numbers[4] = {(uint64_t)q->kind, q->first, q->last, q->context};
    uint64_t h = wbi_hash64(name.p, name.n, CHECK_SEED);

    h = wbi_hash64(numbers, sizeof(numbers), h);
    h = wbi_hash64(q->pattern.p, q->pattern.n, h);
    h = wbi_hash64(q->json_path.p, q->json_path.n, h);
    return h ^ (q->cleaner != NULL);
}

bool wbi_read_goes_on(struct wbi_str name, const struct wbi_read_query *q)
{
    struct wbi_page token;

    return q->page_token.n > 0 && wbi_page_decode(q->page_token, &token, NULL) == WB_OK &&
           token.check == check_of(name, q);
}

static void set_next(struct wbi_read_page *ret, struct wbi_page next, uint64_t check)
{
    next.check = check;
    wbi_page_encode(&next, ret->next_token);
}

static wb_rc read_bytes(int fd, const struct wbi_read_query *q, const struct wbi_page *from,
                        uint64_t check, struct wbi_buf *out, struct wbi_read_page *ret,
                        struct wbi_error *err)
{
    uint64_t first = from != NULL ? from->line : q->first;
    struct byte_sink s = {.sink = {bytes_take, bytes_end},
                          .out = out,
                          .first = first,
                          .end = q->last,
                          .max_bytes = q->max_bytes,
                          .characters = q->cleaner != NULL};
    wb_rc rc = wbi_pass(fd, q, &s.sink, err);

    if (rc != WB_OK)
        return rc;
    if (first >= s.at && s.end > first) /* past the end, which was seen */
        first = ret->total_lines = s.at;
    ret->first_line = first;
    ret->last_line = first + out->n;
    ret->resume = s.ended ? WBI_MAX(first, s.line) : ret->last_line;
    if (s.full)
        set_next(ret, (struct wbi_page){.line = ret->last_line}, check);
    return WB_OK;
}

static void report_lines(const struct wbi_line_sink *s, struct wbi_read_page *ret, uint64_t check)
{
    ret->first_line = s->first_shown;
    ret->last_line = s->last_shown;
    ret->total_lines = s->total;
    ret->cut_line = s->cut;
    if (s->stopped)
        set_next(ret, s->next, check);
}

static wb_rc read_lines(int fd, const struct wbi_read_query *q, const struct wbi_page *from,
                        uint64_t check, struct wbi_buf *out, struct wbi_read_page *ret,
                        struct wbi_error *err)
{
    struct wbi_line_sink s;
    uint64_t first = from != NULL ? from->line : WBI_MAX(q->first, UINT64_C(1));
    wb_rc rc;

    line_sink_init(&s, out, first, q->last ? q->last : WBI_RANGE_END,
                   from != NULL ? from->offset : 0, q);
    rc = wbi_pass(fd, q, &s.sink, err);
    if (rc == WB_OK)
        report_lines(&s, ret, check);
    return rc;
}

static wb_rc read_tail(int fd, const struct wbi_read_query *q, const struct wbi_page *from,
                       uint64_t check, struct wbi_buf *out, struct wbi_read_page *ret,
                       struct wbi_error *err)
{
    struct wbi_read_query lines = *q;
    struct wbi_line_sink count;
    wb_rc rc;

    lines.last = 0;
    if (from == NULL) {
        line_sink_init(&count, out, WBI_RANGE_END, WBI_RANGE_END, 0, q);
        rc = wbi_pass(fd, q, &count.sink, err);
        if (rc != WB_OK)
            return rc;
        if (q->first == 0)
            return WB_OK;
        lines.first = count.total > q->first ? count.total - q->first + 1 : 1;
    }
    return read_lines(fd, &lines, from, check, out, ret, err);
}

/* Text in memory through the cleaner. */
static wb_rc clean(const struct wbi_cleaner *cleaner, struct wbi_str text, struct wbi_buf *out)
{
    void *state = NULL;
    wb_rc rc = cleaner->begin(cleaner->arg, &state);

    if (rc == WB_OK)
        rc = cleaner->feed(state, text, out);
    if (rc == WB_OK)
        rc = cleaner->finish(state, out);
    if (state != NULL)
        cleaner->end(state);
    return rc != WB_OK ? rc : wbi_buf_rc(out);
}

/* The value in clean JSON text, pretty. What its escapes stand for is cleaned too. */
static wb_rc pretty_value(struct wbi_arena *arena, struct wbi_str json,
                          const struct wbi_read_query *q, struct wbi_buf *ret,
                          struct wbi_error *err)
{
    const wbi_json *root = NULL, *v = NULL;
    struct wbi_error why = {0};
    struct wbi_buf plain;
    wb_rc rc;

    if (q->cleaner != NULL && wbi_hygiene_json(arena, json, &json) != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_json_read(arena, json, WBI_JSON_AS_WRITTEN, &root, &why);
    if (rc == WB_ENOMEM)
        return wbi_fail_nomem(err);
    if (rc != WB_OK && why.line == 0) /* not of some place in it */
        return wbi_fail(err, rc, "the artifact cannot be read as JSON: %s; lines or grep read it",
                        why.text);
    if (rc != WB_OK)
        return wbi_fail(err, rc,
                        "the artifact is not one JSON text: %s at line %u, column %u; lines or "
                        "grep read it",
                        why.text, why.line, why.column);
    rc = wbi_json_path(root, q->json_path, &v, err);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&plain, arena, WBI_LIMIT_JSON_TEXT * 4u);
    wbi_json_pretty(&plain, v);
    wbi_buf_addc(&plain, '\n');
    rc = wbi_buf_rc(&plain);
    if (q->cleaner == NULL)
        *ret = plain;
    else if (rc == WB_OK)
        rc = clean(q->cleaner, wbi_buf_str(&plain), ret);
    return rc == WB_OK ? WB_OK : wbi_fail(err, rc, "the value is too large to be shown");
}

static wb_rc read_json(int fd, const struct wbi_read_query *q, const struct wbi_page *from,
                       uint64_t check, struct wbi_arena *arena, struct wbi_buf *out,
                       struct wbi_read_page *ret, struct wbi_error *err)
{
    struct wbi_buf text, pretty;
    struct whole_sink all = {{whole_take, nothing_at_end}, &text};
    struct wbi_line_sink s;
    wb_rc rc;

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&pretty, arena, WBI_LIMIT_JSON_TEXT * 4u);
    rc = wbi_pass(fd, q, &all.sink, err);
    if (rc == WB_OK && wbi_buf_rc(&text) != WB_OK)
        rc = wbi_fail(err, wbi_buf_rc(&text), "the artifact is too large to be read as JSON");
    if (rc == WB_OK)
        rc = pretty_value(arena, wbi_buf_str(&text), q, &pretty, err);
    if (rc != WB_OK)
        return rc;
    line_sink_init(&s, out, from != NULL ? from->line : 1, WBI_RANGE_END,
                   from != NULL ? from->offset : 0, q);
    if (s.sink.take(&s.sink, wbi_buf_str(&pretty)))
        s.sink.end(&s.sink);
    report_lines(&s, ret, check);
    return WB_OK;
}

wb_rc wbi_read_fd(int fd, struct wbi_str name, const struct wbi_read_query *asked,
                  struct wbi_arena *arena, struct wbi_read_page *ret, struct wbi_error *err)
{
    struct wbi_read_query q = *asked;
    struct wbi_read_page page = {0};
    struct wbi_page token, *from = NULL;
    struct wbi_buf out;
    uint64_t check = check_of(name, asked);
    struct stat st;
    wb_rc rc = WB_OK;

    if (fstat(fd, &st) != 0)
        return wbi_fail(err, WB_EIO, "cannot read the artifact");
    q.there = (uint64_t)st.st_size;
    if (q.max_bytes == 0 || q.max_bytes > WBI_LIMIT_READ)
        q.max_bytes = WBI_LIMIT_READ;
    q.max_bytes = WBI_MAX(q.max_bytes, (size_t)4); /* one character always fits */
    if (q.page_token.n > 0) {
        rc = wbi_page_decode(q.page_token, &token, err);
        if (rc == WB_OK && token.check != check)
            rc = wbi_fail(err, WB_EINPUT,
                          "this pageToken belongs to another read: repeat its arguments");
        from = &token;
    }
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_READ * (size_t)2);
    switch (q.kind) {
    case WBI_READ_BYTES:
        rc = read_bytes(fd, &q, from, check, &out, &page, err);
        break;
    case WBI_READ_TAIL:
        rc = read_tail(fd, &q, from, check, &out, &page, err);
        break;
    case WBI_READ_GREP:
        rc = wbi_read_grep(fd, &q, from, check, &out, &page, err);
        break;
    case WBI_READ_JSON:
        rc = read_json(fd, &q, from, check, arena, &out, &page, err);
        break;
    default:
        rc = read_lines(fd, &q, from, check, &out, &page, err);
    }
    if (rc == WB_OK && wbi_buf_rc(&out) != WB_OK)
        rc = wbi_fail_nomem(err);
    if (rc != WB_OK)
        return rc;
    page.text = wbi_buf_str(&out);
    *ret = page;
    return WB_OK;
}

wb_rc wbi_artifact_read(const struct wbi_artifact_store *s, const struct wbi_artifact *a,
                        const struct wbi_read_query *q, struct wbi_arena *arena,
                        struct wbi_read_page *ret, struct wbi_error *err)
{
    int fd = -1;
    wb_rc rc = wbi_artifact_open(s, a, &fd, err);

    if (rc != WB_OK)
        return rc;
    rc = wbi_read_fd(fd, wbi_str_z(a->name), q, arena, ret, err);
    (void)close(fd);
    return rc;
}
