/* SPDX-License-Identifier: Apache-2.0
 * text/hygiene.c: the terminal and UTF-8 state machine behind text/hygiene.h.
 * A line is kept as bytes while text only ever arrives at its end; the first
 * cursor move turns it into cells (one per code point) that may be written
 * over. Plain ASCII lines skip the line buffer altogether. String sequences
 * (OSC, DCS …) end at a newline too: an unfinished one must not hide the
 * lines after it. A line with other control characters (NUL …) was not drawn
 * for a terminal: from there on its returns and backspaces are shown, not obeyed. */
#include "text/hygiene.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/word.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum state { GROUND, ESCAPE, ESCAPE_MORE, CSI, STRING, STRING_ESCAPE };

enum byte_class { PLAIN, NEWLINE, RETURN, BACKSPACE, DROPPED, START_ESCAPE, CONTROL, HIGH };

static enum byte_class class_of(uint8_t c)
{
    if (c >= 0x80)
        return HIGH;
    if (c >= 0x20 && c != 0x7f)
        return PLAIN;
    switch (c) {
    case '\t':
        return PLAIN;
    case '\n':
        return NEWLINE;
    case '\r':
        return RETURN;
    case '\b':
        return BACKSPACE;
    case 0x07: /* bell */
    case 0x0e: /* shift out, shift in: sent by terminfo's "reset attributes" */
    case 0x0f:
        return DROPPED;
    case 0x1b:
        return START_ESCAPE;
    default:
        return CONTROL;
    }
}

static bool in_range(uint32_t cp, uint32_t from, uint32_t to)
{
    return cp >= from && cp <= to;
}

/* True for the characters that are made visible: default-ignorable, zero
 * width, bidirectional, tags, line and paragraph separators. */
static bool invisible(uint32_t cp)
{
    if (cp < 0x00ad)
        return false;
    if (cp == 0x00ad || cp == 0x034f || cp == 0x061c || in_range(cp, 0x115f, 0x1160) ||
        in_range(cp, 0x17b4, 0x17b5) || in_range(cp, 0x180b, 0x180f))
        return true;
    if (cp < 0x2000)
        return false;
    return in_range(cp, 0x200b, 0x200f) || in_range(cp, 0x2028, 0x202e) ||
           in_range(cp, 0x2060, 0x206f) || cp == 0x3164 || in_range(cp, 0xfe00, 0xfe0f) ||
           cp == 0xfeff || cp == 0xffa0 || in_range(cp, 0xfff0, 0xfffb) ||
           in_range(cp, 0x1d173, 0x1d17a) || in_range(cp, 0xe0000, 0xe0fff);
}

/* One selector after a symbol only picks its drawing (as in the warning sign);
 * anything else, and every further one, can carry hidden data. */
static bool plain_selector(uint32_t cp, uint32_t before)
{
    return (cp == 0xfe0f || cp == 0xfe0e) &&
           (in_range(before, 0x203c, 0x3299) || in_range(before, 0x1f000, 0x1faff)) &&
           !invisible(before);
}

bool wbi_hygiene_hidden(uint32_t cp, uint32_t before)
{
    return in_range(cp, 0x7f, 0x9f) || (invisible(cp) && !plain_selector(cp, before));
}

size_t wbi_hygiene_mark(uint32_t cp, char out[WBI_HYGIENE_MARK])
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 3;

    memcpy(out, "<U+", n);
    for (int shift = cp > 0xfffff ? 20 : cp > 0xffff ? 16 : 12; shift >= 0; shift -= 4)
        out[n++] = hex[(cp >> shift) & 15];
    out[n++] = '>';
    return n;
}

void wbi_hygiene_init(struct wbi_hygiene *h)
{
    *h = (struct wbi_hygiene){.state = GROUND};
    wbi_buf_init(&h->line, WBI_LIMIT_TEXT_LINE + 64);
    wbi_buf_init(&h->utf8, WBI_LIMIT_CALL_ARENA);
}

void wbi_hygiene_init_output(struct wbi_hygiene *h)
{
    wbi_hygiene_init(h);
    h->any_encoding = true;
    wbi_utf16_init(&h->utf16);
}

void wbi_hygiene_fini(struct wbi_hygiene *h)
{
    wbi_buf_fini(&h->line);
    wbi_buf_fini(&h->utf8);
    wbi_free(h->cells);
    h->cells = NULL;
    h->cap_cells = 0;
}

/* ---- the line ---- */

/* A selector whose symbol was drawn over stands behind something else now. */
static void put_cells(struct wbi_hygiene *h, struct wbi_buf *out)
{
    char text[WBI_HYGIENE_MARK];
    uint32_t before = 0;

    for (size_t i = 0; i < h->n_cells; i++) {
        uint32_t cp = h->cells[i];
        bool hidden = invisible(cp) && !plain_selector(cp, before);

        h->counts.invisible += hidden;
        wbi_buf_add(out, text, hidden ? wbi_hygiene_mark(cp, text) : wbi_utf8_put(cp, text));
        before = cp;
    }
}

static void put_line(struct wbi_hygiene *h, struct wbi_buf *out)
{
    if (h->celled)
        put_cells(h, out);
    else
        wbi_buf_add(out, h->line.p, h->line.n);
    wbi_buf_clear(&h->line);
    h->celled = false;
    h->n_cells = 0;
    h->cursor = 0;
}

static wb_rc want_cells(struct wbi_hygiene *h, size_t n)
{
    uint32_t *grown;
    size_t cap = h->cap_cells ? h->cap_cells : 256;

    if (n <= h->cap_cells)
        return WB_OK;
    while (cap < n)
        cap *= 2;
    grown = wbi_realloc(h->cells, cap * sizeof *grown);
    if (grown == NULL)
        return WB_ENOMEM;
    h->cells = grown;
    h->cap_cells = cap;
    return WB_OK;
}

/* From bytes to cells; the cursor stands at the end. */
static wb_rc to_cells(struct wbi_hygiene *h)
{
    struct wbi_str s = wbi_buf_str(&h->line);
    size_t at = 0;

    if (h->celled)
        return WB_OK;
    if (want_cells(h, s.n + 1) != WB_OK)
        return WB_ENOMEM;
    h->n_cells = 0;
    while (at < s.n)
        h->cells[h->n_cells++] = wbi_utf8_next(s, &at);
    h->cursor = h->n_cells;
    h->celled = true;
    return WB_OK;
}

static wb_rc put_cell(struct wbi_hygiene *h, uint32_t cp)
{
    if (want_cells(h, h->cursor + 1) != WB_OK)
        return WB_ENOMEM;
    while (h->n_cells < h->cursor)
        h->cells[h->n_cells++] = ' ';
    h->cells[h->cursor++] = cp;
    if (h->cursor > h->n_cells)
        h->n_cells = h->cursor;
    return WB_OK;
}

/* Well-formed UTF-8 without controls, at the cursor. */
static wb_rc put_more(struct wbi_hygiene *h, const char *p, size_t n, struct wbi_buf *out)
{
    struct wbi_str s = {p, n};
    size_t at = 0;
    wb_rc rc = WB_OK;

    if (h->celled) {
        if (h->n_cells + n > WBI_LIMIT_TEXT_LINE)
            put_line(h, out);
    }
    if (h->celled) {
        while (at < n && rc == WB_OK)
            rc = put_cell(h, wbi_utf8_next(s, &at));
        return rc;
    }
    if (n > WBI_LIMIT_TEXT_LINE) {
        put_line(h, out);
        wbi_buf_add(out, p, n);
        return wbi_buf_rc(out);
    }
    if (h->line.n + n > WBI_LIMIT_TEXT_LINE)
        put_line(h, out);
    wbi_buf_add(&h->line, p, n);
    return wbi_buf_rc(&h->line);
}

static inline wb_rc put_text(struct wbi_hygiene *h, const char *p, size_t n, struct wbi_buf *out)
{
    if (h->celled || n > 16 || h->line.n + 16 > h->line.cap)
        return put_more(h, p, n, out);
    for (size_t i = 0; i < n; i++) /* few: no call is worth it */
        h->line.p[h->line.n++] = p[i];
    return WB_OK;
}

static wb_rc put_visible(struct wbi_hygiene *h, uint32_t cp, struct wbi_buf *out)
{
    char mark[WBI_HYGIENE_MARK] = "";
    size_t n = wbi_hygiene_mark(cp, mark);

    return put_text(h, mark, n, out);
}

static wb_rc carriage_return(struct wbi_hygiene *h)
{
    if (h->celled ? h->cursor == 0 : h->line.n == 0)
        return WB_OK;
    if (to_cells(h) != WB_OK)
        return WB_ENOMEM;
    h->cursor = 0;
    return WB_OK;
}

static wb_rc move_back(struct wbi_hygiene *h, size_t n)
{
    if (to_cells(h) != WB_OK)
        return WB_ENOMEM;
    h->cursor -= n < h->cursor ? n : h->cursor;
    return WB_OK;
}

/* ---- control sequences ---- */

static wb_rc erase_in_line(struct wbi_hygiene *h, uint32_t how)
{
    if (!h->celled && how == 0)
        return WB_OK;
    if (to_cells(h) != WB_OK)
        return WB_ENOMEM;
    if (how == 0 && h->cursor < h->n_cells)
        h->n_cells = h->cursor;
    else if (how == 2)
        h->n_cells = 0;
    else if (how == 1)
        for (size_t i = 0; i < h->n_cells && i <= h->cursor; i++)
            h->cells[i] = ' ';
    return WB_OK;
}

/* Only what stays within the line is played out; the rest is removed. */
static wb_rc end_csi(struct wbi_hygiene *h, uint8_t final)
{
    uint32_t n = h->have_param && h->param > 0 ? h->param : 1;

    h->state = GROUND;
    h->counts.sequences++;
    if (h->private_param)
        return WB_OK;
    if (n > WBI_LIMIT_TEXT_COLUMNS)
        n = WBI_LIMIT_TEXT_COLUMNS;
    switch (final) {
    case 'K':
        return erase_in_line(h, h->have_param ? h->param : 0);
    case 'D':
        return move_back(h, n);
    case 'C':
    case 'G':
        if (to_cells(h) != WB_OK)
            return WB_ENOMEM;
        h->cursor = final == 'G' ? n - 1 : h->cursor + n;
        if (h->cursor > WBI_LIMIT_TEXT_COLUMNS && h->cursor > h->n_cells)
            h->cursor = h->n_cells;
        return WB_OK;
    default:
        return WB_OK;
    }
}

static void start_csi(struct wbi_hygiene *h)
{
    h->state = CSI;
    h->param = 0;
    h->have_param = false;
    h->private_param = false;
}

static wb_rc in_csi(struct wbi_hygiene *h, uint8_t c)
{
    if (c >= '0' && c <= '9') {
        h->have_param = true;
        if (h->param < 100000)
            h->param = h->param * 10 + (uint32_t)(c - '0');
        return WB_OK;
    }
    if (c >= 0x20 && c <= 0x3f) {
        h->private_param = true;
        return WB_OK;
    }
    return end_csi(h, c);
}

/* The byte after ESC; true when it belongs to the sequence. */
static bool in_escape(struct wbi_hygiene *h, uint8_t c)
{
    if (h->state == ESCAPE && c == '[') {
        start_csi(h);
        return true;
    }
    if (h->state == ESCAPE && (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_')) {
        h->state = STRING;
        return true;
    }
    if (c >= 0x20 && c <= 0x2f) {
        h->state = ESCAPE_MORE;
        return true;
    }
    h->state = GROUND;
    h->counts.sequences++;
    return c >= 0x30 && c <= 0x7e;
}

/* One byte outside GROUND; false when GROUND must look at it (again). */
static bool in_sequence(struct wbi_hygiene *h, uint8_t c, wb_rc *rc)
{
    bool ends_any = c == '\n' || c == 0x18 || c == 0x1a;

    switch (h->state) {
    case CSI:
        if (c < 0x20 || c >= 0x7f) { /* cut short: other bytes keep their meaning */
            h->state = GROUND;
            h->counts.sequences++;
            return false;
        }
        *rc = in_csi(h, c);
        return true;
    case STRING:
        if (ends_any || c == 0x07) {
            h->state = GROUND;
            h->counts.sequences++;
            return c != '\n';
        }
        if (c == 0x1b)
            h->state = STRING_ESCAPE;
        return true;
    case STRING_ESCAPE:
        h->state = GROUND;
        h->counts.sequences++;
        if (c == '\\')
            return true;
        h->state = ESCAPE; /* a new sequence begins inside the string */
        return in_escape(h, c);
    default:
        return in_escape(h, c);
    }
}

/* U+0080..U+009F, the 8-bit forms of escape sequences. */
static wb_rc c1_control(struct wbi_hygiene *h, uint32_t cp, struct wbi_buf *out)
{
    if (cp == 0x9b) {
        start_csi(h);
    } else if (cp == 0x90 || cp == 0x98 || cp == 0x9d || cp == 0x9e || cp == 0x9f) {
        h->state = STRING;
    } else {
        h->counts.controls++;
        return put_visible(h, cp, out);
    }
    return WB_OK;
}

/* ---- bytes to text ---- */

static wb_rc code_point(struct wbi_hygiene *h, const char *p, size_t n, struct wbi_buf *out)
{
    size_t at = 0;
    uint32_t cp = wbi_utf8_next(wbi_str_make(p, n), &at), before = h->last;

    h->last = cp;
    if (cp < 0xa0)
        return c1_control(h, cp, out);
    if (!invisible(cp) || plain_selector(cp, before))
        return put_text(h, p, n, out);
    h->counts.invisible++;
    return put_visible(h, cp, out);
}

static wb_rc ill_formed(struct wbi_hygiene *h, struct wbi_buf *out)
{
    h->counts.repaired++;
    h->last = 0xfffd;
    return put_text(h, "\xef\xbf\xbd", 3, out);
}

/* A byte >= 0x80 at p, n bytes left: how many were used, or 0 when the
 * sequence may go on in the next chunk. */
static size_t high_bytes(struct wbi_hygiene *h, const uint8_t *p, size_t n, bool last,
                         struct wbi_buf *out, wb_rc *rc)
{
    size_t skip = 1, good = wbi_utf8_step(p, n, &skip);

    if (good > 0) {
        *rc = code_point(h, (const char *)p, good, out);
        return good;
    }
    if (!last && skip == n && n < 4 && p[0] >= 0xc2 && p[0] <= 0xf4)
        return 0;
    *rc = ill_formed(h, out);
    return skip;
}

static wb_rc control(struct wbi_hygiene *h, uint8_t c, enum byte_class cls, struct wbi_buf *out)
{
    h->last = c;
    switch (cls) {
    case NEWLINE:
        put_line(h, out);
        wbi_buf_addc(out, '\n');
        h->binary = false;
        h->counts.lines++;
        return WB_OK;
    case RETURN:
        if (h->binary)
            break;
        return carriage_return(h);
    case BACKSPACE:
        if (h->binary)
            break;
        h->counts.redraws++;
        return move_back(h, 1);
    case DROPPED:
        h->counts.controls++;
        return WB_OK;
    case START_ESCAPE:
        h->state = ESCAPE;
        return WB_OK;
    default:
        break;
    }
    h->binary = true;
    h->counts.controls++;
    return put_visible(h, c, out);
}

/* Length of the run at p without any byte that needs a look (newline and tab
 * do not). */
static size_t plain_run(const uint8_t *p, size_t n, bool newlines)
{
    size_t i = 0;

#if defined(__SSE2__)
    const __m128i nl = _mm_set1_epi8('\n'), tab = _mm_set1_epi8('\t'), del = _mm_set1_epi8(0x7f);
    const __m128i space = _mm_set1_epi8(0x20);

    for (; i + 16 <= n; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        /* signed compare: bytes >= 0x80 are below the space too */
        __m128i odd = _mm_or_si128(_mm_cmplt_epi8(v, space), _mm_cmpeq_epi8(v, del));
        __m128i fine = _mm_cmpeq_epi8(v, tab);
        int mask;

        if (newlines)
            fine = _mm_or_si128(fine, _mm_cmpeq_epi8(v, nl));
        mask = _mm_movemask_epi8(_mm_andnot_si128(fine, odd));
        if (mask != 0)
            return i + (size_t)__builtin_ctz((unsigned)mask);
    }
#endif
    for (; i + 8 <= n; i += 8) {
        uint64_t v;

        memcpy(&v, p + i, 8);
        if ((wbi_word_control(v) | (v & WBI_EACH_BYTE(0x80))) != 0)
            break; /* or a tab or a line end: a byte at a time tells */
    }
    while (i < n && (class_of(p[i]) == PLAIN || (newlines && p[i] == '\n')))
        i++;
    return i;
}

static uint64_t count_newlines(const uint8_t *p, size_t n)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += p[i] == '\n';
    return lines;
}

/* At the start of a line: pass on as many whole plain lines as there are. */
static size_t whole_lines(struct wbi_hygiene *h, const uint8_t *p, size_t n, struct wbi_buf *out)
{
    size_t run = plain_run(p, n, true);
    const uint8_t *end = run > 0 ? memrchr(p, '\n', run) : NULL;

    if (end == NULL)
        return 0;
    run = (size_t)(end - p) + 1;
    wbi_buf_add(out, p, run);
    h->counts.lines += count_newlines(p, run);
    h->last = '\n';
    return run;
}

/* c comes after a carriage return. */
static bool draws_over(uint8_t c)
{
    return c != '\n' && c != '\r';
}

/* One step in GROUND: bytes used, 0 when more are needed. */
static size_t ground(struct wbi_hygiene *h, const uint8_t *p, size_t n, bool last,
                     struct wbi_buf *out, wb_rc *rc)
{
    size_t run;
    enum byte_class cls = class_of(*p);

    if (cls == HIGH)
        return high_bytes(h, p, n, last, out, rc);
    if (!h->celled && h->line.n == 0 && (cls == PLAIN || cls == NEWLINE)) {
        run = whole_lines(h, p, n, out);
        if (run > 0)
            return run;
    }
    if (cls != PLAIN) {
        /* a redraw is a return that text follows, not the one of "\r\n" */
        h->returned = cls == RETURN && !h->binary && n == 1;
        if (cls == RETURN && !h->binary && n > 1)
            h->counts.redraws += draws_over(p[1]);
        *rc = control(h, *p, cls, out);
        return 1;
    }
    run = plain_run(p, n, false);
    if (run > WBI_LIMIT_TEXT_LINE)
        run = WBI_LIMIT_TEXT_LINE;
    h->last = p[run - 1];
    *rc = put_text(h, (const char *)p, run, out);
    return run;
}

static wb_rc run(struct wbi_hygiene *h, const uint8_t *p, size_t n, bool last, size_t *ret_used,
                 struct wbi_buf *out)
{
    size_t at = 0, used;
    wb_rc rc = WB_OK;

    if (h->returned && n > 0)
        h->counts.redraws += draws_over(p[0]);
    h->returned = false;
    while (at < n && rc == WB_OK) {
        if (h->state != GROUND && in_sequence(h, p[at], &rc)) {
            at++;
            continue;
        }
        if (rc != WB_OK)
            break;
        used = ground(h, p + at, n - at, last, out, &rc);
        if (used == 0)
            break;
        at += used;
    }
    *ret_used = at;
    return rc != WB_OK ? rc : wbi_buf_rc(out);
}

static wb_rc feed_utf8(struct wbi_hygiene *h, struct wbi_str bytes, struct wbi_buf *out)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    size_t n = bytes.n, used = 0, take;
    wb_rc rc;

    /* finish the character that the last chunk began: at most 3 bytes wait */
    while (h->pending_n > 0 && n > 0) {
        h->pending[h->pending_n++] = *p;
        p++;
        n--;
        take = h->pending_n;
        rc = run(h, h->pending, take, false, &used, out);
        if (rc == WB_OK && used == 0 && take == 4) /* no character is longer */
            rc = run(h, h->pending, take, true, &used, out);
        if (rc != WB_OK)
            return rc;
        memmove(h->pending, h->pending + used, take - used);
        h->pending_n = (uint8_t)(take - used);
    }
    if (n == 0)
        return WB_OK;
    rc = run(h, p, n, false, &used, out);
    if (rc == WB_OK && used < n) {
        h->pending_n = (uint8_t)(n - used);
        memcpy(h->pending, p + used, n - used);
    }
    return rc;
}

/* What came out of the UTF-16 before it. */
static wb_rc feed_decoded(struct wbi_hygiene *h, struct wbi_buf *out)
{
    wb_rc rc = wbi_buf_rc(&h->utf8);

    if (rc == WB_OK)
        rc = feed_utf8(h, wbi_buf_str(&h->utf8), out);
    wbi_buf_clear(&h->utf8);
    return rc;
}

wb_rc wbi_hygiene_feed(struct wbi_hygiene *h, struct wbi_str bytes, struct wbi_buf *out)
{
    h->counts.bytes_in += bytes.n;
    if (h->utf16.mode == WBI_UTF16_NOT)
        return feed_utf8(h, bytes, out);
    wbi_utf16_feed(&h->utf16, bytes, &h->utf8);
    return feed_decoded(h, out);
}

static wb_rc finish_encoding(struct wbi_hygiene *h, bool cut, struct wbi_buf *out)
{
    wb_rc rc;

    if (!h->any_encoding)
        return WB_OK;
    wbi_utf16_finish(&h->utf16, cut, &h->utf8);
    rc = feed_decoded(h, out);
    h->counts.decoded += h->utf16.seen;
    h->counts.repaired += h->utf16.unpaired;
    wbi_utf16_init(&h->utf16);
    return rc;
}

static wb_rc finish(struct wbi_hygiene *h, bool cut, struct wbi_buf *out)
{
    size_t used = 0;
    wb_rc rc = finish_encoding(h, cut, out);

    if (rc == WB_OK && h->pending_n > 0 && !cut)
        rc = run(h, h->pending, h->pending_n, true, &used, out);
    h->pending_n = 0;
    if (h->state != GROUND)
        h->counts.sequences++;
    h->state = GROUND;
    h->last = 0;
    h->binary = false;
    h->returned = false;
    if (rc == WB_OK)
        put_line(h, out);
    return rc != WB_OK ? rc : wbi_buf_rc(out);
}

wb_rc wbi_hygiene_finish(struct wbi_hygiene *h, struct wbi_buf *out)
{
    return finish(h, /* cut= */ false, out);
}

wb_rc wbi_hygiene_finish_so_far(struct wbi_hygiene *h, struct wbi_buf *out)
{
    return finish(h, /* cut= */ true, out);
}

wb_rc wbi_hygiene_clean(struct wbi_str bytes, struct wbi_buf *out,
                        struct wbi_hygiene_counts *ret_counts)
{
    struct wbi_hygiene h;
    wb_rc rc;

    wbi_hygiene_init(&h);
    rc = wbi_hygiene_feed(&h, bytes, out);
    if (rc == WB_OK)
        rc = wbi_hygiene_finish(&h, out);
    if (rc == WB_OK && ret_counts != NULL)
        *ret_counts = h.counts;
    wbi_hygiene_fini(&h);
    return rc;
}

bool wbi_hygiene_is_clean(struct wbi_str bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    uint32_t before = 0, cp;
    size_t at = 0, skip, good, step;

    while (at < bytes.n) {
        step = plain_run(p + at, bytes.n - at, true);
        if (step > 0) {
            at += step;
            before = p[at - 1];
            continue;
        }
        good = p[at] < 0x80 ? 0 : wbi_utf8_step(p + at, bytes.n - at, &skip);
        if (good == 0)
            return false;
        cp = wbi_utf8_next(bytes, &at);
        if (cp < 0xa0 || (invisible(cp) && !plain_selector(cp, before)))
            return false;
        before = cp;
    }
    return true;
}

/* Bytes from `at` on that are printable ASCII: no tab either. */
static size_t printable_run(struct wbi_str t, size_t at)
{
    size_t i = at;
    uint64_t v;

    for (; t.n - i >= sizeof(v); i += sizeof(v)) {
        memcpy(&v, t.p + i, sizeof(v));
        if ((wbi_word_below(v, ' ') | wbi_word_has(v, 0x7f) | (v & WBI_EACH_BYTE(0x80))) != 0)
            break;
    }
    while (i < t.n && t.p[i] >= ' ' && t.p[i] < 0x7f)
        i++;
    return i - at;
}

void wbi_hygiene_one_line(struct wbi_str text, struct wbi_buf *out)
{
    char mark[WBI_HYGIENE_MARK];
    uint32_t before = 0, cp;
    size_t at = 0, from, skip;

    while (at < text.n) {
        from = at;
        at += printable_run(text, at);
        if (at > from) {
            wbi_buf_add(out, text.p + from, at - from);
            before = (uint8_t)text.p[at - 1];
            continue;
        }
        if (wbi_utf8_step((const uint8_t *)text.p + at, text.n - at, &skip) == 0) {
            wbi_buf_addz(out, "\xef\xbf\xbd");
            at += skip;
            continue;
        }
        cp = wbi_utf8_next(text, &at);
        if (cp == '\n')
            wbi_buf_addz(out, "\\n");
        else if (cp < ' ' || wbi_hygiene_hidden(cp, before))
            wbi_buf_add(out, mark, wbi_hygiene_mark(cp, mark));
        else
            wbi_buf_add(out, text.p + from, at - from);
        before = cp;
    }
}
