/* SPDX-License-Identifier: Apache-2.0
 * family/file/search.c: lines that match, grouped by file. Each file is read
 * once into one buffer that is used again; a match is looked for in the whole
 * text and then made sure to lie within its line, so lines are never split
 * until something was found. */
#include "family/file/search.h"

#include <errno.h>
#include <dirent.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/utf8.h"
#include "family/file/hide.h"
#include "family/file/walk.h"

#define BINARY_HEAD (64u * 1024u)
#define BINARY_GLANCE (8u * 1024u) /* of a file that cannot match, only to tell of it */
#define BLOCK (16u * 1024u)        /* whole lines that are looked at together */

struct searcher {
    const struct wbi_search_request *req;
    struct wbi_arena *arena;
    struct wbi_needle needle;
    struct wbi_globs globs;
    struct wbi_buf text; /* the file at hand */
    struct wbi_search_result *res;
    size_t files_cap, most, shown; /* shown: matches or files given */
    unsigned before, after;
    struct wbi_str resume_path; /* of the token */
    uint64_t resume_line;
    bool full;
};

/* ---- one file ---- */

struct scan {
    struct searcher *s;
    struct wbi_search_file *file;
    size_t cap;
    struct wbi_str text;
    bool utf8;
    uint64_t line; /* number of the line that starts at line_at */
    size_t line_at;
    uint64_t last_shown; /* number of the last line given, here or on an earlier page */
};

static size_t line_end(struct wbi_str text, size_t at)
{
    const char *p = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;

    return p ? (size_t)(p - text.p) : text.n;
}

static size_t line_start(struct wbi_str text, size_t at)
{
    const char *p = at > 0 ? memrchr(text.p, '\n', at) : NULL;

    return p ? (size_t)(p - text.p) + 1 : 0;
}

static uint64_t count_lines(const char *p, size_t n)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += p[i] == '\n';
    return lines;
}

/* Keeps a window of a long line around the match. */
static void cut_line(struct wbi_str line, size_t from, size_t to, struct wbi_search_line *l,
                     struct wbi_str *ret)
{
    size_t skip = 0;

    if (line.n > WBI_LIMIT_SEARCH_LINE) {
        l->cut = true;
        if (from > WBI_LIMIT_SEARCH_LINE / 4)
            skip = WBI_MIN(from - WBI_LIMIT_SEARCH_LINE / 4, line.n - WBI_LIMIT_SEARCH_LINE);
        while (skip < line.n && ((unsigned char)line.p[skip] & 0xC0) == 0x80)
            skip++;
        line = wbi_str_from(line, skip);
        line = wbi_str_head(line, wbi_utf8_cut(line, WBI_LIMIT_SEARCH_LINE));
    }
    l->from = (uint32_t)WBI_MIN(from - WBI_MIN(from, skip), line.n);
    l->to = (uint32_t)WBI_MIN(to - WBI_MIN(to, skip), line.n);
    *ret = line;
}

static wb_rc put_line(struct scan *c, uint64_t number, size_t at, size_t from, size_t to)
{
    struct wbi_search_file *f = c->file;
    struct wbi_str line = wbi_str_make(c->text.p + at, line_end(c->text, at) - at);
    struct wbi_search_line *l;

    if (f->n_lines == c->cap) {
        size_t more = c->cap ? c->cap * 2 : 8;

        l = wbi_arena_grow(c->s->arena, f->lines, c->cap * sizeof(*l), more * sizeof(*l));
        if (l == NULL)
            return WB_ENOMEM;
        f->lines = l;
        c->cap = more;
    }
    l = &f->lines[f->n_lines];
    memset(l, 0, sizeof(*l));
    l->number = number;
    l->at = at;
    l->is_match = to > from || from != SIZE_MAX;
    cut_line(line, from == SIZE_MAX ? 0 : from, from == SIZE_MAX ? 0 : to, l, &line);
    l->text = wbi_arena_str(c->s->arena, line);
    if (l->text.p == NULL)
        return WB_ENOMEM;
    f->n_lines++;
    c->last_shown = number;
    return WB_OK;
}

/* Context before the line at c->line_at that was not shown yet. */
static wb_rc put_before(struct scan *c)
{
    size_t starts[WBI_LIMIT_SEARCH_CONTEXT];
    size_t n = 0, at = c->line_at;
    wb_rc rc = WB_OK;

    while (n < c->s->before && at > 0 && c->line - n - 1 > c->last_shown) {
        at = line_start(c->text, at - 1);
        starts[n++] = at;
    }
    for (size_t i = n; rc == WB_OK && i-- > 0;)
        rc = put_line(c, c->line - i - 1, starts[i], SIZE_MAX, SIZE_MAX);
    return rc;
}

/* Context behind line `number` whose end is at `at`, up to line `stop`, that was
 * not shown yet. */
static wb_rc put_after(struct scan *c, uint64_t number, size_t at, uint64_t stop)
{
    wb_rc rc = WB_OK;

    for (unsigned i = 0; rc == WB_OK && i < c->s->after; i++) {
        if (at + 1 >= c->text.n || ++number >= stop)
            break;
        at++;
        if (number > c->last_shown)
            rc = put_line(c, number, at, SIZE_MAX, SIZE_MAX);
        at = line_end(c->text, at);
    }
    return rc;
}

/* A match within the line at start alone, which ends at end. */
static enum wbi_regex_verdict find_in_line(struct scan *c, size_t start, size_t end,
                                           struct wbi_regex_span *span)
{
    struct wbi_str line = wbi_str_make(c->text.p + start, end - start);
    enum wbi_regex_verdict v = wbi_needle_find(&c->s->needle, line, 0, c->utf8, span);

    if (v == WBI_REGEX_YES) {
        span->from += start;
        span->to += start;
    }
    return v;
}

static bool is_stopped(const struct searcher *s)
{
    return s->req->stop != NULL && *s->req->stop;
}

/* The next matching line at or after offset *at. 1 found, 0 none. */
static int next_match(struct scan *c, size_t *at, struct wbi_regex_span *span)
{
    const struct wbi_needle *needle = &c->s->needle;
    enum wbi_regex_verdict v = WBI_REGEX_NO;

    while (*at < c->text.n && v != WBI_REGEX_LIMIT && !is_stopped(c->s)) {
        size_t hit, start, end;

        if (!wbi_needle_literal(needle, c->text, *at, &hit))
            return 0;
        if (needle->literal.n > 0)
            *at = line_start(c->text, hit);
        start = *at;
        if (!needle->by_line) {
            struct wbi_str lines =
                wbi_str_head(c->text, line_end(c->text, WBI_MIN(*at + BLOCK, c->text.n)));

            v = wbi_needle_find(needle, lines, *at, c->utf8, span);
            if (v == WBI_REGEX_NO)
                *at = lines.n + 1;
            if (v != WBI_REGEX_YES)
                continue;
            start = line_start(c->text, span->from);
        }
        end = line_end(c->text, start);
        if (start == c->text.n && c->text.n > 0)
            return 0; /* behind the last newline there is no line */
        if (!needle->by_line && span->to <= end)
            return 1;
        v = find_in_line(c, start, end, span);
        if (v == WBI_REGEX_YES)
            return 1;
        *at = end + 1;
    }
    c->s->res->gave_up = c->s->res->gave_up || v == WBI_REGEX_LIMIT;
    return 0;
}

static void move_to_line(struct scan *c, size_t start)
{
    c->line += count_lines(c->text.p + c->line_at, start - c->line_at);
    c->line_at = start;
}

struct wbi_str wbi_search_token(struct wbi_arena *arena, struct wbi_str path, uint64_t line)
{
    return wbi_arena_fmt(arena, "%llu:%.*s", (unsigned long long)line, WBI_FMT(path));
}

static wb_rc set_token(struct searcher *s, struct wbi_str path, uint64_t line)
{
    s->full = true;
    s->res->next_token = wbi_search_token(s->arena, path, line);
    return s->res->next_token.p ? WB_OK : WB_ENOMEM;
}

/* One match, at c->line. */
static wb_rc put_match(struct scan *c, const struct wbi_regex_span *span)
{
    wb_rc rc = put_before(c);

    c->s->shown++;
    return rc ? rc
              : put_line(c, c->line, c->line_at, span->from - c->line_at, span->to - c->line_at);
}

/* Goes through one text. Lines up to skip_line have been given on an earlier
 * page; the context behind a match among them may be still to give. */
static wb_rc scan_text(struct scan *c, uint64_t skip_line)
{
    struct searcher *s = c->s;
    struct wbi_regex_span span;
    size_t at = 0, pending_end = 0;
    uint64_t pending = 0; /* last match, its context behind is not yet given */
    wb_rc rc = WB_OK;

    c->last_shown = skip_line;
    while (rc == WB_OK && next_match(c, &at, &span)) {
        size_t end = line_end(c->text, span.from);

        at = end + 1;
        if (s->req->mode != WBI_SEARCH_LINES) {
            c->file->matches++;
            if (s->req->mode == WBI_SEARCH_FILES)
                return WB_OK;
            continue;
        }
        move_to_line(c, line_start(c->text, span.from));
        if (pending)
            rc = put_after(c, pending, pending_end, c->line);
        if (rc == WB_OK && c->line > skip_line) {
            if (s->shown == s->most)
                return set_token(s, c->file->path, c->last_shown);
            c->file->matches++;
            rc = put_match(c, &span);
        }
        pending = c->line;
        pending_end = end;
    }
    return rc == WB_OK && pending ? put_after(c, pending, pending_end, UINT64_MAX) : rc;
}

/* ---- secrets that the lines around tell ---- */

static wb_rc hide_line(struct searcher *s, struct wbi_search_line *l, struct wbi_str shown)
{
    size_t n = wbi_utf8_cut(shown, WBI_LIMIT_SEARCH_LINE);

    l->text = wbi_arena_str(s->arena, wbi_str_head(shown, n));
    l->cut = n < shown.n;
    l->from = l->to = 0;
    s->res->hidden = true;
    return l->text.p != NULL ? WB_OK : WB_ENOMEM;
}

/* Lines [i, end) of the file, which stand near each other. */
static wb_rc hide_near(struct scan *c, size_t i, size_t end)
{
    struct wbi_search_line *lines = c->file->lines;
    size_t first = lines[i].at, last = line_end(c->text, lines[end - 1].at);
    size_t from = line_start(c->text, first > WBI_HIDE_BEFORE ? first - WBI_HIDE_BEFORE : 0);
    size_t to = line_end(c->text, WBI_MIN(last + WBI_HIDE_BEHIND, c->text.n));
    uint64_t number = lines[i].number - count_lines(c->text.p + from, first - from);
    struct wbi_hidden line;
    struct wbi_hide h;
    wb_rc rc = wbi_hide_begin(&h, c->s->req->secrets, wbi_str_make(c->text.p + from, to - from));

    for (; rc == WB_OK && h.any && i < end; i++) {
        wbi_hide_skip(&h, lines[i].number - number);
        number = lines[i].number + 1;
        rc = wbi_hide_line(&h, &line);
        if (rc == WB_OK && line.hides)
            rc = hide_line(c->s, &lines[i], line.shown);
    }
    wbi_hide_end(&h);
    return rc;
}

static wb_rc hide_lines(struct scan *c)
{
    const struct wbi_search_file *f = c->file;
    size_t end;
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && c->s->req->secrets != NULL && i < f->n_lines; i = end) {
        for (end = i + 1; end < f->n_lines; end++)
            if (f->lines[end].at - f->lines[end - 1].at > WBI_HIDE_BEFORE ||
                f->lines[end].at - f->lines[i].at > WBI_HIDE_MOST / 4)
                break;
        rc = hide_near(c, i, end);
    }
    return rc;
}

static wb_rc add_file(struct searcher *s, const struct wbi_search_file *f)
{
    struct wbi_search_file *files;

    if (s->res->n_files == s->files_cap) {
        size_t more = s->files_cap ? s->files_cap * 2 : 16;

        files = wbi_arena_grow(s->arena, s->res->files, s->files_cap * sizeof(*files),
                               more * sizeof(*files));
        if (files == NULL)
            return WB_ENOMEM;
        s->res->files = files;
        s->files_cap = more;
    }
    s->res->files[s->res->n_files++] = *f;
    return WB_OK;
}

/* CR LF ends a line as LF does: a pattern sees neither. */
static void drop_line_crs(struct wbi_buf *text)
{
    char *cr = text->n > 0 ? memchr(text->p, '\r', text->n) : NULL;
    char *end = text->p + text->n, *to = cr;

    if (cr == NULL)
        return;
    for (char *p = cr; p < end; p++)
        if (*p != '\r' || p + 1 == end || p[1] != '\n')
            *to++ = *p;
    text->n = (size_t)(to - text->p);
}

/* The text is in s->text. */
static wb_rc search_text(struct searcher *s, struct wbi_str path)
{
    struct wbi_search_file file = {.path = path};
    struct scan c = {.s = s, .file = &file, .line = 1};
    struct wbi_str raw = wbi_buf_str(&s->text);
    uint64_t skip = wbi_str_eq(path, s->resume_path) ? s->resume_line : 0;
    size_t at, head;
    wb_rc rc;

    s->res->files_searched++;
    head = wbi_needle_literal(&s->needle, raw, 0, &at) ? BINARY_HEAD : BINARY_GLANCE;
    if (raw.n > 0 && memchr(raw.p, '\0', WBI_MIN(raw.n, head)) != NULL) {
        s->res->binary_skipped++;
        return WB_OK;
    }
    if (head == BINARY_GLANCE)
        return WB_OK;
    drop_line_crs(&s->text);
    c.text = wbi_buf_str(&s->text);
    if (wbi_str_starts(c.text, WBI_LIT("\xef\xbb\xbf"))) /* no part of the first line */
        c.text = wbi_str_from(c.text, 3);
    c.utf8 = wbi_needle_reads_utf8(&s->needle, c.text);
    file.path = wbi_arena_str(s->arena, path);
    if (file.path.p == NULL)
        return WB_ENOMEM;
    rc = scan_text(&c, skip);
    if (rc == WB_OK)
        rc = hide_lines(&c);
    if (rc || (s->req->mode == WBI_SEARCH_LINES ? file.n_lines == 0 : file.matches == 0))
        return rc;
    if (s->req->mode != WBI_SEARCH_LINES && s->shown++ == s->most)
        return set_token(s, s->res->files[s->res->n_files - 1].path, UINT64_MAX);
    s->res->matches += file.matches;
    return add_file(s, &file);
}

/* Reads an open file into s->text. */
static wb_rc load_file(struct searcher *s, int fd, const struct stat *st, bool *ret_loaded)
{
    size_t size = (size_t)st->st_size;
    char *room;
    ssize_t got = 1;

    *ret_loaded = false;
    if ((uint64_t)st->st_size > WBI_LIMIT_SEARCH_FILE) {
        s->res->large_skipped++;
        return WB_OK;
    }
    wbi_buf_clear(&s->text);
    room = wbi_buf_room(&s->text, size + 1);
    if (room == NULL)
        return WB_ENOMEM;
    while (s->text.n < size && got > 0) {
        got = wbi_path_read(fd, room + s->text.n, size - s->text.n);
        s->text.n += got > 0 ? (size_t)got : 0;
    }
    s->res->unreadable += got < 0;
    *ret_loaded = got >= 0;
    return WB_OK;
}

/* Takes fd over. What is too large or cannot be read is counted and passed over. */
static wb_rc search_fd(struct searcher *s, int fd, const struct stat *st, struct wbi_str path)
{
    bool loaded;
    wb_rc rc = load_file(s, fd, st, &loaded);

    close(fd);
    return rc == WB_OK && loaded ? search_text(s, path) : rc;
}

static wb_rc search_entry(struct searcher *s, const struct wbi_walk_entry *e, struct wbi_error *err)
{
    struct stat st;
    int fd;

    if (e->type != DT_REG || !wbi_globs_match(&s->globs, e->path))
        return WB_OK;
    fd = wbi_path_open_child_file(e->dir_fd, e->name, &st);
    if (fd < 0) {
        s->res->unreadable++;
        return wbi_walk_not_opened(e->path, errno, err);
    }
    return search_fd(s, fd, &st, e->path) != WB_OK ? wbi_fail_nomem(err) : WB_OK;
}

/* "LINE:PATH" */
static wb_rc use_token(struct searcher *s, struct wbi_error *err)
{
    struct wbi_str t = s->req->token;
    size_t n = wbi_str_index(t, ':');

    if (t.n == 0)
        return WB_OK;
    if (t.n > WBI_LIMIT_PATH + 21 || memchr(t.p, 0, t.n) || n == t.n ||
        !wbi_parse_u64(wbi_str_head(t, n), &s->resume_line))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "pageToken is not one that a search has given");
    s->resume_path = wbi_str_from(t, n + 1);
    return WB_OK;
}

static wb_rc resume_file(struct searcher *s, struct wbi_root *root, struct wbi_error *err)
{
    struct wbi_str path = s->resume_path;
    struct stat st;
    int fd;
    wb_rc rc;

    /* The file of the token comes first; the walk goes on behind it. */
    if (s->resume_line == UINT64_MAX)
        return WB_OK;
    if (s->req->path.n > 0)
        path = wbi_arena_fmt(s->arena, "%.*s/%.*s", WBI_FMT(s->req->path), WBI_FMT(path));
    if (path.p == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_path_open_read(root, path, err, &fd, &st);
    if (rc != WB_OK) /* it has gone, or cannot be opened at all */
        return rc == WB_EIO || rc == WB_ENOMEM ? rc : WB_OK;
    return search_fd(s, fd, &st, s->resume_path) != WB_OK ? wbi_fail_nomem(err) : WB_OK;
}

static wb_rc search_tree(struct searcher *s, struct wbi_root *root, struct wbi_error *err)
{
    struct wbi_walk_options options = {.hidden = s->req->hidden, .no_ignore = s->req->no_ignore};
    struct wbi_walk_entry e;
    struct wbi_walk *w;
    bool more = true;
    wb_rc rc = wbi_walk_begin(root, s->req->path, &options, s->resume_path, err, &w);

    if (rc)
        return rc;
    if (s->resume_path.n > 0)
        rc = resume_file(s, root, err);
    while (rc == WB_OK && !s->full) {
        rc = wbi_walk_next(w, err, &e, &more);
        if (rc || !more)
            break;
        if (is_stopped(s))
            break;
        rc = search_entry(s, &e, err);
    }
    s->res->unreadable += wbi_walk_unreadable(w);
    s->res->too_deep = wbi_walk_too_deep(w);
    wbi_walk_end(w);
    return rc;
}

static wb_rc search_one_file(struct searcher *s, struct wbi_root *root, struct wbi_error *err)
{
    struct stat st;
    int fd;
    wb_rc rc = wbi_path_open_read(root, s->req->path, err, &fd, &st);

    if (rc)
        return rc;
    return search_fd(s, fd, &st, s->req->path) != WB_OK ? wbi_fail_nomem(err) : WB_OK;
}

wb_rc wbi_file_search(struct wbi_root *root, const struct wbi_search_request *req,
                      struct wbi_arena *arena, struct wbi_error *err, struct wbi_search_result *ret)
{
    struct wbi_search_result res = {0};
    struct searcher s = {.req = req, .arena = arena, .res = &res};
    struct stat st;
    wb_rc rc;

    s.most = req->max_matches ? WBI_MIN(req->max_matches, WBI_LIMIT_SEARCH_MATCHES)
                              : WBI_LIMIT_SEARCH_MATCHES;
    s.before = WBI_MIN(req->before, WBI_LIMIT_SEARCH_CONTEXT);
    s.after = WBI_MIN(req->after, WBI_LIMIT_SEARCH_CONTEXT);
    rc = use_token(&s, err);
    if (rc == WB_OK)
        rc = wbi_globs_compile(req->glob, arena, err, &s.globs);
    if (rc == WB_OK)
        rc = wbi_path_stat(root, req->path, err, &st);
    if (rc == WB_OK)
        rc = wbi_needle_compile(req, arena, err, &s.needle);
    if (rc)
        return rc;
    wbi_buf_init(&s.text, (size_t)WBI_LIMIT_SEARCH_FILE + 1);
    if (S_ISDIR(st.st_mode))
        res.base = req->path;
    rc = S_ISDIR(st.st_mode) ? search_tree(&s, root, err) : search_one_file(&s, root, err);
    wbi_buf_fini(&s.text);
    wbi_needle_free(&s.needle);
    if (rc == WB_OK && is_stopped(&s))
        rc = wbi_fail(err, WB_ECANCELLED, "the search was stopped");
    if (rc == WB_OK)
        *ret = res;
    return rc;
}
