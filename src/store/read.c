/* SPDX-License-Identifier: Apache-2.0
 * store/read.c: reading, on a connection of its own, from any thread.
 * Every read is one short transaction: whoever reads much reads in chunks, so
 * that no reader of ours keeps the log from being folded in. */
#include "base/checked.h"
#include "store/store_int.h"

/* On success the reading connection is locked and a statement is ready. */
wb_rc wbi_read_begin(struct wbi_store *s, enum wbi_statement which, sqlite3_stmt **ret,
                     struct wbi_error *err)
{
    struct wbi_error mine = WBI_ERROR_INIT;
    wb_rc rc = WB_OK;

    pthread_mutex_lock(&s->read_mutex);
    if (!s->reader_open) {
        rc = wbi_db_open(&s->dir, false, &s->reader, &mine);
        s->reader_open = rc == WB_OK;
        if (rc == WB_OK && wbi_store_absent(s))
            rc = wbi_db_empty(&s->dir, &s->reader, &mine);
        else if (rc == WB_OK && s->dir.read_only)
            rc = wbi_db_prepare(&s->dir, &s->reader, &mine);
    }
    if (rc == WB_OK) {
        *ret = wbi_db_statement(&s->reader, which, &mine);
        rc = *ret == NULL ? mine.rc : WB_OK;
    }
    if (rc != WB_OK) {
        if (s->reader_open)
            wbi_db_close(&s->reader);
        s->reader_open = false;
        pthread_mutex_unlock(&s->read_mutex);
        if (err != NULL)
            *err = mine;
    }
    return rc;
}

/* Ends what wbi_read_begin began. code: the last answer of sqlite3_step. */
wb_rc wbi_read_end(struct wbi_store *s, sqlite3_stmt *st, int code, wb_rc rc, struct wbi_error *err)
{
    if (rc == WB_ENOMEM)
        rc = wbi_fail_nomem(err);
    else if (rc == WB_OK && code != SQLITE_DONE && code != SQLITE_ROW)
        rc = wbi_db_fail(&s->reader, code, "cannot read", err);
    (void)sqlite3_reset(st);
    (void)sqlite3_clear_bindings(st);
    if (rc != WB_OK && rc != WB_ENOMEM) { /* the next read starts with a fresh connection */
        wbi_db_close(&s->reader);
        s->reader_open = false;
    }
    pthread_mutex_unlock(&s->read_mutex);
    return rc;
}

wb_rc wbi_store_get(struct wbi_store *s, struct wbi_arena *arena, struct wbi_str table,
                    struct wbi_str key, struct wbi_entry *ret, struct wbi_error *err)
{
    struct wbi_entry e = {.key = wbi_arena_str(arena, key)};
    sqlite3_stmt *st;
    bool ok = true;
    wb_rc rc = wbi_read_begin(s, WBI_SQL_KV_GET, &st, err);
    int code;

    if (rc != WB_OK)
        return rc;
    wbi_db_bind(st, 1, table);
    wbi_db_bind(st, 2, key);
    code = sqlite3_step(st);
    if (code == SQLITE_ROW) {
        e.generation = sqlite3_column_int64(st, 0);
        e.value = wbi_db_text(st, 1, arena, &ok);
    }
    rc = wbi_read_end(s, st, code, ok ? WB_OK : WB_ENOMEM, err);
    if (rc != WB_OK)
        return rc;
    if (code != SQLITE_ROW)
        return wbi_fail(err, WB_ENOTFOUND, "store: %.*s/%.*s does not exist", WBI_FMT(table),
                        WBI_FMT(key));
    *ret = e;
    return WB_OK;
}

wb_rc wbi_store_list(struct wbi_store *s, struct wbi_arena *arena, struct wbi_str table,
                     struct wbi_str prefix, struct wbi_str after, size_t max,
                     struct wbi_entry **ret, size_t *ret_n, struct wbi_error *err)
{
    struct wbi_entry *entries = wbi_arena_array(arena, max, sizeof(*entries));
    sqlite3_stmt *st;
    bool ok = true;
    size_t n = 0;
    int code = SQLITE_DONE;
    wb_rc rc;

    if (entries == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_read_begin(s, WBI_SQL_KV_LIST, &st, err);
    if (rc != WB_OK)
        return rc;
    wbi_db_bind(st, 1, table);
    wbi_db_bind(st, 2, prefix.p != NULL ? prefix : WBI_LIT(""));
    wbi_db_bind(st, 3, after);
    (void)sqlite3_bind_int64(st, 4, (sqlite3_int64)max);
    while (ok && n < max && (code = sqlite3_step(st)) == SQLITE_ROW) {
        struct wbi_entry e = {.key = wbi_db_text(st, 0, arena, &ok)};
        if (ok && !wbi_str_starts(e.key, prefix))
            break;
        e.generation = sqlite3_column_int64(st, 1);
        e.value = wbi_db_text(st, 2, arena, &ok);
        if (ok)
            entries[n++] = e;
    }
    rc = wbi_read_end(s, st, code, ok ? WB_OK : WB_ENOMEM, err);
    if (rc == WB_OK) {
        *ret = entries;
        *ret_n = n;
    }
    return rc;
}

static bool only_counts(struct wbi_str id)
{
    while (id.n > 0 && id.p[id.n - 1] >= '0' && id.p[id.n - 1] <= '9')
        id.n--;
    return id.n == 0;
}

static enum wbi_statement choose(const struct wbi_row_query *q)
{
    if (q->call_id.p != NULL)
        return WBI_SQL_BY_CALL;
    if (q->provider_call_id.p != NULL)
        return only_counts(q->provider_call_id) ? WBI_SQL_BY_COUNTER : WBI_SQL_BY_PROVIDER;
    return q->newest_first ? WBI_SQL_ROWS_DOWN : WBI_SQL_ROWS_UP;
}

void wbi_read_bind(sqlite3_stmt *st, const struct wbi_row_query *q, size_t max)
{
    bool down = choose(q) == WBI_SQL_ROWS_DOWN;

    (void)sqlite3_bind_int64(st, 1, down && q->after_seq == 0 ? INT64_MAX : q->after_seq);
    wbi_db_bind(st, 2, q->call_id);
    wbi_db_bind(st, 3, q->provider_call_id);
    wbi_db_bind(st, 4, q->kind);
    wbi_db_bind(st, 5, q->tool);
    wbi_db_bind(st, 6, q->status);
    wbi_db_bind(st, 7, q->error_kind);
    wbi_db_bind(st, 8, q->conversation);
    (void)sqlite3_bind_int64(st, 9, q->since_ms != 0 ? q->since_ms : INT64_MIN);
    (void)sqlite3_bind_int64(st, 10, q->until_ms != 0 ? q->until_ms : INT64_MAX);
    (void)sqlite3_bind_int64(st, 11, (sqlite3_int64)max);
}

/* Room for few at first: whoever asks for one call may ask for thousands, one by one. */
static struct wbi_row *more_rows(struct wbi_arena *arena, struct wbi_row *rows, size_t *room)
{
    size_t had = *room;

    *room = had > 0 ? had * 2 : 4;
    return wbi_arena_grow(arena, rows, had * sizeof(*rows), *room * sizeof(*rows));
}

wb_rc wbi_store_rows(struct wbi_store *s, struct wbi_arena *arena,
                     const struct wbi_row_query *query, struct wbi_row **ret, size_t *ret_n,
                     struct wbi_error *err)
{
    size_t max = WBI_MIN(query->max, (size_t)WBI_LIMIT_READ_CHUNK_ROWS), n = 0, room = 0;
    struct wbi_row *rows = NULL;
    size_t before = wbi_arena_used(arena);
    int code = SQLITE_DONE;
    sqlite3_stmt *st;
    wb_rc rc = wbi_read_begin(s, choose(query), &st, err);

    if (rc != WB_OK)
        return rc;
    wbi_read_bind(st, query, max);
    while (rc == WB_OK && n < max && wbi_arena_used(arena) - before < WBI_LIMIT_READ_CHUNK &&
           (code = sqlite3_step(st)) == SQLITE_ROW) {
        if (n == room)
            rows = more_rows(arena, rows, &room);
        rc = rows != NULL ? wbi_row_read(st, arena, &rows[n]) : WB_ENOMEM;
        n++;
    }
    rc = wbi_read_end(s, st, code, rc, err);
    if (rc == WB_OK) {
        *ret = rows;
        *ret_n = n;
    }
    return rc;
}

static wb_rc read_anchor(sqlite3_stmt *st, struct wbi_witness *ret)
{
    if (sqlite3_step(st) != SQLITE_ROW || sqlite3_column_type(st, 0) != SQLITE_INTEGER ||
        sqlite3_column_bytes(st, 1) != WBI_SHA256_SIZE)
        return WB_ESTATE;
    ret->seq = sqlite3_column_int64(st, 0);
    memcpy(ret->hash, sqlite3_column_blob(st, 1), WBI_SHA256_SIZE);
    return WB_OK;
}

wb_rc wbi_store_anchor(struct wbi_store *s, struct wbi_witness *ret, struct wbi_error *err)
{
    sqlite3_stmt *st;
    wb_rc rc = wbi_read_begin(s, WBI_SQL_ANCHOR, &st, err);

    if (rc != WB_OK)
        return rc;
    rc = read_anchor(st, ret);
    return wbi_read_end(s, st, rc == WB_OK ? SQLITE_DONE : SQLITE_CORRUPT, WB_OK, err);
}

wb_rc wbi_store_tail(struct wbi_store *s, struct wbi_witness *ret, struct wbi_error *err)
{
    struct wbi_witness w = {.seq = 0};
    sqlite3_stmt *st;
    wb_rc rc = wbi_read_begin(s, WBI_SQL_OWNERS, &st, err); /* any: it opens and locks */

    if (rc != WB_OK)
        return rc;
    rc = wbi_db_tail(&s->reader, &w.seq, w.hash, err);
    rc = wbi_read_end(s, st, SQLITE_DONE, rc, err);
    if (rc == WB_OK)
        *ret = w;
    return rc;
}

wb_rc wbi_store_has_orphans(struct wbi_store *s, bool *ret, struct wbi_error *err)
{
    bool found = false;
    sqlite3_stmt *st;
    int code = SQLITE_DONE;
    wb_rc rc = wbi_read_begin(s, WBI_SQL_OWNERS, &st, err);

    if (rc != WB_OK)
        return rc;
    while (!found && (code = sqlite3_step(st)) == SQLITE_ROW) {
        const char *owner = (const char *)sqlite3_column_text(st, 0);
        found = owner == NULL || !wbi_owner_alive(s->dir.run_fd, wbi_str_z(owner));
    }
    rc = wbi_read_end(s, st, code, WB_OK, err);
    if (rc == WB_OK)
        *ret = found;
    return rc;
}

/* First text of the first row, which must be "ok" or absent. */
static wb_rc check_with(struct wbi_store *s, const char *sql, const char *what,
                        struct wbi_error *err)
{
    sqlite3_stmt *st = NULL;
    int code = sqlite3_prepare_v2(s->reader.sql, sql, -1, &st, NULL);
    wb_rc rc = WB_OK;

    if (code == SQLITE_OK)
        code = sqlite3_step(st);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 0);
        if (text == NULL || strcmp(text, "ok") != 0)
            rc = wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE, "ledger.db: %s: %.300s",
                               what, text != NULL ? text : "?");
    } else if (code != SQLITE_DONE) {
        rc = wbi_db_fail(&s->reader, code, what, err);
    }
    (void)sqlite3_finalize(st);
    return rc;
}

wb_rc wbi_store_check(struct wbi_store *s, struct wbi_error *err)
{
    sqlite3_stmt *st;
    wb_rc rc = wbi_read_begin(s, WBI_SQL_OWNERS, &st, err);

    if (rc != WB_OK)
        return rc;
    rc = check_with(s, "PRAGMA integrity_check(1)", "SQLite finds damage", err);
    if (rc == WB_OK)
        rc = check_with(s,
                        "SELECT call_id FROM ledger l WHERE kind IN ('intent', 'asked') "
                        "AND NOT EXISTS (SELECT 1 FROM ledger o WHERE o.call_id = l.call_id AND "
                        "o.kind = 'outcome') AND NOT EXISTS (SELECT 1 FROM open_calls c WHERE "
                        "c.call_id = l.call_id) LIMIT 1",
                        "a call has neither an outcome nor an entry as open", err);
    if (rc == WB_OK)
        rc = check_with(s,
                        "SELECT call_id FROM open_calls c WHERE NOT EXISTS (SELECT 1 FROM ledger l "
                        "WHERE l.seq = c.seq AND l.call_id = c.call_id AND l.kind IN "
                        "('intent', 'asked')) LIMIT 1",
                        "an open call has no intent", err);
    return wbi_read_end(s, st, SQLITE_DONE, rc, err);
}
