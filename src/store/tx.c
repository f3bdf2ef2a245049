/* SPDX-License-Identifier: Apache-2.0
 * store/tx.c: what operations do inside the writer's transaction, in SQL. */
#include "store/store_int.h"

/* Every failure but an unmet precondition ends the transaction. */
static wb_rc broken(struct wbi_tx *tx, wb_rc rc)
{
    tx->broken = true;
    return rc;
}

static sqlite3_stmt *statement(struct wbi_tx *tx, enum wbi_statement which, struct wbi_error *err)
{
    sqlite3_stmt *st = wbi_db_statement(tx->db, which, err);

    if (st == NULL)
        tx->broken = true;
    return st;
}

/* Steps a statement that gives no row. */
static wb_rc finish(struct wbi_tx *tx, sqlite3_stmt *st, const char *what, struct wbi_error *err)
{
    int code = sqlite3_step(st);

    if (code != SQLITE_DONE) {
        wb_rc rc = wbi_db_fail(tx->db, code, what, err);
        (void)sqlite3_reset(st);
        return broken(tx, rc);
    }
    (void)sqlite3_reset(st);
    return WB_OK;
}

static wb_rc read_head(struct wbi_db *db, enum wbi_statement which, bool *ret_found,
                       int64_t *ret_seq, uint8_t *ret_hash, struct wbi_error *err)
{
    struct wbi_error mine = WBI_ERROR_INIT;
    sqlite3_stmt *st = wbi_db_statement(db, which, &mine);
    wb_rc rc = WB_OK;
    int code;

    if (st == NULL) {
        if (err != NULL)
            *err = mine;
        return mine.rc;
    }
    code = sqlite3_step(st);
    *ret_found = code == SQLITE_ROW;
    if (code == SQLITE_ROW) {
        *ret_seq = sqlite3_column_int64(st, 0);
        if (sqlite3_column_bytes(st, 1) == WBI_SHA256_SIZE && sqlite3_column_blob(st, 1) != NULL)
            memcpy(ret_hash, sqlite3_column_blob(st, 1), WBI_SHA256_SIZE);
        else
            rc = wbi_db_fail(db, SQLITE_CORRUPT, "the newest row has no hash", err);
    } else if (code != SQLITE_DONE) {
        rc = wbi_db_fail(db, code, "cannot read the newest row", err);
    }
    (void)sqlite3_reset(st);
    return rc;
}

wb_rc wbi_db_tail(struct wbi_db *db, int64_t *ret_seq, uint8_t ret_hash[WBI_SHA256_SIZE],
                  struct wbi_error *err)
{
    bool found = false;
    wb_rc rc = read_head(db, WBI_SQL_TAIL, &found, ret_seq, ret_hash, err);

    if (rc == WB_OK && !found)
        rc = read_head(db, WBI_SQL_ANCHOR, &found, ret_seq, ret_hash, err);
    return rc;
}

wb_rc wbi_tx_tail(struct wbi_tx *tx, int64_t *ret_seq, uint8_t ret_hash[WBI_SHA256_SIZE],
                  struct wbi_error *err)
{
    if (!tx->tail_known) {
        wb_rc rc = wbi_db_tail(tx->db, &tx->seq, tx->hash, err);
        if (rc != WB_OK)
            return broken(tx, rc);
        tx->tail_known = true;
    }
    *ret_seq = tx->seq;
    memcpy(ret_hash, tx->hash, WBI_SHA256_SIZE);
    return WB_OK;
}

void wbi_row_texts(struct wbi_row *row, struct wbi_str *ret[WBI_ROW_TEXT_COUNT])
{
    size_t i = 0;

#define X(name) ret[i++] = &row->name;
    WBI_ROW_TEXTS(X)
#undef X
}

static wb_rc insert_gathered(struct wbi_tx *tx, struct wbi_error *err)
{
    sqlite3_stmt *st;
    int code;

    if (tx->gathered == NULL || tx->gathered->n == 0)
        return WB_OK;
    st = statement(tx, WBI_SQL_INSERT_GATHERED, err);
    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    code = sqlite3_step(st);
    (void)sqlite3_reset(st); /* repeats the error */
    tx->gathered->n = 0;
    if (code == SQLITE_DONE)
        return WB_OK;
    tx->clashed = (code & 0xff) == SQLITE_CONSTRAINT;
    return broken(tx, wbi_db_fail(tx->db, code, "cannot append rows", err));
}

static wb_rc insert_one(struct wbi_tx *tx, struct wbi_row *row, struct wbi_error *err)
{
    struct wbi_str *texts[WBI_ROW_TEXT_COUNT];
    sqlite3_stmt *st = statement(tx, WBI_SQL_INSERT, err);
    wb_rc rc;
    int code;

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    wbi_row_texts(row, texts);
    (void)sqlite3_bind_int64(st, 1, row->seq);
    (void)sqlite3_bind_int64(st, 2, row->time_ms);
    (void)sqlite3_bind_int64(st, 3, row->duration_us);
    (void)sqlite3_bind_blob(st, 4, row->hash, WBI_SHA256_SIZE, SQLITE_STATIC);
    for (int i = 0; i < WBI_ROW_TEXT_COUNT; i++)
        wbi_db_bind(st, 5 + i, *texts[i]);
    code = sqlite3_step(st);
    if (code == SQLITE_DONE) {
        rc = WB_OK;
    } else if ((code & 0xff) == SQLITE_CONSTRAINT) { /* only this statement is undone */
        rc = wbi_fail(err, WB_EEXISTS, "ledger: call %.*s has a row of kind %.*s already",
                      WBI_FMT(row->call_id), WBI_FMT(row->kind));
    } else {
        rc = broken(tx, wbi_db_fail(tx->db, code, "cannot append a row", err));
    }
    (void)sqlite3_reset(st); /* what is bound may go: it is bound anew before the next step */
    return rc;
}

static void move_tail(struct wbi_tx *tx, const struct wbi_row *row)
{
    tx->seq = row->seq;
    memcpy(tx->hash, row->hash, WBI_SHA256_SIZE);
    tx->tail_known = tx->inserted = true;
}

wb_rc wbi_tx_insert(struct wbi_tx *tx, struct wbi_row *row, struct wbi_error *err)
{
    wb_rc rc = insert_one(tx, row, err);

    if (rc == WB_OK)
        move_tail(tx, row);
    return rc;
}

wb_rc wbi_tx_insert_later(struct wbi_tx *tx, struct wbi_row *row, struct wbi_error *err)
{
    if (tx->gathered == NULL)
        return wbi_tx_insert(tx, row, err);
    tx->gathered->rows[tx->gathered->n++] = row;
    move_tail(tx, row);
    return tx->gathered->n == WBI_GATHERED_MOST ? insert_gathered(tx, err) : WB_OK;
}

wb_rc wbi_tx_open_call(struct wbi_tx *tx, const struct wbi_row *row, struct wbi_error *err)
{
    sqlite3_stmt *st = statement(tx, WBI_SQL_OPEN, err);

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    wbi_db_bind(st, 1, row->call_id);
    (void)sqlite3_bind_int64(st, 2, row->seq);
    wbi_db_bind(st, 3, row->owner);
    return finish(tx, st, "cannot note an open call", err);
}

wb_rc wbi_tx_close_call(struct wbi_tx *tx, struct wbi_str call_id, struct wbi_error *err)
{
    sqlite3_stmt *st = statement(tx, WBI_SQL_CLOSE, err);

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    wbi_db_bind(st, 1, call_id);
    return finish(tx, st, "cannot note a closed call", err);
}

wb_rc wbi_row_read(sqlite3_stmt *st, struct wbi_arena *arena, struct wbi_row *ret)
{
    struct wbi_str *texts[WBI_ROW_TEXT_COUNT];
    struct wbi_row row = {.seq = sqlite3_column_int64(st, 0)};
    bool ok = true;

    for (int i = 0; i < 3; i++)
        row.ill_typed |= sqlite3_column_type(st, i) != SQLITE_INTEGER;
    row.time_ms = sqlite3_column_int64(st, 1);
    row.duration_us = sqlite3_column_int64(st, 2);
    if (sqlite3_column_type(st, 3) == SQLITE_BLOB && sqlite3_column_bytes(st, 3) == WBI_SHA256_SIZE)
        memcpy(row.hash, sqlite3_column_blob(st, 3), WBI_SHA256_SIZE);
    else
        row.ill_typed = true;
    wbi_row_texts(&row, texts);
    for (int i = 0; ok && i < WBI_ROW_TEXT_COUNT; i++) {
        int type = sqlite3_column_type(st, 4 + i);
        row.ill_typed |= type != SQLITE_TEXT && type != SQLITE_NULL;
        *texts[i] = wbi_db_text(st, 4 + i, arena, &ok);
    }
    if (!ok)
        return WB_ENOMEM;
    *ret = row;
    return WB_OK;
}

static wb_rc orphans_of(struct wbi_tx *tx, struct wbi_arena *arena, struct wbi_str owner,
                        size_t max, struct wbi_row *rows, size_t *n, struct wbi_error *err)
{
    sqlite3_stmt *st = statement(tx, WBI_SQL_ORPHANS, err);
    wb_rc rc = WB_OK;
    int code = SQLITE_DONE;

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    wbi_db_bind(st, 1, owner);
    (void)sqlite3_bind_int64(st, 2, (sqlite3_int64)(max - *n));
    while (rc == WB_OK && *n < max && (code = sqlite3_step(st)) == SQLITE_ROW) {
        rc = wbi_row_read(st, arena, &rows[*n]);
        if (rc == WB_OK)
            (*n)++;
    }
    if (rc != WB_OK)
        rc = broken(tx, wbi_fail_nomem(err));
    else if (code != SQLITE_DONE && code != SQLITE_ROW)
        rc = broken(tx, wbi_db_fail(tx->db, code, "cannot read open calls", err));
    (void)sqlite3_reset(st);
    return rc;
}

wb_rc wbi_tx_orphans(struct wbi_tx *tx, struct wbi_arena *arena, size_t max, struct wbi_row **ret,
                     size_t *ret_n, struct wbi_error *err)
{
    struct wbi_row *rows = wbi_arena_array(arena, max, sizeof(*rows));
    sqlite3_stmt *st = statement(tx, WBI_SQL_OWNERS, err);
    bool ok = true;
    wb_rc rc = WB_OK;
    size_t n = 0;
    int code = SQLITE_DONE;

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    if (rows == NULL)
        return broken(tx, wbi_fail_nomem(err));
    while (rc == WB_OK && n < max && (code = sqlite3_step(st)) == SQLITE_ROW) {
        struct wbi_str owner = wbi_db_text(st, 0, arena, &ok);
        if (!ok)
            rc = broken(tx, wbi_fail_nomem(err));
        else if (!wbi_owner_alive(tx->store->dir.run_fd, owner))
            rc = orphans_of(tx, arena, owner, max, rows, &n, err);
    }
    if (rc == WB_OK && code != SQLITE_DONE && code != SQLITE_ROW)
        rc = broken(tx, wbi_db_fail(tx->db, code, "cannot read open calls", err));
    (void)sqlite3_reset(st);
    if (rc == WB_OK) {
        *ret = rows;
        *ret_n = n;
    }
    return rc;
}

wb_rc wbi_tx_check(struct wbi_tx *tx, const struct wbi_change *change, struct wbi_error *err)
{
    sqlite3_stmt *st = statement(tx, WBI_SQL_KV_GET, err);
    int64_t generation = 0;
    wb_rc rc = WB_OK;
    int code;

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    wbi_db_bind(st, 1, change->table);
    wbi_db_bind(st, 2, change->key);
    code = sqlite3_step(st);
    if (code == SQLITE_ROW)
        generation = sqlite3_column_int64(st, 0);
    else if (code != SQLITE_DONE)
        rc = broken(tx, wbi_db_fail(tx->db, code, "cannot read a small table", err));
    (void)sqlite3_reset(st);
    if (rc != WB_OK || change->expected == WBI_ANY_GENERATION || change->expected == generation)
        return rc;
    if (change->expected == WBI_MUST_BE_NEW)
        return wbi_fail(err, WB_EEXISTS, "store: %.*s/%.*s exists already", WBI_FMT(change->table),
                        WBI_FMT(change->key));
    if (generation == 0)
        return wbi_fail(err, WB_ENOTFOUND, "store: %.*s/%.*s does not exist",
                        WBI_FMT(change->table), WBI_FMT(change->key));
    return wbi_fail(err, WB_EAGAIN, "store: %.*s/%.*s has generation %lld, not %lld",
                    WBI_FMT(change->table), WBI_FMT(change->key), (long long)generation,
                    (long long)change->expected);
}

wb_rc wbi_tx_get(struct wbi_tx *tx, struct wbi_arena *arena, struct wbi_str table,
                 struct wbi_str key, struct wbi_str *ret, struct wbi_error *err)
{
    sqlite3_stmt *st = statement(tx, WBI_SQL_KV_GET, err);
    bool ok = true;
    wb_rc rc = WB_OK;
    int code;

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    wbi_db_bind(st, 1, table);
    wbi_db_bind(st, 2, key);
    code = sqlite3_step(st);
    if (code == SQLITE_ROW)
        *ret = wbi_db_text(st, 1, arena, &ok);
    else if (code != SQLITE_DONE)
        rc = broken(tx, wbi_db_fail(tx->db, code, "cannot read a small table", err));
    (void)sqlite3_reset(st);
    if (!ok)
        return wbi_fail_nomem(err); /* nothing was done: the neighbours go on */
    if (code == SQLITE_DONE)
        rc = wbi_fail(err, WB_ENOTFOUND, "store: %.*s/%.*s does not exist", WBI_FMT(table),
                      WBI_FMT(key));
    return rc;
}

static wb_rc next_generation(struct wbi_tx *tx, int64_t *ret, struct wbi_error *err)
{
    if (!tx->generation_known) {
        sqlite3_stmt *st = statement(tx, WBI_SQL_GENERATION_GET, err);
        int code;
        if (st == NULL)
            return err != NULL ? err->rc : WB_EIO;
        code = sqlite3_step(st);
        if (code == SQLITE_ROW)
            tx->generation = sqlite3_column_int64(st, 0);
        (void)sqlite3_reset(st);
        if (code != SQLITE_ROW)
            return broken(tx, wbi_db_fail(tx->db, code == SQLITE_DONE ? SQLITE_CORRUPT : code,
                                          "cannot read the generation", err));
        tx->generation_known = true;
    }
    *ret = ++tx->generation;
    return WB_OK;
}

wb_rc wbi_tx_change(struct wbi_tx *tx, struct wbi_change *change, struct wbi_error *err)
{
    bool removes = change->value.p == NULL;
    sqlite3_stmt *st = statement(tx, removes ? WBI_SQL_KV_DELETE : WBI_SQL_KV_PUT, err);
    int64_t generation = 0;
    wb_rc rc = WB_OK;

    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    if (!removes)
        rc = next_generation(tx, &generation, err);
    if (rc != WB_OK)
        return rc;
    wbi_db_bind(st, 1, change->table);
    wbi_db_bind(st, 2, change->key);
    if (!removes) {
        (void)sqlite3_bind_int64(st, 3, generation);
        wbi_db_bind(st, 4, change->value);
    }
    rc = finish(tx, st, "cannot change a small table", err);
    if (rc == WB_OK) {
        change->generation = generation;
        tx->changed = true;
    }
    return rc;
}

wb_rc wbi_tx_finish(struct wbi_tx *tx, struct wbi_error *err)
{
    sqlite3_stmt *st;
    wb_rc rc = insert_gathered(tx, err);

    if (rc != WB_OK || !tx->generation_known)
        return rc;
    st = statement(tx, WBI_SQL_GENERATION_PUT, err);
    if (st == NULL)
        return err != NULL ? err->rc : WB_EIO;
    (void)sqlite3_bind_int64(st, 1, tx->generation);
    return finish(tx, st, "cannot write the generation", err);
}

struct wbi_str wbi_tx_owner(const struct wbi_tx *tx)
{
    return wbi_str_z(tx->store->owner.text);
}
