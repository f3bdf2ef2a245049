/* SPDX-License-Identifier: Apache-2.0
 * text/preview_row.c: rows of a table that hold names are all different, and by their words
 * none stands out. But most are made of the same marks and fields, and some columns say one of
 * few things: a row with a mark, a field or a word in such a column that hardly another has is
 * worth showing. */
#include "text/preview_bits_int.h"

#define ROWS_MIN 24u
#define SAMPLE 16u      /* lines that tell whether there is a table */
#define SAMPLE_ROWS 10u /* of those that have columns then */
#define KINDS 1024u     /* slots; of two kinds that share one neither stands out */
#define CELLS 4096u
#define ROW_BYTES 240u /* of a line that are looked at */
#define ONE_KIND_IN 8u /* more kinds than one in so many rows say nothing */
#define FIELDS 12u
#define FIELDS_MIN 3u
#define RARE_MAX 2u

/* What a line is made of. */
struct row {
    uint16_t kind;         /* slot of its marks, names and wide blanks in their order */
    uint16_t cell[FIELDS]; /* slots of its fields: column and what it says, digits alike */
    uint16_t n;
};

struct table {
    uint16_t kinds[KINDS];
    uint16_t cells[CELLS];
    uint32_t rows[FIELDS];
    uint32_t words[FIELDS]; /* different ones of a column */
    uint32_t n_kinds;
};

static bool in_name(uint8_t c)
{
    return class_of[c] == C_LETTER || class_of[c] == C_DIGIT || class_of[c] == C_HIGH;
}

/* Where the name at i ends. Marks within a name are part of it. */
static size_t name_end(struct wbi_str s, size_t i)
{
    const uint8_t *p = (const uint8_t *)s.p;

    while (i < s.n && (in_name(p[i]) || (i + 1 < s.n && in_name(p[i + 1]) &&
                                         (class_of[p[i]] == C_JOIN || class_of[p[i]] == C_SLASH ||
                                          p[i] == ':' || p[i] == '@'))))
        i++;
    return i;
}

static void add_cell(struct row *r, const char *p, size_t n)
{
    const uint8_t *at = (const uint8_t *)p, *end = at + n;
    uint64_t h = r->n + HASH_START;

    if (r->n == FIELDS)
        return;
    for (; at < end; at += 8) {
        uint64_t v = load_8(at, end), digit = digits_of(v) & BYTES(0x80);

        h = mix(h, v & ~(digit - (digit >> 7) + digit));
    }
    r->cell[r->n++] = (uint16_t)(h >> 40) & (CELLS - 1);
}

static void read_row(struct wbi_str s, struct row *r)
{
    uint64_t h = HASH_START;
    size_t i = 0, cell = 0;

    r->n = 0;
    while (i < s.n && s.p[i] == ' ')
        cell = ++i;
    while (i < s.n) {
        size_t from = i, to = name_end(s, i);
        char c = s.p[i];

        if (to > i) {
            h = mix(h, 1);
            i = to;
            continue;
        }
        while (i < s.n && s.p[i] == c)
            i++;
        if (c == '\t' || c == '|' || c == ',' || (c == ' ' && i - from > 1)) {
            add_cell(r, s.p + cell, from - cell);
            while (i < s.n && s.p[i] == ' ')
                i++;
            cell = i;
        }
        if ((c != ' ' || i - from > 1) && i < s.n)
            h = mix(h, (uint8_t)c);
    }
    if (cell < s.n)
        add_cell(r, s.p + cell, s.n - cell);
    r->kind = (uint16_t)(h >> 40) & (KINDS - 1);
}

static struct wbi_str line_of(const struct chooser *c, size_t i)
{
    const struct record *r = c->picks[i].rec;
    struct wbi_str text = wbi_str_from(wbi_buf_str(&c->index->waiting), (size_t)r->offset);

    return wbi_str_head(text, r->bytes < ROW_BYTES ? r->bytes : ROW_BYTES);
}

/* The highest bit of each byte of v that is c. */
static uint64_t bytes_equal(uint64_t v, uint8_t c)
{
    uint64_t x = v ^ BYTES(c);

    return (x - BYTES(1)) & ~x & BYTES(0x80);
}

/* Behind its indentation it has two blanks in a row, a tab, a bar, or a comma before no blank. */
static bool has_columns(struct wbi_str s)
{
    const uint8_t *p = (const uint8_t *)s.p, *end = p + s.n;

    while (p < end && *p == ' ')
        p++;
    for (; p < end; p += 7) {
        uint64_t v = load_8(p, end), blank = bytes_equal(v, ' ');

        if ((blank & blank << 8) != 0 || bytes_equal(v, '\t') != 0 || bytes_equal(v, '|') != 0 ||
            (bytes_equal(v, ',') << 8 & ~blank) != 0)
            return true;
    }
    return false;
}

/* Some rows from all over it tell: texts are no tables, mostly. */
static bool is_table(const struct chooser *c)
{
    size_t rows = 0;

    for (size_t i = 0; i < SAMPLE; i++)
        rows += has_columns(line_of(c, i * c->n / SAMPLE));
    return rows >= SAMPLE_ROWS;
}

static void count_row(struct table *t, const struct row *r)
{
    t->n_kinds += t->kinds[r->kind]++ == 0;
    for (size_t f = 0; f < r->n && r->n >= FIELDS_MIN; f++) {
        t->rows[f]++;
        t->words[f] += t->cells[r->cell[f]]++ == 0;
    }
}

static bool is_rare(const struct table *t, size_t lines, const struct row *r)
{
    if (t->n_kinds * ONE_KIND_IN <= lines && t->kinds[r->kind] <= RARE_MAX)
        return true;
    for (size_t f = 0; f < r->n && r->n >= FIELDS_MIN; f++)
        if (t->rows[f] >= ROWS_MIN && t->words[f] * ONE_KIND_IN <= t->rows[f] &&
            t->cells[r->cell[f]] <= RARE_MAX)
            return true;
    return false;
}

wb_rc wbi_rows_rare(struct chooser *c, bool **ret)
{
    struct table *t;
    struct row *rows;
    bool *rare;

    *ret = NULL;
    if (c->index->waiting.n == 0 || c->n < ROWS_MIN || !is_table(c))
        return WB_OK;
    t = wbi_arena_zalloc(c->arena, sizeof *t);
    rows = wbi_arena_array(c->arena, c->n, sizeof *rows);
    rare = wbi_arena_array(c->arena, c->n, sizeof *rare);
    if (t == NULL || rows == NULL || rare == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; i < c->n; i++) {
        read_row(line_of(c, i), &rows[i]);
        count_row(t, &rows[i]);
    }
    for (size_t i = 0; i < c->n; i++)
        rare[i] = is_rare(t, c->n, &rows[i]);
    *ret = rare;
    return WB_OK;
}
