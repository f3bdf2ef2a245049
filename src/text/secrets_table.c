/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_table.c: columns of secrets. A line of nothing but names, one of them telling,
 * between commas, semicolons or tabs heads a table that goes on while lines have as many fields. */
#include "base/hash.h"
#include "text/secrets_int.h"

#define HEAD_MAX 512u
#define ROW_MAX 4096u
#define NAME_MAX_IN_HEAD 40u

struct field {
    struct wbi_str text; /* without its quotes */
    char quote;          /* 0: none */
    size_t next;         /* behind what ends it */
    bool last;           /* in its line */
};

static bool ends_field(struct wbi_str t, size_t i, char separator)
{
    return i == t.n || t.p[i] == separator || t.p[i] == '\n';
}

/* The field at i; false where quotes do not belong together. */
static bool read_field(struct wbi_str t, size_t i, char separator, struct field *ret)
{
    size_t from, end;

    while (i < t.n && t.p[i] == ' ')
        i++;
    *ret = (struct field){.quote = i < t.n && t.p[i] == '"' ? '"' : 0};
    from = i + (ret->quote != 0);
    for (end = from; end < t.n && t.p[end] != '\n' && t.p[end] != (ret->quote ? '"' : separator);)
        end++;
    i = end;
    if (ret->quote != 0 && (i == t.n || t.p[i++] != '"'))
        return false;
    while (i < t.n && t.p[i] == ' ')
        i++;
    while (ret->quote == 0 && end > from && t.p[end - 1] == ' ')
        end--;
    ret->text = wbi_str_make(t.p + from, end - from);
    ret->last = i == t.n || t.p[i] == '\n';
    ret->next = i + (i < t.n);
    return ends_field(t, i, separator);
}

/* Letters, digits, _ - . and blanks, a letter first. */
static bool is_name(struct wbi_str v)
{
    if (v.n == 0 || v.n > NAME_MAX_IN_HEAD || wbi_run(v, 0, A_LETTER) == 0)
        return false;
    for (size_t i = 0; i < v.n; i++)
        if (!wbi_in_alphabet((uint8_t)v.p[i], A_WORD) && v.p[i] != ' ' && v.p[i] != '.')
            return false;
    return true;
}

/* Blanks of a name are as good as underscores. */
static enum strength strength_of_column(struct wbi_str name)
{
    char low[NAME_MAX_IN_HEAD];

    for (size_t i = 0; i < name.n; i++)
        low[i] = (char)(name.p[i] == ' ' ? '_' : name.p[i]);
    return wbi_name_strength(wbi_str_make(low, name.n));
}

static char separator_of(struct wbi_str line)
{
    size_t i = 0;

    while (i < line.n && strchr(",;\t", line.p[i]) == NULL)
        i++;
    return (char)(i < line.n ? line.p[i] : 0);
}

static uint32_t hash_of(struct wbi_str v)
{
    return (uint32_t)wbi_hash64(v.p, v.n, 0);
}

/* The columns that a line of names tells; false when it is none, or none of them is telling. */
static bool read_head(struct wbi_str line, struct wbi_secrets_table *ret)
{
    struct field f = {.last = false};

    *ret = (struct wbi_secrets_table){.separator = separator_of(line)};
    if (ret->separator == 0)
        return false;
    for (size_t i = 0; !f.last; i = f.next) {
        enum strength s;

        if (!read_field(line, i, ret->separator, &f) || !is_name(f.text) ||
            ret->columns == UINT8_MAX)
            return false;
        if (i == 0)
            ret->first = hash_of(f.text);
        s = strength_of_column(f.text);
        if (s >= STRONG && ret->n < WBI_SECRETS_COLUMNS) {
            ret->column[ret->n] = ret->columns;
            ret->strength[ret->n++] = (uint8_t)s;
        }
        ret->columns++;
    }
    return ret->columns > 1 && ret->n > 0;
}

void wbi_columns_head(struct table *table, struct wbi_str t, size_t at, size_t floor)
{
    size_t from = wbi_near_line_start(t, at), n;
    struct wbi_secrets_table of;

    if (table->of.separator != 0 && from >= table->from && from < table->end)
        return; /* a row of the one under way: reading ahead once is enough */
    if (from == table->tried || from < floor || (from > 0 && t.p[from - 1] != '\n'))
        return;
    table->tried = from;
    n = wbi_str_index(wbi_str_head(wbi_str_from(t, from), HEAD_MAX), '\n');
    if (from + n == t.n || t.p[from + n] != '\n' || !read_head(wbi_str_make(t.p + from, n), &of))
        return;
    table->of = of;
    table->from = table->row = from + n + 1;
    table->end = NOWHERE;
    table->fresh = true;
}

/* As many fields as the head, in one line, and not once more its first name, as in a list of
 * statements. */
static bool is_row(const struct wbi_secrets_table *of, struct wbi_str t, size_t row,
                   size_t *ret_next)
{
    struct wbi_str line = wbi_str_head(wbi_str_from(t, row), ROW_MAX);
    struct field f = {.last = false};
    size_t n = 0;

    for (size_t i = 0; !f.last; i = f.next, n++)
        if (!read_field(line, i, of->separator, &f) || (i == 0 && hash_of(f.text) == of->first))
            return false;
    *ret_next = row + f.next;
    return n == of->columns && line.n > 0 && (line.n < ROW_MAX || f.next < line.n);
}

/* A value under a telling name, judged as one that stands behind it. */
static bool is_secret(struct wbi_str v, char quote, enum strength strength)
{
    for (size_t i = 0; i < v.n; i++)
        if ((uint8_t)v.p[i] <= ' ')
            return false;
    return v.n >= PASSWORD_MIN && !wbi_stand_in(v) && !wbi_placeholder(v) &&
           ((strength == PASSWORD && wbi_like_password(v, quote, true, false)) ||
            wbi_like_random(v, strength));
}

/* The first secret of a row at or after from. */
static bool in_row(const struct table *table, const struct wbi_secrets *set, struct wbi_str t,
                   size_t from, struct secret *ret)
{
    const struct wbi_secrets_table *of = &table->of;
    struct field f = {.next = table->row};

    for (size_t column = 0, k = 0; column < of->columns && k < of->n; column++) {
        size_t at;

        if (!read_field(t, f.next, of->separator, &f))
            return false;
        if (of->column[k] != column)
            continue;
        at = wbi_skip_masks(set, t, (size_t)(f.text.p - t.p));
        f.text = wbi_str_from(f.text, at - (size_t)(f.text.p - t.p));
        if (at >= from && is_secret(f.text, f.quote, (enum strength)of->strength[k]))
            return wbi_found(ret, at, at + f.text.n, "secret-value");
        k++;
    }
    return false;
}

bool wbi_columns_next(struct table *table, const struct wbi_secrets *set, struct wbi_str t,
                      size_t from, struct secret *ret)
{
    size_t next;

    while (table->end == NOWHERE && table->row < t.n) {
        if (!is_row(&table->of, t, table->row, &next)) {
            table->end = table->row;
            return false;
        }
        if (next > from && in_row(table, set, t, from, ret))
            return true;
        table->row = next;
    }
    return false;
}

void wbi_columns_start(struct table *table, const struct wbi_secrets_table *carried)
{
    *table = (struct table){.of = *carried, .tried = NOWHERE, .end = NOWHERE};
    if (carried->separator == 0)
        table->end = 0;
}

bool wbi_columns_goes_on(const struct table *table, size_t at)
{
    return table->of.separator != 0 && table->from <= at && table->end >= at;
}
