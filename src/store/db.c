/* SPDX-License-Identifier: Apache-2.0
 * store/db.c: one connection to ledger.db with the settings everything relies
 * on: WAL, synchronous FULL, no automatic checkpoint (not at close either), no
 * memory map, defensive. */
#include "store/store_int.h"

#include <errno.h>
#include <stdio.h>

#include "base/fd.h"

static const char *const statements[WBI_SQL_COUNT] = {
    [WBI_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [WBI_SQL_COMMIT] = "COMMIT",
    [WBI_SQL_TAIL] = "SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1",
    [WBI_SQL_ANCHOR] = "SELECT (SELECT value FROM meta WHERE name = 'anchor_seq'), "
                       "(SELECT value FROM meta WHERE name = 'anchor_hash')",
    [WBI_SQL_INSERT] = "INSERT INTO ledger (" WBI_ROW_COLUMNS ") VALUES "
                       "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [WBI_SQL_INSERT_GATHERED] = "INSERT OR ROLLBACK INTO ledger (" WBI_ROW_COLUMNS ") "
                                "SELECT * FROM gathered",
    [WBI_SQL_ROW_HASH] = "SELECT hash FROM ledger WHERE seq = ?",
    [WBI_SQL_OPEN] = "INSERT OR REPLACE INTO open_calls (call_id, seq, owner) VALUES (?, ?, ?)",
    [WBI_SQL_CLOSE] = "DELETE FROM open_calls WHERE call_id = ?",
    [WBI_SQL_OWNERS] = "SELECT DISTINCT owner FROM open_calls",
    [WBI_SQL_ORPHANS] = "SELECT " WBI_ROW_COLUMNS " FROM ledger WHERE seq IN "
                        "(SELECT seq FROM open_calls WHERE owner = ?1) ORDER BY seq LIMIT ?2",
    [WBI_SQL_KV_GET] = "SELECT generation, value FROM kv WHERE tab = ? AND key = ?",
    [WBI_SQL_KV_PUT] = "INSERT INTO kv (tab, key, generation, value) VALUES (?1, ?2, ?3, ?4) "
                       "ON CONFLICT DO UPDATE SET generation = ?3, value = ?4",
    [WBI_SQL_KV_DELETE] = "DELETE FROM kv WHERE tab = ? AND key = ?",
    [WBI_SQL_KV_LIST] = "SELECT key, generation, value FROM kv WHERE tab = ?1 AND key >= ?2 "
                        "AND (?3 IS NULL OR key > ?3) ORDER BY key LIMIT ?4",
    [WBI_SQL_GENERATION_GET] = "SELECT value FROM meta WHERE name = 'generation'",
    [WBI_SQL_GENERATION_PUT] = "UPDATE meta SET value = ? WHERE name = 'generation'",
#define FILTER                                                                                 \
    "(?4 IS NULL OR kind = ?4) AND (?5 IS NULL OR tool = ?5) AND (?6 IS NULL OR status = ?6) " \
    "AND (?7 IS NULL OR error_kind = ?7) AND (?8 IS NULL OR conversation = ?8) "               \
    "AND time_ms >= ?9 AND time_ms < ?10 "
    [WBI_SQL_ROWS_UP] = "SELECT " WBI_ROW_COLUMNS " FROM ledger WHERE seq > ?1 AND " FILTER
                        "ORDER BY seq LIMIT ?11",
    [WBI_SQL_ROWS_DOWN] = "SELECT " WBI_ROW_COLUMNS " FROM ledger WHERE seq < ?1 AND " FILTER
                          "ORDER BY seq DESC LIMIT ?11",
    [WBI_SQL_BY_CALL] = "SELECT " WBI_ROW_COLUMNS " FROM ledger WHERE call_id = ?2 AND seq > ?1 "
                        "AND " FILTER "ORDER BY seq LIMIT ?11",
    [WBI_SQL_BY_PROVIDER] =
        "SELECT " WBI_ROW_COLUMNS " FROM ledger WHERE provider_call_id = ?3 "
        "AND " WBI_NAMED_ID " AND seq > ?1 AND " FILTER "ORDER BY seq LIMIT ?11",
    [WBI_SQL_BY_COUNTER] = "SELECT " WBI_ROW_COLUMNS " FROM ledger WHERE provider_call_id = ?3 "
                           "AND seq > ?1 AND " FILTER "ORDER BY seq LIMIT ?11",
    [WBI_SQL_SCAN] =
        "SELECT seq, time_ms, duration_us, call_id, tool, status, error_kind, "
        "canonical, result, receipt, artifacts "
        "FROM ledger WHERE seq > ?1 AND kind = 'outcome' AND " FILTER "ORDER BY seq LIMIT ?11",
#undef FILTER
    [WBI_SQL_ANCHOR_PUT] = "UPDATE meta SET value = CASE name WHEN 'anchor_seq' THEN ?1 ELSE ?2 "
                           "END WHERE name IN ('anchor_seq', 'anchor_hash')",
    [WBI_SQL_PRUNE] = "DELETE FROM ledger WHERE seq <= ?",
    [WBI_SQL_FIRST_SINCE] = "SELECT seq FROM ledger WHERE time_ms >= ? ORDER BY seq LIMIT 1",
    [WBI_SQL_FIRST_OPEN] = "SELECT min(seq) FROM open_calls",
};

static bool is_full(struct wbi_db *db, int code)
{
    int system = db->sql != NULL ? sqlite3_system_errno(db->sql) : 0;

    if ((code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE)
        return true;
    return (code & 0xff) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT);
}

wb_rc wbi_db_fail(struct wbi_db *db, int code, const char *what, struct wbi_error *err)
{
    const char *why = sqlite3_errstr(code);
    int system = db->sql != NULL ? sqlite3_system_errno(db->sql) : 0;

    if ((code & 0xff) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
        return wbi_fail_nomem(err);
    if (is_full(db, code))
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_LOW_DISK_SPACE,
                             "ledger: %s: no space left on the disk of the state directory; free "
                             "disk space",
                             what);
    if ((code & 0xff) == SQLITE_CANTOPEN && wbi_errno_is_shortage(system))
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_STATE_UNAVAILABLE, "ledger: %s: %s", what,
                             strerrordesc_np(system));
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                             "ledger: %s: ledger.db is damaged (%s); restore the state directory, "
                             "or move it away and a new ledger begins (where it can be opened, "
                             "`waybill ledger verify` names the place)",
                             what, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return wbi_fail_kind(err, WB_EAGAIN, WBI_KIND_STATE_UNAVAILABLE,
                             "ledger: %s: another program holds ledger.db; end it, then try again",
                             what);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                             "ledger: %s: %s; make the state directory writable or name another "
                             "with --state",
                             what, why);
    default:
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_STATE_UNAVAILABLE, "ledger: %s: %s", what, why);
    }
}

static int count_wal(void *arg, sqlite3 *sql, const char *name, int pages)
{
    (void)sql;
    (void)name;
    ((struct wbi_db *)arg)->wal_pages = pages;
    return SQLITE_OK;
}

static wb_rc configure(struct wbi_db *db, bool for_writing, struct wbi_error *err)
{
    static const int on[] = {SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE};
    static const int off[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                              SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_DQS_DML,
                              SQLITE_DBCONFIG_DQS_DDL};
    int code = SQLITE_OK;

    (void)sqlite3_extended_result_codes(db->sql, 1);
    (void)sqlite3_busy_timeout(db->sql, 5000);
    (void)sqlite3_limit(db->sql, SQLITE_LIMIT_LENGTH, (int)(2 * WBI_LIMIT_ROW_TEXT));
    for (size_t i = 0; code == SQLITE_OK && i < sizeof(on) / sizeof(on[0]); i++)
        code = sqlite3_db_config(db->sql, on[i], 1, NULL);
    for (size_t i = 0; code == SQLITE_OK && i < sizeof(off) / sizeof(off[0]); i++)
        code = sqlite3_db_config(db->sql, off[i], 0, NULL);
    if (code != SQLITE_OK)
        return wbi_db_fail(db, code, "cannot configure SQLite", err);
    return wbi_db_exec(db,
                       for_writing ? "PRAGMA mmap_size=0; PRAGMA wal_autocheckpoint=0; "
                                     "PRAGMA synchronous=FULL; PRAGMA cell_size_check=1; "
                                     "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-512"
                                   : "PRAGMA mmap_size=0; PRAGMA wal_autocheckpoint=0; "
                                     "PRAGMA query_only=1; PRAGMA temp_store=MEMORY; "
                                     "PRAGMA cache_size=-512",
                       err);
}

wb_rc wbi_db_open(const struct wbi_dir *dir, bool for_writing, struct wbi_db *ret,
                  struct wbi_error *err)
{
    const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_PRIVATECACHE;
    struct wbi_db db = {.sql = NULL};
    char path[WBI_LIMIT_PATH + 1];
    wb_rc rc;
    int code;

    (void)snprintf(path, sizeof(path), "%.4080s/ledger.db", dir->path);
    code = sqlite3_open_v2(dir->fd < 0 ? ":memory:" : path, &db.sql, flags | SQLITE_OPEN_READWRITE,
                           NULL);
    if (code != SQLITE_OK) {
        rc = wbi_db_fail(&db, code, "cannot open ledger.db", err);
        (void)sqlite3_close_v2(db.sql); /* of NULL too */
        return rc;
    }
    rc = configure(&db, for_writing, err);
    if (rc != WB_OK) {
        wbi_db_close(&db);
        return rc;
    }
    *ret = db;
    return WB_OK;
}

void wbi_db_close(struct wbi_db *db)
{
    for (size_t i = 0; i < WBI_SQL_COUNT; i++) {
        (void)sqlite3_finalize(db->statements[i]); /* repeats an error seen before */
        db->statements[i] = NULL;
    }
    (void)sqlite3_close_v2(db->sql);
    db->sql = NULL;
}

sqlite3_stmt *wbi_db_statement(struct wbi_db *db, enum wbi_statement which, struct wbi_error *err)
{
    sqlite3_stmt **st = &db->statements[which];
    int code;

    if (*st != NULL) {
        (void)sqlite3_reset(*st); /* repeats an error seen before */
        return *st;
    }
    code = sqlite3_prepare_v3(db->sql, statements[which], -1, SQLITE_PREPARE_PERSISTENT, st, NULL);
    if (code != SQLITE_OK) {
        *st = NULL;
        (void)wbi_db_fail(db, code, "cannot prepare a statement", err);
        return NULL;
    }
    if (which == WBI_SQL_COMMIT)
        (void)sqlite3_wal_hook(db->sql, count_wal, db); /* db stays where it is from now on */
    return *st;
}

wb_rc wbi_db_run(struct wbi_db *db, enum wbi_statement which, struct wbi_error *err)
{
    struct wbi_error mine = WBI_ERROR_INIT;
    sqlite3_stmt *st = wbi_db_statement(db, which, &mine);
    int code;

    if (st == NULL) {
        if (err != NULL)
            *err = mine;
        return mine.rc;
    }
    code = sqlite3_step(st);
    if (code == SQLITE_DONE)
        code = SQLITE_OK;
    if (code != SQLITE_OK) {
        wb_rc rc = wbi_db_fail(db, code, statements[which], err);
        (void)sqlite3_reset(st);
        return rc;
    }
    (void)sqlite3_reset(st);
    return WB_OK;
}

wb_rc wbi_db_exec(struct wbi_db *db, const char *sql, struct wbi_error *err)
{
    int code = sqlite3_exec(db->sql, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? WB_OK : wbi_db_fail(db, code, "cannot set up ledger.db", err);
}

wb_rc wbi_db_number(struct wbi_db *db, const char *sql, int64_t *ret, struct wbi_error *err)
{
    sqlite3_stmt *st = NULL;
    int code = sqlite3_prepare_v2(db->sql, sql, -1, &st, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(st);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        *ret = code == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    (void)sqlite3_finalize(st);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return WB_OK;
    return wbi_db_fail(db, code, "cannot examine ledger.db", err);
}

void wbi_db_bind(sqlite3_stmt *st, int column, struct wbi_str s)
{
    /* Errors (a bad column, too long) show when the statement is stepped. */
    if (s.p == NULL)
        (void)sqlite3_bind_null(st, column);
    else
        (void)sqlite3_bind_text64(st, column, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

struct wbi_str wbi_db_text(sqlite3_stmt *st, int column, struct wbi_arena *arena, bool *ok)
{
    struct wbi_str s;

    if (sqlite3_column_type(st, column) == SQLITE_NULL)
        return WBI_NONE;
    s.p = (const char *)sqlite3_column_text(st, column);
    s.n = (size_t)sqlite3_column_bytes(st, column);
    if (s.p != NULL)
        s = wbi_arena_str(arena, s);
    if (s.p == NULL)
        *ok = false;
    return s;
}
