/* SPDX-License-Identifier: Apache-2.0
 * store/prune.c: removing the oldest rows, and the narrow reads that prune and
 * statistics need. The anchor and the rows move in one transaction. */
#include "base/checked.h"
#include "store/store_int.h"

static wb_rc bind_and_step(struct wbi_tx *tx, enum wbi_statement which, int64_t number,
                           const uint8_t *hash, struct wbi_error *err)
{
    sqlite3_stmt *st = wbi_db_statement(tx->db, which, err);
    int code;

    if (st == NULL) {
        tx->broken = true;
        return err != NULL ? err->rc : WB_EIO;
    }
    (void)sqlite3_bind_int64(st, 1, number);
    if (hash != NULL)
        (void)sqlite3_bind_blob(st, 2, hash, WBI_SHA256_SIZE, SQLITE_STATIC);
    code = sqlite3_step(st);
    (void)sqlite3_reset(st);
    (void)sqlite3_clear_bindings(st);
    if (code == SQLITE_DONE)
        return WB_OK;
    tx->broken = true;
    return wbi_db_fail(tx->db, code, "cannot remove old rows", err);
}

static wb_rc row_hash(struct wbi_db *db, int64_t seq, uint8_t ret[WBI_SHA256_SIZE],
                      struct wbi_error *err)
{
    sqlite3_stmt *st = wbi_db_statement(db, WBI_SQL_ROW_HASH, err);
    bool found;

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    (void)sqlite3_bind_int64(st, 1, seq);
    found = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_bytes(st, 0) == WBI_SHA256_SIZE;
    if (found)
        memcpy(ret, sqlite3_column_blob(st, 0), WBI_SHA256_SIZE);
    (void)sqlite3_reset(st);
    return found ? WB_OK
                 : wbi_fail(err, WB_ENOTFOUND, "ledger: there is no row %lld", (long long)seq);
}

static int64_t first_number(sqlite3_stmt *st, int *ret_code)
{
    int64_t n = 0;

    *ret_code = sqlite3_step(st);
    if (*ret_code == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    return n;
}

/* The anchor is part of what the tail may be read from: forget what is known. */
wb_rc wbi_tx_prune(struct wbi_tx *tx, int64_t upto, int64_t max, int64_t *ret,
                   struct wbi_error *err)
{
    sqlite3_stmt *open = wbi_db_statement(tx->db, WBI_SQL_FIRST_OPEN, err);
    sqlite3_stmt *anchor = wbi_db_statement(tx->db, WBI_SQL_ANCHOR, err);
    uint8_t hash[WBI_SHA256_SIZE];
    int64_t first_open, from, to;
    int code;
    wb_rc rc;

    if (open == NULL || anchor == NULL) {
        tx->broken = true;
        return err != NULL ? err->rc : WB_EIO;
    }
    first_open = first_number(open, &code);
    (void)sqlite3_reset(open);
    from = first_number(anchor, &code);
    (void)sqlite3_reset(anchor);
    if (first_open > 0 && first_open <= upto)
        return wbi_fail(err, WB_EAGAIN, "ledger: row %lld belongs to a call that still runs",
                        (long long)first_open);
    to = WBI_MIN(upto, from + max);
    *ret = WBI_MAX(from, to);
    if (to <= from)
        return WB_OK;
    rc = row_hash(tx->db, to, hash, err);
    if (rc == WB_OK)
        rc = bind_and_step(tx, WBI_SQL_ANCHOR_PUT, to, hash, err);
    if (rc == WB_OK)
        rc = bind_and_step(tx, WBI_SQL_PRUNE, to, NULL, err);
    if (rc == WB_OK)
        tx->changed = true;
    return rc;
}

static wb_rc read_number(struct wbi_store *s, enum wbi_statement which, const int64_t *bind,
                         int64_t *ret, struct wbi_error *err)
{
    sqlite3_stmt *st;
    int64_t n;
    int code;
    wb_rc rc = wbi_read_begin(s, which, &st, err);

    if (rc != WB_OK)
        return rc;
    if (bind != NULL)
        (void)sqlite3_bind_int64(st, 1, *bind);
    n = first_number(st, &code);
    rc = wbi_read_end(s, st, code, WB_OK, err);
    if (rc == WB_OK)
        *ret = n;
    return rc;
}

wb_rc wbi_store_first_since(struct wbi_store *s, int64_t time_ms, int64_t *ret,
                            struct wbi_error *err)
{
    return read_number(s, WBI_SQL_FIRST_SINCE, &time_ms, ret, err);
}

wb_rc wbi_store_first_open(struct wbi_store *s, int64_t *ret, struct wbi_error *err)
{
    return read_number(s, WBI_SQL_FIRST_OPEN, NULL, ret, err);
}

wb_rc wbi_store_row_hash(struct wbi_store *s, int64_t seq, struct wbi_witness *ret,
                         struct wbi_error *err)
{
    struct wbi_witness w = {.seq = seq};
    sqlite3_stmt *st;
    wb_rc found, rc = wbi_read_begin(s, WBI_SQL_OWNERS, &st, err); /* any: it opens and locks */

    if (rc != WB_OK)
        return rc;
    found = row_hash(&s->reader, seq, w.hash, err);
    rc = wbi_read_end(s, st, SQLITE_DONE, WB_OK, found == WB_OK ? err : NULL);
    if (rc == WB_OK && found == WB_OK)
        *ret = w;
    return rc == WB_OK ? found : rc;
}

static struct wbi_str slice(sqlite3_stmt *st, int column)
{
    const char *p = (const char *)sqlite3_column_text(st, column);

    return wbi_str_make(p, (size_t)sqlite3_column_bytes(st, column));
}

static void glance(sqlite3_stmt *st, struct wbi_glance *g)
{
    *g = (struct wbi_glance){.seq = sqlite3_column_int64(st, 0),
                             .time_ms = sqlite3_column_int64(st, 1),
                             .duration_us = sqlite3_column_int64(st, 2),
                             .call_id = slice(st, 3),
                             .tool = slice(st, 4),
                             .status = slice(st, 5),
                             .error_kind = slice(st, 6),
                             .canonical = slice(st, 7),
                             .result = slice(st, 8),
                             .receipt = slice(st, 9),
                             .artifacts = slice(st, 10)};
}

wb_rc wbi_store_scan(struct wbi_store *s, const struct wbi_row_query *query,
                     void (*each)(void *, const struct wbi_glance *), void *arg,
                     struct wbi_error *err)
{
    struct wbi_row_query q = *query;
    size_t n = WBI_LIMIT_SCAN_ROWS;
    wb_rc rc = WB_OK;

    q.newest_first = false;
    q.call_id = q.provider_call_id = WBI_NONE;
    while (rc == WB_OK && n == WBI_LIMIT_SCAN_ROWS) {
        int code = SQLITE_DONE;
        sqlite3_stmt *st;
        rc = wbi_read_begin(s, WBI_SQL_SCAN, &st, err);
        if (rc != WB_OK)
            return rc;
        wbi_read_bind(st, &q, WBI_LIMIT_SCAN_ROWS);
        for (n = 0; (code = sqlite3_step(st)) == SQLITE_ROW; n++) {
            struct wbi_glance g;
            glance(st, &g);
            each(arg, &g);
            q.after_seq = g.seq;
        }
        rc = wbi_read_end(s, st, code, WB_OK, err);
    }
    return rc;
}
