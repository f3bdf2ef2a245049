/* SPDX-License-Identifier: Apache-2.0
 * text/preview_index.c: the first pass of a preview. Every line is looked at
 * once; shapes are counted; the start, the last RECENT lines and striking
 * lines with their surroundings are remembered as records of fixed size. A
 * shape seen often stops being striking, so a flood of equal complaints does
 * not fill the memory. */
#include "text/preview_int.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "text/tokens.h"

#define KEEP_START 2000u /* lines remembered from the start, whatever they are */
#define KEEP_AROUND 24u  /* lines remembered before and after a striking one */
#define WARNING 20u      /* severity of lines whose kinds are counted */
#define STRIKING_PER_SHAPE 64u

wb_rc wbi_preview_index_new(struct wbi_str command, struct wbi_preview_index **ret)
{
    struct wbi_preview_index *x = wbi_zalloc(sizeof *x);

    if (x == NULL)
        return WB_ENOMEM;
    wbi_words_init(&x->words, command);
    wbi_buf_init(&x->carry, WBI_LIMIT_TEXT_LINE);
    x->cap_shapes = 256;
    x->shapes = wbi_zalloc_array(x->cap_shapes, sizeof *x->shapes);
    if (x->shapes == NULL) {
        wbi_preview_index_free(x);
        return WB_ENOMEM;
    }
    *ret = x;
    return WB_OK;
}

void wbi_preview_index_free(struct wbi_preview_index *x)
{
    if (x == NULL)
        return;
    wbi_buf_fini(&x->carry);
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

static wb_rc keep(struct wbi_preview_index *x, const struct record *r)
{
    struct record *grown;
    size_t cap;

    if (x->n_kept > 0 && x->kept[x->n_kept - 1].line >= r->line)
        return WB_OK;
    if (x->n_kept == x->cap_kept) {
        if (x->cap_kept >= WBI_LIMIT_PREVIEW_RECORDS)
            return WB_OK;
        cap = x->cap_kept ? x->cap_kept * 2 : 512;
        grown = wbi_realloc(x->kept, cap * sizeof *grown);
        if (grown == NULL)
            return WB_ENOMEM;
        x->kept = grown;
        x->cap_kept = cap;
    }
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
    bool striking = ((r->severity > 20 || r->flags & (LINE_QUERY | LINE_HEADING) || count <= 2) &&
                     count <= STRIKING_PER_SHAPE) ||
                    r->flags & LINE_ODD;
    wb_rc rc = WB_OK;

    if (x->lines < KEEP_START)
        return keep(x, r);
    if (x->recent == NULL) {
        x->recent = wbi_zalloc_array(RECENT, sizeof *x->recent);
        if (x->recent == NULL)
            return WB_ENOMEM;
    }
    if (striking) {
        rc = keep_before(x);
        x->keep_after = r->severity > 40 ? KEEP_AROUND : 2;
    }
    if (rc == WB_OK && (striking || x->keep_after > 0)) {
        rc = keep(x, r);
        x->keep_after -= !striking;
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
        x->units += counted + WBI_TOKEN_UNIT / 2;
        x->units_bytes += start + 1;
        x->units_counted = x->units;
        bytes -= start;
    }
    if (bytes > 0)
        x->units += bytes * x->units_counted / x->units_bytes;
    return (uint32_t)counted;
}

/* One line: text begins with it (with its first bytes, if it is long) and may go on
 * behind it. */
static wb_rc add_line(struct wbi_preview_index *x, struct wbi_str text, uint64_t bytes,
                      uint64_t offset)
{
    struct wbi_str start =
        wbi_str_head(text, bytes < WBI_LIMIT_TEXT_LINE ? (size_t)bytes : WBI_LIMIT_TEXT_LINE);
    struct line_facts f;
    struct record r;
    bool odd = false;
    wb_rc rc;

    wbi_line_look(&x->words, text, start.n, &f);
    count_query(x, &f);
    if (f.severity >= WARNING)
        wbi_kinds_count(&x->kinds, start, offset, (f.flags & LINE_CODE) != 0);
    r = (struct record){.offset = offset,
                        .line = x->lines + 1,
                        .units = count_units(x, text, start.n, bytes),
                        .hit = f.hit,
                        .query = f.query,
                        .severity = f.severity,
                        .indent = f.indent,
                        .start = f.start,
                        .flags = f.flags};
    r.bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    if (bytes > start.n)
        r.flags |= LINE_LONG;
    rc = count_shape(x, f.shape, &r.shape);
    if (rc == WB_OK)
        rc = wbi_columns_add(x, &x->shapes[r.shape], &f, &odd);
    if (odd)
        r.flags |= LINE_ODD;
    if (rc == WB_OK)
        rc = remember(x, &r);
    x->lines++;
    return rc;
}

/* The unfinished end of a piece. */
static wb_rc carry(struct wbi_preview_index *x, const char *p, size_t n)
{
    size_t room = WBI_LIMIT_TEXT_LINE - x->carry.n, take = n < room ? n : room;

    wbi_buf_add(&x->carry, p, take);
    x->carry_more += n - take;
    return wbi_buf_rc(&x->carry);
}

wb_rc wbi_preview_index_feed(struct wbi_preview_index *x, struct wbi_str text)
{
    const char *p = text.p, *end = text.p + text.n, *nl;
    uint64_t long_bytes;
    wb_rc rc = WB_OK;

    while (p < end && rc == WB_OK) {
        nl = memchr(p, '\n', (size_t)(end - p));
        if (nl == NULL) {
            rc = carry(x, p, (size_t)(end - p));
            break;
        }
        if (x->carry.n > 0) {
            rc = carry(x, p, (size_t)(nl - p));
            long_bytes = x->carry.n + x->carry_more;
            if (rc == WB_OK)
                rc = add_line(x, wbi_buf_str(&x->carry), long_bytes,
                              x->bytes + (uint64_t)(nl - text.p) - long_bytes);
            wbi_buf_clear(&x->carry);
            x->carry_more = 0;
        } else {
            rc = add_line(x, wbi_str_make(p, (size_t)(end - p)), (uint64_t)(nl - p),
                          x->bytes + (uint64_t)(p - text.p));
        }
        p = nl + 1;
    }
    x->bytes += text.n;
    return rc;
}

wb_rc wbi_preview_index_end(struct wbi_preview_index *x)
{
    uint64_t bytes = x->carry.n + x->carry_more;
    wb_rc rc = WB_OK;

    if (bytes > 0) {
        rc = add_line(x, wbi_buf_str(&x->carry), bytes, x->bytes - bytes);
        wbi_buf_clear(&x->carry);
        x->carry_more = 0;
    }
    return rc;
}

uint64_t wbi_preview_index_lines(const struct wbi_preview_index *x)
{
    return x->lines;
}

uint64_t wbi_preview_index_bytes(const struct wbi_preview_index *x)
{
    return x->bytes;
}

uint64_t wbi_preview_index_tokens(const struct wbi_preview_index *x)
{
    return wbi_tokens_of_units(x->units);
}

wb_rc wbi_index_records(const struct wbi_preview_index *x, struct wbi_arena *arena,
                        const struct record ***ret, size_t *ret_n)
{
    uint64_t live = x->n_recent < RECENT ? x->n_recent : RECENT;
    const struct record **all = wbi_arena_array(arena, x->n_kept + (size_t)live + 1, sizeof *all);
    size_t n = 0, k = 0;

    if (all == NULL)
        return WB_ENOMEM;
    for (uint64_t i = x->n_recent - live; i < x->n_recent; i++) {
        const struct record *r = &x->recent[i % RECENT];

        while (k < x->n_kept && x->kept[k].line < r->line)
            all[n++] = &x->kept[k++];
        if (k < x->n_kept && x->kept[k].line == r->line)
            k++;
        all[n++] = r;
    }
    while (k < x->n_kept)
        all[n++] = &x->kept[k++];
    *ret = all;
    *ret_n = n;
    return WB_OK;
}
