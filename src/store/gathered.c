/* SPDX-License-Identifier: Apache-2.0
 * store/gathered.c: rows that one statement inserts. A statement a row spends a quarter
 * of its time on beginning and ending. To SQLite the rows are a table that can only be
 * read from its start to its end; their texts are taken from where they lie. */
#include "store/store_int.h"

#define TABLE "CREATE TABLE gathered (" WBI_ROW_COLUMNS ")"

struct table {
    sqlite3_vtab base; /* first: SQLite hands it back */
    const struct wbi_gathered *rows;
};

struct cursor {
    sqlite3_vtab_cursor base; /* first */
    const struct wbi_gathered *rows;
    size_t at;
};

static int on_connect(sqlite3 *sql, void *arg, int argc, const char *const *argv,
                      sqlite3_vtab **ret, char **ret_why)
{
    struct table *t = sqlite3_malloc(sizeof(*t));

    (void)argc;
    (void)argv;
    (void)ret_why;
    if (t == NULL)
        return SQLITE_NOMEM;
    *t = (struct table){.rows = arg};
    *ret = &t->base;
    return sqlite3_declare_vtab(sql, TABLE);
}

static int on_disconnect(sqlite3_vtab *t)
{
    sqlite3_free(t);
    return SQLITE_OK;
}

static int on_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
    (void)t;
    info->estimatedRows = WBI_GATHERED_MOST;
    return SQLITE_OK;
}

static int on_open(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
    struct cursor *c = sqlite3_malloc(sizeof(*c));

    if (c == NULL)
        return SQLITE_NOMEM;
    *c = (struct cursor){.rows = ((struct table *)t)->rows};
    *ret = &c->base;
    return SQLITE_OK;
}

static int on_close(sqlite3_vtab_cursor *c)
{
    sqlite3_free(c);
    return SQLITE_OK;
}

static int on_rewind(sqlite3_vtab_cursor *c, int plan, const char *text, int argc,
                     sqlite3_value **argv)
{
    (void)plan;
    (void)text;
    (void)argc;
    (void)argv;
    ((struct cursor *)c)->at = 0;
    return SQLITE_OK;
}

static int on_next(sqlite3_vtab_cursor *c)
{
    ((struct cursor *)c)->at++;
    return SQLITE_OK;
}

static int on_end(sqlite3_vtab_cursor *cursor)
{
    const struct cursor *c = (struct cursor *)cursor;

    return c->at >= c->rows->n;
}

/* Where the texts are in a row, in their order. */
#define X(name) offsetof(struct wbi_row, name),
static const size_t places[WBI_ROW_TEXT_COUNT] = {WBI_ROW_TEXTS(X)};
#undef X

/* In the order of WBI_ROW_COLUMNS. */
static int on_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
    const struct cursor *c = (struct cursor *)cursor;
    const struct wbi_row *row = c->rows->rows[c->at];
    const struct wbi_str *text;

    if (column == 0) {
        sqlite3_result_int64(to, row->seq);
    } else if (column == 1) {
        sqlite3_result_int64(to, row->time_ms);
    } else if (column == 2) {
        sqlite3_result_int64(to, row->duration_us);
    } else if (column == 3) {
        sqlite3_result_blob(to, row->hash, WBI_SHA256_SIZE, SQLITE_STATIC);
    } else {
        text = (const void *)((const char *)row + places[column - 4]);
        if (text->p != NULL)
            sqlite3_result_text64(to, text->p, text->n, SQLITE_STATIC, SQLITE_UTF8);
    }
    return SQLITE_OK;
}

static int on_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)((struct cursor *)c)->at;
    return SQLITE_OK;
}

/* Without xCreate: it is there under its own name, and no file can hold one. */
static const sqlite3_module module = {
    .xConnect = on_connect,
    .xBestIndex = on_plan,
    .xDisconnect = on_disconnect,
    .xOpen = on_open,
    .xClose = on_close,
    .xFilter = on_rewind,
    .xNext = on_next,
    .xEof = on_end,
    .xColumn = on_column,
    .xRowid = on_rowid,
};

wb_rc wbi_gathered_open(struct wbi_db *db, struct wbi_gathered *rows, struct wbi_error *err)
{
    int code = sqlite3_create_module_v2(db->sql, "gathered", &module, rows, NULL);

    return code == SQLITE_OK ? WB_OK : wbi_db_fail(db, code, "cannot prepare a statement", err);
}
