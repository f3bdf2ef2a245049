/* SPDX-License-Identifier: Apache-2.0
 * family/file/read.c: lines of a text file, page by page. The file is read once
 * in blocks; only the lines asked for are kept, so neither a line of 200 MiB
 * nor a file of 1 TiB costs more than its block. */
#include "family/file/file.h"

#include <errno.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/local.h"
#include "base/utf8.h"
#include "family/file/hide.h"
#include "path/path.h"

#define BLOCK (256u * 1024u)
#define HEAD (8u * 1024u)

static const struct {
    const char *magic;
    size_t n;
    const char *name;
} magics[] = {
    {"\x89PNG\r\n", 6, "PNG image"},
    {"\xff\xd8\xff", 3, "JPEG image"},
    {"GIF8", 4, "GIF image"},
    {"%PDF-", 5, "PDF document"},
    {"PK\x03\x04", 4, "ZIP archive"},
    {"\x1f\x8b", 2, "gzip data"},
    {"BZh", 3, "bzip2 data"},
    {"\xfd"
     "7zXZ",
     5, "XZ data"},
    {"\x28\xb5\x2f\xfd", 4, "Zstandard data"},
    {"\x7f"
     "ELF",
     4, "ELF program or library"},
    {"SQLite format 3", 15, "SQLite database"},
    {"\xca\xfe\xba\xbe", 4, "Java class or Mach-O"},
    {"\0asm", 4, "WebAssembly module"},
    {"RIFF", 4, "RIFF media"},
    {"OggS", 4, "Ogg media"},
    {"MZ", 2, "Windows program"},
};

/* "PNG image", "ELF executable", …; "binary data" for what is not known, NULL
 * for text. head: the first bytes of a file (8 KiB are plenty). */
static const char *describe(struct wbi_str head)
{
    if (wbi_str_starts(head, WBI_LIT("\xff\xfe")) || wbi_str_starts(head, WBI_LIT("\xfe\xff")))
        return "UTF-16 text";
    if (head.n == 0 || memchr(head.p, '\0', head.n) == NULL) {
        for (size_t i = 0; i < WBI_COUNT(magics); i++)
            if (magics[i].magic[0] & 0x80 &&
                wbi_str_starts(head, wbi_str_make(magics[i].magic, magics[i].n)))
                return magics[i].name;
        return NULL;
    }
    for (size_t i = 0; i < WBI_COUNT(magics); i++)
        if (wbi_str_starts(head, wbi_str_make(magics[i].magic, magics[i].n)))
            return magics[i].name;
    return "binary data";
}

struct reader {
    const struct wbi_read_request *req;
    struct wbi_arena *arena;
    int fd; /* of a file that is not at hand */
    struct stat st;
    uint64_t line; /* number of the line at `at` */
    uint64_t at;   /* byte offset of the block read next */
    uint64_t first, max_lines;
    uint64_t within; /* bytes of the first line that earlier pages gave */
    size_t max_bytes, max_line;
    struct wbi_buf current; /* what is kept of the line being read */
    uint64_t length;        /* bytes of it so far */
    uint64_t line_start;
    size_t kept_bytes, cap;
    bool page_full, invalid, ends_cr;
    struct wbi_sha256 *sha;
    uint64_t next_offset;
    struct wbi_read_result *res;
};

static wb_rc keep_line(struct reader *r, bool ended)
{
    struct wbi_read_result *res = r->res;
    struct wbi_str text = wbi_buf_str(&r->current);
    struct wbi_read_line *l;
    uint64_t length = r->length;

    if (wbi_buf_rc(&r->current) != WB_OK) /* not a line that was cut */
        return WB_ENOMEM;
    if (ended && r->ends_cr) {
        length--;
        res->crlf = true;
        if (text.n > length)
            text.n = (size_t)length;
    }
    if (res->n_lines == r->cap) {
        size_t more = r->cap ? r->cap * 2 : 64;

        l = wbi_arena_grow(r->arena, res->lines, r->cap * sizeof(*l), more * sizeof(*l));
        if (l == NULL)
            return WB_ENOMEM;
        res->lines = l;
        r->cap = more;
    }
    l = &res->lines[res->n_lines++];
    *l = (struct wbi_read_line){.start = r->line_start, .length = length};
    l->goes_on = length > text.n && r->max_line == WBI_LIMIT_READ_LINE;
    if (length > text.n) {
        res->cut_lines += !l->goes_on;
        text.n = wbi_utf8_cut(text, text.n);
    }
    r->invalid = r->invalid || !wbi_utf8_valid(text);
    l->text = wbi_arena_str(r->arena, text);
    r->kept_bytes += text.n;
    return l->text.p != NULL ? WB_OK : WB_ENOMEM;
}

/* The end of a line (or of the file) is at offset `end`. */
static wb_rc end_line(struct reader *r, uint64_t end, bool newline)
{
    wb_rc rc = WB_OK;

    if (r->line >= r->first && !r->page_full) {
        rc = keep_line(r, newline);
        if (rc == WB_OK) {
            struct wbi_read_line *l = &r->res->lines[r->res->n_lines - 1];

            l->end = l->goes_on ? l->start + l->text.n : end;
            r->page_full =
                l->goes_on || r->res->n_lines >= r->max_lines || r->kept_bytes >= r->max_bytes;
            r->next_offset = l->end;
        }
    }
    r->line++;
    r->line_start = end;
    r->length = 0;
    wbi_buf_clear(&r->current);
    return rc;
}

/* Bytes that are kept of the line at hand. What earlier pages gave of it counts. */
static size_t most_of_line(const struct reader *r)
{
    if (r->line != r->first || r->max_line == WBI_LIMIT_READ_LINE || r->within >= r->max_line)
        return r->max_line;
    return r->max_line - (size_t)r->within;
}

static void feed(struct reader *r, struct wbi_str part)
{
    size_t most = most_of_line(r);

    r->length += part.n;
    if (part.n > 0)
        r->ends_cr = part.p[part.n - 1] == '\r';
    if (r->line < r->first || r->page_full || r->current.n >= most)
        return;
    wbi_buf_adds(&r->current, wbi_str_head(part, most - r->current.n));
}

static wb_rc take_block(struct reader *r, struct wbi_str block, uint64_t offset)
{
    wb_rc rc = WB_OK;

    while (rc == WB_OK && block.n > 0) {
        size_t n = wbi_str_index(block, '\n');

        if (r->length == 0)
            r->ends_cr = false;
        feed(r, wbi_str_head(block, n));
        if (n == block.n)
            break;
        offset += n + 1;
        rc = end_line(r, offset, true);
        block = wbi_str_from(block, n + 1);
    }
    return rc ? rc : wbi_buf_rc(&r->current);
}

/* Up to n bytes from `at` on: of a file at hand where they are, else into room. */
static ssize_t read_at(const struct reader *r, char *room, size_t n, uint64_t at, const char **ret)
{
    const struct wbi_file_at_hand *file = r->req->file;

    if (file == NULL) {
        *ret = room;
        return wbi_path_pread(r->fd, room, n, (off_t)at);
    }
    *ret = file->bytes.p + WBI_MIN(at, file->bytes.n);
    return (ssize_t)(at < file->bytes.n ? WBI_MIN(file->bytes.n - at, n) : 0);
}

static wb_rc read_blocks(struct reader *r, struct wbi_error *err)
{
    /* A small file fits whole, with room to see that it has ended. */
    size_t size = (uint64_t)r->st.st_size < BLOCK - HEAD ? (size_t)r->st.st_size + HEAD : BLOCK;
    char *room = r->req->file == NULL ? wbi_arena_alloc(r->arena, size) : NULL;
    const char *block;
    bool scan = r->at == 0 && (uint64_t)r->st.st_size <= WBI_LIMIT_READ_SCAN;
    uint64_t most = WBI_LIMIT_READ_SCAN;
    wb_rc rc = WB_OK;

    if (room == NULL && r->req->file == NULL)
        return wbi_fail_nomem(err);
    /* A file without a newline is bounded by `most` bytes of looking. */
    for (uint64_t seen = 0; rc == WB_OK && (!r->page_full || scan) && seen < most;) {
        ssize_t got = read_at(r, room, size, r->at, &block);

        if (got < 0)
            return wbi_fail_errno(err, errno, "reading the file");
        if (got == 0) {
            r->res->at_end = true;
            break;
        }
        if (scan && r->sha != NULL && wbi_sha256_add(r->sha, block, (size_t)got) != WB_OK)
            scan = false;
        rc = take_block(r, wbi_str_make(block, (size_t)got), r->at);
        r->at += (uint64_t)got;
        seen += (uint64_t)got;
    }
    if (rc == WB_OK && r->length > 0 && !(r->page_full && !scan)) {
        r->res->final_newline = false;
        rc = end_line(r, r->at, false);
    }
    r->res->counted = scan && r->res->at_end;
    return rc ? wbi_fail_nomem(err) : WB_OK;
}

static wb_rc check_text(struct reader *r, struct wbi_error *err, size_t *ret_bom)
{
    WBI_LARGE_LOCAL char room[HEAD], shown[WBI_PATH_SHOWN];
    const char *head;
    ssize_t n = read_at(r, room, sizeof(room), 0, &head);
    struct wbi_str s = wbi_str_make(head, n > 0 ? (size_t)n : 0);
    const char *what = describe(s);

    if (n < 0) /* else a binary file might pass for an empty text */
        return wbi_fail_errno(err, errno, "reading the file");
    if (what != NULL)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_FILE_UNREADABLE, "`%s` is %s (%llu bytes)",
                             wbi_path_show(r->req->path, shown), what,
                             (unsigned long long)r->st.st_size);
    *ret_bom = wbi_str_starts(s, WBI_LIT("\xef\xbb\xbf")) ? 3 : 0;
    return WB_OK;
}

/* "LINE.OFFSET.SIZE.MTIME", and ".WITHIN" where bytes of the line were given. */
static wb_rc use_token(struct reader *r, struct wbi_error *err)
{
    struct wbi_str t = r->req->token;
    uint64_t v[5] = {0};

    for (int i = 0; i < 5 && (i < 4 || t.n > 0); i++) {
        size_t n = wbi_str_index(t, '.');

        if (!wbi_parse_u64(wbi_str_head(t, n), &v[i]))
            return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                                 "pageToken is not one that a read has given");
        t = wbi_str_from(t, n + 1);
    }
    if (v[2] != (uint64_t)r->st.st_size || v[3] != r->res->mtime_ns)
        return wbi_fail_kind(err, WB_EAGAIN, WBI_KIND_FILE_CHANGED,
                             "the file has changed since the page before; read it again from the "
                             "start");
    if (v[0] == 0 || v[1] > v[2] || v[4] > v[1])
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "pageToken is not one that a read has given");
    r->line = r->first = v[0];
    r->at = r->line_start = v[1];
    r->within = v[4];
    return WB_OK;
}

struct wbi_str wbi_read_token_in(const struct wbi_read_result *r, size_t i, size_t n,
                                 struct wbi_arena *arena)
{
    return wbi_arena_fmt(arena, "%llu.%llu.%llu.%llu.%llu", (unsigned long long)(r->first_line + i),
                         (unsigned long long)(r->lines[i].start + n), (unsigned long long)r->size,
                         (unsigned long long)r->mtime_ns,
                         (unsigned long long)((i == 0 ? r->within : 0) + n));
}

struct wbi_str wbi_read_token(const struct wbi_read_result *r, size_t n, struct wbi_arena *arena)
{
    if (n > 0 && r->lines[n - 1].goes_on)
        return wbi_read_token_in(r, n - 1, r->lines[n - 1].text.n, arena);
    return wbi_arena_fmt(arena, "%llu.%llu.%llu.%llu", (unsigned long long)(r->first_line + n),
                         (unsigned long long)(n > 0 ? r->lines[n - 1].end : 0),
                         (unsigned long long)r->size, (unsigned long long)r->mtime_ns);
}

static wb_rc finish(struct reader *r, struct wbi_error *err, size_t bom)
{
    struct wbi_read_result *res = r->res;
    uint8_t sum[WBI_SHA256_SIZE];
    bool rest = r->page_full && r->next_offset < (uint64_t)r->st.st_size;

    res->first_line = r->first;
    res->within = r->within;
    res->total_lines = r->line - 1;
    res->encoding = r->invalid ? "unknown-8bit" : bom ? "utf-8-bom" : "utf-8";
    if (bom && r->first == 1 && r->within == 0 && res->n_lines > 0 && res->lines[0].text.n >= 3) {
        res->lines[0].text = wbi_str_from(res->lines[0].text, 3);
        res->lines[0].length -= 3;
        res->lines[0].start += 3;
    }
    if (res->counted && r->sha != NULL && wbi_sha256_end(r->sha, sum) == WB_OK) {
        wbi_hex(sum, sizeof(sum), res->sha256);
        res->has_sha256 = true;
    }
    res->at_end = !rest;
    if (!rest)
        return WB_OK;
    res->next_token = wbi_read_token(res, res->n_lines, r->arena);
    return res->next_token.p != NULL ? WB_OK : wbi_fail_nomem(err);
}

/* ---- what stands around the page ---- */

static void add_without_crs(struct wbi_buf *out, struct wbi_str text)
{
    while (text.n > 0) {
        size_t n = wbi_str_index(text, '\r');

        wbi_buf_adds(out, wbi_str_head(text, n));
        if (n + 1 < text.n && text.p[n + 1] != '\n')
            wbi_buf_addc(out, '\r');
        text = wbi_str_from(text, WBI_MIN(n + 1, text.n));
    }
}

/* Bytes [from, to) of the file, as many as are there. */
static wb_rc add_bytes(const struct reader *r, struct wbi_buf *out, uint64_t from, uint64_t to)
{
    char *room = wbi_arena_alloc(r->arena, (size_t)(to - from) + 1);
    const char *p;
    ssize_t got;

    if (room == NULL)
        return WB_ENOMEM;
    got = read_at(r, room, (size_t)(to - from), from, &p);
    if (got > 0)
        add_without_crs(out, wbi_str_make(p, (size_t)got));
    return wbi_buf_rc(out);
}

/* The lines as they were read, between what stands before and behind them. */
static wb_rc put_around(const struct reader *r, struct wbi_buf *out, uint64_t *ret_lines)
{
    const struct wbi_read_result *res = r->res;
    uint64_t start = res->lines[0].start, end = res->lines[res->n_lines - 1].end;
    uint64_t from = start > WBI_HIDE_BEFORE ? start - WBI_HIDE_BEFORE : 0;
    wb_rc rc = add_bytes(r, out, from, start);

    *ret_lines = 0;
    for (size_t i = 0; i < out->n; i++)
        *ret_lines += out->p[i] == '\n';
    for (size_t i = 0; i < res->n_lines; i++) {
        wbi_buf_adds(out, res->lines[i].text);
        if (!res->lines[i].goes_on)
            wbi_buf_addc(out, '\n');
    }
    return rc == WB_OK ? add_bytes(r, out, end, end + WBI_HIDE_BEHIND) : rc;
}

/* Of a line that is shown in parts the place of each must be known: it stays. */
static wb_rc hide_line(struct reader *r, size_t i, struct wbi_str shown)
{
    struct wbi_read_line *l = &r->res->lines[i];
    bool cut = l->length > l->text.n;

    if (l->goes_on || (i == 0 && r->within > 0))
        return WB_OK;
    l->text = wbi_arena_str(r->arena, shown);
    l->length = cut ? WBI_MAX(l->length, shown.n + 1) : shown.n;
    l->hidden = r->res->hidden = true;
    return l->text.p != NULL ? WB_OK : WB_ENOMEM;
}

static wb_rc hide_lines(struct reader *r, struct wbi_hide *h)
{
    struct wbi_hidden line;
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < r->res->n_lines; i++) {
        rc = wbi_hide_line(h, &line);
        if (rc == WB_OK && line.hides)
            rc = hide_line(r, i, line.shown);
    }
    return rc;
}

static wb_rc hide(struct reader *r)
{
    const struct wbi_read_result *res = r->res;
    struct wbi_buf around;
    struct wbi_hide h;
    uint64_t before;
    wb_rc rc;

    if (r->req->secrets == NULL || res->n_lines == 0 ||
        (res->lines[0].start == 0 && res->lines[res->n_lines - 1].end >= res->size))
        return WB_OK; /* all there is will be looked at */
    wbi_buf_init_arena(&around, r->arena, 2 * WBI_LIMIT_READ_BYTES);
    rc = put_around(r, &around, &before);
    if (rc != WB_OK)
        return rc;
    rc = wbi_hide_begin(&h, r->req->secrets, wbi_buf_str(&around));
    if (rc == WB_OK && h.any) {
        wbi_hide_skip(&h, before);
        rc = hide_lines(r, &h);
    }
    wbi_hide_end(&h);
    return rc;
}

wb_rc wbi_file_read(struct wbi_root *root, const struct wbi_read_request *req,
                    struct wbi_arena *arena, struct wbi_error *err, struct wbi_read_result *ret)
{
    struct wbi_read_result res = {.path = req->path, .final_newline = true};
    struct reader r = {.req = req, .arena = arena, .res = &res, .line = 1};
    size_t bom = 0;
    wb_rc rc = WB_OK;

    if (req->file != NULL)
        r.st = req->file->st;
    else
        rc = wbi_path_open_read(root, req->path, err, &r.fd, &r.st);
    if (rc)
        return rc;
    r.first = req->first_line ? req->first_line : 1;
    r.max_lines =
        req->max_lines ? WBI_MIN(req->max_lines, WBI_LIMIT_READ_LINES) : WBI_LIMIT_READ_LINES;
    r.max_bytes =
        req->max_bytes ? WBI_MIN(req->max_bytes, WBI_LIMIT_READ_BYTES) : WBI_LIMIT_READ_BYTES;
    r.max_line = req->max_line ? WBI_MIN(req->max_line, WBI_LIMIT_READ_LINE) : WBI_LIMIT_READ_LINE;
    res.size = (uint64_t)r.st.st_size;
    res.mtime_ns = (uint64_t)r.st.st_mtim.tv_sec * 1000000000u + (uint64_t)r.st.st_mtim.tv_nsec;
    wbi_buf_init(&r.current, WBI_LIMIT_READ_LINE);
    rc = check_text(&r, err, &bom);
    if (rc == WB_OK && req->token.n > 0)
        rc = use_token(&r, err);
    /* Out of memory there is no hash, and everything else. */
    if (rc == WB_OK && r.at == 0 && wbi_sha256_new(&r.sha) != WB_OK)
        r.sha = NULL;
    if (rc == WB_OK)
        rc = read_blocks(&r, err);
    if (rc == WB_OK)
        rc = finish(&r, err, bom);
    if (rc == WB_OK && hide(&r) != WB_OK)
        rc = wbi_fail_nomem(err);
    wbi_sha256_free(r.sha);
    wbi_buf_fini(&r.current);
    if (req->file == NULL)
        close(r.fd);
    if (rc == WB_OK)
        *ret = res;
    return rc;
}
