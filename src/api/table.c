/* SPDX-License-Identifier: Apache-2.0
 * api/table.c: a JSON array of objects as aligned text. */
#include "api/api_int.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/pointer.h"
#include "text/hygiene.h"

#define COLUMNS_MAX 16
#define GAP 2
#define COLUMN_MAX 64 /* on a terminal, of all but the last: the length of a tool's name */

struct table {
    const wbi_json *rows;
    struct wbi_arena *arena;
    struct wbi_str names[COLUMNS_MAX];
    struct wbi_str heads[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX];
    size_t columns;
};

/* One line that a terminal shows as it is: what a model or a file made up may hold what moves
 * the cursor, cannot be seen or runs backwards. What is absent shows as "-". */
static struct wbi_str cell(struct table *t, const wbi_json *row, size_t column)
{
    const wbi_json *v = NULL;
    struct wbi_buf text, line;
    struct wbi_str all;

    if (t->names[column].n == 0 || t->names[column].p[0] != '/')
        v = wbi_json_getn(row, t->names[column]);
    else if (wbi_json_pointer(row, t->names[column], &v, NULL) != WB_OK)
        v = NULL;
    if (v == NULL || wbi_json_is(v, WBI_JSON_NULL))
        return WBI_LIT("-");
    all = wbi_json_str(v);
    if (!wbi_json_is(v, WBI_JSON_STR)) {
        wbi_buf_init_arena(&text, t->arena, WBI_LIMIT_JSON_TEXT);
        wbi_json_write(&text, v);
        all = wbi_buf_str(&text);
    }
    if (wbi_utf8_control(all) == all.n && wbi_hygiene_is_clean(all))
        return all; /* most are; a table may have very many */
    wbi_buf_init_arena(&line, t->arena, WBI_LIMIT_JSON_TEXT);
    for (size_t n; all.n > 0; all = wbi_str_from(all, WBI_MIN(n + 1, all.n))) {
        n = wbi_utf8_control(all);
        wbi_hygiene_one_line(wbi_str_head(all, n), &line);
        if (n == all.n)
            break;
        wbi_buf_addc(&line, ' ');
        n += (uint8_t)all.p[n] >= 0x80; /* of two bytes */
    }
    return wbi_buf_str(&line);
}

static wb_rc read_columns(struct table *t, const char *const *columns, size_t count,
                          struct wbi_error *err)
{
    if (count == 0 || count > COLUMNS_MAX)
        return wbi_fail(err, WB_EMISUSE, "a table has 1 to %d columns", COLUMNS_MAX);
    t->columns = count;
    for (size_t i = 0; i < count; i++) {
        struct wbi_str spec = wbi_str_z(columns[i]);
        size_t at = wbi_str_index(spec, '=');
        t->names[i] = wbi_str_head(spec, at);
        t->heads[i] = at < spec.n ? wbi_str_from(spec, at + 1) : t->names[i];
        t->widths[i] = wbi_utf8_count(t->heads[i]);
    }
    return WB_OK;
}

static void measure(struct table *t)
{
    WBI_JSON_EACH (t->rows, row) {
        for (size_t i = 0; i < t->columns; i++) {
            size_t n = wbi_utf8_count(cell(t, row, i));
            if (n > t->widths[i])
                t->widths[i] = n;
        }
    }
}

/* The last column gives way first, the others stay, unless a caller's text is in them. */
static void fit(struct table *t, size_t width)
{
    size_t before = 0, last = t->columns - 1;

    for (size_t i = 0; i < last; i++) {
        if (width > 0 && t->widths[i] > COLUMN_MAX)
            t->widths[i] = COLUMN_MAX;
        before += t->widths[i] + GAP;
    }
    if (width > 0 && before + t->widths[last] > width)
        t->widths[last] = before + 10 < width ? width - before : 10;
}

static void put_cell(struct wbi_buf *out, struct wbi_str s, size_t width, bool last)
{
    size_t chars = wbi_utf8_count(s);

    if (chars > width && width > 1) {
        wbi_buf_adds(out, wbi_str_head(s, wbi_utf8_cut_chars(s, width - 1)));
        wbi_buf_addz(out, "\xe2\x80\xa6");
        chars = width;
    } else {
        wbi_buf_adds(out, s);
    }
    for (; !last && chars < width + GAP; chars++)
        wbi_buf_addc(out, ' ');
}

static void put_table(struct table *t, struct wbi_buf *out)
{
    for (size_t i = 0; i < t->columns; i++)
        put_cell(out, t->heads[i], t->widths[i], i + 1 == t->columns);
    wbi_buf_addc(out, '\n');
    WBI_JSON_EACH (t->rows, row) {
        for (size_t i = 0; i < t->columns; i++)
            put_cell(out, cell(t, row, i), t->widths[i], i + 1 == t->columns);
        wbi_buf_addc(out, '\n');
    }
}

wb_rc wb_json_table(const char *text, size_t size, const char *const *columns, size_t column_count,
                    size_t width, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct table t = {.columns = 0};
    struct wbi_buf out;
    wb_rc rc;

    if (text == NULL || columns == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_json_table: NULL");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &t.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_json_read(t.arena, wbi_str_make(text, size), WBI_JSON_STRICT, &t.rows, &err);
    if (rc == WB_OK && !wbi_json_is(t.rows, WBI_JSON_ARR))
        rc = wbi_fail(&err, WB_EINPUT, "a table needs a JSON array");
    if (rc == WB_OK)
        rc = read_columns(&t, columns, column_count, &err);
    if (rc == WB_OK) {
        measure(&t);
        fit(&t, width);
        put_table(&t, &out);
    }
    wbi_arena_free(t.arena);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}
