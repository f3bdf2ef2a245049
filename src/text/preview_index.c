/* SPDX-License-Identifier: Apache-2.0
 * text/preview_index.c: the first pass of a preview. Every line is looked at
 * once; shapes are counted; the start, the last RECENT lines and striking
 * lines with their surroundings are remembered as records of fixed size. A
 * shape seen often stops being striking, so a flood of equal complaints does
 * not fill the memory, and lines that repeat the one before are counted with it. A text that is
 * still small waits: most of these are shown whole, and then nobody asks what their lines say. */
#include "text/preview_int.h"

#include <math.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "text/tokens.h"

#define WAIT_BYTES (64u * WBI_KIB) /* of a text whose lines are not looked at yet */
#define KEEP_START 2000u           /* lines remembered from the start, whatever they are */
#define KEEP_AROUND 24u            /* lines remembered before and after a striking one */
#define KEEP_BESIDE 3u             /* lines that stay beside a telling one when room is made */
#define WARNING 20u                /* kinds of lines above this severity are counted */
#define STRIKING_PER_SHAPE 64u
#define PART_OVERLAP 256u /* bytes of a long line that two parts of it share */
#define SURE_PART 80u     /* what follows is pointed at instead only if that is much surer */
#define MUCH_SURER 15u

wb_rc wbi_preview_index_new(struct wbi_str command, struct wbi_preview_index **ret)
{
    struct wbi_preview_index *x = wbi_zalloc(sizeof *x);

    if (x == NULL)
        return WB_ENOMEM;
    wbi_words_init(&x->words, command);
    wbi_buf_init(&x->carry, WBI_LIMIT_TEXT_LINE);
    wbi_buf_init(&x->beyond, WBI_LIMIT_TEXT_LINE);
    wbi_buf_init(&x->waiting, WAIT_BYTES);
    wbi_buf_init(&x->held, WBI_LIMIT_TEXT_LINE);
    *ret = x;
    return WB_OK;
}

void wbi_preview_index_free(struct wbi_preview_index *x)
{
    if (x == NULL)
        return;
    wbi_buf_fini(&x->carry);
    wbi_buf_fini(&x->beyond);
    wbi_buf_fini(&x->waiting);
    wbi_buf_fini(&x->held);
    wbi_free(x->kept);
    wbi_free(x->recent);
    wbi_free(x->shapes);
    wbi_free(x->columns);
    wbi_free(x);
}

static size_t shape_slot(const struct shape *table, size_t cap, uint64_t hash)
{
    size_t i = (size_t)(hash >> 20) & (cap - 1);

    while (table[i].count != 0 && table[i].hash != hash)
        i = (i + 1) & (cap - 1);
    return i;
}

/* Records name shapes by slot, and slots move when the table grows. */
static wb_rc grow_shapes(struct wbi_preview_index *x)
{
    size_t cap = x->cap_shapes * 2;
    struct shape *table = wbi_zalloc_array(cap, sizeof *table);
    size_t live = x->n_recent < RECENT ? (size_t)x->n_recent : RECENT;

    if (table == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; i < x->cap_shapes; i++)
        if (x->shapes[i].count != 0)
            table[shape_slot(table, cap, x->shapes[i].hash)] = x->shapes[i];
    for (size_t i = 0; i < x->n_kept; i++)
        x->kept[i].shape = (uint32_t)shape_slot(table, cap, x->shapes[x->kept[i].shape].hash);
    for (size_t i = 0; x->recent != NULL && i < live; i++)
        x->recent[i].shape = (uint32_t)shape_slot(table, cap, x->shapes[x->recent[i].shape].hash);
    wbi_free(x->shapes);
    x->shapes = table;
    x->cap_shapes = cap;
    return WB_OK;
}

/* Count the shape; past the limit unseen shapes share the slot of hash 0. */
static wb_rc count_shape(struct wbi_preview_index *x, uint64_t hash, uint32_t *ret)
{
    size_t i;
    wb_rc rc;

    if (x->n_shapes * 3 >= x->cap_shapes * 2 && x->cap_shapes < WBI_LIMIT_PREVIEW_SHAPES) {
        rc = grow_shapes(x);
        if (rc != WB_OK)
            return rc;
    }
    i = shape_slot(x->shapes, x->cap_shapes, hash);
    if (x->shapes[i].count == 0 && x->n_shapes * 4 >= x->cap_shapes * 3) {
        hash = 0;
        i = shape_slot(x->shapes, x->cap_shapes, hash);
    }
    if (x->shapes[i].count == 0) {
        x->n_shapes++;
        x->shapes[i].hash = hash;
    }
    x->shapes[i].count++;
    *ret = (uint32_t)i;
    return WB_OK;
}

static bool tells(const struct record *r)
{
    return r->severity > WARNING || r->flags & (LINE_QUERY | LINE_ODD);
}

/* The lines that tell nothing and have none beside them that does are forgotten. */
static void forget_quiet(struct wbi_preview_index *x)
{
    size_t n = KEEP_START, since = KEEP_BESIDE + 1;

    for (size_t i = KEEP_START; i < x->n_kept; i++) {
        bool near = false;

        since = tells(&x->kept[i]) ? 0 : since + 1;
        for (size_t k = i + 1; k < x->n_kept && k <= i + KEEP_BESIDE && since > KEEP_BESIDE; k++)
            near |= tells(&x->kept[k]);
        if (near || since <= KEEP_BESIDE)
            x->kept[n++] = x->kept[i];
    }
    x->n_kept = n;
}

/* The severity that half of the lines behind the start do not exceed. */
static uint8_t middle_severity(const struct wbi_preview_index *x)
{
    uint32_t by_severity[256] = {0};
    size_t n = 0;
    unsigned s = 0;

    for (size_t i = KEEP_START; i < x->n_kept; i++)
        by_severity[x->kept[i].severity]++;
    for (; s < 255 && (n += by_severity[s]) * 2 < x->n_kept - KEEP_START; s++)
        ;
    return (uint8_t)s;
}

/* Of the lines up to the bar every second is forgotten. */
static void forget_half(struct wbi_preview_index *x)
{
    size_t n = KEEP_START, lesser = 0;

    for (size_t i = KEEP_START; i < x->n_kept; i++)
        if (x->kept[i].severity > x->bar || lesser++ % 2 == 0)
            x->kept[n++] = x->kept[i];
    x->n_kept = n;
}

/* The memory is full: what tells nothing is forgotten, so that what comes later finds room.
 * Where nearly all lines tell, only what is worse than most of them is kept from now on. */
static void make_room(struct wbi_preview_index *x)
{
    size_t before = x->n_kept;
    uint8_t middle;

    if (!x->full)
        forget_quiet(x);
    if (before - x->n_kept >= before / 8)
        return;
    middle = middle_severity(x);
    x->full = true;
    x->bar = middle > x->bar ? middle : x->bar;
    forget_half(x);
}

/* By much: what is not used of it is never touched, what is left behind was. */
static wb_rc grow_kept(struct wbi_preview_index *x)
{
    size_t cap = x->cap_kept ? x->cap_kept * 4 : 512;
    struct record *grown = wbi_realloc(x->kept, cap * sizeof *grown);

    if (grown == NULL)
        return WB_ENOMEM;
    x->kept = grown;
    x->cap_kept = cap;
    return WB_OK;
}

static wb_rc keep(struct wbi_preview_index *x, const struct record *r)
{
    if (x->n_kept > 0 && x->kept[x->n_kept - 1].line >= r->line)
        return WB_OK;
    if (x->n_kept == x->cap_kept && x->cap_kept >= WBI_LIMIT_PREVIEW_RECORDS) {
        make_room(x);
        if (x->n_kept == x->cap_kept)
            return WB_OK;
    }
    if (x->n_kept == x->cap_kept && grow_kept(x) != WB_OK)
        return WB_ENOMEM;
    x->kept[x->n_kept++] = *r;
    return WB_OK;
}

/* The lines just before a striking one, from the ring. */
static wb_rc keep_before(struct wbi_preview_index *x)
{
    uint64_t from = x->n_recent > KEEP_AROUND ? x->n_recent - KEEP_AROUND : 0;
    wb_rc rc = WB_OK;

    for (uint64_t i = from; i < x->n_recent && rc == WB_OK; i++)
        rc = keep(x, &x->recent[i % RECENT]);
    return rc;
}

static wb_rc remember(struct wbi_preview_index *x, const struct record *r)
{
    uint64_t count = x->shapes[r->shape].count;
    bool unknown = x->shapes[r->shape].hash == 0; /* how often its shape comes */
    bool striking = ((r->severity > 20 || r->flags & (LINE_QUERY | LINE_HEADING) || count <= 2) &&
                     count <= STRIKING_PER_SHAPE) ||
                    r->flags & LINE_ODD || (unknown && r->severity > 40);
    bool wanted = !x->full || r->severity > x->bar;
    wb_rc rc = WB_OK;

    if (r->line <= KEEP_START)
        return keep(x, r);
    if (x->recent == NULL) {
        x->recent = wbi_alloc(RECENT * sizeof *x->recent);
        if (x->recent == NULL)
            return WB_ENOMEM;
    }
    striking &= wanted;
    if (striking) {
        rc = keep_before(x);
        x->keep_after = r->severity > 40 ? KEEP_AROUND : 2;
    }
    if (rc == WB_OK && (striking || x->keep_after > 0)) {
        rc = keep(x, r);
        x->keep_after -= !striking;
    } else if (rc == WB_OK && wanted && r->flags & LINE_PEAK) {
        rc = keep(x, r);
    }
    x->recent[x->n_recent++ % RECENT] = *r;
    return rc;
}

static void count_query(struct wbi_preview_index *x, struct line_facts *f)
{
    for (uint32_t bits = f->query; bits != 0; bits &= bits - 1)
        x->query_lines[__builtin_ctz(bits)]++;
    if (f->query != 0)
        f->flags |= LINE_QUERY;
}

/* Counted up to a limit; beyond, bytes cost what they cost so far. Returns the units
 * of the start of text when they were counted. */
static uint32_t count_units(struct wbi_preview_index *x, struct wbi_str text, size_t start,
                            uint64_t bytes)
{
    uint64_t counted = 0;

    if (x->units < (uint64_t)WBI_LIMIT_PREVIEW_TOKENS * WBI_TOKEN_UNIT) {
        counted = wbi_tokens_units_of(text, start);
        x->newlines = start > 0 ? 1 : x->newlines + 1;
        x->units += counted + wbi_tokens_newline(wbi_str_head(text, start), x->newlines);
        x->units_bytes += start + 1;
        x->units_counted = x->units;
        bytes -= start;
    } else {
        bytes++; /* the newline: lines may be nothing else */
    }
    if (bytes > 0)
        x->units += bytes * x->units_counted / x->units_bytes;
    return (uint32_t)counted;
}

/* Lines of a diff quote a text; words and numbers in them tell nothing of how it went. */
static void look_past_quotes(struct wbi_preview_index *x, struct wbi_str line, struct line_facts *f)
{
    char c = line.n > 0 ? line.p[0] : ' ';

    if (f->flags & LINE_FILE)
        x->in_diff = true;
    else if (x->in_diff && strchr(" +-@\\indsorB", c) == NULL)
        x->in_diff = false;
    if (x->in_diff && (c == '+' || c == '-' || c == ' ' || c == '@')) {
        f->severity /= 4;
        f->n_numbers = 0;
    }
}

/* The next line, as far as that is known without a look: text begins with it (with its first
 * bytes, if it is long) and may go on behind it. */
static void next_record(struct wbi_preview_index *x, struct wbi_str text, uint64_t bytes,
                        uint64_t offset, struct record *ret)
{
    size_t start = bytes < WBI_LIMIT_TEXT_LINE ? (size_t)bytes : WBI_LIMIT_TEXT_LINE;

    *ret = (struct record){.offset = offset,
                           .line = ++x->lines,
                           .bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes,
                           .units = count_units(x, text, start, bytes),
                           .flags = bytes > start ? LINE_LONG : 0};
}

/* A later part of a long line tells more than what came before it. */
static bool tells_more(uint8_t before, uint8_t severity)
{
    return severity > before && (before < SURE_PART || severity > before + MUCH_SURER);
}

static void add_later(const struct later_part *later, struct line_facts *f)
{
    if (tells_more(f->severity, later->severity))
        f->hit = later->hit < UINT32_MAX ? (uint32_t)later->hit : UINT32_MAX;
    if (later->severity > f->severity)
        f->severity = later->severity;
    f->query |= later->query;
}

/* What the line says; text as above. */
static wb_rc look_at(struct wbi_preview_index *x, struct wbi_str text, struct record *r)
{
    size_t start = r->bytes < WBI_LIMIT_TEXT_LINE ? r->bytes : WBI_LIMIT_TEXT_LINE;
    struct line_facts f;
    uint16_t numbers = 0;
    wb_rc rc;

    wbi_line_look(&x->words, text, start, &f);
    if (r->flags & LINE_LONG)
        add_later(&x->later, &f);
    if (x->in_diff || f.flags & LINE_FILE)
        look_past_quotes(x, wbi_str_head(text, start), &f);
    count_query(x, &f);
    x->complaints += f.severity >= FAILURE;
    x->indents[f.indent] += !(f.flags & LINE_BLANK);
    if (f.severity > WARNING)
        wbi_kinds_count(&x->kinds, wbi_str_head(text, start), r->offset,
                        (f.flags & LINE_CODE) != 0);
    r->hit = f.hit;
    r->query = f.query;
    r->severity = f.severity;
    r->indent = f.indent;
    r->start = f.start;
    r->opening = f.opening;
    r->flags |= f.flags;
    rc = count_shape(x, f.shape, &r->shape);
    if (rc == WB_OK)
        rc = wbi_columns_add(x, &x->shapes[r->shape], r->line, &f, &numbers);
    r->flags |= numbers;
    return rc;
}

/* ---- lines that say the same ---- */

static bool is_digit(char c)
{
    return (uint8_t)(c - '0') < 10;
}

/* Both begin with a time, and it alone differs, in its digits. */
static bool differs_in_time(struct wbi_str a, struct wbi_str b, size_t start)
{
    if (start < 4 || start >= a.n || memcmp(a.p + start, b.p + start, a.n - start) != 0 ||
        (memchr(a.p, ':', start) == NULL && a.p[0] != '['))
        return false;
    for (size_t i = 0; i < start; i++)
        if (a.p[i] != b.p[i] && (!is_digit(a.p[i]) || !is_digit(b.p[i])))
            return false;
    return true;
}

enum again { NEWS, SAME, SAME_BUT_TIME };

/* Whether r, which text begins with, says what the line before said; r is that line now. */
static enum again says_again(struct wbi_preview_index *x, struct wbi_str text,
                             const struct record *r)
{
    struct wbi_str before = x->last;
    uint8_t start = x->last_start;

    x->last = r->bytes < WBI_LIMIT_TEXT_LINE ? wbi_str_head(text, r->bytes) : WBI_NONE;
    x->last_start = r->start;
    if (before.p == NULL || x->last.p == NULL || before.n != r->bytes)
        return NEWS;
    if (memcmp(before.p, text.p, before.n) == 0)
        return SAME;
    return start == r->start && !(r->flags & LINE_ODD) && differs_in_time(before, x->last, start)
               ? SAME_BUT_TIME
               : NEWS;
}

/* r, which is remembered, if it ends right before that line. */
static void count_again(struct record *r, uint64_t line, enum again again)
{
    if (r->line + r->again + 1 != line || r->again == UINT32_MAX)
        return;
    r->again++;
    r->flags |= again == SAME_BUT_TIME ? LINE_TIMES : 0;
}

/* Lines that say the same are counted with the first of them, wherever that is remembered. */
static void remember_again(struct wbi_preview_index *x, uint64_t line, enum again again)
{
    if (x->n_kept > 0)
        count_again(&x->kept[x->n_kept - 1], line, again);
    if (x->n_recent > 0)
        count_again(&x->recent[(x->n_recent - 1) % RECENT], line, again);
}

/* The text that the last line is part of goes away. */
static wb_rc hold_last(struct wbi_preview_index *x)
{
    if (x->last.p == NULL || x->last.p == x->held.p)
        return WB_OK;
    wbi_buf_clear(&x->held);
    wbi_buf_adds(&x->held, x->last);
    wbi_buf_addc(&x->held, '\n'); /* an empty line is there too */
    x->last = wbi_str_make(x->held.p, x->last.n);
    return wbi_buf_rc(&x->held);
}

static wb_rc add_line(struct wbi_preview_index *x, struct wbi_str text, uint64_t bytes,
                      uint64_t offset)
{
    struct record r;
    enum again again;
    wb_rc rc;

    next_record(x, text, bytes, offset, &r);
    rc = look_at(x, text, &r);
    if (rc != WB_OK)
        return rc;
    again = says_again(x, text, &r);
    if (again == NEWS)
        return remember(x, &r);
    remember_again(x, r.line, again);
    return WB_OK;
}

/* ---- lines that come in pieces ---- */

/* Where a word may begin: behind the first blank, if there is one. */
static struct wbi_str from_word(struct wbi_str s)
{
    size_t blank = wbi_str_index(s, ' ');

    return blank < s.n ? wbi_str_from(s, blank + 1) : s;
}

/* What lies beyond the carry is looked at; its end stays, for a word may go on. */
static void look_beyond(struct wbi_preview_index *x)
{
    struct wbi_str part = wbi_buf_str(&x->beyond), end;
    uint64_t at = x->carry.n + x->carry_more - part.n;
    struct line_facts f;

    wbi_line_look(&x->words, part, part.n, &f);
    if (tells_more(x->later.severity, f.severity))
        x->later.hit = at + f.hit;
    if (f.severity > x->later.severity)
        x->later.severity = f.severity;
    x->later.query |= f.query;
    end = from_word(wbi_str_from(part, part.n > PART_OVERLAP ? part.n - PART_OVERLAP : 0));
    memmove(x->beyond.p, end.p, end.n);
    x->beyond.n = end.n;
}

static wb_rc add_beyond(struct wbi_preview_index *x, const char *p, size_t n)
{
    wb_rc rc = WB_OK;

    if (x->beyond.n == 0 && n > 0)
        wbi_buf_adds(&x->beyond,
                     from_word(wbi_str_from(wbi_buf_str(&x->carry), x->carry.n - PART_OVERLAP)));
    while (n > 0 && rc == WB_OK) {
        size_t room = WBI_LIMIT_TEXT_LINE - x->beyond.n, take = n < room ? n : room;

        wbi_buf_add(&x->beyond, p, take);
        x->carry_more += take;
        p += take;
        n -= take;
        rc = wbi_buf_rc(&x->beyond);
        if (rc == WB_OK && take == room)
            look_beyond(x);
    }
    return rc;
}

/* The unfinished end of a piece. */
static wb_rc carry(struct wbi_preview_index *x, const char *p, size_t n)
{
    size_t room = WBI_LIMIT_TEXT_LINE - x->carry.n, take = n < room ? n : room;
    wb_rc rc;

    wbi_buf_add(&x->carry, p, take);
    rc = wbi_buf_rc(&x->carry);
    return rc == WB_OK && take < n ? add_beyond(x, p + take, n - take) : rc;
}

/* The carried line is finished; `end` is where in the text. */
static wb_rc add_carried(struct wbi_preview_index *x, uint64_t end)
{
    uint64_t bytes = x->carry.n + x->carry_more;
    wb_rc rc;

    if (x->beyond.n > 0)
        look_beyond(x);
    rc = add_line(x, wbi_buf_str(&x->carry), bytes, end - bytes);
    if (rc == WB_OK)
        rc = hold_last(x);
    wbi_buf_clear(&x->carry);
    wbi_buf_clear(&x->beyond);
    x->carry_more = 0;
    x->later = (struct later_part){0};
    return rc;
}

static wb_rc feed_looking(struct wbi_preview_index *x, struct wbi_str text)
{
    const char *p = text.p, *end = text.p + text.n, *nl;
    wb_rc rc = WB_OK;

    while (p < end && rc == WB_OK) {
        nl = memchr(p, '\n', (size_t)(end - p));
        if (nl == NULL) {
            rc = carry(x, p, (size_t)(end - p));
            break;
        }
        if (x->carry.n > 0 || nl - p > (ptrdiff_t)WBI_LIMIT_TEXT_LINE) {
            rc = carry(x, p, (size_t)(nl - p));
            if (rc == WB_OK)
                rc = add_carried(x, x->bytes + (uint64_t)(nl - text.p));
        } else {
            rc = add_line(x, wbi_str_make(p, (size_t)(end - p)), (uint64_t)(nl - p),
                          x->bytes + (uint64_t)(p - text.p));
        }
        p = nl + 1;
    }
    x->bytes += text.n;
    return rc == WB_OK ? hold_last(x) : rc;
}

/* A line of the waiting text; all of these are kept. */
static wb_rc add_waiting(struct wbi_preview_index *x, size_t bytes)
{
    struct wbi_str text = wbi_str_from(wbi_buf_str(&x->waiting), x->waiting_line);

    if (x->n_kept == x->cap_kept && grow_kept(x) != WB_OK)
        return WB_ENOMEM;
    next_record(x, text, bytes, x->waiting_line, &x->kept[x->n_kept++]);
    x->waiting_line += bytes + 1;
    return WB_OK;
}

wb_rc wbi_index_look(struct wbi_preview_index *x)
{
    struct wbi_str text = wbi_buf_str(&x->waiting), line;
    size_t n = x->n_kept;
    enum again again;
    wb_rc rc = WB_OK;

    if (x->looking)
        return WB_OK;
    x->cap_shapes = 256;
    x->shapes = wbi_zalloc_array(x->cap_shapes, sizeof *x->shapes);
    if (x->shapes == NULL)
        return WB_ENOMEM;
    x->looking = true;
    x->n_kept = 0;
    for (size_t i = 0; i < n && rc == WB_OK; i++) {
        line = wbi_str_from(text, (size_t)x->kept[i].offset);
        rc = look_at(x, line, &x->kept[i]);
        again = says_again(x, line, &x->kept[i]);
        if (again == NEWS)
            x->kept[x->n_kept++] = x->kept[i];
        else
            remember_again(x, x->kept[i].line, again);
    }
    return rc;
}

double wbi_preview_index_worst(struct wbi_preview_index *x)
{
    double worst = 0;

    if (wbi_index_look(x) != WB_OK)
        return 0;
    for (size_t i = 0; i < x->n_kept; i++) {
        const struct record *r = &x->kept[i];
        double count = (double)x->shapes[r->shape].count;

        worst = fmax(worst, r->severity / (1.0 + log2(count > 1 ? count : 1)));
    }
    return worst >= FAILURE ? worst : 0;
}

/* The text has become too large to wait; what waits behind its last looked-at line is fed. */
static wb_rc stop_waiting(struct wbi_preview_index *x)
{
    wb_rc rc = wbi_index_look(x);

    x->bytes = x->waiting_line;
    if (rc == WB_OK)
        rc = feed_looking(x, wbi_str_from(wbi_buf_str(&x->waiting), x->waiting_line));
    wbi_buf_fini(&x->waiting);
    return rc;
}

static wb_rc feed_waiting(struct wbi_preview_index *x, struct wbi_str text)
{
    const char *nl;
    wb_rc rc;

    wbi_buf_adds(&x->waiting, text);
    rc = wbi_buf_rc(&x->waiting);
    while (rc == WB_OK && x->lines < KEEP_START &&
           (nl = memchr(x->waiting.p + x->waiting_line, '\n', x->waiting.n - x->waiting_line)) !=
               NULL)
        rc = add_waiting(x, (size_t)(nl - x->waiting.p) - x->waiting_line);
    x->bytes = x->waiting.n;
    return rc == WB_OK && x->lines == KEEP_START ? stop_waiting(x) : rc;
}

wb_rc wbi_preview_index_feed(struct wbi_preview_index *x, struct wbi_str text)
{
    wb_rc rc = WB_OK;

    if (text.n == 0)
        return WB_OK;
    if (!x->looking && text.n > WAIT_BYTES - x->waiting.n)
        rc = stop_waiting(x);
    if (rc != WB_OK)
        return rc;
    return x->looking ? feed_looking(x, text) : feed_waiting(x, text);
}

wb_rc wbi_preview_index_end(struct wbi_preview_index *x)
{
    if (!x->looking && x->waiting_line < x->waiting.n)
        return add_waiting(x, x->waiting.n - x->waiting_line);
    return x->carry.n > 0 ? add_carried(x, x->bytes) : WB_OK;
}

uint64_t wbi_preview_index_lines(const struct wbi_preview_index *x)
{
    return x->lines;
}

uint64_t wbi_preview_index_tokens(const struct wbi_preview_index *x)
{
    return wbi_tokens_of_units(x->units);
}

static void pick(struct chooser *c, const struct record *r)
{
    c->picks[c->n++].rec = r;
}

wb_rc wbi_index_picks(struct chooser *c)
{
    const struct wbi_preview_index *x = c->index;
    uint64_t live = x->n_recent < RECENT ? x->n_recent : RECENT;
    size_t k = 0;

    c->n = 0;
    c->picks = wbi_arena_array(c->arena, x->n_kept + (size_t)live + 1, sizeof *c->picks);
    if (c->picks == NULL)
        return WB_ENOMEM;
    for (uint64_t i = x->n_recent - live; i < x->n_recent; i++) {
        const struct record *r = &x->recent[i % RECENT];

        while (k < x->n_kept && x->kept[k].line < r->line)
            pick(c, &x->kept[k++]);
        if (k < x->n_kept && x->kept[k].line == r->line)
            k++;
        pick(c, r);
    }
    while (k < x->n_kept)
        pick(c, &x->kept[k++]);
    return WB_OK;
}
