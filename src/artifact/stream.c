/* SPDX-License-Identifier: Apache-2.0
 * artifact/stream.c: lines and bytes are picked while they pass; matches and JSON
 * go page by page, since their pages hold state. */
#include "artifact/stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include "artifact/read_int.h"
#include "base/limits.h"

struct picker {
    struct wbi_sink sink;
    bool lines;           /* first and last are lines, else bytes */
    uint64_t first, last; /* lines: both from 1 and included; bytes: last excluded */
    uint64_t at;          /* line, or byte, of the next byte */
    uint64_t total;       /* lines begun */
    bool in_line;
    wbi_piece_fn *each; /* NULL: only count */
    void *arg;
    wb_rc rc; /* of each */
};

static bool wanted(const struct picker *p)
{
    return p->each != NULL && p->at >= p->first && p->at <= p->last;
}

static wb_rc pick_lines(struct picker *p, struct wbi_str text)
{
    size_t from = 0, at = 0;
    wb_rc rc = WB_OK;

    while (rc == WB_OK && at < text.n) {
        size_t feed = wbi_str_index(wbi_str_from(text, at), '\n');
        bool ends = at + feed < text.n, want = wanted(p);

        at += ends ? feed + 1 : feed;
        p->total += !p->in_line;
        p->in_line = !ends;
        p->at += ends;
        if (!want) {
            from = at;
        } else if (!wanted(p) || at == text.n) {
            rc = p->each(p->arg, wbi_str_make(text.p + from, at - from));
            from = at;
        }
    }
    return rc;
}

static wb_rc pick_bytes(struct picker *p, struct wbi_str text)
{
    uint64_t skip = p->first > p->at ? WBI_MIN(p->first - p->at, (uint64_t)text.n) : 0;
    uint64_t left = p->last > p->at + skip ? p->last - p->at - skip : 0;
    struct wbi_str part = wbi_str_from(text, (size_t)skip);

    p->at += text.n;
    part = wbi_str_head(part, (size_t)WBI_MIN(left, (uint64_t)part.n));
    return part.n > 0 ? p->each(p->arg, part) : WB_OK;
}

static bool enough(const struct picker *p)
{
    return p->each != NULL && (p->lines ? p->at > p->last : p->at >= p->last);
}

static bool pick(struct wbi_sink *sink, struct wbi_str text)
{
    struct picker *p = (struct picker *)sink;

    p->rc = p->lines ? pick_lines(p, text) : pick_bytes(p, text);
    return p->rc == WB_OK && !enough(p);
}

static void over(struct wbi_sink *sink)
{
    (void)sink;
}

static wb_rc by_picking(int fd, const struct wbi_read_query *asked, wbi_piece_fn *each, void *arg)
{
    struct wbi_read_query q = *asked;
    bool lines = q.kind != WBI_READ_BYTES;
    struct picker p = {.sink = {pick, over},
                       .lines = lines,
                       .at = lines,
                       .first = q.first,
                       .last = lines && q.last == 0 ? WBI_RANGE_END : q.last};
    struct stat st; /* what is written from now on is not waited for */
    wb_rc rc = fstat(fd, &st) == 0 ? WB_OK : WB_EIO;

    q.there = rc == WB_OK ? (uint64_t)st.st_size : 0;
    if (rc == WB_OK && q.kind == WBI_READ_TAIL) {
        struct picker count = {.sink = {pick, over}, .lines = true, .at = 1};
        rc = wbi_pass(fd, &q, &count.sink, NULL);
        p.first = count.total > q.first ? count.total - q.first + 1 : 1;
        p.last = WBI_RANGE_END;
    }
    p.each = each;
    p.arg = arg;
    if (rc == WB_OK)
        rc = wbi_pass(fd, &q, &p.sink, NULL);
    return rc == WB_OK ? p.rc : rc;
}

static wb_rc by_pages(int fd, struct wbi_str name, const struct wbi_read_query *asked,
                      wbi_piece_fn *each, void *arg, struct wbi_error *err)
{
    struct wbi_read_query q = *asked;
    struct wbi_read_page page = {0};
    char token[WBI_PAGE_TOKEN];
    wb_rc rc;

    do {
        struct wbi_arena *arena;
        rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);
        if (rc != WB_OK)
            return wbi_fail_nomem(err);
        rc = wbi_read_fd(fd, name, &q, arena, &page, err);
        if (rc == WB_OK && page.text.n > 0)
            rc = each(arg, page.text);
        wbi_arena_free(arena);
        memcpy(token, page.next_token, sizeof(token));
        q.page_token = wbi_str_z(token);
    } while (rc == WB_OK && token[0] != '\0');
    return rc;
}

wb_rc wbi_artifact_stream(const struct wbi_artifact_store *s, const struct wbi_artifact *a,
                          const struct wbi_read_query *q, wbi_piece_fn *each, void *arg,
                          struct wbi_error *err)
{
    int fd = -1;
    wb_rc rc = wbi_artifact_open(s, a, &fd, err);

    if (rc != WB_OK)
        return rc;
    if (q->kind == WBI_READ_GREP || q->kind == WBI_READ_JSON) {
        rc = by_pages(fd, wbi_str_z(a->name), q, each, arg, err);
    } else {
        rc = by_picking(fd, q, each, arg);
        if (rc != WB_OK)
            (void)wbi_fail(err, rc, "the artifact could not be read to its end");
    }
    (void)close(fd); /* only read from */
    return rc;
}
