/* SPDX-License-Identifier: Apache-2.0
 * store/migrate.c: which ledger.db is ours, and from one schema to the next.
 * All steps run in one transaction, so a kill leaves the old version or the
 * new one. A file of a newer Waybill is refused, never touched. */
#include "store/store_int.h"

#include <stdio.h>

#include "base/checked.h"

extern const char wbi_data_store_schema_sql[];

/* The chain's hash in front of row 1. */
static wb_rc genesis(struct wbi_str state_id, uint8_t ret[WBI_SHA256_SIZE])
{
    static const char label[] = "waybill.ledger.genesis.v1"; /* hashed with its NUL */
    char text[sizeof(label) + 8 + WBI_ID_SIZE];

    if (state_id.n > WBI_ID_SIZE)
        return WB_ELIMIT;
    memcpy(text, label, sizeof(label));
    for (unsigned i = 0; i < 8; i++)
        text[sizeof(label) + i] = (char)((uint64_t)state_id.n >> (56 - 8 * i));
    memcpy(text + sizeof(label) + 8, state_id.p, state_id.n);
    return wbi_sha256(text, sizeof(label) + 8 + state_id.n, ret);
}

static wb_rc fill_meta(struct wbi_db *db, void *arg, struct wbi_error *err)
{
    const struct wbi_dir *dir = arg;
    uint8_t hash[WBI_SHA256_SIZE];
    char hex[WBI_SHA256_HEX], sql[512];
    wb_rc rc = genesis(wbi_str_z(dir->id), hash);

    if (rc != WB_OK)
        return wbi_fail(err, rc, "ledger: cannot hash");
    wbi_hex(hash, sizeof(hash), hex);
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO meta (name, value) VALUES ('state_id', '%s'), ('anchor_seq', 0), "
                   "('anchor_hash', x'%s'), ('generation', 0)",
                   dir->id, hex);
    return wbi_db_exec(db, sql, err);
}

/* Version 2 has the tables of 1. Its rows leave out what they say elsewhere (ledger/lean.h),
 * which a program that knows only 1 would miss without a word. Ids that only count have no
 * place in the index (store_int.h). */
static const char version_2[] =
    "DROP INDEX ledger_provider;"
    "CREATE INDEX ledger_provider ON ledger (provider_call_id) WHERE " WBI_NAMED_ID;

const struct wbi_step wbi_steps[] = {{wbi_data_store_schema_sql, fill_meta}, {version_2, NULL}};
const size_t wbi_steps_n = WBI_COUNT(wbi_steps);

wb_rc wbi_db_migrate(struct wbi_db *db, const struct wbi_step *steps, size_t n, void *arg,
                     struct wbi_error *err)
{
    int64_t version;
    char sql[96];
    wb_rc rc = wbi_db_exec(db, "BEGIN IMMEDIATE", err);

    if (rc != WB_OK)
        return rc;
    rc = wbi_db_number(db, "PRAGMA user_version", &version, err);
    for (size_t i = version < 0 ? n : (size_t)version; rc == WB_OK && i < n; i++) {
        rc = wbi_db_exec(db, steps[i].sql, err);
        if (rc == WB_OK && steps[i].code != NULL)
            rc = steps[i].code(db, arg, err);
    }
    if (rc == WB_OK) {
        (void)snprintf(sql, sizeof(sql),
                       "PRAGMA application_id=%d; PRAGMA user_version=%zu; COMMIT",
                       WBI_APPLICATION_ID, n);
        rc = wbi_db_exec(db, sql, err);
    }
    if (rc != WB_OK && sqlite3_get_autocommit(db->sql) == 0)
        (void)sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL); /* closing would do it too */
    return rc;
}

static wb_rc refuse(struct wbi_error *err, const char *why)
{
    return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                         "state directory refused: %s; move it away (or name another directory "
                         "with --state) and run again",
                         why);
}

static wb_rc check_identity(const struct wbi_dir *dir, struct wbi_db *db, struct wbi_error *err)
{
    int64_t application, foreign, same;
    char sql[128];
    wb_rc rc = wbi_db_number(db, "PRAGMA application_id", &application, err);

    if (rc == WB_OK)
        rc = wbi_db_number(db,
                           "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')",
                           &foreign, err);
    if (rc != WB_OK)
        return rc;
    if (application != WBI_APPLICATION_ID || foreign != 0)
        return refuse(err, "ledger.db was not made by Waybill");
    (void)snprintf(sql, sizeof(sql),
                   "SELECT count(*) FROM meta WHERE name = 'state_id' AND value = '%s'", dir->id);
    rc = wbi_db_number(db, sql, &same, err);
    if (rc == WB_OK && same != 1)
        rc = refuse(err, "ledger.db belongs to another state directory");
    return rc;
}

wb_rc wbi_db_prepare(const struct wbi_dir *dir, struct wbi_db *db, struct wbi_error *err)
{
    int64_t version, objects = 0, wal;
    wb_rc rc = wbi_db_number(db, "PRAGMA user_version", &version, err);

    if (rc == WB_OK && version == 0)
        rc = wbi_db_number(db, "SELECT count(*) FROM sqlite_schema", &objects, err);
    if (rc != WB_OK)
        return rc;
    if (version > (int64_t)wbi_steps_n)
        return refuse(err, "ledger.db was written by a newer Waybill (upgrade this one)");
    if (version < 0 || objects > 0)
        return refuse(err, "ledger.db was not made by Waybill");
    if (version > 0)
        rc = check_identity(dir, db, err);
    if (rc != WB_OK || dir->read_only)
        return rc;
    rc = wbi_db_number(db, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'",
                       &wal, err);
    if (rc == WB_OK && wal == 0) /* a new file: larger pages hold rows of a kilobyte better */
        rc = wbi_db_exec(db, "PRAGMA page_size=8192; PRAGMA journal_mode=WAL", err);
    if (rc == WB_OK && version < (int64_t)wbi_steps_n)
        rc = wbi_db_migrate(db, wbi_steps, wbi_steps_n, (void *)(uintptr_t)dir, err);
    return rc;
}

wb_rc wbi_db_empty(const struct wbi_dir *dir, struct wbi_db *db, struct wbi_error *err)
{
    wb_rc rc = wbi_db_exec(db, "PRAGMA query_only=0", err);

    if (rc == WB_OK)
        rc = wbi_db_migrate(db, wbi_steps, wbi_steps_n, (void *)(uintptr_t)dir, err);
    return rc == WB_OK ? wbi_db_exec(db, "PRAGMA query_only=1", err) : rc;
}
